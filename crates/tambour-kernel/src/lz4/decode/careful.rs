//! The exact code: safe Rust that reads and writes nothing outside the two buffers.
//!
//! The fast loops keep a margin from the ends of both buffers and leave the rest of a block to [`sequence`]; they also call
//! it for the long literals and matches, for which it has the fast copies (`fill`).

use crate::lz4::{MATCH_MIN, NIBBLE_MAX};

/// Where a decoder stands in both buffers, between two sequences.
#[derive(Clone, Copy, Default)]
pub(super) struct Position {
    /// In the source.
    pub(super) i: usize,
    /// In the target.
    pub(super) o: usize,
}

/// What became of one sequence.
pub(super) enum Outcome {
    /// It was decoded; the next one starts here.
    Next(Position),
    /// It was the last one, and it ended exactly at the end of both buffers.
    Done,
    /// The block is malformed.
    Broken,
}

/// How an instruction set repeats a short pattern.
pub(super) trait Repeat: Copy {
    /// 32 bytes that repeat the `offset` bytes (1 to 31) before `at`; 32 bytes follow there.
    fn pattern(self, target: &[u8], at: usize, offset: usize) -> [u8; 32];
}

/// Adds the bytes that extend a length from half a token: the position behind them and the length. `None` when the source
/// ends inside them.
#[inline(always)]
pub(super) fn extended(source: &[u8], mut at: usize, nibble: usize) -> Option<(usize, usize)> {
    let mut length = nibble;
    if nibble == NIBBLE_MAX {
        loop {
            let byte = *source.get(at)?;
            at += 1;
            // Saturates on 32-bit targets only; no buffer is that long, so the comparisons that follow refuse it.
            length = length.saturating_add(usize::from(byte));
            if byte != 255 {
                break;
            }
        }
    }
    Some((at, length))
}

/// Decodes exactly one sequence of any shape, with every length and offset checked.
#[inline(always)]
pub(super) fn sequence(
    repeat: impl Repeat,
    source: &[u8],
    target: &mut [u8],
    position: Position,
) -> Outcome {
    let Position { i, o } = position;
    let Some(&token) = source.get(i) else { return Outcome::Broken };
    let token = usize::from(token);
    let Some((i, literals)) = extended(source, i + 1, token >> 4) else { return Outcome::Broken };
    if literals > source.len() - i || literals > target.len() - o {
        return Outcome::Broken;
    }
    copy_literals(&source[i..], &mut target[o..], literals);
    let (i, o) = (i + literals, o + literals);
    if i == source.len() {
        return if o == target.len() { Outcome::Done } else { Outcome::Broken };
    }
    let Some(offset) = source[i..].first_chunk::<2>() else { return Outcome::Broken };
    let offset = usize::from(u16::from_le_bytes(*offset));
    if offset == 0 || offset > o {
        return Outcome::Broken;
    }
    let Some((i, length)) = extended(source, i + 2, token & 15) else { return Outcome::Broken };
    let length = length.saturating_add(MATCH_MIN);
    if length > target.len() - o {
        return Outcome::Broken;
    }
    fill(repeat, target, o, offset, length);
    Outcome::Next(Position { i, o: o + length })
}

/// Copies `length` bytes; may write up to 16 when both sides have them.
#[inline(always)]
fn copy_literals(source: &[u8], target: &mut [u8], length: usize) {
    if length <= 16
        && let Some(from) = source.first_chunk::<16>()
        && let Some(to) = target.first_chunk_mut::<16>()
    {
        *to = *from;
    } else {
        target[..length].copy_from_slice(&source[..length]);
    }
}

/// Writes a match: `1 <= offset <= at`, `at + length <= target.len()`. May write past the match, never past the target.
#[inline(always)]
pub(super) fn fill(
    repeat: impl Repeat,
    target: &mut [u8],
    at: usize,
    offset: usize,
    length: usize,
) {
    if length < 32 {
        fill_short(target, at, offset, length);
    } else if offset >= 32 {
        chunks::<32>(target, at, offset, length);
    } else {
        let pattern = repeat.pattern(target, at, offset);
        fill_pattern(&mut target[at..], pattern, offset, length);
    }
}

