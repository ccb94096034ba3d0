//! What is wrong with a statement, in the words of its author: the engine's texts name its own insides, ask for reports of
//! bugs and print syntax trees.

use crate::mismatch;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use std::error::Error;
use std::fmt::Write;

/// Columns that are named in the place of an unknown one.
const COLUMNS_MAX: usize = 12;
/// Longest piece of the engine's text that is shown.
const TEXT_MAX: usize = 400;

/// What some of the engine's texts mean, by a piece of each.
const KNOWN: [(&str, &str); 10] = [
    (
        "cannot run range queries on datatype",
        "OVER (ORDER BY x) of this type needs a frame of rows: add ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    ),
    (
        "ggregate ORDER BY is not implemented for window functions",
        "argMin, argMax and their like do not run over windows: join with a subquery that has them by group",
    ),
    ("here is only support Literal types", "the third argument of lag and lead is a constant"),
    (
        "BoundedWindowAggExec",
        "a subquery in the PARTITION BY or ORDER BY of a window is not supported: give it a name in a subquery below",
    ),
    (
        "n/Exist/SetComparison subquery can only be used",
        "IN (SELECT ...) is not supported in this place: give it a name in a subquery below",
    ),
    (
        "nconsistent metadata across values list",
        "the rows of values have different types: say them, like values('a Float64, b Date', ...)",
    ),
    (
        "SUM not supported for Null",
        "sum of NULL is not supported: say its type, like CAST(NULL AS Nullable(Float64))",
    ),
    (
        "ualifier for lambda variable",
        "a lambda with a subquery inside is not supported: ask for the set by groupArray in a subquery, and has()",
    ),
    (
        "is declared as non-nullable but contains null values",
        "a subquery in the place of a value has no row, and its value cannot be NULL",
    ),
    (
        "nnest() can only be applied",
        "ARRAY JOIN takes arrays: of a map, mapKeys(m) and mapValues(m)",
    ),
];

/// The message of an error.
pub fn of(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::SQL(error, _) => syntax(error),
        DataFusionError::SchemaError(error, _) => schema(error),
        DataFusionError::Plan(text) | DataFusionError::Configuration(text) => plain(text),
        DataFusionError::NotImplemented(text) => not_there(text),
        DataFusionError::Internal(text) => {
            format!("this statement cannot be run: {}", plain(text))
        }
        DataFusionError::Execution(text) => plain(text),
        DataFusionError::ResourcesExhausted(text) => memory(text),
        DataFusionError::ArrowError(error, _) => plain(&error.to_string()),
        DataFusionError::External(error) => chain(&**error),
        other => plain(&other.to_string()),
    }
}

/// What a query ran out of memory for, and what to do. The engine's text lists its own operators.
fn memory(text: &str) -> String {
    let operator = text.split_once("allocation failed for ").map_or("", |(_, rest)| rest);
    let operator = operator.split(['[', ' ', '#']).next().unwrap_or_default();
    let what = match operator {
        it if it.contains("Join") => "a join (its right side is kept in memory)",
        it if it.contains("Sort") || it.contains("TopK") => "a sort",
        it if it.contains("Aggregate") || it.contains("Group") => "the groups of an aggregation",
        it if it.contains("Window") => "a window",
        _ => "this query",
    };
    let wanted = text
        .split_once("Failed to allocate additional ")
        .and_then(|(_, rest)| rest.split_once(" for "));
    let wanted =
        wanted.map_or(String::new(), |(size, _)| format!(" when {size} more were asked for"));
    format!(
        "out of memory: {what} did not fit{wanted}; raise the limit (--memory), or run it with fewer threads or on fewer rows and columns"
    )
}

/// An error with its causes.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(current) = cause {
        // The alternative is a text without one of the causes.
        let _ = write!(text, ": {current}");
        cause = current.source();
    }
    text
}

