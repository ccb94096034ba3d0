//! INSERT: the rows of a query into new parts.

use super::blanks::{Blanks, Origin, opened};
use super::checks::Checks;
use super::complete::Completing;
use super::literals::{self, Literals, Run};
use super::{of_table, rows};
use crate::SqlError;
use crate::context::Session;
use crate::execution::Execution;
use arrow::array::{AsArray, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, UInt64Type};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::Query;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use tambour_dialect::{Change, Columns};
use tambour_files::{Handed, Input};
use tambour_part::types::{Column, DataType as ColumnType, Strings};
use tambour_table::insert::{Existing, Insert, InsertOptions, InsertSummary};
use tambour_table::schema::{ColumnDefinition, ColumnKind, TableDefinition};
use tambour_table::{Table, TableError};

/// What errors call the rows that are added.
const SOURCE: &str = "INSERT";
/// Most runs of rows that are computed apart.
const RUNS_MAX: usize = 10_000;
/// Times that a statement is begun while others alter the table.
const ATTEMPTS_MAX: usize = 5;

impl Session {
    /// Adds the rows of a query to a table: all of them or none. Another process may alter it while a session has it open: rows are
    /// stored as the table is when they come.
    pub(super) async fn insert(
        &self,
        change: &Change,
        table: &Arc<Table>,
        columns: &Columns,
        source: Rows<'_>,
    ) -> Result<String, SqlError> {
        let name = change.table.as_str();
        let mut attempts = 0;
        loop {
            let table = self.as_it_is(name, table)?;
            attempts += 1;
            match self.insert_into(name, &table, columns, source).await {
                Err(error)
                    if attempts < ATTEMPTS_MAX && source.is_given() && is_altered(&error) => {}
                done => return done,
            }
        }
    }

    /// The table that the session has of this name, opened anew if another process has altered it.
    fn as_it_is(&self, name: &str, table: &Arc<Table>) -> Result<Arc<Table>, SqlError> {
        let now = self.table_named(name).unwrap_or_else(|_| Arc::clone(table));
        if !now.is_altered().map_err(of_table(name))? {
            return Ok(now);
        }
        self.reopen(name, &now)?;
        self.table_named(name)
    }

    async fn insert_into(
        &self,
        name: &str,
        table: &Table,
        columns: &Columns,
        source: Rows<'_>,
    ) -> Result<String, SqlError> {
        let Some(definition) = table.definition() else {
            return Err(SqlError::refused(
                format!("INSERT INTO {name}"),
                "its definition is not known; put its CREATE TABLE statement beside its parts, in a \
                 file whose name ends in .sql",
            ));
        };
        let (given, mut source) = match source {
            Rows::Format(format, data) => {
                let given = given(definition, columns, None)?;
                let opened = self.opened((format, data), definition, &given)?;
                (given, opened)
            }
            Rows::Query(query) => {
                let mut source = self.source(query).await?;
                let given = given(definition, columns, Some(source.width()))?;
                source.meet(&given);
                (given, source)
            }
        };
        let options = InsertOptions { existing: Existing::Same, ..self.insert_options() };
        let insert = Insert::begin(table.storage(), table.path(), definition, options);
        let insert = insert.map_err(of_table(name))?;
        let columns = (definition, given.as_slice());
        let written = self.store(name, insert, table.path(), columns, &mut source).await?;
        Ok(format!("{} inserted", rows(written.rows)))
    }

    /// Where the rows of a query come from: literals are read as the types of their columns.
    async fn source(&self, query: &Query) -> Result<Source, SqlError> {
        if let Some(literals) = literals::of(query) {
            return Ok(Source::Literals(literals, 0));
        }
        if let Some(runs) = literals::runs(query) {
            return Ok(Source::Runs(Box::new(self.computed(runs).await?)));
        }
        let execution = self.query_of(query).await?.execute().await?;
        Ok(Source::Query(Box::new(execution), takes_nulls(query)))
    }

