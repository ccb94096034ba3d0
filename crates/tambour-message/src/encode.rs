//! Turns the steps of a message into symbols: to write them, or to count them.

use crate::bits::BitWriter;
use crate::code::{write, write_with};
use crate::matches::{Layout, Step, length_symbol};
use crate::model::{Counts, Model};
use crate::symbol::{AfterMatch, Classed, MAIN_SYMBOLS, after_literal};

/// Takes the symbols of a message.
pub(crate) trait Sink {
    /// A symbol of the main alphabet in a context, and the bits after it.
    fn main(&mut self, context: usize, symbol: Classed);
    /// A literal in a context.
    fn literal(&mut self, context: usize, literal: u8) {
        self.main(context, Classed { class: usize::from(literal), bits: 0, count: 0 });
    }
    /// A symbol of a distance.
    fn distance(&mut self, symbol: Classed);
}

/// Writes.
pub(crate) struct Writing<'a> {
    pub(crate) model: &'a Model,
    pub(crate) writer: BitWriter<'a>,
}

impl Sink for Writing<'_> {
    #[inline(always)]
    fn main(&mut self, context: usize, symbol: Classed) {
        let word = self.model.main_words[context * MAIN_SYMBOLS + symbol.class];
        write_with(&mut self.writer, word, symbol.bits, symbol.count);
    }

    #[inline(always)]
    fn literal(&mut self, context: usize, literal: u8) {
        let place = context * MAIN_SYMBOLS + usize::from(literal);
        write(&mut self.writer, self.model.main_words[place]);
    }

    #[inline(always)]
    fn distance(&mut self, symbol: Classed) {
        let word = self.model.distance.words()[symbol.class];
        write_with(&mut self.writer, word, symbol.bits, symbol.count);
    }
}

impl Sink for Counts {
    fn main(&mut self, context: usize, symbol: Classed) {
        self.main[context][symbol.class] += 1;
    }

    fn distance(&mut self, symbol: Classed) {
        self.distances[symbol.class] += 1;
    }
}

/// Sends the symbols of a message, the last part of the buffer, to a sink.
pub(crate) fn walk(
    buffer: &[u8],
    (layout, after_match): (Layout, AfterMatch),
    steps: &[Step],
    sink: &mut impl Sink,
) {
    let mut at = layout.start();
    let mut context = at.checked_sub(1).map_or(0, |at| after_match.context(buffer[at]));
    for step in steps {
        for &byte in &buffer[at..at + step.literals] {
            sink.literal(context, byte);
            context = after_literal(byte);
        }
        at += step.literals;
        if step.length > 0 {
            sink.main(context, length_symbol(step.length));
            sink.distance(step.distance);
            at += step.length;
            context = after_match.context(buffer[at - 1]);
        }
    }
}
