//! Functions that take a lambda: all but `arrayMap` and `arrayFold` are written as functions of what `arrayMap` gives, so
//! that one function evaluates lambdas.

use super::call::{arguments, call, name, rename, set_arguments};
use super::{alias, refused};
use crate::DialectError;
use crate::walk::walk_mut;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, VisitorMut,
};
use std::ops::ControlFlow;

/// Functions of the results alone: `arraySum(f, a)` is `arraySum(arrayMap(f, a))`.
const OF_RESULTS: &[&str] = &[
    "arraySum",
    "arrayAvg",
    "arrayMin",
    "arrayMax",
    "arrayProduct",
    "arrayCumSum",
    "arrayCumSumNonNegative",
    "arrayDifference",
    "arrayExists",
    "arrayAll",
    "arrayCount",
    "arrayFirstIndex",
    "arrayLastIndex",
];

/// Functions of the results and of the first array.
const OF_BOTH: &[(&str, &str)] = &[
    ("arrayFilter", "arrayFilterByKeys"),
    ("arrayFill", "arrayFillByKeys"),
    ("arrayReverseFill", "arrayReverseFillByKeys"),
    ("arraySplit", "arraySplitByKeys"),
    ("arrayReverseSplit", "arrayReverseSplitByKeys"),
    ("arrayFirst", "arrayFirstByKeys"),
    ("arrayLast", "arrayLastByKeys"),
    ("arrayFirstOrNull", "arrayFirstOrNullByKeys"),
    ("arrayLastOrNull", "arrayLastOrNullByKeys"),
    ("arraySort", "arraySortByKeys"),
    ("arrayReverseSort", "arrayReverseSortByKeys"),
];

/// The same of maps, whose lambdas take a key and a value.
const OF_MAPS: &[(&str, &str)] = &[
    ("mapFilter", "mapFilterByKeys"),
    ("mapSort", "mapSortByKeys"),
    ("mapReverseSort", "mapReverseSortByKeys"),
];

/// Functions with lambdas only.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let others = ["arrayMap", "arrayFold", "mapApply", "mapExists", "mapAll"];
    OF_BOTH.iter().chain(OF_MAPS).map(|(name, _)| *name).chain(others)
}

fn has_lambda(function: &Function) -> bool {
    let FunctionArguments::List(list) = &function.args else { return false };
    matches!(list.args.first(), Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Lambda(_)))))
}

/// Rewrites a call if its first argument is a lambda; true if it was.
pub(super) fn rewrite(function: &mut Function, written: &str) -> Result<bool, DialectError> {
    if !has_lambda(function) {
        let needs_one = names().any(|name| name == written) && !is_plain_too(written);
        if needs_one {
            return Err(refused(format!("{written} without a lambda"), "write x -> ... first"));
        }
        return Ok(false);
    }
    if matches!(written, "arrayMap" | "arrayFold") {
        rename(function, written);
        return Ok(true);
    }
    let all = arguments(function).unwrap_or_default();
    let Some(first) = all.get(1).cloned() else {
        return Err(refused(format!("{written} of a lambda alone"), "the array is missing"));
    };
    let mapped = |arguments| Expr::Function(call("arrayMap", arguments));
    if OF_RESULTS.contains(&written) {
        set_arguments(function, vec![mapped(all)]);
        rename(function, written);
        return Ok(true);
    }
    if let Some((_, by_keys)) = OF_BOTH.iter().find(|(name, _)| *name == written) {
        set_arguments(function, vec![mapped(all), first]);
        rename(function, by_keys);
        return Ok(true);
    }
    let part = |name| Expr::Function(call(name, vec![first.clone()]));
    let lambda = all.into_iter().take(1);
    let pairs = mapped(lambda.chain([part("mapKeys"), part("mapValues")]).collect());
    if let Some((_, by_keys)) = OF_MAPS.iter().find(|(name, _)| *name == written) {
        set_arguments(function, vec![pairs, first]);
        rename(function, by_keys);
        return Ok(true);
    }
    let of_pairs = match written {
        "mapApply" => "mapFromTuples",
        "mapExists" => "arrayExists",
        "mapAll" => "arrayAll",
        _ => return Err(refused(format!("{written} with a lambda"), "it takes none here")),
    };
    set_arguments(function, vec![pairs]);
    rename(function, of_pairs);
    Ok(true)
}

/// Writes `[x, 1]` in the body of a lambda as `array(x, 1)`: the planner of lists does not know the parameters of lambdas.
pub(super) fn lists_as_calls(body: &mut Expr) {
    struct Lists;
    impl VisitorMut for Lists {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Array(list) = expr {
                *expr = Expr::Function(call("array", std::mem::take(&mut list.elem)));
            }
            ControlFlow::Continue(())
        }
    }
    let _ = walk_mut(body, &mut Lists);
}

/// A call of a lambda that has a name: `WITH x -> x + 1 AS f SELECT f(a)` asks for `a + 1`.
pub(super) fn applied(
    function: &mut Function,
    aliases: &alias::Aliases,
) -> Result<Option<Expr>, DialectError> {
    let Some(written) = name(function).map(str::to_owned) else { return Ok(None) };
    let Some(Expr::Lambda(lambda)) = aliases.get(&written).map(bare) else { return Ok(None) };
    let given = arguments(function).unwrap_or_default();
    let parameters: Vec<&str> = lambda.params.iter().map(|it| it.name.value.as_str()).collect();
    if given.len() != parameters.len() {
        return Err(refused(
            format!("{written} of {} arguments", given.len()),
            format!("its lambda takes {}", parameters.len()),
        ));
    }
    let mut values = alias::Aliases::new();
    for (parameter, value) in parameters.into_iter().zip(given) {
        values.insert(parameter.to_owned(), value);
    }
    let mut body = (*lambda.body).clone();
    // Other names that the statement gives stand for their values here, too.
    let mut others = aliases.clone();
    others.retain(|name, _| *name != written && !values.contains_key(name));
    alias::apply_to(&mut body, &others)?;
    alias::apply_to(&mut body, &values)?;
    Ok(Some(Expr::Nested(Box::new(body))))
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        other => other,
    }
}

fn is_plain_too(name: &str) -> bool {
    matches!(name, "arraySort" | "arrayReverseSort" | "mapSort" | "mapReverseSort")
}