    /// Begins to compute what is not a literal.
    async fn computed(&self, runs: Vec<Run>) -> Result<Runs, SqlError> {
        if runs.len() > RUNS_MAX {
            return Err(SqlError::refused(
                format!("VALUES that change between literals and expressions {} times", runs.len()),
                format!("write them so that they change {RUNS_MAX} times at most"),
            ));
        }
        let width = runs.first().map_or(0, |run| run.is_literal.len());
        let mut begun = VecDeque::with_capacity(runs.len());
        for run in runs {
            if run.query.is_some() && run.literals.has_defaults() {
                return Err(SqlError::refused(
                    "DEFAULT beside values that are computed",
                    "make a statement of its own for such rows",
                ));
            }
            let execution = match &run.query {
                Some(query) => Some(self.query_of(query).await?.execute().await?),
                None => None,
            };
            begun.push_back((run, execution));
        }
        Ok(Runs { width, left: begun, batches: 0 })
    }

    /// Stores the rows of a source, whose values go to the columns `given`; commits all of them or none.
    pub(super) async fn store(
        &self,
        name: &str,
        mut insert: Insert,
        path: &Path,
        (definition, given): (&TableDefinition, &[Column]),
        source: &mut Source,
    ) -> Result<InsertSummary, SqlError> {
        match self.copy(name, &mut insert, path, (definition, given), source).await {
            Ok(()) => insert.commit().map_err(of_table(name)),
            Err(error) => {
                insert.abort().map_err(of_table(name))?;
                Err(error)
            }
        }
    }

    async fn copy(
        &self,
        name: &str,
        insert: &mut Insert,
        path: &Path,
        (definition, given): (&TableDefinition, &[Column]),
        source: &mut Source,
    ) -> Result<(), SqlError> {
        // What does not come from a query is text.
        let strings = if source.origin() == Origin::Query { self.strings } else { Strings::Utf8 };
        let mut blanks = Blanks::new(path, (definition, given), (source.origin(), strings))?;
        let mut completing = Completing::new(self, path, (definition, blanks.columns())).await?;
        let mut checks = Checks::new(self, definition).await?;
        let takes_nulls = !matches!(source, Source::Query(_, false));
        let read = if takes_nulls { opened(given) } else { given.to_vec() };
        let places = (0..given.len()).map(Some).collect();
        let mut stored = Handed::placed_as(SOURCE, &read, places, strings);
        while let Some((batch, defaults)) = source.next(name, given).await? {
            let blank = blanks.of(&batch, defaults);
            let batch = stored.batch(&batch).map_err(|error| of_given(name, given, error))?;
            let batch = blanks.fill(self, batch, blank).await?;
            let complete = completing.complete(name, &batch).await?;
            if let Some(checks) = &mut checks {
                checks.check(&complete).await?;
            }
            insert.write(complete).map_err(of_table(name))?;
        }
        Ok(())
    }
}

/// What a statement says about where its rows come from.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    Query(&'a Query),
    /// Data of this format, which follow it in the statement or come from elsewhere.
    Format(&'a str, Option<&'a str>),
}

impl Rows<'_> {
    /// True of rows that can be asked for again.
    fn is_given(self) -> bool {
        matches!(self, Self::Query(_) | Self::Format(_, Some(_)))
    }
}

/// True of the error that a table has been altered before its lock was taken.
fn is_altered(error: &SqlError) -> bool {
    let SqlError::Table { cause, .. } = error else { return false };
    matches!(cause.as_ref(), TableError::Altered { .. })
}

/// Where rows come from.
pub(super) enum Source {
    /// Literals, and how many batches of them were taken.
    Literals(Literals, usize),
    /// A query, and whether its NULLs may become DEFAULTs: `insert_null_as_default`.
    Query(Box<Execution>, bool),
    Runs(Box<Runs>),
    Data(Box<Input>),
}

/// In each run, columns of literals beside those that are computed.
pub(super) struct Runs {
    width: usize,
    /// Those that are left.
    left: VecDeque<(Run, Option<Execution>)>,
    /// How many batches of the first one were taken, if it is literals alone.
    batches: usize,
}

impl Runs {
    async fn next(&mut self) -> Result<Option<Piece>, SqlError> {
        while let Some((run, execution)) = self.left.front_mut() {
            let batch = match execution {
                Some(execution) => match execution.next().await? {
                    Some(computed) => Some((beside(run, &computed)?, Vec::new())),
                    None => None,
                },
                None => taken(&run.literals, &mut self.batches)?,
            };
            if batch.is_some() {
                return Ok(batch);
            }
            self.left.pop_front();
            self.batches = 0;
        }
        Ok(None)
    }
}

/// Rows, and for each column where the statement says DEFAULT, if it does anywhere: there it is null.
type Piece = (RecordBatch, Vec<Option<NullBuffer>>);

