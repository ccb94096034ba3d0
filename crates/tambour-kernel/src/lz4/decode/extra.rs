//! The calls that are asked for less often: a part of a block, and blocks whose matches reach before the target.
//!
//! The loop of a variant does what it can, and one sequence of safe code does what the loop has closed the lane for: a
//! match that reaches into the dictionary, or the end of the target inside a sequence.

use super::careful::{extended, fill_exact};
use super::fault::fault_behind;
use super::lane::Lane;
use super::literal::only_literals;
use super::{Decode, Malformed};
use crate::lz4::MATCH_MIN;
use crate::variant::Runnable;

/// Decodes a block until `target` is full or the block ends; returns how many bytes were written.
///
/// What lies after the sequence that fills the target is not looked at, so that the start of a block can be had without
/// its end: a source may be cut there. Lengths of that sequence are still read whole.
///
/// ```
/// use tambour_kernel::lz4::{DECODE_VARIANTS, decode_partial};
/// let mut start = [0; 4];
/// let written = decode_partial(DECODE_VARIANTS.best(), b"\xb0hello world", &mut start)?;
/// assert_eq!((written, &start), (4, b"hell"));
/// # Ok::<(), tambour_kernel::lz4::Malformed>(())
/// ```
pub fn decode_partial(
    variant: Runnable<Decode>,
    source: &[u8],
    target: &mut [u8],
) -> Result<usize, Malformed> {
    decode_on(variant, &[], End::Full, source, target)
}

/// Decodes one block into exactly `target.len()` bytes; its matches may reach into the `dictionary`, as if that stood
/// directly before the target. Of a dictionary longer than 64 KiB, matches reach the end only.
///
/// Offsets in errors count from the start of the target: `written` does not include the dictionary.
///
/// ```
/// use tambour_kernel::lz4::{self, Encoder, Level};
/// let (dictionary, message) = (b"GET /index.html HTTP/1.1", b"GET /index.html HTTP/1.0");
/// let mut encoded = [0; lz4::bound(24)];
/// let mut encoder = Encoder::new(Level::High(9));
/// let length = encoder.encode_with_dictionary(dictionary, message, &mut encoded).ok_or("no room")?;
/// assert!(length < message.len());
///
/// let (mut decoded, variant) = ([0; 24], lz4::DECODE_VARIANTS.best());
/// lz4::decode_with_dictionary(variant, dictionary, &encoded[..length], &mut decoded)?;
/// assert_eq!(&decoded, message);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn decode_with_dictionary(
    variant: Runnable<Decode>,
    dictionary: &[u8],
    source: &[u8],
    target: &mut [u8],
) -> Result<(), Malformed> {
    decode_on(variant, dictionary, End::Exact, source, target).map(|_| ())
}

/// Decodes one block into exactly what follows `start` in the `buffer`; its matches may reach into what lies before.
///
/// Lengths in errors count from the start of the buffer: `written` includes what lies before `start`.
///
/// # Panics
/// If `start` lies past the end of the buffer.
///
/// ```
/// use tambour_kernel::lz4::{DECODE_VARIANTS, decode_behind};
/// // One literal, four bytes at offset 6, then five literals.
/// let mut buffer = *b"hello ..........";
/// decode_behind(DECODE_VARIANTS.best(), b"\x10!\x07\0\x50again", &mut buffer, 6)?;
/// assert_eq!(&buffer, b"hello !hellagain");
/// # Ok::<(), tambour_kernel::lz4::Malformed>(())
/// ```
pub fn decode_behind(
    variant: Runnable<Decode>,
    source: &[u8],
    buffer: &mut [u8],
    start: usize,
) -> Result<(), Malformed> {
    if let Some(literals) = only_literals(source, buffer.len().saturating_sub(start)) {
        buffer[start..].copy_from_slice(literals);
        return Ok(());
    }
    decode_sequences(variant, source, buffer, start)
}

