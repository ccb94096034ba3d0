//! `LIMIT n BY keys`: rows are numbered within their keys, in the order of the query, and QUALIFY keeps the first of them.
//!
//! The parser library knows `OFFSET m LIMIT n BY keys` and a single LIMIT; the other spellings become that one, and a LIMIT
//! of all rows after it becomes one more key with a name that nobody types.

use super::lexical::{is_keyword, is_word, next};
use super::{call, ends, refused};
use crate::DialectError;
use crate::marks::APART;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, Ident, LimitClause, Offset, OffsetRows, OrderBy, OrderByExpr,
    OrderByKind, Query, Select, SelectItem, SetExpr, Value, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The key that stands for WITH TIES.
const TIES: &str = "\u{1f}ties";
/// The key that holds the limit of all rows.
const TOTAL: &str = "\u{1f}limit";

/// Brings the spellings of LIMIT ... BY into that of the parser.
pub(super) fn arrange(tokens: &mut Vec<TokenWithSpan>) {
    let mut index = 0;
    while index < tokens.len() {
        if is_keyword(&tokens[index].token, Keyword::LIMIT) {
            with_ties(tokens, index);
            limit(tokens, index);
        }
        index += 1;
    }
}

/// The first token from `from` on, outside of parentheses, that is one of these; `None` where the clause ends before.
fn find(tokens: &[TokenWithSpan], from: usize, is_it: impl Fn(&Token) -> bool) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.checked_sub(1)?,
            token if depth == 0 && is_it(token) => return Some(at),
            token if depth == 0 && ends(token) => return None,
            _ => {}
        }
    }
    None
}

fn ends(token: &Token) -> bool {
    let words = [Keyword::UNION, Keyword::SETTINGS, Keyword::FORMAT, Keyword::INTO];
    *token == Token::SemiColon || words.iter().any(|word| is_keyword(token, *word))
}

/// `LIMIT n WITH TIES` is `LIMIT n BY` a key that nobody types.
fn with_ties(tokens: &mut [TokenWithSpan], at: usize) {
    let is_end = |token: &Token| {
        is_keyword(token, Keyword::LIMIT)
            || is_keyword(token, Keyword::BY)
            || is_word(token, "WITH")
    };
    let Some(with) = find(tokens, at + 1, is_end).filter(|it| is_word(&tokens[*it].token, "WITH"))
    else {
        return;
    };
    if let Some(ties) = next(tokens, with).filter(|it| is_word(&tokens[*it].token, "TIES")) {
        tokens[with].token = Token::make_word("BY", None);
        tokens[ties].token = Token::make_word(TIES, Some('"'));
    }
}

/// The key of LIMIT ... WITH TIES.
pub(super) fn ties() -> Expr {
    Expr::Identifier(Ident::with_quote('"', TIES))
}

fn limit(tokens: &mut Vec<TokenWithSpan>, at: usize) {
    let is_by = |token: &Token| is_keyword(token, Keyword::BY);
    let Some(by) = find(tokens, at + 1, is_by) else { return };
    let is_other = |token: &Token| {
        is_keyword(token, Keyword::LIMIT)
            || is_keyword(token, Keyword::ORDER)
            || is_word(token, "WITH")
    };
    if find(tokens, at + 1, is_other).is_some_and(|other| other < by) {
        return;
    }
    let word = |text: &str| Token::make_word(text, None);
    let comma = find(tokens, at + 1, |token| *token == Token::Comma).filter(|it| *it < by);
    let offset = find(tokens, at + 1, |token| is_keyword(token, Keyword::OFFSET));
    if let Some(comma) = comma {
        tokens[at].token = word("OFFSET");
        tokens[comma].token = word("LIMIT");
    } else if let Some(offset) = offset.filter(|it| *it < by) {
        tokens[at..by].rotate_left(offset - at);
    }
    let Some(total) = find(tokens, by + 1, |token| is_keyword(token, Keyword::LIMIT)) else {
        return;
    };
    let end = end_of(tokens, total);
    let span = tokens[total].span;
    let token = |token| TokenWithSpan { token, span };
    if let Some(offset) = find(tokens, total + 1, |token| is_keyword(token, Keyword::OFFSET)) {
        // `LIMIT n OFFSET m` is `LIMIT m, n`; `key(n, m)` is told from it by its order.
        tokens[offset].token = Token::Comma;
        tokens.insert(end, token(Token::RParen));
        tokens.splice(
            total..=total,
            [Token::Comma, Token::make_word(&format!("{TOTAL}-offset"), Some('"')), Token::LParen]
                .map(token),
        );
        return;
    }
    tokens.insert(end, token(Token::RParen));
    tokens.splice(
        total..=total,
        [Token::Comma, Token::make_word(TOTAL, Some('"')), Token::LParen].map(token),
    );
}

