//! The decoder for every machine: safe Rust, no vector instructions asked for.

use super::careful::{
    Outcome, Position, Repeat, WORD_STRIDES, chunk, pattern, repeat_word, sequence,
};
use super::fault::fault;
use super::{Decode, Malformed};
use crate::lz4::{MATCH_MIN, NIBBLE_MAX};
use crate::variant::{Isa, Variant};

pub(super) const VARIANT: Variant<Decode> =
    Variant { name: "scalar", isa: Isa::Scalar, run: decode };

/// While so much is left, [`step`] reads nothing past the source: token, 16 bytes of literals, offset, one length byte.
const SOURCE_MARGIN: usize = 1 + 16 + 2 + 1;
/// While so much is left, [`step`] writes nothing past the target: 14 literals, a match, and a word past its end.
const TARGET_MARGIN: usize = 14 + STEP_MATCH_MAX + 8;
/// Longest match that [`step`] takes.
const STEP_MATCH_MAX: usize = 32;

#[derive(Clone, Copy)]
struct Portable;

impl Repeat for Portable {
    fn pattern(self, target: &[u8], at: usize, offset: usize) -> [u8; 32] {
        pattern(target, at, offset)
    }
}

fn decode(source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
    let mut position = Position::default();
    loop {
        position = short_sequences(source, target, position);
        match long_sequence(source, target, position) {
            Outcome::Next(next) => position = next,
            Outcome::Done => return Ok(()),
            Outcome::Broken => return Err(fault(source, target.len())),
        }
    }
}

/// A function of its own so that nothing but the loop needs registers.
#[inline(never)]
fn short_sequences(source: &[u8], target: &mut [u8], mut position: Position) -> Position {
    while let Some(next) = step(source, target, position) {
        position = next;
    }
    position
}

#[inline(never)]
fn long_sequence(source: &[u8], target: &mut [u8], position: Position) -> Outcome {
    sequence(Portable, source, target, position)
}

/// One short sequence. `None` near the ends, for long sequences and for malformed ones: the careful code takes over.
#[inline(always)]
fn step(source: &[u8], target: &mut [u8], position: Position) -> Option<Position> {
    let Position { i, o } = position;
    let piece = source.get(i..)?.first_chunk::<SOURCE_MARGIN>()?;
    if target.len() - o < TARGET_MARGIN {
        return None;
    }
    let token = usize::from(piece[0]);
    let literals = token >> 4;
    if literals == NIBBLE_MAX {
        return None;
    }
    target[o..o + 16].copy_from_slice(&piece[1..17]);
    let o = o + literals;
    let offset = usize::from(u16::from_le_bytes([piece[1 + literals], piece[2 + literals]]));
    let (mut i, mut length) = (i + 3 + literals, (token & 15) + MATCH_MIN);
    if token & 15 == NIBBLE_MAX {
        length += usize::from(piece[3 + literals]);
        i += 1;
    }
    // One comparison for both: an offset of zero wraps around.
    if length > STEP_MATCH_MAX || offset.wrapping_sub(1) >= o {
        return None;
    }
    copy_match(target, o, offset, length);
    Some(Position { i, o: o + length })
}

/// A match of at most [`STEP_MATCH_MAX`] bytes with as many bytes of room.
#[inline(always)]
fn copy_match(target: &mut [u8], o: usize, offset: usize, length: usize) {
    let from = o - offset;
    if offset >= 16 {
        chunk::<16>(target, from, o);
        if length > 16 {
            chunk::<16>(target, from + 16, o + 16);
        }
    } else if offset >= 8 {
        for k in (0..length).step_by(8) {
            chunk::<8>(target, from + k, o + k);
        }
    } else {
        let word = repeat_word(target, o, offset).to_le_bytes();
        for k in (0..length).step_by(WORD_STRIDES[offset]) {
            target[o + k..o + k + 8].copy_from_slice(&word);
        }
    }
}
