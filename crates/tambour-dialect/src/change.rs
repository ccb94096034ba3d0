//! Statements that change tables: INSERT, UPDATE, DELETE, TRUNCATE, OPTIMIZE, DROP, RENAME, and `ALTER TABLE t DELETE|UPDATE`, which
//! ClickHouse calls mutations.

pub(super) mod data;
mod words;

use super::refused;
use crate::DialectError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Assignment, AssignmentTarget, Deduplicate, Delete, Expr, FromTable, Insert, ObjectName,
    ObjectNamePart, ObjectType, Query, RenameTable, Statement as Sql, TableFactor, TableObject,
    TableWithJoins, Truncate, Update,
};
use words::{ALL_BUT, MUTATION, PARTITION};
pub(super) use words::{arrange, first};

/// A statement that changes a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The table, by its name in the session.
    pub table: String,
    /// What happens to it.
    pub action: Action,
}

/// What happens to a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The rows of a query are added.
    Insert {
        /// The columns that the query's results go to.
        columns: Columns,
        /// The query.
        source: Box<Query>,
    },
    /// Rows are added that are not in the statement.
    Load {
        /// The columns that get values.
        columns: Columns,
        /// What the rows are written in.
        format: String,
        /// The rows, if they stand in the statement.
        data: Option<String>,
    },
    /// Rows are removed.
    Delete {
        /// Which.
        condition: Box<Expr>,
        /// Whether they are only hidden until the next merge, as `DELETE FROM` does it; `ALTER TABLE … DELETE` does not.
        is_mask: bool,
        /// `PARTITION …`, the only one that is looked at.
        partition: Option<String>,
    },
    /// Values are replaced.
    Update {
        /// Columns and their new values.
        assignments: Vec<(String, Expr)>,
        /// Of which rows.
        condition: Box<Expr>,
        /// `PARTITION …`, the only one that is looked at.
        partition: Option<String>,
    },
    /// All rows are removed.
    Truncate {
        /// `IF EXISTS`.
        is_optional: bool,
    },
    /// Parts are merged.
    Optimize {
        /// `PARTITION …`, the only one whose parts are merged.
        partition: Option<String>,
        /// Which rows are one, if one of them is to be left.
        duplicates: Option<Duplicates>,
    },
    /// The table is removed.
    Drop {
        /// `IF EXISTS`.
        is_optional: bool,
    },
    /// The table gets another name.
    Rename {
        /// Which.
        to: String,
    },
    /// The same to further tables, one after another.
    Several(Vec<Change>),
}

/// What the rows that `OPTIMIZE … DEDUPLICATE` takes for one have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// All that is stored, as without BY.
    Whole,
    /// These columns; where all are, not the MATERIALIZED ones.
    By(Columns),
}

/// The columns that an INSERT or `DEDUPLICATE BY` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Columns {
    /// These, in this order.
    These(Vec<String>),
    /// All in their order, but for these.
    AllBut(Vec<String>),
}

impl Change {
    /// The words that the statement begins with.
    pub fn words(&self) -> &'static str {
        match &self.action {
            Action::Insert { .. } | Action::Load { .. } => "INSERT",
            Action::Delete { .. } => "DELETE",
            Action::Update { .. } => "UPDATE",
            Action::Truncate { .. } => "TRUNCATE",
            Action::Optimize { .. } => "OPTIMIZE TABLE",
            Action::Drop { .. } => "DROP TABLE",
            Action::Rename { .. } => "RENAME TABLE",
            Action::Several(changes) => changes.first().map_or("", Self::words),
        }
    }
}

