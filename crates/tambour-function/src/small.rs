//! Functions that stand alone: `bar`, `throwIf`, `firstNonDefault`, `initcapUTF8`, `IPv4CIDRToRange`.

use super::access::{Kind, rule, takes, type_at};
use super::arithmetic::integer;
use super::array::compare_items;
use super::element::default_of;
use super::supertype::{common_type, interleave, supertype, widened};
use super::{Call, Function, Operand, Signature, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, StructArray, UInt32Array};
use arrow_schema::{DataType as ArrowType, Fields};
use std::sync::Arc;
use tambour_part::types::{DataType, Strings};

/// Blocks of one to seven eighths.
const EIGHTHS: [&str; 7] =
    ["\u{258f}", "\u{258e}", "\u{258d}", "\u{258c}", "\u{258b}", "\u{258a}", "\u{2589}"];
/// Widest bar, as in ClickHouse.
const WIDTH_MAX: f64 = 1_000.0;

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("bar", bar_type, bar),
    Function::new("throwIf", throw_type, throw_if),
    Function::new("initcapUTF8", rule!(Text => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| capitalized(texts.get(row), out))
    }),
    Function::new("clamp", clamp_type, clamp),
    Function::new("firstNonDefault", first_type, first).takes_nulls().any_case(),
    Function::new("toNullable", nullable_type, |c| c.values(0)).takes_nulls(),
    Function::new("IPv4CIDRToRange", |n, s| range_type(n, s, &DataType::Ipv4), ranges_4),
    Function::new("IPv6CIDRToRange", |n, s| range_type(n, s, &DataType::Ipv6), ranges_6),
];

fn nullable_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match type_at(s, 0) {
        nested @ (DataType::Array(_) | DataType::Map(..) | DataType::Tuple(_)) => {
            Err(wrong(name, format!("{nested} cannot be Nullable")))
        }
        DataType::LowCardinality(inner) => {
            Ok(DataType::LowCardinality(Box::new(inner.as_ref().clone().made_nullable())))
        }
        plain => Ok(plain.clone().made_nullable()),
    }
}

fn clamp_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 3..=3)?;
    s.iter().skip(1).try_fold(type_at(s, 0).clone(), |common, it| {
        supertype(&common, &it.data_type).ok_or_else(|| {
            wrong(name, format!("there is no common type of {common} and {}", it.data_type))
        })
    })
}

/// The value, or the end of the range that it is beyond. A NaN is greater than all numbers.
fn clamp(call: &Call) -> Result<ArrayRef, FunctionError> {
    let mut sides = Vec::with_capacity(3);
    for index in 0..3 {
        let values = widened(&call.values(index)?, call.result)?;
        sides.push(Operand { data_type: call.result.clone(), values, is_constant: false });
    }
    let compared = compare_items(&sides.iter().collect::<Vec<_>>())?;
    let [value, low, high] = compared.as_slice() else {
        return Err(wrong(call.name, "it takes 3 arguments"));
    };
    let place = |row: usize| {
        let (value, low, high) = (value.get(row), low.get(row), high.get(row));
        if low > high && !call.is_null(row) {
            return Err(call.value_error(row, "the minimum is greater than the maximum"));
        }
        Ok((if value < low { 1 } else { usize::from(value > high) * 2 }, row))
    };
    let places = (0..call.rows).map(place).collect::<Result<Vec<_>, _>>()?;
    let values: Vec<&dyn Array> = sides.iter().map(|side| side.values.as_ref()).collect();
    interleave(&values, &places).map_err(FunctionError::arrow("take values"))
}

fn first_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=usize::MAX)?;
    let refused = |it: &&DataType| {
        super::is_nullable(it)
            || matches!(
                it,
                DataType::LowCardinality(_)
                    | DataType::Tuple(_)
                    | DataType::Map(..)
                    | DataType::Bool
                    | DataType::Enum8(_)
                    | DataType::Enum16(_)
            )
    };
    match s.iter().map(|it| &it.data_type).find(refused) {
        Some(other) => Err(wrong(name, format!("it does not take {other}"))),
        None => common_type(name, s.iter().map(|it| it.data_type.clone())),
    }
}

