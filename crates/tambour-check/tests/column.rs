//! The laws of the kernels of columns on generated data.

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use tambour_check::column;
    use tambour_check::generate::{Shape, bytes, data};

    proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(100))]

        #[test]
        fn any_data(source in data(), divisor in any::<[u8; 32]>(), seed in any::<u64>()) {
            column::delta(&source);
            column::gcd(&source[..source.len().min(5000)], &divisor);
            column::t64(&source[..source.len().min(20_000)], seed);
            column::alp(&source[..source.len().min(9000)], seed);
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
