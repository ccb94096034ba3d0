//! ClickHouse's query language on DataFusion: a statement is parsed as ClickHouse's, and what DataFusion cannot plan is
//! rewritten ([`alias`], [`rewrite`], [`call`], [`aggregate`], [`sets`], [`naming`]) or refused with a reason
//! ([`statement`]).
//!
//! ```
//! let prepared = tambour_dialect::prepare("SELECT uniq(a) FROM t PREWHERE b > 0 FORMAT TSV")?;
//! assert_eq!(prepared.statement.to_string(), r#"SELECT count(DISTINCT a) AS "uniq(a)" FROM t WHERE b > 0"#);
//! assert_eq!(prepared.format.as_deref(), Some("TSV"));
//! # Ok::<(), tambour_dialect::DialectError>(())
//! ```

#![forbid(unsafe_code)]

mod access;
mod aggregate;
mod alias;
mod ambiguous;
mod array_join;
mod bases;
mod call;
mod change;
mod clock;
mod columns;
mod combinator;
mod ends;
mod error;
mod exists;
mod gathered;
mod grammar;
mod granules;
mod intervals;
mod joins;
mod lambda;
mod lexical;
mod lifted;
mod limits;
pub mod marks;
mod meant;
mod members;
mod merged;
pub mod message;
mod mismatch;
mod moved;
pub mod names;
mod naming;
mod narrow;
mod operator;
mod original;
mod outermost;
mod parentheses;
mod pattern;
mod postfix;
mod retype;
mod rewrite;
mod sample;
mod scalar;
mod sets;
mod settings;
mod show;
mod spread;
mod starred;
mod statement;
mod temporary;
mod tuples;
mod unions;
mod unstored;
mod using;
mod values;
mod walk;
mod windows;
mod within;
mod written;

use datafusion::error::DataFusionError;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{Expr, FormatClause, Query, Statement as Sql};
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use grammar::Grammar;
use show::Asked;
use std::ops::ControlFlow;
use walk::walk_mut;

pub use aggregate::is_name as is_aggregate;
pub use call::renamed;
pub use change::data::split_data;
pub use change::{Action, Change, Columns, Duplicates};
pub use columns::Catalog;
pub use error::DialectError;
pub use merged::BEFORE_THE_MERGE;
pub use outermost::{Fill, Place};
pub use sample::Sampling;
pub use settings::Switches;
pub use settings::{check as check_setting, is_switch, known as known_settings};
pub use statement::{Listed, Listing, Task};
pub use temporary::{Temporary, temporary};
pub use unstored::{PLACES_OF_ROWS, columns_of, in_layers};

/// The database of tables that name none.
pub const DATABASE: &str = "default";

/// Why statements that change something are refused.
pub const READ_ONLY: &str = "--write allows INSERT, UPDATE, DELETE, TRUNCATE and OPTIMIZE, \
     with --database also CREATE, DROP and RENAME TABLE; nothing else changes a table here";

/// Most bytes of a statement.
const STATEMENT_MAX: usize = 8 << 20;
/// Most operators of a statement: a chain of them is a tree as deep as it is long.
const OPERATORS_MAX: usize = 1_000;

/// Deepest nesting of parentheses and queries.
const NESTING_MAX: usize = 300;

/// A statement that DataFusion can plan.
#[derive(Debug)]
pub struct Prepared {
    /// The statement.
    pub statement: Statement,
    /// The format of a trailing `FORMAT …` clause, as written.
    pub format: Option<String>,
    /// What was understood but has no effect, for the user to know.
    pub notes: Vec<String>,
    /// What is asked about the statement.
    pub task: Task,
    /// What comes of its rows at the end.
    pub ending: Ending,
}

/// What comes of the rows of the outermost query at the end.
#[derive(Debug, Default)]
pub struct Ending {
    /// The query of the row after the others.
    pub totals: Option<Statement>,
    /// The rows that are made up.
    pub fill: Option<Fill>,
    /// Where ClickHouse's way is asked for.
    pub switches: Switches,
    /// There is a PREWHERE somewhere; it means what WHERE means, unless rows are merged.
    pub has_prewhere: bool,
}

/// Prepares one statement; a semicolon may stand after it.
pub fn prepare(sql: &str) -> Result<Prepared, DialectError> {
    prepare_for(sql, &Catalog::new())
}

