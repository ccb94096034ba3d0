//! Short tests of all variants, small enough for Miri; the laws in `tambour-check` are the long ones.
#![expect(clippy::cast_possible_truncation, reason = "bytes are what is wanted")]

use super::{Block, DECODE_VARIANTS, Malformed, Table, bound, decode_with_dictionary, encode};

/// What every variant makes of a block; they agree, also on what is written.
fn decode(block: &[u8], length: usize) -> Result<Vec<u8>, Malformed> {
    let attempts: Vec<_> = DECODE_VARIANTS
        .available()
        .map(|variant| {
            let mut target = vec![0xaa; length];
            variant.decode(block, &mut target).map(|()| target)
        })
        .collect();
    assert!(attempts.iter().all(|attempt| *attempt == attempts[0]));
    attempts[0].clone()
}

fn encoded(source: &[u8]) -> Vec<u8> {
    let mut target = vec![0; bound(source.len())];
    let size = encode(source, &mut target, &mut Table::new(), 1).unwrap();
    target.truncate(size);
    target
}

/// Bytes without repetition.
fn distinct(length: usize) -> Vec<u8> {
    (0..length).map(|k| (k * k + k / 3 + k / 256) as u8).collect()
}

#[test]
fn every_fault_has_its_error() {
    use Malformed::{
        LiteralsPastSource, LiteralsPastTarget, MatchPastTarget, Offset, Short, Truncated,
    };
    for (block, length, expected) in [
        (&b""[..], 0, Truncated { at: 0 }),
        (b"\xf0", 20, Truncated { at: 1 }),
        (b"\xf0\xff", 2000, Truncated { at: 2 }),
        (b"\x30ab", 3, LiteralsPastSource { at: 1, length: 3 }),
        (b"\xf0\xff\x01ab", 300, LiteralsPastSource { at: 3, length: 271 }),
        (b"\x20ab", 1, LiteralsPastTarget { at: 1, length: 2 }),
        (b"\x20ab", 3, Short { written: 2, expected: 3 }),
        (b"\x20ab\x01", 9, Truncated { at: 4 }),
        (b"\x20ab\x00\x00\x10x", 7, Offset { at: 3, offset: 0, written: 2 }),
        (b"\x20ab\x03\x00\x10x", 7, Offset { at: 3, offset: 3, written: 2 }),
        (b"\x20ab\x02\x00", 6, Truncated { at: 5 }),
        (b"\x2fab\x02\x00", 60, Truncated { at: 5 }),
        (b"\x20ab\x02\x00\x10x", 5, MatchPastTarget { at: 3, length: 4 }),
        (b"\x2fab\x02\x00\xff\x03\x10x", 99, MatchPastTarget { at: 3, length: 277 }),
        (b"\x20ab\x02\x00\x10x", 8, Short { written: 7, expected: 8 }),
    ] {
        assert_eq!(decode(block, length), Err(expected), "{block:x?}");
    }
}

#[test]
fn the_smallest_blocks_decode() {
    assert_eq!(decode(b"\0", 0), Ok(vec![]));
    assert_eq!(decode(b"\x20ab\x02\x00\x10x", 7), Ok(b"abababx".to_vec()));
}

#[test]
fn blocks_of_a_batch_do_not_disturb_each_other() {
    let source: Vec<u8> = (0..3000).map(|k| (k / 9 % 50) as u8).collect();
    let (block, mut targets) = (encoded(&source), [(); 4].map(|()| vec![0; source.len()]));
    for variant in DECODE_VARIANTS.available() {
        let [a, b, c, d] = &mut targets;
        let cut = &block[..block.len() - 1];
        let sources = [&block[..], cut, b"", &block];
        let pairs = sources.into_iter().zip([a, b, c, d]);
        let mut blocks: Vec<_> = pairs.map(|(source, target)| Block::new(source, target)).collect();
        variant.decode_batch(&mut blocks);
        let good: Vec<_> = blocks.iter().map(|block| block.result.is_ok()).collect();
        assert_eq!(good, [true, false, false, true], "{}", variant.name());
        assert!(targets[0] == source && targets[3] == source, "{}", variant.name());
    }
}