/// Fewer than 32 bytes, exactly.
fn fill_short(target: &mut [u8], at: usize, offset: usize, length: usize) {
    match offset.min(length) {
        16.. => chunks::<16>(target, at, offset, length),
        8.. => chunks::<8>(target, at, offset, length),
        4.. => chunks::<4>(target, at, offset, length),
        _ => (at..at + length).for_each(|k| target[k] = target[k - offset]),
    }
}

/// Exactly `length >= N` bytes in pieces of `N <= offset`; the last piece ends at the end and may overlap the one before.
#[inline(always)]
fn chunks<const N: usize>(target: &mut [u8], at: usize, offset: usize, length: usize) {
    let last = at + length - N;
    let mut k = at;
    while k < last {
        chunk::<N>(target, k - offset, k);
        k += N;
    }
    chunk::<N>(target, last - offset, last);
}

/// Copies `N` bytes inside a buffer; all are read before any is written.
#[inline(always)]
pub(super) fn chunk<const N: usize>(target: &mut [u8], from: usize, to: usize) {
    let mut piece = [0; N];
    piece.copy_from_slice(&target[from..from + N]);
    target[to..to + N].copy_from_slice(&piece);
}

/// Fills the first `length` bytes with a pattern of period `offset < 32`. Nothing is read back, so no load waits for a
/// store: this is what makes long runs fast.
#[inline(always)]
fn fill_pattern(target: &mut [u8], pattern: [u8; 32], offset: usize, length: usize) {
    // The largest multiple of the period that one store covers.
    let stride = 32 - 32 % offset;
    if stride == 32 {
        let (pieces, rest) = target[..length].as_chunks_mut();
        pieces.fill(pattern);
        rest.copy_from_slice(&pattern[..rest.len()]);
        return;
    }
    let mut k = 0;
    while length - k > 32 {
        target[k..k + 32].copy_from_slice(&pattern);
        k += stride;
    }
    if let Some(to) = target[k..].first_chunk_mut::<32>() {
        *to = pattern;
    } else {
        target[k..length].copy_from_slice(&pattern[..length - k]);
    }
}

/// [`Repeat::pattern`] for every machine.
#[inline(always)]
pub(super) fn pattern(target: &[u8], at: usize, offset: usize) -> [u8; 32] {
    let mut buffer = [0; 64];
    if offset < 8 {
        let word = repeat_word(target, at, offset).to_le_bytes();
        for k in (0..32).step_by(WORD_STRIDES[offset]) {
            buffer[k..k + 8].copy_from_slice(&word);
        }
    } else {
        // Each piece overwrites what the one before has copied behind the period.
        let from = at - offset;
        for k in (0..32).step_by(offset) {
            buffer[k..k + 32].copy_from_slice(&target[from..from + 32]);
        }
    }
    let mut pattern = [0; 32];
    pattern.copy_from_slice(&buffer[..32]);
    pattern
}

/// `WORD_STRIDES[n]`: the largest multiple of `n` that is at most 8.
pub(super) static WORD_STRIDES: [usize; 8] = [8, 8, 8, 6, 8, 5, 6, 7];

/// A little-endian word that repeats the `offset` bytes (1 to 7) before `at`; 7 bytes follow there.
#[inline(always)]
pub(super) fn repeat_word(target: &[u8], at: usize, offset: usize) -> u64 {
    /// One bit at the start of each repetition: a product with it repeats what is below `8 * n` bits.
    const ONES: [u64; 8] = {
        let mut ones = [0; 8];
        let mut n = 1;
        while n < 8 {
            let mut shift = 0;
            while shift < 64 {
                ones[n] |= 1 << shift;
                shift += 8 * n;
            }
            n += 1;
        }
        ones
    };
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&target[at - offset..at - offset + 8]);
    let period = u64::from_le_bytes(bytes) & ((1 << (8 * offset)) - 1);
    period.wrapping_mul(ONES[offset])
}
