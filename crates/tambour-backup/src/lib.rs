//! ClickHouse's backups, and archives of whatever a server's disk holds, as directories that can be read.
//!
//! [`open`] gives a [`Storage`] in which a backup looks like the directory that it was made of: the files that lie in a base, or
//! once for several names, or under a checksum instead of a name, are where their names say. Nothing is unpacked but what
//! cannot be read at a position: a compressed `tar` as a whole, compressed members of a `zip` when they are opened, both into
//! temporary files without a name.
//!
//! The manifest is ClickHouse's `.backup`, an XML document; the names of its elements, and what they mean, were read from
//! backups that ClickHouse 26.9 made and from its documentation.
#![forbid(unsafe_code)]

mod archive;
mod base;
mod error;
mod manifest;
mod names;
mod restored;
mod rewritable;
mod temporary;
#[cfg(test)]
mod tests;
mod window;

pub use error::BackupError;

use archive::Kind;
use restored::Restored;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use tambour_storage::Storage;

/// The manifest of a backup.
const MANIFEST: &str = ".backup";

/// What every attempt to write is answered.
const REFUSAL: &str = "a backup or an archive is read only; import or restore it first";

/// A directory or an archive, opened for reading.
#[derive(Debug)]
pub struct Backup {
    /// The files, below the path that was opened.
    pub storage: Arc<dyn Storage>,
    /// What the manifest says, if there is one.
    restored: Option<Arc<Restored>>,
}

impl Backup {
    /// True if there is a manifest: it is a backup of ClickHouse's own.
    pub fn has_manifest(&self) -> bool {
        self.restored.is_some()
    }

    /// Reads every file and compares its size and hash with the manifest; without one there is nothing to compare. `seen` hears
    /// the bytes of each file. Damage is listed, file by file.
    pub fn verify(&self, seen: &mut dyn FnMut(u64)) -> Vec<BackupError> {
        self.restored.as_ref().map_or_else(Vec::new, |restored| restored.verify(seen))
    }
}

/// Opens `path` if it is a backup of ClickHouse's, an archive or a disk with maps of names; `None` for any other directory or file.
///
/// The base of an increment is looked for beside it: by the UUID in the manifest, then by the last part of its name.
pub fn open(storage: &Arc<dyn Storage>, path: &Path) -> Result<Option<Backup>, BackupError> {
    let mut chain = Vec::new();
    open_in_chain(storage, path, &mut chain)
}

/// True for a file of this machine that begins like an archive. One that is compressed as a whole must be called so, too:
/// `x.tar.gz`, `x.tgz`.
pub fn is_archive(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let endings = [".tgz", ".tzst", ".tbz2", ".txz", ".7z"];
    let called_so = name.contains(".tar.") || endings.iter().any(|ending| name.ends_with(ending));
    match archive::kind(&tambour_storage::disk(), path) {
        Ok(Some(Kind::Tar | Kind::Zip)) => true,
        Ok(Some(Kind::Gzip | Kind::Zstd | Kind::Other(_))) => called_so,
        Ok(None) | Err(_) => false,
    }
}

/// Opens a backup whose increments, UUID by UUID, are in `chain`.
fn open_in_chain(
    storage: &Arc<dyn Storage>,
    path: &Path,
    chain: &mut Vec<String>,
) -> Result<Option<Backup>, BackupError> {
    let (files, is_archive) = match archive::open(storage, path)? {
        Some(files) => (files, true),
        None => (Arc::clone(storage), false),
    };
    if !is_archive && let Some(storage) = rewritable::open(storage, path)? {
        return Ok(Some(Backup { storage, restored: None }));
    }
    let manifest = path.join(MANIFEST);
    let exists = match files.exists(&manifest) {
        Err(error) if error.kind() == ErrorKind::NotADirectory => false,
        answer => answer.map_err(BackupError::file(&manifest))?,
    };
    if !exists {
        return Ok(is_archive.then_some(Backup { storage: files, restored: None }));
    }
    let manifest = manifest::read(&files, &manifest)?;
    let base = base::find(storage, path, &manifest, chain)?;
    let restored = Arc::new(Restored::new(files, path, manifest, base)?);
    let storage = restored.clone().storage();
    Ok(Some(Backup { storage, restored: Some(restored) }))
}
