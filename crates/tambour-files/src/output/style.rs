//! How a value stands in its surroundings: quotes, escapes, NULL.

/// Where a value is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// As it is, for terminals: no quotes around a string, `NULL`.
    Plain,
    /// A field of CSV (RFC 4180): quoted where it has to be, empty strings always; `\N`.
    Csv,
    /// A field of ClickHouse's TabSeparated: escaped; `\N`.
    Tsv,
    /// A value of JSON; what JSON has no form for (dates, infinities, …) is a string.
    Json,
    /// Inside an array, a tuple or a map in ClickHouse's text forms: `'it\'s'`; `NULL`.
    Literal,
    /// As it is, with `\N` for NULL: ClickHouse's TabSeparatedRaw.
    Raw,
    /// As it is, with ClickHouse's sign for NULL in formats for people.
    Shown,
    /// A field of ClickHouse's CSV: all but numbers and truth values is quoted.
    QuotedCsv,
    /// A value of ClickHouse's JSON: slashes are escaped, infinities and NaN are `null`.
    StrictJson,
    /// A value of ClickHouse's XML: what is nested is elements.
    Xml,
}

impl Style {
    pub(super) const fn null(self) -> &'static [u8] {
        match self {
            Self::Plain | Self::Literal => b"NULL",
            Self::Csv | Self::Tsv | Self::Raw | Self::QuotedCsv | Self::Xml => b"\\N",
            Self::Json | Self::StrictJson => b"null",
            Self::Shown => "\u{1d3a}\u{1d41}\u{1d38}\u{1d38}".as_bytes(),
        }
    }

    /// The style of what is inside a value of this style.
    pub(super) const fn inner(self) -> Self {
        match self {
            Self::Json | Self::StrictJson | Self::Xml => self,
            _ => Self::Literal,
        }
    }

    /// Writes text of a form that needs no escapes (a date, an address): quoted where strings are.
    pub(super) fn formed(self, target: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
        match self {
            Self::Plain | Self::Csv | Self::Tsv | Self::Raw | Self::Shown | Self::Xml => {
                write(target);
            }
            Self::Json | Self::StrictJson | Self::QuotedCsv => surrounded(b'"', target, write),
            Self::Literal => surrounded(b'\'', target, write),
        }
    }

    /// Writes a string.
    pub(super) fn string(self, text: &[u8], target: &mut Vec<u8>) {
        match self {
            Self::Plain | Self::Raw | Self::Shown => target.extend_from_slice(text),
            Self::QuotedCsv => quoted_csv(text, target),
            Self::StrictJson => surrounded(b'"', target, |target| strict_json(text, target)),
            Self::Xml => xml(text, target),
            Self::Csv => csv(text, target),
            Self::Tsv => escape(text, target, clickhouse_escape),
            Self::Literal => {
                surrounded(b'\'', target, |target| escape(text, target, clickhouse_escape));
            }
            Self::Json => surrounded(b'"', target, |target| json(text, target)),
        }
    }
}

fn surrounded(quote: u8, target: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    target.push(quote);
    write(target);
    target.push(quote);
}

/// A field of CSV. Quotes also keep apart what would be read as something else: emptiness, `\N`, outer spaces.
pub(super) fn csv(text: &[u8], target: &mut Vec<u8>) {
    let special = |&byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r' | b';' | b'\t' | b'|');
    let outer = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    let plain = !text.iter().any(special)
        && !outer(text.first())
        && !outer(text.last())
        && text != b"\\N"
        && !text.starts_with(b"\xef\xbb\xbf");
    if plain {
        target.extend_from_slice(text);
        return;
    }
    quoted_csv(text, target);
}

/// A field of CSV in quotes.
pub(super) fn quoted_csv(text: &[u8], target: &mut Vec<u8>) {
    surrounded(b'"', target, |target| {
        let mut rest = text;
        while let Some(at) = memchr::memchr(b'"', rest) {
            target.extend_from_slice(&rest[..=at]);
            target.push(b'"');
            rest = &rest[at + 1..];
        }
        target.extend_from_slice(rest);
    });
}

/// Copies text with the bytes escaped for which `letter` has one.
fn escape(text: &[u8], target: &mut Vec<u8>, letter: fn(u8) -> Option<u8>) {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| letter(byte).is_some()) {
        target.extend_from_slice(&rest[..at]);
        target.push(b'\\');
        target.extend(letter(rest[at]));
        rest = &rest[at + 1..];
    }
    target.extend_from_slice(rest);
}

const fn clickhouse_escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'\t' => b't',
        b'\n' => b'n',
        b'\r' => b'r',
        0 => b'0',
        8 => b'b',
        12 => b'f',
        b'\\' | b'\'' => byte,
        _ => return None,
    })
}

const fn json_escape(byte: u8) -> Option<u8> {
    Some(match byte {
        b'\t' => b't',
        b'\n' => b'n',
        b'\r' => b'r',
        8 => b'b',
        12 => b'f',
        b'\\' | b'"' => byte,
        _ => return None,
    })
}

fn json(text: &[u8], target: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\')
    {
        target.extend_from_slice(&rest[..at]);
        let byte = rest[at];
        target.push(b'\\');
        if let Some(letter) = json_escape(byte) {
            target.push(letter);
        } else {
            target.extend_from_slice(b"u00");
            target.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        rest = &rest[at + 1..];
    }
    target.extend_from_slice(rest);
}

/// JSON that can stand in HTML and JavaScript: `/` is escaped, and so are the two separators that end a line there.
fn strict_json(text: &[u8], target: &mut Vec<u8>) {
    const SEPARATORS: [(&[u8], &[u8]); 2] =
        [(b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029")];
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'/', 0xe2, rest) {
        json(&rest[..at], target);
        rest = &rest[at..];
        let separator = SEPARATORS.iter().find(|(bytes, _)| rest.starts_with(bytes));
        let length = match separator {
            Some((bytes, escaped)) => {
                target.extend_from_slice(escaped);
                bytes.len()
            }
            None if rest[0] == b'/' => {
                target.extend_from_slice(b"\\/");
                1
            }
            None => {
                target.push(rest[0]);
                1
            }
        };
        rest = &rest[length..];
    }
    json(rest, target);
}

fn xml(text: &[u8], target: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'<', b'&', rest) {
        target.extend_from_slice(&rest[..at]);
        target.extend_from_slice(if rest[at] == b'<' { b"&lt;" } else { b"&amp;" });
        rest = &rest[at + 1..];
    }
    target.extend_from_slice(rest);
}
