//! Combinators after the names of aggregates: `sumDistinct`, `avgOrNull`, `sumArray`, `sumForEach`, `sumMap`. `-If` has its
//! place with the aggregates; what stands before it is looked at again here.

use super::call::{arguments, call, choice, name, rename, set_arguments};
use super::{aggregate, refused};
use crate::DialectError;
use crate::marks::Otherwise;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArguments, Value,
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
    ("sumWithOverflow", "reduceSumWithOverflow"),
];

/// Names of their own for `-Map` of arrays.
const MAPPED: &[(&str, &str)] = &[
    ("sumMappedArrays", "sum"),
    ("minMappedArrays", "min"),
    ("maxMappedArrays", "max"),
    ("sumMapWithOverflow", "sumWithOverflow"),
    ("sumMapFiltered", "sum"),
    ("sumMapFilteredWithOverflow", "sumWithOverflow"),
];

/// The names of their own.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    MAPPED.iter().map(|(name, _)| *name)
}

/// The aggregate before the last combinator of a name, and the combinator.
pub(super) fn split(written: &str) -> Option<(&str, &'static str)> {
    if let Some((_, base)) = MAPPED.iter().find(|(name, _)| *name == written) {
        return Some((base, "Map"));
    }
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
pub(super) fn rewrite(
    function: &mut Function,
    written: &str,
) -> Result<Option<Expr>, DialectError> {
    let Some((base, combinator)) = split(written) else { return Ok(None) };
    match combinator {
        "OrNull" => or_null(function, base, written).map(Some),
        "Distinct" => distinct(function, base, written).map(Some),
        "Array" if base == "groupArray" => {
            let inner = gathered(function, written)?;
            Ok(Some(Expr::Function(call("reduceConcat", vec![inner]))))
        }
        "Array" if let Some(reduced) = of_items(function, base, written)? => Ok(Some(reduced)),
        "Array" | "ForEach" | "Map" => {
            let reducer = reducer(base, written)?;
            let kept = kept_keys(function, written)?;
            let inner = gathered(function, written)?;
            let (kernel, inner) = match combinator {
                // Without rows the list is empty.
                "Array" => ("reduceEach", Expr::Function(call("assumeNotNull", vec![inner]))),
                "Map" => ("reduceMap", inner),
                _ => ("reduceForEach", inner),
            };
            let reduced = |reducer| {
                let all = [inner.clone(), text(reducer)].into_iter().chain(kept.clone());
                Expr::Function(call(kernel, all.collect()))
            };
            if (base, combinator) == ("avg", "Array") {
                // The average of no items is a NaN; that of an empty array is 0.
                let (left, right) = (reduced("arraySum"), reduced("length"));
                let (left, right) = (Box::new(left), Box::new(right));
                let op = BinaryOperator::Divide;
                return Ok(Some(Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }))));
            }
            Ok(Some(reduced(reducer)))
        }
        _ => or_default(function, base, written).map(Some),
    }
}

/// The keys of `sumMapFiltered([1, 2])(keys, values)`.
fn kept_keys(function: &mut Function, written: &str) -> Result<Option<Expr>, DialectError> {
    if !written.starts_with("sumMapFiltered") {
        return Ok(None);
    }
    let [kept] = <[Expr; 1]>::try_from(super::gathered::parameters(function))
        .map_err(|_| refused(written, "it takes one array of keys as its parameter"))?;
    function.parameters = FunctionArguments::None;
    Ok(Some(kept))
}

/// The items of all arrays, those of several side by side, reduced as an aggregate reduces the values of a group.
fn of_items(
    function: &mut Function,
    base: &str,
    written: &str,
) -> Result<Option<Expr>, DialectError> {
    let list = arguments(function).unwrap_or_default();
    let count = list.len();
    let Some((reducer, default)) = super::gathered::of_items(base, count) else {
        set_arguments(function, list);
        return Ok(None);
    };
    let zipped = |list| vec![Expr::Function(call("arrayZip", list))];
    set_arguments(function, if count > 1 { zipped(list) } else { list });
    let mut parameters = super::gathered::parameters(function);
    function.parameters = FunctionArguments::None;
    if parameters.is_empty() {
        let number = |text: &str| Expr::value(Value::Number(text.to_owned(), false));
        parameters.extend(default.map(number));
    }
    let one = |name, inner| Expr::Function(call(name, vec![inner]));
    let items = one("reduceConcat", one("assumeNotNull", gathered(function, written)?));
    let items = if count > 1 { one("reduceFull", items) } else { items };
    let all = std::iter::once(items).chain(parameters).collect();
    let reduced = Expr::Function(call(reducer, all));
    Ok(Some(if reducer == "arrayUniq" { one("toUInt64", reduced) } else { reduced }))
}

