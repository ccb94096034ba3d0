//! Columns of a part beside those of the table.

use super::fill::Fill;
use super::recast::Cast;
use super::widen::{keeps_values, widens};
use crate::TableError;
use crate::schema::expression::Expression;
use crate::schema::{ColumnDefinition, TableDefinition};
use arrow_array::ArrayRef;
use arrow_cast::cast;
use arrow_schema::DataType as ArrowType;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::{Derive, Seen, SeenKey, Source, View};
use tambour_part::types::{Column, DataType};

/// The part as a table with these columns sees it: types that the table's hold are cast, columns that it lacks are filled, and
/// what cannot be read is refused where it is asked for. A part that disagrees in any other way is an error.
pub(super) fn fit(
    table: &Path,
    name: &str,
    (expected, definition): (&[Column], Option<&TableDefinition>),
    part: Part,
) -> Result<Part, TableError> {
    let stored: Vec<Column> = part.stored_columns().cloned().collect();
    let by_name: HashMap<&str, usize> =
        stored.iter().enumerate().map(|(at, column)| (column.name.as_str(), at)).collect();
    let known: HashSet<&str> = expected.iter().map(|column| column.name.as_str()).collect();
    let other = stored.iter().find(|column| !known.contains(column.name.as_str()));
    if let Some(other) = other {
        // A part that was detached while a column was dropped still has it. Where a column is lacking, too, its name may be
        // damaged.
        let has_all = expected.iter().all(|column| by_name.contains_key(column.name.as_str()));
        if definition.is_none() || !has_all {
            return differs(table, name, "no other column".to_owned(), other.name.clone());
        }
    }
    let mut seen = Vec::with_capacity(expected.len());
    let mut changed: HashSet<&str> = HashSet::new();
    for column in expected {
        let source = match by_name.get(column.name.as_str()) {
            Some(&at) if is_same_data(&stored[at].data_type, &column.data_type) => {
                Source::Stored(at)
            }
            Some(_) if column.data_type.is_foreign() => Source::Refused(format!(
                "type {}: its time zone is not known here",
                column.data_type
            )),
            Some(&at) => {
                changed.insert(&column.name);
                let (from, to) = (stored[at].data_type.clone(), column.data_type.clone());
                let Some(widening) = widens(&from, &to) else {
                    let wanted = format!("{} {to}", column.name);
                    return differs(table, name, wanted, format!("{} {from}", column.name));
                };
                let cast = Arc::new(Cast { from, to });
                if widening.keeps_order {
                    Source::Cast(at, cast)
                } else {
                    Source::Derived(vec![at], cast)
                }
            }
            None => {
                // What is not read is not another value of a key.
                if !column.data_type.is_foreign() {
                    changed.insert(&column.name);
                }
                lacking(&part, column, definition, &stored)
            }
        };
        seen.push(Seen { column: column.clone(), source });
    }
    if other.is_none() && seen.iter().all(|seen| matches!(seen.source, Source::Stored(_))) {
        return Ok(part);
    }
    let key =
        |expressions: &[Expression]| seen_key(expressions, &stored, expected, &seen, &changed);
    let (primary_key, partition_key) = match definition {
        Some(definition) => (key(&definition.primary_key), key(&definition.partition_by)),
        None => (SeenKey::Unknown, SeenKey::Same),
    };
    if matches!(partition_key, SeenKey::Unknown) {
        let (expected, got) = ("the types of the part".to_owned(), "other types".to_owned());
        let (table, part) = (table.to_owned(), name.to_owned());
        let field = "columns of PARTITION BY";
        return Err(TableError::PartDiffers { table, part, field, expected, got });
    }
    Ok(part.seen_as(View { columns: seen, primary_key, partition_key }))
}

fn differs<T>(table: &Path, name: &str, expected: String, got: String) -> Result<T, TableError> {
    let (table, part) = (table.to_owned(), name.to_owned());
    Err(TableError::PartDiffers { table, part, field: "columns", expected, got })
}

