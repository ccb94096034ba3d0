//! Finds what a message repeats: of the dictionary, of the pinned message, of itself.
//!
//! All three lie in one buffer, one behind the other. The dictionary's positions are indexed once, for all threads; those
//! of pin and message are indexed anew for each message, which is cheaper than keeping them per connection.
//!
//! The codes of a dictionary are constant, so the price of a match in bits is known, and so is that of the literals that it
//! replaces. The parse takes the match that saves most, unless one byte later a match saves more.

use crate::model::Model;
use crate::symbol::{LENGTHS, MATCH_MIN, Recent, classed};

/// Bytes of a short hash: of pin and message, and of the dictionary where nothing longer is found.
const SHORT: u32 = 4;
/// Bytes of a long hash.
const LONG: u32 = 8;
/// Logarithm of the number of hashes in each table of the dictionary's index.
const INDEX_BITS: u32 = 14;
/// A match of so many bytes is taken without a look for a better one.
const NICE_BYTES: usize = 6;
/// Logarithms of the number of hashes for pin and message.
const LOCAL_BITS: std::ops::RangeInclusive<u32> = 8..=14;
/// Of a pin, every so many positions are indexed; matches are extended backwards.
const PIN_STEP: usize = 2;
/// Bits that a literal is taken to cost.
const LITERAL_BITS: i32 = 5;
/// So many literals (a logarithm) make the step one byte longer.
const STEP_LOG: usize = 3;
/// What must follow a message in the buffer: positions up to its end are read as whole words.
pub(crate) const PADDING: [u8; 8] = [0; 8];

/// Where the dictionary last has which bytes: positions, counted from 1.
#[derive(Debug)]
pub(crate) struct Index {
    short: Vec<u16>,
    long: Vec<u16>,
}

impl Index {
    /// Indexes a dictionary of less than 64 KiB.
    pub(crate) fn new(content: &[u8]) -> Self {
        let mut index = Self { short: vec![0; 1 << INDEX_BITS], long: vec![0; 1 << INDEX_BITS] };
        for (at, bytes) in content.array_windows::<8>().enumerate() {
            let word = u64::from_le_bytes(*bytes);
            #[expect(clippy::cast_possible_truncation, reason = "below 64 KiB")]
            let number = at as u16 + 1;
            index.short[hash(word, SHORT, INDEX_BITS)] = number;
            index.long[hash(word, LONG, INDEX_BITS)] = number;
        }
        index
    }

    /// Bytes that the index takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        (self.short.len() + self.long.len()) * size_of::<u16>()
    }
}

#[inline(always)]
fn word(buffer: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&buffer[at..at + 8]);
    u64::from_le_bytes(bytes)
}

/// Hash of the first bytes of a word.
#[inline(always)]
fn hash(word: u64, bytes: u32, bits: u32) -> usize {
    let word = word << (64 - 8 * bytes);
    #[expect(clippy::cast_possible_truncation, reason = "so many bits fit")]
    let slot = (word.wrapping_mul(0x9fb2_1c65_1e98_df25) >> (64 - bits)) as usize;
    slot
}

/// How many bytes at `from` and `at` are equal, `at` before `end`.
#[inline(always)]
fn common(buffer: &[u8], from: usize, at: usize, end: usize) -> usize {
    let here = &buffer[at..end];
    let there = &buffer[from..from + here.len()];
    let mut length = 0;
    let (words, _) = here.as_chunks::<8>();
    let (before, _) = there.as_chunks::<8>();
    for (word, before) in words.iter().zip(before) {
        let different = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*before);
        if different != 0 {
            return length + (different.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    while length < here.len() && here[length] == there[length] {
        length += 1;
    }
    length
}

/// Literals, and the match behind them; the last step of a message has no match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) literals: usize,
    pub(crate) length: usize,
    pub(crate) distance: usize,
}

/// Where things are in the buffer: the dictionary at its start, then the pin, then the message up to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) dictionary_bytes: usize,
    pub(crate) pin_bytes: usize,
}

impl Layout {
    /// Where the message starts.
    pub(crate) fn start(self) -> usize {
        self.dictionary_bytes + self.pin_bytes
    }
}

/// A match that may be taken.
#[derive(Clone, Copy)]
struct Found {
    at: usize,
    length: usize,
    distance: usize,
    /// Bits that it saves.
    gain: i32,
}

/// The parse, with its memory.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// Latest position of each hash in pin and message, as a number that grows from message to message: what is below
    /// `base` is of an earlier one, and needs no clearing.
    local: Vec<u32>,
    local_bits: u32,
    /// Number of the first byte of pin or message.
    base: u32,
    /// Number behind the last.
    next_base: u32,
    /// What the message consists of.
    pub(crate) steps: Vec<Step>,
}

/// What the parse looks at.
struct Source<'a> {
    /// Dictionary, pin, message, padding.
    buffer: &'a [u8],
    layout: Layout,
    end: usize,
    index: &'a Index,
    model: &'a Model,
}

