//! Sealing in a thread of its own, beside appending and reading.

use super::super::{RecordStore, verify};
use super::{PATH, assert_holds, disk, dynamic, options, records, settings};
use std::path::Path;
use std::sync::Arc;
use tambour_storage::memory::{Calls, ENOSPC};

#[test]
fn segments_are_sealed_as_they_get_full() {
    let storage = dynamic(&disk());
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = Arc::new(store.writer("default").unwrap());
    writer.append_batch(&records(0..600)).unwrap();
    let sealing = writer.seal_in_background(&options(4)).unwrap();
    for first in (600..3000).step_by(100) {
        writer.append_batch(&records(first..first + 100)).unwrap();
    }
    let reports = sealing.finish().unwrap();
    let sealed: u64 = reports.iter().map(|report| report.records).sum();
    assert!(reports.len() > 3 && sealed > 2500, "{} {sealed}", reports.len());
    assert_holds(&storage, 3000);
    assert!(verify(&storage, Path::new(PATH)).unwrap().damage.is_empty());
    // Dropped, it ends; another one goes on, and leaves the segment that is appended to.
    drop(writer.seal_in_background(&options(1)).unwrap());
    let reports = writer.seal_in_background(&options(1)).unwrap().finish().unwrap();
    assert_eq!(reports.len(), 0);
}

#[test]
fn a_full_disk_is_told_and_sealing_goes_on_when_there_is_room() {
    let memory = disk();
    let storage = dynamic(&memory);
    let store = RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    let writer = Arc::new(store.writer("default").unwrap());
    writer.append_batch(&records(0..600)).unwrap();
    memory.fail_from(Calls::Writes, 0, ENOSPC);
    let error = writer.seal_in_background(&options(4)).unwrap().finish().unwrap_err();
    assert!(error.to_string().contains(PATH), "{error}");
    memory.heal();
    assert_holds(&storage, 600);
    let reports = writer.seal_in_background(&options(4)).unwrap().finish().unwrap();
    assert_eq!(reports.iter().map(|report| report.records).sum::<u64>(), 600);
    assert_holds(&storage, 600);
}
