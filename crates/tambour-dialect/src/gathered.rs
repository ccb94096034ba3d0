//! Aggregates that gather the values of a group into an array and reduce it: `entropy(x)` is `reduceEntropy(array_agg(x))`.
//! Of several arguments tuples are gathered. The reducing functions are the store's, and know no engine.

use super::call::{arguments, call, name};
use super::refused;
use crate::DialectError;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

/// What an aggregate is made of.
struct Gathered {
    name: &'static str,
    reduced_by: &'static str,
    /// Arguments, parameters left out.
    arguments: std::ops::RangeInclusive<usize>,
    /// What stands for the first parameter if there is none; `None`: there need not be one.
    parameter: Option<&'static str>,
    /// Rows with a NULL are left out.
    skips_nulls: bool,
}

const fn one(
    name: &'static str,
    reduced_by: &'static str,
    parameter: Option<&'static str>,
) -> Gathered {
    Gathered { name, reduced_by, arguments: 1..=1, parameter, skips_nulls: true }
}

const fn two(name: &'static str, reduced_by: &'static str) -> Gathered {
    Gathered { name, reduced_by, arguments: 2..=2, parameter: None, skips_nulls: true }
}

const fn weighted(
    name: &'static str,
    reduced_by: &'static str,
    parameter: &'static str,
) -> Gathered {
    Gathered { name, reduced_by, arguments: 2..=2, parameter: Some(parameter), skips_nulls: true }
}

const fn matrix(name: &'static str, reduced_by: &'static str) -> Gathered {
    Gathered { name, reduced_by, arguments: 1..=32, parameter: None, skips_nulls: true }
}

const ALL: &[Gathered] = &[
    one("groupArraySorted", "reduceGroupArraySorted", Some("16777216")),
    one("groupConcat", "reduceGroupConcat", None),
    one("group_concat", "reduceGroupConcat", None),
    one("groupBitmap", "reduceGroupBitmap", None),
    one("uniqUpTo", "reduceUniqUpTo", Some("5")),
    one("anyHeavy", "reduceAnyHeavy", None),
    one("singleValueOrNull", "reduceSingleValueOrNull", None),
    one("skewPop", "reduceSkewPop", None),
    one("skewSamp", "reduceSkewSamp", None),
    one("kurtPop", "reduceKurtPop", None),
    one("kurtSamp", "reduceKurtSamp", None),
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
        skips_nulls: false,
    },
    Gathered {
        name: "sequenceCount",
        reduced_by: "reduceSequenceCount",
        arguments: 2..=33,
        parameter: None,
        skips_nulls: false,
    },
    Gathered {
        name: "retention",
        reduced_by: "reduceRetention",
        arguments: 1..=32,
        parameter: None,
        skips_nulls: false,
    },
    Gathered {
        name: "windowFunnel",
        reduced_by: "reduceWindowFunnel",
        arguments: 2..=33,
        parameter: Some("0"),
        skips_nulls: false,
    },
];

fn find(written: &str) -> Option<&'static Gathered> {
    ALL.iter().find(|gathered| gathered.name == written)
}

/// Names of these aggregates.
pub(super) fn names() -> impl Iterator<Item = &'static &'static str> {
    ALL.iter().map(|gathered| &gathered.name)
}

fn parameters(function: &Function) -> Vec<Expr> {
    let FunctionArguments::List(list) = &function.parameters else { return Vec::new() };
    list.args
        .iter()
        .filter_map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
            _ => None,
        })
        .collect()
}

fn is_not_null(expr: &Expr) -> Expr {
    Expr::IsNotNull(Box::new(Expr::Nested(Box::new(expr.clone()))))
}

