//! The laws of the kernels of columns on generated data.

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use tambour_check::column;
    use tambour_check::generate::{Random, Shape, bytes, data};

    proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(100))]

        #[test]
        fn any_data(source in data(), divisor in any::<[u8; 32]>(), seed in any::<u64>()) {
            column::delta(&source);
            column::gcd(&source[..source.len().min(5000)], &divisor);
            column::t64(&source[..source.len().min(20_000)], seed);
            column::alp(&source[..source.len().min(9000)], seed);
            column::items(&source[..source.len().min(5000)], seed);
            column::alp_encode(&source[..source.len().min(9000)], seed);
        }
    }

    /// Decimals of every number of digits, whole vectors and cut ones, with values among them that are none.
    #[test]
    fn decimals() {
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let digits = 1 + random.below(60);
            let scale = random.pick(&[1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6]);
            let count = random.pick(&[1024, 1 + random.clone().below(1024)]);
            let value = |random: &mut Random| match random.below(40) {
                0 => f64::from_bits(random.number()),
                1 => -0.0,
                _ => (random.number() >> (64 - digits)) as f64 / scale - 5.0,
            };
            let values: Vec<f64> = (0..count).map(|_| value(&mut random)).collect();
            let wide: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the same values, as far as they go"
            )]
            let narrow: Vec<u8> =
                values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect();
            for seed in 0..10 {
                column::alp_encode(&wide, seed);
                column::alp_encode(&narrow, seed);
            }
        }
    }

    /// Steps, runs and jumps of every size, so that each loop gives way to each other one.
    #[test]
    fn items_of_every_length() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let (mut value, mut delta) = (0_u64, random.number());
            let mut source = Vec::new();
            let mut change_bits = 0;
            for index in 0..random.below(1500) {
                if index % 100 == 0 {
                    change_bits = random.pick(&[0, 0, 1, 2, 6, 7, 9, 12, 30, 64]);
                }
                if random.below(4) > 0 && change_bits > 0 {
                    delta = delta.wrapping_add(random.number() >> (64 - change_bits));
                }
                value = value.wrapping_add(delta);
                source.extend(value.to_le_bytes());
            }
            column::items(&source, seed);
            // Of narrow values the changes are those of the wide ones, cut short.
            let narrow: Vec<u8> = source.chunks(8).flat_map(|value| value[..4].to_vec()).collect();
            column::items(&narrow, seed);
        }
    }

    /// Every small length, so that no end of a register is left out.
    #[test]
    fn small_lengths() {
        for length in 0..700 {
            let source = bytes(Shape::Noise, length, length as u64);
            column::delta(&source);
            column::gcd(&source, &[6; 32]);
        }
    }

    /// Every number of bits, with planes of bytes and of bits.
    #[test]
    fn every_shape() {
        let source = bytes(Shape::Noise, 9000, 4);
        for seed in 0..400 {
            column::t64(&source, seed);
        }
        for seed in 0..130 {
            column::alp(&source, seed);
        }
    }
}
