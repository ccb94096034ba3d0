//! `CREATE TEMPORARY TABLE t AS SELECT …`: a result that is kept in memory under a name until the session ends, and its DROP.
//!
//! The parser does not see the statement, for what is before AS is ClickHouse's own, and what is after it is a query like any other.

use super::lexical::{self, is_keyword, is_word};
use super::refused;
use crate::DialectError;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// A table that lives as long as its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Temporary<'a> {
    /// Its name.
    pub name: String,
    /// True if one of that name may be there, and is replaced.
    pub replaces: bool,
    /// True if one of that name may be there, and stays.
    pub is_optional: bool,
    /// The query that its rows come from.
    pub query: &'a str,
}

/// The statement, if it is one.
pub fn temporary(sql: &str) -> Result<Option<Temporary<'_>>, DialectError> {
    if !super::first_word_is(sql, "CREATE") {
        return Ok(None);
    }
    let tokens = lexical::tokens(sql)?;
    let mut words = Words { rest: tokens.iter().filter(|it| !is_blank(it)).collect(), at: 0 };
    let mut replaces = false;
    if !words.take("CREATE") {
        return Ok(None);
    }
    if words.take("OR") {
        replaces = words.take("REPLACE");
    }
    if !words.take("TEMPORARY") || !words.take("TABLE") {
        return Ok(None);
    }
    let clause = "CREATE TEMPORARY TABLE";
    let is_optional = words.take("IF") && words.take("NOT") && words.take("EXISTS");
    let Some(name) = words.name() else {
        return Err(refused(
            format!("{clause} without a name"),
            "write CREATE TEMPORARY TABLE name AS SELECT ...",
        ));
    };
    if words.next_is(&Token::Period) {
        return Err(refused(
            format!("{clause} in a database"),
            "it belongs to the session; write its name alone",
        ));
    }
    if words.take("ENGINE") {
        words.skip(&Token::Eq);
        if !words.take("MEMORY") {
            return Err(refused(
                format!("{clause} of this engine"),
                "it is kept in memory: leave ENGINE out",
            ));
        }
        if words.skip(&Token::LParen) {
            words.skip(&Token::RParen);
        }
    }
    if words.next_is(&Token::LParen) {
        return Err(refused(
            format!("{clause} with a list of columns"),
            "its columns are those of a query: write AS SELECT CAST(... AS type) AS name",
        ));
    }
    let Some(start) = words.after_as() else {
        return Err(refused(format!("{clause} without a query"), "write AS SELECT ..."));
    };
    let query = sql.get(offset(sql, start)..).unwrap_or_default();
    Ok(Some(Temporary { name, replaces, is_optional, query }))
}

fn is_blank(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_) | Token::EOF)
}

/// Where a line and a column are in a text, in bytes.
fn offset(text: &str, place: Location) -> usize {
    let mut lines = text.split_inclusive('\n');
    let before = usize::try_from(place.line.saturating_sub(1)).unwrap_or(usize::MAX);
    let start: usize = lines.by_ref().take(before).map(str::len).sum();
    let characters = usize::try_from(place.column.saturating_sub(1)).unwrap_or(usize::MAX);
    let line = lines.next().unwrap_or_default();
    start + line.char_indices().nth(characters).map_or(line.len(), |(at, _)| at)
}

/// The tokens of a statement that are left.
struct Words<'a> {
    rest: Vec<&'a TokenWithSpan>,
    at: usize,
}

impl Words<'_> {
    fn take(&mut self, word: &str) -> bool {
        let is_it = self.rest.get(self.at).is_some_and(|it| is_word(&it.token, word));
        self.at += usize::from(is_it);
        is_it
    }
    fn next_is(&self, token: &Token) -> bool {
        self.rest.get(self.at).is_some_and(|it| it.token == *token)
    }
    fn skip(&mut self, token: &Token) -> bool {
        let is_it = self.next_is(token);
        self.at += usize::from(is_it);
        is_it
    }
    fn name(&mut self) -> Option<String> {
        let Token::Word(word) = &self.rest.get(self.at)?.token else { return None };
        self.at += 1;
        Some(word.value.clone())
    }
    /// Where the first token after AS begins.
    fn after_as(&self) -> Option<Location> {
        let is_as = is_keyword(&self.rest.get(self.at)?.token, Keyword::AS);
        self.rest.get(self.at + 1).filter(|_| is_as).map(|it| it.span.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_is_what_comes_after_as() {
        let found =
            temporary("CREATE TEMPORARY TABLE\n  t ENGINE = Memory /* \u{e4} */ AS SELECT 1 AS a;")
                .unwrap()
                .unwrap();
        assert_eq!((found.name.as_str(), found.query), ("t", "SELECT 1 AS a;"));
        let found =
            temporary("/* x */ create or replace temporary table if not exists t as (select 1)");
        let found = found.unwrap().unwrap();
        assert_eq!(found.query, "(select 1)");
        assert!(found.replaces && found.is_optional);
    }

    #[test]
    fn other_statements_are_left_and_other_forms_refused() {
        for sql in ["CREATE TABLE t (a UInt8)", "SELECT 1", "CREATE VIEW v AS SELECT 1", ""] {
            assert_eq!(temporary(sql).unwrap(), None, "{sql}");
        }
        for sql in [
            "CREATE TEMPORARY TABLE t (a UInt8)",
            "CREATE TEMPORARY TABLE t",
            "CREATE TEMPORARY TABLE a.t AS SELECT 1",
            "CREATE TEMPORARY TABLE t ENGINE = MergeTree AS SELECT 1",
            "CREATE TEMPORARY TABLE",
        ] {
            assert!(temporary(sql).is_err(), "{sql}");
        }
    }
}
