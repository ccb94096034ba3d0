//! The plain loop with AVX2: byte shuffles for overlapping matches, patterns of 32 bytes for long runs.

use super::careful::{self, Outcome, Position, Repeat};
use super::plain::{self, Engine};
use super::{Decode, Malformed};
use crate::copy::{load, store};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m128i, __m256i, _mm_shuffle_epi8, _mm256_broadcastsi128_si256, _mm256_shuffle_epi8,
};

pub(super) const VARIANT: Variant<Decode> = Variant { name: "avx2", isa: Isa::Avx2, run: decode };

/// Proof of AVX2: made only in [`decode`], which cannot be called without.
#[derive(Clone, Copy)]
struct Avx2(());

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn decode(source: &[u8], target: &mut [u8]) -> Result<(), Malformed> {
    plain::decode(Avx2(()), source, target)
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn short_sequences(proof: Avx2, source: &[u8], target: &mut [u8], position: Position) -> Position {
    plain::short_sequences(proof, source, target, position)
}

#[inline(never)]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn sequence(proof: Avx2, source: &[u8], target: &mut [u8], position: Position) -> Outcome {
    careful::sequence(proof, source, target, position)
}

/// `PERIODS[n][k] = k % n`: shuffle indices that repeat the first `n` bytes of a register.
static PERIODS: [[u8; 32]; 16] = {
    let mut table = [[0; 32]; 16];
    let mut n = 1;
    while n < 16 {
        let mut k = 0;
        while k < 32 {
            #[expect(clippy::cast_possible_truncation, reason = "less than 16")]
            let index = (k % n) as u8;
            table[n][k] = index;
            k += 1;
        }
        n += 1;
    }
    table
};

/// `STRIDES[n]`: the largest multiple of `n` that is at most 16.
static STRIDES: [u8; 16] = [0, 16, 16, 15, 16, 15, 12, 14, 16, 9, 10, 11, 12, 13, 14, 15];

impl Repeat for Avx2 {
    #[inline(always)]
    fn pattern(self, target: &[u8], at: usize, offset: usize) -> [u8; 32] {
        let from = at - offset;
        if offset >= 16 {
            return careful::pattern(target, at, offset);
        }
        assert!(at + 32 <= target.len(), "a pattern is for matches of 32 bytes and more");
        // SAFETY: `from` lies before `at`, and 32 bytes follow that.
        let seed = unsafe { load::<__m128i>(target, from) };
        // SAFETY: `self` proves AVX2.
        unsafe { pattern(seed, offset) }
    }
}

/// 32 bytes that repeat the first `offset` bytes (1 to 15) of `seed`.
#[inline]
#[target_feature(enable = "avx2")]
fn pattern(seed: __m128i, offset: usize) -> [u8; 32] {
    let seed = _mm256_broadcastsi128_si256(seed);
    // SAFETY: any 32 bytes make a register.
    let indices = unsafe { core::mem::transmute::<[u8; 32], __m256i>(PERIODS[offset]) };
    let pattern = _mm256_shuffle_epi8(seed, indices);
    // SAFETY: a register is 32 bytes.
    unsafe { core::mem::transmute::<__m256i, [u8; 32]>(pattern) }
}

impl Engine for Avx2 {
    type Wide = __m128i;

    #[inline(always)]
    unsafe fn repeat(self, target: &mut [u8], at: usize, offset: usize, length: usize) {
        // SAFETY: `at - offset + 16 <= at + 16`, which the caller keeps within the target.
        let seed = unsafe { load::<__m128i>(target, at - offset) };
        // SAFETY: rows have 32 bytes, and the mask keeps the row within the table.
        let indices = unsafe { load::<__m128i>(&PERIODS[offset & 15], 0) };
        // SAFETY: `self` proves AVX2, which includes SSSE3.
        let pattern = unsafe { _mm_shuffle_epi8(seed, indices) };
        let stride = usize::from(STRIDES[offset & 15]);
        // SAFETY: the caller has more room than that.
        unsafe { store(target, at, pattern) };
        // SAFETY: the stride is at most 16, and the caller has more room than that.
        unsafe { store(target, at + stride, pattern) };
        let mut covered = stride + 16;
        while covered < length {
            // SAFETY: `covered < length` and `stride <= 16`, so the store ends less than 16 bytes behind the match.
            unsafe { store(target, at + covered + stride - 16, pattern) };
            covered += stride;
        }
    }

    #[inline(always)]
    fn short_sequences(self, source: &[u8], target: &mut [u8], position: Position) -> Position {
        // SAFETY: `self` proves AVX2.
        unsafe { short_sequences(self, source, target, position) }
    }

    #[inline(always)]
    fn sequence(self, source: &[u8], target: &mut [u8], position: Position) -> Outcome {
        // SAFETY: `self` proves AVX2.
        unsafe { sequence(self, source, target, position) }
    }
}
