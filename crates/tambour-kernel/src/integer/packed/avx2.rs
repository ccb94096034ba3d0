//! The engine with AVX2: eight values are a byte shuffle in each half of a register, a shift per lane and a mask.

use super::header::{self, Packed};
use super::{Decode, HIGHS, Malformed, SLACK, bits, patched, plain};
use crate::integer::memory::{load, store};
use crate::integer::stream_vbyte::ssse3;
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m128i, __m256i, _mm_add_epi32, _mm_cvtsi32_si128, _mm_loadl_epi64, _mm_set1_epi32,
    _mm256_add_epi32, _mm256_and_si256, _mm256_andnot_si256, _mm256_cmpgt_epi32,
    _mm256_cvtepi8_epi32, _mm256_extract_epi32, _mm256_mullo_epi32, _mm256_or_si256,
    _mm256_permute2x128_si256, _mm256_permutevar8x32_epi32, _mm256_set_m128i, _mm256_set1_epi32,
    _mm256_setr_epi32, _mm256_shuffle_epi8, _mm256_shuffle_epi32, _mm256_sll_epi32,
    _mm256_slli_si256, _mm256_sllv_epi32, _mm256_srai_epi32, _mm256_srli_epi32, _mm256_srlv_epi32,
    _mm256_sub_epi32,
};

pub(super) const PLAIN: Variant<Decode<u32>> =
    Variant { name: "avx2", isa: Isa::Avx2, run: decode_plain::<false> };
pub(super) const PLAIN_SUM: Variant<Decode<u32>> =
    Variant { name: "avx2", isa: Isa::Avx2, run: decode_plain::<true> };
pub(super) const PATCHED: Variant<Decode<u32>> =
    Variant { name: "avx2", isa: Isa::Avx2, run: decode_patched::<false> };
pub(super) const PATCHED_SUM: Variant<Decode<u32>> =
    Variant { name: "avx2", isa: Isa::Avx2, run: decode_patched::<true> };

/// Proof of the instruction set: made only in the two functions below, which cannot be called without.
#[derive(Clone, Copy)]
struct Avx2(());

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn decode_plain<const SUMS: bool>(source: &[u8], target: &mut [u32]) -> Result<usize, Malformed> {
    plain::decode::<_, SUMS>(Avx2(()), source, target)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn decode_patched<const SUMS: bool>(source: &[u8], target: &mut [u32]) -> Result<usize, Malformed> {
    patched::decode::<_, SUMS>(Avx2(()), source, target)
}

/// Where the bits of eight values of a width are: the same for every group, since a group is a whole number of bytes.
///
/// Four values have at most 128 bits, and start in the first byte of a half or in the middle of it.
#[derive(Clone, Copy)]
struct Places {
    /// The first four bytes of each value within its half.
    bytes: __m256i,
    /// Position of its first bit in them.
    shift: __m256i,
    mask: __m256i,
    /// Bytes of a group.
    stride: usize,
    /// Position of the upper half.
    upper: usize,
}

impl Places {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new(width: u32) -> Self {
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 0, 1, 2, 3);
        let first = _mm256_mullo_epi32(lanes, _mm256_set1_epi32(width.cast_signed()));
        // Four values of an odd width end in the middle of a byte.
        let half = (4 * width % 8).cast_signed();
        let first = _mm256_add_epi32(first, _mm256_setr_epi32(0, 0, 0, 0, half, half, half, half));
        let byte =
            _mm256_mullo_epi32(_mm256_srli_epi32::<3>(first), _mm256_set1_epi32(0x0101_0101));
        Self {
            bytes: _mm256_add_epi32(byte, _mm256_set1_epi32(0x0302_0100)),
            shift: _mm256_and_si256(first, _mm256_set1_epi32(7)),
            mask: _mm256_set1_epi32(bits::mask(width).cast_signed()),
            stride: width as usize,
            upper: width as usize / 2,
        }
    }

    /// Eight values. `WIDE` when a value may reach into a fifth byte.
    ///
    /// # Safety
    /// `at + 32 <= source.len()`.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn eight<const WIDE: bool>(self, source: &[u8], at: usize) -> __m256i {
        // SAFETY: the caller keeps 32 bytes within the source.
        let low = unsafe { load::<__m128i, _>(source, at) };
        // SAFETY: the upper half starts at most 16 bytes on.
        let high = unsafe { load::<__m128i, _>(source, at + self.upper) };
        let group = _mm256_set_m128i(high, low);
        let four = _mm256_shuffle_epi8(group, self.bytes);
        let mut shifted = _mm256_srlv_epi32(four, self.shift);
        if WIDE {
            // A byte beyond the half is taken for another, but only where the value does not reach that far.
            let next = _mm256_add_epi32(self.bytes, _mm256_set1_epi32(0x0404_0404));
            let above = _mm256_sub_epi32(_mm256_set1_epi32(32), self.shift);
            let next = _mm256_sllv_epi32(_mm256_shuffle_epi8(group, next), above);
            shifted = _mm256_or_si256(shifted, next);
        }
        _mm256_and_si256(shifted, self.mask)
    }
}

/// The last lane in all lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn last(values: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(values, _mm256_set1_epi32(7))
}

/// The running sum, in all lanes. Only one addition per group waits for the group before.
#[inline]
#[target_feature(enable = "avx2")]
fn carry_on<const SUMS: bool>(values: __m256i, sum: &mut __m256i) -> __m256i {
    if !SUMS {
        return values;
    }
    let own = _mm256_add_epi32(values, _mm256_slli_si256::<4>(values));
    let own = _mm256_add_epi32(own, _mm256_slli_si256::<8>(own));
    // The last sum of the lower half goes to all of the upper.
    let lower = _mm256_shuffle_epi32::<0xff>(_mm256_permute2x128_si256::<0x08>(own, own));
    let own = _mm256_add_epi32(own, lower);
    let all = _mm256_add_epi32(own, *sum);
    *sum = _mm256_add_epi32(*sum, last(own));
    all
}