/// The same with the columns of the tables that there are.
pub fn prepare_for(sql: &str, catalog: &Catalog) -> Result<Prepared, DialectError> {
    prepare_one(sql, catalog, false)
}

/// The same of a statement whose results are shown and not kept: intervals among them become numbers.
pub fn prepare_shown(sql: &str, catalog: &Catalog) -> Result<Prepared, DialectError> {
    prepare_one(sql, catalog, true)
}

fn prepare_one(sql: &str, catalog: &Catalog, is_shown: bool) -> Result<Prepared, DialectError> {
    let mut statements = prepare_each(sql, catalog, is_shown)?.into_iter();
    match (statements.next(), statements.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(refused("an empty statement", "there is nothing to do")),
        (Some(_), Some(_)) => Err(refused("more than one statement", "one is expected here")),
    }
}

/// Prepares statements that are separated by semicolons.
pub fn prepare_all(sql: &str) -> Result<Vec<Prepared>, DialectError> {
    prepare_each(sql, &Catalog::new(), false)
}

fn prepare_each(
    sql: &str,
    catalog: &Catalog,
    is_shown: bool,
) -> Result<Vec<Prepared>, DialectError> {
    if sql.len() > STATEMENT_MAX {
        return Err(DialectError::Limit { what: "bytes of a statement", limit: STATEMENT_MAX });
    }
    let (sql, data) =
        change::data::split_data(sql).map_or((sql, None), |(it, data)| (it, Some(data)));
    let explained = statement::plain_explain(sql)?;
    let sql = explained.as_deref().unwrap_or(sql);
    let mut tokens = lexical::tokens(sql)?;
    check_limits(&tokens)?;
    let mut asked = show::arrange(&mut tokens)?;
    let mut parser = DFParserBuilder::new(tokens)
        .with_dialect(&Grammar)
        .with_recursion_limit(NESTING_MAX)
        .build()?;
    let statements = parser.parse_statements()?.into_iter();
    let statements = statements.map(|mut statement| {
        if is_shown {
            intervals::as_results(&mut statement);
        }
        rewritten_as(statement, catalog, std::mem::take(&mut asked))
    });
    let mut statements = statements.collect::<Result<Vec<_>, _>>()?;
    if let Some(Prepared { task: Task::Change(change), .. }) = statements.last_mut()
        && let Action::Load { data: place, .. } = &mut change.action
    {
        *place = data.map(str::to_owned);
    }
    Ok(statements)
}

/// A query of ours, which is not rewritten yet.
pub fn parse_query(text: &str) -> Result<Query, DialectError> {
    let tokens = lexical::tokens(text)?;
    let parsed = Parser::new(&Grammar).with_tokens_with_locations(tokens).parse_query();
    Ok(*parsed.map_err(DataFusionError::from)?)
}

/// An expression of ours, which is not rewritten yet.
pub fn parse_expression(text: &str) -> Result<Expr, DialectError> {
    let tokens = lexical::tokens(text)?;
    let parsed = Parser::new(&Grammar).with_tokens_with_locations(tokens).parse_expr();
    Ok(parsed.map_err(DataFusionError::from)?)
}

/// A query that was taken out of a statement.
pub fn prepare_query(query: &Query, catalog: &Catalog) -> Result<Prepared, DialectError> {
    let sql = Sql::Query(Box::new(query.clone()));
    rewritten(Statement::Statement(Box::new(sql)), catalog)
}

fn rewritten(statement: Statement, catalog: &Catalog) -> Result<Prepared, DialectError> {
    rewritten_as(statement, catalog, Asked::default())
}

