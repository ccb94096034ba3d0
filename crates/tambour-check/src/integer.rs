//! Laws of the integer kernels.

use crate::generate::Random;
use tambour_int::xapian::{PostlistKey, unpack_uint_backwards};
use tambour_int::{Document, Reader, Writer};
use tambour_kernel::integer::leb128::{self, Form, Word};
use tambour_kernel::integer::packed::{self, Layout, Series};
use tambour_kernel::integer::stream_vbyte::{self, Lengths};
use tambour_kernel::integer::{Decode, Malformed, encode_length};
use tambour_kernel::variant::Variants;

/// What integer columns look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// The values that Xapian's test suite encodes, by the ticket's histogram: most small, some large, some 0xffffffff.
    Ticket,
    /// The ticket's other sample: 0 to 254, the median 3, the mean about 20, the deviation about 42.
    Reporter,
    /// 0 to 255, all equally likely.
    Byte,
    /// All lengths in bits equally likely.
    LogUniform,
    /// Gaps between sorted document ids, 40 on average.
    Gaps,
    /// Any 32 bits.
    Noise,
    /// Zeros and ones.
    Bits,
}

impl Spread {
    /// Every one.
    pub const ALL: [Self; 7] = [
        Self::Ticket,
        Self::Reporter,
        Self::Byte,
        Self::LogUniform,
        Self::Gaps,
        Self::Noise,
        Self::Bits,
    ];
}

/// The most frequent values of the ticket's histogram and how often they occur, of 1,584,397.
const TICKET: [(u32, u32); 20] = [
    (1, 590_387),
    (4, 230_343),
    (3, 149_371),
    (0, 99_777),
    (2, 25_724),
    (6, 17_371),
    (18, 13_834),
    (8, 13_548),
    (5, 11_340),
    (7, 8_428),
    (40, 8_179),
    (61, 7_944),
    (9, 6_418),
    (11, 5_941),
    (96, 5_646),
    (21, 5_243),
    (u32::MAX, 5_082),
    (10, 4_801),
    (17, 4_376),
    (16, 3_804),
];

/// Values that the histogram counts, and those of them above 254 other than 0xffffffff.
const TICKET_VALUES: usize = 1_584_397;
const TICKET_LARGE: usize = 127_058 - 5_082;

/// A value of the ticket's histogram; what it leaves open is uniform in 12..=254 and log-uniform to 4.6 million.
#[expect(clippy::cast_possible_truncation, reason = "all values have 32 bits")]
fn ticket(random: &mut Random) -> u32 {
    let mut place = random.below(TICKET_VALUES);
    for (value, count) in TICKET {
        if place < count as usize {
            return value;
        }
        place -= count as usize;
    }
    if place < TICKET_LARGE {
        let exponent = random.below(1 << 20) as f64 / f64::from(1 << 20);
        return (255.0 * (4.6e6_f64 / 255.0).powf(exponent)) as u32;
    }
    12 + random.below(243) as u32
}

/// A value of the reporter's sample, of which only the moments are known: half are 0 to 3, a quarter 4 to 12, and the rest
/// log-uniform to 254.
#[expect(clippy::cast_possible_truncation, reason = "all values have 8 bits")]
fn reporter(random: &mut Random) -> u32 {
    match random.below(100) {
        0..52 => random.below(4) as u32,
        52..78 => 4 + random.below(9) as u32,
        _ => {
            let exponent = random.below(1 << 20) as f64 / f64::from(1 << 20);
            (12.0 * (255.0_f64 / 12.0).powf(exponent)) as u32
        }
    }
}

/// `count` values; the same seed always gives the same.
#[expect(clippy::cast_possible_truncation, reason = "all values have 32 bits")]
pub fn values(spread: Spread, count: usize, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut next = || match spread {
        Spread::Ticket => ticket(&mut random),
        Spread::Reporter => reporter(&mut random),
        Spread::Byte => u32::from(random.byte()),
        Spread::LogUniform => (random.number() as u32 | 1 << 31) >> random.below(32),
        Spread::Gaps => {
            let uniform = (random.below(1 << 30) + 1) as f64 / f64::from(1 << 30);
            1 + (-uniform.ln() * 39.5) as u32
        }
        Spread::Noise => random.number() as u32,
        Spread::Bits => random.number() as u32 & 1,
    };
    (0..count).map(|_| next()).collect()
}

/// Values of 64 bits: those of 32, some of them moved up.
pub fn wide_values(spread: Spread, count: usize, seed: u64) -> Vec<u64> {
    let mut random = Random::new(!seed);
    let lift = |value| u64::from(value) << random.pick(&[0, 0, 0, 7, 24, 31, 32]);
    values(spread, count, seed).into_iter().map(lift).collect()
}