/// The change that a statement asks for; `None` if it is another statement.
pub(super) fn of(statement: &Statement) -> Result<Option<Change>, DialectError> {
    let Statement::Statement(sql) = statement else { return Ok(None) };
    Ok(Some(match sql.as_ref() {
        Sql::Insert(insert) => of_insert(insert)?,
        Sql::Delete(delete) => of_delete(delete)?,
        Sql::Update(update) => of_update(update)?,
        Sql::Truncate(truncate) => of_truncate(truncate)?,
        Sql::OptimizeTable { name, on_cluster: None, partition, deduplicate, .. } => {
            let partition = partition.as_ref().map(ToString::to_string);
            let duplicates = deduplicate.as_ref().map(of_duplicates).transpose()?;
            let action = Action::Optimize { partition, duplicates };
            Change { table: table_name(name)?, action }
        }
        Sql::Drop { object_type: ObjectType::Table, if_exists, names, .. } => {
            let action = Action::Drop { is_optional: *if_exists };
            let change =
                |name: &ObjectName| Ok(Change { table: table_name(name)?, action: action.clone() });
            several(names.iter().map(change).collect::<Result<_, DialectError>>()?)
        }
        Sql::RenameTable(renamed) => {
            let change = |it: &RenameTable| {
                let action = Action::Rename { to: table_name(&it.new_name)? };
                Ok(Change { table: table_name(&it.old_name)?, action })
            };
            several(renamed.iter().map(change).collect::<Result<_, DialectError>>()?)
        }
        _ => return Ok(None),
    }))
}

/// One change of those of one kind.
fn several(mut changes: Vec<Change>) -> Change {
    match changes.len() {
        1 => changes.remove(0),
        _ => Change { table: String::new(), action: Action::Several(changes) },
    }
}

fn of_insert(insert: &Insert) -> Result<Change, DialectError> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(refused("INSERT INTO this", "it takes the name of a table"));
    };
    if let Some(format) = &insert.format_clause {
        let (columns, format) = (of_list(&insert.columns)?, format.ident.value.clone());
        let action = Action::Load { columns, format, data: None };
        return Ok(Change { table: table_name(name)?, action });
    }
    if insert.on.is_some() || !insert.assignments.is_empty() || insert.partitioned.is_some() {
        return Err(refused("this form of INSERT", "it takes VALUES or a query"));
    }
    let Some(source) = &insert.source else {
        return Err(refused("INSERT without rows", "it takes VALUES or a query"));
    };
    let columns = of_list(&insert.columns)?;
    let action = Action::Insert { columns, source: source.clone() };
    Ok(Change { table: table_name(name)?, action })
}

/// The list of columns of an INSERT.
fn of_list(names: &[ObjectName]) -> Result<Columns, DialectError> {
    let names = names.iter().map(column_name).collect::<Result<_, _>>()?;
    Ok(of_names(names))
}

fn of_names(mut names: Vec<String>) -> Columns {
    match names.first().map(String::as_str) {
        None => Columns::AllBut(names),
        Some(ALL_BUT) => Columns::AllBut(names.split_off(1)),
        Some(_) => Columns::These(names),
    }
}

/// What stands after `DEDUPLICATE BY`, which was put into parentheses.
fn of_duplicates(by: &Deduplicate) -> Result<Duplicates, DialectError> {
    let Deduplicate::ByExpression(by) = by else { return Ok(Duplicates::Whole) };
    let list = match by {
        Expr::Tuple(list) => list.as_slice(),
        Expr::Nested(only) => std::slice::from_ref(only.as_ref()),
        other => std::slice::from_ref(other),
    };
    let name = |expr: &Expr| match expr {
        Expr::Identifier(name) => Ok(name.value.clone()),
        Expr::CompoundIdentifier(parts) => {
            let parts: Vec<&str> = parts.iter().map(|part| part.value.as_str()).collect();
            Ok(parts.join("."))
        }
        other => Err(refused(
            format!("DEDUPLICATE BY {other}"),
            "it takes names of columns, or * EXCEPT (names)",
        )),
    };
    Ok(Duplicates::By(of_names(list.iter().map(name).collect::<Result<_, _>>()?)))
}

fn of_delete(delete: &Delete) -> Result<Change, DialectError> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    if delete.using.is_some() || !delete.order_by.is_empty() || delete.limit.is_some() {
        return Err(refused("this form of DELETE", "it takes one table and WHERE"));
    }
    let mut from = from.clone();
    let (is_mutation, partition) = marks(from.first_mut());
    let table = one_table(&from, "DELETE")?;
    let condition = condition(delete.selection.as_ref(), "DELETE")?;
    Ok(Change { table, action: Action::Delete { condition, is_mask: !is_mutation, partition } })
}

