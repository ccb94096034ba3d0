//! The running hash of `checksums.txt`: the seeded CityHash128 chained over pieces of 2048 bytes.

use super::{Hash128, city_hash_128_seeded};

/// Bytes of a full piece.
const PIECE_BYTES: usize = 2048;

/// The running hash of `checksums.txt`: the seeded CityHash128 chained over pieces of 2048 bytes.
///
/// ```
/// let mut hasher = tambour_kernel::hash::FileHasher::default();
/// hasher.update(&[0, 1, 2]);
/// hasher.update(&[3, 4]);
/// assert_eq!(hasher.finish().to_string(), "245e14b77717f0affc87eea7348ce441");
/// ```
#[derive(Clone)]
pub struct FileHasher {
    state: Hash128,
    /// The begun piece; the first `pending_bytes` count, always fewer than a full piece.
    pending: [u8; PIECE_BYTES],
    pending_bytes: usize,
}

impl Default for FileHasher {
    fn default() -> Self {
        Self { state: Hash128::default(), pending: [0; PIECE_BYTES], pending_bytes: 0 }
    }
}

impl std::fmt::Debug for FileHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileHasher")
            .field("state", &self.state)
            .field("pending_bytes", &self.pending_bytes)
            .finish_non_exhaustive()
    }
}

impl FileHasher {
    /// Adds bytes; how they are cut over calls does not matter.
    pub fn update(&mut self, source: &[u8]) {
        let rest = self.complete_pending(source);
        let (pieces, rest) = rest.as_chunks::<PIECE_BYTES>();
        for piece in pieces {
            self.state = city_hash_128_seeded(piece, self.state);
        }
        let end = self.pending_bytes + rest.len();
        self.pending[self.pending_bytes..end].copy_from_slice(rest);
        self.pending_bytes = end;
    }

    /// The hash of everything so far (zero for an empty input).
    pub fn finish(&self) -> Hash128 {
        match &self.pending[..self.pending_bytes] {
            [] => self.state,
            pending => city_hash_128_seeded(pending, self.state),
        }
    }

    /// Fills a begun piece from `source` and returns what is left of it. When the piece stays incomplete, nothing is left.
    fn complete_pending<'a>(&mut self, source: &'a [u8]) -> &'a [u8] {
        if self.pending_bytes == 0 {
            return source;
        }
        let missing = PIECE_BYTES - self.pending_bytes;
        let (head, rest) = source.split_at(missing.min(source.len()));
        let end = self.pending_bytes + head.len();
        self.pending[self.pending_bytes..end].copy_from_slice(head);
        self.pending_bytes = end;
        if end == PIECE_BYTES {
            self.state = city_hash_128_seeded(&self.pending, self.state);
            self.pending_bytes = 0;
        }
        rest
    }
}
