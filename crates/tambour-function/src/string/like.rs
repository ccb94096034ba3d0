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

/// The last `%` takes as little as it can, and more when the rest does not fit: never more than length times length.
fn matches(text: &[u8], pattern: &[Piece]) -> bool {
    let (mut at, mut piece) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    loop {
        let taken = match pattern.get(piece) {
            Some(Piece::Any) => {
                retry = Some((at, piece + 1));
                piece += 1;
                continue;
            }
            None if at == text.len() => return true,
            Some(Piece::Letter) if at < text.len() => {
                Some(letter_width(text[at]).min(text.len() - at))
            }
            Some(Piece::Byte(byte)) if text.get(at) == Some(byte) => Some(1),
            _ => None,
        };
        if let Some(taken) = taken {
            at += taken;
            piece += 1;
            continue;
        }
        match &mut retry {
            Some((from, after)) if *from < text.len() => {
                *from += letter_width(text[*from]).min(text.len() - *from);
                (at, piece) = (*from, *after);
            }
            _ => return false,
        }
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
        let long = vec![b'a'; 20_000];
        assert!(!matches(&long, &pieces(b"%a%a%a%a%a%a%b")));
    }
}
