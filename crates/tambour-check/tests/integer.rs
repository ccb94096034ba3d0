//! The laws of the integer kernels on generated data.

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop_oneof, proptest};
    use tambour_check::generate::Random;
    use tambour_check::integer::{self, Spread, values, wide_values};
    use tambour_kernel::integer::Malformed;
    use tambour_kernel::integer::leb128::Form;
    use tambour_kernel::integer::packed::{self, Layout, Series};

    fn count() -> impl Strategy<Value = usize> {
        prop_oneof![0..70_usize, 70..700_usize, 700..5000_usize]
    }

    fn column() -> impl Strategy<Value = Vec<u32>> {
        let spread = proptest::sample::select(&Spread::ALL[..]);
        (spread, count(), any::<u64>())
            .prop_map(|(spread, count, seed)| values(spread, count, seed))
    }

    /// Bytes of which many continue a varint.
    fn continued() -> impl Strategy<Value = Vec<u8>> {
        (count(), any::<u64>(), 1..9_usize).prop_map(|(count, seed, often)| {
            let mut random = Random::new(seed);
            let mut byte = || random.byte() | if random.below(often) > 0 { 0x80 } else { 0 };
            (0..count).map(|_| byte()).collect()
        })
    }

    proptest! {
        #[test]
        fn values_survive(column in column()) {
            integer::leb128_round_trip(&column);
            integer::stream_vbyte_round_trip(&column);
            integer::packed_round_trip(&column);
            integer::encode_length_round_trip(&column);
        }

        #[test]
        fn wide_values_survive(count in count(), seed: u64) {
            for spread in Spread::ALL {
                integer::leb128_round_trip(&wide_values(spread, count, seed));
            }
        }

        #[test]
        fn sorted_values_survive(gaps in column()) {
            let sum = |sum: &mut u32, gap: u32| { *sum = sum.wrapping_add(gap); Some(*sum) };
            let ids: Vec<u32> = gaps.into_iter().scan(0, sum).collect();
            integer::packed_round_trip(&ids);
        }

        #[test]
        fn flipped_bits_are_survived(column in column(), seed: u64) {
            integer::survive_flips(&column, &mut Random::new(seed));
        }

        #[test]
        fn random_bytes_are_survived(source: Vec<u8>, count in 0..2000_usize) {
            integer::leb128_any(&source, count);
            integer::stream_vbyte_alike(&source, count);
            integer::packed_alike(&source, count);
            integer::encode_length_alike(&source, count);
        }

        #[test]
        fn single_values_are_written_as_they_were_read(source: Vec<u8>, small in proptest::collection::vec(0..4_u8, 0..40)) {
            integer::fuzz_xapian(&source);
            integer::fuzz_xapian(&small);
        }

        #[test]
        fn long_varints_are_survived(source in continued(), count in 0..700_usize) {
            integer::leb128_any(&source, count);
            integer::encode_length_alike(&source, count);
        }
    }

    /// Every small count and every spread, so that no alignment of the end is left out.
    #[test]
    fn small_counts_survive() {
        for spread in Spread::ALL {
            for count in (0..140).chain(250..265) {
                let column = values(spread, count, count as u64);
                integer::leb128_round_trip(&column);
                integer::leb128_round_trip(&wide_values(spread, count, 7));
                integer::stream_vbyte_round_trip(&column);
                integer::packed_round_trip(&column);
                integer::encode_length_round_trip(&column);
            }
        }
    }

    /// One bad value at every place among good ones of every length.
    fn one_bad(bad: &[u8], form: Form, expected: impl Fn(usize) -> Malformed, wide: bool) {
        for good in [&[5][..], &[0x80, 1], &[0xff, 0x80, 0x80, 0x7f], &[0x80, 0x80, 0x80, 0x80, 1]]
        {
            for before in 0..150 {
                let mut source = good.repeat(before);
                let at = source.len();
                source.extend(bad);
                source.extend(good.repeat(100));
                let count = before + 50;
                let result = if wide {
                    integer::leb128_alike::<u64>(&source, count, form)
                } else {
                    integer::leb128_alike::<u32>(&source, count, form)
                };
                assert_eq!(result, Err(expected(at)), "{bad:02x?} after {before} of {good:02x?}");
            }
        }
    }

    #[test]
    fn eleven_bytes_do_not_make_64_bits() {
        let bad = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1];
        one_bad(&bad, Form::Any, |at| Malformed::TooLong { at }, true);
    }

    #[test]
    fn six_bytes_do_not_make_32_bits() {
        one_bad(
            &[0x80, 0x80, 0x80, 0x80, 0x80, 1],
            Form::Any,
            |at| Malformed::TooLong { at },
            false,
        );
    }

    #[test]
    fn overflow_of_the_last_byte_is_refused() {
        let bad = [0xff, 0xff, 0xff, 0xff, 0x1f];
        one_bad(&bad, Form::Any, |at| Malformed::Overflow { at }, false);
        let bad = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2];
        one_bad(&bad, Form::Any, |at| Malformed::Overflow { at }, true);
    }

    #[test]
    fn longer_forms_are_refused_when_the_form_is_minimal() {
        for bad in [&[0x80, 0][..], &[0x81, 0x80, 0], &[0x80, 0x80, 0x80, 0x80, 0]] {
            for wide in [false, true] {
                one_bad(bad, Form::Minimal, |at| Malformed::NonMinimal { at }, wide);
            }
            assert_eq!(integer::leb128_alike::<u32>(bad, 1, Form::Any), Ok(bad.len()));
        }
    }

    #[test]
    fn varints_cut_at_every_byte_are_refused() {
        for spread in Spread::ALL {
            integer::leb128_round_trip(&values(spread, 60, 1));
            integer::leb128_round_trip(&wide_values(spread, 40, 1));
        }
    }

    #[test]
    fn control_bytes_that_promise_more_are_refused() {
        use tambour_kernel::integer::stream_vbyte::{self, Lengths};
        let mut target = [0; 200];
        for available in 50..850 {
            let source = vec![0xff; available];
            integer::stream_vbyte_alike(&source, 200);
            let result = stream_vbyte::decode(&source, &mut target, Lengths::OneToFour);
            assert_eq!(result, Err(Malformed::Short { at: available, needed: 850 }));
        }
        let result = stream_vbyte::decode(&[0; 49], &mut target, Lengths::ZeroToFour);
        assert_eq!(result, Err(Malformed::Short { at: 49, needed: 50 }));
    }

    #[test]
    fn headers_of_packed_blocks_are_checked() {
        let mut target = [0; 256];
        let mut decode = |bytes: &[u8], layout| {
            integer::packed_alike(bytes, 256);
            packed::decode(bytes, &mut target, layout, Series::Values)
        };
        let plain = |at, byte| Err(Malformed::Header { at, byte });
        assert_eq!(decode(&[33; 2000], Layout::Plain), plain(0, 33));
        assert_eq!(decode(&[33; 2000], Layout::Patched), plain(0, 33));
        // Exceptions above 32 bits; upper parts that reach beyond them.
        assert_eq!(decode(&[0x60; 2000], Layout::Patched), plain(0, 0x60));
        assert_eq!(decode(&[0x84; 2000], Layout::Patched), plain(2, 0x84));
        assert_eq!(decode(&[], Layout::Patched), Err(Malformed::Truncated { at: 0 }));
        let short = |at, needed| Err(Malformed::Short { at, needed });
        assert_eq!(decode(&[8; 100], Layout::Patched), short(100, 257));
        // A bitmap of ones at width 0: 32 bytes, then 64 bytes of codes for 4 bytes each.
        assert_eq!(
            decode(&[&[0xc0][..], &[0xff; 200]].concat(), Layout::Patched),
            short(201, 1 + 32 + 64 + 1024)
        );
    }

    #[test]
    fn exceptions_outside_of_the_last_block_are_refused() {
        let mut target = [0; 10];
        // Width 0, one exception, at place 10 of 10.
        let bytes = [0x40, 1, 10];
        integer::packed_alike(&bytes, 10);
        let result = packed::decode(&bytes, &mut target, Layout::Patched, Series::Values);
        assert_eq!(result, Err(Malformed::Exception { at: 2 }));
        let bytes = [0xc0, 0, 0x04, 0, 0, 0];
        let result = packed::decode(&bytes, &mut target, Layout::Patched, Series::Values);
        assert_eq!(result, Err(Malformed::Exception { at: 2 }));
    }
}
