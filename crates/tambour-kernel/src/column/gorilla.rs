//! Exclusive ors of neighbours in bits: little for values that seldom change, and then only in some bits.
//!
//! The first value stands in full; then, for each value, its exclusive or with the one before it: nothing, or bits in the same
//! place as last time, or a *record* of a new place with its bits.

use super::bits::{Reader, Writer};
use super::{Malformed, Width, Word, by_width};

/// Bytes that [`encode`] writes at most for `count` values: two bits, a place and a value each.
pub const fn bound(width: Width, count: usize) -> usize {
    width.bytes() + (count * (2 + 13 + width.bits() as usize)).div_ceil(8) + 8
}

/// Where the bits of an exclusive or are.
#[derive(Clone, Copy)]
struct Record {
    /// Zero bits above, out of the width of a value.
    leading: u32,
    /// Bits of data.
    bits: u32,
    /// Zero bits below.
    trailing: u32,
}

/// Bits of the field that counts data bits; the one of leading zeros has one bit less.
const fn count_bits(value_bits: u32) -> u32 {
    value_bits.trailing_zeros() + 1
}

/// Encodes the values of `source`, a multiple of the width, and returns how many bytes of `target` were used.
pub fn encode(width: Width, source: &[u8], target: &mut [u8]) -> usize {
    assert!(source.len().is_multiple_of(width.bytes()));
    assert!(target.len() >= bound(width, source.len() / width.bytes()));
    by_width!(width, encode_words(source, target))
}

fn encode_words<W: Word>(source: &[u8], target: &mut [u8]) -> usize {
    let mut values = source.chunks_exact(W::BYTES).map(W::read);
    let Some(first) = values.next() else { return 0 };
    first.write(&mut target[..W::BYTES]);
    let mut previous = first.wide();
    let mut record: Option<Record> = None;
    let mut writer = Writer::new(target, W::BYTES);
    for value in values.map(W::wide) {
        let xor = value ^ previous;
        previous = value;
        if xor == 0 {
            writer.push(0, 1);
            continue;
        }
        let leading = xor.leading_zeros() - (64 - W::BITS);
        let trailing = xor.trailing_zeros();
        if let Some(last) = record.filter(|r| leading >= r.leading && trailing >= r.trailing) {
            writer.push(0b10, 2);
            writer.push(xor >> last.trailing, last.bits);
            continue;
        }
        let bits = W::BITS - leading - trailing;
        let field = count_bits(W::BITS);
        let place = (0b11 << (field - 1) | u64::from(leading)) << field | u64::from(bits);
        writer.push(place, 2 + field - 1 + field);
        writer.push(xor >> trailing, bits);
        record = Some(Record { leading, bits, trailing });
    }
    writer.finish()
}

/// Decodes as many values as `target`, a multiple of the width, has room for. Bytes behind the last item are not looked at.
pub fn decode(width: Width, source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
    assert!(target.len().is_multiple_of(width.bytes()));
    by_width!(width, decode_words(source, target))
}

fn decode_words<W: Word>(source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
    let mut targets = target.chunks_exact_mut(W::BYTES);
    let Some(place) = targets.next() else { return Ok(()) };
    let Some(first) = source.get(..W::BYTES) else {
        return Err(Malformed { at: source.len(), reason: "first value cut short" });
    };
    place.copy_from_slice(first);
    let mut value = W::read(first).wide();
    let mut record: Option<Record> = None;
    let mut reader = Reader::new(source, W::BYTES);
    for place in targets {
        let window = reader.window();
        if window >> 63 == 0 {
            reader.skip(1);
        } else {
            // Prefix, and fields if any: what is left of the window may have all the data.
            let mut front = 2;
            if window >> 62 == 0b11 {
                front += 2 * count_bits(W::BITS) - 1;
                record = Some(read_record::<W>(window, reader.at())?);
            }
            let Some(Record { bits, trailing, .. }) = record else {
                return Err(Malformed { at: reader.at(), reason: "bits without a place" });
            };
            let data = if front + bits <= Reader::WINDOW_BITS {
                reader.skip(front + bits);
                window << front >> (64 - bits)
            } else {
                reader.skip(front);
                reader.take(bits)
            };
            value ^= data << trailing;
        }
        W::narrow(value).write(place);
    }
    if reader.is_past_end() {
        return Err(Malformed { at: source.len(), reason: "bits end before the last value" });
    }
    Ok(())
}

/// The record whose prefix a window starts with, at a byte of the source.
#[inline(always)]
fn read_record<W: Word>(window: u64, at: usize) -> Result<Record, Malformed> {
    let field = count_bits(W::BITS);
    #[expect(clippy::cast_possible_truncation, reason = "at most 13 bits")]
    let place = (window << 2 >> (64 - (2 * field - 1))) as u32;
    let (leading, bits) = (place >> field, place & ((1 << field) - 1));
    if bits == 0 || leading + bits > W::BITS {
        return Err(Malformed { at, reason: "leading zeros and data bits do not fit the width" });
    }
    Ok(Record { leading, bits, trailing: W::BITS - leading - bits })
}
