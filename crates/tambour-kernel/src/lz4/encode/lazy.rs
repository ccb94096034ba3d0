//! Levels 3 to 9: a match is taken only after a look for a longer one that overlaps its end.
//!
//! After a first match, matches are looked for that begin inside the one before and are longer than it: a *ladder*. When
//! there is no further rung, the cheapest way over the ladder is taken: which rungs, and how the overlaps are cut.

use super::chain::{Chain, Effort, Wanted};
use super::matches::{Input, Match};
use super::writer::{Writer, extension_bytes};
use crate::lz4::MATCH_MIN;

/// Rungs of a ladder. More are rare, as each is longer than the one before.
const RUNGS_MAX: usize = 16;
/// A second rung covers this many of the last bytes of the first; later ones cover one more, which finds more on text.
const PROBE_BYTES: usize = 2;
/// The longest match without extension bytes.
const SHORT_MAX: usize = MATCH_MIN + 14;
/// The cost of a rung that nothing can follow; far from an overflow.
const NO_WAY: usize = usize::MAX / 2;

/// Overlapping matches; starts and ends ascend, each is longer than the one before.
#[derive(Default)]
struct Ladder {
    rungs: [Match; RUNGS_MAX],
    count: usize,
    /// Cheapest cost in bytes from the start of each rung to the end of the ladder when the rung is taken.
    costs: [usize; RUNGS_MAX],
    /// The rung that is taken next then; itself for the last.
    successors: [usize; RUNGS_MAX],
}

/// Writes all sequences but the last; returns where its literals start, or `None` when there is no room.
pub(super) fn parse(
    input: &Input<'_>,
    writer: &mut Writer<'_>,
    chain: &mut Chain,
    effort: Effort,
) -> Option<usize> {
    chain.begin(input);
    parse_on(input, writer, chain, effort)
}

/// [`parse`] with chains that have begun.
pub(super) fn parse_on(
    input: &Input<'_>,
    writer: &mut Writer<'_>,
    chain: &mut Chain,
    effort: Effort,
) -> Option<usize> {
    let mut ladder = Ladder::default();
    let (mut anchor, mut at) = (input.start, input.start);
    while at <= input.last {
        let wanted = Wanted { at, floor: at, longer_than: MATCH_MIN - 1 };
        let Some(first) = chain.longest(input, wanted, effort) else {
            at += 1;
            continue;
        };
        ladder.climb(input, chain, first, effort);
        anchor = ladder.write(input, writer, anchor)?;
        at = anchor;
    }
    Some(anchor)
}

impl Ladder {
    /// Collects the rungs after a first match.
    fn climb(&mut self, input: &Input<'_>, chain: &mut Chain, first: Match, effort: Effort) {
        self.rungs[0] = first;
        self.count = 1;
        // What the newest rung adds begins here: what lies before is covered by the one before it.
        let mut floor = first.at;
        while self.count < RUNGS_MAX {
            let rung = self.rungs[self.count - 1];
            let at = rung.end() - PROBE_BYTES - usize::from(self.count > 1);
            if at > input.last {
                break;
            }
            let wanted = Wanted { at, floor, longer_than: rung.end() - floor };
            let Some(next) = chain.longest(input, wanted, effort) else { break };
            if next.at >= floor + MATCH_MIN - 1 {
                let covered = rung.end().min(floor + SHORT_MAX).min(next.end() - MATCH_MIN);
                floor = next.at.max(covered);
            } else {
                floor = next.at;
            }
            self.rungs[self.count] = next;
            self.count += 1;
        }
    }

    /// Finds the cheapest way, from the last rung to the first; returns the rung at which it begins.
    fn choose(&mut self) -> usize {
        let last = self.count - 1;
        self.successors[last] = last;
        self.costs[last] = sequence_bytes(self.rungs[last].length);
        for k in (0..last).rev() {
            let rung = self.rungs[k];
            self.costs[k] = NO_WAY;
            for next in k + 1..self.count {
                let end = self.rungs[next].at;
                if end < rung.at + MATCH_MIN {
                    continue;
                }
                let cut = rung.end().min(end);
                let cost = sequence_bytes(cut - rung.at) + (end - cut) + self.costs[next];
                if cost < self.costs[k] {
                    (self.costs[k], self.successors[k]) = (cost, next);
                }
            }
        }
        let literals = |k: usize| self.rungs[k].at - self.rungs[0].at;
        let total = |k: &usize| self.costs[*k] + literals(*k);
        (0..self.count).min_by_key(total).unwrap_or(last)
    }

    /// Writes the cheapest way; returns its end.
    fn write(
        &mut self,
        input: &Input<'_>,
        writer: &mut Writer<'_>,
        mut anchor: usize,
    ) -> Option<usize> {
        let mut k = self.choose();
        loop {
            let next = self.successors[k];
            let rung = self.rungs[k];
            let mut end = rung.end();
            if next != k {
                end = self.cut(input, k, next);
            }
            writer.sequence(&input.buffer[anchor..rung.at], rung.offset(), end - rung.at)?;
            anchor = end;
            if next == k {
                return Some(anchor);
            }
            k = next;
        }
    }

    /// Cuts the overlap of a rung with its successor: the rung keeps what costs it no further byte, as long as the
    /// successor stays a match, also when its own successor follows. Returns the end of the rung.
    fn cut(&mut self, input: &Input<'_>, k: usize, next: usize) -> usize {
        let rung = self.rungs[k];
        let after = self.successors[next];
        let successor_end =
            if after == next { self.rungs[next].end() } else { self.rungs[after].at };
        let successor = &mut self.rungs[next];
        let successor_end = successor_end.min(successor.end());
        let free = (rung.at + SHORT_MAX).min(successor_end - MATCH_MIN).min(input.last);
        let end = rung.end().min(free.max(successor.at));
        let moved = end.saturating_sub(successor.at);
        successor.at += moved;
        successor.from += moved;
        successor.length -= moved;
        end
    }
}

/// Bytes of a sequence with a match of this length, without its literals.
fn sequence_bytes(length: usize) -> usize {
    3 + extension_bytes(length - MATCH_MIN)
}
