//! Codecs that only we have: what they write, and hostile payloads.

#[cfg(test)]
mod tests {
    use tambour_codec::block::{Block, Decoder, Encoder, Header};
    use tambour_codec::codec::{Class, Element, FAMILIES, is_portable};
    use tambour_codec::{CodecError, Kind};
    use tambour_kernel::hash::{Hash128, city_hash_128};

    const PFOR: u8 = 0xe0;
    const STREAM_VBYTE: u8 = 0xe1;
    const PCO: u8 = 0xe2;
    const FSST: u8 = 0xe3;

    fn sealed(method: u8, uncompressed_size: u32, payload: &[u8]) -> Vec<u8> {
        let hash = Hash128::default();
        let compressed_size = 9 + u32::try_from(payload.len()).unwrap();
        let mut header = Header { hash, method, compressed_size, uncompressed_size };
        let mut block = [&header.to_bytes()[..], payload].concat();
        header.hash = city_hash_128(&block[16..]);
        block[..16].copy_from_slice(&header.hash.to_bytes());
        block
    }

    fn decode(block: &[u8]) -> Result<Vec<u8>, CodecError> {
        let block = Block::parse(block)?;
        let mut target = Vec::new();
        Decoder::new().decode_append(&block, &mut target)?;
        Ok(target)
    }

    fn refused(method: u8, size: u32, payload: &[u8]) -> String {
        let error = decode(&sealed(method, size, payload)).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{error}");
        error.to_string()
    }

    fn encode(spec: &str, width: u8, class: Class, source: &[u8]) -> Vec<u8> {
        let mut block = Vec::new();
        let element = Element { width, class };
        Encoder::new(&spec.parse().unwrap(), element).unwrap().encode(source, &mut block).unwrap();
        assert_eq!(decode(&block).unwrap(), source, "{spec}, {class:?} of {width}");
        block
    }

