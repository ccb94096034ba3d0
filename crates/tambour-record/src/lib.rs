//! Records: an append-only log of small pieces with dense ids, compressed one by one or a few together with a dictionary.
//!
//! A [`RecordStore`] is a directory; each of its *categories* is a log of its own, with its own ids and dictionaries. A log is
//! a row of *segments*. A [`Writer`] (there is one at a time) appends to the *open* one: a commit is one frame, durable when
//! [`Writer::append_batch`] or [`Writer::flush`] returns. [`Writer::seal`] makes *sealed* segments of full ones: it samples
//! them, trains a dictionary, keeps it if records that were not in the sample shrink by it, chooses how many records share a
//! group, and replaces the open file. A [`View`] is what readers see; any number of them, in any process, need no lock.
//!
//! ```no_run
//! use std::sync::Arc;
//! use tambour_record::{Batch, RecordStore, Settings, ViewOptions};
//! let storage = tambour_storage::disk();
//! let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
//! let writer = store.writer("default")?;
//! let ids = writer.append_batch(&[&b"first"[..], b"second"].into_iter().collect())?;
//! let view = Arc::new(store.view("default", &ViewOptions::default())?);
//! assert_eq!(view.reader().get(ids.start + 1)?, b"second");
//! # Ok::<(), tambour_record::RecordError>(())
//! ```
//!
//! Nothing unverified is returned: every group has a CRC-32C that starts at its segment and number. The format is
//! described in `docs/format/record.md`.
#![forbid(unsafe_code)]

mod background;
mod batch;
mod bytes;
mod codec;
mod compact;
mod copies;
mod dictionary;
mod entry;
mod error;
mod guard;
mod keys;
pub mod law;
mod layout;
mod line;
mod memory;
mod next;
mod open;
mod pending;
mod reader;
mod retention;
mod salvage;
mod scan;
mod seal;
mod sealed;
mod search;
mod stat;
mod trial;
mod verify;
mod view;
mod writer;

pub use background::Sealing;
pub use batch::Batch;
pub use codec::Codec;
pub use compact::{CompactOptions, Compacted};
pub use dictionary::{DICTIONARY_BYTES_MAX, Dictionary, LZ4_DICTIONARY_BYTES_MAX, SAMPLES_MIN};
pub use entry::{KEY_BYTES_MAX, State};
pub use error::RecordError;
pub use layout::{MARKER, RecordStore, Settings};
pub use reader::Reader;
pub use retention::{Dropped, Retention};
pub use salvage::{CutOff, Doubtful, Moved, Salvaged, salvage};
pub use scan::Scanned;
pub use seal::{SealOptions, SealReport};
pub use search::{Query, Searched};
pub use stat::{SegmentStat, SegmentState, Stat};
pub use tambour_storage::{Storage, disk};
pub use trial::Group;
pub use verify::{Verified, verify};
pub use view::{View, ViewOptions};
pub use writer::Writer;

/// Longest record.
pub const RECORD_BYTES_MAX: usize = 16 << 20;
/// Most records of a group.
pub const GROUP_RECORDS_MAX: usize = 16;
/// Most records of a segment.
const SEGMENT_RECORDS_MAX: u64 = 1 << 26;
/// Most bytes of the groups of a segment.
const SEGMENT_BYTES_MAX: u64 = 512 << 20;

/// Bytes that records take in a file at most: themselves, and their share of heads, index and sums.
const fn weight(raw_bytes: u64, records: u64) -> u64 {
    raw_bytes.saturating_add(records.saturating_mul(32))
}

#[cfg(test)]
mod tests;