/// The worked examples of `docs/format/lz4-block.md`.
#[test]
fn the_examples_of_the_format_page() {
    let block = b"\x6fhello \x06\x00\x00\x50ello\n";
    assert_eq!(decode(block, 30), Ok(b"hello hello hello hello hello\n".to_vec()));
    let block = b"\x1f\x2a\x01\x00\xff\xff\xff\xd2\x50\x2a\x2a\x2a\x2a\x2a";
    assert_eq!(decode(block, 1000), Ok(vec![0x2a; 1000]));
    let block = [&b"\xf0\x05"[..], &[7; 20], b"\x2c\x01\xc0", &[8; 12]].concat();
    let dictionary: Vec<u8> = (0..=255).chain(0..24).collect();
    let mut target = [0; 36];
    for variant in DECODE_VARIANTS.available() {
        let result = decode_with_dictionary(variant, &dictionary, &block, &mut target);
        assert_eq!(result, Ok(()), "{}", variant.name());
        assert_eq!(target[20..24], [0, 1, 2, 3]);
    }
}

/// Appends a sequence; a last one has no match (offset, length).
fn append(block: &mut Vec<u8>, literals: &[u8], found: Option<(usize, usize)>) {
    let length = found.map_or(0, |(_, length)| length - 4);
    block.push((literals.len().min(15) << 4 | length.min(15)) as u8);
    let extend = |block: &mut Vec<u8>, length: usize| {
        if length >= 15 {
            block.extend(vec![255; (length - 15) / 255]);
            block.push(((length - 15) % 255) as u8);
        }
    };
    extend(block, literals.len());
    block.extend(literals);
    if let Some((offset, _)) = found {
        block.extend((offset as u16).to_le_bytes());
        extend(block, length);
    }
}

/// Every offset up to two registers, every length around the limits of the loops, in the middle of a block and at its end.
#[test]
fn overlapping_matches_repeat() {
    let step = if cfg!(miri) { 13 } else { 1 };
    let literals = distinct(90);
    for offset in (1..80).step_by(step) {
        for length in (4..150).chain([255, 300, 1000]).step_by(step) {
            for rest in [0, 5, 300] {
                let mut block = Vec::new();
                append(&mut block, &literals, Some((offset, length)));
                append(&mut block, &distinct(rest), None);
                let mut expected = literals.clone();
                (0..length).for_each(|_| expected.push(expected[expected.len() - offset]));
                expected.extend(distinct(rest));
                assert_eq!(decode(&block, expected.len()), Ok(expected), "{offset} {length}");
            }
        }
    }
}

/// The longest short sequences, at every distance from the ends at which the fast loops stop: debug assertions see an
/// access outside of the buffers.
#[test]
fn margins_hold() {
    let step = if cfg!(miri) { 7 } else { 1 };
    let data = distinct(300);
    for literals in [0, 14, 15, 16, 32, 33, 63, 64, 65, 100, 269, 270] {
        for length in [4, 16, 17, 18, 19, 20, 32, 33, 63, 64, 65] {
            for offset in (1..18).chain([64]).step_by(step) {
                for rest in (0..24).step_by(step) {
                    let mut block = Vec::new();
                    append(&mut block, &data, Some((40, 70)));
                    append(&mut block, &data[..literals], Some((offset, length)));
                    let end = block.len();
                    append(&mut block, &data[..rest], None);
                    let written = 370 + literals + length + rest;
                    assert!(decode(&block, written).is_ok());
                    for missing in 1..5 {
                        assert!(decode(&block[..end - missing], written).is_err());
                        assert!(decode(&block, written - missing).is_err());
                        assert!(decode(&block, written + missing).is_err());
                    }
                }
            }
        }
    }
}

#[test]
fn encoded_bytes_decode() {
    let lengths: &[usize] =
        if cfg!(miri) { &[0, 1, 12, 13, 14, 40, 700] } else { &[0, 13, 70_000] };
    for &length in lengths {
        let ramp: Vec<u8> = (0_u32..).flat_map(|k| (k / 3).to_le_bytes()).take(length).collect();
        for source in [vec![9; length], ramp, distinct(length)] {
            assert_eq!(decode(&encoded(&source), length), Ok(source));
        }
    }
    assert_eq!(encoded(b""), [0]);
}

#[test]
fn a_short_target_is_refused() {
    let source = distinct(100);
    let size = encoded(&source).len();
    let mut target = vec![0; size];
    assert_eq!(encode(&source, &mut target[1..], &mut Table::new(), 1), None);
    assert_eq!(encode(&source, &mut target, &mut Table::new(), 1), Some(size));
}

/// What a table holds from another source must not matter.
#[test]
fn a_table_can_be_reused() {
    let (first, second) = (distinct(500), b"drum ".repeat(70));
    let mut table = Table::new();
    let mut target = vec![0; bound(500)];
    encode(&first, &mut target, &mut table, 1).unwrap();
    let size = encode(&second, &mut target, &mut table, 1).unwrap();
    assert_eq!(target[..size], encoded(&second));
}
