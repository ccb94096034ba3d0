//! Integers, floats and decimals from text.

use super::Reject;
use arrow_buffer::i256;

const NOT_INTEGER: Reject = Reject::new("not an integer");
const OUT_OF_RANGE: Reject = Reject::new("out of range");
const NOT_NUMBER: Reject = Reject::new("not a number");
const NOT_DECIMAL: Reject = Reject::new("not a decimal number");
const TOO_FINE: Reject = Reject::new("more digits after the point than the type has");

/// A sign and the digits after it. `strict` refuses `+` and leading zeros, which people write in codes, not in numbers.
fn sign(text: &[u8], strict: bool) -> Result<(bool, &[u8]), Reject> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] if !strict => (false, rest),
        _ => (false, text),
    };
    if digits.is_empty() || strict && digits.len() > 1 && digits[0] == b'0' {
        return Err(NOT_INTEGER);
    }
    Ok((negative, digits))
}

/// Sign and magnitude of an integer of up to 64 bits.
pub fn small(text: &[u8], strict: bool) -> Result<(bool, u64), Reject> {
    let (negative, digits) = sign(text, strict)?;
    let mut magnitude = 0_u64;
    let (head, tail) = digits.split_at(digits.len().min(19));
    for &byte in head {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NOT_INTEGER);
        }
        magnitude = magnitude * 10 + u64::from(digit);
    }
    for &byte in tail {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NOT_INTEGER);
        }
        let next = magnitude.checked_mul(10).and_then(|ten| ten.checked_add(u64::from(digit)));
        magnitude = next.ok_or(OUT_OF_RANGE)?;
    }
    Ok((negative, magnitude))
}

/// An integer of up to 64 bits.
///
/// ```
/// use tambour_value::number::integer;
/// assert_eq!(integer::<u8>(b"255", true), Ok(255));
/// assert!(integer::<u8>(b"256", true).is_err());
/// assert!(integer::<u8>(b"25x", true).is_err());
/// ```
pub fn integer<T: TryFrom<i64> + TryFrom<u64>>(text: &[u8], strict: bool) -> Result<T, Reject> {
    let (negative, magnitude) = match small(text, strict) {
        Ok(parts) => parts,
        Err(_) if !strict && text.eq_ignore_ascii_case(b"true") => (false, 1),
        Err(_) if !strict && text.eq_ignore_ascii_case(b"false") => (false, 0),
        Err(reject) => return Err(reject),
    };
    if negative {
        let value = 0_i64.checked_sub_unsigned(magnitude).ok_or(OUT_OF_RANGE)?;
        T::try_from(value).or(Err(OUT_OF_RANGE))
    } else {
        T::try_from(magnitude).or(Err(OUT_OF_RANGE))
    }
}

/// Beyond this not every whole number is a float.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
const NOT_WHOLE: Reject = Reject::new("not a whole number");

/// The whole number that a float is; not -0.0, which would lose its sign.
///
/// ```
/// use tambour_value::number::whole;
/// assert_eq!(whole(12.0), Ok(12));
/// assert!(whole(12.5).is_err() && whole(-0.0).is_err());
/// ```
pub fn whole(value: f64) -> Result<i64, Reject> {
    let is_whole = value.fract() == 0.0 && value.abs() < WHOLE_MAX;
    if !is_whole || value == 0.0 && value.is_sign_negative() {
        return Err(NOT_WHOLE);
    }
    Ok(value as i64)
}

/// An integer of up to 64 bits, that is written as a float if it is `whole`.
pub fn integer_as<T: TryFrom<i64> + TryFrom<u64>>(
    text: &[u8],
    strict: bool,
    is_whole: bool,
) -> Result<T, Reject> {
    if is_whole {
        T::try_from(whole(float(text, strict)?)?).or(Err(OUT_OF_RANGE))
    } else {
        integer(text, strict)
    }
}

/// 256 bits, least significant word first.
type Words = [u64; 4];

/// `value * factor + addend`, if that fits.
fn multiply_add(value: Words, factor: u64, addend: u64) -> Option<Words> {
    let mut carry = u128::from(addend);
    let mut result = [0; 4];
    for (word, target) in value.into_iter().zip(&mut result) {
        let product = u128::from(word) * u128::from(factor) + carry;
        *target = product as u64;
        carry = product >> 64;
    }
    (carry == 0).then_some(result)
}

