//! A block on its way: where a decoder stands in source and target, between two sequences.
//!
//! Every loop works on lanes, so that one loop can stop at any sequence and another can go on: that is how the selector
//! compares them inside a block, and how two blocks are decoded in turns. Positions are pointers because two lanes of
//! positions and lengths do not fit into the registers; builds with debug assertions (every test build) check each
//! access against the bounds of its buffer.

use crate::copy::Plain;
use core::marker::PhantomData;
use core::ptr;

/// With this much source left, a step of any loop stays inside it: token, length byte, 64 literals, offset, length byte, and
/// the next token.
pub(super) const SOURCE_MARGIN: usize = 1 + 1 + 64 + 2 + 1 + 1;
/// With this much target left, a step of any loop stays inside it: 64 literals, a match of 64 bytes, and what its copies
/// in whole pieces write after it.
pub(super) const TARGET_MARGIN: usize = 64 + 64 + 16;

/// A place in both buffers. Two pointers: Rust returns such a pair in registers.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// The next byte of the source. Null: there is no further sequence, `to` tells why.
    pub(super) from: *const u8,
    /// The next byte of the target. Null beside a null `from`: the block is malformed.
    pub(super) to: *mut u8,
}

impl Place {
    /// The block is malformed.
    pub(super) const BROKEN: Self = Self { from: ptr::null(), to: ptr::null_mut() };
}

/// A block on its way. `from` is null once the block is decoded.
///
/// Invariant: `from..source_end` lies in the source, `target_start <= to <= target_end` are places of the target, all
/// bytes of the target before `to` are final; or `from` is null.
#[derive(Clone, Copy, Debug)]
pub(in crate::lz4) struct Lane<'a> {
    pub(super) from: *const u8,
    pub(super) to: *mut u8,
    /// A loop goes on while `from` is below; null when the loops are not to touch this lane any more.
    source_limit: *const u8,
    /// A loop goes on while `to` is below.
    target_limit: *mut u8,
    pub(super) source_end: *const u8,
    pub(super) target_start: *mut u8,
    pub(super) target_end: *mut u8,
    buffers: PhantomData<(&'a [u8], &'a mut [u8])>,
}

impl<'a> Lane<'a> {
    /// A block that is to fill `target`.
    #[inline(always)]
    pub(in crate::lz4) fn new(source: &'a [u8], target: &'a mut [u8]) -> Self {
        Self::behind(source, target, 0)
    }

    /// A block that is to fill `buffer` from `start` on; matches may reach into what lies before.
    #[inline(always)]
    pub(in crate::lz4) fn behind(source: &'a [u8], buffer: &'a mut [u8], start: usize) -> Self {
        assert!(start <= buffer.len(), "a block starts inside its buffer");
        let (from, target) = (source.as_ptr_range(), buffer.as_mut_ptr_range());
        // The limits are one above the last place with a margin, and at the start when there is none.
        let source_room = (source.len() + 1).saturating_sub(SOURCE_MARGIN);
        let target_room = (buffer.len() + 1).saturating_sub(TARGET_MARGIN);
        // The loops take an offset off a place without a look: what lies that low is not for them.
        let is_low = u16::try_from(target.start.addr()).is_ok();
        let source_limit = from.start.wrapping_add(source_room);
        Self {
            from: from.start,
            to: target.start.wrapping_add(start),
            source_limit: if is_low { ptr::null() } else { source_limit },
            target_limit: target.start.wrapping_add(target_room),
            source_end: from.end,
            target_start: target.start,
            target_end: target.end,
            buffers: PhantomData,
        }
    }

    /// A block of which `i` bytes of source and `o` bytes of target are behind us, between two sequences.
    pub(super) fn at(source: &'a [u8], target: &'a mut [u8], i: usize, o: usize) -> Self {
        let mut lane = Self::behind(source, target, o);
        assert!(i <= source.len(), "a lane starts inside its source");
        lane.from = lane.from.wrapping_add(i);
        lane
    }

    /// Whether a step may be taken: both buffers have their margins left, and no step was refused.
    #[inline(always)]
    pub(in crate::lz4) fn is_open(&self) -> bool {
        self.from < self.source_limit && self.to < self.target_limit
    }

    /// Whether both margins are left after this many literals, of which the first follows `from`.
    #[inline(always)]
    pub(super) fn has_margins_after(&self, from: *const u8, literals: usize) -> bool {
        from.wrapping_add(literals) < self.source_limit
            && self.to.wrapping_add(literals) < self.target_limit
    }

