//! Values as people read them in tables.

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{Field, Schema};
use tambour::DataType;
use tambour::files::{Style, Text};

/// The cells of a batch, row by row.
pub(crate) fn rows(batch: &RecordBatch) -> anyhow::Result<Vec<Vec<String>>> {
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns
        .map(|(column, field)| Text::new(column.as_ref(), field, Style::Plain))
        .collect::<Result<Vec<_>, _>>()?;
    let mut bytes = Vec::new();
    let mut cell = |column: &Text<'_>, row| {
        bytes.clear();
        column.write(row, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let row = |row| columns.iter().map(|column| cell(column, row)).collect();
    Ok((0..batch.num_rows()).map(row).collect())
}

/// One value.
pub(crate) fn one(column: &dyn Array, row: usize, field: &Field) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    Text::new(column, field, Style::Literal)?.write(row, &mut bytes);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// For each column, whether it holds numbers (which stand to the right).
pub(crate) fn numeric(schema: &Schema) -> Vec<bool> {
    schema.fields().iter().map(|field| is_number(field)).collect()
}

/// ClickHouse's type decides where the field knows it: an IPv4 address is a number for Arrow only.
fn is_number(field: &Field) -> bool {
    let Ok(data_type) = DataType::from_field(field) else {
        return field.data_type().is_numeric();
    };
    match data_type.unwrapped() {
        DataType::Ipv4 => false,
        DataType::Int256 | DataType::UInt256 => true,
        _ => field.data_type().is_numeric(),
    }
}
