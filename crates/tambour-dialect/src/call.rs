//! Calls of functions: names as ClickHouse users write them, and functions that are syntax for DataFusion.

use super::rewrite::condition_of;
use super::{
    aggregate, clock, combinator, gathered, intervals, lambda, meant, moved, narrow, operator,
    pattern, refused, retype, sets, tuples, windows,
};
use crate::DialectError;
use crate::names;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, CeilFloorKind, DataType, DateTimeField, ExactNumberInfo,
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    Interval, ObjectName, ObjectNamePart, UnaryOperator, Value,
};

/// Functions that DataFusion has under another name, and those whose names have capital letters in it.
const RENAMED: &[(&str, &str)] = &[
    ("ifNull", "coalesce"),
    ("tuple", "struct"),
    ("array", "make_array"),
    ("arrayJoin", "unnest"),
    ("toTypeName", "toTypeName"),
    ("stddevPopStable", "stddev_pop"),
    ("stddevSampStable", "stddev"),
    ("varPopStable", "var_pop"),
    ("varSampStable", "var"),
    ("covarPopStable", "covar_pop"),
    ("covarSampStable", "covar_samp"),
    ("corrStable", "corr"),
    ("corr", "corrOfSums"),
    ("stddevPop", "stddevPop"),
    ("stddevSamp", "stddevSamp"),
    ("varPop", "varPop"),
    ("varSamp", "varSamp"),
    ("covarPop", "covarPop"),
    ("covarSamp", "covarSamp"),
    ("skewPop", "skewPop"),
    ("skewSamp", "skewSamp"),
    ("kurtPop", "kurtPop"),
    ("kurtSamp", "kurtSamp"),
    ("groupBitAnd", "bit_and"),
    ("groupBitOr", "bit_or"),
    ("groupBitXor", "bit_xor"),
    ("denseRank", "dense_rank"),
    ("percentRank", "percent_rank"),
];

/// Functions that become syntax.
const SYNTAX: &[&str] = &[
    "map",
    "if",
    "multiIf",
    "isNull",
    "isNotNull",
    "not",
    "toIntervalNanosecond",
    "toIntervalMicrosecond",
    "toIntervalMillisecond",
    "toIntervalSecond",
    "toIntervalMinute",
    "toIntervalHour",
    "toIntervalDay",
    "toIntervalWeek",
    "toIntervalMonth",
    "toIntervalQuarter",
    "toIntervalYear",
    "curdate",
    "today",
    "yesterday",
    "nullIf",
];

/// Names of functions that are rewritten.
pub fn renamed() -> impl Iterator<Item = &'static str> {
    let names = RENAMED.iter().map(|(name, _)| *name);
    let names = names.chain(meant::NAMES.iter().copied());
    let names = names.chain(SYNTAX.iter().copied()).chain(aggregate::NAMES.iter().copied());
    names
        .chain(gathered::names().copied())
        .chain(combinator::names())
        .chain(lambda::names())
        .chain(operator::NAMES.iter().copied())
        .chain(clock::names())
        .chain(windows::NAMES.iter().copied())
}

