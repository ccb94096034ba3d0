//! The classic loops, for comparison: copies in pieces of 8, 16 or 32 bytes until the length is covered.
//!
//! They are the four variants of the article that chose LZ4 decoders by a bandit (8 or 16 bytes, with byte shuffles or
//! without) and the one of 32 bytes that came later, written anew and made safe: every length is compared with the room.
//! What the shuffle is for: a match whose offset is shorter than a piece has to repeat it. Without a shuffle that is done
//! byte by byte until the repeated part is as long as a piece.

use super::Decode;
use super::lane::Lane;
use super::ssse3;
use super::tables::PERIODS_16;
use crate::copy::{Plain, Two, load};
use crate::lz4::MATCH_MIN;
use crate::variant::{Isa, Variant};
use core::arch::asm;
use core::arch::x86_64::{__m128i, _mm_shuffle_epi8};

pub(super) const COPY8: Variant<Decode> = variant::<u64, false>("copy8");
pub(super) const COPY8_SHUFFLE: Variant<Decode> = variant::<u64, true>("copy8-shuffle");
pub(super) const COPY16: Variant<Decode> = variant::<__m128i, false>("copy16");
pub(super) const COPY16_SHUFFLE: Variant<Decode> = variant::<__m128i, true>("copy16-shuffle");
pub(super) const COPY32: Variant<Decode> = variant::<Two<__m128i>, false>("copy32");

/// What readers of the article asked about: the string instruction of the CPU for literals and matches of any length. It
/// moves byte after byte as far as anybody can tell, so that overlaps repeat by themselves. Every sequence pays its start.
pub(super) const COPY_MOVSB: Variant<Decode> = Variant {
    name: "copy-movsb",
    isa: Isa::Ssse3,
    run: Decode {
        advance: advance_movsb,
        advance_pair: advance_pair_movsb,
        finish: ssse3::finish,
        adapts: false,
    },
};

const fn variant<P: Plain, const SHUFFLE: bool>(name: &'static str) -> Variant<Decode> {
    let run = Decode {
        advance: advance::<P, SHUFFLE>,
        advance_pair: advance_pair::<P, SHUFFLE>,
        finish: ssse3::finish,
        adapts: false,
    };
    Variant { name, isa: Isa::Ssse3, run }
}

#[target_feature(enable = "ssse3")]
fn advance<P: Plain, const SHUFFLE: bool>(lane: &mut Lane<'_>, bytes: usize) {
    let mut local = lane.until(bytes);
    while local.is_open() && step::<P, SHUFFLE>(&mut local) {}
    lane.resume(&local);
}

/// One after the other: the classic loops take one block.
#[target_feature(enable = "ssse3")]
fn advance_pair<P: Plain, const SHUFFLE: bool>(a: &mut Lane<'_>, b: &mut Lane<'_>, bytes: usize) {
    advance::<P, SHUFFLE>(a, bytes);
    advance::<P, SHUFFLE>(b, bytes);
}

#[target_feature(enable = "ssse3")]
fn advance_movsb(lane: &mut Lane<'_>, bytes: usize) {
    let mut local = lane.until(bytes);
    while local.is_open() && step_movsb(&mut local) {}
    lane.resume(&local);
}

#[target_feature(enable = "ssse3")]
fn advance_pair_movsb(a: &mut Lane<'_>, b: &mut Lane<'_>, bytes: usize) {
    advance_movsb(a, bytes);
    advance_movsb(b, bytes);
}

/// One sequence by `rep movsb`; whether the loop may go on.
#[inline]
fn step_movsb(lane: &mut Lane<'_>) -> bool {
    let start = *lane;
    let Some(token) = byte(lane) else { return lane.close() };
    let Some(literals) = length(lane, token >> 4) else { return give_up(lane, start) };
    if lane.source_left() < literals.saturating_add(2) || lane.left() < literals {
        return give_up(lane, start);
    }
    // SAFETY: both sides have the literals, in different buffers.
    unsafe { move_bytes(lane.from, lane.to, literals) };
    (lane.from, lane.to) = (lane.from.wrapping_add(literals), lane.to.wrapping_add(literals));
    // SAFETY: two bytes were kept after the literals.
    let offset = usize::from(u16::from_le(unsafe { lane.read(lane.from) }));
    lane.from = lane.from.wrapping_add(2);
    let Some(length) = length(lane, token & 15) else { return give_up(lane, start) };
    let length = length.saturating_add(MATCH_MIN);
    if offset.wrapping_sub(1) >= lane.written() || lane.left() < length {
        return give_up(lane, start);
    }
    // SAFETY: what is copied starts inside of what is written, and the room holds the match.
    unsafe { move_bytes(lane.to.wrapping_sub(offset), lane.to, length) };
    lane.to = lane.to.wrapping_add(length);
    true
}

