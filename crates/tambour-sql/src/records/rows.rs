//! Records into batches: what the store knows of them, and the parsed fields that a query names.

use super::{Part, Source};
use arrow::array::{
    ArrayRef, BinaryBuilder, RecordBatch, RecordBatchOptions, StringBuilder,
    TimestampMicrosecondBuilder, UInt64Builder,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::util::display::FormatOptions;
use arrow_json::ReaderBuilder;
use arrow_json::reader::Decoder;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use std::sync::Arc;
use tambour_record::Scanned;

/// Bytes of records in a batch, about, above which it gets no further one.
const BATCH_BYTES: usize = 16 << 20;

/// Rows on their way into a batch.
pub(super) struct Rows {
    schema: SchemaRef,
    sources: Vec<Source>,
    ids: UInt64Builder,
    times: TimestampMicrosecondBuilder,
    texts: StringBuilder,
    bytes: BinaryBuilder,
    /// Parses the fields that are wanted; `None` if none is.
    fields: Option<Decoder>,
    pub(super) count: usize,
    size: usize,
    first: u64,
}

impl Rows {
    pub(super) fn new(part: &Part) -> Result<Self> {
        let columns = part.schema.fields().iter().zip(&part.sources);
        let wanted: Vec<_> = columns
            .filter(|(_, source)| **source == Source::Field)
            .map(|(field, _)| parsed_field(field))
            .collect();
        let fields = if wanted.is_empty() {
            None
        } else {
            let builder = ReaderBuilder::new(Arc::new(Schema::new(wanted)));
            // Numbers and booleans may stand where the sample had strings.
            let builder = builder.with_coerce_primitive(true);
            Some(builder.with_batch_size(part.batch_rows).build_decoder()?)
        };
        Ok(Self {
            schema: Arc::clone(&part.schema),
            sources: part.sources.clone(),
            ids: UInt64Builder::new(),
            times: TimestampMicrosecondBuilder::new(),
            texts: StringBuilder::new(),
            bytes: BinaryBuilder::new(),
            fields,
            count: 0,
            size: 0,
            first: 0,
        })
    }

    pub(super) fn add(&mut self, scanned: Scanned<'_>) -> Result<()> {
        let Scanned { id, time, record, .. } = scanned;
        if self.count == 0 {
            self.first = id;
        }
        for (at, source) in self.sources.iter().enumerate() {
            match source {
                Source::Id => self.ids.append_value(id),
                Source::Time => self.times.append_option(time),
                Source::Record if *self.schema.field(at).data_type() == DataType::Binary => {
                    self.bytes.append_value(record);
                }
                Source::Record => {
                    self.texts.append_value(std::str::from_utf8(record).map_err(|_| {
                        let hint = "is not UTF-8; --strings binary reads it as bytes";
                        DataFusionError::Execution(format!("record {id} {hint}"))
                    })?);
                }
                Source::Field => {}
            }
        }
        if let Some(fields) = &mut self.fields {
            let before = fields.len();
            let parsed = fields.decode(record).map_err(|error| at_record(id, &error))?;
            let whole = parsed == record.len() && !fields.has_partial_record();
            if !whole || fields.len() != before + 1 {
                let reason = "is not one JSON object; `_record` has it as it is";
                return Err(DataFusionError::Execution(format!("record {id} {reason}")));
            }
        }
        self.count += 1;
        self.size += record.len();
        Ok(())
    }

    pub(super) fn are_full(&self, batch_rows: usize) -> bool {
        self.count >= batch_rows || self.size >= BATCH_BYTES
    }

    pub(super) fn finish(&mut self) -> Result<RecordBatch> {
        let parsed = match &mut self.fields {
            Some(fields) => fields.flush().map_err(|error| at_record(self.first, &error))?,
            None => None,
        };
        let mut next_field = 0;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.sources.len());
        for (at, source) in self.sources.iter().enumerate() {
            columns.push(match source {
                Source::Id => Arc::new(self.ids.finish()),
                Source::Time => Arc::new(self.times.finish()),
                Source::Record if *self.schema.field(at).data_type() == DataType::Binary => {
                    Arc::new(self.bytes.finish())
                }
                Source::Record => Arc::new(self.texts.finish()),
                Source::Field => {
                    let Some(parsed) = &parsed else {
                        return Err(DataFusionError::Internal("fields without rows".to_owned()));
                    };
                    next_field += 1;
                    let (column, wanted) =
                        (parsed.column(next_field - 1), self.schema.field(at).data_type());
                    let whole = cast_with_options(column, wanted, &STRICT);
                    whole.map_err(|error| at_record(self.first, &error))?
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.count));
        (self.count, self.size) = (0, 0);
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }
}

/// A number that is not whole in a column of whole numbers is an error.
const STRICT: CastOptions<'_> = CastOptions { safe: false, format_options: FormatOptions::new() };

/// As what a field is parsed: whole numbers as their text, since the parser would cut off fractions without a word.
fn parsed_field(field: &FieldRef) -> FieldRef {
    match field.data_type() {
        DataType::Int64 | DataType::UInt64 => {
            Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8))
        }
        _ => Arc::clone(field),
    }
}

/// What the parser says, with the place.
fn at_record(id: u64, error: &ArrowError) -> DataFusionError {
    let reason = error.to_string();
    let reason = reason.strip_prefix("Json error: ").unwrap_or(&reason);
    DataFusionError::Execution(format!(
        "records from {id} on: {reason}. Columns have the types of a sample; `_record` has each record as it is"
    ))
}
