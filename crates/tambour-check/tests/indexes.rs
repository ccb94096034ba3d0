//! Skip indexes with hostile contents.

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use tambour_check::index::{fuzz_entry, fuzz_files};

    /// A file for [`fuzz_files`].
    fn file(contents: &[u8]) -> Vec<u8> {
        let length = u16::try_from(contents.len()).unwrap();
        [&length.to_le_bytes(), contents].concat()
    }

    /// A list of packed files: names, places, sizes.
    fn packed(files: &[(&str, u64, u64)], rest: &[u8]) -> Vec<u8> {
        let mut bytes = b"x\x01".to_vec();
        bytes.extend((files.len() as u64).to_le_bytes());
        for (name, start, size) in files {
            bytes.push(u8::try_from(name.len()).unwrap());
            bytes.extend(name.as_bytes());
            for number in [*start, *size, 0] {
                bytes.extend(number.to_le_bytes());
            }
        }
        [&bytes, rest].concat()
    }

    fn marks(numbers: &[u64]) -> Vec<u8> {
        let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
        std::iter::once(b'x').chain(numbers).collect()
    }

    #[test]
    fn sound_files_are_harmed_everywhere() {
        let list = [("skp_idx_i.idx", 70, 9), ("skp_idx_k.mrk2", 3, u64::MAX)];
        let whole = [
            file(&packed(&list, &[9; 80])),
            file(&[1, 2, 3, 4, 5, 6, 7, 8]),
            file(&marks(&[0, 0, 1, 0, 4, 1, 0, 8, 1])),
        ]
        .concat();
        for end in 0..whole.len() {
            fuzz_files(&whole[..end]);
        }
        for bit in 0..8 * whole.len() {
            let mut harmed = whole.clone();
            harmed[bit / 8] ^= 1 << (bit % 8);
            fuzz_files(&harmed);
        }
        // Marks that lead backwards, into nothing, or past what a block has.
        for numbers in [[0, 4, 1, 0, 0, 1], [99, 0, 1, 0, 0, 1], [0, 9, 1, 0, u64::MAX, 1]] {
            fuzz_files(&[file(b""), file(&[1, 2, 3, 4]), file(&marks(&numbers))].concat());
        }
    }

    #[test]
    fn huge_counts_are_refused() {
        for kind in 0..128 {
            for count in [1, 7, 1 << 20, u64::from(u32::MAX), u64::MAX] {
                let bytes = [&[kind][..], &count.to_le_bytes(), &[0xff; 20]].concat();
                fuzz_entry(&bytes);
                fuzz_entry(&[&[kind][..], &[0xff; 9], &count.to_le_bytes()].concat());
                // A LowCardinality with as many keys.
                let flags = 0x600_u64.to_le_bytes();
                let version = 1_u64.to_le_bytes();
                let count = count.to_le_bytes();
                fuzz_entry(&[&[kind][..], &5_u64.to_le_bytes(), &version, &flags, &count].concat());
            }
        }
    }

    /// A head, and blocks of a dictionary with their lists of rows in all forms, as an index of the kind `text` has them.
    #[test]
    fn an_inverted_index_is_harmed_everywhere() {
        const TEXT: u8 = 16;
        let lists = b"\x0f\x3b\x30\0\0\x01\0\0\x13\0\x01\0\0\0\x13\0\x01\x11\x14\0\x01\x1e\0\0\0\x1f\0\0\0\x1f\0\0\0\x1f\0\0\0\x01\x13\0";
        let infos: [&[u8]; 3] = [&[3, 2, 1, 7], &[4, 20, 0, 0, 19], &[0x1c, 20, 16, 0, 19]];
        let tokens = b"\x01\x03\x01a\x01\x01b\0\x01b";
        let count = u8::try_from(lists.len()).unwrap();
        let block = [&[TEXT, 1, count][..], lists, tokens, &infos.concat()].concat();
        let head = [&[TEXT, 0][..], b"\x02\x01\0\x02\x01a\x01b\0\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0"]
            .concat();
        for whole in [block, head] {
            for end in 0..whole.len() {
                fuzz_entry(&whole[..end]);
            }
            for bit in 8..8 * whole.len() {
                let mut harmed = whole.clone();
                harmed[bit / 8] ^= 1 << (bit % 8);
                fuzz_entry(&harmed);
            }
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_entry_or_refused(input in vec(any::<u8>(), 0..200)) {
            fuzz_entry(&input);
        }

        #[test]
        fn small_counts_before_any_bytes(kind in 0_u8..128, count in 0_u64..20, rest in vec(any::<u8>(), 0..200)) {
            fuzz_entry(&[&[kind][..], &count.to_le_bytes(), &rest].concat());
            fuzz_entry(&[&[kind, u8::try_from(count).unwrap()][..], &rest].concat());
        }

        #[test]
        fn any_files_are_read_or_refused(contents in vec(vec(any::<u8>(), 0..120), 4)) {
            fuzz_files(&contents.iter().flat_map(|it| file(it)).collect::<Vec<_>>());
        }
    }
}
