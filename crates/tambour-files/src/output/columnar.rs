//! Parquet and Arrow IPC files.

use super::Output;
use crate::FileError;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StringViewArray};
use arrow_cast::cast;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 20;
/// zstd's own default.
const ZSTD_LEVEL: i32 = 3;

type Target<'a> = Box<dyn Write + Send + 'a>;

/// A Parquet file. The schema with the ClickHouse types goes along in Arrow's form.
pub(super) struct Parquet<'a> {
    writer: ArrowWriter<Watched<'a>>,
    failure: Failure,
}

impl<'a> Parquet<'a> {
    pub(super) fn new(target: Target<'a>, schema: &SchemaRef) -> Result<Self, FileError> {
        let failure = Failure::default();
        let target = Watched { target, failure: Arc::clone(&failure) };
        let parquet = |error| parquet(&failure, error);
        let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(parquet)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .build();
        let schema = Arc::clone(schema);
        let writer = ArrowWriter::try_new(target, schema, Some(properties)).map_err(parquet)?;
        Ok(Self { writer, failure })
    }
}

/// What the target said when it failed. The writers of both formats turn that into text.
type Failure = Arc<Mutex<Option<std::io::Error>>>;

/// A target whose failure is remembered.
struct Watched<'a> {
    target: Target<'a>,
    failure: Failure,
}

impl Watched<'_> {
    fn watch<R>(&self, outcome: std::io::Result<R>) -> std::io::Result<R> {
        outcome.map_err(|error| {
            let kind = error.kind();
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            kind.into()
        })
    }
}

impl Write for Watched<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let outcome = self.target.write(bytes);
        self.watch(outcome)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let outcome = self.target.flush();
        self.watch(outcome)
    }
}

/// Tells a full disk from rows that the format cannot hold.
fn refused(failure: &Failure, format: &'static str, source: ArrowError) -> FileError {
    match failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(source) => FileError::Write { source },
        None => FileError::Encode { format, source },
    }
}

fn parquet(failure: &Failure, error: ParquetError) -> FileError {
    refused(failure, "Parquet", ArrowError::ExternalError(Box::new(error)))
}

impl Output for Parquet<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        self.writer.write(batch).map_err(|error| parquet(&self.failure, error))
    }

    fn finish(self: Box<Self>) -> Result<(), FileError> {
        let target = self.writer.into_inner();
        let mut target = target.map_err(|error| parquet(&self.failure, error))?;
        target.flush().map_err(|source| FileError::Write { source })
    }
}

/// Arrow IPC that older readers understand: plain strings instead of views, and no dictionaries that grow from batch to
/// batch (the file format has no place for them).
pub(super) struct Arrow<'a> {
    writer: Writer<'a>,
    schema: SchemaRef,
    failure: Failure,
}

/// A file, whose end says where its batches are, or a stream, which needs no seeking to read.
enum Writer<'a> {
    File(FileWriter<Watched<'a>>),
    Stream(StreamWriter<Watched<'a>>),
}

impl<'a> Arrow<'a> {
    pub(super) fn file(target: Target<'a>, schema: &SchemaRef) -> Result<Self, FileError> {
        Self::new(target, schema, |target, schema| {
            FileWriter::try_new(target, schema).map(Writer::File)
        })
    }

    pub(super) fn stream(target: Target<'a>, schema: &SchemaRef) -> Result<Self, FileError> {
        Self::new(target, schema, |target, schema| {
            StreamWriter::try_new(target, schema).map(Writer::Stream)
        })
    }

    fn new(
        target: Target<'a>,
        schema: &SchemaRef,
        make: impl FnOnce(Watched<'a>, &Schema) -> Result<Writer<'a>, ArrowError>,
    ) -> Result<Self, FileError> {
        let schema = plain_schema(schema);
        let failure = Failure::default();
        let target = Watched { target, failure: Arc::clone(&failure) };
        let writer = make(target, &schema).map_err(|error| refused(&failure, "Arrow", error))?;
        Ok(Self { writer, schema, failure })
    }
}

/// A batch with the plain types of a schema.
fn plain(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(array, field)| -> Result<ArrayRef, ArrowError> {
        if array.data_type() == field.data_type() {
            return Ok(Arc::clone(array));
        }
        cast(array, field.data_type())
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

impl Output for Arrow<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        // 32-bit offsets count no more than two gibibytes of text.
        if string_bytes(batch) > 1 << 30 && batch.num_rows() > 1 {
            let half = batch.num_rows() / 2;
            self.write(&batch.slice(0, half))?;
            return self.write(&batch.slice(half, batch.num_rows() - half));
        }
        let written = plain(batch, &self.schema).and_then(|batch| match &mut self.writer {
            Writer::File(writer) => writer.write(&batch),
            Writer::Stream(writer) => writer.write(&batch),
        });
        written.map_err(|error| refused(&self.failure, "Arrow", error))
    }

    fn finish(mut self: Box<Self>) -> Result<(), FileError> {
        let (finished, target) = match &mut self.writer {
            Writer::File(writer) => (writer.finish(), writer.get_mut()),
            Writer::Stream(writer) => (writer.finish(), writer.get_mut()),
        };
        finished.map_err(|error| refused(&self.failure, "Arrow", error))?;
        target.flush().map_err(|source| FileError::Write { source })
    }
}

/// Bytes of the longest column of strings.
fn string_bytes(batch: &RecordBatch) -> u64 {
    let bytes = |array: &ArrayRef| {
        let lengths = array.as_string_view_opt().map(StringViewArray::lengths);
        lengths.map_or(0, |lengths| lengths.map(u64::from).sum())
    };
    batch.columns().iter().map(bytes).max().unwrap_or(0)
}

fn plain_schema(schema: &SchemaRef) -> SchemaRef {
    let fields: Fields = schema.fields().iter().map(|field| plain_field(field)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
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