/// What a call of one of these is; `groupArray` is one if it has a parameter.
pub(super) fn rewrite(
    function: &mut Function,
    written: &str,
) -> Result<Option<Expr>, DialectError> {
    const FIRST: Gathered = one("groupArray", "reduceGroupArray", None);
    let mut of_call = parameters(function);
    let quantiles = written.strip_prefix("quantiles").filter(|rest| !rest.is_empty());
    let single = quantiles.map(|rest| format!("quantile{rest}"));
    let gathered = match find(single.as_deref().unwrap_or(written)) {
        Some(found) => found,
        None if written == "groupArray" && !of_call.is_empty() => &FIRST,
        None => return Ok(None),
    };
    let all = arguments(function).unwrap_or_default();
    if !gathered.arguments.contains(&all.len()) {
        let (least, most) = (gathered.arguments.start(), gathered.arguments.end());
        let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
        return Err(refused(
            format!("{written} of {} arguments", all.len()),
            format!("it takes {expected}"),
        ));
    }
    if of_call.is_empty()
        && let Some(default) = gathered.parameter
    {
        of_call.push(Expr::value(Value::Number(default.to_owned(), false)));
    }
    if gathered.name.starts_with("exponentialTimeDecayed") && function.over.is_none() {
        return Err(refused(written, "it looks back over a window: write OVER (ORDER BY ...)"));
    }
    let mut filter = function.filter.take().map(Expr::Nested);
    if gathered.skips_nulls {
        for condition in all.iter().map(is_not_null) {
            filter = Some(match filter {
                Some(filter) => Expr::BinaryOp {
                    left: Box::new(filter),
                    op: BinaryOperator::And,
                    right: Box::new(condition),
                },
                None => condition,
            });
        }
    }
    let is_one = gathered.arguments == (1..=1);
    let value = if is_one { all } else { vec![Expr::Function(call("struct", all))] };
    let mut gather = call("array_agg", value);
    gather.filter = filter.map(Box::new);
    gather.over.clone_from(&function.over);
    if let (FunctionArguments::List(ours), FunctionArguments::List(theirs)) =
        (&mut gather.args, &function.args)
    {
        ours.duplicate_treatment = theirs.duplicate_treatment;
    }
    let gather = Expr::Function(gather);
    let reduce = |parameters: Vec<Expr>| {
        let all = std::iter::once(gather.clone()).chain(parameters).collect();
        Expr::Function(call(gathered.reduced_by, all))
    };
    if quantiles.is_some() {
        let each = of_call.into_iter().map(|level| reduce(vec![level])).collect();
        return Ok(Some(Expr::Function(call("make_array", each))));
    }
    Ok(Some(reduce(of_call)))
}

/// `arrayReduce('entropy', a)`: the function that reduces an array as an aggregate does.
pub(super) fn reduce(function: &mut Function) -> Result<Option<Expr>, DialectError> {
    if name(function) != Some("arrayReduce") {
        return Ok(None);
    }
    let mut all = arguments(function).unwrap_or_default();
    let wrong = |reason: &str| refused("arrayReduce with these arguments", reason);
    if all.len() != 2 {
        return Err(wrong("it takes the name of an aggregate and one array here"));
    }
    let array = all.remove(1);
    let Some(Expr::Value(value)) = all.first() else {
        return Err(wrong("the name of the aggregate must be a text"));
    };
    let Value::SingleQuotedString(text) = &value.value else {
        return Err(wrong("the name of the aggregate must be a text"));
    };
    let (aggregate, parameter) = match text.split_once('(') {
        Some((aggregate, rest)) => (aggregate, rest.strip_suffix(')')),
        None => (text.as_str(), None),
    };
    let plain = match aggregate {
        "sum" => Some("arraySum"),
        "avg" => Some("arrayAvg"),
        "min" => Some("arrayMin"),
        "max" => Some("arrayMax"),
        "count" => Some("length"),
        "uniq" | "uniqExact" => Some("arrayUniq"),
        "groupUniqArray" => Some("arrayDistinct"),
        _ => None,
    };
    if let (Some(plain), None) = (plain, parameter) {
        return Ok(Some(Expr::Function(call(plain, vec![array]))));
    }
    let found = find(aggregate).filter(|found| found.arguments == (1..=1));
    let Some(found) = found else {
        return Err(wrong(&format!(
            "the aggregate {aggregate} is not one that reduces arrays here"
        )));
    };
    let number = |text: &str| Expr::value(Value::Number(text.trim().to_owned(), false));
    let parameters = match (parameter, found.parameter) {
        (Some(written), _) if written.trim().parse::<f64>().is_ok() => vec![number(written)],
        (Some(_), _) => return Err(wrong("its parameter must be a number")),
        (None, Some(default)) => vec![number(default)],
        (None, None) => Vec::new(),
    };
    let all = std::iter::once(array).chain(parameters).collect();
    Ok(Some(Expr::Function(call(found.reduced_by, all))))
}
