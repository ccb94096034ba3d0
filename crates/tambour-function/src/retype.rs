//! `CAST(x, 'T')` for every type, and conversions to types that have few functions of their own: `toFixedString`, `toBool`,
//! integers of 128 and 256 bits.
//!
//! Plain types are converted by their own functions (`toUInt8`); arrays, tuples and maps element by element.

use super::access::{Failure, Kind, as_list, takes};
use super::arithmetic::integer;
use super::decimal;
use super::enumeration;
use super::text::Texts;
use super::value::number;
use super::{Call, Function, Operand, Signature, bare, cast, expect_count, undress, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type, Float64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray, PrimitiveArray,
    StringArray, StructArray,
};
use arrow_buffer::i256;
use arrow_schema::{DataType as ArrowType, Field};
use std::sync::Arc;
use tambour_part::types::{DataType, Strings};

macro_rules! wide {
    ($($name:literal $or_zero:literal $or_null:literal $result:ident;)+) => {
        &[$(
            Function::new($name, |n, s| wide_type(n, s, DataType::$result), |c| {
                wide(c, &first(c)?, &DataType::$result, Failure::Error)
            }),
            Function::new(
                $or_zero,
                |n, s| takes(n, s, &[Kind::Text], &[]).map(|()| DataType::$result),
                |c| wide(c, &first(c)?, &DataType::$result, Failure::Zero),
            ),
            Function::new(
                $or_null,
                |n, s| takes(n, s, &[Kind::Text], &[]).map(|()| DataType::$result.made_nullable()),
                |c| wide(c, &first(c)?, &DataType::$result, Failure::Null),
            ),
        )+]
    };
}

/// Integers that have no type in most machines.
const WIDE: &[Function] = wide! {
    "toInt128" "toInt128OrZero" "toInt128OrNull" Int128;
    "toUInt128" "toUInt128OrZero" "toUInt128OrNull" UInt128;
    "toInt256" "toInt256OrZero" "toInt256OrNull" Int256;
    "toUInt256" "toUInt256OrZero" "toUInt256OrNull" UInt256;
};

/// The functions of this room.
pub(super) const FUNCTIONS: &[&[Function]] = &[OTHERS, WIDE];

const OTHERS: &[Function] = &[
    Function::new("CAST", cast_type, |c| {
        let target = target(c.name, &signatures(c))?;
        retyped(c, &first(c)?, &target)
    })
    .takes_nulls()
    .any_case(),
    Function::new("toFixedString", fixed_type, |c| {
        let width = match c.result {
            DataType::FixedString(width) => *width,
            _ => return Err(wrong(c.name, "its result is a FixedString")),
        };
        fixed(c, &Texts::of(&c.values(0)?), width)
    }),
    Function::new("toBool", bool_type, |c| boolean(c, &first(c)?)),
];

fn signatures(call: &Call) -> Vec<Signature> {
    call.operands.iter().map(Operand::signature).collect()
}

/// The first argument with one value per row.
pub(super) fn first(call: &Call) -> Result<Operand, FunctionError> {
    let operand = call.operand(0)?;
    let values = operand.expanded(call.rows)?;
    Ok(Operand { values, is_constant: false, ..operand.clone() })
}

/// The type that a constant argument names.
pub(super) fn target(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    let constant = s.get(1).and_then(|argument| argument.constant.as_ref());
    let text = constant.and_then(|constant| Texts::of(constant).first());
    let Some(text) = text else {
        return Err(wrong(name, "the second argument must be a constant name of a type"));
    };
    text.parse().map_err(|_| wrong(name, format!("{text:?} is not a type that is known here")))
}

fn cast_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    let target = target(name, s)?;
    match s.first() {
        Some(first) => check(name, &first.data_type, &target)?,
        None => return Err(wrong(name, "it takes an argument")),
    }
    Ok(target)
}

