//! One type for what several files say of a column.

use super::evidence::nullable;
use super::tree::TUPLE_FIELDS_MAX;
use tambour_part::DataType;

/// An element of a tuple: its name, if it has one, and its type.
type Element = (Option<String>, DataType);

/// This type with NULLs, for rows that may lack the value: those of a tuple are in its elements. Arrays and maps are empty there.
#[must_use]
pub fn absent(data_type: DataType) -> DataType {
    match data_type {
        DataType::Tuple(elements) => {
            let element = |(name, inner): Element| (name, absent(inner));
            DataType::Tuple(elements.into_iter().map(element).collect())
        }
        other => other.made_nullable(),
    }
}

/// A type that holds the values of both; none if only text would.
pub fn unify(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    if one == other {
        return Some(one.clone());
    }
    match (one, other) {
        (nothing, it) | (it, nothing) if is_nothing(nothing) => Some(it.clone()),
        (T::Nullable(nothing), it) | (it, T::Nullable(nothing)) if is_nothing(nothing) => {
            Some(absent(it.clone()))
        }
        (T::LowCardinality(a), T::LowCardinality(b)) => {
            Some(T::LowCardinality(Box::new(unify(a, b)?)))
        }
        // A dictionary that pays in one file only is none.
        (T::LowCardinality(a), b) | (b, T::LowCardinality(a)) => unify(a, b),
        (T::Nullable(a), T::Nullable(b)) => Some(nullable(unify(a, b)?, true)),
        (T::Nullable(a), b) | (b, T::Nullable(a)) => Some(nullable(unify(a, b)?, true)),
        (T::Array(a), T::Array(b)) => Some(T::Array(Box::new(unify(a, b)?))),
        (T::Map(ka, va), T::Map(kb, vb)) => {
            Some(T::Map(Box::new(unify(ka, kb)?), Box::new(unify(va, vb)?)))
        }
        (T::Tuple(a), T::Tuple(b)) => tuple(a, b),
        (T::Date, T::Date32) | (T::Date32, T::Date) => Some(T::Date32),
        _ => number(one, other).or_else(|| decimal(one, other)).or_else(|| time(one, other)),
    }
}

/// Elements of both. They are known by their names if all of them have one; those that one of the two lacks may be NULL.
fn tuple(one: &[Element], other: &[Element]) -> Option<DataType> {
    if are_alike(one, other) {
        let element =
            |((name, a), (_, b)): (&Element, &Element)| Some((name.clone(), unify(a, b)?));
        return one.iter().zip(other).map(element).collect::<Option<Vec<_>>>().map(DataType::Tuple);
    }
    if !(are_named(one) && are_named(other)) {
        return None;
    }
    let find = |name: &Option<String>, among: &[Element]| {
        among.iter().find(|(known, _)| known == name).map(|(_, inner)| inner.clone())
    };
    let mut all = Vec::with_capacity(one.len());
    for (name, a) in one {
        let joined = match find(name, other) {
            Some(b) => unify(a, &b)?,
            None => absent(a.clone()),
        };
        all.push((name.clone(), joined));
    }
    let more = other.iter().filter(|(name, _)| find(name, one).is_none());
    all.extend(more.map(|(name, inner)| (name.clone(), absent(inner.clone()))));
    (all.len() <= TUPLE_FIELDS_MAX).then_some(DataType::Tuple(all))
}

/// True of tuples with the same names in the same order, or with none.
fn are_alike(one: &[Element], other: &[Element]) -> bool {
    one.iter().map(|(name, _)| name).eq(other.iter().map(|(name, _)| name))
}

/// True if each element has a name of its own.
pub(crate) fn are_named(elements: &[Element]) -> bool {
    let is_first = |(at, (name, _)): (usize, &Element)| {
        name.is_some() && !elements[..at].iter().any(|(other, _)| other == name)
    };
    elements.iter().enumerate().all(is_first)
}

/// The type of no value, while types are found. It goes with any other.
pub(crate) const NOTHING: &str = "Nothing";

/// A type without [`NOTHING`]: what nobody has seen is text.
pub(crate) fn settled(data_type: DataType) -> DataType {
    use DataType as T;
    match data_type {
        T::Foreign(name) if name == NOTHING => T::String,
        T::Nullable(inner) => T::Nullable(Box::new(settled(*inner))),
        T::Array(item) => T::Array(Box::new(settled(*item))),
        T::Map(key, value) => T::Map(key, Box::new(settled(*value))),
        T::Tuple(elements) => {
            let element = |(name, inner): Element| (name, settled(inner));
            T::Tuple(elements.into_iter().map(element).collect())
        }
        other => other,
    }
}

fn is_nothing(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Foreign(name) if name == NOTHING)
}

