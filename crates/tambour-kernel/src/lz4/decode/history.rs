//! The register-history loop: the newest 64 bytes of the target live in a register.
//!
//! One permute of two registers (history, literals) makes the next history; storing it so that it ends at the new end of
//! the target writes exactly the right bytes. A match of an offset up to 64 never waits for a store to come back as a
//! load, which is what costs elsewhere when offsets are small. Far offsets are dearer here than in the lean loop: there is
//! more to do per sequence.

use super::Decode;
use super::avx512::{Avx512, finish};
use super::careful::extended;
use super::lane::{Lane, Place};
use super::machine::Machine;
use super::plain::token_of;
use super::tables::{HISTORY, IOTA, STRIDES_64};
use crate::copy::{align, copy_inside, load, opaque_place, store};
use crate::lz4::MATCH_MIN;
use crate::variant::{Isa, Variant};
use core::arch::x86_64::{
    __m128i, __m512i, _bzhi_u64, _mm512_castsi128_si512, _mm512_mask_add_epi8,
    _mm512_mask_loadu_epi8, _mm512_mask_mov_epi8, _mm512_maskz_loadu_epi8,
    _mm512_permutex2var_epi8, _mm512_permutexvar_epi8, _mm512_set1_epi8, _mm512_setzero_si512,
};
use core::hint::cold_path;
use core::{ptr, slice};

pub(super) const HISTORY64: Variant<Decode> = Variant {
    name: "history64-avx512",
    isa: Isa::Avx512,
    run: Decode { advance: enter, advance_pair: enter_pair, finish, adapts: true },
};

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn enter(lane: &mut Lane<'_>, bytes: usize) {
    advance(Avx512::here(), lane, bytes);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
fn enter_pair(a: &mut Lane<'_>, b: &mut Lane<'_>, bytes: usize) {
    advance_pair(Avx512::here(), a, b, bytes);
}

/// Bytes that the register remembers.
const WIDTH: usize = 64;

/// A lane whose newest bytes are in a register; while it is open there are that many.
#[derive(Clone, Copy)]
struct Remembering<'a> {
    lane: Lane<'a>,
    history: __m512i,
}

/// Literals and match of one sequence, together at most [`WIDTH`] bytes.
#[derive(Clone, Copy)]
struct Sequence {
    /// The first literal.
    from: *const u8,
    literals: usize,
    length: usize,
    offset: usize,
    /// Where the match ends in the target.
    end: *mut u8,
}

/// [`super::plain::advance`], remembering.
#[inline(always)]
fn advance(machine: Avx512, lane: &mut Lane<'_>, bytes: usize) {
    let mut state = Remembering::new(machine, lane.until(bytes));
    if state.lane.is_open() {
        // SAFETY: the lane is open.
        let mut token = unsafe { token_of(&state.lane) };
        align();
        // SAFETY: the lane is open, and this is its token.
        while unsafe { state.step::<true>(&mut token) } && state.lane.is_open() {}
    }
    lane.resume(&state.lane);
}

/// [`super::plain::advance_pair`], remembering.
#[inline(always)]
fn advance_pair(machine: Avx512, first: &mut Lane<'_>, second: &mut Lane<'_>, bytes: usize) {
    let mut a = Remembering::new(machine, first.until(bytes));
    let mut b = Remembering::new(machine, second.until(bytes));
    if a.lane.is_open() && b.lane.is_open() {
        align();
        loop {
            // SAFETY: the lane is open.
            let mut token = unsafe { token_of(&a.lane) };
            // SAFETY: the lane is open, and this is its token.
            let on = unsafe { a.step::<false>(&mut token) };
            // SAFETY: the lane is open.
            let mut token = unsafe { token_of(&b.lane) };
            // SAFETY: the lane is open, and this is its token.
            let both = on & unsafe { b.step::<false>(&mut token) };
            if !(both && a.lane.is_open() && b.lane.is_open()) {
                break;
            }
        }
    }
    first.resume(&a.lane);
    second.resume(&b.lane);
}

impl<'a> Remembering<'a> {
    /// Decodes until there is enough to remember, or the lane is closed.
    #[inline(always)]
    fn new(machine: Avx512, mut lane: Lane<'a>) -> Self {
        // SAFETY: an open lane is not done.
        while lane.is_open() && lane.written() < WIDTH && unsafe { machine.long(&mut lane) } {}
        // SAFETY: `machine` proves the instruction set.
        let mut state = Self { lane, history: unsafe { _mm512_setzero_si512() } };
        if lane.is_open() {
            // SAFETY: this many bytes are written.
            unsafe { state.recall() };
        }
        state
    }

