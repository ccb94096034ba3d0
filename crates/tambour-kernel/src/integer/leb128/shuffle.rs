//! Values of mixed lengths by byte shuffles: up to four per step, without a branch on their lengths.
//!
//! The continuation bits of 64 bytes are taken at once. Twelve of them name a row of [`ROWS`]: how many values end there (at
//! most four), how many bytes they take, and which shuffle puts their bytes into lanes. Five steps need at most 60 bytes, so
//! only the fifth part of the steps waits for a load. Twelve bits hold two values of any length, so each step makes progress.

use super::{Decode, Form, Malformed, scalar};
use crate::integer::memory::{load, store};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_cmpeq_epi8, _mm_madd_epi16, _mm_maddubs_epi16, _mm_movemask_epi8,
    _mm_or_si128, _mm_set1_epi8, _mm_set1_epi16, _mm_set1_epi32, _mm_setzero_si128,
    _mm_shuffle_epi8, _mm_slli_epi32, _mm_unpackhi_epi8, _mm_unpackhi_epi16, _mm_unpacklo_epi8,
    _mm_unpacklo_epi16,
};

/// Bits of a row's number.
const ROW_BITS: usize = 12;

/// Most bytes of a 32-bit value.
const BYTES_MAX: usize = 5;

/// Steps between two looks at the continuation bits.
const STEPS: usize = 5;

/// Distinct shuffles; more would not fit the field of a row.
const SHUFFLES: usize = 512;

/// The lengths of the values that the continuation bits `row` complete, at most four; 0 where there is none.
const fn lengths(row: usize) -> [usize; 4] {
    let mut found = [0; 4];
    let (mut at, mut count) = (0, 0);
    while count < 4 {
        let mut length = 1;
        while at + length <= ROW_BITS && row >> (at + length - 1) & 1 == 1 {
            length += 1;
        }
        if length > BYTES_MAX || at + length > ROW_BITS {
            break;
        }
        found[count] = length;
        at += length;
        count += 1;
    }
    found
}

/// Rows and shuffles.
struct Tables {
    /// Bits 0 to 3: bytes; 4 to 6: values (0: the first value is too long); from 7 on: the shuffle.
    rows: [u16; 1 << ROW_BITS],
    /// Two per set of lengths: the first four bytes of each value, and its fifth at the top of its lane.
    shuffles: [[[u8; 16]; 2]; SHUFFLES],
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "lengths and positions are below 16, shuffles below 512"
)]
const fn tables() -> Tables {
    let mut tables = Tables { rows: [0; 1 << ROW_BITS], shuffles: [[[0x80; 16]; 2]; SHUFFLES] };
    let mut numbers = [0_u16; 6 * 6 * 6 * 6];
    let mut next = 0;
    let mut row = 0;
    while row < 1 << ROW_BITS {
        let lengths = lengths(row);
        let key = lengths[0] + 6 * lengths[1] + 36 * lengths[2] + 216 * lengths[3];
        if numbers[key] == 0 {
            numbers[key] = next + 1;
            next += 1;
        }
        let number = numbers[key] - 1;
        let (mut lane, mut at) = (0, 0);
        while lane < 4 && lengths[lane] > 0 {
            let mut byte = 0;
            while byte < lengths[lane] {
                let to = if byte < 4 { 4 * lane + byte } else { 4 * lane + 3 };
                tables.shuffles[number as usize][byte / 4][to] = (at + byte) as u8;
                byte += 1;
            }
            at += lengths[lane];
            lane += 1;
        }
        tables.rows[row] = at as u16 | (lane as u16) << 4 | number << 7;
        row += 1;
    }
    tables
}

static TABLES: Tables = tables();