/// An error unless there is a conversion, so that it is known before there are rows.
fn check(name: &'static str, source: &DataType, target: &DataType) -> Result<(), FunctionError> {
    let (source, target) = (bare(source), bare(target));
    let refused = || Err(wrong(name, format!("there is no conversion of {source} to {target}")));
    match (source, target) {
        _ if source == target => Ok(()),
        (DataType::Array(have), DataType::Array(wanted)) => check(name, have, wanted),
        (DataType::Tuple(have), DataType::Tuple(wanted)) if have.len() == wanted.len() => have
            .iter()
            .zip(wanted)
            .try_for_each(|((_, have), (_, wanted))| check(name, have, wanted)),
        (DataType::Map(key, value), DataType::Map(other_key, other_value)) => {
            check(name, key, other_key)?;
            check(name, value, other_value)
        }
        (DataType::Tuple(have), DataType::Map(key, value))
            if let Some((keys, values)) = of_arrays(have) =>
        {
            check(name, keys, key)?;
            check(name, values, value)
        }
        (DataType::String, DataType::Array(_) | DataType::Tuple(_))
            if super::written::is_read(target) =>
        {
            check_leaves(name, target)
        }
        (_, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..)) => refused(),
        (DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..), DataType::String) => Ok(()),
        (DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..), _) => refused(),
        (_, DataType::Decimal { .. }) => {
            if is_number(source) || is_text(source) {
                Ok(())
            } else {
                refused()
            }
        }
        (DataType::Enum8(_) | DataType::Enum16(_), DataType::Enum8(_) | DataType::Enum16(_)) => {
            enumeration::check(name, source, target)
        }
        (_, DataType::FixedString(_) | DataType::Enum8(_) | DataType::Enum16(_)) => {
            if is_text(source)
                || integer(source).is_some() && !matches!(target, DataType::FixedString(_))
            {
                Ok(())
            } else {
                refused()
            }
        }
        (_, DataType::Int128 | DataType::UInt128 | DataType::Int256 | DataType::UInt256) => {
            wide_type(name, &[plain(source)], target.clone()).map(drop)
        }
        (_, DataType::Bool) => bool_type(name, &[plain(source)]).map(drop),
        (_, DataType::BFloat16) => refused(),
        _ => {
            let Some((function, others)) = own_function(target) else { return refused() };
            let all: Vec<Signature> = std::iter::once(plain(source))
                .chain(others.iter().map(Operand::signature))
                .collect();
            function.data_type(&all).map(drop)
        }
    }
}

/// The same for the single values of a type that is read from texts.
fn check_leaves(name: &'static str, target: &DataType) -> Result<(), FunctionError> {
    match bare(target) {
        DataType::Array(item) => check_leaves(name, item),
        DataType::Tuple(elements) => {
            elements.iter().try_for_each(|(_, element)| check_leaves(name, element))
        }
        single => check(name, &DataType::String, single),
    }
}

fn plain(data_type: &DataType) -> Signature {
    Signature { data_type: data_type.clone(), constant: None }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::String | DataType::FixedString(_))
}

fn is_number(data_type: &DataType) -> bool {
    integer(data_type).is_some()
        || matches!(
            data_type,
            DataType::Float32
                | DataType::Float64
                | DataType::Decimal { .. }
                | DataType::Int128
                | DataType::UInt128
        )
}

/// The function that makes values of a plain type, with its further arguments.
pub(super) fn own_function(target: &DataType) -> Option<(&'static Function, Vec<Operand>)> {
    function_with(target, "")
}

/// The same with something after its name, as `OrNull`.
fn function_with(target: &DataType, suffix: &str) -> Option<(&'static Function, Vec<Operand>)> {
    let text = |text: &String| Operand {
        data_type: DataType::String,
        values: Arc::new(StringArray::from(vec![text.clone()])),
        is_constant: true,
    };
    let (name, others) = match target {
        DataType::DateTime { zone } => ("toDateTime".to_owned(), zone.iter().map(text).collect()),
        DataType::DateTime64 { precision, zone } => {
            let precision = Operand {
                data_type: DataType::UInt8,
                values: Arc::new(arrow_array::UInt8Array::from(vec![*precision])),
                is_constant: true,
            };
            let others = std::iter::once(precision).chain(zone.iter().map(text)).collect();
            ("toDateTime64".to_owned(), others)
        }
        other => (format!("to{other}"), Vec::new()),
    };
    super::find_in_queries(&(name + suffix)).map(|function| (function, others))
}

