//! Finds what is wrong with a block that a decoder refused.
//!
//! The decoders only say yes or no. This walks over the sequences without writing anything, off the hot path, so that all
//! variants report the same error.

use super::Malformed;
use super::careful::extended;
use crate::lz4::MATCH_MIN;

/// The first fault of a block that does not decode into `expected` bytes.
#[cold]
pub(in crate::lz4) fn fault(source: &[u8], expected: usize) -> Malformed {
    fault_behind(source, 0, expected)
}

/// The same for a block whose matches may reach into `before` bytes; `expected` counts them, too.
#[cold]
pub(in crate::lz4) fn fault_behind(source: &[u8], before: usize, expected: usize) -> Malformed {
    let (mut i, mut written) = (0, before);
    loop {
        match sequence(source, i, written, expected) {
            Ok(next) => (i, written) = next,
            Err(malformed) => return malformed,
        }
    }
}

/// Walks over one sequence: the positions after it, or the fault. The end of the block is one, too.
fn sequence(
    source: &[u8],
    start: usize,
    written: usize,
    expected: usize,
) -> Result<(usize, usize), Malformed> {
    let truncated = Malformed::Truncated { at: source.len() };
    let token = usize::from(*source.get(start).ok_or(truncated)?);
    let (at, length) = extended(source, start + 1, token >> 4).ok_or(truncated)?;
    if length > source.len() - at {
        return Err(Malformed::LiteralsPastSource { at, length });
    }
    if length > expected - written {
        return Err(Malformed::LiteralsPastTarget { at, length });
    }
    let (at, written) = (at + length, written + length);
    if at == source.len() {
        // Had the lengths been equal, the decoder would not have refused.
        debug_assert_ne!(written, expected, "a decoder refused a good block");
        return Err(Malformed::Short { written, expected });
    }
    let offset = source[at..].first_chunk::<2>().ok_or(truncated)?;
    let offset = u16::from_le_bytes(*offset);
    if offset == 0 || usize::from(offset) > written {
        return Err(Malformed::Offset { at, offset, written });
    }
    let (next, length) = extended(source, at + 2, token & 15).ok_or(truncated)?;
    let length = length.saturating_add(MATCH_MIN);
    if length > expected - written {
        return Err(Malformed::MatchPastTarget { at, length });
    }
    Ok((next, written + length))
}
