//! Types in queries: `CAST(x AS T)` of types that the engine does not know is the function CAST with the name of the type,
//! `DateTime('zone')` gets past the parser, and `toTypeName` says ClickHouse's types of conditions and counts.

use super::call;
use super::lexical::{closing, is_word, next};
use super::meant;
use crate::marks::LOGIC;
use crate::names;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    UnaryOperator, Value,
};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// Stands for `DateTime('zone')`, which the parser takes for a precision.
const ZONED: &str = "ZonedDateTime";

/// Renames `DateTime('zone')`.
pub(super) fn arrange(tokens: &mut [TokenWithSpan]) {
    for at in 0..tokens.len() {
        if !is_word(&tokens[at].token, "DateTime") {
            continue;
        }
        let Some(open) = next(tokens, at).filter(|it| tokens[*it].token == Token::LParen) else {
            continue;
        };
        let Some(zone) = next(tokens, open) else { continue };
        let is_zone = matches!(tokens[zone].token, Token::SingleQuotedString(_));
        if is_zone && closing(tokens, open) == next(tokens, zone) {
            tokens[at].token = Token::make_word(ZONED, None);
        }
    }
}

/// Names of types that the parser prints in upper case.
const PRINTED: &[(&str, &str)] = &[
    ("STRING", "String"),
    ("DECIMAL", "Decimal"),
    ("ENUM8", "Enum8"),
    ("ENUM16", "Enum16"),
    ("DATETIME64", "DateTime64"),
    ("DATETIME", "DateTime"),
    ("INT8", "Int8"),
    ("INT16", "Int16"),
    ("INT32", "Int32"),
    ("INT64", "Int64"),
    ("FLOAT32", "Float32"),
    ("FLOAT64", "Float64"),
    ("NULLABLE", "Nullable"),
    ("ARRAY", "Array"),
    ("TUPLE", "Tuple"),
    ("MAP", "Map"),
];

