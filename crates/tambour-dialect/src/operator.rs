//! Operators written as functions (`equals(a, b)`, `and(a, b, c)`, `plus(a, b)`), and functions that are another
//! expression.

use super::call::arguments;
use super::refused;
use super::rewrite::condition_of;
use crate::DialectError;
use datafusion::sql::sqlparser::ast::{BinaryOperator, CaseWhen, Expr, Function, Value};

/// Names of functions that become operators.
pub(super) const NAMES: &[&str] = &[
    "equals",
    "notEquals",
    "less",
    "greater",
    "lessOrEquals",
    "greaterOrEquals",
    "plus",
    "minus",
    "multiply",
    "divide",
    "and",
    "or",
    "xor",
    "isDistinctFrom",
    "isNotDistinctFrom",
    "isZeroOrNull",
    "caseWithExpression",
    "fromUnixTimestampInJodaSyntax",
    "materialize",
    "identity",
    "ignore",
    "ifNotFinite",
    "toLowCardinality",
    "tuplePlus",
    "tupleMinus",
    "tupleMultiply",
    "tupleDivide",
    "tupleMultiplyByNumber",
    "tupleDivideByNumber",
];

fn operator(name: &str) -> Option<BinaryOperator> {
    Some(match name {
        "equals" => BinaryOperator::Eq,
        "notEquals" => BinaryOperator::NotEq,
        "less" => BinaryOperator::Lt,
        "greater" => BinaryOperator::Gt,
        "lessOrEquals" => BinaryOperator::LtEq,
        "greaterOrEquals" => BinaryOperator::GtEq,
        "plus" | "tuplePlus" => BinaryOperator::Plus,
        "minus" | "tupleMinus" => BinaryOperator::Minus,
        "multiply" | "tupleMultiply" | "tupleMultiplyByNumber" => BinaryOperator::Multiply,
        "divide" | "tupleDivide" | "tupleDivideByNumber" => BinaryOperator::Divide,
        _ => return None,
    })
}

fn joined(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    let side = |expr| Box::new(Expr::Nested(Box::new(expr)));
    Expr::Nested(Box::new(Expr::BinaryOp { left: side(left), op, right: side(right) }))
}

/// What a call is as an operator.
pub(super) fn rewrite(function: &mut Function, name: &str) -> Result<Option<Expr>, DialectError> {
    if !NAMES.contains(&name) {
        return Ok(None);
    }
    let all = arguments(function).unwrap_or_default();
    let wrong = |expected: &str| refused(format!("{name} with these arguments"), expected);
    if matches!(name, "and" | "or" | "xor") {
        if all.len() < 2 {
            return Err(wrong("it takes two or more"));
        }
        let op = match name {
            "and" => BinaryOperator::And,
            "or" => BinaryOperator::Or,
            _ => BinaryOperator::NotEq,
        };
        let all = all.into_iter().map(condition_of);
        return Ok(all.reduce(|left, right| joined(left, op.clone(), right)));
    }
    if name == "caseWithExpression" {
        return case(all).ok_or_else(|| wrong("it takes a value, pairs, and one result")).map(Some);
    }
    if name == "fromUnixTimestampInJodaSyntax" {
        return joda(all).ok_or_else(|| wrong("it takes seconds and a pattern")).map(Some);
    }
    if name == "ignore" {
        return Ok(Some(Expr::value(Value::Number("0".to_owned(), false))));
    }
    if name == "ifNotFinite" {
        let Ok([value, other]) = <[Expr; 2]>::try_from(all) else {
            return Err(wrong("it takes two"));
        };
        let is_finite = Expr::Function(super::call::call("isFinite", vec![value.clone()]));
        return Ok(Some(super::call::choice(is_finite, value, other)));
    }
    if matches!(name, "materialize" | "identity" | "isZeroOrNull" | "toLowCardinality") {
        let Ok([only]) = <[Expr; 1]>::try_from(all) else { return Err(wrong("it takes one")) };
        if name != "isZeroOrNull" {
            return Ok(Some(Expr::Nested(Box::new(only))));
        }
        let zero = Expr::value(Value::Number("0".to_owned(), false));
        let is_null = Expr::IsNull(Box::new(Expr::Nested(Box::new(only.clone()))));
        return Ok(Some(joined(
            joined(only, BinaryOperator::Eq, zero),
            BinaryOperator::Or,
            is_null,
        )));
    }
    if matches!(name, "tuplePlus" | "tupleMinus" | "tupleMultiply" | "tupleDivide")
        && all.len() > 2
        && let Some(op) = operator(name)
    {
        return Ok(all.into_iter().reduce(|left, right| joined(left, op.clone(), right)));
    }
    let Ok([left, right]) = <[Expr; 2]>::try_from(all) else { return Err(wrong("it takes two")) };
    Ok(Some(match (name, operator(name)) {
        (_, Some(op)) => joined(left, op, right),
        ("isDistinctFrom", _) => Expr::IsDistinctFrom(Box::new(left), Box::new(right)),
        _ => Expr::IsNotDistinctFrom(Box::new(left), Box::new(right)),
    }))
}

/// `fromUnixTimestampInJodaSyntax(seconds, pattern, zone)`.
fn joda(all: Vec<Expr>) -> Option<Expr> {
    let mut all = all.into_iter();
    let (seconds, pattern) = (all.next()?, all.next()?);
    let time = Expr::Function(super::call::call("formattedMoment", vec![seconds]));
    let arguments = [time, pattern].into_iter().chain(all).collect();
    Some(Expr::Function(super::call::call("formatDateTimeInJodaSyntax", arguments)))
}

fn case(mut all: Vec<Expr>) -> Option<Expr> {
    if all.len() < 4 || !all.len().is_multiple_of(2) {
        return None;
    }
    let otherwise = all.pop()?;
    let mut rest = all.into_iter();
    let operand = rest.next()?;
    let mut conditions = Vec::new();
    while let (Some(condition), Some(result)) = (rest.next(), rest.next()) {
        conditions.push(CaseWhen { condition, result });
    }
    Some(super::call::chosen(Some(operand), conditions, otherwise))
}
