//! Errors as people and programs read them.

use crate::exit::Exit;
use arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use serde_json::json;
use std::error::Error;
use tambour::sql::SqlError;

/// What DataFusion adds to the message about a column whose name differs by case.
const CASE_ADVICE: &str =
    " or disable the datafusion.sql_parser.enable_ident_normalization configuration";

/// The messages of an error and its causes, outermost first, without wrappers that say nothing and without repetition
/// (some libraries print the cause as part of the message, too).
pub(crate) fn chain(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for message in tambour::chain(error).filter_map(message) {
        let told = messages.last().is_some_and(|last| last.contains(&message));
        if !told && !message.is_empty() {
            messages.push(message);
        }
    }
    if messages.is_empty() {
        messages.push(error.to_string());
    }
    messages
}

/// What one link of a chain says by itself; `None` for a wrapper.
fn message(error: &(dyn Error + 'static)) -> Option<String> {
    if matches!(error.downcast_ref(), Some(SqlError::Query(_))) {
        return None;
    }
    if let Some(error) = error.downcast_ref::<DataFusionError>() {
        return engine_message(error);
    }
    if let Some(error) = error.downcast_ref::<ArrowError>() {
        return match error {
            ArrowError::ExternalError(_) => None,
            ArrowError::IoError(text, _) => Some(text.clone()),
            other => Some(other.to_string()),
        };
    }
    if let Some(error) = error.downcast_ref::<SchemaError>() {
        // How DataFusion could be told to ignore case is no advice for users.
        return Some(error.to_string().replace(CASE_ADVICE, ""));
    }
    if let Some(error) = error.downcast_ref::<ParserError>() {
        let (ParserError::TokenizerError(text) | ParserError::ParserError(text)) = error else {
            return Some("the statement is nested too deeply".to_owned());
        };
        return Some(format!("syntax error: {text}"));
    }
    Some(error.to_string())
}

fn engine_message(error: &DataFusionError) -> Option<String> {
    match error {
        // These name a rule of the engine, or a step of its own.
        DataFusionError::Context(..) => None,
        DataFusionError::Plan(text)
        | DataFusionError::Execution(text)
        | DataFusionError::Configuration(text) => Some(text.clone()),
        DataFusionError::NotImplemented(text) => Some(format!("not supported: {text}")),
        DataFusionError::ResourcesExhausted(text) => Some(format!("out of memory: {text}")),
        DataFusionError::Internal(text) => Some(format!("internal error of the engine: {text}")),
        wrapper if wrapper.source().is_some() => None,
        other => Some(other.strip_backtrace()),
    }
}

/// The line and column, counted from 1, that a syntax error names.
pub(crate) fn position(messages: &[String]) -> Option<(usize, usize)> {
    let text = messages.iter().find_map(|text| text.split("at line ").nth(1))?;
    let (line, rest) = text.split_once(", column ")?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((line.trim().parse().ok()?, rest.get(..digits)?.parse().ok()?))
}

/// The line of a statement that an error points at, with a caret below the place.
pub(crate) fn excerpt(
    statement: &str,
    (line, column): (usize, usize),
    width: usize,
) -> Option<String> {
    let text = statement.lines().nth(line.checked_sub(1)?)?;
    let before = column.checked_sub(1)?;
    let start = before.saturating_sub(width / 2);
    let shown: String = text
        .chars()
        .skip(start)
        .take(width)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    Some(format!("  {shown}\n  {}^", " ".repeat(before - start)))
}

/// What programs want to know of an error; the fields of our own errors by name.
pub(crate) fn fields(error: &(dyn Error + 'static)) -> serde_json::Value {
    let messages = chain(error);
    let place = tambour::place_of(error);
    let place = place.as_ref();
    json!({
        "kind": tambour::kind_of(error).map(|kind| format!("{kind:?}").to_ascii_lowercase()),
        "message": messages.join(": "),
        "chain": messages,
        "path": place.map(|place| place.path.display().to_string()),
        "column": place.and_then(|place| place.column.clone()),
        "row": place.and_then(|place| place.row),
        "offset": place.and_then(|place| place.offset),
    })
}

/// An error as one JSON object on its own.
pub(crate) fn to_json(error: &(dyn Error + 'static)) -> serde_json::Value {
    let mut object = fields(error);
    if let Some(object) = object.as_object_mut() {
        object.insert("schema".to_owned(), json!("tambour/error/1"));
        object.insert("exit".to_owned(), json!(Exit::of(error).code()));
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Failure;

    #[test]
    fn wrappers_are_silent() {
        let inner = Failure::NotFound("no such thing".to_owned());
        let error = DataFusionError::ArrowError(
            Box::new(ArrowError::ExternalError(Box::new(DataFusionError::External(Box::new(
                inner,
            ))))),
            None,
        );
        assert_eq!(chain(&error), ["no such thing"]);
    }

    #[test]
    fn rules_of_the_engine_are_not_named() {
        let inner = DataFusionError::Plan("no such thing".to_owned());
        let error = inner.context("type_coercion").context("Optimizer rule 'x' failed");
        assert_eq!(chain(&error), ["no such thing"]);
        let column = |name: &str| Box::new(datafusion::common::Column::from_name(name));
        let schema = SchemaError::FieldNotFound {
            field: column("Name"),
            valid_fields: vec![*column("name")],
        };
        let messages = chain(&DataFusionError::SchemaError(Box::new(schema), Box::new(None)));
        assert!(messages[0].contains("case sensitive"), "{messages:?}");
        assert!(!messages[0].contains("datafusion"), "{messages:?}");
    }

    #[test]
    fn syntax_errors_have_a_place() {
        let cause = ParserError::ParserError(
            "syntax error at line 2, column 8: expected an expression, found FROM".to_owned(),
        );
        let error = DataFusionError::SQL(Box::new(cause), None);
        let messages = chain(&error);
        assert_eq!(messages.len(), 1);
        assert_eq!(position(&messages), Some((2, 8)));
        assert_eq!(
            excerpt("SELECT\n  a b  FROM t", (2, 8), 80).as_deref(),
            Some("    a b  FROM t\n         ^")
        );
        assert_eq!(excerpt("SELECT", (3, 1), 80), None);
    }
}
