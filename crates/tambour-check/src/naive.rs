//! The payloads of column codecs decoded as `docs/format/codecs.md` puts it, value by value and bit by bit: slow, and with
//! nothing in common with the kernels. `None` is a payload that is no good.

use std::collections::HashMap;
use std::sync::LazyLock;

type Words = Vec<u64>;

/// Decodes the payload of a method byte into `size` bytes. Panics for methods that are not of column codecs.
#[expect(clippy::panic, reason = "a law asks for what there is not")]
pub fn decode(method: u8, payload: &[u8], size: usize) -> Option<Vec<u8>> {
    match method {
        0x92 => prefixed(payload, size, &[1, 2, 4, 8], delta),
        0x94 => prefixed(payload, size, &[1, 2, 4, 8], double_delta),
        0x95 => prefixed(payload, size, &[1, 2, 4, 8], gorilla),
        0x9a => prefixed(payload, size, &[1, 2, 4, 8, 16, 32], gcd),
        0x93 => t64(payload, size),
        0x98 => fpc(payload, size),
        0x9c => alp(payload, size),
        0xe3 => fsst(payload, size),
        _ => panic!("no column codec: {method:#x}"),
    }
}

/// The methods that [`decode`] knows.
pub const METHODS: &[u8] = &[0x92, 0x93, 0x94, 0x95, 0x98, 0x9a, 0x9c, 0xe3];

/// Symbols of one to eight bytes, and codes of them.
fn fsst(payload: &[u8], size: usize) -> Option<Vec<u8>> {
    let (&count, rest) = payload.split_first()?;
    let (lengths, mut rest) = rest.split_at_checked(usize::from(count))?;
    let mut symbols = Vec::new();
    for &length in lengths {
        let (symbol, behind) = rest.split_at_checked(usize::from(length))?;
        if !(1..=8).contains(&length) {
            return None;
        }
        symbols.push(symbol);
        rest = behind;
    }
    let (mut codes, mut bytes) = (rest.iter(), Vec::new());
    while let Some(&code) = codes.next() {
        if code == 255 {
            bytes.push(*codes.next()?);
        } else {
            bytes.extend_from_slice(symbols.get(usize::from(code))?);
        }
    }
    (bytes.len() == size).then_some(bytes)
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The low `width` bytes.
fn low(value: u64, width: usize) -> u64 {
    word(&value.to_le_bytes()[..width])
}

fn to_bytes(words: &[u64], width: usize) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()[..width].to_vec()).collect()
}

/// A codec after width, leading and leading bytes: from width, rest and count of values to bytes.
type Body = fn(usize, &[u8], usize) -> Option<Vec<u8>>;

fn prefixed(payload: &[u8], size: usize, widths: &[usize], body: Body) -> Option<Vec<u8>> {
    let width = usize::from(*payload.first()?);
    if !widths.contains(&width) {
        return None;
    }
    let leading = size % width;
    let mut target = payload.get(2..2 + leading)?.to_vec();
    target.extend(body(width, &payload[2 + leading..], size / width)?);
    Some(target)
}

fn delta(width: usize, rest: &[u8], count: usize) -> Option<Vec<u8>> {
    if rest.len() != width * count {
        return None;
    }
    let mut value = 0_u64;
    let mut words = Words::new();
    for chunk in rest.chunks(width) {
        value = value.wrapping_add(word(chunk));
        words.push(value);
    }
    Some(to_bytes(&words, width))
}

/// Schoolbook multiplication, digit by digit.
fn gcd(width: usize, rest: &[u8], count: usize) -> Option<Vec<u8>> {
    if rest.len() != width * (1 + count) {
        return None;
    }
    let (divisor, quotients) = rest.split_at(width);
    let mut target = Vec::new();
    for quotient in quotients.chunks(width) {
        let mut product = vec![0_u8; width];
        for (i, a) in quotient.iter().enumerate() {
            let mut carry = 0_u16;
            for (b, place) in divisor.iter().zip(&mut product[i..]) {
                let sum = u16::from(*a) * u16::from(*b) + u16::from(*place) + carry;
                *place = sum.to_le_bytes()[0];
                carry = sum >> 8;
            }
        }
        target.extend(product);
    }
    Some(target)
}

