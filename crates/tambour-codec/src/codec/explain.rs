//! What a payload says of itself before it is decoded, for `inspect`: each family explains its own.

use crate::CodecError;
use crate::frame::look::{Lz4Block, ZstdPayload};

/// A payload to look into.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    /// The payload.
    pub bytes: &'a [u8],
    /// Bytes that it decodes to, as the header in front of it says.
    pub content_bytes: usize,
    /// Decode the sequences of LZ4 and zstd, and keep them; those of zstd up to a limit.
    pub sequences: bool,
}

/// Tells what is in a payload. On an error `inside` has what was understood up to there.
pub type Explain = fn(payload: &Payload<'_>, inside: &mut Inside) -> Result<(), CodecError>;

/// What is in a payload.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Inside {
    /// Nothing that this version can tell.
    #[default]
    Opaque,
    /// The data as it is.
    Plain,
    /// An LZ4 block.
    Lz4(Lz4Block),
    /// A zstd frame.
    Zstd(Box<ZstdPayload>),
    /// Values after a header.
    Values(Values),
}

impl Inside {
    /// Makes it one of values, of which nothing is known yet.
    pub(super) fn values(&mut self) -> &mut Values {
        *self = Self::Values(Values::default());
        match self {
            Self::Values(values) => values,
            _ => unreachable!("it was set in the line before"),
        }
    }
}

/// What a codec for values says in front of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// Bytes of a value.
    pub width: usize,
    /// Whole values.
    pub count: usize,
    /// Bytes of headers, of leading bytes, and of all that stands for no value in particular.
    pub header_bytes: usize,
    /// Bytes of the values as the codec stores them.
    pub value_bytes: usize,
    /// Bytes of values that are stored apart, since they do not fit to the others.
    pub exception_bytes: usize,
    /// What else the header says, by name.
    pub facts: Vec<(&'static str, Fact)>,
}

impl Values {
    /// Adds a fact.
    pub(super) fn say(&mut self, name: &'static str, fact: impl Into<Fact>) {
        self.facts.push((name, fact.into()));
    }
}

/// One thing that a header says.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fact {
    /// A number that is not negative, also the bits of a value of which nobody says whether it has a sign.
    Unsigned(u64),
    /// A number that may be negative.
    Signed(i64),
    /// A float.
    Float(f64),
    /// A word.
    Word(&'static str),
    /// One row of numbers for each of many things: too much to read, and there for programs.
    Rows(Vec<[i64; 5]>),
}

impl From<u64> for Fact {
    fn from(number: u64) -> Self {
        Self::Unsigned(number)
    }
}

impl From<usize> for Fact {
    fn from(number: usize) -> Self {
        Self::Unsigned(number as u64)
    }
}

impl From<i64> for Fact {
    fn from(number: i64) -> Self {
        Self::Signed(number)
    }
}

impl From<&'static str> for Fact {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

impl std::fmt::Display for Fact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsigned(number) => write!(f, "{number}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Float(number) => write!(f, "{number:?}"),
            Self::Word(word) => f.write_str(word),
            Self::Rows(rows) => write!(f, "{} rows", rows.len()),
        }
    }
}

/// The bits of up to eight bytes, the lowest first.
pub(super) fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let there = bytes.len().min(8);
    word[..there].copy_from_slice(&bytes[..there]);
    u64::from_le_bytes(word)
}
