//! The one-byte values up to the next escape at once, and the escape by bit extraction.

use super::{Decode, ESCAPE, Malformed, scalar};
use crate::integer::memory::{load, store};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m128i, __m256i, _bzhi_u64, _mm256_cmpeq_epi8_mask, _mm256_set1_epi8, _mm512_cvtepu8_epi32,
    _pext_u64,
};

pub(super) const DECODE: Variant<Decode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode };

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
fn decode(source: &[u8], target: &mut [u32]) -> Result<usize, Malformed> {
    let (mut at, mut done) = (0, 0);
    while source.len() - at >= 48 && target.len() - done >= 40 {
        // SAFETY: 48 bytes of source were checked.
        let bytes = unsafe { load::<__m256i, _>(source, at) };
        let escapes = _mm256_cmpeq_epi8_mask(bytes, _mm256_set1_epi8(ESCAPE.cast_signed()));
        let plain = escapes.trailing_zeros() as usize;
        for part in [0, 16] {
            // SAFETY: 48 bytes of source were checked.
            let bytes = unsafe { load::<__m128i, _>(source, at + part) };
            let values = _mm512_cvtepu8_epi32(bytes);
            // SAFETY: room for 40 values was checked.
            unsafe { store(target, done + part, values) };
        }
        at += plain;
        done += plain;
        if plain == 32 {
            continue;
        }
        // SAFETY: the escape is one of the first 32 of 48 bytes, and eight follow it.
        let groups = u64::from_le(unsafe { load::<u64, _>(source, at + 1) });
        let length = (groups & 0x8080_8080_8080_8080).trailing_zeros() / 8 + 1;
        let number =
            _pext_u64(groups, 0x7f7f_7f7f_7f7f_7f7f & _bzhi_u64(u64::MAX, 8 * length.min(8)));
        let minimal = length == 1 || groups >> (8 * (length - 1).min(7)) & 0x7f != 0;
        let value =
            u32::try_from(number).ok().and_then(|number| number.checked_add(u32::from(ESCAPE)));
        let Some(value) = value.filter(|_| length <= 5 && minimal) else { break };
        target[done] = value;
        done += 1;
        at += 1 + length as usize;
    }
    scalar::decode_from(source, at, &mut target[done..])
}
