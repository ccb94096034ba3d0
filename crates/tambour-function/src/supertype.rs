//! Types that hold the values of several others, and values widened to them.

use super::access::{array_of, as_texts, has_bytes, nullable};
use super::arithmetic::{Integer, integer};
use super::decimal::class;
use super::{cast, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryViewArray, make_array};
use arrow_schema::{ArrowError, DataType as ArrowType};
use tambour_part::types::{DataType, Strings};

/// The type that holds the values of both, as ClickHouse's arrays and conditions find it; `None` if there is none.
pub fn supertype(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::{Float32, Float64, LowCardinality, Nullable};
    if left == right {
        return Some(left.clone());
    }
    match (left, right) {
        (LowCardinality(inner), other) | (other, LowCardinality(inner)) => supertype(inner, other),
        (Nullable(a), Nullable(b)) => supertype(a, b).map(nullable),
        (Nullable(a), other) | (other, Nullable(a)) => supertype(a, other).map(nullable),
        (DataType::Array(a), DataType::Array(b)) => supertype(a, b).map(array_of),
        (DataType::Map(key, value), DataType::Map(other, its)) => {
            let (key, value) = (supertype(key, other)?, supertype(value, its)?);
            Some(DataType::Map(Box::new(key), Box::new(value)))
        }
        (DataType::Tuple(a), DataType::Tuple(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .map(|((name, a), (other, b))| {
                let name = if name == other { name.clone() } else { None };
                supertype(a, b).map(|inner| (name, inner))
            })
            .collect::<Option<Vec<_>>>()
            .map(DataType::Tuple),
        (DataType::String, DataType::FixedString(_))
        | (DataType::FixedString(_), DataType::String | DataType::FixedString(_)) => {
            Some(DataType::String)
        }
        (Float32, Float64) | (Float64, Float32) => Some(Float64),
        (float @ (Float32 | Float64), other) | (other, float @ (Float32 | Float64)) => {
            let integer = integer(other)?;
            match (float, integer.bits) {
                (_, 64) => None,
                (Float32, 8 | 16) => Some(Float32),
                _ => Some(Float64),
            }
        }
        (
            DataType::Decimal { precision, scale },
            DataType::Decimal { precision: other, scale: its },
        ) if scale == its && class(*precision) == class(*other) => Some(left.clone()),
        (DataType::Decimal { precision, scale }, other)
        | (other, DataType::Decimal { precision, scale }) => decimal(*precision, *scale, other),
        // ClickHouse makes Bools of numbers that have no more bits, which are not known of those that are written out.
        (DataType::Bool, DataType::UInt8 | DataType::Int64)
        | (DataType::UInt8 | DataType::Int64, DataType::Bool) => None,
        _ => {
            let (a, b) = (integer(left)?, integer(right)?);
            if a.is_signed == b.is_signed {
                return Some(if a.bits >= b.bits { a.data_type() } else { b.data_type() });
            }
            let (signed, unsigned) = if a.is_signed { (a, b) } else { (b, a) };
            let bits = if signed.bits > unsigned.bits { signed.bits } else { unsigned.bits * 2 };
            let is_signed = true;
            (unsigned.bits < 64 && bits <= 64).then(|| Integer { bits, is_signed }.data_type())
        }
    }
}

/// The decimal that holds those of a type, and those of another type or integers. As in ClickHouse, whole digits of decimals
/// do not count, those of integers do.
fn decimal(precision: u8, scale: u8, other: &DataType) -> Option<DataType> {
    let (least, scale) = match other {
        DataType::Decimal { precision: other, scale: finer } => (class(*other), scale.max(*finer)),
        whole => {
            let digits = match integer(whole)?.bits {
                8 => 3,
                16 => 5,
                32 => 10,
                _ => 19,
            };
            (class(digits + scale), scale)
        }
    };
    Some(DataType::Decimal { precision: class(precision).max(least), scale })
}

/// The type of all arguments from one on.
pub(super) fn common_type(
    name: &'static str,
    types: impl Iterator<Item = DataType>,
) -> Result<DataType, FunctionError> {
    let mut found: Option<DataType> = None;
    for next in types {
        found = Some(match found {
            None => next,
            Some(have) => supertype(&have, &next).ok_or_else(|| {
                wrong(name, format!("there is no common type of {have} and {next}"))
            })?,
        });
    }
    found.ok_or_else(|| wrong(name, "it takes an argument"))
}

/// Values of one type as those of a wider one.
pub(super) fn widened(values: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, FunctionError> {
    let strings = if has_bytes(values.data_type()) { Strings::Binary } else { Strings::Utf8 };
    let arrow = wanted.arrow(strings);
    if arrow == *values.data_type() {
        return Ok(values.clone());
    }
    // Fixed strings are bytes, and lose the zeros at their end when they become texts.
    if matches!(values.data_type(), ArrowType::FixedSizeBinary(_))
        && matches!(arrow, ArrowType::Utf8View)
    {
        let fixed = values.as_fixed_size_binary();
        let bytes: BinaryViewArray = fixed.iter().map(|text| text.map(without_zeros)).collect();
        return Ok(as_texts(bytes, false));
    }
    // A decimal that does not fit is an error, and no NULL.
    if matches!(wanted, DataType::Decimal { .. }) {
        let exact = arrow_cast::CastOptions { safe: false, ..Default::default() };
        let is_flag = *values.data_type() == ArrowType::Boolean;
        let numbers = if is_flag { cast(values, &ArrowType::UInt8)? } else { values.clone() };
        return arrow_cast::cast_with_options(&numbers, &arrow, &exact)
            .map_err(FunctionError::arrow("widen decimals"));
    }
    cast(values, &arrow)
}

/// Arrays of one type in one form: strings are held as bytes in all of them if they are in one.
pub(super) fn in_one_form(arrays: &[&dyn Array]) -> Result<Vec<ArrayRef>, ArrowError> {
    let types = || arrays.iter().map(|it| it.data_type());
    let form = types().find(|it| has_bytes(it)).or_else(|| types().next());
    let Some(form) = form else { return Ok(Vec::new()) };
    let same = |array: &&dyn Array| {
        if array.data_type() == form {
            return Ok(make_array(array.to_data()));
        }
        arrow_cast::cast(*array, form)
    };
    arrays.iter().map(same).collect()
}

/// The engine's `interleave` of arrays whose strings may be in two forms.
pub(super) fn interleave(
    arrays: &[&dyn Array],
    places: &[(usize, usize)],
) -> Result<ArrayRef, ArrowError> {
    if arrays.windows(2).all(|pair| pair[0].data_type() == pair[1].data_type()) {
        return arrow_select::interleave::interleave(arrays, places);
    }
    let arrays = in_one_form(arrays)?;
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    arrow_select::interleave::interleave(&arrays, places)
}

/// A fixed string without the zeros that fill it.
fn without_zeros(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    text.get(..end).unwrap_or(text)
}
