//! Sealing: open segments that are full become sealed ones.

use super::batch::Batch;
use super::codec::Codec;
use super::dictionary::{self, Dictionary, LZ4_DICTIONARY_BYTES_MAX};
use super::layout::{
    FileKind, NEXT_DICTIONARY, RecordStore, category_of, file_name, replace_file, segment_files,
};
use super::next;
use super::open::OpenSegment;
use super::scan::Scanned;
use super::sealed::build::{Shape, build};
use super::search;
use super::trial::{self, Group, Samples};
use super::writer::hold;
use super::{RecordError, SEGMENT_BYTES_MAX, SEGMENT_RECORDS_MAX, layout, weight};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tambour_storage::Storage;
use tambour_storage::commit::aside;

/// Stands for a record without a time, in a segment where others have one.
pub(super) const NO_TIME: i64 = i64::MIN;

/// How to seal.
///
/// ```
/// # use std::ops::ControlFlow;
/// # use std::sync::Arc;
/// # use tambour_record::*;
/// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
/// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
/// # let writer = store.writer("default")?;
/// let lines = (0..5000).map(|i| format!("user {i} logged in from 10.0.0.{}", i % 256));
/// let lines: Vec<String> = lines.collect();
/// writer.append_batch(&lines.iter().map(|line| line.as_bytes()).collect())?;
/// let sealed = writer.seal(&SealOptions { codec: Some(Codec::Zstd), ..SealOptions::default() }, true)?;
/// assert_eq!((sealed[0].records, sealed[0].codec), (5000, Codec::Zstd));
/// assert!(sealed[0].sealed_bytes < sealed[0].raw_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SealOptions {
    /// The codec; `None` for that of the store.
    pub codec: Option<Codec>,
    /// Its level: 1 to 9 for LZ4, as libzstd has them for zstd. `None` for a good one, of
    /// LZ4 by trial.
    pub level: Option<i32>,
    /// Longest dictionary to train; 0 trains none.
    pub dictionary_bytes: usize,
    /// Records of a group.
    pub group: Group,
}

impl Default for SealOptions {
    fn default() -> Self {
        Self { codec: None, level: None, dictionary_bytes: 64 << 10, group: Group::Fixed(1) }
    }
}

impl SealOptions {
    /// The level that is used.
    pub(super) fn level_of(&self, codec: Codec) -> i32 {
        self.level.unwrap_or(match codec {
            Codec::Raw => 0,
            Codec::Lz4 => 8,
            Codec::Zstd => 9,
        })
    }
}

/// What was sealed.
#[derive(Clone, Debug, PartialEq)]
pub struct SealReport {
    /// Id of the first record.
    pub base: u64,
    /// Records.
    pub records: u64,
    /// Raw bytes.
    pub raw_bytes: u64,
    /// Bytes of the sealed file.
    pub sealed_bytes: u64,
    /// The codec that was taken.
    pub codec: Codec,
    /// Records of a group.
    pub group: usize,
    /// Whether a new dictionary was trained and taken.
    pub trained: bool,
    /// Bytes of the dictionary that is used; 0 for none.
    pub dictionary_bytes: usize,
}

/// Open segments that become one sealed segment.
pub(super) struct Job {
    pub(super) base: u64,
    /// The files that it replaces, but for one of the same name.
    pub(super) files: Vec<PathBuf>,
    pub(super) records: Batch,
    pub(super) dictionary: Dictionary,
}

