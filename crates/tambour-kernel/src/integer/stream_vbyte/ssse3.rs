//! Four values per control byte with a byte shuffle: the loop of the format's authors.

use super::scalar::{self, Progress};
use super::{Codes, Decode, Encode, Malformed, OneToFour, ZeroToFour, controls};
use crate::integer::memory::{load, store};
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{__m128i, _mm_add_epi8, _mm_set_epi64x, _mm_set1_epi8, _mm_shuffle_epi8};

pub(super) const ENCODE_1234: Variant<Encode<u32>> =
    Variant { name: "ssse3", isa: Isa::Ssse3, run: encode::<OneToFour> };
pub(super) const ENCODE_0124: Variant<Encode<u32>> =
    Variant { name: "ssse3", isa: Isa::Ssse3, run: encode::<ZeroToFour> };
pub(super) const DECODE_1234: Variant<Decode<u32>> =
    Variant { name: "ssse3", isa: Isa::Ssse3, run: decode::<OneToFour> };
pub(super) const DECODE_0124: Variant<Decode<u32>> =
    Variant { name: "ssse3", isa: Isa::Ssse3, run: decode::<ZeroToFour> };

/// For each control byte: the shuffle that spreads data over lanes, the one that gathers it, and the data's length.
struct Tables {
    spread: [[u8; 16]; 256],
    gather: [[u8; 16]; 256],
    length: [u8; 256],
}

#[expect(clippy::cast_possible_truncation, reason = "positions are at most 16")]
const fn tables(bytes: [usize; 4]) -> Tables {
    let mut tables =
        Tables { spread: [[0x80; 16]; 256], gather: [[0x80; 16]; 256], length: [0; 256] };
    let mut control = 0;
    while control < 256 {
        let (mut lane, mut at) = (0, 0);
        while lane < 4 {
            let mut byte = 0;
            while byte < bytes[control >> (2 * lane) & 3] {
                tables.spread[control][4 * lane + byte] = at as u8;
                tables.gather[control][at] = (4 * lane + byte) as u8;
                at += 1;
                byte += 1;
            }
            lane += 1;
        }
        tables.length[control] = at as u8;
        control += 1;
    }
    tables
}

static TABLES_1234: Tables = tables(OneToFour::BYTES);
static TABLES_0124: Tables = tables(ZeroToFour::BYTES);

/// The tables of a set of codes.
#[inline(always)]
fn tables_of<C: Codes>() -> &'static Tables {
    if C::BYTES[0] == 0 { &TABLES_0124 } else { &TABLES_1234 }
}

#[target_feature(enable = "ssse3")]
fn encode<C: Codes>(source: &[u32], target: &mut [u8]) -> Option<usize> {
    encode_ends::<C>(source, target, Progress { done: 0, at: controls(source.len()) })
}

/// Encodes what is left; `progress.done` is a multiple of four.
#[inline]
#[target_feature(enable = "ssse3")]
pub(super) fn encode_ends<C: Codes>(
    source: &[u32],
    target: &mut [u8],
    mut progress: Progress,
) -> Option<usize> {
    let tables = tables_of::<C>();
    let (fours, _) = source.as_chunks::<4>();
    for (index, four) in fours.iter().enumerate().skip(progress.done / 4) {
        if target.len() < progress.at + 16 {
            break;
        }
        let codes = four.map(C::code);
        let control = codes[0] | codes[1] << 2 | codes[2] << 4 | codes[3] << 6;
        target[index] = control;
        // SAFETY: four values are 16 bytes.
        let values = unsafe { load::<__m128i, _>(four, 0) };
        // SAFETY: a row has 16 bytes.
        let gather = unsafe { load::<__m128i, _>(&tables.gather[usize::from(control)], 0) };
        let data = _mm_shuffle_epi8(values, gather);
        // SAFETY: 16 bytes of room were checked.
        unsafe { store(target, progress.at, data) };
        progress.at += usize::from(tables.length[usize::from(control)]);
        progress.done += 4;
    }
    scalar::encode_from::<C>(source, target, progress)
}

/// Four values whose data starts at `at`, and the length of the data; codes for 1 to 4 bytes.
///
/// # Safety
/// `at + 16 <= source.len()`.
#[inline]
#[target_feature(enable = "ssse3")]
pub(in crate::integer) unsafe fn four(source: &[u8], at: usize, control: u8) -> (__m128i, usize) {
    // SAFETY: the caller keeps 16 bytes within the source.
    unsafe { spread_four(&TABLES_1234, source, at, control) }
}

