//! Blocks with a good checksum around hostile content, one test for each thing that is wrong: an error that says what and
//! where, without large allocations.

#[cfg(test)]
mod tests {
    use tambour_codec::block::{Block, Decoder, Encoder, Header};
    use tambour_codec::codec::Element;
    use tambour_codec::{CodecError, Kind};
    use tambour_kernel::hash::{Hash128, city_hash_128};

    const MULTIPLE: u8 = 0x91;
    const DELTA: u8 = 0x92;
    const T64: u8 = 0x93;
    const DOUBLE_DELTA: u8 = 0x94;
    const GORILLA: u8 = 0x95;
    const FPC: u8 = 0x98;
    const GCD: u8 = 0x9a;
    const ALP: u8 = 0x9c;

    fn sealed(method: u8, uncompressed_size: u32, payload: &[u8]) -> Vec<u8> {
        let hash = Hash128::default();
        let compressed_size = 9 + u32::try_from(payload.len()).unwrap();
        let mut header = Header { hash, method, compressed_size, uncompressed_size };
        let mut block = [&header.to_bytes()[..], payload].concat();
        header.hash = city_hash_128(&block[16..]);
        block[..16].copy_from_slice(&header.hash.to_bytes());
        block
    }

    fn decode(method: u8, size: u32, payload: &[u8]) -> Result<Vec<u8>, CodecError> {
        let block = sealed(method, size, payload);
        let block = Block::parse(&block)?;
        assert!(size <= 1 << 20, "a size that should have been refused");
        let mut target = Vec::new();
        Decoder::new().decode_append(&block, &mut target)?;
        Ok(target)
    }

    /// What is said about a payload, which has to be about its content.
    fn refused(method: u8, size: u32, payload: &[u8]) -> String {
        let error = decode(method, size, payload).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{error}");
        error.to_string()
    }

    /// A block without checksum, as codecs of a chain hand it on.
    fn inner(method: u8, uncompressed_size: u32, payload: &[u8]) -> Vec<u8> {
        sealed(method, uncompressed_size, payload)[16..].to_vec()
    }

    fn chain(methods: &[u8], body: &[u8]) -> Vec<u8> {
        [&[u8::try_from(methods.len()).unwrap()][..], methods, body].concat()
    }

    #[test]
    fn chain_of_no_codecs() {
        assert_eq!(
            refused(MULTIPLE, 5, &[0]),
            "malformed Multiple payload: a chain of no codecs at 0"
        );
        assert!(refused(MULTIPLE, 0, &[]).contains("the number of codecs is missing at 0"));
    }

    #[test]
    fn chain_of_255_codecs_that_are_not_there() {
        assert!(refused(MULTIPLE, 5, &[255, 2, 2, 2]).contains("more codecs than bytes at 0"));
    }

    /// As long as a chain can be, and nothing wrong with it.
    #[test]
    fn chain_of_255_codecs() {
        let spec = ["NONE"; 255].join(", ");
        let mut encoder = Encoder::new(&spec.parse().unwrap(), Element::BYTES).unwrap();
        let mut block = Vec::new();
        encoder.encode(b"drum", &mut block).unwrap();
        let mut target = Vec::new();
        Decoder::new().decode_append(&Block::parse(&block).unwrap(), &mut target).unwrap();
        assert_eq!(target, b"drum");
    }

    #[test]
    fn chain_inside_of_a_chain() {
        let chained = chain(&[2], &inner(2, 1, b"x"));
        let body = inner(MULTIPLE, 1, &chained);
        let message = refused(MULTIPLE, 1, &chain(&[MULTIPLE], &body));
        assert_eq!(message, "malformed Multiple payload: a chain inside of a chain at 1");
    }

    #[test]
    fn chain_whose_inner_sizes_lie() {
        let good = inner(2, 4, b"drum");
        assert_eq!(decode(MULTIPLE, 4, &chain(&[2], &good)).unwrap(), b"drum");
        for size in [0, 1, 8, 12, 14, 1 << 30, u32::MAX - 8, u32::MAX] {
            let mut body = good.clone();
            body[1..5].copy_from_slice(&size.to_le_bytes());
            assert!(refused(MULTIPLE, 4, &chain(&[2], &body)).contains("compressed size"));
        }
        for size in [0, 3, 5, 1 << 30, u32::MAX] {
            let mut body = good.clone();
            body[5..9].copy_from_slice(&size.to_le_bytes());
            refused(MULTIPLE, 4, &chain(&[2], &body));
        }
        assert!(refused(MULTIPLE, 4, &chain(&[2], &good[..8])).contains("cut short at 2"));
        assert!(refused(MULTIPLE, 4, &chain(&[0x82], &good)).contains("another method"));
    }

