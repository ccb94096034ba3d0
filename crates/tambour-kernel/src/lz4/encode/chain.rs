//! Hash chains: for every position, how far back the one before it with the same hash is.

use super::Level;
use super::matches::{Epoch, HASH_BITS, Input, Match, hash, slot, zeros};
use super::optimal::Finder;
use crate::lz4::{MATCH_MIN, OFFSET_MAX};
use std::ops::Range;

/// Bytes of a match whose words are looked at for the rarest.
const SWAP_BYTES_MAX: usize = 68;

/// Longest period of a stretch that is stepped over.
const PERIOD_MAX: usize = 8;
/// Places that repeat themselves less often are searched step by step.
const PERIODS_MIN: usize = 4;

/// What a step to the next candidate takes from the budget of attempts.
const STEP_COST: u32 = 8;
/// The same for a step of one byte: a run, as of the zeros in small integers, has many candidates and little to offer.
const RUN_STEP_COST: u32 = 3;

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
    /// Searches since the beginning that ended before their chain did.
    ended_early: usize,
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

/// What a match must be to be taken.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// It covers four bytes from here on.
    pub(super) at: usize,
    /// It starts here or later, at most at `at`.
    pub(super) floor: usize,
    /// It is longer than this, which is at least `at - floor + 2`.
    pub(super) longer_than: usize,
}

impl Chain {
    pub(super) fn new() -> Self {
        Self {
            heads: zeros(),
            links: zeros(),
            epoch: Epoch::new(),
            next: 0,
            ended_early: 0,
            undo: Vec::new(),
            prepared: None,
        }
    }

    /// Forgets everything, for a new input.
    pub(super) fn begin(&mut self, input: &Input<'_>) {
        self.epoch.begin(input.buffer.len(), || self.heads.fill(0));
        self.next = 0;
        self.ended_early = 0;
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

    /// Takes in all positions before `at`.
    ///
    /// # Safety
    /// `at <= input.last + 1`.
    #[inline(always)]
    unsafe fn insert_until(&mut self, input: &Input<'_>, at: usize) {
        let noted = self.prepared.is_some();
        for position in self.next..at {
            let number = self.epoch.number(position);
            // SAFETY: 12 bytes follow the last place for a match.
            let hash = hash(unsafe { input.word(position) });
            let head = &mut self.heads[hash];
            let link = &mut self.links[slot(number)];
            if noted {
                #[expect(clippy::cast_possible_truncation, reason = "both tables are that small")]
                let (hash, slot) = (hash as u32, slot(number) as u32);
                self.undo.push(Undo { hash, slot, head: *head, link: *link });
            }
            let distance = number.wrapping_sub(*head);
            *link = u16::try_from(distance).unwrap_or(u16::MAX);
            *head = number;
        }
        self.next = self.next.max(at);
    }

    /// The longest of the wanted matches among this many candidates, the nearest of equals. Places do not descend from call
    /// to call.
    #[inline(always)]
    pub(super) fn longest(
        &mut self,
        input: &Input<'_>,
        wanted: Wanted,
        Effort { attempts, swaps }: Effort,
    ) -> Option<Match> {
        let Wanted { at, floor, longer_than } = wanted;
        assert!(
            at <= input.last && floor <= at && at - floor < longer_than,
            "wants what cannot be"
        );
        assert!(self.next <= at, "a position would match itself");
        // SAFETY: just checked.
        unsafe { self.insert_until(input, at) };
        // SAFETY: `at <= input.last`, which 12 bytes follow.
        let word = unsafe { input.word(at) };
        let distance = self.epoch.number(at).wrapping_sub(self.heads[hash(word)]) as usize;
        if distance > at.min(OFFSET_MAX) || floor + longer_than >= input.end {
            return None;
        }
        if swaps {
            // SAFETY: just checked.
            unsafe { self.search::<true>(input, wanted, distance, attempts) }
        } else {
            // SAFETY: just checked.
            unsafe { self.search::<false>(input, wanted, distance, attempts) }
        }
    }

    /// [`Chain::longest`] from the first candidate on, which lies this far back.
    ///
    /// # Safety
    /// `floor <= at <= input.last`, `at - floor < longer_than` and `floor + longer_than < input.end`.
    #[inline(always)]
    unsafe fn search<const SWAPS: bool>(
        &mut self,
        input: &Input<'_>,
        wanted: Wanted,
        mut distance: usize,
        attempts: u32,
    ) -> Option<Match> {
        let Wanted { at, floor, longer_than: mut longest } = wanted;
        let before = at - floor;
        let number = self.epoch.number(at);
        // SAFETY: `at <= input.last`, which 12 bytes follow.
        let word = unsafe { input.word(at) };
        let reach = at.min(OFFSET_MAX);
        // Candidates are taken from the chain of the word that lies that far after `at`.
        let mut shift = 0;
        let mut period = Period::default();
        let mut best = None;
        let mut budget = attempts * STEP_COST;
        // A longer match has two bytes, wherever it starts, that end at `floor + longest + 1`; the first of them lies this far
        // after `at`.
        let mut tail = longest - before - 1;
        // SAFETY: `at + tail + 2 = floor + longest + 1 <= input.end`.
        let mut here = unsafe { input.half(at + tail) };
        while distance <= reach {
            let from = at - distance;
            // SAFETY: `from <= at`, and at `at + tail` are two bytes.
            let there = unsafe { input.half(from + tail) };
            // SAFETY: `from <= at`, which 12 bytes follow.
            if here == there && word == unsafe { input.word(from) } {
                let ahead = MATCH_MIN + input.common(from + MATCH_MIN, at + MATCH_MIN, input.end);
                let behind = input.common_before(from, at, floor);
                if behind + ahead > longest {
                    longest = behind + ahead;
                    best = Some(Match { at: at - behind, from: from - behind, length: longest });
                    if floor + longest >= input.end {
                        return best;
                    }
                    tail = longest - before - 1;
                    // SAFETY: as above.
                    here = unsafe { input.half(at + tail) };
                    if SWAPS {
                        shift = self.rarest(number, distance, longest - before);
                    }
                }
            }
            let link = self.link(number, distance, shift);
            distance += if !SWAPS && link <= PERIOD_MAX {
                period.leap(input, at, from, link)
            } else {
                link
            };
            let in_run = SWAPS && link == 1;
            budget = budget.saturating_sub(if in_run { RUN_STEP_COST } else { STEP_COST });
            if budget == 0 {
                self.ended_early += 1;
                break;
            }
        }
        best
    }

    /// How many searches since the beginning have used up their attempts.
    pub(super) fn ended_early(&self) -> usize {
        self.ended_early
    }

    /// The word of a match, by its place, whose chain has the longest link after the candidate: a longer match has that
    /// word, too, so that everything between can be left out.
    fn rarest(&self, number: u32, distance: usize, common: usize) -> usize {
        // Only words in front of the position are in the chains.
        let words = common.min(distance).min(SWAP_BYTES_MAX).saturating_sub(MATCH_MIN);
        let mut rarest = (0, 0);
        for shift in 0..=words {
            let link = self.link(number, distance, shift);
            if link > rarest.0 {
                rarest = (link, shift);
            }
        }
        rarest.1
    }

    /// From the word `shift` bytes after a candidate to the same before it.
    #[inline(always)]
    fn link(&self, number: u32, distance: usize, shift: usize) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "within the window")]
        let word = number.wrapping_sub(distance as u32).wrapping_add(shift as u32);
        usize::from(self.links[slot(word)])
    }
}

