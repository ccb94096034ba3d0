//! Compressed storage for databases: smaller, faster to read, and never silently wrong.
//!
//! A table is a directory of `MergeTree` parts, in ClickHouse's own format: ClickHouse attaches what this crate writes, and
//! this crate reads what ClickHouse writes. Rows travel as Arrow batches.
//!
//! ```
//! use tambour::ImportOptions;
//!
//! # #[cfg(feature = "sql")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let (csv, hits) = (directory.path().join("hits.csv"), directory.path().join("hits"));
//! # let parquet = directory.path().join("hits.parquet");
//! std::fs::write(&csv, "page,visits\n/,30\n/about,1\n/,40\n")?;
//! let table = tambour::import([&csv], &hits, &ImportOptions::default().order_by("page"))?;
//!
//! for batch in table.scan().columns(["page", "visits"]).filter("visits > 10").limit(100).batches()? {
//!     println!("{} rows", batch?.num_rows());
//! }
//! let top = tambour::sql(&[&table], "SELECT page, sum(visits) FROM hits GROUP BY page")?;
//! assert_eq!(top.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 2);
//! table.export(&parquet)?;
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "sql"))]
//! # fn main() {}
//! ```
//!
//! # What there is
//!
//! | for | begin with | feature |
//! |---|---|---|
//! | columns | [`import`](fn@import), [`Table`], [`Insert`] | `files`, `tables` |
//! | queries | [`fn@sql`], [`Session`] | `sql` |
//! | queries over several workers | `Cluster` | `cluster` |
//! | small records | [`RecordStore`] | `records` |
//! | pages of a database | [`PageStore`] | `pages` |
//! | messages of many connections | [`MessageCodec`] | `messages` |
//! | LZ4 blocks, compressed streams | [`lz4`], [`frame`] | |
//! | integers and hashes | [`varint`], [`integer`], [`hash`] | |
//!
//! All features but `cluster` are on by default. With `default-features = false, features = ["pages"]` there is neither Arrow nor Parquet
//! nor DataFusion. Arrow is re-exported as [`arrow_array`] and [`arrow_schema`], in the version that batches have here.
//!
//! # Records, pages, messages
//!
//! ```
//! use tambour::{Durability, MessageCodec, PageOptions, PageStore, RecordOptions, RecordStore};
//! use tambour::message::{Scratch, Trainer};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! // Records: appended, compressed with dictionaries trained on them, found by number.
//! let disk = tambour::storage::disk();
//! let store = RecordStore::create(&disk, &directory.path().join("events"), &RecordOptions::default())?;
//! let writer = store.writer("default")?;
//! let ids = writer.append_batch(&[&b"first"[..], b"second"].into_iter().collect())?;
//! let view = std::sync::Arc::new(store.view("default", &Default::default())?);
//! assert_eq!(view.reader().get(ids.start + 1)?, b"second");
//!
//! // Pages: of a fixed size, written in batches that are whole or absent.
//! let options = PageOptions { page_bytes: 4096, ..PageOptions::default() };
//! let mut pages = PageStore::create(&directory.path().join("drum.pages"), &options)?;
//! let page = pages.alloc()?;
//! let mut batch = pages.batch()?;
//! batch.put(page, &[7; 4096])?;
//! batch.commit(Durability::Sync)?;
//! pages.close()?;
//!
//! // Messages: one dictionary for all connections, nothing kept per connection.
//! let mut trainer = Trainer::default();
//! for id in 0..2000 {
//!     trainer.add(format!(r#"{{"method":"get","user":"u{id}","id":{id}}}"#).as_bytes())?;
//! }
//! let codec = MessageCodec::new(1, trainer.train()?);
//! let (mut scratch, mut encoded, mut decoded) = (Scratch::default(), Vec::new(), Vec::new());
//! let message = br#"{"method":"get","user":"u77","id":123456}"#;
//! codec.encode(message, None, &mut scratch, &mut encoded)?;
//! codec.decode(&encoded, None, &mut scratch, &mut decoded)?;
//! assert_eq!(decoded, message);
//! # Ok(())
//! # }
//! ```
//!
//! # The layers
//!
//! Each is a crate of its own, re-exported here under a short name, with everything that the root does not show.
//!
//! | module | turns | into |
//! |---|---|---|
//! | [`kernel`] | bytes | bytes: loops without allocation or I/O, in variants per instruction set |
//! | [`codec`] | blocks | bytes: checksums, LZ4, ZSTD, chains of codecs |
//! | [`storage`] | files | the file system, or one in memory that crashes as a test tells it |
//! | [`part`] | parts | rows: one immutable directory of sorted columns |
//! | [`function`] | values | values: ClickHouse's functions over Arrow arrays |
//! | [`table`] | tables | parts: schema, insert, merge, scan, recovery |
//! | [`advise`] | rows | advice: codecs and types that would suit, measured |
//! | [`record`] | small records | segments, with dictionaries trained on them |
//! | [`page`] | pages | one file, packed or with holes |
//! | [`files`] | CSV, TSV, JSON lines, Parquet, Arrow | rows, and back |
//! | [`message`] | messages of many connections | bytes, with one dictionary for all |
//! | [`mod@sql`] | queries | rows: Apache DataFusion over the scans |
//!
//! # Errors
//!
//! Every layer has its own error; [`Error`] holds any of them. [`Error::kind`] says what a caller can do about it, the
//! message is for people, [`Error::place`] and the chain of sources tell the place.
#![forbid(unsafe_code)]

