//! Types of a constant width: one stream of values, one small file per conversion.

use super::bytes::{Spare, read_values};
use super::coerce::{coerce, refuse_nulls};
use super::fault::Fault;
use super::tree::{self, Decode, Encode, Nulls};
use super::{Sinks, Source, Sources, StreamName};
use super::{boolean, date, decimal, enumeration, number, opaque, wide};
use crate::types::DataType;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{MutableBuffer, NullBuffer};
use arrow_schema::DataType as Arrow;
use std::fmt::Debug;

/// A conversion between the bytes of a stream and Arrow arrays.
pub(super) trait Fixed: Debug + Send + Sync {
    /// Bytes of one value.
    fn width(&self) -> usize;
    /// An array of `rows` values from `rows * width` bytes. What stands under a NULL may be anything.
    fn decode(
        &self,
        bytes: MutableBuffer,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault>;
    /// The Arrow type to which an array of an accepted type is brought before `encode` sees it.
    fn wants(&self, given: &Arrow) -> Arrow;
    /// Appends `width` bytes for each value. What it appends under a NULL is overwritten; it must not fail there.
    fn encode(&self, values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault>;
    /// The bytes of the default value, if they are not all zero.
    fn default_bytes(&self) -> Option<Vec<u8>> {
        None
    }
}

/// The conversion for a type.
pub(super) fn find(data_type: &DataType) -> Option<Box<dyn Fixed>> {
    boolean::find(data_type)
        .or_else(|| number::find(data_type))
        .or_else(|| wide::find(data_type))
        .or_else(|| decimal::find(data_type))
        .or_else(|| date::find(data_type))
        .or_else(|| enumeration::find(data_type))
        .or_else(|| opaque::find(data_type))
}

/// Reads `count` values from a source that stands at them.
pub(super) fn read(
    fixed: &dyn Fixed,
    source: &mut dyn Source,
    count: usize,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef, Fault> {
    let bytes = read_values(source, count, fixed.width())?;
    fixed.decode(bytes, count, nulls)
}

/// Appends the values of an array; NULLs as the type's default.
pub(super) fn write(
    fixed: &dyn Fixed,
    values: &ArrayRef,
    target: &mut Vec<u8>,
) -> Result<(), Fault> {
    let start = target.len();
    let (width, values) = (fixed.width(), coerce(values, &fixed.wants(values.data_type()))?);
    target.reserve(values.len() * width);
    fixed.encode(&values, target)?;
    debug_assert_eq!(target.len() - start, values.len() * width, "as many bytes as values");
    if let Some(nulls) = values.nulls().filter(|nulls| nulls.null_count() > 0) {
        let default = fixed.default_bytes().unwrap_or_else(|| vec![0; width]);
        for (slot, valid) in target[start..].chunks_exact_mut(width).zip(nulls) {
            if !valid {
                slot.copy_from_slice(&default);
            }
        }
    }
    Ok(())
}

#[derive(Debug)]
pub(super) struct Reader {
    name: StreamName,
    fixed: Box<dyn Fixed>,
    spare: Spare,
}

impl Reader {
    pub(super) fn new(name: StreamName, fixed: Box<dyn Fixed>) -> Self {
        Self { name, fixed, spare: Spare::default() }
    }
}

impl Decode for Reader {
    fn read(
        &mut self,
        sources: &mut dyn Sources,
        rows: &[usize],
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, Fault> {
        match tree::sum(rows)? {
            // A stream without a byte need not be there.
            0 => self.fixed.decode(MutableBuffer::new(0), 0, nulls),
            total => {
                let source = sources.stream(&self.name)?;
                let bytes = self.spare.read_values(source, total, self.fixed.width())?;
                let array = self.fixed.decode(bytes, total, nulls)?;
                self.spare.keep(&array);
                Ok(array)
            }
        }
    }

    /// Bytes of zero, whatever they mean: that is what ClickHouse leaves out.
    fn default(&self) -> Result<ArrayRef, Fault> {
        self.fixed.decode(MutableBuffer::from_len_zeroed(self.fixed.width()), 1, None)
    }
}

#[derive(Debug)]
pub(super) struct Writer {
    name: StreamName,
    fixed: Box<dyn Fixed>,
}

impl Writer {
    pub(super) fn new(name: StreamName, fixed: Box<dyn Fixed>) -> Self {
        Self { name, fixed }
    }
}

impl Encode for Writer {
    fn write(
        &mut self,
        values: &ArrayRef,
        nulls: Nulls,
        sinks: &mut dyn Sinks,
    ) -> Result<(), Fault> {
        refuse_nulls(values, nulls)?;
        write(self.fixed.as_ref(), values, sinks.stream(&self.name))
    }
}
