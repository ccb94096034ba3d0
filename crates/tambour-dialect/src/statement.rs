//! Statements that are not queries: which of them run here, and what becomes of them.

use super::change::Change;
use super::grammar::Grammar;
use super::settings::Switches;
use super::{refused, settings};
use crate::DialectError;
use crate::marks::MERGED;
use crate::{DATABASE, READ_ONLY};
use datafusion::common::TableReference;
use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    DescribeAlias, ObjectName, ObjectNamePart, ObjectType, Set, ShowCreateObject,
    ShowStatementFilter, ShowStatementFilterPosition, ShowStatementOptions, Statement as Sql,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// What is asked about a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Its rows.
    Rows,
    /// The names and types of its columns.
    Description,
    /// The CREATE TABLE statement of a table; the statement is a query of it.
    Definition(TableReference),
    /// Switches for the statements that follow.
    Switch(Switches),
    /// A change of a table, instead of anything else.
    Change(Box<Change>),
    /// Nothing: it has no effect here.
    Nothing,
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
        | Sql::ShowTables { .. }
        | Sql::ShowColumns { .. }
        | Sql::ShowCreate { .. }
        | Sql::ShowDatabases { .. }
        | Sql::ShowSchemas { .. }
        | Sql::ShowVariable { .. }
        | Sql::ShowFunctions { .. }
        | Sql::Set(_)
        | Sql::CreateView(_)
        | Sql::Drop { object_type: ObjectType::View, .. } => Ok(()),
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
        Sql::ExplainTable { table_name, .. } => (Task::Description, all_of(table_name)),
        Sql::ShowColumns { show_options, .. } => match parent(show_options) {
            Some(table) => (Task::Description, all_of(table)),
            None => return Err(refused("SHOW COLUMNS of nothing", "it takes FROM and a table")),
        },
        Sql::ShowCreate {
            obj_type: ShowCreateObject::Table | ShowCreateObject::View,
            obj_name,
        } => (Task::Definition(reference(obj_name)?), all_of(obj_name)),
        Sql::ShowTables { show_options, .. } => (Task::Rows, tables(show_options)?),
        Sql::ShowFunctions { filter } => (
            Task::Rows,
            format!(
                "SELECT name, is_aggregate, case_insensitive FROM system.functions {} ORDER BY name",
                condition(filter.as_ref())?
            ),
        ),
        Sql::ShowDatabases { .. } | Sql::ShowSchemas { .. } => (
            Task::Rows,
            // Those that nobody types are ours.
            format!(
                "SELECT schema_name AS name FROM information_schema.schemata \
                 WHERE schema_name <> '{MERGED}' ORDER BY name"
            ),
        ),
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

fn parsed(sql: &str) -> Result<Sql, ParserError> {
    Parser::new(&Grammar).try_with_sql(sql)?.parse_statement()
}

fn all_of(table: &ObjectName) -> String {
    format!("SELECT * FROM {table}")
}

/// A text as SQL writes it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// The table or database after FROM.
fn parent(options: &ShowStatementOptions) -> Option<&ObjectName> {
    options.show_in.as_ref()?.parent_name.as_ref()
}

/// The database, if there is one, and the name.
fn path(name: &ObjectName) -> Result<(Option<&str>, &str), DialectError> {
    match name.0.as_slice() {
        [ObjectNamePart::Identifier(table)] => Ok((None, &table.value)),
        [ObjectNamePart::Identifier(database), ObjectNamePart::Identifier(table)] => {
            Ok((Some(&database.value), &table.value))
        }
        _ => Err(refused(format!("the name {name}"), "it has a database and a table at most")),
    }
}

fn reference(name: &ObjectName) -> Result<TableReference, DialectError> {
    Ok(match path(name)? {
        (Some(database), table) => TableReference::partial(database, table),
        (None, table) => TableReference::bare(table),
    })
}

/// The condition of `LIKE '…'` after SHOW.
fn condition(filter: Option<&ShowStatementFilter>) -> Result<String, DialectError> {
    Ok(match filter {
        None => String::new(),
        Some(ShowStatementFilter::Like(pattern)) => format!("WHERE name LIKE {}", quoted(pattern)),
        Some(ShowStatementFilter::ILike(pattern)) => {
            format!("WHERE name ILIKE {}", quoted(pattern))
        }
        Some(ShowStatementFilter::Where(condition)) => format!("WHERE {condition}"),
        Some(ShowStatementFilter::NoKeyword(text)) => {
            return Err(refused(format!("SHOW ... {text}"), "write LIKE in front of it"));
        }
    })
}

fn tables(options: &ShowStatementOptions) -> Result<String, DialectError> {
    let database = match parent(options) {
        Some(name) => path(name)?.1,
        None => DATABASE,
    };
    let condition = condition(options.filter_position.as_ref().map(|position| match position {
        ShowStatementFilterPosition::Infix(filter)
        | ShowStatementFilterPosition::Suffix(filter) => filter,
    }))?;
    Ok(format!(
        "SELECT name FROM (SELECT table_name AS name FROM information_schema.tables \
         WHERE table_schema = {}) {condition} ORDER BY name",
        quoted(database)
    ))
}

/// `SET max_threads = 1` is for a server; the engine's own settings begin with its name.
fn assignments(set: &Set, notes: &mut Vec<String>) -> Result<Task, DialectError> {
    let given: Vec<(String, String)> = match set {
        Set::SingleAssignment { variable, values, .. } => {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            vec![(variable.to_string(), values.join(", "))]
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

/// Parses `EXISTS TABLE t`; `None` if the statement is another one.
pub(super) fn exists(parser: &mut Parser<'_>) -> Option<Result<Sql, ParserError>> {
    if !parser.peek_keyword(Keyword::EXISTS) || parser.peek_nth_token(1).token == Token::LParen {
        return None;
    }
    parser.next_token();
    let _ = parser.parse_keyword(Keyword::TABLE) || parser.parse_keyword(Keyword::VIEW);
    Some(parser.parse_object_name(false).and_then(|name| {
        let (database, table) =
            path(&name).map_err(|error| ParserError::ParserError(error.to_string()))?;
        parsed(&format!(
            "SELECT toUInt8(if(count() > 0, 1, 0)) AS result FROM information_schema.tables \
             WHERE table_schema = {} AND table_name = {}",
            quoted(database.unwrap_or(DATABASE)),
            quoted(table)
        ))
    }))
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
