//! Predicates that the engine has with another meaning: LIKE, in whose patterns ClickHouse leaves a backslash in place that
//! escapes nothing, and comparisons with ANY and ALL.

use super::call::{call, take};
use super::{refused, sets};
use crate::DialectError;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value};

/// What LIKE is if its pattern is not written out: ClickHouse's function. A pattern that is written out becomes the engine's.
pub(super) fn like(
    text: &mut Expr,
    pattern: &mut Expr,
    is_negated: bool,
    any_case: bool,
) -> Option<Expr> {
    match pattern {
        Expr::Value(value) => {
            if let Value::SingleQuotedString(pattern) = &mut value.value {
                *pattern = with_backslashes(pattern);
            }
            None
        }
        Expr::Nested(inner) if matches!(**inner, Expr::Value(_)) => {
            like(text, inner, is_negated, any_case)
        }
        _ => {
            let name = match (is_negated, any_case) {
                (false, false) => "like",
                (false, true) => "ilike",
                (true, false) => "notLike",
                (true, true) => "notILike",
            };
            Some(Expr::Function(call(name, vec![take(text), take(pattern)])))
        }
    }
}

/// A backslash before any letter but `%`, `_` and itself is one; to the engine it is none.
fn with_backslashes(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        out.push(letter);
        if letter != '\\' {
            continue;
        }
        match letters.next() {
            Some(escaped @ ('%' | '_' | '\\')) => out.push(escaped),
            Some(other) => {
                out.push('\\');
                out.push(other);
            }
            None => {}
        }
    }
    out
}

/// `a = ANY (SELECT …)` and `a != ALL (SELECT …)` are IN and NOT IN; `a > ALL (SELECT …)` compares with the greatest.
pub(super) fn quantified(
    left: &mut Expr,
    op: &BinaryOperator,
    right: &mut Expr,
    is_all: bool,
) -> Result<Expr, DialectError> {
    let Expr::Subquery(query) = right else {
        return Err(refused("ANY or ALL of an expression", "write (SELECT ...) or has(array, x)"));
    };
    let mut subquery = query.clone();
    let (least, greatest) = (
        r#"SELECT min("value") FROM (SELECT 1) AS "set" ("value")"#,
        r#"SELECT max("value") FROM (SELECT 1) AS "set" ("value")"#,
    );
    let outer = match (op, is_all) {
        (BinaryOperator::Eq, false) | (BinaryOperator::NotEq, true) => {
            let expr = Box::new(take(left));
            return Ok(Expr::InSubquery { expr, subquery, negated: is_all });
        }
        (BinaryOperator::Gt | BinaryOperator::GtEq, false)
        | (BinaryOperator::Lt | BinaryOperator::LtEq, true) => least,
        (BinaryOperator::Gt | BinaryOperator::GtEq, true)
        | (BinaryOperator::Lt | BinaryOperator::LtEq, false) => greatest,
        _ => {
            let word = if is_all { "ALL" } else { "ANY" };
            return Err(refused(format!("{op} {word}"), "write IN or NOT IN"));
        }
    };
    sets::within(outer, &mut subquery)?;
    let (left, right) = (Box::new(take(left)), Box::new(Expr::Subquery(subquery)));
    Ok(Expr::Nested(Box::new(Expr::BinaryOp { left, op: op.clone(), right })))
}

#[cfg(test)]
mod tests {
    use super::with_backslashes;

    #[test]
    fn a_backslash_that_escapes_nothing_is_one() {
        assert_eq!(with_backslashes(r"\w\%a\_\\b"), r"\\w\%a\_\\b");
        assert_eq!(with_backslashes(r"a%_"), r"a%_");
    }
}
