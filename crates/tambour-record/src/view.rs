//! What readers see of a category: its segments at one moment.

use super::RecordError;
use super::dictionary::Dictionary;
use super::keys::{Joined, Outdated};
use super::layout::{DEFAULT, FileKind, RecordStore, file_name, segment_files, settled_files};
use super::memory::Budget;
use super::next;
use super::open::OpenSegment;
use super::reader::Reader;
use super::sealed::Sealed;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// How a view reads.
#[derive(Clone, Debug)]
pub struct ViewOptions {
    /// Bytes of sealed segments that may be held in memory, each from its first read on. With 0 every read goes to the
    /// file, which is right for a few.
    pub memory_bytes: u64,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self { memory_bytes: 1 << 30 }
    }
}

/// A segment of a view.
#[derive(Debug)]
pub(super) enum Segment {
    Sealed(Arc<Sealed>),
    Open(OpenSegment),
    /// Cannot be opened, for this reason; its records are unreadable, all others are not.
    Broken(FileKind, RecordError),
}

impl Segment {
    /// Whether records have keys in front.
    pub(super) fn is_keyed(&self) -> bool {
        match self {
            Self::Sealed(sealed) => sealed.header.keyed,
            Self::Open(open) => open.header.keyed,
            Self::Broken(..) => false,
        }
    }

    fn dictionary(&self) -> Option<&Dictionary> {
        match self {
            Self::Sealed(sealed) => Some(&sealed.meta.dictionary),
            Self::Open(open) => Some(&open.dictionary),
            Self::Broken(..) => None,
        }
    }
}

/// A segment and its ids.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) ids: Range<u64>,
    pub(super) segment: Segment,
}

/// A file of a segment: its first id, what it is, its length.
type Listed = (u64, FileKind, u64);

/// The segments of a category at one moment.
#[derive(Debug)]
pub struct View {
    store: RecordStore,
    category: String,
    pub(super) directory: PathBuf,
    pub(super) slots: Vec<Slot>,
    budget: Budget,
    /// The files as they were listed.
    listed: Vec<Listed>,
    /// Which records were updated or deleted later, once somebody has asked.
    pub(super) outdated: OnceLock<Arc<Outdated>>,
    /// One index of the keys of all segments, once many were asked for.
    pub(super) joined: Joined,
}

/// So often files may vanish between listing and opening, because they are sealed or dropped.
const ATTEMPTS: usize = 8;

impl View {
    pub(super) fn open(
        store: &RecordStore,
        category: &str,
        options: &ViewOptions,
    ) -> Result<Self, RecordError> {
        Self::build(store, category, Budget::new(options.memory_bytes), &[])
    }

    /// The category as it is now; what has not changed is taken over.
    pub fn refresh(&self) -> Result<Self, RecordError> {
        match Self::build(&self.store, &self.category, self.budget.clone(), &self.slots) {
            // It was not there before, either.
            Err(RecordError::NoCategory { .. }) if self.slots.is_empty() => Ok(Self::empty(
                &self.store,
                &self.category,
                self.directory.clone(),
                self.budget.clone(),
            )),
            built => built,
        }
    }

    fn build(
        store: &RecordStore,
        category: &str,
        budget: Budget,
        known: &[Slot],
    ) -> Result<Self, RecordError> {
        let directory = store.directory(category)?;
        if !store.storage.exists(&directory).map_err(RecordError::file("look for", &directory))? {
            // A store that was just made has nothing, which is not an error.
            if category == DEFAULT && store.categories()?.is_empty() {
                return Ok(Self::empty(store, category, directory, budget));
            }
            return Err(RecordError::NoCategory { name: category.to_owned() });
        }
        let mut attempt = 0;
        let (slots, listed) = loop {
            attempt += 1;
            match read_slots(store, &directory, &budget, known) {
                Err(RecordError::Gone { .. }) if attempt < ATTEMPTS => {}
                slots => break slots?,
            }
        };
        let (store, category) = (store.clone(), category.to_owned());
        let (outdated, joined) = (OnceLock::new(), Joined::default());
        Ok(Self { store, category, directory, slots, budget, listed, outdated, joined })
    }

    /// A category that nobody has written to.
    fn empty(store: &RecordStore, category: &str, directory: PathBuf, budget: Budget) -> Self {
        let (store, category) = (store.clone(), category.to_owned());
        let (outdated, joined) = (OnceLock::new(), Joined::default());
        let (slots, listed) = (Vec::new(), Vec::new());
        Self { store, category, directory, slots, budget, listed, outdated, joined }
    }

