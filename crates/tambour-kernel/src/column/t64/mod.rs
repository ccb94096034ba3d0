//! The low bits of 64 values at a time, as planes: row by row of bytes, or bit by bit.
//!
//! A group of 64 values takes 64 bits for each bit that is kept. With [`Planes::Bytes`] whole bytes are stored as rows of 64
//! bytes, and only the bits above them as words, one per bit, value `i` at bit `i`; with [`Planes::Bits`] all bits are words.

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;

use super::bits::{mask, transpose};
use super::{Width, Word, by_width};
use crate::variant::{Runnable, Variants};

/// Values in a group.
pub const GROUP: usize = 64;

/// How whole bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planes {
    /// As rows of bytes.
    Bytes,
    /// As words of bits, like the rest.
    Bits,
}

/// What is stored of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Width of a value.
    pub width: Width,
    /// Low bits that are stored; 1 to the bits of the width.
    pub bits: u32,
    /// How.
    pub planes: Planes,
}

impl Shape {
    /// Bytes that this many values take; the last group is always whole.
    pub const fn packed_bytes(self, count: usize) -> usize {
        count.div_ceil(GROUP) * self.group_bytes()
    }

    const fn group_bytes(self) -> usize {
        self.bits as usize * 8
    }

    /// Rows of bytes, and words of bits after them.
    const fn rows_and_words(self) -> (usize, usize) {
        match self.planes {
            Planes::Bytes => (self.bits as usize / 8, self.bits as usize % 8),
            Planes::Bits => (0, self.bits as usize),
        }
    }

    fn check(self, values: usize, packed: usize) {
        assert!((1..=self.width.bits()).contains(&self.bits));
        assert!(values.is_multiple_of(self.width.bytes()));
        assert!(packed == self.packed_bytes(values / self.width.bytes()));
    }
}

/// A decoder: shape, bits above those stored, source, target. Calling it needs the instruction set of its variant; a
/// [`Runnable`] stands for that, and checks the lengths.
pub type Decode = unsafe fn(Shape, [u64; 2], &[u8], &mut [u8]);

/// The decoders, best first.
pub static DECODE_VARIANTS: Variants<Decode> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    avx512::VARIANT,
    #[cfg(target_arch = "x86_64")]
    avx2::VARIANT,
    scalar::VARIANT,
]);

/// Packs the values of `source`, a multiple of the width, into [`Shape::packed_bytes`].
///
/// ```
/// use tambour_kernel::column::{Width, t64::{self, Planes, Shape}};
/// let values: Vec<u8> = (0..64_u32).flat_map(|i| (i % 8).to_le_bytes()).collect();
/// let shape = Shape { width: Width::W4, bits: 3, planes: Planes::Bytes };
/// let mut packed = vec![0; shape.packed_bytes(64)];
/// assert_eq!(packed.len(), 24, "64 values of 3 bits");
/// t64::encode(shape, &values, &mut packed);
///
/// let mut decoded = vec![0; values.len()];
/// t64::DECODE_VARIANTS.best().decode(shape, [0, 0], &packed, &mut decoded);
/// assert_eq!(decoded, values);
/// ```
pub fn encode(shape: Shape, source: &[u8], target: &mut [u8]) {
    shape.check(source.len(), target.len());
    by_width!(shape.width, encode_words(shape, source, target));
}

fn encode_words<W: Word>(shape: Shape, source: &[u8], target: &mut [u8]) {
    let (rows, _) = shape.rows_and_words();
    let groups = source.chunks(GROUP * W::BYTES).zip(target.chunks_exact_mut(shape.group_bytes()));
    for (source, target) in groups {
        let mut planes = [[0; GROUP]; 8];
        for (i, value) in source.chunks_exact(W::BYTES).enumerate() {
            let value = W::read(value).wide() & mask(shape.bits);
            for (plane, byte) in planes[..W::BYTES].iter_mut().zip(value.to_le_bytes()) {
                plane[i] = byte;
            }
        }
        let (row_bytes, word_bytes) = target.split_at_mut(rows * GROUP);
        for (row, plane) in row_bytes.chunks_exact_mut(GROUP).zip(&planes) {
            row.copy_from_slice(plane);
        }
        for (octet, plane) in word_bytes.chunks_mut(64).zip(&planes[rows..]) {
            let words = transposed(plane);
            octet.copy_from_slice(&words.as_flattened()[..octet.len()]);
        }
    }
}

/// The bits of 64 bytes as words: word `j` has the bits `j`, those of byte `i` at bit `i`.
fn transposed(plane: &[u8; GROUP]) -> [[u8; 8]; 8] {
    let mut words = [[0; 8]; 8];
    let (octets, _) = plane.as_chunks::<8>();
    for (i, octet) in octets.iter().enumerate() {
        let columns = transpose(u64::from_le_bytes(*octet)).to_le_bytes();
        for (word, column) in words.iter_mut().zip(columns) {
            word[i] = column;
        }
    }
    words
}

impl Runnable<Decode> {
    /// Unpacks as many values as `target`, a multiple of the width, has room for. The bits above those stored come from
    /// `above`: its first entry for values whose highest stored bit is clear, its second for the others; below those bits
    /// both are 0.
    pub fn decode(self, shape: Shape, above: [u64; 2], source: &[u8], target: &mut [u8]) {
        shape.check(target.len(), source.len());
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(shape, above, source, target) }
    }
}

/// The least and the greatest of the values of `source`, a multiple of the width; signed values are extended. Unsigned ones
/// of eight bytes come in the same bits. Zeros without values.
///
/// ```
/// use tambour_kernel::column::{Width, t64};
/// assert_eq!(t64::range(Width::W1, false, &[1, 255]), (1, 255));
/// assert_eq!(t64::range(Width::W1, true, &[1, 255]), (-1, 1));
/// ```
pub fn range(width: Width, signed: bool, source: &[u8]) -> (i64, i64) {
    assert!(source.len().is_multiple_of(width.bytes()));
    by_width!(width, range_words(signed, source))
}

fn range_words<W: Word>(signed: bool, source: &[u8]) -> (i64, i64) {
    let values = || source.chunks_exact(W::BYTES).map(W::read);
    if source.is_empty() {
        return (0, 0);
    }
    if signed {
        let add =
            |(low, high): (i64, i64), value: W| (low.min(value.signed()), high.max(value.signed()));
        return values().fold((i64::MAX, i64::MIN), add);
    }
    let add = |(low, high): (u64, u64), value: W| (low.min(value.wide()), high.max(value.wide()));
    let (low, high) = values().fold((u64::MAX, 0), add);
    (low.cast_signed(), high.cast_signed())
}