/// LEB128 byte by byte, in the most obvious way: values and bytes taken, or `None`.
fn naive_leb128<T: Word>(source: &[u8], count: usize, form: Form) -> Option<(Vec<T>, usize)> {
    let mut input = source.iter();
    let mut found = Vec::new();
    for _ in 0..count {
        let (mut value, mut length) = (0_u128, 0);
        loop {
            let byte = *input.next()?;
            value |= u128::from(byte & 0x7f) << (7 * length);
            length += 1;
            if byte < 0x80 {
                if form == Form::Minimal && byte == 0 && length > 1 {
                    return None;
                }
                break;
            }
            if length == T::BYTES_MAX {
                return None;
            }
        }
        if value >> (8 * size_of::<T>()) != 0 {
            return None;
        }
        found.push(T::truncate(u64::try_from(value).ok()?));
    }
    Some((found, source.len() - input.len()))
}

/// Law: all decoders of LEB128 agree with the naive one on verdict, values and length, and with each other on the error.
pub fn leb128_alike<T: Word>(source: &[u8], count: usize, form: Form) -> Result<usize, Malformed> {
    let expected = naive_leb128::<T>(source, count, form);
    let mut verdict = None;
    for variant in T::decoders().available() {
        let mut target = vec![T::truncate(0xaaaa_aaaa_aaaa_aaaa); count];
        let result = variant.decode(source, &mut target, form);
        let name = variant.name();
        match &expected {
            Some((values, length)) => {
                assert_eq!(result, Ok(*length), "{name} takes another length");
                assert!(target == *values, "{name} decodes wrongly");
            }
            None => assert!(result.is_err(), "{name} accepts malformed values"),
        }
        assert_eq!(*verdict.get_or_insert(result), result, "{name} reports something else");
    }
    verdict.unwrap_or(Ok(0))
}

/// Law: all variants agree with the last one, which is the naive one.
fn alike(
    variants: &Variants<Decode<u32>>,
    source: &[u8],
    count: usize,
) -> Result<Vec<u32>, Malformed> {
    let decode = |stale: u32| {
        let decoded = variants.available().map(move |variant| {
            let mut target = vec![stale; count];
            (variant.name(), variant.decode(source, &mut target), target)
        });
        decoded.collect::<Vec<_>>()
    };
    let all: Vec<_> = [0xaaaa_aaaa, 0x5555_5555].into_iter().flat_map(decode).collect();
    let (_, expected, values) = all.last().cloned().unwrap_or(("", Ok(0), Vec::new()));
    for (name, result, target) in all {
        assert_eq!(result, expected, "{name} reports something else");
        assert!(result.is_err() || target == values, "{name} decodes otherwise");
    }
    expected.map(|_| values)
}

/// Law: as [`alike`] for StreamVByte.
pub fn stream_vbyte_alike(source: &[u8], count: usize) {
    for lengths in Lengths::ALL {
        let _verdict = alike(lengths.decoders(), source, count);
    }
}

/// Law: as [`alike`] for every packed layout.
pub fn packed_alike(source: &[u8], count: usize) {
    for (layout, series) in layouts() {
        let _verdict = alike(layout.decoders(series), source, count);
    }
}

/// Law: as [`alike`] for `encode_length`.
pub fn encode_length_alike(source: &[u8], count: usize) {
    let _verdict = alike(&encode_length::DECODE_VARIANTS, source, count);
}

fn layouts() -> impl Iterator<Item = (Layout, Series)> {
    Layout::ALL
        .into_iter()
        .flat_map(|layout| Series::ALL.into_iter().map(move |series| (layout, series)))
}

/// Law: all encoders give the same bytes, for a target of the bound and for one that just suffices; with less room they
/// give nothing.
pub fn leb128_encode<T: Word>(values: &[T]) -> Vec<u8> {
    let mut bytes: Option<Vec<u8>> = None;
    for variant in T::encoders().available() {
        let name = variant.name();
        let mut target = vec![0xaa; leb128::bound::<T>(values.len())];
        let length = variant.encode(values, &mut target).unwrap_or(usize::MAX);
        assert!(length <= target.len(), "{name} finds the bound too small");
        target.truncate(length);
        assert_eq!(variant.encode(values, &mut vec![0; length]), Some(length), "{name}");
        if let Some(short) = length.checked_sub(1) {
            assert_eq!(variant.encode(values, &mut vec![0; short]), None, "{name}");
        }
        assert!(*bytes.get_or_insert_with(|| target.clone()) == target, "{name} encodes otherwise");
    }
    bytes.unwrap_or_default()
}