/// What is seen of a column that the part has not, or not in a way that can be read.
fn lacking(
    part: &Part,
    column: &Column,
    definition: Option<&TableDefinition>,
    stored: &[Column],
) -> Source {
    let unreadable = part.unreadable_columns().iter().find(|it| it.name == column.name);
    if let Some(unreadable) = unreadable {
        return Source::Refused(format!("type {}: {}", unreadable.type_text, unreadable.reason));
    }
    if column.data_type.is_foreign() {
        return Source::Refused(format!("type {}", column.data_type));
    }
    let columns = definition.map_or(&[][..], |definition| &definition.columns);
    let defined = columns.iter().find(|it| it.column.name == column.name);
    let default = defined.and_then(|it| it.clauses.default.as_deref());
    let reason = match Fill::new(column, default, stored) {
        Ok((from, fill)) => return Source::Derived(from, Arc::new(fill)),
        Err(reason) => reason,
    };
    let (Some(defined), Some(computing)) = (defined, super::computing::computing()) else {
        return Source::Refused(reason);
    };
    let is_other = |it: &&ColumnDefinition| {
        it.column.name != column.name && !stored.iter().any(|other| other.name == it.column.name)
    };
    let others: Vec<&ColumnDefinition> = columns.iter().filter(is_other).collect();
    match computing(defined, &others, stored) {
        Ok((from, fill)) => Source::Derived(from, fill),
        Err(_) => Source::Refused(reason),
    }
}

/// How a key is seen whose columns are stored in other types.
fn seen_key(
    expressions: &[Expression],
    stored: &[Column],
    expected: &[Column],
    seen: &[Seen],
    changed: &HashSet<&str>,
) -> SeenKey {
    let is_changed = |name: &str| changed.contains(name);
    if !expressions.iter().flat_map(Expression::columns).any(is_changed) {
        return SeenKey::Same;
    }
    let keeps_order = |name: &str| {
        let found = seen.iter().find(|seen| seen.column.name == name);
        found.is_some_and(|seen| matches!(seen.source, Source::Stored(_) | Source::Cast(..)))
    };
    let mut types = Vec::with_capacity(expressions.len());
    for expression in expressions {
        let (Ok(from), Ok(to)) = (expression.data_type(stored), expression.data_type(expected))
        else {
            return SeenKey::Unknown;
        };
        let is_kept = keeps_values(expression, &is_changed)
            && expression.columns().into_iter().all(keeps_order);
        let cast: Option<Arc<dyn Derive>> = match widens(&from, &to) {
            Some(widening) if is_kept && widening.keeps_order => {
                let is_same = is_same_data(&from, &to);
                let cast = || Arc::new(Cast { from: from.clone(), to }) as Arc<dyn Derive>;
                (!is_same).then(cast)
            }
            _ => return SeenKey::Unknown,
        };
        types.push((from, cast));
    }
    SeenKey::Cast(types)
}

/// True if values of both types are stored alike: the zone of a time is only shown, and old servers leave it out.
pub(super) fn is_same_data(left: &DataType, right: &DataType) -> bool {
    match (left, right) {
        (DataType::DateTime { .. }, DataType::DateTime { .. }) => true,
        (DataType::DateTime64 { precision: one, .. }, DataType::DateTime64 { precision, .. }) => {
            one == precision
        }
        (DataType::Nullable(one), DataType::Nullable(other))
        | (DataType::LowCardinality(one), DataType::LowCardinality(other))
        | (DataType::Array(one), DataType::Array(other)) => is_same_data(one, other),
        (DataType::Tuple(one), DataType::Tuple(other)) => {
            let mut pairs = one.iter().zip(other);
            one.len() == other.len()
                && pairs.all(|(one, other)| one.0 == other.0 && is_same_data(&one.1, &other.1))
        }
        (DataType::Map(key, value), DataType::Map(other_key, other_value)) => {
            is_same_data(key, other_key) && is_same_data(value, other_value)
        }
        _ => left == right,
    }
}

/// Gives an array the Arrow type that its column has in the table: the same values, another zone.
pub(super) fn conform(array: &ArrayRef, wanted: &ArrowType) -> Result<ArrayRef, TableError> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    cast(array, wanted).map_err(TableError::arrow("giving times the zone of the table"))
}
