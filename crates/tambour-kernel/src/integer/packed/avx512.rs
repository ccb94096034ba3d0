//! The engine with AVX-512: sixteen values are a byte permutation, a shift per lane and a mask.

use super::header::{self, Packed};
use super::{Decode, HIGHS, Malformed, SLACK, bits, patched, plain};
use crate::integer::memory::{load, store};
use crate::integer::stream_vbyte::OneToFour;
use crate::integer::stream_vbyte::avx512::{expand, present};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m512i, _bzhi_u32, _mm_cvtsi32_si128, _mm_cvtsi128_si32, _mm512_add_epi32,
    _mm512_alignr_epi32, _mm512_and_si512, _mm512_castsi512_si128, _mm512_maskz_expand_epi32,
    _mm512_maskz_mov_epi32, _mm512_mullo_epi32, _mm512_permutexvar_epi8, _mm512_permutexvar_epi32,
    _mm512_set1_epi32, _mm512_setr_epi32, _mm512_setzero_si512, _mm512_shrdv_epi32,
    _mm512_sll_epi32, _mm512_srli_epi32, _mm512_srlv_epi32,
};

pub(super) const PLAIN: Variant<Decode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode_plain::<false> };
pub(super) const PLAIN_SUM: Variant<Decode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode_plain::<true> };
pub(super) const PATCHED: Variant<Decode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode_patched::<false> };
pub(super) const PATCHED_SUM: Variant<Decode<u32>> =
    Variant { name: "avx512", isa: Isa::Avx512, run: decode_patched::<true> };

/// Proof of the instruction set: made only in the two functions below, which cannot be called without.
#[derive(Clone, Copy)]
struct Avx512(());

#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
)]
fn decode_plain<const SUMS: bool>(source: &[u8], target: &mut [u32]) -> Result<usize, Malformed> {
    plain::decode::<_, SUMS>(Avx512(()), source, target)
}

#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
)]
fn decode_patched<const SUMS: bool>(source: &[u8], target: &mut [u32]) -> Result<usize, Malformed> {
    patched::decode::<_, SUMS>(Avx512(()), source, target)
}

/// Where the bits of sixteen values of a width are: the same for every group, since a group is a whole number of bytes.
#[derive(Clone, Copy)]
struct Places {
    /// The first four bytes of each value.
    bytes: __m512i,
    /// Position of its first bit in them.
    shift: __m512i,
    mask: __m512i,
    /// Bytes of a group.
    stride: usize,
}

impl Places {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn new(width: u32) -> Self {
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let first = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(width.cast_signed()));
        let byte =
            _mm512_mullo_epi32(_mm512_srli_epi32::<3>(first), _mm512_set1_epi32(0x0101_0101));
        Self {
            bytes: _mm512_add_epi32(byte, _mm512_set1_epi32(0x0302_0100)),
            shift: _mm512_and_si512(first, _mm512_set1_epi32(7)),
            mask: _mm512_set1_epi32(bits::mask(width).cast_signed()),
            stride: 2 * width as usize,
        }
    }

    /// Sixteen values. `WIDE` when a value may reach into a fifth byte.
    ///
    /// # Safety
    /// `at + 64 <= source.len()`.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
    unsafe fn sixteen<const WIDE: bool>(self, source: &[u8], at: usize) -> __m512i {
        // SAFETY: the caller keeps 64 bytes within the source.
        let group = unsafe { load::<__m512i, _>(source, at) };
        let low = _mm512_permutexvar_epi8(self.bytes, group);
        let shifted = if WIDE {
            let next = _mm512_add_epi32(self.bytes, _mm512_set1_epi32(0x0404_0404));
            _mm512_shrdv_epi32(low, _mm512_permutexvar_epi8(next, group), self.shift)
        } else {
            _mm512_srlv_epi32(low, self.shift)
        };
        _mm512_and_si512(shifted, self.mask)
    }
}

/// Running sums over sixteen lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn sums(values: __m512i) -> __m512i {
    let zero = _mm512_setzero_si512();
    let values = _mm512_add_epi32(values, _mm512_alignr_epi32::<15>(values, zero));
    let values = _mm512_add_epi32(values, _mm512_alignr_epi32::<14>(values, zero));
    let values = _mm512_add_epi32(values, _mm512_alignr_epi32::<12>(values, zero));
    _mm512_add_epi32(values, _mm512_alignr_epi32::<8>(values, zero))
}

/// The last lane in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn last(values: __m512i) -> __m512i {
    _mm512_permutexvar_epi32(_mm512_set1_epi32(15), values)
}

