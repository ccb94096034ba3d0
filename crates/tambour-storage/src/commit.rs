//! Committing by replacing one small file: write aside, sync, rename, sync the directory.
//!
//! Whatever a store changes is first made durable under names that nobody reads; then one file that says what is valid
//! is replaced. A crash leaves the old file or the new one, never a mixture (docs/durability.md).

use crate::Storage;
use crate::StorageError;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What a file is called while it is written, before it replaces another.
pub fn aside(name: &str) -> String {
    format!("{name}.tmp")
}

/// How a replacement ended.
///
/// ```
/// use std::path::Path;
/// use tambour_storage::commit::{Replaced, replace};
/// use tambour_storage::memory::{Calls, ENOSPC, Memory};
/// let full = Memory::new();
/// full.fail_at(Calls::Writes, 1, ENOSPC);
/// let replaced = replace(&full, Path::new(""), "table.json", b"{}");
/// assert!(matches!(replaced, Replaced::Unchanged(_)));
/// ```
#[derive(Debug)]
pub enum Replaced {
    /// Everything happened and is durable.
    Durable,
    /// Nothing happened.
    Unchanged(StorageError),
    /// The rename was attempted: readers may see either file now, and either may be there after a crash.
    Unknown(StorageError),
}

/// Replaces (or makes) the file `name` in `directory`, atomically and durably.
///
/// ```
/// use std::path::Path;
/// use tambour_storage::Storage;
/// use tambour_storage::commit::{Replaced, replace};
/// use tambour_storage::memory::{Fate, Memory};
/// let storage = Memory::new();
/// let replaced = replace(&storage, Path::new(""), "table.json", b"{}");
/// assert!(matches!(replaced, Replaced::Durable));
/// // A power cut now takes nothing of it away.
/// let after = storage.crash(Fate::Lost);
/// assert_eq!(after.read(Path::new("table.json"), 100)?, b"{}");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn replace(storage: &dyn Storage, directory: &Path, name: &str, contents: &[u8]) -> Replaced {
    let temporary = directory.join(aside(name));
    if let Err(error) = write_aside(storage, &temporary, contents) {
        // It is a leftover now; the next attempt removes it if this one cannot.
        let _ = storage.remove_file(&temporary);
        return Replaced::Unchanged(error);
    }
    let target = directory.join(name);
    let renamed = storage
        .rename(&temporary, &target)
        .map_err(StorageError::file("replace", &target))
        .and_then(|()| sync_directory(storage, directory));
    match renamed {
        Ok(()) => Replaced::Durable,
        Err(error) => Replaced::Unknown(error),
    }
}

fn write_aside(storage: &dyn Storage, path: &Path, contents: &[u8]) -> Result<(), StorageError> {
    remove_file(storage, path)?;
    let mut file = storage.create(path).map_err(StorageError::file("create", path))?;
    file.write_all(contents).map_err(StorageError::file("write", path))?;
    file.sync().map_err(StorageError::file("sync", path))
}

/// Makes the entries of a directory durable.
pub fn sync_directory(storage: &dyn Storage, path: &Path) -> Result<(), StorageError> {
    storage.sync_directory(path).map_err(StorageError::file("sync", path))
}

/// Removes a file; that there is none is fine.
///
/// ```
/// use std::path::Path;
/// use tambour_storage::{commit, memory::Memory};
/// assert!(commit::remove_file(&Memory::new(), Path::new("none")).is_ok());
/// ```
pub fn remove_file(storage: &dyn Storage, path: &Path) -> Result<(), StorageError> {
    match storage.remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StorageError::file("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// Removes a directory with all that is in it; that there is none is fine.
pub fn remove_directory(storage: &dyn Storage, path: &Path) -> Result<(), StorageError> {
    match storage.remove_directory(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(StorageError::file("remove", path)(error))
        }
        _ => Ok(()),
    }
}

/// True if something is at a path.
pub fn exists(storage: &dyn Storage, path: &Path) -> Result<bool, StorageError> {
    storage.exists(path).map_err(StorageError::file("look for", path))
}

/// The directory that a path lies in.
///
/// ```
/// use std::path::Path;
/// use tambour_storage::commit::parent;
/// assert_eq!(parent(Path::new("data/hits")), Path::new("data"));
/// assert_eq!(parent(Path::new("hits")), Path::new("."));
/// ```
pub fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    }
}
