//! Rows in which values are missing: the word DEFAULT, empty fields of CSV, keys that a JSON object lacks, NULLs of columns that have none.
//! Columns are read as Nullable, and such values become the DEFAULT, else zero or what is empty, as in ClickHouse.

use super::complete::step;
use super::derived::{Derived, Step, ordered};
use super::insert::of_rows;
use super::of_table;
use crate::SqlError;
use crate::context::Session;
use arrow::array::{Array, ArrayRef, AsArray, Date32Array, RecordBatch, RecordBatchOptions};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, interleave};
use arrow::datatypes::{DataType, Schema};
use datafusion::error::DataFusionError;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use tambour_dialect as dialect;
use tambour_files::Handed;
use tambour_part::DataType as PartType;
use tambour_part::types::{Column, Strings, arrow_schema};
use tambour_table::Completion;
use tambour_table::schema::{ColumnDefinition, ColumnKind, TableDefinition};

/// What errors call the values that are computed.
const SOURCE: &str = "DEFAULT";

/// The columns as data are read, in which each has NULL if its type lets it.
pub(super) fn opened(columns: &[Column]) -> Vec<Column> {
    let open = |column: &Column| {
        let data_type = match &column.data_type {
            PartType::LowCardinality(inner) if !inner.is_nullable() => {
                PartType::LowCardinality(Box::new(PartType::Nullable(inner.clone())))
            }
            PartType::LowCardinality(_)
            | PartType::Nullable(_)
            | PartType::Array(_)
            | PartType::Map(..)
            | PartType::Tuple(_) => column.data_type.clone(),
            other if other.is_foreign() => other.clone(),
            other => PartType::Nullable(Box::new(other.clone())),
        };
        Column { name: column.name.clone(), data_type }
    };
    columns.iter().map(open).collect()
}

/// What takes the place of values that are missing.
pub(super) struct Blanks {
    /// Those that are given, and after them those that are not but that a DEFAULT of these reads: their values are missing in each row.
    columns: Vec<Column>,
    given: usize,
    /// Arrow's types of the columns.
    types: Vec<DataType>,
    /// Of each column one that is zero or empty.
    zeros: Completion,
    /// The columns with a DEFAULT, in steps; planned with the first NULL.
    steps: Option<Vec<Level>>,
    definition: TableDefinition,
    origin: Origin,
    /// Rows that were filled before.
    before: usize,
}

/// Where rows come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The statement.
    Values,
    Query,
    /// A file, in which what is missing may look like what is empty.
    Data,
}

/// Columns whose DEFAULTs need nothing but what the levels before made.
struct Level {
    derived: Derived,
    stored: Handed,
    /// The columns among those that are given.
    places: Vec<usize>,
}

impl Blanks {
    pub(super) fn new(
        path: &Path,
        (definition, given): (&TableDefinition, &[Column]),
        (origin, strings): (Origin, Strings),
    ) -> Result<Self, SqlError> {
        let columns = with_read(definition, given)?;
        let plain = |it: &Column| ColumnDefinition::new(it.name.clone(), it.data_type.clone());
        let plain = columns.iter().map(plain).collect();
        let plain = TableDefinition::new(definition.name.clone(), plain);
        let zeros = Completion::new(path, &plain, &[]).map_err(of_table(&definition.name))?;
        let types = arrow_schema(&columns, strings);
        let types = types.fields().iter().map(|field| field.data_type().clone()).collect();
        let (given, definition) = (given.len(), definition.clone());
        Ok(Self { columns, given, types, zeros, steps: None, definition, origin, before: 0 })
    }

