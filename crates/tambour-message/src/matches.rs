//! Finds what a message repeats: of the dictionary, of the pinned message, of itself.
//!
//! All three lie in one buffer, one after another. The dictionary's positions are indexed once, for all threads; those
//! of pin and message are indexed anew for each message, which is cheaper than keeping them per connection.
//!
//! The codes of a dictionary are constant, so the price of a match in bits is known, and so is that of the literals that it
//! replaces. The parse takes the match that saves most, unless one byte later a match saves more.

use crate::model::Model;
use crate::symbol::{Classed, LENGTHS, MATCH_MIN, Recent, classed};

/// Bytes of a hash of pin and message.
const SHORT: u32 = 4;
/// Bytes of a hash of the dictionary: what is shorter costs as much as its literals.
const LONG: u32 = 6;
/// Logarithms of the number of hashes in the dictionary's index.
const INDEX_BITS: std::ops::RangeInclusive<u32> = 8..=13;
/// Logarithms of the number of hashes for pin and message.
const LOCAL_BITS: std::ops::RangeInclusive<u32> = 8..=14;
/// Of a pin, every this many positions are indexed; matches are extended backwards.
const PIN_STEP: usize = 4;
/// Bits that a literal is taken to cost.
const LITERAL_BITS: i32 = 5;
/// Bits that a match must save more than, for the work that it is to its reader; messages get no longer for it.
const GAIN_BITS_MIN: i32 = 8;
/// This many literals (a logarithm) make the step one byte longer.
const STEP_LOG: usize = 1;
/// What must follow a message in the buffer: positions up to its end are read as whole words.
pub(crate) const PADDING: [u8; 8] = [0; 8];

/// Where the dictionary last has which bytes: positions, counted from 1.
#[derive(Debug)]
pub(crate) struct Index {
    places: Vec<u16>,
    bits: u32,
}

impl Index {
    /// Indexes a dictionary of less than 64 KiB.
    pub(crate) fn new(content: &[u8]) -> Self {
        let bits = content
            .len()
            .max(1)
            .ilog2()
            .saturating_sub(1)
            .clamp(*INDEX_BITS.start(), *INDEX_BITS.end());
        let mut places = vec![0; 1 << bits];
        for (at, bytes) in content.array_windows::<8>().enumerate() {
            #[expect(clippy::cast_possible_truncation, reason = "below 64 KiB")]
            let number = at as u16 + 1;
            places[hash(u64::from_le_bytes(*bytes), LONG, bits)] = number;
        }
        Self { places, bits }
    }

    /// Bytes that the index takes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.places.len() * size_of::<u16>()
    }

    /// Where the dictionary may have what a word begins with.
    #[inline(always)]
    fn find(&self, word: u64) -> Option<usize> {
        usize::from(self.places[hash(word, LONG, self.bits)]).checked_sub(1)
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
    #[expect(clippy::cast_possible_truncation, reason = "this many bits fit")]
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

/// How many bytes before `from` and `at` are equal, `most` at most.
#[inline(always)]
fn common_before(buffer: &[u8], from: usize, at: usize, most: usize) -> usize {
    let most = most.min(from);
    let mut length = 0;
    if from >= 8 {
        let different = word(buffer, at - 8) ^ word(buffer, from - 8);
        length = (different.leading_zeros() / 8) as usize;
        if length < 8 || most <= 8 {
            return length.min(most);
        }
    }
    while length < most && buffer[at - length - 1] == buffer[from - length - 1] {
        length += 1;
    }
    length
}

/// Literals, and the match after them; the last step of a message has no match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) literals: usize,
    pub(crate) length: usize,
    pub(crate) distance: Classed,
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
struct Found {
    at: usize,
    length: usize,
    distance: usize,
    /// Symbol of the distance.
    symbol: Classed,
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
    /// Number after the last.
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
            let here = word(buffer, at);
            let before = self.exchange(&source, at, here);
            let Some(found) = source.first(&recent, (anchor, at), here, before) else {
                at += 1 + ((at - anchor) >> STEP_LOG);
                continue;
            };
            let Found { at: from, length, distance, symbol } = found;
            recent.push(symbol.class, distance);
            self.steps.push(Step { literals: from - anchor, length, distance: symbol });
            at = from + length;
            anchor = at;
        }
        let distance = Classed { class: 0, bits: 0, count: 0 };
        self.steps.push(Step { literals: end - anchor, length: 0, distance });
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
        let mut at = dictionary_bytes;
        while at < source.layout.start() {
            self.exchange(source, at, word(source.buffer, at));
            at += PIN_STEP;
        }
        self.steps.clear();
    }

    /// Remembers a position of pin or message; the one before with the same hash, if there is one.
    #[inline(always)]
    fn exchange(&mut self, source: &Source<'_>, at: usize, here: u64) -> Option<usize> {
        #[expect(clippy::cast_possible_truncation, reason = "messages are below 2^25 bytes")]
        let number = self.base + (at - source.layout.dictionary_bytes) as u32;
        let slot = &mut self.local[hash(here, SHORT, self.local_bits)];
        let before = std::mem::replace(slot, number).checked_sub(self.base)?;
        Some(before as usize + source.layout.dictionary_bytes)
    }
}

