//! Statements that are not queries: which of them run here, and what becomes of them.

use super::change::Change;
use super::grammar::Grammar;
use super::settings::Switches;
use super::{refused, settings, show};
use crate::DialectError;
use crate::{DATABASE, READ_ONLY};
use datafusion::common::TableReference;
use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DescribeAlias, Expr, ObjectName, ObjectNamePart, ObjectType, Set,
    Statement as Sql, Use,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

/// What is asked about a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Its rows.
    Rows,
    /// The names and types of its columns.
    Description,
    /// What the statement of a table says of its columns; the statement is a query of it.
    Columns(TableReference),
    /// Columns or indexes of a table as SHOW has them; the statement is a query of it.
    Listing(Box<Listing>),
    /// The CREATE TABLE statement of a table; the statement is a query of it.
    Definition(TableReference),
    /// Switches for the statements that follow.
    Switch(Switches),
    /// A change of a table, instead of anything else.
    Change(Box<Change>),
    /// Nothing: it has no effect here.
    Nothing,
}

/// What SHOW lists of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Its columns; with FULL also comments.
    Columns {
        /// FULL.
        is_full: bool,
    },
    /// Its keys and skip indexes.
    Indexes,
}

/// SHOW COLUMNS or SHOW INDEX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// What is listed.
    pub listed: Listed,
    /// Of which table.
    pub table: TableReference,
    /// Which rows are wanted; the text of an expression.
    pub condition: Option<String>,
    /// How many at most.
    pub limit: Option<u64>,
}

/// Refuses what is not known to read only, by the words with which it begins.
pub(super) fn check(statement: &Statement) -> Result<(), DialectError> {
    match statement {
        Statement::Statement(sql) => check_sql(sql),
        Statement::Explain(explain) => check(&explain.statement),
        Statement::Reset(_) => Ok(()),
        Statement::CopyTo(_) => Err(refused("COPY", READ_ONLY)),
        Statement::CreateExternalTable(_) => Err(refused("CREATE EXTERNAL TABLE", READ_ONLY)),
    }
}

fn check_sql(sql: &Sql) -> Result<(), DialectError> {
    let changes = |words: &str| Err(refused(words, READ_ONLY));
    match sql {
        Sql::Query(_)
        | Sql::Explain { .. }
        | Sql::ExplainTable { .. }
        | Sql::Set(_)
        | Sql::CreateView(_)
        | Sql::Drop { object_type: ObjectType::View, .. } => Ok(()),
        Sql::ShowVariable { variable } => {
            let word = variable.first().map_or("", |word| word.value.as_str());
            show::refusal(word).map_or(Ok(()), |(clause, reason)| Err(refused(clause, reason)))
        }
        Sql::Use(name) if is_default(name) => Ok(()),
        Sql::Use(name) => {
            let name = name.to_string();
            let name = name.split_whitespace().last().unwrap_or_default();
            let reason = format!("write the database in front of each table: {name}.t");
            Err(refused(format!("USE {name}"), reason))
        }
        Sql::Insert(_) => changes("INSERT"),
        Sql::Update(_) => changes("UPDATE"),
        Sql::Delete(_) => changes("DELETE"),
        Sql::Merge(_) => changes("MERGE"),
        Sql::Truncate(_) => changes("TRUNCATE"),
        Sql::Copy { .. } | Sql::CopyIntoSnowflake { .. } => changes("COPY"),
        Sql::CreateTable(_) => changes("CREATE TABLE"),
        Sql::AlterTable(_) => changes("ALTER TABLE"),
        Sql::OptimizeTable { .. } => changes("OPTIMIZE TABLE"),
        Sql::Drop { object_type, .. } => changes(&format!("DROP {object_type}")),
        other => {
            let text = other.to_string();
            let word = text.split_whitespace().next().unwrap_or_default();
            Err(refused(word, "queries, SHOW, DESCRIBE, EXPLAIN, SET and CREATE VIEW run here"))
        }
    }
}

/// Makes a query of DESCRIBE and SHOW; settings that the engine does not have become notes.
pub(super) fn translate(
    statement: &mut Statement,
    notes: &mut Vec<String>,
) -> Result<Task, DialectError> {
    let Statement::Statement(sql) = statement else { return Ok(Task::Rows) };
    let (task, query) = match &mut **sql {
        Sql::Explain { describe_alias, statement: inner, .. }
            if *describe_alias != DescribeAlias::Explain =>
        {
            if !matches!(**inner, Sql::Query(_)) {
                return Err(refused("DESCRIBE of this", "it takes a table or a query"));
            }
            let query = std::mem::replace(&mut **inner, nothing());
            **sql = query;
            return Ok(Task::Description);
        }
        Sql::ExplainTable { table_name, .. } => {
            (Task::Columns(reference(table_name)?), all_of(table_name))
        }
        Sql::Use(_) => return Ok(Task::Nothing),
        Sql::Set(set) => return assignments(set, notes),
        _ => return Ok(Task::Rows),
    };
    **sql = parsed(&query).map_err(DataFusionError::from)?;
    Ok(task)
}