#[inline]
#[target_feature(enable = "avx2")]
fn first_lane(values: __m256i) -> u32 {
    _mm256_extract_epi32::<0>(values).cast_unsigned()
}

#[inline]
#[target_feature(enable = "avx2")]
fn unpack<const SUMS: bool, const WIDE: bool>(
    source: &[u8],
    at: usize,
    width: u32,
    target: &mut [u32],
    before: u32,
) -> u32 {
    let places = Places::new(width);
    assert!(source.len() >= at + bits::size(target.len(), width) + SLACK, "bytes after the values");
    let mut sum = _mm256_set1_epi32(before.cast_signed());
    let (groups, _) = target.as_chunks_mut::<8>();
    for (index, group) in groups.iter_mut().enumerate() {
        // SAFETY: a group starts within the values, and 64 bytes follow those.
        let values = unsafe { places.eight::<WIDE>(source, at + places.stride * index) };
        let values = carry_on::<SUMS>(values, &mut sum);
        // SAFETY: a group has eight values.
        unsafe { store(group, 0, values) };
    }
    first_lane(sum)
}

/// For each byte of a bitmap: which of the next values belongs into each lane, or -1.
static SPREAD: [[i8; 8]; 256] = {
    let mut table = [[-1; 8]; 256];
    let mut marks = 0;
    while marks < 256 {
        let (mut lane, mut next) = (0, 0);
        while lane < 8 {
            if marks >> lane & 1 == 1 {
                table[marks][lane] = next;
                next += 1;
            }
            lane += 1;
        }
        marks += 1;
    }
    table
};

#[inline]
#[target_feature(enable = "avx2,popcnt")]
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
    let mut sum = _mm256_set1_epi32(before.cast_signed());
    let mut taken = 0;
    let (groups, _) = target.as_chunks_mut::<8>();
    for (index, (group, &marks)) in groups.iter_mut().zip(bitmap).enumerate() {
        // SAFETY: a group starts within the values, and 64 bytes follow those.
        let values = unsafe { places.eight::<WIDE>(source, at + places.stride * index) };
        // SAFETY: before the last group at most 248 were taken, and the array has 32 beyond 256.
        let next = unsafe { load::<__m256i, _>(highs, taken) };
        taken += marks.count_ones() as usize;
        // SAFETY: a row has eight bytes.
        let row = unsafe { _mm_loadl_epi64(SPREAD[usize::from(marks)].as_ptr().cast()) };
        let row = _mm256_cvtepi8_epi32(row);
        let high = _mm256_permutevar8x32_epi32(next, row);
        let high = _mm256_andnot_si256(_mm256_srai_epi32::<31>(row), high);
        let values = _mm256_add_epi32(values, _mm256_sll_epi32(high, above));
        let values = carry_on::<SUMS>(values, &mut sum);
        // SAFETY: a group has eight values.
        unsafe { store(group, 0, values) };
    }
    first_lane(sum)
}

#[inline]
#[target_feature(enable = "avx2")]
fn raise(source: &[u8], data: usize, header: header::Header, first: usize, target: &mut [u32; 16]) {
    let places = Places::new(header.high_width);
    let at = data + 2 * places.stride * (first / 16);
    assert!(at + SLACK <= source.len(), "bytes after the upper parts");
    let above = _mm_cvtsi32_si128(header.width.cast_signed());
    #[expect(clippy::cast_possible_truncation, reason = "a count is below 256")]
    let left = (header.count - first) as u32;
    let mut lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    let (halves, _) = target.as_chunks_mut::<8>();
    for (index, half) in halves.iter_mut().enumerate() {
        // SAFETY: 64 bytes were checked, and the second half starts at most 32 on.
        let highs = unsafe { places.eight::<true>(source, at + places.stride * index) };
        let raised = _mm256_sll_epi32(_mm256_add_epi32(highs, _mm256_set1_epi32(1)), above);
        let used = _mm256_cmpgt_epi32(_mm256_set1_epi32(left.cast_signed()), lanes);
        lanes = _mm256_add_epi32(lanes, _mm256_set1_epi32(8));
        let values = _mm256_and_si256(raised, used);
        // SAFETY: a half has eight values.
        unsafe { store(half, 0, values) };
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn add_up(target: &mut [u32], before: u32) -> u32 {
    let mut sum = _mm256_set1_epi32(before.cast_signed());
    let (groups, _) = target.as_chunks_mut::<8>();
    for group in groups {
        // SAFETY: a group has eight values.
        let values = unsafe { load::<__m256i, _>(&group[..], 0) };
        let values = carry_on::<true>(values, &mut sum);
        // SAFETY: as above.
        unsafe { store(group, 0, values) };
    }
    first_lane(sum)
}

#[inline]
#[target_feature(enable = "avx2")]
fn highs(source: &[u8], codes: usize, mut data: usize, count: usize, target: &mut [u32; HIGHS]) {
    assert!(count <= header::BLOCK, "values of one block");
    let one = _mm_set1_epi32(1);
    for four in 0..count.div_ceil(4) {
        assert!(data + 16 <= source.len(), "bytes after the data");
        // SAFETY: just checked.
        let (values, length) = unsafe { ssse3::four(source, data, source[codes + four]) };
        let values = _mm_add_epi32(values, one);
        // SAFETY: there are at most 256 values, as asserted.
        unsafe { store(target, 4 * four, values) };
        data += length;
    }
}

engine!(Avx2);
