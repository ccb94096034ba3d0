//! LIMIT and OFFSET that are not plain numbers of rows: negative ones count from the last row, those between 0 and 1 are a part
//! of all rows. Either needs to know how many rows there are, so rows are numbered and counted, and QUALIFY keeps those wanted.

use super::limits::{between, both, over};
use super::{call, refused};
use crate::DialectError;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, LimitClause, Offset, OffsetRows, Query, SetExpr, TableFactor,
    UnaryOperator, Value,
};

/// The name of a subquery that nobody types.
const ROWS: &str = "\u{1f}rows";

/// A number after LIMIT or OFFSET.
enum Count {
    /// Rows.
    Plain(Expr),
    /// Rows from the end.
    FromEnd(Expr),
    /// A part of all rows.
    Part(Expr),
}

impl Count {
    fn of(expr: &Expr) -> Result<Self, DialectError> {
        let Some((text, is_negative)) = number(expr) else {
            return Ok(Self::Plain(expr.clone()));
        };
        let wrong = || {
            let sign = if is_negative { "-" } else { "" };
            refused(
                format!("LIMIT or OFFSET {sign}{text}"),
                "it takes a whole number, or a part of all rows: a number between 0 and 1",
            )
        };
        let whole = |digits: &str| Expr::value(Value::Number(digits.to_owned(), false));
        if text.parse::<u64>().is_ok() {
            let is_zero = text.bytes().all(|digit| digit == b'0');
            return Ok(if is_negative && !is_zero {
                Self::FromEnd(whole(text))
            } else {
                Self::Plain(whole(text))
            });
        }
        let Ok(value) = text.parse::<f64>() else { return Err(wrong()) };
        if value > 0. && value < 1. && !is_negative {
            return Ok(Self::Part(whole(text)));
        }
        if value.fract() == 0. && (0. ..9e15).contains(&value) && !is_negative {
            return Ok(Self::Plain(whole(&format!("{value:.0}"))));
        }
        Err(wrong())
    }
    fn plain(&self) -> Option<&Expr> {
        match self {
            Self::Plain(expr) => Some(expr),
            _ => None,
        }
    }
}

/// The digits of a number that is written out, and true if a minus is in front of it.
fn number(expr: &Expr) -> Option<(&str, bool)> {
    match expr {
        Expr::Nested(inner) => number(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            number(expr).map(|(text, is_negative)| (text, !is_negative))
        }
        Expr::UnaryOp { op: UnaryOperator::Plus, expr } => number(expr),
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => Some((text, false)),
            _ => None,
        },
        _ => None,
    }
}

/// Which rows LIMIT and OFFSET keep.
pub(super) enum Kept {
    /// Those of plain numbers: limit and offset.
    Plain(Box<(Option<Expr>, Option<Expr>)>),
    /// Those for which a condition holds.
    Where(Box<Expr>),
}

