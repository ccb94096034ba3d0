//! Column files that ClickHouse 26.9 wrote, with every codec: they decode to the right bytes, and where the encoder has no
//! choice, ours writes the same ones. `oracle/codec_vectors.py` makes the vectors; `cargo xtask vectors` makes many
//! more, which are not kept, and replays them.

#[cfg(test)]
mod tests {
    use tambour_codec::block::stream::Blocks;
    use tambour_codec::block::{Decoder, Encoder};
    use tambour_codec::codec::{Class, Element};
    use tambour_codec::{CodecError, Kind};

    fn bytes(hex: &str) -> Vec<u8> {
        let pair = |k| u8::from_str_radix(&hex[k..k + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(pair).collect()
    }

    /// Decodes a file block by block; compares each with what our encoder makes of the same bytes, or decodes that again.
    fn check(spec: &str, element: Element, same: bool, file: &[u8]) -> Result<Vec<u8>, CodecError> {
        let (mut decoder, mut decoded) = (Decoder::new(), Vec::new());
        let mut encoder = Encoder::new(&spec.parse()?, element)?;
        for placed in Blocks::new(file) {
            let placed = placed?;
            let start = decoded.len();
            decoder.decode_append(&placed.item, &mut decoded)?;
            let mut ours = Vec::new();
            encoder.encode(&decoded[start..], &mut ours)?;
            let theirs = &file[placed.offset..placed.offset + placed.item.block_bytes()];
            if same {
                assert_eq!(ours, theirs, "{spec}: other bytes at {}", placed.offset);
            }
            let block = Blocks::new(&ours).next().unwrap()?;
            let mut again = Vec::new();
            decoder.decode_append(&block.item, &mut again)?;
            assert_eq!(again, decoded[start..], "{spec}");
        }
        Ok(decoded)
    }

    fn replay(vectors: &str) {
        let mut count = 0;
        for line in vectors.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [data_type, class, width, spec, same, raw, file] = fields[..] else {
                panic!("{line}")
            };
            let class = match class {
                "unsigned" => Class::Unsigned,
                "signed" => Class::Signed,
                "float" => Class::Float,
                // Types whose encoded form names them.
                _ => Class::Unsigned,
            };
            let element = Element { width: width.parse().unwrap(), class };
            match check(spec, element, same == "same", &bytes(file)) {
                Ok(decoded) => assert_eq!(decoded, bytes(raw), "{data_type} {spec}"),
                Err(error) if error.to_string().contains("RD") => {
                    assert_eq!(error.kind(), Kind::Unsupported);
                }
                Err(error) => panic!("{data_type} {spec}: {error}"),
            }
            count += 1;
        }
        assert!(count > 20);
    }

    #[test]
    fn vectors_of_clickhouse() {
        replay(include_str!("vectors/clickhouse.tsv"));
    }

    /// Bytes of a list of values.
    fn values(data_type: &str, list: &str) -> Vec<u8> {
        let items = list.trim_matches(['[', ']']).split(',');
        let value = |item: &str| match data_type {
            "Float32" => item.parse::<f32>().unwrap().to_le_bytes().to_vec(),
            "Float64" => item.parse::<f64>().unwrap().to_le_bytes().to_vec(),
            _ => {
                let width = if data_type.ends_with("32") { 4 } else { 8 };
                item.parse::<i64>().unwrap().to_le_bytes()[..width].to_vec()
            }
        };
        items.flat_map(value).collect()
    }

    /// One column per codec whose values a person can read.
    #[test]
    fn readable_columns() {
        for line in include_str!("vectors/columns.tsv").lines().skip(1) {
            let fields: Vec<&str> = line.split('\t').collect();
            let [data_type, spec, list, file] = fields[..] else { panic!("{line}") };
            let class = match &data_type[..1] {
                "U" => Class::Unsigned,
                "I" => Class::Signed,
                _ => Class::Float,
            };
            let width = if data_type.ends_with("32") { 4 } else { 8 };
            let spec = if class == Class::Float || spec != "Gorilla" {
                spec.to_owned()
            } else {
                // On integers only for those who insist.
                assert!(Encoder::new(&spec.parse().unwrap(), Element { width, class }).is_err());
                format!("Gorilla({width})")
            };
            let decoded = check(&spec, Element { width, class }, true, &bytes(file)).unwrap();
            assert_eq!(decoded, values(data_type, list), "{data_type} {spec}");
        }
    }

    /// More of the same that is not kept: see the head of the file.
    #[test]
    #[ignore = "needs vectors that ClickHouse makes: cargo xtask vectors"]
    fn more_vectors_of_clickhouse() {
        let path = std::env::var_os("TAMBOUR_VECTORS").expect("a file of vectors");
        replay(&std::fs::read_to_string(path).unwrap());
    }
}
