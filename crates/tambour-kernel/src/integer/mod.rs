//! Whole slices of integers in few bytes: varints, StreamVByte, bit packing.
//!
//! Layouts are described in `docs/format/integers.md`. Encoders write into a buffer of the caller and return how many bytes
//! they wrote, or `None` when the room does not suffice (each format has a `bound`). Decoders fill their target and return
//! how many bytes they took; what follows those is not looked at. Every decoder is safe for any source: it either fills the
//! target or reports what is wrong and where. All variants of a decoder accept the same sources, give the same values and
//! report the same error, since one careful decoder builds it for all of them.

pub mod encode_length;
pub mod leb128;
#[cfg(target_arch = "x86_64")]
mod memory;
pub mod packed;
pub mod stream_vbyte;
#[cfg(test)]
mod tests;

use crate::variant::Runnable;

/// An encoder. Calling it needs the instruction set of its variant; a [`Runnable`] stands for that.
///
/// It writes only `target` and returns the number of bytes, or `None` when the target is too short for the result.
pub type Encode<T> = unsafe fn(source: &[T], target: &mut [u8]) -> Option<usize>;

/// A decoder. Calling it needs the instruction set of its variant; a [`Runnable`] stands for that.
///
/// It is memory-safe for any source, writes only `target`, and leaves unspecified values there when it fails.
pub type Decode<T> = unsafe fn(source: &[u8], target: &mut [T]) -> Result<usize, Malformed>;

impl<T: 'static> Runnable<Encode<T>> {
    /// Encodes all of `source`; the number of bytes, or `None` when the target is too short.
    pub fn encode(self, source: &[T], target: &mut [u8]) -> Option<usize> {
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(source, target) }
    }
}

impl<T: 'static> Runnable<Decode<T>> {
    /// Decodes exactly `target.len()` values; the number of bytes taken. On an error the target holds unspecified values.
    pub fn decode(self, source: &[u8], target: &mut [T]) -> Result<usize, Malformed> {
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(source, target) }
    }
}

/// What is wrong with encoded integers, and where. Positions count bytes from the start of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The source ends inside a value, or before it.
    Truncated {
        /// Position at which a byte is missing.
        at: usize,
    },
    /// The control bytes promise more data than there is, or are themselves cut off.
    Short {
        /// Position at which a byte is missing.
        at: usize,
        /// Bytes that the source must have by what it says of itself.
        needed: usize,
    },
    /// A value of more bytes than its type can need.
    TooLong {
        /// Position of the first byte of the value.
        at: usize,
    },
    /// A value that its type cannot hold.
    Overflow {
        /// Position of the first byte of the value.
        at: usize,
    },
    /// A value in more bytes than it needs, where that is not allowed.
    NonMinimal {
        /// Position of the first byte of the value.
        at: usize,
    },
    /// A block whose header names a width or a kind that does not exist.
    Header {
        /// Position of the byte.
        at: usize,
        /// The byte.
        byte: u8,
    },
    /// An exception at a place that its block does not have.
    Exception {
        /// Position of the byte that names the place.
        at: usize,
    },
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Truncated { at } => write!(f, "source ends inside a value at {at}"),
            Self::Short { at, needed } => {
                write!(f, "source ends at {at} and promises {needed} bytes")
            }
            Self::TooLong { at } => {
                write!(f, "value at {at} has more bytes than its type can need")
            }
            Self::Overflow { at } => write!(f, "value at {at} does not fit its type"),
            Self::NonMinimal { at } => write!(f, "value at {at} has more bytes than it needs"),
            Self::Header { at, byte } => write!(f, "block header {byte:#04x} at {at} is unknown"),
            Self::Exception { at } => write!(f, "exception at {at} is outside its block"),
        }
    }
}

impl std::error::Error for Malformed {}

const _: () = assert!(size_of::<Malformed>() <= 24, "errors of kernels stay small");
