//! Laws of the kernels of columns: every variant does what a naive loop does, at every length.

use crate::generate::Random;
use crate::naive;
use tambour_kernel::column::alp::{Decimal, Encoded, Integers, Packed, VECTOR, packed_bytes};
use tambour_kernel::column::fpc::FloatWidth;
use tambour_kernel::column::t64::{GROUP, Planes, Shape};
use tambour_kernel::column::{DecodeItems, Width, alp, delta, double_delta, gcd, gorilla, t64};
use tambour_kernel::variant::Variants;

/// Law: sums of differences are the values again, and those of any bytes are what the definition says.
pub fn delta(source: &[u8]) {
    for &width in Width::ALL {
        let source = &source[..source.len() / width.bytes() * width.bytes()];
        let mut differences = vec![0xaa; source.len()];
        delta::encode(width, source, &mut differences);
        let mut payload = vec![width.byte(), 0];
        payload.extend(source);
        let sums = naive::decode(0x92, &payload, source.len());
        for variant in delta::DECODE_VARIANTS.available() {
            let mut target = vec![0x55; source.len()];
            variant.decode(width, &differences, &mut target);
            assert!(target == source, "{variant:?} {width:?}: no round trip");
            variant.decode(width, source, &mut target);
            assert!(Some(target) == sums, "{variant:?} {width:?}: other sums");
        }
    }
}

/// Law: products are those of the definition, and dividing by the common divisor undoes them.
pub fn gcd(source: &[u8], divisor: &[u8; 32]) {
    for &width in gcd::WIDTHS {
        let source = &source[..source.len() / width * width];
        let divisor = &divisor[..width];
        let mut payload = vec![0; 2];
        payload[0] = u8::try_from(width).unwrap_or(0);
        payload.extend(divisor);
        payload.extend(source);
        let expected = naive::decode(0x9a, &payload, source.len()).unwrap_or_default();
        for variant in gcd::DECODE_VARIANTS.available() {
            let mut target = vec![0x55; source.len()];
            variant.decode(width, divisor, source, &mut target);
            assert!(target == expected, "{variant:?} {width}: other products");
            for signed in [false, true] {
                let mut encoded = vec![0xaa; width + source.len()];
                gcd::encode(width, signed, &expected, &mut encoded);
                let (divisor, quotients) = encoded.split_at(width);
                variant.decode(width, divisor, quotients, &mut target);
                assert!(target == expected, "{variant:?} {width}: no round trip");
            }
        }
    }
}

/// Law: any bytes are groups of planes, of any shape, and decode to the bits that are there.
pub fn t64(source: &[u8], seed: u64) {
    let mut random = Random::new(seed);
    for &width in Width::ALL {
        let bits = 1 + u32::try_from(random.below(width.bits() as usize)).unwrap_or(0);
        let planes = random.pick(&[Planes::Bytes, Planes::Bits]);
        let shape = Shape { width, bits, planes };
        let groups = source.len() / shape.packed_bytes(1);
        let count = (groups * GROUP).saturating_sub(random.below(GROUP));
        let packed = &source[..shape.packed_bytes(count)];
        let above = [random.number(), random.number()];
        let above = above.map(|above| if bits == 64 { 0 } else { above >> bits << bits });
        let rows = if planes == Planes::Bytes { bits as usize / 8 } else { 0 };
        let expected: Vec<u8> = (0..count)
            .flat_map(|index| {
                let group = &packed[index / GROUP * shape.packed_bytes(1)..];
                let value = naive::t64_bits(group, rows, bits as usize, index % GROUP);
                let above = above[usize::from(value >> (bits - 1) & 1 == 1)];
                (value | above).to_le_bytes().into_iter().take(width.bytes())
            })
            .collect();
        for variant in t64::DECODE_VARIANTS.available() {
            let mut target = vec![0x55; expected.len()];
            variant.decode(shape, above, packed, &mut target);
            assert!(target == expected, "{variant:?} {shape:?} {count}: other values");
            // What is after the last value of a group is not kept.
            let mut again = vec![0xaa; packed.len()];
            t64::encode(shape, &target, &mut again);
            variant.decode(shape, above, &again, &mut target);
            assert!(target == expected, "{variant:?} {shape:?} {count}: no round trip");
        }
    }
}