    /// 60 bytes that claim a gigabyte are refused before anybody allocates it.
    #[test]
    fn chain_that_claims_more_than_it_can_make() {
        let body = inner(0x82, 20, &[0; 20]);
        assert!(refused(MULTIPLE, 1 << 30, &chain(&[DELTA, 0x82], &body)).contains("size"));
    }

    #[test]
    fn chain_that_makes_us_work_for_nothing() {
        // 64 MiB of zeros in LZ4, of which the next codec makes one byte.
        let zeros = vec![0; 65 << 20];
        let mut block = Vec::new();
        let mut encoder = Encoder::new(&"LZ4".parse().unwrap(), Element::BYTES).unwrap();
        encoder.encode(&zeros, &mut block).unwrap();
        let body = inner(0x82, 65 << 20, &block[25..]);
        let error = decode(MULTIPLE, 1, &chain(&[2, 0x82], &body)).unwrap_err();
        assert_eq!(error.kind(), Kind::Limit, "{error}");
    }

    #[test]
    fn chain_with_an_unknown_codec() {
        let body = inner(2, 10, &inner(0x96, 1, b"x"));
        let error = decode(MULTIPLE, 1, &chain(&[0x96, 2], &body)).unwrap_err();
        assert_eq!(error.to_string(), "method 0x96 (AES_128_GCM_SIV) is not supported");
    }

    #[test]
    fn none_with_short_data() {
        refused(0x02, 5, b"drum");
        assert!(matches!(decode(0x02, 3, b"drum"), Err(CodecError::Size { .. })));
    }

    /// A good payload under a header that says one byte less, one more, or very many more.
    #[test]
    fn uncompressed_sizes_that_lie() {
        let source: Vec<u8> = (0..4000_u32).flat_map(|n| (3 * n).to_le_bytes()).collect();
        let length = u32::try_from(source.len()).unwrap();
        let element = Element { width: 4, class: tambour_codec::codec::Class::Unsigned };
        let floats = Element { width: 4, class: tambour_codec::codec::Class::Float };
        for (spec, element) in [
            ("LZ4", element),
            ("ZSTD(3)", element),
            ("Delta", element),
            ("DoubleDelta", element),
            ("T64", element),
            ("GCD", element),
            ("Gorilla", floats),
            ("FPC", floats),
            ("ALP", floats),
            ("Delta, LZ4", element),
            ("T64, ZSTD(1)", element),
        ] {
            let (mut encoder, mut block) =
                (Encoder::new(&spec.parse().unwrap(), element).unwrap(), Vec::new());
            encoder.encode(&source, &mut block).unwrap();
            let (method, payload) = (block[16], &block[25..]);
            assert_eq!(decode(method, length, payload).unwrap(), source, "{spec}");
            // Groups of values have room for some more: by a few bytes T64, FPC and ALP cannot tell.
            let is_grouped = ["T64", "FPC", "ALP"].iter().any(|name| spec.starts_with(name));
            let near = [0, 1, length - 4, length - 1, length + 1, length + 4];
            let near = if is_grouped { &[][..] } else { &near[..] };
            for &lie in near.iter().chain(&[length / 2, 2 * length, 1 << 20]) {
                let decoded = decode(method, lie, payload).map(|bytes| bytes.len());
                let error = decoded.unwrap_err();
                assert!(
                    matches!(error.kind(), Kind::Corrupt | Kind::Limit),
                    "{spec}, {lie} for {length}: {error}"
                );
            }
        }
    }

    #[test]
    fn methods_that_nobody_knows() {
        for method in [0, 1, 0x42, 0x96, 0x97, 0x99, 0x9b, 0x9d, 0x9e, 0x9f, 0xff] {
            let error = decode(method, 1, b"x").unwrap_err();
            assert_eq!(error.kind(), Kind::Unsupported);
            assert!(error.to_string().contains(&format!("{method:#04x}")), "{error}");
        }
    }