/// The first value that is not the default of its type. (ClickHouse takes a zero for a value if its type has NULLs.)
fn first(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (mut sides, mut is_value) = (Vec::new(), Vec::new());
    for (index, operand) in call.operands.iter().enumerate() {
        let values = call.values(index)?;
        let keys = |values: &ArrayRef| {
            let (data_type, values) = (operand.data_type.clone(), values.clone());
            super::array::key_items(&Operand { data_type, values, is_constant: false })
        };
        let (of_values, of_default) = (keys(&values)?, keys(&default_of(&values)?)?);
        let flags = (0..call.rows).map(|row| of_values.get(row) != of_default.get(0));
        is_value.push(flags.collect::<Vec<bool>>());
        sides.push(widened(&values, call.result)?);
    }
    let last = sides.len().saturating_sub(1);
    let place = |row: usize| {
        let is_there = |side: &Vec<bool>| side.get(row).copied().unwrap_or(false);
        (is_value.iter().position(is_there).unwrap_or(last), row)
    };
    let places: Vec<(usize, usize)> = (0..call.rows).map(place).collect();
    let values: Vec<&dyn Array> = sides.iter().map(AsRef::as_ref).collect();
    interleave(&values, &places).map_err(FunctionError::arrow("take values"))
}

fn bar_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Number, Kind::Number, Kind::Number], &[Kind::Number])?;
    if let Some(width) = s.get(3) {
        let constant =
            width.constant.as_ref().map(|constant| super::cast(constant, &ArrowType::Float64));
        let width = constant
            .transpose()?
            .map(|it| it.as_primitive::<arrow_array::types::Float64Type>().value(0));
        if !width.is_some_and(|width| (1.0..=WIDTH_MAX).contains(&width)) {
            return Err(wrong(name, "the width must be a constant from 1 to 1000"));
        }
    }
    Ok(DataType::String)
}

/// As many blocks of the width as the value is far between the ends.
fn bar(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (values, low, high) = (call.floats(0)?, call.floats(1)?, call.floats(2)?);
    let width = if call.operands.len() > 3 { call.floats(3)?.get(0) } else { 80.0 };
    call.make_texts(|row, out| {
        let (value, low, high) = (values.get(row), low.get(row), high.get(row));
        let is_none = value.is_nan() || low.is_nan() || high.is_nan();
        let length = if is_none || value <= low {
            0.0
        } else if value >= high {
            width
        } else {
            (value - low) / (high - low) * width
        };
        let eighths = (length * 8.0) as usize;
        for _ in 0..eighths / 8 {
            out.extend_from_slice("\u{2588}".as_bytes());
        }
        if let Some(part) = (eighths % 8).checked_sub(1).and_then(|part| EIGHTHS.get(part)) {
            out.extend_from_slice(part.as_bytes());
        }
    })
}

fn throw_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Number], &[Kind::ConstText])?;
    Ok(DataType::UInt8)
}

/// An error if a value is not zero.
fn throw_if(call: &Call) -> Result<ArrayRef, FunctionError> {
    let values = call.floats(0)?;
    let thrown = (0..call.rows).find(|row| !call.is_null(*row) && values.get(*row) != 0.0);
    if let Some(row) = thrown {
        let message = match call.optional_texts(1)? {
            Some(message) => String::from_utf8_lossy(message.get(0)).into_owned(),
            None => "the value is not zero".to_owned(),
        };
        return Err(call.value_error(row, message));
    }
    call.make_flags(|_| false)
}

