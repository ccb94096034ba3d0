//! Filters that an index of words can narrow: `hasToken(_record, 'x')` and `_record LIKE '%x%'`.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, Like, Operator};
use tambour_record::Query;

/// What all rows that pass a filter match, if that can be said of the column `record`.
pub(super) fn query_of(filter: &Expr, record: &str) -> Option<Query> {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And => match (query_of(left, record), query_of(right, record)) {
                (Some(left), Some(right)) => Some(Query::And(vec![left, right])),
                (one, other) => one.or(other),
            },
            Operator::Or => {
                Some(Query::Or(vec![query_of(left, record)?, query_of(right, record)?]))
            }
            // Functions that answer with 0 or 1.
            Operator::NotEq if is_number(right, "0") => has_token(left, record),
            Operator::Eq if is_number(right, "1") => has_token(left, record),
            _ => None,
        },
        Expr::Cast(Cast { expr, .. }) => query_of(expr, record),
        Expr::Like(Like {
            negated: false,
            case_insensitive: false,
            expr,
            pattern,
            escape_char,
        }) => {
            let pattern = text_of(pattern)?;
            if !is_column(expr, record) || escape_char.is_some() || pattern.contains('\\') {
                return None;
            }
            let pieces = pattern.split(['%', '_']).filter(|piece| !piece.is_empty());
            let pieces: Vec<Query> =
                pieces.map(|piece| Query::Bytes(piece.as_bytes().to_vec())).collect();
            (!pieces.is_empty()).then_some(Query::And(pieces))
        }
        function => has_token(function, record),
    }
}

fn has_token(function: &Expr, record: &str) -> Option<Query> {
    let function = match function {
        Expr::Cast(Cast { expr, .. }) => expr,
        function => function,
    };
    let Expr::ScalarFunction(function) = function else { return None };
    let known = ["hasToken", "hasTokenCaseInsensitive"];
    let [column, token] = &function.args[..] else { return None };
    if !known.contains(&function.name()) || !is_column(column, record) {
        return None;
    }
    let token = text_of(token)?;
    // Anything but one word is an error, which the function tells.
    let is_word = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    if is_word { Query::words(token, false) } else { None }
}

fn is_column(expr: &Expr, record: &str) -> bool {
    match expr {
        Expr::Column(column) => column.name == record,
        Expr::Cast(Cast { expr, .. }) => is_column(expr, record),
        _ => false,
    }
}

fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
            _,
        ) => Some(text),
        Expr::Literal(ScalarValue::Binary(Some(bytes)), _) => std::str::from_utf8(bytes).ok(),
        _ => None,
    }
}

fn is_number(expr: &Expr, number: &str) -> bool {
    match expr {
        Expr::Literal(value, _) => value.data_type().is_integer() && value.to_string() == number,
        Expr::Cast(Cast { expr, .. }) => is_number(expr, number),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::logical_expr::{col, lit};

    #[test]
    fn filters_become_queries_only_where_they_say_as_much() {
        let bytes = |text: &str| Query::Bytes(text.as_bytes().to_vec());
        let like = col("_record").like(lit("%disk_full%"));
        let both = Query::And(vec![bytes("disk"), bytes("full")]);
        assert_eq!(query_of(&like, "_record"), Some(both.clone()));
        assert_eq!(query_of(&like.clone().and(col("a").eq(lit(1))), "_record"), Some(both));
        assert_eq!(query_of(&like.clone().or(col("a").eq(lit(1))), "_record"), None);
        assert_eq!(query_of(&like, "text"), None);
        for other in [
            col("_record").not_like(lit("%a%")),
            col("_record").ilike(lit("%a%")),
            col("_record").like(lit("%")),
            col("_record").like(lit("a\\%")),
            col("_record").eq(lit("a")),
        ] {
            assert_eq!(query_of(&other, "_record"), None, "{other}");
        }
    }
}
