//! Bytes of a fixed number: FixedString, IPv6 and, with its halves turned round, UUID.

use super::coerce::{coerce, out_of_range};
use super::fault::Fault;
use super::fixed::Fixed;
use super::string_write::{each_value, string_form};
use crate::types::DataType;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray};
use arrow_buffer::{MutableBuffer, NullBuffer};
use arrow_schema::DataType as Arrow;
use std::sync::Arc;

pub(super) fn find(data_type: &DataType) -> Option<Box<dyn Fixed>> {
    Some(match *data_type {
        DataType::FixedString(width @ 1..) => {
            Box::new(Padded { width, size: i32::try_from(width).ok()? })
        }
        DataType::Ipv6 => Box::new(Padded { width: 16, size: 16 }),
        DataType::Uuid => Box::new(Uuid),
        _ => return None,
    })
}

/// Shorter values are padded with zeros.
#[derive(Debug)]
struct Padded {
    width: usize,
    size: i32,
}

impl Fixed for Padded {
    fn width(&self) -> usize {
        self.width
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        Ok(Arc::new(FixedSizeBinaryArray::try_new_with_len(self.size, bytes.into(), nulls, rows)?))
    }

    fn wants(&self, given: &Arrow) -> Arrow {
        match given {
            Arrow::Dictionary(_, values) => self.wants(values),
            _ => given.clone(),
        }
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        if *values.data_type() == Arrow::FixedSizeBinary(self.size) {
            target.extend_from_slice(values.as_fixed_size_binary().value_data());
            return Ok(());
        }
        let values = coerce(values, &string_form(values.data_type()))?;
        let (mut row, mut too_long) = (0, None);
        each_value(&values, |value| {
            if value.len() > self.width && too_long.is_none() && values.is_valid(row) {
                too_long = Some(row);
            }
            let start = target.len();
            target.extend_from_slice(&value[..value.len().min(self.width)]);
            target.resize(start + self.width, 0);
            row += 1;
        })?;
        match too_long {
            Some(row) => Err(out_of_range(&values, row, format!("FixedString({})", self.width))),
            None => Ok(()),
        }
    }
}

/// The stream has two numbers, the upper half first; Arrow the bytes as they are written in text.
#[derive(Debug)]
struct Uuid;

fn turn(bytes: &mut [u8]) {
    bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse);
}

impl Fixed for Uuid {
    fn width(&self) -> usize {
        16
    }

    fn decode(
        &self,
        mut bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        turn(bytes.as_slice_mut());
        Ok(Arc::new(FixedSizeBinaryArray::try_new_with_len(16, bytes.into(), nulls, rows)?))
    }

    fn wants(&self, _given: &Arrow) -> Arrow {
        Arrow::FixedSizeBinary(16)
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        let start = target.len();
        target.extend_from_slice(values.as_fixed_size_binary().value_data());
        turn(&mut target[start..]);
        Ok(())
    }
}