/// Removes what crashes left: files that are half written, and open segments that a sealed one replaces.
pub(super) fn tidy(storage: &dyn Storage, directory: &Path, store: u64) -> Result<(), RecordError> {
    let entries = storage.list(directory).map_err(RecordError::file("list", directory))?;
    let (mut removed, mut synced) = (false, false);
    let sync = || storage.sync_directory(directory).map_err(RecordError::file("sync", directory));
    for entry in entries.iter().filter(|entry| entry.is_file && entry.name.ends_with(&aside(""))) {
        remove(storage, &directory.join(&entry.name))?;
        removed = true;
    }
    let mut covered = 0;
    for (base, kind, _) in segment_files(storage, directory)? {
        let path = directory.join(file_name(base, kind));
        match kind {
            FileKind::Sealed => {
                let file = storage.open(&path).map_err(RecordError::file("open", &path))?;
                // What cannot be read replaces nothing.
                if let Ok((header, _)) = super::sealed::read_header(&*file, &path)
                    && header.check_owner(&path, store).is_ok()
                    && header.base == base
                {
                    covered = header.end();
                }
            }
            FileKind::Open if base < covered => {
                // Whoever sealed may have been killed before the new name was durable.
                if !synced {
                    sync()?;
                    synced = true;
                }
                remove(storage, &path)?;
                removed = true;
            }
            FileKind::Open => {}
        }
    }
    removed |= search::tidy(storage, directory)?;
    if removed { sync() } else { Ok(()) }
}

pub(super) fn remove(storage: &dyn Storage, path: &Path) -> Result<(), RecordError> {
    storage.remove_file(path).map_err(RecordError::file("remove", path))
}

/// Seals every open segment below `end`, until `report` breaks; neighbours that are small become one. One that cannot be read
/// stays open and is the error in the end; it does not keep the others from being sealed. `files_held` is held while files change.
pub(super) fn seal(
    store: &RecordStore,
    directory: &Path,
    end: u64,
    options: &SealOptions,
    files_held: &Mutex<()>,
    report: &mut dyn FnMut(SealReport) -> ControlFlow<()>,
) -> Result<(), RecordError> {
    let all = segment_files(&*store.storage, directory)?;
    // Each with the id that the next segment of either kind begins with.
    let behind = |base: u64| all.iter().map(|file| file.0).find(|next| *next > base);
    let files: Vec<Range<u64>> = all
        .iter()
        .filter(|(base, kind, _)| *kind == FileKind::Open && *base < end)
        .map(|file| file.0..behind(file.0).unwrap_or(end).min(end))
        .collect();
    let (mut at, mut failure) = (0, None);
    while at < files.len() {
        let job = match collect(store, directory, &files[at..]) {
            Ok(job) => job,
            Err(error) => {
                at += 1;
                failure.get_or_insert(error);
                continue;
            }
        };
        at += job.files.len();
        if report(run(store, directory, &job, options, files_held)?).is_break() {
            break;
        }
    }
    failure.map_or(Ok(()), Err)
}

