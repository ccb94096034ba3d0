//! Levels 3 to 9: a match is taken only after a look for a longer one that overlaps its end.
//!
//! Up to three matches that overlap are in view. Each is longer than the one before, and was looked for at its end. As soon as it
//! is known what follows a match, it is written, cut to where its successor begins.

use super::matches::{Input, Match};
use super::search::{Search, Wanted};
use super::writer::Writer;
use crate::lz4::MATCH_MIN;

/// A second match covers this many of the last bytes of the first.
const SECOND_BYTES: usize = 2;
/// A third one covers one more of the second.
const THIRD_BYTES: usize = 3;
/// The longest match without extension bytes.
const SHORT_MAX: usize = MATCH_MIN + 14;
/// A match that begins so close after another takes its place.
const APART_MIN: usize = 3;

/// A block in the making.
struct Lazy<'a, 'b> {
    input: &'a Input<'a>,
    writer: &'a mut Writer<'b>,
    search: &'a mut Search,
    /// Where the literals begin that are not yet written.
    anchor: usize,
}

/// Writes all sequences but the last; returns where its literals start, or `None` when there is no room.
///
/// The chains have begun.
pub(super) fn parse(
    input: &Input<'_>,
    writer: &mut Writer<'_>,
    search: &mut Search,
) -> Option<usize> {
    let mut lazy = Lazy { input, writer, search, anchor: input.start };
    let mut at = input.start;
    while at <= input.last {
        let Some(first) = lazy.search.best(input, at) else {
            at += 1;
            continue;
        };
        lazy.settle(first)?;
        at = lazy.anchor;
    }
    Some(lazy.anchor)
}

impl Lazy<'_, '_> {
    /// Writes a match, or what is better, and all that overlaps.
    #[inline(always)]
    fn settle(&mut self, mut first: Match) -> Option<()> {
        // What was the first match before a second one took its place.
        let mut original = first;
        loop {
            let Some(second) = self.after(first, SECOND_BYTES) else {
                return self.write(first);
            };
            // There may be room for it, after all.
            if original.at < first.at && second.at < first.at + original.length {
                first = original;
            }
            if second.at < first.at + APART_MIN {
                first = second;
                continue;
            }
            (first, original) = self.settle_two(first, second)?;
            if first.length == 0 {
                return Some(());
            }
        }
    }

    /// Goes on with two matches that overlap or meet. Writes until none is left, or until a first one is left that needs
    /// another look, which it returns, with what may yet take its place; its length is 0 if none is left.
    #[inline(always)]
    fn settle_two(&mut self, mut first: Match, mut second: Match) -> Option<(Match, Match)> {
        loop {
            if second.at < first.at + SHORT_MAX {
                let end = first.end().min(cut(first, second));
                second.start_at(end.max(second.at));
            }
            let Some(third) = self.after(second, THIRD_BYTES) else {
                first.end_at(second.at);
                self.write(first)?;
                self.write(second)?;
                return Some(Default::default());
            };
            if third.at < first.end() + APART_MIN {
                // There is no room for the second.
                if third.at < first.end() {
                    second = third;
                    continue;
                }
                if second.at < first.end() {
                    if second.end() < first.end() + MATCH_MIN {
                        second = third;
                    } else {
                        second.start_at(first.end());
                    }
                }
                self.write(first)?;
                return Some((third, second));
            }
            if second.at < first.end() {
                if second.at < first.at + SHORT_MAX {
                    let end = first.end().min(cut(first, second));
                    first.length = end - first.at;
                    second.start_at(end.max(second.at));
                } else {
                    first.end_at(second.at);
                }
            }
            self.write(first)?;
            (first, second) = (second, third);
        }
    }

    /// A longer match that covers the last bytes of another, and starts where that one does or later.
    #[inline(always)]
    fn after(&mut self, one: Match, covered: usize) -> Option<Match> {
        let at = one.end() - covered;
        if one.end() > self.input.last {
            return None;
        }
        self.search.wider(self.input, Wanted { at, floor: one.at, longer_than: one.length })
    }

    #[inline(always)]
    fn write(&mut self, found: Match) -> Option<()> {
        let literals = (self.anchor, found.at);
        self.writer.sequence(self.input.buffer, literals, found.offset(), found.length)?;
        self.anchor = found.end();
        Some(())
    }
}

/// Where to cut between two matches that begin close to each other: the first keeps what costs it no further byte, as long
/// as the second stays a match.
#[inline(always)]
fn cut(first: Match, second: Match) -> usize {
    (first.at + SHORT_MAX).min(second.end() - MATCH_MIN)
}
