//! Chains that servers broke, and all pairs and triples of codecs for values: what goes in comes out, whatever the bytes.

#[cfg(test)]
mod tests {
    use tambour_codec::Kind;
    use tambour_codec::block::{Block, Decoder, Encoder};
    use tambour_codec::codec::Class::{Bytes, Float, Signed, Unsigned};
    use tambour_codec::codec::{Element, FAMILIES, Scope, is_portable};
    use tambour_codec::spec::CodecSpec;

    const ELEMENTS: [Element; 14] = {
        const fn of(class: tambour_codec::codec::Class, width: u8) -> Element {
            Element { width, class }
        }
        [
            of(Unsigned, 1),
            of(Unsigned, 2),
            of(Unsigned, 4),
            of(Unsigned, 8),
            of(Unsigned, 16),
            of(Signed, 1),
            of(Signed, 2),
            of(Signed, 4),
            of(Signed, 8),
            of(Signed, 32),
            of(Float, 4),
            of(Float, 8),
            of(Bytes, 1),
            of(Bytes, 4),
        ]
    };

    /// Encodes one block and decodes it again; false if the chain refuses the element or a block with a cut value.
    fn gives_back(spec: &CodecSpec, element: Element, source: &[u8]) -> bool {
        let Ok(mut encoder) = Encoder::new(spec, element) else { return false };
        let mut block = Vec::new();
        if let Err(error) = encoder.encode(source, &mut block) {
            // ALP alone wants whole values.
            let is_alp = spec.calls.iter().any(|call| call.name == "ALP");
            assert!(is_alp && error.kind() == Kind::Argument, "{spec}, {element}: {error}");
            return false;
        }
        let mut decoded = Vec::new();
        let parsed = Block::parse(&block).unwrap();
        Decoder::new().decode_append(&parsed, &mut decoded).unwrap();
        assert!(decoded == source, "CODEC({spec}), {element}, {} bytes", source.len());
        true
    }

