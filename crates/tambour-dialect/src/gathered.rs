//! Aggregates that gather the values of a group into an array and reduce it: `entropy(x)` is `reduceEntropy(array_agg(x))`.
//! Of several arguments tuples are gathered. Rows with a NULL are left out. The reducing functions are the store's, and know no
//! engine.

use super::aggregate::{add_filter, never_null, not_null};
use super::call::{arguments, call, choice, name, set_arguments};
use super::combinator::{mark_of, marked, tuple_of};
use super::refused;
use crate::DialectError;
use crate::marks::Otherwise;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

/// What an aggregate is made of.
struct Gathered {
    name: &'static str,
    reduced_by: &'static str,
    /// Arguments, parameters left out.
    arguments: std::ops::RangeInclusive<usize>,
    /// What stands for the first parameter if there is none; `None`: there need not be one.
    parameter: Option<&'static str>,
}

const fn one(
    name: &'static str,
    reduced_by: &'static str,
    parameter: Option<&'static str>,
) -> Gathered {
    Gathered { name, reduced_by, arguments: 1..=1, parameter }
}

const fn two(name: &'static str, reduced_by: &'static str) -> Gathered {
    Gathered { name, reduced_by, arguments: 2..=2, parameter: None }
}

const fn weighted(
    name: &'static str,
    reduced_by: &'static str,
    parameter: &'static str,
) -> Gathered {
    Gathered { name, reduced_by, arguments: 2..=2, parameter: Some(parameter) }
}

const fn matrix(name: &'static str, reduced_by: &'static str) -> Gathered {
    Gathered { name, reduced_by, arguments: 1..=32, parameter: None }
}

