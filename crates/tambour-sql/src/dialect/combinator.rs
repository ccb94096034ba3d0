//! Combinators after the names of aggregates: `sumDistinct`, `avgOrNull`, `sumArray`, `sumForEach`, `sumMap`. `-If` has its
//! place with the aggregates; what stands before it is looked at again here.

use super::call::{arguments, call, name, rename, set_arguments};
use super::{aggregate, refused};
use crate::SqlError;
use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArguments, Value,
};

/// The combinators, as they are taken off from the end of a name.
const ALL: &[&str] = &["OrNull", "OrDefault", "Distinct", "ForEach", "Array", "Map"];

/// Aggregates whose groups of elements are reduced by a function of arrays.
const OF_ARRAYS: &[(&str, &str)] = &[
    ("sum", "arraySum"),
    ("avg", "arrayAvg"),
    ("min", "arrayMin"),
    ("max", "arrayMax"),
    ("count", "length"),
    ("uniq", "arrayUniq"),
    ("uniqExact", "arrayUniq"),
    ("groupUniqArray", "arrayDistinct"),
];

/// The aggregate before the last combinator of a name, and the combinator.
pub(super) fn split(written: &str) -> Option<(&str, &'static str)> {
    let combinator = ALL.iter().find(|it| written.ends_with(**it))?;
    let base = written.strip_suffix(combinator)?;
    let is_known = aggregate::is_name(base);
    // `groupArray` is one itself, and `sumMap` of maps is `sum` with a combinator.
    (is_known && !base.is_empty()).then_some((base, *combinator))
}

fn text(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

/// Rewrites an aggregate with a combinator; what replaces it.
pub(super) fn rewrite(function: &mut Function, written: &str) -> Result<Option<Expr>, SqlError> {
    let Some((base, combinator)) = split(written) else { return Ok(None) };
    match combinator {
        "OrNull" => or_null(function, base, written).map(Some),
        "Distinct" => distinct(function, base, written).map(Some),
        "Array" if base == "groupArray" => {
            let inner = gathered(function, written)?;
            Ok(Some(Expr::Function(call("reduceConcat", vec![inner]))))
        }
        "Array" => {
            let reducer = reducer(base, written)?;
            let inner = gathered(function, written)?;
            let flat = Expr::Function(call("reduceConcat", vec![inner]));
            Ok(Some(Expr::Function(call(reducer, vec![flat]))))
        }
        "ForEach" | "Map" => {
            let reducer = reducer(base, written)?;
            let inner = gathered(function, written)?;
            let kernel = if combinator == "Map" { "reduceMap" } else { "reduceForEach" };
            Ok(Some(Expr::Function(call(kernel, vec![inner, text(reducer)]))))
        }
        _ => Err(refused(written, "say what stands for no rows with coalesce(...)")),
    }
}

fn reducer(base: &str, written: &str) -> Result<&'static str, SqlError> {
    let found = OF_ARRAYS.iter().find(|(name, _)| *name == base);
    found.map(|(_, reducer)| *reducer).ok_or_else(|| {
        refused(written, "this combinator goes with sum, avg, min, max, count and uniq here")
    })
}

/// An array of the values of the only argument.
fn gathered(function: &mut Function, written: &str) -> Result<Expr, SqlError> {
    if !matches!(function.parameters, FunctionArguments::None) {
        return Err(refused(format!("{written} with parameters"), "it takes none here"));
    }
    let list = arguments(function).unwrap_or_default();
    if list.len() != 1 {
        return Err(refused(format!("{written} of {} arguments", list.len()), "it takes one here"));
    }
    let mut gather = call("array_agg", list);
    gather.filter = function.filter.take();
    gather.over.clone_from(&function.over);
    Ok(Expr::Function(gather))
}

/// The plain aggregate, rewritten as one.
fn plain(function: &mut Function, base: &str) -> Result<Expr, SqlError> {
    rename(function, base);
    if let Some(replaced) = aggregate::rewrite(function, base)? {
        return Ok(replaced);
    }
    if name(function) == Some(base) {
        super::call::rewrite_plain(function, base);
    }
    Ok(Expr::Function(function.clone()))
}

fn is_count(base: &str) -> bool {
    let plain = base.strip_suffix("If").unwrap_or(base);
    plain == "count" || plain.starts_with("uniq")
}

/// Aggregates of no rows are NULL, but for those that count.
fn or_null(function: &mut Function, base: &str, written: &str) -> Result<Expr, SqlError> {
    if base.starts_with("group") {
        return Err(refused(written, "an array cannot be NULL"));
    }
    let counted = is_count(base);
    let inner = plain(function, base)?;
    if !counted {
        return Ok(inner);
    }
    let zero = Expr::value(Value::Number("0".to_owned(), false));
    Ok(Expr::Function(call("nullif", vec![inner, zero])))
}

fn distinct(function: &mut Function, base: &str, written: &str) -> Result<Expr, SqlError> {
    if base == "groupArray" {
        let inner = plain(function, base)?;
        return Ok(Expr::Function(call("arrayDistinct", vec![inner])));
    }
    let is_taken = matches!(base, "sum" | "avg" | "min" | "max" | "count" | "any")
        || base.starts_with("uniq") && !base.ends_with("If");
    if !is_taken {
        return Err(refused(written, "-Distinct goes with sum, avg, min, max and count here"));
    }
    if let FunctionArguments::List(list) = &mut function.args
        && matches!(base, "sum" | "avg" | "count")
    {
        list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
    }
    let list = arguments(function).unwrap_or_default();
    set_arguments(function, list);
    plain(function, base)
}
