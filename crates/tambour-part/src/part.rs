//! An opened part: its metadata, all of it checked, and readers of its columns.

use crate::PartError;
use crate::storage::Storage;
use crate::types::{Column, DataType, Strings};
use arrow_array::{ArrayRef, RecordBatch};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How the data of a part is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A file per stream.
    Wide,
    /// One data.bin.
    Compact,
}

/// Sizes of one column in bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnSize {
    /// Its `.bin` files (in a compact part: its share of data.bin).
    pub compressed: u64,
    /// The same after decoding.
    pub uncompressed: u64,
    /// Its mark files.
    pub marks: u64,
    /// The codecs that its blocks really use, as `CODEC(…)` texts without duplicates, most blocks first.
    pub codecs: Vec<String>,
}

/// One thing that `verify` found.
#[derive(Debug)]
pub struct Damage {
    /// What and where.
    pub error: PartError,
}

/// What `verify` saw.
#[derive(Debug, Default)]
pub struct Verification {
    /// Files looked at.
    pub files: u64,
    /// Blocks whose checksum was verified.
    pub blocks: u64,
    /// Compressed bytes read.
    pub bytes: u64,
    /// Rows decoded, per column all of them.
    pub rows: u64,
    /// All that is wrong; empty means good.
    pub damage: Vec<Damage>,
}

/// An immutable directory of sorted rows.
#[derive(Debug)]
pub struct Part {
    // storage, path, manifest, marks, …
}

impl Part {
    /// Opens a part and checks its metadata: every small file against its hash in checksums.txt, every listed file's size,
    /// marks against count.txt, the partition id in the directory's name against partition.dat.
    pub fn open(_storage: &Arc<dyn Storage>, _path: &Path) -> Result<Self, PartError> {
        todo!()
    }
    /// The directory.
    pub fn path(&self) -> &Path {
        todo!()
    }
    /// The directory's name.
    pub fn name(&self) -> &str {
        todo!()
    }
    /// Wide or compact.
    pub fn form(&self) -> Form {
        todo!()
    }
    /// Rows.
    pub fn rows(&self) -> u64 {
        todo!()
    }
    /// The columns as in columns.txt.
    pub fn columns(&self) -> &[Column] {
        todo!()
    }
    /// Rows of each granule (the final mark is dropped).
    pub fn granules(&self) -> &[u64] {
        todo!()
    }
    /// True if the primary index has an entry for the part's last row.
    pub fn has_final_mark(&self) -> bool {
        todo!()
    }
    /// Extension of its mark files (`mrk2`, `cmrk4`, …).
    pub fn mark_extension(&self) -> &str {
        todo!()
    }
    /// Bytes of all its files.
    pub fn bytes_on_disk(&self) -> u64 {
        todo!()
    }
    /// Its files with their sizes, sorted by name.
    pub fn files(&self) -> Vec<(String, u64)> {
        todo!()
    }
    /// Sizes and codecs per column (reads the block headers of its files, not the payloads).
    pub fn column_sizes(&self) -> Result<Vec<ColumnSize>, PartError> {
        todo!()
    }
    /// The values in partition.dat, given the types of the partition key; one row each.
    pub fn partition_values(&self, _types: &[DataType]) -> Result<Vec<ArrayRef>, PartError> {
        todo!()
    }
    /// Minimum and maximum of a column in the part (two rows), if minmax_<column>.idx exists.
    pub fn minmax(&self, _column: &str) -> Result<Option<ArrayRef>, PartError> {
        todo!()
    }
    /// The primary index: one array per key column, one row per granule, and one more for the last row of the part if
    /// [`Part::has_final_mark`]. Loaded once, on first use. `types` are those of the key expressions.
    pub fn primary_index(&self, _types: &[DataType]) -> Result<Vec<ArrayRef>, PartError> {
        todo!()
    }
    /// True if there is a primary.idx or primary.cidx.
    pub fn has_primary_index(&self) -> bool {
        todo!()
    }
    /// A hash of the contents: that of checksums.txt where there is one (hex), else of names and sizes.
    pub fn content_hash(&self) -> String {
        todo!()
    }
    /// A reader of some columns over ranges of granules. Lightweight deletes (`_row_exists`) are applied.
    pub fn read(self: &Arc<Self>, _request: ReadRequest) -> Result<PartReader, PartError> {
        todo!()
    }
    /// Reads and checks everything: hashes of all files, all blocks, all marks, all values of all columns.
    pub fn verify(self: &Arc<Self>) -> Verification {
        todo!()
    }
}

/// What to read of a part.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// Indexes into [`Part::columns`], in the order in which they are wanted. May be empty: batches with a row count only.
    pub columns: Vec<usize>,
    /// Ranges of granules, ascending, not overlapping.
    pub granules: Vec<Range<usize>>,
    /// Rows that a batch should have at least (whole granules are read; the last batch may be shorter).
    pub batch_rows: usize,
    /// How `String` columns are handed out.
    pub strings: Strings,
}

/// Reads batches of whole granules; an iterator of `Result<RecordBatch, PartError>`.
#[derive(Debug)]
pub struct PartReader {}

impl PartReader {
    /// Compressed bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        todo!()
    }
}

impl Iterator for PartReader {
    type Item = Result<RecordBatch, PartError>;
    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}

#[expect(dead_code, reason = "skeleton")]
fn unused(_: PathBuf) {}
