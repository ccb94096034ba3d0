//! The worked examples of `docs/format/codecs.md`.

#[cfg(test)]
mod tests {
    use tambour_codec::block::{Block, Decoder, Encoder};
    use tambour_codec::codec::{Class, Element};

    fn words(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// The payload of an example, in hex; it decodes to the source.
    fn payload(spec: &str, class: Class, width: u8, source: &[u8]) -> String {
        let mut block = Vec::new();
        let element = Element { width, class };
        Encoder::new(&spec.parse().unwrap(), element).unwrap().encode(source, &mut block).unwrap();
        let mut decoded = Vec::new();
        Decoder::new().decode_append(&Block::parse(&block).unwrap(), &mut decoded).unwrap();
        assert_eq!(decoded, source, "{spec}");
        let hex: Vec<_> = block[25..].iter().map(|byte| format!("{byte:02x}")).collect();
        hex.concat()
    }

    fn check(spec: &str, (class, width): (Class, u8), source: &[u8], hex: &str) {
        let hex: String = hex.split_whitespace().collect();
        assert_eq!(payload(spec, class, width, source), hex, "{spec}");
    }

    #[test]
    fn integers() {
        let unsigned = (Class::Unsigned, 4);
        let values = words(&[10, 11, 13, 13, 1000]);
        let hex = "04 00 0a000000 01000000 02000000 00000000 db030000";
        check("Delta", unsigned, &values, hex);
        check("Delta(8)", unsigned, &values, "08 04 0a000000 0b0000000d000000 02000000db030000");
        let chain = payload("Delta(4), LZ4", Class::Unsigned, 4, &values);
        assert!(chain.starts_with("029282822a0000001f000000"), "{chain}");
        let hex = "04 00 05000000 06000000 09000000 c8000000 00000000";
        check("GCD", unsigned, &words(&[30, 45, 1000, 0]), hex);
        let hex = "04 00 07000000 0a000000 01000000 805078f69000";
        check("DoubleDelta", unsigned, &words(&[10, 11, 13, 13, 1000, 1987, 2975]), hex);
        let hex = "01 0000000000000000 0300000000000000 0d00000000000000 0600000000000000";
        check("T64", (Class::Unsigned, 1), &[1, 2, 3, 1, 0], hex);
        let hex = "81 0000000000000000 0300000000000000 0d00000000000000 0600000000000000";
        check("T64('bit')", (Class::Unsigned, 1), &[1, 2, 3, 1, 0], hex);
    }

    #[test]
    fn floats() {
        let singles: Vec<u8> =
            [0.1_f32, 0.1, 0.11, 0.2, 0.1].iter().flat_map(|value| value.to_le_bytes()).collect();
        let hex = "04 00 05000000 cdcccc3d 6a5ad8b63ccd75b16c77000000";
        check("Gorilla", (Class::Float, 4), &singles, hex);
        let doubles: Vec<u8> =
            [1.5_f64, 2.5, 3.5].iter().flat_map(|value| value.to_le_bytes()).collect();
        let hex = "08 04 08 000000000000f83f 000000000000f43f 97 0000000000001c";
        check("FPC(4)", (Class::Float, 8), &doubles, hex);
        let constant = 1.5_f64.to_le_bytes().repeat(1024);
        let hex = "01 08 0004 01 00 0000 00 0f00000000000000";
        check("ALP", (Class::Float, 8), &constant, hex);
    }
}
