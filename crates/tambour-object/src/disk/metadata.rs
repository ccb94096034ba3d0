//! The small files that a disk of ClickHouse's type `s3` keeps beside the server: which objects a file consists of.
//!
//! Lines of text: a version; how many objects there are and their bytes in all; for each its bytes and its key; how many other names the
//! file has; from version 3 on whether it is only read; from 4 on bytes that need no object. Tabs are between the fields of a line, and
//! keys and bytes are escaped as in TSV. Keys of versions 1 and 5 begin at the bucket, others at the endpoint. Read from what
//! ClickHouse 26.9 writes and from its documentation; older versions from its sources.

use std::path::Path;
use tambour_storage::read_only::plain;

/// Most bytes of such a file.
pub(super) const BYTES_MAX: u64 = 1 << 20;
/// Bytes by which it is known.
pub(super) const HEAD_BYTES: usize = 48;

/// The first version whose keys are whole, after those of the first.
const WHOLE_KEYS: u64 = 5;
/// The first version that says whether the file is only read.
const READ_ONLY: u64 = 3;
/// The first version with bytes of its own.
const INLINE: u64 = 4;

/// An object that holds a piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) size: u64,
    /// A relative path without `.` and `..`.
    pub(super) key: String,
}

/// What a file consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    /// In the order of their bytes.
    pub(super) pieces: Vec<Piece>,
    /// True if keys begin at the bucket.
    pub(super) is_whole: bool,
    /// The contents of a file without objects.
    pub(super) inline: Vec<u8>,
}

impl Metadata {
    /// Bytes of the file.
    pub(super) fn length(&self) -> u64 {
        let all = self.pieces.iter().map(|piece| piece.size);
        all.sum::<u64>() + self.inline.len() as u64
    }

    /// Reads the text of one; the error says what is wrong.
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let mut lines = Lines { rest: text };
        let version = number(lines.next("the version")?, "the version")?;
        if !(1..=WHOLE_KEYS).contains(&version) {
            return Err(format!("version {version} is not known, only 1 to {WHOLE_KEYS}"));
        }
        let (count, total) = lines.pair("the number of objects")?;
        let (count, total) = (number(count, "the number of objects")?, number(total, "the size")?);
        let (mut pieces, mut sum) = (Vec::new(), 0_u64);
        // A count that is too large finds no line: nothing is allocated for it.
        for at in 0..count {
            let (size, key) = lines.pair(&format!("object {} of {count}", at + 1))?;
            let size = number(size, "the size of an object")?;
            sum = sum.checked_add(size).ok_or("the sizes of the objects exceed 64 bits")?;
            pieces.push(Piece { size, key: checked_key(key)? });
        }
        if sum != total {
            return Err(format!("the objects have {sum} bytes together, not the stated {total}"));
        }
        number(lines.next("the number of names")?, "the number of names")?;
        // A file of an older version that was written again has the flag, too.
        if version >= READ_ONLY || !lines.rest.is_empty() {
            let flag = lines.next("whether it is only read")?;
            if !matches!(flag, b"0" | b"1") {
                return Err("whether it is only read is neither 0 nor 1".to_owned());
            }
        }
        let mut inline = Vec::new();
        if version >= INLINE {
            inline = unescaped(lines.next("bytes without an object")?)?;
        }
        if !lines.rest.is_empty() {
            return Err(format!("{} bytes follow its end", lines.rest.len()));
        }
        if !inline.is_empty() && !pieces.is_empty() {
            return Err("it has both objects and bytes without one".to_owned());
        }
        let is_whole = version == 1 || version == WHOLE_KEYS;
        Ok(Self { pieces, is_whole, inline })
    }
}

/// True for what begins like one of these files, whatever follows.
pub(super) fn is_head(head: &[u8]) -> bool {
    let mut lines = Lines { rest: head };
    let version = lines.next("").is_ok_and(|it| number(it, "").is_ok());
    version
        && lines
            .pair("")
            .is_ok_and(|(count, total)| number(count, "").is_ok() && number(total, "").is_ok())
}

struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    /// The next line, without its end.
    fn next(&mut self, what: &str) -> Result<&'a [u8], String> {
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let end = end.ok_or_else(|| format!("it ends before {what}"))?;
        let (line, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        Ok(line)
    }

    /// The next line, which has two fields.
    fn pair(&mut self, what: &str) -> Result<(&'a [u8], &'a [u8]), String> {
        let line = self.next(what)?;
        let tab = line.iter().position(|byte| *byte == b'\t');
        let tab = tab.ok_or_else(|| format!("{what}: the line has no tab"))?;
        Ok((&line[..tab], &line[tab + 1..]))
    }
}

