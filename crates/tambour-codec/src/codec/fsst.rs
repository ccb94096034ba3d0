//! `FSST`, method 0xe3, ours: bytes as codes for up to 255 strings of one to eight bytes that are frequent in the block. A text
//! is decoded without what stands before it, at the speed of a copy; zstd makes texts smaller.

use super::{Codec, Family, Inside, Payload, Scope, no_arguments};
use crate::CodecError;
use std::collections::HashMap;

pub(super) const FAMILY: Family = Family {
    name: "FSST",
    method: 0xe3,
    scope: Scope::Values,
    expansion_max: SYMBOL_BYTES as u64,
    build: |arguments, _| {
        no_arguments("FSST", arguments)?;
        Ok(Box::new(Fsst))
    },
    explain,
};

/// The code in front of a byte that stands for itself.
const ESCAPE: u8 = 255;
/// Most symbols: every other code.
const SYMBOLS_MAX: usize = 255;
/// Longest symbol.
const SYMBOL_BYTES: usize = 8;
/// The table is made of pieces of this many bytes, ...
const PIECE_BYTES: usize = 512;
/// ... this many of them, spread over the block, ...
const PIECES: usize = 64;
/// ... in this many rounds: each joins symbols of the one before.
const ROUNDS: usize = 5;

#[derive(Debug)]
struct Fsst;

/// One to eight bytes, as a little-endian word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Symbol {
    word: u64,
    length: u8,
}

impl Symbol {
    fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * u32::from(self.length))
    }

    /// The bytes of one after those of another, if that is no longer than a symbol.
    fn joined(self, next: Self) -> Option<Self> {
        let length = self.length + next.length;
        let word = self.word | next.word.checked_shl(8 * u32::from(self.length)).unwrap_or(0);
        (usize::from(length) <= SYMBOL_BYTES).then_some(Self { word, length })
    }
}

/// Symbols, found by their first byte, the longest first.
#[derive(Debug)]
struct Table {
    /// By their codes.
    symbols: Vec<Symbol>,
    /// Codes, sorted for the search, and for each first byte where its symbols start.
    order: Vec<u8>,
    starts: [usize; 257],
}

impl Table {
    #[expect(clippy::cast_possible_truncation, reason = "at most 255 symbols")]
    fn new(symbols: Vec<Symbol>) -> Self {
        let mut order: Vec<u8> = (0..symbols.len()).map(|code| code as u8).collect();
        let key = |code: &u8| {
            let symbol = symbols[usize::from(*code)];
            (symbol.word & 0xff, std::cmp::Reverse(symbol.length), *code)
        };
        order.sort_unstable_by_key(key);
        let mut starts = [0; 257];
        for (byte, start) in (0..).zip(&mut starts) {
            *start = order.partition_point(|code| key(code).0 < byte);
        }
        Self { symbols, order, starts }
    }

    /// The longest symbol at the start of `window`, of which this many bytes are there.
    fn longest(&self, window: u64, available: usize) -> Option<(u8, Symbol)> {
        let first = usize::from(window.to_le_bytes()[0]);
        let codes = &self.order[self.starts[first]..self.starts[first + 1]];
        codes.iter().map(|&code| (code, self.symbols[usize::from(code)])).find(|(_, symbol)| {
            usize::from(symbol.length) <= available && window & symbol.mask() == symbol.word
        })
    }

    /// The symbols that save most of the bytes of some pieces.
    fn trained(source: &[u8]) -> Self {
        let step = (source.len() / PIECES).max(PIECE_BYTES);
        let mut table = Self::new(Vec::new());
        for _ in 0..ROUNDS {
            let mut counts: HashMap<Symbol, u64> = HashMap::new();
            for start in (0..source.len()).step_by(step) {
                let piece = &source[start..source.len().min(start + PIECE_BYTES)];
                table.count(piece, &mut counts);
            }
            let mut gains: Vec<(u64, Symbol)> = counts
                .into_iter()
                .filter(|(_, count)| *count > 1)
                .map(|(symbol, count)| (count * u64::from(symbol.length), symbol))
                .collect();
            // The symbol decides among equals, so that the same block is always the same payload.
            gains.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            gains.truncate(SYMBOLS_MAX);
            table = Self::new(gains.into_iter().map(|(_, symbol)| symbol).collect());
        }
        table
    }

