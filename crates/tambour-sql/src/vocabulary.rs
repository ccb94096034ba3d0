//! `system.functions` and `system.settings`: what may be typed here, in the columns that ClickHouse has for it.

use crate::SqlError;
use arrow::array::{ArrayRef, RecordBatch, StringArray, UInt8Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{MemorySchemaProvider, SchemaProvider, Session, TableProvider};
use datafusion::datasource::{MemTable, TableType};
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use std::collections::HashSet;
use std::sync::Arc;
use tambour_dialect::{self as dialect, names};

/// Adds both to the tables of `system`.
pub(crate) fn register_tables(schema: &MemorySchemaProvider) -> Result<(), SqlError> {
    schema.register_table("functions".to_owned(), Arc::new(Functions::new()))?;
    let settings: Vec<(&str, &str)> = dialect::known_settings().collect();
    let columns = vec![
        text(settings.iter().map(|(name, _)| *name)),
        text(settings.iter().map(|(_, ours)| *ours)),
        flag(settings.iter().map(|(name, _)| !dialect::is_switch(name))),
    ];
    let names =
        [("name", DataType::Utf8), ("value", DataType::Utf8), ("readonly", DataType::UInt8)];
    schema.register_table("settings".to_owned(), Arc::new(table(&fields(names), columns)?))?;
    Ok(())
}

/// The names of all functions that a session knows.
pub(crate) fn function_names(session: &dyn Session) -> Vec<String> {
    let mut names: Vec<String> = session.scalar_functions().keys().cloned().collect();
    names.extend(session.aggregate_functions().keys().cloned());
    names.extend(session.window_functions().keys().cloned());
    names.extend(tambour_plan::names().into_iter().map(str::to_owned));
    names.sort_unstable();
    names.dedup();
    // The planner needs our names in lower case too; nobody else does.
    let with_case: HashSet<String> = names
        .iter()
        .filter(|name| name.contains(|c: char| c.is_ascii_uppercase()))
        .map(|name| name.to_ascii_lowercase())
        .collect();
    // What begins so is written by the planner only.
    let is_inner = |name: &str| name.starts_with('\u{1f}');
    names.retain(|name| !with_case.contains(name) && !is_inner(name));
    names
}

/// `system.functions`, whose rows are made when somebody asks: to make them costs more than all else of a session.
#[derive(Debug)]
struct Functions {
    schema: SchemaRef,
}

impl Functions {
    fn new() -> Self {
        let names = [
            ("name", DataType::Utf8),
            ("is_aggregate", DataType::UInt8),
            ("case_insensitive", DataType::UInt8),
        ];
        Self { schema: fields(names) }
    }

    fn rows(&self, session: &dyn Session) -> Result<MemTable> {
        let names = function_names(session);
        let is_aggregate = |name: &String| {
            session.aggregate_functions().contains_key(name) || dialect::is_aggregate(name)
        };
        let columns = vec![
            text(names.iter().map(String::as_str)),
            flag(names.iter().map(is_aggregate)),
            flag(names.iter().map(|name| is_in_any_case(name))),
        ];
        table(&self.schema, columns)
    }
}

#[async_trait]
impl TableProvider for Functions {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
    fn table_type(&self) -> TableType {
        TableType::Base
    }
    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.rows(state)?.scan(state, projection, filters, limit).await
    }
}

/// True of a function that is found under its name in any case.
fn is_in_any_case(name: &str) -> bool {
    let swapped: String =
        name.chars()
            .map(|c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            })
            .collect();
    names::canonical(&swapped) == Some(name)
}

fn text<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn flag(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(UInt8Array::from_iter_values(values.map(u8::from)))
}

fn fields<const N: usize>(names: [(&str, DataType); N]) -> SchemaRef {
    let fields: Vec<Field> =
        names.into_iter().map(|(name, data_type)| Field::new(name, data_type, false)).collect();
    Arc::new(Schema::new(fields))
}

fn table(schema: &SchemaRef, columns: Vec<ArrayRef>) -> Result<MemTable> {
    let rows = RecordBatch::try_new(Arc::clone(schema), columns)?;
    MemTable::try_new(Arc::clone(schema), vec![vec![rows]])
}