/// Values of texts; NULL where a text is none, as ClickHouse has it where the result may be NULL. `None` for types of which
/// every text has a value, or an error.
fn read_or_null(
    call: &Call,
    operand: &Operand,
    wanted: &DataType,
) -> Result<Option<ArrayRef>, FunctionError> {
    match wanted {
        DataType::Bool | DataType::String => Ok(None),
        DataType::Decimal { .. } => {
            decimal::decimals(call, operand, wanted, Failure::Null).map(Some)
        }
        DataType::Int128 | DataType::UInt128 | DataType::Int256 | DataType::UInt256 => {
            wide(call, operand, wanted, Failure::Null).map(Some)
        }
        other => {
            let Some((function, others)) = function_with(other, "OrNull") else { return Ok(None) };
            let all: Vec<Operand> = std::iter::once(operand.clone()).chain(others).collect();
            function.evaluate(&all).map(|result| Some(result.values))
        }
    }
}

/// Values in another type.
pub(super) fn retyped(
    call: &Call,
    operand: &Operand,
    target: &DataType,
) -> Result<ArrayRef, FunctionError> {
    let is_nullable = target.is_nullable()
        || matches!(target, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..));
    if !is_nullable && operand.values.logical_null_count() > 0 {
        return Err(wrong(
            call.name,
            format!("a NULL does not fit {target}; write Nullable({target})"),
        ));
    }
    if operand.data_type == *target {
        return Ok(operand.values.clone());
    }
    let operand = undress(operand)?;
    let wanted = bare(target);
    let may_fail = target.is_nullable() && operand.data_type == DataType::String;
    let read = if may_fail { read_or_null(call, &operand, wanted)? } else { None };
    let values = match read {
        Some(values) => values,
        None if operand.data_type == *wanted => operand.values.clone(),
        None => bare_values(call, &operand, wanted)?,
    };
    match target {
        DataType::LowCardinality(_) => super::encode(&values, target),
        _ => Ok(values),
    }
}

fn bare_values(
    call: &Call,
    operand: &Operand,
    target: &DataType,
) -> Result<ArrayRef, FunctionError> {
    match target {
        DataType::Array(_) | DataType::Tuple(_) if operand.data_type == DataType::String => {
            super::written::nested(call, operand, target)
        }
        DataType::Array(item) => array(call, operand, item),
        DataType::Tuple(elements) => tuple(call, operand, elements),
        DataType::Map(key, value) => map(call, operand, key, value),
        DataType::Decimal { .. } => decimal::decimals(call, operand, target, Failure::Error),
        DataType::FixedString(width) => fixed(call, &Texts::of(&operand.values), *width),
        DataType::Enum8(_) | DataType::Enum16(_) => enumeration::of(call, operand, target),
        DataType::Bool => boolean(call, operand),
        DataType::Int128 | DataType::UInt128 | DataType::Int256 | DataType::UInt256 => {
            wide(call, operand, target, Failure::Error)
        }
        _ => {
            let Some((function, others)) = own_function(target) else {
                return Err(wrong(call.name, format!("there is no conversion to {target}")));
            };
            let all: Vec<Operand> = std::iter::once(operand.clone()).chain(others).collect();
            function.evaluate(&all).map(|result| result.values)
        }
    }
}

fn element(data_type: &DataType, values: &ArrayRef) -> Operand {
    Operand { data_type: data_type.clone(), values: values.clone(), is_constant: false }
}

fn array(call: &Call, operand: &Operand, item: &DataType) -> Result<ArrayRef, FunctionError> {
    let (DataType::Array(have), Some(list)) = (&operand.data_type, as_list(&operand.values)) else {
        return Err(wrong(call.name, "there is no conversion of this to an Array"));
    };
    let values = retyped(call, &element(have, list.values()), item)?;
    let field = super::access::item_field(item, &values);
    let made = ListArray::try_new(field, list.offsets().clone(), values, list.nulls().cloned());
    Ok(Arc::new(made.map_err(FunctionError::arrow("convert arrays"))?))
}