/// A type as ClickHouse writes it, if it is one.
pub(super) fn name_of(data_type: &DataType) -> Option<String> {
    let printed = data_type.to_string();
    let mut name = String::with_capacity(printed.len());
    let mut rest = printed.as_str();
    while let Some(first) = rest.chars().next() {
        if first == '\'' {
            // What is quoted stays as it is.
            let end = rest[1..].find('\'').map_or(rest.len(), |end| end + 2);
            name.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(rest.len());
        if end == 0 {
            name.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (word, after) = rest.split_at(end);
        rest = after;
        if word == ZONED {
            let zone = rest.strip_prefix('(')?;
            let end = zone.find(')')?;
            name.push_str(&format!("DateTime('{}')", zone[..end].trim_matches('\'')));
            rest = &zone[end + 1..];
            continue;
        }
        let known = PRINTED.iter().find(|(printed, _)| *printed == word);
        name.push_str(known.map_or(word, |(_, own)| own));
    }
    name.parse::<tambour_part::types::DataType>().ok().map(|data_type| data_type.to_string())
}

/// The call that converts a value to a type; `None` for types that are not ClickHouse's.
pub(super) fn cast(value: &mut Expr, data_type: &DataType) -> Option<Expr> {
    let name = Expr::value(Value::SingleQuotedString(name_of(data_type)?));
    Some(Expr::Function(call::call("CAST", vec![call::take(value), name])))
}

/// The argument of `toTypeName` with the type that it has in ClickHouse: conditions are numbers there, counts are unsigned.
fn shown(mut argument: Expr) -> Expr {
    let converted = match &argument {
        Expr::Nested(inner) => return shown((**inner).clone()),
        Expr::Function(function) => match call::name(function) {
            Some("count") => Some("toUInt64"),
            _ => None,
        },
        Expr::BinaryOp { left, op: BinaryOperator::Modulo, right } => {
            let sides = vec![(**left).clone(), (**right).clone()];
            return Expr::Function(call::call("modulo", sides));
        }
        _ => None,
    };
    if let Some(name) = converted {
        return Expr::Function(call::call(name, vec![argument]));
    }
    number(&mut argument);
    argument
}

/// Functions that keep the values that they get, or one of them: a condition among their arguments is a number there.
const KEEPING: &[&str] = &[
    "array",
    "tuple",
    "map",
    "min",
    "max",
    "any",
    "anyLast",
    "any_value",
    "argMin",
    "argMax",
    "first_value",
    "last_value",
    "lagInFrame",
    "leadInFrame",
    "groupArray",
    "groupBitAnd",
    "groupBitOr",
    "groupBitXor",
    "lag",
    "lead",
    "nth_value",
    "groupUniqArray",
    "topK",
    "uniqExact",
    "quantile",
    "median",
    "ifNull",
    "coalesce",
    "arrayPushBack",
    "arrayPushFront",
    "materialize",
    "identity",
];

/// Conditions that are written as functions.
const CONDITIONS: &[&str] = &[
    "mapAll",
    "mapExists",
    "equals",
    "notEquals",
    "less",
    "greater",
    "lessOrEquals",
    "greaterOrEquals",
    "isDistinctFrom",
    "isNotDistinctFrom",
    "isZeroOrNull",
    "isNull",
    "isNotNull",
    "like",
    "notLike",
    "ilike",
    "notILike",
    "match",
    "matchCaseInsensitive",
    "notMatchCaseInsensitive",
    "JSONExtractBool",
    "simpleJSONExtractBool",
];

/// The number 0 or 1 that a condition is in ClickHouse, where it is a result or part of one.
pub(super) fn number(expr: &mut Expr) {
    let is_one = match expr {
        Expr::Nested(inner) => return number(inner),
        Expr::Case { conditions, else_result, .. } => {
            let results = conditions.iter_mut().map(|branch| &mut branch.result);
            return results.chain(else_result.as_deref_mut()).for_each(number);
        }
        Expr::Function(function) if call::name(function) == Some("if") => {
            return arguments(function).skip(1).for_each(number);
        }
        // `nullIf` in any case: what is left of it is its first argument.
        Expr::Function(function)
            if call::name(function).is_some_and(|it| it.eq_ignore_ascii_case("nullIf")) =>
        {
            return arguments(function).take(1).for_each(number);
        }
        Expr::Function(function) if call::name(function) == Some("multiIf") => {
            let last = arguments(function).count().saturating_sub(1);
            let branches = arguments(function).enumerate();
            return branches
                .filter(|(at, _)| at % 2 == 1 || *at == last)
                .for_each(|it| number(it.1));
        }
        Expr::Function(function) if is_logic(function) => return logic(expr),
        Expr::UnaryOp { op: UnaryOperator::Not, .. }
        | Expr::BinaryOp {
            op: BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor,
            ..
        } => return logic(expr),
        Expr::Function(function) => is_predicate(function),
        // What is cast to Bool by whoever wrote it is a Bool.
        Expr::Cast { .. } => false,
        Expr::Exists { .. } | Expr::RLike { .. } => true,
        ref other => is_condition(other) || compares_nulls(other),
    };
    if is_one {
        *expr = Expr::Function(call::call("toUInt8", vec![call::take(expr)]));
    }
}

/// Whether it is `IS [NOT] DISTINCT FROM` or `<=>`.
fn compares_nulls(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::BinaryOp { op: BinaryOperator::Spaceship, .. }
    )
}

fn is_predicate(function: &Function) -> bool {
    call::name(function).is_some_and(|name| CONDITIONS.contains(&name) || names::is_predicate(name))
}

fn is_logic(function: &Function) -> bool {
    call::name(function).is_some_and(|name| ["and", "or", "xor", "not"].contains(&name))
}

/// Logic over a Bool is a Bool, other logic a number: what the types of columns decide is left to a function.
fn logic(expr: &mut Expr) {
    let mut operands = Vec::new();
    unknown(expr, &mut operands);
    let whole = call::take(expr);
    *expr = if operands.is_empty() {
        Expr::Function(call::call("toUInt8", vec![whole]))
    } else {
        operands.insert(0, whole);
        Expr::Function(call::call(LOGIC, operands))
    };
}

/// The same of a key of GROUP BY, where a result of this kind mentions more than the key: both must be one expression.
pub(super) fn key(expr: &mut Expr) {
    let is_logic = match expr {
        Expr::Nested(inner) => return key(inner),
        Expr::Rollup(sets) | Expr::Cube(sets) | Expr::GroupingSets(sets) => {
            return sets.iter_mut().flatten().for_each(key);
        }
        Expr::Case { .. } => return number(expr),
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => true,
        Expr::BinaryOp { op, .. } => {
            matches!(op, BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor)
        }
        Expr::Function(function) => match call::name(function) {
            Some("if" | "multiIf") => return number(expr),
            _ => is_logic(function),
        },
        _ => false,
    };
    let mut operands = Vec::new();
    unknown(expr, &mut operands);
    if is_logic && !operands.is_empty() {
        number(expr);
    }
}

/// The operands of logic that may be Bools.
fn unknown(expr: &Expr, found: &mut Vec<Expr>) {
    match expr {
        Expr::Nested(inner) => unknown(inner, found),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => unknown(expr, found),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And | BinaryOperator::Or | BinaryOperator::Xor,
            right,
        } => {
            unknown(left, found);
            unknown(right, found);
        }
        Expr::Function(function) if is_logic(function) => {
            if let FunctionArguments::List(list) = &function.args {
                for argument in &list.args {
                    if let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument {
                        unknown(argument, found);
                    }
                }
            }
        }
        Expr::Function(function) if is_predicate(function) => {}
        Expr::Value(value) if !matches!(value.value, Value::Boolean(_)) => {}
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::RLike { .. } => {}
        other if is_condition(other) || compares_nulls(other) => {}
        other => found.push(other.clone()),
    }
}

