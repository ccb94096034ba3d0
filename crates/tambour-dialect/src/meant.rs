//! Functions that the engine has under the same name with another meaning: here they become what ClickHouse means.

use super::call::{arguments, call, rename, set_arguments};
use super::refused;
use crate::DialectError;
use crate::names;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator,
    Value, WindowFrameBound, WindowFrameUnits, WindowSpec, WindowType,
};

/// The names that are rewritten here.
pub(super) const NAMES: &[&str] = &[
    "match",
    "dateTrunc",
    "left",
    "right",
    "lagInFrame",
    "leadInFrame",
    "instr",
    "isNullable",
    "rowNumberInAllBlocks",
    "matchCaseInsensitive",
    "notMatchCaseInsensitive",
];

/// What `map(…)` is rewritten to.
const MAP: &str = "mapFromArrays";

/// Refuses hashes of maps that are written out with numbers: the engine's have 64 bits.
pub(super) fn check_hash(function: &Function, written: &str) -> Result<(), DialectError> {
    if !tambour_function::HASHES_OF_WIDTHS.contains(&written) {
        return Ok(());
    }
    let FunctionArguments::List(list) = &function.args else { return Ok(()) };
    let is_call = |argument: &FunctionArg, wanted: &str| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(inner))) => {
            super::call::name(inner) == Some(wanted)
        }
        _ => false,
    };
    let is_written = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(inner))) => match &inner.args {
            FunctionArguments::List(parts) => {
                is_call(argument, MAP) && parts.args.iter().any(|it| is_call(it, "make_array"))
            }
            _ => false,
        },
        _ => false,
    };
    if list.args.iter().any(is_written) {
        return Err(refused(
            format!("{written} of a map that is written out"),
            "its numbers may have fewer bits in ClickHouse: say the type, like CAST(... AS Map(String, UInt8))",
        ));
    }
    Ok(())
}

/// Names that the engine takes for something else, and the function that ClickHouse means.
const OTHERS: &[(&str, &str)] = &[
    ("array_to_string", "arrayStringConcat"),
    ("ascii", "ascii"),
    ("cardinality", "length"),
    ("char_length", "lengthUTF8"),
    ("character_length", "lengthUTF8"),
    ("concat_ws", "concatWithSeparator"),
    ("date_bin", "toStartOfInterval"),
    ("date_format", "formatDateTime"),
    ("flatten", "arrayFlatten"),
    ("initcap", "initcap"),
    ("lpad", "leftPad"),
    ("rpad", "rightPad"),
    ("md5", "MD5"),
    ("octet_length", "length"),
    ("overlay", "overlay"),
    ("rand", "rand"),
    ("sha224", "SHA224"),
    ("sha256", "SHA256"),
    ("sha384", "SHA384"),
    ("sha512", "SHA512"),
    ("version", "version"),
];

