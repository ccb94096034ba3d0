//! Bytes of Python objects where they are.

use crate::failure::{Failure, argument};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;

/// The bytes of anything with the buffer protocol: `bytes`, `bytearray`, `memoryview`, NumPy arrays. They stay where they are
/// as long as this lives.
pub(crate) struct Bytes(PyUntypedBuffer);

impl Bytes {
    /// Borrows the bytes of an object.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if buffer.is_c_contiguous() {
            return Ok(Self(buffer));
        }
        Err(argument(
            "the buffer is not contiguous: copy it first, as by bytes() or ascontiguousarray()",
        )
        .into())
    }

    /// The bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        let (start, length) = (self.0.buf_ptr().cast::<u8>(), self.0.len_bytes());
        if length == 0 || start.is_null() {
            return &[];
        }
        // SAFETY: the object promised to keep this many bytes there until the buffer is given back. Another thread may write
        // them meanwhile, as with all that reads buffers; nothing here depends on reading the same byte twice.
        unsafe { std::slice::from_raw_parts(start, length) }
    }
}

/// Bytes of an object that may be written.
pub(crate) struct Room(PyUntypedBuffer);

impl Room {
    /// Borrows the room of an object.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let buffer = PyUntypedBuffer::get(object)?;
        if buffer.readonly() {
            return Err(argument("the buffer is read-only").into());
        }
        if !buffer.is_c_contiguous() {
            return Err(argument("the buffer is not contiguous").into());
        }
        Ok(Self(buffer))
    }

    /// The room.
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        let (start, length) = (self.0.buf_ptr().cast::<u8>(), self.0.len_bytes());
        if length == 0 || start.is_null() {
            return &mut [];
        }
        // SAFETY: the object promised to keep this many bytes there, and that they may be written.
        unsafe { std::slice::from_raw_parts_mut(start, length) }
    }
}

/// A text or path of Python.
pub(crate) type PathArgument = std::path::PathBuf;

/// The codec of a text.
pub(crate) fn codec(text: &str) -> Result<tambour::CodecSpec, Failure> {
    text.parse().map_err(|error: tambour::codec::CodecError| Failure::from(error))
}
