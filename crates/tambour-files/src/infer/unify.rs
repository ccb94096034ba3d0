//! One type for what several files say of a column.

use super::evidence::nullable;
use tambour_part::DataType;

/// A type that holds the values of both; none if only text would.
pub fn unify(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    if one == other {
        return Some(one.clone());
    }
    match (one, other) {
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

fn tuple(
    one: &[(Option<String>, DataType)],
    other: &[(Option<String>, DataType)],
) -> Option<DataType> {
    if one.len() != other.len() {
        return None;
    }
    let element = |((name, a), (name_b, b)): (&(Option<String>, _), &(Option<String>, _))| {
        if name != name_b {
            return None;
        }
        Some((name.clone(), unify(a, b)?))
    };
    one.iter().zip(other).map(element).collect::<Option<Vec<_>>>().map(DataType::Tuple)
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
