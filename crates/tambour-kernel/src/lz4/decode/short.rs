//! Short blocks with a dictionary: one record of a few hundred bytes, decoded millions of times.
//!
//! The loops of the variants keep margins from the ends of both buffers and leave the rest of a block to exact code; of a
//! block of ninety bytes, that would be all. Here the caller has the margins: bytes of any value follow the block in its
//! buffer, and room follows the output. So one loop goes to the end, with unconditional copies, and every length and
//! offset is still checked before anything is copied.

use crate::copy::{copy, copy_inside, load};
use crate::lz4::decode::careful::extended;
use crate::lz4::{MATCH_MIN, Malformed, NIBBLE_MAX};

/// Bytes that must follow a block in its buffer, and an output in its own.
pub const SHORT_MARGIN: usize = 64;

/// Decodes the block in the first `length` bytes of `source` after `buffer[..start]`, to which its matches may reach, until
/// it ends or at least `wanted` bytes are written; returns how many were.
///
/// Nothing but the buffer from `start` on is written, and its last [`SHORT_MARGIN`] bytes are never part of the output: what a
/// block would have to write there is an error. Bytes of the buffer after the output are unspecified. Unlike the
/// decoders of whole blocks, this one does not know how long the output will be, and takes blocks that end in a match.
///
/// # Panics
/// When less than [`SHORT_MARGIN`] bytes follow the block in `source`, or `start` in the buffer.
///
/// ```
/// use tambour_kernel::lz4::{SHORT_MARGIN, decode_short};
/// let mut source = [0; 4 + SHORT_MARGIN];
/// source[..4].copy_from_slice(b"\x30abc");
/// let mut buffer = [0; 16 + SHORT_MARGIN];
/// let end = decode_short(&source, 4, &mut buffer, 0, 3)?;
/// assert_eq!(&buffer[..end], b"abc");
/// # Ok::<(), tambour_kernel::lz4::Malformed>(())
/// ```
#[inline]
pub fn decode_short(
    source: &[u8],
    length: usize,
    buffer: &mut [u8],
    start: usize,
    wanted: usize,
) -> Result<usize, Malformed> {
    assert!(source.len() >= SHORT_MARGIN && length <= source.len() - SHORT_MARGIN, "no margin");
    assert!(buffer.len() >= SHORT_MARGIN && start <= buffer.len() - SHORT_MARGIN, "no margin");
    let end = buffer.len() - SHORT_MARGIN;
    let stop = start.saturating_add(wanted);
    let (mut i, mut o) = (0, start);
    while i < length {
        // Here i < length and o <= end.
        // SAFETY: `i` lies in the block.
        let token = usize::from(unsafe { load::<u8>(source, i) });
        i += 1;
        let mut literals = token >> 4;
        if literals == NIBBLE_MAX {
            (i, literals) = lengthened(&source[..length], i, literals)?;
        }
        if literals > length - i {
            return Err(Malformed::LiteralsPastSource { at: i, length: literals });
        }
        if literals > end - o {
            return Err(Malformed::LiteralsPastTarget { at: i, length: literals });
        }
        // SAFETY: a margin follows both `length` and `end`, and the literals end before them.
        unsafe { copy_literals(source, i, buffer, o, literals) };
        i += literals;
        o += literals;
        if i == length || o >= stop {
            break;
        }
        if length - i < 2 {
            return Err(Malformed::Truncated { at: length });
        }
        // SAFETY: just checked.
        let offset = u16::from_le(unsafe { load::<u16>(source, i) });
        let at = i;
        i += 2;
        let mut match_length = token & NIBBLE_MAX;
        // Matches with a dictionary are long and short in turns: a branch on their lengths is mispredicted all the time.
        let is_extended = match_length == NIBBLE_MAX;
        // SAFETY: `i` lies in the block, or at its end, where the margin begins.
        let extension = usize::from(unsafe { load::<u8>(source, i) });
        if is_extended && extension == 255 {
            (i, match_length) = lengthened(&source[..length], i, match_length)?;
        } else {
            match_length += if is_extended { extension } else { 0 };
            i += usize::from(is_extended);
        }
        if i > length {
            return Err(Malformed::Truncated { at: length });
        }
        match_length = match_length.saturating_add(MATCH_MIN);
        let distance = usize::from(offset);
        if distance.wrapping_sub(1) >= o {
            return Err(Malformed::Offset { at, offset, written: o });
        }
        if match_length > end - o {
            return Err(Malformed::MatchPastTarget { at, length: match_length });
        }
        // Nobody looks at what is after `stop`.
        let copied = match_length.min(stop - o);
        // SAFETY: the offset stays in the buffer, and the margin follows the end of the match.
        unsafe { copy_match(buffer, o, distance, copied) };
        o += copied;
        if o >= stop {
            break;
        }
    }
    Ok(o - start)
}

/// A length that goes on in further bytes.
#[inline(never)]
fn lengthened(block: &[u8], at: usize, nibble: usize) -> Result<(usize, usize), Malformed> {
    extended(block, at, nibble).ok_or(Malformed::Truncated { at: block.len() })
}

/// Copies literals in pieces that may reach beyond them.
///
/// # Safety
/// [`SHORT_MARGIN`] bytes follow the literals in the source, and in the buffer.
#[inline(always)]
unsafe fn copy_literals(source: &[u8], i: usize, buffer: &mut [u8], o: usize, literals: usize) {
    // SAFETY: the margin is longer than a piece.
    unsafe { copy::<u128>(source, i, buffer, o) };
    if literals <= 16 {
        return;
    }
    let mut done = 16;
    while done < literals {
        // SAFETY: less than a piece beyond the literals.
        unsafe { copy::<u128>(source, i + done, buffer, o + done) };
        done += 16;
    }
}

/// Copies a match in pieces that may reach beyond it.
///
/// # Safety
/// `1 <= distance <= o`, and [`SHORT_MARGIN`] bytes follow the match in the buffer.
#[inline(always)]
unsafe fn copy_match(buffer: &mut [u8], o: usize, distance: usize, length: usize) {
    let from = o - distance;
    if distance >= 16 {
        // SAFETY: the margin is as long as four pieces; what is read was written before.
        unsafe { copy_four(buffer, from, o) };
        let mut done = FOUR;
        while done < length {
            // SAFETY: less than four pieces beyond the match.
            unsafe { copy_four(buffer, from + done, o + done) };
            done += FOUR;
        }
    } else {
        for k in 0..length {
            buffer[o + k] = buffer[from + k];
        }
    }
}

/// Bytes of four pieces.
const FOUR: usize = 64;
const _: () = assert!(FOUR <= SHORT_MARGIN, "copies stay within the margin");

/// Copies four pieces, one after the other: most matches are no longer, and none has a branch then.
///
/// # Safety
/// `from + 16 <= to`, and [`FOUR`] bytes follow `to` in the buffer.
#[inline(always)]
unsafe fn copy_four(buffer: &mut [u8], from: usize, to: usize) {
    // SAFETY: the caller keeps the pieces within the buffer.
    unsafe { copy_inside::<u128>(buffer, from, to) };
    // SAFETY: as above.
    unsafe { copy_inside::<u128>(buffer, from + 16, to + 16) };
    // SAFETY: as above.
    unsafe { copy_inside::<u128>(buffer, from + 32, to + 32) };
    // SAFETY: as above.
    unsafe { copy_inside::<u128>(buffer, from + 48, to + 48) };
}
