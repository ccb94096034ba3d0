//! Bytes as texts and back: `unhex`, `bin`, `base64Encode`, `base32Encode`, `base58Encode`, `char`, `encodeXMLComponent`.

use arrow_array::ArrayRef;
use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::borrow::Cow;
use tambour_function::kit::{
    Call, Kind, RESULT_MAX, expect_count, integer, is_wide, rule, significant_bytes, takes,
};
use tambour_function::{Function, FunctionError, Signature};
use tambour_part::types::DataType;

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// Longest string in base 58, which takes the square of its length.
const BASE58_MAX: usize = 1 << 16;
/// Bits of the last letter that make no byte do not count.
const ANY_REST: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
const STANDARD_DECODER: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, ANY_REST);
const URL_SAFE_DECODER: GeneralPurpose = GeneralPurpose::new(
    &alphabet::URL_SAFE,
    ANY_REST.with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

macro_rules! decoders {
    ($($encode:literal $decode:literal $attempt:literal $aliases:expr, $limit:expr, $encoder:expr, $decoder:expr, $unclear:expr;)+) => {
        &[$(
            Function::new($encode, rule!(Text => DataType::String), |c| {
                let texts = c.texts(0)?;
                c.try_texts(|row, out| {
                    if $limit < texts.get(row).len() {
                        return Err(c.value_error(row, format!("it takes {} bytes at most", $limit)));
                    }
                    out.extend($encoder(texts.get(row)));
                    Ok(())
                })
            }),
            Function::new($decode, rule!(Text => DataType::String), |c| {
                let texts = c.texts(0)?;
                c.try_texts(|row, out| match $decoder(texts.get(row)) {
                    Some(bytes) => {
                        out.extend_from_slice(&bytes);
                        Ok(())
                    }
                    None => Err(c.value_error(row, "the string is not in this encoding")),
                })
            })
            .bytes()
            .aliases($aliases),
            Function::new($attempt, rule!(Text => DataType::String), |c| {
                let texts = c.texts(0)?;
                let is_unclear: fn(&[u8]) -> bool = $unclear;
                c.try_texts(|row, out| {
                    if is_unclear(texts.get(row)) {
                        return Err(c.value_error(row, "the string may be in this encoding, or not"));
                    }
                    out.extend($decoder(texts.get(row)).unwrap_or_default());
                    Ok(())
                })
            })
            .bytes(),
        )+]
    };
}

const BASES: &[Function] = decoders! {
    "base64Encode" "base64Decode" "tryBase64Decode" &["FROM_BASE64"], RESULT_MAX,
        |text: &[u8]| STANDARD.encode(text).into_bytes(),
        |text: &[u8]| STANDARD_DECODER.decode(dense(text)).ok(), |_| false;
    "base64URLEncode" "base64URLDecode" "tryBase64URLDecode" &[], RESULT_MAX,
        |text: &[u8]| URL_SAFE_NO_PAD.encode(text).into_bytes(),
        |text: &[u8]| URL_SAFE_DECODER.decode(dense(text)).ok(),
        is_unclear_url;
    "base32Encode" "base32Decode" "tryBase32Decode" &[], RESULT_MAX, base32, base32_decoded, |_| false;
    "base58Encode" "base58Decode" "tryBase58Decode" &[], BASE58_MAX, base58, base58_decoded,
        |_| false;
};

/// The functions of this room.
pub(crate) const FUNCTIONS: &[&[Function]] = &[BASES, OTHERS];

const OTHERS: &[Function] = &[
    Function::new("unhex", rule!(Text => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| unpacked(texts.get(row), 2, 16, out))
    })
    .bytes()
    .any_case(),
    Function::new("bin", bin_type, bin).any_case(),
    Function::new("char", char_type, char_of).bytes().any_case(),
    Function::new("encodeXMLComponent", rule!(String => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| {
            for byte in texts.get(row) {
                match byte {
                    b'<' => out.extend_from_slice(b"&lt;"),
                    b'>' => out.extend_from_slice(b"&gt;"),
                    b'&' => out.extend_from_slice(b"&amp;"),
                    b'"' => out.extend_from_slice(b"&quot;"),
                    b'\'' => out.extend_from_slice(b"&apos;"),
                    other => out.push(*other),
                }
            }
        })
    }),
    Function::new("decodeXMLComponent", rule!(String => DataType::String), |c| {
        let texts = c.texts(0)?;
        c.make_texts(|row, out| decode_xml(texts.get(row), out))
    }),
];

