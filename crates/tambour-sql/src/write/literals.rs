//! `INSERT … VALUES` of literals: each is read as its column's type, from its own text, as ClickHouse does. A decimal is
//! never a float on the way, and an integer may have as many digits as its column holds.

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringBuilder};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion::sql::sqlparser::ast::{Expr, Parens, Query, SetExpr, UnaryOperator, Value};
use std::sync::Arc;
use tambour_part::types::DataType as ColumnType;
use tambour_value::print::float64;

/// Rows of a batch.
const BATCH_ROWS: usize = 8192;
/// Deepest nesting of literals that is looked at.
const DEPTH_MAX: usize = 32;
/// Most digits of an integer.
const DIGITS_MAX: usize = 80;

/// The rows of a query that is VALUES and nothing else, if all are equally long.
fn values(query: &Query) -> Option<&[Parens<Vec<Expr>>]> {
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none()
        && query.settings.is_none()
        && query.format_clause.is_none();
    let SetExpr::Values(values) = query.body.as_ref() else { return None };
    let width = values.rows.first()?.content.len();
    let is_even = values.rows.iter().all(|row| row.content.len() == width);
    (is_plain && is_even).then_some(&values.rows)
}

/// The rows as texts, if the query is VALUES of nothing but literals.
pub(super) fn of(query: &Query) -> Option<Literals> {
    let rows = values(query)?;
    let width = rows.first()?.content.len();
    let cells = |row: &Parens<Vec<Expr>>| row.content.iter().map(cell).collect::<Option<_>>();
    Some(Literals { width, rows: rows.iter().map(cells).collect::<Option<_>>()? })
}

/// Rows of VALUES one after another that have literals and expressions in the same columns.
#[derive(Debug)]
pub(super) struct Run {
    /// The columns of literals.
    pub(super) literals: Literals,
    /// VALUES of the other columns, if there are any, and after them of the number of the row.
    pub(super) query: Option<Query>,
    /// For each column whether it is one of literals.
    pub(super) is_literal: Vec<bool>,
}

/// The rows of VALUES in runs, so that literals stay texts beside expressions; `None` for any other query.
pub(super) fn runs(query: &Query) -> Option<Vec<Run>> {
    let kinds = |row: &Parens<Vec<Expr>>| -> Vec<bool> {
        row.content.iter().map(|expr| cell(expr).is_some()).collect()
    };
    let rows = values(query)?;
    let alike = rows.chunk_by(|first, second| kinds(first) == kinds(second));
    Some(alike.map(|rows| run(query, rows, kinds(&rows[0]))).collect())
}

fn run(query: &Query, rows: &[Parens<Vec<Expr>>], is_literal: Vec<bool>) -> Run {
    let cells = |row: &Parens<Vec<Expr>>| row.content.iter().filter_map(cell).collect();
    let width = is_literal.iter().filter(|it| **it).count();
    let literals = Literals { width, rows: rows.iter().map(cells).collect() };
    let mut computed = query.clone();
    if let SetExpr::Values(values) = computed.body.as_mut() {
        values.rows = rows.to_vec();
        for (number, row) in values.rows.iter_mut().enumerate() {
            row.content.retain(|expr| cell(expr).is_none());
            row.content.push(Expr::value(Value::Number(number.to_string(), false)));
        }
    }
    let query = is_literal.contains(&false).then_some(computed);
    Run { literals, query, is_literal }
}

/// Rows of literals.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Literals {
    /// Values per row.
    pub(super) width: usize,
    rows: Vec<Vec<Cell>>,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    Null,
    /// The word DEFAULT.
    Default,
    /// The text as a file would have it.
    Text(String),
    /// A number as it is written.
    Number(String),
}