/// Law: any bytes are a packed vector of any number of bits, and decode to what the definition says.
pub fn alp(source: &[u8], seed: u64) {
    let mut random = Random::new(seed);
    let bits = u32::try_from(random.below(65)).unwrap_or(0);
    let mut words = source.to_vec();
    words.resize(packed_bytes(bits), random.byte());
    let count = random.pick(&[VECTOR, 1 + random.clone().below(VECTOR)]);
    let decimal = Decimal {
        exponent: u8::try_from(random.below(19)).unwrap_or(0),
        factor: u8::try_from(random.below(19)).unwrap_or(0),
    };
    let base = random.number().cast_signed();
    let packed = Packed { decimal, bits, base, words: &words };
    for width in [FloatWidth::F4, FloatWidth::F8] {
        let powers = [i32::from(decimal.exponent), i32::from(decimal.factor)];
        let expected: Vec<u8> = (0..count)
            .flat_map(|index| {
                let distance = naive::alp_bits(&words, bits as usize, index);
                let integer = base.wrapping_add(distance.cast_signed());
                naive::alp_value(width.bytes(), integer, powers)
            })
            .collect();
        for variant in alp::DECODE_VARIANTS.available() {
            let mut target = vec![0x55; expected.len()];
            variant.decode(width, packed, &mut target);
            assert!(target == expected, "{variant:?} {width:?} {bits}: other values");
        }
    }
}

/// Law: what any floats are packed to is, but for exceptions, the floats again, and is the same by every variant. Only what does
/// not come back is an exception, and the others are packed in no more bits than their range takes.
pub fn alp_encode(source: &[u8], seed: u64) {
    let mut random = Random::new(seed);
    let decimal = Decimal {
        exponent: u8::try_from(random.below(19)).unwrap_or(0),
        factor: u8::try_from(random.below(19)).unwrap_or(0),
    };
    for width in [FloatWidth::F4, FloatWidth::F8] {
        let bytes = width.bytes();
        let source = &source[..source.len().min(VECTOR * bytes) / bytes * bytes];
        let mut first = None;
        for variant in alp::ENCODE_VARIANTS.available() {
            let (mut integers, mut exceptions) = ([i64::MIN; VECTOR], [0; VECTOR]);
            let encoded = variant.encode(width, decimal, source, &mut integers, &mut exceptions);
            let exceptions = exceptions[..encoded.exceptions].to_vec();
            let powers = [i32::from(decimal.exponent), i32::from(decimal.factor)];
            alp_exceptions(source, bytes, powers, (encoded, &integers, &exceptions));
            let distance = |integer: &i64| integer.wrapping_sub(encoded.base).cast_unsigned();
            for packer in alp::PACK_VARIANTS.available() {
                let mut words = vec![0xaa; packed_bytes(encoded.bits)];
                packer.pack(encoded.bits, encoded.base, &integers, &mut words);
                let bits = encoded.bits as usize;
                let is_same =
                    |(index, integer)| naive::alp_bits(&words, bits, index) == distance(integer);
                assert!(integers.iter().enumerate().all(is_same), "{packer:?} {bits}");
            }
            let all = (encoded, integers.to_vec(), exceptions);
            let known = first.get_or_insert_with(|| all.clone());
            assert!(*known == all, "{variant:?} {width:?}: other than the first variant");
        }
    }
}

