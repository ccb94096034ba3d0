//! Merging: a streaming k-way merge of sorted parts with bounded memory.

use crate::StoreError;
use std::path::Path;
use std::sync::Arc;
use tambour_part::storage::Storage;

/// How to merge.
#[derive(Clone, Debug)]
pub struct OptimizeOptions {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Threads.
    pub threads: usize,
}

/// What a merge did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptimizeSummary {
    /// Parts merged away.
    pub parts_before: u64,
    /// Parts after.
    pub parts_after: u64,
    /// Rows written.
    pub rows: u64,
}

/// Merges the parts of each partition into one; atomic as a whole. `progress` is told the rows written so far.
pub fn optimize(
    _storage: &Arc<dyn Storage>,
    _path: &Path,
    _options: &OptimizeOptions,
    _progress: &mut dyn FnMut(u64),
) -> Result<OptimizeSummary, StoreError> {
    todo!()
}
