//! Aggregates that DataFusion has under other names or in another syntax, the combinator `-If`, and parameters.

use super::call::{arguments, call, choice, name, rename, set_arguments};
use super::combinator::marked;
use super::rewrite::condition_of;
use super::{combinator, gathered, refused, spread};
use crate::DialectError;
use crate::marks::Otherwise;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArguments, NullTreatment, OrderByExpr, OrderByOptions, Value,
};

/// Aggregates of ClickHouse that are rewritten here; each also with `If` after it.
pub(super) const NAMES: &[&str] = &[
    "count",
    "uniq",
    "uniqExact",
    "uniqCombined",
    "uniqCombined64",
    "uniqHLL12",
    "uniqTheta",
    "any",
    "anyLast",
    "argMin",
    "argMax",
    "argAndMin",
    "argAndMax",
    "sumCount",
    "any_respect_nulls",
    "anyRespectNulls",
    "any_value_respect_nulls",
    "anyValueRespectNulls",
    "first_value_respect_nulls",
    "firstValueRespectNulls",
    "anyLast_respect_nulls",
    "anyLastRespectNulls",
    "last_value_respect_nulls",
    "lastValueRespectNulls",
    "quantilesTDigest",
    "medianTDigest",
    "groupArray",
    "groupUniqArray",
    "quantile",
    "quantiles",
    "median",
    "quantileExact",
    "quantilesExact",
    "medianExact",
    "quantileTDigest",
    "quantileDeterministic",
    "quantilesDeterministic",
    "medianDeterministic",
    "sumIf",
    "countIf",
    "avgIf",
    "minIf",
    "maxIf",
];

/// Aggregates for which a NULL is a value, and whether they take the last one.
const RESPECTING: &[(&str, bool)] = &[
    ("any_respect_nulls", false),
    ("anyRespectNulls", false),
    ("any_value_respect_nulls", false),
    ("anyValueRespectNulls", false),
    ("first_value_respect_nulls", false),
    ("firstValueRespectNulls", false),
    ("anyLast_respect_nulls", true),
    ("anyLastRespectNulls", true),
    ("last_value_respect_nulls", true),
    ("lastValueRespectNulls", true),
];

/// Aggregates that take `If` besides those above.
const PLAIN: &[&str] = &[
    "stddevPopStable",
    "stddevSampStable",
    "varPopStable",
    "varSampStable",
    "covarPop",
    "covarSamp",
    "corr",
    "skewPop",
    "skewSamp",
    "kurtPop",
    "kurtSamp",
    "sum",
    "avg",
    "min",
    "max",
    "stddevPop",
    "stddevSamp",
    "varPop",
    "varSamp",
    "groupBitAnd",
    "groupBitOr",
    "groupBitXor",
];

/// Aggregates whose name ClickHouse takes in any case, and DataFusion's own of everyday.
const ANY_CASE: &[&str] =
    &["count", "sum", "avg", "min", "max", "median", "stddev", "var", "any_value", "array_agg"];

/// Other names, which ClickHouse takes in any case.
const ALIASES: &[(&str, &str)] = &[
    ("array_concat_agg", "groupArrayArray"),
    ("bit_and", "groupBitAnd"),
    ("bit_or", "groupBitOr"),
    ("bit_xor", "groupBitXor"),
    ("covar_pop", "covarPop"),
    ("covar_samp", "covarSamp"),
    ("max_by", "argMax"),
    ("min_by", "argMin"),
    ("std", "stddevPop"),
    ("stddev", "stddevSamp"),
    ("stddev_pop", "stddevPop"),
    ("stddev_samp", "stddevSamp"),
    ("var_pop", "varPop"),
    ("var_samp", "varSamp"),
];

/// ClickHouse's name of an aggregate that is called by another one.
pub(super) fn by_alias(written: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(written)).map(|(_, name)| *name)
}

/// True for names of aggregates that combinators may follow.
pub fn is_name(written: &str) -> bool {
    let is_known = NAMES.iter().chain(PLAIN).chain(gathered::names()).any(|it| *it == written);
    is_known || base_of_if(written).is_some() || combinator::split(written).is_some()
}

