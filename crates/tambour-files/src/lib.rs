//! Interchange files ⇄ rows: CSV, TSV, JSON lines, Parquet and Arrow IPC, read with schema inference and written.
//!
//! This layer knows columns and types (`tambour-part`) and nothing of tables.
#![forbid(unsafe_code)]

use arrow_array::RecordBatch;
use std::io::Write;
use std::path::{Path, PathBuf};
use tambour_codec::Kind;
use tambour_part::types::Column;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Format {
    Csv,
    Tsv,
    JsonLines,
    Parquet,
    ArrowIpc,
}

impl Format {
    /// By extension (`.csv`, `.tsv`, `.jsonl`/`.ndjson`, `.parquet`, `.arrow`/`.feather`/`.ipc`), then by magic bytes;
    /// `.zst` behind it is looked through.
    pub fn detect(_path: &Path) -> Result<Self, FileError> {
        todo!()
    }
}

/// An error of an interchange file: names the file, and the column, row or offset where it can.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Placeholder.
    #[error("{path:?}, row {row}, column {column:?}: {reason}")]
    Value {
        /// The file.
        path: PathBuf,
        /// Row, counted from 1, header not counted.
        row: u64,
        /// Column.
        column: String,
        /// What is wrong.
        reason: String,
    },
}

impl FileError {
    /// The kind of this error.
    pub fn kind(&self) -> Kind {
        todo!()
    }
}

/// How to read.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Format; detected per file if not given.
    pub format: Option<Format>,
    /// Types by CREATE TABLE, if the user gave them: nothing is inferred then, and a value that does not fit is an error.
    pub columns: Option<Vec<Column>>,
    /// Rows per batch.
    pub batch_rows: usize,
    /// Longest accepted record in bytes (a longer one is an error of kind Limit).
    pub record_bytes_max: usize,
}

/// Files opened together as one input of one schema.
#[derive(Debug)]
pub struct Input {}

impl Input {
    /// Opens files, infers the schema they share (dates and times recognised, Nullable only where needed, LowCardinality
    /// where it pays). `-` is standard input.
    pub fn open(_paths: &[PathBuf], _options: ReadOptions) -> Result<Self, FileError> {
        todo!()
    }
    /// The columns.
    pub fn columns(&self) -> &[Column] {
        todo!()
    }
    /// Bytes of the files, if known.
    pub fn bytes_total(&self) -> Option<u64> {
        todo!()
    }
    /// Bytes consumed so far.
    pub fn bytes_read(&self) -> u64 {
        todo!()
    }
    /// The next batch, in the Arrow form of [`Input::columns`]. An error of variant `Widen` (inferred type contradicted by a
    /// later row) tells that the caller should call [`Input::restart`] and read everything again.
    pub fn next_batch(&mut self) -> Option<Result<RecordBatch, FileError>> {
        todo!()
    }
    /// Starts again from the first row with the schema widened by what was learned.
    pub fn restart(&mut self) -> Result<(), FileError> {
        todo!()
    }
}

/// Writes batches of one schema to a file or stream.
pub trait Output {
    /// Writes rows.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError>;
    /// Writes what comes at the end.
    fn finish(self: Box<Self>) -> Result<(), FileError>;
}

/// An output of a format over a writer; `schema` is that of the batches (ClickHouse types in the field metadata decide how
/// enums, UUIDs, IPs and big integers are written).
pub fn output<'a>(
    _format: Format,
    _schema: &arrow_schema::SchemaRef,
    _target: Box<dyn Write + Send + 'a>,
) -> Result<Box<dyn Output + 'a>, FileError> {
    todo!()
}
