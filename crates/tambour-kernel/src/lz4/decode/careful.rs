//! The exact code: every length and offset is checked, nothing outside of the two buffers is read or written.
//!
//! The loops keep a margin from the ends of both buffers and leave the rest of a block to [`finish`]; they also call
//! [`sequence`] for long literals and matches, for which it has the fast copies ([`fill`]).

use super::lane::{Lane, Place};
use super::machine::Machine;
use crate::copy::{Plain, copy, copy_inside, load, opaque, store};
use crate::lz4::{MATCH_MIN, NIBBLE_MAX};
use core::slice;

/// Adds the bytes that extend a length from half a token: the position after them and the length. `None` when the source
/// ends inside them.
#[inline(always)]
pub(super) fn extended(source: &[u8], mut at: usize, nibble: usize) -> Option<(usize, usize)> {
    let mut length = nibble;
    if nibble == NIBBLE_MAX {
        loop {
            let byte = *source.get(at)?;
            at += 1;
            // Saturates on 32-bit targets only; no buffer is that long, so the comparisons that follow refuse it.
            length = length.saturating_add(usize::from(byte));
            if byte != 255 {
                break;
            }
        }
    }
    Some((at, length))
}

/// What becomes of one sequence, in positions of the two buffers.
enum Outcome {
    /// The next one starts here.
    Next(usize, usize),
    /// It was the last one, and it ended exactly at the end of both buffers.
    Done,
    /// The block is malformed.
    Broken,
}

/// Decodes exactly one sequence of any shape.
///
/// # Safety
/// The arguments are from a lane that is not done.
#[inline(always)]
pub(super) unsafe fn sequence<M: Machine>(
    machine: M,
    from: *const u8,
    to: *mut u8,
    source_end: *const u8,
    target_start: *mut u8,
    target_end: *mut u8,
) -> Place {
    let left = source_end.addr() - from.addr();
    let room = target_end.addr() - target_start.addr();
    // SAFETY: a lane's source lies between the two.
    let source = unsafe { slice::from_raw_parts(from, left) };
    // SAFETY: a lane's target lies between the two, and the lane borrows it for itself.
    let target = unsafe { slice::from_raw_parts_mut(target_start, room) };
    match decode(machine, source, target, to.addr() - target_start.addr()) {
        Outcome::Next(i, o) => {
            Place { from: from.wrapping_add(i), to: target_start.wrapping_add(o) }
        }
        Outcome::Done => Place { from: core::ptr::null(), to: target_end },
        Outcome::Broken => Place::BROKEN,
    }
}

/// The same on slices: a sequence at the start of `source`, written at `o`.
#[inline(always)]
fn decode<M: Machine>(machine: M, source: &[u8], target: &mut [u8], o: usize) -> Outcome {
    let Some(&token) = source.first() else { return Outcome::Broken };
    let token = usize::from(token);
    let Some((i, literals)) = extended(source, 1, token >> 4) else { return Outcome::Broken };
    if literals > source.len() - i || literals > target.len() - o {
        return Outcome::Broken;
    }
    copy_literals::<M>(source, i, target, o, literals);
    let (i, o) = (i + literals, o + literals);
    if i == source.len() {
        return if o == target.len() { Outcome::Done } else { Outcome::Broken };
    }
    let Some(offset) = source[i..].first_chunk::<2>() else { return Outcome::Broken };
    let offset = usize::from(u16::from_le_bytes(*offset));
    if offset.wrapping_sub(1) >= o {
        return Outcome::Broken;
    }
    let Some((i, length)) = extended(source, i + 2, token & 15) else { return Outcome::Broken };
    let length = length.saturating_add(MATCH_MIN);
    if length > target.len() - o {
        return Outcome::Broken;
    }
    // SAFETY: offset and length were just checked.
    unsafe { fill(machine, target, o, offset, length) };
    Outcome::Next(i, o + length)
}

/// Writes a match into the target of a lane. May write past it, never past the target.
///
/// # Safety
/// Those of [`Machine::fill`].
#[inline(always)]
pub(super) unsafe fn fill_lane<M: Machine>(
    machine: M,
    to: *mut u8,
    offset: usize,
    length: usize,
    target_start: *mut u8,
    target_end: *mut u8,
) {
    let room = target_end.addr() - target_start.addr();
    // SAFETY: a lane's target lies between the two, and the lane borrows it for itself.
    let target = unsafe { slice::from_raw_parts_mut(target_start, room) };
    // SAFETY: the same conditions.
    unsafe { fill(machine, target, to.addr() - target_start.addr(), offset, length) };
}

