//! The sixteen lanes of a packed vector are two registers; a step takes the next bits of each lane.

use super::{Decode, LANES, Packed, VECTOR, power};
use crate::column::bits::mask;
use crate::column::fpc::FloatWidth;
use crate::column::register::{load512, store256, store512};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m512i, _mm_cvtsi64_si128, _mm256_castps_si256, _mm512_add_epi64, _mm512_and_si512,
    _mm512_castpd_si512, _mm512_cvtepi64_pd, _mm512_cvtpd_ps, _mm512_mul_pd, _mm512_or_si512,
    _mm512_set1_epi64, _mm512_set1_pd, _mm512_setzero_si512, _mm512_sll_epi64, _mm512_srl_epi64,
};

pub(super) const VARIANT: Variant<Decode> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode };

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn decode(width: FloatWidth, packed: Packed<'_>, target: &mut [u8]) {
    // A vector is always packed whole: decode it so, and keep what is wanted.
    let bytes = VECTOR * width.bytes();
    if target.len() == bytes {
        return decode_whole(width, packed, target);
    }
    let mut whole = [0; VECTOR * 8];
    decode_whole(width, packed, &mut whole[..bytes]);
    target.copy_from_slice(&whole[..target.len()]);
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn decode_whole(width: FloatWidth, packed: Packed<'_>, target: &mut [u8]) {
    match width {
        FloatWidth::F4 => singles(packed, target),
        FloatWidth::F8 => doubles(packed, target),
    }
}

/// The integers of a step of one half of the lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn integers(packed: &Packed<'_>, rows: &[[u8; 64]], step: usize, half: usize) -> __m512i {
    let position = step * packed.bits as usize;
    let (row, shift) = (position / 64 * 2 + half, position % 64);
    // A vector of no bits has no rows.
    let Some(low) = rows.get(row) else { return _mm512_set1_epi64(packed.base) };
    let mut values = _mm512_srl_epi64(load512(low), _mm_cvtsi64_si128(shift as i64));
    if shift + packed.bits as usize > 64 {
        let high = rows.get(row + 2).map_or(_mm512_setzero_si512(), load512);
        let count = _mm_cvtsi64_si128(64 - shift as i64);
        values = _mm512_or_si512(values, _mm512_sll_epi64(high, count));
    }
    let mask = _mm512_set1_epi64(mask(packed.bits).cast_signed());
    _mm512_add_epi64(_mm512_and_si512(values, mask), _mm512_set1_epi64(packed.base))
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn doubles(packed: Packed<'_>, target: &mut [u8]) {
    let decimal = packed.decimal;
    let up = _mm512_set1_pd(power(decimal.factor).0);
    let down = _mm512_set1_pd(power(decimal.exponent).1);
    let (rows, _) = packed.words.as_chunks::<64>();
    let (steps, _) = target.as_chunks_mut::<{ LANES * 8 }>();
    for (step, place) in steps.iter_mut().enumerate() {
        let (halves, _) = place.as_chunks_mut::<64>();
        for (half, place) in halves.iter_mut().enumerate() {
            let floats = _mm512_cvtepi64_pd(integers(&packed, rows, step, half));
            let floats = _mm512_mul_pd(_mm512_mul_pd(floats, up), down);
            store512(place, _mm512_castpd_si512(floats));
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn singles(packed: Packed<'_>, target: &mut [u8]) {
    let decimal = packed.decimal;
    let up = _mm512_set1_pd(power(decimal.factor).0);
    let down = _mm512_set1_pd(power(decimal.exponent).1);
    let (rows, _) = packed.words.as_chunks::<64>();
    let (steps, _) = target.as_chunks_mut::<{ LANES * 4 }>();
    for (step, place) in steps.iter_mut().enumerate() {
        let (halves, _) = place.as_chunks_mut::<32>();
        for (half, place) in halves.iter_mut().enumerate() {
            let floats = _mm512_cvtepi64_pd(integers(&packed, rows, step, half));
            let floats = _mm512_mul_pd(_mm512_mul_pd(floats, up), down);
            store256(place, _mm256_castps_si256(_mm512_cvtpd_ps(floats)));
        }
    }
}
