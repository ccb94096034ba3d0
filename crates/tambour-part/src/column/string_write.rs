//! Writing strings: a length before each, all in one stream; or the lengths in a stream of their own.

use super::bytes::put_varint;
use super::coerce::{coerce, refuse_nulls};
use super::fault::Fault;
use super::tree::{Encode, Nulls};
use super::{Sinks, StreamName};
use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, ByteArrayType, StringViewType, UInt32Type};
use arrow_array::{Array, ArrayRef, GenericByteArray};
use arrow_schema::DataType as Arrow;

#[derive(Debug)]
pub(super) struct Writer {
    name: StreamName,
    /// Where lengths go, if they have a stream of their own.
    sizes: Option<StreamName>,
}

impl Writer {
    pub(super) fn new(name: StreamName, sizes: Option<StreamName>) -> Self {
        Self { name, sizes }
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
        let Some(sizes) = &self.sizes else { return write(values, sinks.stream(&self.name)) };
        let values = match values.as_any_dictionary_opt() {
            Some(_) => coerce(values, &string_form(values.data_type()))?,
            None => values.clone(),
        };
        let target = sinks.stream(sizes);
        target.reserve(8 * values.len());
        each_value(&values, |value| target.extend_from_slice(&(value.len() as u64).to_le_bytes()))?;
        let target = sinks.stream(&self.name);
        each_value(&values, |value| target.extend_from_slice(value))
    }
}

/// Appends strings, NULLs as empty ones.
pub(super) fn write(values: &ArrayRef, target: &mut Vec<u8>) -> Result<(), Fault> {
    let Some(dictionary) = values.as_any_dictionary_opt() else {
        return each_value(values, |value| put(target, value));
    };
    if dictionary.values().len() > values.len() {
        // Most of the dictionary is not used here.
        let unpacked = coerce(values, &string_form(values.data_type()))?;
        return each_value(&unpacked, |value| put(target, value));
    }
    let mut ends = Vec::with_capacity(dictionary.values().len());
    let mut run = Vec::new();
    each_value(dictionary.values(), |value| {
        put(&mut run, value);
        ends.push(run.len());
    })?;
    let keys = arrow_cast::cast(dictionary.keys(), &Arrow::UInt32)?;
    let keys = keys.as_primitive::<UInt32Type>();
    for (row, &key) in keys.values().iter().enumerate() {
        let key = key as usize;
        match ends.get(key) {
            Some(&end) if keys.is_valid(row) => {
                let start = if key == 0 { 0 } else { ends[key - 1] };
                target.extend_from_slice(&run[start..end]);
            }
            _ => target.push(0),
        }
    }
    Ok(())
}

#[inline]
fn put(target: &mut Vec<u8>, value: &[u8]) {
    if value.len() < 0x80 {
        #[expect(clippy::cast_possible_truncation, reason = "below 128")]
        target.push(value.len() as u8);
    } else {
        put_varint(target, value.len() as u64);
    }
    target.extend_from_slice(value);
}

/// The Arrow type in which [`each_value`] can walk over values of this type: dictionaries are unpacked.
pub(super) fn string_form(given: &Arrow) -> Arrow {
    match given {
        Arrow::Dictionary(_, values) => string_form(values),
        _ => given.clone(),
    }
}

/// Hands the bytes of each value to `put`, in order; NULLs as empty. Not for dictionaries.
pub(super) fn each_value(values: &dyn Array, put: impl FnMut(&[u8])) -> Result<(), Fault> {
    match values.data_type() {
        Arrow::Utf8 => each_offset(values.as_string::<i32>(), put),
        Arrow::LargeUtf8 => each_offset(values.as_string::<i64>(), put),
        Arrow::Binary => each_offset(values.as_binary::<i32>(), put),
        Arrow::LargeBinary => each_offset(values.as_binary::<i64>(), put),
        Arrow::Utf8View => each_view(values.as_byte_view::<StringViewType>(), AsRef::as_ref, put),
        Arrow::BinaryView => each_view(values.as_byte_view::<BinaryViewType>(), |value| value, put),
        Arrow::FixedSizeBinary(_) => each_fixed(values, put),
        other => {
            return Err(Fault::Other {
                reason: format!("Arrow type {other} does not hold strings"),
            });
        }
    }
    Ok(())
}

fn each_offset<T: ByteArrayType>(values: &GenericByteArray<T>, mut put: impl FnMut(&[u8])) {
    let bytes = values.value_data();
    let nulls = values.nulls().filter(|nulls| nulls.null_count() > 0);
    for (row, pair) in values.value_offsets().windows(2).enumerate() {
        use arrow_buffer::ArrowNativeType;
        let valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
        put(if valid { &bytes[pair[0].as_usize()..pair[1].as_usize()] } else { &[] });
    }
}

fn each_view<T: arrow_array::types::ByteViewType + ?Sized>(
    values: &arrow_array::GenericByteViewArray<T>,
    bytes: impl for<'a> Fn(&'a T::Native) -> &'a [u8],
    mut put: impl FnMut(&[u8]),
) {
    let nulls = values.nulls().filter(|nulls| nulls.null_count() > 0);
    for row in 0..values.len() {
        let valid = nulls.is_none_or(|nulls| nulls.is_valid(row));
        put(if valid { bytes(values.value(row)) } else { &[] });
    }
}

fn each_fixed(values: &dyn Array, mut put: impl FnMut(&[u8])) {
    let values = values.as_fixed_size_binary();
    for row in 0..values.len() {
        put(if values.is_valid(row) { values.value(row) } else { &[] });
    }
}