/// A number without a sign that 63 bits hold, as the server's own do.
fn number(text: &[u8], what: &str) -> Result<u64, String> {
    let is_plain = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let value = std::str::from_utf8(text).ok().filter(|_| is_plain).and_then(|it| it.parse().ok());
    let value = value.filter(|value| i64::try_from(*value).is_ok());
    value.ok_or_else(|| format!("{what} is not a number of 63 bits"))
}

/// A key that names an object below a root.
fn checked_key(text: &[u8]) -> Result<String, String> {
    let key = String::from_utf8(unescaped(text)?).map_err(|_| "a key is not UTF-8".to_owned())?;
    let is_plain = !key.is_empty() && plain(Path::new(&key)).as_ref() == Some(&key);
    if is_plain && !key.contains(char::is_control) {
        return Ok(key);
    }
    Err(format!("the key {key:?} is absolute, empty, or has an empty name, `.` or `..` in it"))
}

/// Bytes that were escaped as in TSV.
fn unescaped(text: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.iter();
    while let Some(&byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'0') => 0,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(&escaped @ (b'\\' | b'\'')) => escaped,
            _ => return Err("an escape in it is not known".to_owned()),
        });
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_versions() {
        let of = |text: &str| Metadata::parse(text.as_bytes()).unwrap();
        let pieces = vec![
            Piece { size: 3, key: "pre/abc/de".to_owned() },
            Piece { size: 4, key: "x".to_owned() },
        ];
        for (version, tail, is_whole) in [
            (1, "0\n", true),
            (1, "0\n0\n", true),
            (2, "1\n", false),
            (3, "1\n1\n", false),
            (4, "1\n1\n\n", false),
            (5, "7\n0\n\n", true),
        ] {
            let text = format!("{version}\n2\t7\n3\tpre/abc/de\n4\tx\n{tail}");
            let expected = Metadata { pieces: pieces.clone(), is_whole, inline: Vec::new() };
            assert_eq!(of(&text), expected, "{text}");
            assert_eq!(of(&text).length(), 7);
            assert!(is_head(text.as_bytes()));
            let shortest = if version <= 2 { text.len() - tail.len() + 2 } else { text.len() };
            for length in 0..shortest {
                assert!(Metadata::parse(&text.as_bytes()[..length]).is_err(), "{length} of {text}");
            }
        }
        assert_eq!(of("5\n0\t0\n0\n0\na\\n\\\\b\n").inline, b"a\n\\b");
        assert_eq!(of("3\n0\t0\n0\n0\n").length(), 0);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, wanted) in [
            ("", "before the version"),
            ("6\n0\t0\n0\n0\n\n", "version 6"),
            ("0\n0\t0\n0\n", "version 0"),
            ("-5\n0\t0\n0\n", "the version is not a number"),
            ("5\n4294967295\t7\n7\tx\n0\n0\n\n", "object 2 of 4294967295"),
            ("5\n18446744073709551615\t7\n", "the number of objects is not a number"),
            ("5\n1\t18446744073709551615\n", "the size is not a number"),
            (
                "5\n3\t7\n9223372036854775807\ta\n9223372036854775807\tb\n9223372036854775807\tc\n0\n0\n\n",
                "exceed 64 bits",
            ),
            ("5\n1\t7\n8\tx\n0\n0\n\n", "8 bytes together, not the stated 7"),
            ("5\n1\t7\n7\n0\n0\n\n", "no tab"),
            ("5\n1\t7\n7\t../x\n0\n0\n\n", "\"../x\""),
            ("5\n1\t7\n7\t/x\n0\n0\n\n", "\"/x\""),
            ("5\n1\t7\n7\ta//x\n0\n0\n\n", "\"a//x\""),
            ("5\n1\t7\n7\ta/./x\n0\n0\n\n", "\"a/./x\""),
            ("5\n1\t7\n7\t\n0\n0\n\n", "the key \"\""),
            ("5\n1\t7\n7\ta\\nb\n0\n0\n\n", "the key \"a\\nb\""),
            ("5\n1\t7\n7\ta\\qb\n0\n0\n\n", "an escape"),
            ("5\n1\t7\n7\tx\n0\n2\n\n", "neither 0 nor 1"),
            ("5\n1\t7\n7\tx\n0\n0\n\nmore", "4 bytes follow"),
            ("5\n1\t7\n7\tx\n0\n0\nmore\n", "both"),
        ] {
            let error = Metadata::parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(wanted), "{text:?}: {error}");
        }
        for plain in [
            "1",
            "columns format version: 1\n2 columns:\n",
            "5000",
            "checksums format version: 4\n",
        ] {
            assert!(!is_head(plain.as_bytes()), "{plain}");
        }
    }
}
