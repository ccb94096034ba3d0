//! The laws of parts on generated data.

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};
    use tambour_check::part::{TYPES, fuzz_files, survive_column};

    proptest! {
        #[test]
        fn any_column_is_survived(kind in 0..TYPES.len(), rows in 0..300_u16, payload in any::<Vec<u8>>()) {
            survive_column(TYPES[kind], rows, &payload);
        }

        #[test]
        fn small_numbers_are_survived(kind in 0..TYPES.len(), rows in 0..20_u16, payload in proptest::collection::vec(0..6_u8, 0..400)) {
            survive_column(TYPES[kind], rows, &payload);
        }

        #[test]
        fn any_files_are_survived(input in any::<Vec<u8>>()) {
            fuzz_files(&input);
        }
    }

    /// The law is worth something only if good bytes are read.
    #[test]
    fn good_columns_are_read() {
        assert_eq!(survive_column("UInt8", 3, &[1, 2, 3]), Some(3));
        assert_eq!(survive_column("UInt8", 3, &[1, 2]), None);
        assert_eq!(survive_column("Nullable(UInt8)", 2, &[0, 1, 7, 0]), Some(2));
        assert_eq!(survive_column("String", 2, &[1, b'a', 0]), Some(2));
        assert_eq!(survive_column("Array(UInt8)", 1, &[2, 0, 0, 0, 0, 0, 0, 0, 5, 6]), Some(1));
    }
}