/// Bits, the highest of a byte first.
struct Bits<'a> {
    source: &'a [u8],
    position: usize,
}

impl Bits<'_> {
    fn bit(&mut self) -> Option<u64> {
        let byte = self.source.get(self.position / 8)?;
        let bit = byte >> (7 - self.position % 8) & 1;
        self.position += 1;
        Some(bit.into())
    }

    fn number(&mut self, bits: usize) -> Option<u64> {
        (0..bits).try_fold(0, |sum, _| Some(sum << 1 | self.bit()?))
    }
}

/// Splits the count off and checks it.
fn counted(rest: &[u8], count: usize) -> Option<&[u8]> {
    let (stated, rest) = rest.split_at_checked(4)?;
    (word(stated) == count as u64).then_some(rest)
}

fn double_delta(width: usize, rest: &[u8], count: usize) -> Option<Vec<u8>> {
    let rest = counted(rest, count)?;
    let mut words = Words::new();
    let mut delta = 0;
    let mut bits = Bits { source: rest, position: 16 * width };
    for index in 0..count {
        if index < 2 {
            delta = word(rest.get(index * width..(index + 1) * width)?);
        } else {
            let mut ones = 0;
            while ones < 5 && bits.bit()? == 1 {
                ones += 1;
            }
            if ones > 0 {
                let negative = bits.bit()? == 1;
                let magnitude = bits.number([6, 8, 11, 31, 63][ones - 1])? + 1;
                let change = if negative { magnitude.wrapping_neg() } else { magnitude };
                delta = delta.wrapping_add(change);
            }
        }
        words.push(words.last().unwrap_or(&0).wrapping_add(delta));
    }
    Some(to_bytes(&words, width))
}

fn gorilla(width: usize, rest: &[u8], count: usize) -> Option<Vec<u8>> {
    let rest = counted(rest, count)?;
    let mut words = Words::new();
    let mut bits = Bits { source: rest, position: 8 * width };
    let field = match width {
        1 => 4,
        2 => 5,
        4 => 6,
        _ => 7,
    };
    let mut record = None;
    for index in 0..count {
        if index == 0 {
            words.push(word(rest.get(..width)?));
            continue;
        }
        let mut xor = 0;
        if bits.bit()? == 1 {
            if bits.bit()? == 1 {
                let leading = usize::try_from(bits.number(field - 1)?).ok()?;
                let length = usize::try_from(bits.number(field)?).ok()?;
                if length == 0 || leading + length > 8 * width {
                    return None;
                }
                record = Some((length, 8 * width - leading - length));
            }
            let (length, trailing) = record?;
            xor = bits.number(length)? << trailing;
        }
        words.push(words.last()? ^ xor);
    }
    Some(to_bytes(&words, width))
}

/// Width of a T64 type, and whether it is signed.
fn t64_type(cookie: u8) -> Option<(usize, bool)> {
    match cookie & 0x7f {
        1 | 17 => Some((1, false)),
        2 | 13 | 18 => Some((2, false)),
        3 | 14 | 21 => Some((4, false)),
        4 => Some((8, false)),
        6 => Some((1, true)),
        7 => Some((2, true)),
        8 | 19 | 22 | 23 => Some((4, true)),
        9 | 15 | 20 | 24 => Some((8, true)),
        _ => None,
    }
}

