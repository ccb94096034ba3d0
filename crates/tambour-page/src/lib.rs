//! Pages of a fixed size, compressed one by one, in one file: read at random, written in batches that are whole or absent.
//!
//! ```
//! use tambour_page::{Durability, Options, Store};
//!
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("drum.pages");
//! let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
//! let page = store.alloc()?;
//! let mut batch = store.batch()?;
//! batch.put(page, &[7; 4096])?;
//! batch.commit(Durability::Sync)?;
//!
//! let mut content = vec![0; 4096];
//! store.read(page, &mut content)?;
//! assert_eq!(content, [7; 4096]);
//! store.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two layouts have one interface. *packed* puts images one after another into extents; *holes* keeps each page at number
//! times page size in a sparse file and gives the rest of its range back to the file system, as InnoDB's transparent page
//! compression does. The format is described in `docs/format/page.md`, what to expect of it in `docs/pages.md`.
#![forbid(unsafe_code)]

mod aside;
mod backup;
mod batch;
mod checkpoint;
mod codec;
mod compact;
mod dictionary;
pub mod doctor;
mod error;
mod extents;
mod frame;
mod header;
mod hot;
mod images;
pub mod law;
mod map;
mod mark;
mod open;
mod options;
mod place;
mod reader;
mod recover;
mod restore;
mod shared;
mod snapshot;
pub mod space;
mod stat;
mod store;
mod superblock;
#[cfg(test)]
mod tests;
mod training;
mod turns;
mod verify;

pub use backup::BackupReport;
pub use batch::Batch;
pub use compact::Compacted;
pub use error::PageError;
pub use options::{
    Durability, Generation, Layout, Method, Options, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PAGES_MAX,
    PageCodec, PageId,
};
pub use reader::Reader;
pub use restore::{convert, restore};
pub use shared::Counts;
pub use stat::{CodecStat, Growth, Stat};
pub use store::Store;
pub use tambour_storage::place::Access;
pub use training::DictionaryReport;
pub use turns::Turns;
pub use verify::{Level, Verified};
