//! What Xapian's own code made of these values, byte by byte: `xapian_vectors.tsv` has function, value and bytes.

#[cfg(test)]
mod tests {
    use tambour_int::xapian::{PostlistKey, unpack_uint_backwards};
    use tambour_int::{IntError, Reader, Writer};

    fn unhex(text: &str) -> Vec<u8> {
        let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    }

    /// The string in `x'..'`, or in `..='..'` as it is.
    fn string(text: &str) -> Vec<u8> {
        let inner = text.split('\'').nth(1).unwrap();
        if text.contains("x'") { unhex(inner) } else { inner.into() }
    }

    fn written(write: impl Fn(&mut Writer<'_>) -> Result<(), IntError>) -> Vec<u8> {
        let mut target = vec![0xaa; 2000];
        let mut writer = Writer::new(&mut target);
        write(&mut writer).unwrap();
        let length = writer.written();
        // A target that just suffices gets the same; one byte less is refused.
        let mut exact = vec![0; length];
        write(&mut Writer::new(&mut exact)).unwrap();
        if let Some(short) = length.checked_sub(1) {
            assert!(write(&mut Writer::new(&mut vec![0; short])).is_err());
        }
        target.truncate(length);
        assert_eq!(exact, target);
        target
    }

    fn check_integer(function: &str, value: u64, bytes: &[u8]) {
        let mut reader = Reader::strict(bytes);
        let (encoded, decoded) = match function {
            "encode_length" => {
                (written(|writer| writer.encode_length(value)), reader.decode_length())
            }
            "pack_uint" => {
                assert_eq!(unpack_uint_backwards(bytes, bytes.len()), Ok((value, 0)));
                (written(|writer| writer.pack_uint(value)), reader.unpack_uint())
            }
            "pack_uint_last" => {
                (written(|writer| writer.pack_uint_last(value)), reader.unpack_uint_last())
            }
            _ => {
                assert_eq!(function, "pack_uint_preserving_sort");
                let encoded = written(|writer| writer.pack_uint_preserving_sort(value));
                (encoded, reader.unpack_uint_preserving_sort())
            }
        };
        assert_eq!(encoded, bytes, "{function} {value}");
        assert_eq!(decoded, Ok(value), "{function} {value}");
        assert!(reader.rest().is_empty(), "{function} {value}");
        if function != "pack_uint_last" {
            for cut in 0..bytes.len() {
                let mut reader = Reader::new(&bytes[..cut]);
                let result = match function {
                    "encode_length" => reader.decode_length::<u64>(),
                    "pack_uint" => reader.unpack_uint(),
                    _ => reader.unpack_uint_preserving_sort(),
                };
                assert!(result.is_err(), "{function} {value} cut at {cut}");
            }
        }
    }

    fn check_string(function: &str, value: &[u8], bytes: &[u8]) {
        let mut reader = Reader::strict(bytes);
        let mut decoded = Vec::new();
        let encoded = if function == "pack_string" {
            decoded.extend(reader.unpack_string().unwrap());
            written(|writer| writer.pack_string(value))
        } else {
            let last = function.ends_with("(last)");
            reader.unpack_string_preserving_sort(last, &mut decoded).unwrap();
            written(|writer| writer.pack_string_preserving_sort(value, last))
        };
        assert_eq!(encoded, bytes, "{function} {value:02x?}");
        assert_eq!(decoded, value, "{function}");
        assert!(reader.rest().is_empty(), "{function} {value:02x?}");
    }

    #[test]
    fn all_of_xapian_s_vectors() {
        let rows: Vec<&str> = include_str!("xapian_vectors.tsv").lines().skip(1).collect();
        for row in &rows {
            let [function, value, hex] = row.split('\t').collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            let bytes = unhex(hex);
            match function {
                "pack_bool" => {
                    let value = value == "true";
                    assert_eq!(written(|writer| writer.pack_bool(value)), bytes);
                    assert_eq!(Reader::new(&bytes).unpack_bool(), Ok(value));
                }
                // A truth value as an integer.
                "pack_uint<bool>" => check_integer("pack_uint", u64::from(value == "true"), &bytes),
                "pack_glass_postlist_key" => {
                    let document = value.split("did=").nth(1).map(|text| text.parse().unwrap());
                    let key = PostlistKey { term: string(value), document };
                    assert_eq!(written(|writer| key.write(writer)), bytes, "{row}");
                    assert_eq!(PostlistKey::read(&bytes), Ok(key), "{row}");
                }
                function if function.starts_with("pack_string") => {
                    check_string(function, &string(value), &bytes);
                }
                function => check_integer(function, value.parse().unwrap(), &bytes),
            }
        }
        assert_eq!(rows.len(), 280);
    }

    /// The table of `docs/format/xapian.md`.
    #[test]
    fn examples_of_the_page() {
        for (function, value, hex) in [
            ("pack_uint", 255, "ff01"),
            ("pack_uint", 12_345, "b960"),
            ("pack_uint", 70_000, "f0a204"),
            ("encode_length", 255, "ff80"),
            ("encode_length", 12_345, "ff3ade"),
            ("encode_length", 70_000, "ff712084"),
            ("pack_uint_last", 0, ""),
            ("pack_uint_last", 255, "ff"),
            ("pack_uint_last", 12_345, "3930"),
            ("pack_uint_last", 70_000, "701101"),
            ("pack_uint_preserving_sort", 255, "00ff"),
            ("pack_uint_preserving_sort", 12_345, "3039"),
            ("pack_uint_preserving_sort", 70_000, "811170"),
            ("pack_uint_preserving_sort", 0x8000, "808000"),
            ("pack_uint_preserving_sort", u64::MAX, "feffffffffffffffff"),
        ] {
            check_integer(function, value, &unhex(hex));
        }
    }
}
