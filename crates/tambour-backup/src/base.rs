//! Finding the base of an increment.

use crate::error::BackupError;
use crate::manifest::{Manifest, uuid_of};
use crate::restored::Restored;
use crate::{MANIFEST, open_in_chain};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::Storage;

/// Increments on increments: more than anybody makes.
const CHAIN_MAX: usize = 1000;

/// The base that a manifest names, from beside its backup. It is missed only if a file of the backup lies in it.
pub(crate) fn find(
    storage: &Arc<dyn Storage>,
    path: &Path,
    manifest: &Manifest,
    chain: &mut Vec<String>,
) -> Result<Option<Arc<Restored>>, BackupError> {
    if manifest.files.iter().all(|file| file.base.is_none()) {
        return Ok(None);
    }
    let uuid = manifest.uuid.clone().unwrap_or_default();
    if chain.len() >= CHAIN_MAX || chain.contains(&uuid) {
        let what = format!("its bases lead in a circle, or there are more than {CHAIN_MAX}");
        return Err(BackupError::damaged(path, what));
    }
    chain.push(uuid);
    let named = manifest.base.as_deref().unwrap_or("without a name");
    let missing = || BackupError::NoBase { path: path.to_owned(), base: named.to_owned() };
    let place = place(storage, path, manifest)?.ok_or_else(missing)?;
    let base = open_in_chain(storage, &place, chain)?.and_then(|base| base.restored);
    let base = base.ok_or_else(missing)?;
    if manifest.base_uuid.is_some() && base.uuid() != manifest.base_uuid.as_deref() {
        return Err(missing());
    }
    Ok(Some(base))
}

/// Where the base is: a directory whose manifest has the UUID, else what has the last part of the base's name.
fn place(
    storage: &Arc<dyn Storage>,
    path: &Path,
    manifest: &Manifest,
) -> Result<Option<PathBuf>, BackupError> {
    let around = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let entries = storage.list(&around).map_err(BackupError::file(&around))?;
    let named = manifest.base.as_deref().and_then(last_part);
    let mut by_name = None;
    for entry in entries {
        let found = around.join(&entry.name);
        if entry.is_directory
            && let Some(wanted) = &manifest.base_uuid
            && let Ok(file) = storage.open(&found.join(MANIFEST))
            && uuid_of(&file).as_ref() == Some(wanted)
        {
            return Ok(Some(found));
        }
        if named == Some(entry.name.as_str()) {
            by_name = Some(found);
        }
    }
    Ok(by_name)
}

/// `monday.zip` of `Disk('backups', 'weekly/monday.zip')`: the last part of the last text that is a place.
fn last_part(base: &str) -> Option<&str> {
    let is_remote = base.starts_with("S3") || base.starts_with("AzureBlobStorage");
    let mut texts = base.split('\'').skip(1).step_by(2);
    // The arguments after an address are keys; elsewhere the path is the last one.
    let text = if is_remote { texts.next() } else { texts.last() }?;
    text.trim_end_matches('/').rsplit('/').next().filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_bases() {
        for (base, part) in [
            ("Disk('backups', 'weekly/monday.zip')", Some("monday.zip")),
            ("File('/backups/monday/')", Some("monday")),
            ("S3('http://127.0.0.1:9000/bucket/full', 'key', 'secret')", Some("full")),
            ("Memory", None),
            ("File('')", None),
        ] {
            assert_eq!(last_part(base), part, "{base}");
        }
    }
}
