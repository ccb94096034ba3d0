//! Binary search trees over the window: one tree per hash, sorted by the bytes that follow each position.
//!
//! A position becomes the root of its tree when it is inserted; on the way down the old tree is split into what sorts
//! before and after it, and every node on the way is a candidate that has more in common with the position than those
//! above it, on its side. So few nodes lead to the longest match, where a chain may have thousands.

use super::matches::{Epoch, HASH_BITS, Input, Match, hash, slot, zeros};
use super::optimal::Finder;
use crate::lz4::{MATCH_MIN, OFFSET_MAX};
use std::ops::Range;

/// This much of a run's end is taken in: what lies before repeats, at a place that is in the trees already.
const RUN_END_BYTES: usize = 64;

/// The trees of a window.
pub(super) struct Tree {
    effort: Effort,
    /// Number of the root for a hash.
    roots: Box<[u32; 1 << HASH_BITS]>,
    /// Slots of the two subtrees of each node: before it and after it. A node's own slot means that there is none.
    ///
    /// Children are older than parents. A child that has left the window may share its slot with a younger position; that
    /// one is then no older than the parent, which is how the search sees it.
    children: Box<[[u16; 2]; 1 << 16]>,
    epoch: Epoch,
    /// Where the run of one byte ends that was met last.
    run_end: usize,
}

/// How hard a tree is searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Nodes that are looked at.
    pub(super) nodes_max: u32,
    /// Bytes that are compared.
    pub(super) compared_bytes: usize,
}

impl Finder for Tree {
    fn begin(&mut self, input: &Input<'_>) {
        self.epoch.begin(input.buffer.len(), || self.roots.fill(0));
        self.run_end = 0;
    }

    #[inline]
    fn find(&mut self, input: &Input<'_>, at: usize, longer_than: usize) -> Option<Match> {
        let mut found = self.insert(input, at);
        if found.length <= longer_than {
            return None;
        }
        if found.length >= self.effort.compared_bytes {
            let (from, at) = (found.from + found.length, found.end());
            found.length += input.common(from, at, input.end);
        }
        Some(found)
    }

    fn pass(&mut self, input: &Input<'_>, positions: Range<usize>, run: bool) {
        let rest = positions.end.saturating_sub(RUN_END_BYTES);
        let start = if run { positions.start.max(rest) } else { positions.start };
        for at in start..positions.end {
            self.insert(input, at);
        }
    }
}

/// A subtree's place in the tree: the node above it and the side.
type Place = (usize, usize);

impl Tree {
    pub(super) fn new(effort: Effort) -> Self {
        Self { effort, roots: zeros(), children: zeros(), epoch: Epoch::new(), run_end: 0 }
    }

    /// The tree of a position, and how many bytes from there on are those one byte before.
    ///
    /// Inside runs of one byte, each length that is left has a tree of its own. In a tree of all of them, whose positions come
    /// in descending order, every look would pass hundreds that end elsewhere.
    #[inline(always)]
    fn place(&mut self, input: &Input<'_>, at: usize) -> (usize, usize) {
        // SAFETY: matches start at `input.last` or before, which 12 bytes follow.
        let word = unsafe { input.word(at) };
        if word != word.rotate_left(8) {
            return (hash(word), 0);
        }
        if self.run_end <= at {
            self.run_end = at + 1 + input.common(at, at + 1, input.end);
        }
        let left = self.run_end - at;
        #[expect(clippy::cast_possible_truncation, reason = "only a hash is made of it")]
        let tree = hash(word ^ (left as u32).wrapping_mul(0x9e37_79b1));
        let is_inside = at > 0 && input.buffer[at - 1] == input.buffer[at];
        (tree, if is_inside { left } else { 0 })
    }

    /// Inserts a position; returns the longest match that was met, as far as it was compared; one
    /// that is shorter than the shortest of the format is none. Positions must ascend.
    #[inline]
    fn insert(&mut self, input: &Input<'_>, at: usize) -> Match {
        let number = self.epoch.number(at);
        let own = slot(at);
        assert!(at <= input.last, "matches start earlier");
        let (tree, repeated) = self.place(input, at);
        let root = &mut self.roots[tree];
        let mut distance = number.wrapping_sub(*root) as usize;
        *root = number;
        let end = input.end.min(at + self.effort.compared_bytes);
        let mut best = Match { at, from: at, length: MATCH_MIN - 1 };
        if repeated > best.length {
            best = Match { at, from: at - 1, length: repeated.min(self.effort.compared_bytes) };
        }
        // Where the nodes that sort before the position go, and those that sort after it; what the last ones have in common with it.
        let mut places: [Place; 2] = [(own, 0), (own, 1)];
        let mut commons = [0; 2];
        let mut above = 0;
        for _ in 0..self.effort.nodes_max {
            if distance > OFFSET_MAX || distance <= above {
                break;
            }
            above = distance;
            let from = at - distance;
            let node = slot(from);
            let known = commons[0].min(commons[1]);
            let length = known + input.common(from + known, at + known, end);
            if length > best.length {
                best = Match { at, from, length };
            }
            if at + length >= end {
                // As good as equal: the position takes the node's place.
                self.replace(node, places);
                return best;
            }
            let side = usize::from(input.buffer[from + length] > input.buffer[at + length]);
            self.set(places[side], node);
            places[side] = (node, 1 - side);
            commons[side] = length;
            let child = self.children[node][1 - side];
            distance = own.wrapping_sub(usize::from(child)) & 0xffff;
        }
        self.set(places[0], places[0].0);
        self.set(places[1], places[1].0);
        best
    }

    #[inline(always)]
    fn set(&mut self, (node, side): Place, child: usize) {
        #[expect(clippy::cast_possible_truncation, reason = "slots have 16 bits")]
        let child = child as u16;
        self.children[node & 0xffff][side & 1] = child;
    }

    /// Hangs the subtrees of `node` in at two places.
    fn replace(&mut self, node: usize, places: [Place; 2]) {
        for (side, place) in places.into_iter().enumerate() {
            let child = usize::from(self.children[node][side]);
            self.set(place, if child == node { place.0 } else { child });
        }
    }
}
