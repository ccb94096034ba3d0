//! Types that a column may take on while parts of it are still in the type from before.
//!
//! A part is not rewritten for it: its values are cast when they are read ([`super::conform`]). So what counts is whether
//! every value of the old type has one in the new type, and whether the order of values stays, by which parts are sorted.

use crate::schema::expression::Expression;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, TimestampSecondType};
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch};
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_schema::{DataType as Arrow, TimeUnit};
use std::sync::Arc;
use tambour_part::part::Derive;
use tambour_part::types::{DataType, Strings};
use tambour_part::{PartError, Place};

/// How a type holds the values of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widening {
    /// Values compare as before.
    pub keeps_order: bool,
    /// Not every value has one of its own in the new type: integers of more than 53 bits as floats, days past the year 2106
    /// as times of 32 bits.
    pub may_lose: bool,
}

impl Widening {
    const PLAIN: Self = Self { keeps_order: true, may_lose: false };

    fn and(self, other: Self) -> Self {
        Self {
            keeps_order: self.keeps_order && other.keeps_order,
            may_lose: self.may_lose || other.may_lose,
        }
    }
}

/// How `to` holds the values of `from`; nothing if it does not.
pub fn widens(from: &DataType, to: &DataType) -> Option<Widening> {
    use DataType as T;
    if from == to {
        return Some(Widening::PLAIN);
    }
    match (from, to) {
        (T::LowCardinality(from), to) => widens(from, to),
        (from, T::LowCardinality(to)) => widens(from, to),
        (T::Nullable(from), T::Nullable(to)) => widens(from, to),
        (T::Nullable(_), _) => None,
        (from, T::Nullable(to)) => widens(from, to),
        (T::Array(from), T::Array(to)) => widens(from, to),
        (T::Map(key, value), T::Map(to_key, to_value)) => {
            Some(widens(key, to_key)?.and(widens(value, to_value)?))
        }
        (T::Tuple(from), T::Tuple(to)) if from.len() == to.len() => {
            let mut all = Widening::PLAIN;
            for ((name, from), (to_name, to)) in from.iter().zip(to) {
                if name != to_name {
                    return None;
                }
                all = all.and(widens(from, to)?);
            }
            Some(all)
        }
        _ => scalar(from, to),
    }
}

fn scalar(from: &DataType, to: &DataType) -> Option<Widening> {
    use DataType as T;
    if let (Some((bits, signed)), Some((to_bits, to_signed))) = (integer(from), integer(to)) {
        let fits = match (signed, to_signed) {
            (false, true) => bits < to_bits,
            (true, false) => false,
            _ => bits <= to_bits,
        };
        return fits.then_some(Widening::PLAIN);
    }
    let plain = Some(Widening::PLAIN);
    match (from, to) {
        (T::Float32 | T::BFloat16, T::Float64) | (T::BFloat16, T::Float32) => plain,
        (from, T::Float64) => {
            let (bits, _) = integer(from)?;
            (bits <= 64).then_some(Widening { keeps_order: true, may_lose: bits > 32 })
        }
        (T::Decimal { precision, scale }, T::Decimal { precision: digits, scale: to_scale }) => {
            let fits = to_scale >= scale && digits - to_scale >= precision - scale;
            if fits { plain } else { None }
        }
        (T::Date, T::Date32) => plain,
        // Midnight is that of the zone, and only UTC has no surprises there.
        (T::Date, T::DateTime { zone }) | (T::Date | T::Date32, T::DateTime64 { zone, .. }) => {
            let is_utc = zone.as_deref().is_none_or(|zone| zone == "UTC");
            let may_lose = match (from, to) {
                (T::Date, T::DateTime { .. }) => true,
                (T::Date32, to) => counts_nanoseconds(to),
                _ => false,
            };
            is_utc.then_some(Widening { keeps_order: true, may_lose })
        }
        (T::DateTime { .. }, T::DateTime { .. } | T::DateTime64 { .. }) => plain,
        (T::DateTime64 { precision, .. }, T::DateTime64 { precision: digits, .. }) => {
            let may_lose = !counts_nanoseconds(from) && counts_nanoseconds(to);
            (precision <= digits).then_some(Widening { keeps_order: true, may_lose })
        }
        (T::Enum8(_) | T::Enum16(_), T::Enum8(_) | T::Enum16(_)) => {
            let to = labels(to);
            if labels(from).iter().all(|label| to.contains(label)) { plain } else { None }
        }
        (from, T::String) => {
            let is_plain = from.fixed_width().is_some() && !matches!(from, T::FixedString(_));
            is_plain.then_some(Widening { keeps_order: false, may_lose: false })
        }
        _ => None,
    }
}

