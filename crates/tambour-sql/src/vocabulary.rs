//! `system.functions` and `system.settings`: what may be typed here, in the columns that ClickHouse has for it.

use crate::{SqlError, dialect, functions};
use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt8Array};
use arrow::datatypes::{Field, Schema};
use datafusion::catalog::{MemorySchemaProvider, SchemaProvider};
use datafusion::datasource::MemTable;
use std::sync::Arc;

/// Adds both to the tables of `system`; `names` are those of all functions.
pub(crate) fn register_tables(
    schema: &MemorySchemaProvider,
    names: &[(String, bool)],
) -> Result<(), SqlError> {
    let flag = |flags: Vec<bool>| {
        Arc::new(UInt8Array::from_iter_values(flags.into_iter().map(u8::from))) as ArrayRef
    };
    let in_any_case = names.iter().map(|(name, _)| {
        let swapped: String = name
            .chars()
            .map(|c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            })
            .collect();
        functions::canonical(&swapped) == Some(name.as_str())
    });
    let functions = vec![
        ("name", text(names.iter().map(|(name, _)| name.as_str()))),
        ("is_aggregate", flag(names.iter().map(|(_, is_aggregate)| *is_aggregate).collect())),
        ("case_insensitive", flag(in_any_case.collect())),
    ];
    schema.register_table("functions".to_owned(), table(functions)?)?;
    let settings: Vec<(&str, &str)> = dialect::known_settings().collect();
    let settings = vec![
        ("name", text(settings.iter().map(|(name, _)| *name))),
        ("value", text(settings.iter().map(|(_, ours)| *ours))),
        ("readonly", flag(settings.iter().map(|(name, _)| !dialect::is_switch(name)).collect())),
    ];
    schema.register_table("settings".to_owned(), table(settings)?)?;
    Ok(())
}

fn text<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Result<Arc<MemTable>, SqlError> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, values)| {
            let data_type = values.data_type().clone();
            Field::new(*name, data_type, false)
        })
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let arrays = columns.into_iter().map(|(_, values)| values).collect();
    let rows = RecordBatch::try_new(Arc::clone(&schema), arrays)
        .map_err(|error| SqlError::Query(error.into()))?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![rows]])?))
}
