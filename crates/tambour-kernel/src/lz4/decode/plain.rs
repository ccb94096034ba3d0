//! The lean loop: unconditional copies in whole pieces, one branch for each thing that is rare.
//!
//! How long a sequence takes is decided by the chain from one token to the next: a load, a shift and one addition. So
//! nothing else may get between them, and copies are made whether they are needed or not, where the margins allow. The
//! loop is generic over the instruction set ([`Machine`]) and the way in which it treats matches and lengths ([`Style`]).

use super::lane::Lane;
use super::machine::Machine;
use super::tables::STRIDES_16;
use crate::copy::{align, opaque, opaque_place};
use crate::lz4::MATCH_MIN;
use core::hint::cold_path;

/// Longest match, and most literals, of a sequence that the loop takes itself.
const SHORT_MAX: usize = 64;

/// Longest match that one length byte says.
const MEDIUM_MAX: usize = 15 + 254 + MATCH_MIN;

/// A way to treat sequences.
pub(super) trait Style<M: Machine> {
    /// Whether the byte that extends a match length is taken by a branch, which keeps it out of the chain when it is
    /// predicted well; otherwise it is always read and masked.
    const BRANCH_ON_LENGTH: bool = true;
    /// Whether the loop takes matches itself that have their length in one byte and lie far enough for the widest
    /// register; it pays where such are frequent, and costs registers.
    const TAKES_MEDIUM: bool = false;
    /// Whether sequences without literals have a branch of their own, which takes the literal length out of the chain when
    /// it is predicted well.
    const SKIP_EMPTY: bool = false;
    /// Whether [`Self::copy_match`] looks at near offsets apart, and then sees an offset of zero.
    const SEES_ZERO: bool = true;

    /// Writes a match of at most [`SHORT_MAX`] bytes; may write up to [`SHORT_MAX`] bytes, and up to 16 more than the match.
    /// Returns false if the offset is zero, which is refused.
    ///
    /// # Safety
    /// `offset` bytes lie before `to` in the target, `SHORT_MAX + 16` bytes after it.
    unsafe fn copy_match(
        machine: M,
        lane: &Lane<'_>,
        to: *mut u8,
        offset: usize,
        length: usize,
    ) -> bool;
}

/// Pieces of 8 bytes: numbers of 8 bytes, near matches.
pub(super) struct Lean8;
/// Pieces of 16 bytes: text.
pub(super) struct Lean16;
/// Pieces of 8 bytes, a branch for no literals: few distinct numbers.
pub(super) struct Skip8;

/// All 64 bytes of a match in the widest pieces, no branch on lengths: logs, repetitive strings.
pub(super) struct Flat;

impl<M: Machine> Style<M> for Flat {
    const TAKES_MEDIUM: bool = true;
    const BRANCH_ON_LENGTH: bool = false;

    #[inline(always)]
    unsafe fn copy_match(
        machine: M,
        lane: &Lane<'_>,
        to: *mut u8,
        offset: usize,
        length: usize,
    ) -> bool {
        let from = to.wrapping_sub(offset);
        if offset >= size_of::<M::Wide>() {
            for k in (0..SHORT_MAX).step_by(size_of::<M::Wide>()) {
                // SAFETY: a piece of `SHORT_MAX` bytes; what it copies lies before.
                unsafe { lane.copy_inside::<M::Wide>(from.wrapping_add(k), to.wrapping_add(k)) };
            }
            true
        } else if offset >= 16 {
            cold_path();
            // SAFETY: the same conditions, and the offset is long enough.
            unsafe { copy_by_16::<M>(lane, from, to, length) };
            true
        } else {
            cold_path();
            // SAFETY: the same conditions.
            unsafe { repeat(machine, lane, to, offset, length) }
        }
    }
}

impl<M: Machine> Style<M> for Lean8 {
    #[inline(always)]
    unsafe fn copy_match(
        machine: M,
        lane: &Lane<'_>,
        to: *mut u8,
        offset: usize,
        length: usize,
    ) -> bool {
        if offset >= 8 {
            // SAFETY: the same conditions, and the offset is long enough.
            unsafe { copy_by_8::<M>(lane, to.wrapping_sub(offset), to, offset, length) };
            true
        } else {
            cold_path();
            // SAFETY: the same conditions.
            unsafe { repeat(machine, lane, to, offset, length) }
        }
    }
}