/// More literals than this are left to the system's copy. What it takes to begin weighs nothing there, and the caches decide.
const PIECES_MAX: usize = 32 << 10;

/// Copies `length` bytes, which both sides have. Of up to 16 it makes 16 where both sides have them.
#[inline(always)]
fn copy_literals<M: Machine>(source: &[u8], i: usize, target: &mut [u8], o: usize, length: usize) {
    const { assert!(size_of::<M::Half>() == 16) };
    let width = size_of::<M::Wide>();
    let room = (source.len() - i).min(target.len() - o);
    if length <= 16 && room >= 16 {
        // SAFETY: both sides have 16 bytes.
        unsafe { copy::<M::Half>(source, i, target, o) };
    } else if length < 32 {
        // SAFETY: both sides have the literals.
        unsafe { copy_few(source, i, target, o, length) };
    } else if length < width {
        // SAFETY: both sides have the literals, which are 32 to 64 bytes.
        unsafe { copy_ends::<M::Double>(source, i, target, o, length) };
    } else if length <= PIECES_MAX {
        // SAFETY: both sides have the literals, and they are at least a register.
        unsafe { copy_pieces::<M::Wide>(source, i, target, o, length) };
    } else {
        target[o..o + length].copy_from_slice(&source[i..i + length]);
    }
}

/// Copies exactly `length` bytes; the last piece ends where they do and may overlap the one before. A system's copy is often
/// a string instruction, which is slow to begin: blocks of 4 and 16 KiB that do not compress decode a tenth faster by this.
///
/// # Safety
/// Both sides have the bytes, and they are at least a piece.
#[inline(always)]
unsafe fn copy_pieces<T: Plain>(
    source: &[u8],
    i: usize,
    target: &mut [u8],
    o: usize,
    length: usize,
) {
    let last = length - size_of::<T>();
    let mut k = 0;
    while k + 3 * size_of::<T>() < last {
        for piece in 0..4 {
            let k = k + piece * size_of::<T>();
            // SAFETY: each of the four pieces starts before the last one.
            unsafe { copy::<T>(source, i + k, target, o + k) };
        }
        // Otherwise the optimiser makes a call of the system's copy out of the loop.
        k = opaque(k + 4 * size_of::<T>());
    }
    while k < last {
        // SAFETY: the piece starts before the last one.
        unsafe { copy::<T>(source, i + k, target, o + k) };
        k = opaque(k + size_of::<T>());
    }
    // SAFETY: the last piece ends with the bytes.
    unsafe { copy::<T>(source, i + last, target, o + last) };
}

/// Writes a match. May write past it, never past the target.
///
/// # Safety
/// `1 <= offset <= at` and `at + length <= target.len()`.
#[inline(always)]
unsafe fn fill<M: Machine>(machine: M, target: &mut [u8], at: usize, offset: usize, length: usize) {
    let width = size_of::<M::Wide>();
    debug_assert!(1 <= offset && offset <= at && length <= target.len() - at);
    let room = target.len() - at;
    if room < width {
        if offset >= 16 && length <= 16 && room >= 16 {
            // SAFETY: just compared; what is copied lies before.
            unsafe { copy_inside::<M::Half>(target, at - offset, at) };
        } else {
            fill_exact(target, at, offset, length);
        }
        return;
    }
    let end = at + length;
    let mut k = at;
    if offset >= width {
        while end - k > width {
            // SAFETY: a whole piece lies before `end`; what it copies lies before that.
            unsafe { copy_inside::<M::Wide>(target, k - offset, k) };
            k += width;
        }
        if target.len() - k >= width {
            // SAFETY: just compared; what it copies lies before.
            unsafe { copy_inside::<M::Wide>(target, k - offset, k) };
        } else {
            // SAFETY: what is copied lies before `k`.
            let piece = unsafe { load::<M::Wide>(target, k - offset) };
            machine.store_start(&mut target[k..end], piece);
        }
    } else {
        let pattern = if offset <= 8 {
            // SAFETY: the seed ends before `at + width`, which lies in the target.
            machine.near_pattern(unsafe { load::<u64>(target, at - offset) }, offset)
        } else {
            // SAFETY: as above.
            machine.pattern(unsafe { load::<M::Wide>(target, at - offset) }, offset)
        };
        // Nothing is read back, so no load waits for a store: this is what makes long runs fast.
        let stride = machine.stride(offset);
        // Two at a time: each round of the loop is a branch to predict.
        while end - k > 2 * width {
            // SAFETY: two whole pieces lie before `end`.
            unsafe { store(target, k, pattern) };
            // SAFETY: the stride is at most a piece.
            unsafe { store(target, k + stride, pattern) };
            k += 2 * stride;
        }
        while end - k > width {
            // SAFETY: a whole piece lies before `end`.
            unsafe { store(target, k, pattern) };
            k += stride;
        }
        if target.len() - k >= width {
            // SAFETY: just compared.
            unsafe { store(target, k, pattern) };
        } else {
            machine.store_start(&mut target[k..end], pattern);
        }
    }
}

