//! The laws of the hash kernels; what C xxHash says is taken from the library itself.

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use tambour_check::generate::Random;
    use tambour_check::hash::{
        constant_length, fixed_column, like_c, refuse_offsets, string_column,
    };

    fn random_bytes(random: &mut Random, length: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> =
            (0..length.div_ceil(8)).flat_map(|_| random.number().to_le_bytes()).collect();
        bytes.truncate(length);
        bytes
    }

    /// More than a million keys: every length from 0 to 300, many times, half of them with a seed.
    #[test]
    fn a_million_keys_hash_as_in_c() {
        let mut random = Random::new(1);
        let pool = random_bytes(&mut random, 1 << 20);
        for round in 0..3400 {
            let seed = if round % 2 == 0 { 0 } else { random.number() };
            for length in 0..=300 {
                let start = random.below(pool.len() - length);
                like_c(&pool[start..start + length], seed);
            }
        }
    }

    #[test]
    fn long_keys_hash_as_in_c() {
        let mut random = Random::new(2);
        let pool = random_bytes(&mut random, 100_000);
        for length in (300..6000).chain([16_383, 16_384, 16_385, 65_536, 100_000]) {
            like_c(&pool[..length], 0);
            like_c(&pool[pool.len() - length..], random.number());
        }
    }

    proptest! {
        #[test]
        fn keys_of_constant_length(key: [u8; 32], seed: u64) {
            constant_length::<0>(&[], seed);
            let [a, b, ..] = key;
            constant_length(&[a], seed);
            constant_length(&[a, b], seed);
            constant_length::<4>(key.first_chunk().unwrap(), seed);
            constant_length::<8>(key.first_chunk().unwrap(), seed);
            constant_length::<12>(key.first_chunk().unwrap(), seed);
            constant_length::<16>(key.first_chunk().unwrap(), seed);
            constant_length::<20>(key.first_chunk().unwrap(), seed);
            constant_length(&key, seed);
        }

        #[test]
        fn columns_of_keys(bytes in proptest::collection::vec(any::<u8>(), 0..3000), seed: u64) {
            fixed_column::<1>(&bytes, seed);
            fixed_column::<2>(&bytes, seed);
            fixed_column::<4>(&bytes, seed);
            fixed_column::<8>(&bytes, seed);
            fixed_column::<16>(&bytes, seed);
        }

        #[test]
        fn columns_of_strings(
            bytes in proptest::collection::vec(any::<u8>(), 0..3000),
            lengths in proptest::collection::vec(0..400_u16, 0..40),
            seed: u64,
        ) {
            string_column(&bytes, &lengths, seed);
        }

        /// So many that they are hashed in the order of their lengths, but for the last.
        #[test]
        fn columns_of_many_short_strings(
            lengths in proptest::collection::vec(0..40_u16, 600..1200),
            long in 0..60_u16,
            seed: u64,
        ) {
            let bytes = random_bytes(&mut Random::new(seed), 24_000);
            let lengths: Vec<u16> = lengths.into_iter().map(|length| length + long / 59 * 60).collect();
            string_column(&bytes, &lengths, seed);
        }
    }

    #[test]
    fn bad_offsets_are_refused() {
        refuse_offsets(&[0, 3, 2], b"abcd", 1);
        refuse_offsets(&[0, 3, 5], b"abcd", 1);
        refuse_offsets(&[-1, 3, 4], b"abcd", 0);
        refuse_offsets(&[5, 5], b"abcd", 0);
        let bytes = [7; 9000];
        let right: Vec<i32> = (0..=600).map(|k| 10 * k + k % 7).collect();
        for string in [0, 1, 255, 256, 300, 511, 512, 599] {
            for wrong in [i32::MAX, -1] {
                let mut offsets = right.clone();
                offsets[string + 1] = wrong;
                refuse_offsets(&offsets, &bytes, string);
            }
        }
    }
}
