//! Whether a definition makes sense: what ClickHouse would refuse is refused here too.

use super::expression::Expression;
use super::token::Cursor;
use super::{Check, TableDefinition};
use crate::TableError;
use std::collections::HashSet;
use tambour_part::types::{Column, DataType};

/// Largest `index_granularity`: a granule is the least that is read at once.
const GRANULARITY_MAX: u64 = 1 << 24;

/// Names of columns that ClickHouse writes into parts by itself: `_row_exists` tells which rows are deleted.
const RESERVED: [&str; 3] = ["_row_exists", "_block_number", "_block_offset"];

/// True if an element of a tuple somewhere inside has an empty name.
fn has_empty_name(data_type: &DataType) -> bool {
    match data_type {
        DataType::Array(inner) | DataType::Nullable(inner) => has_empty_name(inner),
        DataType::Map(_, value) => has_empty_name(value),
        DataType::Tuple(elements) => elements
            .iter()
            .any(|(name, inner)| name.as_deref() == Some("") || has_empty_name(inner)),
        _ => false,
    }
}

/// Checks everything.
pub(super) fn check(definition: &TableDefinition) -> Result<(), TableError> {
    let columns = definition.plain_columns();
    if columns.is_empty() {
        return Err(wrong("the list of columns", "it is empty"));
    }
    let mut names = HashSet::new();
    for column in &columns {
        if RESERVED.contains(&column.name.as_str()) {
            let reason = "ClickHouse keeps columns of its own under this name";
            return Err(wrong(&format!("the column `{}`", column.name), reason));
        }
        if !names.insert(column.name.as_str()) {
            return Err(TableError::DuplicateColumn { name: column.name.clone() });
        }
        if has_empty_name(&column.data_type) {
            let reason = "an element of a tuple has an empty name, which cannot be read again";
            return Err(wrong(&format!("the column `{}`", column.name), reason));
        }
    }
    for column in &definition.unstored {
        if !names.insert(column.column.name.as_str()) {
            return Err(TableError::DuplicateColumn { name: column.column.name.clone() });
        }
    }
    check_ttls(definition)?;
    let allows_nullable = flag(definition, "allow_nullable_key");
    let sorting = Key { clause: "ORDER BY", allows_nullable, allows_float: true };
    sorting.check(&definition.order_by, &columns)?;
    Key { clause: "PRIMARY KEY", ..sorting }.check(&definition.primary_key, &columns)?;
    let allows_float = flag(definition, "allow_floating_point_partition_key");
    Key { clause: "PARTITION BY", allows_nullable, allows_float }
        .check(&definition.partition_by, &columns)?;
    if !definition.order_by.starts_with(&definition.primary_key) {
        return Err(wrong("PRIMARY KEY", "it must be a prefix of ORDER BY"));
    }
    check_granularity(definition)
}

/// A TTL would give rows another key than the one by which they lie, and another sign or version than they were written with.
fn check_ttls(definition: &TableDefinition) -> Result<(), TableError> {
    let keys = definition.order_by.iter().chain(&definition.partition_by);
    let mut named: Vec<&str> = keys.flat_map(Expression::columns).collect();
    let engine = definition.clauses.engine.as_deref().unwrap_or_default();
    if let Some((name, arguments)) = engine.split_once('(')
        && (name.contains("Collapsing") || name.contains("Replacing"))
    {
        let arguments = arguments.trim_end().trim_end_matches(')').split(',');
        named.extend(arguments.map(|it| it.trim().trim_matches('`')));
    }
    let with_ttl = definition.columns.iter().filter(|it| it.clauses.ttl.is_some());
    for name in with_ttl.map(|it| it.column.name.as_str()) {
        if named.contains(&name) {
            let clause = format!("TTL of the column `{name}`");
            return Err(wrong(&clause, "a key or the engine reads the column"));
        }
    }
    Ok(())
}

