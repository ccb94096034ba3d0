//! Exclusive ors of neighbours in bits: little for values that seldom change, and then only in some bits.
//!
//! The first value stands in full; then, for each value, its exclusive or with the one before it: nothing, or bits in the same
//! place as last time, or a *record* of a new place with its bits.

mod decode;

use super::bits::Writer;
use super::{DecodeItems, Width, Word, by_width};
use crate::variant::{Isa, Variant, Variants};

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
///
/// ```
/// use tambour_kernel::column::{Width, gorilla};
/// let values: Vec<u8> = [21.5_f64, 21.5, 21.5, 21.25].iter().flat_map(|v| v.to_le_bytes()).collect();
/// let mut encoded = vec![0; gorilla::bound(Width::W8, 4)];
/// let length = gorilla::encode(Width::W8, &values, &mut encoded);
/// assert!(length < values.len() / 2);
///
/// let mut decoded = vec![0; values.len()];
/// gorilla::DECODE_VARIANTS.best().decode(Width::W8, &encoded[..length], &mut decoded)?;
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

/// The decoders, best first. They look at no bytes after the last item.
pub static DECODE_VARIANTS: Variants<DecodeItems> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    Variant { name: "avx2", isa: Isa::Avx2, run: decode::with_bit_counts },
    Variant { name: "scalar", isa: Isa::Scalar, run: decode::anywhere },
]);
