//! The search of a chain for the longest match.
//!
//! Candidates are looked at from the nearest to the farthest, and every look counts. What level gives a look up, or takes a
//! shortcut, is what C LZ4HC does at the same level: with the same matches in the same order, blocks have its size.

use super::Level;
use super::chain::Chain;
use super::matches::{Input, Match};
use super::optimal::Finder;
use crate::lz4::{MATCH_MIN, OFFSET_MAX};
use std::ops::Range;

/// From this level on, runs of one byte are stepped over.
const RUNS_LEVEL: u8 = 9;

/// How hard a chain is searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Candidates that are looked at.
    pub(super) attempts: u32,
    /// Step over runs of one byte. Takes a look at the place's bytes for each search.
    pub(super) runs: bool,
}

impl Effort {
    /// That of a level from 3 to 9.
    pub(super) fn of_level(level: u8) -> Self {
        let level = level.clamp(Level::HIGH_MIN, 9);
        Self { attempts: 4 << (level - Level::HIGH_MIN), runs: level >= RUNS_LEVEL }
    }
}

/// What a match must be to be taken.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// It covers four bytes from here on.
    pub(super) at: usize,
    /// It starts here or later, at most at `at`.
    pub(super) floor: usize,
    /// It is longer than this, which is at least `at - floor + 2`, and at least 3 where it starts at `at`.
    pub(super) longer_than: usize,
}

/// A chain and how it is searched.
pub(super) struct Search {
    pub(super) chain: Chain,
    pub(super) effort: Effort,
    /// Searches since the beginning that ended before their chain did.
    pub(super) ended_early: usize,
}

impl Search {
    pub(super) fn new(effort: Effort) -> Self {
        Self { chain: Chain::new(), effort, ended_early: 0 }
    }

    /// Forgets everything, for a new input.
    pub(super) fn begin(&mut self, input: &Input<'_>) {
        self.chain.begin(input);
        self.ended_early = 0;
    }

    /// The longest of the matches that start at `at` and are longer than 3 bytes, the nearest of equals.
    #[inline(always)]
    pub(super) fn best(&mut self, input: &Input<'_>, at: usize) -> Option<Match> {
        self.look::<false, false>(input, Wanted { at, floor: at, longer_than: MATCH_MIN - 1 })
    }

    /// The longest of the wanted matches, which may start before `at`.
    #[inline(always)]
    pub(super) fn wider(&mut self, input: &Input<'_>, wanted: Wanted) -> Option<Match> {
        self.look::<true, false>(input, wanted)
    }

    /// The longest of the matches that start at `at` and are longer than this. Looks closer than [`Search::best`].
    #[inline(always)]
    pub(super) fn longest(
        &mut self,
        input: &Input<'_>,
        at: usize,
        longer_than: usize,
    ) -> Option<Match> {
        self.look::<false, true>(input, Wanted { at, floor: at, longer_than })
    }

    #[inline(always)]
    fn look<const WIDE: bool, const SWAPS: bool>(
        &mut self,
        input: &Input<'_>,
        wanted: Wanted,
    ) -> Option<Match> {
        let Wanted { at, floor, longer_than } = wanted;
        assert!(
            at <= input.last && floor <= at && at - floor < longer_than && (WIDE || floor == at),
            "wants what cannot be"
        );
        // SAFETY: just checked.
        let distance = unsafe { self.chain.first(input, at) };
        if distance == 0 || floor + longer_than >= input.end {
            return None;
        }
        let from = at - distance;
        // SAFETY: 12 bytes follow `at`.
        let word = unsafe { input.word(at) };
        if self.effort.runs && word == word.rotate_left(8) {
            // SAFETY: just checked.
            unsafe { self.walk_run::<WIDE, SWAPS>(input, wanted, from) }
        } else {
            // SAFETY: just checked.
            unsafe { self.walk::<WIDE, SWAPS>(input, wanted, from) }
        }
    }

