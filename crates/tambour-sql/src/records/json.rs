//! JSON taken apart without reading what is not wanted: of a record only the fields that a query names are looked at, so what
//! is wrong in others is in nobody's way.

use std::borrow::Cow;

/// Why something is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bad(pub(super) &'static str);

const CUT: Bad = Bad("it ends in the middle");

/// A value as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    /// Its digits, which follow the rules of JSON.
    Number(&'a str),
    /// With its quotes and escapes.
    Text(&'a [u8]),
    /// From bracket to bracket.
    List(&'a [u8]),
    Object(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The value that [`Json::skip`] passed over.
    pub(super) fn of(raw: &'a [u8]) -> Result<Self, Bad> {
        Ok(match raw {
            [b'"', ..] => Self::Text(raw),
            [b'[', ..] => Self::List(raw),
            [b'{', ..] => Self::Object(raw),
            b"null" => Self::Null,
            b"true" => Self::Bool(true),
            b"false" => Self::Bool(false),
            digits if is_number(digits) => {
                Self::Number(std::str::from_utf8(digits).map_err(|_| Bad("it is not UTF-8"))?)
            }
            _ => return Err(Bad("it has a word that is not a value")),
        })
    }
}

/// Whether these are the digits of a number, by the rules of JSON.
fn is_number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || (whole > 1 && text.starts_with(b"0")) {
        return false;
    }
    let mut rest = text.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = fraction.get(count..).unwrap_or_default();
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = match exponent {
            [b'+' | b'-', digits @ ..] => digits,
            digits => digits,
        };
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

/// The text of a string with its quotes.
pub(super) fn text(raw: &[u8]) -> Result<Cow<'_, str>, Bad> {
    let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains(&b'\\') {
        let plain = std::str::from_utf8(inner).map_err(|_| Bad("it is not UTF-8"))?;
        return Ok(Cow::Borrowed(plain));
    }
    if std::str::from_utf8(inner).is_err() {
        return Err(Bad("it is not UTF-8"));
    }
    let unescaped = serde_json::from_slice(raw);
    unescaped.map(Cow::Owned).map_err(|_| Bad("it has an escape that stands for no letter"))
}

/// A record that is a JSON object, or looks like one.
pub(super) fn is_object(record: &[u8]) -> bool {
    record.trim_ascii_start().first() == Some(&b'{')
}

/// A place in a text.
#[derive(Clone, Copy, Debug)]
struct Json<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Json<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// The next byte that is not a space.
    fn next(&mut self) -> Result<u8, Bad> {
        self.space();
        let byte = self.peek().ok_or(CUT)?;
        self.at += 1;
        Ok(byte)
    }

    fn since(&self, start: usize) -> &'a [u8] {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Passes over a string whose first quote was read.
    fn string(&mut self) -> Result<(), Bad> {
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let step = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).ok_or(CUT)?;
            let is_end = rest[step] == b'"';
            self.at += step + if is_end { 1 } else { 2 };
            if is_end {
                return Ok(());
            }
        }
    }

    /// The next quote or bracket.
    fn bracket(&mut self) -> Result<u8, Bad> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let wanted = |byte: &u8| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']');
        let step = rest.iter().position(wanted).ok_or(CUT)?;
        self.at += step + 1;
        Ok(rest[step])
    }

    /// Passes over a value. What is inside of lists and objects is looked at by who wants it.
    fn skip(&mut self) -> Result<&'a [u8], Bad> {
        self.space();
        let start = self.at;
        match self.next()? {
            b'"' => self.string()?,
            b'{' | b'[' => {
                let mut depth = 1_usize;
                while depth > 0 {
                    match self.bracket()? {
                        b'"' => self.string()?,
                        b'{' | b'[' => depth += 1,
                        _ => depth -= 1,
                    }
                }
            }
            _ => {
                let ends = |byte: u8| {
                    byte.is_ascii_whitespace() || matches!(byte, b',' | b'}' | b']' | b':')
                };
                while self.peek().is_some_and(|byte| !ends(byte)) {
                    self.at += 1;
                }
            }
        }
        Ok(self.since(start))
    }

    /// After a member: whether there is a further one.
    fn more(&mut self, end: u8) -> Result<bool, Bad> {
        match self.next()? {
            b',' => Ok(true),
            byte if byte == end => Ok(false),
            _ => Err(Bad("a comma is missing")),
        }
    }

    /// Begins a list or an object; whether it has anything.
    fn open(&mut self, [start, end]: [u8; 2]) -> Result<bool, Bad> {
        if self.next()? != start {
            return Err(Bad("it does not begin as it should"));
        }
        self.space();
        let is_empty = self.peek() == Some(end);
        self.at += usize::from(is_empty);
        Ok(!is_empty)
    }

    fn end(&mut self) -> Result<(), Bad> {
        self.space();
        if self.peek().is_some() { Err(Bad("something follows its end")) } else { Ok(()) }
    }
}

/// Calls `visit` with the names of an object, and their values as they are written.
pub(super) fn members<'a, E: From<Bad>>(
    object: &'a [u8],
    mut visit: impl FnMut(Cow<'a, str>, &'a [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut json = Json { text: object, at: 0 };
    let mut more = json.open(*b"{}")?;
    while more {
        json.space();
        let start = json.at;
        if json.next()? != b'"' {
            return Err(Bad("a name has no quotes").into());
        }
        json.string()?;
        let name = text(json.since(start))?;
        if json.next()? != b':' {
            return Err(Bad("a colon is missing").into());
        }
        visit(name, json.skip()?)?;
        more = json.more(b'}')?;
    }
    Ok(json.end()?)
}

/// Calls `visit` with the values of a list.
pub(super) fn elements<'a, E: From<Bad>>(
    list: &'a [u8],
    mut visit: impl FnMut(&'a [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut json = Json { text: list, at: 0 };
    let mut more = json.open(*b"[]")?;
    while more {
        visit(json.skip()?)?;
        more = json.more(b']')?;
    }
    Ok(json.end()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(object: &str) -> Result<Vec<String>, Bad> {
        let mut found = Vec::new();
        members(object.as_bytes(), |name, value| {
            found.push(format!("{name}={}", String::from_utf8_lossy(value)));
            Ok::<(), Bad>(())
        })?;
        Ok(found)
    }

    #[test]
    fn objects_come_apart() {
        let found = names(" { \"a\" : [1,{\"]\":2}] , \"\\u0065\\\"\":\"x\\\"}\",\"c\":-1.5e3 }\r");
        assert_eq!(found.unwrap(), ["a=[1,{\"]\":2}]", "e\"=\"x\\\"}\"", "c=-1.5e3"]);
        assert_eq!(names("{}").unwrap(), Vec::<String>::new());
        for bad in
            ["{", "{\"a\"", "{\"a\":1", "{\"a\":1,}", "{a:1}", "{\"a\":1}x", "{\"a\" 1}", "[]"]
        {
            assert!(names(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_follow_the_rules() {
        for good in ["0", "-0", "10", "1.5", "1e2", "1E+2", "-1.25e-7"] {
            assert_eq!(Value::of(good.as_bytes()), Ok(Value::Number(good)));
        }
        for bad in ["", "-", "01", "1.", ".5", "1e", "+1", "0x1", "NaN", "nul", "True"] {
            assert!(Value::of(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