/// The same without a look at whether the block is only literals.
#[inline(always)]
pub(in crate::lz4) fn decode_sequences(
    variant: Runnable<Decode>,
    source: &[u8],
    buffer: &mut [u8],
    start: usize,
) -> Result<(), Malformed> {
    let expected = buffer.len();
    let mut lane = Lane::behind(source, buffer, start);
    if lane.is_open() {
        variant.advance(&mut lane, usize::MAX);
    }
    if variant.finish(&mut lane) { Ok(()) } else { Err(fault_behind(source, start, expected)) }
}

/// When a block has been decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// When it ends, exactly at the end of the target.
    Exact,
    /// When it ends, or when the target is full.
    Full,
}

/// Where a sequence leads.
enum Next {
    /// To the next one, at these places of source and target.
    Sequence(usize, usize),
    /// To the end; this many bytes are written.
    End(usize),
}

fn decode_on(
    variant: Runnable<Decode>,
    dictionary: &[u8],
    end: End,
    source: &[u8],
    target: &mut [u8],
) -> Result<usize, Malformed> {
    let (mut i, mut o) = (0, 0);
    loop {
        let mut lane = Lane::at(source, target, i, o);
        variant.advance(&mut lane, usize::MAX);
        if lane.is_done() {
            return Ok(target.len());
        }
        (i, o) = (source.len() - lane.source_left(), lane.written());
        match sequence(dictionary, end, source, target, (i, o))? {
            Next::Sequence(next_i, next_o) => (i, o) = (next_i, next_o),
            Next::End(written) => return Ok(written),
        }
    }
}

/// One sequence, with every length and offset checked.
fn sequence(
    dictionary: &[u8],
    end: End,
    source: &[u8],
    target: &mut [u8],
    (start, o): (usize, usize),
) -> Result<Next, Malformed> {
    if end == End::Full && o == target.len() {
        return Ok(Next::End(o));
    }
    let truncated = Malformed::Truncated { at: source.len() };
    let token = usize::from(*source.get(start).ok_or(truncated)?);
    let (at, length) = extended(source, start + 1, token >> 4).ok_or(truncated)?;
    let wanted = clip(length, target.len() - o, end);
    let literals =
        source[at..].get(..wanted).ok_or(Malformed::LiteralsPastSource { at, length })?;
    if wanted > target.len() - o {
        return Err(Malformed::LiteralsPastTarget { at, length });
    }
    target[o..o + wanted].copy_from_slice(literals);
    let (at, o) = (at + wanted, o + wanted);
    if end == End::Full && o == target.len() {
        return Ok(Next::End(o));
    }
    if at == source.len() {
        let (written, expected) = (o, target.len());
        let good = end == End::Full || written == expected;
        return if good { Ok(Next::End(o)) } else { Err(Malformed::Short { written, expected }) };
    }
    let offset = u16::from_le_bytes(*source[at..].first_chunk().ok_or(truncated)?);
    let distance = usize::from(offset);
    if distance == 0 || distance > o + dictionary.len() {
        return Err(Malformed::Offset { at, offset, written: o });
    }
    let (next, length) = extended(source, at + 2, token & 15).ok_or(truncated)?;
    let length = length.saturating_add(MATCH_MIN);
    let wanted = clip(length, target.len() - o, end);
    if wanted > target.len() - o {
        return Err(Malformed::MatchPastTarget { at, length });
    }
    copy_match(dictionary, target, o, distance, wanted);
    Ok(Next::Sequence(next, o + wanted))
}

/// How much of `length` is to be written: all of it, unless the target may end before.
fn clip(length: usize, room: usize, end: End) -> usize {
    if end == End::Full { length.min(room) } else { length }
}

/// Writes a match of a checked offset that may start in the dictionary.
fn copy_match(dictionary: &[u8], target: &mut [u8], o: usize, distance: usize, length: usize) {
    let before = distance.saturating_sub(o).min(length);
    if before > 0 {
        let from = dictionary.len() - (distance - o);
        target[o..o + before].copy_from_slice(&dictionary[from..from + before]);
    }
    if length > before {
        fill_exact(target, o + before, distance, length - before);
    }
}
