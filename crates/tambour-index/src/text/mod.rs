//! The kind `text`: an inverted index, which has for each token of a column the rows that it is in.
//!
//! It has one entry for all of a part, in three files: the head with the first token of each block of the dictionary, the dictionary
//! itself, and the lists of rows that are too long to lie there.

mod arguments;
mod ask;
mod check;
mod file;
mod rows;
mod token;

pub(crate) use ask::Asked;
pub(crate) use check::{check, is_right};
pub(crate) use file::{TextFile, decode};

pub(crate) use token::{Stand, sure_grams, sure_words};

use token::Tokenizer;

/// What the arguments of an index of this kind say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    tokenizer: Tokenizer,
    /// Texts are made lower case first, of ASCII letters.
    is_lower: bool,
}

impl Shape {
    /// Of an index over `column`; `None` if anything about it is not understood.
    pub(crate) fn of(kind_full: &str, column: &str) -> Option<Self> {
        arguments::shape(kind_full, column)
    }
    /// True if it is of texts as they are.
    pub(crate) fn keeps_case(&self) -> bool {
        !self.is_lower
    }
    /// A text as it is cut into tokens.
    fn folded<'a>(&self, text: &'a [u8]) -> std::borrow::Cow<'a, [u8]> {
        if self.is_lower { text.to_ascii_lowercase().into() } else { text.into() }
    }
}
