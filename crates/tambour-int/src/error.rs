//! What can be wrong with encoded values, and where.

use tambour_kernel::integer::Malformed;

/// Why values could not be written or read. Positions count bytes from the start of the buffer.
///
/// ```
/// use tambour_int::{IntError, Malformed, Reader};
/// let error = Reader::new(&[0x80]).unpack_uint::<u32>().unwrap_err();
/// assert_eq!(error, IntError::Malformed(Malformed::Truncated { at: 1 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IntError {
    /// An integer is malformed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The target has no room for a value.
    #[error("target of {length} bytes has no room at {at}")]
    Full {
        /// Position of the value.
        at: usize,
        /// Bytes of the target.
        length: usize,
    },
    /// A string, or a number of things, that the rest of the source cannot hold.
    #[error("{length} promised at {at} with {left} bytes left")]
    Promise {
        /// Position after the number.
        at: usize,
        /// The number.
        length: u64,
        /// Bytes left.
        left: usize,
    },
    /// A truth value that is neither `0` nor `1`.
    #[error("byte {byte:#04x} at {at} is not a truth value")]
    Truth {
        /// Position of the byte.
        at: usize,
        /// The byte.
        byte: u8,
    },
    /// A thing that does not follow the one before it, or a number beyond its type.
    #[error("out of order at {at}")]
    Order {
        /// Position of the thing.
        at: usize,
    },
}
