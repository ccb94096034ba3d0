//! INSERT: the rows of a query into new parts.

use super::literals::{self, Literals, Run};
use super::{of_table, rows};
use crate::SqlError;
use crate::context::Session;
use crate::execution::Execution;
use arrow::array::{AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::Query;
use std::path::Path;
use tambour_dialect::Change;
use tambour_files::{Handed, Input};
use tambour_part::types::Column;
use tambour_table::insert::{Existing, Insert, InsertOptions, InsertSummary};
use tambour_table::schema::{ColumnKind, TableDefinition};
use tambour_table::{Completion, Table};

/// What errors call the rows that are added.
const SOURCE: &str = "INSERT";
/// Most runs of rows that are computed apart.
const RUNS_MAX: usize = 10_000;

impl Session {
    /// Adds the rows of a query to a table: all of them or none.
    pub(super) async fn insert(
        &self,
        change: &Change,
        table: &Table,
        columns: &[String],
        source: Rows<'_>,
    ) -> Result<String, SqlError> {
        let name = change.table.as_str();
        let Some(definition) = table.definition() else {
            return Err(SqlError::refused(
                format!("INSERT INTO {name}"),
                "its definition is not known; put its CREATE TABLE statement beside its parts, in a \
                 file whose name ends in .sql",
            ));
        };
        definition.refuse_constraints().map_err(of_table(name))?;
        let takes = |kind| kind == ColumnKind::Given;
        let stored = definition.columns.iter().filter(|it| takes(it.clauses.kind));
        let all: Vec<Column> = stored.map(|it| it.column.clone()).collect();
        let (given, mut source) = match source {
            Rows::Format(format) => {
                let width = if columns.is_empty() { all.len() } else { columns.len() };
                let given = given(&all, columns, width)?;
                let opened = self.opened(format, definition, &given)?;
                (given, opened)
            }
            Rows::Query(query) => {
                let source = match literals::of(query) {
                    Some(literals) => Source::Literals(literals),
                    None => match literals::runs(query) {
                        Some(runs) => Source::Runs(self.computed(runs).await?),
                        None => {
                            Source::Query(Box::new(self.query_of(query).await?.execute().await?))
                        }
                    },
                };
                (given(&all, columns, source.width())?, source)
            }
        };
        let options = InsertOptions { existing: Existing::Append, ..self.insert_options() };
        let insert = Insert::begin(table.storage(), table.path(), definition, options);
        let insert = insert.map_err(of_table(name))?;
        let columns = (definition, given.as_slice());
        let written = Self::store(name, insert, table.path(), columns, &mut source).await?;
        Ok(format!("{} inserted", rows(written.rows)))
    }

    /// Begins to compute what is not a literal.
    async fn computed(&self, runs: Vec<Run>) -> Result<Vec<(Run, Option<Execution>)>, SqlError> {
        if runs.len() > RUNS_MAX {
            return Err(SqlError::refused(
                format!("VALUES that change between literals and expressions {} times", runs.len()),
                format!("write them so that they change {RUNS_MAX} times at most"),
            ));
        }
        let mut begun = Vec::with_capacity(runs.len());
        for run in runs {
            let execution = match &run.query {
                Some(query) => Some(self.query_of(query).await?.execute().await?),
                None => None,
            };
            begun.push((run, execution));
        }
        Ok(begun)
    }

    /// Stores the rows of a source, whose values go to the columns `given`; commits all of them or none.
    pub(super) async fn store(
        name: &str,
        mut insert: Insert,
        path: &Path,
        (definition, given): (&TableDefinition, &[Column]),
        source: &mut Source,
    ) -> Result<InsertSummary, SqlError> {
        let completion = match Completion::new(path, definition, given) {
            Ok(completion) => completion,
            Err(error) => {
                insert.abort().map_err(of_table(name))?;
                return Err(of_table(name)(error));
            }
        };
        let mapping = (0..given.len()).map(Some).collect();
        let mut stored = Handed::placed(SOURCE, given, mapping);
        let write = |batch: &RecordBatch| {
            let batch = stored.batch(batch).map_err(of_rows(name))?;
            insert
                .write(completion.complete(&batch).map_err(of_table(name))?)
                .map_err(of_table(name))
        };
        match source.copy(name, write).await {
            Ok(()) => insert.commit().map_err(of_table(name)),
            Err(error) => {
                insert.abort().map_err(of_table(name))?;
                Err(error)
            }
        }
    }
}

/// What a statement says about where its rows come from.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    Query(&'a Query),
    /// Data of this format, which are not in the statement.
    Format(&'a str),
}

/// Where rows come from.
pub(super) enum Source {
    Literals(Literals),
    Query(Box<Execution>),
    /// In each run, columns of literals beside those that are computed.
    Runs(Vec<(Run, Option<Execution>)>),
    Data(Box<Input>),
}

impl Source {
    /// Values per row.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Literals(literals) => literals.width,
            Self::Query(execution) => execution.stream.schema().fields().len(),
            Self::Runs(runs) => runs.first().map_or(0, |(run, _)| run.is_literal.len()),
            Self::Data(input) => input.columns().len(),
        }
    }

    async fn copy(
        &mut self,
        name: &str,
        mut write: impl FnMut(&RecordBatch) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        match self {
            Self::Literals(literals) => literals
                .batches()
                .try_for_each(|batch| write(&batch.map_err(DataFusionError::from)?)),
            Self::Query(execution) => {
                while let Some(batch) = execution.next().await? {
                    write(&batch)?;
                }
                Ok(())
            }
            Self::Runs(runs) => {
                for (run, execution) in runs {
                    let Some(execution) = execution else {
                        run.literals
                            .batches()
                            .try_for_each(|batch| write(&batch.map_err(DataFusionError::from)?))?;
                        continue;
                    };
                    while let Some(batch) = execution.next().await? {
                        write(&beside(run, &batch)?)?;
                    }
                }
                Ok(())
            }
            Self::Data(input) => {
                while let Some(batch) = input.next_batch() {
                    write(&batch.map_err(of_rows(name))?)?;
                }
                Ok(())
            }
        }
    }
}

