//! CRC-32C by carry-less multiplication, 64 bytes at a time, without a branch on the length of what is short.
//!
//! A sum of a record of ninety bytes takes ten instructions of the CPU's own, and costs more than decoding the record: how
//! often the loop over words and the one over the last bytes turn is different for each record, and each time a
//! surprise. Here everything up to 128 bytes is two registers, whose unused front is zeros: with a register of the
//! CRC that starts at zero, zeros in front change nothing, and the start is added to the first four bytes.
//!
//! A piece moves `d` bits towards the end by multiplying its halves with the remainders of x^(d+32) and x^(d-32); see Gopal
//! et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009).

use super::POLYNOMIAL;
use core::arch::x86_64::{
    __m128i, __m512i, _mm_crc32_u8, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    _mm_extract_epi64, _mm_xor_si128, _mm512_castsi128_si512, _mm512_clmulepi64_epi128,
    _mm512_extracti64x2_epi64, _mm512_maskz_expand_epi8, _mm512_maskz_loadu_epi8, _mm512_set_epi64,
    _mm512_ternarylogic_epi64, _mm512_xor_si512,
};

/// Bytes of a register.
const WIDTH: usize = 64;
/// Up to here there is no branch on the length.
const FLAT_MAX: usize = 2 * WIDTH;
/// What is shorter would end before the start of the register is used up.
const FLAT_MIN: usize = 8;

/// The remainder of x^`exponent`, as a multiplication of reflected numbers wants it.
const fn power(exponent: u32) -> i64 {
    let mut remainder = 1_u32 << 31;
    let mut step = 0;
    while step < exponent {
        remainder = (remainder >> 1) ^ (POLYNOMIAL & (remainder & 1).wrapping_neg());
        step += 1;
    }
    (remainder as i64) << 1
}

/// The factors that move the low half of 128 bits, and the high half, this many bits.
const fn factors(bits: u32) -> [i64; 2] {
    [power(bits + 32), power(bits - 32)]
}

const BY_512: [i64; 2] = factors(512);
const BY_384: [i64; 2] = factors(384);
const BY_256: [i64; 2] = factors(256);
const BY_128: [i64; 2] = factors(128);

/// The sum; see [`Runnable::<Crc32c>::sum`](crate::variant::Runnable).
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512vbmi2,vpclmulqdq,pclmulqdq,sse4.2,avx2,bmi2"
)]
pub(super) fn fold(start: u32, source: &[u8]) -> u32 {
    let length = source.len();
    if length < FLAT_MIN {
        let bytes = source.iter().fold(!start, |register, byte| _mm_crc32_u8(register, *byte));
        return !bytes;
    }
    let start = u64::from(!start);
    let reduced = if length <= FLAT_MAX {
        let first = length.saturating_sub(WIDTH);
        let (front, back) = source.split_at(first);
        // The first four bytes may lie on both sides of the cut.
        join(piece(front, start), piece(back, behind(start, first)))
    } else {
        let (front, rest) = source.split_at((length - 1) % WIDTH + 1);
        let mut reduced = piece(front, start);
        let mut left = behind(start, front.len());
        for next in rest.as_chunks::<WIDTH>().0 {
            reduced = join(reduced, piece(next, left));
            left = 0;
        }
        reduced
    };
    let last = last_lanes(reduced);
    #[expect(clippy::cast_sign_loss, reason = "bits")]
    let (low, high) = (_mm_cvtsi128_si64(last) as u64, _mm_extract_epi64::<1>(last) as u64);
    #[expect(clippy::cast_possible_truncation, reason = "the instruction clears the upper half")]
    let register = _mm_crc32_u64(_mm_crc32_u64(0, low), high) as u32;
    !register
}

/// What is left of the start behind this many bytes.
#[inline]
fn behind(start: u64, bytes: usize) -> u64 {
    start >> (8 * bytes).min(63)
}

/// Up to 64 bytes at the end of a register, the start added to the first of them.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2")]
fn piece(source: &[u8], start: u64) -> __m512i {
    let length = source.len();
    debug_assert!(length <= WIDTH);
    let mask = if length == 0 { 0 } else { u64::MAX << (WIDTH - length) };
    let place = source.as_ptr().wrapping_add(length).wrapping_sub(WIDTH);
    // SAFETY: the mask selects the bytes of the source, which end where the register does; no others are touched.
    let bytes = unsafe { _mm512_maskz_loadu_epi8(mask, place.cast()) };
    let start = _mm512_castsi128_si512(_mm_cvtsi64_si128(start.cast_signed()));
    _mm512_xor_si512(bytes, _mm512_maskz_expand_epi8(mask, start))
}

/// One register that stands for two, the first in front of the second.
#[inline]
#[target_feature(enable = "avx512f,avx512vl,vpclmulqdq")]
fn join(front: __m512i, back: __m512i) -> __m512i {
    let [low, high] = BY_512;
    let factors = _mm512_set_epi64(high, low, high, low, high, low, high, low);
    let low = _mm512_clmulepi64_epi128::<0x00>(front, factors);
    let high = _mm512_clmulepi64_epi128::<0x11>(front, factors);
    // The exclusive or of three.
    _mm512_ternarylogic_epi64::<0x96>(low, high, back)
}

/// 128 bits that stand for a register.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,vpclmulqdq,sse4.2")]
fn last_lanes(register: __m512i) -> __m128i {
    // Highest first: the last lane stays where it is.
    let factors =
        _mm512_set_epi64(0, 0, BY_128[1], BY_128[0], BY_256[1], BY_256[0], BY_384[1], BY_384[0]);
    let low = _mm512_clmulepi64_epi128::<0x00>(register, factors);
    let high = _mm512_clmulepi64_epi128::<0x11>(register, factors);
    let moved = _mm512_xor_si512(low, high);
    let front =
        _mm_xor_si128(_mm512_extracti64x2_epi64::<0>(moved), _mm512_extracti64x2_epi64::<1>(moved));
    let back = _mm_xor_si128(
        _mm512_extracti64x2_epi64::<2>(moved),
        _mm512_extracti64x2_epi64::<3>(register),
    );
    _mm_xor_si128(front, back)
}
