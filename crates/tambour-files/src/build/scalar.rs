//! Builders of values of one width.

use super::Build;
use crate::error::{NOT_NULLABLE, Reject};
use crate::infer::class::truth;
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeBinaryArray, PrimitiveArray,
};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBufferBuilder};
use arrow_schema::{ArrowError, DataType as Arrow};
use std::sync::Arc;

/// Numbers, dates and times.
pub(super) struct Primitive<T: ArrowPrimitiveType, P> {
    arrow: Arrow,
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
    nullable: bool,
    parse: P,
}

impl<T: ArrowPrimitiveType, P> Primitive<T, P>
where
    P: FnMut(&[u8]) -> Result<T::Native, Reject> + Send,
{
    pub(super) fn new(arrow: Arrow, nullable: bool, capacity: usize, parse: P) -> Self {
        Self {
            arrow,
            values: Vec::with_capacity(capacity),
            nulls: NullBufferBuilder::new(capacity),
            nullable,
            parse,
        }
    }
}

impl<T: ArrowPrimitiveType, P> Build for Primitive<T, P>
where
    P: FnMut(&[u8]) -> Result<T::Native, Reject> + Send,
{
    #[inline]
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        let value = (self.parse)(text)?;
        self.values.push(value);
        self.nulls.append_non_null();
        Ok(())
    }

    #[inline]
    fn null(&mut self) -> Result<(), Reject> {
        if !self.nullable {
            return Err(NOT_NULLABLE);
        }
        self.values.push(T::Native::default());
        self.nulls.append_null();
        Ok(())
    }

    fn blank(&mut self) {
        self.values.push(T::Native::default());
        if self.nullable {
            self.nulls.append_null();
        } else {
            self.nulls.append_non_null();
        }
    }

    fn finish(mut self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        let array = PrimitiveArray::<T>::try_new(self.values.into(), self.nulls.finish())?;
        Ok(Arc::new(array.with_data_type(self.arrow)))
    }
}

/// Truth values.
pub(super) struct Boolean {
    values: BooleanBufferBuilder,
    nulls: NullBufferBuilder,
    nullable: bool,
    strict: bool,
}

impl Boolean {
    pub(super) fn new(nullable: bool, capacity: usize, strict: bool) -> Self {
        Self {
            values: BooleanBufferBuilder::new(capacity),
            nulls: NullBufferBuilder::new(capacity),
            nullable,
            strict,
        }
    }

    fn parse(&self, text: &[u8]) -> Option<bool> {
        if let Some(value) = truth(text) {
            return Some(value);
        }
        if self.strict {
            return None;
        }
        let any =
            |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()));
        if any(&["1", "true", "t", "yes", "y", "on"]) {
            return Some(true);
        }
        any(&["0", "false", "f", "no", "n", "off"]).then_some(false)
    }
}

impl Build for Boolean {
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        let value = self.parse(text).ok_or(Reject::new("neither true nor false"))?;
        self.values.append(value);
        self.nulls.append_non_null();
        Ok(())
    }

    fn null(&mut self) -> Result<(), Reject> {
        if !self.nullable {
            return Err(NOT_NULLABLE);
        }
        self.blank();
        Ok(())
    }

    fn blank(&mut self) {
        self.values.append(false);
        if self.nullable {
            self.nulls.append_null();
        } else {
            self.nulls.append_non_null();
        }
    }

    fn finish(mut self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(BooleanArray::new(self.values.finish(), self.nulls.finish())))
    }
}

/// UUIDs, IPv6 addresses, 256-bit integers.
pub(super) struct Fixed<P, const N: usize> {
    width: i32,
    values: Vec<u8>,
    nulls: NullBufferBuilder,
    nullable: bool,
    parse: P,
}

impl<P, const N: usize> Fixed<P, N>
where
    P: FnMut(&[u8]) -> Result<[u8; N], Reject> + Send,
{
    pub(super) fn new(width: i32, nullable: bool, capacity: usize, parse: P) -> Self {
        Self {
            width,
            values: Vec::with_capacity(capacity * N),
            nulls: NullBufferBuilder::new(capacity),
            nullable,
            parse,
        }
    }
}

impl<P, const N: usize> Build for Fixed<P, N>
where
    P: FnMut(&[u8]) -> Result<[u8; N], Reject> + Send,
{
    fn text(&mut self, text: &[u8]) -> Result<(), Reject> {
        let value = (self.parse)(text)?;
        self.values.extend_from_slice(&value);
        self.nulls.append_non_null();
        Ok(())
    }

    fn null(&mut self) -> Result<(), Reject> {
        if !self.nullable {
            return Err(NOT_NULLABLE);
        }
        self.blank();
        Ok(())
    }

    fn blank(&mut self) {
        self.values.extend_from_slice(&[0; N]);
        if self.nullable {
            self.nulls.append_null();
        } else {
            self.nulls.append_non_null();
        }
    }

    fn finish(mut self: Box<Self>) -> Result<ArrayRef, ArrowError> {
        let values = Buffer::from_vec(self.values);
        Ok(Arc::new(FixedSizeBinaryArray::try_new(self.width, values, self.nulls.finish())?))
    }
}