/// The first letter of each word large, the others small; what is neither a letter nor a digit ends a word.
fn capitalized(text: &[u8], out: &mut Vec<u8>) {
    let mut is_inside = false;
    for chunk in text.utf8_chunks() {
        capitalized_letters(chunk.valid(), &mut is_inside, out);
        out.extend_from_slice(chunk.invalid());
        is_inside &= chunk.invalid().is_empty();
    }
}

fn capitalized_letters(text: &str, is_inside: &mut bool, out: &mut Vec<u8>) {
    const DOTLESS: char = '\u{131}';
    const SHARP_S: char = '\u{df}';
    for letter in text.chars() {
        let mut buffer = [0; 4];
        let changed: Vec<char> = if *is_inside {
            letter.to_lowercase().collect()
        } else {
            letter.to_uppercase().collect()
        };
        // One letter stays one, as in ClickHouse; one whose other case has another length stays and
        // ends the word.
        let (changed, ends_word) = match changed.as_slice() {
            [_] if letter == DOTLESS => (letter, false),
            [one] => (*one, one.len_utf8() != letter.len_utf8()),
            _ => (letter, letter == SHARP_S),
        };
        let written = if ends_word { letter } else { changed };
        out.extend_from_slice(written.encode_utf8(&mut buffer).as_bytes());
        *is_inside = letter.is_alphanumeric() && !ends_word;
    }
}

fn range_type(
    name: &'static str,
    s: &[Signature],
    address: &DataType,
) -> Result<DataType, FunctionError> {
    expect_count(name, s, 2..=2)?;
    let is_size = integer(type_at(s, 1)).is_some();
    if type_at(s, 0) != address || !is_size {
        return Err(wrong(name, format!("it takes an {address} and a number of bits")));
    }
    Ok(DataType::Tuple(vec![(None, address.clone()), (None, address.clone())]))
}

/// Tuples of the type of the result, of these columns.
pub fn tuples(call: &Call, ends: Vec<ArrayRef>) -> Result<ArrayRef, FunctionError> {
    let ArrowType::Struct(fields) = call.result.arrow(Strings::Utf8) else {
        return Err(wrong(call.name, "its result is a Tuple"));
    };
    let fields: Fields = fields;
    let tuples = StructArray::try_new(fields, ends, None);
    Ok(Arc::new(tuples.map_err(FunctionError::arrow("make tuples"))?))
}

fn ranges_4(call: &Call) -> Result<ArrayRef, FunctionError> {
    let addresses = call.values(0)?;
    let (addresses, bits) = (addresses.as_primitive::<UInt32Type>().values(), call.integers(1)?);
    let mask = |row: usize| {
        let free = 32 - bits.get(row).clamp(0, 32) as u32;
        if free == 32 { u32::MAX } else { (1_u32 << free) - 1 }
    };
    let first =
        UInt32Array::from_iter_values((0..call.rows).map(|row| addresses[row] & !mask(row)));
    let last = UInt32Array::from_iter_values((0..call.rows).map(|row| addresses[row] | mask(row)));
    tuples(call, vec![Arc::new(first), Arc::new(last)])
}

fn ranges_6(call: &Call) -> Result<ArrayRef, FunctionError> {
    let (addresses, bits) = (call.texts(0)?, call.integers(1)?);
    let (mut first, mut last) = (Vec::new(), Vec::new());
    for row in 0..call.rows {
        let address = u128::from_be_bytes(addresses.get(row).try_into().unwrap_or_default());
        let free = 128 - bits.get(row).clamp(0, 128) as u32;
        let mask = if free == 128 { u128::MAX } else { (1_u128 << free) - 1 };
        first.extend_from_slice(&(address & !mask).to_be_bytes());
        last.extend_from_slice(&(address | mask).to_be_bytes());
    }
    let side = |bytes: Vec<u8>| {
        FixedSizeBinaryArray::try_new(16, bytes.into(), None)
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(FunctionError::arrow("make addresses"))
    };
    tuples(call, vec![side(first)?, side(last)?])
}