/// How a place repeats itself.
#[derive(Clone, Copy, Default)]
struct Period {
    at: usize,
    /// The period.
    bytes: usize,
    /// Bytes from the place on that repeat with it.
    length: usize,
}

impl Period {
    fn of(input: &Input<'_>, at: usize, bytes: usize) -> Self {
        Self { at, bytes, length: bytes + input.common(at, at + bytes, input.end) }
    }

    /// [`Period::step`] of a link of a few bytes from a candidate of the place `at`. Out of line: it is rare, and would take
    /// registers from the search.
    #[inline(never)]
    fn leap(&mut self, input: &Input<'_>, at: usize, from: usize, link: usize) -> usize {
        if self.bytes != link {
            *self = Self::of(input, at, link);
        }
        self.step(input, from)
    }

    /// How far before a candidate the next one lies that is worth a look, when the link leads back by the period. In a stretch
    /// that repeats like the place itself, that is where as much is left of it as there, so that what follows both may be
    /// equal, and then its start: what lies between has nothing more to offer.
    #[inline]
    fn step(self, input: &Input<'_>, from: usize) -> usize {
        let Self { at, bytes, length } = self;
        if length < PERIODS_MIN * bytes || input.common(from, at, input.end) < bytes {
            return bytes;
        }
        let left = bytes + input.common(from, from + bytes, input.end);
        let before = input.period_before(from, bytes, at.saturating_sub(OFFSET_MAX));
        let aligned = length.saturating_sub(left).next_multiple_of(bytes);
        let whole = before - before % bytes;
        // At least one period: a link led there.
        if 0 < aligned && aligned < whole { aligned } else { whole.max(bytes) }
    }
}

/// How hard a chain is searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Candidates that are looked at.
    pub(super) attempts: u32,
    /// Go on in the chain of the rarest word of the best match. Finds more, and is slower where words are equally rare.
    pub(super) swaps: bool,
}

impl Effort {
    /// That of a level from 3 to 9: a quarter more looks than C LZ4HC takes at the same level, which makes up for where its
    /// order of looking is better.
    pub(super) fn of_level(level: u8) -> Self {
        let level = level.clamp(Level::HIGH_MIN, 9);
        Self { attempts: 5 << (level - Level::HIGH_MIN), swaps: false }
    }
}

/// A chain, searched by the optimal parse.
pub(super) struct Search {
    pub(super) chain: Chain,
    pub(super) effort: Effort,
}

impl Finder for Search {
    fn begin(&mut self, input: &Input<'_>) {
        self.chain.begin(input);
    }

    #[inline]
    fn find(&mut self, input: &Input<'_>, at: usize, longer_than: usize) -> Option<Match> {
        self.chain.longest(input, Wanted { at, floor: at, longer_than }, self.effort)
    }

    /// Positions are taken in when they are needed.
    fn pass(&mut self, _: &Input<'_>, _: Range<usize>, _: bool) {}
}
