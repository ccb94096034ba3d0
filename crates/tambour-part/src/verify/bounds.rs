//! Whether a `minmax_*.idx` really bounds its column.

use crate::column::write_single;
use crate::name::escape;
use crate::part::Part;
use crate::partition::minmax_file;
use crate::types::{Column, DataType};
use crate::{PartError, Place};
use arrow_array::{Array, ArrayRef};
use std::cmp::Ordering;

/// The range of a column, in single value form.
#[derive(Debug)]
pub(super) struct Bounds {
    column: Column,
    place: Place,
    low: Vec<u8>,
    high: Vec<u8>,
}

impl Bounds {
    /// The range of a column, if the part has one.
    pub(super) fn of(part: &Part, column: &Column) -> Result<Option<Self>, PartError> {
        let Some(range) = part.minmax(&column.name)? else { return Ok(None) };
        let (mut low, mut high) = (Vec::new(), Vec::new());
        write_single(&range, 0, &column.data_type, &mut low)?;
        write_single(&range, 1, &column.data_type, &mut high)?;
        let file = minmax_file(&escape(&column.name));
        let place = part.files.place(&file).of_column(&column.name);
        Ok(Some(Self { column: column.clone(), place, low, high }))
    }

    /// Checks values; `first_row` is the row of the first one.
    pub(super) fn check(&self, values: &ArrayRef, first_row: u64) -> Result<(), PartError> {
        let data_type = &self.column.data_type;
        let mut value = Vec::new();
        for row in 0..values.len() {
            value.clear();
            write_single(values, row, data_type, &mut value)?;
            let outside = compare(data_type, &value, &self.low) == Some(Ordering::Less)
                || compare(data_type, &value, &self.high) == Some(Ordering::Greater);
            if outside {
                let place = self.place.clone().at_row(first_row + row as u64);
                return Err(PartError::malformed(place, "value is outside the range"));
            }
        }
        Ok(())
    }
}

/// Compares two values in single value form: NULL is greater than all others; `None` for NaN and for types that
/// partition keys do not have.
fn compare(data_type: &DataType, a: &[u8], b: &[u8]) -> Option<Ordering> {
    match data_type {
        DataType::LowCardinality(inner) => compare(inner, a, b),
        DataType::Nullable(inner) => {
            let ((a_null, a), (b_null, b)) = (a.split_first()?, b.split_first()?);
            match (a_null, b_null) {
                (0, 0) => compare(inner, a, b),
                // A NULL value needs no bound.
                (0, _) => Some(Ordering::Less),
                _ => None,
            }
        }
        DataType::String => Some(text(a)?.cmp(text(b)?)),
        DataType::FixedString(_) | DataType::Ipv6 => Some(a.cmp(b)),
        DataType::Float32 => {
            let float = |bytes: &[u8]| bytes.try_into().ok().map(f32::from_le_bytes);
            float(a)?.partial_cmp(&float(b)?)
        }
        DataType::Float64 => {
            let float = |bytes: &[u8]| bytes.try_into().ok().map(f64::from_le_bytes);
            float(a)?.partial_cmp(&float(b)?)
        }
        DataType::Uuid => {
            // ClickHouse's order: the word that is written last counts first.
            let ((a_first, a_second), (b_first, b_second)) =
                (a.split_at_checked(8)?, b.split_at_checked(8)?);
            Some(unsigned(a_second, b_second).then_with(|| unsigned(a_first, b_first)))
        }
        DataType::Bool
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::UInt128
        | DataType::UInt256
        | DataType::Date
        | DataType::DateTime { .. }
        | DataType::Ipv4 => Some(unsigned(a, b)),
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Int128
        | DataType::Int256
        | DataType::Decimal { .. }
        | DataType::Date32
        | DataType::DateTime64 { .. }
        | DataType::Enum8(_)
        | DataType::Enum16(_) => {
            let sign = |bytes: &[u8]| bytes.last().is_some_and(|byte| *byte >= 0x80);
            Some(sign(b).cmp(&sign(a)).then_with(|| unsigned(a, b)))
        }
        _ => None,
    }
}

/// Compares little-endian numbers of the same width.
fn unsigned(a: &[u8], b: &[u8]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

/// The bytes after the length.
fn text(value: &[u8]) -> Option<&[u8]> {
    let length_bytes = value.iter().position(|byte| *byte < 0x80)? + 1;
    value.get(length_bytes..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_as_clickhouse_does() {
        let order = |data_type: &str, a: &[u8], b: &[u8]| {
            let data_type: DataType = data_type.parse().unwrap();
            compare(&data_type, a, b)
        };
        assert_eq!(order("UInt16", &[0, 1], &[255, 0]), Some(Ordering::Greater));
        assert_eq!(order("Int16", &[0xff, 0xff], &[0, 0]), Some(Ordering::Less));
        assert_eq!(order("Int16", &[0xfe, 0xff], &[0xff, 0xff]), Some(Ordering::Less));
        assert_eq!(order("String", b"\x02ab", b"\x01b"), Some(Ordering::Less));
        assert_eq!(order("Nullable(UInt8)", &[0, 5], &[1]), Some(Ordering::Less));
        assert_eq!(order("Nullable(UInt8)", &[1], &[0, 5]), None);
        assert_eq!(order("Float64", &f64::NAN.to_le_bytes(), &1f64.to_le_bytes()), None);
        assert_eq!(
            order("Float32", &(-1f32).to_le_bytes(), &1f32.to_le_bytes()),
            Some(Ordering::Less)
        );
        let uuid = |first: u64, second: u64| [first.to_le_bytes(), second.to_le_bytes()].concat();
        assert_eq!(order("UUID", &uuid(1, 9), &uuid(2, 0)), Some(Ordering::Greater));
        assert_eq!(order("UUID", &uuid(1, 9), &uuid(2, 9)), Some(Ordering::Less));
        assert_eq!(order("Enum8('a' = -1)", &[0xff], &[1]), Some(Ordering::Less));
    }
}
