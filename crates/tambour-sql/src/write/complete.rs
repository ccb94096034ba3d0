//! Columns that an INSERT leaves out. What keys may compute is computed where rows are stored ([`Completion`]); any other DEFAULT or
//! MATERIALIZED is a query of the session over each batch of rows, so that it means there what it means in SELECT.

use super::derived::{Derived, Step, ordered};
use super::insert::of_rows;
use super::of_table;
use crate::SqlError;
use crate::context::Session;
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use datafusion::error::{DataFusionError, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use tambour_dialect as dialect;
use tambour_files::Handed;
use tambour_part::types::{Column, arrow_schema};
use tambour_table::schema::{ColumnDefinition, ColumnKind, TableDefinition};
use tambour_table::{Completion, TableError};

/// What errors call the values that are computed.
const SOURCE: &str = "DEFAULT";

/// How the rows of an INSERT become rows with all columns.
pub(super) enum Completing {
    /// By what keys may compute.
    Stored(Completion),
    /// By a query.
    Queried(Box<Computed>),
}

impl Completing {
    /// For rows with the columns `given`.
    pub(super) async fn new(
        session: &Session,
        path: &Path,
        (definition, given): (&TableDefinition, &[Column]),
    ) -> Result<Self, SqlError> {
        let name = definition.name.as_str();
        match Completion::new(path, definition, given) {
            Ok(completion) => Ok(Self::Stored(completion)),
            Err(TableError::Unsupported { .. }) => {
                let computed = Computed::new(session, path, (definition, given)).await?;
                Ok(Self::Queried(Box::new(computed)))
            }
            Err(error) => Err(of_table(name)(error)),
        }
    }

    /// The rows with all columns of the table, in its order.
    pub(super) async fn complete(
        &mut self,
        name: &str,
        batch: &RecordBatch,
    ) -> Result<RecordBatch, SqlError> {
        match self {
            Self::Stored(completion) => completion.complete(batch).map_err(of_table(name)),
            Self::Queried(computed) => computed.complete(name, batch).await,
        }
    }
}

/// Columns that a query makes of the others.
pub(super) struct Computed {
    /// Gives the others, NULL or zeros among them.
    completion: Completion,
    derived: Derived,
    /// Brings what the query makes into the form of its columns.
    stored: Handed,
    /// For each column of the table where it comes from.
    sources: Vec<Source>,
}

/// A column of what was completed, or of what was computed.
enum Source {
    Given(usize),
    Computed(usize),
}

impl Computed {
    async fn new(
        session: &Session,
        path: &Path,
        (definition, given): (&TableDefinition, &[Column]),
    ) -> Result<Self, SqlError> {
        let name = definition.name.as_str();
        let steps = ordered(wanted(definition, given)?)?;
        let is_made = |column: &Column| steps.iter().flatten().any(|it| it.name == column.name);
        let is_read = |it: &&ColumnDefinition| {
            let name = &it.column.name;
            it.clauses.kind == ColumnKind::Ephemeral
                && (given.contains(&it.column)
                    || steps.iter().flatten().any(|step| step.reads.contains(name)))
        };
        let ephemeral = definition.unstored.iter().filter(is_read);
        let base = definition.columns.iter().chain(ephemeral).filter(|it| !is_made(&it.column));
        let base = TableDefinition { columns: base.cloned().collect(), ..definition.clone() };
        let completion = Completion::new(path, &base, given).map_err(of_table(name))?;
        let base = base.plain_columns();
        let derived = Derived::new(session, name, &base, &steps).await?;
        let made = definition.plain_columns();
        let made: Vec<Column> = made.into_iter().filter(|it| is_made(it)).collect();
        let places = made.iter().map(|column| derived.place(&column.name).map(Some));
        let stored =
            Handed::placed_as(SOURCE, &made, places.collect::<Result<_, _>>()?, session.strings);
        let source = |column: &ColumnDefinition| {
            let find = |columns: &[Column]| columns.iter().position(|it| *it == column.column);
            let given = find(&base).map(Source::Given);
            given.or_else(|| find(&made).map(Source::Computed)).ok_or_else(|| {
                let told = format!("the column {:?} comes from nowhere", column.column.name);
                DataFusionError::Internal(told)
            })
        };
        let sources = definition.columns.iter().map(source).collect::<Result<_>>()?;
        Ok(Self { completion, derived, stored, sources })
    }

    async fn complete(&mut self, name: &str, batch: &RecordBatch) -> Result<RecordBatch, SqlError> {
        let given = self.completion.complete(batch).map_err(of_table(name))?;
        let made = self.derived.of(&given).await?;
        let made = self.stored.batch(&made).map_err(of_rows(name))?;
        let column = |source: &Source| {
            let (batch, index) = match source {
                Source::Given(index) => (&given, *index),
                Source::Computed(index) => (&made, *index),
            };
            (batch.schema_ref().field(index).clone(), Arc::clone(batch.column(index)))
        };
        let (fields, columns): (Vec<_>, Vec<_>) = self.sources.iter().map(column).unzip();
        let all = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
        Ok(all.map_err(DataFusionError::from)?)
    }
}

/// The column of a DEFAULT, as one of its type.
pub(crate) fn step(column: &ColumnDefinition, expression: &str) -> Result<Step, SqlError> {
    let (name, data_type) = (column.column.name.clone(), &column.column.data_type);
    let reads = dialect::columns_of(expression)?;
    Ok(Step { name, sql: format!("CAST({expression} AS {data_type})"), reads })
}

/// The stored columns that are not given and have an expression, and what these read of columns that are not stored.
fn wanted(
    definition: &TableDefinition,
    given: &[Column],
) -> Result<BTreeMap<String, Step>, SqlError> {
    let mut wanted = BTreeMap::new();
    let missing = |column: &&ColumnDefinition| !given.contains(&column.column);
    for column in definition.columns.iter().filter(missing) {
        if let Some(expression) = &column.clauses.default {
            wanted.insert(column.column.name.clone(), step(column, expression)?);
        }
    }
    loop {
        let is_read = |name: &String| wanted.values().any(|it: &Step| it.reads.contains(name));
        let next = definition.unstored.iter().filter(missing).find_map(|column| {
            let name = &column.column.name;
            let expression = column.clauses.default.as_ref()?;
            (is_read(name) && !wanted.contains_key(name)).then_some((column, expression))
        });
        let Some((column, expression)) = next else { return Ok(wanted) };
        wanted.insert(column.column.name.clone(), step(column, expression)?);
    }
}

impl Session {
    /// An error if a column, of these names or any, has an expression that cannot be computed from the columns of its row.
    pub(super) async fn check_expressions(
        &self,
        definition: &TableDefinition,
        only: Option<&BTreeSet<String>>,
    ) -> Result<(), SqlError> {
        let is_computed = |column: &ColumnDefinition| {
            let is_asked = only.is_none_or(|only| only.contains(&column.column.name));
            is_asked && column.clauses.default.is_some()
        };
        let columns = || definition.columns.iter().chain(&definition.unstored);
        let mut computed = BTreeMap::new();
        for column in columns().filter(|it| is_computed(it)) {
            if let Some(expression) = &column.clauses.default {
                computed.insert(column.column.name.clone(), step(column, expression)?);
            }
        }
        let others = columns().filter(|column| !is_computed(column));
        let others: Vec<Column> = others.map(|column| column.column.clone()).collect();
        if !computed.is_empty() {
            // A circle may go through the others.
            let step = |it: &ColumnDefinition| step(it, it.clauses.default.as_deref()?).ok();
            let all = columns().filter_map(|it| Some((it.column.name.clone(), step(it)?)));
            ordered(all.collect())?;
        }
        let steps = ordered(computed)?;
        if !steps.is_empty() {
            let derived = Derived::new(self, &definition.name, &others, &steps).await?;
            // Of no rows, only what holds of all rows is wrong: a constant that its type does not have.
            let none = arrow_schema(&others, self.strings);
            derived.of(&RecordBatch::new_empty(Arc::new(none))).await?;
        }
        Ok(())
    }
}
