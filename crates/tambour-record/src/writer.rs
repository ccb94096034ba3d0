//! Appending: one writer, any number of threads, one commit for all that wait.

use super::background::Ended;
use super::batch::Batch;
use super::codec::{self, Codec, Encoder};
use super::copies;
use super::dictionary::{self, Dictionary};
use super::layout::{
    FileKind, NEXT_DICTIONARY, RecordStore, category_of, file_name, from_store, replace_file,
    segment_files, sync_parent,
};
use super::next;
use super::open::frame::{self, FRAME_BYTES_MAX, FRAME_RECORDS_MAX};
use super::open::{OpenHeader, OpenSegment, start};
use super::pending::{Epoch, Pending};
use super::retention::{self, Dropped, Retention};
use super::salvage::CutOff;
use super::seal::{self, SealOptions, SealReport};
use super::sealed::build::seed;
use super::trial::Samples;
use super::{RECORD_BYTES_MAX, RecordError, SEGMENT_BYTES_MAX, weight};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tambour_storage::commit::aside;
use tambour_storage::{Lock, WriteFile};

/// Open files up to this length are gone on with; after longer ones a new segment begins.
const ADOPT_BYTES_MAX: usize = 4 << 20;
/// Effort of the encoder of open segments: they are read little, and soon replaced.
pub(super) const OPEN_LEVEL: i32 = 1;

/// The writer of a category. Threads share it; a commit takes all that waits.
#[derive(Debug)]
pub struct Writer {
    store: RecordStore,
    directory: PathBuf,
    /// Records that wait; held for moments only.
    pending: Mutex<Pending>,
    /// The open segment; held during a commit.
    commit: Mutex<Commit>,
    ended: Ended,
    /// Held during a pass of sealing, and by whoever may not come in between; taken before `maintenance`.
    sealing: Mutex<()>,
    /// Held while files other than the open segment are changed.
    maintenance: Mutex<()>,
    /// What was wrong with the last segment when the writer took over.
    found: Mutex<Vec<RecordError>>,
    /// What was cut off there although there was more to read.
    cut: Mutex<Option<CutOff>>,
    #[expect(dead_code, reason = "held for its drop")]
    lock: Mutex<Box<dyn Lock>>,
}

/// The open segment on its way.
#[derive(Debug)]
struct Commit {
    /// `None` before the first commit to a new one, and after an error.
    open: Option<Open>,
    /// The id after the last durable record.
    end: u64,
    /// Room for frames.
    frames: Vec<u8>,
    /// Whether the last segment has keys: the next one has them, too.
    keyed: bool,
}

struct Open {
    file: Box<dyn WriteFile>,
    header: OpenHeader,
    encoder: Encoder,
    size: Size,
}

/// How much is in an open segment.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    file_bytes: u64,
    raw_bytes: u64,
    records: u64,
}

impl Size {
    /// Whether the segment ends here: with the largest commit after it, neither the open file nor the sealed one may get
    /// longer than readers take.
    fn is_full(self, segment_bytes: u64) -> bool {
        self.raw_bytes >= segment_bytes
            || self.file_bytes >= SEGMENT_BYTES_MAX / 2
            || weight(self.raw_bytes, self.records) >= SEGMENT_BYTES_MAX / 2
    }
}

impl std::fmt::Debug for Open {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Open").field("header", &self.header).finish_non_exhaustive()
    }
}

