//! The values of a partition as a text.

use super::placed;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use tambour_part::Part;
use tambour_part::types::DataType;
use tambour_table::{PartName, Table, TableError};

/// The partition value as ClickHouse shows it: `tuple()`, `201902`, `(201902,'x')`.
pub(crate) fn partition_text(table: &Table, part: &Part, name: &str) -> Result<String, TableError> {
    let expressions = table.definition().map_or(&[][..], |it| it.partition_by.as_slice());
    if expressions.is_empty() {
        // Without a definition the key is not known; its id is the next best.
        let id = PartName::parse(name).map(|name| name.partition);
        return Ok(id.filter(|id| id != "all").unwrap_or_else(|| "tuple()".to_owned()));
    }
    let types: Result<Vec<DataType>, TableError> =
        expressions.iter().map(|it| it.data_type(table.columns())).collect();
    let types = types?;
    let values = part.partition_values(&types).map_err(placed(table, name))?;
    let texts: Vec<String> = values
        .iter()
        .zip(&types)
        .map(|(value, data_type)| value_text(value, data_type, values.len() > 1))
        .collect();
    Ok(if texts.len() == 1 { texts.concat() } else { format!("({})", texts.join(",")) })
}

fn value_text(values: &ArrayRef, data_type: &DataType, is_quoted: bool) -> String {
    if values.is_empty() || values.is_null(0) {
        return "NULL".to_owned();
    }
    let mut is_text = true;
    let text = if data_type == &DataType::Uuid {
        uuid_text(values.as_fixed_size_binary().value(0))
    } else {
        let options = FormatOptions::new()
            .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S"))
            .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S"));
        is_text = !values.data_type().is_numeric();
        // Strings come as bytes, which would be shown as digits; those that are not text still are.
        let text = arrow::compute::cast(values, &arrow::datatypes::DataType::Utf8).ok();
        let text = text.filter(|it| *data_type.unwrapped() == DataType::String && it.is_valid(0));
        let values = text.as_ref().unwrap_or(values);
        ArrayFormatter::try_new(values, &options)
            .map_or_else(|_| "?".to_owned(), |formatter| formatter.value(0).to_string())
    };
    if is_quoted && is_text {
        format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
    } else {
        text
    }
}

fn uuid_text(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}
