//! The register-history loop: the newest 64 bytes of the target live in a register.
//!
//! One permute of two registers (history, literals) makes the next history; storing it so that it ends at the new end of
//! the target writes exactly the right bytes. A match of an offset up to 64 never waits for a store to come back as a
//! load, which is what costs elsewhere when offsets are small. Far offsets are dearer here than in the lean loop: there is
//! more to do per sequence.

use super::Lane;
use super::avx512::Avx512;
use super::machine::Machine;
use super::tables::{HISTORY, IOTA};
use crate::copy::load;
use crate::lz4::MATCH_MIN;
use core::arch::x86_64::{
    __m128i, __m512i, _mm512_castsi128_si512, _mm512_mask_add_epi8, _mm512_mask_loadu_epi8,
    _mm512_permutex2var_epi8, _mm512_set1_epi8, _mm512_setzero_si512,
};
use core::hint::cold_path;

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
pub(super) fn advance(machine: Avx512, lane: &mut Lane<'_>, bytes: usize) {
    let mut state = Remembering::new(machine, lane.until(bytes));
    // SAFETY: the lane is open.
    while state.lane.is_open() && unsafe { state.step(machine) } {}
    lane.resume(&state.lane);
}

/// [`super::plain::advance_pair`], remembering.
#[inline(always)]
pub(super) fn advance_pair(
    machine: Avx512,
    first: &mut Lane<'_>,
    second: &mut Lane<'_>,
    bytes: usize,
) {
    let mut a = Remembering::new(machine, first.until(bytes));
    let mut b = Remembering::new(machine, second.until(bytes));
    while a.lane.is_open() && b.lane.is_open() {
        // SAFETY: the lane is open.
        let on = unsafe { a.step(machine) };
        // SAFETY: the lane is open.
        if !(on & unsafe { b.step(machine) }) {
            break;
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
            // SAFETY: so many bytes are written.
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

    /// One sequence; whether the loop may go on.
    ///
    /// # Safety
    /// The lane is open.
    #[inline(always)]
    unsafe fn step(&mut self, machine: Avx512) -> bool {
        let Lane { from, to, .. } = self.lane;
        // SAFETY: the first byte of the margin.
        let token = usize::from(unsafe { self.lane.read::<u8>(from) });
        let literals = token >> 4;
        let behind = from.wrapping_add(literals);
        // SAFETY: at most 15 literals and two bytes are within the margin.
        let offset = usize::from(u16::from_le(unsafe { self.lane.read(behind.wrapping_add(1)) }));
        // 1 if the half is full. Arithmetic, because a comparison would make a flag that is spilled inside the chain.
        let full = ((token & 15) + 1) >> 4;
        // SAFETY: one byte more is within the margin.
        let more = usize::from(unsafe { self.lane.read::<u8>(behind.wrapping_add(3)) });
        let length = (token & 15) + MATCH_MIN + (more & full.wrapping_neg());
        let total = literals + length;
        if literals == 15 || total > WIDTH {
            cold_path();
            // SAFETY: the lane is open, thus not done.
            if !unsafe { machine.long(&mut self.lane) } {
                return false;
            }
            // SAFETY: what was written before the sequence was enough.
            unsafe { self.recall() };
            return true;
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
        // SAFETY: the margin holds as much behind `to`, and [`WIDTH`] bytes are written.
        unsafe { self.lane.store(end.wrapping_sub(WIDTH), self.history) };
        (self.lane.from, self.lane.to) = (behind.wrapping_add(3 + full), end);
        true
    }
}

/// The history behind a sequence.
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