pub(super) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Writer {
    pub(super) fn open(store: &RecordStore, category: &str) -> Result<Self, RecordError> {
        let directory = store.directory(category)?;
        let storage = &*store.storage;
        if !storage.exists(&directory).map_err(RecordError::file("look for", &directory))? {
            storage
                .create_directory(&directory)
                .map_err(RecordError::file("create", &directory))?;
            sync_parent(storage, &directory)?;
        }
        let lock = tambour_storage::lock::lock(storage, &directory, "")
            .map_err(|e| from_store(e, &directory))?;
        let lock = lock.ok_or_else(|| RecordError::Gone { path: directory.clone() })?;
        seal::tidy(storage, &directory, store.number)?;
        let commit = Mutex::new(Commit { open: None, end: 0, frames: Vec::new(), keyed: false });
        let (pending, maintenance) = (Mutex::default(), Mutex::default());
        let writer = Self {
            store: store.clone(),
            directory,
            pending,
            commit,
            ended: Ended::default(),
            sealing: Mutex::default(),
            maintenance,
            found: Mutex::default(),
            cut: Mutex::default(),
            lock: Mutex::new(lock),
        };
        writer.take_over()?;
        Ok(writer)
    }

    /// Goes on after the last record that is there: cuts what a commit left half written, if the file is short, and begins
    /// a new segment otherwise.
    fn take_over(&self) -> Result<(), RecordError> {
        let mut commit = hold(&self.commit);
        let files = segment_files(&*self.store.storage, &self.directory)?;
        let Some((base, kind, _)) = files.last().copied() else { return Ok(()) };
        let path = self.directory.join(file_name(base, kind));
        let storage = &*self.store.storage;
        if kind == FileKind::Sealed {
            let file = storage.open(&path).map_err(RecordError::file("open", &path))?;
            let header = super::sealed::read_header(&*file, &path)?.0;
            header.check_owner(&path, self.store.number)?;
            commit.end = header.end();
            commit.keyed = header.keyed;
        } else {
            let open = OpenSegment::read(storage, &path, Some(self.store.number), None)?;
            commit.end = open.end();
            commit.keyed = open.header.keyed;
            // A commit of which pieces are whole may have been durable, and lost a sector since then.
            if let Some(cut) = open.cut_off().filter(|cut| cut.whole_behind) {
                let copy = Some(copies::keep(storage, &path, "torn")?);
                *hold(&self.cut) = Some(CutOff { copy, ..cut });
            }
            // A damaged file stays as it is, for those who look into it.
            let found: Vec<_> =
                open.damage.iter().map(RecordError::again).chain(open.tail_damage()).collect();
            if found.is_empty() && open.frames_end <= ADOPT_BYTES_MAX {
                self.adopt(&mut commit, &open)?;
            } else {
                // Its last commit may be whole without having been synced: what follows it must not outlive it.
                storage.sync_file(&path).map_err(RecordError::file("sync", &path))?;
            }
            if !found.is_empty() && open.end() == base {
                // Of which no record can be read: the next segment replaces it.
                copies::keep(storage, &path, "damaged")?;
                commit.open = Some(self.begin_new(base, commit.keyed)?);
            }
            *hold(&self.found) = found;
        }
        hold(&self.pending).first = commit.end;
        Ok(())
    }

    /// Replaces the file of an open segment by its whole frames, and goes on with it.
    fn adopt(&self, commit: &mut Commit, open: &OpenSegment) -> Result<(), RecordError> {
        let raw_bytes = open.raw_bytes()?;
        let records = open.end() - open.header.base;
        let size = Size { file_bytes: 0, raw_bytes, records };
        let opened = self.begin(open.header, &open.dictionary, &open.whole_frames(), size)?;
        commit.open =
            Some(opened).filter(|open| !open.size.is_full(self.store.settings.segment_bytes));
        Ok(())
    }

    /// Writes the file of an open segment aside and puts it in its place; the handle stays good for appending.
    fn begin(
        &self,
        header: OpenHeader,
        dictionary: &Dictionary,
        frames: &[u8],
        mut size: Size,
    ) -> Result<Open, RecordError> {
        let storage = &*self.store.storage;
        let name = file_name(header.base, FileKind::Open);
        let temporary = self.directory.join(aside(&name));
        let path = self.directory.join(&name);
        if storage.exists(&temporary).map_err(RecordError::file("look for", &temporary))? {
            seal::remove(storage, &temporary)?;
        }
        let mut file =
            storage.create(&temporary).map_err(RecordError::file("create", &temporary))?;
        let start = start(header, dictionary)?;
        let written = file.write_all(&start).and_then(|()| file.write_all(frames));
        written.and_then(|()| file.sync()).map_err(RecordError::file("write", &temporary))?;
        storage.rename(&temporary, &path).map_err(RecordError::file("replace", &path))?;
        storage
            .sync_directory(&self.directory)
            .map_err(RecordError::file("sync", &self.directory))?;
        let encoder = Encoder::new(Codec::Lz4, OPEN_LEVEL, dictionary)?;
        size.file_bytes = (start.len() + frames.len()) as u64;
        Ok(Open { file, header, encoder, size })
    }

    /// Begins a new open segment with the latest dictionary.
    fn begin_new(&self, base: u64, keyed: bool) -> Result<Open, RecordError> {
        let path = self.directory.join(NEXT_DICTIONARY);
        let dictionary = next::known(&self.store, &self.directory);
        let store = self.store.number;
        let seed = seed(store, category_of(&path), base);
        let header = OpenHeader { store, base, seed, keyed };
        self.begin(header, &dictionary, &[], Size::default())
    }

    /// What was wrong with the last open segment when this writer took over: the log goes on after the last record that
    /// can be read, and the damaged file stays as it is. Where this tells of records after that one, their ids are given
    /// again; salvage the store first if it matters.
    pub fn take_found(&self) -> Vec<RecordError> {
        std::mem::take(&mut hold(&self.found))
    }

    /// A commit at the end of the log that this writer cut off when it took over, although heads or blocks of it are whole after
    /// what is missing, and the copy that it kept of the file. Nobody was told that it is durable if a crash left it so; a disk that
    /// lost a sector of it later leaves the same. A commit of which nothing but the beginning is there is not told.
    pub fn take_cut(&self) -> Option<CutOff> {
        hold(&self.cut).take()
    }

    /// The store that is written to.
    pub(super) fn store(&self) -> &RecordStore {
        &self.store
    }

    /// Held during a pass over segments.
    pub(super) fn sealing(&self) -> &Mutex<()> {
        &self.sealing
    }

    /// Held while files other than the open segment are changed.
    pub(super) fn maintenance(&self) -> &Mutex<()> {
        &self.maintenance
    }

    /// The directory of the category.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The id that the next record gets.
    pub fn end(&self) -> u64 {
        hold(&self.pending).end()
    }

    /// Appends a record and returns its id; it is durable when this returns.
    pub fn append(&self, record: &[u8], time: Option<i64>) -> Result<u64, RecordError> {
        let (id, epoch) = self.put(record, time, false)?;
        self.wait_for(id + 1, &epoch)?;
        Ok(id)
    }

    /// Appends a record and returns the id that it will have; it is durable when a later [`Writer::flush`] returns.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// let first = writer.append_later(b"first", None)?;
    /// let second = writer.append_later(b"second", None)?;
    /// writer.flush()?; // One sync for both.
    /// let view = store.view("default", &ViewOptions::default())?;
    /// assert_eq!(view.ids(), first..second + 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_later(&self, record: &[u8], time: Option<i64>) -> Result<u64, RecordError> {
        Ok(self.put(record, time, true)?.0)
    }

    fn put(
        &self,
        record: &[u8],
        time: Option<i64>,
        later: bool,
    ) -> Result<(u64, Epoch), RecordError> {
        check(record)?;
        let mut pending = hold(&self.pending);
        pending.check_room(record.len(), 1)?;
        let id = pending.end();
        pending.records.push_mixed(record, time);
        if later {
            pending.later_end = id + 1;
        }
        Ok((id, pending.epoch.clone()))
    }

    /// Appends records; they are durable when this returns, and their ids follow each other. An error, and none is appended,
    /// when they are too many for one commit together with those that wait for it: 256 MiB, with 32 bytes more per record.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// let ids = writer.append_batch(&[&b"first"[..], b"second"].into_iter().collect())?;
    /// assert_eq!((ids, writer.end()), (0..2, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append_batch(&self, records: &Batch) -> Result<Range<u64>, RecordError> {
        // Those of a batch with keys were looked at when they got there.
        for record in records.iter().filter(|_| !records.is_keyed()) {
            check(record)?;
        }
        let (ids, epoch) = {
            let mut pending = hold(&self.pending);
            pending.check_room(records.bytes().len(), records.len())?;
            let first = pending.end();
            pending.records.append(records);
            (first..pending.end(), pending.epoch.clone())
        };
        self.wait_for(ids.end, &epoch)?;
        Ok(ids)
    }

    /// Appends a record with a key and returns its id; it is durable, and what the key stands for, when this returns.
    pub fn put_keyed(
        &self,
        key: &[u8],
        record: &[u8],
        time: Option<i64>,
    ) -> Result<u64, RecordError> {
        let mut batch = Batch::default();
        batch.push_keyed(key, record, time)?;
        Ok(self.append_batch(&batch)?.start)
    }

    /// Deletes a key, whether it is there or not: its records are gone for readers when this returns, and their space with
    /// the next [`Writer::compact`].
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// writer.put_keyed(b"ada", b"London", None)?;
    /// writer.delete(b"ada")?;
    /// let mut reader = Arc::new(store.view("default", &ViewOptions::default())?).reader();
    /// assert_eq!(reader.get_by_key(b"ada")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&self, key: &[u8]) -> Result<(), RecordError> {
        let mut batch = Batch::default();
        batch.push_deletion(key, None)?;
        self.append_batch(&batch).map(drop)
    }

    /// Returns when everything that was appended before is durable. An error also when a commit failed that took records of
    /// [`Writer::append_later`] with it, whoever it was made for.
    pub fn flush(&self) -> Result<(), RecordError> {
        let (end, epoch) = {
            let mut pending = hold(&self.pending);
            if let Some(id) = pending.lost.take() {
                return Err(RecordError::Lost { id });
            }
            (pending.end(), pending.epoch.clone())
        };
        let flushed = self.wait_for(end, &epoch);
        if flushed.is_err() {
            // Told by this error.
            hold(&self.pending).lost = None;
        }
        flushed
    }

    /// Whoever gets the commit first, commits for all that wait behind it. `epoch` is the one in which the records got their
    /// ids.
    fn wait_for(&self, end: u64, epoch: &Epoch) -> Result<(), RecordError> {
        let mut commit = hold(&self.commit);
        let taken = {
            let mut pending = hold(&self.pending);
            if let Some(outcome) = epoch.outcome(end) {
                return outcome;
            }
            if commit.end >= end {
                return Ok(());
            }
            pending.first = pending.end();
            std::mem::take(&mut pending.records)
        };
        let result = self.commit(&mut commit, taken);
        let mut pending = hold(&self.pending);
        if let Err(error) = result {
            // What is in the file after the last durable record does not count: the next segment begins there.
            commit.open = None;
            if pending.later_end > commit.end {
                pending.lost = Some(commit.end);
            }
            pending.later_end = commit.end;
            pending.epoch.fail(commit.end);
            pending.records.clear();
            pending.first = commit.end;
            return Err(error);
        }
        Ok(())
    }

    /// Writes frames and makes them durable.
    fn commit(&self, commit: &mut Commit, mut records: Batch) -> Result<(), RecordError> {
        let base = commit.end;
        if records.is_keyed() && !commit.keyed && commit.open.take().is_some() {
            // The first keys of a log: a segment has them from its first record on, or not at all.
            self.ended.add();
        }
        commit.keyed |= records.is_keyed();
        if commit.keyed {
            records.give_keys();
        }
        let records = &records;
        if commit.open.is_none() {
            commit.open = Some(self.begin_new(base, commit.keyed)?);
        }
        let Some(open) = &mut commit.open else { return Ok(()) };
        commit.frames.clear();
        let mut start = 0;
        while start < records.len() {
            let end = frame_end(records, start);
            let first = base + start as u64;
            frame::write(
                records,
                start..end,
                first,
                open.header.seed,
                &mut open.encoder,
                &mut commit.frames,
            )?;
            start = end;
        }
        let path = self.directory.join(file_name(open.header.base, FileKind::Open));
        open.file.write_all(&commit.frames).map_err(RecordError::file("append to", &path))?;
        open.file.sync().map_err(RecordError::file("sync", &path))?;
        commit.end += records.len() as u64;
        open.size.file_bytes += commit.frames.len() as u64;
        open.size.raw_bytes += records.bytes().len() as u64;
        open.size.records += records.len() as u64;
        if open.size.is_full(self.store.settings.segment_bytes) {
            commit.open = None;
            self.ended.add();
        }
        Ok(())
    }

    /// Ends the open segment, so that the next commit begins a new one.
    fn close_open(&self) {
        hold(&self.commit).open = None;
        self.ended.add();
    }

    /// Seals all segments that are full; with `all`, also the one that is open. Appending goes on meanwhile.
    pub fn seal(&self, options: &SealOptions, all: bool) -> Result<Vec<SealReport>, RecordError> {
        if all {
            self.close_open();
        }
        let mut reports = Vec::new();
        self.seal_each(options, &mut |report| {
            reports.push(report);
            ControlFlow::Continue(())
        })?;
        Ok(reports)
    }

    /// Seals segments that are full, one after another until `report` breaks.
    pub(super) fn seal_each(
        &self,
        options: &SealOptions,
        report: &mut dyn FnMut(SealReport) -> ControlFlow<()>,
    ) -> Result<(), RecordError> {
        let _pass = hold(&self.sealing);
        let end = {
            let commit = hold(&self.commit);
            commit.open.as_ref().map_or(commit.end, |open| open.header.base)
        };
        let files_held = &self.maintenance;
        seal::seal(&self.store, &self.directory, end, options, files_held, report)
    }

    /// How many segments this writer has ended: each of them can be sealed.
    pub(super) fn ended(&self) -> &Ended {
        &self.ended
    }

    /// Drops whole segments, oldest first; does not wait for sealing.
    pub fn retain(&self, retention: &Retention) -> Result<Dropped, RecordError> {
        let _held = hold(&self.maintenance);
        retention::apply(&self.store, &self.directory, retention)
    }

    /// Trains a dictionary from `records` and makes it the one of the next open segment. Empty when nothing was learned.
    pub fn train(&self, records: &Batch, bytes_max: usize) -> Result<Dictionary, RecordError> {
        let dictionary = Samples::of(records).train(bytes_max);
        if !dictionary.is_empty() {
            self.use_dictionary(&dictionary)?;
        }
        Ok(dictionary)
    }

    /// Makes a dictionary the one of the next open segment, which begins with the next commit.
    pub fn use_dictionary(&self, dictionary: &Dictionary) -> Result<(), RecordError> {
        codec::check(dictionary)?;
        let _pass = hold(&self.sealing);
        let _held = hold(&self.maintenance);
        let file = dictionary::to_file(dictionary, self.store.number)?;
        replace_file(&*self.store.storage, &self.directory, NEXT_DICTIONARY, &file)?;
        self.close_open();
        Ok(())
    }
}