impl Literals {
    /// A batch of texts; `None` after the last one.
    pub(super) fn batch(&self, number: usize) -> Option<arrow::error::Result<RecordBatch>> {
        let rows = self.rows.chunks(BATCH_ROWS).nth(number)?;
        let fields = (0..self.width)
            .map(|index| Field::new(format!("value {}", index + 1), DataType::Utf8, true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let columns = (0..self.width).map(|index| texts(rows.iter(), index)).collect();
        Some(RecordBatch::try_new_with_options(schema, columns, &options))
    }

    /// For each column where the same batch has DEFAULT: there it is null.
    pub(super) fn defaults(&self, number: usize) -> Vec<Option<NullBuffer>> {
        let rows = self.rows.chunks(BATCH_ROWS).nth(number).unwrap_or_default();
        let of_column = |index: usize| {
            let is_given = |row: &Vec<Cell>| row[index] != Cell::Default;
            (!rows.iter().all(is_given)).then(|| rows.iter().map(is_given).collect())
        };
        (0..self.width).map(of_column).collect()
    }

    /// Writes numbers as columns of these types read them: `1e2` is a whole number, and a text has a number as it is printed.
    pub(super) fn meet(&mut self, types: &[&ColumnType]) {
        for row in &mut self.rows {
            for (cell, data_type) in row.iter_mut().zip(types) {
                let Cell::Number(digits) = &*cell else { continue };
                let written = match data_type.unwrapped() {
                    ColumnType::String => printed(digits),
                    it if is_whole(it) && digits.contains(['.', 'e', 'E']) => whole(digits),
                    _ => None,
                };
                if let Some(written) = written {
                    *cell = Cell::Number(written);
                }
            }
        }
    }

    /// True if a value is DEFAULT.
    pub(super) fn has_defaults(&self) -> bool {
        self.rows.iter().flatten().any(|cell| *cell == Cell::Default)
    }
    /// The texts of a column in these rows.
    pub(super) fn column(&self, index: usize, rows: &[usize]) -> ArrayRef {
        texts(rows.iter().filter_map(|row| self.rows.get(*row)), index)
    }
}

fn texts<'a>(rows: impl Iterator<Item = &'a Vec<Cell>>, index: usize) -> ArrayRef {
    let mut texts = StringBuilder::new();
    for row in rows {
        texts.append_option(match &row[index] {
            Cell::Text(text) | Cell::Number(text) => Some(text),
            Cell::Null | Cell::Default => None,
        });
    }
    Arc::new(texts.finish())
}

/// True of integers.
fn is_whole(data_type: &ColumnType) -> bool {
    matches!(
        data_type,
        ColumnType::Int8
            | ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Int128
            | ColumnType::Int256
            | ColumnType::UInt8
            | ColumnType::UInt16
            | ColumnType::UInt32
            | ColumnType::UInt64
            | ColumnType::UInt128
            | ColumnType::UInt256
    )
}

/// The digits of a number with a point or an exponent, if it is an integer.
fn whole(written: &str) -> Option<String> {
    let (sign, rest) = written.strip_prefix('-').map_or(("", written), |rest| ("-", rest));
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let after = after.trim_end_matches('0');
    let exponent = usize::try_from(exponent.parse::<i32>().ok()?).ok()?;
    let zeros = exponent.checked_sub(after.len()).filter(|it| *it <= DIGITS_MAX)?;
    let digits = format!("{before}{after}{}", "0".repeat(zeros));
    let digits = digits.trim_start_matches('0');
    Some(format!("{sign}{}", if digits.is_empty() { "0" } else { digits }))
}

/// A number as ClickHouse prints its value: an integer of 64 bits, or a float.
fn printed(written: &str) -> Option<String> {
    let written = written.replace('_', "");
    if let Ok(value) = written.parse::<u64>() {
        return Some(value.to_string());
    }
    if let Ok(value) = written.parse::<i64>() {
        return Some(value.to_string());
    }
    let mut text = Vec::new();
    float64(written.parse().ok()?, &mut text);
    String::from_utf8(text).ok()
}

/// `None` if the expression is not a literal.
fn cell(expr: &Expr) -> Option<Cell> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Null => Some(Cell::Null),
            Value::SingleQuotedString(text) => Some(Cell::Text(text.clone())),
            Value::Number(..) => text(expr, 0).map(Cell::Number),
            _ => text(expr, 0).map(Cell::Text),
        },
        Expr::UnaryOp { .. } => text(expr, 0).map(Cell::Number),
        Expr::Identifier(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("DEFAULT") =>
        {
            Some(Cell::Default)
        }
        _ => text(expr, 0).map(Cell::Text),
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
        let some = |text: &str| Cell::Text(text.to_owned());
        let number = |text: &str| Cell::Number(text.to_owned());
        assert_eq!(
            cells("VALUES (12345678901234567890.123, -1, NULL, 'a', DEFAULT, true)"),
            Some(vec![vec![
                number("12345678901234567890.123"),
                number("-1"),
                Cell::Null,
                some("a"),
                Cell::Default,
                some("true")
            ]])
        );
        assert_eq!(
            cells("VALUES ([1, -2], (1, 'x'), {'k': NULL})"),
            Some(vec![vec![some("[1,-2]"), some("(1,'x')"), some("{'k':NULL}")]])
        );
    }

    #[test]
    fn rows_alike_are_a_run() {
        let values = "VALUES (1, 0.10, f(2)), (2, NULL, g(3)), (3, 4, 'c')";
        let runs = runs(&parse_query(values).unwrap()).unwrap();
        let kinds: Vec<_> = runs.iter().map(|run| run.is_literal.clone()).collect();
        assert_eq!(kinds, [vec![true, true, false], vec![true, true, true]]);
        let queries: Vec<_> =
            runs.iter().map(|run| run.query.as_ref().map(ToString::to_string)).collect();
        assert_eq!(queries, [Some("VALUES (f(2), 0), (g(3), 1)".to_owned()), None]);
        let number = |text: &str| Cell::Number(text.to_owned());
        let rows = [[number("1"), number("0.10")], [number("2"), Cell::Null]];
        assert_eq!(runs[0].literals.rows, rows);
    }

    #[test]
    fn numbers_meet_their_columns() {
        let pairs =
            [("1e2", "100"), ("-15.0", "-15"), ("1.50e1", "15"), ("0.0", "0"), ("007.", "7")];
        for (written, expected) in pairs {
            assert_eq!(whole(written).as_deref(), Some(expected), "{written}");
        }
        for written in ["15.5", "1e-2", "1e99", "1.25e1"] {
            assert_eq!(whole(written), None, "{written}");
        }
        let pairs = [("15.50", "15.5"), ("1e3", "1000"), ("007", "7"), ("-5", "-5"), ("1.0", "1")];
        for (written, expected) in pairs {
            assert_eq!(printed(written).as_deref(), Some(expected), "{written}");
        }
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
