//! From the definition that a table has to the one that further rows need: wider types, more columns.
//!
//! The parts stay as they are, and are cast when they are read ([`super::conform`]). So only such changes are taken that
//! leave every value what it was and every part sorted.

use super::conform::{fit, is_same_data};
use super::locked::LockedTable;
use super::open::open_live_part;
use super::recast::is_held;
use super::sidecar::Sidecar;
use super::widen::{keeps_values, widens};
use crate::TableError;
use crate::schema::TableDefinition;
use crate::schema::expression::Expression;
use arrow_array::Array;
use std::path::Path;
use std::sync::Arc;
use tambour_part::part::ReadRequest;
use tambour_part::types::{Column, DataType, Strings};
use tambour_part::{Part, PartError};

/// Rows read at a time when values are tried.
const BATCH_ROWS: usize = 65_536;

/// Checks that rows of `given` can be added to a table of `known`, and that its parts can be read as `given` says. True if that
/// is another definition than before; comments and codecs apart, which stay what they are unless something else changes.
pub(super) fn evolve(
    table: &LockedTable,
    sidecar: &Sidecar,
    known: &TableDefinition,
    given: &TableDefinition,
) -> Result<bool, TableError> {
    let path = table.path();
    check_clauses(path, known, given)?;
    let column = |it: &Column| format!("{} {}", it.name, it.data_type);
    let (before, after) = (known.plain_columns(), given.plain_columns());
    if before.iter().map(column).eq(after.iter().map(column)) {
        return Ok(false);
    }
    let mut changed: Vec<(&str, &DataType, &DataType)> = Vec::new();
    for old in &before {
        let Some(new) = after.iter().find(|new| new.name == old.name) else {
            return Err(differs(
                path,
                "the list of columns",
                column(old),
                "no such column".to_owned(),
            ));
        };
        if is_same_data(&old.data_type, &new.data_type) {
            check_zone(path, known, old, new)?;
            continue;
        }
        if widens(&old.data_type, &new.data_type).is_none() {
            return Err(differs(path, "the type of a column", column(old), column(new)));
        }
        changed.push((&old.name, &old.data_type, &new.data_type));
    }
    check_keys(path, known, (&before, &after), &changed)?;
    let risky: Vec<_> = changed
        .into_iter()
        .filter(|(_, old, new)| widens(old, new).is_some_and(|it| it.may_lose))
        .collect();
    let granularity = Some(given.index_granularity());
    for live in &sidecar.parts {
        let part = open_live_part(table.storage(), path, live, granularity)?;
        // Whatever is wrong with it is known now, not when somebody reads it.
        let part = Arc::new(fit(path, &live.name, (&before, Some(known)), part)?);
        for (name, old, new) in &risky {
            try_values(&part, name, old, new).map_err(TableError::part(path, &live.name))?.map_or(
                Ok(()),
                |value| {
                    let wanted = format!("{name} {new}, which does not hold {value}");
                    Err(differs(path, "the type of a column", format!("{name} {old}"), wanted))
                },
            )?;
        }
        let part = Arc::into_inner(part);
        drop(part);
    }
    Ok(true)
}

fn differs(path: &Path, clause: &'static str, expected: String, got: String) -> TableError {
    TableError::DefinitionDiffers { table: path.to_owned(), clause, expected, got }
}

