//! Reading in order: a range of ids, or of times.

use super::RecordError;
use super::entry::{Entry, State};
use super::keys::is_current;
use super::reader::{Reader, record_in};
use super::seal::NO_TIME;
use super::view::Segment;
use std::ops::{ControlFlow, Range};

/// A record of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scanned<'a> {
    /// Its id.
    pub id: u64,
    /// Its time, if it has one.
    pub time: Option<i64>,
    /// Itself.
    pub record: &'a [u8],
    /// Its key, if it has one.
    pub key: Option<&'a [u8]>,
    /// What it is: anything but a record only where all are asked for.
    pub state: State,
}

impl<'a> Scanned<'a> {
    /// The same as an entry.
    pub(super) fn entry(self) -> Entry<'a> {
        Entry { state: self.state, key: self.key, record: self.record }
    }
}

impl Reader {
    /// Calls `visit` with the records of a range of ids, in their order, until it breaks. Ids outside of the view are passed
    /// over; ids inside of it that cannot be read are an error. Of records with keys only the latest of each key are there.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// writer.append_batch(&[&b"one"[..], b"two", b"three"].into_iter().collect())?;
    /// let mut reader = Arc::new(store.view("default", &ViewOptions::default())?).reader();
    /// let mut found = Vec::new();
    /// reader.scan(1..3, |scanned| {
    ///     found.push(scanned.record.to_vec());
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(found, [&b"two"[..], b"three"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(
        &mut self,
        ids: Range<u64>,
        mut visit: impl FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), RecordError> {
        let Some(outdated) = self.outdated()? else { return self.scan_all(ids, visit) };
        let view = std::sync::Arc::clone(&self.view);
        self.scan_all(ids, |scanned| {
            let current = view.slot_of(scanned.id).is_ok_and(|slot| {
                let record = record_in(view.slots[slot].ids.start, scanned.id);
                is_current(&outdated, slot, record, scanned.state)
            });
            if current { visit(scanned) } else { ControlFlow::Continue(()) }
        })
    }

    /// The same with everything that was appended: also records that were updated or deleted later, and deletions.
    pub fn scan_all(
        &mut self,
        ids: Range<u64>,
        mut visit: impl FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), RecordError> {
        let stopped = self.scan_each(ids, |scanned| match scanned {
            Ok(scanned) => visit(scanned).map_break(Ok),
            Err(error) => ControlFlow::Break(Err(error)),
        });
        stopped.unwrap_or(Ok(()))
    }

    /// The same for records of a range of times; those without a time are left out. Segments that have no such time are not
    /// read.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// writer.append(b"at 100", Some(100))?;
    /// writer.append(b"at 200", Some(200))?;
    /// let mut reader = Arc::new(store.view("default", &ViewOptions::default())?).reader();
    /// let mut times = Vec::new();
    /// reader.scan_time(150..300, |scanned| {
    ///     times.extend(scanned.time);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(times, [200]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan_time(
        &mut self,
        times: Range<i64>,
        mut visit: impl FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<(), RecordError> {
        let within = |time: Option<i64>| time.is_some_and(|time| times.contains(&time));
        for slot in 0..self.view.slots.len() {
            let entry = &self.view.slots[slot];
            let ids = entry.ids.clone();
            match &entry.segment {
                Segment::Sealed(sealed) => {
                    let (first, last) = sealed.header.times;
                    if !sealed.header.timed || last < times.start || first >= times.end {
                        continue;
                    }
                }
                Segment::Open(_) => {}
                Segment::Broken(kind, _) => return Err(self.view.broken(entry, *kind)),
            }
            // Runs of wanted records are scanned; others are not decoded.
            let mut id = ids.start;
            while id < ids.end {
                if !within(self.time(id)?) {
                    id += 1;
                    continue;
                }
                let start = id;
                while id < ids.end && within(self.time(id)?) {
                    id += 1;
                }
                let mut stopped = false;
                self.scan(start..id, |scanned| {
                    let flow = visit(scanned);
                    stopped = flow.is_break();
                    flow
                })?;
                if stopped {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Calls `visit` with every record of a range, or the error in its place, until it breaks.
    pub(super) fn scan_each<B>(
        &mut self,
        ids: Range<u64>,
        mut visit: impl FnMut(Result<Scanned<'_>, RecordError>) -> ControlFlow<B>,
    ) -> Option<B> {
        let mut expected = ids.start.max(self.view.ids().start);
        for slot in 0..self.view.slots.len() {
            let entry = &self.view.slots[slot];
            let wanted = ids.start.max(entry.ids.start)..ids.end.min(entry.ids.end);
            let is_broken = matches!(entry.segment, Segment::Broken(..));
            // What was lost there got no ids again as long as nothing follows.
            let is_last = slot + 1 == self.view.slots.len();
            let behind = match &entry.segment {
                Segment::Open(open) if is_last && ids.end > entry.ids.end => open.tail_damage(),
                _ => None,
            };
            if wanted.is_empty()
                && !(is_broken && entry.ids.is_empty() && ids.end > entry.ids.start)
            {
                if let Some(ControlFlow::Break(value)) = behind.map(|damage| visit(Err(damage))) {
                    return Some(value);
                }
                continue;
            }
            if expected < wanted.start {
                let path = self.view.directory.clone();
                let missing = RecordError::Missing { path, first: expected, end: wanted.start };
                if let ControlFlow::Break(value) = visit(Err(missing)) {
                    return Some(value);
                }
            }
            expected = wanted.end.max(wanted.start);
            let flow = match &entry.segment {
                Segment::Sealed(_) => self.scan_sealed(slot, wanted, &mut visit),
                Segment::Open(_) => self.scan_open(slot, wanted, &mut visit),
                Segment::Broken(kind, _) => visit(Err(self.view.broken(entry, *kind))),
            };
            let flow = match (flow, behind) {
                (ControlFlow::Continue(()), Some(damage)) => visit(Err(damage)),
                (flow, _) => flow,
            };
            if let ControlFlow::Break(value) = flow {
                return Some(value);
            }
        }
        None
    }

    fn scan_open<B>(
        &mut self,
        slot: usize,
        ids: Range<u64>,
        visit: &mut impl FnMut(Result<Scanned<'_>, RecordError>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let view = std::sync::Arc::clone(&self.view);
        match (&view.slots[slot].segment, self.decoder_mut(slot)) {
            (Segment::Open(open), Ok(decoder)) => open.scan(ids, decoder, |scanned| {
                visit(scanned.and_then(|scanned| {
                    let Entry { state, key, record } = open.entry(scanned.record)?;
                    Ok(Scanned { record, key, state, ..scanned })
                }))
            }),
            (_, Ok(_)) => ControlFlow::Continue(()),
            (_, Err(error)) => visit(Err(error)),
        }
    }

    /// Group by group, each decoded once.
    fn scan_sealed<B>(
        &mut self,
        slot: usize,
        ids: Range<u64>,
        visit: &mut impl FnMut(Result<Scanned<'_>, RecordError>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let view = std::sync::Arc::clone(&self.view);
        let Segment::Sealed(sealed) = &view.slots[slot].segment else {
            return ControlFlow::Continue(());
        };
        let (base, size) = (view.slots[slot].ids.start, sealed.header.group);
        let mut lengths = Vec::with_capacity(size);
        let mut record = record_in(base, ids.start);
        let end = record_in(base, ids.end);
        while record < end {
            let group = record / size;
            let behind = end.min((group + 1) * size);
            sealed.meta.group_lengths(group, &mut lengths);
            match self.group(slot, group) {
                Ok(bytes) => {
                    let mut at: usize = lengths.iter().take(record % size).sum();
                    for number in record..behind {
                        let length = if size == 1 {
                            Some(bytes.len())
                        } else {
                            lengths.get(number % size).copied()
                        };
                        let piece =
                            length.and_then(|length| bytes.get(at..at.checked_add(length)?));
                        at = at.saturating_add(length.unwrap_or(0));
                        let time = sealed.meta.time(number).filter(|time| *time != NO_TIME);
                        let id = base + number as u64;
                        let Some(record) = piece else {
                            visit(Err(sealed.bad_lengths(group)))?;
                            break;
                        };
                        visit(sealed.entry(record).map(|entry| {
                            let Entry { state, key, record } = entry;
                            Scanned { id, time, record, key, state }
                        }))?;
                    }
                }
                Err(error) => visit(Err(error))?,
            }
            record = behind;
        }
        ControlFlow::Continue(())
    }
}