/// The same of what is compared with numbers that no Bool is.
fn numbers(sides: Vec<&mut Expr>) {
    let is_number = |it: &Expr| match it {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(text, _) if text != "0" && text != "1")
        }
        _ => false,
    };
    if sides.iter().any(|it| is_number(it)) {
        sides.into_iter().for_each(number);
    }
}

/// The same of what lists, tuples, lambdas of `arrayMap` and functions that keep values are made of.
pub(super) fn numbers_within(expr: &mut Expr) {
    match expr {
        Expr::Array(list) => list.elem.iter_mut().for_each(number),
        Expr::Tuple(elements) => elements.iter_mut().for_each(number),
        Expr::InList { expr, list, .. } => {
            numbers(std::iter::once(&mut **expr).chain(list).collect());
        }
        Expr::Between { expr, low, high, .. } => {
            numbers(vec![&mut **expr, &mut **low, &mut **high]);
        }
        Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right)
        | Expr::BinaryOp { left, op: BinaryOperator::Spaceship, right } => {
            numbers(vec![&mut **left, &mut **right]);
        }
        Expr::Function(function)
            if call::name(function).is_some_and(|name| name.eq_ignore_ascii_case("toTypeName")) =>
        {
            arguments(function).for_each(|argument| *argument = shown(call::take(argument)));
            if let Some(name) = name_of_tuple(function) {
                *expr = name;
            }
        }
        Expr::Function(function) => {
            let is_map = call::name(function)
                .is_some_and(|name| ["arrayMap", "arrayMin", "arrayMax"].contains(&name));
            let stem = call::name(function).and_then(|name| name.strip_suffix("If"));
            let has_condition = stem.is_some_and(|stem| KEEPING.contains(&stem));
            let is_keeping =
                has_condition || call::name(function).is_some_and(|name| KEEPING.contains(&name));
            let values = arguments(function).count().saturating_sub(usize::from(has_condition));
            for argument in arguments(function).take(values) {
                match argument {
                    Expr::Lambda(lambda) if is_map => number(&mut lambda.body),
                    argument if is_keeping => number(argument),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// The name of the type of a tuple that is written out, from those of its elements: a number in a query has as few bits as it
/// can.
fn name_of_tuple(function: &mut Function) -> Option<Expr> {
    let Some(Expr::Tuple(elements)) = arguments(function).next() else { return None };
    let text = |text: &str| Expr::value(Value::SingleQuotedString(text.to_owned()));
    let mut parts = vec![text("Tuple(")];
    for (place, element) in std::mem::take(elements).into_iter().enumerate() {
        if place > 0 {
            parts.push(text(", "));
        }
        let mut name = Expr::Function(call::call("toTypeName", vec![element]));
        numbers_within(&mut name);
        parts.push(name);
    }
    parts.push(text(")"));
    Some(Expr::Function(call::call("concat", parts)))
}

fn arguments(function: &mut Function) -> impl Iterator<Item = &mut Expr> {
    let list = match &mut function.args {
        FunctionArguments::List(list) => list.args.as_mut_slice(),
        _ => &mut [],
    };
    list.iter_mut().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument),
        _ => None,
    })
}

/// True for comparisons, and for logic over one of them; logic over values of type Bool is a Bool.
fn is_condition(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_condition(inner),
        Expr::Cast { expr, data_type: DataType::Boolean, .. } => {
            is_condition(expr) || !matches!(**expr, Expr::Value(_) | Expr::Identifier(_))
        }
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => true,
        Expr::BinaryOp { left, op, right } => match op {
            BinaryOperator::And | BinaryOperator::Or => is_condition(left) || is_condition(right),
            BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq => true,
            other => meant::pattern_operator(other).is_some(),
        },
        Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::InList { .. }
        | Expr::InSubquery { .. }
        | Expr::Between { .. }
        | Expr::AnyOp { .. }
        | Expr::AllOp { .. }
        | Expr::Like { .. }
        | Expr::ILike { .. } => true,
        _ => false,
    }
}