/// Stands where a statement was taken from.
fn nothing() -> Sql {
    Sql::Commit { chain: false, end: false, modifier: None }
}

pub(super) fn parsed(sql: &str) -> Result<Sql, ParserError> {
    Parser::new(&Grammar).try_with_sql(sql)?.parse_statement()
}

fn all_of(table: &ObjectName) -> String {
    format!("SELECT * FROM {table}")
}

/// A text as SQL writes it.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// The database, if there is one, and the name.
pub(super) fn path(name: &ObjectName) -> Result<(Option<&str>, &str), DialectError> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(table)] => Ok((None, &table.value)),
        [ObjectNamePart::Identifier(database), ObjectNamePart::Identifier(table)] => {
            Ok((Some(&database.value), &table.value))
        }
        _ => Err(refused(format!("the name {name}"), "it has a database and a table at most")),
    }
}

pub(super) fn reference(name: &ObjectName) -> Result<TableReference, DialectError> {
    Ok(match path(name)? {
        (Some(database), table) => TableReference::partial(database, table),
        (None, table) => TableReference::bare(table),
    })
}

/// True of USE with the database that there is.
fn is_default(name: &Use) -> bool {
    match name {
        Use::Default => true,
        Use::Object(name) | Use::Database(name) | Use::Schema(name) => {
            matches!(path(name), Ok((None, DATABASE)))
        }
        _ => false,
    }
}

/// `SET max_threads = 1` is for a server; the engine's own settings begin with its name.
fn assignments(set: &Set, notes: &mut Vec<String>) -> Result<Task, DialectError> {
    let given: Vec<(String, String)> = match set {
        Set::SingleAssignment { variable, values, .. } => {
            let [value, others @ ..] = values.as_slice() else { return Ok(Task::Rows) };
            let mut given = vec![(variable.to_string(), value.to_string())];
            given.extend(others.iter().map(assignment).collect::<Result<Vec<_>, _>>()?);
            given
        }
        Set::MultipleAssignments { assignments } => {
            assignments.iter().map(|it| (it.name.to_string(), it.value.to_string())).collect()
        }
        _ => return Ok(Task::Rows),
    };
    let is_ours = |name: &str| name.starts_with("datafusion.") || name.starts_with("tambour.");
    if given.iter().any(|(name, _)| is_ours(name)) {
        return Ok(Task::Rows);
    }
    let mut switches = Switches::default();
    for (name, value) in &given {
        let note = settings::apply(name, value, &mut switches)?;
        notes.extend(note.map(|note| note.replacen("SETTINGS", "SET", 1)));
    }
    Ok(if switches.is_some() { Task::Switch(switches) } else { Task::Nothing })
}

/// `b = 2` of `SET a = 1, b = 2`, which the parser takes for a second value of a.
fn assignment(expression: &Expr) -> Result<(String, String), DialectError> {
    match expression {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            Ok((left.to_string(), right.to_string()))
        }
        other => Err(refused(format!("{other} in SET"), "write NAME = VALUE, NAME = VALUE")),
    }
}

/// EXPLAIN without the words that choose one of ClickHouse's plans: there is one plan here, with the indexes in it. Spaces
/// come in their place, so that errors point at the right column.
pub(super) fn plain_explain(sql: &str) -> Result<Option<String>, DialectError> {
    let start = sql.len() - sql.trim_start().len();
    let is_explain = sql.get(start..start + 7).is_some_and(|it| it.eq_ignore_ascii_case("EXPLAIN"));
    if !is_explain {
        return Ok(None);
    }
    let begin = start + 7;
    let mut at = begin;
    loop {
        let rest = sql.get(at..).unwrap_or_default();
        let word_start = at + (rest.len() - rest.trim_start().len());
        let rest = rest.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        let upper = word.to_ascii_uppercase();
        match upper.as_str() {
            "PLAN" | "PIPELINE" | "ESTIMATE" => at = word_start + end,
            "AST" | "SYNTAX" | "QUERY" | "TABLE" | "CURRENT" => {
                return Err(refused(format!("EXPLAIN {upper}"), "EXPLAIN shows the plan only"));
            }
            _ => {
                let Some(value) = behind.trim_start().strip_prefix('=') else { break };
                let value = value.trim_start();
                let length = value
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(value.len());
                let behind = value.get(length..).unwrap_or_default().trim_start();
                at = sql.len() - behind.strip_prefix(',').unwrap_or(behind).len();
            }
        }
    }
    if at == begin {
        return Ok(None);
    }
    let (head, rest) = (sql.get(..begin).unwrap_or_default(), sql.get(at..).unwrap_or_default());
    let words = sql.get(begin..at).unwrap_or_default();
    let blank: String = words.chars().map(|c| if c == '\n' { c } else { ' ' }).collect();
    Ok(Some(format!("{head}{blank}{rest}")))
}
