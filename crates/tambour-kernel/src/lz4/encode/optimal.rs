//! Levels 10 to 12, and the parse for decoding speed: the cheapest way through a stretch of the source.
//!
//! A match costs three bytes whatever its offset, and now and then a byte for its length, so only the longest match at each
//! position matters, and every shorter length of it. A stretch begins at a match and goes on as long as matches reach
//! beyond what was reached before. For every position in it, the cheapest way there is kept, with the literals that are
//! pending at its end.

use super::matches::{Input, Match};
use super::writer::{Writer, extension_bytes};
use crate::lz4::{MATCH_MIN, NIBBLE_MAX};
use std::ops::Range;

/// Longest stretch.
pub(super) const STRETCH_BYTES: usize = 4096;
/// The price of one byte of output. Sequences cost a little beyond their bytes, so that of ways of equal size the one with
/// fewer sequences is taken, which decodes faster.
const BYTE: u32 = 16;

/// What the parse is after.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// A match of this many bytes is taken whatever else there is.
    pub(super) nice_bytes: usize,
    /// Look for matches everywhere, also where they do not reach beyond what is reached.
    pub(super) thorough: bool,
    /// Shortest match.
    pub(super) match_min: usize,
    /// Price of a sequence beyond its bytes.
    pub(super) sequence_price: u32,
}

/// Where matches come from.
pub(super) trait Finder {
    /// Forgets everything, for a new input.
    fn begin(&mut self, input: &Input<'_>);
    /// The longest match at a position that is longer than this many bytes, 3 or more. Positions ascend.
    fn find(&mut self, input: &Input<'_>, at: usize, longer_than: usize) -> Option<Match>;
    /// Passes over positions without a look for matches. In a `run`, what they have to offer repeats.
    fn pass(&mut self, input: &Input<'_>, positions: Range<usize>, run: bool);
}

/// The cheapest way to a position of the stretch.
#[derive(Clone, Copy, Default)]
struct Way {
    price: u32,
    /// Literals that are pending here.
    literals: u32,
    /// Length of the match that ends here, 0 for a literal.
    length: u32,
    /// Where the match comes from.
    from: u32,
}

/// Memory of the parse.
pub(super) struct Stretch {
    /// One way for each position from the start of the stretch; those beyond `reached` are not set.
    ways: Box<[Way]>,
    reached: usize,
    /// Matches of the cheapest way, last first.
    matches: Vec<Match>,
}

impl Stretch {
    pub(super) fn new() -> Self {
        let ways = vec![Way::default(); STRETCH_BYTES + 1].into_boxed_slice();
        Self { ways, reached: 0, matches: Vec::new() }
    }

    /// Writes all sequences but the last; returns where its literals start, or `None` when there is no room.
    pub(super) fn parse(
        &mut self,
        input: &Input<'_>,
        writer: &mut Writer<'_>,
        finder: &mut impl Finder,
        aim: Aim,
    ) -> Option<usize> {
        finder.begin(input);
        finder.pass(input, 0..input.start, false);
        let (mut anchor, mut at) = (input.start, input.start);
        while at <= input.last {
            let Some(first) = finder.find(input, at, aim.match_min - 1) else {
                at += 1;
                continue;
            };
            self.matches.clear();
            at = self.cross(input, finder, first, at - anchor, aim);
            while let Some(found) = self.matches.pop() {
                let literals = &input.buffer[anchor..found.at];
                writer.sequence(literals, found.offset(), found.length)?;
                anchor = found.end();
            }
        }
        Some(anchor)
    }

    /// Finds the cheapest way through the stretch that begins with a match, after this many literals; leaves its matches
    /// and returns its end.
    fn cross(
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
                if found.length >= aim.nice_bytes || at + found.length > STRETCH_BYTES {
                    self.matches.push(found);
                    self.trace(start, at);
                    let passed = found.at + 1..found.end().min(input.last + 1);
                    finder.pass(input, passed, found.offset() < aim.nice_bytes);
                    return found.end();
                }
                self.offer_match(at, found, aim);
            }
            self.offer_literal(at);
            at += 1;
            if at == self.reached || start + at > input.last {
                self.trace(start, self.reached);
                return start + self.reached;
            }
            let worth = self.is_worth_a_look(at, aim);
            let longer_than = if aim.thorough { 0 } else { self.reached - at };
            let longer_than = longer_than.max(aim.match_min - 1);
            found = None;
            if worth {
                found = finder.find(input, start + at, longer_than);
            } else {
                finder.pass(input, start + at..start + at + 1, false);
            }
        }
    }

    /// Whether a match may begin here: not where the next position is no dearer to reach.
    #[inline(always)]
    fn is_worth_a_look(&self, at: usize, aim: Aim) -> bool {
        let price = self.ways[at].price;
        if self.ways[at + 1].price > price {
            return true;
        }
        let beyond = at + MATCH_MIN;
        aim.thorough && (beyond > self.reached || self.ways[beyond].price >= price + 3 * BYTE)
    }

    /// The way to the next position by a literal.
    #[inline(always)]
    fn offer_literal(&mut self, at: usize) {
        let way = self.ways[at];
        let literals = way.literals + 1;
        let price = way.price + BYTE + BYTE * u32::from(starts_extension(literals));
        let next = &mut self.ways[at + 1];
        if price < next.price {
            *next = Way { price, literals, length: 0, from: 0 };
        }
    }

    /// The ways by a match and everything that is shorter.
    #[inline(always)]
    fn offer_match(&mut self, at: usize, found: Match, aim: Aim) {
        let end = at + found.length;
        while self.reached < end {
            self.reached += 1;
            self.ways[self.reached].price = u32::MAX;
        }
        let before = self.ways[at].price + 3 * BYTE + aim.sequence_price;
        #[expect(clippy::cast_possible_truncation, reason = "sources are below 2 GiB")]
        let from = found.from as u32;
        for length in aim.match_min..=found.length {
            #[expect(clippy::cast_possible_truncation, reason = "at most a stretch")]
            let price = before + BYTE * extension_bytes(length - MATCH_MIN) as u32;
            let way = &mut self.ways[at + length];
            if price <= way.price {
                #[expect(clippy::cast_possible_truncation, reason = "at most a stretch")]
                let length = length as u32;
                *way = Way { price, literals: 0, length, from };
            }
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
                self.matches.push(Match { at: start + at, from: way.from as usize, length });
            }
        }
    }
}

/// Whether the last of this many literals takes another byte of length.
fn starts_extension(literals: u32) -> bool {
    let literals = literals as usize;
    literals >= NIBBLE_MAX && (literals - NIBBLE_MAX).is_multiple_of(255)
}
