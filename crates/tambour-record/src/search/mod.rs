//! Search: which records have some words. Sealed segments have an index of words beside them; without one, or where it is
//! damaged, records are read and looked at. Either way the records decide, so that an index is never wrong, only slow or fast.

mod index;
mod matcher;
mod query;
mod token;

use super::layout::{FileKind, RecordStore, file_name, replace_file, segment_files};
use super::reader::Reader;
use super::scan::Scanned;
use super::sealed::Sealed;
use super::view::{Segment, View, ViewOptions};
use super::writer::{Writer, hold};
use super::{Batch, RecordError};
use index::{Owner, build};
pub(super) use index::{WordIndex, read_any};
use matcher::Matcher;
pub use query::Query;
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::Storage;

/// The file that says that the segments of a category get indexes.
pub(super) const MARKER: &str = "words.index";
const MARKER_TEXT: &[u8] = b"tambour/records-words/1\n";
/// What an index is called, beside its segment.
const EXTENSION: &str = "words";

/// How a search went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// Records that matched and were visited.
    pub hits: u64,
    /// Records that were looked at.
    pub records: u64,
    /// Sealed segments without an index that can be used: all of their records were looked at.
    pub without_index: usize,
}

impl Reader {
    /// Calls `visit` with the records that match a query, in the order of their ids, until it breaks. Of records with keys only
    /// the latest of each key are there.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// writer.append_batch(&[&b"disk full"[..], b"all is well"].into_iter().collect())?;
    /// let mut reader = Arc::new(store.view("default", &ViewOptions::default())?).reader();
    /// let mut ids = Vec::new();
    /// let searched = reader.search(&Query::parse("disk")?, |hit| {
    ///     ids.push(hit.id);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!((searched.hits, ids), (1, vec![0]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn search(
        &mut self,
        query: &Query,
        mut visit: impl FnMut(Scanned<'_>) -> ControlFlow<()>,
    ) -> Result<Searched, RecordError> {
        let view = Arc::clone(&self.view);
        let matcher = Matcher::new(query);
        let mut searched = Searched::default();
        let mut end = view.ids().start;
        for slot in 0..view.slots.len() {
            // What is missing between segments is an error, as for any scan.
            let ids = view.slots[slot].ids.clone();
            let mut ranges = view.groups(slot, query).unwrap_or_else(|| {
                searched.without_index +=
                    usize::from(matches!(view.slots[slot].segment, Segment::Sealed(_)));
                vec![ids.clone()]
            });
            if ids.start > end {
                ranges.insert(0, end..ids.start);
            }
            // A broken segment at the end tells of itself beyond what is known of it.
            let is_last = slot + 1 == view.slots.len();
            if is_last && let Some(last) = ranges.last_mut().filter(|last| last.end == ids.end) {
                last.end = u64::MAX;
            }
            end = ids.end;
            for range in ranges {
                let mut stopped = false;
                self.scan(range, |scanned| {
                    searched.records += 1;
                    if !matcher.matches(scanned.record) {
                        return ControlFlow::Continue(());
                    }
                    searched.hits += 1;
                    let flow = visit(scanned);
                    stopped = flow.is_break();
                    flow
                })?;
                if stopped {
                    return Ok(searched);
                }
            }
        }
        Ok(searched)
    }
}

impl View {
    /// Ids among which all records are that match a query: those that indexes propose, and all where there is none.
    pub fn candidates(&self, query: &Query) -> Vec<Range<u64>> {
        let mut all: Vec<Range<u64>> = Vec::new();
        for (number, slot) in self.slots.iter().enumerate() {
            let ranges = self.groups(number, query).unwrap_or_else(|| vec![slot.ids.clone()]);
            for range in ranges {
                match all.last_mut() {
                    Some(last) if last.end == range.start => last.end = range.end,
                    _ => all.push(range),
                }
            }
        }
        all
    }

    /// Whether there is an index of a segment.
    pub fn has_index(&self) -> bool {
        (0..self.slots.len()).any(|slot| self.word_index(slot).is_some())
    }

    /// The ids of a segment that its index proposes, or `None` without one that can be used.
    fn groups(&self, slot: usize, query: &Query) -> Option<Vec<Range<u64>>> {
        let index = self.word_index(slot)?;
        let ids = self.slots[slot].ids.clone();
        // An index that turns out to be damaged is none; `verify` tells of it.
        let groups = index.candidates(query).ok()?;
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for group in groups.iter() {
            let records = index.records_of(group);
            let start = ids.start + records.start as u64;
            let end = ids.end.min(ids.start + records.end as u64);
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end = end,
                _ if start < end => ranges.push(start..end),
                _ => {}
            }
        }
        Some(ranges)
    }

    fn word_index(&self, slot: usize) -> Option<&WordIndex> {
        let Segment::Sealed(sealed) = &self.slots.get(slot)?.segment else { return None };
        let open = || open_index(&*self.store().storage, sealed).ok().flatten();
        sealed.words.get_or_init(open).as_ref()
    }
}