/// Width in bits and signedness of an integer.
fn integer(data_type: &DataType) -> Option<(u32, bool)> {
    use DataType as T;
    Some(match data_type {
        T::UInt8 => (8, false),
        T::UInt16 => (16, false),
        T::UInt32 => (32, false),
        T::UInt64 => (64, false),
        T::Int8 => (8, true),
        T::Int16 => (16, true),
        T::Int32 => (32, true),
        T::Int64 => (64, true),
        _ => return None,
    })
}

fn number(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    if let (Some((a, signed_a)), Some((b, signed_b))) = (integer(one), integer(other)) {
        let signed = signed_a || signed_b;
        // An unsigned integer needs the next width beside a signed one.
        let need = |bits: u32, is_signed: bool| if signed && !is_signed { bits * 2 } else { bits };
        return Some(match (need(a, signed_a).max(need(b, signed_b)), signed) {
            (8, true) => T::Int8,
            (16, true) => T::Int16,
            (32, true) => T::Int32,
            (64, true) => T::Int64,
            (_, true) => T::Int128,
            (8, false) => T::UInt8,
            (16, false) => T::UInt16,
            (32, false) => T::UInt32,
            (_, false) => T::UInt64,
        });
    }
    let float = |data_type: &T| matches!(data_type, T::Float32 | T::Float64);
    let fits = |data_type: &T| float(data_type) || integer(data_type).is_some();
    (fits(one) && fits(other)).then_some(T::Float64)
}

/// Room for the digits before and after the point of both.
fn decimal(one: &DataType, other: &DataType) -> Option<DataType> {
    let (
        DataType::Decimal { precision: a, scale: scale_a },
        DataType::Decimal { precision: b, scale: scale_b },
    ) = (one, other)
    else {
        return None;
    };
    let scale = *scale_a.max(scale_b);
    let whole = (a.saturating_sub(*scale_a)).max(b.saturating_sub(*scale_b));
    let precision = whole + scale;
    (precision <= 76).then_some(DataType::Decimal { precision, scale })
}

fn time(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    /// Precision, zone, and whether the range is that of `DateTime`.
    fn parts(data_type: &T) -> Option<(u8, Option<String>, bool)> {
        match data_type {
            T::Date | T::Date32 => Some((0, None, false)),
            T::DateTime { zone } => Some((0, zone.clone(), true)),
            T::DateTime64 { precision, zone } => Some((*precision, zone.clone(), false)),
            _ => None,
        }
    }
    let (a, zone_a, short_a) = parts(one)?;
    let (b, zone_b, short_b) = parts(other)?;
    let zone = zone_a.or(zone_b);
    Some(match (a.max(b), short_a && short_b) {
        (0, true) => T::DateTime { zone },
        (precision, _) => T::DateTime64 { precision, zone },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuples_have_the_elements_of_both() {
        for (one, other, expected) in [
            ("Tuple(a UInt8, b UInt8)", "Tuple(a Int8, b UInt8)", Some("Tuple(a Int16, b UInt8)")),
            (
                "Tuple(a UInt8, b UInt8)",
                "Tuple(c Tuple(d Array(UInt8), e Date), b UInt8)",
                Some(
                    "Tuple(a Nullable(UInt8), b UInt8, c Tuple(d Array(UInt8), e Nullable(Date)))",
                ),
            ),
            (
                "Array(Tuple(a UInt8))",
                "Array(Tuple(b Map(String, UInt8)))",
                Some("Array(Tuple(a Nullable(UInt8), b Map(String, UInt8)))"),
            ),
            ("Tuple(a UInt8)", "Tuple(b UInt8, a String)", None),
            ("Tuple(UInt8)", "Tuple(UInt8, UInt8)", None),
            ("Tuple(UInt8)", "Tuple(a UInt8)", None),
        ] {
            let joined = unify(&one.parse().unwrap(), &other.parse().unwrap());
            assert_eq!(joined, expected.map(|it| it.parse().unwrap()), "{one} and {other}");
        }
    }

    #[test]
    fn widening() {
        use DataType as T;
        assert_eq!(unify(&T::UInt8, &T::Int8), Some(T::Int16));
        assert_eq!(unify(&T::UInt64, &T::Int64), Some(T::Int128));
        assert_eq!(unify(&T::Int64, &T::Float32), Some(T::Float64));
        assert_eq!(unify(&T::Int64, &T::String), None);
        let decimal = |precision, scale| T::Decimal { precision, scale };
        assert_eq!(unify(&decimal(10, 2), &decimal(9, 4)), Some(decimal(12, 4)));
        assert_eq!(unify(&decimal(76, 0), &decimal(9, 4)), None);
        let null = |inner| T::Nullable(Box::new(inner));
        assert_eq!(unify(&null(T::UInt8), &T::UInt16), Some(null(T::UInt16)));
        let low = T::LowCardinality(Box::new(T::String));
        assert_eq!(unify(&low, &null(T::String)), Some(null(T::String)));
        assert_eq!(
            unify(&T::Date, &T::DateTime { zone: None }),
            Some(T::DateTime64 { precision: 0, zone: None })
        );
    }
}