/// The columns of literals and those that are computed, which end with the number of the row.
fn beside(run: &Run, computed: &RecordBatch) -> Result<RecordBatch, SqlError> {
    let mut computed = computed.columns().to_vec();
    let numbers = computed.pop().map(|it| cast(&it, &DataType::UInt64)).transpose();
    let numbers = numbers.map_err(DataFusionError::from)?;
    let numbers = numbers.iter().flat_map(|it| it.as_primitive::<UInt64Type>().values());
    let rows: Vec<usize> = numbers.filter_map(|it| usize::try_from(*it).ok()).collect();
    let (mut computed, mut literal) = (computed.into_iter(), 0..);
    let columns = run.is_literal.iter().enumerate().filter_map(|(place, is_literal)| {
        let column = if *is_literal {
            run.literals.column(literal.next()?, &rows)
        } else {
            computed.next()?
        };
        Some((format!("value {}", place + 1), column, true))
    });
    Ok(RecordBatch::try_from_iter_with_nullable(columns).map_err(DataFusionError::from)?)
}

/// An error of a value, under the table's name in SQL.
pub(super) fn of_rows(name: &str) -> impl Fn(tambour_files::FileError) -> SqlError {
    move |cause| SqlError::Rows { table: name.to_owned(), cause: Box::new(cause) }
}

/// The columns that get values, in the order of the statement.
fn given(all: &[Column], columns: &[String], width: usize) -> Result<Vec<Column>, SqlError> {
    let mut given: Vec<Column> = Vec::new();
    for name in columns {
        let Some(column) = all.iter().find(|column| column.name == *name) else {
            let known: Vec<&str> = all.iter().map(|column| column.name.as_str()).collect();
            return Err(SqlError::refused(
                format!("INSERT into the column {name:?}"),
                format!("the columns that take values are: {}", known.join(", ")),
            ));
        };
        if given.iter().any(|other| other.name == *name) {
            return Err(SqlError::refused(
                format!("INSERT into {name:?} twice"),
                "name each column once",
            ));
        }
        given.push(column.clone());
    }
    if columns.is_empty() {
        given = all.to_vec();
    }
    if given.len() != width {
        return Err(SqlError::refused(
            format!("INSERT of {width} values into {} columns", given.len()),
            "each column needs a value",
        ));
    }
    Ok(given)
}