/// Copies this many bytes, one after the other: what is written may be read again.
///
/// # Safety
/// `count` bytes can be read from `from` on, as far as they lie before `to` or are written by this copy, and written from
/// `to` on.
#[inline(always)]
unsafe fn move_bytes(from: *const u8, to: *mut u8, count: usize) {
    // SAFETY: the instruction reads and writes these bytes and nothing else; the direction flag is clear by convention.
    unsafe {
        asm!(
            "rep movsb",
            inout("rcx") count => _,
            inout("rsi") from => _,
            inout("rdi") to => _,
            options(nostack, preserves_flags),
        );
    }
}

/// One sequence; whether the loop may go on. Near the ends it may not.
#[inline]
#[target_feature(enable = "ssse3")]
fn step<P: Plain, const SHUFFLE: bool>(lane: &mut Lane<'_>) -> bool {
    let piece = size_of::<P>();
    let start = *lane;
    let Some(token) = byte(lane) else { return lane.close() };
    let Some(literals) = length(lane, token >> 4) else { return give_up(lane, start) };
    // After the literals come offset and length; a piece may reach past them.
    if lane.source_left() < literals.saturating_add(piece + 2)
        || lane.left() < literals.saturating_add(piece)
    {
        return give_up(lane, start);
    }
    let mut k = 0;
    while k < literals {
        // SAFETY: `k < literals`, and both sides have a piece more than that.
        unsafe { lane.copy::<P>(lane.from.wrapping_add(k), lane.to.wrapping_add(k)) };
        k += piece;
    }
    (lane.from, lane.to) = (lane.from.wrapping_add(literals), lane.to.wrapping_add(literals));
    // SAFETY: two bytes were kept after the literals.
    let offset = usize::from(u16::from_le(unsafe { lane.read(lane.from) }));
    lane.from = lane.from.wrapping_add(2);
    let Some(length) = length(lane, token & 15) else { return give_up(lane, start) };
    let length = length.saturating_add(MATCH_MIN);
    // The start of a short match writes two pieces.
    if offset.wrapping_sub(1) >= lane.written()
        || lane.left() < length.saturating_add(2 * piece + 16)
    {
        return give_up(lane, start);
    }
    // SAFETY: just checked.
    unsafe { copy_match::<P, SHUFFLE>(lane, offset, length) };
    lane.to = lane.to.wrapping_add(length);
    true
}

/// Leaves the sequence to the exact code.
#[inline(always)]
fn give_up(lane: &mut Lane<'_>, start: Lane<'_>) -> bool {
    (lane.from, lane.to) = (start.from, start.to);
    lane.close()
}

#[inline(always)]
fn byte(lane: &mut Lane<'_>) -> Option<usize> {
    if lane.from >= lane.source_end {
        return None;
    }
    // SAFETY: just compared.
    let byte = unsafe { lane.read::<u8>(lane.from) };
    lane.from = lane.from.wrapping_add(1);
    Some(usize::from(byte))
}

#[inline(always)]
fn length(lane: &mut Lane<'_>, half: usize) -> Option<usize> {
    let mut length = half;
    if half == 15 {
        loop {
            let byte = byte(lane)?;
            length = length.saturating_add(byte);
            if byte != 255 {
                break;
            }
        }
    }
    Some(length)
}

/// # Safety
/// `1 <= offset`, this many bytes are written, and `length` and two pieces and 16 bytes of room are left.
#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn copy_match<P: Plain, const SHUFFLE: bool>(lane: &Lane<'_>, offset: usize, length: usize) {
    let piece = size_of::<P>();
    let (to, mut k, mut distance) = (lane.to, 0, offset);
    if offset < piece {
        // SAFETY: the room holds more than a piece.
        unsafe { start_match::<P, SHUFFLE>(lane, offset) };
        // After it, whole pieces can be copied from a multiple of the offset before.
        distance = offset * piece.div_ceil(offset);
        k = piece;
    }
    while k < length {
        let at = to.wrapping_add(k);
        // SAFETY: `k < length`, and a piece follows that; what is copied lies `distance` before.
        unsafe { lane.copy_inside::<P>(at.wrapping_sub(distance), at) };
        k += piece;
    }
}

/// Writes one piece of a match whose offset is shorter, and up to 16 bytes.
///
/// # Safety
/// As for [`copy_match`].
#[inline]
#[target_feature(enable = "ssse3")]
unsafe fn start_match<P: Plain, const SHUFFLE: bool>(lane: &Lane<'_>, offset: usize) {
    let (to, from) = (lane.to, lane.to.wrapping_sub(offset));
    if SHUFFLE && size_of::<P>() <= 16 {
        // SAFETY: `from` lies before `to`, where 16 bytes of room follow. Only bytes before `to` are kept.
        let seed = unsafe { lane.load::<__m128i>(from) };
        // SAFETY: a row has 16 bytes.
        let indices = unsafe { load::<__m128i>(&PERIODS_16.0[offset & 15], 0) };
        let pattern = _mm_shuffle_epi8(seed, indices);
        // SAFETY: 16 bytes of room follow.
        unsafe { lane.store(to, pattern) };
        return;
    }
    for k in 0..size_of::<P>() {
        // SAFETY: a piece of room follows `to`; what is copied lies `offset` before.
        unsafe { lane.copy_inside::<u8>(from.wrapping_add(k), to.wrapping_add(k)) };
    }
}
