//! The pieces of ClickHouse's type syntax: words, numbers, quoted text.

use crate::{PartError, Place};

/// Longest text of a type that is accepted, in bytes.
const TEXT_MAX: usize = 4 << 20;

/// Text of types, and how far it is read.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, PartError> {
        if text.len() > TEXT_MAX {
            let (limit, got) = (TEXT_MAX as u64, text.len() as u64);
            return Err(PartError::limit(
                Place::default(),
                "length of a data type's text",
                limit,
                got,
            ));
        }
        Ok(Self { text, at: 0 })
    }

    pub(super) fn error(&self, reason: &str) -> PartError {
        // The whole text of a hostile type may be megabytes.
        let text: String = self.text.chars().take(200).collect();
        PartError::TypeSyntax { text, position: self.at, reason: reason.to_owned().into() }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(super) fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_whitespace()).len();
    }

    pub(super) fn end(&mut self) -> Result<(), PartError> {
        self.space();
        if self.rest().is_empty() { Ok(()) } else { Err(self.error("something follows the type")) }
    }

    /// Takes a character if it comes next.
    pub(super) fn take(&mut self, wanted: char) -> bool {
        self.space();
        let found = self.rest().starts_with(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    pub(super) fn expect(&mut self, wanted: char) -> Result<(), PartError> {
        if self.take(wanted) { Ok(()) } else { Err(self.error(&format!("`{wanted}` expected"))) }
    }

    pub(super) fn word(&mut self) -> Option<&'a str> {
        self.space();
        let rest = self.rest();
        let length =
            rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let word = rest.get(..length).filter(|word| !word.is_empty())?;
        self.at += length;
        Some(word)
    }

    pub(super) fn number(&mut self) -> Result<i64, PartError> {
        self.space();
        let start = self.at;
        self.take('-');
        self.word();
        let number = self.text.get(start..self.at).and_then(|text| text.parse().ok());
        number.ok_or_else(|| {
            self.at = start;
            self.error("a number expected")
        })
    }

    /// A quoted text with ClickHouse's escapes; the opening quote comes next.
    pub(super) fn quoted(&mut self, quote: char) -> Result<String, PartError> {
        self.expect(quote)?;
        let mut text = String::new();
        let mut characters = self.rest().char_indices();
        while let Some((index, c)) = characters.next() {
            if c == quote {
                // A doubled quote stands for itself.
                if self.rest().get(index + 1..).is_some_and(|rest| rest.starts_with(quote)) {
                    characters.next();
                    text.push(quote);
                    continue;
                }
                self.at += index + 1;
                return Ok(text);
            }
            if c != '\\' {
                text.push(c);
                continue;
            }
            match characters.next() {
                Some((_, 'x')) => {
                    let digits: String =
                        characters.by_ref().take(2).map(|(_, digit)| digit).collect();
                    match u8::from_str_radix(&digits, 16) {
                        Ok(byte) if byte < 0x80 && digits.len() == 2 => text.push(char::from(byte)),
                        _ => {
                            return Err(
                                self.error("`\\x` needs two digits that make an ASCII character")
                            );
                        }
                    }
                }
                Some((_, escaped)) => text.push(unescape(escaped)),
                None => break,
            }
        }
        Err(self.error("the quote is not closed"))
    }
}

fn unescape(c: char) -> char {
    match c {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'a' => '\u{7}',
        'v' => '\u{b}',
        'e' => '\u{1b}',
        '0' => '\0',
        other => other,
    }
}