/// The constraints that rows have to meet; an ASSUME is none.
pub(super) fn checks(definition: &TableDefinition) -> Result<Vec<Check>, TableError> {
    let mut checks = Vec::new();
    for element in &definition.clauses.elements {
        let mut cursor = Cursor::new(element)?;
        if !cursor.take_words(&["CONSTRAINT"]) {
            continue;
        }
        let name = cursor.expect_name("the name of the constraint")?;
        if cursor.take_words(&["CHECK"]) {
            let start = cursor.peek().start;
            let expression = element.get(start..).unwrap_or_default().to_owned();
            checks.push(Check { name, expression });
        }
    }
    Ok(checks)
}

/// Refuses rows for a table with a CHECK.
pub(super) fn refuse_constraints(definition: &TableDefinition) -> Result<(), TableError> {
    match checks(definition)?.first() {
        Some(Check { name, expression }) => Err(TableError::Refused {
            clause: format!("rows for a table with CONSTRAINT {name} CHECK {expression}"),
            reason: "only INSERT checks them".to_owned(),
        }),
        None => Ok(()),
    }
}

fn check_granularity(definition: &TableDefinition) -> Result<(), TableError> {
    let Some(text) = definition.setting("index_granularity") else { return Ok(()) };
    match text.parse::<u64>() {
        Ok(1..=GRANULARITY_MAX) => Ok(()),
        _ => Err(wrong(
            "SETTINGS index_granularity",
            format!("it must be a number from 1 to {GRANULARITY_MAX}, not {text}"),
        )),
    }
}

fn flag(definition: &TableDefinition, name: &str) -> bool {
    definition.setting(name).is_some_and(|value| matches!(value, "1" | "true"))
}

/// What a key may be made of.
struct Key {
    clause: &'static str,
    allows_nullable: bool,
    allows_float: bool,
}

impl Key {
    fn check(&self, key: &[Expression], columns: &[Column]) -> Result<(), TableError> {
        let mut seen = HashSet::new();
        for expression in key {
            for name in expression.columns() {
                if !columns.iter().any(|column| column.name == name) {
                    return Err(TableError::UnknownColumn {
                        clause: self.clause.to_owned(),
                        name: name.to_owned(),
                    });
                }
            }
            if expression.columns().is_empty() {
                return Err(wrong(
                    self.clause,
                    format!("`{expression}` is the same for every row"),
                ));
            }
            if self.clause == "ORDER BY" && !seen.insert(expression.to_string()) {
                return Err(wrong(self.clause, format!("`{expression}` is in it twice")));
            }
            self.check_type(expression, &expression.data_type(columns)?)?;
        }
        Ok(())
    }

    fn check_type(&self, expression: &Expression, data_type: &DataType) -> Result<(), TableError> {
        let (clause, allows_nullable) = (self.clause, self.allows_nullable);
        match data_type {
            DataType::Nullable(_) if !allows_nullable => {
                let problem = format!(
                    "`{expression}` is Nullable; SETTINGS allow_nullable_key = 1 permits it"
                );
                Err(wrong(clause, problem))
            }
            DataType::Nullable(inner) | DataType::LowCardinality(inner) => {
                self.check_type(expression, inner)
            }
            DataType::Float32 | DataType::Float64 | DataType::BFloat16 if !self.allows_float => {
                let problem = format!(
                    "`{expression}` is a float; SETTINGS allow_floating_point_partition_key = 1 permits it"
                );
                Err(wrong(clause, problem))
            }
            DataType::Map(..) => Err(TableError::Refused {
                clause: format!("{clause} {expression}"),
                reason: "rows cannot be sorted by a Map".to_owned(),
            }),
            DataType::Array(_) | DataType::Tuple(_) if clause == "PARTITION BY" => {
                Err(TableError::Refused {
                    clause: format!("PARTITION BY {expression}"),
                    reason: format!("its type is {data_type}; name the elements instead"),
                })
            }
            _ => Ok(()),
        }
    }
}

fn wrong(clause: &str, problem: impl Into<String>) -> TableError {
    TableError::Definition { clause: clause.to_owned(), problem: problem.into() }
}
