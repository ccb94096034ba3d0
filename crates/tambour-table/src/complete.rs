//! Rows that lack columns of their table: each of these gets its DEFAULT, else NULL, zero, or what is empty.

use super::fill::Fill;
use crate::TableError;
use crate::schema::TableDefinition;
use arrow_array::{ArrayRef, RecordBatch};
use std::path::Path;
use std::sync::Arc;
use tambour_part::part::Derive;
use tambour_part::types::{Column, Strings, arrow_schema};

/// How rows with some columns become rows with all.
#[derive(Debug)]
pub struct Completion {
    columns: Vec<Column>,
    sources: Vec<Source>,
}

#[derive(Debug)]
enum Source {
    Given(usize),
    /// Made of these given columns.
    Made(Vec<usize>, Fill),
}

impl Completion {
    /// For rows with the columns `given`, in this order. An error if a DEFAULT cannot be computed here.
    pub fn new(
        table: &Path,
        definition: &TableDefinition,
        given: &[Column],
    ) -> Result<Self, TableError> {
        let source = |column: &crate::schema::ColumnDefinition| {
            let name = &column.column.name;
            if let Some(index) = given.iter().position(|it| it.name == *name) {
                return Ok(Source::Given(index));
            }
            let fill = Fill::new(&column.column, column.clauses.default.as_deref(), given);
            let (from, fill) = fill.map_err(|reason| TableError::Unsupported {
                path: table.to_owned(),
                what: format!("a row without the column {name:?}: {reason}; such a row"),
            })?;
            Ok(Source::Made(from, fill))
        };
        let sources = definition.columns.iter().map(source).collect::<Result<_, TableError>>()?;
        Ok(Self { columns: definition.plain_columns(), sources })
    }

    /// The rows with all columns of the table; strings of made ones are bytes.
    pub fn complete(&self, batch: &RecordBatch) -> Result<RecordBatch, TableError> {
        let wrong = TableError::arrow;
        let make = |source: &Source| -> Result<ArrayRef, TableError> {
            match source {
                Source::Given(index) => Ok(Arc::clone(batch.column(*index))),
                Source::Made(from, fill) => {
                    let stored = batch.project(from).map_err(wrong("reading a default"))?;
                    fill.derive(&stored).map_err(TableError::part(Path::new("INSERT"), "new"))
                }
            }
        };
        let arrays = self.sources.iter().map(make).collect::<Result<Vec<_>, _>>()?;
        let plain = arrow_schema(&self.columns, Strings::Binary);
        let fields = plain.fields().iter().zip(&arrays);
        let fields: Vec<_> = fields
            .map(|(field, array)| field.as_ref().clone().with_data_type(array.data_type().clone()))
            .collect();
        RecordBatch::try_new(Arc::new(arrow_schema::Schema::new(fields)), arrays)
            .map_err(wrong("completing rows"))
    }
}