fn check(record: &[u8]) -> Result<(), RecordError> {
    if record.len() > RECORD_BYTES_MAX {
        let (bytes, limit) = (record.len() as u64, RECORD_BYTES_MAX as u64);
        return Err(RecordError::TooLarge { what: "a record", bytes, limit });
    }
    Ok(())
}

/// The end of the frame that begins with a record.
fn frame_end(records: &Batch, start: usize) -> usize {
    let (mut end, mut bytes) = (start, 0);
    for length in records.lengths().skip(start).take(FRAME_RECORDS_MAX) {
        bytes += length;
        if end > start && bytes > FRAME_BYTES_MAX {
            break;
        }
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::super::SEGMENT_RECORDS_MAX;
    use super::super::pending::PENDING_BYTES_MAX;
    use super::*;
    use crate::tests::{PATH, disk, dynamic, reader, records};
    use crate::{Batch, Settings};
    use tambour_storage::memory::{Calls, ENOSPC};

    #[test]
    fn a_segment_is_full_by_file_and_by_records_too() {
        let half = SEGMENT_BYTES_MAX / 2;
        let sizes = [
            Size { file_bytes: half, ..Size::default() },
            Size { raw_bytes: half, ..Size::default() },
            Size { records: SEGMENT_RECORDS_MAX / 2, ..Size::default() },
        ];
        assert!(sizes.iter().all(|size| size.is_full(u64::MAX)));
        let size = Size { file_bytes: half - 1, raw_bytes: half / 2, records: 1000 };
        assert!(!size.is_full(u64::MAX) && size.is_full(half / 2));
    }

    #[test]
    fn what_was_kept_before_a_commit_failed_is_not_told_as_lost() {
        let memory = disk();
        let storage = dynamic(&memory);
        let store = RecordStore::create(&storage, Path::new(PATH), &Settings::default()).unwrap();
        let writer = store.writer("default").unwrap();
        // Two threads have put records; the second commits both, a third one fails before the first looks.
        let (first, first_epoch) = writer.put(b"first", None, false).unwrap();
        let (second, second_epoch) = writer.put(b"second", None, false).unwrap();
        writer.wait_for(second + 1, &second_epoch).unwrap();
        let later = writer.append_later(b"later", None).unwrap();
        writer.flush().unwrap();
        memory.fail_at(Calls::Writes, 0, ENOSPC);
        let (third, third_epoch) = writer.put(b"third", None, false).unwrap();
        let (fourth, fourth_epoch) = writer.put(b"fourth", None, false).unwrap();
        writer.wait_for(third + 1, &third_epoch).unwrap_err();
        // Its id is given again before it looks.
        assert_eq!(writer.append(b"another", None).unwrap(), third);
        assert_eq!(writer.append(b"one more", None).unwrap(), fourth);
        let lost = writer.wait_for(fourth + 1, &fourth_epoch);
        assert!(matches!(lost, Err(RecordError::Lost { id }) if id == fourth));
        writer.wait_for(first + 1, &first_epoch).unwrap();
        // Nobody lost a record that waited for a flush.
        writer.flush().unwrap();
        let mut reader = reader(&storage).unwrap();
        assert_eq!(reader.get(first).unwrap(), b"first");
        assert_eq!(reader.get(later).unwrap(), b"later");
        assert_eq!(reader.get(third).unwrap(), b"another");
    }

    #[test]
    fn an_adopted_segment_is_counted() {
        let storage = dynamic(&disk());
        let store = RecordStore::create(&storage, Path::new(PATH), &Settings::default()).unwrap();
        let size = |writer: &Writer| {
            let size = hold(&writer.commit).open.as_ref().unwrap().size;
            (size.file_bytes, size.raw_bytes, size.records)
        };
        let writer = store.writer("default").unwrap();
        writer.append_batch(&records(0..60)).unwrap();
        let before = size(&writer);
        drop(writer);
        assert_eq!(before, size(&store.writer("default").unwrap()));
        assert_eq!(before.2, 60);
        let path = Path::new(PATH).join("default").join(file_name(0, FileKind::Open));
        assert_eq!(storage.read(&path, u64::MAX).unwrap().len() as u64, before.0);
    }

    #[test]
    fn the_most_records_of_a_commit_fill_a_segment_and_one_more_is_refused() {
        let storage = dynamic(&disk());
        let store = RecordStore::create(&storage, Path::new(PATH), &Settings::default()).unwrap();
        let writer = store.writer("default").unwrap();
        let most = PENDING_BYTES_MAX / weight(0, 1);
        let mut batch = Batch::default();
        (0..most).for_each(|_| batch.push(b"", None));
        writer.append_batch(&batch).unwrap();
        batch.push(b"", None);
        assert!(matches!(writer.append_batch(&batch), Err(RecordError::TooLarge { .. })));
        assert_eq!(writer.append(b"next", None).unwrap(), most);
        let mut reader = reader(&storage).unwrap();
        assert_eq!(reader.view().segments(), 2);
        assert_eq!(reader.get(most - 1).unwrap(), b"");
        assert_eq!(reader.get(most).unwrap(), b"next");
    }
}
