//! INSERT: the rows of a query into new parts.

use super::literals::{self, Literals};
use super::{of_table, rows};
use crate::SqlError;
use crate::context::{Execution, Session};
use crate::dialect::Change;
use arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::Query;
use tambour_files::Stored;
use tambour_part::types::Column;
use tambour_table::Table;
use tambour_table::insert::{Existing, Insert, InsertOptions};
use tambour_table::schema::TableDefinition;

/// What errors call the rows that are added.
const SOURCE: &str = "INSERT";

impl Session {
    /// Adds the rows of a query to a table: all of them or none.
    pub(super) async fn insert(
        &self,
        change: &Change,
        table: &Table,
        columns: &[String],
        source: &Query,
    ) -> Result<String, SqlError> {
        let name = change.table.as_str();
        let Some(definition) = table.definition() else {
            return Err(refused(
                format!("INSERT INTO {name}"),
                "its definition is not known; put its CREATE TABLE statement beside its parts, in a \
                 file whose name ends in .sql",
            ));
        };
        let all = definition.plain_columns();
        let mut source = match literals::of(source) {
            Some(literals) => Source::Literals(literals),
            None => Source::Query(Box::new(self.query_of(source).await?.execute().await?)),
        };
        let mapping = mapping(&all, columns, source.width())?;
        check_defaults(definition, &mapping)?;
        let mut stored = Stored::new(SOURCE, &all, mapping);
        let options = InsertOptions { existing: Existing::Append, ..self.insert_options() };
        let insert = Insert::begin(table.storage(), table.path(), definition, options);
        let mut insert = insert.map_err(of_table(name))?;
        let write = |batch: &RecordBatch| {
            let batch = stored.batch(batch).map_err(of_rows(name))?;
            insert.write(batch).map_err(of_table(name))
        };
        match source.copy(write).await {
            Ok(()) => {
                let written = insert.commit().map_err(of_table(name))?;
                Ok(format!("{} inserted", rows(written.rows)))
            }
            Err(error) => {
                insert.abort().map_err(of_table(name))?;
                Err(error)
            }
        }
    }
}

/// Where rows come from.
enum Source {
    Literals(Literals),
    Query(Box<Execution>),
}

impl Source {
    /// Values per row.
    fn width(&self) -> usize {
        match self {
            Self::Literals(literals) => literals.width,
            Self::Query(execution) => execution.stream.schema().fields().len(),
        }
    }

    async fn copy(
        &mut self,
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
        }
    }
}

/// An error of a value, under the table's name in SQL.
pub(super) fn of_rows(name: &str) -> impl Fn(tambour_files::FileError) -> SqlError {
    move |cause| SqlError::Rows { table: name.to_owned(), cause: Box::new(cause) }
}

/// For every column of the table the result that goes there.
fn mapping(
    all: &[Column],
    columns: &[String],
    width: usize,
) -> Result<Vec<Option<usize>>, SqlError> {
    let every: Vec<String>;
    let columns = if columns.is_empty() {
        every = all.iter().map(|column| column.name.clone()).collect();
        &every
    } else {
        columns
    };
    for (index, name) in columns.iter().enumerate() {
        if !all.iter().any(|column| column.name == *name) {
            let known: Vec<&str> = all.iter().map(|column| column.name.as_str()).collect();
            return Err(refused(
                format!("INSERT into the column {name:?}"),
                format!("the table does not have it; there are: {}", known.join(", ")),
            ));
        }
        if columns[..index].contains(name) {
            return Err(refused(format!("INSERT into {name:?} twice"), "name each column once"));
        }
    }
    if columns.len() != width {
        return Err(refused(
            format!("INSERT of {width} values into {} columns", columns.len()),
            "each column needs a value",
        ));
    }
    let place = |column: &Column| columns.iter().position(|name| *name == column.name);
    Ok(all.iter().map(place).collect())
}

/// A column that is left out gets what is empty for its type; a DEFAULT would have to be computed.
fn check_defaults(definition: &TableDefinition, mapping: &[Option<usize>]) -> Result<(), SqlError> {
    let mut columns = definition.columns.iter().zip(mapping);
    let left_out = columns.find(|(column, to)| to.is_none() && column.clauses.default.is_some());
    match left_out {
        None => Ok(()),
        Some((column, _)) => Err(refused(
            format!("INSERT without the column {:?}", column.column.name),
            format!(
                "it has a DEFAULT, which is not computed here: name it in the list of columns and \
                 give it a value, like {}",
                column.clauses.default.as_deref().unwrap_or_default()
            ),
        )),
    }
}

pub(super) fn refused(clause: impl Into<String>, reason: impl Into<String>) -> SqlError {
    SqlError::Refused { clause: clause.into(), reason: reason.into() }
}