/// Rewrites an expression whose parts are rewritten already.
#[expect(clippy::too_many_lines, reason = "one arm for each form of expression")]
pub(super) fn rewrite(expr: &mut Expr) -> Result<(), DialectError> {
    match expr {
        Expr::Function(function) => {
            if let Some(replacement) = rewrite_function(function)? {
                *expr = replacement;
            }
        }
        Expr::Cast { kind: CastKind::DoubleColon, expr: inner, data_type, .. }
            if reads_text(inner, data_type) =>
        {
            return Err(refused(
                format!("{inner}::{data_type}"),
                format!(
                    "ClickHouse reads the text of the literal; write CAST({inner} AS {data_type})"
                ),
            ));
        }
        Expr::Cast { expr: inner, data_type, .. } if *data_type != DataType::Boolean => {
            if is_null(inner) && !may_be_null(data_type) {
                let name = retype::name_of(data_type).unwrap_or_else(|| data_type.to_string());
                return Err(refused(
                    format!("NULL as {name}"),
                    format!("write CAST(NULL AS Nullable({name}))"),
                ));
            }
            let plain = if matches!(data_type, DataType::Nullable(_) | DataType::LowCardinality(_))
            {
                None
            } else {
                conversion(data_type)
            };
            if let Some((name, arguments)) = plain {
                let mut all = vec![take(inner)];
                all.extend(arguments);
                *expr = Expr::Function(call(name, all));
            } else if let Some(call) = retype::cast(inner, data_type) {
                *expr = call;
            }
        }
        Expr::Like { negated, any: false, expr: text, pattern, escape_char: None } => {
            if let Some(like) = pattern::like(text, pattern, *negated, false) {
                *expr = like;
            }
        }
        Expr::ILike { negated, any: false, expr: text, pattern, escape_char: None } => {
            if let Some(like) = pattern::like(text, pattern, *negated, true) {
                *expr = like;
            }
        }
        Expr::AnyOp { left, compare_op, right, .. } => {
            *expr = pattern::quantified(left, compare_op, right, false)?;
        }
        Expr::Collate { .. } => {
            return Err(refused("COLLATE", "texts are in the order of their bytes here"));
        }
        Expr::AllOp { left, compare_op, right } => {
            *expr = pattern::quantified(left, compare_op, right, true)?;
        }
        // DataFusion's own POSITION counts characters and looks the other way round.
        Expr::Position { expr: needle, r#in } => {
            *expr = Expr::Function(call("position", vec![take(r#in), take(needle)]));
        }
        Expr::BinaryOp { left, op: op @ (BinaryOperator::Plus | BinaryOperator::Minus), right } => {
            if let Some(moved) = moved::sum(left, op, right) {
                *expr = moved;
            }
        }
        Expr::BinaryOp { left, op, right } if intervals::compares(op) => {
            intervals::compare(left, right)?;
        }
        Expr::BinaryOp { left, op, right } if *op == BinaryOperator::MyIntegerDivide => {
            *expr = Expr::Function(call("intDiv", vec![take(left), take(right)]));
        }
        Expr::BinaryOp { left, op, right } if meant::pattern_operator(op).is_some() => {
            if let Some(form) = meant::pattern_operator(op) {
                *expr = meant::matched(take(left), take(right), form);
            }
        }
        Expr::Interval(interval) => quote_interval(interval)?,
        Expr::Extract { field: DateTimeField::Epoch, expr: inner, .. } => {
            let inner = std::mem::replace(&mut **inner, number("0"));
            *expr = Expr::Function(call("toUnixTimestamp", vec![inner]));
        }
        Expr::RLike { negated, expr: text, pattern, .. } => {
            let found = meant::matches(take(text), take(pattern));
            *expr = if *negated {
                Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(found) }
            } else {
                found
            };
        }
        // The engine knows tuples of names and literals only.
        Expr::Tuple(elements)
            if !elements.iter().all(|it| matches!(it, Expr::Identifier(_) | Expr::Value(_))) =>
        {
            *expr = Expr::Function(call("struct", std::mem::take(elements)));
        }
        Expr::Ceil { expr: inner, field: CeilFloorKind::Scale(scale) } => {
            *expr = Expr::Function(call("ceil", vec![take(inner), Expr::Value(scale.clone())]));
        }
        Expr::Floor { expr: inner, field: CeilFloorKind::Scale(scale) } => {
            *expr = Expr::Function(call("floor", vec![take(inner), Expr::Value(scale.clone())]));
        }
        Expr::InSubquery { expr: operand, .. } if tuples::is_one(operand) => {
            if let Some(replacement) = tuples::in_subquery(expr)? {
                *expr = replacement;
            }
        }
        Expr::InSubquery { subquery, negated, .. } => {
            if *negated {
                sets::subquery(subquery)?;
            }
            sets::rename(subquery);
        }
        Expr::UnaryOp { op: UnaryOperator::Not, expr: inner } => {
            sets::negated(inner)?;
            let operand = condition_of(take(inner));
            **inner = operand;
        }
        Expr::InList { .. } => {
            if let Some(replacement) = tuples::in_list(expr)? {
                *expr = replacement;
            } else if let Some(replacement) = sets::list(expr) {
                *expr = replacement;
            }
        }
        Expr::BinaryOp { left, op, right } if is_logical(op) => {
            for side in [&mut *left, &mut *right] {
                let operand = condition_of(take(side));
                **side = operand;
            }
            // Conditions are different: one of them is true.
            if *op == BinaryOperator::Xor {
                for side in [&mut *left, &mut *right] {
                    let operand = Expr::Nested(Box::new(take(side)));
                    **side = operand;
                }
                *op = BinaryOperator::NotEq;
            }
        }
        Expr::TypedString(typed) => {
            if let Some(name) = conversion(&typed.data_type).map(|(name, _)| name).or_else(|| {
                matches!(typed.data_type, DataType::Timestamp(None, _)).then_some("toDateTime")
            }) {
                *expr = Expr::Function(call(name, vec![Expr::Value(typed.value.clone())]));
            }
        }
        // DataFusion's counts letters, and knows no offsets from the end.
        Expr::Substring { expr: text, substring_from, substring_for, .. } => {
            let mut pieces = vec![take(text)];
            let from = substring_from.take().map_or_else(|| number("1"), |from| *from);
            pieces.push(from);
            pieces.extend(substring_for.take().map(|length| *length));
            *expr = Expr::Function(call("substring", pieces));
        }
        // DataFusion's minus is only for signed numbers; that of literals and intervals is read with them.
        Expr::UnaryOp { op: UnaryOperator::Minus, expr: operand }
            if !matches!(**operand, Expr::Value(_) | Expr::Interval(_)) =>
        {
            *expr = Expr::Function(call("negate", vec![take(operand)]));
        }
        Expr::Subquery(query) => {
            if let Some(tuple) = super::tuples::of_columns(query)? {
                **query = tuple;
            }
        }
        _ => {}
    }
    Ok(())
}

pub(super) fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_null(inner),
        Expr::Value(value) => value.value == Value::Null,
        _ => false,
    }
}

/// True for `Nullable(T)`, also in a LowCardinality.
fn may_be_null(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nullable(_) => true,
        DataType::LowCardinality(inner) => may_be_null(inner),
        _ => false,
    }
}

