//! Statements that ask what there is: SHOW, DESCRIBE, EXISTS. FORMAT and SETTINGS may stand after each of them, where the parser
//! library knows them after queries alone.

use super::grammar::Grammar;
use super::lexical::{self, closing, is_keyword, is_word, next};
use super::statement::{Listed, Listing, Task, parsed, path, quoted, reference};
use crate::marks::{MERGED, PLACES};
use crate::{DATABASE, DialectError};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, ObjectNamePart, Query, Statement as Sql};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// What SHOW of a running server is about.
const OF_SERVERS: [&str; 24] = [
    "ACCESS",
    "CACHES",
    "CHANGED",
    "CLUSTER",
    "CLUSTERS",
    "CURRENT",
    "DATABASE",
    "DICTIONARIES",
    "ENABLED",
    "ENGINES",
    "FILESYSTEM",
    "GRANTS",
    "MASKING",
    "MERGES",
    "POLICIES",
    "PRIVILEGES",
    "PROCESSLIST",
    "PROFILES",
    "QUOTA",
    "QUOTAS",
    "ROLES",
    "ROW",
    "TEMPORARY",
    "USERS",
];

/// Why those are refused.
const ANSWERED: &str = "SHOW TABLES, DATABASES, CREATE TABLE, COLUMNS, INDEX, FUNCTIONS, SETTINGS and SETTING are answered here";

/// Why SHOW with a word is refused, if it is.
pub(super) fn refusal(word: &str) -> Option<(String, String)> {
    let word = word.to_ascii_uppercase();
    let reason = match word.as_str() {
        "MERGES" => "SELECT * FROM system.merges has them".to_owned(),
        "ENGINES" => "tables of the MergeTree family are read and written".to_owned(),
        "DATABASE" => "databases are directories here, without a statement".to_owned(),
        "CHANGED" => "nobody keeps what SET has changed; SHOW SETTING name has one".to_owned(),
        _ => format!("it is about a running server; {ANSWERED}"),
    };
    OF_SERVERS.contains(&word.as_str()).then(|| (format!("SHOW {word}"), reason))
}

/// True of statements that are queries of ours, after which the parser expects nothing.
fn asks(tokens: &[TokenWithSpan]) -> Option<usize> {
    let first = if is_blank(tokens.first()?) { next(tokens, 0)? } else { 0 };
    let words = ["DESCRIBE", "DESC", "SHOW", "EXISTS"];
    words.iter().any(|word| is_word(&tokens[first].token, word)).then_some(first)
}

/// `SHOW COLUMNS IN t` is `SHOW COLUMNS FROM t`; a set is what follows IN anywhere else.
pub(super) fn from_for_in(tokens: &mut [TokenWithSpan]) {
    let first = asks(tokens).filter(|first| is_word(&tokens[*first].token, "SHOW"));
    let mut at = first.and_then(|first| next(tokens, first));
    while let Some(place) = at {
        if is_keyword(&tokens[place].token, Keyword::WHERE)
            || tokens[place].token == Token::SemiColon
        {
            return;
        }
        if is_keyword(&tokens[place].token, Keyword::IN) {
            tokens[place].token = Token::make_keyword("FROM");
        }
        at = next(tokens, place);
    }
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// What a statement asks, besides what the parser sees of it.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// A query with the clauses that stood after it.
    pub(super) clauses: Option<Box<Query>>,
    /// What is asked about the table of the query that is left.
    pub(super) task: Option<Task>,
}

/// Brings a single statement that asks into a form that the parser takes.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) -> Result<Asked, DialectError> {
    let Some(first) = asks(tokens) else { return Ok(Asked::default()) };
    let is_end = |it: &TokenWithSpan| matches!(it.token, Token::SemiColon | Token::EOF);
    let end = tokens.iter().position(is_end).unwrap_or(tokens.len());
    // Of several statements none is changed.
    if tokens[end..].iter().any(|it| !is_end(it) && !is_blank(it)) {
        return Ok(Asked::default());
    }
    let clauses = match tail(tokens, first, end) {
        Some(start) => Some(clauses(tokens.drain(start..end).collect())?),
        None => None,
    };
    let end = tokens.iter().position(is_end).unwrap_or(tokens.len());
    let mut task = None;
    if is_word(&tokens[first].token, "SHOW") {
        task = of_table(tokens, first, end)?;
    } else if !is_word(&tokens[first].token, "EXISTS") {
        describe(tokens, first)?;
    }
    Ok(Asked { clauses, task })
}

