//! A JSON document as it was written: members in their order, the first of those with one name, numbers as wide as they
//! are. The reading itself is `serde_json`'s, which stops at 128 levels.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt::Write;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer from 0 on.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    /// Any other number.
    Float(f64),
    /// A text without its quotes and escapes.
    Text(String),
    /// Items.
    Array(Vec<Json>),
    /// Members with their names.
    Object(Vec<(String, Json)>),
}

struct Reader;

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

impl<'de> Visitor<'de> for Reader {
    type Value = Json;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Unsigned(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Signed(value))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Float(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            all.push(item);
        }
        Ok(Json::Array(all))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(member) = members.next_entry()? {
            all.push(member);
        }
        Ok(Json::Object(all))
    }
}

/// A step into a document.
#[derive(Clone, Debug)]
pub enum Step<'a> {
    /// The member of this name.
    Name(&'a [u8]),
    /// The first member of this name in any case of ASCII letters.
    AnyCase(&'a [u8]),
    /// The item or member of this number: from 1, or from the end.
    Index(i128),
}

impl Json {
    /// The document in a text, if it is one.
    pub fn read(text: &[u8]) -> Option<Self> {
        match with_wide_integers_quoted(text) {
            Some(quoted) => serde_json::from_slice(&quoted).ok(),
            None => serde_json::from_slice(text).ok(),
        }
    }

    /// The same with integers beyond 64 bits as floats, and not as texts.
    pub fn read_numbers(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// What stands at the end of a path, with the name under which it stands.
    pub fn at<'a>(&'a self, path: &[Step]) -> Option<(Option<&'a str>, &'a Self)> {
        let mut found: (Option<&str>, &Self) = (None, self);
        for step in path {
            found = match (found.1, step) {
                (Self::Object(members), Step::Name(name)) => {
                    let (name, value) =
                        members.iter().find(|(other, _)| other.as_bytes() == *name)?;
                    (Some(name), value)
                }
                (Self::Object(members), Step::AnyCase(name)) => {
                    let is_it =
                        |other: &&(String, Self)| other.0.as_bytes().eq_ignore_ascii_case(name);
                    let (name, value) = members.iter().find(is_it)?;
                    (Some(name), value)
                }
                (Self::Object(members), Step::Index(index)) => {
                    let (name, value) = members.get(place(*index, members.len())?)?;
                    (Some(name), value)
                }
                (Self::Array(items), Step::Index(index)) => {
                    (None, items.get(place(*index, items.len())?)?)
                }
                _ => return None,
            };
        }
        Some(found)
    }

    /// The document as the shortest text.
    pub fn write(&self, out: &mut String) {
        // Writing to a String does not fail.
        let _ = match self {
            Self::Null => out.write_str("null"),
            Self::Bool(value) => write!(out, "{value}"),
            Self::Unsigned(value) => write!(out, "{value}"),
            Self::Signed(value) => write!(out, "{value}"),
            Self::Float(value) => {
                let mut digits = Vec::new();
                crate::print::float64(*value, &mut digits);
                out.push_str(&String::from_utf8_lossy(&digits));
                Ok(())
            }
            Self::Text(text) => {
                write_text(out, text);
                Ok(())
            }
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.write_char(']')
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_text(out, name);
                    out.push(':');
                    value.write(out);
                }
                out.write_char('}')
            }
        };
    }
}

/// Integers beyond 64 bits are texts to ClickHouse. `None` if there are none.
fn with_wide_integers_quoted(text: &[u8]) -> Option<Vec<u8>> {
    /// The digits of the least integer that may be too wide.
    const DIGITS: usize = 19;
    let is_digit = |byte: &u8| byte.is_ascii_digit();
    let mut quoted: Option<Vec<u8>> = None;
    let (mut copied, mut at) = (0, 0);
    while at < text.len() {
        match text[at] {
            b'"' => {
                at += 1;
                while at < text.len() && text[at] != b'"' {
                    at += if text[at] == b'\\' { 2 } else { 1 };
                }
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let start = at;
                at += usize::from(text[at] == b'-');
                let digits = text[at..].iter().take_while(|byte| is_digit(byte)).count();
                at += digits;
                let is_integer = !matches!(text.get(at), Some(b'.' | b'e' | b'E'));
                let number = std::str::from_utf8(&text[start..at]).unwrap_or_default();
                let is_wide = digits >= DIGITS
                    && number.parse::<u64>().is_err()
                    && number.parse::<i64>().is_err();
                if is_integer && is_wide {
                    let out = quoted.get_or_insert_with(Vec::new);
                    out.extend_from_slice(&text[copied..start]);
                    out.push(b'"');
                    out.extend_from_slice(&text[start..at]);
                    out.push(b'"');
                    copied = at;
                } else if !is_integer {
                    // The rest of a float is not an integer.
                    let is_part =
                        |byte: &u8| matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-' | b'0'..=b'9');
                    at += text[at..].iter().take_while(|byte| is_part(byte)).count();
                }
            }
            _ => at += 1,
        }
    }
    if let Some(out) = &mut quoted {
        out.extend_from_slice(&text[copied..]);
    }
    quoted
}

fn place(index: i128, length: usize) -> Option<usize> {
    let length = i128::try_from(length).ok()?;
    let at = if index > 0 { index - 1 } else { length + index };
    if index == 0 { None } else { usize::try_from(at).ok() }
}

/// Writes a text with its quotes and escapes.
pub fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for letter in text.chars() {
        // Writing to a String does not fail.
        let _ = match letter {
            '"' => out.write_str("\\\""),
            '\\' => out.write_str("\\\\"),
            '\n' => out.write_str("\\n"),
            '\r' => out.write_str("\\r"),
            '\t' => out.write_str("\\t"),
            '\u{8}' => out.write_str("\\b"),
            '\u{c}' => out.write_str("\\f"),
            control if control < ' ' => write!(out, "\\u{:04X}", u32::from(control)),
            other => out.write_char(other),
        };
    }
    out.push('"');
}