/// True for calls of aggregates (as far as this crate knows them), not for those over windows.
pub(super) fn is_one(function: &Function) -> bool {
    let Some(written) = name(function) else { return false };
    let is_known = NAMES.iter().chain(PLAIN).chain(gathered::names()).any(|name| *name == written)
        || ANY_CASE.iter().any(|name| name.eq_ignore_ascii_case(written))
        || by_alias(written).is_some()
        || base_of_if(written).is_some()
        || combinator::split(written).is_some();
    is_known && function.over.is_none()
}

/// Renames what takes the value of one row, whichever: `any` and its kin. False for any other function.
fn picks_a_row(function: &mut Function, written: &str) -> bool {
    let respects = function.null_treatment == Some(NullTreatment::RespectNulls);
    let by_name = RESPECTING.iter().find(|(name, _)| *name == written);
    match (written, by_name) {
        ("any", _) if respects => rename(function, "first_value"),
        ("any", _) => {
            function.null_treatment = None;
            rename(function, "any_value");
        }
        ("anyLast", _) => {
            rename(function, "last_value");
            function.null_treatment.get_or_insert(NullTreatment::IgnoreNulls);
        }
        (_, Some((_, is_last))) => {
            rename(function, if *is_last { "last_value" } else { "first_value" });
            function.null_treatment = Some(NullTreatment::RespectNulls);
        }
        _ if ["first_value", "last_value"].iter().any(|it| it.eq_ignore_ascii_case(written)) => {
            rename(function, &written.to_ascii_lowercase());
            function.null_treatment.get_or_insert(NullTreatment::IgnoreNulls);
        }
        _ => return false,
    }
    true
}

/// Rewrites a call if it is one of an aggregate; what replaces it, if it is not a call any more.
pub(super) fn rewrite(
    function: &mut Function,
    written: &str,
) -> Result<Option<Expr>, DialectError> {
    if let Some(base) = base_of_if(written).or_else(|| combined_base_of_if(written)) {
        let mut list = arguments(function).unwrap_or_default();
        let Some(condition) = list.pop() else {
            return Err(refused(format!("{written}()"), "the condition is missing"));
        };
        let has_null = list.iter().any(super::call::is_null);
        set_arguments(function, list);
        if let Some(plain) = base.strip_suffix("PopStable") {
            let instead = format!("of no rows it is inf there: write {plain}PopIf");
            return Err(refused(written, &instead));
        }
        if is_never_null_with_if(base) && !has_null {
            combinator::mark(function, Otherwise::Own);
        } else if base.starts_with("intervalLengthSum") {
            combinator::mark(function, Otherwise::Usual);
        }
        add_filter(function, condition_of(condition));
        rename(function, base);
        let replaced = rewrite(function, base)?;
        if replaced.is_none() && name(function) == Some(base) {
            // Not one of those below: a plain aggregate, by ClickHouse's name.
            super::call::rewrite_plain(function, base);
        }
        return Ok(replaced);
    }
    if !NAMES.contains(&written)
        && let Some(expr) = combinator::rewrite(function, written)?
    {
        return Ok(Some(expr));
    }
    if let Some(expr) = gathered::rewrite(function, written)? {
        return Ok(Some(expr));
    }
    if picks_a_row(function, written) {
        return Ok(None);
    }
    if matches!(written, "covarPopStable" | "covarSampStable") {
        exchange(function);
    }
    match written {
        "uniq" | "uniqExact" | "uniqCombined" | "uniqCombined64" | "uniqHLL12" | "uniqTheta" => {
            distinct(function, written)?;
        }
        "argMin" | "argMax" => extreme(function, written)?,
        "argAndMin" | "argAndMax" => return both(function, written).map(Some),
        "sumCount" => return sum_count(function, written).map(Some),
        _ if written.eq_ignore_ascii_case("array_agg") => {
            group_array(function, written, None)?;
            return Ok(Some(never_null(function)));
        }
        "groupArray" => {
            group_array(function, written, None)?;
            return Ok(Some(never_null(function)));
        }
        "groupUniqArray" => {
            group_array(function, written, Some(DuplicateTreatment::Distinct))?;
            return Ok(Some(never_null(function)));
        }
        "quantileDeterministic" | "quantilesDeterministic" | "medianDeterministic" => {
            return deterministic(function, written).map(Some);
        }
        "quantile" | "quantileTDigest" | "quantileExact" | "median" | "medianExact"
        | "medianTDigest" | "quantiles" | "quantilesExact" | "quantilesTDigest" => {
            return quantile(function, written).map(Some);
        }
        _ if written.eq_ignore_ascii_case("count") => count(function),
        _ => return Ok(spread::rewrite(function, written)),
    }
    Ok(None)
}