impl<M: Machine> Style<M> for Lean16 {
    const TAKES_MEDIUM: bool = true;
    #[inline(always)]
    unsafe fn copy_match(
        machine: M,
        lane: &Lane<'_>,
        to: *mut u8,
        offset: usize,
        length: usize,
    ) -> bool {
        if offset >= 16 {
            // SAFETY: the same conditions, and the offset is long enough.
            unsafe { copy_by_16::<M>(lane, to.wrapping_sub(offset), to, length) };
            true
        } else {
            cold_path();
            // SAFETY: the same conditions.
            unsafe { repeat(machine, lane, to, offset, length) }
        }
    }
}

impl<M: Machine> Style<M> for Skip8 {
    const SKIP_EMPTY: bool = true;

    #[inline(always)]
    unsafe fn copy_match(
        machine: M,
        lane: &Lane<'_>,
        to: *mut u8,
        offset: usize,
        length: usize,
    ) -> bool {
        // SAFETY: the same conditions.
        unsafe { <Lean8 as Style<M>>::copy_match(machine, lane, to, offset, length) }
    }
}

/// Decodes a lane until it is closed or about `bytes` more are written.
#[inline(always)]
pub(super) fn advance<M: Machine, S: Style<M>>(machine: M, lane: &mut Lane<'_>, bytes: usize) {
    // A local copy: through the reference, every change would have to be stored.
    let mut local = lane.until(bytes);
    if local.is_open() {
        // SAFETY: the lane is open.
        let mut token = unsafe { token_of(&local) };
        align();
        // SAFETY: the lane is open, and this is its token.
        while unsafe { step::<M, S, true>(machine, &mut local, &mut token) } && local.is_open() {}
    }
    lane.resume(&local);
}

/// Decodes two lanes in turns until one of them is closed or has written about `bytes` more. Two chains from token to
/// token hide each other's latency.
#[inline(always)]
pub(super) fn advance_pair<M: Machine, S: Style<M>>(
    machine: M,
    first: &mut Lane<'_>,
    second: &mut Lane<'_>,
    bytes: usize,
) {
    let (mut a, mut b) = (first.until(bytes), second.until(bytes));
    if a.is_open() && b.is_open() {
        align();
        loop {
            // SAFETY: the lane is open.
            let mut token = unsafe { token_of(&a) };
            // SAFETY: the lane is open, and this is its token.
            let on = unsafe { step::<M, S, false>(machine, &mut a, &mut token) };
            // Both steps are taken before either is asked, so that the exit is one branch.
            // SAFETY: the lane is open.
            let mut token = unsafe { token_of(&b) };
            // SAFETY: the lane is open, and this is its token.
            let both = on & unsafe { step::<M, S, false>(machine, &mut b, &mut token) };
            if !(both && a.is_open() && b.is_open()) {
                break;
            }
        }
    }
    first.resume(&a);
    second.resume(&b);
}

/// The token of a lane's next sequence.
///
/// # Safety
/// The lane is open.
#[inline(always)]
pub(super) unsafe fn token_of(lane: &Lane<'_>) -> usize {
    // SAFETY: the first byte of the margin.
    usize::from(unsafe { lane.read::<u8>(lane.from) })
}

/// A sequence of any shape, out of line, and the token after it; whether the loop may go on.
///
/// # Safety
/// The lane is not done.
#[inline(always)]
unsafe fn long<M: Machine, const EARLY: bool>(
    machine: M,
    lane: &mut Lane<'_>,
    token: &mut usize,
) -> bool {
    // SAFETY: the same condition.
    let on = unsafe { machine.long(lane) };
    if EARLY && on && lane.is_open() {
        // SAFETY: just asked.
        *token = unsafe { token_of(lane) };
    }
    on
}