    /// Looks at candidates, of which `from` is the first.
    ///
    /// `WIDE`: matches may start before `at`. `SWAPS`: goes on in the chain of the rarest word of the best match, which finds
    /// more, and is slower where words are equally rare.
    ///
    /// # Safety
    /// `floor <= at <= input.last`, `at - floor < longer_than` and `floor + longer_than < input.end`; without `WIDE`,
    /// `at == floor`. The candidate lies before `at` and within reach.
    #[inline(always)]
    unsafe fn walk<const WIDE: bool, const SWAPS: bool>(
        &mut self,
        input: &Input<'_>,
        wanted: Wanted,
        mut from: usize,
    ) -> Option<Match> {
        // SAFETY: the caller's promise.
        let mut best = unsafe { Best::<WIDE>::new(input, wanted) };
        let lowest = best.lowest();
        // Candidates are taken from the chain of the word that lies that far after them.
        let mut shift = 0;
        let mut attempts = self.effort.attempts;
        loop {
            // SAFETY: the candidate lies before `at` and within reach.
            while !unsafe { best.may_beat(input, from) } {
                attempts -= 1;
                from = from.wrapping_sub(self.chain.link(from + shift));
                if is_before(from, lowest) {
                    return best.found;
                }
                if attempts == 0 {
                    self.ended_early += 1;
                    return best.found;
                }
            }
            let mut link = 0;
            if best.look(input, from) {
                if best.is_longest(input) {
                    return best.found;
                }
                // Only words in front of the position are in the chains.
                if SWAPS && from + best.longest <= wanted.at {
                    let (place, longest) = self.rarest(from, best.longest);
                    if longest > 1 {
                        (shift, link) = (place, longest);
                    }
                }
            }
            if link == 0 {
                link = self.chain.link(from + shift);
            }
            attempts -= 1;
            from = from.wrapping_sub(link);
            if is_before(from, lowest) {
                return best.found;
            }
            if attempts == 0 {
                self.ended_early += 1;
                return best.found;
            }
        }
    }

    /// [`Search::walk`] at a place where a run of one byte begins: runs are stepped over.
    ///
    /// Out of line: it is rare, and would cost the others registers.
    ///
    /// # Safety
    /// That of [`Search::walk`].
    #[inline(never)]
    unsafe fn walk_run<const WIDE: bool, const SWAPS: bool>(
        &mut self,
        input: &Input<'_>,
        wanted: Wanted,
        mut from: usize,
    ) -> Option<Match> {
        let at = wanted.at;
        // SAFETY: the caller's promise.
        let mut best = unsafe { Best::<WIDE>::new(input, wanted) };
        let lowest = best.lowest();
        // The length of the run at the place, once it is needed.
        let mut run = 0;
        let mut shift = 0;
        for _ in 0..self.effort.attempts {
            // SAFETY: the candidate lies before `at` and within reach.
            if unsafe { best.may_beat(input, from) } && best.look(input, from) {
                if best.is_longest(input) {
                    return best.found;
                }
                if SWAPS && from + best.longest <= at {
                    let (place, link) = self.rarest(from, best.longest);
                    if link > 1 {
                        shift = place;
                        from = from.wrapping_sub(link);
                        if is_before(from, lowest) {
                            return best.found;
                        }
                        continue;
                    }
                }
            }
            let link = self.chain.link(from + shift);
            // SAFETY: the word before a candidate ends inside of it.
            let in_run = link == 1
                && shift == 0
                && from > lowest
                && unsafe { input.word(from - 1) } == best.word;
            from = from.wrapping_sub(link);
            if in_run {
                if run == 0 {
                    run = 1 + input.common(at, at + 1, input.end);
                }
                let hop = Hop::over(input, from, run, lowest);
                from = hop.to;
                if !WIDE && hop.length > 0 {
                    if hop.length > best.longest {
                        best.take(input, Match { at, from, length: hop.length });
                        if best.is_longest(input) {
                            return best.found;
                        }
                    }
                    from = from.wrapping_sub(self.chain.link(from));
                }
            }
            if is_before(from, lowest) {
                return best.found;
            }
        }
        self.ended_early += 1;
        best.found
    }

    /// The word of a match at `from`, by its place, whose chain has the longest link, and the link: a longer match has that
    /// word, too, so that everything between can be left out. Looks less closely the longer nothing better comes.
    #[inline(always)]
    fn rarest(&self, from: usize, length: usize) -> (usize, usize) {
        let (mut rarest, mut longest) = (0, 1);
        let (mut place, mut pace) = (0, 16);
        while place + MATCH_MIN <= length {
            let link = self.chain.link(from + place);
            let step = pace / 16;
            pace += 1;
            if link > longest {
                (rarest, longest, pace) = (place, link, 16);
            }
            place += step;
        }
        (rarest, longest)
    }
}

/// Whether a candidate lies before the lowest, also where it has wrapped around.
#[inline(always)]
fn is_before(from: usize, lowest: usize) -> bool {
    from.cast_signed() < lowest.cast_signed()
}

