//! The blocks of a file, as a format encodes them.

use super::rival::Rival;
use crate::BenchError;
use crate::input::Input;

/// The blocks of one file in one format, one behind the other.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    bytes: Vec<u8>,
    /// Where each block ends.
    ends: Vec<usize>,
}

impl Encoded {
    /// Cuts a file into blocks and encodes each.
    pub(super) fn new(
        input: &Input,
        block_bytes: usize,
        format: &dyn Rival,
    ) -> Result<Self, BenchError> {
        let mut encoded = Self::default();
        for (block, source) in input.bytes.chunks(block_bytes).enumerate() {
            let Some(target) = format.encode(source) else {
                let file = input.name.clone();
                return Err(BenchError::Encode { file, block, encoder: format.name() });
            };
            encoded.bytes.extend_from_slice(&target);
            encoded.ends.push(encoded.bytes.len());
        }
        Ok(encoded)
    }

    /// Bytes of all blocks.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Number of blocks.
    pub(super) fn blocks(&self) -> usize {
        self.ends.len()
    }

    /// The block with this number.
    pub(super) fn block(&self, index: usize) -> &[u8] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[index]]
    }
}