/// Where `SETTINGS a = 1 FORMAT x` begins; FORMAT is the last of both by now.
fn tail(tokens: &[TokenWithSpan], first: usize, end: usize) -> Option<usize> {
    let mut before = next(tokens, first)?;
    loop {
        if tokens[before].token == Token::LParen {
            before = closing(tokens, before)?;
        }
        let at = next(tokens, before).filter(|at| *at < end)?;
        let is_name = tokens[before].token == Token::Period;
        let after = next(tokens, at);
        let second = after.and_then(|it| next(tokens, it));
        if !is_name && is_keyword(&tokens[at].token, Keyword::FORMAT) {
            let has_name = after.is_some_and(|it| matches!(tokens[it].token, Token::Word(_)));
            if has_name && second.is_none_or(|it| it >= end) {
                return Some(at);
            }
        }
        if !is_name && is_keyword(&tokens[at].token, Keyword::SETTINGS) {
            let is_set = second.is_some_and(|it| it < end && tokens[it].token == Token::Eq);
            if is_set {
                return Some(at);
            }
        }
        before = at;
    }
}

/// A query with these clauses.
fn clauses(tail: Vec<TokenWithSpan>) -> Result<Box<Query>, DialectError> {
    let mut tokens = words("SELECT 1 ")?;
    tokens.extend(tail);
    let mut parser = Parser::new(&Grammar).with_tokens_with_locations(tokens);
    let query = parser.parse_query().and_then(|query| {
        parser.expect_token(&Token::EOF)?;
        Ok(query)
    });
    Ok(query.map_err(DataFusionError::from)?)
}

/// The tokens of a text, without the end.
fn words(text: &str) -> Result<Vec<TokenWithSpan>, DialectError> {
    let mut tokens = lexical::tokens(text)?;
    tokens.retain(|it| it.token != Token::EOF);
    Ok(tokens)
}

/// `DESCRIBE t` is `DESCRIBE TABLE t` for the parser, and what is not a name of a table is a query.
fn describe(tokens: &mut Vec<TokenWithSpan>, first: usize) -> Result<(), DialectError> {
    let Some(operand) = next(tokens, first) else { return Ok(()) };
    let is_table = is_keyword(&tokens[operand].token, Keyword::TABLE);
    if let Some(after) = next(tokens, operand).filter(|_| is_table) {
        tokens.drain(operand..after);
    } else if is_table {
        return Ok(());
    }
    let is_end = |it: &TokenWithSpan| matches!(it.token, Token::SemiColon | Token::EOF);
    let end = tokens.iter().position(is_end).unwrap_or(tokens.len());
    let is = |keyword| tokens.get(operand).is_some_and(|it| is_keyword(&it.token, keyword));
    // The parser takes a query as it is.
    if is(Keyword::SELECT) || is(Keyword::WITH) || tokens.get(operand).is_some_and(is_open) {
        return Ok(());
    }
    let is_call = next(tokens, operand).is_some_and(|it| is_open(&tokens[it]));
    let head = if is_call { "(SELECT * FROM " } else { "TABLE " };
    if is_call {
        splice(tokens, end, ")")?;
    }
    splice(tokens, operand, head)
}

fn is_open(token: &TokenWithSpan) -> bool {
    token.token == Token::LParen
}

/// Puts words in front of a token, at whose place errors find them.
fn splice(tokens: &mut Vec<TokenWithSpan>, at: usize, text: &str) -> Result<(), DialectError> {
    let span = tokens.get(at).or(tokens.last()).map(|it| it.span);
    let mut added = words(text)?;
    for token in &mut added {
        token.span = span.unwrap_or(token.span);
    }
    tokens.splice(at..at, added);
    Ok(())
}

/// Words between SHOW and what it shows: how many there are, FULL among them, and the word after them.
fn shown(tokens: &[TokenWithSpan], first: usize) -> Option<(usize, bool, String)> {
    let (mut at, mut is_full) = (next(tokens, first)?, false);
    while is_keyword(&tokens[at].token, Keyword::FULL)
        || is_keyword(&tokens[at].token, Keyword::EXTENDED)
    {
        is_full |= is_keyword(&tokens[at].token, Keyword::FULL);
        at = next(tokens, at)?;
    }
    match &tokens[at].token {
        Token::Word(word) if word.quote_style.is_none() => {
            Some((at, is_full, word.value.to_ascii_uppercase()))
        }
        _ => None,
    }
}

