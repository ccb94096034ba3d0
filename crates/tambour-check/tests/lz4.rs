//! The laws of the LZ4 kernels on generated data.

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use tambour_check::generate::{Shape, bytes, data, hostile_lz4, small_data};
    use tambour_check::lz4::Encoders;
    use tambour_check::{lz4, oracle};
    use tambour_kernel::lz4::{Block, DECODE_VARIANTS, Encoder, Level, Policy, Selector, bound};
    use tambour_kernel::variant::Isa;

    proptest! {
        #[test]
        fn round_trip(source in data()) {
            lz4::round_trip(&source);
        }

        #[test]
        fn cut_blocks_are_refused(source in small_data()) {
            lz4::refuse_cut(&source);
        }

        #[test]
        fn flipped_bits_are_survived(source in small_data()) {
            lz4::survive_flips(&source);
        }

        #[test]
        fn random_bytes_are_survived(source in any::<Vec<u8>>(), length in 0..2000_usize) {
            lz4::decode_like_others(&source, length);
        }
    }

    proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(40))]

        #[test]
        fn parts_are_starts(source in data(), wanted in 0..2000_usize) {
            let block = lz4::encode(&source, 1);
            for wanted in [wanted, source.len() / 2, source.len(), source.len() + 1, source.len().saturating_sub(wanted)] {
                lz4::partial_alike(&block, source.len(), wanted);
            }
        }

        #[test]
        fn parts_of_random_bytes_are_survived(source in any::<Vec<u8>>(), length in 0..2000_usize) {
            lz4::partial_of_hostile(&source, length);
            lz4::dictionary_alike(&source, &source, length);
        }
    }

    /// Blocks of one shape, as a stream has them: enough of them for every comparison of the selector.
    #[test]
    fn streams_come_out_right() {
        for &shape in Shape::ALL {
            let block = |seed| {
                let length = if seed % 7 == 6 { 3000 } else { 65_536 };
                (lz4::encode(&bytes(shape, length, seed), 1), length)
            };
            let claims: Vec<_> = (0..12).map(block).collect();
            lz4::batch_alike(&claims);
        }
    }

    #[test]
    fn batches_of_hostile_blocks_are_survived() {
        for seed in 0..300 {
            let claims: Vec<_> = (0..seed % 6).map(|k| hostile_lz4(77 * seed + k)).collect();
            lz4::batch_alike(&claims);
        }
    }

    #[test]
    fn parts_of_hostile_blocks_are_survived() {
        for seed in 0..2000 {
            let (block, length) = hostile_lz4(seed);
            lz4::partial_of_hostile(&block, length / 2);
            lz4::partial_alike(&block, length, length / 3);
            lz4::dictionary_alike(&block, &block, length);
            lz4::dictionary_alike(&[], &block, length);
        }
    }

    /// What others encode with a dictionary.
    #[test]
    fn dictionaries_are_used() {
        for &shape in Shape::ALL {
            for (before, length) in [(10, 1000), (3000, 3000), (65_536, 65_536), (100_000, 70_000)]
            {
                let whole = bytes(shape, before + length, 5);
                let (dictionary, source) = whole.split_at(before);
                let block = lz4_flex::block::compress_with_dict(source, dictionary);
                lz4::dictionary_alike(dictionary, &block, length);
                let decoded = oracle::naive_lz4_decode_behind(dictionary, &block, length);
                assert!(decoded.as_deref() == Some(source), "{shape:?} {before} {length}");
            }
        }
    }

    /// The same input takes the same path: nothing is learned, no clock is read.
    #[test]
    fn a_deterministic_selector_learns_nothing() {
        let mut selector =
            Selector::new(Policy::Deterministic, Isa::best(), || panic!("the clock is read"));
        let source = bytes(Shape::Lines, 65_536, 1);
        let block = lz4::encode(&source, 1);
        let mut targets = [vec![0; source.len()], vec![0; source.len()]];
        for _ in 0..40 {
            selector.decode(&block, &mut targets[0]).unwrap();
            let mut blocks: Vec<_> =
                targets.iter_mut().map(|target| Block::new(&block, target)).collect();
            selector.decode_batch(&mut blocks);
        }
        assert!(selector.learned().is_empty());
        assert!(targets.iter().all(|target| *target == source));
    }

    /// Whatever the cap, the selector keeps to it; small blocks are not timed.
    #[test]
    fn a_selector_keeps_its_cap() {
        let source = bytes(Shape::Lines, 65_536, 1);
        let block = lz4::encode(&source, 1);
        for &cap in Isa::ALL {
            let mut selector = Selector::new(Policy::Adaptive, cap, tambour_kernel::lz4::ticks);
            let small = lz4::encode(&source[..2000], 1);
            let mut target = vec![0; source.len()];
            selector.decode(&small, &mut target[..2000]).unwrap();
            assert!(selector.learned().iter().all(|one| one.calls == 0));
            for _ in 0..20 {
                selector.decode(&block, &mut target).unwrap();
            }
            let used = selector.learned();
            for one in &used {
                let variant = DECODE_VARIANTS.named(one.name).unwrap();
                assert!(variant.isa() <= cap, "{} above {cap}", one.name);
            }
            let alone = DECODE_VARIANTS.best_at_most(cap).isa() == Isa::Scalar;
            assert_eq!(alone, used.iter().all(|one| one.calls == 0), "{cap}");
            selector.reset();
            assert!(selector.learned().iter().all(|one| one.calls == 0));
        }
    }

    /// Every small length and every shape, so that no alignment of the end is left out.
    #[test]
    fn small_lengths_round_trip() {
        for &shape in Shape::ALL {
            for length in 0..400 {
                lz4::round_trip(&bytes(shape, length, length as u64));
            }
        }
    }

    /// Around the longest source with 16-bit positions, and around the window.
    #[test]
    fn window_lengths_round_trip() {
        for &shape in Shape::ALL {
            for length in [65_534, 65_535, 65_536, 65_546, 65_547, 65_548, 65_549, 1 << 20] {
                lz4::round_trip(&bytes(shape, length, 7));
            }
        }
    }

    /// What repeats at the farthest offset and just beyond: the same bytes, zeros between them.
    #[test]
    fn farthest_offsets_round_trip() {
        let piece = bytes(Shape::Noise, 64, 1);
        for distance in 65_530..65_540 {
            let mut source = piece.clone();
            source.resize(distance, 0);
            source.extend(&piece);
            source.extend([1; 20]);
            lz4::round_trip(&source);
        }
    }

    #[test]
    fn hostile_blocks_are_survived() {
        let mut accepted = 0;
        for seed in 0..6000 {
            let (block, length) = hostile_lz4(seed);
            lz4::decode_like_others(&block, length);
            accepted += usize::from(oracle::naive_lz4_decode(&block, length).is_some());
        }
        assert!((2000..5800).contains(&accepted), "{accepted} of 6000 are good: one-sided");
    }

    /// Our blocks may be 2 % larger than those of C lz4.
    #[test]
    fn size_is_that_of_c_lz4() {
        for &shape in Shape::ALL {
            for length in [1000, 65_536, 300_000] {
                let source = bytes(shape, length, 3);
                let ours = lz4::encode(&source, 1).len();
                let mut target = vec![0; tambour_kernel::lz4::bound(length)];
                let theirs = oracle::c_lz4_encode(&source, &mut target, 1);
                assert!(ours * 100 <= theirs * 102, "{shape:?} {length}: {ours} against {theirs}");
            }
        }
    }

    proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(60))]

        #[test]
        fn every_level_round_trips(source in data()) {
            Encoders::default().round_trip(&source);
        }

        #[test]
        fn dictionaries_round_trip(dictionary in data(), source in data(), shared in 0..400_usize) {
            // A source that begins with the end of its dictionary, in part.
            let start = dictionary.len().saturating_sub(shared);
            let source = [&dictionary[start..], &source[..]].concat();
            Encoders::default().round_trip_with_dictionary(&dictionary, &source);
        }

        #[test]
        fn targets_of_every_length_are_used(source in small_data()) {
            Encoders::default().fit_exactly(&source);
        }
    }

    #[test]
    fn small_lengths_round_trip_at_every_level() {
        let mut encoders = Encoders::default();
        for &shape in Shape::ALL {
            let dictionary = bytes(shape, 100, 9);
            for length in 0..71 {
                let source = bytes(shape, length, length as u64);
                encoders.round_trip(&source);
                encoders.round_trip_with_dictionary(&dictionary, &source);
                encoders.round_trip_with_dictionary(&dictionary[..length], &dictionary);
            }
        }
    }

    /// Sources around the window, with dictionaries around the window.
    #[test]
    fn window_lengths_round_trip_at_every_level() {
        let mut encoders = Encoders::default();
        for &shape in Shape::ALL {
            let data = bytes(shape, 101_000, 7);
            for length in [65_536, 65_548, 100_000] {
                encoders.round_trip(&data[..length]);
            }
            for length in [65_534, 65_535, 65_536, 100_000] {
                encoders.round_trip_with_dictionary(&data[..length], &data[length..length + 1000]);
            }
        }
    }

    /// What repeats at the farthest offset and just beyond, in the source and in the dictionary.
    #[test]
    fn farthest_offsets_round_trip_at_every_level() {
        let mut encoders = Encoders::default();
        let piece = bytes(Shape::Noise, 64, 1);
        for distance in 65_530..65_540 {
            let mut source = piece.clone();
            source.resize(distance, 0);
            source.extend(&piece);
            source.extend([1; 20]);
            encoders.round_trip(&source);
            for start in [64, 500, 65_000, distance] {
                encoders.round_trip_with_dictionary(&source[..start], &source[start..]);
            }
        }
    }

    /// High levels make blocks as small as those of C lz4. At level 12, trees may end a search earlier than it does.
    #[test]
    fn high_sizes_are_those_of_c_lz4() {
        for level in 3..=12 {
            let mut encoder = Encoder::new(Level::High(level));
            for length in [100, 4096, 65_536, 300_000] {
                for &shape in Shape::ALL {
                    let source = bytes(shape, length, 3);
                    let size = encoder.encode(&source, &mut vec![0; bound(length)]).unwrap();
                    let reference = oracle::c_lz4_encode_high(&source, level).len();
                    let most = if level == 12 { reference + reference / 500 } else { reference };
                    assert!(size <= most, "level {level}, {shape:?}: {size} against {reference}");
                }
            }
        }
    }

    /// Every length up to 2000, of what has runs, periods, and pieces of both.
    #[test]
    fn runs_and_periods_of_every_length_round_trip() {
        let mut encoders = Encoders::default();
        let noise = bytes(Shape::Noise, 2000, 5);
        for length in 0..=2000 {
            let period = length % 37 + 1;
            let mut source: Vec<u8> = (0..length).map(|k| noise[k % period]).collect();
            encoders.round_trip(&source);
            // Runs that end at changing places.
            for (k, byte) in source.iter_mut().enumerate() {
                *byte = noise[(k / (period * 3)) % 11] & 3;
            }
            encoders.round_trip(&source);
            let start = length / 3;
            encoders.round_trip_with_dictionary(&source[..start], &source[start..]);
        }
    }

    /// Several windows: links lead out of the window, runs reach across its edge.
    #[test]
    fn long_sources_round_trip_at_every_level() {
        let mut encoders = Encoders::default();
        let mut source = bytes(Shape::Lines, 4 << 20, 11);
        for (k, start) in (50_000..4_000_000).step_by(90_000).enumerate() {
            source[start..start + 70_000 - 3000 * (k % 24)].fill(b"abc"[k % 3]);
        }
        encoders.round_trip(&source);
    }
}
