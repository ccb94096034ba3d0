//! `INSERT … VALUES` of literals: each is read as its column's type, from its own text, as ClickHouse does. A decimal is
//! never a float on the way, and an integer may have as many digits as its column holds.

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringBuilder};
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::sql::sqlparser::ast::{Expr, Query, SetExpr, UnaryOperator, Value};
use std::sync::Arc;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Deepest nesting of literals that is looked at.
const DEPTH_MAX: usize = 32;

/// The rows as texts, if the query is VALUES of nothing but literals, all rows equally long.
pub(super) fn of(query: &Query) -> Option<Literals> {
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.settings.is_none()
        && query.format_clause.is_none();
    let SetExpr::Values(values) = query.body.as_ref() else { return None };
    let width = values.rows.first()?.content.len();
    let mut rows = Vec::with_capacity(values.rows.len());
    for row in &values.rows {
        let cells: Option<Vec<Cell>> = row.content.iter().map(cell).collect();
        rows.push(cells.filter(|cells| cells.len() == width)?);
    }
    is_plain.then_some(Literals { width, rows })
}

/// Rows of literals.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Literals {
    /// Values per row.
    pub(super) width: usize,
    rows: Vec<Vec<Cell>>,
}

/// The text of a value as a file would have it; `None` is NULL.
type Cell = Option<String>;

impl Literals {
    /// Batches of texts.
    pub(super) fn batches(&self) -> impl Iterator<Item = arrow::error::Result<RecordBatch>> + '_ {
        let fields = (0..self.width)
            .map(|index| Field::new(format!("value {}", index + 1), DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        self.rows.chunks(BATCH_ROWS).map(move |rows| {
            let column = |index: usize| -> ArrayRef {
                let mut texts = StringBuilder::new();
                for row in rows {
                    texts.append_option(row[index].as_deref());
                }
                Arc::new(texts.finish())
            };
            let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
            let columns = (0..self.width).map(column).collect();
            RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)
        })
    }
}

/// `None` if the expression is not a literal.
fn cell(expr: &Expr) -> Option<Cell> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Null => Some(None),
            Value::SingleQuotedString(text) => Some(Some(text.clone())),
            _ => text(expr, 0).map(Some),
        },
        _ => text(expr, 0).map(Some),
    }
}

/// The text of a literal inside of others.
fn text(expr: &Expr, depth: usize) -> Option<String> {
    if depth > DEPTH_MAX {
        return None;
    }
    let list = |items: &[Expr]| -> Option<String> {
        let texts: Option<Vec<String>> = items.iter().map(|item| text(item, depth + 1)).collect();
        Some(texts?.join(","))
    };
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(digits.clone()),
            Value::SingleQuotedString(text) => Some(quoted(text)),
            Value::Boolean(value) => Some(value.to_string()),
            Value::Null => Some("NULL".to_owned()),
            _ => None,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match expr.as_ref() {
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => Some(format!("-{digits}")),
                _ => None,
            },
            _ => None,
        },
        Expr::Array(array) => Some(format!("[{}]", list(&array.elem)?)),
        Expr::Tuple(items) => Some(format!("({})", list(items)?)),
        Expr::Dictionary(fields) => {
            let field = |key: &str, value: &Expr| {
                Some(format!("{}:{}", quoted(key), text(value, depth + 1)?))
            };
            let fields = fields.iter().map(|it| field(&it.key.value, &it.value));
            Some(format!("{{{}}}", fields.collect::<Option<Vec<_>>>()?.join(",")))
        }
        _ => None,
    }
}

/// A text as it stands inside of lists.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for character in text.chars() {
        match character {
            '\'' => quoted.push_str("\\'"),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            '\0' => quoted.push_str("\\0"),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use tambour_dialect::parse_query;

    fn cells(values: &str) -> Option<Vec<Vec<Cell>>> {
        of(&parse_query(values).unwrap()).map(|literals| literals.rows)
    }

    #[test]
    fn literals_keep_their_digits() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            cells("VALUES (12345678901234567890.123, -1, NULL, 'a', true)"),
            Some(vec![vec![
                some("12345678901234567890.123"),
                some("-1"),
                None,
                some("a"),
                some("true")
            ]])
        );
        assert_eq!(
            cells("VALUES ([1, -2], (1, 'x'), {'k': NULL})"),
            Some(vec![vec![some("[1,-2]"), some("(1,'x')"), some("{'k':NULL}")]])
        );
    }

    #[test]
    fn anything_else_is_a_query() {
        for values in [
            "VALUES (1 + 1)",
            "VALUES (now())",
            "SELECT 1",
            "VALUES (1, 2), (3)",
            "VALUES (1) LIMIT 0",
        ] {
            assert_eq!(cells(values), None, "{values}");
        }
    }
}
