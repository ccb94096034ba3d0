//! Turns the bits of a message back into its bytes.

use crate::Malformed;
use crate::bits::BitReader;
use crate::code::{CODE_BITS_MAX, TABLE_ENTRIES, read};
use crate::matches::Layout;
use crate::model::Model;
use crate::symbol::{
    self, DISTANCE_SYMBOLS, DISTANCES, LENGTHS, MAIN_RAW_BITS, MAIN_SYMBOLS, MATCH_MIN, Recent,
    class_start,
};

/// Bytes of any value that must follow a message in its buffer: copies may reach so far beyond it.
pub(crate) const DECODE_MARGIN: usize = 32;
/// Bytes that are copied at once.
const PIECE: usize = 16;

const _: () = assert!(CODE_BITS_MAX + MAIN_RAW_BITS + 22 <= 56, "a symbol and its bits are held");

/// Decodes a payload, which has a [`MARGIN`](crate::bits::MARGIN) of zeros after it, into what lies after dictionary and pin in
/// the buffer, up to `end`; [`DECODE_MARGIN`] bytes follow that.
pub(crate) fn decode(
    payload: &[u8],
    buffer: &mut [u8],
    (layout, end): (Layout, usize),
    model: &Model,
) -> Result<(), Malformed> {
    let mut reader = BitReader::new(payload);
    let mut at = layout.start();
    let mut context = at.checked_sub(1).map_or(0, |before| after_match(buffer[before]));
    let mut recent = Recent::new(layout.pin_bytes);
    while at < end {
        reader.refill()?;
        let table = &model.main_table[context * TABLE_ENTRIES..][..TABLE_ENTRIES];
        let entry = read(table, &mut reader)?;
        let mut symbol = entry.symbol();
        if symbol == MAIN_SYMBOLS - 1 {
            symbol = model.main[context].read_escaped(&mut reader)?;
        }
        #[expect(clippy::cast_possible_truncation, reason = "just compared")]
        if symbol < LENGTHS {
            let escaped = entry.symbol() != symbol;
            context = if escaped { after_literal(symbol as u8) } else { entry.mark() };
            buffer[at] = symbol as u8;
            at += 1;
            continue;
        }
        let (start, count) = class_start(symbol - LENGTHS);
        let length = (start + reader.take(count)) as usize + MATCH_MIN;
        if length > end - at {
            return Err(Malformed::Match { at: reader.at(), length });
        }
        let distance = distance(&mut reader, model, &mut recent)?;
        if distance == 0 || distance > at {
            return Err(Malformed::Distance { at: reader.at(), distance });
        }
        copy(buffer, at, distance, length);
        at += length;
        context = after_match(buffer[at - 1]);
    }
    reader.finish()
}

fn after_match(before: u8) -> usize {
    symbol::context(before, false)
}

fn after_literal(literal: u8) -> usize {
    symbol::context(literal, true)
}

/// Reads a distance; one that cannot be is for the caller to see.
#[inline(always)]
fn distance(
    reader: &mut BitReader<'_>,
    model: &Model,
    recent: &mut Recent,
) -> Result<usize, Malformed> {
    reader.refill()?;
    let mut symbol = read(&model.distance_table, reader)?.symbol();
    if symbol == DISTANCE_SYMBOLS - 1 {
        symbol = model.distance.read_escaped(reader)?;
    }
    let distance = if symbol < DISTANCES {
        recent.distance(symbol)
    } else {
        let (start, count) = class_start(symbol - DISTANCES);
        (start + reader.take(count)) as usize + 1
    };
    recent.push(symbol, distance);
    Ok(distance)
}

/// Repeats `length` bytes from `distance` before `at`, in pieces that may reach beyond them.
#[inline(always)]
fn copy(buffer: &mut [u8], at: usize, distance: usize, length: usize) {
    let from = at - distance;
    if distance < PIECE {
        for step in 0..length {
            buffer[at + step] = buffer[from + step];
        }
        return;
    }
    let mut step = 0;
    while step < length {
        let mut piece = [0; PIECE];
        piece.copy_from_slice(&buffer[from + step..from + step + PIECE]);
        buffer[at + step..at + step + PIECE].copy_from_slice(&piece);
        step += PIECE;
    }
}