/// Looks at both numbers; `row` is the number of a row, `total` how many there are, both within the keys of LIMIT ... BY.
pub(super) fn kept(
    limit: Option<Expr>,
    offset: Option<Expr>,
    row: &Expr,
    total: &Expr,
    has_keys: bool,
) -> Result<Kept, DialectError> {
    let limit = limit.as_ref().map(Count::of).transpose()?;
    let offset = offset.as_ref().map(Count::of).transpose()?;
    let is_plain = |count: &Option<Count>| count.as_ref().is_none_or(|it| it.plain().is_some());
    if is_plain(&limit) && is_plain(&offset) {
        let plain = |count: Option<Count>| count.and_then(|it| it.plain().cloned());
        return Ok(Kept::Plain(Box::new((plain(limit), plain(offset)))));
    }
    let is_part = |count: &Option<Count>| matches!(count, Some(Count::Part(_)));
    let is_end = |count: &Option<Count>| matches!(count, Some(Count::FromEnd(_)));
    if has_keys && (is_part(&limit) || is_part(&offset)) {
        return Err(refused("a part of all rows in LIMIT ... BY", "write a number of rows"));
    }
    if (is_part(&limit) && is_end(&offset)) || (is_end(&limit) && is_part(&offset)) {
        return Err(refused(
            "a negative LIMIT or OFFSET beside a part of all rows",
            "put one of them in a subquery",
        ));
    }
    let binary = |left: &Expr, op, right: &Expr| Expr::BinaryOp {
        left: Box::new(left.clone()),
        op,
        right: Box::new(right.clone()),
    };
    let less = |by: &Expr| Expr::Nested(Box::new(binary(total, BinaryOperator::Minus, by)));
    let part = |of: &Expr| {
        let rows = binary(total, BinaryOperator::Multiply, of);
        Expr::Function(call::call("ceil", vec![rows]))
    };
    let sum = |left: &Expr, right: &Expr| binary(left, BinaryOperator::Plus, right);
    let until = |end: Expr| between(row, Some(end), None);
    let past = |start: Expr| between(row, None, Some(start));
    let condition = match (limit, offset) {
        (None, Some(Count::FromEnd(skipped))) => until(less(&skipped)),
        (None, Some(Count::Part(skipped))) => past(part(&skipped)),
        (Some(Count::FromEnd(count)), None) => past(less(&count)),
        (Some(Count::Part(count)), None) => until(part(&count)),
        (Some(Count::Plain(count)), Some(Count::FromEnd(skipped))) => {
            both(until(count), until(less(&skipped)))
        }
        (Some(Count::Plain(count)), Some(Count::Part(skipped))) => {
            let start = part(&skipped);
            both(past(start.clone()), until(sum(&start, &count)))
        }
        (Some(Count::FromEnd(count)), Some(Count::Plain(skipped))) => {
            both(past(less(&count)), past(skipped))
        }
        (Some(Count::FromEnd(count)), Some(Count::FromEnd(skipped))) => {
            both(past(less(&sum(&count, &skipped))), until(less(&skipped)))
        }
        (Some(Count::Part(count)), Some(Count::Plain(skipped))) => {
            both(past(skipped.clone()), until(sum(&skipped, &part(&count))))
        }
        (Some(Count::Part(count)), Some(Count::Part(skipped))) => {
            let start = part(&skipped);
            both(past(start.clone()), until(sum(&start, &part(&count))))
        }
        _ => Expr::value(Value::Boolean(true)),
    };
    Ok(Kept::Where(Box::new(condition)))
}

/// How many rows there are, within keys.
pub(super) fn total(keys: Vec<Expr>) -> Expr {
    over("count", keys, Vec::new())
}

/// Brings LIMIT and OFFSET into one form, in which whole numbers that are written with a point are whole; true if how many rows
/// there are must be known for them.
pub(super) fn plainly(query: &mut Query) -> Result<bool, DialectError> {
    if let Some(LimitClause::OffsetCommaLimit { offset, limit }) = &mut query.limit_clause {
        let offset = Offset { value: call::take(offset), rows: OffsetRows::None };
        let (limit, limit_by) = (Some(call::take(limit)), Vec::new());
        query.limit_clause =
            Some(LimitClause::LimitOffset { limit, offset: Some(offset), limit_by });
    }
    let Some(LimitClause::LimitOffset { limit, offset, .. }) = &mut query.limit_clause else {
        return Ok(false);
    };
    let mut is_counted = false;
    for number in limit.iter_mut().chain(offset.as_mut().map(|it| &mut it.value)) {
        match Count::of(number)? {
            Count::Plain(plain) => *number = plain,
            Count::FromEnd(_) | Count::Part(_) => is_counted = true,
        }
    }
    Ok(is_counted)
}

/// Puts rows that cannot be numbered as they are, those of DISTINCT and UNION, into a subquery.
pub(super) fn set_apart(query: &mut Query) -> Result<(), DialectError> {
    if matches!(&*query.body, SetExpr::Select(select) if select.distinct.is_none()) {
        return Ok(());
    }
    let mut outer = super::parse_query(&format!("SELECT * FROM (SELECT 1) AS \"{ROWS}\""))?;
    if let SetExpr::Select(select) = &mut *outer.body
        && let Some(table) = select.from.first_mut()
        && let TableFactor::Derived { subquery, .. } = &mut table.relation
    {
        std::mem::swap(&mut subquery.body, &mut query.body);
        query.body = outer.body;
    }
    Ok(())
}
