//! What the engine of CREATE TABLE does to rows with the same sorting key: [`Engine`] names it, [`Fold`] does it.
//!
//! Rows come in the order of the key, equal ones in the order of their parts, which is that of inserts. This is the only
//! place that knows the rules: INSERT, OPTIMIZE and FINAL use it alike. What a part holds is a set of rows that the engine has
//! been through, perhaps several times, so that reading without FINAL shows rows that a merge will drop or add up.

mod add;
mod collapse;
mod fold;
mod places;
mod replace;
mod rule;
#[cfg(test)]
mod tests;

pub(crate) use fold::{Fold, Folded, Use};
pub use rule::Rule;

use crate::schema::TableDefinition;
use crate::schema::expression::Expression;
use crate::schema::token::{Cursor, Kind};
use crate::{PartName, TableError};
use tambour_function::bare;
use tambour_part::types::{Column, DataType};

/// What happens to rows with the same sorting key when parts are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Nothing.
    Plain,
    /// The row with the highest version stays, the last one of several; without a version, the last one.
    Replacing {
        /// The column of the version.
        version: Option<String>,
        /// The column that tells deleted rows.
        is_deleted: Option<String>,
    },
    /// Rows with the signs 1 and -1 cancel each other.
    Collapsing {
        /// The column of the sign.
        sign: String,
    },
    /// The same among rows with the same version, in whatever order they came.
    VersionedCollapsing {
        /// The column of the sign.
        sign: String,
        /// The column of the version, which is the last one of the sorting key.
        version: String,
    },
    /// The values of some columns become one, others have the value of the first row: `SummingMergeTree`,
    /// `AggregatingMergeTree`.
    Adding {
        /// The columns, and what becomes of their values.
        rules: Vec<(String, Rule)>,
        /// True if a row goes whose computed values are all zero.
        drops_zeros: bool,
    },
}

impl Engine {
    /// The engine of a table; an error if only ClickHouse knows what it does, or if its columns cannot have that meaning.
    pub fn of(definition: &TableDefinition) -> Result<Self, TableError> {
        let Some(text) = &definition.clauses.engine else { return Ok(Self::Plain) };
        let (name, arguments) = parse(text)?;
        let engine = match (name.as_str(), arguments.as_slice()) {
            ("MergeTree", []) => Self::Plain,
            ("ReplacingMergeTree", [] | [_] | [_, _]) => {
                let mut arguments = arguments.into_iter();
                Self::Replacing { version: arguments.next(), is_deleted: arguments.next() }
            }
            ("CollapsingMergeTree", [sign]) => Self::Collapsing { sign: sign.clone() },
            ("VersionedCollapsingMergeTree", [sign, version]) => {
                Self::VersionedCollapsing { sign: sign.clone(), version: version.clone() }
            }
            ("SummingMergeTree", names) => {
                Self::Adding { rules: summed(text, names, definition)?, drops_zeros: true }
            }
            ("AggregatingMergeTree", []) => {
                Self::Adding { rules: aggregated(definition)?, drops_zeros: false }
            }
            (
                "MergeTree"
                | "AggregatingMergeTree"
                | "ReplacingMergeTree"
                | "CollapsingMergeTree"
                | "VersionedCollapsingMergeTree",
                _,
            ) => return Err(wrong(text, "it has other parameters")),
            _ => {
                return Err(TableError::Refused {
                    clause: format!("merging rows as ENGINE = {text} means"),
                    reason: "only ClickHouse knows how".to_owned(),
                });
            }
        };
        engine.check(text, definition)?;
        Ok(engine)
    }

    /// True if rows stay as they are.
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// The number of a source of merged rows, for [`Fold::push`]: rows of one part that has been through the engine are not
    /// compared with each other. This is ClickHouse's way, and shows where such a part keeps two rows with one key.
    pub(crate) fn mark(&self, source: usize, part: &str) -> u32 {
        let is_seen = PartName::parse(part).is_some_and(|it| it.level > 0);
        match u32::try_from(source + 1) {
            Ok(number) if is_seen && matches!(self, Self::Collapsing { .. }) => number,
            _ => 0,
        }
    }

