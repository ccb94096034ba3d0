//! `WITH 5 AS k`: names of values, where the parser library knows names of queries only.

use super::alias::{self, Aliases};
use crate::DialectError;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Ident, Parens, Query, SetExpr, Statement, TableAlias, Values, With,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// Parses a query that begins with WITH; `None` if the statement is another one.
pub(super) fn parse(parser: &mut Parser<'_>) -> Option<Result<Statement, ParserError>> {
    let is_recursive = matches!(
        parser.peek_nth_token(1).token,
        Token::Word(word) if word.keyword == Keyword::RECURSIVE
    );
    if !parser.peek_keyword(Keyword::WITH) || is_recursive {
        return None;
    }
    Some(query(parser))
}

fn query(parser: &mut Parser<'_>) -> Result<Statement, ParserError> {
    let with_token = parser.next_token();
    let cte_tables = parser.parse_comma_separated(member)?;
    let mut query = parser.parse_query()?;
    if query.with.is_some() {
        return parser.expected("one WITH only", with_token);
    }
    query.with = Some(With { with_token: with_token.into(), recursive: false, cte_tables });
    Ok(Statement::Query(query))
}

/// A name of a query or of a value.
fn member(parser: &mut Parser<'_>) -> Result<Cte, ParserError> {
    let is_as = |token: Token| matches!(token, Token::Word(word) if word.keyword == Keyword::AS);
    // What is plainly a query's name gets the library's messages.
    if is_as(parser.peek_nth_token(1).token) && parser.peek_nth_token(2).token == Token::LParen {
        return parser.parse_cte();
    }
    if let Some(table) = parser.maybe_parse(table)? {
        return Ok(table);
    }
    let expr = parser.parse_expr()?;
    parser.expect_keyword(Keyword::AS)?;
    let name = parser.parse_identifier()?;
    Ok(marked(name, expr))
}

fn table(parser: &mut Parser<'_>) -> Result<Cte, ParserError> {
    parser.parse_cte()
}

/// A value as the library's syntax tree can hold it: a query of one value, from the name that nobody can write.
fn marked(name: Ident, expr: Expr) -> Cte {
    let row = Parens {
        opening_token: AttachedToken::empty(),
        content: vec![expr],
        closing_token: AttachedToken::empty(),
    };
    let values = Values { explicit_row: false, value_keyword: false, rows: vec![row] };
    Cte {
        alias: TableAlias { explicit: false, name, columns: Vec::new(), at: None },
        query: Box::new(Query {
            with: None,
            body: Box::new(SetExpr::Values(values)),
            order_by: None,
            limit_clause: None,
            fetch: None,
            locks: Vec::new(),
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators: Vec::new(),
        }),
        from: Some(Ident::new("")),
        materialized: None,
        closing_paren_token: AttachedToken::empty(),
    }
}

/// The value of a member that is not a query.
fn value(member: &Cte) -> Option<&Expr> {
    let mark = member.from.as_ref()?;
    if !mark.value.is_empty() || mark.quote_style.is_some() {
        return None;
    }
    let SetExpr::Values(values) = &*member.query.body else { return None };
    values.rows.first()?.content.first()
}

/// Replaces the names of values in a query and takes them out of its WITH.
pub(super) fn inline(query: &mut Query) -> Result<(), DialectError> {
    let Some(with) = &mut query.with else { return Ok(()) };
    let mut values = Aliases::new();
    for member in &with.cte_tables {
        if let Some(expr) = value(member) {
            alias::add(&mut values, &member.alias.name, expr)?;
        }
    }
    if values.is_empty() {
        return Ok(());
    }
    with.cte_tables.retain(|member| value(member).is_none());
    if with.cte_tables.is_empty() {
        query.with = None;
    }
    alias::apply_everywhere(query, &values)
}
