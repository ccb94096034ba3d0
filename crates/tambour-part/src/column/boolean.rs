//! Bool: a byte of 0 or 1.

use super::bytes::bits;
use super::fault::Fault;
use super::fixed::Fixed;
use crate::types::DataType;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray};
use arrow_buffer::{MutableBuffer, NullBuffer};
use arrow_schema::DataType as Arrow;
use std::sync::Arc;

pub(super) fn find(data_type: &DataType) -> Option<Box<dyn Fixed>> {
    (*data_type == DataType::Bool).then(|| Box::new(Bool) as Box<dyn Fixed>)
}

#[derive(Debug)]
struct Bool;

impl Fixed for Bool {
    fn width(&self) -> usize {
        1
    }

    fn decode(
        &self,
        mut bytes: MutableBuffer,
        _rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        if let Some(nulls) = &nulls {
            for (byte, valid) in bytes.as_slice_mut().iter_mut().zip(nulls) {
                *byte *= u8::from(valid);
            }
        }
        let values = bits(&bytes)
            .map_err(|row| Fault::value(row, format!("byte {} in a Bool", bytes[row])))?;
        Ok(Arc::new(BooleanArray::new(values, nulls)))
    }

    fn wants(&self, _given: &Arrow) -> Arrow {
        Arrow::Boolean
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        target.extend(values.as_boolean().values().iter().map(u8::from));
        Ok(())
    }
}
