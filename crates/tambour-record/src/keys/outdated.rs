//! Which records of a view were updated or deleted later.

use super::super::RecordError;
use super::super::entry::{Entry, State};
use super::super::reader::Reader;
use super::super::view::View;
use std::collections::HashMap;
use std::sync::Arc;

/// Which records of each segment are not what their key stands for any more.
#[derive(Debug, Default)]
pub(crate) struct Outdated {
    slots: Vec<Bits>,
    /// Entries with older ones of the same key.
    heads: Vec<Bits>,
}

#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, number: usize) {
        if self.0.len() <= number / 64 {
            self.0.resize(number / 64 + 1, 0);
        }
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn has(&self, number: usize) -> bool {
        self.0.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }
}

impl Outdated {
    /// Whether a record of a segment was updated or deleted later.
    pub(crate) fn is(&self, slot: usize, record: usize) -> bool {
        self.slots.get(slot).is_some_and(|bits| bits.has(record))
    }

    /// Whether there is an older record with the same key.
    pub(crate) fn hides(&self, slot: usize, record: usize) -> bool {
        self.heads.get(slot).is_some_and(|bits| bits.has(record))
    }
}

impl Reader {
    /// What is outdated in the view, found when it is first asked for; `None` where no record has a key.
    pub(crate) fn outdated(&mut self) -> Result<Option<Arc<Outdated>>, RecordError> {
        let view = Arc::clone(&self.view);
        if !view.is_keyed() {
            return Ok(None);
        }
        if let Some(known) = view.outdated.get() {
            return Ok(Some(Arc::clone(known)));
        }
        let found = Arc::new(self.find_outdated(&view)?);
        Ok(Some(Arc::clone(view.outdated.get_or_init(|| found))))
    }

    fn find_outdated(&mut self, view: &View) -> Result<Outdated, RecordError> {
        let mut entries = Vec::new();
        let mut newer = None;
        for (number, slot) in view.slots.iter().enumerate().rev() {
            if let Some(index) = view.whole_index(slot, newer)? {
                #[expect(clippy::cast_possible_truncation, reason = "files of a directory")]
                let slot = number as u32;
                entries.extend(index.all().map(|(hash, record)| (hash, slot, record)));
            }
            newer = Some(slot.ids.start);
        }
        entries.sort_unstable();
        let empty = vec![Bits::default(); view.slots.len()];
        let mut found = Outdated { slots: empty.clone(), heads: empty };
        for alike in entries.chunk_by(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
            // The newest of each key, and whether it is the only one.
            let mut keys: HashMap<Vec<u8>, (usize, usize)> = HashMap::new();
            for (_, slot, record) in alike.iter().rev() {
                let (slot, record) = (*slot as usize, *record as usize);
                let Entry { key: Some(key), .. } = self.entry(slot, record)? else { continue };
                if let Some((newest_slot, newest)) = keys.get(key) {
                    found.slots[slot].set(record);
                    found.heads[*newest_slot].set(*newest);
                } else {
                    keys.insert(key.to_vec(), (slot, record));
                }
            }
        }
        Ok(found)
    }
}

/// Whether an entry is the latest record of its key, or a record without one.
pub(crate) fn is_current(outdated: &Outdated, slot: usize, record: usize, state: State) -> bool {
    state == State::Record && !outdated.is(slot, record)
}
