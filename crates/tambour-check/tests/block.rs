//! The laws of compressed blocks and specifications on generated data.

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use tambour_check::generate::{Random, data, hostile_lz4, small_data};
    use tambour_check::{block, spec};
    use tambour_codec::codec::FAMILIES;

    proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

        #[test]
        fn chosen(source in data(), cut in 1..100_000_usize) {
            block::choose(&source, cut.max(source.len() / 8));
        }

        #[test]
        fn round_trip(source in data(), cut in 1..100_000_usize) {
            block::round_trip(&source, cut.max(source.len() / 50));
        }

        #[test]
        fn damage_is_refused(source in small_data()) {
            block::refuse_damage(&source);
        }
    }

    proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

        #[test]
        fn changed_payloads_are_survived(source in small_data(), seed in any::<u64>()) {
            block::survive_changes(&source, seed);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(source in any::<Vec<u8>>(), size in 0..5000_u32) {
            block::survive_stream(&source);
            for family in FAMILIES {
                block::survive_hostile(family.method, size, &source);
            }
        }

        #[test]
        fn any_text_is_survived(text in "[A-Za-z0-9_(), '\\\\.-]{0,40}") {
            spec::survive(&text);
        }

        #[test]
        fn likely_texts_are_survived(
            text in "(CODEC\\()?(LZ4|zstd|Delta|T64|None)(\\((4|22|'bit'|-1)?\\))?(, ?(LZ4|GCD)(\\(1, 2\\))?)?\\)?"
        ) {
            spec::survive(&text);
        }
    }

    #[test]
    fn hostile_payloads_are_survived() {
        for seed in 0..10_000 {
            let (payload, length) = hostile_lz4(seed);
            block::survive_hostile(0x82, u32::try_from(length).unwrap(), &payload);
        }
    }

    /// Frames whose bytes were damaged behind the checksum's back.
    #[test]
    fn damaged_frames_are_survived() {
        let mut random = Random::new(1);
        for seed in 0..300 {
            let shape = random.pick(tambour_check::generate::Shape::ALL);
            let source = tambour_check::generate::bytes(shape, 1000, seed);
            let good = block::encode(&"ZSTD(3)".parse().unwrap(), &source).unwrap();
            let payload = &good[25..];
            for _ in 0..50 {
                let mut damaged = payload.to_vec();
                let bit = random.below(8 * damaged.len());
                damaged[bit / 8] ^= 1 << (bit % 8);
                block::survive_hostile(0x90, 1000, &damaged);
            }
        }
    }
}