macro_rules! variant {
    ($constant:ident, $function:ident, $zero_extend:ident, $name:literal, $isa:expr, $features:literal) => {
        pub(super) const $constant: Variant<Decode<u32>> =
            Variant { name: $name, isa: $isa, run: $function };

        /// Sixteen bytes as values.
        ///
        /// # Safety
        /// `at + 16 <= source.len()` and `done + 16 <= target.len()`.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn $zero_extend(source: &[u8], at: usize, target: &mut [u32], done: usize) {
            // SAFETY: the caller keeps 16 bytes within the source.
            let bytes = unsafe { load::<__m128i, _>(source, at) };
            let zero = _mm_setzero_si128();
            let halves = [_mm_unpacklo_epi8(bytes, zero), _mm_unpackhi_epi8(bytes, zero)];
            for (index, half) in halves.into_iter().enumerate() {
                // SAFETY: the caller keeps 16 values within the target.
                unsafe { store(target, done + 8 * index, _mm_unpacklo_epi16(half, zero)) };
                // SAFETY: as above.
                unsafe { store(target, done + 8 * index + 4, _mm_unpackhi_epi16(half, zero)) };
            }
        }

        #[target_feature(enable = $features)]
        fn $function(source: &[u8], target: &mut [u32], form: Form) -> Result<usize, Malformed> {
            let zero = _mm_setzero_si128();
            let (seven, top) = (_mm_set1_epi8(0x7f), _mm_set1_epi32(0x7000_0000));
            let pairs = _mm_set1_epi16(0x8001_u16.cast_signed());
            let quads = _mm_set1_epi32(0x4000_0001);
            let (mut start, mut done) = (0, 0);
            while source.len() - start >= 64 && target.len() - done >= 64 {
                let (mut more, mut zeros) = (0_u64, 0_u64);
                for part in 0..4 {
                    // SAFETY: 64 bytes of source were checked.
                    let bytes = unsafe { load::<__m128i, _>(source, start + 16 * part) };
                    more |= u64::from(_mm_movemask_epi8(bytes).cast_unsigned()) << (16 * part);
                    let none = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, zero)).cast_unsigned();
                    zeros |= u64::from(none) << (16 * part);
                }
                if more.trailing_zeros() >= 32 {
                    for part in 0..2 {
                        // SAFETY: 64 bytes of source and room for 64 values were checked.
                        unsafe {
                            $zero_extend(source, start + 16 * part, target, done + 16 * part)
                        };
                    }
                    (start, done) = (start + 32, done + 32);
                    continue;
                }
                if form == Form::Minimal && zeros & (more << 1) != 0 {
                    break;
                }
                let (mut at, mut written) = (start, done);
                let (mut stuck, mut beyond) = (false, zero);
                for _ in 0..STEPS {
                    let row = TABLES.rows[(more & 0xfff) as usize];
                    let length = usize::from(row & 15);
                    let [first, fifth] = &TABLES.shuffles[usize::from(row >> 7)];
                    // SAFETY: four steps take at most 48 of the 64 bytes that were checked.
                    let bytes = unsafe { load::<__m128i, _>(source, at) };
                    // SAFETY: a shuffle has 16 bytes.
                    let first = unsafe { load::<__m128i, _>(first, 0) };
                    // SAFETY: as above.
                    let fifth = unsafe { load::<__m128i, _>(fifth, 0) };
                    let first = _mm_and_si128(_mm_shuffle_epi8(bytes, first), seven);
                    let fifth = _mm_shuffle_epi8(bytes, fifth);
                    let joined = _mm_madd_epi16(_mm_maddubs_epi16(pairs, first), quads);
                    let values = _mm_or_si128(joined, _mm_slli_epi32::<4>(fifth));
                    // SAFETY: five steps write at most 20 values; room for 64 was checked.
                    unsafe { store(target, written, values) };
                    beyond = _mm_or_si128(beyond, fifth);
                    stuck |= row & 0x70 == 0;
                    more >>= length;
                    at += length;
                    written += usize::from(row >> 4 & 7);
                }
                let beyond = _mm_cmpeq_epi8(_mm_and_si128(beyond, top), zero);
                if stuck || _mm_movemask_epi8(beyond) != 0xffff {
                    break;
                }
                (start, done) = (at, written);
            }
            scalar::decode_from(source, start, &mut target[done..], form)
        }
    };
}

variant!(AVX2, decode_avx2, zero_extend_avx2, "avx2", Isa::Avx2, "avx2,bmi1,bmi2,lzcnt,popcnt");
variant!(SSSE3, decode_ssse3, zero_extend_ssse3, "ssse3", Isa::Ssse3, "ssse3");
