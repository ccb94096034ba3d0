//! `like` and its kin as functions.

use super::super::access::rule;
use super::super::{Call, Function};
use super::{letter_width, lower_utf8};
use crate::FunctionError;
use arrow_array::ArrayRef;
use tambour_part::types::DataType;

/// The functions of this room.
pub(in super::super) const FUNCTIONS: &[Function] = &[
    Function::new("like", rule!(Text Text => DataType::UInt8), |c| like(c, false, false))
        .predicate()
        .any_case(),
    Function::new("notLike", rule!(Text Text => DataType::UInt8), |c| like(c, false, true))
        .predicate(),
    Function::new("ilike", rule!(Text Text => DataType::UInt8), |c| like(c, true, false))
        .predicate()
        .any_case(),
    Function::new("notILike", rule!(Text Text => DataType::UInt8), |c| like(c, true, true))
        .predicate(),
];

fn like(call: &Call, any_case: bool, negated: bool) -> Result<ArrayRef, FunctionError> {
    let (texts, patterns) = (call.texts(0)?, call.texts(1)?);
    let compiled = |row: usize| {
        let pattern = patterns.get(row);
        if any_case { pieces(&lower_utf8(pattern)) } else { pieces(pattern) }
    };
    let constant = patterns.is_constant().then(|| compiled(0));
    call.make_flags(|row| {
        let own;
        let pattern = if let Some(constant) = &constant {
            constant
        } else {
            own = compiled(row);
            &own
        };
        let is_like = if any_case {
            matches(&lower_utf8(texts.get(row)), pattern)
        } else {
            matches(texts.get(row), pattern)
        };
        is_like != negated
    })
}

/// A pattern of `LIKE`.
#[derive(Debug)]
pub(in super::super) struct Pattern(Vec<Piece>);

impl Pattern {
    pub(in super::super) fn of(pattern: &[u8]) -> Self {
        Self(pieces(pattern))
    }
    pub(in super::super) fn matches(&self, text: &[u8]) -> bool {
        matches(text, &self.0)
    }
}

/// A piece of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    /// `%`
    Any,
    /// `_`
    Letter,
    Byte(u8),
}

/// A backslash before `%`, `_` and itself takes their meaning away; before others it stands for itself.
fn pieces(pattern: &[u8]) -> Vec<Piece> {
    let mut found = Vec::with_capacity(pattern.len());
    let mut rest = pattern.iter();
    while let Some(byte) = rest.next() {
        found.push(match byte {
            b'%' => Piece::Any,
            b'_' => Piece::Letter,
            b'\\' => match rest.as_slice().first() {
                Some(next @ (b'%' | b'_' | b'\\')) => {
                    rest.next();
                    Piece::Byte(*next)
                }
                _ => Piece::Byte(b'\\'),
            },
            other => Piece::Byte(*other),
        });
    }
    found
}

/// Bytes of the letter at a place; none of bytes that are not UTF-8.
fn letter(text: &[u8], at: usize) -> Option<usize> {
    let width = letter_width(*text.get(at)?);
    let bytes = text.get(at..at + width)?;
    (width == 1 && bytes[0].is_ascii() || std::str::from_utf8(bytes).is_ok()).then_some(width)
}

/// The last `%` takes as little as it can, and more when the rest does not fit: never more than length times length. As in
/// ClickHouse, `_` and a `%` between others take letters; a `%` at the start or the end takes any bytes.
fn matches(text: &[u8], pattern: &[Piece]) -> bool {
    let is_any = |piece: &Piece| *piece == Piece::Any;
    let first = pattern.iter().take_while(|piece| is_any(piece)).count();
    let end = pattern.len() - pattern.iter().rev().take_while(|piece| is_any(piece)).count();
    let is_open = (first > 0, end < pattern.len());
    if first >= end {
        return first > 0 || text.is_empty();
    }
    let (mut at, mut piece) = (0, first);
    let mut retry = is_open.0.then_some((0, first));
    loop {
        let taken = match pattern.get(piece).filter(|_| piece < end) {
            Some(Piece::Any) => {
                retry = Some((at, piece + 1));
                piece += 1;
                continue;
            }
            None if at == text.len() || is_open.1 => return true,
            Some(Piece::Letter) => letter(text, at),
            Some(Piece::Byte(byte)) if text.get(at) == Some(byte) => Some(1),
            _ => None,
        };
        if let Some(taken) = taken {
            at += taken;
            piece += 1;
            continue;
        }
        let Some((from, after)) = retry.filter(|(from, _)| *from < text.len()) else {
            return false;
        };
        (at, piece) = match letter(text, from) {
            Some(width) if after > first => (from + width, after),
            // The first `%` goes on from any byte; what comes after it begins anew where the others do not get past.
            _ if is_open.0 => (from + 1, first),
            _ => return false,
        };
        retry = Some((at, piece));
    }
}

#[cfg(test)]
mod tests {
    use super::{matches, pieces};

    #[test]
    fn percent_takes_anything_and_underscore_a_letter() {
        for (text, pattern, is_like) in [
            ("hello", "h%o", true),
            ("hello", "h_llo", true),
            ("hello", "hell", false),
            ("", "%", true),
            ("", "_", false),
            ("\u{e9}", "_", true),
            ("a%b", "a\\%b", true),
            ("axb", "a\\%b", false),
            ("aab", "%ab", true),
        ] {
            assert_eq!(matches(text.as_bytes(), &pieces(pattern.as_bytes())), is_like, "{pattern}");
        }
        for (text, pattern, is_like) in [
            (&b"a\xffb"[..], "a%b", false),
            (b"a\xffb", "%a%b%", false),
            (b"a\xffb", "%b", true),
            (b"a\xffb", "a%", true),
            (b"a\xffb", "a_b", false),
            (b"\xffb", "%_%", true),
            (b"\xffb", "_%", false),
            (b"a\xffab", "%a%b", true),
            (b"\xff", "%", true),
            (b"a\xffa\xffab", "%a%b", true),
        ] {
            assert_eq!(matches(text, &pieces(pattern.as_bytes())), is_like, "{text:?} {pattern}");
        }
        let long = vec![b'a'; 20_000];
        assert!(!matches(&long, &pieces(b"%a%a%a%a%a%a%b")));
    }
}
