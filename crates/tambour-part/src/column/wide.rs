//! Integers of 128 and 256 bits. Arrow has none: those of 128 bits become decimals without a fraction, which hold all
//! their digits; those of 256 bits do not fit decimals of 76 digits and stay as they are, 32 bytes little-endian.

use super::coerce::out_of_range;
use super::fault::Fault;
use super::fixed::Fixed;
use crate::types::{DataType, WIDE_PRECISION};
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal256Type;
use arrow_array::{Array, ArrayRef, Decimal256Array, FixedSizeBinaryArray};
use arrow_buffer::{MutableBuffer, NullBuffer, i256};
use arrow_schema::DataType as Arrow;
use std::sync::Arc;

pub(super) fn find(data_type: &DataType) -> Option<Box<dyn Fixed>> {
    Some(match data_type {
        DataType::Int128 => Box::new(Wide { signed: true }),
        DataType::UInt128 => Box::new(Wide { signed: false }),
        DataType::Int256 => Box::new(Widest { signed: true }),
        DataType::UInt256 => Box::new(Widest { signed: false }),
        _ => return None,
    })
}

/// Int128 and UInt128.
#[derive(Debug)]
struct Wide {
    signed: bool,
}

impl Fixed for Wide {
    fn width(&self) -> usize {
        16
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        _rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let lows = bytes.typed_data::<i128>();
        let values: Vec<i256> = if self.signed {
            lows.iter().map(|&value| i256::from_i128(value)).collect()
        } else {
            lows.iter().map(|&value| i256::from_parts(value.cast_unsigned(), 0)).collect()
        };
        let array = Decimal256Array::try_new(values.into(), nulls)?;
        Ok(Arc::new(array.with_precision_and_scale(WIDE_PRECISION, 0)?))
    }

    fn wants(&self, _given: &Arrow) -> Arrow {
        Arrow::Decimal256(WIDE_PRECISION, 0)
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        let values = values.as_primitive::<Decimal256Type>();
        for (row, value) in values.values().iter().enumerate() {
            let (low, high) = value.to_parts();
            let sign = if self.signed { low.cast_signed() >> 127 } else { 0 };
            if high != sign && values.is_valid(row) {
                return Err(out_of_range(
                    values,
                    row,
                    if self.signed { "Int128" } else { "UInt128" },
                ));
            }
            target.extend_from_slice(&low.to_le_bytes());
        }
        Ok(())
    }
}

/// Int256 and UInt256.
#[derive(Debug)]
struct Widest {
    signed: bool,
}

impl Fixed for Widest {
    fn width(&self) -> usize {
        32
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        Ok(Arc::new(FixedSizeBinaryArray::try_new_with_len(32, bytes.into(), nulls, rows)?))
    }

    fn wants(&self, given: &Arrow) -> Arrow {
        match given {
            Arrow::Dictionary(_, values) => self.wants(values),
            Arrow::FixedSizeBinary(_) => given.clone(),
            _ => Arrow::Decimal256(WIDE_PRECISION, 0),
        }
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        if let Some(bytes) = values.as_fixed_size_binary_opt() {
            target.extend_from_slice(bytes.value_data());
            return Ok(());
        }
        let values = values.as_primitive::<Decimal256Type>();
        for (row, value) in values.values().iter().enumerate() {
            if !self.signed && value.is_negative() && values.is_valid(row) {
                return Err(out_of_range(values, row, "UInt256"));
            }
            target.extend_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }
}
