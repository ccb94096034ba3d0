//! The LZ4 block format: decoders and encoders.

/// What is wrong with an LZ4 block, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// Placeholder.
    Truncated {
        /// Position in the source.
        at: u32,
    },
}

/// Decodes one block into exactly `target.len()` bytes.
pub fn decode(_source: &[u8], _target: &mut [u8]) -> Result<(), Malformed> {
    todo!()
}
