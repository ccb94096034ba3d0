//! The laws of whole streams on generated data.

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, any, proptest};
    use tambour_check::frame::{self, Plan};
    use tambour_check::generate::{Shape, bytes, data, small_data};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn round_trip(source in data(), plan in 0..64_usize) {
            frame::round_trip(&source, Plan::all().nth(plan).unwrap());
        }

        #[test]
        fn round_trip_others(source in data(), block_bytes in 1..100_000_usize) {
            frame::round_trip_others(&source, block_bytes.max(source.len() / 50));
        }

        #[test]
        fn dictionaries(source in data(), dictionary in data(), id in any::<Option<u32>>()) {
            frame::round_trip_with_dictionary(&source, &dictionary, id);
            frame::round_trip_with_dictionary(&source, &source, id);
        }

        #[test]
        fn flips_are_refused(source in small_data(), linked in any::<bool>()) {
            frame::refuse_flips(&source[..source.len().min(400)], linked);
        }

        #[test]
        fn any_bytes_are_survived(stream in any::<Vec<u8>>()) {
            frame::survive(&stream);
        }
    }

    /// Every combination of options, around the size of a block.
    #[test]
    fn every_plan_round_trips() {
        let shapes = [Shape::Lines, Shape::Noise, Shape::Constant];
        for (plan, shape) in Plan::all().zip(shapes.into_iter().cycle()) {
            for length in [0, 1, 65_535, 65_536, 65_537, 200_000] {
                frame::round_trip(&bytes(shape, length, 5), plan);
            }
        }
    }

    /// More blocks than threads take at once, in every size.
    #[test]
    fn many_blocks_round_trip() {
        for plan in Plan::all().filter(|plan| plan.content_checksum && !plan.content_size) {
            frame::round_trip(&bytes(Shape::Mixed, 3 * plan.block_bytes / 2 + 1_000_000, 9), plan);
        }
    }

    #[test]
    fn every_cut_is_refused() {
        for plan in Plan::all() {
            frame::refuse_cuts(&bytes(Shape::Text, 300, 1), plan);
        }
    }

    #[test]
    fn legacy_frames_are_read() {
        for length in [0, 1, 1000, 8 << 20, (8 << 20) + 1, 20_000_000] {
            frame::read_legacy(&bytes(Shape::Lines, length, 2));
        }
    }

    #[test]
    fn hostile_frames_are_survived() {
        for seed in 0..1000 {
            frame::survive(&frame::hostile(seed));
        }
    }
}
