//! Functions of the clock. The engine's `now` has nanoseconds and no zone; ClickHouse's has seconds, or as many digits as it
//! is asked for.

use super::call::{arguments, call};
use super::refused;
use crate::DialectError;
use datafusion::sql::sqlparser::ast::{Expr, Function, Value};

/// Names of functions that give the time in seconds.
const SECONDS: &[&str] = &["now", "current_timestamp", "localtimestamp", "nowInBlock"];
/// Names of functions that give it with a fraction.
const FRACTIONS: &[&str] = &["now64", "nowInBlock64"];
/// Names of functions that give it in UTC.
const UTC: &[&str] = &["UTCTimestamp", "UTC_timestamp"];
/// Digits of a fraction that nobody asked for.
const DIGITS: &str = "3";

/// All of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SECONDS.iter().chain(FRACTIONS).chain(UTC).copied()
}

/// What a call is, if it asks for the time.
pub(super) fn rewrite(
    function: &mut Function,
    written: &str,
) -> Result<Option<Expr>, DialectError> {
    let is_among = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(written));
    let (is_whole, is_fraction, is_utc) = (is_among(SECONDS), is_among(FRACTIONS), is_among(UTC));
    if !(is_whole || is_fraction || is_utc) {
        return Ok(None);
    }
    let mut given = arguments(function).unwrap_or_default();
    let most = if is_fraction { 2 } else { usize::from(!is_utc) };
    if given.len() > most {
        return Err(refused(
            format!("{written} with these arguments"),
            format!("it takes {most} at most"),
        ));
    }
    let instant = Expr::Function(call("now", Vec::new()));
    if is_utc {
        given.push(Expr::value(Value::SingleQuotedString("UTC".to_owned())));
    }
    if is_fraction && given.is_empty() {
        given.push(Expr::value(Value::Number(DIGITS.to_owned(), false)));
    }
    given.insert(0, instant);
    let conversion = if is_fraction { "toDateTime64" } else { "toDateTime" };
    Ok(Some(Expr::Function(call(conversion, given))))
}