fn of_update(update: &Update) -> Result<Change, DialectError> {
    if update.from.is_some() || !update.order_by.is_empty() || update.limit.is_some() {
        return Err(refused("this form of UPDATE", "it takes one table, SET and WHERE"));
    }
    let mut updated = update.table.clone();
    let (_, partition) = marks(Some(&mut updated));
    let table = one_table(&[updated], "UPDATE")?;
    let condition = condition(update.selection.as_ref(), "UPDATE")?;
    let assignment = |it: &Assignment| match &it.target {
        AssignmentTarget::ColumnName(name) => Ok((column_name(name)?, it.value.clone())),
        AssignmentTarget::Tuple(_) => {
            Err(refused(format!("SET {}", it.target), "each column gets a value of its own"))
        }
    };
    let assignments = update.assignments.iter().map(assignment).collect::<Result<_, _>>()?;
    Ok(Change { table, action: Action::Update { assignments, condition, partition } })
}

fn of_truncate(truncate: &Truncate) -> Result<Change, DialectError> {
    match truncate.table_names.as_slice() {
        [target] if truncate.partitions.is_none() && truncate.on_cluster.is_none() => {
            let action = Action::Truncate { is_optional: truncate.if_exists };
            Ok(Change { table: table_name(&target.name)?, action })
        }
        _ => Err(refused("this form of TRUNCATE", "it takes one table")),
    }
}

fn condition(selection: Option<&Expr>, statement: &str) -> Result<Box<Expr>, DialectError> {
    match selection {
        Some(condition) => Ok(Box::new(condition.clone())),
        None => Err(refused(
            format!("{statement} without WHERE"),
            "write WHERE 1 if every row is meant",
        )),
    }
}

/// What the alias of a table says that [`words`] gave it: whether it is of ALTER TABLE, and the partition. It is taken away.
fn marks(table: Option<&mut TableWithJoins>) -> (bool, Option<String>) {
    let Some(TableWithJoins { relation: TableFactor::Table { alias, .. }, .. }) = table else {
        return (false, None);
    };
    let Some(mark) = alias.as_ref().and_then(|it| it.name.value.strip_prefix(MUTATION)) else {
        let partition = alias.as_ref().and_then(|it| it.name.value.strip_prefix(PARTITION));
        let partition = partition.map(str::to_owned);
        if partition.is_some() {
            *alias = None;
        }
        return (false, partition);
    };
    let partition = mark.strip_prefix(PARTITION).map(str::to_owned);
    *alias = None;
    (true, partition)
}

/// The only table of a FROM.
fn one_table(from: &[TableWithJoins], statement: &str) -> Result<String, DialectError> {
    match from {
        [
            TableWithJoins {
                relation: TableFactor::Table { name, alias: None, with_hints, .. },
                joins,
            },
        ] if joins.is_empty() && with_hints.is_empty() => table_name(name),
        _ => Err(refused(format!("this form of {statement}"), "it takes one table without alias")),
    }
}

/// The name of a table; it may stand after its database.
fn table_name(name: &ObjectName) -> Result<String, DialectError> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(table)] => Ok(table.value.clone()),
        [ObjectNamePart::Identifier(database), ObjectNamePart::Identifier(table)]
            if database.value == crate::DATABASE =>
        {
            Ok(table.value.clone())
        }
        _ => Err(refused(format!("a change of {name}"), "only tables of the database default")),
    }
}

/// The name of a column; that of a Nested's has a dot.
fn column_name(name: &ObjectName) -> Result<String, DialectError> {
    let piece = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => Ok(ident.value.clone()),
        ObjectNamePart::Function(_) => {
            Err(refused(format!("the column {name}"), "it takes the name of a column"))
        }
    };
    let pieces: Vec<String> = name.0.iter().map(piece).collect::<Result<_, _>>()?;
    Ok(pieces.join("."))
}