/// Whether the first bytes of two words are the same.
#[inline(always)]
fn starts_equal(one: u64, other: u64, bytes: u32) -> bool {
    (one ^ other) << (64 - 8 * bytes) == 0
}

impl Source<'_> {
    /// The first match that saves enough, from the cheapest place to the dearest: at the newest distance, in pin and message,
    /// in the dictionary. It may begin before `at`, but not before `anchor`.
    #[inline(always)]
    fn first(
        &self,
        recent: &Recent,
        (anchor, at): (usize, usize),
        here: u64,
        before: Option<usize>,
    ) -> Option<Found> {
        let &Self { buffer, index, .. } = self;
        let same = |from: usize| starts_equal(word(buffer, from), here, SHORT);
        let newest = at.checked_sub(recent.0[0]).filter(|from| same(*from));
        let local = || before.filter(|from| same(*from));
        if let Some(from) = newest.or_else(local)
            && let Some(found) = self.offer(recent, (anchor, at), from)
        {
            return Some(found);
        }
        let from = index.find(here).filter(|from| starts_equal(word(buffer, *from), here, LONG))?;
        self.offer(recent, (anchor, at), from)
    }

    /// The match of `at` with `from`, extended both ways, if it saves enough.
    #[inline(always)]
    fn offer(&self, recent: &Recent, (anchor, at): (usize, usize), from: usize) -> Option<Found> {
        let buffer = self.buffer;
        let mut length = common(buffer, from, at, self.end);
        if length < MATCH_MIN {
            return None;
        }
        let back = common_before(buffer, from, at, at - anchor);
        length += back;
        let (at, distance) = (at - back, at - from);
        #[expect(clippy::cast_possible_truncation, reason = "messages are below 2^25 bytes")]
        let class = classed((length - MATCH_MIN) as u32).class;
        let symbol = recent.symbol(distance);
        let cost = self.model.length_costs[class] + self.model.distance_costs[symbol.class];
        #[expect(clippy::cast_possible_truncation, reason = "messages are below 2^25 bytes")]
        let gain = length as i32 * LITERAL_BITS - i32::from(cost);
        (gain > GAIN_BITS_MIN).then_some(Found { at, length, distance, symbol })
    }
}

/// The symbol of a match length in the main alphabet, and the bits after it.
pub(crate) fn length_symbol(length: usize) -> crate::symbol::Classed {
    #[expect(clippy::cast_possible_truncation, reason = "messages are below 2^25 bytes")]
    let found = classed((length - MATCH_MIN) as u32);
    crate::symbol::Classed { class: LENGTHS + found.class, ..found }
}