/// Where the clause at a place ends.
fn end_of(tokens: &[TokenWithSpan], from: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket if depth == 0 => return at,
            Token::RParen | Token::RBracket => depth -= 1,
            Token::EOF => return at,
            token if depth == 0 && ends(token) => return at,
            _ => {}
        }
    }
    tokens.len()
}

/// Turns LIMIT ... BY of a query into a condition on numbers of rows.
pub(super) fn translate(query: &mut Query) -> Result<(), DialectError> {
    let is_counted = ends::plainly(query)?;
    let Some(LimitClause::LimitOffset { limit, offset, limit_by }) = &mut query.limit_clause else {
        return Ok(());
    };
    if limit_by.is_empty() && !is_counted {
        return Ok(());
    }
    let mut keys = std::mem::take(limit_by);
    let (limit, offset) = (limit.take(), offset.take().map(|offset| offset.value));
    let total = keys.last().and_then(total);
    if total.is_some() {
        keys.pop();
    }
    query.limit_clause = total;
    if ends::plainly(query)? {
        return Err(refused(
            "a negative LIMIT, or one of a part of all rows, after LIMIT ... BY",
            "put LIMIT ... BY in a subquery",
        ));
    }
    if is_counted && keys.is_empty() {
        ends::set_apart(query)?;
    }
    let SetExpr::Select(select) = &mut *query.body else {
        return Err(refused("LIMIT ... BY of this", "write it after a SELECT"));
    };
    if select.distinct.is_some() {
        return Err(refused("LIMIT ... BY with DISTINCT", "put SELECT DISTINCT in a subquery"));
    }
    let order = order(query.order_by.as_ref(), select)?;
    let has_ties = keys == [ties()];
    if has_ties && order.is_empty() {
        return Err(refused("LIMIT ... WITH TIES without ORDER BY", "name the order"));
    }
    let keys = if has_ties { Vec::new() } else { keys };
    let apart = |key| Ok(Expr::Function(call::call(APART, vec![ordinal(key, select)?])));
    let keys = keys.into_iter().map(apart).collect::<Result<Vec<_>, DialectError>>()?;
    let row = over("row_number", keys.clone(), order.clone());
    let condition =
        match ends::kept(limit, offset, &row, &ends::total(keys.clone()), !keys.is_empty())? {
            ends::Kept::Plain(ends) if has_ties => {
                tied(&row, &over("rank", Vec::new(), order), ends.0, ends.1)
            }
            ends::Kept::Plain(ends) => between(&row, ends.0, ends.1),
            ends::Kept::Where(_) if has_ties => {
                return Err(refused(
                    "WITH TIES after a negative LIMIT, or one of a part of all rows",
                    "reverse the order, or write the number of rows",
                ));
            }
            ends::Kept::Where(condition) => *condition,
        };
    select.qualify = Some(match select.qualify.take() {
        Some(other) => both(other, condition),
        None => condition,
    });
    Ok(())
}

