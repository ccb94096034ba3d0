//! Reading by id, one or many at once.

use super::RecordError;
use super::codec::Decoder;
use super::entry::{Entry, State};
use super::open::HeadCache;
use super::sealed::Sealed;
use super::view::{Segment, View};
use std::ops::Range;
use std::sync::Arc;

/// How far ahead [`Reader::get_many`] begins to load entries of the index, and groups.
const AHEAD_INDEX: usize = 24;
const AHEAD_GROUP: usize = 8;
/// Places for those that are under way: a power of two above [`AHEAD_INDEX`].
const RING: usize = 32;
/// Bytes of a cache line.
const LINE_BYTES: usize = 64;
/// Lines of a group that are always loaded ahead, because most have this many; and at most. The CPU itself goes on after
/// them.
const LINES: usize = 2;
const LINES_MAX: usize = 4;

/// Reads records of a view, for one thread: holds the decoders, with their copies of the dictionaries.
#[derive(Debug)]
pub struct Reader {
    pub(super) view: Arc<View>,
    /// One per dictionary.
    decoders: Vec<Decoder>,
    /// Which decoder a segment needs; `NONE` before its first use.
    decoder_of: Vec<usize>,
    heads: HeadCache,
    /// A group that was read from the file.
    spare: Vec<u8>,
    /// The record of a key that was found last.
    pub(super) hit: Vec<u8>,
}

const NONE: usize = usize::MAX;

/// Where a record is: slot, number in the segment, its group's bytes.
#[derive(Clone, Debug, Default)]
struct Found {
    slot: usize,
    record: usize,
    place: Range<usize>,
}

impl Reader {
    pub(super) fn new(view: Arc<View>) -> Self {
        let decoder_of = vec![NONE; view.slots.len()];
        let (decoders, heads) = (Vec::new(), HeadCache::default());
        Self { view, decoders, decoder_of, heads, spare: Vec::new(), hit: Vec::new() }
    }

