//! Records that wait for a commit, and what becomes of those whose commit fails.

use super::batch::Batch;
use super::{RecordError, SEGMENT_BYTES_MAX, weight};
use std::sync::{Arc, OnceLock};

/// Most that may wait for a commit, by its weight. A segment that is not full has room for all of it.
pub(super) const PENDING_BYTES_MAX: u64 = SEGMENT_BYTES_MAX / 2;

/// Records that wait for a commit.
#[derive(Debug, Default)]
pub(super) struct Pending {
    pub(super) records: Batch,
    /// Id of the first of them.
    pub(super) first: u64,
    /// The id after the last record that waits for nobody but a flush.
    pub(super) later_end: u64,
    /// Ends with the next commit that fails: whoever appended before it finds there what was kept.
    pub(super) epoch: Epoch,
    /// The first id that was given to a record which is gone and for which nobody waited: the next flush tells.
    pub(super) lost: Option<u64>,
}

/// From one failed commit to the next. Ids that were given in it are final below the end that is set by its failure; those
/// above are given again in the next one.
#[derive(Clone, Debug, Default)]
pub(super) struct Epoch(Arc<OnceLock<u64>>);

impl Epoch {
    /// Ends it with what was kept, and begins the next one.
    pub(super) fn fail(&mut self, kept: u64) {
        // Set once: commits fail one after another.
        let _ = std::mem::take(self).0.set(kept);
    }

    /// What a failed commit has decided about records up to this end; `None` while none has failed.
    pub(super) fn outcome(&self, end: u64) -> Option<Result<(), RecordError>> {
        let kept = *self.0.get()?;
        Some(if end <= kept {
            Ok(())
        } else {
            Err(RecordError::Lost { id: end.saturating_sub(1) })
        })
    }
}

impl Pending {
    /// The id after the last of them.
    pub(super) fn end(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// Whether this much more may wait.
    pub(super) fn check_room(&self, bytes: usize, records: usize) -> Result<(), RecordError> {
        let bytes = self.records.bytes().len() as u64 + bytes as u64;
        let bytes = weight(bytes, self.records.len() as u64 + records as u64);
        if bytes > PENDING_BYTES_MAX {
            let (what, limit) = ("records that wait for a flush", PENDING_BYTES_MAX);
            return Err(RecordError::TooLarge { what, bytes, limit });
        }
        Ok(())
    }
}