    /// The columns that it looks at beside those of the sorting key.
    pub(crate) fn columns(&self) -> Vec<&str> {
        match self {
            // Whether a row goes is up to all of them.
            Self::Adding { rules, drops_zeros: true } => {
                rules.iter().map(|(name, _)| name.as_str()).collect()
            }
            Self::Plain | Self::Adding { .. } => Vec::new(),
            Self::Replacing { version, is_deleted } => {
                version.iter().chain(is_deleted).map(String::as_str).collect()
            }
            Self::Collapsing { sign } => vec![sign],
            Self::VersionedCollapsing { sign, version } => vec![sign, version],
        }
    }

    /// Columns that cannot be updated, since rows would mean something else.
    pub fn fixed_columns(&self) -> Vec<&str> {
        match self {
            Self::Replacing { version, .. } => version.iter().map(String::as_str).collect(),
            Self::Adding { .. } => Vec::new(),
            _ => self.columns(),
        }
    }

    fn check(&self, text: &str, definition: &TableDefinition) -> Result<(), TableError> {
        let find = |name: &str| {
            let columns = definition.columns.iter().map(|it| &it.column);
            columns.into_iter().find(|it| it.name == name).ok_or_else(|| {
                TableError::UnknownColumn {
                    clause: format!("ENGINE = {text}"),
                    name: name.to_owned(),
                }
            })
        };
        let expect = |name: &str, what: &str, is_right: fn(&DataType) -> bool| {
            let Column { name, data_type } = find(name)?;
            if is_right(data_type) {
                return Ok(());
            }
            Err(wrong(text, &format!("{what} `{name}` cannot be of type {data_type}")))
        };
        let is_sign = |it: &DataType| *it == DataType::Int8;
        match self {
            Self::Plain | Self::Adding { .. } => {}
            Self::Replacing { version, is_deleted } => {
                version.iter().try_for_each(|it| expect(it, "the version", is_version))?;
                let is_flag = |it: &DataType| *it == DataType::UInt8;
                is_deleted.iter().try_for_each(|it| expect(it, "the flag", is_flag))?;
            }
            Self::Collapsing { sign } => expect(sign, "the sign", is_sign)?,
            Self::VersionedCollapsing { sign, version } => {
                expect(sign, "the sign", is_sign)?;
                expect(version, "the version", is_version)?;
            }
        }
        let has_key = !definition.order_by.is_empty();
        if !has_key && !matches!(self, Self::Plain | Self::Replacing { .. }) {
            return Err(wrong(text, "it needs columns in ORDER BY"));
        }
        Ok(())
    }
}

/// What parts are sorted by: ORDER BY, and the version of a `VersionedCollapsingMergeTree` after it.
pub fn sorting_key(definition: &TableDefinition) -> Vec<Expression> {
    let mut key = definition.order_by.clone();
    if let Ok(Engine::VersionedCollapsing { version, .. }) = Engine::of(definition) {
        let version = Expression::Column(version);
        if !key.contains(&version) {
            key.push(version);
        }
    }
    key
}

/// The name of an engine, without the words for servers that share a table, and the columns that it names.
fn parse(text: &str) -> Result<(String, Vec<String>), TableError> {
    let mut cursor = Cursor::new(text)?;
    let name = cursor.expect_name("an engine")?;
    let bare = ["Replicated", "Shared"].iter().find_map(|word| name.strip_prefix(word));
    let name = bare.unwrap_or(&name).to_owned();
    let mut columns = Vec::new();
    if cursor.take_symbol("(") {
        while !cursor.at_symbol(")") {
            if cursor.take_symbol("(") {
                // Several columns of a SummingMergeTree.
                while !cursor.at_symbol(")") {
                    columns.push(cursor.expect_name("a column")?);
                    if !cursor.take_symbol(",") {
                        break;
                    }
                }
                cursor.expect_symbol(")")?;
            } else if cursor.peek().kind == Kind::Text {
                // Where servers meet.
                cursor.advance();
            } else if matches!(cursor.peek().kind, Kind::Word | Kind::Quoted) {
                columns.push(cursor.expect_name("a column")?);
            } else {
                return Err(wrong(text, "its parameters are not columns"));
            }
            if !cursor.take_symbol(",") {
                break;
            }
        }
        cursor.expect_symbol(")")?;
    }
    cursor.expect_end()?;
    Ok((name, columns))
}