fn is_logical(operator: &BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor)
}

/// Takes an expression out of its place.
pub(super) fn take(expr: &mut Expr) -> Expr {
    std::mem::replace(expr, Expr::Identifier(Ident::new("")))
}

/// The name of a function as it is registered: the planner would write one without quotes in lower case.
fn registered(name: &str) -> ObjectName {
    let has_case = name.contains(|c: char| c.is_ascii_uppercase());
    let ident = if has_case { Ident::with_quote('"', name) } else { Ident::new(name) };
    ObjectName(vec![ObjectNamePart::Identifier(ident)])
}

/// A call of a function by its exact name.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Function {
    Function {
        name: registered(name),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments
                .into_iter()
                .map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)))
                .collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }
}

/// The name of a function that is not qualified.
pub(super) fn name(function: &Function) -> Option<&str> {
    match function.name.0.as_slice() {
        [ObjectNamePart::Identifier(ident)] => Some(&ident.value),
        _ => None,
    }
}

/// Renames a function to what is registered.
pub(super) fn rename(function: &mut Function, name: &str) {
    function.name = registered(name);
}

/// Takes the arguments out of a call if they are all plain expressions.
pub(super) fn arguments(function: &mut Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &mut function.args else { return None };
    let is_plain =
        |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Expr(_)));
    if !list.args.iter().all(is_plain) {
        return None;
    }
    let taken = std::mem::take(&mut list.args).into_iter();
    Some(
        taken
            .filter_map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            })
            .collect(),
    )
}