/// Writes exactly a match: for the last bytes of a target, where no register has room.
///
/// # Panics
/// Unless `1 <= offset <= at` and `at + length <= target.len()`.
#[inline(always)]
pub(super) fn fill_exact(target: &mut [u8], at: usize, offset: usize, length: usize) {
    assert!(at <= target.len() && length <= target.len() - at && 1 <= offset && offset <= at);
    match offset.min(length) {
        // SAFETY: just asserted, and neither offset nor length is below the size of a piece.
        16.. => unsafe { pieces::<u128>(target, at, offset, length) },
        // SAFETY: as above.
        8.. => unsafe { pieces::<u64>(target, at, offset, length) },
        // SAFETY: as above.
        4.. => unsafe { pieces::<u32>(target, at, offset, length) },
        _ => (at..at + length).for_each(|k| target[k] = target[k - offset]),
    }
}

/// Writes a match in pieces; the last piece ends where the match does and may overlap the one before.
///
/// # Safety
/// `offset <= at`, `at + length <= target.len()`, and neither offset nor length is below the size of a piece.
#[inline(always)]
unsafe fn pieces<T: Plain>(target: &mut [u8], at: usize, offset: usize, length: usize) {
    let last = at + length - size_of::<T>();
    let mut k = at;
    while k < last {
        // SAFETY: `k` lies before the last piece, and what is copied before that.
        unsafe { copy_inside::<T>(target, k - offset, k) };
        k += size_of::<T>();
    }
    // SAFETY: the last piece ends with the match.
    unsafe { copy_inside::<T>(target, last - offset, last) };
}

/// Copies fewer than 32 literals, exactly.
///
/// # Safety
/// Both sides have them.
#[inline(always)]
unsafe fn copy_few(source: &[u8], i: usize, target: &mut [u8], o: usize, length: usize) {
    match length {
        // SAFETY: a piece fits into the literals.
        16.. => unsafe { copy_ends::<u128>(source, i, target, o, length) },
        // SAFETY: as above.
        8.. => unsafe { copy_ends::<u64>(source, i, target, o, length) },
        // SAFETY: as above.
        4.. => unsafe { copy_ends::<u32>(source, i, target, o, length) },
        _ => (0..length).for_each(|k| target[o + k] = source[i + k]),
    }
}

/// Copies the first piece and the last piece of some literals, which may overlap.
///
/// # Safety
/// Both sides have them, and they are at least one piece and at most two.
#[inline(always)]
unsafe fn copy_ends<T: Plain>(source: &[u8], i: usize, target: &mut [u8], o: usize, length: usize) {
    // SAFETY: the literals are at least a piece.
    unsafe { copy::<T>(source, i, target, o) };
    let last = length - size_of::<T>();
    // SAFETY: this piece ends with the literals.
    unsafe { copy::<T>(source, i + last, target, o + last) };
}

/// Decodes the rest of a block; whether it is well formed. The lane is done then.
///
/// All of a small block comes here: no sequence of it is a call.
#[inline(always)]
pub(super) fn finish<M: Machine>(machine: M, lane: &mut Lane<'_>) -> bool {
    while !lane.is_done() {
        let Lane { from, to, source_end, target_start, target_end, .. } = *lane;
        // SAFETY: these are the parts of a lane that is not done.
        let place = unsafe { sequence(machine, from, to, source_end, target_start, target_end) };
        if !lane.follow(place) {
            break;
        }
    }
    lane.is_done()
}