fn rewritten_as(
    mut statement: Statement,
    catalog: &Catalog,
    asked: Asked,
) -> Result<Prepared, DialectError> {
    if let Some(change) = change::of(&statement)? {
        let task = Task::Change(Box::new(change));
        let ending = Ending::default();
        return Ok(Prepared { statement, format: None, notes: Vec::new(), task, ending });
    }
    statement::check(&statement)?;
    if let Some(sql) = innermost(&mut statement) {
        let _ = walk_mut(sql, &mut access::OneByOne);
    }
    let mut rewriter = rewrite::Rewriter::new(catalog, false);
    let mut ending = Ending::default();
    let mut totals = None;
    if let Statement::Statement(sql) = &mut statement
        && let Sql::Query(query) = &mut **sql
    {
        rewriter.notes = rewrite::applied(query, &mut ending.switches)?;
        ending.fill = outermost::fill(query)?;
        // It fills the result that has the name.
        rewriter.is_inside = ending.fill.is_some();
        totals = outermost::totals(query)?;
    }
    if let Some(totals) = totals {
        let mut sql = Sql::Query(Box::new(totals));
        let mut rewriter = rewrite::Rewriter::new(catalog, true);
        if let ControlFlow::Break(error) = walk_mut(&mut sql, &mut rewriter) {
            return Err(error);
        }
        ending.totals = Some(Statement::Statement(Box::new(sql)));
    }
    let task = statement::translate(&mut statement, &mut rewriter.notes)?;
    let task = asked.task.unwrap_or(task);
    let mut format = None;
    if let Some(mut query) = asked.clauses {
        rewriter.notes.extend(rewrite::applied(&mut query, &mut ending.switches)?);
        format = query.format_clause.take();
    }
    if let Some(sql) = innermost(&mut statement) {
        format = outer_query(sql).and_then(|query| query.format_clause.take()).or(format);
        if let ControlFlow::Break(error) = walk_mut(sql, &mut rewriter) {
            return Err(error);
        }
    }
    let format = format.map(|clause| match clause {
        FormatClause::Identifier(name) => name.value,
        FormatClause::Null => "Null".to_owned(),
    });
    ending.has_prewhere = rewriter.has_prewhere;
    Ok(Prepared { statement, format, notes: rewriter.notes, task, ending })
}

/// The SQL statement inside of EXPLAIN, or the statement itself.
fn innermost(statement: &mut Statement) -> Option<&mut Sql> {
    match statement {
        Statement::Statement(sql) => match sql.as_mut() {
            Sql::Explain { statement, .. } => Some(statement),
            other => Some(other),
        },
        Statement::Explain(explain) => innermost(&mut explain.statement),
        _ => None,
    }
}

fn outer_query(sql: &mut Sql) -> Option<&mut Query> {
    match sql {
        Sql::Query(query) => Some(query),
        _ => None,
    }
}

/// True of CREATE TABLE: like ALTER TABLE of columns, the parser does not see it, since the keys, engines and types of tables
/// have a parser of their own.
pub fn is_create_table(sql: &str) -> bool {
    begins_with(sql, ["CREATE", "TABLE"])
        || begins_with(sql, ["CREATE", "OR", "REPLACE", "TABLE"])
        || begins_with(sql, ["REPLACE", "TABLE"])
}

/// True if these are the first words of a statement, comments apart.
pub fn begins_with<const N: usize>(sql: &str, wanted: [&str; N]) -> bool {
    let may_be = wanted.first().is_some_and(|first| first_word_is(sql, first));
    let Some(Ok(tokens)) = may_be.then(|| lexical::tokens(sql)) else { return false };
    let mut words = tokens.iter().filter(|it| !matches!(it.token, Token::Whitespace(_)));
    wanted.iter().all(|word| words.next().is_some_and(|it| lexical::is_word(&it.token, word)))
}

/// False if this is not the first word of a statement; a comment may hide it.
fn first_word_is(sql: &str, word: &str) -> bool {
    let start = sql.trim_start();
    start.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word))
        || ["--", "/*"].iter().any(|comment| start.starts_with(comment))
}

/// Refuses what would make trees too deep for the stack.
fn check_limits(tokens: &[TokenWithSpan]) -> Result<(), DialectError> {
    let is_word = |token: &Token, word: &str| matches!(token, Token::Word(it) if it.value.eq_ignore_ascii_case(word));
    let operators = tokens.iter().filter(|token| match &token.token {
        Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::Mod
        | Token::StringConcat
        | Token::Period => true,
        Token::DoubleColon | Token::Eq | Token::LBracket => true,
        word => {
            ["AND", "OR", "NOT", "UNION", "EXCEPT", "INTERSECT"].iter().any(|it| is_word(word, it))
        }
    });
    if operators.count() > OPERATORS_MAX {
        return Err(DialectError::Limit { what: "operators of a statement", limit: OPERATORS_MAX });
    }
    Ok(())
}

/// An error about something that is understood but cannot be done.
fn refused(clause: impl Into<String>, reason: impl Into<String>) -> DialectError {
    DialectError::Refused { clause: clause.into(), reason: reason.into() }
}
