//! Filters as text: what may stand in WHERE, as far as it compares columns with literals.

use super::{Filter, Literal};
use crate::TableError;
use crate::predicate::Comparison;
use crate::schema::token::{Cursor, Kind};

/// One side of a comparison.
enum Side {
    Column(String),
    Literal(Literal),
}

pub(super) fn parse(text: &str) -> Result<Filter, TableError> {
    let mut cursor = Cursor::new(text)?;
    let filter = any(&mut cursor)?;
    cursor.expect_end()?;
    Ok(filter)
}

fn any(cursor: &mut Cursor<'_>) -> Result<Filter, TableError> {
    cursor.enter()?;
    let mut parts = vec![all(cursor)?];
    while cursor.take_words(&["OR"]) {
        parts.push(all(cursor)?);
    }
    cursor.leave();
    Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Filter::Any(parts) })
}

fn all(cursor: &mut Cursor<'_>) -> Result<Filter, TableError> {
    let mut parts = vec![negation(cursor)?];
    while cursor.take_words(&["AND"]) {
        parts.push(negation(cursor)?);
    }
    Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Filter::All(parts) })
}

fn negation(cursor: &mut Cursor<'_>) -> Result<Filter, TableError> {
    if !cursor.take_words(&["NOT"]) {
        return condition(cursor);
    }
    cursor.enter()?;
    let inner = negation(cursor)?;
    cursor.leave();
    Ok(Filter::Not(Box::new(inner)))
}

fn condition(cursor: &mut Cursor<'_>) -> Result<Filter, TableError> {
    if cursor.take_symbol("(") {
        let inner = any(cursor)?;
        cursor.expect_symbol(")")?;
        return Ok(inner);
    }
    let left = side(cursor)?;
    let Side::Column(column) = left else {
        return reversed(cursor, left);
    };
    if let Some(comparison) = comparison(cursor) {
        let literal = literal(cursor)?;
        return Ok(Filter::Compare(column, comparison, literal));
    }
    if cursor.take_words(&["IS"]) {
        let is_not = cursor.take_words(&["NOT"]);
        cursor.expect_words(&["NULL"])?;
        return Ok(negated(is_not, Filter::IsNull(column)));
    }
    let is_not = cursor.take_words(&["NOT"]);
    if cursor.take_words(&["IN"]) {
        return Ok(negated(is_not, Filter::In(column, list(cursor)?)));
    }
    if cursor.take_words(&["BETWEEN"]) {
        let low = literal(cursor)?;
        cursor.expect_words(&["AND"])?;
        let high = literal(cursor)?;
        let both = vec![
            Filter::Compare(column.clone(), Comparison::GreaterOrEqual, low),
            Filter::Compare(column, Comparison::LessOrEqual, high),
        ];
        return Ok(negated(is_not, Filter::All(both)));
    }
    if is_not { Err(cursor.expected("IN or BETWEEN")) } else { Ok(Filter::IsTrue(column)) }
}

fn negated(is_not: bool, filter: Filter) -> Filter {
    if is_not { Filter::Not(Box::new(filter)) } else { filter }
}

/// `10 < visits`.
fn reversed(cursor: &mut Cursor<'_>, left: Side) -> Result<Filter, TableError> {
    let Some(comparison) = comparison(cursor) else {
        return Err(cursor.expected("a comparison"));
    };
    match (left, side(cursor)?) {
        (Side::Literal(literal), Side::Column(column)) => {
            Ok(Filter::Compare(column, comparison.swapped(), literal))
        }
        _ => Err(TableError::Refused {
            clause: "a filter that compares two literals".to_owned(),
            reason: "one side is a column".to_owned(),
        }),
    }
}

fn comparison(cursor: &mut Cursor<'_>) -> Option<Comparison> {
    let comparisons = [
        ("=", Comparison::Equal),
        ("==", Comparison::Equal),
        ("!=", Comparison::NotEqual),
        ("<>", Comparison::NotEqual),
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];
    comparisons.into_iter().find_map(|(sign, it)| cursor.take_symbol(sign).then_some(it))
}

fn list(cursor: &mut Cursor<'_>) -> Result<Vec<Literal>, TableError> {
    cursor.expect_symbol("(")?;
    let mut literals = Vec::new();
    loop {
        literals.push(literal(cursor)?);
        if !cursor.take_symbol(",") {
            cursor.expect_symbol(")")?;
            return Ok(literals);
        }
    }
}

fn literal(cursor: &mut Cursor<'_>) -> Result<Literal, TableError> {
    match side(cursor)? {
        Side::Literal(literal) => Ok(literal),
        Side::Column(column) => Err(TableError::Refused {
            clause: format!("a filter that compares with `{column}`"),
            reason: "columns are compared with literals; texts stand in single quotes; other conditions need SQL"
                .to_owned(),
        }),
    }
}

fn side(cursor: &mut Cursor<'_>) -> Result<Side, TableError> {
    for (word, literal) in
        [("NULL", Literal::Null), ("true", Literal::Bool(true)), ("false", Literal::Bool(false))]
    {
        if cursor.take_words(&[word]) {
            return Ok(Side::Literal(literal));
        }
    }
    let sign = if cursor.take_symbol("-") { "-" } else { "" };
    let token = cursor.peek();
    match token.kind {
        Kind::Number => {
            cursor.advance();
            Ok(Side::Literal(Literal::Number(format!("{sign}{}", cursor.text(token)))))
        }
        _ if !sign.is_empty() => Err(cursor.expected("a number")),
        Kind::Text => Ok(Side::Literal(Literal::Text(cursor.expect_text("a text")?))),
        Kind::Word if cursor.text(cursor.peek_ahead(1)) == "(" => Err(TableError::Refused {
            clause: format!("the function `{}` in a filter", cursor.text(token)),
            reason: "columns are compared with literals; other conditions need SQL".to_owned(),
        }),
        Kind::Word | Kind::Quoted => {
            let mut name = cursor.expect_name("a column")?;
            // A column of Nested: `n.a`.
            while cursor.take_symbol(".") {
                name.push('.');
                name.push_str(&cursor.expect_name("a column")?);
            }
            Ok(Side::Column(name))
        }
        Kind::Symbol | Kind::End => Err(cursor.expected("a column or a literal")),
    }
}
