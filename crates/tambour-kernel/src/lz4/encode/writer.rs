//! Writes the sequences of a block.

use crate::copy::{copy, store};
use crate::lz4::{MATCH_MIN, NIBBLE_MAX};

/// A block that grows. Positions count bytes of the target.
pub(super) struct Writer<'a> {
    target: &'a mut [u8],
    position: usize,
}

/// Bytes that extend a length beyond its half of the token.
pub(super) const fn extension_bytes(length: usize) -> usize {
    if length < NIBBLE_MAX { 0 } else { 1 + (length - NIBBLE_MAX) / 255 }
}

impl<'a> Writer<'a> {
    /// A writer at the start of `target`.
    pub(super) fn new(target: &'a mut [u8]) -> Self {
        Self { target, position: 0 }
    }

    /// Writes the literals `buffer[anchor..at]` and a match of at least [`MATCH_MIN`] bytes after them. `None` without
    /// room for them, or for the token of a last sequence.
    #[inline(always)]
    pub(super) fn sequence(
        &mut self,
        buffer: &[u8],
        (anchor, at): (usize, usize),
        offset: usize,
        length: usize,
    ) -> Option<()> {
        let literals = at - anchor;
        let extra = length - MATCH_MIN;
        let start = self.position;
        // Most are short: the token, eight bytes of which some are literals, the offset.
        if literals > 8
            || extra >= NIBBLE_MAX
            || start + 16 > self.target.len()
            || anchor + 8 > buffer.len()
        {
            return self.long_sequence(&buffer[anchor..at], offset, extra);
        }
        // SAFETY: just checked.
        unsafe { copy::<u64>(buffer, anchor, self.target, start + 1) };
        #[expect(clippy::cast_possible_truncation, reason = "offsets lie within the window")]
        let offset = offset as u16;
        // SAFETY: it ends 11 bytes after the start at most.
        unsafe { store(self.target, start + 1 + literals, offset.to_le()) };
        #[expect(clippy::cast_possible_truncation, reason = "both just compared")]
        let token = (literals << 4 | extra) as u8;
        // SAFETY: just checked.
        unsafe { store(self.target, start, token) };
        self.position = start + 3 + literals;
        Some(())
    }

    /// [`Writer::sequence`] of any lengths.
    #[inline(never)]
    fn long_sequence(&mut self, literals: &[u8], offset: usize, extra: usize) -> Option<()> {
        let extensions = extension_bytes(literals.len()) + extension_bytes(extra);
        if self.target.len() - self.position < literals.len() + extensions + 4 {
            return None;
        }
        let token = self.position;
        self.position += 1;
        let upper = self.nibble(literals.len()) << 4;
        self.literals(literals);
        #[expect(clippy::cast_possible_truncation, reason = "offsets lie within the window")]
        let offset = (offset as u16).to_le_bytes();
        self.target[self.position..self.position + 2].copy_from_slice(&offset);
        self.position += 2;
        self.target[token] = upper | self.nibble(extra);
        Some(())
    }

    /// Like [`Writer::sequence`] for `buffer[anchor..at]` and a target that has room for sure: short literals are copied
    /// in whole words.
    ///
    /// Room: a sequence of L literals and a match takes at most L/255 bytes more than it stands for, so in a target of the
    /// source's bound there is, after every sequence, the bound of the rest of the source, less the rounding of L/255.
    ///
    /// # Safety
    /// `anchor <= at`, `at + 12 <= buffer.len()`, and the target has the bound of the source.
    #[inline(always)]
    pub(super) unsafe fn sequence_with_room(
        &mut self,
        buffer: &[u8],
        (anchor, at): (usize, usize),
        offset: usize,
        length: usize,
    ) {
        let literals = at - anchor;
        let token = self.position;
        self.position += 1;
        let upper = self.nibble(literals) << 4;
        if literals <= 16 {
            // SAFETY: at least 12 bytes follow the literals in the source, and more than that in the target.
            unsafe { copy::<u64>(buffer, anchor, self.target, self.position) };
            if literals > 8 {
                // SAFETY: as above; the copy ends at most 7 bytes after the literals.
                unsafe { copy::<u64>(buffer, anchor + 8, self.target, self.position + 8) };
            }
            self.position += literals;
        } else {
            self.literals(&buffer[anchor..at]);
        }
        #[expect(clippy::cast_possible_truncation, reason = "offsets lie within the window")]
        let offset = offset as u16;
        // SAFETY: the literals are followed by 12 more bytes of source, for which the target has room.
        unsafe { store(self.target, self.position, offset.to_le()) };
        self.position += 2;
        let lower = self.nibble(length - MATCH_MIN);
        // SAFETY: the token lies in front of what was written.
        unsafe { store(self.target, token, upper | lower) };
    }

    /// Writes the last sequence; returns the size of the block, or `None` when there is no room.
    pub(super) fn last_literals(mut self, literals: &[u8]) -> Option<usize> {
        let needed = 1 + extension_bytes(literals.len()) + literals.len();
        if self.target.len() - self.position < needed {
            return None;
        }
        let token = self.position;
        self.position += 1;
        self.target[token] = self.nibble(literals.len()) << 4;
        self.literals(literals);
        Some(self.position)
    }

    #[inline(always)]
    fn literals(&mut self, literals: &[u8]) {
        let end = self.position + literals.len();
        self.target[self.position..end].copy_from_slice(literals);
        self.position = end;
    }

    /// The half of a token for a length; writes the bytes that extend it.
    #[inline(always)]
    fn nibble(&mut self, length: usize) -> u8 {
        if length < NIBBLE_MAX {
            #[expect(clippy::cast_possible_truncation, reason = "just compared")]
            let nibble = length as u8;
            return nibble;
        }
        let rest = length - NIBBLE_MAX;
        let full = rest / 255;
        self.target[self.position..self.position + full].fill(255);
        #[expect(clippy::cast_possible_truncation, reason = "a remainder of 255")]
        let last = (rest % 255) as u8;
        self.target[self.position + full] = last;
        self.position += full + 1;
        15
    }
}