/// The engine's covariance takes its steps as ClickHouse's with the arguments exchanged.
fn exchange(function: &mut Function) {
    let mut list = arguments(function).unwrap_or_default();
    if list.len() == 2 {
        let (first, mark) = combinator::split_mark(list.remove(0));
        list.push(first);
        if let Some(mark) = mark {
            let first = list.remove(0);
            list.insert(0, mark.around(first));
        }
    }
    set_arguments(function, list);
}

/// True for aggregates that give tuples, which -If never makes NULL, but -OrNull does.
fn is_never_null_with_if(base: &str) -> bool {
    let plain = base.strip_suffix("OrDefault").unwrap_or(base);
    matches!(plain, "argAndMin" | "argAndMax") || gathered::OF_TUPLES.contains(&plain)
}

/// What decides which values are looked at is not needed where all of them are.
fn deterministic(function: &mut Function, written: &str) -> Result<Expr, DialectError> {
    let mut list = arguments(function).unwrap_or_default();
    list.truncate(1);
    set_arguments(function, list);
    let plain = written.trim_end_matches("Deterministic").to_owned();
    rename(function, &plain);
    quantile(function, &plain)
}

/// `sum` of `sumIf`.
fn base_of_if(written: &str) -> Option<&'static str> {
    let base = written.strip_suffix("If")?;
    NAMES.iter().chain(PLAIN).chain(gathered::names()).find(|name| **name == base).copied()
}

/// The aggregate with combinators of `sumArrayIf`.
fn combined_base_of_if(written: &str) -> Option<&str> {
    written.strip_suffix("If").filter(|base| combinator::split(base).is_some())
}

/// Rows must meet this condition too.
pub(super) fn add_filter(function: &mut Function, condition: Expr) {
    function.filter = Some(Box::new(match function.filter.take() {
        Some(filter) => {
            let (left, right) =
                (Box::new(Expr::Nested(filter)), Box::new(Expr::Nested(Box::new(condition))));
            Expr::BinaryOp { left, op: BinaryOperator::And, right }
        }
        None => condition,
    }));
}

/// `count()` is `count(*)`.
fn count(function: &mut Function) {
    rename(function, "count");
    let FunctionArguments::List(list) = &mut function.args else { return };
    if list.args.is_empty() {
        list.args.push(FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
    } else if list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
        as_tuple(function);
    }
}

fn distinct(function: &mut Function, written: &str) -> Result<(), DialectError> {
    let list = arguments(function).unwrap_or_default();
    if list.is_empty() {
        return Err(refused(format!("{written}()"), "it takes an argument"));
    }
    let is_sketch = !matches!(written, "uniq" | "uniqExact");
    if is_sketch && list.iter().any(super::call::is_null) {
        return Err(refused(format!("{written} of NULL"), "use uniq or uniqExact"));
    }
    let all = list.clone();
    set_arguments(function, list);
    as_tuple(function);
    if written.starts_with("uniqCombined") {
        // Of NULLs alone these are NULL, where the others are 0.
        let list = arguments(function).unwrap_or_default();
        let list = list.into_iter().map(|it| marked(it, all.clone(), Otherwise::Usual)).collect();
        set_arguments(function, list);
    }
    function.parameters = FunctionArguments::None;
    rename(function, "count");
    set_distinct(function);
    Ok(())
}