/// A text without spaces and ends of lines, which may be anywhere in one in base 64.
fn dense(text: &[u8]) -> Cow<'_, [u8]> {
    if text.iter().any(u8::is_ascii_whitespace) {
        text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()
    } else {
        text.into()
    }
}

/// True for texts that ClickHouse decodes in part, or after leaving bytes out: those with letters of the other
/// alphabet and with more or fewer signs at the end than make a whole.
fn is_unclear_url(text: &[u8]) -> bool {
    let text = dense(text);
    let body = text.iter().rposition(|byte| *byte != b'=').map_or(0, |last| last + 1);
    let (body, signs) = text.split_at(body);
    let is_foreign = |byte: &u8| matches!(byte, b'+' | b'/' | b'=');
    let has_wrong_end = !signs.is_empty() && !text.len().is_multiple_of(4);
    body.iter().any(is_foreign) || has_wrong_end || signs.len() > 2
}

/// Digits from the end on, `width` of them to a byte; what is not a digit counts as its low bits do in ClickHouse: 0xff.
fn unpacked(text: &[u8], width: usize, radix: u32, out: &mut Vec<u8>) {
    let mut rest = text;
    let first = text.len() % width;
    if first > 0 {
        let (head, tail) = text.split_at(first);
        out.push(packed(head, radix));
        rest = tail;
    }
    out.extend(rest.chunks(width).map(|digits| packed(digits, radix)));
}

fn packed(digits: &[u8], radix: u32) -> u8 {
    let digit = |byte: &u8| match radix {
        2 => u32::from(*byte == b'1'),
        _ => char::from(*byte).to_digit(radix).unwrap_or(0xff),
    };
    digits.iter().fold(0_u32, |sum, byte| (sum * radix).wrapping_add(digit(byte))) as u8
}

fn bin_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| &first.data_type) {
        Some(
            DataType::Float32 | DataType::Float64 | DataType::Date | DataType::DateTime { .. },
        ) => Ok(DataType::String),
        Some(other) if integer(other).is_some() || is_wide(other) => Ok(DataType::String),
        _ => takes(name, s, &[Kind::Text], &[]).map(|()| DataType::String),
    }
}

/// Whole bytes, those that are 0 at the front of integers left out.
fn bin(call: &Call) -> Result<ArrayRef, FunctionError> {
    let push = |bytes: &[u8], out: &mut Vec<u8>| {
        for byte in bytes {
            out.extend(format!("{byte:08b}").into_bytes());
        }
    };
    if let Some(numbers) = significant_bytes(call)? {
        return call.make_texts(|row, out| push(numbers.get(row).map_or(&[], Vec::as_slice), out));
    }
    let width = match &call.operand(0)?.data_type {
        DataType::Float32 => {
            let floats = call.floats(0)?;
            return call.make_texts(|row, out| push(&(floats.get(row) as f32).to_le_bytes(), out));
        }
        DataType::Float64 => {
            let floats = call.floats(0)?;
            return call.make_texts(|row, out| push(&floats.get(row).to_le_bytes(), out));
        }
        DataType::String | DataType::FixedString(_) => {
            let texts = call.texts(0)?;
            return call.make_texts(|row, out| push(texts.get(row), out));
        }
        other => other.fixed_width().unwrap_or(8),
    };
    let numbers = match &call.operand(0)?.data_type {
        DataType::Date => {
            let days = tambour_function::cast(&call.values(0)?, &arrow_schema::DataType::Int32)?;
            tambour_function::kit::wide_integers(&days)?
        }
        _ => tambour_function::kit::wide_integers(&call.values(0)?)?,
    };
    call.make_texts(|row, out| {
        let bytes = numbers[row].to_be_bytes();
        let bytes = bytes.get(16 - width..).unwrap_or_default();
        let first = bytes.iter().position(|byte| *byte != 0).unwrap_or(width - 1);
        push(bytes.get(first..).unwrap_or_default(), out);
    })
}

