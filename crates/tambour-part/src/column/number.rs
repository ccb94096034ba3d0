//! Integers and floats that Arrow has too (IPv4 among them): copied as they are. And BFloat16, which it has not.

use super::coerce::out_of_range;
use super::fault::Fault;
use super::fixed::Fixed;
use crate::types::DataType;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, Float32Array, PrimitiveArray};
use arrow_buffer::{MutableBuffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType as Arrow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

pub(super) fn find(data_type: &DataType) -> Option<Box<dyn Fixed>> {
    Some(match data_type {
        DataType::UInt8 => same::<UInt8Type>(),
        DataType::UInt16 => same::<UInt16Type>(),
        DataType::UInt32 | DataType::Ipv4 => same::<UInt32Type>(),
        DataType::UInt64 => same::<UInt64Type>(),
        DataType::Int8 => same::<Int8Type>(),
        DataType::Int16 => same::<Int16Type>(),
        DataType::Int32 => same::<Int32Type>(),
        DataType::Int64 => same::<Int64Type>(),
        DataType::Float32 => Box::new(Single),
        DataType::Float64 => same::<Float64Type>(),
        DataType::BFloat16 => Box::new(Brain),
        _ => return None,
    })
}

/// Values whose bytes in the stream are those of Arrow.
struct Same<T>(PhantomData<fn() -> T>);

impl<T: ArrowPrimitiveType> fmt::Debug for Same<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Same").field(&T::DATA_TYPE).finish()
    }
}

fn same<T: ArrowPrimitiveType>() -> Box<dyn Fixed> {
    Box::new(Same::<T>(PhantomData))
}

/// The array whose values are these bytes.
pub(super) fn array<T: ArrowPrimitiveType>(
    bytes: MutableBuffer,
    rows: usize,
    nulls: Option<NullBuffer>,
) -> Result<PrimitiveArray<T>, Fault> {
    Ok(PrimitiveArray::try_new(ScalarBuffer::new(bytes.into(), 0, rows), nulls)?)
}

/// Appends the bytes of an array's values.
pub(super) fn append<T: ArrowPrimitiveType>(values: &dyn Array, target: &mut Vec<u8>) {
    target.extend_from_slice(values.as_primitive::<T>().values().inner().as_slice());
}

impl<T: ArrowPrimitiveType> Fixed for Same<T> {
    fn width(&self) -> usize {
        size_of::<T::Native>()
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        Ok(Arc::new(array::<T>(bytes, rows, nulls)?))
    }

    fn wants(&self, _given: &Arrow) -> Arrow {
        T::DATA_TYPE
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        append::<T>(values, target);
        Ok(())
    }
}

/// Float32; takes Float64 where nothing is lost.
#[derive(Debug)]
struct Single;

impl Fixed for Single {
    fn width(&self) -> usize {
        4
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        Ok(Arc::new(array::<Float32Type>(bytes, rows, nulls)?))
    }

    fn wants(&self, given: &Arrow) -> Arrow {
        if *given == Arrow::Float64 { Arrow::Float64 } else { Arrow::Float32 }
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        let Some(doubles) = values.as_primitive_opt::<Float64Type>() else {
            append::<Float32Type>(values, target);
            return Ok(());
        };
        for (row, &double) in doubles.values().iter().enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "checked on the next line")]
            let single = double as f32;
            if f64::from(single).to_bits() != double.to_bits()
                && !double.is_nan()
                && doubles.is_valid(row)
            {
                return Err(out_of_range(values, row, "Float32 exactly"));
            }
            target.extend_from_slice(&single.to_le_bytes());
        }
        Ok(())
    }
}

/// BFloat16: the upper half of a Float32.
#[derive(Debug)]
struct Brain;

impl Fixed for Brain {
    fn width(&self) -> usize {
        2
    }

    fn decode(
        &self,
        bytes: MutableBuffer,
        _rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        let halves = bytes.typed_data::<u16>();
        let values: Vec<f32> =
            halves.iter().map(|&half| f32::from_bits(u32::from(half) << 16)).collect();
        Ok(Arc::new(Float32Array::try_new(values.into(), nulls)?))
    }

    fn wants(&self, _given: &Arrow) -> Arrow {
        Arrow::Float32
    }

    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
        let values = values.as_primitive::<Float32Type>();
        for (row, value) in values.values().iter().enumerate() {
            let bits = value.to_bits();
            if bits & 0xffff != 0 && !value.is_nan() && values.is_valid(row) {
                return Err(out_of_range(values, row, "BFloat16 exactly"));
            }
            // The lower half of a NaN says nothing that matters, but without it the rest must still be a NaN.
            let quiet = if value.is_nan() { 0x40 } else { 0 };
            target.extend_from_slice(&((bits >> 16) as u16 | quiet).to_le_bytes());
        }
        Ok(())
    }
}