    /// Whether anything was appended, sealed or dropped since this view was opened: whether [`View::refresh`] would show it.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// writer.append(b"first", None)?;
    /// let view = store.view("default", &ViewOptions::default())?;
    /// assert!(!view.has_changed()?);
    /// writer.append(b"second", None)?;
    /// assert!(view.has_changed()?);
    /// assert_eq!(view.refresh()?.ids(), 0..2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn has_changed(&self) -> Result<bool, RecordError> {
        match segment_files(&*self.store.storage, &self.directory) {
            Err(RecordError::File { cause, .. })
                if self.listed.is_empty() && cause.kind() == std::io::ErrorKind::NotFound =>
            {
                Ok(false)
            }
            files => Ok(files? != self.listed),
        }
    }

    /// The dictionary of the segment that holds a record; an empty one where it has none.
    pub fn dictionary_of(&self, id: u64) -> Result<Dictionary, RecordError> {
        let slot = &self.slots[self.slot_of(id)?];
        match &slot.segment {
            Segment::Broken(kind, _) => Err(self.broken(slot, *kind)),
            whole => Ok(whole.dictionary().cloned().unwrap_or_default()),
        }
    }

    /// The dictionary that the next segment begins with, or the latest one of a segment. Empty where there is none.
    pub fn latest_dictionary(&self) -> Dictionary {
        let next = next::known(&self.store, &self.directory);
        if !next.is_empty() {
            return next;
        }
        let mut known = self.slots.iter().rev().filter_map(|slot| slot.segment.dictionary());
        known.find(|known| !known.is_empty()).cloned().unwrap_or_default()
    }

    /// Ids of the records of this view.
    pub fn ids(&self) -> Range<u64> {
        let first = self.slots.first().map_or(0, |slot| slot.ids.start);
        first..self.slots.last().map_or(first, |slot| slot.ids.end)
    }

    /// Number of segments.
    pub fn segments(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The store that this is a category of.
    pub fn store(&self) -> &RecordStore {
        &self.store
    }

    /// A reader, for one thread.
    pub fn reader(self: &Arc<Self>) -> Reader {
        Reader::new(Arc::clone(self))
    }

    /// Number of the slot that holds an id.
    #[inline]
    pub(super) fn slot_of(&self, id: u64) -> Result<usize, RecordError> {
        let at = self.slots.partition_point(|slot| slot.ids.start <= id).wrapping_sub(1);
        match self.slots.get(at) {
            Some(slot) if id < slot.ids.end => Ok(at),
            _ => Err(self.no_record(id)),
        }
    }

    #[cold]
    fn no_record(&self, id: u64) -> RecordError {
        let Range { start: first, end } = self.ids();
        if !(first..end).contains(&id) {
            // How far a broken segment goes is not known when nothing follows it.
            if let Some(last) = self.slots.last().filter(|last| last.ids.start <= id) {
                match &last.segment {
                    Segment::Broken(kind, _) => return self.broken(last, *kind),
                    Segment::Open(open) => {
                        if let Some(damage) = open.tail_damage() {
                            return damage;
                        }
                    }
                    Segment::Sealed(_) => {}
                }
            }
            return RecordError::NotFound { id, first, end };
        }
        let at = self.slots.partition_point(|slot| slot.ids.start <= id);
        let first =
            at.checked_sub(1).and_then(|at| self.slots.get(at)).map_or(first, |s| s.ids.end);
        let end = self.slots.get(at).map_or(end, |slot| slot.ids.start);
        RecordError::Missing { path: self.directory.clone(), first, end }
    }

    /// The error of a segment that cannot be opened, made again.
    #[cold]
    pub(super) fn broken(&self, slot: &Slot, kind: FileKind) -> RecordError {
        let path = self.directory.join(file_name(slot.ids.start, kind));
        let storage = &*self.store.storage;
        let number = Some(self.store.number);
        if let Segment::Broken(_, error @ RecordError::Corrupt { .. }) = &slot.segment {
            return error.again();
        }
        let again = match kind {
            FileKind::Sealed => Sealed::open(storage, &path, number, self.budget.clone()).err(),
            FileKind::Open => OpenSegment::read(storage, &path, number, None).err(),
        };
        again.unwrap_or(RecordError::Gone { path })
    }
}

/// Opens the segments of a directory.
fn read_slots(
    store: &RecordStore,
    directory: &std::path::Path,
    budget: &Budget,
    known: &[Slot],
) -> Result<(Vec<Slot>, Vec<Listed>), RecordError> {
    let storage = &*store.storage;
    let files = settled_files(storage, directory)?;
    let mut slots: Vec<Slot> = Vec::with_capacity(files.len());
    for (number, (base, kind, length)) in files.iter().copied().enumerate() {
        let covered = slots.last().is_some_and(|slot| {
            // A sealed segment replaces every open one that starts within it.
            base < slot.ids.end || base == slot.ids.start
        });
        if covered && kind == FileKind::Open {
            continue;
        }
        let path = directory.join(file_name(base, kind));
        let next = files[number + 1..].iter().map(|file| file.0).find(|next| *next > base);
        let segment = match kind {
            FileKind::Sealed => {
                let same = |slot: &&Slot| match &slot.segment {
                    Segment::Sealed(sealed) => sealed.path == path && sealed.file_bytes() == length,
                    _ => false,
                };
                if let Some(Slot { segment: Segment::Sealed(sealed), .. }) = known.iter().find(same)
                {
                    Ok(Segment::Sealed(Arc::clone(sealed)))
                } else {
                    Sealed::open(storage, &path, Some(store.number), budget.clone())
                        .map(|sealed| Segment::Sealed(Arc::new(sealed)))
                }
            }
            FileKind::Open => {
                OpenSegment::read(storage, &path, Some(store.number), next).map(Segment::Open)
            }
        };
        let (segment, end) = match segment {
            Ok(Segment::Sealed(sealed)) if sealed.header.base == base => {
                let end = sealed.header.end();
                (Segment::Sealed(sealed), end)
            }
            Ok(Segment::Open(open)) if open.header.base == base => {
                let end = open.end();
                (Segment::Open(open), end)
            }
            Err(gone @ RecordError::Gone { .. }) => return Err(gone),
            Err(error) => (Segment::Broken(kind, error), next.unwrap_or(base)),
            Ok(_) => {
                let error = RecordError::Corrupt {
                    path,
                    offset: 0,
                    what: "first id of a segment",
                    expected: base.to_string(),
                    got: "another one".to_owned(),
                };
                (Segment::Broken(kind, error), next.unwrap_or(base))
            }
        };
        slots.push(Slot { ids: base..end, segment });
    }
    Ok((slots, files))
}
