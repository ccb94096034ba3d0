//! Memory for the groups of sealed segments: anonymous, in huge pages where the system has them, within a budget.
//!
//! A segment is read into memory once, with `pread`, instead of being mapped: nobody else can then change or cut off bytes
//! that are being decoded, a failing disk is an error instead of a signal, and huge pages do not depend on the file
//! system. What the budget has no room for is read group by group.

use memmap2::{Advice, MmapMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that may still be used. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Budget(Arc<AtomicU64>);

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        Self(Arc::new(AtomicU64::new(bytes)))
    }

    fn take(&self, bytes: u64) -> bool {
        let less = |left: u64| left.checked_sub(bytes);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).is_ok()
    }
}

/// Bytes in memory; given back to the budget at the end.
#[derive(Debug)]
pub(super) struct Resident {
    map: MmapMut,
    budget: Budget,
}

impl Resident {
    /// This many zeros, unless the budget or the system has no room for them.
    pub(super) fn new(bytes: usize, budget: &Budget) -> Option<Self> {
        if !budget.take(bytes as u64) {
            return None;
        }
        let Ok(map) = MmapMut::map_anon(bytes.max(1)) else {
            budget.0.fetch_add(bytes as u64, Ordering::AcqRel);
            return None;
        };
        #[cfg(target_os = "linux")]
        {
            // Without huge pages it works as well, only slower.
            let _ = map.advise(Advice::HugePage);
        }
        Some(Self { map, budget: budget.clone() })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.map
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.map
    }
}

impl Drop for Resident {
    fn drop(&mut self) {
        self.budget.0.fetch_add(self.map.len() as u64, Ordering::AcqRel);
    }
}