/// The limit of all rows that a key holds.
fn total(key: &Expr) -> Option<LimitClause> {
    let Expr::Function(function) = key else { return None };
    let name = call::name(function)?.to_owned();
    let has_offset = name.strip_prefix(TOTAL)? == "-offset";
    let mut arguments = call::arguments(&mut function.clone())?.into_iter();
    let (first, second) = (arguments.next()?, arguments.next());
    let (limit, offset) = match (has_offset, second) {
        (true, offset) => (first, offset),
        (false, Some(limit)) => (limit, Some(first)),
        (false, None) => (first, None),
    };
    let offset = offset.map(|value| Offset { value, rows: OffsetRows::None });
    Some(LimitClause::LimitOffset { limit: Some(limit), offset, limit_by: Vec::new() })
}

/// The order of the query, for the numbers of its rows.
fn order(order_by: Option<&OrderBy>, select: &Select) -> Result<Vec<OrderByExpr>, DialectError> {
    let Some(order_by) = order_by else { return Ok(Vec::new()) };
    match &order_by.kind {
        OrderByKind::Expressions(items) => items
            .iter()
            .map(|item| {
                Ok(OrderByExpr { expr: ordinal(item.expr.clone(), select)?, ..item.clone() })
            })
            .collect(),
        OrderByKind::All(_) => {
            Err(refused("LIMIT ... BY with ORDER BY ALL", "name the columns of the order"))
        }
    }
}

/// `ORDER BY 1`: the first result.
fn ordinal(expr: Expr, select: &Select) -> Result<Expr, DialectError> {
    let Expr::Value(value) = &expr else { return Ok(expr) };
    let Value::Number(text, _) = &value.value else { return Ok(expr) };
    let index = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    match index.and_then(|index| select.projection.get(index)) {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => {
            Ok(expr.clone())
        }
        _ => Err(refused(format!("the number {text} in LIMIT ... BY"), "name the column")),
    }
}

pub(super) fn over(function: &str, keys: Vec<Expr>, order_by: Vec<OrderByExpr>) -> Expr {
    // Numbers and ranks do not look at their frame, and the engine has no ranges of UUIDs and the like.
    let rows = (function != "count").then_some(WindowFrame {
        units: WindowFrameUnits::Rows,
        start_bound: WindowFrameBound::Preceding(None),
        end_bound: Some(WindowFrameBound::CurrentRow),
    });
    let window = WindowSpec { window_name: None, partition_by: keys, order_by, window_frame: rows };
    let function = call::call(function, Vec::new());
    Expr::Function(Function { over: Some(WindowType::WindowSpec(window)), ..function })
}

/// Rows past the offset, up to the last one that is equal to the last row within the limit.
fn tied(row: &Expr, rank: &Expr, limit: Option<Expr>, offset: Option<Expr>) -> Expr {
    match offset {
        None => between(rank, limit, None),
        Some(skipped) => {
            let past = between(row, None, Some(skipped.clone()));
            let end = limit.map(|limit| {
                let sum = Expr::BinaryOp {
                    left: Box::new(skipped),
                    op: BinaryOperator::Plus,
                    right: Box::new(limit),
                };
                between(rank, Some(sum), None)
            });
            end.into_iter().fold(past, both)
        }
    }
}

pub(super) fn between(row: &Expr, limit: Option<Expr>, offset: Option<Expr>) -> Expr {
    let binary = |left: &Expr, op, right: Expr| Expr::BinaryOp {
        left: Box::new(left.clone()),
        op,
        right: Box::new(right),
    };
    let at_most = |end: Expr| binary(row, BinaryOperator::LtEq, end);
    match (limit, offset) {
        (Some(limit), None) => at_most(limit),
        (Some(limit), Some(offset)) => {
            let end = binary(&offset, BinaryOperator::Plus, limit);
            both(binary(row, BinaryOperator::Gt, offset), at_most(end))
        }
        (None, Some(offset)) => binary(row, BinaryOperator::Gt, offset),
        (None, None) => Expr::value(Value::Boolean(true)),
    }
}

pub(super) fn both(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(Expr::Nested(Box::new(left))),
        op: BinaryOperator::And,
        right: Box::new(Expr::Nested(Box::new(right))),
    }
}
