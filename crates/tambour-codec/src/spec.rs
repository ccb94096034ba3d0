//! `CODEC(Delta(4), ZSTD(3))`: parsing and printing.

use crate::CodecError;

/// One codec call of a chain: a family's name and its arguments as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecCall {
    /// Canonical name of the family (`LZ4`, `ZSTD`).
    pub name: String,
    /// Arguments, in order: numbers or quoted texts.
    pub arguments: Vec<String>,
}

/// A chain of codecs in the order of application. Parses and prints ClickHouse's syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodecSpec {
    /// The calls in the order in which they are applied on writing; never empty.
    pub calls: Vec<CodecCall>,
}

impl CodecSpec {
    /// `LZ4`, the default of every column.
    pub fn lz4() -> Self {
        todo!()
    }
    /// Only the general-purpose members of the chain, as helper streams (null maps, sizes) use them; `NONE` if there are none.
    pub fn generic_only(&self) -> Self {
        todo!()
    }
}

impl std::str::FromStr for CodecSpec {
    type Err = CodecError;
    /// Accepts `LZ4`, `ZSTD(3)`, `Delta(4), LZ4` and the same inside `CODEC(…)`; names in any case.
    fn from_str(_text: &str) -> Result<Self, CodecError> {
        todo!()
    }
}

impl std::fmt::Display for CodecSpec {
    /// Prints without `CODEC(…)`: `Delta(4), ZSTD(3)`.
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        todo!()
    }
}
