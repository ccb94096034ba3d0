//! Tables that read codes: what the next bits stand for.
//!
//! An entry of a main code stands for one literal, for two whose codes fit into the table's bits together, or for a match with
//! the number of bits after it. The context of the second literal is known when the table is made, since the first is its
//! byte before.

use crate::bits::BitReader;
use crate::code::{CODE_BITS_MAX, Code};
use crate::symbol::{
    CLASSES, CONTEXTS, DISTANCE_SYMBOLS, DISTANCES, LENGTHS, MATCH_MIN, NEAR_MAX, REPEATS,
    after_literal, class_start,
};

/// Entries of a table of all codes.
const ENTRIES: usize = 1 << CODE_BITS_MAX;
/// Bits of the tables that are looked at first: small ones, which stay near the processor.
const QUICK_BITS: u32 = 9;
/// Entries of such a table.
const QUICK: usize = 1 << QUICK_BITS;

/// Bits of what an entry stands for in all stand lowest, so that they shift as they are; those of its first code stand here.
const FIRST_BITS: u32 = 6;
/// Place of the number of literals.
const COUNT: u32 = 10;
/// Place of the first literal, or of a class or symbol.
const FIRST: u32 = 12;
/// Place of the second literal.
const SECOND: u32 = 20;
/// Place of the context after the literals.
const CONTEXT: u32 = 28;
/// Symbol of an entry without a code.
const NONE: usize = u8::MAX as usize;
/// Symbol of an entry whose code is longer than the bits of its table.
const LONG: usize = NONE - 1;

/// What the next bits stand for.
#[derive(Clone, Copy)]
pub(crate) struct Entry(u32);

impl Entry {
    fn new(bits: u32, total: u32, symbol: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        Self(total | bits << FIRST_BITS | (symbol as u32) << FIRST)
    }

    fn literals(self, count: u32, context: usize) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "below 8")]
        Self(self.0 | count << COUNT | (context as u32) << CONTEXT)
    }

    /// Bits of the first code; 0 for no code.
    #[inline(always)]
    pub(crate) fn bits(self) -> u32 {
        self.0 >> FIRST_BITS & ((1 << (COUNT - FIRST_BITS)) - 1)
    }

    /// Bits of all, and more above them.
    #[inline(always)]
    pub(crate) fn shift(self) -> u32 {
        self.0
    }

    /// Bits of all.
    #[inline(always)]
    pub(crate) fn total(self) -> u32 {
        self.0 & ((1 << FIRST_BITS) - 1)
    }

    /// Literals: 0, 1 or 2.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        (self.0 >> COUNT & 3) as usize
    }

    /// The literals; the second is 0 where there is none.
    #[inline(always)]
    pub(crate) fn bytes(self) -> [u8; 2] {
        #[expect(clippy::cast_possible_truncation, reason = "the two bytes")]
        let bytes = (self.0 >> FIRST) as u16;
        bytes.to_le_bytes()
    }

    /// The class of a match, or the symbol of a distance; more than any for the escape and for no code.
    #[inline(always)]
    pub(crate) fn symbol(self) -> usize {
        (self.0 >> FIRST & 0xff) as usize
    }

    #[inline(always)]
    fn is_long(self) -> bool {
        #[expect(clippy::cast_possible_truncation, reason = "below 256")]
        let long = (LONG as u32) << FIRST;
        self.0 == long
    }

    /// The context after the literals.
    #[inline(always)]
    pub(crate) fn context(self) -> usize {
        (self.0 >> CONTEXT) as usize
    }
}

/// The tables of the main codes, one after another: of short codes, and of all.
#[derive(Debug)]
pub(crate) struct MainTable {
    quick: Box<[u32; CONTEXTS * QUICK]>,
    all: Vec<u32>,
}

impl MainTable {
    pub(crate) fn new(codes: &[Code]) -> Self {
        let single: Vec<Vec<Entry>> = codes.iter().map(|code| table(code, main)).collect();
        let paired = |(place, entry): (usize, &Entry)| {
            if entry.bits() > QUICK_BITS {
                return Entry::new(0, 0, LONG).0;
            }
            if entry.count() == 0 {
                return entry.0;
            }
            let next = single[entry.context()][place >> entry.bits()];
            if next.count() == 0 || entry.bits() + next.bits() > QUICK_BITS {
                return entry.0;
            }
            let both = Entry::new(entry.bits(), entry.bits() + next.bits(), entry.symbol());
            both.literals(2, next.context()).0 | u32::from(next.bytes()[0]) << SECOND
        };
        let short = |entries: &Vec<Entry>| {
            entries[..QUICK].iter().enumerate().map(paired).collect::<Vec<_>>()
        };
        let mut quick = Box::new([0; CONTEXTS * QUICK]);
        for (target, entries) in quick.chunks_exact_mut(QUICK).zip(&single) {
            target.copy_from_slice(&short(entries));
        }
        Self { quick, all: single.iter().flatten().map(|entry| entry.0).collect() }
    }

