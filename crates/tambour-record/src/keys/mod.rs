//! Keys: the latest record of each, and which records no longer are.
//!
//! Each segment has an index of hashes; segments are asked from the newest to the oldest, and the record itself says whether
//! it has the key. A key that is not found in segments that can be read may be in one that cannot: that is an error.

pub(crate) mod index;
mod joined;
mod outdated;

use super::RecordError;
use super::entry::{Entry, State};
use super::open::OpenSegment;
use super::reader::{Reader, record_in};
use super::view::{Segment, Slot, View};
use index::{KeyIndex, hash};
pub(super) use joined::Joined;
pub(super) use outdated::{Outdated, is_current};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Keys that are looked for side by side.
const MANY: usize = 16;

impl Reader {
    /// The latest record with a key; `None` where there is none, or it was deleted. It is valid until the next call.
    pub fn get_by_key(&mut self, key: &[u8]) -> Result<Option<&[u8]>, RecordError> {
        Ok(if self.find(key)?.is_some() { Some(self.hit.as_slice()) } else { None })
    }

    /// The id of the latest record with a key.
    pub fn find(&mut self, key: &[u8]) -> Result<Option<u64>, RecordError> {
        let view = Arc::clone(&self.view);
        if let Some(table) = view.joined_keys(1) {
            let Some(number) = table.find(hash(view.store().number, key)) else { return Ok(None) };
            let id = view.ids().start + number;
            let mut hit = std::mem::take(&mut self.hit);
            let entry = self.entry_of(id)?;
            let is_record = entry.state == State::Record;
            let is_it = entry.key == Some(key);
            if is_it && is_record {
                hit.clear();
                hit.extend_from_slice(entry.record);
            }
            self.hit = hit;
            if is_it {
                return Ok(is_record.then_some(id));
            }
            // Another key with this hash: its records may stand before those of the one that is wanted.
        }
        let mut latest = None;
        self.each_version(key, |id, entry, hit| {
            if entry.state == State::Record {
                latest = Some(id);
                hit.clear();
                hit.extend_from_slice(entry.record);
            }
            ControlFlow::Break(())
        })?;
        Ok(latest)
    }

    /// Ids of all records with a key that are still there, oldest first, also of those from before it was deleted.
    /// [`Writer::compact`](super::Writer::compact) reclaims what was updated or deleted.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// writer.put_keyed(b"ada", b"London", None)?;
    /// writer.put_keyed(b"ada", b"Turin", None)?;
    /// let mut reader = Arc::new(store.view("default", &ViewOptions::default())?).reader();
    /// assert_eq!(reader.versions(b"ada")?, [0, 1]);
    /// assert_eq!(reader.find(b"ada")?, Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn versions(&mut self, key: &[u8]) -> Result<Vec<u64>, RecordError> {
        let mut ids = Vec::new();
        self.each_version(key, |id, entry, _| {
            if entry.state == State::Record {
                ids.push(id);
            }
            ControlFlow::Continue(())
        })?;
        ids.reverse();
        Ok(ids)
    }

    /// Calls `visit` with the latest record of each key, or `None`, in their order. Indexes are fetched from memory ahead.
    pub fn get_many_by_key(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), RecordError> {
        let view = Arc::clone(&self.view);
        let store = view.store().number;
        for (number, chunk) in keys.chunks(MANY).enumerate() {
            let mut hashes = [0; MANY];
            for (target, key) in hashes.iter_mut().zip(chunk) {
                *target = hash(store, key);
            }
            self.prefetch_keys(&view, &hashes[..chunk.len()]);
            for (k, key) in chunk.iter().enumerate() {
                visit(number * MANY + k, self.get_by_key(key)?);
            }
        }
        Ok(())
    }

    /// Begins to load the indexes for all hashes, then the places of the first records they name, then those records.
    fn prefetch_keys(&self, view: &View, hashes: &[u32]) {
        let joined = view.joined_keys(0);
        for hash in hashes {
            match joined {
                Some(table) => table.prefetch(*hash),
                None => view.prefetch_indexes(*hash),
            }
        }
        let mut found = [None; MANY];
        for (found, hash) in found.iter_mut().zip(hashes) {
            *found = match joined {
                Some(table) => table.find(*hash).and_then(|number| view.place_of(number)),
                None => view.first_record(*hash),
            };
            if let Some((slot, record)) = *found {
                view.prefetch_place(slot, record);
            }
        }
        for (slot, record) in found.into_iter().flatten() {
            self.prefetch_record(slot, record);
        }
    }

    /// Calls `visit` with the entries of a key, the latest first, until it breaks. It may keep something in the buffer.
    fn each_version(
        &mut self,
        key: &[u8],
        mut visit: impl FnMut(u64, Entry<'_>, &mut Vec<u8>) -> ControlFlow<()>,
    ) -> Result<(), RecordError> {
        let view = Arc::clone(&self.view);
        let hash = hash(view.store().number, key);
        let mut hit = std::mem::take(&mut self.hit);
        let mut newer = None;
        let mut outcome = Ok(());
        'slots: for number in (0..view.slots.len()).rev() {
            let slot = &view.slots[number];
            let index = match view.whole_index(slot, newer) {
                Ok(index) => index,
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            };
            newer = Some(slot.ids.start);
            let Some(index) = index else { continue };
            for record in index.find(hash) {
                match self.entry(number, record) {
                    Ok(entry) if entry.key == Some(key) => {
                        let id = slot.ids.start + record as u64;
                        if visit(id, entry, &mut hit).is_break() {
                            break 'slots;
                        }
                    }
                    Ok(_) => {}
                    Err(error) => {
                        outcome = Err(error);
                        break 'slots;
                    }
                }
            }
        }
        self.hit = hit;
        outcome
    }
}

