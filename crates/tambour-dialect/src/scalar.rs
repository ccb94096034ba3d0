//! `WITH 5 AS k`: names of values, where the parser library knows names of queries only.

use super::alias::{self, Aliases};
use super::change::first;
use super::lexical::{closing, is_keyword, is_word, next};
use crate::DialectError;
use crate::walk::walk_mut;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    Cte, Expr, Ident, Parens, Query, SetExpr, Statement, TableAlias, Values, VisitorMut, With,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};
use std::ops::ControlFlow;

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

/// The name of the first value of a row that holds a value's own; nobody types it.
const VALUE: &str = "\u{1f}value";

/// `(WITH 5 AS k SELECT …)`: below a statement the library parses WITH itself, so its values become queries of a row that is marked.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    let is_insert = first(tokens).is_some_and(|it| is_word(&tokens[it].token, "INSERT"));
    let mut depth = 0_usize;
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_begin = tokens[at].token == Token::LParen || is_insert && depth == 0;
        let with = next(tokens, at).filter(|_| is_begin);
        let with = with.filter(|it| is_keyword(&tokens[*it].token, Keyword::WITH));
        let first = with.and_then(|it| next(tokens, it));
        let first = first.filter(|it| !is_keyword(&tokens[*it].token, Keyword::RECURSIVE));
        let mut member = first;
        while let Some(start) = member {
            let Some(end) = end_of_member(tokens, start) else { break };
            let added = as_query(tokens, start, end);
            let end = end + added;
            member = next(tokens, end).filter(|_| tokens[end].token == Token::Comma);
        }
        at += 1;
    }
}

/// The comma or the SELECT after a member of WITH.
fn end_of_member(tokens: &[TokenWithSpan], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        match &tokens.get(at)?.token {
            Token::LParen | Token::LBracket => at = closing(tokens, at)?,
            Token::Comma => return Some(at),
            token if is_keyword(token, Keyword::SELECT) || is_keyword(token, Keyword::FROM) => {
                return Some(at);
            }
            _ => {}
        }
        at += 1;
    }
}

/// Makes a query of a value with a name; how many tokens more that takes.
fn as_query(tokens: &mut Vec<TokenWithSpan>, start: usize, end: usize) -> usize {
    let after = next(tokens, start);
    let is_query = after.is_some_and(|it| {
        is_keyword(&tokens[it].token, Keyword::AS)
            && next(tokens, it).is_some_and(|open| tokens[open].token == Token::LParen)
    });
    let last = |end: usize| {
        (start..end).rev().find(|it| !matches!(tokens[*it].token, Token::Whitespace(_)))
    };
    let Some(name) = last(end).filter(|_| !is_query) else { return 0 };
    let Some(as_place) = last(name).filter(|it| is_keyword(&tokens[*it].token, Keyword::AS)) else {
        return 0;
    };
    let span = tokens[start].span;
    let token = |token| TokenWithSpan { token, span };
    let mark = Token::make_word(VALUE, Some('"'));
    let mut query = vec![tokens[name].clone(), token(Token::make_keyword("AS"))];
    let open = [Token::LParen, Token::make_keyword("VALUES"), Token::LParen, mark, Token::Comma];
    query.extend(open.into_iter().map(token));
    query.extend_from_slice(&tokens[start..as_place]);
    query.extend([Token::RParen, Token::RParen].into_iter().map(token));
    let added = query.len() - (name + 1 - start);
    tokens.splice(start..=name, query);
    added
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
    let SetExpr::Values(values) = &*member.query.body else { return None };
    match (&member.from, values.rows.first()?.content.as_slice()) {
        (Some(mark), [value]) if mark.value.is_empty() && mark.quote_style.is_none() => Some(value),
        (None, [Expr::Identifier(mark), value]) if mark.value == VALUE => Some(value),
        _ => None,
    }
}

/// Replaces the names of values in a query and in those within it, and takes them out of WITH. A name belongs to the innermost
/// query that gives it, so these come first.
pub(super) fn inline(query: &mut Query) -> Result<(), DialectError> {
    match walk_mut(query, &mut Inliner) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Inliner;

impl VisitorMut for Inliner {
    type Break = DialectError;

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<DialectError> {
        match inline_own(query) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}

fn inline_own(query: &mut Query) -> Result<(), DialectError> {
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
