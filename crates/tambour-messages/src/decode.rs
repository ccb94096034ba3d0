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

/// Bits of the longest main symbol, and of those behind it.
const SYMBOL_BITS_MAX: u32 = CODE_BITS_MAX + MAIN_RAW_BITS + 22;

/// Decodes into what lies behind dictionary and pin in the buffer, all of it.
pub(crate) fn decode(
    payload: &[u8],
    buffer: &mut [u8],
    layout: Layout,
    model: &Model,
) -> Result<(), Malformed> {
    let mut reader = BitReader::new(payload);
    let mut at = layout.start();
    let mut context = at.checked_sub(1).map_or(0, |before| after_match(buffer[before]));
    let mut recent = Recent::new(layout.pin_bytes);
    while at < buffer.len() {
        if reader.held_bits() < SYMBOL_BITS_MAX {
            reader.refill();
        }
        let table = &model.main_table[context * TABLE_ENTRIES..][..TABLE_ENTRIES];
        let entry = read(table, &mut reader)?;
        let mut symbol = entry.symbol();
        if symbol == MAIN_SYMBOLS - 1 {
            symbol = model.main[context].read_escaped(&mut reader)?;
            reader.refill();
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
        let length = (start + reader.take(count)?) as usize + MATCH_MIN;
        if length > buffer.len() - at {
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
    reader.refill();
    let mut symbol = read(&model.distance_table, reader)?.symbol();
    if symbol == DISTANCE_SYMBOLS - 1 {
        symbol = model.distance.read_escaped(reader)?;
        reader.refill();
    }
    let distance = if symbol < DISTANCES {
        recent.distance(symbol)
    } else {
        let (start, count) = class_start(symbol - DISTANCES);
        (start + reader.take(count)?) as usize + 1
    };
    recent.push(symbol, distance);
    Ok(distance)
}

/// Repeats `length` bytes from `distance` before `at`.
#[inline(always)]
fn copy(buffer: &mut [u8], at: usize, distance: usize, length: usize) {
    let from = at - distance;
    if distance >= length {
        buffer.copy_within(from..from + length, at);
        return;
    }
    for step in 0..length {
        buffer[at + step] = buffer[from + step];
    }
}
