//! Turns the bits of a message back into its bytes.

use crate::Malformed;
use crate::bits::BitReader;
use crate::matches::Layout;
use crate::model::Model;
use crate::symbol::{DISTANCES, LENGTHS, MATCH_MIN, Recent, class_start, context};

/// Decodes into what lies behind dictionary and pin in the buffer, all of it.
pub(crate) fn decode(
    payload: &[u8],
    buffer: &mut [u8],
    layout: Layout,
    model: &Model,
) -> Result<(), Malformed> {
    let mut reader = BitReader::new(payload);
    let mut at = layout.start();
    let mut before = at.checked_sub(1).map_or(0, |at| buffer[at]);
    let mut recent = Recent::new(layout.pin_bytes);
    let mut after_literal = false;
    while at < buffer.len() {
        reader.refill();
        let symbol = model.main[context(before, after_literal)].read(&mut reader)?;
        #[expect(clippy::cast_possible_truncation, reason = "just compared")]
        if symbol < LENGTHS {
            before = symbol as u8;
            after_literal = true;
            buffer[at] = before;
            at += 1;
            continue;
        }
        let (start, count) = class_start(symbol - LENGTHS);
        let length = (start + reader.take(count)?) as usize + MATCH_MIN;
        if length > buffer.len() - at {
            return Err(Malformed::Match { at: reader.at(), length });
        }
        reader.refill();
        let symbol = model.distance.read(&mut reader)?;
        let distance = if symbol < DISTANCES {
            recent.distance(symbol)
        } else {
            let (start, count) = class_start(symbol - DISTANCES);
            (start + reader.take(count)?) as usize + 1
        };
        if distance == 0 || distance > at {
            return Err(Malformed::Distance { at: reader.at(), distance });
        }
        recent.push(symbol, distance);
        copy(buffer, at, distance, length);
        at += length;
        before = buffer[at - 1];
        after_literal = false;
    }
    reader.finish()
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