/// Law: values survive; a source cut at any of its last bytes is refused; trailing bytes are left alone.
pub fn leb128_round_trip<T: Word>(values: &[T]) {
    let mut bytes = leb128_encode(values);
    let length = bytes.len();
    for form in [Form::Minimal, Form::Any] {
        assert_eq!(leb128_alike::<T>(&bytes, values.len(), form), Ok(length));
    }
    let mut target = vec![T::truncate(0); values.len()];
    assert_eq!(leb128::decode(&bytes, &mut target, Form::Minimal), Ok(length));
    assert!(target == values, "values change");
    for cut in length.saturating_sub(80)..length {
        let result = leb128_alike::<T>(&bytes[..cut], values.len(), Form::Any);
        assert_eq!(result, Err(Malformed::Truncated { at: cut }), "cut at {cut}");
    }
    bytes.extend([0x80; 100]);
    assert_eq!(leb128_alike::<T>(&bytes, values.len(), Form::Minimal), Ok(length));
}

/// Law: the same for StreamVByte.
pub fn stream_vbyte_round_trip(values: &[u32]) {
    for lengths in Lengths::ALL {
        let mut bytes: Option<Vec<u8>> = None;
        for variant in lengths.encoders().available() {
            let name = variant.name();
            let mut target = vec![0xaa; stream_vbyte::bound(values.len())];
            let length = variant.encode(values, &mut target).unwrap_or(usize::MAX);
            target.truncate(length);
            assert_eq!(variant.encode(values, &mut vec![0; length]), Some(length), "{name}");
            if let Some(short) = length.checked_sub(1) {
                assert_eq!(variant.encode(values, &mut vec![0; short]), None, "{name}");
            }
            assert!(
                *bytes.get_or_insert_with(|| target.clone()) == target,
                "{name} encodes otherwise"
            );
        }
        check(lengths.decoders(), &bytes.unwrap_or_default(), values);
    }
}

/// Law: the same for the packed layouts.
pub fn packed_round_trip(values: &[u32]) {
    for (layout, series) in layouts() {
        let mut target = vec![0xaa; packed::bound(values.len())];
        let length = packed::encode(values, &mut target, layout, series).unwrap_or(usize::MAX);
        target.truncate(length);
        assert_eq!(packed::encode(values, &mut vec![0; length], layout, series), Some(length));
        if let Some(short) = length.checked_sub(1) {
            assert_eq!(packed::encode(values, &mut vec![0; short], layout, series), None);
        }
        check(layout.decoders(series), &target, values);
    }
}

/// Law: the same for `encode_length`.
pub fn encode_length_round_trip(values: &[u32]) {
    let mut target = vec![0xaa; encode_length::bound(values.len())];
    let length = encode_length::encode(values, &mut target).unwrap_or(usize::MAX);
    check(&encode_length::DECODE_VARIANTS, &target[..length], values);
}

/// What was encoded decodes to the values, also with bytes after it, and is refused when it is cut.
fn check(variants: &Variants<Decode<u32>>, bytes: &[u8], values: &[u32]) {
    assert!(alike(variants, bytes, values.len()).as_deref() == Ok(values), "values change");
    for cut in bytes.len().saturating_sub(80)..bytes.len() {
        assert!(alike(variants, &bytes[..cut], values.len()).is_err(), "cut at {cut} is accepted");
    }
    let mut longer = bytes.to_vec();
    longer.extend([0xff; 300]);
    assert!(
        alike(variants, &longer, values.len()).as_deref() == Ok(values),
        "trailing bytes matter"
    );
    for variant in variants.available() {
        let mut target = vec![0; values.len()];
        assert_eq!(variant.decode(&longer, &mut target), Ok(bytes.len()), "{}", variant.name());
    }
}

