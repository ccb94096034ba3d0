//! Parquet and Arrow IPC files.

use super::Output;
use crate::FileError;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::cast;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::sync::Arc;

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 20;
/// zstd's own default.
const ZSTD_LEVEL: i32 = 3;

type Target<'a> = Box<dyn Write + Send + 'a>;

/// A Parquet file. The schema with the ClickHouse types goes along in Arrow's form.
pub(super) struct Parquet<'a> {
    writer: ArrowWriter<Target<'a>>,
}

impl<'a> Parquet<'a> {
    pub(super) fn new(target: Target<'a>, schema: &SchemaRef) -> Result<Self, FileError> {
        let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(parquet)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let schema = Arc::clone(schema);
        let writer = ArrowWriter::try_new(target, schema, Some(properties)).map_err(parquet)?;
        Ok(Self { writer })
    }
}

/// Tells a full disk from rows that Parquet cannot hold.
fn parquet(error: ParquetError) -> FileError {
    match error {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(source) => FileError::Write { source: *source },
            Err(cause) => {
                FileError::Encode { format: "Parquet", source: ArrowError::ExternalError(cause) }
            }
        },
        other => {
            let source = ArrowError::ExternalError(Box::new(other));
            FileError::Encode { format: "Parquet", source }
        }
    }
}

impl Output for Parquet<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        self.writer.write(batch).map_err(parquet)
    }

    fn finish(self: Box<Self>) -> Result<(), FileError> {
        let mut target = self.writer.into_inner().map_err(parquet)?;
        target.flush().map_err(|source| FileError::Write { source })
    }
}

/// An Arrow IPC file that older readers understand: plain strings instead of views, and no dictionaries that grow from
/// batch to batch (the file format has no place for them).
pub(super) struct Arrow<'a> {
    writer: FileWriter<Target<'a>>,
    schema: SchemaRef,
}

impl<'a> Arrow<'a> {
    pub(super) fn new(target: Target<'a>, schema: &SchemaRef) -> Result<Self, FileError> {
        let fields: Fields = schema.fields().iter().map(|field| plain_field(field)).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        let writer = FileWriter::try_new(target, &schema).map_err(arrow)?;
        Ok(Self { writer, schema })
    }

    fn plain(&self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(array, field)| -> Result<ArrayRef, ArrowError> {
            if array.data_type() == field.data_type() {
                return Ok(Arc::clone(array));
            }
            cast(array, field.data_type())
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
    }
}

fn arrow(error: ArrowError) -> FileError {
    match error {
        ArrowError::IoError(_, source) => FileError::Write { source },
        source => FileError::Encode { format: "Arrow", source },
    }
}

impl Output for Arrow<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        // 32-bit offsets count no more than two gibibytes of text.
        if string_bytes(batch) > 1 << 30 && batch.num_rows() > 1 {
            let half = batch.num_rows() / 2;
            self.write(&batch.slice(0, half))?;
            return self.write(&batch.slice(half, batch.num_rows() - half));
        }
        let plain = self.plain(batch).map_err(arrow)?;
        self.writer.write(&plain).map_err(arrow)
    }

    fn finish(mut self: Box<Self>) -> Result<(), FileError> {
        self.writer.finish().map_err(arrow)?;
        self.writer.get_mut().flush().map_err(|source| FileError::Write { source })
    }
}

/// Bytes of the longest column of strings.
fn string_bytes(batch: &RecordBatch) -> u64 {
    let bytes = |array: &ArrayRef| {
        let lengths = array.as_string_view_opt().map(|strings| strings.lengths());
        lengths.map_or(0, |lengths| lengths.map(u64::from).sum())
    };
    batch.columns().iter().map(bytes).max().unwrap_or(0)
}

fn plain_field(field: &Field) -> Field {
    field.clone().with_data_type(plain_type(field.data_type()))
}

fn plain_type(data_type: &DataType) -> DataType {
    let inner = |field: &Field| Arc::new(plain_field(field));
    match data_type {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        // Enumerations have one dictionary for all batches; those of LowCardinality have 32-bit keys and change.
        DataType::Dictionary(key, value) if **key == DataType::Int32 => plain_type(value),
        DataType::List(field) => DataType::List(inner(field)),
        DataType::LargeList(field) => DataType::LargeList(inner(field)),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| plain_field(field)).collect())
        }
        DataType::Map(entries, sorted) => DataType::Map(inner(entries), *sorted),
        other => other.clone(),
    }
}