/// Checks integers and exceptions of floats against the definition, value by value.
fn alp_exceptions(
    source: &[u8],
    bytes: usize,
    powers: [i32; 2],
    (encoded, integers, exceptions): (Encoded, &Integers, &[u16]),
) {
    assert!(exceptions.is_sorted_by(|one, next| one < next), "{exceptions:?}");
    let last = exceptions.last().map_or(0, |last| usize::from(*last) + 1);
    assert!(last <= source.len() / bytes, "an exception without a value");
    let mut exact = Vec::new();
    for (index, value) in source.chunks(bytes).enumerate() {
        let integer = integers[index];
        let at = u16::try_from(index);
        let is_exception = at.is_ok_and(|at| exceptions.binary_search(&at).is_ok());
        if is_exception {
            assert!(integer == encoded.base, "value {index} {powers:?}: not the base");
        } else {
            exact.push(integer);
            let again = naive::alp_value(bytes, integer, powers);
            assert!(again == value, "value {index} {powers:?}: does not come back");
        }
        if let Some(expected) = naive::alp_integer(value, powers) {
            let comes_back = naive::alp_value(bytes, expected, powers) == value;
            assert!(comes_back != is_exception, "value {index} {powers:?}: {value:?}");
            assert!(is_exception || integer == expected, "value {index} {powers:?}: {integer}");
        }
    }
    let least = exact.iter().min().copied().unwrap_or(0);
    let range = exact.iter().max().map_or(0, |most| most.wrapping_sub(least).cast_unsigned());
    assert_eq!((encoded.base, encoded.bits), (least, 64 - range.leading_zeros()));
}

/// Law: any bytes are a stream of differences of differences, and one of exclusive ors, or are refused, as the definitions say;
/// values come back whatever they are.
pub fn items(source: &[u8], seed: u64) {
    let mut random = Random::new(seed);
    for &width in Width::ALL {
        let bytes = width.bytes();
        let values = source.len() / bytes;
        // Bytes as they come are items of few bits: there may be more values than bytes.
        let counts = [random.below(4 * source.len() + 3), random.below(values + 3)];
        for (method, encode, bound, variants) in ITEMS {
            for count in counts {
                let expected =
                    naive::decode(*method, &counted(width, count, source), count * bytes);
                for variant in variants.available() {
                    let mut target = vec![0x55; count * bytes];
                    let decoded = variant.decode(width, source, &mut target).ok().map(|()| target);
                    assert!(decoded == expected, "{variant:?} {method:#x} {width:?} {count}");
                }
            }
            let source = &source[..values * bytes];
            let mut encoded = vec![0xaa; bound(width, values)];
            let used = encode(width, source, &mut encoded);
            for variant in variants.available() {
                let mut target = vec![0x55; source.len()];
                let decoded = variant.decode(width, &encoded[..used], &mut target);
                assert!(
                    decoded.is_ok() && target == source,
                    "{variant:?} {method:#x}: no round trip"
                );
            }
        }
    }
}

/// Method, encoder, its bound, decoders.
type Items = (
    u8,
    fn(Width, &[u8], &mut [u8]) -> usize,
    fn(Width, usize) -> usize,
    &'static Variants<DecodeItems>,
);

const ITEMS: &[Items] = &[
    (0x94, double_delta::encode, double_delta::bound, &double_delta::DECODE_VARIANTS),
    (0x95, gorilla::encode, gorilla::bound, &gorilla::DECODE_VARIANTS),
];

/// The payload of a block around a stream of items.
fn counted(width: Width, count: usize, source: &[u8]) -> Vec<u8> {
    let mut payload = vec![width.byte(), 0];
    payload.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
    payload.extend(source);
    payload
}

/// All laws of this module, for a fuzzer: a seed, a divisor, bytes.
pub fn fuzz_column(input: &[u8]) {
    let Some((seed, rest)) = input.split_first_chunk::<8>() else { return };
    let Some((divisor, source)) = rest.split_first_chunk::<32>() else { return };
    let seed = u64::from_le_bytes(*seed);
    delta(source);
    gcd(source, divisor);
    t64(source, seed);
    alp(source, seed);
    alp_encode(source, seed);
    items(source, seed);
}
