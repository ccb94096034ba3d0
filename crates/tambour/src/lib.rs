//! Compressed storage for databases: smaller, faster to read, and never silently wrong.
//!
//! A table is a directory of `MergeTree` parts, in ClickHouse's own format: ClickHouse attaches what this crate writes, and
//! this crate reads what ClickHouse writes. Rows travel as Arrow batches.
//!
//! ```
//! use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
//! use std::sync::Arc;
//! use tambour::storage;
//! use tambour::table::scan::{Scan, ScanRequest};
//! use tambour::{Insert, InsertOptions, Table, TableDefinition};
//!
//! # fn main() -> Result<(), tambour::Error> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let path = directory.path().join("hits");
//! let definition = TableDefinition::parse(
//!     "CREATE TABLE hits (page String, visits Int64 CODEC(ZSTD(3))) ENGINE = MergeTree ORDER BY page",
//! )?;
//!
//! // Insert: rows in any order, visible all at once when the insert commits.
//! let disk = storage::disk();
//! let mut insert = Insert::begin(&disk, &path, &definition, InsertOptions::default())?;
//! let page: ArrayRef = Arc::new(StringArray::from(vec!["/", "/about", "/"]));
//! let visits: ArrayRef = Arc::new(Int64Array::from(vec![3, 1, 4]));
//! insert.write(RecordBatch::try_from_iter([("page", page), ("visits", visits)]).unwrap())?;
//! insert.commit()?;
//!
//! // Read back: sorted by the key, only the columns that are asked for.
//! let table = Table::open(&path)?;
//! assert_eq!(table.rows(), 3);
//! let request = ScanRequest { columns: vec!["visits".to_owned()], ..ScanRequest::default() };
//! let (scan, _pruned) = Scan::plan(&table, &request)?;
//! let rows: usize = scan
//!     .run(0, &disk, Some(&table))?
//!     .map(|batch| Ok::<_, tambour::Error>(batch?.num_rows()))
//!     .sum::<Result<_, _>>()?;
//! assert_eq!(rows, 3);
//! # Ok(())
//! # }
//! ```
//!
//! # The layers
//!
//! Each is a crate of its own, re-exported here under a short name; a layer knows only those above it in this list.
//!
//! | module | turns | into |
//! |---|---|---|
//! | [`kernel`] | bytes | bytes: loops without allocation or I/O, in variants per instruction set |
//! | [`codec`] | blocks | bytes: checksums, LZ4, ZSTD, chains of codecs |
//! | [`storage`] | files | the file system, or one in memory that crashes as a test tells it |
//! | [`part`] | parts | rows: one immutable directory of sorted columns |
//! | [`function`] | values | values: ClickHouse's functions over Arrow arrays |
//! | [`table`] | tables | parts: schema, insert, merge, scan, recovery |
//! | [`record`] | small records | segments, with dictionaries trained on them |
//! | [`page`] | pages | one file, packed or with holes |
//! | [`files`] | CSV, TSV, JSON lines, Parquet, Arrow | rows, and back |
//! | [`message`] | messages of many connections | bytes, with one dictionary for all |
//! | `sql` | queries | rows: Apache DataFusion over the scans (feature `sql`, on by default) |
//!
//! # Errors
//!
//! Every layer has its own error; [`Error`] holds any of them. [`Error::kind`] says what a caller can do about it, the
//! message is for people, and the chain of sources tells the place.
#![forbid(unsafe_code)]

mod error;
mod import;
mod snapshot;

pub use error::{Error, chain, kind_of, kind_of_link, place_of};
pub use import::{
    Clause, ImportError, ImportEvent, ImportOptions, ImportSummary, import, import_with,
};
pub use snapshot::Table;

pub use tambour_codec as codec;
pub use tambour_files as files;
pub use tambour_function as function;
pub use tambour_kernel as kernel;
pub use tambour_message as message;
pub use tambour_page as page;
pub use tambour_part as part;
pub use tambour_record as record;
#[cfg(feature = "sql")]
pub use tambour_sql as sql;
pub use tambour_storage as storage;
pub use tambour_table as table;

pub use tambour_codec::Kind;
pub use tambour_codec::spec::CodecSpec;
pub use tambour_part::types::Column;
pub use tambour_part::{DataType, Part, Place};
pub use tambour_table::insert::{Insert, InsertOptions};
pub use tambour_table::schema::TableDefinition;

/// The processors of this machine, or one if nobody knows.
fn threads_of_machine() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