/// What a `SummingMergeTree` adds up: the columns that it names, or all numbers that are in no key.
fn summed(
    text: &str,
    names: &[String],
    definition: &TableDefinition,
) -> Result<Vec<(String, Rule)>, TableError> {
    let keys = definition.order_by.iter().chain(&definition.partition_by);
    let keys: Vec<&str> = keys.flat_map(Expression::columns).collect();
    for name in names {
        if !definition.columns.iter().any(|it| it.column.name == *name) {
            let clause = format!("ENGINE = {text}");
            return Err(TableError::UnknownColumn { clause, name: name.clone() });
        }
        if keys.contains(&name.as_str()) {
            return Err(wrong(text, &format!("the key column `{name}` cannot be added up")));
        }
    }
    let mut rules = Vec::new();
    for definition in &definition.columns {
        let Column { name, data_type } = &definition.column;
        let is_map = name.split_once('.').is_some_and(|(table, _)| table.ends_with("Map"));
        let is_state = data_type.is_foreign();
        if is_state || (is_map && matches!(data_type, DataType::Array(_))) {
            return Err(unknown(name, data_type));
        }
        let is_named = names.is_empty() || names.contains(name);
        if keys.contains(&name.as_str()) || !is_named {
            continue;
        }
        let rule = match &definition.clauses.aggregate {
            Some(function) => {
                let rule = Rule::of_function(function, data_type);
                // Zeros of other types are not known.
                let rule = rule.filter(|_| rule::is_number(data_type));
                Some(rule.ok_or_else(|| unknown(name, data_type))?)
            }
            None if rule::is_number(data_type) => Some(Rule::Sum),
            None if rule::is_number_elsewhere(data_type) => return Err(unknown(name, data_type)),
            None => None,
        };
        rules.extend(rule.map(|rule| (name.clone(), rule)));
    }
    Ok(rules)
}

/// What an `AggregatingMergeTree` computes: columns of the type `SimpleAggregateFunction(...)`.
fn aggregated(definition: &TableDefinition) -> Result<Vec<(String, Rule)>, TableError> {
    let is_key = |name: &str| {
        let mut key = definition.order_by.iter();
        key.any(|it| matches!(it, Expression::Column(column) if column == name))
    };
    let mut rules = Vec::new();
    for definition in &definition.columns {
        let Column { name, data_type } = &definition.column;
        if data_type.is_foreign() {
            return Err(unknown(name, data_type));
        }
        if let Some(function) = definition.clauses.aggregate.as_deref().filter(|_| !is_key(name)) {
            let rule = Rule::of_function(function, data_type);
            rules.push((name.clone(), rule.ok_or_else(|| unknown(name, data_type))?));
        }
    }
    Ok(rules)
}

fn unknown(name: &str, data_type: &DataType) -> TableError {
    TableError::Refused {
        clause: format!("merging rows with values of the column `{name}` of type {data_type}"),
        reason: "only ClickHouse knows how".to_owned(),
    }
}

/// Types whose values ClickHouse takes for versions.
fn is_version(data_type: &DataType) -> bool {
    match data_type {
        DataType::LowCardinality(inner) => is_version(inner),
        DataType::Nullable(_) => false,
        other => matches!(
            bare(other),
            DataType::Bool
                | DataType::UInt8
                | DataType::UInt16
                | DataType::UInt32
                | DataType::UInt64
                | DataType::UInt128
                | DataType::UInt256
                | DataType::Int8
                | DataType::Int16
                | DataType::Int32
                | DataType::Int64
                | DataType::Int128
                | DataType::Int256
                | DataType::Float32
                | DataType::Float64
                | DataType::BFloat16
                | DataType::Date
                | DataType::Date32
                | DataType::DateTime { .. }
                | DataType::DateTime64 { .. }
        ),
    }
}

fn wrong(engine: &str, problem: &str) -> TableError {
    TableError::Definition { clause: format!("ENGINE = {engine}"), problem: problem.to_owned() }
}
