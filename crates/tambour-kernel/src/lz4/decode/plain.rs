//! The plain loop: unconditional copies of 16 bytes, short sequences without a call, everything else to the careful code.
//!
//! It is generic over the few instructions that differ by instruction set ([`Engine`]). It carries no `#[target_feature]`
//! itself: it is inlined into the functions that do.

use super::Malformed;
use super::careful::{Outcome, Position, Repeat};
use super::fault::fault;
use crate::copy::{Plain, copy, copy_inside, load, opaque};
use crate::lz4::{MATCH_MIN, NIBBLE_MAX};
use core::hint::cold_path;

/// Most literals, and longest match, of a sequence that the loop takes itself.
const SHORT_MAX: usize = 64;
/// With so much source left, a step stays inside it: token, length byte, literals, offset, length byte.
const SOURCE_MARGIN: usize = 1 + 1 + SHORT_MAX + 2 + 1;
/// With so much target left, a step stays inside it: literals, a match, and what pattern stores add to that.
const TARGET_MARGIN: usize = SHORT_MAX + SHORT_MAX + 16;

/// What the loop needs of an instruction set. A value of such a type proves that the CPU has it.
pub(super) trait Engine: Repeat {
    /// A register of 16 bytes.
    type Wide: Plain;

    /// Writes a match with `offset` 1 to 15 and at most [`SHORT_MAX`] bytes; may write up to 16 bytes more.
    ///
    /// # Safety
    /// `1 <= offset <= at` and `at + SHORT_MAX + 16 <= target.len()`.
    unsafe fn repeat(self, target: &mut [u8], at: usize, offset: usize, length: usize);

    /// [`short_sequences`], compiled for the instruction set.
    fn short_sequences(self, source: &[u8], target: &mut [u8], position: Position) -> Position;

    /// [`super::careful::sequence`], compiled for the instruction set.
    fn sequence(self, source: &[u8], target: &mut [u8], position: Position) -> Outcome;
}

/// Decodes one block into exactly `target.len()` bytes.
#[inline(always)]
pub(super) fn decode<E: Engine>(
    engine: E,
    source: &[u8],
    target: &mut [u8],
) -> Result<(), Malformed> {
    let mut position = Position::default();
    loop {
        position = engine.short_sequences(source, target, position);
        match engine.sequence(source, target, position) {
            Outcome::Next(next) => position = next,
            Outcome::Done => return Ok(()),
            Outcome::Broken => return Err(fault(source, target.len())),
        }
    }
}

/// Decodes sequences as long as they are short and both buffers have their margins left. This is a function of its own so
/// that nothing but the loop needs registers.
#[inline(always)]
pub(super) fn short_sequences<E: Engine>(
    engine: E,
    source: &[u8],
    target: &mut [u8],
    mut position: Position,
) -> Position {
    let source_limit = source.len().saturating_sub(SOURCE_MARGIN);
    let target_limit = target.len().saturating_sub(TARGET_MARGIN);
    while position.i < source_limit && position.o < target_limit {
        // SAFETY: just compared; a buffer shorter than its margin has the limit 0.
        let Some(next) = (unsafe { step(engine, source, target, position) }) else { break };
        position = next;
    }
    position
}

/// One sequence with at most [`SHORT_MAX`] literals and a match as short. `None` for longer and for malformed ones; some
/// literals may have been written then, which the careful code writes again.
///
/// # Safety
/// `i + SOURCE_MARGIN <= source.len()` and `o + TARGET_MARGIN <= target.len()`.
#[inline(always)]
unsafe fn step<E: Engine>(
    engine: E,
    source: &[u8],
    target: &mut [u8],
    position: Position,
) -> Option<Position> {
    let Position { mut i, o } = position;
    // SAFETY: the token is within the margin.
    let token = usize::from(unsafe { load::<u8>(source, i) });
    let mut literals = token >> 4;
    if literals == NIBBLE_MAX {
        // SAFETY: the length byte is within the margin.
        literals += usize::from(unsafe { load::<u8>(source, i + 1) });
        if literals > SHORT_MAX {
            cold_path();
            return None;
        }
        i += 1;
        // SAFETY: the margins hold `SHORT_MAX` literals behind token and length byte, and as many bytes of output.
        unsafe { copy_to_64::<E::Wide>(source, i + 1, target, o, literals) };
    } else {
        // SAFETY: the margins hold 16 literals.
        unsafe { copy::<E::Wide>(source, i + 1, target, o) };
    }
    // The position behind offset and token is made while the token loads, so that the chain from token to token is a load,
    // a shift and one addition. Left alone, the optimiser adds the constant last.
    let mut i = opaque(i + 3) + literals;
    let o = o + literals;
    // SAFETY: at most `SHORT_MAX` literals were skipped, so the offset is within the margin.
    let offset = usize::from(u16::from_le(unsafe { load::<u16>(source, i - 2) }));
    let mut length = (token & 15) + MATCH_MIN;
    // One comparison for both: an offset of zero wraps around.
    let broken = offset.wrapping_sub(1) >= o;
    if token & 15 == NIBBLE_MAX {
        // SAFETY: the length byte behind the offset is the last byte of the margin.
        length += usize::from(unsafe { load::<u8>(source, i) });
        i += 1;
        if length > SHORT_MAX || broken {
            cold_path();
            return None;
        }
        // SAFETY: `1 <= offset <= o` as just checked; the margin holds `SHORT_MAX + 16` bytes of match.
        unsafe { copy_long_match(engine, target, o, offset, length) };
    } else {
        if broken {
            cold_path();
            return None;
        }
        // SAFETY: as above.
        unsafe { copy_short_match(engine, target, o, offset, length) };
    }
    Some(Position { i, o: o + length })
}

