//! The examples of `docs/format/integers.md`, over all variants; the laws are in `tambour-check`.

use super::leb128::{Form, Word};
use super::packed::{Layout, Series};
use super::stream_vbyte::Lengths;
use super::{Decode, Malformed, encode_length, leb128, packed, stream_vbyte};
use crate::variant::Variants;

fn check(variants: &Variants<Decode<u32>>, bytes: &[u8], values: &[u32]) {
    for variant in variants.available() {
        let mut target = vec![0; values.len()];
        assert_eq!(variant.decode(bytes, &mut target), Ok(bytes.len()), "{}", variant.name());
        assert_eq!(target, values, "{}", variant.name());
    }
}

fn leb128_both<T: Word>(value: T, bytes: &[u8]) {
    let mut target = [0; 10];
    let length = leb128::encode(&[value], &mut target).unwrap();
    assert_eq!(&target[..length], bytes);
    for variant in T::decoders().available() {
        let mut target = [T::truncate(0)];
        assert_eq!(variant.decode(bytes, &mut target, Form::Minimal), Ok(bytes.len()));
        assert_eq!(target, [value]);
    }
}

#[test]
fn leb128_examples() {
    leb128_both(0_u32, &[0]);
    leb128_both(127_u32, &[0x7f]);
    leb128_both(128_u32, &[0x80, 1]);
    leb128_both(300_u64, &[0xac, 2]);
    leb128_both(u32::MAX, &[0xff, 0xff, 0xff, 0xff, 0x0f]);
    leb128_both(u64::MAX, &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
}

#[test]
fn stream_vbyte_examples() {
    let bytes = [[0x04, 1, 0, 4, 0].as_slice(), &[0x09, 1, 0, 4]];
    for (lengths, bytes) in Lengths::ALL.into_iter().zip(bytes) {
        let mut target = [0; 20];
        let length = stream_vbyte::encode(&[1, 1024, 0], &mut target, lengths).unwrap();
        assert_eq!(&target[..length], bytes);
        check(lengths.decoders(), bytes, &[1, 1024, 0]);
    }
}

#[test]
fn packed_examples() {
    let values = [1, 2, 3, 1, 2, 3, 1, 200];
    for (layout, values, bytes) in [
        (Layout::Plain, [5, 6, 7].as_slice(), [3, 0xf5, 1].as_slice()),
        (Layout::Listed, &values, &[0x82, 1, 6, 0x79, 0x1e, 7, 0x31]),
        (Layout::Patched, &values, &[0xc2, 0x79, 0x1e, 0x80, 0, 0x31]),
    ] {
        let mut target = [0; 50];
        let length = packed::encode(values, &mut target, layout, Series::Values).unwrap();
        assert_eq!(&target[..length], bytes);
        check(layout.decoders(Series::Values), bytes, values);
    }
}

#[test]
fn encode_length_examples() {
    for (value, bytes) in [
        (254, [0xfe].as_slice()),
        (255, &[0xff, 0x80]),
        (382, &[0xff, 0xff]),
        (383, &[0xff, 0, 0x81]),
    ] {
        check(&encode_length::DECODE_VARIANTS, bytes, &[value]);
    }
    let mut target = [0];
    let longer = encode_length::decode(&[0xff, 0, 0x80], &mut target);
    assert_eq!(longer, Err(Malformed::NonMinimal { at: 0 }));
}

/// All variants around their first fast turns, so that Miri sees each of them run.
#[test]
fn fast_turns() {
    let values: Vec<u32> =
        (0..700_u32).map(|k| k.wrapping_mul(2_654_435_761) >> (k % 32)).collect();
    let mut bytes = vec![0; 8 * values.len()];
    let length = leb128::encode(&values, &mut bytes).unwrap();
    for variant in u32::decoders().available() {
        let mut target = vec![0; values.len()];
        assert_eq!(variant.decode(&bytes[..length], &mut target, Form::Minimal), Ok(length));
        assert_eq!(target, values, "{}", variant.name());
    }
    for layout in Layout::ALL {
        for series in Series::ALL {
            let length = packed::encode(&values, &mut bytes, layout, series).unwrap();
            check(layout.decoders(series), &bytes[..length], &values);
        }
    }
}