fn is_nan(function: &Function) -> bool {
    let is_text = |it: &FunctionArg| match it {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => {
            value.value == Value::SingleQuotedString("nan".to_owned())
        }
        _ => false,
    };
    let FunctionArguments::List(list) = &function.args else { return false };
    call::name(function) == Some("toFloat64") && list.args.iter().all(is_text)
}

/// `inf` and `nan` are numbers, and `-nan` is the same as `nan`.
pub(super) fn constant(expr: &mut Expr) {
    if let Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } = expr
        && matches!(&**inner, Expr::Function(function) if is_nan(function))
    {
        *expr = call::take(inner);
    }
    let Expr::Identifier(name) = expr else { return };
    let is_number = name.quote_style.is_none()
        && ["inf", "infinity", "nan"].iter().any(|it| it.eq_ignore_ascii_case(&name.value));
    if is_number {
        let text = Expr::value(Value::SingleQuotedString(name.value.to_ascii_lowercase()));
        *expr = Expr::Function(call::call("toFloat64", vec![text]));
    }
}

#[cfg(test)]
mod tests {
    use crate::prepare;

    fn prepared(sql: &str) -> String {
        prepare(sql).map_or_else(|error| error.to_string(), |it| it.statement.to_string())
    }

    #[test]
    fn types_are_named_as_clickhouse_names_them() {
        for (written, name) in [
            ("Decimal(9, 2)", "Decimal(9, 2)"),
            ("Nullable(String)", "Nullable(String)"),
            ("Array(Array(Int8))", "Array(Array(Int8))"),
            ("FixedString(3)", "FixedString(3)"),
            ("DateTime(''Asia/Tokyo'')", "DateTime('Asia/Tokyo')"),
            ("Nullable(DateTime(''UTC''))", "Nullable(DateTime('UTC'))"),
            ("Map(String, UInt8)", "Map(String, UInt8)"),
        ] {
            let written = written.replace("''", "'");
            let text = prepared(&format!("SELECT CAST(a AS {written}) AS r FROM t"));
            let quoted = name.replace('\'', "''");
            assert_eq!(text, format!("SELECT \"CAST\"(a, '{quoted}') AS r FROM t"), "{written}");
        }
    }
}
