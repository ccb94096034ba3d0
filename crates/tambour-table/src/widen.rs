//! Types that a column may take on while parts of it are still in the type from before.
//!
//! A part is not rewritten for it: its values are cast when they are read ([`super::conform`]). So what counts is whether
//! every value of the old type has one in the new type, and whether the order of values stays, by which parts are sorted.

use crate::schema::expression::Expression;
use arrow_schema::{DataType as Arrow, TimeUnit};
use tambour_part::types::{DataType, Strings};

/// An element of a tuple: its name, if it has one, and its type.
type Element = (Option<String>, DataType);

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
        (T::Tuple(from), T::Tuple(to)) => tuple(from, to),
        _ => scalar(from, to),
    }
}

/// A tuple may have more elements, among those from before: they are known by their names.
fn tuple(from: &[Element], to: &[Element]) -> Option<Widening> {
    let places = element_places(from, to)?;
    // With other elements beside them, tuples compare in another way.
    let mut all = Widening { keeps_order: from.len() == to.len(), may_lose: false };
    for (place, (_, to)) in places.into_iter().zip(to) {
        if let Some((_, from)) = place.and_then(|place| from.get(place)) {
            all = all.and(widens(from, to)?);
        }
    }
    Some(all)
}

/// For each element of a tuple its place in another one, which has no elements besides; nothing if they do not go together.
pub(super) fn element_places(from: &[Element], to: &[Element]) -> Option<Vec<Option<usize>>> {
    let name = |element: &'_ Element| element.0.clone();
    if from.iter().map(name).eq(to.iter().map(name)) {
        return Some((0..to.len()).map(Some).collect());
    }
    let names = |elements: &[Element]| -> Option<Vec<String>> {
        let names: Option<Vec<String>> = elements.iter().map(name).collect();
        let names = names?;
        let is_twice = |at: usize| names[..at].contains(&names[at]);
        (!(0..names.len()).any(is_twice)).then_some(names)
    };
    let (have, want) = (names(from)?, names(to)?);
    // A tuple in which nothing but the order changed is not wider.
    if have.len() >= want.len() || have.iter().any(|name| !want.contains(name)) {
        return None;
    }
    let places: Vec<Option<usize>> =
        want.iter().map(|name| have.iter().position(|other| other == name)).collect();
    let mut new = to.iter().zip(&places).filter(|(_, place)| place.is_none());
    new.all(|((_, element), _)| is_zero_blank(element)).then_some(places)
}

/// True if what ClickHouse puts in the place of an element that a part lacks, the number zero, is what a column of that type has there.
fn is_zero_blank(element: &DataType) -> bool {
    match element {
        DataType::Enum8(_) | DataType::Enum16(_) | DataType::Date32 => false,
        DataType::LowCardinality(inner) => is_zero_blank(inner),
        DataType::Tuple(elements) => elements.iter().all(|(_, inner)| is_zero_blank(inner)),
        _ => true,
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

pub(super) fn labels(data_type: &DataType) -> Vec<(&str, i16)> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
            ("Array(UInt8)", "Array(Nullable(UInt8))", plain),
            ("Array(Nullable(UInt8))", "Array(UInt8)", None),
            ("Map(String, Array(UInt8))", "Map(String, Array(Nullable(Int16)))", plain),
            ("Tuple(a UInt8)", "Tuple(a Nullable(UInt8))", plain),
            ("Tuple(a UInt8)", "Tuple(a UInt8, b String)", Some((false, false))),
            ("Tuple(a Int64, c Int8)", "Tuple(a Float64, b String, c Int8)", Some((false, true))),
            ("Array(Tuple(b UInt8))", "Array(Tuple(a UInt8, b UInt16))", Some((false, false))),
            ("Tuple(a UInt8, b UInt8)", "Tuple(a UInt8)", None),
            ("Tuple(a UInt8, b UInt8)", "Tuple(b UInt8, a UInt8)", None),
            ("Tuple(a UInt8, b UInt8)", "Tuple(a UInt8, c UInt8)", None),
            ("Tuple(UInt8)", "Tuple(UInt8, UInt8)", None),
            ("Tuple(UInt8)", "Tuple(a UInt8, b UInt8)", None),
            ("Enum8('a' = 1)", "Enum8('a' = 1, 'b' = 2)", plain),
            ("Enum8('a' = 1)", "Enum16('a' = 2)", None),
        ] {
            assert_eq!(how(from, to), expected, "{from} -> {to}");
        }
    }
}
