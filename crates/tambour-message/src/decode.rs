//! Turns the bits of a message back into its bytes.

use crate::Malformed;
use crate::bits::BitReader;
use crate::code::{CODE_BITS_MAX, Code};
use crate::matches::Layout;
use crate::model::Model;
use crate::symbol::{
    self, AfterMatch, CLASSES, DISTANCE_SYMBOLS, DISTANCES, LENGTHS, MAIN_RAW_BITS, REPEATS,
    class_start,
};
use crate::table::{Entry, FROM, LENGTH_STARTS};

/// Bytes of any value that must follow a message in its buffer: copies may reach so far beyond it.
pub(crate) const DECODE_MARGIN: usize = 2 * PIECE;
/// Bytes that are copied at once.
const PIECE: usize = 16;
/// Bits that a reader holds at least.
const HELD: u32 = 56;
/// Main codes that are read between two refills.
const LITERALS: u32 = HELD / CODE_BITS_MAX;
/// Most bits after a class.
const EXTRA_MAX: u32 = 22;

const _: () =
    assert!(CODE_BITS_MAX + MAIN_RAW_BITS + EXTRA_MAX <= HELD, "a symbol and its bits are held");
const _: () = assert!(LITERALS * CODE_BITS_MAX <= HELD && CODE_BITS_MAX + EXTRA_MAX <= HELD);

/// Decodes a payload, which has a [`MARGIN`](crate::bits::MARGIN) of zeros after it, into what lies after dictionary and pin in
/// the buffer, up to `end`; [`DECODE_MARGIN`] bytes follow that.
pub(crate) fn decode(
    payload: &[u8],
    buffer: &mut [u8],
    (layout, end): (Layout, usize),
    model: &Model,
) -> Result<(), Malformed> {
    let buffer = &mut buffer[..end + DECODE_MARGIN];
    let mut reader = BitReader::new(payload);
    let mut at = layout.start();
    let mut context = at.checked_sub(1).map_or(0, |at| model.after_match.context(buffer[at]));
    let mut recent = Recent::new(layout.pin_bytes);
    'refilled: while at < end {
        reader.refill()?;
        for _ in 0..LITERALS {
            let entry = model.main_table.read(context, &reader);
            let count = entry.count();
            if count == 0 {
                reader.refill()?;
                let found = if entry.symbol() < CLASSES {
                    Ok(class_length(entry, &mut reader))
                } else {
                    escaped(&model.main[context], entry, &mut reader)?
                };
                let (length, used) = match found {
                    Ok(found) => found,
                    Err(literal) => {
                        buffer[at] = literal;
                        at += 1;
                        context = symbol::after_literal(literal);
                        continue 'refilled;
                    }
                };
                if length > end - at {
                    return Err(Malformed::Match { at: reader.at(), length });
                }
                let distance = distance((&mut reader, used), model, &mut recent)?;
                if distance.wrapping_sub(1) >= at {
                    return Err(Malformed::Distance { at: reader.at(), distance });
                }
                copy(buffer, at, distance, length);
                // The same as the last byte of the match, and there already, mostly.
                context = match model.after_match {
                    AfterMatch::Nothing => 0,
                    byte @ AfterMatch::Byte => byte.context(buffer[at - distance + length - 1]),
                };
                at += length;
                continue 'refilled;
            }
            let [first, second] = entry.bytes();
            buffer[at] = first;
            buffer[at + 1] = second;
            if at + count >= end {
                // The bits of a second literal would be those that fill the last byte.
                reader.skip(if at + count > end { entry.bits() } else { entry.total() });
                return reader.finish();
            }
            reader.skip_by(entry.shift());
            at += count;
            context = entry.context();
        }
    }
    reader.finish()
}

/// The bits from one place up to another.
#[inline(always)]
fn between(held: u64, from: u32, to: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "22 bits at most")]
    let bits = ((held & ((1 << to) - 1)) >> from) as u32;
    bits
}

/// The length of a match, and how many bits it took.
#[inline(always)]
fn class_length(entry: Entry, reader: &mut BitReader<'_>) -> (usize, u32) {
    let extra = between(reader.peek(), entry.bits(), entry.total());
    reader.skip_by(entry.shift());
    ((LENGTH_STARTS[entry.symbol()] + extra) as usize, entry.total())
}

/// What comes after the escape: the same, or a literal.
#[cold]
fn escaped(
    code: &Code,
    entry: Entry,
    reader: &mut BitReader<'_>,
) -> Result<Result<(usize, u32), u8>, Malformed> {
    if entry.bits() == 0 {
        return Err(Malformed::Code { at: reader.at() });
    }
    reader.skip(entry.bits());
    let symbol = code.read_escaped(reader)?;
    if let Ok(literal) = u8::try_from(symbol) {
        return Ok(Err(literal));
    }
    let class = symbol - LENGTHS;
    Ok(Ok(((LENGTH_STARTS[class] + reader.take(class_start(class).1)) as usize, HELD)))
}

/// The distances used last, newest first, and 0.
struct Recent([usize; REPEATS + 1]);

impl Recent {
    fn new(pin_bytes: usize) -> Self {
        let [one, two, three] = symbol::Recent::new(pin_bytes).0;
        Self([one, two, three, 0])
    }