fn tuple(
    call: &Call,
    operand: &Operand,
    elements: &[(Option<String>, DataType)],
) -> Result<ArrayRef, FunctionError> {
    let (DataType::Tuple(have), Some(tuples)) =
        (&operand.data_type, operand.values.as_struct_opt())
    else {
        return Err(wrong(call.name, "there is no conversion of this to a Tuple"));
    };
    let target = DataType::Tuple(elements.to_vec()).arrow(strings(operand));
    let ArrowType::Struct(fields) = target else {
        return Err(wrong(call.name, "its result is a Tuple"));
    };
    let mut columns = Vec::with_capacity(elements.len());
    let mut made = Vec::with_capacity(elements.len());
    for ((((_, have), (_, wanted)), column), field) in
        have.iter().zip(elements).zip(tuples.columns()).zip(&fields)
    {
        let values = retyped(call, &element(have, column), wanted)?;
        let is_nullable = field.is_nullable() || values.null_count() > 0;
        made.push(Field::new(field.name(), values.data_type().clone(), is_nullable));
        columns.push(values);
    }
    let tuples = StructArray::try_new(made.into(), columns, tuples.nulls().cloned());
    Ok(Arc::new(tuples.map_err(FunctionError::arrow("convert tuples"))?))
}

fn strings(operand: &Operand) -> Strings {
    if super::access::has_bytes(operand.values.data_type()) {
        Strings::Binary
    } else {
        Strings::Utf8
    }
}

/// The types of keys and values in a tuple of two arrays, of which a map is made.
fn of_arrays(tuple: &[(Option<String>, DataType)]) -> Option<(&DataType, &DataType)> {
    match tuple {
        [(_, DataType::Array(keys)), (_, DataType::Array(values))] => Some((keys, values)),
        _ => None,
    }
}

/// A map of a tuple of two arrays.
fn mapped(
    call: &Call,
    operand: &Operand,
    key: &DataType,
    value: &DataType,
) -> Result<ArrayRef, FunctionError> {
    let refused = || wrong(call.name, "there is no conversion of this to a Map");
    let tuples = operand.values.as_struct_opt().ok_or_else(refused)?;
    let (DataType::Tuple(have), [keys, values]) = (&operand.data_type, tuples.columns()) else {
        return Err(refused());
    };
    let (have_key, have_value) = of_arrays(have).ok_or_else(refused)?;
    let (keys, values) = (as_list(keys).ok_or_else(refused)?, as_list(values).ok_or_else(refused)?);
    for row in 0..tuples.len() {
        if keys.value_length(row) != values.value_length(row) {
            let (keys, values) = (keys.value_length(row), values.value_length(row));
            return Err(call.value_error(row, format!("there are {keys} keys and {values} values")));
        }
    }
    let items = |list: &ListArray| {
        let (start, end) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
        list.values().slice(start as usize, (end - start) as usize)
    };
    let lengths = (0..keys.len()).map(|row| keys.value_length(row) as usize).collect();
    let keys = retyped(call, &element(have_key, &items(&keys)), key)?;
    let values = retyped(call, &element(have_value, &items(&values)), value)?;
    let target = DataType::Map(Box::new(key.clone()), Box::new(value.clone()));
    super::map::map_array(lengths, keys, values, &target)
}

fn map(
    call: &Call,
    operand: &Operand,
    key: &DataType,
    value: &DataType,
) -> Result<ArrayRef, FunctionError> {
    if matches!(operand.data_type, DataType::Tuple(_)) {
        return mapped(call, operand, key, value);
    }
    let (DataType::Map(have_key, have_value), Some(map)) =
        (&operand.data_type, operand.values.as_map_opt())
    else {
        return Err(wrong(call.name, "there is no conversion of this to a Map"));
    };
    let keys = retyped(call, &element(have_key, map.keys()), key)?;
    let values = retyped(call, &element(have_value, map.values()), value)?;
    let is_nullable = value.is_nullable() || values.null_count() > 0;
    let fields = vec![
        Field::new("keys", keys.data_type().clone(), false),
        Field::new("values", values.data_type().clone(), is_nullable),
    ];
    let making = FunctionError::arrow("convert maps");
    let entries = StructArray::try_new(fields.clone().into(), vec![keys, values], None);
    let entries = entries.map_err(FunctionError::arrow("convert maps"))?;
    let field = Arc::new(Field::new("entries", ArrowType::Struct(fields.into()), false));
    let made =
        MapArray::try_new(field, map.offsets().clone(), entries, map.nulls().cloned(), false);
    Ok(Arc::new(made.map_err(making)?))
}

fn fixed_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Text, Kind::ConstInteger], &[])?;
    match super::moment::constant_integer(name, s, 1)?.map(usize::try_from) {
        Some(Ok(width @ 1..=0xff_ffff)) => Ok(DataType::FixedString(width)),
        _ => Err(wrong(name, "the length must be 1 to 16777215")),
    }
}

