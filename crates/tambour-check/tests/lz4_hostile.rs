//! One test for each way in which an LZ4 block can be hostile. Most of them are published weaknesses of decoders.

#[cfg(test)]
mod tests {
    use tambour_check::lz4::{
        Claim, batch_alike, decode_alike, decode_like_others, dictionary_alike, encode,
        partial_of_hostile,
    };
    use tambour_check::oracle::{c_lz4_decode, naive_lz4_decode};
    use tambour_kernel::lz4::Malformed;

    /// The bytes of a sequence; without a match it is the last one.
    fn append(block: &mut Vec<u8>, literals: &[u8], found: Option<(u16, usize)>) {
        let (nibble, rest) = half(literals.len());
        let (match_nibble, match_rest) = found.map_or((0, vec![]), |(_, length)| half(length - 4));
        block.push(nibble << 4 | match_nibble);
        block.extend(rest);
        block.extend(literals);
        if let Some((offset, _)) = found {
            block.extend(offset.to_le_bytes());
        }
        block.extend(match_rest);
    }

    /// The half of a token for a length, and the bytes that extend it.
    fn half(length: usize) -> (u8, Vec<u8>) {
        let Some(rest) = length.checked_sub(15) else {
            return (u8::try_from(length).unwrap(), vec![]);
        };
        let mut more = vec![255; rest / 255];
        more.push(u8::try_from(rest % 255).unwrap());
        (15, more)
    }

    /// Enough before the interesting sequence that the fast loops are at work, and enough after it.
    fn padded(literals: &[u8], found: (u16, usize)) -> Claim {
        let mut block = Vec::new();
        let lead: Vec<u8> = (0..=255).collect();
        append(&mut block, &lead, Some((200, 60)));
        append(&mut block, literals, Some(found));
        append(&mut block, &[7; 400], None);
        (block, 256 + 60 + literals.len() + found.1 + 400)
    }

    fn refused(block: &[u8], length: usize) -> Malformed {
        decode_like_others(block, length);
        decode_alike(block, length).unwrap_err()
    }

    #[test]
    fn offset_zero() {
        for length in [4, 18, 19, 64, 65, 300] {
            let (block, length) = padded(b"abc", (0, length));
            let fault = refused(&block, length);
            assert!(matches!(fault, Malformed::Offset { offset: 0, .. }), "{fault:?}");
        }
    }

    /// RUSTSEC-2026-0041, CVE-2024-36114, CVE-2025-12183, CVE-2021-42387: bytes before the target must not be seen.
    #[test]
    fn offset_beyond_what_is_written() {
        for beyond in [1, 2, 60, 64, 65_535 - 319] {
            let (block, length) = padded(b"abc", (319 + beyond, 20));
            let fault = refused(&block, length);
            assert!(matches!(fault, Malformed::Offset { written: 319, .. }), "{fault:?}");
        }
        let (block, length) = padded(b"abc", (319, 20));
        assert!(decode_alike(&block, length).is_ok());
    }

    #[test]
    fn offset_before_a_dictionary() {
        let dictionary: Vec<u8> = (0..100).collect();
        for (offset, good) in [(419, true), (420, false), (65_535, false)] {
            let (block, length) = padded(b"abc", (offset, 120));
            dictionary_alike(&dictionary, &block, length);
            let decoded =
                tambour_check::oracle::naive_lz4_decode_behind(&dictionary, &block, length);
            assert_eq!(decoded.is_some(), good);
        }
    }

    #[test]
    fn literals_past_the_source() {
        for length in [1, 14, 15, 64, 65, 300, 70_000] {
            let mut block = Vec::new();
            append(&mut block, &vec![7; length], None);
            block.pop();
            let fault = refused(&block, length);
            assert!(matches!(fault, Malformed::LiteralsPastSource { .. }), "{fault:?}");
        }
    }

    /// CVE-2021-43304: a copy in pieces goes on past the target.
    #[test]
    fn literals_past_the_target() {
        for length in [1, 14, 15, 64, 65, 300, 70_000] {
            let mut block = Vec::new();
            append(&mut block, &vec![7; length], None);
            let fault = refused(&block, length - 1);
            assert!(matches!(fault, Malformed::LiteralsPastTarget { .. }), "{fault:?}");
        }
    }

    /// CVE-2021-43305: the same for matches.
    #[test]
    fn match_past_the_target() {
        for match_length in [4, 18, 19, 64, 65, 300, 70_000] {
            for offset in [1, 2, 7, 8, 15, 16, 31, 33, 64, 65, 200] {
                let mut block = Vec::new();
                append(&mut block, &[7; 200], Some((offset, match_length)));
                append(&mut block, b"end!!", None);
                for short in 1..=match_length.min(70) {
                    let fault = refused(&block, 200 + match_length - short);
                    assert!(matches!(fault, Malformed::MatchPastTarget { .. }), "{fault:?}");
                }
            }
        }
    }