    #[test]
    fn widths_that_there_are_not() {
        for method in [DELTA, DOUBLE_DELTA, GORILLA, GCD] {
            for width in [0, 3, 5, 7, 9, 64, 255] {
                let message = refused(method, 8, &[width, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                assert!(message.ends_with("an unknown width at 0"), "{message}");
            }
        }
        for method in [DELTA, DOUBLE_DELTA, GORILLA] {
            for width in [16, 32] {
                refused(method, 8, &[width, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            }
        }
    }

    #[test]
    fn payloads_that_end_in_their_prefix() {
        for method in [DELTA, DOUBLE_DELTA, GORILLA, GCD, T64, FPC, ALP] {
            refused(method, 0, &[]);
            for length in 1..8 {
                // A width, or a type, or a version; then zeros.
                let first = if method == ALP { 1 } else { 4 };
                let payload = [first, 0, 0, 0, 0, 0, 0];
                let size = u32::try_from(length).unwrap().min(20);
                refused(method, size, &payload[..length]);
            }
        }
    }

    #[test]
    fn delta_of_another_length() {
        refused(DELTA, 8, &[4, 0, 1, 2, 3, 4, 5, 6, 7]);
        refused(DELTA, 8, &[4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(decode(DELTA, 3, &[4, 3, 1, 2, 3]).unwrap(), [1, 2, 3]);
    }

    /// As many leading bytes as there are bytes, whatever the prefix says.
    #[test]
    fn leading_bytes_that_are_all_bytes() {
        for method in [DOUBLE_DELTA, GORILLA] {
            for stated in [0, 3, 255] {
                let payload = [8, stated, 1, 2, 3, 0, 0, 0, 0];
                assert_eq!(decode(method, 3, &payload).unwrap(), [1, 2, 3]);
            }
            refused(method, 3, &[8, 3, 1, 2]);
        }
    }

    #[test]
    fn counts_that_lie() {
        for method in [DOUBLE_DELTA, GORILLA] {
            for count in [0, 1, 3, 1 << 30, u32::MAX] {
                let mut payload = vec![4, 0];
                payload.extend(u32::to_le_bytes(count));
                payload.extend([0; 20]);
                let message = refused(method, 8, &payload);
                assert!(message.contains("count of values differs") && message.ends_with("at 2"));
            }
        }
    }

    #[test]
    fn bits_that_end_too_early() {
        for method in [DOUBLE_DELTA, GORILLA] {
            let mut payload = vec![4, 0];
            payload.extend(u32::to_le_bytes(1000));
            payload.extend([0; 100]);
            let message = refused(method, 4000, &payload);
            assert!(message.contains("bits end before the last value"), "{message}");
        }
    }

    #[test]
    fn double_delta_with_every_prefix_of_ones() {
        for ones in [0x80, 0xc0, 0xe0, 0xf0, 0xf8, 0xff] {
            let mut payload = vec![8, 0];
            payload.extend(u32::to_le_bytes(4));
            payload.extend([0xff; 16]);
            payload.extend([ones; 18]);
            assert_eq!(decode(DOUBLE_DELTA, 32, &payload).unwrap().len(), 32);
            payload.truncate(23);
            refused(DOUBLE_DELTA, 32, &payload);
        }
    }

    /// Two values: the first, and a record of these fields.
    fn gorilla(width: u8, leading: u128, bits: u128) -> Vec<u8> {
        let field = u32::from(width).trailing_zeros() + 4;
        let record = (3 << (field - 1) | leading) << field | bits;
        let mut payload = vec![width, 0, 2, 0, 0, 0];
        payload.extend(vec![0; width.into()]);
        payload.extend((record << (128 - 2 * field - 1)).to_be_bytes());
        payload
    }

    #[test]
    fn gorilla_with_more_bits_than_a_value() {
        for width in [1, 2, 4, 8] {
            let all = 8 * u128::from(width);
            assert!(decode(GORILLA, 2 * u32::from(width), &gorilla(width, 0, all)).is_ok());
            assert!(decode(GORILLA, 2 * u32::from(width), &gorilla(width, all - 1, 1)).is_ok());
            for (leading, bits) in [(1, all), (all - 1, 2), (all - 1, all), (0, all + 1), (0, 0)] {
                let message =
                    refused(GORILLA, 2 * u32::from(width), &gorilla(width, leading, bits));
                let at = 6 + usize::from(width);
                assert!(message.ends_with(&format!("do not fit the width at {at}")), "{message}");
            }
        }
    }

    #[test]
    fn gorilla_with_bits_before_any_record() {
        let payload = [4, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0];
        assert!(refused(GORILLA, 8, &payload).contains("bits without a place at 10"));
    }

    fn t64(cookie: u8, low: i64, high: i64, packed: usize) -> Vec<u8> {
        let mut payload = vec![cookie];
        payload.extend(low.to_le_bytes());
        payload.extend(high.to_le_bytes());
        payload.resize(17 + packed, 0);
        payload
    }

    #[test]
    fn t64_types_that_there_are_not() {
        for cookie in [0, 5, 10, 11, 12, 16, 25, 0x7f, 0x80, 0xff] {
            let message = refused(T64, 8, &t64(cookie, 0, 0, 0));
            assert!(message.ends_with("an unknown type at 0"), "{message}");
        }
    }

    #[test]
    fn t64_ranges_that_lie() {
        // Unsigned and signed words of four bytes.
        for (cookie, low, high) in [
            (3, 5, 4),
            (3, 0, 1 << 32),
            (3, -1, 0),
            (3, -1, -1),
            (8, 1, 0),
            (8, i64::from(i32::MIN) - 1, 0),
            (8, 0, i64::from(i32::MAX) + 1),
            (8, i64::MIN, i64::MAX),
        ] {
            for packed in [0, 256, 512] {
                let message = refused(T64, 8, &t64(cookie, low, high, packed));
                assert!(message.ends_with("outside the type at 1"), "{message}");
            }
        }
    }

    #[test]
    fn t64_planes_of_another_size() {
        assert!(decode(T64, 8, &t64(3, 0, 7, 24)).is_ok());
        for packed in [0, 1, 23, 25, 48] {
            refused(T64, 8, &t64(3, 0, 7, packed));
        }
        refused(T64, 8, &t64(3, 7, 7, 1));
        // As many bits as there are.
        assert!(decode(T64, 8, &t64(9, i64::MIN, i64::MAX, 512)).is_ok());
        assert!(decode(T64, 8, &t64(4, 0, -1, 512)).is_ok());
    }

    /// Equal values have no planes, so that the size has no payload to show for it.
    #[test]
    fn t64_of_one_value_that_claims_a_gigabyte() {
        assert!(decode(T64, 1 << 20, &t64(3, 7, 7, 0)).is_ok());
        assert!(refused(T64, 1 << 30, &t64(3, 7, 7, 0)).contains("uncompressed size"));
    }

    #[test]
    fn gcd_of_zero() {
        let payload = [4, 0, 0, 0, 0, 0, 7, 0, 0, 0];
        assert_eq!(decode(GCD, 4, &payload).unwrap(), [0; 4]);
        refused(GCD, 4, &payload[..9]);
        refused(GCD, 8, &payload);
    }

    #[test]
    fn fpc_levels_and_widths_that_there_are_not() {
        for width in [0, 1, 2, 3, 5, 7, 16, 255] {
            assert!(refused(FPC, 8, &[width, 12, 0x77]).ends_with("at 0"));
        }
        for level in [0, 29, 32, 64, 255] {
            assert!(refused(FPC, 8, &[8, level, 0x77]).ends_with("an unknown level at 1"));
        }
    }

    /// The highest level asks for 4 GiB of tables.
    #[test]
    fn fpc_of_the_highest_level() {
        let mut encoder = Encoder::new(&"FPC(28)".parse().unwrap(), Element::UNKNOWN).unwrap();
        let (mut block, source) = (Vec::new(), [7; 100]);
        encoder.encode(&source, &mut block).unwrap();
        let mut target = Vec::new();
        Decoder::new().decode_append(&Block::parse(&block).unwrap(), &mut target).unwrap();
        assert_eq!(target, source);
    }

    #[test]
    fn fpc_that_ends_too_early_or_too_late() {
        assert!(decode(FPC, 8, &[8, 12, 0x77]).is_ok());
        assert!(refused(FPC, 8, &[8, 12, 0x07, 1, 2, 3]).contains("value cut short at 3"));
        assert!(refused(FPC, 24, &[8, 12, 0x77]).contains("before the last pair at 3"));
        assert!(refused(FPC, 8, &[8, 12, 0x77, 0]).contains("trailing bytes at 3"));
        assert!(refused(FPC, 8, &[4, 12, 0x55]).contains("more zero bytes than a value has"));
    }

    fn alp(exponent: u8, factor: u8, exceptions: u16, bits: u8, rest: &[u8]) -> Vec<u8> {
        let mut payload = vec![1, 8, 0, 4, exponent, factor];
        payload.extend(exceptions.to_le_bytes());
        payload.push(bits);
        payload.extend([0; 8]);
        payload.extend(rest);
        payload
    }

    #[test]
    fn alp_fields_that_lie() {
        assert_eq!(decode(ALP, 16, &alp(0, 0, 0, 0, &[])).unwrap(), [0; 16]);
        assert!(refused(ALP, 16, &alp(19, 0, 0, 0, &[])).contains("an unknown power of ten"));
        assert!(refused(ALP, 16, &alp(0, 19, 0, 0, &[])).contains("an unknown power of ten"));
        assert!(refused(ALP, 16, &alp(0, 0, 0, 65, &[0; 9000])).contains("more than 64 bits"));
        assert!(refused(ALP, 16, &alp(0, 0, 0, 64, &[0; 8191])).contains("cut short"));
        assert!(refused(ALP, 16, &alp(0, 0, 0xffff, 0, &[0; 20])).contains("cut short"));
        assert!(refused(ALP, 16, &alp(0, 0, 0, 0, &[0])).contains("trailing bytes"));
        assert!(refused(ALP, 15, &alp(0, 0, 0, 0, &[])).contains("width"));
        let exception = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert!(refused(ALP, 16, &alp(0, 0, 1, 0, &exception)).contains("past the end at 17"));
        assert!(refused(ALP, 16, &[1, 8, 1, 4]).contains("do not have 1024 values at 2"));
        assert!(refused(ALP, 16, &[1, 2, 0, 4]).contains("an unknown width at 1"));
        assert!(refused(ALP, 16, &[1, 8, 0, 4, 0xff, 0]).contains("cut short at 4"));
    }

    #[test]
    fn alp_in_its_other_variant() {
        for meta in [0x11, 0x02, 0x21, 0x00] {
            let error = decode(ALP, 16, &[meta, 8, 0, 4, 0, 0, 0]).unwrap_err();
            assert_eq!(error.kind(), Kind::Unsupported, "{error}");
        }
        let error = decode(ALP, 16, &[0x11, 8, 0, 4]).unwrap_err();
        assert_eq!(error.to_string(), "codec ALP in its RD variant is not supported");
    }

    /// What a specification asks for and the elements do not suit.
    #[test]
    fn types_that_do_not_suit() {
        use tambour_codec::codec::Class::{Bytes, Float, Signed, Unsigned};
        let refusal = |spec: &str, class, width| {
            let error = Encoder::new(&spec.parse().unwrap(), Element { width, class }).unwrap_err();
            assert_eq!(error.kind(), Kind::Argument);
            error.to_string()
        };
        assert_eq!(
            refusal("T64", Float, 8),
            "codec specification \"T64()\": works on unsigned integers or signed integers of 1, \
             2, 4 or 8 bytes, and the column has floats of 8 bytes"
        );
        assert!(
            refusal("T64", Unsigned, 16).ends_with("the column has unsigned integers of 16 bytes")
        );
        assert!(refusal("Delta, LZ4", Bytes, 1).ends_with("the column has text or bytes"));
        assert!(refusal("Delta", Bytes, 16).ends_with("the column has bytes, 16 at a time"));
        assert!(refusal("Gorilla", Signed, 4).contains("works on floats of 1, 2, 4 or 8 bytes"));
        assert!(refusal("FPC", Unsigned, 4).contains("works on floats of 8 or 4 bytes"));
        assert!(refusal("FPC", Float, 2).contains("of 2 bytes"));
        assert!(refusal("ALP", Signed, 8).contains("floats"));
        assert!(refusal("GCD", Float, 8).contains("integers"));
        assert!(refusal("Delta(3)", Unsigned, 4).ends_with("the width is 1, 2, 4 or 8"));
        assert!(refusal("Delta(4, 4)", Unsigned, 4).ends_with("takes one argument, the width"));
        assert!(refusal("GCD(4)", Unsigned, 4).ends_with("takes no arguments"));
        assert!(refusal("T64('x')", Unsigned, 4).contains("'byte', 'bit' or 'padded'"));
        assert!(refusal("FPC(29)", Float, 4).contains("the level is 1 to 28"));
        assert!(refusal("Multiple", Float, 4).contains("a chain is written as its codecs"));
    }
}
