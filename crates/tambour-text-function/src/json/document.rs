//! Functions of whole documents and objects: `JSONMergePatch`, `prettyPrintJSON`, `JSONExtractKeysAndValues`.

use super::extract::{build, check_type, each, path_type, raw};
use arrow_array::{Array, ArrayRef, StringArray, StructArray};
use arrow_schema::Field;
use std::sync::Arc;
use tambour_function::kit::{
    Call, Kind, array_of, expect_count, is_nullable, list_array, takes, wrong,
};
use tambour_function::{Function, FunctionError, Signature};
use tambour_part::types::DataType;
use tambour_value::json::{Json, write_text};

const INDENT: &str = "    ";
/// What floats are written: their digits, those after the point, and their powers of ten.
const DIGITS_MAX: usize = 5;
const PLACES_MAX: i32 = 4;
const PLAIN: std::ops::Range<i32> = -4..4;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("JSONMergePatch", merge_type, merge).aliases(&["jsonMergePatch"]),
    Function::new(
        "prettyPrintJSON",
        |n, s| takes(n, s, &[Kind::String], &[]).map(|()| DataType::String),
        pretty,
    ),
    Function::new("JSONExtractKeysAndValuesRaw", raw_type, raw_pairs),
    Function::new("JSONExtractKeysAndValuesRawCaseInsensitive", raw_type, raw_pairs),
    Function::new("JSONExtractKeysAndValues", typed_type, typed_pairs),
    Function::new("JSONExtractKeysAndValuesCaseInsensitive", typed_type, typed_pairs),
];

fn merge_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=usize::MAX)?;
    takes(name, s, &vec![Kind::String; s.len()], &[])?;
    Ok(DataType::String)
}

fn document(call: &Call, row: usize, text: &[u8]) -> Result<Json, FunctionError> {
    let read = Json::read_numbers(text);
    read.ok_or_else(|| call.value_error(row, "the text is not JSON"))
}

/// Each document laid over the one before: objects member by member, all else as a whole.
fn merge(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = (0..call.operands.len()).map(|index| call.texts(index));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    call.try_texts(|row, out| {
        if call.is_null(row) {
            return Ok(());
        }
        let mut whole: Option<Json> = None;
        for text in &texts {
            let Json::Object(members) = document(call, row, text.get(row))? else {
                return Err(call.value_error(row, "the document is not an object"));
            };
            match &mut whole {
                Some(Json::Object(before)) => lay_over(before, members),
                _ => whole = Some(Json::Object(members)),
            }
        }
        let mut written = String::new();
        if let Some(whole) = whole {
            write(&whole, None, &mut written).map_err(|problem| call.value_error(row, problem))?;
        }
        out.extend_from_slice(written.as_bytes());
        Ok(())
    })
}

fn lay_over(before: &mut Vec<(String, Json)>, members: Vec<(String, Json)>) {
    for (name, value) in members {
        match before.iter_mut().find(|(other, _)| *other == name) {
            Some((_, Json::Object(inner))) if matches!(value, Json::Object(_)) => {
                if let Json::Object(members) = value {
                    lay_over(inner, members);
                }
            }
            Some((_, old)) => *old = value,
            None => before.push((name, value)),
        }
    }
}

fn pretty(call: &Call) -> Result<ArrayRef, FunctionError> {
    let texts = call.texts(0)?;
    call.try_texts(|row, out| {
        if call.is_null(row) {
            return Ok(());
        }
        let document = document(call, row, texts.get(row))?;
        let mut written = String::new();
        write(&document, Some(0), &mut written)
            .map_err(|problem| call.value_error(row, problem))?;
        out.extend_from_slice(written.as_bytes());
        Ok(())
    })
}

/// Writes a document; `depth` is how far it is indented, if it is.
fn write(value: &Json, depth: Option<usize>, out: &mut String) -> Result<(), &'static str> {
    let line = |depth: Option<usize>, out: &mut String| {
        if let Some(depth) = depth {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(INDENT));
        }
    };
    let inside = depth.map(|depth| depth + 1);
    match value {
        Json::Float(float) => return write_float(*float, out),
        Json::Array(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                line(inside, out);
                write(item, inside, out)?;
            }
            line(depth, out);
            out.push(']');
        }
        Json::Object(members) if !members.is_empty() => {
            out.push('{');
            for (index, (name, value)) in members.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                line(inside, out);
                write_text(out, name);
                out.push_str(if depth.is_some() { ": " } else { ":" });
                write(value, inside, out)?;
            }
            line(depth, out);
            out.push('}');
        }
        other => other.write(out),
    }
    Ok(())
}