const ALL: &[Gathered] = &[
    one("groupArraySorted", "reduceGroupArraySorted", Some("16777216")),
    one("groupArrayLast", "reduceGroupArrayLast", None),
    two("groupArrayInsertAt", "reduceGroupArrayInsertAt"),
    two("deltaSumTimestamp", "reduceDeltaSumTimestamp"),
    one("gini", "reduceGini", None),
    two("studentTTestOneSample", "reduceStudentTTestOneSample"),
    two("analysisOfVariance", "reduceAnalysisOfVariance"),
    two("anova", "reduceAnalysisOfVariance"),
    one("groupConcat", "reduceGroupConcat", None),
    one("group_concat", "reduceGroupConcat", None),
    one("groupBitmap", "reduceGroupBitmap", None),
    one("uniqUpTo", "reduceUniqUpTo", Some("5")),
    one("anyHeavy", "reduceAnyHeavy", None),
    one("singleValueOrNull", "reduceSingleValueOrNull", None),
    one("entropy", "reduceEntropy", None),
    one("sumKahan", "reduceSumKahan", None),
    one("deltaSum", "reduceDeltaSum", None),
    one("quantileExactLow", "reduceQuantileExactLow", Some("0.5")),
    one("quantileExactHigh", "reduceQuantileExactHigh", Some("0.5")),
    one("quantileExactExclusive", "reduceQuantileExactExclusive", Some("0.5")),
    one("quantileExactInclusive", "reduceQuantileExactInclusive", Some("0.5")),
    one("medianExactLow", "reduceQuantileExactLow", Some("0.5")),
    one("medianExactHigh", "reduceQuantileExactHigh", Some("0.5")),
    two("boundingRatio", "reduceBoundingRatio"),
    two("avgWeighted", "reduceAvgWeighted"),
    two("rankCorr", "reduceRankCorr"),
    two("exponentialMovingAverage", "reduceExponentialMovingAverage"),
    two("exponentialTimeDecayedSum", "reduceExponentialTimeDecayedSum"),
    two("exponentialTimeDecayedAvg", "reduceExponentialTimeDecayedAvg"),
    two("exponentialTimeDecayedMax", "reduceExponentialTimeDecayedMax"),
    two("simpleLinearRegression", "reduceSimpleLinearRegression"),
    two("studentTTest", "reduceStudentTTest"),
    two("welchTTest", "reduceWelchTTest"),
    two("meanZTest", "reduceMeanZTest"),
    two("mannWhitneyUTest", "reduceMannWhitneyUTest"),
    two("cramersV", "reduceCramersV"),
    two("cramersVBiasCorrected", "reduceCramersVBiasCorrected"),
    two("contingency", "reduceContingency"),
    two("theilsU", "reduceTheilsU"),
    two("maxIntersections", "reduceMaxIntersections"),
    two("maxIntersectionsPosition", "reduceMaxIntersectionsPosition"),
    two("intervalLengthSum", "reduceIntervalLengthSum"),
    matrix("corrMatrix", "reduceCorrMatrix"),
    matrix("covarPopMatrix", "reduceCovarPopMatrix"),
    matrix("covarSampMatrix", "reduceCovarSampMatrix"),
    one("quantileTiming", "reduceQuantileTiming", Some("0.5")),
    one("medianTiming", "reduceQuantileTiming", Some("0.5")),
    weighted("quantileTimingWeighted", "reduceQuantileTimingWeighted", "0.5"),
    weighted("medianTimingWeighted", "reduceQuantileTimingWeighted", "0.5"),
    weighted("quantileExactWeighted", "reduceQuantileExactWeighted", "0.5"),
    weighted("medianExactWeighted", "reduceQuantileExactWeighted", "0.5"),
    one("groupArrayMovingSum", "reduceGroupArrayMovingSum", None),
    one("groupArrayMovingAvg", "reduceGroupArrayMovingAvg", None),
    one("approx_top_k", "reduceApproxTopK", Some("10")),
    one("approx_top_count", "reduceApproxTopK", Some("10")),
    weighted("approx_top_sum", "reduceApproxTopSum", "10"),
    one("topK", "reduceTopK", Some("10")),
    weighted("topKWeighted", "reduceTopKWeighted", "10"),
    one("quantileBFloat16", "reduceQuantileBFloat16", Some("0.5")),
    one("medianBFloat16", "reduceQuantileBFloat16", Some("0.5")),
    one("sumWithOverflow", "reduceSumWithOverflow", None),
    Gathered {
        name: "sequenceMatch",
        reduced_by: "reduceSequenceMatch",
        arguments: 2..=33,
        parameter: None,
    },
    Gathered {
        name: "sequenceCount",
        reduced_by: "reduceSequenceCount",
        arguments: 2..=33,
        parameter: None,
    },
    Gathered {
        name: "retention",
        reduced_by: "reduceRetention",
        arguments: 2..=32,
        parameter: None,
    },
    Gathered {
        name: "windowFunnel",
        reduced_by: "reduceWindowFunnel",
        arguments: 2..=33,
        parameter: Some("0"),
    },
];

/// Reducers of arrays whose aggregates are not made of arrays.
const OF_ARRAYS: &[Gathered] = &[
    one("skewPop", "reduceSkewPop", None),
    one("skewSamp", "reduceSkewSamp", None),
    one("kurtPop", "reduceKurtPop", None),
    one("kurtSamp", "reduceKurtSamp", None),
    two("argMin", "reduceArgMin"),
    two("argMax", "reduceArgMax"),
    one("quantile", "reduceQuantile", Some("0.5")),
    one("median", "reduceQuantile", Some("0.5")),
];

/// `uniqUpTo` of several arguments.
const SEVERAL: Gathered = Gathered {
    name: "uniqUpTo",
    reduced_by: "reduceUniqUpTo",
    arguments: 2..=32,
    parameter: Some("5"),
};

/// Aggregates that -Array makes of the items of all arrays, besides those that the combinators know.
const OF_ITEMS: &[&str] = &[
    "argMin",
    "argMax",
    "quantile",
    "median",
    "uniqUpTo",
    "entropy",
    "sumKahan",
    "avgWeighted",
    "anyHeavy",
    "groupBitmap",
    "groupArraySorted",
    "groupArrayMovingSum",
    "groupArrayMovingAvg",
    "quantileExactLow",
    "quantileExactHigh",
    "quantileExactWeighted",
    "quantileTiming",
    "skewPop",
    "skewSamp",
    "kurtPop",
    "kurtSamp",
];

