//! One value at a time in safe Rust: the fallback everywhere, the ends of the fast loops, and the author of every error.

use super::{Codes, Decode, Encode, Malformed, OneToFour, ZeroToFour, controls};
use crate::variant::{Isa, Variant};

pub(super) const ENCODE_1234: Variant<Encode<u32>> =
    Variant { name: "scalar", isa: Isa::Scalar, run: encode::<OneToFour> };
pub(super) const ENCODE_0124: Variant<Encode<u32>> =
    Variant { name: "scalar", isa: Isa::Scalar, run: encode::<ZeroToFour> };
pub(super) const DECODE_1234: Variant<Decode<u32>> =
    Variant { name: "scalar", isa: Isa::Scalar, run: decode::<OneToFour> };
pub(super) const DECODE_0124: Variant<Decode<u32>> =
    Variant { name: "scalar", isa: Isa::Scalar, run: decode::<ZeroToFour> };

/// From this many values on, groups of four pay for being told apart.
const MANY: usize = 32;

/// How far a loop has come: values, and the position of the next data byte.
#[derive(Clone, Copy)]
pub(in crate::integer) struct Progress {
    pub(in crate::integer) done: usize,
    pub(in crate::integer) at: usize,
}

fn encode<C: Codes>(source: &[u32], target: &mut [u8]) -> Option<usize> {
    encode_from::<C>(source, target, Progress { done: 0, at: controls(source.len()) })
}

/// Encodes what is left. `done` is a multiple of four.
pub(in crate::integer) fn encode_from<C: Codes>(
    source: &[u32],
    target: &mut [u8],
    progress: Progress,
) -> Option<usize> {
    let Progress { done, mut at } = progress;
    for (index, four) in source[done..].chunks(4).enumerate() {
        let mut control = 0;
        for (lane, &value) in four.iter().enumerate() {
            let code = C::code(value);
            control |= code << (2 * lane);
            let (length, bytes) = (C::BYTES[usize::from(code)], value.to_le_bytes());
            // All four where there is room: the next value comes over what is too much.
            match target.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
                Some(place) => *place = bytes,
                None => target.get_mut(at..at + length)?.copy_from_slice(&bytes[..length]),
            }
            at += length;
        }
        *target.get_mut(done / 4 + index)? = control;
    }
    Some(at)
}

fn decode<C: Codes>(source: &[u8], target: &mut [u32]) -> Result<usize, Malformed> {
    let at = controls(target.len());
    if source.len() < at {
        return Err(short::<C>(source, target.len()));
    }
    let start = Progress { done: 0, at };
    if target.len() >= MANY {
        return decode_many::<C>(source, target, start);
    }
    decode_from::<C>(source, target, start)
}

/// Apart from the short lists, which are slower beside it.
#[inline(never)]
fn decode_many<C: Codes>(
    source: &[u8],
    target: &mut [u32],
    start: Progress,
) -> Result<usize, Malformed> {
    let progress = decode_fours::<C>(source, target, start);
    decode_from::<C>(source, target, progress)
}

/// Decodes what is left; the control bytes are there.
pub(in crate::integer) fn decode_from<C: Codes>(
    source: &[u8],
    target: &mut [u32],
    progress: Progress,
) -> Result<usize, Malformed> {
    let (count, Progress { done, mut at }) = (target.len(), progress);
    for (index, value) in target.iter_mut().enumerate().skip(done) {
        let length = C::BYTES[usize::from(source[index / 4] >> (2 * (index % 4)) & 3)];
        *value = if let Some(whole) = source.get(at..).and_then(<[u8]>::first_chunk) {
            #[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
            let kept = ((1_u64 << (8 * length)) - 1) as u32;
            u32::from_le_bytes(*whole) & kept
        } else {
            let Some(bytes) = source.get(at..at + length) else {
                return Err(short::<C>(source, count));
            };
            bytes.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte))
        };
        at += length;
    }
    Ok(at)
}

/// Where the data of each of four values ends, counted from the start of the first, for each control byte.
const fn ends(bytes: [usize; 4]) -> [[u8; 4]; 256] {
    let mut ends = [[0; 4]; 256];
    let mut control = 0;
    while control < 256 {
        let (mut lane, mut at) = (0, 0);
        while lane < 4 {
            at += bytes[control >> (2 * lane) & 3];
            #[expect(clippy::cast_possible_truncation, reason = "at most 16")]
            let end = at as u8;
            ends[control][lane] = end;
            lane += 1;
        }
        control += 1;
    }
    ends
}

static ENDS_1234: [[u8; 4]; 256] = ends(OneToFour::BYTES);
static ENDS_0124: [[u8; 4]; 256] = ends(ZeroToFour::BYTES);

/// Decodes groups of four as long as 16 bytes of source are left for one. Where a value lies is looked up, so that no value
/// of a group waits for another.
fn decode_fours<C: Codes>(source: &[u8], target: &mut [u32], progress: Progress) -> Progress {
    let table = if C::BYTES[0] == 0 { &ENDS_0124 } else { &ENDS_1234 };
    let Progress { mut done, mut at } = progress;
    let (fours, _) = target[done..].as_chunks_mut::<4>();
    for (four, &control) in fours.iter_mut().zip(&source[done / 4..]) {
        let Some(data) = source.get(at..).and_then(<[u8]>::first_chunk::<16>) else { break };
        let ends = table[usize::from(control)].map(usize::from);
        let starts = [0, ends[0], ends[1], ends[2]];
        let lengths = [0, 2, 4, 6].map(|shift| C::BYTES[usize::from(control >> shift & 3)]);
        for ((value, start), length) in four.iter_mut().zip(starts).zip(lengths) {
            *value = word(data, start) & KEPT[length];
        }
        (done, at) = (done + 4, at + ends[3]);
    }
    Progress { done, at }
}

/// The bits of a value of this many bytes.
const KEPT: [u32; 5] = [0, 0xff, 0xffff, 0xff_ffff, u32::MAX];

/// The four bytes at a place below 13.
#[inline(always)]
fn word(data: &[u8; 16], at: usize) -> u32 {
    data[at.min(12)..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The error for a source that lacks control bytes or data bytes of `count` values.
#[cold]
pub(in crate::integer) fn short<C: Codes>(source: &[u8], count: usize) -> Malformed {
    let mut needed = controls(count);
    if source.len() >= needed {
        let codes = (0..count).map(|index| source[index / 4] >> (2 * (index % 4)) & 3);
        needed += codes.map(|code| C::BYTES[usize::from(code)]).sum::<usize>();
    }
    Malformed::Short { at: source.len(), needed }
}
