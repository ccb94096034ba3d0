//! Rows of a system table, put together column by column; columns that a query does not ask for are not made.

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, ListBuilder, StringViewArray, StringViewBuilder,
    TimestampSecondArray, UInt8Array, UInt32Array, UInt64Array,
};
use arrow::array::{Date32Array, DictionaryArray, Int8Array, RecordBatch, RecordBatchOptions};
use arrow::array::{StringArray, new_empty_array};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::error::Result;
use std::collections::HashSet;
use std::sync::Arc;
use tambour_part::types::{DataType, Strings};
use tambour_table::TableError;

/// Columns that are being put together.
#[derive(Debug, Default)]
pub(super) struct Sheet {
    /// The columns that are wanted; `None`: all.
    wanted: Option<HashSet<String>>,
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
    rows: usize,
}

impl Sheet {
    /// Only some columns will be looked at.
    pub(super) fn of(wanted: HashSet<String>) -> Self {
        Self { wanted: Some(wanted), ..Self::default() }
    }
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields.clone()))
    }
    /// The columns at some places, in their order; they are among those that were wanted.
    pub(super) fn batch(&self, projection: Option<&Vec<usize>>) -> Result<RecordBatch> {
        let schema = self.schema();
        let all: Vec<usize> = (0..self.columns.len()).collect();
        let chosen = projection.unwrap_or(&all);
        let columns = chosen.iter().filter_map(|at| self.columns.get(*at)).map(Arc::clone);
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let schema = Arc::new(schema.project(chosen)?);
        Ok(RecordBatch::try_new_with_options(schema, columns.collect(), &options)?)
    }
    /// True if somebody looks at a column.
    pub(super) fn has(&self, name: &str) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.contains(name))
    }
    /// Adds a column; its values are made if it is wanted.
    pub(super) fn add<R>(
        &mut self,
        name: &str,
        data_type: &DataType,
        rows: &[R],
        values: impl FnOnce() -> ArrayRef,
    ) {
        let field = data_type.field(name, Strings::Utf8);
        let made = if self.has(name) { values() } else { new_empty_array(field.data_type()) };
        self.fields.push(field);
        self.columns.push(made);
        self.rows = rows.len();
    }
    pub(super) fn text<R, T: AsRef<str>>(
        &mut self,
        name: &str,
        rows: &[R],
        value: impl Fn(&R) -> T,
    ) {
        self.add(name, &DataType::String, rows, || {
            Arc::new(StringViewArray::from_iter_values(rows.iter().map(value)))
        });
    }
    /// Texts that have to be read first.
    pub(super) fn read_text<R>(
        &mut self,
        name: &str,
        rows: &[R],
        value: impl Fn(&R) -> Result<String, TableError>,
    ) -> Result<(), TableError> {
        let values = self.read(name, rows, value)?;
        self.add(name, &DataType::String, rows, || {
            Arc::new(StringViewArray::from_iter_values(values))
        });
        Ok(())
    }
    /// Numbers that have to be read first.
    pub(super) fn read_number<R>(
        &mut self,
        name: &str,
        rows: &[R],
        value: impl Fn(&R) -> Result<u64, TableError>,
    ) -> Result<(), TableError> {
        let values = self.read(name, rows, value)?;
        self.add(name, &DataType::UInt64, rows, || Arc::new(UInt64Array::from(values)));
        Ok(())
    }
    /// What has to be read for a column; nothing if nobody looks at it.
    fn read<R, V>(
        &self,
        name: &str,
        rows: &[R],
        value: impl Fn(&R) -> Result<V, TableError>,
    ) -> Result<Vec<V>, TableError> {
        if !self.has(name) {
            return Ok(Vec::new());
        }
        rows.iter().map(value).collect()
    }
    pub(super) fn number<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> u64) {
        self.add(name, &DataType::UInt64, rows, || {
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(value)))
        });
    }
    /// Numbers that are NULL where they are not known.
    pub(super) fn maybe<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> Option<u64>) {
        let data_type = DataType::Nullable(Box::new(DataType::UInt64));
        self.add(name, &data_type, rows, || {
            Arc::new(rows.iter().map(value).collect::<UInt64Array>())
        });
    }
    pub(super) fn signed<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> u64) {
        let value = |row| i64::try_from(value(row)).unwrap_or(i64::MAX);
        self.add(name, &DataType::Int64, rows, || {
            Arc::new(Int64Array::from_iter_values(rows.iter().map(value)))
        });
    }
    pub(super) fn small<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> u32) {
        self.add(name, &DataType::UInt32, rows, || {
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(value)))
        });
    }
    pub(super) fn byte<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> u8) {
        self.add(name, &DataType::UInt8, rows, || {
            Arc::new(UInt8Array::from_iter_values(rows.iter().map(value)))
        });
    }
    pub(super) fn flag<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> bool) {
        self.byte(name, rows, |row| u8::from(value(row)));
    }
    pub(super) fn real<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> f64) {
        self.add(name, &DataType::Float64, rows, || {
            Arc::new(Float64Array::from_iter_values(rows.iter().map(value)))
        });
    }
    /// Seconds since 1970.
    pub(super) fn time<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> i64) {
        let data_type = DataType::DateTime { zone: None };
        self.add(name, &data_type, rows, || {
            let seconds = TimestampSecondArray::from_iter_values(rows.iter().map(value));
            let stored = data_type.arrow(Strings::Utf8);
            arrow::compute::cast(&seconds, &stored).unwrap_or_else(|_| Arc::new(seconds))
        });
    }
    /// Days since 1970.
    pub(super) fn date<R>(&mut self, name: &str, rows: &[R], value: impl Fn(&R) -> i32) {
        self.add(name, &DataType::Date, rows, || {
            Arc::new(Date32Array::from_iter_values(rows.iter().map(value)))
        });
    }
    pub(super) fn texts<R, T: AsRef<str>>(
        &mut self,
        name: &str,
        rows: &[R],
        value: impl Fn(&R) -> Vec<T>,
    ) {
        let data_type = DataType::Array(Box::new(DataType::String));
        let arrow::datatypes::DataType::List(item) = data_type.arrow(Strings::Utf8) else {
            unreachable!("an array is a list")
        };
        self.add(name, &data_type, rows, || {
            let mut values = ListBuilder::new(StringViewBuilder::new()).with_field(item);
            for row in rows {
                for text in value(row) {
                    values.values().append_value(text);
                }
                values.append(true);
            }
            Arc::new(values.finish())
        });
    }
    /// One of two words, which are 0 and 1.
    pub(super) fn either<R>(
        &mut self,
        name: &str,
        words: [&str; 2],
        rows: &[R],
        value: impl Fn(&R) -> bool,
    ) {
        let text = format!("Enum8('{}' = 0, '{}' = 1)", words[0], words[1]);
        let Ok(data_type) = text.parse::<DataType>() else { unreachable!("an enum of two words") };
        self.add(name, &data_type, rows, || {
            let keys = Int8Array::from_iter_values(rows.iter().map(|row| i8::from(value(row))));
            let words = Arc::new(StringArray::from(words.to_vec()));
            Arc::new(DictionaryArray::new(keys, words))
        });
    }
}
