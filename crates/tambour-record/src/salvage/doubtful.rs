//! Which of the records that were saved may not be the latest of their keys, because what was lost followed them.
//!
//! Indexes of sealed segments have hashes of all keys, also of records in a group that is lost. What was lost with its index
//! may have had any key.

use super::super::RecordError;
use super::super::entry::State;
use super::super::keys::index::KeyIndex;
use super::super::reader::Reader;
use super::super::view::{Segment, View};
use super::Moved;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A record that was saved, and that a lost one of the same key replaced, or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubtful {
    /// Its key.
    pub key: Vec<u8>,
    /// Id that it had.
    pub old: u64,
    /// Id that it has.
    pub new: u64,
    /// Id that the last lost record of the key had. Two keys in four billion are taken for the same.
    pub lost: u64,
}

/// What was lost of a category.
struct Lost {
    /// By hashes of keys: the last record of each.
    last: HashMap<u32, u64>,
    /// Records before this one may have been replaced or deleted by something of which no key is known.
    blind: u64,
}

/// The id that a copied record has; `None` if it was lost.
fn copied(runs: &[Moved], id: u64) -> Option<u64> {
    let at = runs.partition_point(|run| run.old <= id).checked_sub(1)?;
    let run = runs.get(at)?;
    (id - run.old < run.records).then(|| run.new + (id - run.old))
}

impl Lost {
    /// `is_open`: something is lost after the last id, too.
    fn of(view: &View, runs: &[Moved], is_open: bool) -> Self {
        let mut lost = Self { last: HashMap::new(), blind: if is_open { u64::MAX } else { 0 } };
        let mut expected = view.ids().start;
        for slot in &view.slots {
            let Range { start, end } = slot.ids;
            if expected < start {
                lost.blind = lost.blind.max(start);
            }
            expected = end;
            match &slot.segment {
                Segment::Sealed(sealed) => {
                    for (hash, record) in sealed.meta.keys.all() {
                        let id = start + u64::from(record);
                        if copied(runs, id).is_none() {
                            let last = lost.last.entry(hash).or_default();
                            *last = id.max(*last);
                        }
                    }
                }
                Segment::Open(open) if !open.header.keyed => {}
                Segment::Open(_) | Segment::Broken(..) => {
                    if (start..end).any(|id| copied(runs, id).is_none()) {
                        lost.blind = lost.blind.max(end);
                    }
                }
            }
        }
        lost
    }
}

/// The records of keys that were lost later, and whether nothing is known of some that were lost after records with keys.
pub(super) fn find(
    view: &View,
    reader: &mut Reader,
    runs: &[Moved],
    is_open: bool,
) -> Result<(Vec<Doubtful>, bool), RecordError> {
    let lost = Lost::of(view, runs, is_open);
    let (mut candidates, mut is_blind) = (Vec::new(), false);
    for slot in &view.slots {
        let index = match &slot.segment {
            Segment::Sealed(sealed) => Some(&sealed.meta.keys),
            // Where it cannot be made, something of the segment is lost, and that is known.
            Segment::Open(open) => open.keys().ok().flatten(),
            Segment::Broken(..) => None,
        };
        for (hash, record) in index.into_iter().flat_map(KeyIndex::all) {
            let id = slot.ids.start + u64::from(record);
            let Some(new) = copied(runs, id) else { continue };
            is_blind |= id < lost.blind;
            if let Some(last) = lost.last.get(&hash) {
                candidates.push((id, new, *last));
            }
        }
    }
    // The newest first: of each key, the first one counts.
    candidates.sort_unstable_by(|one, other| other.cmp(one));
    let (mut seen, mut found) = (HashSet::new(), Vec::new());
    for (old, new, lost) in candidates {
        let entry = reader.entry_of(old)?;
        let (Some(key), state) = (entry.key, entry.state) else { continue };
        if seen.insert(key.to_vec()) && state == State::Record && old < lost {
            found.push(Doubtful { key: key.to_vec(), old, new, lost });
        }
    }
    found.reverse();
    Ok((found, is_blind))
}