fn t64(payload: &[u8], size: usize) -> Option<Vec<u8>> {
    let cookie = *payload.first()?;
    let (width, signed) = t64_type(cookie)?;
    let (leading, count) = (size % width, size / width);
    let mut target = payload.get(1..=leading)?.to_vec();
    let rest = &payload[1 + leading..];
    if count == 0 && rest.is_empty() {
        return Some(target);
    }
    let (low, high) = (word(rest.get(..8)?), word(rest.get(8..16)?));
    let number = |word: u64| if signed { i128::from(word.cast_signed()) } else { i128::from(word) };
    let (low, high) = (number(low), number(high));
    let limit = 1_i128 << (8 * width - usize::from(signed));
    if low > high || high >= limit || low < if signed { -limit } else { 0 } {
        return None;
    }
    let length = |value: i128| (128 - value.leading_zeros()) as usize;
    let crossing = low < 0 && high >= 0;
    let bits = if crossing {
        1 + if low + high >= 0 { length(high) } else { length(!low) }
    } else {
        length(low ^ high)
    };
    let groups = &rest[16..];
    if groups.len() != if bits == 0 { 0 } else { count.div_ceil(64) * 8 * bits } {
        return None;
    }
    let rows = if cookie & 0x80 == 0 { bits / 8 } else { 0 };
    for index in 0..count {
        let group = groups.get(index / 64 * 8 * bits..).unwrap_or_default();
        let mut value = t64_bits(group, rows, bits, index % 64);
        let negative = bits > 0 && value >> (bits - 1) & 1 == 1;
        let other = if crossing && !negative { high } else { low };
        if bits < 64 {
            let kept = other >> bits << bits;
            value |= word(&kept.to_le_bytes()[..8]);
        }
        target.extend(&value.to_le_bytes()[..width]);
    }
    Some(target)
}

/// The stored bits of one value of a T64 group: some rows of 64 bytes, then words of bits.
pub fn t64_bits(group: &[u8], rows: usize, bits: usize, index: usize) -> u64 {
    let mut value = 0;
    for bit in 0..bits {
        let set = if bit / 8 < rows {
            group[bit / 8 * 64 + index] >> (bit % 8) & 1
        } else {
            let at = rows * 64 + (bit - 8 * rows) * 8 + index / 8;
            group[at] >> (index % 8) & 1
        };
        value |= u64::from(set) << bit;
    }
    value
}

fn fpc(payload: &[u8], size: usize) -> Option<Vec<u8>> {
    let (width, level) = (usize::from(*payload.first()?), u32::from(*payload.get(1)?));
    if !matches!(width, 4 | 8) || !(1..=28).contains(&level) {
        return None;
    }
    let (mut values, mut differences) = (HashMap::new(), HashMap::new());
    let (mut value_hash, mut difference_hash, mut previous) = (0_u64, 0_u64, 0_u64);
    let (mut at, mut target) = (2, Vec::new());
    while target.len() < size {
        let codes = *payload.get(at)?;
        at += 1;
        for code in [codes >> 4, codes & 15] {
            let zeros = match (width, usize::from(code & 7)) {
                (4, 5..) => return None,
                (8, zeros @ 4..) => zeros + 1,
                (_, zeros) => zeros,
            };
            let xor = word(payload.get(at..at + width - zeros)?);
            at += width - zeros;
            let by_value = *values.get(&value_hash).unwrap_or(&0);
            let last = *differences.get(&difference_hash).unwrap_or(&0_u64);
            let by_difference = low(last.wrapping_add(previous), width);
            let value = xor ^ if code & 8 == 0 { by_value } else { by_difference };
            let difference = low(value.wrapping_sub(previous), width);
            values.insert(value_hash, value);
            differences.insert(difference_hash, difference);
            let mask = (1 << level) - 1;
            if width == 8 {
                value_hash = (value_hash << 6 ^ value >> 48) & mask;
                difference_hash = (difference_hash << 2 ^ difference >> 40) & mask;
            } else {
                value_hash = (value_hash << 1 ^ value >> 22) & mask;
                difference_hash = (difference_hash << 4 ^ difference >> 23) & mask;
            }
            previous = value;
            target.extend(&value.to_le_bytes()[..width]);
        }
    }
    target.truncate(size);
    (at == payload.len()).then_some(target)
}