/// SHOW COLUMNS, SHOW INDEX and SHOW CREATE TABLE become queries of their table, of which something else than rows is asked.
fn of_table(
    tokens: &mut Vec<TokenWithSpan>,
    first: usize,
    end: usize,
) -> Result<Option<Task>, DialectError> {
    let Some((at, is_full, word)) = shown(tokens, first) else { return Ok(None) };
    let listed = match word.as_str() {
        "COLUMNS" | "FIELDS" => Some(Listed::Columns { is_full }),
        "INDEX" | "INDEXES" | "INDICES" | "KEYS" => Some(Listed::Indexes),
        "CREATE" | "TABLE" => None,
        _ => return Ok(None),
    };
    let after: Vec<TokenWithSpan> = tokens[at + 1..end].to_vec();
    let mut parser = Parser::new(&Grammar).with_tokens_with_locations(after);
    let (name, task) = if let Some(listed) = listed {
        let (name, listing) = listing(&mut parser, listed).map_err(DataFusionError::from)?;
        (name, Task::Listing(Box::new(listing?)))
    } else {
        if let Some((clause, reason)) = undefined(&parser) {
            return Err(super::refused(clause, reason));
        }
        let _ = word == "TABLE"
            || parser.parse_one_of_keywords(&[Keyword::TABLE, Keyword::VIEW]).is_some();
        let name = parser.parse_object_name(false).map_err(DataFusionError::from)?;
        let task = Task::Definition(reference(&name)?);
        (name, task)
    };
    parser.expect_token(&Token::EOF).map_err(DataFusionError::from)?;
    let query = words(&format!("SELECT * FROM {name}"))?;
    tokens.splice(first..end, query);
    Ok(Some(task))
}

/// Why SHOW CREATE of something else than a table is refused.
fn undefined(parser: &Parser<'_>) -> Option<(String, &'static str)> {
    let Token::Word(word) = parser.peek_token().token else { return None };
    let word = word.value.to_ascii_uppercase();
    let others =
        ["DATABASE", "DICTIONARY", "FUNCTION", "POLICY", "PROFILE", "QUOTA", "ROLE", "USER"];
    let is_other =
        others.contains(&word.as_str()) && matches!(parser.peek_nth_token(1).token, Token::Word(_));
    is_other.then(|| (format!("SHOW CREATE {word}"), "tables and views have statements here"))
}

/// What stands after SHOW COLUMNS or SHOW INDEX.
fn listing(
    parser: &mut Parser<'_>,
    listed: Listed,
) -> Result<(ObjectName, Result<Listing, DialectError>), ParserError> {
    parser.expect_one_of_keywords(&[Keyword::FROM, Keyword::IN])?;
    let mut name = parser.parse_object_name(false)?;
    if parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::IN]).is_some() {
        let database = parser.parse_identifier()?;
        if name.0.len() > 1 {
            let what = format!("`{name}` names its database already; leave out FROM {database}");
            return Err(ParserError::ParserError(what));
        }
        name.0.insert(0, ObjectNamePart::Identifier(database));
    }
    let condition = condition(parser, "field")?;
    let limit = limit(parser)?;
    let made = reference(&name).map(|table| Listing { listed, table, condition, limit });
    Ok((name, made))
}

/// `[NOT] LIKE 'x'` or `WHERE …`, as a condition.
fn condition(parser: &mut Parser<'_>, column: &str) -> Result<Option<String>, ParserError> {
    if parser.parse_keyword(Keyword::WHERE) {
        return Ok(Some(parser.parse_expr()?.to_string()));
    }
    let not = if parser.parse_keyword(Keyword::NOT) { "NOT " } else { "" };
    let word = match parser.parse_one_of_keywords(&[Keyword::LIKE, Keyword::ILIKE]) {
        Some(Keyword::LIKE) => "LIKE",
        Some(_) => "ILIKE",
        None if not.is_empty() => return Ok(None),
        None => return parser.expected("LIKE or ILIKE", parser.peek_token()),
    };
    let pattern = quoted(&parser.parse_literal_string()?);
    Ok(Some(format!("{column} {not}{word} {pattern}")))
}

fn limit(parser: &mut Parser<'_>) -> Result<Option<u64>, ParserError> {
    if !parser.parse_keyword(Keyword::LIMIT) {
        return Ok(None);
    }
    parser.parse_literal_uint().map(Some)
}