    #[inline(always)]
    pub(crate) fn read(&self, context: usize, reader: &BitReader<'_>) -> Entry {
        #[expect(clippy::cast_possible_truncation, reason = "masked")]
        let place = reader.peek() as usize;
        let quick = Entry(self.quick[(context % CONTEXTS) * QUICK + place % QUICK]);
        if quick.is_long() {
            return Entry(self.all[(context % CONTEXTS) * ENTRIES + place % ENTRIES]);
        }
        quick
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        (self.quick.len() + self.all.len()) * size_of::<u32>()
    }
}

fn main(symbol: usize, bits: u32) -> Entry {
    match u8::try_from(symbol) {
        Ok(literal) => Entry::new(bits, bits, symbol).literals(1, after_literal(literal)),
        Err(_) if symbol < LENGTHS + CLASSES => {
            Entry::new(bits, bits + class_start(symbol - LENGTHS).1, symbol - LENGTHS)
        }
        Err(_) => Entry::new(bits, bits, symbol - LENGTHS),
    }
}

/// The tables of the code of distances.
#[derive(Debug)]
pub(crate) struct DistanceTable {
    quick: Box<[u32; QUICK]>,
    all: Vec<u32>,
}

impl DistanceTable {
    pub(crate) fn new(code: &Code) -> Self {
        let entry = |symbol: usize, bits| {
            let class = symbol.checked_sub(DISTANCES).filter(|&class| class < CLASSES);
            Entry::new(bits, bits + class.map_or(0, |class| class_start(class).1), symbol)
        };
        let all: Vec<u32> = table(code, entry).into_iter().map(|entry| entry.0).collect();
        let long = Entry::new(0, 0, LONG).0;
        let short = |&entry: &u32| if Entry(entry).bits() > QUICK_BITS { long } else { entry };
        let mut quick = Box::new([0; QUICK]);
        quick.iter_mut().zip(&all).for_each(|(target, entry)| *target = short(entry));
        Self { quick, all }
    }

    #[inline(always)]
    pub(crate) fn read(&self, reader: &BitReader<'_>) -> Entry {
        #[expect(clippy::cast_possible_truncation, reason = "masked")]
        let place = reader.peek() as usize;
        let quick = Entry(self.quick[place % QUICK]);
        if quick.is_long() {
            return Entry(self.all[place % ENTRIES]);
        }
        quick
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        (self.quick.len() + self.all.len()) * size_of::<u32>()
    }
}

/// An entry for all that the next bits can be.
fn table(code: &Code, entry: impl Fn(usize, u32) -> Entry) -> Vec<Entry> {
    let mut table = vec![Entry::new(0, 0, NONE); ENTRIES];
    for (symbol, &bits) in code.lengths().iter().enumerate().filter(|(_, bits)| **bits > 0) {
        let bits = u32::from(bits);
        let entry = entry(symbol, bits);
        let places = (code.word(symbol) as usize..ENTRIES).step_by(1 << bits);
        places.for_each(|place| table[place] = entry);
    }
    table
}

/// Lengths of the matches of each class, to which the bits after it are added.
#[expect(clippy::cast_possible_truncation, reason = "3")]
pub(crate) const LENGTH_STARTS: [u32; CLASSES] = {
    let mut starts = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        starts[class] = class_start(class).0 + MATCH_MIN as u32;
        class += 1;
    }
    starts
};

/// What a distance is counted from: one of those used last, or nothing.
#[derive(Clone, Copy)]
pub(crate) struct From {
    /// Which of the last; [`REPEATS`] for none.
    pub(crate) recent: usize,
    /// What is added, which wraps, and the bits after the symbol.
    pub(crate) add: usize,
}

/// What the symbols of distances are counted from.
pub(crate) const FROM: [From; DISTANCE_SYMBOLS - 1] = {
    let mut from = [From { recent: 0, add: 0 }; DISTANCE_SYMBOLS - 1];
    let mut symbol = 0;
    while symbol < from.len() {
        from[symbol] = if symbol < REPEATS {
            From { recent: symbol, add: 0 }
        } else if symbol < REPEATS + NEAR_MAX {
            From { recent: 0, add: (symbol - REPEATS).wrapping_sub(NEAR_MAX) }
        } else if symbol < DISTANCES {
            From { recent: 0, add: symbol - REPEATS - NEAR_MAX + 1 }
        } else {
            From { recent: REPEATS, add: class_start(symbol - DISTANCES).0 as usize + 1 }
        };
        symbol += 1;
    }
    from
};