/// What decides how parts are cut and sorted must be the same.
fn check_clauses(
    path: &Path,
    known: &TableDefinition,
    given: &TableDefinition,
) -> Result<(), TableError> {
    type Describe = fn(&TableDefinition) -> String;
    let clauses: [(&'static str, Describe); 4] = [
        ("ORDER BY", |d| describe_key(&d.order_by)),
        ("PRIMARY KEY", |d| describe_key(&d.primary_key)),
        ("PARTITION BY", |d| describe_key(&d.partition_by)),
        ("index_granularity", |d| d.index_granularity().to_string()),
    ];
    for (clause, describe) in clauses {
        let (expected, got) = (describe(known), describe(given));
        if expected != got {
            return Err(differs(path, clause, expected, got));
        }
    }
    Ok(())
}

fn describe_key(expressions: &[Expression]) -> String {
    let texts: Vec<String> = expressions.iter().map(ToString::to_string).collect();
    format!("({})", texts.join(", "))
}

/// Parts must stay sorted by the keys, and in their partitions.
fn check_keys(
    path: &Path,
    known: &TableDefinition,
    (before, after): (&[Column], &[Column]),
    changed: &[(&str, &DataType, &DataType)],
) -> Result<(), TableError> {
    let change = |name: &str| changed.iter().find(|(column, ..)| *column == name);
    let is_changed = |name: &str| change(name).is_some();
    let keys = [("ORDER BY", &known.order_by), ("PARTITION BY", &known.partition_by)];
    for (clause, key) in keys {
        for expression in key {
            let Some((name, old, new)) = expression.columns().into_iter().find_map(change) else {
                continue;
            };
            let (from, to) = (expression.data_type(before)?, expression.data_type(after)?);
            let is_sorted = widens(old, new).is_some_and(|it| it.keeps_order)
                && widens(&from, &to).is_some_and(|it| it.keeps_order)
                && keeps_values(expression, &is_changed);
            // Partitions are named by the values, in a way that depends on their type.
            let is_named = clause != "PARTITION BY"
                || from.unwrapped() == to.unwrapped()
                || is_integer(from.unwrapped()) && is_integer(to.unwrapped());
            if !(is_sorted && is_named) {
                let problem = format!(
                    "{expression} would have other values with `{name}` as {new} than as {old}, and the parts are sorted \
                     by those; import all rows into a new table instead"
                );
                let clause = format!("{clause} of {}", path.display());
                return Err(TableError::Definition { clause, problem });
            }
        }
    }
    Ok(())
}

/// Another zone leaves the times as they are, but not what a key makes of them: the day, say.
fn check_zone(
    path: &Path,
    known: &TableDefinition,
    old: &Column,
    new: &Column,
) -> Result<(), TableError> {
    if old.data_type == new.data_type {
        return Ok(());
    }
    let keys = [("ORDER BY", &known.order_by), ("PARTITION BY", &known.partition_by)];
    for (clause, key) in keys {
        let is_touched = |it: &&Expression| it.columns().contains(&old.name.as_str());
        if let Some(expression) = key.iter().find(is_touched) {
            let problem = format!(
                "{expression} is a key of the parts with `{}` as {}, and {} shows times in another zone; \
                 keep the zone, or import all rows into a new table",
                old.name, old.data_type, new.data_type
            );
            return Err(TableError::Definition {
                clause: format!("{clause} of {}", path.display()),
                problem,
            });
        }
    }
    Ok(())
}

fn is_integer(data_type: &DataType) -> bool {
    use DataType as T;
    matches!(
        data_type,
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 | T::Int8 | T::Int16 | T::Int32 | T::Int64
    )
}

/// The first value of a column that another type does not hold, as text.
fn try_values(
    part: &Arc<Part>,
    name: &str,
    old: &DataType,
    new: &DataType,
) -> Result<Option<String>, PartError> {
    let Some(index) = part.columns().iter().position(|column| column.name == name) else {
        return Ok(None);
    };
    let request = ReadRequest {
        columns: vec![index],
        granules: std::iter::once(0..part.granules().len()).collect(),
        batch_rows: BATCH_ROWS,
        strings: Strings::Binary,
    };
    for batch in part.read(request)? {
        let batch = batch?;
        let values = batch.column(0);
        if !is_held(values, old, new) {
            let is_lost = |row: &usize| !is_held(&values.slice(*row, 1), old, new);
            let row = (0..batch.num_rows()).find(is_lost).unwrap_or_default();
            let text = arrow_cast::display::array_value_to_string(values, row);
            return Ok(Some(text.unwrap_or_default()));
        }
    }
    Ok(None)
}
