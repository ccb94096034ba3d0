//! Operators that the parser library does not know: `t.1`, `t.1[2]`, `c ? a : b`, `a MOD b`, `a DIV b`. And `a IS NOT DISTINCT FROM b`,
//! after which it would take `b AND c` for one side.

use super::lexical::is_word;
use super::{call, within};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, ObjectName, Subscript, UnaryOperator, Value,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// Binds tighter than all others.
const ELEMENT: u8 = 100;
/// As `*` and `/`.
const PRODUCT: u8 = 40;
/// As `=`.
const COMPARISON: u8 = 20;
/// Less than OR.
const CHOICE: u8 = 3;
/// Less than all others.
const NAME: u8 = 1;

/// An operator at the parser's position.
enum Operator {
    /// The number of a tuple's element.
    Element(String),
    /// An element of an array that is an element itself: `t.1[2]`.
    Subscript,
    Choice,
    Modulo,
    WholeQuotient,
    /// IS DISTINCT FROM; true with NOT.
    Distinct(bool),
    /// The name of a part of an expression.
    Name,
}

fn operator(parser: &Parser<'_>) -> Option<Operator> {
    let next = parser.peek_token_ref();
    match &next.token {
        Token::Number(text, false) => {
            let index = text.strip_prefix('.')?;
            let is_index = !index.is_empty() && index.bytes().all(|digit| digit.is_ascii_digit());
            let is_adjacent = parser.get_current_token().span.end == next.span.start;
            (is_index && is_adjacent).then(|| Operator::Element(index.to_owned()))
        }
        Token::LBracket => Some(Operator::Subscript),
        Token::Placeholder(text) if text == "?" => Some(Operator::Choice),
        Token::Placeholder(text) if text == within::MARK => Some(Operator::Name),
        token if is_word(token, "MOD") || is_word(token, "DIV") => {
            let operator =
                if is_word(token, "MOD") { Operator::Modulo } else { Operator::WholeQuotient };
            match &parser.peek_nth_token_ref(1).token {
                // `SELECT a mod FROM t`: a name.
                Token::Comma | Token::RParen | Token::EOF | Token::SemiColon => None,
                Token::Word(word) if word.value.eq_ignore_ascii_case("FROM") => None,
                _ => Some(operator),
            }
        }
        token if is_word(token, "IS") => is_distinct(parser).map(Operator::Distinct),
        _ => None,
    }
}

/// Looks for IS DISTINCT FROM; true with NOT.
fn is_distinct(parser: &Parser<'_>) -> Option<bool> {
    let is = |place: usize, word: &str| is_word(&parser.peek_nth_token_ref(place).token, word);
    let is_not = is(1, "NOT");
    let place = 1 + usize::from(is_not);
    (is(place, "DISTINCT") && is(place + 1, "FROM")).then_some(is_not)
}

/// The precedence of the operator at the parser's position, if it is one of these.
pub(super) fn precedence(parser: &Parser<'_>) -> Option<u8> {
    match operator(parser) {
        Some(Operator::Element(_) | Operator::Subscript) => Some(ELEMENT),
        Some(Operator::Choice) => Some(CHOICE),
        Some(Operator::Name) => Some(NAME),
        Some(Operator::Modulo | Operator::WholeQuotient) => Some(PRODUCT),
        Some(Operator::Distinct(_)) => Some(COMPARISON),
        // A colon ends the middle of a choice; it is no operator here.
        None => (parser.peek_token_ref().token == Token::Colon).then_some(0),
    }
}

/// Parses an operator with what is after it.
pub(super) fn parse(parser: &mut Parser<'_>, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let operator = operator(parser)?;
    parser.next_token();
    Some(match operator {
        Operator::Element(index) => {
            let index = Expr::value(Value::Number(index, false));
            Ok(Expr::Function(call::call("tupleElement", vec![expr.clone(), index])))
        }
        Operator::Subscript => subscript(parser, expr),
        Operator::Choice => choice(parser, expr),
        Operator::Name => parser.parse_identifier().map(|name| within::marked(expr.clone(), name)),
        Operator::Distinct(is_not) => {
            for _ in 0..2 + usize::from(is_not) {
                parser.next_token();
            }
            let make = if is_not { Expr::IsNotDistinctFrom } else { Expr::IsDistinctFrom };
            let right = parser.parse_subexpr(COMPARISON);
            right.map(|right| make(Box::new(expr.clone()), Box::new(right)))
        }
        Operator::WholeQuotient => parser
            .parse_subexpr(PRODUCT)
            .map(|right| Expr::Function(call::call("intDiv", vec![expr.clone(), right]))),
        Operator::Modulo => parser.parse_subexpr(PRODUCT).map(|right| Expr::BinaryOp {
            left: Box::new(expr.clone()),
            op: BinaryOperator::Modulo,
            right: Box::new(right),
        }),
    })
}

/// The text that ClickHouse makes of a number before `::`, sign and all: `-1::UInt8` is a wrong text, and no negative number. So
/// is `- 1::Int8`, with the space in it.
pub(super) fn literal_before_cast(parser: &mut Parser<'_>) -> Option<Expr> {
    let is_negative = parser.peek_token_ref().token == Token::Minus;
    let at = usize::from(is_negative);
    let Token::Number(digits, false) = &parser.peek_nth_token_ref(at).token else { return None };
    if parser.peek_nth_token_ref(at + 1).token != Token::DoubleColon {
        return None;
    }
    let (sign, number) = (parser.peek_token_ref().span, parser.peek_nth_token_ref(at).span);
    let is_apart = is_negative && sign.end != number.start;
    let sign = if is_negative { "-" } else { "" };
    let text = format!("{sign}{}{digits}", if is_apart { " " } else { "" });
    for _ in 0..=at {
        parser.next_token();
    }
    Some(Expr::value(Value::SingleQuotedString(text)))
}

/// True for a number with or without a sign, and for a text, in parentheses or not.
pub(super) fn is_written(literal: &Expr) -> bool {
    match literal {
        Expr::Nested(inner) => is_written(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            matches!(&**expr, Expr::Value(value) if matches!(value.value, Value::Number(..)))
        }
        Expr::Value(value) => {
            matches!(value.value, Value::Number(..) | Value::SingleQuotedString(_))
        }
        _ => false,
    }
}

/// A call of `tuple`. The parser library would take `tuple(f(x)).1` for a type with a literal of it.
pub(super) fn tuple(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let is_call = is_word(&parser.peek_token_ref().token, "TUPLE")
        && parser.peek_nth_token_ref(1).token == Token::LParen;
    is_call.then(|| {
        let name = parser.parse_identifier()?;
        parser.parse_function(ObjectName::from(vec![name]))
    })
}

fn subscript(parser: &mut Parser<'_>, expr: &Expr) -> Result<Expr, ParserError> {
    let index = parser.parse_expr()?;
    parser.expect_token(&Token::RBracket)?;
    let access_chain = vec![AccessExpr::Subscript(Subscript::Index { index })];
    Ok(Expr::CompoundFieldAccess { root: Box::new(expr.clone()), access_chain })
}

fn choice(parser: &mut Parser<'_>, condition: &Expr) -> Result<Expr, ParserError> {
    let result = parser.parse_expr()?;
    parser.expect_token(&Token::Colon)?;
    let otherwise = parser.parse_subexpr(NAME)?;
    Ok(Expr::Function(call::call("if", vec![condition.clone(), result, otherwise])))
}