/// Replaces the arguments of a call.
pub(super) fn set_arguments(function: &mut Function, expressions: Vec<Expr>) {
    if let FunctionArguments::List(list) = &mut function.args {
        list.args = expressions
            .into_iter()
            .map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)))
            .collect();
    }
}

fn rewrite_function(function: &mut Function) -> Result<Option<Expr>, DialectError> {
    let Some(mut written) = name(function).map(str::to_owned) else { return Ok(None) };
    if let Some(known) = aggregate::by_alias(&written) {
        rename(function, known);
        known.clone_into(&mut written);
    }
    if let Some(replacement) = aggregate::rewrite(function, &written)? {
        return Ok(Some(replacement));
    }
    if let Some(time) = clock::rewrite(function, &written)? {
        return Ok(Some(time));
    }
    if let Some(window) = windows::rewrite(function, &written)? {
        return Ok(Some(window));
    }
    moved::unit_as_text(function, &written);
    if let Some(moved) = moved::rewrite(function, &written)? {
        return Ok(Some(moved));
    }
    if let Some(reduced) = gathered::reduce(function)? {
        return Ok(Some(reduced));
    }
    if !matches!(function.parameters, FunctionArguments::None) {
        return Err(refused(
            format!("the parametric function {written}"),
            "those here are quantile, quantiles and their like",
        ));
    }
    narrow::arrays(function, &written);
    meant::check_hash(function, &written)?;
    if lambda::rewrite(function, &written)? || rewrite_plain(function, &written) {
        return Ok(None);
    }
    if let Some(replacement) = meant::rewrite(function, &written)? {
        return Ok(Some(replacement));
    }
    if let Some(expr) = operator::rewrite(function, &written)? {
        return Ok(Some(expr));
    }
    if let Some(syntax) = syntax(function, &written)? {
        return Ok(Some(syntax));
    }
    if written == "toStartOfInterval" {
        split_interval(function);
    }
    if let Some(canonical) = names::canonical(&written) {
        if canonical.starts_with("reduce") {
            return Err(refused(
                written,
                "there is no such function; arrayReduce names the aggregate",
            ));
        }
        rename(function, canonical);
    }
    Ok(None)
}

/// Renames a function that DataFusion has under another name.
pub(super) fn rewrite_plain(function: &mut Function, written: &str) -> bool {
    let found = RENAMED.iter().find(|(name, _)| *name == written);
    if let Some((_, other)) = found {
        rename(function, other);
    }
    found.is_some()
}

/// True for literals whose text, before `::`, says something else than their value: `1::Date`, `(1, 'a')::String`.
fn reads_text(literal: &Expr, data_type: &DataType) -> bool {
    let plain = match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => &**inner,
        other => other,
    };
    let is_whole = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let name = plain.to_string().to_ascii_uppercase();
    match literal {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => {
                // Five digits and more are a Unix time there, too.
                let is_instant = name.starts_with("DATETIME") || name.starts_with("TIMESTAMP");
                let is_moment = name.starts_with("DATE") && plain != data_type
                    || is_instant && !(is_whole(text) && text.len() >= 5);
                let is_cut = name.contains("INT") && plain != data_type && !is_whole(text);
                is_moment || is_cut
            }
            _ => false,
        },
        Expr::Array(_) | Expr::Tuple(_) => name == "STRING",
        // The parentheses are a part of the text.
        Expr::Nested(inner) => super::postfix::is_written(inner),
        Expr::Function(function) => {
            name == "STRING" && matches!(self::name(function), Some("make_array" | "struct"))
        }
        _ => false,
    }
}

/// `map(k, v, ...)`: the engine's own may always have NULLs for values.
fn map(function: &mut Function, arguments: Vec<Expr>) -> Option<Expr> {
    if arguments.is_empty() || !arguments.len().is_multiple_of(2) {
        set_arguments(function, arguments);
        return None;
    }
    let (mut keys, mut values) = (Vec::new(), Vec::new());
    for (place, argument) in arguments.into_iter().enumerate() {
        if place % 2 == 0 { keys.push(argument) } else { values.push(argument) }
    }
    let [keys, values] = [keys, values].map(|items| Expr::Function(call("make_array", items)));
    Some(Expr::Function(call("mapFromArrays", vec![keys, values])))
}

