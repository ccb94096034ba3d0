//! The laws of looking inside, on frames that were damaged in many ways.

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, any, proptest};
    use tambour_check::generate::{Random, data};
    use tambour_check::look::fuzz_look;
    use tambour_codec::frame::{CompressOptions, Format, compress};

    fn frame(source: &[u8], format: Format, level: i32) -> Vec<u8> {
        let mut frame = Vec::new();
        let options = CompressOptions { level: Some(level), ..CompressOptions::new(format) };
        compress(&mut &source[..], &mut frame, &options).unwrap();
        frame
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn frames_are_explained(source in data(), level in 1..12_i32) {
            for format in [Format::Zstd, Format::Lz4] {
                fuzz_look(&frame(&source, format, level));
            }
        }

        #[test]
        fn any_bytes_are_survived(stream in any::<Vec<u8>>()) {
            fuzz_look(&stream);
            fuzz_look(&[&[0x28, 0xb5, 0x2f, 0xfd][..], &stream].concat());
        }
    }

    #[test]
    fn damaged_frames_are_survived() {
        let mut random = Random::new(7);
        let source: Vec<u8> = (0..20_000_u32).flat_map(|k| (k * k % 1013).to_le_bytes()).collect();
        for (format, level) in
            [(Format::Zstd, 1), (Format::Zstd, 9), (Format::Zstd, 19), (Format::Lz4, 9)]
        {
            let good = frame(&source[..20_000], format, level);
            for _ in 0..3000 {
                let mut bad = good.clone();
                for _ in 0..=random.below(4) {
                    // Headers and tables are at the front; that is where most can go wrong.
                    let end = if random.below(2) == 0 { bad.len().min(120) } else { bad.len() };
                    let at = random.below(end);
                    bad[at] = random.byte();
                }
                bad.truncate(bad.len() - random.below(2) * random.below(bad.len()));
                fuzz_look(&bad);
            }
        }
    }
}
