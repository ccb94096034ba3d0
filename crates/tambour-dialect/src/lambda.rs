//! Functions that take a lambda: all but `arrayMap` and `arrayFold` are written as functions of what `arrayMap` gives, so
//! that one function evaluates lambdas.

use super::call::{arguments, call, name, rename, set_arguments};
use super::{alias, refused};
use crate::DialectError;
use crate::walk::{walk, walk_mut};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, LambdaFunction,
    OneOrManyWithParens, Value, Visitor, VisitorMut,
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

/// Gives the parameters of a lambda names that no column has: the engine asks which of two is meant where a column of a subquery
/// has the same.
pub(super) fn set_apart(lambda: &mut LambdaFunction) {
    struct Renamed {
        names: Vec<String>,
        /// Parameters of lambdas inside of this one.
        inside: Vec<String>,
    }
    fn names_of(lambda: &LambdaFunction) -> impl Iterator<Item = String> {
        lambda.params.iter().map(|it| it.name.value.clone())
    }
    impl VisitorMut for Renamed {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            match expr {
                Expr::Lambda(inner) => self.inside.extend(names_of(inner)),
                Expr::Identifier(name)
                    if self.names.contains(&name.value) && !self.inside.contains(&name.value) =>
                {
                    name.value.push('\'');
                }
                _ => {}
            }
            ControlFlow::Continue(())
        }
        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::Lambda(inner) = expr {
                let left = self.inside.len() - names_of(inner).count();
                self.inside.truncate(left);
            }
            ControlFlow::Continue(())
        }
    }
    let mut renamed = Renamed { names: names_of(lambda).collect(), inside: Vec::new() };
    let _ = walk_mut(&mut *lambda.body, &mut renamed);
    let parameters = match &mut lambda.params {
        OneOrManyWithParens::One(only) => std::slice::from_mut(only),
        OneOrManyWithParens::Many(all) => all.as_mut_slice(),
    };
    for parameter in parameters {
        parameter.name.value.push('\'');
    }
}

/// Writes `[x, 1]` in the body of a lambda as `array(x, 1)`, and `x.name` as `tupleElement(x, 'name')`: the planner of lists does
/// not know the parameters of lambdas, and that of columns takes them for tables.
pub(super) fn as_calls(lambda: &mut LambdaFunction) {
    struct Calls(Vec<String>);
    impl VisitorMut for Calls {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            match expr {
                Expr::Array(list) => {
                    *expr = Expr::Function(call("array", std::mem::take(&mut list.elem)));
                }
                Expr::CompoundIdentifier(parts)
                    if parts.first().is_some_and(|it| self.0.contains(&it.value)) =>
                {
                    let mut parts = std::mem::take(parts).into_iter();
                    let parameter = parts.next().map_or_else(null, Expr::Identifier);
                    *expr = parts.fold(parameter, |tuple, part| {
                        let name = Expr::value(Value::SingleQuotedString(part.value));
                        Expr::Function(call("tupleElement", vec![tuple, name]))
                    });
                }
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let names = lambda.params.iter().map(|it| it.name.value.clone()).collect();
    let _ = walk_mut(&mut *lambda.body, &mut Calls(names));
}

fn null() -> Expr {
    Expr::value(Value::Null)
}

/// The lambda that a call names, and the expressions for its parameters: `WITH x -> x + 1 AS f SELECT f(a)` asks for `a + 1`.
pub(super) fn called<'a>(
    function: &mut Function,
    aliases: &'a alias::Aliases,
) -> Result<Option<(&'a LambdaFunction, alias::Aliases)>, DialectError> {
    let Some(written) = name(function).map(str::to_owned) else { return Ok(None) };
    let Some(Expr::Lambda(lambda)) = aliases.get(&written).map(bare) else { return Ok(None) };
    let given = arguments(function).unwrap_or_default();
    if given.len() != lambda.params.len() {
        return Err(refused(
            format!("{written} of {} arguments", given.len()),
            format!("its lambda takes {}", lambda.params.len()),
        ));
    }
    let parameters = lambda.params.iter().map(|it| it.name.value.clone());
    let values: alias::Aliases = parameters.zip(given).collect();
    if values.len() < lambda.params.len() {
        return Err(refused(lambda.to_string(), "two of its parameters have one name"));
    }
    Ok(Some((lambda, values)))
}

/// Puts the expressions for parameters in their places, all at once: what comes in is not looked at again. Returns how many
/// expressions came in, with those inside of them.
pub(super) fn bind(body: &mut Expr, values: &alias::Aliases) -> Result<usize, DialectError> {
    let mut work = Binding { values, inner: Vec::new(), added: 0 };
    match walk_mut(body, &mut work) {
        ControlFlow::Continue(()) => Ok(work.added),
        ControlFlow::Break(error) => Err(error),
    }
}

/// The walk that puts them in.
struct Binding<'a> {
    values: &'a alias::Aliases,
    /// Parameters of the lambdas around, inside of the body.
    inner: Vec<String>,
    /// Expressions that came in.
    added: usize,
}

impl Binding<'_> {
    fn value(&mut self, name: &str) -> Result<Option<Expr>, DialectError> {
        if self.inner.iter().any(|inner| inner == name) {
            return Ok(None);
        }
        let Some(value) = self.values.get(name) else { return Ok(None) };
        let mut mentions = Mentions { names: &self.inner, expressions: 0 };
        if let Some(taken) = walk(value, &mut mentions).break_value() {
            return Err(refused(
                format!("{value} for the parameter {name}"),
                format!(
                    "the lambda has another lambda inside with a parameter {taken}; give that one another name"
                ),
            ));
        }
        self.added += mentions.expressions;
        alias::check_added(self.added)?;
        Ok(Some(alias::in_parentheses(value.clone())))
    }
}

impl VisitorMut for Binding<'_> {
    type Break = DialectError;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        if let Expr::Lambda(lambda) = expr {
            self.inner.extend(lambda.params.iter().map(|it| it.name.value.clone()));
        }
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<DialectError> {
        match expr {
            Expr::Lambda(lambda) => self.inner.truncate(self.inner.len() - lambda.params.len()),
            Expr::Identifier(name) => match self.value(&name.value) {
                Ok(Some(value)) => *expr = value,
                Ok(None) => {}
                Err(error) => return ControlFlow::Break(error),
            },
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Looks for names in an expression, and counts the expressions that it is made of.
struct Mentions<'a> {
    names: &'a [String],
    expressions: usize,
}

impl Visitor for Mentions<'_> {
    type Break = String;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        self.expressions += 1;
        match expr {
            Expr::Identifier(name) if self.names.contains(&name.value) => {
                ControlFlow::Break(name.value.clone())
            }
            _ => ControlFlow::Continue(()),
        }
    }
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
