//! What the parses of the high levels share: matches, and comparing bytes.

use crate::copy::load;
use crate::lz4::{LAST_LITERALS, LAST_MATCH_DISTANCE, OFFSET_MAX};

/// Bytes at `at` that occurred at `from` before.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Match {
    pub(super) at: usize,
    pub(super) from: usize,
    pub(super) length: usize,
}

impl Match {
    pub(super) fn end(self) -> usize {
        self.at + self.length
    }

    pub(super) fn offset(self) -> usize {
        self.at - self.from
    }

    /// Leaves out what lies before a position in the match.
    pub(super) fn start_at(&mut self, at: usize) {
        let moved = at - self.at;
        self.at += moved;
        self.from += moved;
        self.length -= moved;
    }

    /// Leaves out what lies at a position and after it.
    pub(super) fn end_at(&mut self, at: usize) {
        self.length = self.length.min(at - self.at);
    }
}

/// A source after its prefix, and the limits of the format. Only made by [`Input::new`].
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    /// Prefix and source; all positions count from its start.
    pub(super) buffer: &'a [u8],
    /// Start of the source.
    pub(super) start: usize,
    /// Matches start here or before.
    pub(super) last: usize,
    /// Matches end here or before.
    pub(super) end: usize,
}

impl<'a> Input<'a> {
    /// `None` when the source is too short for any match.
    pub(super) fn new(buffer: &'a [u8], start: usize) -> Option<Self> {
        let last = buffer.len().checked_sub(LAST_MATCH_DISTANCE)?;
        let end = buffer.len() - LAST_LITERALS;
        (start <= last).then_some(Self { buffer, start, last, end })
    }

    /// The four bytes at a position.
    ///
    /// # Safety
    /// `at + 4` is at most the length of the buffer.
    #[inline(always)]
    pub(super) unsafe fn word(&self, at: usize) -> u32 {
        // SAFETY: the caller keeps the bytes within the buffer.
        u32::from_le(unsafe { load(self.buffer, at) })
    }

    /// How many bytes from `at` on are those from `from`, before it, on, up to the position `end` in the buffer.
    #[inline(always)]
    pub(super) fn common(&self, from: usize, at: usize, end: usize) -> usize {
        assert!(from <= at && end <= self.buffer.len(), "matches lie in the buffer");
        let mut length = 0;
        while at + length + 8 <= end {
            // SAFETY: `end` lies in the buffer, and `from` not after `at`.
            let before = u64::from_le(unsafe { load(self.buffer, from + length) });
            // SAFETY: `end` lies in the buffer.
            let here = u64::from_le(unsafe { load(self.buffer, at + length) });
            let different = before ^ here;
            if different != 0 {
                return length + (different.trailing_zeros() / 8) as usize;
            }
            length += 8;
        }
        while at + length < end && self.buffer[from + length] == self.buffer[at + length] {
            length += 1;
        }
        length
    }

    /// How many bytes before `at` are those a period after them, down to the position `floor`.
    pub(super) fn period_before(&self, at: usize, period: usize, floor: usize) -> usize {
        let eight = |at: usize| self.buffer[at..].first_chunk::<8>();
        let mut k = at;
        while k >= floor + 8 && eight(k - 8) == eight(k - 8 + period) {
            k -= 8;
        }
        while k > floor && self.buffer[k - 1] == self.buffer[k - 1 + period] {
            k -= 1;
        }
        at - k
    }

    /// How many bytes before `at` are those before `from`, which is not after it, down to the position `floor`.
    #[inline(always)]
    pub(super) fn common_before(&self, from: usize, at: usize, floor: usize) -> usize {
        assert!(from <= at && at <= self.buffer.len(), "matches lie in the buffer");
        let most = at.saturating_sub(floor).min(from);
        let mut length = 0;
        while length < most && length + 8 <= from {
            // SAFETY: eight bytes lie before `from - length`, which lies in the buffer.
            let before = u64::from_le(unsafe { load(self.buffer, from - length - 8) });
            // SAFETY: `at` is not before `from`, and lies in the buffer.
            let here = u64::from_le(unsafe { load(self.buffer, at - length - 8) });
            let different = before ^ here;
            if different != 0 {
                return most.min(length + (different.leading_zeros() / 8) as usize);
            }
            length += 8;
        }
        while length < most && self.buffer[at - length - 1] == self.buffer[from - length - 1] {
            length += 1;
        }
        length.min(most)
    }
}

/// Positions are kept as numbers that grow from call to call, so that what a table holds from earlier calls lies outside
/// of the window and needs no clearing.
#[derive(Debug)]
pub(super) struct Epoch {
    base: u32,
    end: u32,
}

/// Distance between the positions of two calls, at least: more than any offset. Numbers of first positions are multiples of
/// it, so that a position has the same [`slot`] as its number.
const GAP: u32 = 1 << 16;
const _: () = assert!(GAP as usize > OFFSET_MAX, "old positions must lie outside of the window");

impl Epoch {
    pub(super) const fn new() -> Self {
        Self { base: GAP, end: 0 }
    }

    /// Begins a buffer of `length` bytes; `clear` forgets all positions, and is called when the numbers run out.
    pub(super) fn begin(&mut self, length: usize, clear: impl FnOnce()) {
        #[expect(clippy::cast_possible_truncation, reason = "sources and prefixes are below 2 GiB")]
        let length = length as u32;
        let base = self.end.checked_add(2 * GAP - 1).map(|base| base - base % GAP);
        let range = base.and_then(|base| Some((base, base.checked_add(length)?)));
        (self.base, self.end) = range.unwrap_or_else(|| {
            clear();
            (GAP, GAP + length)
        });
    }

    /// The number of a position.
    #[inline(always)]
    pub(super) fn number(&self, at: usize) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "see `begin`")]
        let at = at as u32;
        self.base.wrapping_add(at)
    }
}

/// Index of a position in a table of 2^16 entries.
#[inline(always)]
pub(super) fn slot(at: usize) -> usize {
    at & 0xffff
}

/// Logarithm of the number of hashes.
pub(super) const HASH_BITS: u32 = 15;

/// Hash of four bytes.
#[inline(always)]
pub(super) fn hash(word: u32) -> usize {
    (word.wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize
}

/// A table of zeros on the heap.
#[expect(clippy::unnecessary_box_returns, reason = "too large for the stack")]
pub(super) fn zeros<T: Copy + Default, const N: usize>() -> Box<[T; N]> {
    let zeros = vec![T::default(); N].into_boxed_slice();
    zeros.try_into().unwrap_or_else(|_| Box::new([T::default(); N]))
}