impl Parser {
    /// Bytes that the parse has taken.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.local.capacity() * size_of::<u32>() + self.steps.capacity() * size_of::<Step>()
    }

    /// Fills [`Parser::steps`] with the message that lies between dictionary and pin and [`PADDING`] in the buffer.
    pub(crate) fn parse(&mut self, buffer: &[u8], layout: Layout, index: &Index, model: &Model) {
        let end = buffer.len() - PADDING.len();
        let source = Source { buffer, layout, end, index, model };
        self.begin(&source);
        let start = layout.start();
        let mut recent = Recent::new(layout.pin_bytes);
        let (mut at, mut anchor) = (start, start);
        while at < end {
            let found = self.best(&source, recent, anchor, at);
            self.insert(&source, at);
            let Some(mut found) = found else {
                at += 1 + ((at - anchor) >> STEP_LOG);
                continue;
            };
            if found.length < NICE_BYTES && at + 1 < end {
                let later = self.best(&source, recent, anchor, at + 1);
                if let Some(later) = later.filter(|later| later.gain > found.gain) {
                    self.insert(&source, at + 1);
                    found = later;
                }
            }
            let Found { at: from, length, distance, .. } = found;
            let symbol = recent.symbol(distance).class;
            recent.push(symbol, distance);
            self.steps.push(Step { literals: from - anchor, length, distance });
            at = from + length;
            anchor = at;
        }
        self.steps.push(Step { literals: end - anchor, length: 0, distance: 0 });
    }

    /// Forgets the last message, and indexes the pin.
    fn begin(&mut self, source: &Source<'_>) {
        let Layout { dictionary_bytes, .. } = source.layout;
        #[expect(clippy::cast_possible_truncation, reason = "messages are below 2^25 bytes")]
        let length = (source.end - dictionary_bytes) as u32;
        self.local_bits = (length.max(1).ilog2() + 1).clamp(*LOCAL_BITS.start(), *LOCAL_BITS.end());
        let next = self.next_base.checked_add(length).filter(|_| !self.local.is_empty());
        if let Some(next) = next {
            (self.base, self.next_base) = (self.next_base, next);
        } else {
            self.local.clear();
            self.local.resize(1 << LOCAL_BITS.end(), 0);
            (self.base, self.next_base) = (1, 1 + length);
        }
        for at in (dictionary_bytes..source.layout.start()).step_by(PIN_STEP) {
            self.insert(source, at);
        }
        self.steps.clear();
    }

    /// Remembers a position of pin or message.
    #[inline(always)]
    fn insert(&mut self, source: &Source<'_>, at: usize) {
        #[expect(clippy::cast_possible_truncation, reason = "messages are below 2^25 bytes")]
        let number = self.base + (at - source.layout.dictionary_bytes) as u32;
        self.local[hash(word(source.buffer, at), SHORT, self.local_bits)] = number;
    }

    /// The match that saves most, if one saves anything. It may begin before `at`, but not before `anchor`.
    #[inline(always)]
    fn best(&self, source: &Source<'_>, recent: Recent, anchor: usize, at: usize) -> Option<Found> {
        let &Source { buffer, end, index, .. } = source;
        let here = word(buffer, at);
        let mut best = None;
        // Nothing is cheaper than the same distance again.
        let newest = recent.0[0];
        if newest <= at && starts_equal(word(buffer, at - newest), here, SHORT) {
            source.offer(recent, (anchor, at), at - newest, &mut best);
            if best.is_some_and(|best| best.length >= NICE_BYTES) {
                return best;
            }
        }
        let local = self.local[hash(here, SHORT, self.local_bits)];
        if let Some(from) = local.checked_sub(self.base) {
            let from = from as usize + source.layout.dictionary_bytes;
            if from < at && starts_equal(word(buffer, from), here, SHORT) {
                source.offer(recent, (anchor, at), from, &mut best);
            }
        }
        if at + LONG as usize <= end {
            let long = usize::from(index.long[hash(here, LONG, INDEX_BITS)]);
            if let Some(from) = long.checked_sub(1)
                && word(buffer, from) == here
            {
                source.offer(recent, (anchor, at), from, &mut best);
                return best;
            }
        }
        if best.is_none() {
            let short = usize::from(index.short[hash(here, SHORT, INDEX_BITS)]);
            if let Some(from) = short.checked_sub(1)
                && starts_equal(word(buffer, from), here, SHORT)
            {
                source.offer(recent, (anchor, at), from, &mut best);
            }
        }
        best
    }
}

/// Whether the first bytes of two words are the same.
#[inline(always)]
fn starts_equal(one: u64, other: u64, bytes: u32) -> bool {
    (one ^ other) << (64 - 8 * bytes) == 0
}

impl Source<'_> {
    /// Considers the match of `at` with `from`, extended both ways.
    #[inline(always)]
    fn offer(
        &self,
        recent: Recent,
        (anchor, at): (usize, usize),
        from: usize,
        best: &mut Option<Found>,
    ) {
        let buffer = self.buffer;
        let mut length = common(buffer, from, at, self.end);
        if length < MATCH_MIN {
            return;
        }
        let (mut at, mut from) = (at, from);
        while at > anchor && from > 0 && buffer[at - 1] == buffer[from - 1] {
            (at, from, length) = (at - 1, from - 1, length + 1);
        }
        let distance = at - from;
        #[expect(clippy::cast_possible_truncation, reason = "messages are below 2^25 bytes")]
        let class = classed((length - MATCH_MIN) as u32).class;
        let symbol = recent.symbol(distance).class;
        let cost = self.model.length_costs[class] + self.model.distance_costs[symbol];
        #[expect(clippy::cast_possible_truncation, reason = "messages are below 2^25 bytes")]
        let gain = length as i32 * LITERAL_BITS - i32::from(cost);
        if gain > best.map_or(0, |best| best.gain) {
            *best = Some(Found { at, length, distance, gain });
        }
    }
}

/// The symbol of a match length in the main alphabet, and the bits behind it.
pub(crate) fn length_symbol(length: usize) -> crate::symbol::Classed {
    #[expect(clippy::cast_possible_truncation, reason = "messages are below 2^25 bytes")]
    let found = classed((length - MATCH_MIN) as u32);
    crate::symbol::Classed { class: LENGTHS + found.class, ..found }
}