    /// Counts the symbols of a piece, their first bytes, and neighbours as one.
    fn count(&self, piece: &[u8], counts: &mut HashMap<Symbol, u64>) {
        let (mut at, mut before) = (0, None::<Symbol>);
        while at < piece.len() {
            let window = window(piece, at);
            let single = Symbol { word: window & 0xff, length: 1 };
            let found = self.longest(window, piece.len() - at).map_or(single, |(_, found)| found);
            *counts.entry(found).or_default() += 1;
            if found.length > 1 {
                *counts.entry(single).or_default() += 1;
            }
            if let Some(both) = before.and_then(|before| before.joined(found)) {
                *counts.entry(both).or_default() += 1;
            }
            before = Some(found);
            at += usize::from(found.length);
        }
    }
}

/// Eight bytes from a place, zeros past the end.
fn window(source: &[u8], at: usize) -> u64 {
    let rest = &source[at..];
    if let Some(eight) = rest.first_chunk::<8>() {
        return u64::from_le_bytes(*eight);
    }
    let mut eight = [0; 8];
    eight[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(eight)
}

fn malformed(at: usize, reason: &'static str) -> CodecError {
    CodecError::Payload { codec: "FSST", at, reason }
}

fn explain(payload: &Payload<'_>, inside: &mut Inside) -> Result<(), CodecError> {
    let values = inside.values();
    let (&count, rest) = payload.bytes.split_first().ok_or(malformed(0, "no table"))?;
    let count = usize::from(count);
    let lengths = rest.get(..count).ok_or(malformed(1, "the table ends early"))?;
    let symbols: usize = lengths.iter().map(|length| usize::from(*length)).sum();
    values.width = 1;
    values.count = payload.content_bytes;
    values.say("symbols", count);
    let codes = rest.get(count + symbols..).ok_or(malformed(1 + count, "the table ends early"))?;
    values.header_bytes = payload.bytes.len() - codes.len();
    values.value_bytes = codes.len();
    Ok(())
}

impl Codec for Fsst {
    #[expect(clippy::cast_possible_truncation, reason = "at most 255 symbols")]
    fn encode(&mut self, source: &[u8], target: &mut Vec<u8>) -> Result<(), CodecError> {
        let table = Table::trained(source);
        target.push(table.symbols.len() as u8);
        target.extend(table.symbols.iter().map(|symbol| symbol.length));
        for symbol in &table.symbols {
            target.extend_from_slice(&symbol.word.to_le_bytes()[..usize::from(symbol.length)]);
        }
        let mut at = 0;
        while at < source.len() {
            let window = window(source, at);
            if let Some((code, symbol)) = table.longest(window, source.len() - at) {
                target.push(code);
                at += usize::from(symbol.length);
            } else {
                target.extend_from_slice(&[ESCAPE, source[at]]);
                at += 1;
            }
        }
        Ok(())
    }

    fn decode(&mut self, source: &[u8], target: &mut [u8]) -> Result<(), CodecError> {
        let (&count, rest) = source.split_first().ok_or(malformed(0, "no table"))?;
        let count = usize::from(count);
        let (lengths, mut rest) =
            rest.split_at_checked(count).ok_or(malformed(1, "the table ends early"))?;
        let mut words = [0_u64; 256];
        let mut sizes = [0_usize; 256];
        for (code, &length) in lengths.iter().enumerate() {
            let length = usize::from(length);
            if !(1..=SYMBOL_BYTES).contains(&length) {
                return Err(malformed(1 + code, "a symbol that does not have one to eight bytes"));
            }
            let at = source.len() - rest.len();
            let (bytes, behind) =
                rest.split_at_checked(length).ok_or(malformed(at, "the table ends early"))?;
            (words[code], sizes[code], rest) = (window(bytes, 0), length, behind);
        }
        let (mut from, mut to) = (0, 0);
        let start = source.len() - rest.len();
        while let Some(&code) = rest.get(from) {
            let (word, size) = if code == ESCAPE {
                from += 1;
                let byte = rest.get(from).ok_or(malformed(start + from, "an escape of nothing"))?;
                (u64::from(*byte), 1)
            } else {
                (words[usize::from(code)], sizes[usize::from(code)])
            };
            if size == 0 {
                return Err(malformed(start + from, "no such symbol"));
            }
            from += 1;
            let place = target.get_mut(to..).unwrap_or_default();
            if let Some(eight) = place.first_chunk_mut::<8>() {
                *eight = word.to_le_bytes();
            } else if let Some(place) = place.get_mut(..size) {
                place.copy_from_slice(&word.to_le_bytes()[..size]);
            } else {
                return Err(malformed(start + from - 1, "more bytes than the block's"));
            }
            to += size;
        }
        if to == target.len() {
            Ok(())
        } else {
            Err(malformed(source.len(), "fewer bytes than the block's"))
        }
    }
}
