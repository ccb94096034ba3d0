//! The loop over stripes with AVX-512: all eight lanes in one register.

use super::SECRET_BYTES;
use super::stripe::{BLOCK_STRIPES, Long, P32_1, START, STRIPE, piece};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m512i, _mm512_add_epi64, _mm512_mul_epu32, _mm512_mullo_epi64, _mm512_set1_epi64,
    _mm512_shuffle_epi32, _mm512_srli_epi64, _mm512_xor_si512,
};

pub(super) const VARIANT: Variant<Long> = Variant { name: "avx512", isa: Isa::Avx512, run: lanes };

/// 64 bytes as a register.
#[inline(always)]
fn register(bytes: &[u8; STRIPE]) -> __m512i {
    // SAFETY: any 64 bytes make a register.
    unsafe { core::mem::transmute::<[u8; STRIPE], __m512i>(*bytes) }
}

/// Adds a stripe to the lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn accumulate(lanes: __m512i, stripe: &[u8; STRIPE], secret: &[u8; STRIPE]) -> __m512i {
    let input = register(stripe);
    let keyed = _mm512_xor_si512(input, register(secret));
    let product = _mm512_mul_epu32(keyed, _mm512_srli_epi64::<32>(keyed));
    // Each lane also gets the input of its neighbour.
    let swapped = _mm512_shuffle_epi32::<0b01_00_11_10>(input);
    _mm512_add_epi64(lanes, _mm512_add_epi64(product, swapped))
}

#[target_feature(enable = "avx512f,avx512dq")]
fn lanes(key: &[u8], secret: &[u8; SECRET_BYTES]) -> [u64; 8] {
    // SAFETY: eight lanes make a register.
    let mut lanes = unsafe { core::mem::transmute::<[u64; 8], __m512i>(START) };
    let (stripes, _) = key[..key.len() - 1].as_chunks::<STRIPE>();
    let (blocks, rest) = stripes.as_chunks::<BLOCK_STRIPES>();
    let prime = _mm512_set1_epi64(P32_1.cast_signed());
    for block in blocks {
        for (index, stripe) in block.iter().enumerate() {
            lanes = accumulate(lanes, stripe, piece(secret, 8 * index));
        }
        let mixed = _mm512_xor_si512(lanes, _mm512_srli_epi64::<47>(lanes));
        let keyed = _mm512_xor_si512(mixed, register(piece(secret, SECRET_BYTES - STRIPE)));
        lanes = _mm512_mullo_epi64(keyed, prime);
    }
    for (index, stripe) in rest.iter().enumerate() {
        lanes = accumulate(lanes, stripe, piece(secret, 8 * index));
    }
    if let Some(last) = key.last_chunk() {
        lanes = accumulate(lanes, last, piece(secret, SECRET_BYTES - STRIPE - 7));
    }
    // SAFETY: a register is eight lanes.
    unsafe { core::mem::transmute::<__m512i, [u64; 8]>(lanes) }
}
