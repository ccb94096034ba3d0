//! How much memory one batch may take: small files may claim any number of rows and decode to any number of bytes.

use crate::part::{Part, StoredColumn};
use crate::types::DataType;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that the blocks of one batch may decode to, and that its rows may take, unless the caller says otherwise.
pub const BATCH_BYTES_MAX: u64 = 256 << 20;

/// What each stream may take on top: a block of usual size, of which a batch may need the last row only.
const STREAM_BYTES: u64 = 1 << 20;
/// The same in proportion to the bytes on disk, so that many streams of nothing are not given much.
const RATIO_MAX: u64 = 255;

/// Bytes that are left for the batch in hand.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: AtomicU64,
    taken: AtomicU64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { limit: AtomicU64::new(u64::MAX), taken: AtomicU64::new(0) }
    }
}

impl Budget {
    /// Sets the limit for some columns of a part.
    pub(crate) fn limit(&self, part: &Part, columns: &[&StoredColumn], bytes: u64) {
        let streams: usize = columns.iter().map(|column| column.streams.len()).sum();
        let usual = STREAM_BYTES.saturating_mul(streams as u64);
        let backed = RATIO_MAX.saturating_mul(part.bytes_on_disk());
        self.limit.store(bytes.saturating_add(usual.min(backed)), Ordering::Relaxed);
    }

    /// Sets the limit.
    pub(crate) fn limit_to(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Begins a batch.
    pub(crate) fn begin(&self) {
        self.taken.store(0, Ordering::Relaxed);
    }

    /// Takes bytes for the batch; the limit and what was asked for in all, if that is more.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), (u64, u64)> {
        let before = self.taken.fetch_add(bytes, Ordering::Relaxed);
        self.check(before.saturating_add(bytes))
    }

    /// The limit and the bytes, if they are more.
    pub(crate) fn check(&self, bytes: u64) -> Result<(), (u64, u64)> {
        let limit = self.limit.load(Ordering::Relaxed);
        if bytes > limit { Err((limit, bytes)) } else { Ok(()) }
    }
}

/// Bytes that a row takes at least in an array of this type, without what it points to.
pub(crate) fn row_bytes(data_type: &DataType) -> u64 {
    match data_type {
        DataType::String => 16,
        DataType::LowCardinality(_) | DataType::Array(_) | DataType::Map(_, _) => 4,
        DataType::Nullable(inner) => row_bytes(inner),
        DataType::Tuple(fields) => fields.iter().map(|(_, inner)| row_bytes(inner)).sum(),
        other => other.fixed_width().map_or(1, |width| width as u64),
    }
}