    /// Takes the history from the target.
    ///
    /// # Safety
    /// [`WIDTH`] bytes are written.
    #[inline(always)]
    unsafe fn recall(&mut self) {
        // SAFETY: as the caller says.
        self.history = unsafe { self.lane.load(self.lane.to.wrapping_sub(WIDTH)) };
    }

    /// One sequence, whose token was read; whether the loop may go on.
    ///
    /// `ALONE`: the next token is read early, as in [`super::plain`], and a long sequence is decoded in place, where the
    /// history can stay in its register. Two lanes do not have enough of these: out of line it goes through memory, there and
    /// back.
    ///
    /// # Safety
    /// The lane is open, and `next_token` its token.
    #[inline(always)]
    unsafe fn step<const ALONE: bool>(&mut self, next_token: &mut usize) -> bool {
        let Lane { from, to, .. } = self.lane;
        let token = *next_token;
        // SAFETY: the lane is open.
        debug_assert_eq!(token, unsafe { token_of(&self.lane) });
        let literals = token >> 4;
        let behind = from.wrapping_add(literals);
        // SAFETY: at most 15 literals and two bytes are within the margin.
        let offset = usize::from(u16::from_le(unsafe { self.lane.read(behind.wrapping_add(1)) }));
        // 1 if the half is full. Arithmetic, because a comparison would make a flag that is spilled inside the chain.
        let full = ((token & 15) + 1) >> 4;
        // SAFETY: one byte more is within the margin.
        let more = usize::from(unsafe { self.lane.read::<u8>(behind.wrapping_add(3)) });
        let length = (token & 15) + MATCH_MIN + (more & full.wrapping_neg());
        if ALONE {
            let place = opaque_place(behind.wrapping_add(3)).wrapping_add(full);
            // SAFETY: the margin holds a token after that byte.
            *next_token = usize::from(unsafe { self.lane.read::<u8>(place) });
        }
        let total = literals + length;
        if literals == 15 || total > WIDTH {
            let Lane { source_end, target_start, target_end, .. } = self.lane;
            let history = self.history;
            let (place, history) = if ALONE {
                // SAFETY: the lane is open, thus not done, and the history holds what is written before `to`.
                unsafe { long_in_place((from, to), history, source_end, target_start, target_end) }
            } else {
                // SAFETY: as above.
                unsafe { long((from, to), history, source_end, target_start, target_end) }
            };
            self.history = history;
            let on = self.lane.follow(place);
            if ALONE && on && self.lane.is_open() {
                // SAFETY: just asked.
                *next_token = unsafe { token_of(&self.lane) };
            }
            return on;
        }
        // One comparison for both: an offset of zero wraps around.
        if offset.wrapping_sub(1) >= self.lane.written() + literals {
            cold_path();
            return self.lane.close();
        }
        let (from, end) = (from.wrapping_add(1), to.wrapping_add(total));
        let sequence = Sequence { from, literals, length, offset, end };
        // SAFETY: `machine` proves the instruction set, the checks above the rest.
        self.history = unsafe { append(&self.lane, self.history, sequence) };
        // SAFETY: the margin holds as much after `to`, and [`WIDTH`] bytes are written.
        unsafe { self.lane.store(end.wrapping_sub(WIDTH), self.history) };
        (self.lane.from, self.lane.to) = (behind.wrapping_add(3 + full), end);
        true
    }
}

/// A sequence of any shape; where it ends, and the history there. Out of line; the arguments are parts of a lane, because
/// a reference would pin the lane of the caller to memory.
///
/// # Safety
/// The lane is not done, [`WIDTH`] bytes are written before `to`, and `history` holds them.
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx2,bmi1,bmi2")]
unsafe fn long(
    (from, to): (*const u8, *mut u8),
    history: __m512i,
    source_end: *const u8,
    target_start: *mut u8,
    target_end: *mut u8,
) -> (Place, __m512i) {
    // SAFETY: the same conditions.
    unsafe { long_in_place((from, to), history, source_end, target_start, target_end) }
}

