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
    let Some((place, target)) = target.split_at_mut_checked(W::BYTES) else { return Ok(()) };
    let first = W::read(&source[..W::BYTES]);
    first.write(place);
    let Some((place, target)) = target.split_at_mut_checked(W::BYTES) else { return Ok(()) };
    let delta = W::read(&source[W::BYTES..2 * W::BYTES]);
    let mut sums = Sums { value: first.add(delta), delta };
    sums.value.write(place);
    let mut reader = Reader::new(source, 2 * W::BYTES);
    let mut done = 0;
    while done < target.len() {
        let window = reader.window();
        let short = if window >> (64 - STEADY) == 0 { STEADY as usize } else { SHORT_ITEMS };
        let end = target.len().min(done + short * W::BYTES);
        let piece = &mut target[done..end];
        if window >> (64 - STEADY) == 0 {
            steady(&mut reader, &mut sums, piece);
        } else {
            items(&mut reader, window, &mut sums, piece);
        }
        done = end;
    }
    if reader.is_past_end() {
        return Err(Malformed { at: source.len(), reason: "bits end before the last value" });
    }
    Ok(())
}

/// The last value and the last difference.
#[derive(Clone, Copy)]
struct Sums<W> {
    value: W,
    delta: W,
}

impl<W: Word> Sums<W> {
    /// The next value, whose difference differs by `change` from the last.
    #[inline(always)]
    fn add(&mut self, change: u64) -> W {
        self.delta = self.delta.add(W::narrow(change));
        self.value = self.value.add(self.delta);
        self.value
    }
}

/// So many items of no change are taken at once.
const STEADY: u32 = 56;
/// Items that a window always has, if they are short.
const SHORT_ITEMS: usize = 3;
/// Most bits of the magnitude of a short item; with prefix and sign it has five more.
const SHORT_BITS: u8 = 11;
const _: () = assert!(3 * (SHORT_BITS as u32 + 5) <= Reader::WINDOW_BITS);

/// Values whose differences are all the same.
#[inline(always)]
fn steady<W: Word>(reader: &mut Reader<'_>, sums: &mut Sums<W>, piece: &mut [u8]) {
    for place in piece.chunks_exact_mut(W::BYTES) {
        sums.value = sums.value.add(sums.delta);
        sums.value.write(place);
        reader.skip(1);
    }
}

/// At most [`SHORT_ITEMS`] values, by the window at the reader; one that is not short goes by a window of its own.
#[inline(always)]
fn items<W: Word>(reader: &mut Reader<'_>, window: u64, sums: &mut Sums<W>, piece: &mut [u8]) {
    let mut rest = window;
    for place in piece.chunks_exact_mut(W::BYTES) {
        let kind = KINDS[(rest >> 59) as usize];
        if kind.bits > SHORT_BITS {
            sums.add(long_item(reader)).write(place);
            rest = reader.window();
            continue;
        }
        sums.add(kind.change(rest)).write(place);
        rest <<= kind.total;
        reader.skip(kind.total.into());
    }
}

/// What the first five bits of an item say.
#[derive(Clone, Copy)]
struct Kind {
    /// Bits of the prefix and the sign.
    prefix: u8,
    /// Bits of the magnitude.
    bits: u8,
    /// What is missing from the magnitude.
    more: u8,
    /// Bits of all; to add them up here would make the next item wait.
    total: u8,
}

impl Kind {
    const fn new(prefix: u8, bits: u8) -> Self {
        Self { prefix, bits, more: (bits > 0) as u8, total: prefix + bits }
    }

    /// The change that an item at the top of a window says, in two's complement.
    #[inline(always)]
    fn change(self, window: u64) -> u64 {
        let (prefix, bits) = (u32::from(self.prefix), u32::from(self.bits));
        // An item of one bit has no sign, but a bit that is 0 in its place.
        let sign = window << (prefix - 1) >> 63;
        // In two steps, since there may be no bits.
        let magnitude = (window << prefix >> 1 >> (63 - bits)) + u64::from(self.more);
        (magnitude ^ sign.wrapping_neg()).wrapping_add(sign)
    }
}

static KINDS: [Kind; 32] = {
    let mut kinds = [Kind::new(1, 0); 32];
    let mut first = 0b10000;
    while first < 32 {
        kinds[first] = match first {
            0b10000..0b11000 => Kind::new(3, 6),
            0b11000..0b11100 => Kind::new(4, 8),
            0b11100..0b11110 => Kind::new(5, 11),
            0b11110 => Kind::new(6, 31),
            _ => Kind::new(6, 63),
        };
        first += 1;
    }
    kinds
};

/// An item of more bits than the short ones.
#[cold]
fn long_item(reader: &mut Reader<'_>) -> u64 {
    let window = reader.window();
    let kind = KINDS[(window >> 59) as usize];
    if u32::from(kind.total) <= Reader::WINDOW_BITS {
        reader.skip(kind.total.into());
        return kind.change(window);
    }
    let negative = window << (kind.prefix - 1) >> 63 != 0;
    reader.skip(kind.prefix.into());
    let magnitude = reader.take(kind.bits.into()) + 1;
    if negative { magnitude.wrapping_neg() } else { magnitude }
}