/// The next batch of literals.
fn taken(literals: &Literals, batches: &mut usize) -> Result<Option<Piece>, SqlError> {
    let batch = literals.batch(*batches).transpose().map_err(DataFusionError::from)?;
    let defaults = literals.defaults(*batches);
    *batches += 1;
    Ok(batch.map(|batch| (batch, defaults)))
}

impl Source {
    /// Values per row.
    pub(super) fn width(&self) -> usize {
        match self {
            Self::Literals(literals, _) => literals.width,
            Self::Query(execution, _) => execution.stream.schema().fields().len(),
            Self::Runs(runs) => runs.width,
            Self::Data(input) => input.columns().len(),
        }
    }

    /// Writes literals as the columns read them.
    fn meet(&mut self, given: &[Column]) {
        let types: Vec<&ColumnType> = given.iter().map(|column| &column.data_type).collect();
        match self {
            Self::Literals(literals, _) => literals.meet(&types),
            Self::Runs(runs) => {
                for (run, _) in &mut runs.left {
                    let literal = types.iter().zip(&run.is_literal).filter(|(_, it)| **it);
                    let literal: Vec<&ColumnType> = literal.map(|(it, _)| *it).collect();
                    run.literals.meet(&literal);
                }
            }
            Self::Query(..) | Self::Data(_) => {}
        }
    }

    fn origin(&self) -> Origin {
        match self {
            Self::Literals(..) | Self::Runs(_) => Origin::Values,
            Self::Query(..) => Origin::Query,
            Self::Data(_) => Origin::Data,
        }
    }

    /// The next rows.
    async fn next(&mut self, name: &str, given: &[Column]) -> Result<Option<Piece>, SqlError> {
        let batch = match self {
            Self::Literals(literals, batches) => return taken(literals, batches),
            Self::Runs(runs) => return runs.next().await,
            Self::Query(execution, _) => execution.next().await?,
            Self::Data(input) => {
                input.next_batch().transpose().map_err(|error| of_given(name, given, error))?
            }
        };
        Ok(batch.map(|batch| (batch, Vec::new())))
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

/// False if a query says that NULLs are to stay NULLs.
fn takes_nulls(query: &Query) -> bool {
    let settings = query.settings.iter().flatten();
    let mut off = settings.filter(|it| it.value.to_string().trim_matches('\'') == "0");
    !off.any(|it| it.key.value == "insert_null_as_default")
}

/// An error of a value with the type of its column in the place of the one that it was read as.
fn of_given(name: &str, given: &[Column], mut error: tambour_files::FileError) -> SqlError {
    if let tambour_files::FileError::Value { spot, data_type, .. } = &mut error {
        let of_column = |it: &&Column| spot.column.as_ref() == Some(&it.name);
        if let Some(column) = given.iter().find(of_column) {
            *data_type = column.data_type.to_string();
        }
    }
    of_rows(name)(error)
}

/// An error of a value, under the table's name in SQL.
pub(crate) fn of_rows(name: &str) -> impl Fn(tambour_files::FileError) -> SqlError {
    move |cause| SqlError::Rows { table: name.to_owned(), cause: Box::new(cause) }
}

/// The columns that get values, in the order of the statement; an error if there are not as many values.
fn given(
    definition: &TableDefinition,
    columns: &Columns,
    width: Option<usize>,
) -> Result<Vec<Column>, SqlError> {
    let of = |columns: &[ColumnDefinition], kind: ColumnKind| -> Vec<Column> {
        let of_kind = columns.iter().filter(|it| it.clauses.kind == kind);
        of_kind.map(|it| it.column.clone()).collect()
    };
    let mut all = of(&definition.columns, ColumnKind::Given);
    let plain = all.clone();
    let mut given: Vec<Column> = Vec::new();
    // These get values only where they are named.
    all.extend(of(&definition.unstored, ColumnKind::Ephemeral));
    let (Columns::These(names) | Columns::AllBut(names)) = columns;
    for name in names {
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
    if matches!(columns, Columns::AllBut(_)) {
        given = plain.into_iter().filter(|column| !given.contains(column)).collect();
    }
    match width {
        Some(width) if width != given.len() => Err(SqlError::refused(
            format!("INSERT of {width} values into {} columns", given.len()),
            "each column needs a value",
        )),
        _ => Ok(given),
    }
}
