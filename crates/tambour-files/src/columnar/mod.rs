//! Columnar files, Parquet and Arrow IPC: their types are given, what is left is to find out what their columns hold
//! ([`facts`]), to read them ([`parquet`], [`ipc`]) and to bring their arrays into the table's form ([`fit`]).

pub(crate) mod facts;
pub(crate) mod fit;
pub(crate) mod ipc;
mod misfit;
pub(crate) mod parquet;
mod raw;
mod whole;

use crate::FileError;
use crate::error::{Spot, quoted};
use crate::infer::Reading;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType as Arrow, Field, SchemaRef};
use misfit::Misfit;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use tambour_part::DataType;

/// Rows of a file in which distinct values are counted.
pub(crate) const SAMPLE_ROWS: usize = 1 << 18;

/// Columns of a file with the types that they would have in a table.
pub(crate) type Columns = Vec<(String, DataType)>;

/// What a columnar file's batches become.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) readings: Arc<[Reading]>,
    pub(crate) schema: SchemaRef,
    /// For every column its field in the file.
    pub(crate) mapping: Vec<Option<usize>>,
}

impl Target {
    /// Brings a batch of the file into the table's form; `rows_before` is for messages.
    pub(crate) fn batch(
        &self,
        path: &Path,
        batch: &RecordBatch,
        rows_before: u64,
    ) -> Result<RecordBatch, FileError> {
        let mut columns = Vec::with_capacity(self.readings.len());
        let targets = self.readings.iter().zip(&self.mapping).zip(self.schema.fields());
        for ((reading, source), field) in targets {
            let array = match source {
                Some(index) => {
                    let from = batch.schema_ref().field(*index);
                    let (column, to) = (batch.column(*index), &reading.column.data_type);
                    fitted(column, from, to, field, reading)
                }
                None => fit::missing(&reading.column.data_type, batch.num_rows()),
            };
            columns.push(array.map_err(|misfit| {
                let from = source.map(|index| &batch.schema_ref().fields()[index]);
                misfit_error(path, reading, from, misfit, rows_before)
            })?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|source| arrow_error(path, format!("rows from {}", rows_before + 1), source))
    }
}

/// An array in the form of its column.
fn fitted(
    column: &ArrayRef,
    from: &Field,
    to: &DataType,
    field: &Field,
    reading: &Reading,
) -> Result<ArrayRef, Misfit> {
    let care = fit::Care { exact: reading.exact, finite: reading.finite };
    if reading.whole && column.data_type().is_floating() && whole::precision(to).is_none() {
        let column = whole::whole(column)?;
        let from = from.clone().with_data_type(column.data_type().clone());
        return fit::fit(&column, &from, to, field, care);
    }
    fit::fit(column, from, to, field, care)
}

fn misfit_error(
    path: &Path,
    reading: &Reading,
    from: Option<&Arc<Field>>,
    misfit: Misfit,
    rows_before: u64,
) -> FileError {
    let column = reading.column.name.clone();
    match misfit {
        Misfit::Value { row, reason, value } => {
            let row = rows_before + row as u64 + 1;
            let spot = Spot { path: path.to_owned(), row, line: None, column: Some(column) };
            let (spot, value) = (Box::new(spot), quoted(&value));
            let data_type = reading.column.data_type.to_string();
            if reason == crate::build::NOT_UTF8 {
                FileError::Utf8 { spot, value }
            } else if reading.inferred {
                FileError::Widen { spot, value, data_type, reason: reason.reason }
            } else {
                FileError::Value { spot, value, data_type, reason: reason.reason }
            }
        }
        Misfit::Type => {
            let from = from.map_or_else(String::new, |field| field.data_type().to_string());
            let data_type = reading.column.data_type.to_string();
            FileError::Form { path: path.to_owned(), column, from, data_type }
        }
        Misfit::Arrow(source) => arrow_error(path, format!("column `{column}`"), source),
    }
}

/// Names of the columns whose types a schema states in our own words, or that are dictionaries.
pub(crate) fn stated(schema: &SchemaRef) -> impl Iterator<Item = &str> {
    let is_stated = |field: &&Arc<Field>| {
        field.metadata().contains_key(tambour_part::types::TYPE_KEY)
            || matches!(field.data_type(), Arrow::Dictionary(..))
    };
    schema.fields().iter().filter(is_stated).map(|field| field.name().as_str())
}

pub(crate) fn arrow_error(path: &Path, place: String, source: ArrowError) -> FileError {
    FileError::Arrow { path: path.to_owned(), place, source }
}

/// Runs a foreign reader; where it panics over hostile input, that is damage, not our end.
pub(crate) fn guarded<R>(
    path: &Path,
    read: impl FnOnce() -> Result<R, FileError>,
) -> Result<R, FileError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        let reason = format!("the reader gave up: {said}");
        Err(FileError::Damaged { path: path.to_owned(), reason })
    })
}