/// Texts with zero bytes after them.
fn fixed(call: &Call, texts: &Texts, width: usize) -> Result<ArrayRef, FunctionError> {
    let mut bytes = Vec::with_capacity(texts.len().saturating_mul(width));
    let mut present = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        let text = texts.value(row).unwrap_or_default();
        if text.len() > width {
            return Err(call.value_error(row, format!("the text is longer than {width} bytes")));
        }
        bytes.extend_from_slice(text);
        bytes.resize((row + 1) * width, 0);
        present.push(texts.value(row).is_some());
    }
    let width = i32::try_from(width).unwrap_or(i32::MAX);
    let array = FixedSizeBinaryArray::try_new(width, bytes.into(), Some(present.into()));
    Ok(Arc::new(array.map_err(FunctionError::arrow("make fixed strings"))?))
}

fn bool_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| bare(&first.data_type)) {
        Some(taken) if is_text(taken) || is_number(taken) => Ok(DataType::Bool),
        Some(other) => Err(wrong(name, format!("it does not take {other}"))),
        None => Err(wrong(name, "it takes an argument")),
    }
}

fn boolean(call: &Call, operand: &Operand) -> Result<ArrayRef, FunctionError> {
    let values = &operand.values;
    if !is_text(bare(&operand.data_type)) {
        let floats = match values.data_type() {
            // Not through floats: a small decimal is not zero.
            ArrowType::Decimal128(..) => {
                let numbers = values.as_primitive::<Decimal128Type>();
                numbers.unary::<_, Float64Type>(|number| f64::from(u8::from(number != 0)))
            }
            ArrowType::Decimal256(..) => {
                let numbers = values.as_primitive::<Decimal256Type>();
                numbers.unary::<_, Float64Type>(|number| f64::from(u8::from(number != i256::ZERO)))
            }
            _ => cast(values, &ArrowType::Float64)?.as_primitive::<Float64Type>().clone(),
        };
        let flags = floats.iter().map(|float| float.map(|float| float != 0.0));
        return Ok(Arc::new(flags.collect::<BooleanArray>()));
    }
    let texts = Texts::of(values);
    let mut flags = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        flags.push(match texts.value(row) {
            None => None,
            Some(text) => match flag_of(text) {
                Some(flag) => Some(flag),
                None => return Err(call.value_error(row, "the text is neither true nor false")),
            },
        });
    }
    Ok(Arc::new(BooleanArray::from(flags)))
}

fn flag_of(text: &[u8]) -> Option<bool> {
    let end = text.iter().rposition(|byte| *byte != 0)? + 1;
    match text[..end].to_ascii_lowercase().as_slice() {
        b"1" | b"true" | b"t" | b"yes" | b"y" | b"on" | b"enable" | b"enabled" => Some(true),
        b"0" | b"false" | b"f" | b"no" | b"n" | b"off" | b"disable" | b"disabled" => Some(false),
        _ => None,
    }
}

fn wide_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| bare(&first.data_type)) {
        Some(DataType::Int128 | DataType::UInt128 | DataType::Int256 | DataType::UInt256) => {
            Ok(result)
        }
        Some(taken) if is_text(taken) || is_number(taken) => Ok(result),
        Some(other) => Err(wrong(name, format!("it does not take {other}"))),
        None => Err(wrong(name, "it takes an argument")),
    }
}

