//! Blocks of one value, which decoders fill, and blocks that are nearly that.

#[cfg(test)]
mod tests {
    use tambour_codec::block::{Block, Decoder, Encoder};
    use tambour_codec::codec::{Class, Element};

    fn round_trip(spec: &str, width: u8, class: Class, source: &[u8]) {
        let mut block = Vec::new();
        let element = Element { width, class };
        Encoder::new(&spec.parse().unwrap(), element).unwrap().encode(source, &mut block).unwrap();
        let mut target = Vec::new();
        Decoder::new().decode_append(&Block::parse(&block).unwrap(), &mut target).unwrap();
        assert!(target == source, "{spec}, {class:?} of {width}, {} bytes", source.len());
    }

    /// One value many times, then with a single other one at each of several places.
    fn check(spec: &str, width: u8, class: Class, values: &[u64]) {
        let word = |value: u64| value.to_le_bytes()[..usize::from(width)].to_vec();
        for &value in values {
            for count in (0..20).chain([63, 64, 65, 66, 67, 1000, 8195]) {
                let source = word(value).repeat(count);
                round_trip(spec, width, class, &source);
                round_trip(spec, width, class, &[&source[..], &[7]].concat());
                for place in [0, 1, 2, count / 2, count.saturating_sub(1)] {
                    let mut other = source.clone();
                    let place = place * usize::from(width);
                    if place < other.len() {
                        other[place] ^= 1;
                        round_trip(spec, width, class, &other);
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_of_one_value_come_back() {
        let values = [0, 1, 0x80, 0x0102_0304_0506_0708, u64::MAX, 1 << 63];
        for width in [1, 2, 4, 8] {
            for spec in ["T64", "T64('bit')", "Delta", "DoubleDelta", "Delta, LZ4", "LZ4", "GCD"] {
                check(spec, width, Class::Unsigned, &values);
            }
        }
        for width in [4, 8] {
            check("Gorilla", width, Class::Float, &values);
        }
    }
}
