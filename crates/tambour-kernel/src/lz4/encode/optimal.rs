//! Levels 10 to 12, and the parse for decoding speed: the cheapest way through a stretch of the source.
//!
//! A match costs three bytes whatever its offset, and now and then a byte for its length, so only the longest match at each
//! position matters, and every shorter length of it. A stretch begins at a match and goes on as long as matches reach
//! beyond what was reached before. For every position in it, the cheapest way there is kept, with the literals that are
//! pending at its end.
//!
//! Literals are offered only after what was reached and in front of a match: elsewhere a way by literals is never cheaper
//! than a shorter length of the match over them.

use super::matches::{Input, Match};
use super::writer::{Writer, extension_bytes};
use crate::lz4::{MATCH_MIN, NIBBLE_MAX};
use std::ops::Range;

/// Longest stretch.
pub(super) const STRETCH_BYTES: usize = 4096;
/// The longest of the shortest matches of all parses.
const MATCH_MIN_MAX: usize = 6;
/// The price of one byte of output. What sequences cost beyond their bytes is counted in parts of it.
const BYTE: u32 = 16;

/// What the parse is after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// A match of more bytes is taken whatever else there is.
    pub(super) nice_bytes: usize,
    /// Look for matches everywhere, also where they do not reach beyond what is reached.
    pub(super) thorough: bool,
    /// Price of a sequence beyond its bytes.
    pub(super) sequence_price: u32,
}

