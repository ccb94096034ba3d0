//! Short tests of all levels, small enough for Miri; the laws in `tambour-check` are the long ones.
#![expect(clippy::cast_possible_truncation, reason = "bytes are what is wanted")]

use super::matches::Epoch;
use super::{Encoder, Level, SOURCE_BYTES_MAX, bound};
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

/// Calls see neither each other nor how often the numbers ran out.
#[test]
fn an_encoder_can_be_reused() {
    for level in LEVELS {
        let mut encoder = Encoder::new(level);
        for source in sources(700).iter().chain(&sources(90)) {
            let block = encoded(&mut Encoder::new(level), source);
            assert_eq!(encoded(&mut encoder, source), block, "{level:?}");
        }
    }
}

#[test]
fn levels_out_of_range_are_the_nearest() {
    let [_, _, words, _] = sources(3000);
    for (level, nearest) in [(0, 3), (1, 3), (13, 12), (255, 12)] {
        let nearest = encoded(&mut Encoder::new(Level::High(nearest)), &words);
        assert_eq!(encoded(&mut Encoder::new(Level::High(level)), &words), nearest);
    }
}

/// Numbers of one input are farther from those of another than any offset, also when they run out.
#[test]
fn numbers_never_meet() {
    let mut epoch = Epoch::new();
    let (mut last, mut cleared) = (0, 0);
    for _ in 0..6 {
        let mut clear = false;
        epoch.begin(SOURCE_BYTES_MAX + 65_535, || clear = true);
        if clear {
            (last, cleared) = (0, cleared + 1);
        }
        assert!(epoch.number(0) - last > 65_535);
        last = epoch.number(SOURCE_BYTES_MAX + 65_535);
    }
    assert_eq!(cleared, 2);
}

#[test]
fn matches_reach_into_a_dictionary() {
    let [_, _, words, _] = sources(300);
    for level in LEVELS {
        let mut target = vec![0; bound(words.len())];
        let mut encoder = Encoder::new(level);
        let size = encoder.encode_with_dictionary(&words, &words, &mut target).unwrap();
        assert!(size < 40, "{level:?}: {size}");
        assert_eq!(encoder.encode_with_dictionary(&words, b"", &mut target), Some(1));
    }
}