#[cfg(test)]
mod tests {
    use super::{DistanceTable, Entry, MainTable, NONE};
    use crate::bits::{BitReader, MARGIN};
    use crate::code::Code;
    use crate::symbol::{
        CONTEXTS, DISTANCE_RAW_BITS, DISTANCE_SYMBOLS, DISTANCES, LENGTHS, MAIN_RAW_BITS,
        MAIN_SYMBOLS, after_literal, class_start,
    };

    /// Symbol and bits of the code that a word begins with, by trying all.
    fn first(code: &Code, word: u64) -> Option<(usize, u32)> {
        let codes = code.lengths().iter().enumerate().filter(|(_, bits)| **bits > 0);
        codes
            .map(|(symbol, &bits)| (symbol, u32::from(bits)))
            .find(|&(symbol, bits)| word & ((1 << bits) - 1) == u64::from(code.word(symbol)))
    }

    /// Words of all kinds, each with the entry that is read from it.
    fn entries(read: impl Fn(&BitReader<'_>) -> Entry) -> Vec<(u64, Entry)> {
        let words = (0..20_000_u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (i % 64));
        let entry = |word: u64| {
            let bytes = [&word.to_le_bytes()[..], &[0; MARGIN]].concat();
            let mut reader = BitReader::new(&bytes);
            reader.refill().unwrap();
            (word, read(&reader))
        };
        words.map(entry).collect()
    }

    /// A few symbols are frequent, many are not, and some have no code.
    fn counts(symbols: usize, seed: usize) -> Vec<u32> {
        let count = |symbol: usize| match symbol % 32 {
            0 => 1 << 16,
            place if place == seed + 7 => 0,
            _ => 1 << (symbol * (seed + 3) % 11),
        };
        (0..symbols - 1).map(count).collect()
    }

    #[test]
    fn an_entry_says_what_the_codes_say() {
        let code = |seed| Code::from_counts(&counts(MAIN_SYMBOLS, seed), MAIN_RAW_BITS).unwrap();
        let codes: Vec<Code> = (0..CONTEXTS).map(code).collect();
        let table = MainTable::new(&codes);
        let mut seen = [0; 3];
        for context in 0..CONTEXTS {
            for (word, entry) in entries(|reader| table.read(context, reader)) {
                let (symbol, bits) = first(&codes[context], word).unwrap();
                seen[entry.count()] += 1;
                assert_eq!(entry.bits(), bits);
                let Ok(literal) = u8::try_from(symbol) else {
                    let extra = if symbol == MAIN_SYMBOLS - 1 {
                        0
                    } else {
                        class_start(symbol - LENGTHS).1
                    };
                    assert_eq!((entry.count(), entry.symbol()), (0, symbol - LENGTHS));
                    assert_eq!(entry.total(), bits + extra);
                    continue;
                };
                assert_eq!(entry.bytes()[0], literal);
                let mut expected = (bits, after_literal(literal));
                if entry.count() == 2 {
                    let (next, more) = first(&codes[expected.1], word >> bits).unwrap();
                    assert_eq!(usize::from(entry.bytes()[1]), next);
                    expected = (bits + more, after_literal(entry.bytes()[1]));
                }
                assert_eq!((entry.total(), entry.context()), expected);
                assert_eq!(entry.shift() & 63, entry.total());
            }
        }
        assert!(seen.iter().all(|&count| count > 1000), "{seen:?}");
    }

    #[test]
    fn distances_and_what_is_no_code() {
        let code = Code::from_counts(&counts(DISTANCE_SYMBOLS, 1), DISTANCE_RAW_BITS).unwrap();
        let table = DistanceTable::new(&code);
        for (word, entry) in entries(|reader| table.read(reader)) {
            let (symbol, bits) = first(&code, word).unwrap();
            let class = symbol.checked_sub(DISTANCES).filter(|_| symbol < DISTANCE_SYMBOLS - 1);
            let total = bits + class.map_or(0, |class| class_start(class).1);
            assert_eq!((entry.symbol(), entry.bits(), entry.total()), (symbol, bits, total));
        }
        let mut lengths = vec![0; DISTANCE_SYMBOLS];
        (lengths[3], lengths[DISTANCE_SYMBOLS - 1]) = (11, 2);
        let code = Code::from_lengths(lengths, DISTANCE_RAW_BITS).unwrap();
        let table = DistanceTable::new(&code);
        for (word, entry) in entries(|reader| table.read(reader)) {
            let (symbol, bits) = first(&code, word).unwrap_or((NONE, 0));
            assert_eq!((entry.symbol(), entry.bits()), (symbol, bits));
        }
    }
}
