//! Arrays handed out: buffers stay where they are, and live as long as whoever got them wants.

use super::ArrowArray;
use arrow_buffer::{BooleanBufferBuilder, Buffer};
use arrow_data::ArrayData;
use std::ffi::c_void;
use std::ptr;
use tambour::arrow_array::{Array, RecordBatch, StructArray};
use tambour::arrow_schema::DataType;

/// What an exported array keeps alive.
struct Held {
    buffers: Vec<Option<Buffer>>,
    buffer_pointers: Vec<*const c_void>,
    #[expect(
        clippy::vec_box,
        reason = "consumers have pointers to the children, which must not move"
    )]
    children: Vec<Box<ArrowArray>>,
    pointers: Vec<*mut ArrowArray>,
    dictionary: Option<Box<ArrowArray>>,
}

/// Gives back what an exported array holds.
unsafe extern "C" fn release(array: *mut ArrowArray) {
    // SAFETY: a consumer calls it with the structure that it was given, which nobody else uses then.
    let Some(array) = (unsafe { array.as_mut() }) else { return };
    array.release = None;
    let held = std::mem::replace(&mut array.private_data, ptr::null_mut()).cast::<Held>();
    if !held.is_null() {
        // SAFETY: the pointer came out of a box of this type, and is not used again.
        drop(unsafe { Box::from_raw(held) });
    }
}

/// A batch: a struct of its columns.
pub(crate) fn export_batch(batch: RecordBatch) -> ArrowArray {
    let rows = batch.num_rows();
    let mut array = export_data(&StructArray::from(batch).to_data());
    // A batch without columns has rows all the same.
    array.length = length(rows);
    array
}

/// An array.
pub(crate) fn export_data(data: &ArrayData) -> ArrowArray {
    let mut buffers: Vec<Option<Buffer>> = Vec::with_capacity(data.buffers().len() + 2);
    if *data.data_type() != DataType::Null {
        buffers.push(validity(data));
    }
    buffers.extend(data.buffers().iter().cloned().map(Some));
    if matches!(data.data_type(), DataType::BinaryView | DataType::Utf8View) {
        let sizes = data.buffers().iter().skip(1).map(|buffer| length(buffer.len()));
        buffers.push(Some(sizes.collect()));
    }
    let is_dictionary = matches!(data.data_type(), DataType::Dictionary(..));
    let inside = if is_dictionary { &[] } else { data.child_data() };
    let children: Vec<Box<ArrowArray>> =
        inside.iter().map(|child| Box::new(export_data(child))).collect();
    let dictionary =
        data.child_data().first().filter(|_| is_dictionary).map(|it| Box::new(export_data(it)));
    let pointer = |buffer: &Option<Buffer>| {
        buffer.as_ref().map_or(ptr::null(), |buffer| buffer.as_ptr().cast::<c_void>())
    };
    let mut held = Box::new(Held {
        buffer_pointers: buffers.iter().map(pointer).collect(),
        buffers,
        pointers: Vec::new(),
        children,
        dictionary,
    });
    held.pointers = held.children.iter_mut().map(|child| ptr::from_mut(&mut **child)).collect();
    ArrowArray {
        length: length(data.len()),
        null_count: length(data.null_count()),
        offset: length(data.offset()),
        n_buffers: length(held.buffers.len()),
        n_children: length(held.children.len()),
        buffers: held.buffer_pointers.as_mut_ptr(),
        children: held.pointers.as_mut_ptr(),
        dictionary: held.dictionary.as_mut().map_or(ptr::null_mut(), |it| ptr::from_mut(&mut **it)),
        release: Some(release),
        private_data: Box::into_raw(held).cast::<c_void>(),
    }
}

/// The bits that say which values are there. The interface has one offset for all buffers of an array; ours may have one
/// of their own.
fn validity(data: &ArrayData) -> Option<Buffer> {
    let nulls = data.nulls()?;
    if nulls.offset() == data.offset() {
        return Some(nulls.buffer().clone());
    }
    if data.offset() == 0 {
        return Some(nulls.inner().sliced());
    }
    let mut bits = BooleanBufferBuilder::new(data.offset() + nulls.len());
    bits.append_n(data.offset(), false);
    bits.append_buffer(nulls.inner());
    Some(bits.finish().into_inner())
}

fn length(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