/// Copies 17 to 64 bytes, rounded up to 32 or 64.
///
/// # Safety
/// Both sides have 64 bytes.
#[inline(always)]
unsafe fn copy_to_64<W: Plain>(
    source: &[u8],
    from: usize,
    target: &mut [u8],
    to: usize,
    length: usize,
) {
    const { assert!(size_of::<W>() == 16) };
    // SAFETY: the first 16 of 64 bytes.
    unsafe { copy::<W>(source, from, target, to) };
    // SAFETY: the second 16 of 64 bytes.
    unsafe { copy::<W>(source, from + 16, target, to + 16) };
    if length > 32 {
        // SAFETY: the third 16 of 64 bytes.
        unsafe { copy::<W>(source, from + 32, target, to + 32) };
        // SAFETY: the fourth 16 of 64 bytes.
        unsafe { copy::<W>(source, from + 48, target, to + 48) };
    }
}

/// Writes a match of 4 to 18 bytes, the lengths that fit into a token; may write up to 16 bytes more.
///
/// Pieces of eight bytes: the bytes of a near match were written a moment ago, by stores no wider than that, and a load can
/// only be served from a store that covers it.
///
/// # Safety
/// `1 <= offset <= at` and `at + SHORT_MAX + 16 <= target.len()`.
#[inline(always)]
unsafe fn copy_short_match<E: Engine>(
    engine: E,
    target: &mut [u8],
    at: usize,
    offset: usize,
    length: usize,
) {
    if offset >= 8 {
        let from = at - offset;
        // SAFETY: the first 8 of `SHORT_MAX` bytes; `from` lies before.
        unsafe { copy_inside::<u64>(target, from, at) };
        // SAFETY: the second 8 of `SHORT_MAX` bytes.
        unsafe { copy_inside::<u64>(target, from + 8, at + 8) };
        if length > 16 {
            cold_path();
            // SAFETY: the next 2 of `SHORT_MAX` bytes.
            unsafe { copy_inside::<u16>(target, from + 16, at + 16) };
        }
    } else {
        cold_path();
        // SAFETY: the same conditions.
        unsafe { engine.repeat(target, at, offset, length) };
    }
}

/// Writes a match of 19 to [`SHORT_MAX`] bytes; may write up to [`SHORT_MAX`] bytes, and up to 16 more than the match.
///
/// # Safety
/// `1 <= offset <= at` and `at + SHORT_MAX + 16 <= target.len()`.
#[inline(always)]
unsafe fn copy_long_match<E: Engine>(
    engine: E,
    target: &mut [u8],
    at: usize,
    offset: usize,
    length: usize,
) {
    const { assert!(size_of::<E::Wide>() == 16) };
    let from = at - offset;
    if offset >= 16 {
        // SAFETY: the first 16 of `SHORT_MAX` bytes; `from` lies before.
        unsafe { copy_inside::<E::Wide>(target, from, at) };
        // SAFETY: the second 16 of `SHORT_MAX` bytes.
        unsafe { copy_inside::<E::Wide>(target, from + 16, at + 16) };
        if length > 32 {
            // SAFETY: the third 16 of `SHORT_MAX` bytes.
            unsafe { copy_inside::<E::Wide>(target, from + 32, at + 32) };
            // SAFETY: the fourth 16 of `SHORT_MAX` bytes.
            unsafe { copy_inside::<E::Wide>(target, from + 48, at + 48) };
        }
    } else if offset >= 8 {
        cold_path();
        for k in (0..length).step_by(8) {
            // SAFETY: `k < length`, so the piece ends less than 8 bytes behind the match.
            unsafe { copy_inside::<u64>(target, from + k, at + k) };
        }
    } else {
        cold_path();
        // SAFETY: the same conditions.
        unsafe { engine.repeat(target, at, offset, length) };
    }
}