/// True of times that 64 bits hold for the years 1677 to 2262 only.
fn counts_nanoseconds(data_type: &DataType) -> bool {
    matches!(data_type.arrow(Strings::Utf8), Arrow::Timestamp(TimeUnit::Nanosecond, _))
}

/// Width in bits and signedness of an integer.
fn integer(data_type: &DataType) -> Option<(u32, bool)> {
    use DataType as T;
    Some(match data_type {
        T::UInt8 => (8, false),
        T::UInt16 => (16, false),
        T::UInt32 => (32, false),
        T::UInt64 => (64, false),
        T::UInt128 => (128, false),
        T::Int8 => (8, true),
        T::Int16 => (16, true),
        T::Int32 => (32, true),
        T::Int64 => (64, true),
        T::Int128 => (128, true),
        _ => return None,
    })
}

fn labels(data_type: &DataType) -> Vec<(&str, i16)> {
    match data_type {
        DataType::Enum8(values) => {
            values.iter().map(|(name, number)| (name.as_str(), i16::from(*number))).collect()
        }
        DataType::Enum16(values) => {
            values.iter().map(|(name, number)| (name.as_str(), *number)).collect()
        }
        _ => Vec::new(),
    }
}

/// True if an expression has the values that it had when some of its columns were of narrower types. The column itself has,
/// and so have functions of the calendar and divisions; a hash of the column's bytes has not.
pub(super) fn keeps_values(expression: &Expression, changed: &dyn Fn(&str) -> bool) -> bool {
    match expression {
        Expression::Column(_) | Expression::Literal(_) => true,
        Expression::Call { function, arguments } => {
            let is_touched = expression.columns().into_iter().any(changed);
            let is_calendar = function.starts_with("to") && function != "toString";
            !is_touched
                || (is_calendar || expression.is_monotonic())
                    && arguments.iter().all(|argument| keeps_values(argument, changed))
        }
    }
}

/// Casts the only column of a batch from one type to a wider one.
#[derive(Debug)]
pub(super) struct Cast {
    pub from: DataType,
    pub to: DataType,
}

impl Derive for Cast {
    fn derive(&self, stored: &RecordBatch) -> Result<ArrayRef, PartError> {
        let refuse = |reason: String| PartError::value(Place::default(), reason);
        let (Some(values), Some(field)) =
            (stored.columns().first(), stored.schema().fields().first().cloned())
        else {
            return Err(refuse("there is no column to cast".to_owned()));
        };
        if *self.to.unwrapped() == DataType::String && is_spelled(self.from.unwrapped()) {
            let text = Expression::Call {
                function: "toString".to_owned(),
                arguments: vec![Expression::Column(field.name().clone())],
            };
            let texts = text.evaluate(stored).map_err(|error| refuse(error.to_string()))?;
            return converted(&texts, &DataType::String, &self.to);
        }
        converted(values, &self.from, &self.to)
    }
}

/// True of a type whose values have to be spelled to become texts.
fn is_spelled(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::String | DataType::FixedString(_))
}

