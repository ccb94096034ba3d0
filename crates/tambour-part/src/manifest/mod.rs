//! The small files that say what a part is: `columns.txt`, `count.txt`, `checksums.txt`, `serialization.json`,
//! `columns_substreams.txt`, and our own `tambour.txt`.
//!
//! They are parsed strictly: what the format does not allow is an error with its offset, since most of these files are
//! not protected by any checksum of ClickHouse's.

pub(crate) mod checksums;
pub(crate) mod columns;
pub(crate) mod guard;
pub(crate) mod serialization;
pub(crate) mod substreams;

use crate::{PartError, Place};
use std::path::Path;

/// Largest `columns.txt`, `serialization.json` or `columns_substreams.txt` in bytes.
pub(crate) const TEXT_BYTES_MAX: u64 = 64 << 20;
/// Largest `checksums.txt` in bytes, and largest body in it.
pub(crate) const CHECKSUMS_BYTES_MAX: u64 = 128 << 20;
/// Largest `count.txt` in bytes: the digits of a `u64`.
pub(crate) const COUNT_BYTES_MAX: u64 = 20;
/// Largest `partition.dat` or `minmax_*.idx` in bytes.
pub(crate) const VALUES_BYTES_MAX: u64 = 64 << 20;
/// Largest mark file in bytes, before and after decompression.
pub(crate) const MARKS_BYTES_MAX: u64 = 256 << 20;
/// Largest primary index in bytes, before and after decompression.
pub(crate) const INDEX_BYTES_MAX: u64 = 256 << 20;

/// A position in a small file; every step checks and every error names the offset.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    path: &'a Path,
    source: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(path: &'a Path, source: &'a [u8]) -> Self {
        Self { path, source, at: 0 }
    }
    pub(crate) fn malformed(&self, reason: impl Into<std::borrow::Cow<'static, str>>) -> PartError {
        PartError::malformed(self.place(), reason)
    }
    pub(crate) fn place(&self) -> Place {
        Place::file(self.path).at(self.at as u64)
    }
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.source.get(self.at..).unwrap_or_default()
    }
    pub(crate) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }
    /// Moves on after `text` if it comes next.
    pub(crate) fn skip(&mut self, text: &[u8]) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }
    pub(crate) fn expect(&mut self, text: &'static str) -> Result<(), PartError> {
        if self.skip(text.as_bytes()) {
            Ok(())
        } else {
            Err(self.malformed(format!("expected {text:?}")))
        }
    }
    pub(crate) fn end(&self) -> Result<(), PartError> {
        if self.is_at_end() {
            Ok(())
        } else {
            Err(self.malformed(format!("{} trailing bytes", self.rest().len())))
        }
    }
    /// A decimal number without sign and without leading zeros.
    pub(crate) fn decimal(&mut self) -> Result<u64, PartError> {
        let digits = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = self.rest().get(..digits).unwrap_or_default();
        if text.is_empty() || (text.len() > 1 && text.starts_with(b"0")) {
            return Err(self.malformed("expected a decimal number"));
        }
        let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
        let number = number.ok_or_else(|| self.malformed("number is too large"))?;
        self.at += digits;
        Ok(number)
    }
    /// The bytes up to `end`, and moves after it.
    pub(crate) fn until(&mut self, end: u8) -> Result<&'a [u8], PartError> {
        let length = self.rest().iter().position(|byte| *byte == end);
        let length = length.ok_or_else(|| self.malformed("line does not end"))?;
        let bytes = self.take(length)?;
        self.at += 1;
        Ok(bytes)
    }
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], PartError> {
        let bytes = self.rest().get(..count).ok_or_else(|| self.malformed("file ends early"))?;
        self.at += count;
        Ok(bytes)
    }
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], PartError> {
        let bytes = self.rest().first_chunk().ok_or_else(|| self.malformed("file ends early"))?;
        self.at += N;
        Ok(*bytes)
    }
    /// LEB128, at most ten bytes and 64 bits.
    pub(crate) fn var_uint(&mut self) -> Result<u64, PartError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.malformed("number has more than 64 bits"))
    }
    /// Text with a length in front.
    pub(crate) fn string(&mut self) -> Result<&'a str, PartError> {
        let length = self.var_uint()?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let place = self.place();
        let bytes = self.take(length)?;
        std::str::from_utf8(bytes).map_err(|_| PartError::malformed(place, "text is not UTF-8"))
    }
    /// A name between back-quotes, with C escapes.
    pub(crate) fn quoted(&mut self) -> Result<String, PartError> {
        self.expect("`")?;
        let start = self.place();
        let mut bytes = Vec::new();
        loop {
            let [byte] = self.array()?;
            match byte {
                b'`' => break,
                b'\\' => {
                    let [escaped] = self.array()?;
                    bytes.push(self.escape(escaped)?);
                }
                b'\n' => return Err(PartError::malformed(start, "name does not end")),
                _ => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).map_err(|_| PartError::malformed(start, "name is not UTF-8"))
    }
    fn escape(&mut self, escaped: u8) -> Result<u8, PartError> {
        Ok(match escaped {
            b'a' => 0x07,
            b'b' => 0x08,
            b'e' => 0x1b,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'0' => 0,
            b'x' => {
                let digits = self.array::<2>()?;
                let digits = std::str::from_utf8(&digits).ok();
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                byte.ok_or_else(|| self.malformed("expected two hex digits"))?
            }
            other => other,
        })
    }
}