/// The magnitude of an integer of up to 256 bits.
fn magnitude(digits: &[u8]) -> Result<Words, Reject> {
    let mut value = [0; 4];
    for chunk in digits.chunks(19) {
        let (_, part) = small(chunk, false).or(Err(NOT_INTEGER))?;
        if !chunk.iter().all(u8::is_ascii_digit) {
            return Err(NOT_INTEGER);
        }
        let factor = 10_u64.pow(u32::try_from(chunk.len()).or(Err(NOT_INTEGER))?);
        value = multiply_add(value, factor, part).ok_or(OUT_OF_RANGE)?;
    }
    Ok(value)
}

/// Two's complement of sign and magnitude.
fn complement(negative: bool, value: Words) -> Words {
    if !negative {
        return value;
    }
    let mut carry = true;
    value.map(|word| {
        let (sum, overflow) = (!word).overflowing_add(u64::from(carry));
        carry = overflow;
        sum
    })
}

fn bytes(value: Words) -> [u8; 32] {
    let mut target = [0; 32];
    for (word, slot) in value.iter().zip(target.chunks_exact_mut(8)) {
        slot.copy_from_slice(&word.to_le_bytes());
    }
    target
}

/// An integer of `bits` bits (128 or 256) as its 32 little-endian bytes, sign-extended.
pub fn wide(text: &[u8], bits: u32, signed: bool) -> Result<[u8; 32], Reject> {
    let (negative, digits) = sign(text, false)?;
    let value = magnitude(digits)?;
    let top = bits - u32::from(signed);
    let fits = if negative {
        let zero = value == [0; 4];
        // The least value has one more in magnitude than the greatest.
        signed && (below_power(value, top) || is_power(value, top)) || zero
    } else {
        below_power(value, top)
    };
    if fits { Ok(bytes(complement(negative, value))) } else { Err(OUT_OF_RANGE) }
}

fn below_power(value: Words, power: u32) -> bool {
    let bits = value.iter().zip(0_u32..).map(|(word, index)| match word.checked_ilog2() {
        Some(highest) => index * 64 + highest + 1,
        None => 0,
    });
    bits.max().is_none_or(|bits| bits <= power)
}

fn is_power(value: Words, power: u32) -> bool {
    let ones: u32 = value.iter().map(|word| word.count_ones()).sum();
    ones == 1 && !below_power(value, power) && below_power(value, power + 1)
}

/// The `i256` of 32 little-endian bytes.
pub fn to_i256(value: [u8; 32]) -> i256 {
    i256::from_le_bytes(value)
}

/// A float. `strict` refuses leading zeros (`00.5`) and a leading `+`.
///
/// ```
/// use tambour_value::number::float;
/// assert_eq!(float(b"1e3", true), Ok(1000.0));
/// assert_eq!(float(b"00.5", false), Ok(0.5));
/// assert!(float(b"00.5", true).is_err());
/// ```
pub fn float(text: &[u8], strict: bool) -> Result<f64, Reject> {
    let value: f64 = checked_float(text, strict)?.parse().or(Err(NOT_NUMBER))?;
    if value.is_infinite() && text.iter().any(u8::is_ascii_digit) {
        return Err(OUT_OF_RANGE);
    }
    Ok(value)
}

/// A single-precision float (parsed as such, not rounded twice).
pub fn float32(text: &[u8], strict: bool) -> Result<f32, Reject> {
    let value: f32 = checked_float(text, strict)?.parse().or(Err(NOT_NUMBER))?;
    if value.is_infinite() && text.iter().any(u8::is_ascii_digit) {
        return Err(OUT_OF_RANGE);
    }
    Ok(value)
}

/// What may be a float, as text for Rust's parser.
fn checked_float(text: &[u8], strict: bool) -> Result<&str, Reject> {
    let digits = match text {
        [b'-', rest @ ..] => rest,
        [b'+', rest @ ..] if !strict => rest,
        [b'+', ..] => return Err(NOT_NUMBER),
        _ => text,
    };
    if strict && digits.len() > 1 && digits[0] == b'0' && digits[1].is_ascii_digit() {
        return Err(NOT_NUMBER);
    }
    std::str::from_utf8(text).or(Err(NOT_NUMBER))
}