#[cfg(feature = "tables")]
mod attach;
#[cfg(feature = "cluster")]
pub mod cluster;
mod error;
#[cfg(feature = "files")]
mod export;
#[cfg(feature = "files")]
mod import;
#[cfg(feature = "sql")]
mod query;
#[cfg(feature = "files")]
pub mod sample;
#[cfg(feature = "tables")]
mod scan;
#[cfg(feature = "tables")]
mod snapshot;

#[cfg(feature = "tables")]
pub use attach::AttachOptions;
#[cfg(feature = "cluster")]
pub use cluster::{Cluster, LocalCluster};
pub use error::{Error, chain, kind_of, kind_of_link, place_of};
#[cfg(feature = "files")]
pub use export::{ExportError, ExportOptions, ExportProgress};
#[cfg(feature = "files")]
pub use import::{
    BatchSource, BatchesInMemory, Clause, ImportError, ImportEvent, ImportOptions, ImportSummary,
    ImportTypes, TypeChange, collect_batches, import, import_batches, import_with,
};
#[cfg(feature = "sql")]
pub use query::{QueryBatches, sql, sql_in};
#[cfg(feature = "tables")]
pub use scan::{Batches, ScanBuilder};
#[cfg(feature = "tables")]
pub use snapshot::Table;

#[cfg(feature = "tables")]
pub use {arrow_array, arrow_schema};

#[cfg(feature = "tables")]
pub use tambour_advise as advise;
pub use tambour_codec as codec;
#[cfg(feature = "files")]
pub use tambour_files as files;
#[cfg(feature = "tables")]
pub use tambour_function as function;
#[cfg(feature = "tables")]
pub use tambour_index as index;
pub use tambour_int as varint;
pub use tambour_kernel as kernel;
#[cfg(feature = "messages")]
pub use tambour_message as message;
#[cfg(feature = "pages")]
pub use tambour_page as page;
#[cfg(feature = "tables")]
pub use tambour_part as part;
#[cfg(feature = "records")]
pub use tambour_record as record;
#[cfg(feature = "sql")]
pub use tambour_sql as sql;
pub use tambour_storage as storage;
#[cfg(feature = "tables")]
pub use tambour_table as table;

pub use tambour_codec::spec::CodecSpec;
pub use tambour_codec::{Kind, frame};
pub use tambour_kernel::{hash, integer, lz4};
#[cfg(feature = "messages")]
pub use tambour_message::MessageCodec;
#[cfg(feature = "pages")]
pub use tambour_page::{Durability, Options as PageOptions, Store as PageStore};
#[cfg(feature = "tables")]
pub use tambour_part::types::Column;
#[cfg(feature = "tables")]
pub use tambour_part::{DataType, Part};
#[cfg(feature = "records")]
pub use tambour_record::{RecordStore, Settings as RecordOptions};
#[cfg(feature = "sql")]
pub use tambour_sql::{Session, SessionOptions};
pub use tambour_storage::Place;
#[cfg(feature = "tables")]
pub use tambour_table::filter::Filter;
#[cfg(feature = "tables")]
pub use tambour_table::insert::{Insert, InsertOptions};
#[cfg(feature = "tables")]
pub use tambour_table::merge::OptimizeOptions;
#[cfg(feature = "tables")]
pub use tambour_table::schema::TableDefinition;

/// The processors of this machine, or one if nobody knows.
#[cfg(feature = "files")]
fn threads_of_machine() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