/// Several arguments are one tuple; rows with a NULL are left out.
fn as_tuple(function: &mut Function) {
    let Some(list) = arguments(function) else { return };
    if list.len() < 2 {
        set_arguments(function, list);
        return;
    }
    for argument in &list {
        add_filter(function, not_null(argument));
    }
    set_arguments(function, vec![combinator::tuple_of(list)]);
}

fn set_distinct(function: &mut Function) {
    if let FunctionArguments::List(list) = &mut function.args {
        list.duplicate_treatment = Some(DuplicateTreatment::Distinct);
    }
}

pub(super) fn not_null(expr: &Expr) -> Expr {
    Expr::IsNotNull(Box::new(Expr::Nested(Box::new(expr.clone()))))
}

/// `argMin(a, b)`: the first `a` in the order of `b`, rows with NULLs left out.
fn extreme(function: &mut Function, written: &str) -> Result<(), DialectError> {
    let list = arguments(function).unwrap_or_default();
    let Ok([value, by]) = <[Expr; 2]>::try_from(list) else {
        return Err(refused(format!("{written} with these arguments"), "it takes two"));
    };
    if super::call::is_null(&by) {
        return Err(refused(format!("{written} by NULL"), "it is NULL in every group"));
    }
    add_filter(function, not_null(&value));
    add_filter(function, not_null(&by));
    set_arguments(function, vec![marked(value, vec![by.clone()], Otherwise::Usual)]);
    rename(function, "first_value");
    if matches!(by, Expr::Value(_)) {
        // All rows are alike: the first one it is.
        return Ok(());
    }
    let options = OrderByOptions { asc: Some(written == "argMin"), nulls_first: Some(false) };
    let order = OrderByExpr { expr: by, options, with_fill: None };
    if let FunctionArguments::List(list) = &mut function.args {
        list.clauses.push(FunctionArgumentClause::OrderBy(vec![order]));
    }
    Ok(())
}

/// `argAndMin(a, b)`: the tuple of `argMin(a, b)` and the `b` of that row; NULL where there is none.
fn both(function: &mut Function, written: &str) -> Result<Expr, DialectError> {
    let list = arguments(function).unwrap_or_default();
    let Ok([value, by]) = <[Expr; 2]>::try_from(list) else {
        return Err(refused(format!("{written} with these arguments"), "it takes two"));
    };
    if [&value, &by].into_iter().any(super::call::is_null) {
        return Err(refused(format!("{written} of NULL"), "it is NULL in every group"));
    }
    let mut other = function.clone();
    let (value, mark) = combinator::split_mark(value);
    let mark = mark.unwrap_or_else(|| combinator::Mark::new(Otherwise::Usual));
    let written = if written == "argAndMin" { "argMin" } else { "argMax" };
    let marked_by = mark.clone().beside(value.clone()).around(by.clone());
    set_arguments(&mut other, vec![marked_by, by.clone()]);
    add_filter(&mut other, not_null(&value));
    extreme(&mut other, written)?;
    set_arguments(function, vec![mark.beside(by.clone()).around(value), by]);
    extreme(function, written)?;
    let elements = [function, &other].map(|it| Expr::Function(it.clone())).to_vec();
    let tuple = Expr::Function(call("struct", elements));
    let condition = Expr::IsNull(Box::new(Expr::Function(other)));
    Ok(choice(condition, Expr::value(Value::Null), tuple))
}

/// `sumCount(x)`: the tuple of both, of no values that of two zeros.
fn sum_count(function: &mut Function, written: &str) -> Result<Expr, DialectError> {
    let list = arguments(function).unwrap_or_default();
    if list.len() != 1 {
        return Err(refused(format!("{written} of {} arguments", list.len()), "it takes one"));
    }
    let is_or_null = list.first().and_then(combinator::mark_of) == Some(Otherwise::Null);
    let mut number = function.clone();
    set_arguments(
        &mut number,
        list.iter().cloned().map(|it| combinator::split_mark(it).0).collect(),
    );
    rename(&mut number, "count");
    let otherwise = if is_or_null { Otherwise::Null } else { Otherwise::Own };
    let own = |it| combinator::Mark::new(otherwise).around(combinator::split_mark(it).0);
    let list = list.into_iter().map(own).collect();
    set_arguments(function, list);
    rename(function, "sum");
    let number = call("toUInt64", vec![Expr::Function(number)]);
    let sum = Expr::Function(function.clone());
    let tuple = Expr::Function(call("struct", vec![sum.clone(), Expr::Function(number)]));
    if !is_or_null {
        return Ok(tuple);
    }
    Ok(choice(Expr::IsNull(Box::new(sum)), Expr::value(Value::Null), tuple))
}

