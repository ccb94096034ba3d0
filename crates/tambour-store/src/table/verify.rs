//! Verifying a whole table: every part, and what no part can know of itself.

use crate::StoreError;
use std::path::Path;
use std::sync::Arc;
use tambour_part::storage::Storage;

/// What a verification has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Parts finished.
    pub parts: u64,
    /// Parts in all.
    pub parts_total: u64,
    /// Rows of the parts finished.
    pub rows: u64,
    /// Compressed bytes read and checked.
    pub bytes: u64,
}

/// What a verification saw.
#[derive(Debug, Default)]
pub struct TableVerification {
    /// Live parts looked at.
    pub parts: u64,
    /// Files looked at.
    pub files: u64,
    /// Blocks whose checksum was verified.
    pub blocks: u64,
    /// Compressed bytes read.
    pub bytes: u64,
    /// Rows of all parts that could be opened.
    pub rows: u64,
    /// All that is wrong; empty means good.
    pub damage: Vec<StoreError>,
}

/// Reads and checks everything: the sidecar, every live part with all its files, the order of the rows, the primary index
/// against the rows, the partition values against the rows. Damage is collected, not returned as an error; an error means
/// that there is nothing to verify.
pub fn verify(
    _storage: &Arc<dyn Storage>,
    _path: &Path,
    _progress: &mut dyn FnMut(&VerifyProgress),
) -> Result<TableVerification, StoreError> {
    todo!()
}