/// A name between back-quotes, as [`Cursor::quoted`] reads it.
pub(crate) fn quote(name: &str, target: &mut String) {
    target.push('`');
    for character in name.chars() {
        match character {
            '`' => target.push_str("\\`"),
            '\\' => target.push_str("\\\\"),
            '\n' => target.push_str("\\n"),
            '\r' => target.push_str("\\r"),
            '\t' => target.push_str("\\t"),
            '\0' => target.push_str("\\0"),
            '\u{8}' => target.push_str("\\b"),
            '\u{c}' => target.push_str("\\f"),
            other => target.push(other),
        }
    }
    target.push('`');
}

/// The number of rows in `count.txt`: decimal digits and nothing else.
pub(crate) fn parse_count(path: &Path, source: &[u8]) -> Result<u64, PartError> {
    let mut cursor = Cursor::new(path, source);
    let rows = cursor.decimal()?;
    cursor.end()?;
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_digits_and_nothing_else() {
        let parse = |text: &str| parse_count(Path::new("count.txt"), text.as_bytes());
        assert_eq!(parse("0").unwrap(), 0);
        assert_eq!(parse("18446744073709551615").unwrap(), u64::MAX);
        for bad in ["", " 1", "1\n", "01", "-1", "1x", "18446744073709551616"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_survive_quoting() {
        for name in ["a", "a b", "`", "\\", "x\n\t\0\r\u{8}\u{c}", "\u{fc}`\\`"] {
            let mut text = String::new();
            quote(name, &mut text);
            let mut cursor = Cursor::new(Path::new("x"), text.as_bytes());
            assert_eq!(cursor.quoted().unwrap(), name);
            assert!(cursor.is_at_end());
        }
        assert_eq!(Cursor::new(Path::new("x"), b"`\\x41\\q`").quoted().unwrap(), "Aq");
        for bad in [&b"`a"[..], b"a`", b"`\\", b"`\\x4`", b"`\xff`", b"`\n`"] {
            assert!(Cursor::new(Path::new("x"), bad).quoted().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn var_uints_have_at_most_64_bits() {
        let parse = |bytes: &[u8]| Cursor::new(Path::new("x"), bytes).var_uint();
        assert_eq!(
            parse(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40]).unwrap(),
            1 << 62
        );
        let mut largest = [0xff; 10];
        largest[9] = 1;
        assert_eq!(parse(&largest).unwrap(), u64::MAX);
        largest[9] = 2;
        assert!(parse(&largest).is_err());
        assert!(parse(&[0xff; 11]).is_err());
        assert!(parse(&[0x80]).is_err());
    }
}
