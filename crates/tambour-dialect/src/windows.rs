//! Windows of time: `tumble(t, INTERVAL 5 MINUTE)` and `hop(t, INTERVAL 1 DAY, INTERVAL 3 DAY)`, their starts and ends.

use super::call::{arguments, call, case, is_null};
use super::{moved, refused};
use crate::DialectError;
use datafusion::sql::sqlparser::ast::{Expr, Function, Interval, Value};

/// Names of the functions.
pub(super) const NAMES: &[&str] =
    &["tumble", "tumbleStart", "tumbleEnd", "hop", "hopStart", "hopEnd"];

fn number(number: i64) -> Expr {
    Expr::value(Value::Number(number.to_string(), false))
}

/// How many units an interval has, its unit, and the function that moves by it.
fn parts(interval: &Expr) -> Option<(i64, String, &'static str)> {
    let Expr::Interval(Interval { value, leading_field: Some(unit), .. }) = interval else {
        return None;
    };
    let unit = moved::unit_of(unit);
    let function = moved::function_of(&unit, false).filter(|_| moved::is_whole(&unit))?;
    let count = value.to_string().trim_matches('\'').parse().ok().filter(|count| *count > 0)?;
    Some((count, unit, function))
}

/// Which element of a window a function gives.
fn end_of(written: &str) -> Option<i64> {
    if written.ends_with("Start") { Some(1) } else { written.ends_with("End").then_some(2) }
}

/// What a call of such a function is.
pub(super) fn rewrite(
    function: &mut Function,
    written: &str,
) -> Result<Option<Expr>, DialectError> {
    if !NAMES.contains(&written) {
        return Ok(None);
    }
    let is_hop = written.starts_with("hop");
    let wrong = || {
        let form = if is_hop {
            "hop(t, INTERVAL 1 DAY, INTERVAL 3 DAY)"
        } else {
            "tumble(t, INTERVAL 1 DAY)"
        };
        refused(
            format!("{written} with these arguments"),
            format!("write {form}, perhaps with a zone"),
        )
    };
    let mut given = arguments(function).unwrap_or_default();
    // A window that was made before has both ends.
    if let ([_], Some(place)) = (given.as_slice(), end_of(written)) {
        given.push(number(place));
        return Ok(Some(Expr::Function(call("tupleElement", given))));
    }
    let mut given = given.into_iter();
    let (Some(time), Some(step)) = (given.next(), given.next()) else { return Err(wrong()) };
    let width = if is_hop { given.next().ok_or_else(wrong)? } else { step.clone() };
    let rest: Vec<Expr> = given.collect();
    let (Some((step, unit, add)), Some((width, other, _))) = (parts(&step), parts(&width)) else {
        return Err(wrong());
    };
    let is_odd = rest.len() > 1 || rest.iter().any(is_null);
    if is_odd || unit != other || is_hop && width < step {
        return Err(wrong());
    }
    let text = Expr::value(Value::SingleQuotedString(unit));
    let begin = std::iter::once(time).chain([number(step), text]).chain(rest).collect();
    let begin = Expr::Function(call("toStartOfInterval", begin));
    let moved = |by: i64| Expr::Function(call(add, vec![begin.clone(), number(by)]));
    // The first of the windows that have the moment ends with the step that it is in.
    let (start, end) =
        if is_hop { (moved(step - width), moved(step)) } else { (begin.clone(), moved(step)) };
    Ok(Some(match written {
        // A window of no moment is NULL, and not two of them.
        "tumble" | "hop" => {
            let is_absent = Expr::IsNull(Box::new(begin));
            let ends = Expr::Function(call("struct", vec![start, end]));
            case("if", vec![is_absent, Expr::value(Value::Null), ends])?
        }
        "tumbleStart" | "hopStart" => start,
        _ => end,
    }))
}