    /// The distance of a symbol and the bits after it, which is remembered; one that cannot be is for the caller to see.
    #[inline(always)]
    fn take(&mut self, symbol: usize, bits: u32) -> usize {
        let from = FROM[symbol];
        let [first, second, third, _] = self.0;
        let distance =
            self.0[from.recent % self.0.len()].wrapping_add(from.add).wrapping_add(bits as usize);
        let near = (REPEATS..DISTANCES).contains(&symbol);
        let keeps = symbol == 0 || near;
        self.0[0] = distance;
        self.0[1] = if keeps { second } else { first };
        self.0[2] = if keeps || symbol == 1 { third } else { second };
        distance
    }
}

/// Reads a distance, after this many bits since the last refill; one that cannot be is for the caller to see.
#[inline(always)]
fn distance(
    (reader, used): (&mut BitReader<'_>, u32),
    model: &Model,
    recent: &mut Recent,
) -> Result<usize, Malformed> {
    if used > HELD - CODE_BITS_MAX - EXTRA_MAX {
        reader.refill()?;
    }
    let entry = model.distance_table.read(reader);
    let symbol = entry.symbol();
    if symbol >= DISTANCE_SYMBOLS - 1 {
        return rare_distance(reader, (&model.distance, entry), recent);
    }
    let held = reader.peek();
    reader.skip_by(entry.shift());
    Ok(recent.take(symbol, between(held, entry.bits(), entry.total())))
}

#[cold]
fn rare_distance(
    reader: &mut BitReader<'_>,
    (code, entry): (&Code, Entry),
    recent: &mut Recent,
) -> Result<usize, Malformed> {
    if entry.bits() == 0 {
        return Err(Malformed::Code { at: reader.at() });
    }
    reader.skip(entry.bits());
    // The length before, the escape and what follows it can be more than is held.
    reader.refill()?;
    let symbol = code.read_escaped(reader)?;
    let extra = symbol.checked_sub(DISTANCES).map_or(0, |class| class_start(class).1);
    Ok(recent.take(symbol, reader.take(extra)))
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
    for half in [0, PIECE] {
        let mut piece = [0; PIECE];
        piece.copy_from_slice(&buffer[from + half..from + half + PIECE]);
        buffer[at + half..at + half + PIECE].copy_from_slice(&piece);
    }
    if length > 2 * PIECE {
        copy_rest(buffer, at, distance, length);
    }
}

/// The same, where two pieces are done.
#[inline(never)]
fn copy_rest(buffer: &mut [u8], at: usize, distance: usize, length: usize) {
    let from = at - distance;
    if distance >= length {
        buffer.copy_within(from + 2 * PIECE..from + length, at + 2 * PIECE);
        return;
    }
    for step in (2 * PIECE..length).step_by(PIECE) {
        let mut piece = [0; PIECE];
        piece.copy_from_slice(&buffer[from + step..from + step + PIECE]);
        buffer[at + step..at + step + PIECE].copy_from_slice(&piece);
    }
}

#[cfg(test)]
mod tests {
    use super::{EXTRA_MAX, Recent, distance};
    use crate::bits::{BitReader, BitWriter, MARGIN};
    use crate::code::{CODE_BITS_MAX, Code};
    use crate::model::{Counts, Model};
    use crate::symbol::{
        self, CLASSES, DISTANCE_RAW_BITS, DISTANCE_SYMBOLS, DISTANCES, class_start,
    };
    use crate::table::DistanceTable;

    /// However many bits a length has taken, those of the rarest distance are held.
    #[test]
    fn escaped_distances_are_read_whole() {
        let mut lengths = vec![0; DISTANCE_SYMBOLS];
        (lengths[0], lengths[DISTANCE_SYMBOLS - 1]) = (1, 11);
        let code = Code::from_lengths(lengths, DISTANCE_RAW_BITS).unwrap();
        let mut model = Model::from_counts(&Counts::assumed()).unwrap();
        model.distance_table = DistanceTable::new(&code);
        model.distance = code;
        for used in 0..=CODE_BITS_MAX + EXTRA_MAX {
            for class in 0..CLASSES {
                let (start, extra) = class_start(class);
                let bits = (1_u64 << extra) - 1;
                let mut bytes = vec![0; 64];
                let mut writer = BitWriter::new(&mut bytes);
                writer.put((1 << used) - 1, used);
                writer.put(model.distance.word(DISTANCE_SYMBOLS - 1).into(), 11);
                writer.put((DISTANCES + class) as u64, DISTANCE_RAW_BITS);
                writer.put(bits, extra);
                let length = writer.finish();
                let mut reader = BitReader::new(&bytes[..length + MARGIN]);
                reader.refill().unwrap();
                reader.skip(used);
                let read = distance((&mut reader, used), &model, &mut Recent::new(9)).unwrap();
                assert_eq!(read as u64, u64::from(start) + bits + 1, "{used} {class}");
                reader.finish().unwrap();
            }
        }
    }

    #[test]
    fn distances_come_back() {
        let mut written = symbol::Recent::new(300);
        let mut read = Recent::new(300);
        for distance in [300, 301, 293, 5000, 301, 4999, 1, 2, 70_000, 1, 3, 11, 3, 2, 1] {
            let found = written.symbol(distance);
            written.push(found.class, distance);
            assert_eq!(read.take(found.class, found.bits), distance);
            assert_eq!(read.0[..3], written.0);
        }
    }
}
