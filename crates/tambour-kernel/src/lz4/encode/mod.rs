//! LZ4 block encoders.

mod fast;

pub use fast::{Table, encode};

/// Longest source, as in the reference implementation.
pub const SOURCE_BYTES_MAX: usize = 0x7e00_0000;

/// Room that the encoding of `length` bytes may need. An incompressible source grows by one byte in 255, and a little.
pub const fn bound(length: usize) -> usize {
    length + length / 255 + 16
}