    /// The columns that the rows have afterwards.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// For each column where values are missing, if any is: there it is null. `batch` has the rows as they come, `defaults` what the
    /// statement says of them, if it does.
    pub(super) fn of(
        &self,
        batch: &RecordBatch,
        defaults: Vec<Option<NullBuffer>>,
    ) -> Vec<Option<NullBuffer>> {
        let mut defaults = defaults.into_iter();
        let columns = self.columns.iter().zip(batch.columns());
        let missing = columns.map(|(column, values)| {
            let nulls = values.logical_nulls().filter(|nulls| nulls.null_count() > 0);
            let nulls = nulls.filter(|_| !column.data_type.is_nullable());
            NullBuffer::union(nulls.as_ref(), defaults.next().flatten().as_ref())
        });
        let all = || Some(NullBuffer::new_null(batch.num_rows()));
        missing.chain((self.given..self.columns.len()).map(|_| all())).collect()
    }

    /// The batch with values where they are missing.
    pub(super) async fn fill(
        &mut self,
        session: &Session,
        batch: RecordBatch,
        nulls: Vec<Option<NullBuffer>>,
    ) -> Result<RecordBatch, SqlError> {
        if self.origin == Origin::Data {
            self.check(&batch)?;
        }
        self.before += batch.num_rows();
        if nulls.iter().all(Option::is_none) {
            return self.batch(batch.columns().to_vec());
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let none = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options);
        let none = none.map_err(DataFusionError::from)?;
        let zeros = self.zeros.complete(&none).map_err(of_table(&self.definition.name))?;
        let mut columns = batch.columns().to_vec();
        let zero = |at: usize| match self.columns[at].data_type {
            // What a Date32 is that is left out, or NULL in a query, is the first date of the type.
            PartType::Date32 if at < self.given && self.origin != Origin::Query => {
                Arc::new(Date32Array::from(vec![0; batch.num_rows()])) as ArrayRef
            }
            _ => Arc::clone(zeros.column(at)),
        };
        columns.extend(zeros.columns().iter().skip(self.given).cloned());
        for (at, nulls) in nulls.iter().enumerate() {
            if let Some(nulls) = nulls {
                columns[at] = self.merged(at, &columns[at], &zero(at), nulls)?;
            }
        }
        if self.steps.is_none() {
            self.steps = Some(self.levels(session).await?);
        }
        let mut levels = self.steps.take().unwrap_or_default();
        for level in &mut levels {
            if level.places.iter().all(|at| nulls[*at].is_none()) {
                continue;
            }
            let made = level.derived.of(&self.batch(columns.clone())?).await?;
            let made = level.stored.batch(&made).map_err(of_rows(&self.definition.name))?;
            for (values, at) in made.columns().iter().zip(&level.places) {
                if let Some(nulls) = &nulls[*at] {
                    columns[*at] = self.merged(*at, &columns[*at], values, nulls)?;
                }
            }
        }
        self.steps = Some(levels);
        self.batch(columns)
    }

    /// An error if a value may be missing or not: a NULL, and what is empty, where the DEFAULT is something else.
    fn check(&self, batch: &RecordBatch) -> Result<(), SqlError> {
        for (column, values) in self.columns.iter().zip(batch.columns()) {
            let of_column = |it: &&ColumnDefinition| it.column == *column;
            let default = self.definition.columns.iter().find(of_column);
            let default = default.and_then(|it| it.clauses.default.as_deref());
            let Some(default) = default.filter(|text| !text.eq_ignore_ascii_case("null")) else {
                continue;
            };
            let is_blank = |row: usize| match &column.data_type {
                PartType::Array(_) => values.as_list::<i32>().value_length(row) == 0,
                PartType::Map(..) => values.as_map().value_length(row) == 0,
                PartType::Tuple(_) => true,
                other => other.is_nullable() && values.is_null(row),
            };
            if let Some(row) = (0..values.len()).find(|row| is_blank(*row)) {
                let told = format!(
                    "row {}: the value of `{}` is NULL or empty, or is missing and would be {default}; leave the column out of the list of columns, \
                     or the DEFAULT out of the table",
                    self.before + row + 1,
                    column.name
                );
                return Err(SqlError::refused("INSERT ... FORMAT", told));
            }
        }
        Ok(())
    }