/// # Safety
/// As for [`four`].
#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn spread_four(
    tables: &'static Tables,
    source: &[u8],
    at: usize,
    control: u8,
) -> (__m128i, usize) {
    // SAFETY: the caller keeps 16 bytes within the source.
    let bytes = unsafe { load::<__m128i, _>(source, at) };
    // SAFETY: a row has 16 bytes.
    let spread = unsafe { load::<__m128i, _>(&tables.spread[usize::from(control)], 0) };
    (_mm_shuffle_epi8(bytes, spread), usize::from(tables.length[usize::from(control)]))
}

#[target_feature(enable = "ssse3")]
fn decode<C: Codes>(source: &[u8], target: &mut [u32]) -> Result<usize, Malformed> {
    let tables = tables_of::<C>();
    let mut progress = Progress { done: 0, at: controls(target.len()) };
    let Some(controls) = source.get(..progress.at) else {
        return Err(scalar::short::<C>(source, target.len()));
    };
    let (fours, _) = target.as_chunks_mut::<4>();
    for (four, &control) in fours.iter_mut().zip(controls) {
        if source.len() < progress.at + 16 {
            break;
        }
        // SAFETY: 16 bytes of source were checked.
        let (values, length) = unsafe { spread_four(tables, source, progress.at, control) };
        // SAFETY: four values are 16 bytes.
        unsafe { store(four, 0, values) };
        progress.at += length;
        progress.done += 4;
    }
    decode_ends::<C>(source, target, progress)
}

/// Decodes what is left, with as few as one value, and with fewer than 16 bytes of source after a group: short lists are
/// nothing else. The control bytes are there, and `progress.done` is a multiple of four.
#[inline]
#[target_feature(enable = "ssse3")]
pub(super) fn decode_ends<C: Codes>(
    source: &[u8],
    target: &mut [u32],
    progress: Progress,
) -> Result<usize, Malformed> {
    let tables = tables_of::<C>();
    let (count, Progress { done, mut at }) = (target.len(), progress);
    if done == count {
        return Ok(at);
    }
    let first = source.len().saturating_sub(16);
    let last = last_bytes(source);
    for (four, &control) in target[done..].chunks_mut(4).zip(&source[done / 4..]) {
        // The codes of values that are not there are as good as none: each would take the least.
        let missing = 4 - four.len();
        let control = control & (0xff >> (2 * missing));
        let length = usize::from(tables.length[usize::from(control)]) - missing * C::BYTES[0];
        if source.len() < at + length {
            return Err(scalar::short::<C>(source, count));
        }
        // SAFETY: a row has 16 bytes.
        let mut spread = unsafe { load::<__m128i, _>(&tables.spread[usize::from(control)], 0) };
        let bytes = if source.len() >= at + 16 {
            // SAFETY: just compared.
            unsafe { load::<__m128i, _>(source, at) }
        } else {
            // Indices of bytes that the source does not have belong to values that are not there.
            #[expect(clippy::cast_possible_truncation, reason = "below 16")]
            let by = _mm_set1_epi8(at.wrapping_sub(first) as i8);
            spread = _mm_add_epi8(spread, by);
            last
        };
        let values = _mm_shuffle_epi8(bytes, spread);
        if missing == 0 {
            // SAFETY: four values are 16 bytes.
            unsafe { store(four, 0, values) };
        } else {
            let mut whole = [0; 4];
            // SAFETY: four values are 16 bytes.
            unsafe { store(&mut whole, 0, values) };
            for (place, value) in four.iter_mut().zip(whole) {
                *place = value;
            }
        }
        at += length;
    }
    Ok(at)
}

/// The last 16 bytes; of a shorter source all bytes, and zeros after them.
#[inline]
#[target_feature(enable = "ssse3")]
fn last_bytes(source: &[u8]) -> __m128i {
    let n = source.len();
    if n >= 16 {
        // SAFETY: just compared.
        return unsafe { load::<__m128i, _>(source, n - 16) };
    }
    let word = |at: usize| source[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let half =
        |at: usize| source[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes).into());
    // Two pieces that may overlap: what they have in common is the same in both.
    let (low, high) = match n {
        8.. => (word(0), word(n - 8) >> 1 >> (63 - 8 * (n - 8))),
        4.. => (half(0) | half(n - 4) << (8 * (n - 4)), 0),
        _ => (source.iter().rev().fold(0, |bytes, byte| bytes << 8 | u64::from(*byte)), 0),
    };
    _mm_set_epi64x(high.cast_signed(), low.cast_signed())
}