/// [`long`], part of the loop.
///
/// # Safety
/// The same conditions, and the CPU has AVX-512 VBMI.
#[inline(always)]
unsafe fn long_in_place(
    (from, to): (*const u8, *mut u8),
    history: __m512i,
    source_end: *const u8,
    target_start: *mut u8,
    target_end: *mut u8,
) -> (Place, __m512i) {
    let (left, room) = (source_end.addr() - from.addr(), target_end.addr() - target_start.addr());
    // SAFETY: a lane's source lies between the two.
    let source = unsafe { slice::from_raw_parts(from, left) };
    // SAFETY: a lane's target lies between the two, and the lane borrows it for itself.
    let target = unsafe { slice::from_raw_parts_mut(target_start, room) };
    // SAFETY: the same conditions.
    let next = unsafe { long_sequence(source, target, to.addr() - target_start.addr(), history) };
    next.map_or((Place::BROKEN, history), |(i, o, history)| {
        let to = target_start.wrapping_add(o);
        let last = i == left && o == room;
        (Place { from: if last { ptr::null() } else { from.wrapping_add(i) }, to }, history)
    })
}

/// The same on slices. `None` for a malformed block; the end of both slices for the last sequence of a block.
///
/// # Safety
/// The CPU has AVX-512 VBMI, and `history` holds the [`WIDTH`] bytes of the target before `o`.
#[inline(always)]
unsafe fn long_sequence(
    source: &[u8],
    target: &mut [u8],
    o: usize,
    history: __m512i,
) -> Option<(usize, usize, __m512i)> {
    let token = usize::from(*source.first()?);
    let (i, literals) = extended(source, 1, token >> 4)?;
    if literals > source.len() - i || literals > target.len() - o {
        return None;
    }
    // SAFETY: this many literals are there, and this much room.
    let history = unsafe { append_literals(source, i, target, o, literals, history) };
    let (i, o) = (i + literals, o + literals);
    if i == source.len() {
        // Not the end of both slices: malformed, found so by the exact code.
        return (o == target.len()).then_some((i, o, history));
    }
    let offset = usize::from(u16::from_le_bytes(*source[i..].first_chunk()?));
    let (i, length) = extended(source, i + 2, token & 15)?;
    let length = length.saturating_add(MATCH_MIN);
    if offset.wrapping_sub(1) >= o || length > target.len() - o {
        return None;
    }
    // A match that fills both ends is malformed, too: the last sequence has none.
    if i == source.len() && o + length == target.len() {
        return None;
    }
    // SAFETY: offset and length were just checked.
    let history = unsafe { append_match(target, o, offset, length, history) };
    Some((i, o + length, history))
}

/// Writes literals; the history after them.
///
/// # Safety
/// `literals` bytes from `i` on lie in the source, from `o` on in the target, and [`WIDTH`] before that.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi2")]
unsafe fn append_literals(
    source: &[u8],
    i: usize,
    target: &mut [u8],
    o: usize,
    literals: usize,
    history: __m512i,
) -> __m512i {
    if literals > WIDTH {
        target[o..o + literals].copy_from_slice(&source[i..i + literals]);
        // SAFETY: more than a register of literals lies before that.
        return unsafe { load(source, i + literals - WIDTH) };
    }
    let piece = &source[i..i + literals];
    #[expect(clippy::cast_possible_truncation, reason = "at most 64")]
    let mask = _bzhi_u64(!0, literals as u32);
    // SAFETY: the mask selects the literals; no other bytes are touched.
    let fresh = unsafe { _mm512_maskz_loadu_epi8(mask, piece.as_ptr().cast()) };
    // SAFETY: the table has 256 bytes.
    let shift = unsafe { load::<__m512i>(&IOTA.0, literals) };
    let history = _mm512_permutex2var_epi8(history, shift, fresh);
    // SAFETY: the register ends where the literals do, and [`WIDTH`] bytes lie before them.
    unsafe { store(target, o + literals - WIDTH, history) };
    history
}