/// The same values in the Arrow form of another type, strings as they were.
pub(super) fn converted(
    values: &ArrayRef,
    from: &DataType,
    to: &DataType,
) -> Result<ArrayRef, PartError> {
    if !labels(to.unwrapped()).is_empty() {
        return relabeled(values, to);
    }
    let wrong = |error: &dyn std::fmt::Display| {
        PartError::value(Place::default(), format!("{from} as {to}: {error}"))
    };
    let is_binary = match values.data_type() {
        Arrow::Dictionary(_, value) => is_bytes(value),
        other => is_bytes(other),
    };
    let strings = if is_binary { Strings::Binary } else { Strings::Utf8 };
    let wanted = to.arrow(strings);
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let step = |values: &ArrayRef, wanted: &Arrow| {
        cast_with_options(values, wanted, &strict).map_err(|error| wrong(&error))
    };
    match (values.data_type(), &wanted) {
        (have, wanted) if have == wanted => Ok(Arc::clone(values)),
        (Arrow::Dictionary(..), Arrow::Dictionary(..)) => Ok(Arc::clone(values)),
        // By way of the type that dictionaries of it have.
        (Arrow::Utf8View | Arrow::BinaryView, Arrow::Dictionary(_, value)) => {
            step(&step(values, value)?, &wanted)
        }
        // A day begins at midnight in UTC, whatever the zone is called.
        (Arrow::Date32, Arrow::Timestamp(unit, _)) => {
            step(&step(values, &Arrow::Timestamp(*unit, None))?, &wanted)
        }
        _ => step(values, &wanted),
    }
}

/// True if all values are in the range of a type whose Arrow form holds more: seconds of 64 bits for a DateTime, which has 32.
pub(super) fn is_in_range(values: &ArrayRef, to: &DataType) -> bool {
    match to {
        DataType::DateTime { .. } => match values.as_primitive_opt::<TimestampSecondType>() {
            Some(times) => times.iter().flatten().all(|time| u32::try_from(time).is_ok()),
            None => values
                .as_any_dictionary_opt()
                .is_none_or(|dictionary| is_in_range(dictionary.values(), to)),
        },
        DataType::Nullable(inner) | DataType::LowCardinality(inner) => is_in_range(values, inner),
        DataType::Array(item) => {
            values.as_list_opt::<i32>().is_none_or(|list| is_in_range(list.values(), item))
        }
        DataType::Map(key, value) => values
            .as_map_opt()
            .is_none_or(|map| is_in_range(map.keys(), key) && is_in_range(map.values(), value)),
        DataType::Tuple(items) => values.as_struct_opt().is_none_or(|tuple| {
            tuple.columns().iter().zip(items).all(|(column, (_, item))| is_in_range(column, item))
        }),
        _ => true,
    }
}

fn is_bytes(arrow: &Arrow) -> bool {
    matches!(arrow, Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView)
}

