//! `simpleJSON…`: the first `"name":` is looked for, and what comes after it is read, without a look at the rest of the
//! document.

use memchr::memmem;
use tambour_function::kit::{Call, rule};
use tambour_function::{Function, FunctionError};
use tambour_part::types::DataType;

/// The functions of this room.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function::new("simpleJSONHas", rule!(String ConstText => DataType::UInt8), |c| {
        let found = each(c, |value| value.is_some())?;
        c.make_flags(|row| found[row])
    })
    .predicate()
    .aliases(&["visitParamHas"]),
    Function::new("simpleJSONExtractUInt", rule!(String ConstText => DataType::UInt64), |c| {
        let found = each(c, |value| value.map_or(0, |text| integer(text, false)))?;
        c.make_integers(|row| found[row])
    })
    .aliases(&["visitParamExtractUInt"]),
    Function::new("simpleJSONExtractInt", rule!(String ConstText => DataType::Int64), |c| {
        let found = each(c, |value| value.map_or(0, |text| integer(text, true)))?;
        c.make_integers(|row| found[row])
    })
    .aliases(&["visitParamExtractInt"]),
    Function::new("simpleJSONExtractFloat", rule!(String ConstText => DataType::Float64), |c| {
        let found = each(c, |value| value.map_or(0.0, float))?;
        c.make_floats(|row| found[row])
    })
    .aliases(&["visitParamExtractFloat"]),
    Function::new("simpleJSONExtractBool", rule!(String ConstText => DataType::UInt8), |c| {
        let found = each(c, |value| value.is_some_and(|text| text.starts_with(b"true")))?;
        c.make_flags(|row| found[row])
    })
    .predicate()
    .aliases(&["visitParamExtractBool"]),
    Function::new("simpleJSONExtractRaw", rule!(String ConstText => DataType::String), |c| {
        let found = each(c, |value| value.map_or(Vec::new(), |text| raw(text).to_vec()))?;
        c.make_texts(|row, out| out.extend_from_slice(&found[row]))
    })
    .aliases(&["visitParamExtractRaw"]),
    Function::new("simpleJSONExtractString", rule!(String ConstText => DataType::String), |c| {
        let found = each(c, |value| value.and_then(text).unwrap_or_default())?;
        c.make_texts(|row, out| out.extend_from_slice(found[row].as_bytes()))
    })
    .aliases(&["visitParamExtractString"]),
];

fn each<T>(call: &Call, make: impl Fn(Option<&[u8]>) -> T) -> Result<Vec<T>, FunctionError> {
    let (texts, names) = (call.texts(0)?, call.texts(1)?);
    let needle = [b"\"", names.get(0), b"\":"].concat();
    let of_row = |row| {
        let text = texts.get(row);
        let at = memmem::find(text, &needle);
        make(at.and_then(|at| text.get(at + needle.len()..)))
    };
    Ok((0..call.rows).map(of_row).collect())
}

fn unquoted(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").unwrap_or(text)
}

/// Digits up to the first byte that is none; they wrap.
fn integer(text: &[u8], is_signed: bool) -> i128 {
    let text = unquoted(text);
    let (is_negative, digits) = match text {
        [b'-', rest @ ..] if is_signed => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        other => (false, other),
    };
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let number =
        digits.fold(0_u64, |sum, byte| sum.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')));
    let number = if is_negative { -i128::from(number) } else { i128::from(number) };
    // What 64 bits with a sign cannot hold is none.
    if is_signed && i64::try_from(number).is_err() { 0 } else { number }
}

fn float(text: &[u8]) -> f64 {
    let text = unquoted(text);
    let is_part = |byte: &&u8| matches!(**byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
    let mut length = text.iter().take_while(is_part).count();
    while length > 0 {
        let piece = text.get(..length).and_then(|piece| std::str::from_utf8(piece).ok());
        if let Some(float) = piece.and_then(|piece| piece.parse().ok()) {
            return float;
        }
        length -= 1;
    }
    0.0
}

/// To the comma or bracket that ends the value.
fn raw(text: &[u8]) -> &[u8] {
    let (mut depth, mut in_text) = (0_usize, false);
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' if in_text => at += 1,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => break,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    at += 1;
                    break;
                }
            }
            b',' if depth == 0 => break,
            _ => {}
        }
        at += 1;
    }
    // A value that nothing ends is none.
    text.get(..at).filter(|raw| raw.len() < text.len()).unwrap_or_default()
}

/// A JSON string at the beginning of a text.
fn text(text: &[u8]) -> Option<String> {
    if !text.starts_with(b"\"") {
        return None;
    }
    let mut stream = serde_json::Deserializer::from_slice(text).into_iter::<String>();
    stream.next()?.ok()
}
