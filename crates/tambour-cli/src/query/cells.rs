//! Values as people read them in tables.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{DataType, Schema};
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// The cells of a batch, row by row.
pub(crate) fn rows(batch: &RecordBatch) -> anyhow::Result<Vec<Vec<String>>> {
    let options = FormatOptions::default().with_null("NULL");
    let columns = batch
        .columns()
        .iter()
        .map(|column| ArrayFormatter::try_new(column.as_ref(), &options))
        .collect::<Result<Vec<_>, _>>()?;
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| Ok(column.value(row).try_to_string()?)).collect())
        .collect()
}

/// One value.
pub(crate) fn one(column: &ArrayRef, row: usize) -> anyhow::Result<String> {
    let options = FormatOptions::default().with_null("NULL");
    Ok(ArrayFormatter::try_new(column.as_ref(), &options)?.value(row).try_to_string()?)
}

/// For each column, whether it holds numbers (which stand to the right).
pub(crate) fn numeric(schema: &Schema) -> Vec<bool> {
    schema.fields().iter().map(|field| is_number(field.data_type())).collect()
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric()
}