/// The longest match of a walk, and what a longer one must have.
struct Best<const WIDE: bool> {
    at: usize,
    floor: usize,
    /// The four bytes at the place.
    word: u32,
    longest: usize,
    /// A longer match has four bytes that end where it is longer; the first of them lies that far after the place.
    tail: usize,
    /// Those bytes.
    tail_word: u32,
    found: Option<Match>,
}

impl<const WIDE: bool> Best<WIDE> {
    /// # Safety
    /// That of [`Search::walk`].
    #[inline(always)]
    unsafe fn new(input: &Input<'_>, Wanted { at, floor, longer_than }: Wanted) -> Self {
        // SAFETY: `at <= input.last`, which 12 bytes follow.
        let word = unsafe { input.word(at) };
        let mut new =
            Self { at, floor, word, longest: longer_than, tail: 0, tail_word: word, found: None };
        new.measure(input);
        new
    }

    /// Finds the bytes that a longer match must have.
    #[inline(always)]
    fn measure(&mut self, input: &Input<'_>) {
        let before = if WIDE { self.at - self.floor } else { 0 };
        self.tail = (self.longest - before).saturating_sub(MATCH_MIN - 1);
        if self.floor + self.longest < input.end {
            // SAFETY: `at + tail + 4` is `floor + longest + 1`, at most `input.end`, or `at + 4`.
            self.tail_word = unsafe { input.word(self.at + self.tail) };
        }
    }

    /// The first position within reach.
    #[inline(always)]
    fn lowest(&self) -> usize {
        self.at.saturating_sub(OFFSET_MAX)
    }

    /// Whether a candidate has the bytes that all longer matches have.
    ///
    /// # Safety
    /// The candidate lies before the place, and no match is known that nothing can beat.
    #[inline(always)]
    unsafe fn may_beat(&self, input: &Input<'_>, from: usize) -> bool {
        // SAFETY: these bytes lie before those at `at + tail`.
        let tail_word = unsafe { input.word(from + self.tail) };
        // SAFETY: four bytes follow `at`, and `from` lies before it.
        tail_word == self.tail_word && unsafe { input.word(from) } == self.word
    }

    /// Takes the match at a candidate that begins with the same word if it is longer; whether it is.
    #[inline(always)]
    fn look(&mut self, input: &Input<'_>, from: usize) -> bool {
        let Self { at, floor, .. } = *self;
        let behind = if WIDE { input.common_before(from, at, floor) } else { 0 };
        let ahead = MATCH_MIN + input.common(from + MATCH_MIN, at + MATCH_MIN, input.end);
        let is_longer = behind + ahead > self.longest;
        if is_longer {
            let length = behind + ahead;
            self.take(input, Match { at: at - behind, from: from - behind, length });
        }
        is_longer
    }

    #[inline(always)]
    fn take(&mut self, input: &Input<'_>, found: Match) {
        self.longest = found.length;
        self.found = Some(found);
        self.measure(input);
    }

    /// Whether no match can be longer.
    #[inline(always)]
    fn is_longest(&self, input: &Input<'_>) -> bool {
        self.floor + self.longest >= input.end
    }
}

/// Where to go on in a run of one byte.
struct Hop {
    to: usize,
    /// Bytes that match there, 0 where that must be seen first.
    length: usize,
}

impl Hop {
    /// The place in the run around `from` that has as much of it left as the place that is searched for, `run`; if there is
    /// none, the run's start, where the most of it matches.
    #[inline(always)]
    fn over(input: &Input<'_>, from: usize, run: usize, lowest: usize) -> Self {
        let ahead = 1 + input.common(from, from + 1, input.end);
        let before = input.period_before(from, 1, lowest);
        if before + ahead >= run && ahead <= run {
            Self { to: from + ahead - run, length: 0 }
        } else {
            Self { to: from - before, length: run.min(before + ahead) }
        }
    }
}

impl Finder for Search {
    fn begin(&mut self, input: &Input<'_>) {
        Self::begin(self, input);
    }

    #[inline(never)]
    fn find(&mut self, input: &Input<'_>, at: usize, longer_than: usize) -> Option<Match> {
        self.longest(input, at, longer_than)
    }

    #[inline(never)]
    fn seek(&mut self, input: &Input<'_>, at: usize, longer_than: usize) -> Option<Match> {
        for at in at..=input.last {
            if let Some(found) = self.longest(input, at, longer_than) {
                return Some(found);
            }
        }
        None
    }

    /// Positions are taken in when they are needed.
    fn pass(&mut self, _: &Input<'_>, _: Range<usize>, _: bool) {}
}