/// Values of an Enum in the dictionary of another, which has all of its names.
fn relabeled(values: &ArrayRef, to: &DataType) -> Result<ArrayRef, PartError> {
    let wrong = |error: &dyn std::fmt::Display| {
        PartError::value(Place::default(), format!("as {to}: {error}"))
    };
    let known = labels(to.unwrapped());
    let mut sorted = known.clone();
    sorted.sort_by_key(|(_, number)| *number);
    let names: Vec<&str> = sorted.into_iter().map(|(name, _)| name).collect();
    let texts = cast(values, &Arrow::Utf8).map_err(|error| wrong(&error))?;
    let texts = texts.as_string::<i32>();
    let mut keys = Vec::with_capacity(texts.len());
    for row in 0..texts.len() {
        if texts.is_null(row) {
            keys.push(None);
            continue;
        }
        let at = names.iter().position(|name| *name == texts.value(row));
        let at = at.ok_or_else(|| wrong(&format!("it has no name {:?}", texts.value(row))))?;
        keys.push(Some(i32::try_from(at).unwrap_or(i32::MAX)));
    }
    let names = Arc::new(arrow_array::StringArray::from(names));
    let values = DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), names)
        .map_err(|error| wrong(&error))?;
    let Arrow::Dictionary(key, _) = to.arrow(Strings::Utf8) else { return Ok(Arc::new(values)) };
    let keys = cast(values.keys(), &key).map_err(|error| wrong(&error))?;
    let data = keys.to_data().into_builder().data_type(to.arrow(Strings::Utf8));
    let data = data.add_child_data(values.values().to_data()).build();
    data.map(arrow_array::make_array).map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Int64Array, StringViewArray, UInt16Array};

    fn how(from: &str, to: &str) -> Option<(bool, bool)> {
        let widening = widens(&from.parse().unwrap(), &to.parse().unwrap())?;
        Some((widening.keeps_order, widening.may_lose))
    }

    #[test]
    fn types_hold_what_they_hold() {
        let plain = Some((true, false));
        for (from, to, expected) in [
            ("UInt16", "UInt32", plain),
            ("UInt16", "Int64", plain),
            ("UInt64", "Int64", None),
            ("Int8", "UInt64", None),
            ("UInt64", "Int128", plain),
            ("LowCardinality(UInt32)", "Int64", plain),
            ("UInt8", "Nullable(Int64)", plain),
            ("Nullable(UInt8)", "Int64", None),
            ("Int64", "Float64", Some((true, true))),
            ("UInt32", "Float64", plain),
            ("Date", "DateTime", Some((true, true))),
            ("Date", "DateTime64(9)", plain),
            ("Date32", "DateTime64(6)", plain),
            ("Date32", "DateTime64(9)", Some((true, true))),
            ("DateTime64(3)", "DateTime64(6)", plain),
            ("DateTime64(3)", "DateTime64(9)", Some((true, true))),
            ("DateTime", "DateTime64(9)", plain),
            ("Date", "DateTime('Europe/Berlin')", None),
            ("Date", "DateTime64(3, 'UTC')", plain),
            ("DateTime64(6)", "DateTime64(3)", None),
            ("Decimal(10, 2)", "Decimal(12, 4)", plain),
            ("Decimal(10, 2)", "Decimal(10, 4)", None),
            ("LowCardinality(String)", "LowCardinality(Nullable(String))", plain),
            ("LowCardinality(String)", "String", plain),
            ("String", "LowCardinality(String)", plain),
            ("Int64", "String", Some((false, false))),
            ("String", "Int64", None),
            ("Array(UInt8)", "Array(Int64)", plain),
            ("Enum8('a' = 1)", "Enum8('a' = 1, 'b' = 2)", plain),
            ("Enum8('a' = 1)", "Enum16('a' = 2)", None),
        ] {
            assert_eq!(how(from, to), expected, "{from} -> {to}");
        }
    }

    #[test]
    fn values_are_the_same() {
        let cast = |values: ArrayRef, from: &str, to: &str| {
            let (from, to): (DataType, DataType) = (from.parse().unwrap(), to.parse().unwrap());
            let stored =
                tambour_part::types::Column { name: "x".to_owned(), data_type: from.clone() };
            let schema = tambour_part::types::arrow_schema(&[stored], Strings::Utf8);
            let batch = RecordBatch::try_new(Arc::new(schema), vec![values]).unwrap();
            let cast = Cast { from, to }.derive(&batch).unwrap();
            let texts = arrow_cast::cast(&cast, &Arrow::Utf8).unwrap();
            texts.as_string::<i32>().iter().map(|it| it.unwrap().to_owned()).collect::<Vec<_>>()
        };
        let numbers: ArrayRef = Arc::new(UInt16Array::from(vec![0, 70, 65_535]));
        assert_eq!(cast(numbers.clone(), "UInt16", "Int128"), ["0", "70", "65535"]);
        assert_eq!(cast(numbers.clone(), "UInt16", "String"), ["0", "70", "65535"]);
        assert_eq!(
            cast(numbers, "UInt16", "LowCardinality(Nullable(UInt32))"),
            ["0", "70", "65535"]
        );
        let days: ArrayRef = Arc::new(Date32Array::from(vec![0, 20_000]));
        let days = cast(days, "Date", "DateTime64(3)");
        assert_eq!(days, ["1970-01-01T00:00:00Z", "2024-10-04T00:00:00Z"]);
        let texts: ArrayRef = Arc::new(StringViewArray::from(vec!["a", "b"]));
        assert_eq!(cast(texts, "String", "LowCardinality(String)"), ["a", "b"]);
        let large: ArrayRef = Arc::new(Int64Array::from(vec![-1]));
        assert_eq!(cast(large, "Int64", "Float64"), ["-1.0"]);
    }
}
