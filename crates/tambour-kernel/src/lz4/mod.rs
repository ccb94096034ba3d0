//! The LZ4 block format: decoders and encoders.
//!
//! The format is described in `docs/format/lz4-block.md`. Constants below are those of the format's own description
//! (`lz4_Block_format.md` of the LZ4 project).

mod decode;
mod encode;
mod select;
#[cfg(test)]
mod tests;

pub use decode::{
    Block, Decode, SHORT_MARGIN, VARIANTS as DECODE_VARIANTS, decode, decode_behind,
    decode_partial, decode_short, decode_with_dictionary,
};
pub use encode::{Encoder, Level, Prepared, SOURCE_BYTES_MAX, Table, bound, encode};
pub use select::{Clock, Learned, Policy, Selector, ticks};

/// Shortest match.
const MATCH_MIN: usize = 4;
/// Value of a token's half that says "more length bytes follow".
const NIBBLE_MAX: usize = 15;
/// Farthest offset.
const OFFSET_MAX: usize = 65_535;
/// This many bytes at the end of a block are always literals.
const LAST_LITERALS: usize = 5;
/// The last match starts at least this many bytes before the end.
const LAST_MATCH_DISTANCE: usize = 12;

/// What is wrong with an LZ4 block, and where. Positions count bytes from the start of the source.
///
/// ```
/// use tambour_kernel::lz4::{Malformed, decode};
/// // Three literals are promised, and two are there.
/// let error = decode(b"\x30ab", &mut [0; 3]).unwrap_err();
/// assert_eq!(error, Malformed::LiteralsPastSource { at: 1, length: 3 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// The source ends inside a sequence, or without a last sequence of literals only.
    Truncated {
        /// Position at which a byte is missing.
        at: usize,
    },
    /// More literals than the source has bytes left.
    LiteralsPastSource {
        /// Position of the first literal.
        at: usize,
        /// Number of literals.
        length: usize,
    },
    /// More literals than the target has room for.
    LiteralsPastTarget {
        /// Position of the first literal.
        at: usize,
        /// Number of literals.
        length: usize,
    },
    /// An offset of zero, or one that reaches before the start of the target.
    Offset {
        /// Position of the offset.
        at: usize,
        /// The offset.
        offset: u16,
        /// Bytes of output before the match.
        written: usize,
    },
    /// A match that is longer than the room left in the target.
    MatchPastTarget {
        /// Position of the offset of the match.
        at: usize,
        /// Length of the match.
        length: usize,
    },
    /// The block is well formed and holds fewer bytes than the target.
    Short {
        /// Bytes that it holds.
        written: usize,
        /// Bytes of the target.
        expected: usize,
    },
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Truncated { at } => write!(f, "source ends inside a sequence at {at}"),
            Self::LiteralsPastSource { at, length } => {
                write!(f, "{length} literals at {at} reach past the source")
            }
            Self::LiteralsPastTarget { at, length } => {
                write!(f, "{length} literals at {at} reach past the target")
            }
            Self::Offset { at, offset, written } => {
                write!(f, "offset {offset} at {at} with {written} bytes written")
            }
            Self::MatchPastTarget { at, length } => {
                write!(f, "match of {length} bytes at {at} reaches past the target")
            }
            Self::Short { written, expected } => {
                write!(f, "holds {written} bytes instead of {expected}")
            }
        }
    }
}

impl std::error::Error for Malformed {}

const _: () = assert!(size_of::<Malformed>() <= 24, "errors of kernels stay small");
