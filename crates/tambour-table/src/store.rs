//! Where a table lies: on this machine's disk, or in an object store that its path is a URL of.

use crate::TableError;
use std::path::Path;
use std::sync::Arc;
use tambour_storage::Storage;

pub use tambour_object::{Traffic, is_url, traffic};

/// The storage that a path is of: the store of a URL such as `s3://bucket/hits`, else the disk of this machine.
///
/// ```
/// use std::path::Path;
/// let disk = tambour_table::store::storage_of(Path::new("/"))?;
/// assert!(disk.exists(Path::new("/"))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn storage_of(path: &Path) -> Result<Arc<dyn Storage>, TableError> {
    Ok(if is_url(path) { tambour_object::open(path)? } else { tambour_storage::disk() })
}

/// An error for the URL of a store, into which nothing is written.
///
/// ```
/// use std::path::Path;
/// use tambour_table::store::refuse_url;
/// assert!(refuse_url(Path::new("s3://bucket/hits")).is_err());
/// assert!(refuse_url(Path::new("hits")).is_ok());
/// ```
pub fn refuse_url(path: &Path) -> Result<(), TableError> {
    if !is_url(path) {
        return Ok(());
    }
    let (clause, reason) = (path.display().to_string(), tambour_object::REFUSAL.to_owned());
    Err(TableError::Refused { clause, reason })
}
