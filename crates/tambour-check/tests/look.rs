//! The laws of looking inside, on frames that were damaged in many ways.

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, any, proptest};
    use tambour_check::generate::{Random, data};
    use tambour_check::look::{fuzz_look, fuzz_stages};
    use tambour_codec::block::Encoder;
    use tambour_codec::codec::{Class, Element};
    use tambour_codec::frame::{CompressOptions, Format, compress};

    fn frame(source: &[u8], format: Format, level: i32) -> Vec<u8> {
        let mut frame = Vec::new();
        let options = CompressOptions { level: Some(level), ..CompressOptions::new(format) };
        compress(&mut &source[..], &mut frame, &options).unwrap();
        frame
    }

    const CODECS: [&str; 12] = [
        "NONE",
        "LZ4",
        "ZSTD(3)",
        "Delta, LZ4",
        "DoubleDelta",
        "T64",
        "GCD, T64('bit'), ZSTD(1)",
        "PFOR",
        "StreamVByte",
        "Pco",
        "Gorilla(4), LZ4HC(9)",
        "Delta, Delta, NONE",
    ];

    /// A block of integers of four bytes, as the law takes it.
    fn block(codec: &str, source: &[u8]) -> Vec<u8> {
        let integers = Element { width: 4, class: Class::Unsigned };
        let mut stream = Vec::new();
        let mut encoder = Encoder::new(&codec.parse().unwrap(), integers).unwrap();
        encoder.encode(source, &mut stream).unwrap();
        let content = u32::try_from(source.len()).unwrap().to_le_bytes();
        [&stream[16..17], &content[..3], &stream[25..]].concat()
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
        fn blocks_are_explained(source in data(), index in 0..CODECS.len()) {
            fuzz_stages(&block(CODECS[index], &source));
        }

        #[test]
        fn any_bytes_are_survived(stream in any::<Vec<u8>>()) {
            for method in [0x02, 0x82, 0x90, 0x91, 0x92, 0x93, 0x94, 0x95, 0x98, 0x9a, 0x9c, 0xe0, 0xe1, 0xe2, 0xe3] {
                fuzz_stages(&[&[method][..], &stream].concat());
            }
            fuzz_look(&stream);
            fuzz_look(&[&[0x28, 0xb5, 0x2f, 0xfd][..], &stream].concat());
        }
    }

    #[test]
    fn damaged_blocks_are_survived() {
        let mut random = Random::new(11);
        let source: Vec<u8> = (0..2_000_u32).flat_map(|k| (k * k % 1013).to_le_bytes()).collect();
        for codec in CODECS {
            let good = block(codec, &source);
            for _ in 0..400 {
                let mut bad = good.clone();
                for _ in 0..=random.below(3) {
                    let end = if random.below(2) == 0 { bad.len().min(60) } else { bad.len() };
                    let at = random.below(end);
                    bad[at] = random.byte();
                }
                bad.truncate(bad.len() - random.below(2) * random.below(bad.len()));
                fuzz_stages(&bad);
            }
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