fn syntax(error: &ParserError) -> String {
    match error {
        ParserError::RecursionLimitExceeded => "the statement is nested too deeply".to_owned(),
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
            let (what, place) = match text.rsplit_once(" at Line: ") {
                Some((what, place)) => (what, place.replace(", Column: ", ", column ")),
                None => (text.as_str(), String::new()),
            };
            let what =
                what.replacen("Expected: ", "expected ", 1).replacen(", found: ", ", found ", 1);
            if place.is_empty() {
                format!("syntax error: {}", first_lower(&what))
            } else {
                format!("syntax error at line {place}: {}", first_lower(&what))
            }
        }
    }
}

fn schema(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            let mut names: Vec<&str> =
                valid_fields.iter().map(|field| field.name.as_str()).collect();
            // What nobody typed helps nobody.
            names.retain(|name| !name.starts_with('\u{1f}'));
            names.dedup();
            let more = names.len().saturating_sub(COLUMNS_MAX);
            names.truncate(COLUMNS_MAX);
            let known = match (names.as_slice(), more) {
                ([], _) => "; there are no columns here".to_owned(),
                (names, 0) => format!("; there are: {}", names.join(", ")),
                (names, more) => format!("; there are: {} and {more} more", names.join(", ")),
            };
            format!("there is no column {:?}{known}", field.flat_name())
        }
        SchemaError::AmbiguousReference { field } => {
            format!("the column {:?} is in several tables; write table.column", field.name)
        }
        SchemaError::DuplicateUnqualifiedField { name } => {
            format!("two columns are named {name:?}; give one another name with AS")
        }
        SchemaError::DuplicateQualifiedField { name, .. } => {
            format!("two columns are named {name:?}; give one another name with AS")
        }
    }
}

/// What the engine does not have. Its text is a syntax tree as often as not.
fn not_there(text: &str) -> String {
    if text.contains("interval argument") {
        return "an interval whose length is not a number stands beside + or -: d + INTERVAL n DAY"
            .to_owned();
    }
    if text.contains("nnest should be rewritten") {
        return "arrayJoin makes rows where none can be made, as inside of a window: give it a name in a subquery".to_owned();
    }
    let is_tree =
        ["ast node", "AST node", "sqltorel", " { ", "Ident {"].iter().any(|it| text.contains(it));
    if is_tree {
        return "this statement has an expression or a clause that is not supported here; \
                docs/functions.md lists those that are"
            .to_owned();
    }
    format!("not supported here: {}", plain(text))
}

/// A text of the engine without its name, its requests and its stack.
fn plain(text: &str) -> String {
    if let Some(known) = mismatch::of(text) {
        return known;
    }
    if let Some(told) = unread(text) {
        return told;
    }
    if let Some((_, known)) = KNOWN.iter().find(|(piece, _)| text.contains(piece)) {
        return (*known).to_owned();
    }
    let mut text = text;
    for end in [
        "\nThis issue was likely caused",
        ".\nThis issue",
        "\n\nbacktrace",
        "\n\nBacktrace",
        ". This issue",
        "Please help us",
        "\nDid you mean",
        " No function matches the given name",
    ] {
        if let Some(at) = text.find(end) {
            text = &text[..at];
        }
    }
    for prefix in [
        "Error during planning: ",
        "Execution error: ",
        "Internal error: ",
        "Arrow error: ",
        "Compute error: ",
        "Cast error: ",
        "Invalid argument error: ",
        "Optimizer rule ",
    ] {
        text = text.strip_prefix(prefix).unwrap_or(text);
    }
    let text: String = text.replace("DataFusion", "the engine").replace(['\n', '\r'], " ");
    let text = text.trim().trim_end_matches(['.', ',', ':']);
    let cut = text.char_indices().nth(TEXT_MAX).map_or(text, |(at, _)| &text[..at]);
    first_lower(cut)
}

