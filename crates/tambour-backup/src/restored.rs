//! The files of a backup under their own names, wherever their bytes are.

use crate::MANIFEST;
use crate::error::BackupError;
use crate::manifest::{Content, Listed, Manifest, shown};
use crate::names::Names;
use crate::window::Joined;
use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_kernel::hash::FileHasher;
use tambour_storage::read_only::{Files, ReadOnly, plain};
use tambour_storage::{Entry, ReadAt, Storage};

/// Bytes that are hashed at once.
const PIECE_BYTES: usize = 1 << 20;

/// A backup with its manifest.
#[derive(Debug)]
pub(crate) struct Restored {
    root: PathBuf,
    storage: Arc<dyn Storage>,
    uuid: Option<String>,
    base: Option<Arc<Restored>>,
    files: Names<Listed>,
    /// A name for each content: what an increment asks its base for.
    names: HashMap<Content, String>,
}

impl Restored {
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        root: &Path,
        manifest: Manifest,
        base: Option<Arc<Self>>,
    ) -> Result<Self, BackupError> {
        let manifest_path = root.join(MANIFEST);
        let (mut files, mut names) = (Names::default(), HashMap::new());
        for file in manifest.files {
            let data_file = file.data_file.as_deref();
            if data_file.is_some_and(|it| plain(Path::new(it)).is_none_or(|it| it.is_empty())) {
                let what = format!("{:?} is outside the backup", file.name);
                return Err(BackupError::damaged(&manifest_path, what));
            }
            names.entry(file.content).or_insert_with(|| file.name.clone());
            let name = file.name.clone();
            if !files.add(&name, file) {
                let what = format!("the file {name:?} is listed twice or is outside the backup");
                return Err(BackupError::damaged(&manifest_path, what));
            }
        }
        Ok(Self { root: root.to_owned(), storage, uuid: manifest.uuid, base, files, names })
    }

    pub(crate) fn uuid(&self) -> Option<&str> {
        self.uuid.as_deref()
    }

    /// The files as a storage below the root.
    pub(crate) fn storage(self: Arc<Self>) -> Arc<dyn Storage> {
        ReadOnly::over(&self.root.clone(), self, crate::REFUSAL)
    }

    /// Compares every file with the manifest.
    pub(crate) fn verify(&self, seen: &mut dyn FnMut(u64)) -> Vec<BackupError> {
        let mut damage = Vec::new();
        for (name, file) in self.files.iter() {
            let path = self.root.join(name);
            match self.hash(file) {
                Ok(hash) if hash == file.content.hash => {}
                Ok(hash) => damage.push(BackupError::damaged(
                    &path,
                    format!(
                        "checksum mismatch: the manifest says {}, found {}",
                        shown(file.content.hash),
                        shown(hash)
                    ),
                )),
                Err(cause) => damage.push(BackupError::File { path, cause }),
            }
            seen(file.content.size);
        }
        damage
    }

    fn hash(&self, file: &Listed) -> io::Result<tambour_kernel::hash::Hash128> {
        let opened = self.open_listed(file)?;
        let mut hasher = FileHasher::default();
        let mut piece =
            vec![0; PIECE_BYTES.min(usize::try_from(opened.len()).unwrap_or(PIECE_BYTES))];
        let mut at = 0;
        while at < opened.len() {
            let left = usize::try_from(opened.len() - at).unwrap_or(PIECE_BYTES);
            let piece = &mut piece[..left.min(PIECE_BYTES)];
            opened.read_exact_at(piece, at)?;
            hasher.update(piece);
            at += piece.len() as u64;
        }
        Ok(hasher.finish())
    }

    fn open_listed(&self, file: &Listed) -> io::Result<Arc<dyn ReadAt>> {
        let base_size = file.base.map_or(0, |base| base.size);
        let own = match &file.data_file {
            Some(data_file) => Some(self.open_own(data_file, file.content.size - base_size)?),
            None => None,
        };
        let base = file.base.map(|content| self.open_in_base(content)).transpose()?;
        Ok(match (base, own) {
            (Some(first), Some(second)) => Arc::new(Joined { first, second }),
            (Some(whole), None) | (None, Some(whole)) => whole,
            (None, None) => Arc::new(Empty),
        })
    }

    /// The bytes that lie in this backup.
    fn open_own(&self, data_file: &str, size: u64) -> io::Result<Arc<dyn ReadAt>> {
        let opened = self.storage.open(&self.root.join(data_file))?;
        if opened.len() == size {
            return Ok(opened);
        }
        let what =
            format!("{data_file:?} has {} bytes where the manifest says {size}", opened.len());
        Err(io::Error::new(ErrorKind::InvalidData, what))
    }

    /// What lies in the base.
    fn open_in_base(&self, content: Content) -> io::Result<Arc<dyn ReadAt>> {
        let base = self.base.as_ref().ok_or(ErrorKind::NotFound)?;
        let file = base.names.get(&content).and_then(|name| base.files.get(name));
        let file = file.ok_or_else(|| {
            let Content { size, hash } = content;
            let what = format!(
                "{} has no file of {size} bytes with the hash {}",
                base.root.display(),
                shown(hash)
            );
            io::Error::new(ErrorKind::NotFound, what)
        })?;
        base.open_listed(file)
    }
}

/// A file of no bytes: a backup keeps none.
#[derive(Debug)]
struct Empty;

impl ReadAt for Empty {
    fn len(&self) -> u64 {
        0
    }
    fn read_exact_at(&self, target: &mut [u8], _offset: u64) -> io::Result<()> {
        if target.is_empty() { Ok(()) } else { Err(ErrorKind::UnexpectedEof.into()) }
    }
}

impl Files for Restored {
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        self.open_listed(self.files.get(name).ok_or(ErrorKind::NotFound)?)
    }
    fn list(&self, name: &str) -> io::Result<Vec<Entry>> {
        self.files.list(name, |file| file.content.size)
    }
    fn exists(&self, name: &str) -> io::Result<bool> {
        Ok(self.files.exists(name))
    }
}
