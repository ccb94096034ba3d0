//! S3, Google Cloud Storage, Azure and web servers as storage that is only read.
//!
//! [`open`] gives a [`Storage`] whose paths are URLs: `s3://bucket/hits/tambour.json`. Objects are read in ranges, each of which asks for
//! the very object that was opened, by its `ETag`; ranges are kept in a bounded cache and read ahead where they are read in order. A
//! directory is what a listing says, once for the life of the storage; a web server lists nothing.
//!
//! Disks of servers whose files are objects are read through [`with_disks`].
//!
//! Requests run on two threads of this crate's own, so that callers may be in anybody's runtime or in none.
#![forbid(unsafe_code)]

mod address;
mod cache;
mod disk;
mod error;
mod fetch;
mod file;
mod listing;
mod runtime;
mod settings;
mod store;

pub use address::is_url;
pub use disk::{DISK_REFUSAL, disk_of, is_on_disk, with_disks};
pub use error::StoreError;
pub use fetch::{Traffic, traffic};
pub use settings::Variables;

use address::Address;
use std::path::Path;
use std::sync::Arc;
use store::Store;
use tambour_storage::Storage;
use tambour_storage::read_only::ReadOnly;

/// What every attempt to write is answered.
pub const REFUSAL: &str = "object stores are only read: write into a local directory, then copy it";

/// Opens the store that a URL is of; its credentials and settings are in the environment, by the names that each store's own tools
/// know. The whole bucket is there, by paths that begin like this one.
pub fn open(path: &Path) -> Result<Arc<dyn Storage>, StoreError> {
    open_with(path, &settings::variables())
}

/// The same with other variables than those of the environment.
///
/// ```
/// use std::path::Path;
/// use tambour_object::{Variables, open_with};
/// let public = Variables::from([("AWS_SKIP_SIGNATURE".to_owned(), "true".to_owned())]);
/// let bucket = open_with(Path::new("s3://bucket/hits"), &public)?;
/// assert!(bucket.create_directory(Path::new("s3://bucket/new")).is_err(), "only read");
/// # Ok::<(), tambour_object::StoreError>(())
/// ```
pub fn open_with(path: &Path, variables: &Variables) -> Result<Arc<dyn Storage>, StoreError> {
    let address = Address::parse(path)?;
    let client = settings::client(&address, variables)?;
    let root = address.root.clone();
    Ok(ReadOnly::over(Path::new(&root), Arc::new(Store::new(address, client)), REFUSAL))
}