/// Parses SHOW; `None` if the statement is another one, or shows a setting of the engine.
pub(super) fn parse(parser: &mut Parser<'_>) -> Option<Result<Sql, ParserError>> {
    if !parser.peek_keyword(Keyword::SHOW) {
        return None;
    }
    let is_keyword = |parser: &Parser<'_>, at, wanted| matches!(parser.peek_nth_token(at).token, Token::Word(word) if word.keyword == wanted);
    let is_full = is_keyword(parser, 1, Keyword::FULL);
    let at = usize::from(is_full) + 1;
    let Token::Word(word) = parser.peek_nth_token(at).token else { return None };
    let word = word.value.to_ascii_uppercase();
    let settings = "SELECT name, value FROM system.settings";
    let functions = "SELECT name, is_aggregate, case_insensitive FROM system.functions";
    // Those that nobody types are ours.
    let databases = format!(
        "SELECT schema_name AS name FROM information_schema.schemata WHERE schema_name NOT IN ('{MERGED}', '{PLACES}')"
    );
    let all = match word.as_str() {
        "TABLES" => "",
        "DATABASES" | "SCHEMAS" if !is_full => databases.as_str(),
        "FUNCTIONS" if !is_full => functions,
        "SETTINGS" | "SETTING" if !is_full => settings,
        other if refusal(other).is_some() => {
            while !matches!(parser.peek_token().token, Token::EOF | Token::SemiColon) {
                parser.next_token();
            }
            return Some(Ok(Sql::ShowVariable { variable: vec![Ident::new(word)] }));
        }
        _ => return None,
    };
    (0..=at).for_each(|_| drop(parser.next_token()));
    Some(match word.as_str() {
        "TABLES" => tables(parser, is_full),
        "SETTING" => parser.parse_identifier().and_then(|name| {
            let name = quoted(&name.value);
            parsed(&format!("SELECT value FROM system.settings WHERE name = {name}"))
        }),
        _ => filtered(parser, all),
    })
}

/// The rows of a query that a filter leaves, by their names.
fn filtered(parser: &mut Parser<'_>, query: &str) -> Result<Sql, ParserError> {
    let condition = condition(parser, "name")?.map(|it| format!(" WHERE {it}"));
    let limit = limit(parser)?.map(|it| format!(" LIMIT {it}"));
    let (condition, limit) = (condition.unwrap_or_default(), limit.unwrap_or_default());
    parsed(&format!("SELECT * FROM ({query}){condition} ORDER BY name{limit}"))
}

fn tables(parser: &mut Parser<'_>, is_full: bool) -> Result<Sql, ParserError> {
    let database = if parser.parse_one_of_keywords(&[Keyword::FROM, Keyword::IN]).is_some() {
        parser.parse_identifier()?.value
    } else {
        DATABASE.to_owned()
    };
    let schema = quoted(&database);
    let engine = if is_full {
        ", coalesce(engine, if(table_type = 'VIEW', 'View', 'Memory')) AS engine"
    } else {
        ""
    };
    let join = if is_full {
        format!(
            " LEFT JOIN (SELECT name AS of_table, engine FROM system.tables WHERE database = {schema}) \
             ON of_table = table_name"
        )
    } else {
        String::new()
    };
    // A database that is not there is an error, and not one without tables.
    let nothing = if is_full { ", ''" } else { "" };
    let absent = quoted(&format!("there is no database {database}"));
    filtered(
        parser,
        &format!(
            "SELECT table_name AS name{engine} FROM information_schema.tables{join} \
             WHERE table_schema = {schema} UNION ALL \
             SELECT toString(throwIf(count() = 0, {absent})){nothing} FROM information_schema.schemata \
             WHERE schema_name = {schema} HAVING count() = 0"
        ),
    )
}

/// Parses `EXISTS TABLE t`, `EXISTS VIEW t` and `EXISTS DATABASE d`; `None` if the statement is another one.
pub(super) fn exists(parser: &mut Parser<'_>) -> Option<Result<Sql, ParserError>> {
    if !parser.peek_keyword(Keyword::EXISTS) || parser.peek_nth_token(1).token == Token::LParen {
        return None;
    }
    parser.next_token();
    // Before the end, a word is the name of a table.
    let has_name = |parser: &Parser<'_>| {
        !matches!(parser.peek_nth_token(1).token, Token::EOF | Token::SemiColon)
    };
    if has_name(parser) && parser.parse_keyword(Keyword::DATABASE) {
        return Some(parser.parse_identifier().and_then(|name| {
            counted(&format!("system.databases WHERE name = {}", quoted(&name.value)))
        }));
    }
    if has_name(parser) {
        let _ = parser.parse_keyword(Keyword::TEMPORARY);
    }
    let of_kind = if !has_name(parser) || parser.parse_keyword(Keyword::TABLE) {
        ""
    } else if parser.parse_keyword(Keyword::VIEW) {
        " AND table_type = 'VIEW'"
    } else if is_word(&parser.peek_token_ref().token, "DICTIONARY") {
        parser.next_token();
        // There are none here.
        " AND 1 = 0"
    } else {
        ""
    };
    Some(parser.parse_object_name(false).and_then(|name| {
        let (database, table) =
            path(&name).map_err(|error| ParserError::ParserError(error.to_string()))?;
        counted(&format!(
            "information_schema.tables WHERE table_schema = {} AND table_name = {}{of_kind}",
            quoted(database.unwrap_or(DATABASE)),
            quoted(table)
        ))
    }))
}

/// Whether there is a row.
fn counted(rows: &str) -> Result<Sql, ParserError> {
    parsed(&format!("SELECT toUInt8(if(count() > 0, 1, 0)) AS result FROM {rows}"))
}