/// Copies the literals of a sequence. Returns the place one before them, and how many there are; `None`, with nothing done,
/// when they are more than one length byte says or than the margins follow.
///
/// # Safety
/// The lane is open, and this is its token.
#[inline(always)]
unsafe fn take_literals<M: Machine, S: Style<M>>(
    lane: &Lane<'_>,
    token: usize,
) -> Option<(*const u8, usize)> {
    let (mut i, o) = (lane.from, lane.to);
    let mut literals = token >> 4;
    if S::SKIP_EMPTY && literals == 0 {
        // Otherwise the optimiser folds this branch back into the addition that it is to avoid.
        (literals, i) = (opaque(0), opaque_place(i));
    } else if literals != 15 {
        // SAFETY: the margins hold a token and 16 literals.
        unsafe { lane.copy::<M::Half>(i.wrapping_add(1), o) };
    } else {
        // SAFETY: the second byte of the margin.
        literals += usize::from(unsafe { lane.read::<u8>(i.wrapping_add(1)) });
        i = i.wrapping_add(1);
        if literals > SHORT_MAX {
            cold_path();
            if literals > 15 + 254 || !lane.has_margins_after(i, literals) {
                return None;
            }
            // SAFETY: the margins follow the literals, and are longer than a piece.
            unsafe { copy_many_literals::<M>(lane, i.wrapping_add(1), o, literals) };
        } else {
            // SAFETY: the margins hold 64 literals.
            unsafe { copy_literals::<M>(lane, i.wrapping_add(1), o, literals) };
        }
    }
    Some((i, literals))
}

/// One sequence, whose token was read; whether the loop may go on.
///
/// `EARLY`: leaves the token of the next sequence, if the lane is still open. It is read from where the literals
/// end rather than from the place that the loop goes on at: the addition that makes the place is then no part of the chain. One
/// lane waits for its chain. Two lanes do not, and would only have an instruction more.
///
/// # Safety
/// The lane is open: it has [`super::lane::SOURCE_MARGIN`] and [`super::lane::TARGET_MARGIN`]; and `next_token` is its
/// token.
#[inline(always)]
unsafe fn step<M: Machine, S: Style<M>, const EARLY: bool>(
    machine: M,
    lane: &mut Lane<'_>,
    next_token: &mut usize,
) -> bool {
    let o = lane.to;
    let token = *next_token;
    // SAFETY: the lane is open.
    debug_assert_eq!(token, unsafe { token_of(lane) });
    // SAFETY: the lane is open, and this is its token.
    let Some((i, literals)) = (unsafe { take_literals::<M, S>(lane, token) }) else {
        // SAFETY: the lane is open, thus not done.
        return unsafe { long::<M, EARLY>(machine, lane, next_token) };
    };
    // The place after offset and token is made while the token loads, so that the chain is load, shift, one addition.
    // Left alone, the optimiser adds the constant last, and splits an addition of three into two that wait for each other.
    let after = opaque_place(i.wrapping_add(3));
    let mut next = after.wrapping_add(literals);
    if EARLY {
        // SAFETY: the margin holds a token after 64 literals and an offset, and so does what follows more literals.
        *next_token =
            usize::from(unsafe { lane.read::<u8>(opaque_place(after).wrapping_add(literals)) });
    }
    let o = o.wrapping_add(literals);
    // SAFETY: as the token.
    let offset = usize::from(u16::from_le(unsafe { lane.read(next.wrapping_sub(2)) }));
    let mut length = (token & 15) + MATCH_MIN;
    if S::BRANCH_ON_LENGTH {
        if token & 15 == 15 {
            // SAFETY: the margin holds a byte after the offset.
            length += usize::from(unsafe { lane.read::<u8>(next) });
            next = next.wrapping_add(1);
            if EARLY {
                // SAFETY: the margin holds a token after that byte.
                *next_token = usize::from(unsafe { lane.read::<u8>(next) });
            }
        }
    } else {
        // 1 if the half is full. Arithmetic, because a comparison would make a flag that is spilled inside the chain.
        let full = ((token & 15) + 1) >> 4;
        // SAFETY: the margin holds a byte after the offset.
        length += usize::from(unsafe { lane.read::<u8>(next) }) & full.wrapping_neg();
        if EARLY {
            let place = opaque_place(next).wrapping_add(full);
            // SAFETY: the margin holds a token after that byte.
            *next_token = usize::from(unsafe { lane.read::<u8>(place) });
        }
        next = next.wrapping_add(full);
    }
    if length > SHORT_MAX {
        cold_path();
        let (start, end) = (lane.target_start, lane.target_end);
        let (before, room) = (o.addr() - start.addr(), end.addr() - o.addr());
        if S::TAKES_MEDIUM && is_medium::<M>(offset, length, before, room) {
            // SAFETY: just checked.
            unsafe { copy_medium::<M>(lane, o, offset, length) };
            (lane.from, lane.to) = (next, o.wrapping_add(length));
            return true;
        }
        if length <= MEDIUM_MAX && length <= room && offset.wrapping_sub(1) < before {
            // SAFETY: offset and length were just checked.
            unsafe { machine.fill(o, offset, length, start, end) };
            (lane.from, lane.to) = (next, o.wrapping_add(length));
            return true;
        }
        // SAFETY: the lane is open, thus not done.
        return unsafe { long::<M, EARLY>(machine, lane, next_token) };
    }
    // Cannot wrap around: a lane whose target lies that low is never open. An offset of zero is a near one, for which most
    // copies have a branch of their own; for the others, one comparison for both: zero wraps around.
    let is_before = if S::SEES_ZERO {
        o.wrapping_sub(offset) < lane.target_start
    } else {
        offset.wrapping_sub(1) >= o.addr() - lane.target_start.addr()
    };
    if is_before {
        cold_path();
        return lane.close();
    }
    // SAFETY: offset and length were just checked, and at most 64 literals were written.
    if !unsafe { S::copy_match(machine, lane, o, offset, length) } {
        cold_path();
        return lane.close();
    }
    (lane.from, lane.to) = (next, o.wrapping_add(length));
    true
}