/// What reduces an array of the items of that many arrays, and its first parameter if none is written.
pub(super) fn of_items(base: &str, arrays: usize) -> Option<(&'static str, Option<&'static str>)> {
    if matches!(base, "uniq" | "uniqExact") && arrays > 1 {
        return Some(("arrayUniq", None));
    }
    let mut all = ALL.iter().chain(OF_ARRAYS).chain([&SEVERAL]);
    let found = all.find(|it| it.name == base && it.arguments.contains(&arrays))?;
    OF_ITEMS.contains(&base).then_some((found.reduced_by, found.parameter))
}

fn find(written: &str) -> Option<&'static Gathered> {
    ALL.iter().find(|gathered| gathered.name == written)
}

/// Those that give tuples, which are NULL where an argument is NULL in all rows.
pub(super) const OF_TUPLES: &[&str] = &[
    "simpleLinearRegression",
    "studentTTest",
    "studentTTestOneSample",
    "welchTTest",
    "meanZTest",
    "mannWhitneyUTest",
    "analysisOfVariance",
    "anova",
];

/// Those that are 0 of NULLs alone; `intervalLengthSum` is, too, if no combinator follows it.
const OF_NO_VALUES: &[&str] = &["uniqUpTo", "deltaSum", "deltaSumTimestamp"];

/// Those that are something else than NULL of a NULL that is written out, which has a type of its own.
const OF_NOTHING: &[&str] = &["groupArray", "groupUniqArray", "uniqUpTo", "topK", "approx_top"];

/// True for those that are a NaN of no values, or arrays, where -OrDefault would be something else.
pub(super) fn may_be_nan(written: &str) -> bool {
    const OF_GATHERED: &[&str] = &[
        "simpleLinear",
        "avgWeighted",
        "boundingRatio",
        "rankCorr",
        "cramersV",
        "contingency",
        "theilsU",
        "gini",
        "studentTTest",
        "welchTTest",
        "meanZTest",
        "mannWhitney",
        "analysisOfVariance",
        "anova",
    ];
    let starts = |names: &[&str]| names.iter().any(|start| written.starts_with(start));
    starts(&["quantile", "median"]) || find(written).is_some() && starts(OF_GATHERED)
}

/// Names of these aggregates.
pub(super) fn names() -> impl Iterator<Item = &'static &'static str> {
    ALL.iter().map(|gathered| &gathered.name)
}

pub(super) fn parameters(function: &Function) -> Vec<Expr> {
    let FunctionArguments::List(list) = &function.parameters else { return Vec::new() };
    list.args
        .iter()
        .filter_map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        })
        .collect()
}

/// The array of the arguments of a call, without rows in which one is NULL.
fn array_of(function: &mut Function, mut all: Vec<Expr>, gathered: &Gathered) -> Function {
    for argument in &all {
        add_filter(function, not_null(argument));
    }
    if OF_TUPLES.contains(&gathered.name)
        && let Some(first) = all.first_mut()
    {
        // No rows are an empty array, and NULL only where an argument may be NULL.
        *first = marked(super::call::take(first), Vec::new(), Otherwise::Default);
    }
    let value = if gathered.arguments == (1..=1) { all } else { vec![tuple_of(all)] };
    let mut gather = call("array_agg", value);
    gather.filter = function.filter.take();
    gather.over.clone_from(&function.over);
    if let (FunctionArguments::List(ours), FunctionArguments::List(theirs)) =
        (&mut gather.args, &function.args)
    {
        ours.duplicate_treatment = theirs.duplicate_treatment;
    }
    gather
}

