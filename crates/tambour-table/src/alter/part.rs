//! What an ALTER makes of a part: whether it is read as it is, which of its columns are dropped, renamed or computed, and its rows
//! in the columns of the new definition.

use super::{Altered, Change};
use crate::TableError;
use crate::complete::Completion;
use crate::conform::{conform, is_same_data};
use crate::fill::Fill;
use crate::schema::ColumnDefinition;
use crate::schema::alter::ElementKind;
use crate::widen::widens;
use arrow_array::RecordBatch;
use std::path::Path;
use std::sync::Arc;
use tambour_part::part::{Derive, ReadRequest};
use tambour_part::types::{Column, DataType, Strings, arrow_schema};
use tambour_part::{Part, PartError};

/// Rows read at a time when a DEFAULT is tried.
const BATCH_ROWS: usize = 65_536;

impl Altered {
    /// The columns of the new definition that a part lacks and whose DEFAULT takes a query to compute, by their places there.
    pub(crate) fn unfilled(&self, part: &Part) -> Vec<usize> {
        let stored: Vec<Column> = part.stored_columns().filter_map(|it| self.becomes(it)).collect();
        let is_unfilled = |column: &ColumnDefinition| {
            let default = column.clauses.default.as_deref();
            !stored.iter().any(|it| it.name == column.column.name)
                && Fill::new(&column.column, default, &stored).is_err()
        };
        let columns = self.after.columns.iter().enumerate();
        columns.filter(|(_, column)| is_unfilled(column)).map(|(at, _)| at).collect()
    }

    /// A stored column as the new definition has it.
    fn becomes(&self, stored: &Column) -> Option<Column> {
        match self.change(stored) {
            Change::Keep => Some(stored.clone()),
            Change::Rename(name) => Some(Column { name: name.to_owned(), ..stored.clone() }),
            Change::Recast(_, new) => Some(new.column.clone()),
            Change::Drop => None,
        }
    }

    /// True if a part cannot be read as the new definition says. An error if it could but for a DEFAULT that is wrong for its rows.
    pub(crate) fn is_touched(
        &self,
        table: &Path,
        name: &str,
        part: &Arc<Part>,
    ) -> Result<bool, TableError> {
        if !part.stored_columns().all(|column| matches!(self.change(column), Change::Keep)) {
            return Ok(true);
        }
        if self.has_stale_files(part).map_err(TableError::part(table, name))?
            || !self.unfilled(part).is_empty()
        {
            return Ok(true);
        }
        self.try_defaults(table, name, part)?;
        Ok(false)
    }

    /// True if a part has files of an index or projection of before, whose name a new one has.
    pub(crate) fn has_stale_files(&self, part: &Part) -> Result<bool, PartError> {
        if self.added.is_empty() {
            return Ok(false);
        }
        let (indexes, projections) = (part.skip_names()?, part.projections());
        let is_there = |(kind, name): &(ElementKind, String)| match kind {
            ElementKind::Index => indexes.contains(name),
            ElementKind::Projection => projections.contains(name),
            ElementKind::Constraint => false,
        };
        Ok(self.added.iter().any(is_there))
    }

    /// What becomes of a stored column.
    pub(crate) fn change(&self, stored: &Column) -> Change<'_> {
        let found = self.pairs().find(|(_, old, _)| old.column.name == stored.name);
        match found {
            None => Change::Drop,
            Some((index, _, new)) if !is_read(&stored.data_type, &new.column.data_type) => {
                Change::Recast(index, new)
            }
            Some((_, _, new)) if new.column.name != stored.name => Change::Rename(&new.column.name),
            Some(_) => Change::Keep,
        }
    }

    /// Computes the DEFAULT of each column that a part lacks, which has the new names.
    pub(crate) fn try_defaults(
        &self,
        table: &Path,
        name: &str,
        part: &Arc<Part>,
    ) -> Result<(), TableError> {
        let stored: Vec<Column> = part.stored_columns().cloned().collect();
        for column in &self.after.columns {
            if !stored.iter().any(|it| it.name == column.column.name) {
                try_default(column, &stored, part).map_err(|problem| TableError::Definition {
                    clause: format!(
                        "column `{}` in part {name} of {}",
                        column.column.name,
                        table.display()
                    ),
                    problem,
                })?;
            }
        }
        Ok(())
    }

    /// Rows with the columns of before, those of [`Altered::recasts`] being cast already, and with those at the places `computed` after
    /// them, as rows of the new definition.
    pub(crate) fn adapt(
        &self,
        table: &Path,
        batch: &RecordBatch,
        computed: &[usize],
    ) -> Result<RecordBatch, TableError> {
        let is_computed = |column: &ColumnDefinition| {
            computed.iter().any(|at| self.after.columns.get(*at) == Some(column))
        };
        let kept = self.pairs().filter(|(.., new)| !is_computed(new));
        let (mut places, mut given): (Vec<usize>, Vec<Column>) =
            kept.map(|(index, _, new)| (index, new.column.clone())).unzip();
        places.extend(self.before.columns.len()..batch.num_columns());
        given.extend(
            computed.iter().filter_map(|at| Some(self.after.columns.get(*at)?.column.clone())),
        );
        let schema = arrow_schema(&given, Strings::Binary);
        let arrays = places.iter().zip(schema.fields());
        let arrays = arrays.map(|(index, field)| conform(batch.column(*index), field.data_type()));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let kept = RecordBatch::try_new(Arc::new(schema), arrays)
            .map_err(TableError::arrow("keeping columns"))?;
        let complete = Completion::new(table, &self.after, &given)?.complete(&kept)?;
        let schema = arrow_schema(&self.after.plain_columns(), Strings::Binary);
        let arrays = complete.columns().iter().zip(schema.fields());
        let arrays = arrays.map(|(array, field)| conform(array, field.data_type()));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::new(schema), arrays).map_err(TableError::arrow("adding columns"))
    }
}

/// True if stored values of a type are read as those of another.
fn is_read(stored: &DataType, wanted: &DataType) -> bool {
    is_same_data(stored, wanted)
        || widens(stored, wanted).is_some_and(|it| it.keeps_order && !it.may_lose)
}

/// Computes a DEFAULT for all rows of a part: what is wrong with it is known now, not when somebody reads it.
fn try_default(
    column: &ColumnDefinition,
    stored: &[Column],
    part: &Arc<Part>,
) -> Result<(), String> {
    let default = column.clauses.default.as_deref();
    let (columns, fill) = Fill::new(&column.column, default, stored)?;
    if columns.is_empty() {
        return Ok(());
    }
    let told = |error: PartError| error.to_string();
    let named = |at: &usize| {
        let name = &stored.get(*at)?.name;
        part.columns().iter().position(|it| it.name == *name)
    };
    let seen: Option<Vec<usize>> = columns.iter().map(named).collect();
    let request = ReadRequest {
        columns: seen.ok_or_else(|| "it reads a column that is missing, too".to_owned())?,
        granules: std::iter::once(0..part.granules().len()).collect(),
        batch_rows: BATCH_ROWS,
        strings: Strings::Binary,
    };
    for batch in part.read(request).map_err(told)? {
        fill.derive(&batch.map_err(told)?).map_err(told)?;
    }
    Ok(())
}
