//! Retention: whole segments are dropped, the oldest first. Ids go on; those of dropped records are gone.

use super::RecordError;
use super::layout::{FileKind, RecordStore, file_name, segment_files};
use super::seal::remove;
use super::sealed::read_header;
use super::search;
use std::path::Path;

/// What may be dropped: a sealed segment goes when either bound says so, and when all before it have gone. Open segments
/// stay.
///
/// ```
/// # use std::ops::ControlFlow;
/// # use std::sync::Arc;
/// # use tambour_record::*;
/// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
/// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
/// # let writer = store.writer("default")?;
/// writer.append(b"old", Some(100))?;
/// writer.seal(&SealOptions::default(), true)?;
/// writer.append(b"new", Some(200))?;
/// let dropped = writer.retain(&Retention { before: Some(150), ..Retention::default() })?;
/// assert_eq!((dropped.segments, dropped.records), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Segments whose latest record is older than this time go. Segments without times stay.
    pub before: Option<i64>,
    /// The oldest segments go until the files of all take at most this much.
    pub bytes_max: Option<u64>,
}

/// What was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Segments.
    pub segments: usize,
    /// Records in them.
    pub records: u64,
    /// Bytes of their files.
    pub bytes: u64,
}

/// Drops what may be dropped. A crash in between leaves a shorter log without a gap.
pub(super) fn apply(
    store: &RecordStore,
    directory: &Path,
    retention: &Retention,
) -> Result<Dropped, RecordError> {
    let storage = &*store.storage;
    let files = segment_files(storage, directory)?;
    let mut bytes: u64 = files.iter().map(|file| file.2).sum();
    let mut dropped = Dropped::default();
    for (number, (base, kind, length)) in files.iter().copied().enumerate() {
        // The last segment stays: it knows the next id.
        if kind == FileKind::Open || number + 1 == files.len() {
            break;
        }
        let path = directory.join(file_name(base, kind));
        let file = storage.open(&path).map_err(RecordError::file("open", &path))?;
        let (header, _) = read_header(&*file, &path)?;
        header.check_owner(&path, store.number)?;
        let old = retention.before.is_some_and(|time| header.timed && header.times.1 < time);
        let over = retention.bytes_max.is_some_and(|most| bytes > most);
        if !old && !over {
            break;
        }
        remove(storage, &path)?;
        let index = search::path_of(&path);
        if storage.exists(&index).map_err(RecordError::file("look for", &index))? {
            remove(storage, &index)?;
        }
        storage.sync_directory(directory).map_err(RecordError::file("sync", directory))?;
        bytes -= length;
        dropped.segments += 1;
        dropped.records += header.records;
        dropped.bytes += length;
    }
    Ok(dropped)
}
