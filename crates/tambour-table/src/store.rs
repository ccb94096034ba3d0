//! Where a table lies: on this machine's disk, or in an object store that its path is a URL of.

use crate::TableError;
use std::path::Path;
use std::sync::Arc;
use tambour_storage::Storage;

pub use tambour_object::{Traffic, is_on_disk, is_url, traffic, with_disks};

/// The storage that a path is of: the store of a URL such as `s3://bucket/hits`, else the disk of this machine, in which the files of
/// a server's object-store disks have their own bytes.
///
/// ```
/// use std::path::Path;
/// let disk = tambour_table::store::storage_of(Path::new("/"))?;
/// assert!(disk.exists(Path::new("/"))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn storage_of(path: &Path) -> Result<Arc<dyn Storage>, TableError> {
    if is_url(path) {
        return Ok(tambour_object::open(path)?);
    }
    Ok(with_disks(tambour_storage::disk(), path))
}

/// An error for the URL of a store, and for a path on a server's object-store disk: nothing is written there.
///
/// ```
/// use std::path::Path;
/// use tambour_table::store::refuse_url;
/// assert!(refuse_url(Path::new("s3://bucket/hits")).is_err());
/// assert!(refuse_url(Path::new("hits")).is_ok());
/// ```
pub fn refuse_url(path: &Path) -> Result<(), TableError> {
    let reason = match path {
        path if is_url(path) => tambour_object::REFUSAL,
        path if is_on_disk(path) => tambour_object::DISK_REFUSAL,
        _ => return Ok(()),
    };
    Err(TableError::Refused { clause: path.display().to_string(), reason: reason.to_owned() })
}