/// Whether a match has its whole length in one byte, does not overlap the registers that copy it, and has room for them.
#[inline(always)]
fn is_medium<M: Machine>(offset: usize, length: usize, before: usize, room: usize) -> bool {
    let width = size_of::<M::Wide>();
    length <= MEDIUM_MAX && room >= length + SHORT_MAX && offset >= width && offset <= before
}

/// Writes such a match.
///
/// # Safety
/// [`is_medium`].
#[inline(always)]
unsafe fn copy_medium<M: Machine>(lane: &Lane<'_>, to: *mut u8, offset: usize, length: usize) {
    let mut k = 0;
    // As much at a time whatever the register: each round of the loop is a branch to predict.
    while k < length {
        for piece in (k..k + SHORT_MAX).step_by(size_of::<M::Wide>()) {
            let at = to.wrapping_add(piece);
            // SAFETY: `k < length`, `SHORT_MAX` bytes follow that, and what is copied lies a register before.
            unsafe { lane.copy_inside::<M::Wide>(at.wrapping_sub(offset), at) };
        }
        k += SHORT_MAX;
    }
}

/// Copies 15 to 64 literals, rounded up to 32 or 64.
///
/// # Safety
/// 64 bytes from `from` on lie in the source, from `to` on in the target.
#[inline(always)]
unsafe fn copy_literals<M: Machine>(
    lane: &Lane<'_>,
    from: *const u8,
    to: *mut u8,
    literals: usize,
) {
    // SAFETY: the first 32 of 64 bytes.
    unsafe { lane.copy::<M::Double>(from, to) };
    if literals > 32 {
        // SAFETY: the second 32 of 64 bytes.
        unsafe { lane.copy::<M::Double>(from.wrapping_add(32), to.wrapping_add(32)) };
    }
}

/// Matches that this far back start have all of a piece before them when the pieces of 8 bytes are written.
const APART: usize = 32;

