//! The pinned first message of a connection.

use tambour_kernel::hash::xxh3_64;

/// Longest pinned message; of a longer one, the first bytes are kept.
pub const PIN_BYTES_MAX: usize = 512;

/// The start of a connection's first message, to which its later messages may refer. Sender and receiver each keep a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    bytes: Box<[u8]>,
    hash: u64,
}

impl Pin {
    /// Keeps the first [`PIN_BYTES_MAX`] bytes of a message. `None` for an empty one, which is nothing to refer to.
    pub fn new(message: &[u8]) -> Option<Self> {
        let bytes = &message[..message.len().min(PIN_BYTES_MAX)];
        let hash = xxh3_64(bytes, 0);
        (!bytes.is_empty()).then(|| Self { bytes: bytes.into(), hash })
    }

    /// What is kept.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Tells pins apart in checks.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }
}
