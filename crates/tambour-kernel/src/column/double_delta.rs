//! Differences of differences in bits: next to nothing for a steady clock.
//!
//! The first value and the first difference stand in full; then, for each value, how much its difference differs from the one
//! before it: a prefix, a sign and a magnitude minus one.

use super::bits::{Reader, Writer};
use super::{Malformed, Width, Word, by_width};

/// Most bits of one item: prefix, sign, magnitude.
const ITEM_BITS_MAX: usize = 5 + 1 + 63;

/// Bytes that [`encode`] writes at most for `count` values.
pub const fn bound(width: Width, count: usize) -> usize {
    2 * width.bytes() + (count * ITEM_BITS_MAX).div_ceil(8) + 8
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
    let Some(second) = values.next() else { return W::BYTES };
    let (mut previous, mut delta) = (second, second.sub(first));
    delta.write(&mut target[W::BYTES..2 * W::BYTES]);
    let mut writer = Writer::new(target, 2 * W::BYTES);
    for value in values {
        let next = value.sub(previous);
        push(&mut writer, next.sub(delta).signed());
        (previous, delta) = (value, next);
    }
    writer.finish()
}

#[inline(always)]
fn push(writer: &mut Writer<'_>, difference: i64) {
    if difference == 0 {
        return writer.push(0, 1);
    }
    let sign = u64::from(difference < 0);
    let magnitude = difference.unsigned_abs() - 1;
    let (prefix, prefix_bits, bits) = match difference {
        -62..=63 => (0b10, 2, 6),
        -254..=255 => (0b110, 3, 8),
        -2046..=2047 => (0b1110, 4, 11),
        -0x7fff_ffff..=0x7fff_fffe => (0b1_1110, 5, 31),
        _ => {
            writer.push(0b11_1110 | sign, 6);
            return writer.push(magnitude, 63);
        }
    };
    writer.push((prefix << 1 | sign) << bits | magnitude, prefix_bits + 1 + bits);
}

/// Decodes as many values as `target`, a multiple of the width, has room for. Bytes behind the last item are not looked at.
pub fn decode(width: Width, source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
    assert!(target.len().is_multiple_of(width.bytes()));
    by_width!(width, decode_words(source, target))
}

fn decode_words<W: Word>(source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
    let count = target.len() / W::BYTES;
    let full = W::BYTES * count.min(2);
    if source.len() < full {
        return Err(Malformed { at: source.len(), reason: "first value or difference cut short" });
    }
    let mut targets = target.chunks_exact_mut(W::BYTES);
    let Some(place) = targets.next() else { return Ok(()) };
    let first = W::read(&source[..W::BYTES]);
    first.write(place);
    let Some(place) = targets.next() else { return Ok(()) };
    let mut delta = W::read(&source[W::BYTES..2 * W::BYTES]);
    let mut value = first.add(delta);
    value.write(place);
    let mut reader = Reader::new(source, 2 * W::BYTES);
    for place in targets {
        delta = delta.add(W::narrow(item(&mut reader)));
        value = value.add(delta);
        value.write(place);
    }
    if reader.is_past_end() {
        return Err(Malformed { at: source.len(), reason: "bits end before the last value" });
    }
    Ok(())
}

/// Magnitude bits by the number of ones in the prefix.
const MAGNITUDE_BITS: [u32; 6] = [0, 6, 8, 11, 31, 63];

/// The next item: a difference, in two's complement.
#[inline(always)]
fn item(reader: &mut Reader<'_>) -> u64 {
    let window = reader.window();
    if window >> 63 == 0 {
        reader.skip(1);
        return 0;
    }
    let ones = window.leading_ones().min(5);
    let prefix_bits = if ones == 5 { 5 } else { ones + 1 };
    let negative = window << prefix_bits >> 63 != 0;
    let bits = MAGNITUDE_BITS[ones as usize];
    reader.skip(prefix_bits + 1);
    let magnitude = reader.take(bits) + 1;
    if negative { magnitude.wrapping_neg() } else { magnitude }
}