/// What a text that was compared with another type, or cast to it, is not.
fn unread(text: &str) -> Option<String> {
    const TIME: &str = "a date and time: write it as '2024-05-31 23:59:00'";
    if let Some((_, rest)) = text.split_once("Error parsing timestamp from '") {
        let (value, _) = rest.rsplit_once("': ")?;
        return Some(format!("'{value}' is not {TIME}"));
    }
    let (_, rest) = text.split_once("annot cast string '")?;
    let (value, rest) = rest.rsplit_once("' to value of ")?;
    let (wanted, more) = rest.split_once(" type")?;
    let what = match wanted {
        "Date32" => "a date: write it as '2024-05-31'".to_owned(),
        it if it.starts_with("Timestamp") => TIME.to_owned(),
        it if it.starts_with("Decimal") => "a decimal number".to_owned(),
        "Boolean" => "a Bool: write it as 'true' or 'false'".to_owned(),
        it if it.contains("Int") => format!("a whole number of type {it}"),
        it if it.starts_with("Float") => "a number".to_owned(),
        it => format!("of type {it}"),
    };
    Some(format!("'{value}' is not {what}{more}"))
}

/// A sentence in the middle of one.
fn first_lower(text: &str) -> String {
    let mut characters = text.chars();
    match (characters.next(), characters.clone().next()) {
        (Some(first), Some(second))
            if first.is_ascii_uppercase() && second.is_ascii_lowercase() =>
        {
            first.to_ascii_lowercase().to_string() + characters.as_str()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_insides_of_the_engine_are_not_shown() {
        let tree = DataFusionError::NotImplemented(
            "Unsupported ast node in sqltorel: Lambda(Ident { value: \"x\" })".to_owned(),
        );
        assert!(!of(&tree).contains("ast node"), "{}", of(&tree));
        let bug = DataFusionError::Internal(
            "Something.\nThis issue was likely caused by a bug in DataFusion's code. Please help us".to_owned(),
        );
        assert_eq!(of(&bug), "this statement cannot be run: something");
    }

    #[test]
    fn texts_that_are_not_read_are_told_without_types_of_the_engine() {
        let of_cast = |to: &str| {
            plain(&format!("Cast error: Cannot cast string 'it''s' to value of {to} type"))
        };
        assert_eq!(of_cast("Date32"), "'it''s' is not a date: write it as '2024-05-31'");
        assert_eq!(of_cast("Decimal128(38, 10)"), "'it''s' is not a decimal number");
        let told = plain("Cannot cast string 'x' to value of Int64 type. More of type");
        assert_eq!(told, "'x' is not a whole number of type Int64. More of type");
        assert_eq!(of_cast("UInt64"), "'it''s' is not a whole number of type UInt64");
        let text = "Parser error: Error parsing timestamp from 'x': timestamp must contain at least 10 characters";
        assert!(plain(text).starts_with("'x' is not a date and time"), "{}", plain(text));
    }

    #[test]
    fn memory_is_told_in_words_of_users() {
        let text = "Additional allocation failed for HashJoinInput[1] with top memory consumers (across reservations) as:\n  \
                    HashJoinInput[0]#0(can spill: false) consumed 512.0 KB.\nError: Failed to allocate additional 128.0 KB for \
                    HashJoinInput[1] with 448.0 KB already allocated";
        let message = of(&DataFusionError::ResourcesExhausted(text.to_owned()));
        assert!(message.starts_with("out of memory: a join"), "{message}");
        assert!(message.contains("128.0 KB") && message.contains("--memory"), "{message}");
        assert!(!message.contains("HashJoin"), "{message}");
    }

    #[test]
    fn syntax_errors_tell_their_place() {
        let text = "Expected: end of statement, found: x at Line: 1, Column: 10";
        let error = ParserError::ParserError(text.to_owned());
        assert_eq!(
            syntax(&error),
            "syntax error at line 1, column 10: expected end of statement, found x"
        );
    }
}