/// Law: whatever bit is flipped, all variants agree on what the bytes are now.
pub fn survive_flips(values: &[u32], random: &mut Random) {
    let count = values.len();
    let flip = |bytes: &[u8], random: &mut Random, law: &dyn Fn(&[u8])| {
        let mut bytes = bytes.to_vec();
        for _ in 0..20.min(8 * bytes.len()) {
            let bit = random.below(8 * bytes.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
            law(&bytes);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    };
    flip(&leb128_encode(values), random, &|bytes| leb128_any(bytes, count));
    let mut target = vec![0; stream_vbyte::bound(count) + packed::bound(count)];
    for lengths in Lengths::ALL {
        let length = stream_vbyte::encode(values, &mut target, lengths).unwrap_or(0);
        flip(&target[..length], random, &|bytes| stream_vbyte_alike(bytes, count));
    }
    for (layout, series) in layouts() {
        let length = packed::encode(values, &mut target, layout, series).unwrap_or(0);
        flip(&target[..length], random, &|bytes| packed_alike(bytes, count));
    }
    let mut target = vec![0; encode_length::bound(count)];
    let length = encode_length::encode(values, &mut target).unwrap_or(0);
    flip(&target[..length], random, &|bytes| encode_length_alike(bytes, count));
}

/// Law: any bytes get the same verdict from all decoders of LEB128.
pub fn leb128_any(source: &[u8], count: usize) {
    for form in [Form::Minimal, Form::Any] {
        let _verdict = leb128_alike::<u32>(source, count, form);
        let _verdict = leb128_alike::<u64>(source, count, form);
    }
}

/// For a fuzzer: two bytes of count, then a source.
fn counted(input: &[u8], law: impl Fn(&[u8], usize)) {
    if let Some((count, source)) = input.split_first_chunk::<2>() {
        law(source, usize::from(u16::from_le_bytes(*count) % 4096));
    }
}

/// The law for a fuzzer of LEB128 and `encode_length`.
pub fn fuzz_varint(input: &[u8]) {
    counted(input, leb128_any);
    counted(input, encode_length_alike);
    let (fours, _) = input.as_chunks::<4>();
    let values: Vec<u32> = fours.iter().map(|four| u32::from_le_bytes(*four)).collect();
    leb128_round_trip(&values);
    encode_length_round_trip(&values);
}

/// The law for a fuzzer of StreamVByte.
pub fn fuzz_stream_vbyte(input: &[u8]) {
    counted(input, stream_vbyte_alike);
    let (fours, _) = input.as_chunks::<4>();
    stream_vbyte_round_trip(
        &fours.iter().map(|four| u32::from_le_bytes(*four)).collect::<Vec<_>>(),
    );
}

/// The law for a fuzzer of packed blocks.
pub fn fuzz_packed(input: &[u8]) {
    counted(input, packed_alike);
    let (fours, _) = input.as_chunks::<4>();
    packed_round_trip(&fours.iter().map(|four| u32::from_le_bytes(*four)).collect::<Vec<_>>());
}

/// The law for a fuzzer of single values: what is read in strict mode is written again as the same bytes.
pub fn fuzz_xapian(input: &[u8]) {
    let again = |length: usize, write: &dyn Fn(&mut Writer<'_>) -> bool| {
        let mut target = vec![0; 2 * input.len() + 16];
        let mut writer = Writer::new(&mut target);
        assert!(write(&mut writer), "what was read is not written");
        let written = writer.written();
        assert_eq!(target[..written], input[..length], "written otherwise");
    };
    let mut reader = Reader::strict(input);
    if let Ok(value) = reader.unpack_uint::<u64>() {
        again(reader.position(), &|writer| writer.pack_uint(value).is_ok());
        assert_eq!(unpack_uint_backwards(input, reader.position()), Ok((value, 0)));
    }
    let mut reader = Reader::strict(input);
    if let Ok(value) = reader.decode_length::<u64>() {
        again(reader.position(), &|writer| writer.encode_length(value).is_ok());
    }
    let mut reader = Reader::strict(input);
    if let Ok(value) = reader.unpack_uint_preserving_sort::<u64>() {
        again(reader.position(), &|writer| writer.pack_uint_preserving_sort(value).is_ok());
    }
    let mut reader = Reader::strict(input);
    if let Ok(value) = reader.unpack_uint_last::<u64>() {
        again(input.len(), &|writer| writer.pack_uint_last(value).is_ok());
    }
    let mut reader = Reader::strict(input);
    if let Ok(value) = reader.unpack_string() {
        again(reader.position(), &|writer| writer.pack_string(value).is_ok());
    }
    if let Ok(key) = PostlistKey::read(input) {
        let mut target = vec![0; 2 * input.len() + 16];
        let mut writer = Writer::new(&mut target);
        assert_eq!(key.write(&mut writer), Ok(()));
        let written = writer.written();
        assert_eq!(PostlistKey::read(&target[..written]), Ok(key));
    }
    if let Ok(document) = Document::read(input) {
        let mut bytes = Vec::new();
        assert_eq!(document.write(&mut bytes), Ok(()));
        assert_eq!(bytes, input, "a document is written otherwise");
    }
}