    async fn levels(&self, session: &Session) -> Result<Vec<Level>, SqlError> {
        let mut computed = BTreeMap::new();
        for column in self.definition.columns.iter().chain(&self.definition.unstored) {
            let is_open = self.columns.contains(&column.column);
            if let (true, Some(default)) = (is_open, &column.clauses.default) {
                computed.insert(column.column.name.clone(), step(column, default)?);
            }
        }
        let mut levels = Vec::new();
        for steps in ordered(computed)? {
            let is_in = |steps: &[Step], name: &String| steps.iter().any(|it| it.name == *name);
            let places = self.columns.iter().enumerate().filter(|(_, it)| is_in(&steps, &it.name));
            let (places, columns): (Vec<usize>, Vec<Column>) =
                places.map(|(at, column)| (at, column.clone())).unzip();
            let steps = [aside(steps)];
            let table = self.definition.name.as_str();
            let derived = Derived::new(session, table, &self.columns, &steps).await?;
            let found = columns.iter().map(|it| derived.place(&made(&it.name)).map(Some));
            let stored = Handed::placed_as(
                SOURCE,
                &columns,
                found.collect::<Result<_, _>>()?,
                session.strings,
            );
            levels.push(Level { derived, stored, places });
        }
        Ok(levels)
    }

    /// The values, and in the place of NULLs others.
    fn merged(
        &self,
        at: usize,
        values: &ArrayRef,
        others: &ArrayRef,
        nulls: &NullBuffer,
    ) -> Result<ArrayRef, SqlError> {
        // Bytes need not be text.
        let wanted = match (&self.types[at], others.data_type()) {
            (DataType::Utf8View, bytes @ DataType::BinaryView) => bytes,
            (wanted, _) => wanted,
        };
        let values = cast(values, wanted).map_err(DataFusionError::from)?;
        let others = cast(others, wanted).map_err(DataFusionError::from)?;
        let places: Vec<(usize, usize)> =
            nulls.iter().enumerate().map(|(row, is_there)| (usize::from(!is_there), row)).collect();
        let merged = interleave(&[values.as_ref(), others.as_ref()], &places);
        Ok(merged.map_err(DataFusionError::from)?)
    }

    fn batch(&self, columns: Vec<ArrayRef>) -> Result<RecordBatch, SqlError> {
        let schema = arrow_schema(&self.columns, Strings::Utf8);
        let fields = schema.fields().iter().zip(&columns);
        let fields: Vec<_> = fields
            .map(|(field, values)| {
                field.as_ref().clone().with_data_type(values.data_type().clone())
            })
            .collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
        Ok(batch.map_err(DataFusionError::from)?)
    }
}

/// The columns, and those that their DEFAULTs read and the DEFAULTs of these.
fn with_read(definition: &TableDefinition, given: &[Column]) -> Result<Vec<Column>, SqlError> {
    let all = || {
        let unstored = definition.unstored.iter();
        definition
            .columns
            .iter()
            .chain(unstored.filter(|it| it.clauses.kind == ColumnKind::Ephemeral))
    };
    let mut columns = given.to_vec();
    let mut at = 0;
    while let Some(column) = columns.get(at) {
        at += 1;
        let found = all().find(|it| it.column == *column);
        let Some(default) = found.and_then(|it| it.clauses.default.as_ref()) else { continue };
        let reads = dialect::columns_of(default)?;
        for other in all().filter(|it| reads.contains(&it.column.name)) {
            if !columns.contains(&other.column) {
                columns.push(other.column.clone());
            }
        }
    }
    Ok(columns)
}

/// The steps under names that no column has: the columns that they fill are there.
fn aside(steps: Vec<Step>) -> Vec<Step> {
    steps.into_iter().map(|step| Step { name: made(&step.name), ..step }).collect()
}

fn made(name: &str) -> String {
    format!("\u{1f}made {name}")
}