/// What a call of one of these is; `groupArray` and `groupUniqArray` are some if they have a parameter.
pub(super) fn rewrite(
    function: &mut Function,
    written: &str,
) -> Result<Option<Expr>, DialectError> {
    const FIRST: Gathered = one("groupArray", "reduceGroupArray", None);
    const UNIQUE: Gathered = one("groupUniqArray", "reduceGroupUniqArray", None);
    let mut of_call = parameters(function);
    let quantiles = written.strip_prefix("quantiles").filter(|rest| !rest.is_empty());
    let single = quantiles.map(|rest| format!("quantile{rest}"));
    let all = arguments(function).unwrap_or_default();
    let count = all.len();
    set_arguments(function, all);
    let gathered = match find(single.as_deref().unwrap_or(written)) {
        Some(found) if found.name == SEVERAL.name && count > 1 => &SEVERAL,
        Some(found) => found,
        None if written == "groupArray" && !of_call.is_empty() => &FIRST,
        None if written == "groupUniqArray" && !of_call.is_empty() => &UNIQUE,
        None => return Ok(None),
    };
    let mut all = arguments(function).unwrap_or_default();
    // `groupConcat(x, ',')` is `groupConcat(',')(x)`.
    if gathered.reduced_by == "reduceGroupConcat" && all.len() == 2 && of_call.is_empty() {
        of_call.extend(all.pop());
    }
    if !gathered.arguments.contains(&all.len()) {
        let (least, most) = (gathered.arguments.start(), gathered.arguments.end());
        let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
        return Err(refused(
            format!("{written} of {} arguments", all.len()),
            format!("it takes {expected}"),
        ));
    }
    let given = all.first().and_then(mark_of);
    let is_of_nothing = OF_NOTHING.iter().any(|start| written.starts_with(start));
    if is_of_nothing && all.first().is_some_and(super::call::is_null) {
        return Err(refused(format!("{written}(NULL)"), "there is nothing to gather"));
    }
    if of_call.is_empty()
        && let Some(default) = gathered.parameter
    {
        of_call.push(Expr::value(Value::Number(default.to_owned(), false)));
    }
    if gathered.name.starts_with("exponentialTimeDecayed") && function.over.is_none() {
        return Err(refused(written, "it looks back over a window: write OVER (ORDER BY ...)"));
    }
    let is_tuple = OF_TUPLES.contains(&gathered.name);
    let mut gather = array_of(function, all, gathered);
    if quantiles.is_some() {
        super::combinator::mark(&mut gather, Otherwise::Own);
    }
    let is_counted = match gathered.name {
        "intervalLengthSum" => given.is_none(),
        name => OF_NO_VALUES.contains(&name) && given != Some(Otherwise::Null),
    };
    let gather = if is_counted { never_null(&gather) } else { Expr::Function(gather) };
    let reduce = |parameters: Vec<Expr>| {
        let all = std::iter::once(gather.clone()).chain(parameters).collect();
        Expr::Function(call(gathered.reduced_by, all))
    };
    if quantiles.is_some() {
        let each = of_call.into_iter().map(|level| reduce(vec![level])).collect();
        return Ok(Some(Expr::Function(call("make_array", each))));
    }
    if is_tuple {
        let condition = Expr::IsNull(Box::new(gather.clone()));
        return Ok(Some(choice(condition, Expr::value(Value::Null), reduce(of_call))));
    }
    Ok(Some(reduce(of_call)))
}

/// The aggregate that a text names, and its parameters: `topK(3)`.
fn named(text: &str) -> Option<(&str, Vec<Expr>)> {
    let Some((aggregate, rest)) = text.split_once('(') else { return Some((text, Vec::new())) };
    let number = |text: &str| {
        let text = text.trim();
        let is_number = text.parse::<f64>().is_ok_and(f64::is_finite);
        is_number.then(|| Expr::value(Value::Number(text.to_owned(), false)))
    };
    let parameters = rest.strip_suffix(')')?.split(',').map(number).collect::<Option<_>>()?;
    Some((aggregate.trim(), parameters))
}