/// The file of the index of a segment.
pub(super) fn path_of(segment: &Path) -> PathBuf {
    segment.with_extension(EXTENSION)
}

/// The index of a segment; `None` where there is none.
fn open_index(storage: &dyn Storage, sealed: &Sealed) -> Result<Option<WordIndex>, RecordError> {
    let path = path_of(&sealed.path);
    if !storage.exists(&path).map_err(RecordError::file("look for", &path))? {
        return Ok(None);
    }
    WordIndex::open(storage, &path, owner(sealed)).map(Some)
}

fn owner(sealed: &Sealed) -> Owner {
    let header = &sealed.header;
    let bytes = header.write();
    let sum = bytes.last_chunk::<4>().map_or(0, |sum| u32::from_le_bytes(*sum));
    Owner { store: header.store, base: header.base, records: header.records, sum }
}

/// Whether the segments of a category get indexes.
pub(super) fn is_indexed(store: &RecordStore, directory: &Path) -> bool {
    store.storage.exists(&directory.join(MARKER)).unwrap_or(false)
}

/// Writes the index of a segment that is about to be written, if the category has indexes. `header` is that of its file.
pub(super) fn write(
    store: &RecordStore,
    directory: &Path,
    base: u64,
    records: &Batch,
    file: &[u8],
) -> Result<(), RecordError> {
    if !is_indexed(store, directory) {
        return Ok(());
    }
    let sum = file.last_chunk::<4>().map_or(0, |sum| u32::from_le_bytes(*sum));
    let owner = Owner { store: store.number, base, records: records.len() as u64, sum };
    put(store, directory, base, &build(owner, records)?)
}

fn put(store: &RecordStore, directory: &Path, base: u64, file: &[u8]) -> Result<(), RecordError> {
    let name = path_of(Path::new(&file_name(base, FileKind::Sealed)));
    replace_file(&*store.storage, directory, &name.to_string_lossy(), file)
}

impl Writer {
    /// Whether segments of the category get an index of words.
    pub fn has_words_index(&self) -> bool {
        is_indexed(self.store(), self.directory())
    }

    /// Gives sealed segments an index of the words of their records, now and when they are sealed later; those that have a good
    /// one keep it. The number of indexes that were made.
    pub fn index_words(&self) -> Result<usize, RecordError> {
        let _pass = hold(self.sealing());
        let (store, directory) = (self.store(), self.directory());
        if !is_indexed(store, directory) {
            replace_file(&*store.storage, directory, MARKER, MARKER_TEXT)?;
        }
        let category = directory.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
        let view = Arc::new(store.view(category, &ViewOptions { memory_bytes: 0 })?);
        let mut reader = view.reader();
        let mut made = 0;
        for slot in &view.slots {
            let Segment::Sealed(sealed) = &slot.segment else { continue };
            let good = open_index(&*store.storage, sealed)
                .and_then(|index| index.map(|index| index.check()).transpose());
            if matches!(good, Ok(Some(()))) {
                continue;
            }
            let mut records = Batch::default();
            if sealed.header.keyed {
                records.give_keys();
            }
            reader.scan_all(slot.ids.clone(), |scanned| {
                records.push_mixed_entry(scanned.entry(), None);
                ControlFlow::Continue(())
            })?;
            let file = build(owner(sealed), &records)?;
            let _held = hold(self.maintenance());
            put(store, directory, slot.ids.start, &file)?;
            made += 1;
        }
        Ok(made)
    }
}

/// Whether a category whose segments get indexes has them, and they are whole; orders what is wrong by segment.
pub(super) fn check(store: &RecordStore, view: &View, found: &mut Vec<RecordError>) {
    if !is_indexed(store, &view.directory) {
        return;
    }
    for slot in &view.slots {
        let Segment::Sealed(sealed) = &slot.segment else { continue };
        match open_index(&*store.storage, sealed) {
            Ok(Some(index)) => found.extend(index.check().err()),
            Ok(None) => found.push(RecordError::NoIndex { path: path_of(&sealed.path) }),
            Err(error) => found.push(error),
        }
    }
}

/// Removes indexes of segments that are gone; whether there were some.
pub(super) fn tidy(storage: &dyn Storage, directory: &Path) -> Result<bool, RecordError> {
    let entries = storage.list(directory).map_err(RecordError::file("list", directory))?;
    let files = segment_files(storage, directory)?;
    let mut removed = false;
    for entry in entries.iter().filter(|entry| entry.is_file) {
        let Some((base, EXTENSION)) = entry.name.split_once('.') else { continue };
        let Ok(number) = base.parse::<u64>() else { continue };
        let is_there = files.iter().any(|file| (file.0, file.1) == (number, FileKind::Sealed));
        if base.len() == 20 && !is_there {
            super::seal::remove(storage, &directory.join(&entry.name))?;
            removed = true;
        }
    }
    Ok(removed)
}
