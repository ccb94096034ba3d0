//! Predicates that the engine has with another meaning: LIKE, in whose patterns ClickHouse leaves a backslash in place that
//! escapes nothing, and comparisons with ANY and ALL.

use super::call::{call, take};
use super::refused;
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

/// `a = ANY (SELECT …)` and `a != ALL (SELECT …)` are IN and NOT IN.
pub(super) fn quantified(
    left: &mut Expr,
    op: &BinaryOperator,
    right: &mut Expr,
    is_all: bool,
) -> Result<Expr, DialectError> {
    let word = if is_all { "ALL" } else { "ANY" };
    let (is_in, is_not_in) =
        (!is_all && *op == BinaryOperator::Eq, is_all && *op == BinaryOperator::NotEq);
    match right {
        Expr::Subquery(query) if is_in || is_not_in => {
            let subquery = query.clone();
            Ok(Expr::InSubquery { expr: Box::new(take(left)), subquery, negated: is_not_in })
        }
        _ => Err(refused(
            format!("{op} {word}"),
            "= ANY (SELECT ...) and != ALL (SELECT ...) are here; write the others with min or max",
        )),
    }
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
