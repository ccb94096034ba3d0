//! A plane of 64 bytes is a register, and a word of bits is a mask of its bytes.

use super::{Decode, GROUP, Shape};
use crate::column::Width;
use crate::column::register::{load512, store512};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m512i, _mm512_mask_blend_epi8, _mm512_maskz_set1_epi8, _mm512_movepi8_mask, _mm512_or_si512,
    _mm512_permutexvar_epi16, _mm512_permutexvar_epi32, _mm512_permutexvar_epi64, _mm512_set1_epi8,
    _mm512_setzero_si512, _mm512_unpackhi_epi8, _mm512_unpackhi_epi16, _mm512_unpackhi_epi32,
    _mm512_unpacklo_epi8, _mm512_unpacklo_epi16, _mm512_unpacklo_epi32,
};

pub(super) const VARIANT: Variant<Decode> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode };

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn decode(shape: Shape, above: [u64; 2], source: &[u8], target: &mut [u8]) {
    match shape.width {
        Width::W1 => decode_width::<1>(shape, above, source, target),
        Width::W2 => decode_width::<2>(shape, above, source, target),
        Width::W4 => decode_width::<4>(shape, above, source, target),
        Width::W8 => decode_width::<8>(shape, above, source, target),
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn decode_width<const WIDTH: usize>(
    shape: Shape,
    above: [u64; 2],
    source: &[u8],
    target: &mut [u8],
) {
    let [clear, set] = above.map(u64::to_le_bytes);
    #[expect(clippy::cast_possible_wrap, reason = "bytes as the instruction takes them")]
    let above: [[__m512i; 2]; WIDTH] = core::array::from_fn(|plane| {
        [_mm512_set1_epi8(clear[plane] as i8), _mm512_set1_epi8(set[plane] as i8)]
    });
    let mut groups = source.chunks_exact(shape.group_bytes());
    let mut pieces = target.chunks_exact_mut(GROUP * WIDTH);
    // In this order, so that a group is taken only for a piece that is there.
    for (piece, group) in (&mut pieces).zip(&mut groups) {
        let planes = planes::<WIDTH>(shape, &above, group);
        interleave::<WIDTH>(planes, piece);
    }
    let rest = pieces.into_remainder();
    if let (Some(group), false) = (groups.next(), rest.is_empty()) {
        let mut whole = [0; GROUP * 8];
        let planes = planes::<WIDTH>(shape, &above, group);
        interleave::<WIDTH>(planes, &mut whole[..GROUP * WIDTH]);
        rest.copy_from_slice(&whole[..rest.len()]);
    }
}

/// The bytes of all values of a group, plane by plane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn planes<const WIDTH: usize>(
    shape: Shape,
    above: &[[__m512i; 2]; WIDTH],
    group: &[u8],
) -> [__m512i; WIDTH] {
    let (rows, words) = shape.rows_and_words();
    let (row_bytes, word_bytes) = group.split_at(rows * GROUP);
    let (row_bytes, _) = row_bytes.as_chunks::<GROUP>();
    let (word_bytes, _) = word_bytes.as_chunks::<8>();
    // Whether the highest stored bit is set.
    let highest = match (word_bytes.last(), row_bytes.last()) {
        (Some(word), _) => u64::from_le_bytes(*word),
        (None, Some(row)) => _mm512_movepi8_mask(load512(row)),
        (None, None) => 0,
    };
    let mut planes = [_mm512_setzero_si512(); WIDTH];
    for (index, (plane, [clear, set])) in planes.iter_mut().zip(above).enumerate() {
        *plane = _mm512_mask_blend_epi8(highest, *clear, *set);
        if index < rows {
            *plane = _mm512_or_si512(*plane, load512(&row_bytes[index]));
        } else if (index - rows) * 8 < words {
            let octet = &word_bytes[(index - rows) * 8..];
            *plane = _mm512_or_si512(*plane, gather(&octet[..octet.len().min(8)]));
        }
    }
    planes
}

/// The bytes whose bits are in at most eight words.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn gather(words: &[[u8; 8]]) -> __m512i {
    let mut plane = _mm512_setzero_si512();
    for (word, bit) in words.iter().zip([1, 2, 4, 8, 16, 32, 64, -128]) {
        let bits = _mm512_maskz_set1_epi8(u64::from_le_bytes(*word), bit);
        plane = _mm512_or_si512(plane, bits);
    }
    plane
}

static ORDER2: [u8; 64] = order::<8>(2);
static ORDER4: [u8; 64] = order::<4>(4);
static ORDER8: [u8; 64] = order::<2>(8);

/// Indices, of `PIECE` bytes each, that bring piece `4 j + k` of a plane (`j` below `count`, `k` one of the four lanes of
/// 16 bytes) to place `count * k + j`: each lane then has in its `j`-th piece what belongs into lane `k` of output `j`.
const fn order<const PIECE: usize>(count: usize) -> [u8; 64] {
    let mut table = [0; 64];
    let mut place = 0;
    while place < 4 * count {
        let (k, j) = (place / count, place % count);
        #[expect(clippy::cast_possible_truncation, reason = "below 64")]
        let index = (4 * j + k) as u8;
        table[place * PIECE] = index;
        place += 1;
    }
    table
}

/// One step of the interleaving. Registers stand in groups of `$groups` planes; neighbours in a group become pairs, of which
/// the low halves of all lanes make one group and the high halves the next.
macro_rules! pairs {
    ($registers:ident, $groups:expr, $low:ident, $high:ident) => {
        if $groups >= 2 {
            let half = $groups / 2;
            let from = $registers;
            for i in 0..WIDTH / 2 {
                let (group, pair) = (i / half, i % half);
                let first = group * $groups + 2 * pair;
                $registers[2 * group * half + pair] = $low(from[first], from[first + 1]);
                $registers[(2 * group + 1) * half + pair] = $high(from[first], from[first + 1]);
            }
        }
    };
}

/// Writes values whose bytes are in planes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn interleave<const WIDTH: usize>(planes: [__m512i; WIDTH], target: &mut [u8]) {
    let (places, _) = target.as_chunks_mut::<64>();
    let mut registers = planes;
    for plane in &mut registers {
        *plane = match WIDTH {
            2 => _mm512_permutexvar_epi64(load512(&ORDER2), *plane),
            4 => _mm512_permutexvar_epi32(load512(&ORDER4), *plane),
            8 => _mm512_permutexvar_epi16(load512(&ORDER8), *plane),
            _ => *plane,
        };
    }
    pairs!(registers, WIDTH, _mm512_unpacklo_epi8, _mm512_unpackhi_epi8);
    pairs!(registers, WIDTH / 2, _mm512_unpacklo_epi16, _mm512_unpackhi_epi16);
    pairs!(registers, WIDTH / 4, _mm512_unpacklo_epi32, _mm512_unpackhi_epi32);
    for (place, register) in places.iter_mut().zip(registers) {
        store512(place, register);
    }
}
