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
        // SAFETY: the object keeps this many bytes there until the buffer is given back. Bytes that may be written are used
        // under the interpreter's lock alone (`work::over`), so that no other code of Python writes them meanwhile.
        unsafe { std::slice::from_raw_parts(start, length) }
    }

    /// True if nobody may write them, as those of `bytes`.
    pub(crate) fn is_read_only(&self) -> bool {
        self.0.readonly()
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

    /// Bytes that it takes.
    pub(crate) fn len(&self) -> usize {
        self.0.len_bytes()
    }

    /// Writes bytes to its start, as many as it takes. The token says that the interpreter's lock is held.
    pub(crate) fn fill(&mut self, _py: Python<'_>, bytes: &[u8]) {
        let start = self.0.buf_ptr().cast::<u8>();
        if start.is_null() {
            return;
        }
        let length = bytes.len().min(self.len());
        // SAFETY: the object keeps this many bytes there, they may be written, and `bytes` are memory of ours.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, length) };
    }
}

/// A text or path of Python.
pub(crate) type PathArgument = std::path::PathBuf;

/// The codec of a text.
pub(crate) fn codec(text: &str) -> Result<tambour::CodecSpec, Failure> {
    text.parse().map_err(|error: tambour::codec::CodecError| Failure::from(error))
}
