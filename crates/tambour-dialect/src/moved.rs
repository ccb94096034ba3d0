//! Dates moved by as much as a column says (`d + INTERVAL n DAY`), and the functions `date_add` and `date_sub`. The engine's
//! intervals are constants.

use super::call::{arguments, call, rename, take};
use super::refused;
use crate::DialectError;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Interval, UnaryOperator, Value,
};

/// Names, and whether they move back.
const NAMES: &[(&str, bool)] = &[
    ("date_add", false),
    ("dateAdd", false),
    ("timestamp_add", false),
    ("timestampAdd", false),
    ("addDate", false),
    ("addInterval", false),
    ("date_sub", true),
    ("dateSub", true),
    ("timestamp_sub", true),
    ("timestampSub", true),
    ("subDate", true),
    ("subtractInterval", true),
];

/// Units with the functions that add and take away.
const UNITS: &[(&str, [&str; 2])] = &[
    ("nanosecond", ["addNanoseconds", "subtractNanoseconds"]),
    ("microsecond", ["addMicroseconds", "subtractMicroseconds"]),
    ("millisecond", ["addMilliseconds", "subtractMilliseconds"]),
    ("second", ["addSeconds", "subtractSeconds"]),
    ("minute", ["addMinutes", "subtractMinutes"]),
    ("hour", ["addHours", "subtractHours"]),
    ("day", ["addDays", "subtractDays"]),
    ("week", ["addWeeks", "subtractWeeks"]),
    ("month", ["addMonths", "subtractMonths"]),
    ("quarter", ["addQuarters", "subtractQuarters"]),
    ("year", ["addYears", "subtractYears"]),
];

pub(super) fn function_of(unit: &str, is_back: bool) -> Option<&'static str> {
    let found = UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    found.map(|(_, functions)| functions[usize::from(is_back)])
}

/// The name of a unit: lower case, one of them.
pub(super) fn unit_of(field: &DateTimeField) -> String {
    let name = match field {
        DateTimeField::Week(None) => "week".to_owned(),
        other => other.to_string().to_ascii_lowercase(),
    };
    // `ns` is not a plural.
    name.strip_suffix('s').filter(|it| it.len() > 2).unwrap_or(&name).to_owned()
}

/// Units that the engine's intervals have, and whose sums have ClickHouse's type.
pub(super) fn is_whole(unit: &str) -> bool {
    !unit.to_ascii_lowercase().ends_with("osecond") && !unit.eq_ignore_ascii_case("millisecond")
}

/// The function and the count of an interval that is not a constant, or of fractions of seconds, which give the result another
/// type.
fn by_column(side: &mut Expr, is_back: bool) -> Option<(&'static str, Expr)> {
    let inner = match side {
        Expr::Nested(inner) => return by_column(inner, is_back),
        Expr::Interval(interval) => interval,
        _ => return None,
    };
    let Interval { value, leading_field: Some(unit), last_field: None, .. } = inner else {
        return None;
    };
    let unit = unit_of(unit);
    // Of no hours the engine makes no interval, and the Date beside it would stay one.
    let is_zero = value.to_string().trim_matches('\'').parse::<i64>() == Ok(0);
    if is_constant(value) && is_whole(&unit) && !is_zero {
        return None;
    }
    function_of(&unit, is_back).map(|name| (name, as_number(take(value))))
}

/// A count that was written as a text.
fn as_number(count: Expr) -> Expr {
    match &count {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) if text.parse::<i64>().is_ok() => {
                Expr::value(Value::Number(text.clone(), false))
            }
            _ => count,
        },
        _ => count,
    }
}

fn is_constant(value: &Expr) -> bool {
    match value {
        Expr::Value(_) => true,
        Expr::Nested(inner) => is_constant(inner),
        Expr::UnaryOp { op: UnaryOperator::Minus | UnaryOperator::Plus, expr } => is_constant(expr),
        _ => false,
    }
}

/// A sum or a difference with such an interval.
pub(super) fn sum(left: &mut Expr, op: &BinaryOperator, right: &mut Expr) -> Option<Expr> {
    let is_back = match op {
        BinaryOperator::Plus => false,
        BinaryOperator::Minus => true,
        _ => return None,
    };
    if let Some((name, count)) = by_column(right, is_back) {
        return Some(Expr::Function(call(name, vec![take(left), count])));
    }
    if is_back {
        return None;
    }
    let (name, count) = by_column(left, false)?;
    Some(Expr::Function(call(name, vec![take(right), count])))
}

/// Functions whose first argument is a unit, as a text or as a word.
const DIFFERENCES: &[&str] =
    &["dateDiff", "date_diff", "DATEDIFF", "timestampDiff", "timestamp_diff", "TIMESTAMPDIFF"];

/// `DATEDIFF(DAY, a, b)` is `dateDiff('day', a, b)`.
pub(super) fn unit_as_text(function: &mut Function, written: &str) {
    let FunctionArguments::List(list) = &mut function.args else { return };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(unit))) = list.args.first_mut() else {
        return;
    };
    let is_one = DIFFERENCES.iter().any(|name| name.eq_ignore_ascii_case(written));
    if let (true, Expr::Identifier(name)) = (is_one, &*unit)
        && name.quote_style.is_none()
    {
        *unit = Expr::value(Value::SingleQuotedString(name.value.to_ascii_lowercase()));
        rename(function, "dateDiff");
    }
}

/// `date_add(day, 1, d)` and `date_add(d, INTERVAL 1 DAY)`.
pub(super) fn rewrite(
    function: &mut Function,
    written: &str,
) -> Result<Option<Expr>, DialectError> {
    let Some((_, is_back)) = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(written))
    else {
        return Ok(None);
    };
    let mut all = arguments(function).unwrap_or_default();
    let wrong = || {
        let expected = "write date_add(day, 1, d) or date_add(d, INTERVAL 1 DAY)";
        refused(format!("{written} with these arguments"), expected)
    };
    match all.as_mut_slice() {
        [date, interval @ Expr::Interval(_)] => {
            let op = if *is_back { BinaryOperator::Minus } else { BinaryOperator::Plus };
            if let Some(moved) = sum(date, &op, interval) {
                return Ok(Some(moved));
            }
            let (left, right) = (Box::new(take(date)), Box::new(take(interval)));
            Ok(Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }))))
        }
        [unit, count, date] => {
            let unit = match unit {
                Expr::Identifier(unit) => unit.value.clone(),
                Expr::Value(value) => match &value.value {
                    Value::SingleQuotedString(unit) => unit.clone(),
                    _ => return Err(wrong()),
                },
                _ => return Err(wrong()),
            };
            let name = function_of(&unit, *is_back).ok_or_else(wrong)?;
            Ok(Some(Expr::Function(call(name, vec![take(date), take(count)]))))
        }
        _ => Err(wrong()),
    }
}
