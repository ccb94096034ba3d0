//! The latest record of each key of a view in one table, for those who ask often: a look in each segment costs more the more
//! segments there are.
//!
//! The table is made of the indexes of the segments once enough keys were asked for to pay for it. A view of which something
//! cannot be read has none: which segment stands in the way of a key is told by asking them one after another.
//!
//! Entries are in the order of their hashes, each at the place that its hash has among all there are or a little after it, so
//! that a look is mostly one cache line. Of records with the same hash only the latest has one.

use crate::memory::{Budget, Resident};
use crate::view::View;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// One ask per this many records of the view, and the table is made: both take about as long then.
const RECORDS_OF_AN_ASK: u64 = 32;
/// Entries may stand so far after their places. More does not come about by chance; the table is not made then.
const DISTANCE_MAX: usize = 256;
const ENTRY_BYTES: usize = 8;

/// The table of a view, and how often it was wanted before it was there.
#[derive(Debug, Default)]
pub(crate) struct Joined {
    asked: AtomicU64,
    table: OnceLock<Option<KeyTable>>,
}

/// The latest record of each hash.
#[derive(Debug)]
pub(super) struct KeyTable {
    /// A hash in the upper half, a number and 1 in the lower; 0 where there is none.
    entries: Resident,
    places: u64,
}

impl KeyTable {
    #[inline]
    fn place(hash: u32, places: u64) -> usize {
        usize::try_from((u64::from(hash) * places) >> 32).unwrap_or(usize::MAX)
    }

    /// Begins to load what a look for a hash reads.
    #[inline]
    pub(super) fn prefetch(&self, hash: u32) {
        let at = Self::place(hash, self.places);
        tambour_kernel::prefetch(self.entries.bytes(), at * ENTRY_BYTES);
    }

    /// The latest record whose key has a hash, counted from the first of the view.
    #[inline]
    pub(super) fn find(&self, hash: u32) -> Option<u64> {
        let at = Self::place(hash, self.places) * ENTRY_BYTES;
        let (entries, _) = self.entries.bytes().get(at..)?.as_chunks::<ENTRY_BYTES>();
        for entry in entries {
            let entry = u64::from_le_bytes(*entry);
            if entry >> 32 >= u64::from(hash) || entry == 0 {
                let number = (entry & u64::from(u32::MAX)).checked_sub(1)?;
                return (entry >> 32 == u64::from(hash)).then_some(number);
            }
        }
        None
    }

    /// The table of hashes and numbers, if there is memory for it and hashes are even.
    fn new(mut found: Vec<(u32, u32)>, budget: &Budget) -> Option<Self> {
        // Each segment's are sorted already, which a stable sort makes use of.
        found.sort_by_key(|entry| entry.0);
        let places = found.len() as u64 * 4 / 3 + 1;
        let bytes = (usize::try_from(places).ok()? + DISTANCE_MAX + 1) * ENTRY_BYTES;
        let mut entries = Resident::new(bytes, budget)?;
        let (slots, _) = entries.bytes_mut().as_chunks_mut::<ENTRY_BYTES>();
        let mut free = 0;
        for run in found.chunk_by(|one, other| one.0 == other.0) {
            let Some((hash, number)) = run.iter().max() else { continue };
            let place = Self::place(*hash, places);
            let at = free.max(place);
            if at - place > DISTANCE_MAX {
                return None;
            }
            *slots.get_mut(at)? = (u64::from(*hash) << 32 | u64::from(number + 1)).to_le_bytes();
            free = at + 1;
        }
        Some(Self { entries, places })
    }
}

impl View {
    /// The table of all segments, if there is one; `asks` keys are to be looked for.
    #[inline]
    pub(super) fn joined_keys(&self, asks: usize) -> Option<&KeyTable> {
        match self.joined.table.get() {
            Some(known) => known.as_ref(),
            None => self.join_if_due(asks),
        }
    }

    #[cold]
    fn join_if_due(&self, asks: usize) -> Option<&KeyTable> {
        if self.slots.len() < 2 {
            return None;
        }
        let ids = self.ids();
        let asked = self.joined.asked.fetch_add(asks as u64, Ordering::Relaxed);
        if asked < (ids.end - ids.start) / RECORDS_OF_AN_ASK {
            return None;
        }
        self.joined.table.get_or_init(|| self.join_keys()).as_ref()
    }

    fn join_keys(&self) -> Option<KeyTable> {
        let ids = self.ids();
        // Numbers have 32 bits.
        u32::try_from(ids.end - ids.start).ok()?;
        let mut found = Vec::new();
        let mut newer = None;
        for slot in self.slots.iter().rev() {
            let index = self.whole_index(slot, newer).ok()?;
            newer = Some(slot.ids.start);
            let first = u32::try_from(slot.ids.start - ids.start).ok()?;
            if let Some(index) = index {
                found
                    .extend(index.all().map(|(hash, record)| (hash, first.saturating_add(record))));
            }
        }
        KeyTable::new(found, self.budget())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(found: &[(u32, u32)]) -> Option<KeyTable> {
        KeyTable::new(found.to_vec(), &Budget::new(1 << 30))
    }

    #[test]
    fn the_latest_of_each_hash_is_found_and_no_other() {
        let hash = |k: u32| k.wrapping_mul(0x9e37_79b9) ^ k >> 7;
        for count in [0, 1, 2, 9, 1000, 50_000] {
            let mut found: Vec<(u32, u32)> = (0..count).map(|k| (hash(k % 30_000), k)).collect();
            found.extend([(0, count), (u32::MAX, count + 1), (0, count + 2)]);
            let table = table(&found).unwrap();
            for (hash, _) in &found {
                let same = found.iter().filter(|entry| entry.0 == *hash).max();
                assert_eq!(table.find(*hash), same.map(|entry| u64::from(entry.1)), "{count}");
            }
            for other in (0..2000_u32).map(|k| k.wrapping_mul(2_654_435) | 1) {
                if count < 2000 && found.iter().all(|entry| entry.0 != other) {
                    assert_eq!(table.find(other), None, "{count}");
                }
            }
        }
    }

    /// Hashes that somebody has chosen, so that each look would pass over all of them; and no memory.
    #[test]
    fn uneven_hashes_have_no_table() {
        let crowd: Vec<(u32, u32)> = (0..3000).map(|k| (k, k)).collect();
        assert!(table(&crowd).is_none());
        assert!(table(&crowd[..200]).is_some());
        assert!(KeyTable::new(vec![(1, 1)], &Budget::new(100)).is_none());
    }
}