fn text(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

fn number(number: i64) -> Expr {
    Expr::value(Value::Number(number.to_string(), false))
}

/// Rewrites a call; what replaces it, if it is one of these.
#[expect(clippy::too_many_lines, reason = "one arm for each function, a few lines long")]
pub(super) fn rewrite(
    function: &mut Function,
    written: &str,
) -> Result<Option<Expr>, DialectError> {
    let lower = written.to_ascii_lowercase();
    if let Some((_, meant)) = OTHERS.iter().find(|(name, _)| *name == lower) {
        return match names::canonical(written).or_else(|| names::canonical(meant)) {
            Some(own) => {
                rename(function, own);
                Ok(None)
            }
            None => Err(refused(
                written,
                "the engine's function of this name differs from ClickHouse's, which is not here",
            )),
        };
    }
    let take = |function: &mut Function| arguments(function).unwrap_or_default();
    Ok(match lower.as_str() {
        "match" if names::canonical("match").is_none() => {
            let Ok([string, pattern]) = <[Expr; 2]>::try_from(take(function)) else {
                return Err(refused("match with these arguments", "it takes a text and a pattern"));
            };
            Some(matches(string, pattern))
        }
        "regexp_like" | "regexp_match" | "regexp_count" | "regexp_instr" => {
            return Err(refused(
                written,
                "its patterns differ from ClickHouse's; use match, extract or countMatches",
            ));
        }
        "regexp_replace" => {
            let list = take(function);
            if list.len() != 3 {
                set_arguments(function, list);
                return Err(refused(
                    "REGEXP_REPLACE with flags",
                    "it takes a text, a pattern and a text",
                ));
            }
            if names::canonical("replaceRegexpAll").is_some() {
                return Ok(Some(Expr::Function(call("replaceRegexpAll", list))));
            }
            let mut list = list;
            if let Some(pattern) = list.get_mut(1) {
                let bare = std::mem::replace(pattern, number(0));
                *pattern = dot_all(bare);
            }
            list.push(text("g"));
            Some(Expr::Function(call("regexp_replace", list)))
        }
        "from_unixtime" | "fromunixtimestamp" => Some(of_unix_time(written, take(function))?),
        "date_trunc" => {
            rename(function, "dateTrunc");
            None
        }
        "left" if names::canonical("left").is_none() => {
            let Ok([string, length]) = <[Expr; 2]>::try_from(take(function)) else {
                return Err(refused("left with these arguments", "it takes a text and a length"));
            };
            Some(Expr::Function(call("substring", vec![string, number(1), length])))
        }
        "right" if names::canonical("right").is_none() => Some(right(take(function))?),
        "instr" => {
            let list = take(function);
            if names::canonical("positionCaseInsensitive").is_some() {
                return Ok(Some(Expr::Function(call("positionCaseInsensitive", list))));
            }
            let lowered = list.into_iter().map(|it| Expr::Function(call("lower", vec![it])));
            Some(Expr::Function(call("position", lowered.collect())))
        }
        // What a constant of a type that has NULLs becomes is no longer known when the function is asked.
        "defaultvalueofargumenttype" => {
            let list = take(function);
            let is_nullable = |it: &Expr| matches!(it, Expr::Function(inner) if super::call::name(inner) == Some("toNullable"));
            if list.first().is_some_and(is_nullable) {
                return Ok(Some(Expr::value(Value::Null)));
            }
            set_arguments(function, list);
            None
        }
        "isnullable" if written == "isNullable" => {
            let named = Expr::Function(call("toTypeName", take(function)));
            let pattern = text("^(LowCardinality\\()?Nullable\\(");
            let is_one = Expr::Function(call("match", vec![named, pattern]));
            Some(Expr::Function(call("toUInt8", vec![is_one])))
        }
        "log" => {
            rename(function, "ln");
            None
        }
        "rownumberinallblocks" => {
            let mut number = call("row_number", Vec::new());
            number.over = Some(WindowType::WindowSpec(WindowSpec {
                window_name: None,
                partition_by: Vec::new(),
                order_by: Vec::new(),
                window_frame: None,
            }));
            let (left, right) = (Box::new(Expr::Function(number)), Box::new(self::number(1)));
            let from_zero = Expr::BinaryOp { left, op: BinaryOperator::Minus, right };
            Some(Expr::Function(call("toUInt64", vec![from_zero])))
        }
        "matchcaseinsensitive" | "notmatchcaseinsensitive" => {
            let Ok([string, pattern]) = <[Expr; 2]>::try_from(take(function)) else {
                return Err(refused(
                    format!("{written} with these arguments"),
                    "it takes a text and a pattern",
                ));
            };
            Some(matched(string, pattern, (true, lower.starts_with("not"))))
        }
        "laginframe" => {
            if !begins_before(function) {
                return Err(refused(
                    "lagInFrame over a frame that may not have the row that is meant",
                    "write ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
                ));
            }
            in_frame(function, "lag")
        }
        "leadinframe" => {
            if !reaches_the_end(function) {
                return Err(refused(
                    "leadInFrame over a frame that may not have the row that is meant",
                    "write ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
                ));
            }
            in_frame(function, "lead")
        }
        _ => None,
    })
}

/// What an operator of patterns is: whether case counts not, and whether it asks for no match.
pub(super) fn pattern_operator(op: &BinaryOperator) -> Option<(bool, bool)> {
    Some(match op {
        BinaryOperator::PGRegexMatch => (false, false),
        BinaryOperator::PGRegexIMatch => (true, false),
        BinaryOperator::PGRegexNotMatch => (false, true),
        BinaryOperator::PGRegexNotIMatch => (true, true),
        _ => return None,
    })
}

/// A match as ClickHouse's function.
pub(super) fn matched(string: Expr, pattern: Expr, (any_case, negated): (bool, bool)) -> Expr {
    let pattern = if any_case {
        Expr::Function(call("concat", vec![text("(?i)"), pattern]))
    } else {
        pattern
    };
    if negated {
        return Expr::Function(call("notMatch", vec![string, pattern]));
    }
    matches(string, pattern)
}

/// `FROM_UNIXTIME(n)` is `toDateTime(n)`; with a format, the text of that.
fn of_unix_time(written: &str, list: Vec<Expr>) -> Result<Expr, DialectError> {
    let mut list = list.into_iter();
    let Some(seconds) = list.next() else {
        return Err(refused(format!("{written}()"), "it takes a number of seconds"));
    };
    let rest: Vec<Expr> = list.collect();
    if rest.is_empty() {
        let seconds = Expr::Function(call("toInt64", vec![seconds]));
        return Ok(Expr::Function(call("toDateTime", vec![seconds])));
    }
    let instant = Expr::Function(call("formattedMoment", vec![seconds]));
    let all = std::iter::once(instant).chain(rest).collect();
    Ok(Expr::Function(call("formatDateTime", all)))
}

fn in_frame(function: &mut Function, name: &str) -> Option<Expr> {
    rename(function, name);
    if let Some(WindowType::WindowSpec(window)) = &mut function.over {
        window.window_frame = None;
    }
    None
}

/// True for a window whose frame has the rows before this one, as far as they are asked for.
fn begins_before(function: &Function) -> bool {
    let Some(WindowType::WindowSpec(WindowSpec { window_frame: Some(frame), .. })) = &function.over
    else {
        return true;
    };
    if let Some(WindowFrameBound::Preceding(_)) = frame.end_bound {
        return false;
    }
    match &frame.start_bound {
        WindowFrameBound::Preceding(None) => true,
        WindowFrameBound::Preceding(Some(rows)) => {
            let is_row_before = arguments(&mut function.clone()).is_some_and(|it| it.len() == 1);
            frame.units == WindowFrameUnits::Rows && rows.to_string() != "0" && is_row_before
        }
        _ => false,
    }
}

/// True for a window whose frame has the row itself and ends with the last.
fn reaches_the_end(function: &Function) -> bool {
    match &function.over {
        Some(WindowType::WindowSpec(WindowSpec { window_frame: Some(frame), .. })) => {
            frame.end_bound == Some(WindowFrameBound::Following(None))
                && !matches!(frame.start_bound, WindowFrameBound::Following(_))
        }
        _ => false,
    }
}

/// `match`: a dot matches a newline, too.
pub(super) fn matches(string: Expr, pattern: Expr) -> Expr {
    if names::canonical("match").is_some() {
        return Expr::Function(call("match", vec![string, pattern]));
    }
    let pattern = dot_all(pattern);
    Expr::Function(call("regexp_like", vec![string, pattern]))
}

fn dot_all(pattern: Expr) -> Expr {
    match &pattern {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(bare) => text(&format!("(?s){bare}")),
            _ => pattern,
        },
        _ => Expr::Function(call("concat", vec![text("(?s)"), pattern])),
    }
}

/// `right(s, n)` is `substring(s, -n)`, but of a text that is shorter the whole; a length below zero counts from the start.
fn right(list: Vec<Expr>) -> Result<Expr, DialectError> {
    let Ok([string, length]) = <[Expr; 2]>::try_from(list) else {
        return Err(refused("right with these arguments", "it takes a text and a length"));
    };
    let (digits, negated) = match &length {
        Expr::Value(value) => (value.to_string(), false),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => (expr.to_string(), true),
        other => (other.to_string(), false),
    };
    let Ok(count) = digits.parse::<i64>() else {
        return Err(refused(
            format!("right({string}, {length})"),
            "the length must be a number; write substring(s, length(s) - n + 1)",
        ));
    };
    let from = if negated {
        number(count.saturating_add(1))
    } else {
        let bytes = Expr::Function(call("length", vec![string.clone()]));
        let start = Expr::Function(call("minus", vec![bytes, number(count.saturating_sub(1))]));
        Expr::Function(call("greatest", vec![start, number(1)]))
    };
    Ok(Expr::Function(call("substring", vec![string, from])))
}