    fn numbers(width: usize, count: usize) -> Vec<u8> {
        let mut state = 9_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            state >> 40
        };
        let mut bytes = Vec::new();
        for index in 0..count {
            let value = 100_000 + 60 * index as u128 + u128::from(next() % 50);
            bytes.extend_from_slice(&[&value.to_le_bytes()[..], &[0; 16]].concat()[..width]);
        }
        bytes
    }

    /// Smallest and largest values, in turns with small ones.
    fn extremes(element: Element) -> Vec<u8> {
        let width = usize::from(element.width);
        let (mut high, mut low) = (vec![0xff; width], vec![0; width]);
        if element.class == Signed {
            (high[width - 1], low[width - 1]) = (0x7f, 0x80);
        }
        let one: Vec<u8> = std::iter::once(1).chain([0; 31]).take(width).collect();
        let minus = vec![0xff; width];
        [&high, &low, &high, &high, &one, &minus, &low, &low, &high, &one]
            .map(Vec::as_slice)
            .concat()
    }

    /// NaN with payloads and signs, infinities, zeros of both signs, the smallest of all.
    fn odd_floats(width: u8) -> Vec<u8> {
        let wide: [u64; 10] = [
            0x7ff8_0000_0000_0000,
            0x7ff8_0000_dead_beef,
            0xfff0_0000_0000_0001,
            0x7ff0_0000_0000_0000,
            0xfff0_0000_0000_0000,
            0,
            1 << 63,
            1,
            0x7fef_ffff_ffff_ffff,
            0x3ff8_0000_0000_0000,
        ];
        let bytes: Vec<u8> = match width {
            8 => wide.iter().flat_map(|bits| bits.to_le_bytes()).collect(),
            _ => {
                [0x7fc0_0000_u32, 0x7fc0_beef, 0xff80_0001, 0x7f80_0000, 0xff80_0000, 0, 1 << 31, 1]
                    .iter()
                    .flat_map(|bits| bits.to_le_bytes())
                    .collect()
            }
        };
        bytes.repeat(3)
    }

    fn names() -> Vec<&'static str> {
        let values = FAMILIES.iter().filter(|family| family.scope == Scope::Values);
        values.filter(|family| is_portable(family.method)).map(|family| family.name).collect()
    }

    /// How many pairs of a chain and an element take part.
    fn count(
        chains: impl Iterator<Item = String>,
        sources: &dyn Fn(Element) -> Vec<Vec<u8>>,
    ) -> usize {
        let mut done = 0;
        for text in chains {
            let Ok(spec) = text.parse::<CodecSpec>() else { continue };
            for element in ELEMENTS {
                let seen =
                    sources(element).iter().filter(|it| gives_back(&spec, element, it)).count();
                done += usize::from(seen > 0);
            }
        }
        done
    }

    /// Whole values, and a tail that is cut at every byte of a value.
    fn tails(element: Element) -> Vec<Vec<u8>> {
        let width = usize::from(element.width);
        let bytes = numbers(width, 70);
        (0..width.min(9)).map(|cut| bytes[..bytes.len() - cut].to_vec()).collect()
    }

    fn check(text: &str, element: Element) {
        let spec = text.parse().unwrap();
        let mut sources = tails(element);
        sources.extend([extremes(element), Vec::new(), numbers(element.width.into(), 5000)]);
        if element.class == Float {
            sources.push(odd_floats(element.width));
        }
        for source in sources {
            assert!(gives_back(&spec, element, &source), "{text}, {element}");
        }
    }

    /// ClickHouse #45195: lost data before 23.2.
    #[test]
    fn delta_or_double_delta_before_gorilla() {
        for width in [4, 8] {
            for text in ["Delta, Gorilla", "DoubleDelta, Gorilla, LZ4", "Delta, Gorilla, ZSTD(1)"] {
                check(text, Element { width, class: Float });
            }
        }
    }

    /// ClickHouse #76357: lost data before 25.4.
    #[test]
    fn gcd_before_double_delta() {
        for width in [1, 2, 4, 8] {
            for class in [Unsigned, Signed] {
                check("GCD, DoubleDelta", Element { width, class });
                check("GCD, DoubleDelta, ZSTD(1)", Element { width, class });
            }
        }
    }

    /// ClickHouse #75548: lost data before 25.3.
    #[test]
    fn zstd_before_double_delta() {
        for width in [1, 2, 4, 8] {
            check("ZSTD(1), DoubleDelta", Element { width, class: Unsigned });
            check("LZ4, DoubleDelta, LZ4", Element { width, class: Signed });
        }
    }

    #[test]
    fn every_pair_on_every_type_with_every_tail() {
        let names = names();
        let pairs = names.iter().flat_map(|a| names.iter().map(move |b| format!("{a}, {b}")));
        assert!(count(pairs, &tails) > 150);
    }

    #[test]
    fn every_triple_on_every_type() {
        let names = names();
        let all = names.iter().flat_map(|a| {
            let names = &names;
            names.iter().flat_map(move |b| names.iter().map(move |c| format!("{a}, {b}, {c}")))
        });
        let sources = |element: Element| {
            let bytes = numbers(element.width.into(), 40);
            vec![bytes[..bytes.len() - usize::from(element.width > 2)].to_vec(), bytes]
        };
        assert!(count(all, &sources) > 500);
    }

    #[test]
    fn not_a_number_keeps_its_payload() {
        let names = names();
        let ends = ["", ", LZ4", ", ZSTD(3)"];
        let chains = names.iter().flat_map(|a| ends.map(|end| format!("{a}{end}")));
        let sources = |element: Element| match element.class {
            Float => vec![odd_floats(element.width)],
            _ => Vec::new(),
        };
        assert!(count(chains, &sources) >= 2 * 3 * 5);
    }

    #[test]
    fn smallest_and_largest_values() {
        let names = names();
        let ends = ["", ", T64", ", Delta", ", LZ4", ", ZSTD(1)"];
        let chains = names.iter().flat_map(|a| ends.map(|end| format!("{a}{end}")));
        assert!(count(chains, &|element| vec![extremes(element)]) > 150);
    }

    #[test]
    fn blocks_of_none_one_and_two_values() {
        let names = names();
        let ends = ["", ", Delta", ", LZ4"];
        let chains = names.iter().flat_map(|a| ends.map(|end| format!("{a}{end}")));
        let sources = |element: Element| {
            let width = usize::from(element.width);
            (0..=2).flat_map(|count| [numbers(width, count), vec![7; count]]).collect()
        };
        assert!(count(chains, &sources) > 100);
    }
}
