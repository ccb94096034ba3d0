//! `FINAL` after a table: its rows as if all parts were merged. The parser library would take the word for another name of
//! the table.
//!
//! Before parsing, the word becomes a hint, `t AS a FINAL` is `t AS a WITH ("mark")`; after parsing, the table is one of the
//! database that has a mark for a name, [`marks::MERGED`].

use super::lexical::{is_keyword, is_word, next};
use super::{columns::Catalog, refused};
use crate::DialectError;
use crate::marks::MERGED;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Select, TableAlias, TableFactor,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// After these come tables ...
const BEFORE: [Keyword; 2] = [Keyword::FROM, Keyword::JOIN];
/// ... and after these none.
const AFTER: [Keyword; 16] = [
    Keyword::SELECT,
    Keyword::WHERE,
    Keyword::PREWHERE,
    Keyword::GROUP,
    Keyword::ORDER,
    Keyword::HAVING,
    Keyword::QUALIFY,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::USING,
    Keyword::SETTINGS,
    Keyword::FORMAT,
    Keyword::UNION,
    Keyword::WITH,
    Keyword::WINDOW,
];

/// Puts a hint in the place of the word.
pub(super) fn mark(tokens: &mut Vec<TokenWithSpan>) {
    // For each open parenthesis, whether tables stand there.
    let mut places = vec![false];
    let mut last = None;
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at].token;
        match token {
            Token::LParen => places.push(false),
            Token::RParen if places.len() > 1 => {
                places.pop();
            }
            Token::Whitespace(_) => {
                at += 1;
                continue;
            }
            _ => {}
        }
        let is_final = is_word(token, "FINAL") && places.last() == Some(&true);
        if is_final && last.is_some_and(|it: usize| is_name(&tokens[it].token)) {
            let span = tokens[at].span;
            let hint = [
                Token::make_keyword("WITH"),
                Token::Whitespace(Whitespace::Space),
                Token::LParen,
                Token::make_word(MERGED, Some('"')),
                Token::RParen,
            ];
            tokens.splice(at..=at, hint.map(|token| TokenWithSpan { token, span }));
            at += 5;
            last = Some(at - 1);
            continue;
        }
        if let Some(place) = places.last_mut() {
            if BEFORE.iter().any(|it| is_keyword(token, *it)) {
                *place = true;
            } else if AFTER.iter().any(|it| is_keyword(token, *it)) && !is_called(tokens, at) {
                *place = false;
            }
        }
        last = Some(at);
        at += 1;
    }
}

/// A name of a table, or its other name.
fn is_name(token: &Token) -> bool {
    let Token::Word(word) = token else { return false };
    word.quote_style.is_some()
        || !(BEFORE.contains(&word.keyword)
            || AFTER.contains(&word.keyword)
            || word.keyword == Keyword::AS)
}

/// True of a part of a longer name, `t.format`, and of what is called, `format(…)`.
fn is_called(tokens: &[TokenWithSpan], at: usize) -> bool {
    let is =
        |place: Option<usize>, token: &Token| place.is_some_and(|it| tokens[it].token == *token);
    is(at.checked_sub(1), &Token::Period) || (is(next(tokens, at), &Token::Period))
}

fn is_mark(hint: &Expr) -> bool {
    matches!(hint, Expr::Identifier(ident) if ident.value == MERGED)
}

/// Refuses FINAL in a query with PREWHERE.
pub(super) fn check(select: &Select) -> Result<(), DialectError> {
    let mut tables = select
        .from
        .iter()
        .flat_map(|it| std::iter::once(&it.relation).chain(it.joins.iter().map(|it| &it.relation)));
    let is_merged = |table: &TableFactor| match table {
        TableFactor::Table { with_hints, .. } => with_hints.iter().any(is_mark),
        _ => false,
    };
    if tables.any(is_merged) {
        Err(refused("PREWHERE with FINAL", BEFORE_THE_MERGE))
    } else {
        Ok(())
    }
}

/// Why there is no PREWHERE with FINAL.
pub const BEFORE_THE_MERGE: &str =
    "ClickHouse filters by it before rows are merged; write WHERE, which comes after";

/// Turns the hint into the database; `queries` are those in WITH.
pub(super) fn translate(table: &mut TableFactor, queries: &Catalog) -> Result<(), DialectError> {
    let TableFactor::Table { name, alias, args, with_hints, .. } = table else { return Ok(()) };
    if !with_hints.iter().any(is_mark) {
        return Ok(());
    }
    with_hints.clear();
    if args.is_some() || !stands_in(MERGED, name, alias, queries) {
        return Err(refused(format!("{name} FINAL"), "only tables have parts that can be merged"));
    }
    Ok(())
}

/// Puts the table of this name in another database into its place. False if it is the name of a query.
pub(super) fn stands_in(
    database: &str,
    name: &mut ObjectName,
    alias: &mut Option<TableAlias>,
    queries: &Catalog,
) -> bool {
    let identifier = |part: &ObjectNamePart| part.as_ident().map(|it| it.value.clone());
    let words: Option<Vec<String>> = name.0.iter().map(identifier).collect();
    let (full, own) = match words.as_deref() {
        Some([database, table]) if database == crate::DATABASE => (table.clone(), table.clone()),
        Some([database, table]) => (format!("{database}.{table}"), table.clone()),
        Some([table]) if !queries.contains_key(table) => (table.clone(), table.clone()),
        _ => return false,
    };
    let quoted = |text: String| Ident::with_quote('"', text);
    *name = ObjectName::from(vec![quoted(database.to_owned()), quoted(full)]);
    if alias.is_none() {
        *alias =
            Some(TableAlias { explicit: true, name: quoted(own), columns: Vec::new(), at: None });
    }
    true
}