    /// Whether the whole block was decoded.
    #[inline(always)]
    pub(in crate::lz4) fn is_done(&self) -> bool {
        self.from.is_null()
    }

    /// Bytes of the target that are written.
    #[inline(always)]
    pub(in crate::lz4) fn written(&self) -> usize {
        self.to.addr() - self.target_start.addr()
    }

    /// Bytes of the target that are still to be written.
    #[inline(always)]
    pub(in crate::lz4) fn left(&self) -> usize {
        self.target_end.addr() - self.to.addr()
    }

    /// Bytes of the source that were not read yet.
    #[inline(always)]
    pub(in crate::lz4) fn source_left(&self) -> usize {
        if self.is_done() { 0 } else { self.source_end.addr() - self.from.addr() }
    }

    /// The same lane, closed for the loops after about `bytes` of output.
    #[inline(always)]
    pub(super) fn until(self, bytes: usize) -> Self {
        let near = self.to.wrapping_add(bytes.min(self.left()));
        // A lane that is done has a null place, and no limit may be above that: see `close`.
        Self { target_limit: self.target_limit.min(near), ..self }
    }

    /// Takes over where the lane that [`Self::until`] made has got to.
    #[inline(always)]
    pub(super) fn resume(&mut self, other: &Self) {
        (self.from, self.to) = (other.from, other.to);
        if other.source_limit.is_null() {
            self.source_limit = ptr::null();
        }
    }

    /// Closes the lane for the loops: the next sequence is not for them, or there is none.
    #[inline(always)]
    pub(super) fn close(&mut self) -> bool {
        self.source_limit = ptr::null();
        false
    }

    /// Goes to a place that an out-of-line step returned; whether the loop may go on.
    #[inline(always)]
    pub(super) fn follow(&mut self, place: Place) -> bool {
        if place.from.is_null() {
            if !place.to.is_null() {
                (self.from, self.to) = (place.from, place.to);
            }
            return self.close();
        }
        (self.from, self.to) = (place.from, place.to);
        true
    }

    /// The value in the source at `at`.
    ///
    /// # Safety
    /// `at` and the bytes of the value after it lie in the source.
    #[inline(always)]
    pub(super) unsafe fn read<T: Plain>(&self, at: *const u8) -> T {
        debug_assert!(at.addr() + size_of::<T>() <= self.source_end.addr());
        // SAFETY: within the source, says the caller; any bytes make a `T`.
        unsafe { at.cast::<T>().read_unaligned() }
    }

    /// The value in the target at `at`.
    ///
    /// # Safety
    /// `at` and the bytes of the value after it lie in the target.
    #[inline(always)]
    pub(super) unsafe fn load<T: Plain>(&self, at: *const u8) -> T {
        debug_assert!(self.target_start.addr() <= at.addr());
        debug_assert!(at.addr() + size_of::<T>() <= self.target_end.addr());
        // SAFETY: within the target, says the caller; any bytes make a `T`.
        unsafe { at.cast::<T>().read_unaligned() }
    }

    /// Writes a value to the target at `at`.
    ///
    /// # Safety
    /// `at` and the bytes of the value after it lie in the target.
    #[inline(always)]
    pub(super) unsafe fn store<T: Plain>(&self, at: *mut u8, value: T) {
        debug_assert!(self.target_start.addr() <= at.addr());
        debug_assert!(at.addr() + size_of::<T>() <= self.target_end.addr());
        // SAFETY: within the target, says the caller; a `T` has no padding to leave bytes undefined.
        unsafe { at.cast::<T>().write_unaligned(value) }
    }

    /// Copies the bytes of a `T` from the source to the target.
    ///
    /// # Safety
    /// The bytes at `from` lie in the source, those at `to` in the target.
    #[inline(always)]
    pub(super) unsafe fn copy<T: Plain>(&self, from: *const u8, to: *mut u8) {
        // SAFETY: as the caller says.
        let value = unsafe { self.read::<T>(from) };
        // SAFETY: as the caller says.
        unsafe { self.store(to, value) }
    }

    /// Copies the bytes of a `T` inside the target; all are read before any is written.
    ///
    /// # Safety
    /// The bytes at `from` and at `to` lie in the target.
    #[inline(always)]
    pub(super) unsafe fn copy_inside<T: Plain>(&self, from: *const u8, to: *mut u8) {
        // SAFETY: as the caller says.
        let value = unsafe { self.load::<T>(from) };
        // SAFETY: as the caller says.
        unsafe { self.store(to, value) }
    }
}
