//! Words of a record: runs of ASCII letters, digits, and bytes above ASCII, as ClickHouse's `hasToken` takes them. Upper and
//! lower case of ASCII are the same.

use std::ops::Range;

/// Longest part of a word that an index keeps.
pub(super) const WORD_BYTES_MAX: usize = 64;
/// Digits that are kept, after leading zeros, of a word that is a long number, hexadecimal or not.
const DIGITS: usize = 8;

/// How much of a word an index keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Cut {
    /// All of it.
    Whole,
    /// The beginning; the rest is hexadecimal digits. Names of traces would be half of an index otherwise.
    Digits,
    /// The beginning.
    Long,
}

impl Cut {
    pub(super) fn of(number: u64) -> Option<Self> {
        [Self::Whole, Self::Digits, Self::Long].into_iter().find(|cut| *cut as u64 == number)
    }

    /// Whether what was cut off may end with some bytes.
    fn may_end(self, tail: &[u8]) -> bool {
        match self {
            Self::Whole => tail.is_empty(),
            Self::Digits => tail.iter().all(|byte| is_digit(*byte)),
            Self::Long => true,
        }
    }

    /// Whether a word of which `kept` is there may have `piece` somewhere in it, or with `at_end` as its end.
    pub(super) fn may_hold(self, kept: &[u8], piece: &[u8], at_end: bool) -> bool {
        let holds = if at_end {
            kept.ends_with(piece)
        } else {
            memchr::memmem::find(kept, piece).is_some()
        };
        if self == Self::Whole || (holds && !at_end) {
            return holds;
        }
        // Some of it, or all, in what was cut off.
        (1..=piece.len()).any(|tail| {
            let (head, tail) = piece.split_at(piece.len() - tail);
            kept.ends_with(head) && self.may_end(tail)
        })
    }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

/// Whether a byte belongs to words.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// Places of the words of a text.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text.get(at..)?.iter().position(|byte| is_word(*byte))?;
        let rest = &text[start..];
        at = start + rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
        Some(start..at)
    })
}

/// Where a word, in lower case, would be cut if the rest was digits.
pub(super) fn digits_at(word: &[u8]) -> usize {
    word.iter().take_while(|byte| **byte == b'0').count() + DIGITS
}

/// What an index keeps of a word, in lower case.
pub(super) fn cut(word: &[u8]) -> (&[u8], Cut) {
    let at = digits_at(word);
    if at < WORD_BYTES_MAX && word.len() > at && word[at..].iter().all(|byte| is_digit(*byte)) {
        return (&word[..at], Cut::Digits);
    }
    match word.get(..WORD_BYTES_MAX) {
        Some(kept) if word.len() > WORD_BYTES_MAX => (kept, Cut::Long),
        _ => (word, Cut::Whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&[u8]> {
        words(text.as_bytes()).map(|place| &text.as_bytes()[place]).collect()
    }

    #[test]
    fn words_are_those_of_has_token() {
        assert_eq!(
            split("a-b_c d9,,\u{e9}t\u{e9} "),
            [&b"a"[..], b"b", b"c", b"d9", "\u{e9}t\u{e9}".as_bytes()]
        );
        assert!(split("").is_empty() && split("_ -").is_empty());
        assert_eq!(split("x"), [b"x"]);
    }

    #[test]
    fn long_numbers_and_long_words_are_cut() {
        assert_eq!(cut(b"deadbeef00112233"), (&b"deadbeef"[..], Cut::Digits));
        assert_eq!(cut(b"00001234567890"), (&b"000012345678"[..], Cut::Digits));
        assert_eq!(cut(b"deadbeef"), (&b"deadbeef"[..], Cut::Whole));
        assert_eq!(cut(b"timestamps"), (&b"timestamps"[..], Cut::Whole));
        let long = [b'x'; 70];
        assert_eq!(cut(&long), (&long[..64], Cut::Long));
        for word in [&b"deadbeef0011223344"[..], &[b'z'; 80], b"plain"] {
            let (kept, cut) = cut(word);
            for start in 0..word.len() {
                for end in start + 1..=word.len() {
                    assert!(cut.may_hold(kept, &word[start..end], false), "{start} {end}");
                }
                assert!(cut.may_hold(kept, &word[start..], true), "{start}");
            }
        }
        assert!(!Cut::Digits.may_hold(b"deadbeef", b"timeout", false));
        assert!(!Cut::Digits.may_hold(b"deadbeef", b"t0", true));
    }
}
