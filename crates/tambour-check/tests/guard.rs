//! Every variant between inaccessible pages: a read or write of one byte outside a buffer ends the test process.
#![cfg(unix)]
#![cfg(test)]

mod guarded;

mod tests {
    use super::guarded::Guarded;
    use tambour_check::generate::{Random, Shape, bytes, hostile_lz4};
    use tambour_check::lz4::encode;
    use tambour_kernel::lz4::{self, Block, DECODE_VARIANTS, Encoder, Level, Policy, Selector};
    use tambour_kernel::variant::Isa;

    struct Buffers {
        source: Guarded,
        target: Guarded,
        /// For the second block of a pair.
        second_source: Guarded,
        second_target: Guarded,
        /// Sees blocks of all kinds, so that it hardly ever knows what suits.
        selector: Selector,
    }

    impl Buffers {
        fn new() -> Self {
            let new = || Guarded::new(600_000);
            let selector = Selector::new(Policy::Adaptive, Isa::best(), lz4::ticks);
            let (source, target, second_source, second_target) = (new(), new(), new(), new());
            Self { source, target, second_source, second_target, selector }
        }

        /// Decodes with every variant, source and target at every combination of ends.
        fn decode(&mut self, block: &[u8], length: usize) {
            for (source_end, target_end) in
                [(true, true), (true, false), (false, true), (false, false)]
            {
                let source = self.source.bytes(block.len(), source_end);
                source.copy_from_slice(block);
                for variant in DECODE_VARIANTS.available() {
                    let target = self.target.bytes(length, target_end);
                    let _verdict = variant.decode(source, target);
                }
            }
        }

        /// The same for the calls that do more than decode one block; each block once with every way.
        fn decode_otherwise(&mut self, block: &[u8], length: usize) {
            let at_end = length.is_multiple_of(2);
            let source = self.source.bytes(block.len(), at_end);
            source.copy_from_slice(block);
            let second_source = self.second_source.bytes(block.len(), !at_end);
            second_source.copy_from_slice(block);
            for variant in DECODE_VARIANTS.available() {
                let target = self.target.bytes(length, at_end);
                let _verdict = lz4::decode_with_dictionary(variant, second_source, source, target);
                let _verdict = lz4::decode_behind(variant, source, target, length / 3);
                let target = self.target.bytes(length / 2, at_end);
                let _verdict = lz4::decode_partial(variant, source, target);
                let target = self.target.bytes(length, at_end);
                let second = self.second_target.bytes(length, !at_end);
                let mut blocks = [Block::new(source, target), Block::new(second_source, second)];
                variant.decode_batch(&mut blocks);
            }
            let target = self.target.bytes(length, at_end);
            let _verdict = self.selector.decode(source, target);
            let second = self.second_target.bytes(length, !at_end);
            let mut blocks = [Block::new(source, target), Block::new(second_source, second)];
            self.selector.decode_batch(&mut blocks);
        }

        /// Encodes from a source between guards into a target of just the bound.
        fn encode(&mut self, data: &[u8]) {
            for at_end in [true, false] {
                let source = self.source.bytes(data.len(), at_end);
                source.copy_from_slice(data);
                let target = self.target.bytes(lz4::bound(data.len()), at_end);
                let size = lz4::encode(source, target, &mut lz4::Table::new(), 1).unwrap();
                assert_eq!(encode(data, 1), target[..size]);
            }
        }

        /// Encodes after a prefix between guards, into a target of just the size that is needed.
        fn encode_tightly(&mut self, encoder: &mut Encoder, data: &[u8], start: usize) {
            let mut block = vec![0; lz4::bound(data.len())];
            let size = encoder.encode_behind(data, start, &mut block).unwrap();
            for at_end in [true, false] {
                let source = self.source.bytes(data.len(), at_end);
                source.copy_from_slice(data);
                let target = self.target.bytes(size, at_end);
                assert_eq!(encoder.encode_behind(source, start, target), Some(size));
                assert_eq!(target[..], block[..size]);
            }
        }
    }

    #[test]
    fn encoders_stay_inside() {
        let mut buffers = Buffers::new();
        for level in [1, 3, 9, 10, 12] {
            let fast = Level::Fast { acceleration: 1 };
            let mut encoder = Encoder::new(if level == 1 { fast } else { Level::High(level) });
            for &shape in Shape::ALL {
                for length in (0..100).chain([5000, 70_000]) {
                    let source = bytes(shape, length, length as u64);
                    buffers.encode_tightly(&mut encoder, &source, 0);
                    buffers.encode_tightly(&mut encoder, &source, length / 3);
                }
            }
        }
    }

    #[test]
    fn hostile_blocks_stay_inside() {
        let mut buffers = Buffers::new();
        for seed in 0..20_000 {
            let (block, length) = hostile_lz4(1_000_000 + seed);
            buffers.decode(&block, length);
            buffers.decode_otherwise(&block, length);
        }
    }

    #[test]
    fn good_and_damaged_blocks_stay_inside() {
        let mut buffers = Buffers::new();
        let mut random = Random::new(5);
        for &shape in Shape::ALL {
            for length in (0..300).chain([1000, 5000, 65_536, 70_000, 200_000]) {
                let source = bytes(shape, length, length as u64);
                buffers.encode(&source);
                let mut block = encode(&source, 1);
                buffers.decode(&block, length);
                buffers.decode(&block[..random.below(block.len())], length);
                buffers.decode(&block, length.saturating_sub(1 + random.below(40)));
                let bit = random.below(8 * block.len());
                buffers.decode_otherwise(&block, length);
                block[bit / 8] ^= 1 << (bit % 8);
                buffers.decode(&block, length);
                buffers.decode_otherwise(&block, length);
            }
        }
    }
}
