//! Laws of what records are decoded with.

use tambour_kernel::lz4::{DECODE_VARIANTS, SHORT_MARGIN, decode_short, decode_with_dictionary};

/// Takes the sequences of a block one byte after the other; `None` at what is wrong, or where more than `room` bytes are written.
fn sequences(all: &mut Vec<u8>, block: &[u8], room: usize) -> Option<()> {
    fn length(bytes: &mut impl Iterator<Item = u8>, nibble: u8) -> Option<usize> {
        let mut sum = usize::from(nibble);
        let mut more = nibble == 15;
        while more {
            let byte = bytes.next()?;
            sum += usize::from(byte);
            more = byte == 255;
        }
        Some(sum)
    }
    let end = all.len() + room;
    let mut bytes = block.iter().copied();
    while let Some(token) = bytes.next() {
        for _ in 0..length(&mut bytes, token >> 4)? {
            all.push(bytes.next().filter(|_| all.len() < end)?);
        }
        // A block may end here, or after the match.
        let Some(low) = bytes.next() else { break };
        let offset = usize::from(u16::from_le_bytes([low, bytes.next()?]));
        for _ in 0..length(&mut bytes, token & 15)? + 4 {
            let from = all.len().checked_sub(offset).filter(|_| all.len() < end)?;
            all.push(*all.get(from)?);
        }
    }
    Some(())
}

/// Law: a short block with a dictionary comes out as the definition has it, and the exact decoder, or is an error where that
/// is none; nothing in front of the output is written, and what is decoded up to a wanted length is the start of the whole.
pub fn short_alike(dictionary: &[u8], block: &[u8], room: usize, wanted: usize) {
    let start = dictionary.len();
    let decode = |wanted| {
        let mut source = block.to_vec();
        source.resize(block.len() + SHORT_MARGIN, 0x5a);
        let mut buffer = dictionary.to_vec();
        buffer.resize(start + room + SHORT_MARGIN, 0xa5);
        let written = decode_short(&source, block.len(), &mut buffer, start, wanted);
        assert_eq!(buffer.get(..start), Some(dictionary), "the dictionary was written to");
        written.map(|written| buffer.get(start..start + written).unwrap_or_default().to_vec())
    };
    let whole = decode(usize::MAX);
    let mut target = vec![0; whole.as_ref().map_or(room, Vec::len)];
    let exact = decode_with_dictionary(DECODE_VARIANTS.best(), dictionary, block, &mut target);
    if exact.is_ok() {
        assert_eq!(whole.as_ref(), Ok(&target), "the exact decoder disagrees");
    }
    let mut all = dictionary.to_vec();
    let is_good = sequences(&mut all, block, room).is_some();
    let expected = all.get(start..).unwrap_or_default();
    assert_eq!(whole.as_deref().ok(), is_good.then_some(expected), "not as defined");
    let part = decode(wanted);
    assert!(part.is_ok() || !is_good, "a start of what is good: {part:?}");
    if let Ok(part) = part {
        // What is wrong may lie after it.
        let least = if is_good { wanted.min(expected.len()) } else { wanted };
        assert!(expected.starts_with(&part) && part.len() >= least, "a wrong start");
    }
}

/// Any bytes as a dictionary and a block.
pub fn fuzz_short(input: &[u8]) {
    let Some((&[dictionary, wanted], rest)) = input.split_first_chunk::<2>() else { return };
    let (dictionary, block) = rest.split_at(rest.len().min(dictionary.into()));
    short_alike(dictionary, block, 2000, usize::from(wanted) * 8);
}

#[cfg(test)]
mod tests {
    use super::{fuzz_short, short_alike};
    use crate::generate;
    use proptest::prelude::*;
    use tambour_kernel::lz4::{Prepared, bound};

    /// Blocks that no encoder makes: they end in a match, have no end, reach too far, or are cut.
    #[test]
    fn odd_blocks_decode_alike() {
        let long = [&[0x1f, b'a', 1, 0][..], &[255; 3], &[7, 0x20, b'x', b'y', 3, 0]].concat();
        for block in [&[0x10, b'a', 1, 0][..], &[0, 0, 0], &[0, 9, 0], &[0xf0, 255, 0], &long] {
            for cut in 0..=block.len() {
                for dictionary in [&b""[..], b"abcdefgh"] {
                    for room in [0, 4, 5, 800, 2000] {
                        for wanted in [0, 1, 5, 790, 5000] {
                            short_alike(dictionary, &block[..cut], room, wanted);
                        }
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_decode_alike(input in proptest::collection::vec(any::<u8>(), 0..600)) {
            fuzz_short(&input);
        }

        #[test]
        fn damaged_blocks_decode_alike(
            dictionary in generate::small_data(),
            source in generate::small_data(),
            flip in any::<proptest::sample::Index>(),
        ) {
            let mut encoder = Prepared::new(9, &dictionary);
            let mut block = vec![0; bound(source.len())];
            let size = encoder.encode(&source, &mut block).unwrap();
            block.truncate(size);
            let reached = encoder.dictionary().to_vec();
            short_alike(&reached, &block, source.len(), source.len() / 2);
            let bit = flip.index(size * 8);
            block[bit / 8] ^= 1 << (bit % 8);
            short_alike(&reached, &block, source.len(), source.len() / 2);
        }
    }
}