/// Functions that are syntax for DataFusion.
fn syntax(function: &mut Function, name: &str) -> Result<Option<Expr>, DialectError> {
    let is_if = name.eq_ignore_ascii_case("if") || name == "multiIf";
    let any_case = ["nullIf", "curdate"].into_iter().find(|it| name.eq_ignore_ascii_case(it));
    let name = any_case.unwrap_or(name);
    if !is_if && !SYNTAX.contains(&name) {
        return Ok(None);
    }
    let arguments = arguments(function).unwrap_or_default();
    if is_if {
        return case(name, arguments).map(Some);
    }
    if name == "nullIf" {
        return null_if(arguments).map(Some);
    }
    if name == "map" {
        return Ok(map(function, arguments));
    }
    if let "today" | "curdate" | "yesterday" = name {
        let date = Expr::Function(call("current_date", Vec::new()));
        let today = Expr::Function(call("toDate", vec![date]));
        let day = interval("1", DateTimeField::Day);
        let is_today = name != "yesterday";
        return Ok(Some(if is_today { today } else { binary(today, BinaryOperator::Minus, day) }));
    }
    let Ok([argument]) = <[Expr; 1]>::try_from(arguments) else {
        return Err(refused(format!("{name} with these arguments"), "it takes one"));
    };
    Ok(Some(match name {
        "isNull" => Expr::IsNull(Box::new(argument)),
        "isNotNull" => Expr::IsNotNull(Box::new(argument)),
        "not" => Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(condition_of(argument)) },
        _ => interval_of(name, argument),
    }))
}

fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }))
}

/// `nullIf(a, b)` is NULL where `a = b`, as `=` has it: the zeros are equal, a NaN is not.
fn null_if(arguments: Vec<Expr>) -> Result<Expr, DialectError> {
    let Ok([value, other]) = <[Expr; 2]>::try_from(arguments) else {
        return Err(refused("nullIf with these arguments", "it takes two"));
    };
    let null = Expr::value(Value::Null);
    let equal = binary(value.clone(), BinaryOperator::Eq, other);
    case("if", vec![equal, null, value])
}

/// `if(c, a, b)`, `multiIf(c1, a1, c2, a2, b)`
pub(super) fn case(name: &str, mut arguments: Vec<Expr>) -> Result<Expr, DialectError> {
    let is_well_formed = arguments.len() >= 3
        && arguments.len() % 2 == 1
        && (name == "multiIf" || arguments.len() == 3);
    let Some(otherwise) = arguments.pop().filter(|_| is_well_formed) else {
        return Err(refused(
            format!("{name} with these arguments"),
            "it takes conditions with results, and one result more",
        ));
    };
    let mut conditions = Vec::new();
    let mut rest = arguments.into_iter();
    while let (Some(condition), Some(result)) = (rest.next(), rest.next()) {
        conditions.push(CaseWhen { condition: condition_of(condition), result });
    }
    Ok(chosen(None, conditions, otherwise))
}

/// `CASE operand WHEN … THEN … ELSE otherwise END`.
pub(super) fn chosen(operand: Option<Expr>, conditions: Vec<CaseWhen>, otherwise: Expr) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: operand.map(Box::new),
        conditions,
        else_result: Some(Box::new(otherwise)),
    }
}

/// `CASE WHEN condition THEN result ELSE otherwise END`.
pub(super) fn choice(condition: Expr, result: Expr, otherwise: Expr) -> Expr {
    chosen(None, vec![CaseWhen { condition, result }], otherwise)
}

fn interval(value: &str, unit: DateTimeField) -> Expr {
    Expr::Interval(Interval {
        value: Box::new(Expr::value(Value::SingleQuotedString(value.to_owned()))),
        leading_field: Some(unit),
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    })
}

