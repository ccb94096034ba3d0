//! Short tests of all levels, small enough for Miri; the laws in `tambour-check` are the long ones.
#![expect(clippy::cast_possible_truncation, reason = "bytes are what is wanted")]

use super::{Encoder, Level, bound};
use crate::lz4::decode;

const LEVELS: [Level; 6] = [
    Level::Fast { acceleration: 1 },
    Level::High(3),
    Level::High(9),
    Level::High(10),
    Level::High(12),
    Level::DecodeSpeed,
];

fn encoded(encoder: &mut Encoder, source: &[u8]) -> Vec<u8> {
    let mut target = vec![0xaa; bound(source.len())];
    let size = encoder.encode(source, &mut target).unwrap();
    target.truncate(size);
    target
}

/// Bytes of several kinds: a run, a ramp, words, no repetition.
fn sources(length: usize) -> [Vec<u8>; 4] {
    let words = [&b"drum "[..], b"base ", b"shaft ", b"capital "];
    [
        vec![9; length],
        (0_u32..).flat_map(|k| (k / 3).to_le_bytes()).take(length).collect(),
        (0_usize..).flat_map(|k| words[k * k % 7 % 4]).copied().take(length).collect(),
        (0..length).map(|k| (k * k + k / 3 + k / 256) as u8).collect(),
    ]
}

#[test]
fn every_level_round_trips() {
    let lengths = if cfg!(miri) { &[0, 1, 12, 13, 14, 40, 700][..] } else { &[0, 13, 14, 70_000] };
    for level in LEVELS {
        let mut encoder = Encoder::new(level);
        for source in lengths.iter().flat_map(|&length| sources(length)) {
            let block = encoded(&mut encoder, &source);
            let mut target = vec![0; source.len()];
            assert_eq!(decode(&block, &mut target), Ok(()), "{level:?} {}", source.len());
            assert!(target == source, "{level:?} {}", source.len());
        }
    }
}
