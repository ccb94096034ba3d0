//! Running sums in registers of 64 bytes.

use super::scalar::{last, sums};
use super::{Decode, Width};
use crate::column::register::{load512, store512};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m512i, _mm512_add_epi8, _mm512_add_epi16, _mm512_add_epi32, _mm512_add_epi64,
    _mm512_alignr_epi64, _mm512_bslli_epi128, _mm512_permutexvar_epi64, _mm512_set1_epi8,
    _mm512_set1_epi16, _mm512_set1_epi64, _mm512_setzero_si512, _mm512_shuffle_epi8,
    _mm512_shuffle_epi32, _mm512_unpackhi_epi64,
};

pub(super) const VARIANT: Variant<Decode> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode };

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn decode(width: Width, source: &[u8], target: &mut [u8]) {
    match width {
        Width::W1 => decode1(source, target),
        Width::W2 => decode2(source, target),
        Width::W4 => decode4(source, target),
        Width::W8 => decode8(source, target),
    }
}

/// A decoder for one width: how to add, the shifts within 16 bytes, and how to spread the last value of each 16 bytes.
macro_rules! decode {
    ($name:ident, $word:ty, $add:ident, [$($shift:literal),*], $spread:expr) => {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
        fn $name(source: &[u8], target: &mut [u8]) {
            let (pieces, rest) = source.as_chunks::<64>();
            let (places, _) = target.as_chunks_mut::<64>();
            let zero = _mm512_setzero_si512();
            let mut carry = zero;
            for (piece, place) in pieces.iter().zip(places) {
                let mut sums = load512(piece);
                $(sums = $add(sums, _mm512_bslli_epi128::<$shift>(sums));)*
                // Sums of whole lanes, moved up by one, two and three lanes.
                let lanes: __m512i = $spread(sums);
                let one = _mm512_alignr_epi64::<6>(lanes, zero);
                let two = $add(one, _mm512_alignr_epi64::<4>(lanes, zero));
                let three = $add(two, _mm512_alignr_epi64::<2>(lanes, zero));
                sums = $add(sums, three);
                store512(place, $add(sums, carry));
                let all = $add(three, lanes);
                carry = $add(carry, _mm512_permutexvar_epi64(_mm512_set1_epi64(7), all));
            }
            let done = pieces.len() * 64;
            let sum = last::<$word>(&target[..done]);
            sums::<$word>(sum, rest, &mut target[done..]);
        }
    };
}

decode!(decode1, u8, _mm512_add_epi8, [1, 2, 4, 8], |sums| {
    _mm512_shuffle_epi8(sums, _mm512_set1_epi8(15))
});
decode!(decode2, u16, _mm512_add_epi16, [2, 4, 8], |sums| {
    _mm512_shuffle_epi8(sums, _mm512_set1_epi16(0x0f0e))
});
decode!(decode4, u32, _mm512_add_epi32, [4, 8], |sums| _mm512_shuffle_epi32::<0xff>(sums));
decode!(decode8, u64, _mm512_add_epi64, [8], |sums| _mm512_unpackhi_epi64(sums, sums));
