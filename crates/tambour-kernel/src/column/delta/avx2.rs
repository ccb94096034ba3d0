//! Running sums in registers of 32 bytes.

use super::scalar::{last, sums};
use super::{Decode, Width};
use crate::column::register::{load256, store256};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m256i, _mm256_add_epi8, _mm256_add_epi16, _mm256_add_epi32, _mm256_add_epi64,
    _mm256_permute2x128_si256, _mm256_permute4x64_epi64, _mm256_set1_epi8, _mm256_set1_epi16,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_shuffle_epi32, _mm256_slli_si256,
    _mm256_unpackhi_epi64,
};

pub(super) const VARIANT: Variant<Decode> = Variant { name: "avx2", isa: Isa::Avx2, run: decode };

#[target_feature(enable = "avx2,bmi1,bmi2")]
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
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn $name(source: &[u8], target: &mut [u8]) {
            let (pieces, rest) = source.as_chunks::<32>();
            let (places, _) = target.as_chunks_mut::<32>();
            let mut carry = _mm256_setzero_si256();
            for (piece, place) in pieces.iter().zip(places) {
                let mut sums = load256(piece);
                $(sums = $add(sums, _mm256_slli_si256::<$shift>(sums));)*
                // The sum of the low lane, moved up.
                let lanes: __m256i = $spread(sums);
                let low = _mm256_permute2x128_si256::<0x08>(lanes, lanes);
                sums = $add(sums, low);
                store256(place, $add(sums, carry));
                let all = _mm256_permute4x64_epi64::<0xff>($add(low, lanes));
                carry = $add(carry, all);
            }
            let done = pieces.len() * 32;
            let sum = last::<$word>(&target[..done]);
            sums::<$word>(sum, rest, &mut target[done..]);
        }
    };
}

decode!(decode1, u8, _mm256_add_epi8, [1, 2, 4, 8], |sums| {
    _mm256_shuffle_epi8(sums, _mm256_set1_epi8(15))
});
decode!(decode2, u16, _mm256_add_epi16, [2, 4, 8], |sums| {
    _mm256_shuffle_epi8(sums, _mm256_set1_epi16(0x0f0e))
});
decode!(decode4, u32, _mm256_add_epi32, [4, 8], |sums| _mm256_shuffle_epi32::<0xff>(sums));
decode!(decode8, u64, _mm256_add_epi64, [8], |sums| _mm256_unpackhi_epi64(sums, sums));