/// # Safety
/// As for [`Style::copy_match`], with `to - from = offset >= 8`.
#[inline(always)]
unsafe fn copy_by_8<M: Machine>(
    lane: &Lane<'_>,
    from: *const u8,
    to: *mut u8,
    offset: usize,
    length: usize,
) {
    // SAFETY: the first 8 of `SHORT_MAX` bytes; `from` lies before.
    unsafe { lane.copy_inside::<u64>(from, to) };
    // SAFETY: the second 8 of `SHORT_MAX` bytes.
    unsafe { lane.copy_inside::<u64>(from.wrapping_add(8), to.wrapping_add(8)) };
    if length <= 16 {
        return;
    }
    if offset >= APART {
        for k in [16, 32, 48] {
            if k >= length {
                break;
            }
            // SAFETY: a quarter of `SHORT_MAX` bytes.
            unsafe { lane.copy_inside::<M::Half>(from.wrapping_add(k), to.wrapping_add(k)) };
        }
        return;
    }
    let mut k = 16;
    while k < length {
        // SAFETY: `k < length`, so the piece ends less than 8 bytes after the match.
        unsafe { lane.copy_inside::<u64>(from.wrapping_add(k), to.wrapping_add(k)) };
        // Otherwise the optimiser makes a loop of wider pieces of it, with all the checks that such a loop begins with.
        k = opaque(k + 8);
    }
}

/// Copies literals that the margins do not hold, rounded up to a multiple of 32.
///
/// # Safety
/// After the literals, 32 bytes follow in the source, and in the target.
#[inline(always)]
unsafe fn copy_many_literals<M: Machine>(
    lane: &Lane<'_>,
    from: *const u8,
    to: *mut u8,
    literals: usize,
) {
    let mut k = 0;
    while k < literals {
        // SAFETY: `k < literals`, and a piece follows the last one.
        unsafe { lane.copy::<M::Double>(from.wrapping_add(k), to.wrapping_add(k)) };
        k = opaque(k + size_of::<M::Double>());
    }
}

/// # Safety
/// As for [`Style::copy_match`], with `to - from >= 16`.
#[inline(always)]
unsafe fn copy_by_16<M: Machine>(lane: &Lane<'_>, from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: the first 16 of `SHORT_MAX` bytes; `from` lies before.
    unsafe { lane.copy_inside::<M::Half>(from, to) };
    // SAFETY: the second 16 of `SHORT_MAX` bytes.
    unsafe { lane.copy_inside::<M::Half>(from.wrapping_add(16), to.wrapping_add(16)) };
    if length > 32 {
        cold_path();
        // SAFETY: the third 16 of `SHORT_MAX` bytes.
        unsafe { lane.copy_inside::<M::Half>(from.wrapping_add(32), to.wrapping_add(32)) };
        // SAFETY: the fourth 16 of `SHORT_MAX` bytes.
        unsafe { lane.copy_inside::<M::Half>(from.wrapping_add(48), to.wrapping_add(48)) };
    }
}

/// A match that overlaps itself, offset 1 to 15: a register with the repeated pattern, stored at multiples of the offset.
/// Zero is refused.
///
/// # Safety
/// As for [`Style::copy_match`], with an offset below 16.
#[inline(always)]
unsafe fn repeat<M: Machine>(
    machine: M,
    lane: &Lane<'_>,
    to: *mut u8,
    offset: usize,
    length: usize,
) -> bool {
    if offset == 0 {
        cold_path();
        return false;
    }
    let from = to.wrapping_sub(offset);
    // The patterns keep only what lies before `to`.
    let pattern = if offset <= 8 {
        // SAFETY: `from` lies before `to`, and more than 16 bytes follow there.
        machine.near_short_pattern(unsafe { lane.load::<u64>(from) }, offset)
    } else {
        // SAFETY: as above.
        machine.short_pattern(unsafe { lane.load::<M::Half>(from) }, offset & 15)
    };
    let stride = usize::from(STRIDES_16[offset & 15]);
    // SAFETY: 80 bytes follow `to`.
    unsafe { lane.store(to, pattern) };
    // SAFETY: the stride is at most 16.
    unsafe { lane.store(to.wrapping_add(stride), pattern) };
    let mut covered = stride + 16;
    while covered < length {
        // SAFETY: `covered < length` and `stride <= 16`, so the store ends less than 16 bytes after the match.
        unsafe { lane.store(to.wrapping_add(covered + stride - 16), pattern) };
        covered += stride;
    }
    true
}
