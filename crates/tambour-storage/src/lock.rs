//! One writer at a time: the lock that every writer of a store holds. Readers take none.

use crate::StorageError;
use crate::{Lock, Storage};
use std::io::ErrorKind;
use std::path::Path;

/// The file that is locked.
pub const LOCK: &str = ".tambour.lock";

/// Most bytes of the note in the lock file that are looked at.
const NOTE_MAX: u64 = 64;

/// Takes the lock of a directory, or says at once who has it. `None` if the directory is not there (any more).
///
/// ```
/// use std::path::Path;
/// use tambour_storage::{Storage, lock::lock, memory::Memory};
/// let storage = Memory::new();
/// storage.create_directory(Path::new("hits"))?;
/// let held = lock(&storage, Path::new("hits"))?;
/// assert!(lock(&storage, Path::new("hits")).is_err(), "taken");
/// drop(held);
/// assert!(lock(&storage, Path::new("hits"))?.is_some());
/// assert!(lock(&storage, Path::new("nowhere"))?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lock(
    storage: &dyn Storage,
    directory: &Path,
) -> Result<Option<Box<dyn Lock>>, StorageError> {
    let path = directory.join(LOCK);
    match storage.lock(&path, &std::process::id().to_string()) {
        Ok(lock) => Ok(Some(lock)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            let holder = holder(storage, &path);
            Err(StorageError::Locked { path: directory.to_owned(), holder })
        }
        Err(error) => Err(StorageError::file("lock", &path)(error)),
    }
}

/// Who holds the lock, as far as the note says. It is for people only, and may be empty when the holder has just begun.
fn holder(storage: &dyn Storage, path: &Path) -> String {
    let note = storage.read(path, NOTE_MAX).ok().and_then(|note| String::from_utf8(note).ok());
    match note {
        Some(id) if !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit()) => {
            format!("process {id}")
        }
        _ => "another process".to_owned(),
    }
}
