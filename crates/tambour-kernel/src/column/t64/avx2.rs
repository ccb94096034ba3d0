//! Half a plane, 32 bytes, is a register; bits are spread to bytes by a shuffle and a comparison.

use super::{Decode, GROUP, Shape};
use crate::column::Width;
use crate::column::register::{load256, store256};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m256i, _mm256_and_si256, _mm256_blendv_epi8, _mm256_cmpeq_epi8, _mm256_or_si256,
    _mm256_permute4x64_epi64, _mm256_permutevar8x32_epi32, _mm256_set1_epi8, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_unpackhi_epi8,
    _mm256_unpackhi_epi16, _mm256_unpackhi_epi32, _mm256_unpacklo_epi8, _mm256_unpacklo_epi16,
    _mm256_unpacklo_epi32,
};

pub(super) const VARIANT: Variant<Decode> = Variant { name: "avx2", isa: Isa::Avx2, run: decode };

/// Values in a register of planes.
const HALF: usize = GROUP / 2;

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn decode(shape: Shape, above: [u64; 2], source: &[u8], target: &mut [u8]) {
    match shape.width {
        Width::W1 => decode_width::<1>(shape, above, source, target),
        Width::W2 => decode_width::<2>(shape, above, source, target),
        Width::W4 => decode_width::<4>(shape, above, source, target),
        Width::W8 => decode_width::<8>(shape, above, source, target),
    }
}

#[target_feature(enable = "avx2,bmi1,bmi2")]
fn decode_width<const WIDTH: usize>(
    shape: Shape,
    above: [u64; 2],
    source: &[u8],
    target: &mut [u8],
) {
    let [clear, set] = above.map(u64::to_le_bytes);
    let above: [[__m256i; 2]; WIDTH] = core::array::from_fn(|plane| {
        let [clear, set] = [clear[plane], set[plane]].map(u8::cast_signed);
        [_mm256_set1_epi8(clear), _mm256_set1_epi8(set)]
    });
    for (index, piece) in target.chunks_mut(HALF * WIDTH).enumerate() {
        let group = &source[index / 2 * shape.group_bytes()..][..shape.group_bytes()];
        let planes = planes::<WIDTH>(shape, &above, group, index % 2);
        if piece.len() == HALF * WIDTH {
            interleave::<WIDTH>(planes, piece);
        } else {
            let mut whole = [0; HALF * 8];
            interleave::<WIDTH>(planes, &mut whole[..HALF * WIDTH]);
            piece.copy_from_slice(&whole[..piece.len()]);
        }
    }
}

/// Each of four bytes, eight times.
static SPREAD: [u8; 32] = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3,
];

/// The bytes of half of the values of a group, plane by plane.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn planes<const WIDTH: usize>(
    shape: Shape,
    above: &[[__m256i; 2]; WIDTH],
    group: &[u8],
    half: usize,
) -> [__m256i; WIDTH] {
    let (rows, words) = shape.rows_and_words();
    let (row_bytes, word_bytes) = group.split_at(rows * GROUP);
    let (row_halves, _) = row_bytes.as_chunks::<HALF>();
    let (word_halves, _) = word_bytes.as_chunks::<4>();
    // In the highest bit of each byte: whether the highest stored bit is set.
    let highest = match (word_halves.len().checked_sub(2), row_halves.len().checked_sub(2)) {
        (Some(last), _) => spread(&word_halves[last + half]),
        (None, Some(last)) => load256(&row_halves[last + half]),
        (None, None) => _mm256_setzero_si256(),
    };
    let mut planes = [_mm256_setzero_si256(); WIDTH];
    for (index, (plane, [clear, set])) in planes.iter_mut().zip(above).enumerate() {
        *plane = _mm256_blendv_epi8(*clear, *set, highest);
        if index < rows {
            *plane = _mm256_or_si256(*plane, load256(&row_halves[2 * index + half]));
        } else if (index - rows) * 8 < words {
            let octet = &word_halves[(index - rows) * 16..];
            *plane = _mm256_or_si256(*plane, gather(&octet[..octet.len().min(16)], half));
        }
    }
    planes
}

/// All ones in the bytes whose bit is set.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn spread(bits: &[u8; 4]) -> __m256i {
    let bits = _mm256_set1_epi32(i32::from_le_bytes(*bits));
    let selectors = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64.cast_signed());
    let bytes = _mm256_shuffle_epi8(bits, load256(&SPREAD));
    _mm256_cmpeq_epi8(_mm256_and_si256(bytes, selectors), selectors)
}

/// The bytes whose bits are in these halves of at most eight words.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn gather(words: &[[u8; 4]], half: usize) -> __m256i {
    let mut plane = _mm256_setzero_si256();
    for (word, bit) in words.chunks_exact(2).zip([1, 2, 4, 8, 16, 32, 64, -128]) {
        let bytes = _mm256_and_si256(spread(&word[half]), _mm256_set1_epi8(bit));
        plane = _mm256_or_si256(plane, bytes);
    }
    plane
}

/// Indices that bring piece `2 j + k` of 4 bytes to place `4 k + j`.
static ORDER4: [u8; 32] = {
    let mut table = [0; 32];
    let mut place = 0;
    while place < 8 {
        table[4 * place] = [0, 2, 4, 6, 1, 3, 5, 7][place];
        place += 1;
    }
    table
};

/// Within 16 bytes: even pairs of bytes, then the odd ones.
static EVEN_ODD: [u8; 32] = [
    0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10,
    11, 14, 15,
];

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

/// Writes values whose bytes are in planes. Pieces of the planes are ordered first, so that what belongs into lane `k` of
/// output `j` is the `j`-th piece of lane `k`.
#[inline]
#[target_feature(enable = "avx2,bmi1,bmi2")]
fn interleave<const WIDTH: usize>(planes: [__m256i; WIDTH], target: &mut [u8]) {
    let (places, _) = target.as_chunks_mut::<32>();
    let mut registers = planes;
    for plane in &mut registers {
        *plane = match WIDTH {
            2 => _mm256_permute4x64_epi64::<0b11_01_10_00>(*plane),
            4 => _mm256_permutevar8x32_epi32(*plane, load256(&ORDER4)),
            8 => {
                let halves = _mm256_shuffle_epi8(*plane, load256(&EVEN_ODD));
                _mm256_permute4x64_epi64::<0b11_01_10_00>(halves)
            }
            _ => *plane,
        };
    }
    pairs!(registers, WIDTH, _mm256_unpacklo_epi8, _mm256_unpackhi_epi8);
    pairs!(registers, WIDTH / 2, _mm256_unpacklo_epi16, _mm256_unpackhi_epi16);
    pairs!(registers, WIDTH / 4, _mm256_unpacklo_epi32, _mm256_unpackhi_epi32);
    for (place, register) in places.iter_mut().zip(registers) {
        store256(place, register);
    }
}
