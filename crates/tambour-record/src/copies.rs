//! Copies of files that are kept aside before something replaces them, for those who look into what was lost.

use super::RecordError;
use std::path::{Path, PathBuf};
use tambour_storage::Storage;

/// Copies of a file that are kept under one name.
const COPIES_MAX: u32 = 1000;

/// Keeps a copy of a file under its name with `.why-1` after it, or the next number that is free; one that is there already is
/// good enough. Nothing reads it as a segment.
pub(super) fn keep(storage: &dyn Storage, path: &Path, why: &str) -> Result<PathBuf, RecordError> {
    let bytes = storage.read(path, u64::MAX).map_err(RecordError::file("read", path))?;
    for number in 1..=COPIES_MAX {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{why}-{number}"));
        let copy = PathBuf::from(name);
        if storage.exists(&copy).map_err(RecordError::file("look for", &copy))? {
            // A longer one is not read: it is another one.
            if storage.read(&copy, bytes.len() as u64).is_ok_and(|there| there == bytes) {
                return Ok(copy);
            }
            continue;
        }
        let mut file = storage.create(&copy).map_err(RecordError::file("create", &copy))?;
        let written = file.write_all(&bytes).and_then(|()| file.sync());
        written.map_err(RecordError::file("write", &copy))?;
        let directory = path.parent().unwrap_or(Path::new("."));
        storage.sync_directory(directory).map_err(RecordError::file("sync", directory))?;
        return Ok(copy);
    }
    let problem = format!(
        "{}: {COPIES_MAX} damaged copies are kept beside it; move them away",
        path.display()
    );
    Err(RecordError::Argument { problem })
}
