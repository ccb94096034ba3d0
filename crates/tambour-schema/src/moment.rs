//! Dates and times with intervals added, as TTL clauses have them.

use super::expression::Expression;
use super::token::{Cursor, Kind};
use crate::TableError;
use tambour_function::Function;

/// A date or a time, with intervals added: `t + INTERVAL 1 DAY`, `toDateTime(t) + toIntervalMonth(2)`.
pub fn moment(text: &str) -> Result<Expression, TableError> {
    let mut cursor = Cursor::new(text)?;
    let is_step =
        |it: &Cursor<'_>| it.at_any_symbol(&["+", "-"]) && is_interval(it.text(it.peek_ahead(1)));
    let mut expression = Expression::parse(cursor.skip_until(is_step)?)?;
    while is_step(&cursor) {
        let verb = if cursor.take_symbol("-") { "subtract" } else { "add" };
        cursor.take_symbol("+");
        let (count, unit) = interval(&mut cursor)?;
        let function = format!("{verb}{unit}s");
        expression = Expression::Call { function, arguments: vec![expression, count] };
    }
    cursor.expect_end()?;
    Ok(expression)
}

fn is_interval(word: &str) -> bool {
    word.eq_ignore_ascii_case("INTERVAL") || word.starts_with("toInterval")
}

const UNITS: [&str; 8] = ["Second", "Minute", "Hour", "Day", "Week", "Month", "Quarter", "Year"];

/// The function that adds intervals of a unit or takes them away: `addDays`.
pub(crate) fn shift(name: &str) -> Option<&'static Function> {
    let unit = name.strip_prefix("add").or_else(|| name.strip_prefix("subtract"));
    let unit = unit.and_then(|it| it.strip_suffix('s'))?;
    UNITS.contains(&unit).then(|| tambour_function::find_in_queries(name)).flatten()
}

/// How many of which unit, as in the names of functions: `Day`.
fn interval(cursor: &mut Cursor<'_>) -> Result<(Expression, &'static str), TableError> {
    let unit = |word: &str| {
        let singular = word.strip_suffix(['s', 'S']).unwrap_or(word);
        UNITS.into_iter().find(|unit| unit.eq_ignore_ascii_case(singular))
    };
    if !cursor.take_words(&["INTERVAL"]) {
        let word = cursor.text(cursor.peek()).strip_prefix("toInterval").unwrap_or_default();
        let Some(unit) = unit(word) else { return Err(cursor.expected("an interval")) };
        cursor.advance();
        return Ok((Expression::parse(cursor.balanced()?)?, unit));
    }
    if cursor.peek().kind == Kind::Text {
        let text = cursor.expect_text("an interval")?;
        let mut words = text.split_whitespace();
        let count = Expression::parse(words.next().unwrap_or_default())?;
        let named = if let Some(word) = words.next() {
            unit(word)
        } else {
            let token = cursor.advance();
            unit(cursor.text(token))
        };
        let named = named.filter(|_| words.next().is_none());
        return named.map(|unit| (count, unit)).ok_or_else(|| cursor.expected("a unit of time"));
    }
    let count = cursor.skip_until(|it| unit(it.text(it.peek())).is_some())?;
    let Some(unit) = unit(cursor.text(cursor.peek())) else {
        return Err(cursor.expected("a unit of time"));
    };
    cursor.advance();
    Ok((Expression::parse(count)?, unit))
}