/// Writes a match; the history after it.
///
/// Without features of its own, because it has to be inlined: registers go through memory into a function and back.
///
/// # Safety
/// The CPU has AVX-512 VBMI; `1 <= offset <= o`, `WIDTH <= o`, `o + length <= target.len()`, and `history` holds what
/// lies before `o`.
#[inline(always)]
unsafe fn append_match(
    target: &mut [u8],
    o: usize,
    offset: usize,
    length: usize,
    history: __m512i,
) -> __m512i {
    let end = o + length;
    let mut k = o;
    let history = if offset <= WIDTH {
        let row = &HISTORY.0[offset];
        // SAFETY: a row has 128 columns.
        let period = unsafe { load::<__m512i>(row, WIDTH) };
        // SAFETY: the caller has the instruction set.
        let pattern = unsafe { permute(period, history) };
        let stride = usize::from(STRIDES_64[offset]);
        while end - k > WIDTH {
            // SAFETY: a register lies before `end`.
            unsafe { store(target, k, pattern) };
            k += stride;
        }
        let rest = end - k;
        // The last bytes of the match, and before them what continues its period to the left, or the history moved on.
        // SAFETY: at most 64 bytes are left, and a row has 128 columns.
        let near = unsafe { load::<__m512i>(row, rest) };
        // SAFETY: the table has 256 bytes.
        let shifted = unsafe { load::<__m512i>(&IOTA.0, rest) };
        let matched = !0_u64 << (WIDTH - rest);
        let kept = if k == o { matched } else { !0 };
        // SAFETY: the caller has the instruction set.
        let indices = unsafe { blend(shifted, kept, near) };
        // SAFETY: the caller has the instruction set.
        unsafe { permute(indices, history) }
    } else {
        while end - k > WIDTH {
            // SAFETY: a register lies before `end`; what it copies lies before that.
            unsafe { copy_inside::<__m512i>(target, k - offset, k) };
            k += WIDTH;
        }
        // SAFETY: offset and end leave a register before: `k` is at most one before `end`.
        unsafe { far_history(target, end, offset, length, history) }
    };
    // SAFETY: [`WIDTH`] bytes lie before `end`.
    unsafe { store(target, end - WIDTH, history) };
    history
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
fn permute(indices: __m512i, value: __m512i) -> __m512i {
    _mm512_permutexvar_epi8(indices, value)
}

/// `a`, and `b` where the mask has a bit.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn blend(a: __m512i, mask: u64, b: __m512i) -> __m512i {
    _mm512_mask_mov_epi8(a, mask, b)
}

/// The history after a match of more than [`WIDTH`] bytes offset, of which all but the last [`WIDTH`] are written.
///
/// # Safety
/// `WIDTH < offset`, `offset + length <= end`, `WIDTH + length <= end`, `end <= target.len()`, and `history` holds what
/// lies before the match.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
unsafe fn far_history(
    target: &[u8],
    end: usize,
    offset: usize,
    length: usize,
    history: __m512i,
) -> __m512i {
    if length > WIDTH {
        // SAFETY: the last bytes of the match are these, and all of them are written.
        return unsafe { load(target, end - offset - WIDTH) };
    }
    // SAFETY: the table has 256 bytes.
    let shift = unsafe { load::<__m512i>(&IOTA.0, length) };
    let shifted = _mm512_permutexvar_epi8(shift, history);
    let place = target.as_ptr().wrapping_add(end).wrapping_sub(offset + WIDTH);
    // SAFETY: the mask selects the bytes of the match, which lie before it; no others are touched.
    unsafe { _mm512_mask_loadu_epi8(shifted, !0 << (WIDTH - length), place.cast()) }
}

/// The history after a sequence.
///
/// # Safety
/// 16 bytes from `from` on lie in the source; `1 <= offset`, and the match lies in what is written.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
unsafe fn append(lane: &Lane<'_>, history: __m512i, sequence: Sequence) -> __m512i {
    let Sequence { from, literals, length, offset, end } = sequence;
    // SAFETY: as the caller says.
    let fresh = _mm512_castsi128_si512(unsafe { lane.read::<__m128i>(from) });
    let matched = !0_u64 << (WIDTH - length);
    let far = offset > WIDTH;
    // The last `length` columns of 64 are the bytes of the match, as they lie before the literals.
    // SAFETY: a row has 128 columns, and a match at most 64 bytes.
    let near = unsafe { load::<__m512i>(&HISTORY.0[offset.min(WIDTH + 1)], length) };
    // SAFETY: literals and match are at most 64 bytes, the table has 256.
    let shifted = unsafe { load::<__m512i>(&IOTA.0, literals + length) };
    // Indices above 63 fall on the literals by themselves; those of the match move on by the literals.
    #[expect(clippy::cast_possible_truncation, reason = "at most 14")]
    let by = _mm512_set1_epi8(literals as i8);
    let indices = _mm512_mask_add_epi8(shifted, matched, near, by);
    let kept = _mm512_permutex2var_epi8(history, indices, fresh);
    // A far match comes from memory. A near one reads a table instead, with an empty mask.
    let place = end.wrapping_sub(offset + WIDTH).cast_const();
    let (place, mask) = if far { (place, matched) } else { (IOTA.0.as_ptr(), 0) };
    // SAFETY: the bytes that the mask selects are those of the match; no others are touched.
    unsafe { _mm512_mask_loadu_epi8(kept, mask, place.cast()) }
}
