//! Hash chains: for every position, how far back the one before it with the same hash is.

use super::matches::{Epoch, HASH_BITS, Input, hash, slot, zeros};
use crate::lz4::{MATCH_MIN, OFFSET_MAX};

/// Where four bytes were seen, latest first.
pub(super) struct Chain {
    /// Number of the latest position with a hash.
    heads: Box<[u32; 1 << HASH_BITS]>,
    /// From a position to the one before it with the same hash: the distance, the largest number if it is
    /// as large or larger: then it leads out of the window.
    links: Box<[u16; 1 << 16]>,
    epoch: Epoch,
    /// The first position that is not yet in the chains.
    next: usize,
    /// What the positions after the dictionary replaced; empty unless there is one ([`Chain::prepare`]).
    undo: Vec<Undo>,
    /// Whether changes are noted, and where the source begins.
    prepared: Option<usize>,
}

/// What taking in a position changed.
struct Undo {
    hash: u32,
    slot: u32,
    head: u32,
    link: u16,
}

impl Chain {
    pub(super) fn new() -> Self {
        Self {
            heads: zeros(),
            links: zeros(),
            epoch: Epoch::new(),
            next: 0,
            undo: Vec::new(),
            prepared: None,
        }
    }

    /// Forgets everything, for a new input.
    pub(super) fn begin(&mut self, input: &Input<'_>) {
        self.epoch.begin(input.buffer.len(), || self.heads.fill(0));
        self.next = 0;
        self.prepared = None;
        self.undo.clear();
    }

    /// Takes in the positions before the source, once; from then on, [`Chain::rewind`] leads back to here.
    ///
    /// The last three of them are taken in with each source, to whose first bytes their words belong.
    pub(super) fn prepare(&mut self, input: &Input<'_>) {
        let known = input.start.saturating_sub(MATCH_MIN - 1).min(input.last + 1);
        // SAFETY: just limited.
        unsafe { self.insert_until(input, known) };
        self.prepared = Some(known);
    }

    /// Forgets all positions that came in since [`Chain::prepare`].
    pub(super) fn rewind(&mut self) {
        let Some(known) = self.prepared else { return };
        for Undo { hash, slot, head, link } in self.undo.drain(..).rev() {
            self.heads[hash as usize % (1 << HASH_BITS)] = head;
            self.links[slot as usize % (1 << 16)] = link;
        }
        self.next = known;
    }

    /// Takes in all positions up to `at`; returns how far before it the latest other with the same hash lies, 0 if it is out
    /// of reach. Places do not descend from call to call.
    ///
    /// # Safety
    /// `at <= input.last`.
    #[inline(always)]
    pub(super) unsafe fn first(&mut self, input: &Input<'_>, at: usize) -> usize {
        let distance = if self.next <= at {
            // SAFETY: the caller's promise.
            unsafe { self.insert_until(input, at) };
            // SAFETY: the caller's promise.
            unsafe { self.insert(input, at) }
        } else {
            // It was searched before. A link that leads too far is one more candidate.
            assert!(self.next == at + 1, "a position would match itself");
            self.link(at)
        };
        if distance > at.min(OFFSET_MAX) { 0 } else { distance }
    }

    /// Takes in the next position; returns how far before it the latest with the same hash lies.
    ///
    /// # Safety
    /// `at <= input.last`.
    #[inline(always)]
    unsafe fn insert(&mut self, input: &Input<'_>, at: usize) -> usize {
        let number = self.epoch.number(at);
        // SAFETY: 12 bytes follow the last place for a match.
        let hash = hash(unsafe { input.word(at) });
        let distance = number.wrapping_sub(self.heads[hash]);
        if self.prepared.is_some() {
            self.note(hash, at);
        }
        self.links[slot(at)] = clamped(distance);
        self.heads[hash] = number;
        self.next = at + 1;
        distance as usize
    }

    /// Takes in all positions before `at`.
    ///
    /// # Safety
    /// `at <= input.last + 1`.
    #[inline(always)]
    unsafe fn insert_until(&mut self, input: &Input<'_>, at: usize) {
        if self.prepared.is_some() {
            for position in self.next..at {
                // SAFETY: the caller's promise.
                unsafe { self.insert(input, position) };
            }
            return;
        }
        let (heads, links) = (&mut *self.heads, &mut *self.links);
        let first = self.epoch.number(0);
        for position in self.next..at {
            // SAFETY: 12 bytes follow the last place for a match.
            let hash = hash(unsafe { input.word(position) });
            #[expect(clippy::cast_possible_truncation, reason = "as `Epoch::number`")]
            let number = first.wrapping_add(position as u32);
            links[slot(position)] = clamped(number.wrapping_sub(heads[hash]));
            heads[hash] = number;
        }
        self.next = self.next.max(at);
    }

    /// Notes what the insertion of a position will replace.
    #[inline(never)]
    fn note(&mut self, hash: usize, at: usize) {
        let (head, link) = (self.heads[hash], self.links[slot(at)]);
        #[expect(clippy::cast_possible_truncation, reason = "both tables are that small")]
        let (hash, slot) = (hash as u32, slot(at) as u32);
        self.undo.push(Undo { hash, slot, head, link });
    }

    /// From a position in the chains to the one before it with the same hash.
    #[inline(always)]
    pub(super) fn link(&self, at: usize) -> usize {
        usize::from(self.links[slot(at)])
    }
}

/// A distance as a link. Without a branch: whether four bytes are new is hard to foretell.
#[inline(always)]
fn clamped(distance: u32) -> u16 {
    let far = u32::from(distance > u32::from(u16::MAX)).wrapping_neg();
    #[expect(clippy::cast_possible_truncation, reason = "all of its bits are set if it is larger")]
    let link = (distance | far) as u16;
    link
}
