//! Arrays of others: buffers stay where they are, and everything in them is checked before it is used.

use super::schema::lies;
use super::{ArrowArray, Released as _, children};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_data::ArrayData;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;
use tambour::arrow_array::{RecordBatch, RecordBatchOptions, StructArray, make_array};
use tambour::arrow_schema::{ArrowError, DataType, SchemaRef};

/// Most buffers of an array that are believed; only views have more than three.
const BUFFERS_MAX: usize = 1 << 24;

/// A batch that another library handed over, with the columns of a schema.
pub(crate) fn import_batch(
    array: ArrowArray,
    schema: &SchemaRef,
) -> Result<RecordBatch, ArrowError> {
    let data = import_array(array, &DataType::Struct(schema.fields().clone()))?;
    if data.null_count() > 0 {
        return Err(lies("a batch has rows that are null as a whole".to_owned()));
    }
    let rows = data.len();
    let columns = StructArray::from(data).into_parts().1;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// An array that another library handed over.
pub(crate) fn import_array(
    array: ArrowArray,
    data_type: &DataType,
) -> Result<ArrayData, ArrowError> {
    if array.release().is_none() {
        return Err(lies("an array that was released".to_owned()));
    }
    let owner = Arc::new(array);
    let data = build(&owner, &owner, data_type)?;
    // Arrays of foreign buffers are rebuilt with all their checks.
    Ok(make_array(data).to_data())
}

fn build(
    owner: &Arc<ArrowArray>,
    array: &ArrowArray,
    data_type: &DataType,
) -> Result<ArrayData, ArrowError> {
    let wrong = |what: &str| lies(format!("an array of {data_type}: {what}"));
    let size = |number: i64| usize::try_from(number).ok();
    let (Some(length), Some(offset)) = (size(array.length), size(array.offset)) else {
        return Err(wrong("its length or offset is negative"));
    };
    let end = length.checked_add(offset).filter(|end| *end <= isize::MAX.unsigned_abs() / 64);
    let end = end.ok_or_else(|| wrong("it is too long"))?;
    let source = Source { owner, pointers: pointers(array).ok_or_else(|| wrong("no buffers"))? };
    let mut builder = ArrayData::builder(data_type.clone()).len(length).offset(offset);
    let mut next = 0;
    if *data_type != DataType::Null {
        let validity = source.buffer(0, end.div_ceil(8));
        if array.null_count != 0 && length > 0 {
            // Without bits nothing is null, whatever the count says (-1: not counted).
            builder = builder.null_bit_buffer(validity.ok());
        }
        next = 1;
    }
    let buffers = values(&source, next, end, data_type)?;
    builder = builder.buffers(buffers);
    let types = types_inside(data_type);
    // Counted before a pointer is followed.
    if usize::try_from(array.n_children) != Ok(types.len()) {
        let (expected, got) = (types.len(), array.n_children);
        return Err(wrong(&format!("expected {expected} children, got {got}")));
    }
    let inside = children(array.children.cast_const(), array.n_children)
        .ok_or_else(|| wrong("it says it has children and has none"))?;
    for (child, data_type) in inside.into_iter().zip(types) {
        builder = builder.add_child_data(build(owner, child, data_type)?);
    }
    if let DataType::Dictionary(_, data_type) = data_type {
        // SAFETY: null, or a structure that lives as long as this one.
        let values = unsafe { array.dictionary.as_ref() };
        let values = values.ok_or_else(|| wrong("it has no dictionary"))?;
        builder = builder.add_child_data(build(owner, values, data_type)?);
    }
    builder.align_buffers(true).build()
}

fn types_inside(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => vec![item.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        _ => Vec::new(),
    }
}

/// The pointers to an array's buffers.
fn pointers(array: &ArrowArray) -> Option<&[*const c_void]> {
    let count = usize::try_from(array.n_buffers).ok().filter(|count| *count <= BUFFERS_MAX)?;
    if count == 0 {
        return Some(&[]);
    }
    if array.buffers.is_null() {
        return None;
    }
    // SAFETY: the structure says that there are this many pointers.
    Some(unsafe { std::slice::from_raw_parts(array.buffers, count) })
}

/// Buffers, and who gives them back.
struct Source<'a> {
    owner: &'a Arc<ArrowArray>,
    pointers: &'a [*const c_void],
}