    /// What is read.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Takes in what was appended, sealed or dropped since the view was opened.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// writer.append(b"first", None)?;
    /// let mut reader = Arc::new(store.view("default", &ViewOptions::default())?).reader();
    /// let second = writer.append(b"second", None)?;
    /// assert!(reader.get(second).is_err());
    /// reader.refresh()?;
    /// assert_eq!(reader.get(second)?, b"second");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn refresh(&mut self) -> Result<(), RecordError> {
        *self = Self::new(Arc::new(self.view.refresh()?));
        self.heads.clear();
        Ok(())
    }

    /// The record with this id. It is valid until the next call.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// let id = writer.append(b"small", None)?;
    /// let mut reader = Arc::new(store.view("default", &ViewOptions::default())?).reader();
    /// assert_eq!(reader.get(id)?, b"small");
    /// assert!(reader.get(id + 1).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn get(&mut self, id: u64) -> Result<&[u8], RecordError> {
        let slot = self.view.slot_of(id)?;
        let record = record_in(self.view.slots[slot].ids.start, id);
        let mut found = Found { slot, record, place: 0..0 };
        self.place(&mut found)?;
        self.read(&found, id)
    }

    /// Appends the record with this id to `target`; returns its length.
    pub fn get_into(&mut self, id: u64, target: &mut Vec<u8>) -> Result<usize, RecordError> {
        let record = self.get(id)?;
        target.extend_from_slice(record);
        Ok(record.len())
    }

    /// The time of a record, if it has one.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// let id = writer.append(b"noon", Some(1_700_000_000))?;
    /// let mut reader = Arc::new(store.view("default", &ViewOptions::default())?).reader();
    /// assert_eq!(reader.time(id)?, Some(1_700_000_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn time(&mut self, id: u64) -> Result<Option<i64>, RecordError> {
        let slot = self.view.slot_of(id)?;
        let slot = &self.view.slots[slot];
        match &slot.segment {
            Segment::Sealed(sealed) if !sealed.header.timed => Ok(None),
            Segment::Sealed(sealed) => Ok(sealed
                .meta
                .time(record_in(slot.ids.start, id))
                .filter(|time| *time != super::seal::NO_TIME)),
            Segment::Open(open) => open.time(id, &mut self.heads),
            Segment::Broken(kind, _) => Err(self.view.broken(slot, *kind)),
        }
    }

    /// Calls `visit` with every record of `ids`, in their order, and its place in `ids`. Later ones are fetched from memory
    /// while earlier ones are decoded: several times faster than one by one where they are not in the caches.
    pub fn get_many(
        &mut self,
        ids: &[u64],
        mut visit: impl FnMut(usize, &[u8]),
    ) -> Result<(), RecordError> {
        let mut ring: [Found; RING] = Default::default();
        for k in 0..ids.len() + AHEAD_INDEX {
            if let Some(id) = ids.get(k) {
                ring[k % RING] = self.begin(*id)?;
            }
            if let Some(next) = k.checked_sub(AHEAD_INDEX - AHEAD_GROUP)
                && next < ids.len()
            {
                let found = &mut ring[next % RING];
                self.place(found)?;
                self.prefetch_group(found);
            }
            if let Some(next) = k.checked_sub(AHEAD_INDEX) {
                visit(next, self.read(&ring[next % RING], ids[next])?);
            }
        }
        Ok(())
    }

    /// Which slot has a record; begins to load its entry of the index.
    #[inline]
    fn begin(&self, id: u64) -> Result<Found, RecordError> {
        let slot = self.view.slot_of(id)?;
        let entry = &self.view.slots[slot];
        let record = record_in(entry.ids.start, id);
        if let Segment::Sealed(sealed) = &entry.segment {
            sealed.meta.prefetch(record / sealed.header.group);
        }
        Ok(Found { slot, record, place: 0..0 })
    }

    /// Looks up where the group of a record is.
    #[inline]
    fn place(&self, found: &mut Found) -> Result<(), RecordError> {
        if let Some(slot) = self.view.slots.get(found.slot)
            && let Segment::Sealed(sealed) = &slot.segment
        {
            found.place = sealed.group(found.record / sealed.header.group)?;
        }
        Ok(())
    }

    #[inline]
    fn prefetch_group(&self, found: &Found) {
        if let Some(slot) = self.view.slots.get(found.slot)
            && let Segment::Sealed(sealed) = &slot.segment
            && let Some(data) = sealed.resident()
        {
            let Range { start, end } = found.place;
            // Without a branch on how many there are: that is different for each.
            for line in 0..LINES {
                tambour_kernel::prefetch(data, start + line * LINE_BYTES);
            }
            if end - start > LINES * LINE_BYTES {
                let lines = found.place.clone().step_by(LINE_BYTES).take(LINES_MAX).skip(LINES);
                for line in lines {
                    tambour_kernel::prefetch(data, line);
                }
            }
            tambour_kernel::prefetch(data, end.saturating_sub(1));
        }
    }

    /// Decodes a record that was found.
    #[inline]
    fn read(&mut self, found: &Found, id: u64) -> Result<&[u8], RecordError> {
        let entry = self.read_entry(found, id)?;
        if entry.state == State::Record {
            Ok(entry.record)
        } else {
            Err(RecordError::Deleted { id })
        }
    }

    /// An entry, whatever it is.
    pub(super) fn entry_of(&mut self, id: u64) -> Result<Entry<'_>, RecordError> {
        let slot = self.view.slot_of(id)?;
        self.entry_in(slot, record_in(self.view.slots[slot].ids.start, id), id)
    }

    /// An entry of a segment, whatever it is.
    pub(super) fn entry(&mut self, slot: usize, record: usize) -> Result<Entry<'_>, RecordError> {
        let id = self.view.slots.get(slot).map_or(0, |slot| slot.ids.start) + record as u64;
        if self.view.slot_of(id)? != slot {
            return Err(RecordError::Gone { path: self.view.directory.clone() });
        }
        self.entry_in(slot, record, id)
    }

    #[inline]
    fn entry_in(&mut self, slot: usize, record: usize, id: u64) -> Result<Entry<'_>, RecordError> {
        let mut found = Found { slot, record, place: 0..0 };
        self.place(&mut found)?;
        self.read_entry(&found, id)
    }

    /// Begins to load a record of a sealed segment.
    pub(super) fn prefetch_record(&self, slot: usize, record: usize) {
        let mut found = Found { slot, record, place: 0..0 };
        if self.place(&mut found).is_ok() {
            self.prefetch_group(&found);
        }
    }

    #[inline]
    fn read_entry(&mut self, found: &Found, id: u64) -> Result<Entry<'_>, RecordError> {
        let decoder = self.decoder(found.slot)?;
        let Some(slot) = self.view.slots.get(found.slot) else {
            return Err(RecordError::Gone { path: self.view.directory.clone() });
        };
        match &slot.segment {
            Segment::Sealed(sealed) => {
                let (decoder, spare) = (&mut self.decoders[decoder], &mut self.spare);
                sealed.entry(sealed.get(found.record, found.place.clone(), decoder, spare)?)
            }
            Segment::Open(open) => {
                open.entry(open.get(id, &mut self.heads, &mut self.decoders[decoder])?)
            }
            Segment::Broken(kind, _) => Err(self.view.broken(slot, *kind)),
        }
    }

    /// The decoder that a slot needs.
    #[inline]
    fn decoder(&mut self, slot: usize) -> Result<usize, RecordError> {
        match self.decoder_of.get(slot) {
            Some(decoder) if *decoder != NONE => Ok(*decoder),
            _ => self.make_decoder(slot),
        }
    }

    /// The decoder of a slot.
    pub(super) fn decoder_mut(&mut self, slot: usize) -> Result<&mut Decoder, RecordError> {
        let decoder = self.decoder(slot)?;
        Ok(&mut self.decoders[decoder])
    }

    #[cold]
    fn make_decoder(&mut self, slot: usize) -> Result<usize, RecordError> {
        let Some(entry) = self.view.slots.get(slot) else {
            return Err(RecordError::Gone { path: self.view.directory.clone() });
        };
        let made = match &entry.segment {
            Segment::Sealed(sealed) => {
                let room = sealed.header.group_bytes_max as usize;
                if let Some(known) = self.shared_decoder(sealed) {
                    self.decoders[known].reserve(room);
                    self.decoder_of[slot] = known;
                    return Ok(known);
                }
                sealed.decoder()?
            }
            Segment::Open(open) => open.decoder()?,
            Segment::Broken(kind, _) => return Err(self.view.broken(entry, *kind)),
        };
        self.decoders.push(made);
        self.decoder_of[slot] = self.decoders.len() - 1;
        Ok(self.decoders.len() - 1)
    }

    /// The decoder of another sealed segment with the same dictionary.
    fn shared_decoder(&self, sealed: &Sealed) -> Option<usize> {
        let mut known = self.view.slots.iter().zip(&self.decoder_of);
        known.find_map(|(slot, decoder)| match &slot.segment {
            Segment::Sealed(other) if *decoder != NONE && sealed.shares_decoder(other) => {
                Some(*decoder)
            }
            _ => None,
        })
    }

    /// Decodes a whole group of a sealed segment.
    pub(super) fn group(&mut self, slot: usize, group: usize) -> Result<&[u8], RecordError> {
        let decoder = self.decoder(slot)?;
        let Some(Segment::Sealed(sealed)) = self.view.slots.get(slot).map(|slot| &slot.segment)
        else {
            return Err(RecordError::Gone { path: self.view.directory.clone() });
        };
        let place = sealed.group(group)?;
        sealed.decode(group, place, usize::MAX, &mut self.decoders[decoder], &mut self.spare)
    }
}

/// Number of a record in its segment.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "segments have at most 2^26 records")]
pub(super) fn record_in(base: u64, id: u64) -> usize {
    (id - base) as usize
}