/// The running sum, in all lanes. Only one addition per group waits for the group before.
#[inline]
#[target_feature(enable = "avx512f")]
fn carry_on<const SUMS: bool>(values: __m512i, sum: &mut __m512i) -> __m512i {
    if !SUMS {
        return values;
    }
    let own = sums(values);
    let all = _mm512_add_epi32(own, *sum);
    *sum = _mm512_add_epi32(*sum, last(own));
    all
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2")]
fn unpack<const SUMS: bool, const WIDE: bool>(
    source: &[u8],
    at: usize,
    width: u32,
    target: &mut [u32],
    before: u32,
) -> u32 {
    let places = Places::new(width);
    assert!(source.len() >= at + bits::size(target.len(), width) + SLACK, "bytes after the values");
    let mut sum = _mm512_set1_epi32(before.cast_signed());
    let (groups, _) = target.as_chunks_mut::<16>();
    for (index, group) in groups.iter_mut().enumerate() {
        // SAFETY: a group starts within the values, and 64 bytes follow those.
        let values = unsafe { places.sixteen::<WIDE>(source, at + places.stride * index) };
        let values = carry_on::<SUMS>(values, &mut sum);
        // SAFETY: a group has sixteen values.
        unsafe { store(group, 0, values) };
    }
    first_lane(sum)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn first_lane(values: __m512i) -> u32 {
    _mm_cvtsi128_si32(_mm512_castsi512_si128(values)).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt")]
fn unpack_marked<const SUMS: bool, const WIDE: bool>(
    packed: Packed<'_>,
    highs: &[u32; HIGHS],
    target: &mut [u32; header::BLOCK],
    before: u32,
) -> u32 {
    let Packed { source, at, width, bitmap } = packed;
    let places = Places::new(width);
    assert!(source.len() >= at + bits::size(target.len(), width) + SLACK, "bytes after the values");
    let above = _mm_cvtsi32_si128(width.cast_signed());
    let mut sum = _mm512_set1_epi32(before.cast_signed());
    let mut taken = 0;
    let (groups, _) = target.as_chunks_mut::<16>();
    let (marks, _) = bitmap.as_chunks::<2>();
    for (index, (group, marks)) in groups.iter_mut().zip(marks).enumerate() {
        // SAFETY: a group starts within the values, and 64 bytes follow those.
        let values = unsafe { places.sixteen::<WIDE>(source, at + places.stride * index) };
        let marks = u16::from_le_bytes(*marks);
        // SAFETY: before the last group at most 240 were taken, and the array has 32 beyond 256.
        let next = unsafe { load::<__m512i, _>(highs, taken) };
        taken += marks.count_ones() as usize;
        let high = _mm512_sll_epi32(_mm512_maskz_expand_epi32(marks, next), above);
        let values = carry_on::<SUMS>(_mm512_add_epi32(values, high), &mut sum);
        // SAFETY: a group has sixteen values.
        unsafe { store(group, 0, values) };
    }
    first_lane(sum)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi2")]
fn raise(source: &[u8], data: usize, header: header::Header, first: usize, target: &mut [u32; 16]) {
    let places = Places::new(header.high_width);
    let at = data + places.stride * (first / 16);
    assert!(at + SLACK <= source.len(), "bytes after the upper parts");
    // SAFETY: just checked.
    let highs = unsafe { places.sixteen::<true>(source, at) };
    let above = _mm_cvtsi32_si128(header.width.cast_signed());
    let raised = _mm512_sll_epi32(_mm512_add_epi32(highs, _mm512_set1_epi32(1)), above);
    #[expect(clippy::cast_possible_truncation, reason = "at most 16")]
    let left = (header.count - first).min(16) as u32;
    #[expect(clippy::cast_possible_truncation, reason = "16 bits are left")]
    let used = _bzhi_u32(0xffff, left) as u16;
    let values = _mm512_maskz_mov_epi32(used, raised);
    // SAFETY: the target has sixteen values.
    unsafe { store(target, 0, values) };
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add_up(target: &mut [u32], before: u32) -> u32 {
    let mut sum = _mm512_set1_epi32(before.cast_signed());
    let (groups, _) = target.as_chunks_mut::<16>();
    for group in groups {
        // SAFETY: a group has sixteen values.
        let values = unsafe { load::<__m512i, _>(&group[..], 0) };
        let values = carry_on::<true>(values, &mut sum);
        // SAFETY: as above.
        unsafe { store(group, 0, values) };
    }
    first_lane(sum)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi2,popcnt")]
fn highs(source: &[u8], codes: usize, mut data: usize, count: usize, target: &mut [u32; HIGHS]) {
    // The two facts that the blocks below rest on.
    assert!(count <= header::BLOCK && codes <= data, "codes of one block, and data after them");
    let one = _mm512_set1_epi32(1);
    // Pairs of groups, so that the number of turns is nearly always the same for blocks that are alike.
    for sixteen in 0..2 * count.div_ceil(32) {
        assert!(data + SLACK <= source.len(), "bytes after the data");
        // SAFETY: these are at most the first 64 bytes from `codes` on, and as many follow `data`, which is not before.
        let codes = unsafe { load::<u32, _>(source, codes + 4 * sixteen) };
        let present = present::<OneToFour>(u32::from_le(codes));
        // SAFETY: just checked.
        let values = unsafe { expand(source, data, present) };
        let values = _mm512_add_epi32(values, one);
        // SAFETY: there are at most 256 values, as asserted: sixteen groups of sixteen, and room for 32 more.
        unsafe { store(target, 16 * sixteen, values) };
        data += present.count_ones() as usize;
    }
}

engine!(Avx512);