/// A decimal number as its unscaled integer: `12.5` with scale 2 is 1250. More digits than the scale has are refused
/// unless they are zeros.
pub fn decimal(text: &[u8], precision: u8, scale: u8) -> Result<i256, Reject> {
    let (negative, unscaled) = decimal_parts(text, scale)?;
    if !below_ten_power(unscaled, precision) {
        return Err(OUT_OF_RANGE);
    }
    Ok(to_i256(bytes(complement(negative, unscaled))))
}

/// [`decimal`] for up to 38 digits.
///
/// ```
/// use tambour_value::number::decimal128;
/// assert_eq!(decimal128(b"12.5", 9, 2), Ok(1250));
/// assert_eq!(decimal128(b"12.500", 9, 2), Ok(1250));
/// assert!(decimal128(b"12.505", 9, 2).is_err(), "a digit more than the scale has");
/// ```
pub fn decimal128(text: &[u8], precision: u8, scale: u8) -> Result<i128, Reject> {
    if let Some(value) = short_decimal(text, precision, scale) {
        return Ok(i128::from(value));
    }
    decimal(text, precision, scale)?.to_i128().ok_or(OUT_OF_RANGE)
}

/// The everyday case: plain digits, at most 18 of them with the scale.
fn short_decimal(text: &[u8], precision: u8, scale: u8) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let mut value = 0_i64;
    let mut after_point = None;
    if digits.len() > 18 || !digits.first()?.is_ascii_digit() {
        return None;
    }
    for (index, &byte) in digits.iter().enumerate() {
        if byte == b'.' && after_point.is_none() {
            after_point = Some(digits.len() - index - 1);
        } else {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + i64::from(digit);
        }
    }
    let missing = usize::from(scale).checked_sub(after_point.unwrap_or(0))?;
    let factor = 10_i64.checked_pow(u32::try_from(missing).ok()?)?;
    let value = value.checked_mul(factor)?;
    if precision < 19 && value >= 10_i64.pow(u32::from(precision)) {
        return None;
    }
    Some(if negative { -value } else { value })
}

fn decimal_parts(text: &[u8], scale: u8) -> Result<(bool, Words), Reject> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&text[..at], integer::<i32>(&text[at + 1..], false).or(Err(NOT_DECIMAL))?),
        None => (text, 0),
    };
    let (whole, fraction) = match memchr::memchr(b'.', mantissa) {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &[][..]),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(NOT_DECIMAL);
    }
    let mut digits = whole.iter().chain(fraction);
    if !digits.all(u8::is_ascii_digit) {
        return Err(NOT_DECIMAL);
    }
    // The point stands after this many of the digits.
    let point = i64::try_from(whole.len()).or(Err(OUT_OF_RANGE))? + i64::from(exponent);
    let wanted = point + i64::from(scale);
    let mut value = [0; 4];
    let mut taken = 0_i64;
    for &byte in whole.iter().chain(fraction) {
        if taken < wanted {
            value = multiply_add(value, 10, u64::from(byte - b'0')).ok_or(OUT_OF_RANGE)?;
        } else if byte != b'0' {
            return Err(TOO_FINE);
        }
        taken += 1;
    }
    while taken < wanted {
        if value == [0; 4] {
            break;
        }
        value = multiply_add(value, 10, 0).ok_or(OUT_OF_RANGE)?;
        taken += 1;
    }
    Ok((negative, value))
}