fn reducer(base: &str, written: &str) -> Result<&'static str, DialectError> {
    let found = OF_ARRAYS.iter().find(|(name, _)| *name == base);
    found.map(|(_, reducer)| *reducer).ok_or_else(|| {
        refused(written, "this combinator goes with sum, avg, min, max, count and uniq here")
    })
}

/// An array of the values of the only argument.
fn gathered(function: &mut Function, written: &str) -> Result<Expr, DialectError> {
    if !matches!(function.parameters, FunctionArguments::None) {
        return Err(refused(format!("{written} with parameters"), "it takes none here"));
    }
    let mut list = arguments(function).unwrap_or_default();
    let is_mapped = written.ends_with("Map") || MAPPED.iter().any(|(name, _)| *name == written);
    if list.len() > 1 && is_mapped {
        // Keys and values beside each other: an array of keys, and arrays of values.
        list = vec![Expr::Function(call("struct", list))];
    }
    if list.len() != 1 {
        return Err(refused(format!("{written} of {} arguments", list.len()), "it takes one here"));
    }
    let mut gather = call("array_agg", list);
    gather.filter = function.filter.take();
    gather.over.clone_from(&function.over);
    Ok(Expr::Function(gather))
}

/// The plain aggregate, rewritten as one.
fn plain(function: &mut Function, base: &str) -> Result<Expr, DialectError> {
    rename(function, base);
    if let Some(replaced) = aggregate::rewrite(function, base)? {
        return Ok(replaced);
    }
    if name(function) == Some(base) {
        super::call::rewrite_plain(function, base);
    }
    Ok(Expr::Function(function.clone()))
}

/// True for aggregates that are a NaN of no values.
fn may_be_nan(base: &str) -> bool {
    const STARTS: &[&str] =
        &["avg", "quantile", "median", "var", "stddev", "STD", "cov", "corr", "regr"];
    STARTS.iter().any(|start| base.starts_with(start))
}

fn is_count(base: &str) -> bool {
    let plain = base.strip_suffix("If").unwrap_or(base);
    plain == "count" || plain.starts_with("uniq")
}

/// Aggregates of no rows are NULL, but for those that count.
fn or_null(function: &mut Function, base: &str, written: &str) -> Result<Expr, DialectError> {
    if base.starts_with("group") || base.contains("Matrix") {
        return Err(refused(written, "an array cannot be NULL"));
    }
    if base == "countDistinct" || base.starts_with("quantiles") {
        return Err(refused(written, "its NULL is not the one of ClickHouse"));
    }
    let counted = is_count(base);
    let list = arguments(function).unwrap_or_default();
    if counted && list.iter().any(super::call::is_null) {
        return Err(refused(format!("{written} of NULL"), "use uniqExact"));
    }
    set_arguments(function, list);
    if !counted {
        mark(function, Otherwise::Null);
        return plain(function, base);
    }
    let number = |text: &str| Expr::value(Value::Number(text.to_owned(), false));
    let mut rows = call("count", vec![number("1")]);
    (rows.filter, rows.over) = (function.filter.clone(), function.over.clone());
    let mut list = arguments(function).unwrap_or_default();
    for argument in &mut list {
        aggregate::add_filter(&mut rows, aggregate::not_null(argument));
    }
    set_arguments(function, list);
    let inner = plain(function, base)?;
    if !base.ends_with("If") {
        return Ok(Expr::Function(call("nullif", vec![inner, number("0")])));
    }
    // Rows that are not taken are rows there.
    let (left, right) = (Box::new(Expr::Function(rows)), Box::new(number("0")));
    let condition = Expr::BinaryOp { left, op: BinaryOperator::Eq, right };
    Ok(choice(condition, Expr::value(Value::Null), inner))
}

