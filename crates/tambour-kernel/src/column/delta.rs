//! Differences of neighbours: the first value, then each value minus the one before it.

use super::{Width, Word, by_width};

/// Writes the differences of `source` to `target`; both have the same length, a multiple of the width.
pub fn encode(width: Width, source: &[u8], target: &mut [u8]) {
    assert!(source.len() == target.len() && source.len().is_multiple_of(width.bytes()));
    by_width!(width, encode_words(source, target));
}

fn encode_words<W: Word>(source: &[u8], target: &mut [u8]) {
    let mut previous = W::default();
    for (source, target) in source.chunks_exact(W::BYTES).zip(target.chunks_exact_mut(W::BYTES)) {
        let value = W::read(source);
        value.sub(previous).write(target);
        previous = value;
    }
}

/// Writes the values whose differences `source` has to `target`; both have the same length, a multiple of the width.
pub fn decode(width: Width, source: &[u8], target: &mut [u8]) {
    assert!(source.len() == target.len() && source.len().is_multiple_of(width.bytes()));
    by_width!(width, decode_words(source, target));
}

fn decode_words<W: Word>(source: &[u8], target: &mut [u8]) {
    let mut value = W::default();
    for (source, target) in source.chunks_exact(W::BYTES).zip(target.chunks_exact_mut(W::BYTES)) {
        value = value.add(W::read(source));
        value.write(target);
    }
}
