//! Encoding a block whose matches may reach into what lies in front of it.
//!
//! A plain greedy parse in safe code, for linked blocks and dictionaries; blocks without a past go to the kernel.

use super::WINDOW_BYTES;

/// Shortest match.
const MATCH_MIN: usize = 4;
/// So many bytes at the end of a block are always literals.
const LAST_LITERALS: usize = 5;
/// The last match starts at least so many bytes before the end.
const LAST_MATCH_DISTANCE: usize = 12;
/// Farthest offset.
const OFFSET_MAX: usize = WINDOW_BYTES - 1;
const HASH_BITS: u32 = 14;
/// So many fruitless probes, a power of two, make the step one byte longer.
const STEP_LOG: u32 = 6;

/// Where each hash was last seen, plus one; 0 for nowhere.
pub(super) struct Positions(Vec<u32>);

impl Positions {
    pub(super) fn new() -> Self {
        Self(vec![0; 1 << HASH_BITS])
    }
}

/// Appends one block to `target` that holds `buffer[start..]`, with matches that may reach back to the start of the buffer.
/// The buffer must be shorter than 4 GiB.
pub(super) fn encode_behind(
    buffer: &[u8],
    start: usize,
    positions: &mut Positions,
    acceleration: u32,
    target: &mut Vec<u8>,
) {
    let mut anchor = start;
    if buffer.len() - start > LAST_MATCH_DISTANCE {
        let last = buffer.len() - LAST_MATCH_DISTANCE;
        let cells = &mut positions.0;
        cells.fill(0);
        for at in (0..start).step_by(2) {
            put(cells, buffer, at);
        }
        let mut at = start;
        let mut probes = acceleration << STEP_LOG;
        while at <= last {
            let from = put(cells, buffer, at);
            let found = from.filter(|from| at - from <= OFFSET_MAX && equal(buffer, *from, at));
            let Some(from) = found else {
                at += (probes >> STEP_LOG) as usize;
                probes += 1;
                continue;
            };
            let (from, begin) = back(buffer, from, at, anchor);
            let length = common(buffer, from, begin);
            sequence(target, &buffer[anchor..begin], begin - from, length);
            anchor = begin + length;
            if anchor - 2 <= last {
                put(cells, buffer, anchor - 2);
            }
            at = anchor;
            probes = acceleration << STEP_LOG;
        }
    }
    last_literals(target, &buffer[anchor..]);
}

fn word(buffer: &[u8], at: usize) -> u32 {
    buffer[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn equal(buffer: &[u8], a: usize, b: usize) -> bool {
    word(buffer, a) == word(buffer, b)
}

/// Remembers a position; returns the one before it with the same hash.
fn put(cells: &mut [u32], buffer: &[u8], at: usize) -> Option<usize> {
    let hash = word(buffer, at).wrapping_mul(2_654_435_761) >> (32 - HASH_BITS);
    let cell = cells.get_mut(hash as usize)?;
    let position = u32::try_from(at + 1).unwrap_or(0);
    let before = std::mem::replace(cell, position);
    // With a step of two, positions may come back in another order: only earlier ones are of use.
    before.checked_sub(1).map(|before| before as usize).filter(|before| *before < at)
}

/// Moves the start of a match back over equal bytes.
fn back(buffer: &[u8], mut from: usize, mut at: usize, anchor: usize) -> (usize, usize) {
    while from > 0 && at > anchor && buffer[from - 1] == buffer[at - 1] {
        from -= 1;
        at -= 1;
    }
    (from, at)
}

/// Length of a match, up to the last literals.
fn common(buffer: &[u8], from: usize, at: usize) -> usize {
    let later = &buffer[at..buffer.len() - LAST_LITERALS];
    let earlier = &buffer[from..];
    let words = later.chunks_exact(8).zip(earlier.chunks_exact(8));
    let whole = 8 * words.take_while(|(a, b)| a == b).count();
    let rest = later[whole..].iter().zip(&earlier[whole..]);
    whole + rest.take_while(|(a, b)| a == b).count()
}

fn half(length: usize) -> u8 {
    u8::try_from(length.min(15)).unwrap_or(15)
}

/// The bytes that extend a length from half a token.
fn extend(target: &mut Vec<u8>, length: usize) {
    if let Some(rest) = length.checked_sub(15) {
        target.extend(std::iter::repeat_n(255, rest / 255));
        target.push(u8::try_from(rest % 255).unwrap_or(0));
    }
}

fn sequence(target: &mut Vec<u8>, literals: &[u8], offset: usize, length: usize) {
    let length = length - MATCH_MIN;
    target.push(half(literals.len()) << 4 | half(length));
    extend(target, literals.len());
    target.extend_from_slice(literals);
    target.extend_from_slice(&u16::try_from(offset).unwrap_or(0).to_le_bytes());
    extend(target, length);
}

fn last_literals(target: &mut Vec<u8>, literals: &[u8]) {
    target.push(half(literals.len()) << 4);
    extend(target, literals.len());
    target.extend_from_slice(literals);
}

#[cfg(test)]
mod tests {
    use super::super::behind::decode_behind;
    use super::{Positions, encode_behind};

    #[test]
    fn what_is_in_the_past_is_not_written_again() {
        let noise: Vec<u8> = (0..5000_u32).map(|k| (k * k * 31 / 7).to_le_bytes()[0]).collect();
        let buffer = [&noise[..], &noise, b"the end of it"].concat();
        let mut positions = Positions::new();
        for start in [0, 1, 3, 4999, 5000, 5001, buffer.len() - 13, buffer.len()] {
            let mut block = Vec::new();
            encode_behind(&buffer, start, &mut positions, 1, &mut block);
            let mut decoded = buffer.clone();
            decoded[start..].fill(0);
            let got = decode_behind(&block, &mut decoded, start);
            assert_eq!(got, Ok(buffer.len() - start));
            assert_eq!(decoded, buffer);
            assert!(start != 5000 || block.len() < 60, "{}", block.len());
        }
    }

    #[test]
    fn offsets_end_at_the_window() {
        let mut positions = Positions::new();
        for distance in 65_530..65_545 {
            let mut buffer = b"a piece that comes twice".to_vec();
            buffer.resize(distance, 0);
            buffer.extend(b"a piece that comes twice, and an end");
            let mut block = Vec::new();
            encode_behind(&buffer, 100, &mut positions, 1, &mut block);
            let mut decoded = buffer.clone();
            decoded[100..].fill(1);
            assert_eq!(decode_behind(&block, &mut decoded, 100), Ok(buffer.len() - 100));
            assert_eq!(decoded, buffer);
        }
    }
}