    fn columns(width: usize) -> Vec<Vec<u8>> {
        let word = |value: u64| value.to_le_bytes()[..width].to_vec();
        let mut state = 1_u64;
        let mut noise = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 11
        };
        let random: Vec<u64> = (0..3000).map(|_| noise()).collect();
        vec![
            Vec::new(),
            vec![7],
            (0..3000_u64).flat_map(word).collect(),
            (0..3000_u64)
                .flat_map(|k| word(k % 50 + if k % 997 == 0 { 1 << 20 } else { 0 }))
                .collect(),
            random.iter().flat_map(|&value| word(value)).collect(),
            (0..2000_u64).flat_map(|k| word(k.wrapping_sub(1000))).collect(),
            vec![0xff; 4096 + 3],
        ]
    }

    #[test]
    fn they_give_back_what_they_got() {
        for spec in ["PFOR", "StreamVByte", "Pco", "Pco(0)", "PFOR, LZ4", "StreamVByte, ZSTD(1)"] {
            for (width, class) in [1, 2, 4, 8]
                .into_iter()
                .flat_map(|width| [Class::Unsigned, Class::Signed].map(|class| (width, class)))
            {
                for source in columns(usize::from(width)) {
                    encode(spec, width, class, &source);
                }
            }
        }
        for width in [4, 8] {
            for source in columns(usize::from(width)) {
                encode("Pco", width, Class::Float, &source);
            }
        }
    }

    #[test]
    fn they_are_small_where_they_should_be() {
        let near: Vec<u8> =
            (0..10_000_u64).flat_map(|k| ((1 << 50) | (k % 100)).to_le_bytes()).collect();
        assert!(encode("PFOR", 8, Class::Unsigned, &near).len() < 10_000);
        assert!(encode("StreamVByte", 8, Class::Signed, &near).len() < 13_000);
        assert!(encode("Pco", 8, Class::Signed, &near).len() < 10_000);
    }

    /// The worked example of `docs/format/codecs.md`.
    #[test]
    fn the_documented_payload() {
        let source: Vec<u8> = [7_u32, 8, 9, 10].iter().flat_map(|v| v.to_le_bytes()).collect();
        let block = encode("StreamVByte", 4, Class::Unsigned, &source);
        assert_eq!(block[25..], [4, 0, 0, 7, 0, 0, 0, 0x54, 1, 2, 3]);
        let block = encode("T64('padded')", 1, Class::Unsigned, &[1, 2, 3, 1, 0]);
        assert_eq!(block[25], 1);
        assert_eq!(block[26..42], [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(block[42..48], [1, 2, 3, 1, 0, 0]);
        assert_eq!(block.len(), 42 + 64);
    }

    #[test]
    fn only_ours_are_not_portable() {
        for family in FAMILIES {
            let is_ours = [PFOR, STREAM_VBYTE, PCO, FSST].contains(&family.method);
            assert_eq!(is_portable(family.method), !is_ours, "{}", family.name);
        }
    }

    #[test]
    fn payloads_cut_short() {
        for method in [PFOR, STREAM_VBYTE, PCO] {
            for payload in [&[][..], &[4], &[4, 0], &[3, 0, 0], &[4, 0, 0, 1, 2]] {
                refused(method, 64, payload);
            }
        }
    }

    #[test]
    fn forms_that_there_are_not() {
        assert!(refused(PFOR, 4, &[4, 0, 2, 0, 0, 0, 0, 0]).contains("no such form"));
        assert!(refused(STREAM_VBYTE, 4, &[4, 0, 1, 0, 0, 0, 0, 0]).contains("no such form"));
        assert!(refused(PCO, 4, &[4, 0, 9, 0, 0, 0, 0, 0]).contains("type"));
        assert!(refused(PFOR, 8, &[4, 0, 0xff, 1, 2, 3, 4]).contains("another size"));
    }

    #[test]
    fn bytes_behind_the_end() {
        for (spec, class) in [("PFOR", Class::Unsigned), ("StreamVByte", Class::Unsigned)] {
            let source: Vec<u8> = (0..1000_u32).flat_map(|k| (k % 9).to_le_bytes()).collect();
            let block = encode(spec, 4, class, &source);
            let payload = [&block[25..], &[0]].concat();
            let said = refused(block[16], 4000, &payload);
            assert!(said.contains("trailing bytes"), "{said}");
        }
    }

    fn words() -> Vec<u8> {
        let word = |k: u64| {
            ["http://", "example.org", "/index", ".html?", "id="][(k * k % 97 % 5) as usize]
        };
        (0..4000).flat_map(|k| format!("{}{}", word(k), k % 10).into_bytes()).collect()
    }

    #[test]
    fn texts_as_symbols() {
        let mut sources = columns(1);
        sources.extend([
            words(),
            vec![0; 100_000],
            (0..=255).collect(),
            b"a".to_vec(),
            vec![255; 9],
        ]);
        let zeros_at_the_end = [&words()[..], &[0; 5]].concat();
        sources.push(zeros_at_the_end);
        for spec in ["FSST", "FSST, ZSTD(1)", "Delta(1), FSST"] {
            for source in &sources {
                encode(spec, 1, Class::Bytes, source);
                encode(spec, 1, Class::Bytes, &source[source.len() / 3..]);
            }
        }
        let source = words();
        let block = encode("FSST", 1, Class::Bytes, &source);
        assert!(3 * block.len() < source.len(), "{} of {}", block.len(), source.len());
        assert_eq!(block, encode("FSST", 1, Class::Bytes, &source), "the same payload again");
        assert!("FSST(1)".parse().is_ok_and(|spec| {
            Encoder::new(&spec, Element::BYTES).is_err_and(|error| error.kind() == Kind::Argument)
        }));
    }

    /// The worked example of `docs/format/codecs.md`, and what else may stand there.
    #[test]
    fn symbols_as_documented() {
        let payload = [2, 3, 1, b'a', b'b', b'c', b'-', 0, 1, 0, 255, b'!'];
        assert_eq!(decode(&sealed(FSST, 8, &payload)).unwrap(), b"abc-abc!");
        assert_eq!(decode(&sealed(FSST, 1, &[0, 255, 7])).unwrap(), [7]);
        assert_eq!(decode(&sealed(FSST, 0, &[0])).unwrap(), Vec::<u8>::new());
    }

    #[test]
    fn hostile_symbols() {
        for (size, payload, reason) in [
            (0, &[][..], "no table"),
            (1, &[1], "the table ends early"),
            (1, &[255, 1, 1], "the table ends early"),
            (8, &[1, 8, b'a', b'b'], "the table ends early"),
            (1, &[1, 0, 0], "a symbol that does not have one to eight bytes"),
            (
                8,
                &[1, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0],
                "a symbol that does not have one to eight bytes",
            ),
            (1, &[1, 1, b'a', 1], "no such symbol"),
            (1, &[0, 254], "no such symbol"),
            (1, &[0, 255], "an escape of nothing"),
            (2, &[1, 3, b'a', b'b', b'c', 0], "more bytes than the block's"),
            (9, &[1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0], "more bytes than the block's"),
            (8, &[1, 3, b'a', b'b', b'c', 0, 0], "fewer bytes than the block's"),
            (4, &[1, 1, b'a', 0], "fewer bytes than the block's"),
        ] {
            let said = refused(FSST, size, payload);
            assert!(said.contains(reason), "{said}: {payload:?}");
        }
        // Eight bytes each at most: a header that claims more is not believed.
        let said = refused(FSST, 1 << 20, &[1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
        assert!(!said.contains("FSST"), "{said}");
        let mut state = 1_u64;
        for length in 0..2_000_usize {
            let bytes: Vec<u8> = (0..length % 300)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8
                })
                .collect();
            drop(decode(&sealed(FSST, u32::try_from(length).unwrap(), &bytes)));
        }
    }

    /// Every byte of a payload changed: an error, or other values; nothing worse.
    #[test]
    fn changed_bytes() {
        let source: Vec<u8> = (0..700_u64).flat_map(|k| (k * k % 1000).to_le_bytes()).collect();
        for spec in ["PFOR", "StreamVByte", "Pco", "FSST"] {
            let block = encode(spec, 8, Class::Unsigned, &source);
            for at in 25..block.len() {
                for change in [1, 0x80, 0xff] {
                    let mut payload = block[25..].to_vec();
                    payload[at - 25] ^= change;
                    if let Err(error) = decode(&sealed(block[16], 5600, &payload)) {
                        assert!(matches!(error.kind(), Kind::Corrupt | Kind::Limit), "{error}");
                    }
                }
            }
        }
    }
}