/// `arrayReduce('entropy', a)`: the function that reduces arrays as an aggregate does.
pub(super) fn reduce(function: &mut Function) -> Result<Option<Expr>, DialectError> {
    if name(function) != Some("arrayReduce") {
        return Ok(None);
    }
    let mut arrays = arguments(function).unwrap_or_default();
    let wrong = |reason: &str| refused("arrayReduce with these arguments", reason);
    if arrays.len() < 2 {
        return Err(wrong("it takes the name of an aggregate and arrays"));
    }
    let text = match arrays.remove(0) {
        Expr::Value(value) => match value.value {
            Value::SingleQuotedString(text) => text,
            _ => return Err(wrong("the name of the aggregate must be a text")),
        },
        _ => return Err(wrong("the name of the aggregate must be a text")),
    };
    let Some((mut aggregate, parameters)) = named(&text) else {
        return Err(wrong("its parameters must be numbers"));
    };
    let find = |name: &str| find(name).or_else(|| OF_ARRAYS.iter().find(|it| it.name == name));
    let is_known = |name: &str| plain_reducer(name).is_some() || find(name).is_some();
    if let Some(base) = aggregate.strip_suffix("If").filter(|base| is_known(base))
        && let Some(condition) = arrays.pop().filter(|_| !arrays.is_empty())
    {
        aggregate = base;
        for array in &mut arrays {
            let all = vec![condition.clone(), super::call::take(array)];
            *array = Expr::Function(call("arrayFilterByKeys", all));
        }
    }
    if let Some((plain, takes_several)) = plain_reducer(aggregate)
        && (parameters.is_empty() && (takes_several || arrays.len() == 1))
    {
        if matches!(plain, "arrayUniq" | "length") {
            arrays = vec![rows_of(arrays)];
        }
        return Ok(Some(Expr::Function(call(plain, arrays))));
    }
    // `quantiles` of several levels are as many quantiles.
    let single = aggregate.strip_prefix("quantiles").map(|rest| format!("quantile{rest}"));
    let Some(found) = find(single.as_deref().unwrap_or(aggregate)) else {
        let reason = format!("the aggregate {aggregate} is not one that reduces arrays here");
        return Err(wrong(&reason));
    };
    let is_counted = found.name == "uniqUpTo";
    if !found.arguments.contains(&arrays.len()) && !is_counted {
        return Err(wrong(&format!("{aggregate} takes another number of arrays")));
    }
    let reduced = match <[Expr; 1]>::try_from(arrays) {
        Ok([only]) if found.arguments == (1..=1) => only,
        Ok([only]) => rows_of(vec![only]),
        Err(several) => rows_of(several),
    };
    let parameters = match (parameters.is_empty(), found.parameter) {
        (true, Some(default)) => vec![Expr::value(Value::Number(default.to_owned(), false))],
        _ => parameters,
    };
    Ok(Some(called(found, single.is_some(), &reduced, parameters)))
}

/// The call that reduces an array; of several levels an array of as many calls.
fn called(found: &Gathered, is_several: bool, array: &Expr, parameters: Vec<Expr>) -> Expr {
    // An array of quantiles has no NULL.
    let is_in_array = is_several && found.reduced_by == "reduceQuantile";
    let name = if is_in_array { "reduceQuantileOrNan" } else { found.reduced_by };
    let reduce = |parameters: Vec<Expr>| {
        let all = std::iter::once(array.clone()).chain(parameters).collect();
        Expr::Function(call(name, all))
    };
    if is_several {
        let each = parameters.into_iter().map(|level| reduce(vec![level])).collect();
        return Expr::Function(call("make_array", each));
    }
    reduce(parameters)
}

/// Functions of arrays that are aggregates of their items, and whether they take several arrays.
fn plain_reducer(aggregate: &str) -> Option<(&'static str, bool)> {
    Some(match aggregate {
        "sum" => ("arraySum", false),
        "avg" => ("arrayAvg", false),
        "min" => ("arrayMin", false),
        "max" => ("arrayMax", false),
        "count" => ("length", false),
        "uniq" | "uniqExact" => ("arrayUniq", true),
        "groupUniqArray" => ("arrayDistinct", false),
        _ => return None,
    })
}

/// Arrays side by side, as an array of the tuples without NULLs.
fn rows_of(arrays: Vec<Expr>) -> Expr {
    let rows = Expr::Function(call("arrayZip", arrays));
    Expr::Function(call("reduceFull", vec![rows]))
}
