//! Intervals without a date or a time to add them to. Where a statement shows them, they are numbers of their unit, as ClickHouse
//! prints them; compared with each other, they are numbers of the shorter unit.

use super::naming::Tables;
use super::{call, refused, written};
use crate::DialectError;
use crate::walk::walk_expressions;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DateTimeField, Expr, Function, Ident, Interval, Select, SelectItem, SetExpr,
    Statement as Sql, UnaryOperator, Value,
};
use std::ops::ControlFlow;

/// The function that makes an interval, and its unit.
const MAKERS: [(&str, DateTimeField); 11] = [
    ("toIntervalNanosecond", DateTimeField::Nanosecond),
    ("toIntervalMicrosecond", DateTimeField::Microsecond),
    ("toIntervalMillisecond", DateTimeField::Millisecond),
    ("toIntervalSecond", DateTimeField::Second),
    ("toIntervalMinute", DateTimeField::Minute),
    ("toIntervalHour", DateTimeField::Hour),
    ("toIntervalDay", DateTimeField::Day),
    ("toIntervalWeek", DateTimeField::Week(None)),
    ("toIntervalMonth", DateTimeField::Month),
    ("toIntervalQuarter", DateTimeField::Quarter),
    ("toIntervalYear", DateTimeField::Year),
];

/// The unit of `toIntervalDay`.
pub(super) fn unit_of(name: &str) -> Option<DateTimeField> {
    let (_, unit) = MAKERS.iter().find(|(maker, _)| *maker == name)?;
    Some(unit.clone())
}

/// Results of a statement that are intervals become their numbers. Those of subqueries, and of queries whose rows are kept, stay:
/// they may be added to a time.
pub(super) fn as_results(statement: &mut Statement) {
    if let Statement::Statement(sql) = statement
        && let Sql::Query(query) = &mut **sql
    {
        of_body(&mut query.body);
    }
}

fn of_body(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) => of_select(select),
        SetExpr::SetOperation { left, right, .. } => {
            of_body(left);
            of_body(right);
        }
        _ => {}
    }
}

fn of_select(select: &mut Select) {
    for at in 0..select.projection.len() {
        let (expr, alias) = match &select.projection[at] {
            SelectItem::UnnamedExpr(expr) => (expr, None),
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.clone())),
            _ => continue,
        };
        let Some((_, number)) = counted(expr) else { continue };
        // Whoever uses the name means the interval.
        if alias.as_ref().is_some_and(|alias| is_used(select, alias)) {
            continue;
        }
        let name = || written::name(expr, &Tables::default(), &mut 0);
        let alias = alias.unwrap_or_else(|| Ident::with_quote('"', name()));
        let expr = Expr::Function(call::call("toInt64", vec![number]));
        select.projection[at] = SelectItem::ExprWithAlias { expr, alias };
    }
}

fn is_used(select: &Select, alias: &Ident) -> bool {
    let found = walk_expressions(select, |expr| match expr {
        Expr::Identifier(name) if name.value == alias.value => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The unit of an interval as it was written, and how many of them it has.
fn counted(expr: &Expr) -> Option<(DateTimeField, Expr)> {
    match expr {
        Expr::Nested(inner) => counted(inner),
        Expr::Interval(Interval { value, leading_field: Some(unit), .. }) => {
            Some((unit.clone(), count(value)?))
        }
        Expr::Function(function) => {
            let unit = unit_of(call::name(function)?)?;
            let [argument] = <[Expr; 1]>::try_from(arguments(function)?).ok()?;
            Some((unit, count(&argument)?))
        }
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            let (unit, number) = counted(expr)?;
            Some((unit, Expr::Function(call::call("negate", vec![number]))))
        }
        Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus), right } => {
            // A long sum of numbers ends here, before it is a deep one.
            let (other, second) = counted(right)?;
            let (unit, first) = counted(left)?;
            (unit == other).then(|| (unit, binary(first, op.clone(), second)))
        }
        _ => None,
    }
}

fn arguments(function: &Function) -> Option<Vec<Expr>> {
    call::arguments(&mut function.clone())
}

/// What stands in an interval as a number; a fraction of a unit is none.
fn count(value: &Expr) -> Option<Expr> {
    let Expr::Value(literal) = value else { return Some(Expr::Nested(Box::new(value.clone()))) };
    let (Value::Number(digits, _) | Value::SingleQuotedString(digits)) = &literal.value else {
        return None;
    };
    digits.parse::<i64>().ok()?;
    Some(Expr::value(Value::Number(digits.clone(), false)))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }))
}

/// How long a unit is: months or nanoseconds, and how many.
fn length(unit: &DateTimeField) -> Option<(bool, i64)> {
    const SECOND: i64 = 1_000_000_000;
    Some(match unit {
        DateTimeField::Nanosecond => (false, 1),
        DateTimeField::Microsecond => (false, 1_000),
        DateTimeField::Millisecond => (false, 1_000_000),
        DateTimeField::Second => (false, SECOND),
        DateTimeField::Minute => (false, 60 * SECOND),
        DateTimeField::Hour => (false, 3600 * SECOND),
        DateTimeField::Day => (false, 86_400 * SECOND),
        DateTimeField::Week(_) => (false, 7 * 86_400 * SECOND),
        DateTimeField::Month => (true, 1),
        DateTimeField::Quarter => (true, 3),
        DateTimeField::Year => (true, 12),
        _ => return None,
    })
}

/// True of `=`, `<` and their like.
pub(super) fn compares(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}

/// Two intervals that are compared, as numbers of the shorter unit; one beside something else as the number that it has.
pub(super) fn compare(left: &mut Expr, right: &mut Expr) -> Result<(), DialectError> {
    match (counted(left), counted(right)) {
        (Some((first, one)), Some((second, other))) => {
            let (Some((is_calendar, long)), Some((is_other_calendar, short))) =
                (length(&first), length(&second))
            else {
                return Ok(());
            };
            if is_calendar != is_other_calendar {
                return Err(refused(
                    format!("comparing an interval of {first} with one of {second}"),
                    "months are not of one length",
                ));
            }
            let unit = long.min(short);
            let scaled = |number: Expr, length: i64| {
                let factor = Expr::value(Value::Number((length / unit).to_string(), false));
                let number = Expr::Function(call::call("toInt64", vec![number]));
                binary(number, BinaryOperator::Multiply, factor)
            };
            (*left, *right) = (scaled(one, long), scaled(other, short));
        }
        // A quarter is written as three months by now.
        (Some((DateTimeField::Month, _)), None) | (None, Some((DateTimeField::Month, _))) => {}
        (Some((_, number)), None) => *left = number,
        (None, Some((_, number))) => *right = number,
        (None, None) => {}
    }
    Ok(())
}
