//! How texts are cut into tokens, and which tokens a text surely has if it has some bytes in it.

use crate::filter::{grams, words};
use tambour_table::predicate::Within;

/// Bytes of the longest character.
const CHARACTER_BYTES_MAX: usize = 4;

/// How texts are cut into tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tokenizer {
    /// Runs of ASCII letters, digits, and bytes above 127.
    Words,
    /// All runs of this many characters.
    Grams(usize),
    /// What lies between these, of which the first that fits counts.
    Separators(Vec<Vec<u8>>),
    /// The whole text.
    Whole,
}

/// Where some bytes stand in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// They are all of it.
    Whole,
    /// They are its start.
    Start,
    /// They are in it as the predicate says.
    In(Within),
}

impl Tokenizer {
    /// The tokens of a text; `None` if they are not known.
    pub(crate) fn tokens<'a>(&self, text: &'a [u8]) -> Option<Vec<&'a [u8]>> {
        Some(match self {
            Self::Words => words(text).map(|(word, _)| word).collect(),
            // Which characters bytes are that are not UTF-8 is not known.
            Self::Grams(length) => grams(text, *length)?,
            Self::Separators(separators) => split(text, separators),
            Self::Whole if text.is_empty() => Vec::new(),
            Self::Whole => vec![text],
        })
    }

    /// Tokens that every text has in which these bytes stand so; `None` if there are none.
    pub(crate) fn sure<'a>(&self, bytes: &'a [u8], stand: Stand) -> Option<Vec<&'a [u8]>> {
        let found = match (self, stand) {
            (_, Stand::Whole) => self.tokens(bytes)?,
            (Self::Grams(length), _) => sure_grams(bytes, *length, stand)?,
            (Self::Words, _) => sure_words(bytes, stand),
            (Self::Separators(_) | Self::Whole, _) => Vec::new(),
        };
        (!found.is_empty()).then_some(found)
    }
}

/// The runs of characters that every text has in which these bytes stand so; `None` if they are not UTF-8. In a text that is not
/// UTF-8, a byte in front may have taken some of them for the rest of its character: then runs begin after those.
pub(crate) fn sure_grams(bytes: &[u8], length: usize, stand: Stand) -> Option<Vec<&[u8]>> {
    let mut found = grams(bytes, length)?;
    if let Stand::In(_) = stand {
        let start = bytes.as_ptr().addr() + CHARACTER_BYTES_MAX - 1;
        found.retain(|gram| gram.as_ptr().addr() >= start);
    }
    Some(found)
}

/// The words that end in these bytes, and do not go on before or after them.
pub(crate) fn sure_words(bytes: &[u8], stand: Stand) -> Vec<&[u8]> {
    let is_word = stand == Stand::In(Within::Word);
    let starts = is_word || matches!(stand, Stand::Whole | Stand::Start);
    let ends = is_word || matches!(stand, Stand::Whole | Stand::In(Within::End));
    let mut found = words(bytes).peekable();
    let first = found.peek().map(|(word, _)| word.as_ptr());
    let goes_on = !starts && first == Some(bytes.as_ptr());
    let sure = found.skip(usize::from(goes_on)).filter(|(_, is_followed)| *is_followed || ends);
    sure.map(|(word, _)| word).collect()
}

fn split<'a>(text: &'a [u8], separators: &[Vec<u8>]) -> Vec<&'a [u8]> {
    let length_at = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        separators.iter().find(|it| rest.starts_with(it)).map(Vec::len)
    };
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while at < text.len() {
        let Some(length) = length_at(at) else {
            at += 1;
            continue;
        };
        found.push(&text[start..at]);
        at += length;
        start = at;
    }
    found.push(&text[start..]);
    found.retain(|token| !token.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(tokens: Vec<&[u8]>) -> Vec<&str> {
        tokens.into_iter().map(|it| std::str::from_utf8(it).unwrap()).collect()
    }

    #[test]
    fn texts_are_cut() {
        let of = |tokenizer: Tokenizer, text: &'static str| {
            shown(tokenizer.tokens(text.as_bytes()).unwrap())
        };
        assert_eq!(of(Tokenizer::Words, " a-b_c1 \u{e9};"), ["a", "b", "c1", "\u{e9}"]);
        assert_eq!(of(Tokenizer::Grams(2), "a\u{e9}b"), ["a\u{e9}", "\u{e9}b"]);
        assert_eq!(of(Tokenizer::Grams(4), "a\u{e9}b"), Vec::<&str>::new());
        assert_eq!(of(Tokenizer::Whole, "a b"), ["a b"]);
        assert_eq!(of(Tokenizer::Whole, ""), Vec::<&str>::new());
        let separators = Tokenizer::Separators(vec![b", ".to_vec(), b",".to_vec()]);
        assert_eq!(of(separators, ",a, b,,c d,"), ["a", "b", "c d"]);
        assert_eq!(Tokenizer::Grams(2).tokens(&[0xff, b'a', b'b']), None);
    }

    #[test]
    fn a_character_may_begin_before() {
        let of = |text: &'static str, stand| shown(sure_grams(text.as_bytes(), 2, stand).unwrap());
        assert_eq!(of("abcdef", Stand::In(Within::Anywhere)), ["de", "ef"]);
        assert_eq!(of("a\u{e9}\u{e9}bc", Stand::In(Within::End)), ["\u{e9}b", "bc"]);
        assert_eq!(of("abc", Stand::Start), ["ab", "bc"]);
        assert_eq!(of("abc", Stand::In(Within::Word)), Vec::<&str>::new());
    }

    #[test]
    fn what_is_cut_off_is_no_token() {
        let of = |text: &'static str, stand| shown(sure_words(text.as_bytes(), stand));
        assert_eq!(of("ab cd ef", Stand::In(Within::Anywhere)), ["cd"]);
        assert_eq!(of(" cd ", Stand::In(Within::Anywhere)), ["cd"]);
        assert_eq!(of("cd", Stand::In(Within::Anywhere)), Vec::<&str>::new());
        assert_eq!(of("ab cd", Stand::In(Within::End)), ["cd"]);
        assert_eq!(of("ab cd", Stand::Start), ["ab"]);
        assert_eq!(of("cd", Stand::In(Within::Word)), ["cd"]);
        assert_eq!(of("ab-cd", Stand::Whole), ["ab", "cd"]);
    }
}