impl View {
    /// Whether records have keys.
    pub fn is_keyed(&self) -> bool {
        self.slots.iter().any(|slot| slot.segment.is_keyed())
    }

    /// Segment, and number in it, of a record counted from the first of the view.
    fn place_of(&self, number: u64) -> Option<(usize, usize)> {
        let id = self.ids().start + number;
        let slot = self.slot_of(id).ok()?;
        Some((slot, record_in(self.slots[slot].ids.start, id)))
    }

    /// The first record that may have a key with this hash, by the indexes of sealed segments.
    fn first_record(&self, hash: u32) -> Option<(usize, usize)> {
        self.slots.iter().enumerate().rev().find_map(|(slot, entry)| match &entry.segment {
            Segment::Sealed(sealed) => Some((slot, sealed.meta.keys.find(hash).next()?)),
            _ => None,
        })
    }

    fn prefetch_indexes(&self, hash: u32) {
        for slot in &self.slots {
            if let Segment::Sealed(sealed) = &slot.segment {
                sealed.meta.keys.prefetch(hash);
            }
        }
    }

    /// Begins to load what tells where a record is.
    fn prefetch_place(&self, slot: usize, record: usize) {
        if let Some(Slot { segment: Segment::Sealed(sealed), .. }) = self.slots.get(slot) {
            sealed.meta.prefetch(record / sealed.header.group);
        }
    }

    /// The index of a segment, if it has keys; the next one begins at `newer`. What cannot be read may hold any key.
    fn whole_index<'a>(
        &self,
        slot: &'a Slot,
        newer: Option<u64>,
    ) -> Result<Option<&'a KeyIndex>, RecordError> {
        if let Some(newer) = newer.filter(|newer| *newer != slot.ids.end) {
            let path = self.directory.clone();
            return Err(RecordError::Missing { path, first: slot.ids.end, end: newer });
        }
        match &slot.segment {
            Segment::Sealed(sealed) if sealed.header.keyed => Ok(Some(&sealed.meta.keys)),
            Segment::Sealed(_) => Ok(None),
            Segment::Open(open) => {
                if newer.is_none()
                    && let Some(damage) = open.tail_damage()
                {
                    return Err(damage);
                }
                open.keys()
            }
            Segment::Broken(kind, _) => Err(self.broken(slot, *kind)),
        }
    }
}

impl OpenSegment {
    /// The index of its keys, made when it is first asked for; `None` where it has none.
    pub(super) fn keys(&self) -> Result<Option<&KeyIndex>, RecordError> {
        if !self.header.keyed {
            return Ok(None);
        }
        if let Some(known) = self.key_index.get() {
            return Ok(Some(known));
        }
        let (base, end) = (self.header.base, self.end());
        let mut entries = Vec::new();
        let mut decoder = self.decoder()?;
        let flow = self.scan(base..end, &mut decoder, |scanned| {
            let entry = scanned.and_then(|scanned| {
                let entry = Entry::of(scanned.record, true);
                Ok((scanned.id, entry.map_err(|damage| damage.within(&self.path, 0))?))
            });
            match entry {
                Ok((id, Entry { key: Some(key), .. })) => {
                    #[expect(clippy::cast_possible_truncation, reason = "less than 2^26")]
                    entries.push((hash(self.header.store, key), (id - base) as u32));
                    ControlFlow::Continue(())
                }
                Ok(_) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        });
        if let ControlFlow::Break(error) = flow {
            return Err(error);
        }
        let records = usize::try_from(end - base).unwrap_or(usize::MAX);
        let mut stored = Vec::new();
        KeyIndex::write(&mut entries, records, &mut stored);
        let index = KeyIndex::read(&stored, records);
        let index = index.map_err(|damage| damage.within(&self.path, 0))?;
        Ok(Some(self.key_index.get_or_init(|| Box::new(index))))
    }
}

/// Checks that the indexes of a view name all keys that are there, and no others.
pub(super) fn check(view: &Arc<View>, found: &mut Vec<RecordError>) {
    let mut reader = view.reader();
    for (number, slot) in view.slots.iter().enumerate() {
        let Segment::Sealed(sealed) = &slot.segment else { continue };
        if !sealed.header.keyed {
            continue;
        }
        let mut entries = Vec::new();
        for record in 0..sealed.meta.keys.records() {
            // What cannot be read is told by others.
            if let Ok(Entry { key: Some(key), .. }) = reader.entry(number, record) {
                #[expect(clippy::cast_possible_truncation, reason = "less than 2^26")]
                entries.push((hash(sealed.header.store, key), record as u32));
            }
        }
        entries.sort_unstable();
        if !sealed.meta.keys.all().eq(entries) {
            found.push(sealed.bad_keys());
        }
    }
}