fn below_ten_power(value: Words, power: u8) -> bool {
    let mut limit = [1, 0, 0, 0];
    for _ in 0..power {
        match multiply_add(limit, 10, 0) {
            Some(next) => limit = next,
            None => return true,
        }
    }
    value.iter().rev().lt(limit.iter().rev())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(integer::<i8>(b"-128", true), Ok(-128));
        assert_eq!(integer::<i8>(b"128", true), Err(OUT_OF_RANGE));
        assert_eq!(integer::<u64>(b"18446744073709551615", true), Ok(u64::MAX));
        assert_eq!(integer::<u64>(b"18446744073709551616", true), Err(OUT_OF_RANGE));
        assert_eq!(integer::<i64>(b"-9223372036854775808", true), Ok(i64::MIN));
        assert_eq!(integer::<i64>(b"-9223372036854775809", true), Err(OUT_OF_RANGE));
        assert_eq!(integer::<u8>(b"-1", false), Err(OUT_OF_RANGE));
        assert_eq!(integer::<u8>(b"007", false), Ok(7));
        for bad in ["", "-", "+", "1.0", "1a", " 1", "--1"] {
            assert_eq!(integer::<i64>(bad.as_bytes(), false), Err(NOT_INTEGER), "{bad}");
        }
        assert_eq!(integer::<i64>(b"02134", true), Err(NOT_INTEGER));
        assert_eq!(integer::<i64>(b"0", true), Ok(0));
    }

    #[test]
    fn wide_integers() {
        let big = |text: &str| wide(text.as_bytes(), 256, true).map(to_i256);
        assert_eq!(big("-1"), Ok(i256::MINUS_ONE));
        assert_eq!(big(&i256::MAX.to_string()), Ok(i256::MAX));
        assert_eq!(big(&i256::MIN.to_string()), Ok(i256::MIN));
        let above = "57896044618658097711785492504343953926634992332820282019728792003956564819968";
        assert_eq!(big(above), Err(OUT_OF_RANGE));
        assert!(wide(above.as_bytes(), 256, false).is_ok());
        assert!(wide(u128::MAX.to_string().as_bytes(), 128, false).is_ok());
        assert!(wide(u128::MAX.to_string().as_bytes(), 128, true).is_err());
        assert_eq!(
            wide(i128::MIN.to_string().as_bytes(), 128, true).map(to_i256),
            Ok(i256::from_i128(i128::MIN))
        );
        assert_eq!(big(&"9".repeat(400)), Err(OUT_OF_RANGE));
        assert_eq!(big("12+4567890123456789012345"), Err(NOT_INTEGER));
        assert_eq!(big("1234567890123456789-2345"), Err(NOT_INTEGER));
    }

    #[test]
    fn decimals() {
        let parse = |text: &str| decimal128(text.as_bytes(), 9, 2);
        assert_eq!(parse("12.5"), Ok(1250));
        assert_eq!(parse("-0.01"), Ok(-1));
        assert_eq!(parse("7"), Ok(700));
        assert_eq!(parse("1.2300"), Ok(123));
        assert_eq!(parse("1.234"), Err(TOO_FINE));
        assert_eq!(parse("9999999.99"), Ok(999_999_999));
        assert_eq!(parse("10000000"), Err(OUT_OF_RANGE));
        assert_eq!(parse("1.5e2"), Ok(15_000));
        assert_eq!(parse("150e-2"), Ok(150));
        assert_eq!(parse(".5"), Ok(50));
        assert_eq!(parse("5."), Ok(500));
        assert_eq!(parse("1e2147483647"), Err(OUT_OF_RANGE));
        assert_eq!(parse("0e2147483647"), Ok(0));
        for bad in ["", ".", "-", "1,5", "1.2.3", "e5", "1e", "nan", "1-2"] {
            assert_eq!(parse(bad), Err(NOT_DECIMAL), "{bad}");
        }
        let most = "9".repeat(76);
        assert_eq!(
            decimal(most.as_bytes(), 76, 0).map(|value| value.to_string()),
            Ok(most.clone())
        );
        assert_eq!(decimal(format!("{most}9").as_bytes(), 76, 0), Err(OUT_OF_RANGE));
    }

    #[test]
    fn floats() {
        assert_eq!(float(b"1e3", true), Ok(1000.0));
        assert!(float(b"nan", true).is_ok_and(f64::is_nan));
        assert_eq!(float(b"-inf", true), Ok(f64::NEG_INFINITY));
        assert!(float(b"00.5", true).is_err());
        assert_eq!(float(b".5", true), Ok(0.5));
        assert!(float(b"1 ", true).is_err());
        assert_eq!(float(b"1e999", true), Err(OUT_OF_RANGE));
    }
}