/// Integers of 128 and 256 bits; those that do not fit wrap around, Decimals and texts are refused.
fn wide(
    call: &Call,
    operand: &Operand,
    target: &DataType,
    failure: Failure,
) -> Result<ArrayRef, FunctionError> {
    let operand = undress(operand)?;
    let values = &operand.values;
    let (bits, is_signed) = match target {
        DataType::Int128 => (128, true),
        DataType::UInt128 => (128, false),
        DataType::Int256 => (256, true),
        _ => (256, false),
    };
    let texts = is_text(&operand.data_type).then(|| Texts::of(values));
    let is_decimal = matches!(operand.data_type, DataType::Decimal { .. });
    let mut numbers: Vec<Option<i256>> = Vec::with_capacity(values.len());
    let whole = if texts.is_some() { Vec::new() } else { whole_numbers(call, values)? };
    for row in 0..values.len() {
        if values.is_null(row) {
            numbers.push(None);
            continue;
        }
        let found = match &texts {
            Some(texts) => {
                let text = texts.value(row).unwrap_or_default();
                let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                // A FixedString of zeros alone is a number, though an empty text is none.
                let is_zero = end == 0 && matches!(operand.data_type, DataType::FixedString(_));
                let read = || number::wide(&text[..end], bits, is_signed).ok();
                if is_zero { Some(i256::ZERO) } else { read().map(number::to_i256) }
            }
            None => whole.get(row).copied().map(|number| wrapped(number, bits, is_signed)),
        };
        let is_beyond = |number: i256| found != Some(number) || !is_signed && number.is_negative();
        if is_decimal && whole.get(row).copied().is_some_and(is_beyond) {
            return Err(call.value_error(row, format!("the value does not fit {target}")));
        }
        numbers.push(match (found, failure) {
            (Some(number), _) => Some(number),
            (None, Failure::Zero) => Some(i256::ZERO),
            (None, Failure::Null) => None,
            (None, Failure::Error) => {
                return Err(call.value_error(row, format!("the text is not an {target}")));
            }
        });
    }
    array_of(numbers, bits)
}

/// Integers of 128 or 256 bits in the Arrow form of their type.
pub(super) fn array_of(numbers: Vec<Option<i256>>, bits: u32) -> Result<ArrayRef, FunctionError> {
    if bits == 128 {
        let array: PrimitiveArray<Decimal256Type> = numbers.into_iter().collect();
        let array = array.with_precision_and_scale(76, 0);
        return Ok(Arc::new(array.map_err(FunctionError::arrow("make wide integers"))?));
    }
    let present: Vec<bool> = numbers.iter().map(Option::is_some).collect();
    let bytes: Vec<u8> =
        numbers.into_iter().flat_map(|number| number.unwrap_or_default().to_le_bytes()).collect();
    let array = FixedSizeBinaryArray::try_new(32, bytes.into(), Some(present.into()));
    Ok(Arc::new(array.map_err(FunctionError::arrow("make wide integers"))?))
}

/// The low 128 bits, if no more are wanted.
pub(super) fn wrapped(number: i256, bits: u32, is_signed: bool) -> i256 {
    if bits == 256 {
        return number;
    }
    let (low, _) = number.to_parts();
    if is_signed { i256::from_i128(low.cast_signed()) } else { i256::from_parts(low, 0) }
}

pub(super) fn whole_numbers(call: &Call, values: &ArrayRef) -> Result<Vec<i256>, FunctionError> {
    Ok(match values.data_type() {
        ArrowType::Decimal256(_, scale) => {
            let unit = i256::from_i128(10).wrapping_pow(u32::from(scale.unsigned_abs()));
            let numbers = values.as_primitive::<Decimal256Type>().values();
            numbers.iter().map(|number| number.wrapping_div(unit)).collect()
        }
        ArrowType::Decimal128(_, scale) => {
            let unit = 10_i128.checked_pow(u32::from(scale.unsigned_abs())).unwrap_or(i128::MAX);
            let numbers = values.as_primitive::<Decimal128Type>().values();
            numbers.iter().map(|number| i256::from_i128(number / unit)).collect()
        }
        ArrowType::FixedSizeBinary(32) => {
            let bytes = values.as_fixed_size_binary();
            let number = |row: usize| {
                let mut word = [0; 32];
                word.copy_from_slice(bytes.value(row));
                number::to_i256(word)
            };
            (0..bytes.len()).map(number).collect()
        }
        ArrowType::Float32 | ArrowType::Float64 => {
            let floats = cast(values, &ArrowType::Float64)?;
            let floats = floats.as_primitive::<Float64Type>();
            let bad =
                |float: Option<f64>| float.is_some_and(|it| it.is_nan() || it.abs() >= 1.7e38);
            if let Some(row) = floats.iter().position(bad) {
                return Err(call.value_error(row, "the number is out of range"));
            }
            floats.values().iter().map(|float| i256::from_i128(*float as i128)).collect()
        }
        _ => {
            let numbers = super::access::wide_integers(values)?;
            numbers.into_iter().map(i256::from_i128).collect()
        }
    })
}