/// A float of few digits. ClickHouse's digits are not always the shortest ones that give the float back: up to these ends they
/// were compared, one by one. Which zero a zero was is not known any more.
fn write_float(float: f64, out: &mut String) -> Result<(), &'static str> {
    let scientific = format!("{:e}", float.abs());
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or(i32::MAX);
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    let places = i32::try_from(count).unwrap_or(i32::MAX) - 1 - exponent.clamp(-9, 9);
    let is_negative_zero = float == 0.0 && float.is_sign_negative();
    if is_negative_zero || count > DIGITS_MAX || !PLAIN.contains(&exponent) || places > PLACES_MAX {
        return Err("it writes floats of up to 5 digits, 4 of them after the point, and no -0");
    }
    let plain = float.to_string();
    out.push_str(&plain);
    out.push_str(if plain.contains('.') { "" } else { ".0" });
    Ok(())
}

fn pairs_of(value: DataType) -> DataType {
    array_of(DataType::Tuple(vec![(None, DataType::String), (None, value)]))
}

fn raw_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    path_type(name, s, 0)?;
    Ok(pairs_of(DataType::String))
}

/// Names with values, as an array of pairs in each row.
fn pairs(
    call: &Call,
    lengths: Vec<usize>,
    names: Vec<String>,
    values: ArrayRef,
    has_nulls: bool,
) -> Result<ArrayRef, FunctionError> {
    let names: ArrayRef = Arc::new(StringArray::from(names));
    let fields = vec![
        Field::new("1", names.data_type().clone(), false),
        Field::new("2", values.data_type().clone(), has_nulls),
    ];
    let tuples = StructArray::try_new(fields.into(), vec![names, values], None);
    let tuples = Arc::new(tuples.map_err(FunctionError::arrow("make tuples"))?);
    list_array(lengths, tuples, tambour_function::kit::item_of(call.result))
}

fn raw_pairs(call: &Call) -> Result<ArrayRef, FunctionError> {
    let found = each(call, 0, |value| match value {
        Some(Json::Object(members)) => {
            members.iter().map(|(name, value)| (name.clone(), raw(value))).collect()
        }
        _ => Vec::new(),
    })?;
    let lengths = found.iter().map(Vec::len).collect();
    let (names, values): (Vec<String>, Vec<String>) = found.into_iter().flatten().unzip();
    pairs(call, lengths, names, Arc::new(StringArray::from(values)), false)
}

fn typed_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    path_type(name, s, 1)?;
    let constant = s.last().and_then(|last| last.constant.as_ref());
    let text = constant.and_then(|constant| tambour_function::kit::Texts::of(constant).first());
    let wanted: DataType = text
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| wrong(name, "the type must be a constant text"))?;
    check_type(name, &wanted)?;
    if matches!(wanted, DataType::LowCardinality(_) | DataType::Array(_)) {
        return Err(wrong(name, format!("it does not give {wanted}")));
    }
    Ok(pairs_of(wanted))
}

/// Members whose values are of the type; others are left out, but for NULLs where there may be some.
fn typed_pairs(call: &Call) -> Result<ArrayRef, FunctionError> {
    let wanted = match tambour_function::kit::item_of(call.result) {
        DataType::Tuple(elements) if elements.len() == 2 => elements[1].1.clone(),
        _ => return Err(wrong(call.name, "its result is an array of pairs")),
    };
    let tried = wanted.clone().made_nullable();
    let has_nulls = is_nullable(&wanted);
    let found = each(call, 1, |value| match value {
        Some(Json::Object(members)) => members.clone(),
        _ => Vec::new(),
    })?;
    let all: Vec<Option<&Json>> = found.iter().flatten().map(|(_, value)| Some(value)).collect();
    let fits = build(call.name, &tried, &all)?;
    let fits = |at: usize| match all[at] {
        Some(Json::Null) => has_nulls,
        _ => !fits.is_null(at),
    };
    let (mut lengths, mut names, mut kept, mut at) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for members in &found {
        let before = names.len();
        for (name, value) in members {
            if fits(at) {
                names.push(name.clone());
                kept.push(Some(value));
            }
            at += 1;
        }
        lengths.push(names.len() - before);
    }
    let values = build(call.name, &wanted, &kept)?;
    pairs(call, lengths, names, values, has_nulls)
}
