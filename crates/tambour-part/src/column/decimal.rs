//! Decimals: signed integers of 4, 8, 16 or 32 bytes, counted in units of the last digit.

use super::coerce::out_of_range;
use super::fault::Fault;
use super::fixed::Fixed;
use super::number::array;
use crate::types::DataType;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Decimal256Type};
use arrow_array::{Array, ArrayRef, Decimal128Array};
use arrow_buffer::{MutableBuffer, NullBuffer, i256};
use arrow_schema::DataType as Arrow;
use std::sync::Arc;

pub(super) fn find(data_type: &DataType) -> Option<Box<dyn Fixed>> {
    let DataType::Decimal { precision: precision @ 1..=76, scale } = *data_type else {
        return None;
    };
    let scale = i8::try_from(scale).ok().filter(|&scale| scale.unsigned_abs() <= precision)?;
    Some(match precision {
        ..=38 => Box::new(Decimal { precision, scale, width: data_type.fixed_width()? }),
        _ => Box::new(LongDecimal { precision, scale }),
    })
}

/// Up to 38 digits.
#[derive(Debug)]
struct Decimal {
    precision: u8,
    scale: i8,
    width: usize,
}

impl Fixed for Decimal {
    fn width(&self) -> usize {
        self.width
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let found = match self.width {
            4 => widened::<i32>(bytes.typed_data(), nulls)?,
            8 => widened::<i64>(bytes.typed_data(), nulls)?,
            _ => array::<Decimal128Type>(bytes, rows, nulls)?,
        };
        Ok(Arc::new(found.with_precision_and_scale(self.precision, self.scale)?))
    }

    fn wants(&self, _given: &Arrow) -> Arrow {
        Arrow::Decimal128(self.precision, self.scale)
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        let values = values.as_primitive::<Decimal128Type>();
        let limit = 10_u128.pow(u32::from(self.precision));
        // Branchless over all rows; who is to blame is asked only if somebody is.
        if values.values().iter().fold(false, |over, value| over | (value.unsigned_abs() >= limit))
        {
            let over =
                |&row: &usize| values.value(row).unsigned_abs() >= limit && values.is_valid(row);
            if let Some(row) = (0..values.len()).find(over) {
                return Err(out_of_range(
                    values,
                    row,
                    format!("Decimal({}, {})", self.precision, self.scale),
                ));
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "below the limit, which fits, or NULL")]
        match self.width {
            4 => values
                .values()
                .iter()
                .for_each(|&value| target.extend_from_slice(&(value as i32).to_le_bytes())),
            8 => values
                .values()
                .iter()
                .for_each(|&value| target.extend_from_slice(&(value as i64).to_le_bytes())),
            _ => target.extend_from_slice(values.values().inner().as_slice()),
        }
        Ok(())
    }
}

fn widened<T: Copy + Into<i128>>(
    values: &[T],
    nulls: Option<NullBuffer>,
) -> Result<Decimal128Array, Fault> {
    let values: Vec<i128> = values.iter().map(|&value| value.into()).collect();
    Ok(Decimal128Array::try_new(values.into(), nulls)?)
}

/// 39 to 76 digits.
#[derive(Debug)]
struct LongDecimal {
    precision: u8,
    scale: i8,
}

impl Fixed for LongDecimal {
    fn width(&self) -> usize {
        32
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let found = array::<Decimal256Type>(bytes, rows, nulls)?;
        Ok(Arc::new(found.with_precision_and_scale(self.precision, self.scale)?))
    }

    fn wants(&self, _given: &Arrow) -> Arrow {
        Arrow::Decimal256(self.precision, self.scale)
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        let values = values.as_primitive::<Decimal256Type>();
        let limit = i256::from_i128(10).wrapping_pow(u32::from(self.precision));
        let over = |&row: &usize| {
            let value = values.value(row);
            (value >= limit || value <= limit.wrapping_neg()) && values.is_valid(row)
        };
        if let Some(row) = (0..values.len()).find(over) {
            return Err(out_of_range(
                values,
                row,
                format!("Decimal({}, {})", self.precision, self.scale),
            ));
        }
        target.extend_from_slice(values.values().inner().as_slice());
        Ok(())
    }
}
