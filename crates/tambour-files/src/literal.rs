//! Nested values as text: JSON, and ClickHouse's own `[1,'a']`, `(1,2)`, `{'k':1}`. One cursor reads both.

use crate::error::Reject;
use std::borrow::Cow;

/// How deep values may nest.
const DEPTH_MAX: usize = 64;

const CUT_OFF: Reject = Reject::syntax("the value is cut off");
const EXPECTED_VALUE: Reject = Reject::syntax("expected a value");
const EXPECTED_SEPARATOR: Reject = Reject::syntax("expected `,` or the end of the list");
const EXPECTED_COLON: Reject = Reject::syntax("expected `:`");
const EXPECTED_NAME: Reject = Reject::syntax("expected a name in quotes");
const BAD_ESCAPE: Reject = Reject::syntax("invalid escape sequence");
const UNCLOSED: Reject = Reject::syntax("a string is not closed");
const TOO_DEEP: Reject = Reject::syntax("nested too deeply");
const TRAILING: Reject = Reject::syntax("text after the end of the value");
pub(crate) const NOT_SCALAR: Reject =
    Reject::new("a list or an object where a single value belongs");

/// Which texts are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    Json,
    /// ClickHouse's literals, and JSON where it does not contradict them.
    ClickHouse,
}

/// What stands at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    Null,
    /// A number, a truth value: anything without quotes.
    Bare(&'a [u8]),
    /// A string, unescaped.
    String(Cow<'a, [u8]>),
    /// `[`, `{` or `(`; its content comes next.
    Open(u8),
}

/// Reads one text from front to back.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    syntax: Syntax,
    depth: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8], syntax: Syntax) -> Self {
        Self { text, at: 0, syntax, depth: 0 }
    }

    /// Where the cursor stands.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The text between a position and the cursor.
    pub(crate) fn since(&self, start: usize) -> &'a [u8] {
        &self.text[start..self.at]
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.text.get(self.at) {
            self.at += 1;
        }
    }

    /// The next byte that is not a space, not consumed.
    fn peek(&mut self) -> Result<u8, Reject> {
        self.space();
        self.text.get(self.at).copied().ok_or(CUT_OFF)
    }

    fn eat(&mut self, byte: u8) -> Result<bool, Reject> {
        let found = self.peek()? == byte;
        self.at += usize::from(found);
        Ok(found)
    }

    /// Only spaces are left.
    pub(crate) fn end(&mut self) -> Result<(), Reject> {
        self.space();
        if self.at == self.text.len() { Ok(()) } else { Err(TRAILING) }
    }

    /// Skips spaces; the position where the next value starts.
    pub(crate) fn start(&mut self) -> usize {
        self.space();
        self.at
    }

    /// Reads a scalar, or what opens a nested value.
    pub(crate) fn token(&mut self) -> Result<Token<'a>, Reject> {
        match self.peek()? {
            b'"' => self.string(b'"').map(Token::String),
            b'\'' if self.syntax == Syntax::ClickHouse => self.string(b'\'').map(Token::String),
            open @ (b'[' | b'{') => {
                self.at += 1;
                Ok(Token::Open(open))
            }
            b'(' if self.syntax == Syntax::ClickHouse => {
                self.at += 1;
                Ok(Token::Open(b'('))
            }
            _ => self.bare(),
        }
    }

    fn bare(&mut self) -> Result<Token<'a>, Reject> {
        let rest = &self.text[self.at..];
        let length = rest.iter().take_while(|&&byte| is_bare(byte)).count();
        let word = &rest[..length];
        let fine = match self.syntax {
            Syntax::Json => is_json_word(word),
            Syntax::ClickHouse => length > 0,
        };
        if !fine {
            return Err(EXPECTED_VALUE);
        }
        self.at += length;
        let null = word == b"null" || self.syntax == Syntax::ClickHouse && word == b"NULL";
        Ok(if null { Token::Null } else { Token::Bare(word) })
    }

    /// A string whose opening quote is at the cursor.
    fn string(&mut self, quote: u8) -> Result<Cow<'a, [u8]>, Reject> {
        let start = self.at + 1;
        let rest = self.text.get(start..).ok_or(UNCLOSED)?;
        let stop = memchr::memchr2(quote, b'\\', rest).ok_or(UNCLOSED)?;
        if rest[stop] == quote {
            self.at = start + stop + 1;
            return Ok(Cow::Borrowed(&rest[..stop]));
        }
        self.at = start + stop;
        self.escaped_string(quote, rest[..stop].to_vec()).map(Cow::Owned)
    }

    /// The rest of a string, from its first backslash on.
    fn escaped_string(&mut self, quote: u8, mut value: Vec<u8>) -> Result<Vec<u8>, Reject> {
        loop {
            let rest = &self.text[self.at..];
            let stop = memchr::memchr2(quote, b'\\', rest).ok_or(UNCLOSED)?;
            value.extend_from_slice(&rest[..stop]);
            self.at += stop + 1;
            if rest[stop] == quote {
                return Ok(value);
            }
            let escape = *self.text.get(self.at).ok_or(UNCLOSED)?;
            self.at += 1;
            match self.syntax {
                Syntax::Json => self.json_escape(escape, &mut value)?,
                Syntax::ClickHouse => {
                    self.at += unescape(escape, &self.text[self.at..], &mut value)?;
                }
            }
        }
    }

    fn json_escape(&mut self, escape: u8, value: &mut Vec<u8>) -> Result<(), Reject> {
        let plain = match escape {
            b'"' | b'\\' | b'/' => escape,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => return self.json_unicode(value),
            _ => return Err(BAD_ESCAPE),
        };
        value.push(plain);
        Ok(())
    }

    fn json_unicode(&mut self, value: &mut Vec<u8>) -> Result<(), Reject> {
        let mut code = self.four_digits()?;
        if (0xd800..0xdc00).contains(&code) {
            // The first half of a pair.
            if self.text.get(self.at..self.at + 2) != Some(b"\\u") {
                return Err(BAD_ESCAPE);
            }
            self.at += 2;
            let low = self.four_digits()?.checked_sub(0xdc00).filter(|&low| low < 0x400);
            code = 0x10000 + ((code - 0xd800) << 10) + low.ok_or(BAD_ESCAPE)?;
        }
        let character = char::from_u32(code).ok_or(BAD_ESCAPE)?;
        value.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    fn four_digits(&mut self) -> Result<u32, Reject> {
        let digits = self.text.get(self.at..self.at + 4).ok_or(BAD_ESCAPE)?;
        self.at += 4;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(BAD_ESCAPE);
        }
        let digits = std::str::from_utf8(digits).or(Err(BAD_ESCAPE))?;
        u32::from_str_radix(digits, 16).or(Err(BAD_ESCAPE))
    }

    /// Calls `each` at every element of the list that `open` has just opened.
    pub(crate) fn elements(
        &mut self,
        open: u8,
        mut each: impl FnMut(&mut Self, usize) -> Result<(), Reject>,
    ) -> Result<(), Reject> {
        let close = closing(open);
        self.descend()?;
        let mut index = 0;
        if !self.eat(close)? {
            loop {
                each(self, index)?;
                index += 1;
                if self.eat(close)? {
                    break;
                }
                if !self.eat(b',')? {
                    return Err(EXPECTED_SEPARATOR);
                }
                // ClickHouse prints a tuple of one element as `(1,)` in some places.
                if close == b')' && self.eat(close)? {
                    break;
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Calls `each` at the value after every key of the object that has just been opened. Keys of ClickHouse maps may be
    /// bare.
    pub(crate) fn entries(
        &mut self,
        mut each: impl FnMut(&mut Self, Cow<'a, [u8]>) -> Result<(), Reject>,
    ) -> Result<(), Reject> {
        self.descend()?;
        if !self.eat(b'}')? {
            loop {
                let key = match self.token()? {
                    Token::String(key) => key,
                    Token::Bare(key) if self.syntax == Syntax::ClickHouse => Cow::Borrowed(key),
                    _ => return Err(EXPECTED_NAME),
                };
                if !self.eat(b':')? {
                    return Err(EXPECTED_COLON);
                }
                each(self, key)?;
                if self.eat(b'}')? {
                    break;
                }
                if !self.eat(b',')? {
                    return Err(EXPECTED_SEPARATOR);
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn descend(&mut self) -> Result<(), Reject> {
        self.depth += 1;
        if self.depth > DEPTH_MAX { Err(TOO_DEEP) } else { Ok(()) }
    }

    /// Passes over one value, checking its form; its text.
    pub(crate) fn skip(&mut self) -> Result<&'a [u8], Reject> {
        let start = self.start();
        if let Token::Open(open) = self.token()? {
            self.skip_opened(open)?;
        }
        Ok(self.since(start))
    }

    fn skip_opened(&mut self, open: u8) -> Result<(), Reject> {
        if open == b'{' {
            self.entries(|cursor, _| cursor.skip().map(drop))
        } else {
            self.elements(open, |cursor, _| cursor.skip().map(drop))
        }
    }

    /// A scalar, as text and whether it was quoted; none for NULL.
    pub(crate) fn scalar(&mut self) -> Result<Option<Cow<'a, [u8]>>, Reject> {
        match self.token()? {
            Token::Null => Ok(None),
            Token::Bare(word) => Ok(Some(Cow::Borrowed(word))),
            Token::String(text) => Ok(Some(text)),
            Token::Open(_) => Err(NOT_SCALAR),
        }
    }
}

const fn closing(open: u8) -> u8 {
    match open {
        b'[' => b']',
        b'(' => b')',
        _ => b'}',
    }
}

const fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.' | b'_')
}

/// A word that JSON allows (and what Python's and JavaScript's writers put there for floats that are not numbers).
fn is_json_word(word: &[u8]) -> bool {
    match word {
        b"null" | b"true" | b"false" | b"NaN" | b"Infinity" | b"-Infinity" => true,
        _ => is_json_number(word),
    }
}

fn is_json_number(word: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut rest = word.strip_prefix(b"-").unwrap_or(word);
    let whole = digits(rest);
    if whole == 0 || whole > 1 && rest[0] == b'0' {
        return false;
    }
    rest = &rest[whole..];
    if let [b'.', fraction @ ..] = rest {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let unsigned = match exponent {
            [b'+' | b'-', unsigned @ ..] => unsigned,
            _ => exponent,
        };
        let count = digits(unsigned);
        if count == 0 {
            return false;
        }
        rest = &unsigned[count..];
    }
    rest.is_empty()
}

/// ClickHouse's escapes, of which `escape` is the byte after the backslash and `rest` what follows; bytes used of `rest`.
pub(crate) fn unescape(escape: u8, rest: &[u8], value: &mut Vec<u8>) -> Result<usize, Reject> {
    let plain = match escape {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'0' => 0,
        b'a' => 7,
        b'v' => 11,
        b'e' => 27,
        b'x' => {
            let digits = rest.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
            let digits = std::str::from_utf8(digits.ok_or(BAD_ESCAPE)?).or(Err(BAD_ESCAPE))?;
            value.push(u8::from_str_radix(digits, 16).or(Err(BAD_ESCAPE))?);
            return Ok(2);
        }
        other => other,
    };
    value.push(plain);
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(text: &str, syntax: Syntax) -> Result<(), Reject> {
        let mut cursor = Cursor::new(text.as_bytes(), syntax);
        cursor.skip()?;
        cursor.end()
    }

    #[test]
    fn json_is_checked() {
        for fine in [
            "1",
            "-0.5e+10",
            "\"a\\u00e9\\n\"",
            "[]",
            "[1, 2 ,[3]]",
            "{}",
            "{\"a\":{\"b\":null}}",
            "true",
            "\"\\ud83d\\ude00\"",
            "NaN",
        ] {
            assert_eq!(skip(fine, Syntax::Json), Ok(()), "{fine}");
        }
        for bad in [
            "",
            "01",
            "1.",
            "+1",
            "tru",
            "'a'",
            "\"a",
            "\"\\x\"",
            "[1,]",
            "[1 2]",
            "{a:1}",
            "{\"a\"}",
            "{\"a\":1,}",
            "(1)",
            "1 2",
            "\"\\ud83d\"",
            "\"\\u12\"",
            "[",
            "{\"a\":",
            "nul",
            "1e",
            "NULL",
            "\"\\",
        ] {
            assert!(skip(bad, Syntax::Json).is_err(), "{bad}");
        }
        assert_eq!(skip(&"[".repeat(100_000), Syntax::Json), Err(TOO_DEEP));
    }

    #[test]
    fn clickhouse_literals() {
        for fine in ["[1,'a\\'b']", "(1,'a',NULL)", "{'k':1,2:[]}", "(1,)", "['\\x41']", "()"] {
            assert_eq!(skip(fine, Syntax::ClickHouse), Ok(()), "{fine}");
        }
        for bad in ["['a]", "(1", "{'a'}", "['\\x4']", "[,]"] {
            assert!(skip(bad, Syntax::ClickHouse).is_err(), "{bad}");
        }
        let mut cursor = Cursor::new(b"'a\\t\\'\\\\\\q'", Syntax::ClickHouse);
        assert_eq!(cursor.scalar().unwrap().unwrap().as_ref(), b"a\t'\\q");
    }

    #[test]
    fn unicode_escapes() {
        let mut cursor = Cursor::new(b"\"\\ud83d\\ude00\"", Syntax::Json);
        assert_eq!(cursor.scalar().unwrap().unwrap().as_ref(), "\u{1f600}".as_bytes());
    }
}
