//! Differences of differences in bits: next to nothing for a steady clock.
//!
//! The first value and the first difference stand in full; then, for each value, how much its difference differs from the one
//! before it: a prefix, a sign and a magnitude minus one.
//!
//! Where an item starts is known only when the one before it is, so a decoder is as fast as the way from one prefix to the
//! next is short: the ones of the prefix are counted in a register and shifted away by the length that a second register has
//! for that count. Both take one instruction only on CPUs of the variant `avx2`. What the item says, beside that way, is made of
//! its bits by a small table. Four loops share the work, since the data decide which is fastest: one for runs of no change, one
//! for short items, one for items of any length, and one, bit by bit, for the end of the source.

mod decode;

use super::bits::Writer;
use super::{DecodeItems, Width, Word, by_width};
use crate::variant::{Isa, Variant, Variants};

/// Most bits of one item: prefix, sign, magnitude.
const ITEM_BITS_MAX: usize = 5 + 1 + 63;

/// Bytes that [`encode`] writes at most for `count` values.
pub const fn bound(width: Width, count: usize) -> usize {
    2 * width.bytes() + (count * ITEM_BITS_MAX).div_ceil(8) + 8
}

/// Encodes the values of `source`, a multiple of the width, and returns how many bytes of `target` were used.
///
/// ```
/// use tambour_kernel::column::{Width, double_delta};
/// let values: Vec<u8> = (0..100_u32).flat_map(|i| (1000 + 60 * i).to_le_bytes()).collect();
/// let mut encoded = vec![0; double_delta::bound(Width::W4, 100)];
/// let length = double_delta::encode(Width::W4, &values, &mut encoded);
/// assert!(length < 24, "even steps take a bit each");
///
/// let mut decoded = vec![0; 400];
/// double_delta::DECODE_VARIANTS.best().decode(Width::W4, &encoded[..length], &mut decoded)?;
/// assert_eq!(decoded, values);
/// # Ok::<(), tambour_kernel::column::Malformed>(())
/// ```
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

/// The decoders, best first. They look at no bytes after the last item.
pub static DECODE_VARIANTS: Variants<DecodeItems> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    Variant { name: "avx2", isa: Isa::Avx2, run: decode::with_bit_counts },
    Variant { name: "scalar", isa: Isa::Scalar, run: decode::anywhere },
]);