/// `toIntervalDay(7)` is `INTERVAL '7' DAY`; intervals of columns have no literal.
fn interval_of(name: &str, argument: Expr) -> Expr {
    let Some(unit) = intervals::unit_of(name) else { return argument };
    match argument.to_string() {
        number if number.parse::<i64>().is_ok() => {
            let mut interval = interval(&number, unit);
            if let Expr::Interval(interval) = &mut interval {
                quote_integer(interval);
            }
            interval
        }
        // What it is added to takes it.
        _ => Expr::Interval(Interval {
            value: Box::new(argument),
            leading_field: Some(unit),
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: None,
        }),
    }
}

/// `INTERVAL 1.5 DAY` is one day, as in ClickHouse.
fn quote_interval(interval: &mut Interval) -> Result<(), DialectError> {
    let text = interval.value.to_string();
    if interval.leading_field.is_some() && text.parse::<i64>().is_err() {
        let bare = text.trim_matches('\'');
        if bare != text && bare.parse::<f64>().is_ok() && bare.parse::<i64>().is_err() {
            return Err(refused(interval.to_string(), "in quotes it takes a whole number"));
        }
        if let Ok(float) = text.parse::<f64>() {
            #[expect(clippy::cast_possible_truncation, reason = "what is too long is refused")]
            let whole = float as i64;
            *interval.value = number(&whole.to_string());
        }
    }
    quote_integer(interval);
    Ok(())
}

/// `INTERVAL 1 DAY` as `INTERVAL '1' DAY`.
fn quote_integer(interval: &mut Interval) {
    let text = interval.value.to_string();
    let Ok(number) = text.trim_matches('\'').parse::<i64>() else { return };
    let is_quarter = matches!(interval.leading_field, Some(DateTimeField::Quarter));
    let months = number.checked_mul(3).filter(|_| is_quarter);
    if months.is_some() {
        interval.leading_field = Some(DateTimeField::Month);
    }
    let text = months.unwrap_or(number).to_string();
    *interval.value = Expr::value(Value::SingleQuotedString(text));
}

fn number(text: &str) -> Expr {
    Expr::value(Value::Number(text.to_owned(), false))
}

/// `toStartOfInterval(t, INTERVAL 5 DAY)` is `toStartOfInterval(t, 5, 'DAY')` for the function.
fn split_interval(function: &mut Function) {
    let Some(mut list) = arguments(function) else { return };
    if let Some(Expr::Interval(Interval { value, leading_field: Some(unit), .. })) = list.get(1) {
        let text = value.to_string();
        let count = number(text.trim_matches('\''));
        let unit = Expr::value(Value::SingleQuotedString(unit.to_string()));
        list.splice(1..2, [count, unit]);
    }
    set_arguments(function, list);
}

/// The conversion function for a type of ClickHouse, with its other arguments.
fn conversion(data_type: &DataType) -> Option<(&'static str, Vec<Expr>)> {
    let text = |zone: &String| Expr::value(Value::SingleQuotedString(zone.clone()));
    let number = |number: u64| Expr::value(Value::Number(number.to_string(), false));
    let plain = |name| Some((name, Vec::new()));
    match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => conversion(inner),
        DataType::UInt8 => plain("toUInt8"),
        DataType::UInt16 => plain("toUInt16"),
        DataType::UInt32 => plain("toUInt32"),
        DataType::UInt64 => plain("toUInt64"),
        DataType::Int8(_) => plain("toInt8"),
        DataType::Int16 => plain("toInt16"),
        DataType::Int32 => plain("toInt32"),
        DataType::Int64 => plain("toInt64"),
        DataType::Float32 => plain("toFloat32"),
        DataType::Float64 | DataType::Double(ExactNumberInfo::None) => plain("toFloat64"),
        DataType::String(None) => plain("toString"),
        DataType::Date => plain("toDate"),
        DataType::Date32 => plain("toDate32"),
        DataType::Datetime(None) => plain("toDateTime"),
        DataType::Datetime64(precision, zone) => {
            let zone = zone.as_ref().map(text);
            Some(("toDateTime64", std::iter::once(number(*precision)).chain(zone).collect()))
        }
        _ => None,
    }
}
