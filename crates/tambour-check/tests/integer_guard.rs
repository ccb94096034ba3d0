//! Every variant of the integer kernels between inaccessible pages: a read or write of one byte outside a buffer ends the test
//! process.
#![cfg(unix)]
#![cfg(test)]
#![expect(unsafe_code, reason = "makes numbers of bytes")]

mod guarded;

use guarded::Guarded;

/// Integers of which any bytes make one.
trait Number: Copy {}

impl Number for u32 {}
impl Number for u64 {}

/// `count` numbers, as [`Guarded::bytes`].
fn numbers<T: Number>(pages: &mut Guarded, count: usize, at_end: bool) -> &mut [T] {
    let bytes = pages.bytes(count * size_of::<T>(), at_end);
    assert!(bytes.as_ptr().cast::<T>().is_aligned(), "pages are aligned, and so is their end");
    // SAFETY: aligned, as just checked; any bytes make a number; borrowed as long as the pages.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), count) }
}

mod tests {
    use super::{Guarded, numbers};
    use tambour_check::generate::Random;
    use tambour_check::integer::{Spread, values, wide_values};
    use tambour_kernel::integer::leb128::{self, Form, Word};
    use tambour_kernel::integer::packed::{self, Layout, Series};
    use tambour_kernel::integer::stream_vbyte::{self, Lengths};
    use tambour_kernel::integer::{Decode, Encode, encode_length};
    use tambour_kernel::variant::Variants;

    /// Both ends of source and target.
    const ENDS: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];

    struct Buffers {
        source: Guarded,
        target: Guarded,
    }

    impl Buffers {
        fn new() -> Self {
            Self { source: Guarded::new(60_000), target: Guarded::new(60_000) }
        }

        /// Source and target at every combination of ends; values lie at their end, or at a page's start.
        fn each(
            &mut self,
            bytes: &[u8],
            count: usize,
            run: impl Fn(&[u8], &mut [u32], &mut [u64]),
        ) {
            for (source_end, target_end) in ENDS {
                let source = self.source.bytes(bytes.len(), source_end);
                source.copy_from_slice(bytes);
                let narrow = numbers::<u32>(&mut self.target, count, target_end);
                run(source, narrow, &mut []);
                let wide = numbers::<u64>(&mut self.target, count, target_end);
                run(source, &mut [], wide);
            }
        }

        fn decode(&mut self, variants: &Variants<Decode<u32>>, bytes: &[u8], count: usize) {
            self.each(bytes, count, |source, target, _| {
                for variant in variants.available() {
                    let _verdict = variant.decode(source, target);
                }
            });
        }

        fn decode_varints(&mut self, bytes: &[u8], count: usize) {
            self.each(bytes, count, |source, narrow, wide| {
                for variant in u32::decoders().available() {
                    let _verdict = variant.decode(source, narrow, Form::Any);
                }
                for variant in u64::decoders().available() {
                    let _verdict = variant.decode(source, wide, Form::Minimal);
                }
            });
        }

        /// Encodes into a target of every length around what is needed.
        fn encode(&mut self, variants: &Variants<Encode<u32>>, column: &[u32], length: usize) {
            for (source_end, target_end) in ENDS {
                let source = numbers::<u32>(&mut self.source, column.len(), source_end);
                source.copy_from_slice(column);
                for room in
                    [length, length.saturating_sub(1), length / 2, length + 63, length + 300]
                {
                    let target = self.target.bytes(room, target_end);
                    for variant in variants.available() {
                        let encoded = variant.encode(source, target);
                        assert_eq!(
                            encoded,
                            (room >= length).then_some(length),
                            "{}",
                            variant.name()
                        );
                    }
                }
            }
        }
    }

    /// Whole, cut, and with a flipped bit.
    fn damaged(bytes: &[u8], random: &mut Random) -> Vec<Vec<u8>> {
        let mut all = vec![bytes.to_vec()];
        if !bytes.is_empty() {
            all.push(bytes[..random.below(bytes.len())].to_vec());
            let mut flipped = bytes.to_vec();
            let bit = random.below(8 * bytes.len());
            flipped[bit / 8] ^= 1 << (bit % 8);
            all.push(flipped);
        }
        all
    }

    #[test]
    fn values_stay_inside() {
        let (mut buffers, mut random) = (Buffers::new(), Random::new(9));
        let mut room = vec![0; 80_000];
        for spread in Spread::ALL {
            for count in (0..140).chain([255, 256, 257, 300, 511, 513, 1000, 3000]) {
                let column = values(spread, count, count as u64);
                let length = leb128::encode(&column, &mut room).unwrap();
                buffers.encode(u32::encoders(), &column, length);
                for bytes in damaged(&room[..length], &mut random) {
                    buffers.decode_varints(&bytes, count);
                }
                let length = leb128::encode(&wide_values(spread, count, 1), &mut room).unwrap();
                for bytes in damaged(&room[..length], &mut random) {
                    buffers.decode_varints(&bytes, count);
                }
                for lengths in Lengths::ALL {
                    let length = stream_vbyte::encode(&column, &mut room, lengths).unwrap();
                    buffers.encode(lengths.encoders(), &column, length);
                    for bytes in damaged(&room[..length], &mut random) {
                        buffers.decode(lengths.decoders(), &bytes, count);
                    }
                }
                for (layout, series) in Layout::ALL
                    .into_iter()
                    .flat_map(|layout| Series::ALL.map(|series| (layout, series)))
                {
                    let length = packed::encode(&column, &mut room, layout, series).unwrap();
                    for bytes in damaged(&room[..length], &mut random) {
                        buffers.decode(layout.decoders(series), &bytes, count);
                    }
                }
                let length = encode_length::encode(&column, &mut room).unwrap();
                for bytes in damaged(&room[..length], &mut random) {
                    buffers.decode(&encode_length::DECODE_VARIANTS, &bytes, count);
                }
            }
        }
    }

    #[test]
    fn random_bytes_stay_inside() {
        let (mut buffers, mut random) = (Buffers::new(), Random::new(10));
        for _ in 0..3000 {
            let length = random.below(1500);
            let often = 1 + random.below(8);
            let mut byte = || random.byte() & if random.below(often) == 0 { 0xff } else { 0x7f };
            let bytes: Vec<u8> = (0..length).map(|_| byte()).collect();
            let count = random.below(700);
            buffers.decode_varints(&bytes, count);
            buffers.decode(&encode_length::DECODE_VARIANTS, &bytes, count);
            for lengths in Lengths::ALL {
                buffers.decode(lengths.decoders(), &bytes, count);
            }
            for layout in Layout::ALL {
                buffers.decode(layout.decoders(Series::Values), &bytes, count);
                buffers.decode(layout.decoders(Series::Differences), &bytes, count);
            }
        }
    }
}