fn alp(payload: &[u8], size: usize) -> Option<Vec<u8>> {
    let width = usize::from(*payload.get(1)?);
    if payload[0] != 1 || !matches!(width, 4 | 8) || payload.get(2..4)? != [0, 4] {
        return None;
    }
    if !size.is_multiple_of(width) {
        return None;
    }
    let (mut at, mut target) = (4, Vec::new());
    while target.len() < size {
        let count = ((size - target.len()) / width).min(1024);
        let exponent = *payload.get(at)?;
        if exponent == 0xff {
            target.extend(payload.get(at + 1..at + 1 + count * width)?);
            at += 1 + count * width;
            continue;
        }
        let header = payload.get(at..at + 13)?;
        let (factor, exceptions, bits) = (header[1], word(&header[2..4]), usize::from(header[4]));
        if exponent > 18 || factor > 18 || bits > 64 {
            return None;
        }
        let packed = payload.get(at + 13..at + 13 + 128 * bits)?;
        at += 13 + 128 * bits;
        let start = target.len();
        let base = word(&header[5..]).cast_signed();
        let powers = [i32::from(exponent), i32::from(factor)];
        for index in 0..count {
            let distance = alp_bits(packed, bits, index);
            let integer = base.wrapping_add(distance.cast_signed());
            target.extend(alp_value(width, integer, powers));
        }
        for _ in 0..exceptions {
            let exception = payload.get(at..at + 2 + width)?;
            let place = start + usize::try_from(word(&exception[..2])).ok()? * width;
            target.get_mut(place..place + width)?.copy_from_slice(&exception[2..]);
            at += 2 + width;
        }
    }
    (at == payload.len()).then_some(target)
}

/// The bits of one value of a packed vector.
pub fn alp_bits(packed: &[u8], bits: usize, index: usize) -> u64 {
    let mut value = 0;
    for bit in 0..bits {
        let (lane, position) = (index % 16, index / 16 * bits + bit);
        let at = 8 * (16 * (position / 64) + lane);
        value |= (word(&packed[at..at + 8]) >> (position % 64) & 1) << bit;
    }
    value
}

/// Ten to a power up to 18. Parsing rounds correctly; `powi` does not promise to.
fn power(exponent: i32) -> f64 {
    static POWERS: LazyLock<[f64; 19]> = LazyLock::new(|| {
        std::array::from_fn(|exponent| format!("1e{exponent}").parse().unwrap_or(f64::NAN))
    });
    usize::try_from(exponent).ok().and_then(|at| POWERS.get(at)).copied().unwrap_or(f64::NAN)
}

/// The integer that a float becomes, with the powers of the exponent and the factor. `None` where it is so large that encoders
/// may round it in their own ways.
pub fn alp_integer(value: &[u8], [exponent, factor]: [i32; 2]) -> Option<i64> {
    let value = match *value {
        [a, b, c, d] => f32::from_le_bytes([a, b, c, d]).into(),
        _ => f64::from_bits(word(value)),
    };
    let scaled = value * power(exponent) * (1.0 / power(factor));
    #[expect(clippy::cast_possible_truncation, reason = "small enough; what is not a number is 0")]
    let integer = scaled.round_ties_even() as i64;
    (scaled.is_nan() || scaled.abs() < (1_i64 << 51) as f64).then_some(integer)
}

/// The float that an integer stands for, with the powers of the exponent and the factor.
pub fn alp_value(width: usize, integer: i64, [exponent, factor]: [i32; 2]) -> Vec<u8> {
    let value = integer as f64 * power(factor) * (1.0 / power(exponent));
    #[expect(clippy::cast_possible_truncation, reason = "rounded to single precision")]
    let single = value as f32;
    if width == 4 { single.to_le_bytes().to_vec() } else { value.to_le_bytes().to_vec() }
}
