//! CRC-32C (Castagnoli): the checksum of records, frames and pages.
//!
//! A CRC finds every single burst of up to 32 bits, and its register may start at any value: two texts of the same bytes
//! with different starts have different sums, always. Stores start it at what a piece is (its number), so that a piece in
//! the place of another is found as surely as a damaged one.

#[cfg(target_arch = "x86_64")]
mod fold;

use crate::variant::{Isa, Runnable, Variant, Variants};

/// The code of a CRC: opaque, called through a [`Runnable`].
#[derive(Clone, Copy, Debug)]
pub struct Crc32c(unsafe fn(u32, &[u8]) -> u32);

/// The implementations, best first.
pub static CRC32C_VARIANTS: Variants<Crc32c> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    Variant { name: "fold512", isa: Isa::Avx512, run: Crc32c(fold::fold) },
    #[cfg(target_arch = "x86_64")]
    Variant { name: "sse42", isa: Isa::Avx2, run: Crc32c(instruction) },
    Variant { name: "tables", isa: Isa::Scalar, run: Crc32c(tables) },
]);

impl Runnable<Crc32c> {
    /// The sum of `source` with the register at `!start`: with 0, the sum that everybody means. The sum of one piece is the
    /// start of the next.
    #[inline]
    pub fn sum(self, start: u32, source: &[u8]) -> u32 {
        let run = self.run().0;
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(start, source) }
    }
}

/// The sum with the best variant of this CPU; see [`Runnable::<Crc32c>::sum`].
///
/// ```
/// assert_eq!(tambour_kernel::hash::crc32c(0, b"123456789"), 0xe306_9283);
/// ```
pub fn crc32c(start: u32, source: &[u8]) -> u32 {
    CRC32C_VARIANTS.best().sum(start, source)
}

/// Eight bytes per instruction. Every CPU with AVX2 has it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn instruction(start: u32, source: &[u8]) -> u32 {
    use core::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u32, _mm_crc32_u64};
    let (words, rest) = source.as_chunks::<8>();
    let mut register = u64::from(!start);
    for word in words {
        register = _mm_crc32_u64(register, u64::from_le_bytes(*word));
    }
    #[expect(clippy::cast_possible_truncation, reason = "the instruction clears the upper half")]
    let mut register = register as u32;
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        register = _mm_crc32_u32(register, u32::from_le_bytes(*half));
    }
    for byte in rest {
        register = _mm_crc32_u8(register, *byte);
    }
    !register
}

/// The polynomial, lowest power at the top.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// `TABLES[k][b]`: what byte `b` makes of the register when `k` bytes follow it.
static TABLES: [[u32; 256]; 8] = make_tables();

const fn make_tables() -> [[u32; 256]; 8] {
    let mut tables = [[0_u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let mut register = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            register = (register >> 1) ^ (POLYNOMIAL & (register & 1).wrapping_neg());
            bit += 1;
        }
        tables[0][byte] = register;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = (before >> 8) ^ tables[0][(before & 255) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

/// Eight table lookups per eight bytes.
fn tables(start: u32, source: &[u8]) -> u32 {
    let (words, rest) = source.as_chunks::<8>();
    let mut register = !start;
    for word in words {
        let mixed = (u64::from_le_bytes(*word) ^ u64::from(register)).to_le_bytes();
        register = 0;
        for (k, byte) in mixed.iter().enumerate() {
            register ^= TABLES[7 - k][usize::from(*byte)];
        }
    }
    for byte in rest {
        let index = (register ^ u32::from(*byte)) & 255;
        register = (register >> 8) ^ TABLES[0][index as usize];
    }
    !register
}

#[cfg(test)]
mod tests {
    use super::{CRC32C_VARIANTS, POLYNOMIAL, crc32c};

    /// Bit by bit, as it is defined.
    fn naive(start: u32, source: &[u8]) -> u32 {
        let mut register = !start;
        for byte in source {
            register ^= u32::from(*byte);
            for _ in 0..8 {
                register =
                    if register & 1 == 1 { register >> 1 ^ POLYNOMIAL } else { register >> 1 };
            }
        }
        !register
    }

    #[test]
    fn every_variant_is_the_naive_sum_at_every_length() {
        #[expect(clippy::cast_possible_truncation, reason = "any bytes will do")]
        let source: Vec<u8> = (0..700_u32).map(|k| (k * k + k / 7) as u8).collect();
        for variant in CRC32C_VARIANTS.available() {
            for length in 0..source.len() {
                for start in [0, 1, 0xdead_beef] {
                    let got = variant.sum(start, &source[..length]);
                    assert_eq!(got, naive(start, &source[..length]), "{}", variant.name());
                }
            }
        }
    }

    #[test]
    fn sums_chain_and_starts_differ() {
        assert_eq!(crc32c(crc32c(0, b"12345"), b"6789"), 0xe306_9283);
        assert_eq!(crc32c(0, &[0; 32]), 0x8a91_36aa);
        assert_ne!(crc32c(1, b"record"), crc32c(2, b"record"));
    }
}
