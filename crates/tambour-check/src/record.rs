//! Laws of what records are decoded with.

use tambour_kernel::lz4::{DECODE_VARIANTS, SHORT_MARGIN, decode_short, decode_with_dictionary};

/// Law: a short block behind a dictionary comes out as the exact decoder has it, or is an error; nothing in front of the
/// output is written, and what is decoded up to a wanted length is the start of the whole.
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
    if let (Ok(whole), Ok(part)) = (&whole, decode(wanted)) {
        assert!(whole.starts_with(&part) && part.len() >= wanted.min(whole.len()), "a wrong start");
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
