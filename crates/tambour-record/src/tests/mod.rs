//! Tests of whole stores, on a file system in memory.

mod background;
mod bad_input;
mod crash;
mod damage;
mod drift;
mod flips;
mod golden;
mod keys;
mod kill;
mod round_trip;
mod search;
mod torn;

use super::{Batch, Group, Reader, RecordError, RecordStore, SealOptions, Settings, ViewOptions};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use tambour_storage::Storage;
use tambour_storage::memory::{Fate, Memory};

pub(super) const PATH: &str = "logs/events";

/// A disk with a directory for stores.
pub(super) fn disk() -> Memory {
    let memory = Memory::new();
    memory.put(Path::new("logs/other"), b"");
    memory.crash(Fate::Kept)
}

pub(super) fn dynamic(memory: &Memory) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

/// A record that tells its number: JSON of changing length.
pub(super) fn record(id: u64) -> Vec<u8> {
    let noise = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let path = "/drum".repeat((noise >> 7) as usize % 9);
    format!(
        "{{\"id\":{id},\"service\":\"svc-{}\",\"path\":\"{path}\",\"trace\":\"{noise:016x}\",\"level\":\"info\"}}",
        id % 11,
    )
    .into_bytes()
}

pub(super) fn records(ids: std::ops::Range<u64>) -> Batch {
    let mut batch = Batch::default();
    for id in ids {
        batch.push(&record(id), Some(id as i64 * 10));
    }
    batch
}

pub(super) fn settings() -> Settings {
    Settings { segment_bytes: 40_000, ..Settings::default() }
}

pub(super) fn options(group: usize) -> SealOptions {
    SealOptions { group: Group::Fixed(group), dictionary_bytes: 4096, ..SealOptions::default() }
}

pub(super) fn reader(storage: &Arc<dyn Storage>) -> Result<Reader, RecordError> {
    let store = RecordStore::open(storage, Path::new(PATH))?;
    Ok(Arc::new(store.view("default", &ViewOptions::default())?).reader())
}

/// A store of this many records: sealed in groups, then some that are open.
pub(super) fn sealed_and_open(sealed: u64, open: u64, group: usize) -> Memory {
    let memory = disk();
    let storage = dynamic(&memory);
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = store.writer("default").unwrap();
    for first in (0..sealed).step_by(100) {
        writer.append_batch(&records(first..sealed.min(first + 100))).unwrap();
    }
    writer.seal(&options(group), true).unwrap();
    for first in (sealed..sealed + open).step_by(50) {
        writer.append_batch(&records(first..(sealed + open).min(first + 50))).unwrap();
    }
    drop(writer);
    memory
}

/// Reads everything, every way, and checks it.
pub(super) fn assert_holds(storage: &Arc<dyn Storage>, count: u64) {
    let mut reader = reader(storage).unwrap();
    assert_eq!(reader.view().ids(), 0..count);
    let ids: Vec<u64> = (0..count).map(|k| k * 7919 % count.max(1)).collect();
    for id in &ids {
        assert_eq!(reader.get(*id).unwrap(), record(*id), "record {id}");
        assert_eq!(reader.time(*id).unwrap(), Some(*id as i64 * 10));
    }
    let mut seen = 0;
    reader
        .get_many(&ids, |k, bytes| {
            assert_eq!(bytes, record(ids[k]));
            seen += 1;
        })
        .unwrap();
    assert_eq!(seen, ids.len());
    let mut next = 0;
    reader
        .scan(0..u64::MAX, |scanned| {
            assert_eq!((scanned.id, scanned.time), (next, Some(next as i64 * 10)));
            assert_eq!(scanned.record, record(next));
            next += 1;
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(next, count);
}