    /// CVE-2021-3520 and lz4#972: a length that does not fit into 32 bits, or is negative there.
    #[test]
    fn lengths_that_overflow() {
        for full in [1 << 10, (1 << 23) + (1 << 16), (1 << 24) + (1 << 17)] {
            let mut literals = vec![0xf0];
            literals.resize(1 + full, 255);
            literals.extend([3, 1, 2, 3]);
            let mut found = b"\x1fa\x01\x00".to_vec();
            found.resize(4 + full, 255);
            found.extend([3, 0x50, 1, 2, 3, 4, 5]);
            for block in [literals, found] {
                for length in [0, 1, 100, 70_000] {
                    assert!(decode_alike(&block, length).is_err());
                    partial_of_hostile(&block, length);
                }
            }
        }
    }

    #[test]
    fn truncated_at_every_byte() {
        let (block, length) = padded(&[9; 40], (3, 90));
        for cut in 0..block.len() {
            refused(&block[..cut], length);
            partial_of_hostile(&block[..cut], length);
        }
    }

    #[test]
    fn wrong_claimed_size() {
        let (block, length) = padded(&[9; 40], (3, 90));
        assert!(decode_alike(&block, length).is_ok());
        for wrong in (0..length).chain(length + 1..length + 200).chain([1 << 20]) {
            refused(&block, wrong);
        }
    }

    #[test]
    fn empty_source() {
        for length in [0, 1, 100] {
            assert_eq!(refused(b"", length), Malformed::Truncated { at: 0 });
        }
    }

    /// ClickHouse#115704: an empty block that claims a size.
    #[test]
    fn empty_block_of_a_claimed_size() {
        assert_eq!(decode_alike(b"\0", 0), Ok(vec![]));
        assert_eq!(refused(b"\0", 5), Malformed::Short { written: 0, expected: 5 });
    }

    /// We accept what breaks the rules that bind encoders, if it is well formed otherwise.
    #[test]
    fn rules_for_the_end_are_broken() {
        for last in 0..5 {
            for found in [(1, 4), (5, 20), (64, 70)] {
                let mut block = Vec::new();
                append(&mut block, &[7; 100], Some(found));
                append(&mut block, &[8; 5][..last], None);
                let length = 100 + found.1 + last;
                let decoded = decode_alike(&block, length).unwrap();
                assert_eq!(Some(decoded), naive_lz4_decode(&block, length));
                decode_like_others(&block, length);
            }
        }
    }

    /// What is taken by us, by C lz4, or by one of the two: offset zero and the end of a block are all that differs.
    #[test]
    fn c_lz4_takes_offset_zero_and_we_do_not() {
        let block = b"\x40abcd\x00\x00\xc0efghijklmnop";
        let mut target = [0; 20];
        assert!(c_lz4_decode(block, &mut target));
        assert!(matches!(refused(block, 20), Malformed::Offset { offset: 0, .. }));
    }

    #[test]
    fn overlaps_of_every_offset_and_alignment() {
        for offset in 1..=80_u16 {
            for lead in 0..32 {
                for length in [4, 12, 18, 19, 33, 64, 65, 130, 400] {
                    let literals: Vec<u8> = (0..lead + offset.to_le_bytes()[0]).collect();
                    let mut block = Vec::new();
                    append(&mut block, &literals, Some((offset, length)));
                    append(&mut block, &[200; 170], None);
                    let decoded = decode_alike(&block, literals.len() + length + 170);
                    assert!(decoded.is_ok(), "{offset} {lead} {length}");
                }
            }
        }
    }

    /// Prefilled targets are part of every law; here one in which every bit of the target could leak.
    #[test]
    fn stale_bytes_do_not_survive() {
        for offset in 1..=70 {
            let (block, length) = padded(&[1; 3], (offset, 64));
            assert!(decode_alike(&block, length).is_ok());
        }
    }

    /// A good block beside hostile ones, empty ones and tiny ones, in every order.
    #[test]
    fn hostile_blocks_beside_good_ones() {
        let source: Vec<u8> = (0..30_000_u32).flat_map(|k| (k / 7 * 3).to_le_bytes()).collect();
        let good = |length: usize| (encode(&source[..length], 1), length);
        let mut cut = good(70_000);
        cut.0.truncate(cut.0.len() / 2);
        let mut long = good(70_000);
        long.1 += 1;
        let mut claims = vec![
            good(65_536),
            cut,
            good(0),
            good(1),
            padded(b"abc", (0, 30)),
            long,
            good(120_000),
            (vec![], 10),
            good(65_536),
            good(13),
        ];
        for _ in 0..claims.len() {
            claims.rotate_left(1);
            batch_alike(&claims);
            batch_alike(&claims[..2]);
            batch_alike(&claims[..3]);
        }
    }
}
