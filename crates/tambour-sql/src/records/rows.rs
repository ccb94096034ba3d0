//! Records into batches: what the store knows of them, and the parsed fields that a query names.

use super::column::{Column, Misfit};
use super::{Part, Source, json};
use arrow::array::{
    ArrayRef, BinaryBuilder, RecordBatch, RecordBatchOptions, StringBuilder,
    TimestampMicrosecondBuilder, UInt64Builder,
};
use arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use std::collections::HashMap;
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
    fields: Wanted,
    pub(super) count: usize,
    size: usize,
}

/// The fields that are wanted.
struct Wanted {
    names: Vec<String>,
    places: HashMap<String, usize>,
    columns: Vec<Column>,
}

impl Wanted {
    fn of(part: &Part) -> Self {
        let columns = part.schema.fields().iter().zip(&part.sources);
        let fields = columns.filter(|(_, source)| **source == Source::Field);
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        for (field, _) in fields {
            names.push(field.name().clone());
            columns.push(Column::new(field.data_type()));
        }
        let places = names.iter().cloned().zip(0..).collect();
        Self { names, places, columns }
    }

    /// Adds those of a record. Other ones are not looked at, and a record that is not an object has none.
    fn add(&mut self, record: &[u8]) -> Result<(), Misfit> {
        let mut found = vec![None; self.columns.len()];
        if self.columns.is_empty() {
            return Ok(());
        }
        if json::is_object(record) {
            json::members(record, |name, value| {
                if let Some(place) = self.places.get(&*name) {
                    found[*place] = Some(value);
                }
                Ok::<(), Misfit>(())
            })?;
        }
        for ((column, value), name) in self.columns.iter_mut().zip(found).zip(&self.names) {
            let added = column.add(value);
            added.map_err(|Misfit(what)| Misfit(format!("field {name:?} {what}")))?;
        }
        Ok(())
    }
}

impl Rows {
    pub(super) fn new(part: &Part) -> Self {
        Self {
            schema: Arc::clone(&part.schema),
            sources: part.sources.clone(),
            ids: UInt64Builder::new(),
            times: TimestampMicrosecondBuilder::new(),
            texts: StringBuilder::new(),
            bytes: BinaryBuilder::new(),
            fields: Wanted::of(part),
            count: 0,
            size: 0,
        }
    }

    pub(super) fn add(&mut self, scanned: Scanned<'_>) -> Result<()> {
        let Scanned { id, time, record, .. } = scanned;
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
        self.fields.add(record).map_err(|misfit| at_record(id, &misfit))?;
        self.count += 1;
        self.size += record.len();
        Ok(())
    }

    pub(super) fn are_full(&self, batch_rows: usize) -> bool {
        self.count >= batch_rows || self.size >= BATCH_BYTES
    }

    pub(super) fn finish(&mut self) -> Result<RecordBatch> {
        let mut fields = self.fields.columns.iter_mut();
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
                    let column = fields.next().map(Column::finish).transpose();
                    let column = column.map_err(|Misfit(what)| DataFusionError::Execution(what))?;
                    let missing = || DataFusionError::Internal("a field too many".to_owned());
                    column.ok_or_else(missing)?
                }
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.count));
        (self.count, self.size) = (0, 0);
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
    }
}

/// Why a record cannot be shown, and where it is.
fn at_record(id: u64, Misfit(what): &Misfit) -> DataFusionError {
    DataFusionError::Execution(format!(
        "record {id}: {what}. Columns have the types of a sample; `_record` has each record as it is, and \
         JSONExtract reads it with any type"
    ))
}