/// An array of no rows is empty.
pub(super) fn never_null(function: &Function) -> Expr {
    Expr::Function(call("assumeNotNull", vec![Expr::Function(function.clone())]))
}

/// Arrays of groups hold no NULLs.
fn group_array(
    function: &mut Function,
    written: &str,
    duplicates: Option<DuplicateTreatment>,
) -> Result<(), DialectError> {
    if !matches!(function.parameters, FunctionArguments::None) {
        return Err(refused(
            format!("{written} with a limit"),
            "take a part of the array with array_slice",
        ));
    }
    let list = arguments(function).unwrap_or_default();
    let Ok([value]) = <[Expr; 1]>::try_from(list) else {
        return Err(refused(format!("{written} with these arguments"), "it takes one"));
    };
    if super::call::is_null(&value) {
        return Err(refused(format!("{written}(NULL)"), "there is nothing to gather"));
    }
    add_filter(function, not_null(&value));
    set_arguments(function, vec![value]);
    rename(function, "array_agg");
    if duplicates.is_some() {
        set_distinct(function);
    }
    Ok(())
}

/// `quantile(0.9)(x)` is `quantile(x, 0.9)`, `quantiles(0.5, 0.9)(x)` an array of them.
fn quantile(function: &mut Function, written: &str) -> Result<Expr, DialectError> {
    let levels = levels(function, written)?;
    let is_distinct = matches!(&function.args, FunctionArguments::List(list)
        if list.duplicate_treatment == Some(DuplicateTreatment::Distinct));
    let list = arguments(function).unwrap_or_default();
    let Ok([value]) = <[Expr; 1]>::try_from(list) else {
        return Err(refused(
            format!("{written} with these arguments"),
            "it takes one besides its parameters",
        ));
    };
    let is_exact = written.ends_with("Exact");
    let is_list = written.starts_with("quantiles");
    let one = |level: String| {
        let level = Expr::value(Value::Number(level, false));
        let name = if is_exact { "quantileExact" } else { "quantile" };
        let mut single = call(name, vec![value.clone(), level]);
        single.filter.clone_from(&function.filter);
        single.over.clone_from(&function.over);
        if is_distinct {
            set_distinct(&mut single);
        }
        if is_list {
            super::combinator::mark(&mut single, Otherwise::Own);
        }
        Expr::Function(single)
    };
    let mut values: Vec<Expr> = levels.into_iter().map(one).collect();
    if is_list {
        return Ok(Expr::Function(call("make_array", values)));
    }
    match (values.pop(), values.pop()) {
        (Some(only), None) => Ok(only),
        _ => Err(refused(format!("{written} with several levels"), "use quantiles(...)")),
    }
}

/// The levels in the first parentheses; 0.5 if there are none.
fn levels(function: &mut Function, written: &str) -> Result<Vec<String>, DialectError> {
    let wrong =
        || refused(format!("{written} with these parameters"), "levels are numbers from 0 to 1");
    match std::mem::replace(&mut function.parameters, FunctionArguments::None) {
        FunctionArguments::None => Ok(vec!["0.5".to_owned()]),
        FunctionArguments::List(list) if !list.args.is_empty() => list
            .args
            .iter()
            .map(|argument| {
                let text = argument.to_string();
                match text.parse::<f64>() {
                    Ok(level) if (0.0..=1.0).contains(&level) => Ok(format!("{level:?}")),
                    _ => Err(wrong()),
                }
            })
            .collect(),
        _ => Err(wrong()),
    }
}