fn char_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    expect_count(name, s, 1..=1000)?;
    takes(name, s, &vec![Kind::Integer; s.len()], &[]).map(|()| DataType::String)
}

fn char_of(call: &Call) -> Result<ArrayRef, FunctionError> {
    let all = (0..call.operands.len()).map(|index| call.integers(index));
    let all = all.collect::<Result<Vec<_>, _>>()?;
    call.make_texts(|row, out| out.extend(all.iter().map(|numbers| numbers.get(row) as u8)))
}

fn decode_xml(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest) {
        out.extend_from_slice(rest.get(..at).unwrap_or_default());
        rest = rest.get(at..).unwrap_or_default();
        let Some(end) = memchr::memchr(b';', rest) else { break };
        if let Some(letter) = xml_letter(rest.get(1..end).unwrap_or_default()) {
            out.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
            rest = rest.get(end + 1..).unwrap_or_default();
        } else {
            out.push(b'&');
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    out.extend_from_slice(rest);
}

fn xml_letter(name: &[u8]) -> Option<char> {
    let number = |digits: &[u8], radix| {
        let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
        u32::from_str_radix(text, radix).ok().and_then(char::from_u32)
    };
    match name {
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"amp" => Some('&'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', b'x' | b'X', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => None,
    }
}

fn base32(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len().div_ceil(5) * 8);
    for chunk in text.chunks(5) {
        let bits = chunk.iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let bits = bits << (8 * (5 - chunk.len()));
        let letters = (chunk.len() * 8).div_ceil(5);
        for index in 0..8 {
            let digit = (bits >> (35 - 5 * index)) & 31;
            out.push(if index < letters { BASE32[digit as usize] } else { b'=' });
        }
    }
    out
}

fn base32_decoded(text: &[u8]) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(8) {
        return None;
    }
    let body = text.iter().rposition(|byte| *byte != b'=').map_or(0, |at| at + 1);
    let padding = text.len() - body;
    if !matches!(padding, 0 | 1 | 3 | 4 | 6) {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 8 * 5);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.get(..body)? {
        let digit = BASE32.iter().position(|other| *other == byte.to_ascii_uppercase())?;
        bits = bits << 5 | digit as u32;
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    Some(out)
}

fn base58(text: &[u8]) -> Vec<u8> {
    let zeros = text.iter().take_while(|byte| **byte == 0).count();
    let mut digits: Vec<u8> = Vec::with_capacity(text.len() * 138 / 100 + 1);
    for byte in text.iter().skip(zeros) {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let body = digits.iter().rev().map(|digit| BASE58[usize::from(*digit)]);
    std::iter::repeat_n(b'1', zeros).chain(body).collect()
}

fn base58_decoded(text: &[u8]) -> Option<Vec<u8>> {
    if text.len() > BASE58_MAX {
        return None;
    }
    let zeros = text.iter().take_while(|byte| **byte == b'1').count();
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    for letter in text.iter().skip(zeros) {
        let mut carry = BASE58.iter().position(|other| other == letter)? as u32;
        for byte in &mut bytes {
            carry += u32::from(*byte) * 58;
            *byte = carry as u8;
            carry >>= 8;
        }
        while carry > 0 {
            bytes.push(carry as u8);
            carry >>= 8;
        }
    }
    bytes.extend(std::iter::repeat_n(0, zeros));
    bytes.reverse();
    Some(bytes)
}