/// Aggregates of no rows are the default of their type; those that count or gather are that anyway.
fn or_default(function: &mut Function, base: &str, written: &str) -> Result<Expr, DialectError> {
    let taken = base.strip_suffix("If");
    if let Some(taken) = taken.filter(|it| may_be_nan(it)) {
        // Of rows none of which is taken it is a NaN there.
        let instead = format!("write {taken}OrDefaultIf, which is the default if no row is taken");
        return Err(refused(written, &instead));
    }
    if taken == Some("sumCount")
        || super::gathered::may_be_nan(taken.unwrap_or(base))
        || base.starts_with("groupBit")
        || base.contains("Matrix")
    {
        return Err(refused(written, "its default is not the one of ClickHouse"));
    }
    let list = arguments(function).unwrap_or_default();
    let is_null = list.iter().any(super::call::is_null);
    set_arguments(function, list);
    if is_null && base == "any" {
        return plain(function, base);
    }
    if is_null {
        return Err(refused(format!("{base}OrDefault of NULL"), "it is NULL in every group"));
    }
    if let Some(witness) = super::spread::witness(base) {
        // NULL where the witness is, which may be a NULL of values or of no rows, and in no other place.
        let mut inner = function.clone();
        mark(&mut inner, Otherwise::Null);
        let value = plain(&mut inner, base)?;
        mark(function, Otherwise::Default);
        let witness = plain(function, witness)?;
        return Ok(Expr::Function(call("coalesce", vec![value, witness])));
    }
    if base.starts_with("uniqCombined") {
        // It is NULL of NULLs alone, and the condition of -If may be one.
        mark(function, Otherwise::Usual);
    }
    if !is_count(base) && !base.starts_with("groupArray") && !base.starts_with("groupUniq") {
        mark(function, Otherwise::Default);
    }
    plain(function, base)
}

/// Says with the first argument what stands for no rows, and whether any other may be NULL.
pub(super) fn mark(function: &mut Function, otherwise: Otherwise) {
    let mut list = arguments(function).unwrap_or_default();
    let others = list.get(1..).unwrap_or_default().to_vec();
    if let Some(first) = list.first_mut() {
        *first = marked(super::call::take(first), others, otherwise);
    }
    set_arguments(function, list);
}

/// A first argument with a mark; one that has a mark keeps it.
pub(super) fn marked(first: Expr, others: Vec<Expr>, otherwise: Otherwise) -> Expr {
    match split_mark(first) {
        (first, Some(before)) => before.around(first),
        (first, None) => Mark { otherwise, others }.around(first),
    }
}

/// A mark that was taken off.
#[derive(Clone)]
pub(super) struct Mark {
    pub(super) otherwise: Otherwise,
    others: Vec<Expr>,
}

impl Mark {
    /// Without further arguments.
    pub(super) fn new(otherwise: Otherwise) -> Self {
        Self { otherwise, others: Vec::new() }
    }
    /// Puts it on.
    pub(super) fn around(self, first: Expr) -> Expr {
        let all = std::iter::once(first).chain(self.others).collect();
        Expr::Function(call(self.otherwise.mark(), all))
    }
    /// With one argument more.
    pub(super) fn beside(mut self, other: Expr) -> Self {
        self.others.push(other);
        self
    }
}

/// What a first argument is marked with.
pub(super) fn mark_of(first: &Expr) -> Option<Otherwise> {
    let Expr::Function(function) = first else { return None };
    name(function).and_then(Otherwise::of_mark)
}

/// A first argument, and its mark if it has one.
pub(super) fn split_mark(first: Expr) -> (Expr, Option<Mark>) {
    if let Expr::Function(mut function) = first {
        let found = name(&function).and_then(Otherwise::of_mark);
        let mut all = match found {
            Some(_) => arguments(&mut function).unwrap_or_default().into_iter(),
            None => return (Expr::Function(function), None),
        };
        let inner = all.next().unwrap_or(Expr::value(Value::Null));
        return (inner, found.map(|otherwise| Mark { otherwise, others: all.collect() }));
    }
    (first, None)
}

/// A tuple, with the mark that its first element had for the aggregate.
pub(super) fn tuple_of(mut all: Vec<Expr>) -> Expr {
    let mut found = None;
    if let Some(first) = all.first_mut() {
        let (inner, mark) = split_mark(super::call::take(first));
        (*first, found) = (inner, mark);
    }
    let found = found.map(|mark| all.iter().cloned().fold(mark, Mark::beside));
    let tuple = Expr::Function(call("struct", all));
    match found {
        Some(mark) => mark.around(tuple),
        None => tuple,
    }
}

fn distinct(function: &mut Function, base: &str, written: &str) -> Result<Expr, DialectError> {
    if base == "groupArray" {
        if !matches!(function.parameters, FunctionArguments::None) {
            return Err(refused(format!("{written} with parameters"), "it takes none here"));
        }
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