impl Source<'_> {
    /// A buffer of this many bytes.
    fn buffer(&self, index: usize, bytes: usize) -> Result<Buffer, ArrowError> {
        let pointer = self.pointers.get(index).copied().unwrap_or(std::ptr::null());
        match NonNull::new(pointer.cast_mut().cast::<u8>()) {
            _ if bytes == 0 => Ok(MutableBuffer::new(0).into()),
            None => Err(lies(format!("buffer {index} of {bytes} bytes is missing"))),
            Some(pointer) => {
                let owner = Arc::clone(self.owner);
                // SAFETY: the structure says that the buffer is there, and its owner keeps it there.
                Ok(unsafe { Buffer::from_custom_allocation(pointer, bytes, owner) })
            }
        }
    }

    /// The last offset of a buffer of them: the bytes or values that they reach to.
    fn reach(&self, index: usize, end: usize, wide: bool) -> Result<(Buffer, usize), ArrowError> {
        let width = if wide { 8 } else { 4 };
        let has_offsets = self.pointers.get(index).is_some_and(|pointer| !pointer.is_null());
        if end == 0 && !has_offsets {
            // An array of nothing may leave out its only offset.
            return Ok((MutableBuffer::from_len_zeroed(width).into(), 0));
        }
        let buffer = self.buffer(index, (end + 1) * width)?;
        let last = &buffer.as_slice()[end * width..];
        let last = if wide {
            last.try_into().ok().map(number_64)
        } else {
            last.try_into().ok().map(|bytes| i64::from(number_32(bytes)))
        };
        let last = last.and_then(|last| usize::try_from(last).ok());
        let last = last.filter(|last| *last <= isize::MAX.unsigned_abs());
        Ok((buffer, last.ok_or_else(|| lies("the last offset is negative".to_owned()))?))
    }
}

#[expect(clippy::host_endian_bytes, reason = "the interface is inside of one process")]
fn number_64(bytes: [u8; 8]) -> i64 {
    i64::from_ne_bytes(bytes)
}

#[expect(clippy::host_endian_bytes, reason = "the interface is inside of one process")]
fn number_32(bytes: [u8; 4]) -> i32 {
    i32::from_ne_bytes(bytes)
}

/// The buffers after the one of nulls.
fn values(
    source: &Source<'_>,
    next: usize,
    end: usize,
    data_type: &DataType,
) -> Result<Vec<Buffer>, ArrowError> {
    let strings = |wide: bool| {
        let (offsets, bytes) = source.reach(next, end, wide)?;
        Ok(vec![offsets, source.buffer(next + 1, bytes)?])
    };
    match data_type {
        DataType::Null | DataType::Struct(_) | DataType::FixedSizeList(..) => Ok(Vec::new()),
        DataType::Boolean => Ok(vec![source.buffer(next, end.div_ceil(8))?]),
        DataType::Binary | DataType::Utf8 => strings(false),
        DataType::LargeBinary | DataType::LargeUtf8 => strings(true),
        DataType::List(_) | DataType::Map(..) => Ok(vec![source.reach(next, end, false)?.0]),
        DataType::LargeList(_) => Ok(vec![source.reach(next, end, true)?.0]),
        DataType::BinaryView | DataType::Utf8View => {
            let mut buffers = vec![source.buffer(next, end * 16)?];
            let count = source.pointers.len().checked_sub(next + 2);
            let count = count.ok_or_else(|| lies("views without sizes of buffers".to_owned()))?;
            let sizes = source.buffer(next + 1 + count, count * 8)?;
            for (number, size) in sizes.chunks_exact(8).enumerate() {
                let size = size.try_into().ok().map(number_64);
                let size = size.and_then(|size| usize::try_from(size).ok());
                let size = size.ok_or_else(|| lies("a buffer of negative size".to_owned()))?;
                buffers.push(source.buffer(next + 1 + number, size)?);
            }
            Ok(buffers)
        }
        DataType::Dictionary(keys, _) => values(source, next, end, keys),
        DataType::FixedSizeBinary(width) => fixed(source, next, end, width.unsigned_abs() as usize),
        other => match other.primitive_width() {
            Some(width) => fixed(source, next, end, width),
            None => Err(ArrowError::NotYetImplemented(format!("arrays of {other}"))),
        },
    }
}

fn fixed(
    source: &Source<'_>,
    next: usize,
    end: usize,
    width: usize,
) -> Result<Vec<Buffer>, ArrowError> {
    let bytes = end.checked_mul(width).filter(|bytes| *bytes <= isize::MAX.unsigned_abs());
    let bytes = bytes.ok_or_else(|| lies("an array is too long".to_owned()))?;
    Ok(vec![source.buffer(next, bytes)?])
}
