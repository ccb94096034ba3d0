//! The registry of codec families.

/// All that a codec learns of the column whose bytes it encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Width of one value in bytes; 1 for strings and other byte streams.
    pub width: u8,
    /// What the bytes of a value mean.
    pub class: Class,
}

/// What the bytes of a value mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// No numbers: strings, raw bytes.
    Bytes,
    /// Unsigned integers.
    Unsigned,
    /// Signed integers, two's complement.
    Signed,
    /// IEEE floats.
    Float,
}

impl Element {
    /// A stream of bytes that are no numbers.
    pub const BYTES: Self = Self { width: 1, class: Class::Bytes };
}