/// Where matches come from.
pub(super) trait Finder {
    /// Forgets everything, for a new input.
    fn begin(&mut self, input: &Input<'_>);
    /// The longest match at a position that is longer than this many bytes, 3 or more. Positions ascend.
    fn find(&mut self, input: &Input<'_>, at: usize, longer_than: usize) -> Option<Match>;
    /// The first match from a position on that is longer than this many bytes.
    fn seek(&mut self, input: &Input<'_>, at: usize, longer_than: usize) -> Option<Match> {
        (at..=input.last).find_map(|at| self.find(input, at, longer_than))
    }
    /// Passes over positions without a look for matches. In a `run`, what they have to offer repeats.
    fn pass(&mut self, input: &Input<'_>, positions: Range<usize>, run: bool);
}

/// The cheapest way to a position of the stretch.
#[derive(Clone, Copy, Default)]
struct Way {
    price: u32,
    /// Literals that are pending here, or the literals in front of the match that ends here.
    literals: u32,
    /// Length of the match that ends here, 0 for a literal.
    length: u32,
    offset: u32,
}

/// Memory of the parse.
pub(super) struct Stretch {
    /// One way for each position from the start of the stretch; those further beyond `reached` than literals are offered are
    /// not set.
    ways: Box<[Way]>,
    reached: usize,
    /// Matches of the cheapest way, last first.
    matches: Vec<Match>,
}

impl Stretch {
    pub(super) fn new() -> Self {
        let ways = vec![Way::default(); STRETCH_BYTES + MATCH_MIN_MAX].into_boxed_slice();
        Self { ways, reached: 0, matches: Vec::new() }
    }

    /// Writes all sequences but the last; returns where its literals start, or `None` when there is no room. `LEAST`: the
    /// shortest match, at most [`MATCH_MIN_MAX`].
    pub(super) fn parse<const LEAST: usize>(
        &mut self,
        input: &Input<'_>,
        writer: &mut Writer<'_>,
        finder: &mut impl Finder,
        aim: Aim,
    ) -> Option<usize> {
        finder.begin(input);
        finder.pass(input, 0..input.start, false);
        let mut anchor = input.start;
        let mut at = input.start;
        while let Some(first) = finder.seek(input, at, LEAST - 1) {
            self.matches.clear();
            at = self.cross::<LEAST>(input, finder, first, first.at - anchor, aim);
            while let Some(found) = self.matches.pop() {
                let literals = (anchor, found.at);
                writer.sequence(input.buffer, literals, found.offset(), found.length)?;
                anchor = found.end();
            }
        }
        Some(anchor)
    }

    /// Finds the cheapest way through the stretch that begins with a match, after this many literals; leaves its matches
    /// and returns its end.
    fn cross<const LEAST: usize>(
        &mut self,
        input: &Input<'_>,
        finder: &mut impl Finder,
        first: Match,
        literals: usize,
        aim: Aim,
    ) -> usize {
        let start = first.at;
        #[expect(clippy::cast_possible_truncation, reason = "sources are below 2 GiB")]
        let literals = literals as u32;
        self.ways[0] = Way { literals, ..Way::default() };
        self.reached = 0;
        let (mut at, mut found) = (0, Some(first));
        loop {
            if let Some(found) = found {
                if found.length > aim.nice_bytes || at + found.length >= STRETCH_BYTES {
                    self.matches.push(found);
                    self.trace(start, at);
                    let passed = found.at + 1..found.end().min(input.last + 1);
                    finder.pass(input, passed, found.offset() < aim.nice_bytes);
                    return found.end();
                }
                self.offer_literals::<LEAST>(at, at == 0);
                self.offer_match::<LEAST>(at, found, aim);
                self.offer_literals::<LEAST>(self.reached, true);
            }
            at += 1;
            while at < self.reached && start + at <= input.last && !self.is_worth_a_look(at, aim) {
                finder.pass(input, start + at..start + at + 1, false);
                at += 1;
            }
            if at >= self.reached || start + at > input.last {
                self.trace(start, self.reached);
                return start + self.reached;
            }
            let longer_than = if aim.thorough { 0 } else { self.reached - at };
            found = finder.find(input, start + at, longer_than.max(LEAST - 1));
        }
    }

    /// Whether a match may begin here: not where the next position is no dearer to reach.
    #[inline(always)]
    fn is_worth_a_look(&self, at: usize, aim: Aim) -> bool {
        let price = self.ways[at].price;
        // The price may rise steeply after a position that costs the same.
        self.ways[at + 1].price > price
            || aim.thorough && self.ways[at + MATCH_MIN].price >= price + 3 * BYTE
    }

    /// The ways by fewer literals than the shortest match has bytes; if `new`, there are none to compare them with.
    #[inline(always)]
    fn offer_literals<const LEAST: usize>(&mut self, at: usize, new: bool) {
        let Way { mut price, literals, length, .. } = self.ways[at];
        let mut literals = if length == 0 { literals } else { 0 };
        for way in &mut self.ways[at + 1..at + LEAST] {
            literals += 1;
            price += BYTE + BYTE * u32::from(starts_extension(literals));
            if new || price < way.price {
                *way = Way { price, literals, length: 0, offset: 0 };
            }
        }
    }

    /// The ways by a match and everything that is shorter.
    #[inline(always)]
    fn offer_match<const LEAST: usize>(&mut self, at: usize, found: Match, aim: Aim) {
        let Way { price, literals, length, .. } = self.ways[at];
        let literals = if length == 0 { literals } else { 0 };
        // The way to where the literals begin may have become cheaper since they were offered.
        let before = match at.checked_sub(literals as usize) {
            Some(begin @ 1..) => self.ways[begin].price + literals_price(literals),
            _ => price,
        };
        let known = if self.reached == 0 { 0 } else { self.reached + LEAST - 1 };
        #[expect(clippy::cast_possible_truncation, reason = "within the window")]
        let offset = found.offset() as u32;
        let mut price = before + aim.sequence_price + 3 * BYTE;
        let (mut length, mut extended) = (LEAST, MATCH_MIN + NIBBLE_MAX);
        let known = (known + 1).saturating_sub(at + LEAST);
        let (olds, news) = self.ways[at + LEAST..=at + found.length]
            .split_at_mut(known.min(found.length + 1 - LEAST));
        let mut next = || {
            if length == extended {
                price += BYTE;
                extended += 255;
            }
            #[expect(clippy::cast_possible_truncation, reason = "at most a stretch")]
            let way = Way { price, literals, length: length as u32, offset };
            length += 1;
            way
        };
        let mut taken = true;
        for old in olds {
            let new = next();
            taken = new.price <= old.price;
            if taken {
                *old = new;
            }
        }
        for way in &mut *news {
            *way = next();
        }
        if taken || !news.is_empty() {
            self.reached = self.reached.max(at + found.length);
        }
    }

    /// Collects the matches of the cheapest way to a position.
    fn trace(&mut self, start: usize, mut at: usize) {
        while at > 0 {
            let way = self.ways[at];
            let length = way.length as usize;
            if length == 0 {
                at -= 1;
            } else {
                at -= length;
                let from = start + at - way.offset as usize;
                self.matches.push(Match { at: start + at, from, length });
            }
        }
    }
}

/// What literals in a stretch cost.
#[inline(always)]
fn literals_price(literals: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "fewer than the literals")]
    let extensions = extension_bytes(literals as usize) as u32;
    BYTE * (literals + extensions)
}

/// Whether the last of this many literals takes another byte of length.
#[inline(always)]
fn starts_extension(literals: u32) -> bool {
    let literals = literals as usize;
    literals >= NIBBLE_MAX && (literals - NIBBLE_MAX).is_multiple_of(255)
}