/// Reads as many neighbours as one segment holds.
fn collect(
    store: &RecordStore,
    directory: &Path,
    files: &[Range<u64>],
) -> Result<Job, RecordError> {
    let first = files.first().map_or(0, |ids| ids.start);
    let mut job = Job {
        base: first,
        files: Vec::new(),
        records: Batch::default(),
        dictionary: Dictionary::default(),
    };
    for (number, Range { start: base, end: next }) in files.iter().cloned().enumerate() {
        let path = directory.join(file_name(base, FileKind::Open));
        let open = OpenSegment::read(&*store.storage, &path, Some(store.number), Some(next))?;
        let contiguous = base == first + job.records.len() as u64;
        let bytes = job.records.bytes().len() as u64 + open.raw_bytes()?;
        let records = job.records.len() as u64 + open.end().min(next).saturating_sub(base);
        let full = bytes > store.settings.segment_bytes
            || records > SEGMENT_RECORDS_MAX
            || weight(bytes, records) > SEGMENT_BYTES_MAX;
        let is_cut = open.end() < next || open.tail_damage().is_some();
        let other = open.header.keyed != job.records.is_keyed();
        if number > 0 && (!contiguous || full || is_cut || other) {
            break;
        }
        // Damage is not sealed away: it stays in the open file until somebody has looked.
        if let Some(damage) = open.tail_damage() {
            return Err(damage);
        }
        if is_cut {
            return Err(RecordError::Missing { path, first: open.end(), end: next });
        }
        // Both are within the limits of a segment, or there is one file only.
        let more = bytes - job.records.bytes().len() as u64;
        let room = |size: u64| usize::try_from(size).unwrap_or(0);
        job.records.reserve(room(open.end().min(next).saturating_sub(base)), room(more));
        let mut decoder = open.decoder()?;
        let flow = open.scan(base..open.end().min(next), &mut decoder, |scanned| match scanned {
            Ok(Scanned { time, record, .. }) => {
                job.records.push_stored(record, time, open.header.keyed);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        });
        if let ControlFlow::Break(error) = flow {
            return Err(error);
        }
        job.dictionary = open.dictionary;
        job.files.push(path);
    }
    Ok(job)
}

/// Makes one sealed segment and puts it in the place of the open ones.
pub(super) fn run(
    store: &RecordStore,
    directory: &Path,
    job: &Job,
    options: &SealOptions,
    files_held: &Mutex<()>,
) -> Result<SealReport, RecordError> {
    let codec = options.codec.unwrap_or(store.settings.codec);
    let samples = Samples::of(&job.records);
    // What LZ4 cannot reach is of no use to it.
    let bytes_max = match codec {
        Codec::Lz4 => options.dictionary_bytes.min(LZ4_DICTIONARY_BYTES_MAX),
        Codec::Raw | Codec::Zstd => options.dictionary_bytes,
    };
    let own = samples.train(bytes_max);
    let raw_bytes = job.records.bytes().len() as u64;
    let level = options.level_of(codec);
    // Segments with the same dictionary share a decoder, and its place in the caches.
    let latest = next::known(store, directory);
    let known = [&job.dictionary, &latest];
    let (mut way, trained) = trial::choose(&samples, raw_bytes, codec, level, &known, &own)?;
    if options.level.is_none() {
        way = trial::ease(&samples, raw_bytes, way)?;
    }
    let group = trial::group(&samples.held_out, &way, options.group)?;
    let name = file_name(job.base, FileKind::Sealed);
    let path = directory.join(&name);
    let (codec, dictionary_bytes) = (way.codec, way.dictionary.bytes().len());
    let shape = Shape { codec, level: way.level, group, dictionary: way.dictionary };
    let file = build(store.number, category_of(&path), job.base, &job.records, &shape)?;
    // Where the dictionary so far is no longer good enough, later records get another one, too.
    let own = &shape.dictionary;
    let learn = || next::learn(store, directory, job.base, &job.records, own, bytes_max);
    // What it cannot be learned from, and that it cannot be written, costs size only.
    let is_new = trained && !job.files.is_empty();
    let next = if is_new { learn().unwrap_or_default() } else { None };
    let _held = hold(files_held);
    if job.files.is_empty() {
        // Another form of a segment, unless retention has dropped it meanwhile.
        let exists = store.storage.exists(&path).map_err(RecordError::file("look for", &path))?;
        if !exists {
            return Err(RecordError::Gone { path });
        }
    }
    // In front of the segment: no crash leaves one without its index.
    search::write(store, directory, job.base, &job.records, &file)?;
    replace_file(&*store.storage, directory, &name, &file)?;
    // From here on the sealed segment counts; the open ones are leftovers.
    for file in &job.files {
        remove(&*store.storage, file)?;
    }
    store.storage.sync_directory(directory).map_err(RecordError::file("sync", directory))?;
    if let Some(next) = next {
        let next = dictionary::to_file(&next, store.number)?;
        let _ = layout::replace_file(&*store.storage, directory, NEXT_DICTIONARY, &next);
    }
    let records = job.records.len() as u64;
    let sealed_bytes = file.len() as u64;
    let base = job.base;
    Ok(SealReport {
        base,
        records,
        raw_bytes,
        sealed_bytes,
        codec,
        group,
        trained,
        dictionary_bytes,
    })
}
