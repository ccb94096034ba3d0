//! Where level 12 finds matches: in chains, until those prove too long; then in trees.
//!
//! In most data a chain is short, or most of it can be left out, and nothing is faster. Columns of few distinct values have
//! chains of thousands, in which the longest match is not found in time; trees lead to it in few steps. Trees alone would be
//! slower by half on texts, and many times slower on sorted lists, which make long branches of them.

use super::matches::{Input, Match};
use super::optimal::Finder;
use super::search::Search;
use super::tree::Tree;
use crate::lz4::OFFSET_MAX;
use std::ops::Range;

/// This many searches that end early say nothing yet,
const ENDED_FREE: usize = 2;
/// nor does one in as many.
const ENDED_SHARE: usize = 128;

/// Chains, and the trees that take over.
pub(super) struct Thorough {
    chains: Search,
    trees: Tree,
    searches: usize,
    /// Whether the trees have taken over.
    planted: bool,
}

impl Thorough {
    pub(super) fn new(chains: Search, trees: Tree) -> Self {
        Self { chains, trees, searches: 0, planted: false }
    }

    /// Counts a search at a position; whether it is one for the chains.
    #[inline(always)]
    fn are_chains_enough(&mut self, input: &Input<'_>, at: usize) -> bool {
        if self.planted {
            return false;
        }
        self.searches += 1;
        let enough = self.chains.ended_early <= ENDED_FREE + self.searches / ENDED_SHARE;
        if !enough {
            self.plant(input, at);
        }
        enough
    }

    /// Takes everything before a position that a match can reach into the trees.
    #[cold]
    fn plant(&mut self, input: &Input<'_>, at: usize) {
        self.trees.begin(input);
        self.trees.pass(input, at.saturating_sub(OFFSET_MAX)..at, false);
        self.planted = true;
    }
}

impl Finder for Thorough {
    fn begin(&mut self, input: &Input<'_>) {
        self.chains.begin(input);
        (self.searches, self.planted) = (0, false);
    }

    #[inline]
    fn find(&mut self, input: &Input<'_>, at: usize, longer_than: usize) -> Option<Match> {
        if self.are_chains_enough(input, at) {
            return self.chains.find(input, at, longer_than);
        }
        self.trees.find(input, at, longer_than)
    }

    #[inline(never)]
    fn seek(&mut self, input: &Input<'_>, at: usize, longer_than: usize) -> Option<Match> {
        for at in at..=input.last {
            let found = if self.are_chains_enough(input, at) {
                self.chains.longest(input, at, longer_than)
            } else {
                self.trees.find(input, at, longer_than)
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn pass(&mut self, input: &Input<'_>, positions: Range<usize>, run: bool) {
        if self.planted {
            self.trees.pass(input, positions, run);
        }
    }
}
