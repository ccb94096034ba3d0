//! A crash, or an error, at every call that changes something: nothing that was acknowledged is lost, and the next writer goes
//! on.

use super::super::{RecordError, RecordStore, Retention, verify};
use super::{PATH, disk, dynamic, options, reader, record, records, sealed_and_open, settings};
use std::path::Path;
use std::sync::Arc;
use tambour_storage::Storage;
use tambour_storage::memory::{Calls, EIO, ENOSPC, Fate, Memory};

const FATES: [Fate; 8] = [
    Fate::Lost,
    Fate::Kept,
    Fate::Drawn(1),
    Fate::Drawn(2),
    Fate::Drawn(3),
    Fate::Drawn(4),
    Fate::Reordered { seed: 5, page_bytes: 512 },
    Fate::Reordered { seed: 6, page_bytes: 4096 },
];

/// Appends, seals, appends again; the id after the last record that was acknowledged.
fn work(storage: &Arc<dyn Storage>, acknowledged: &mut u64) -> Result<(), RecordError> {
    let store = RecordStore::open(storage, Path::new(PATH))?;
    let writer = store.writer("default")?;
    for round in 0..3 {
        let first = writer.end();
        for k in 0..2 {
            let first = first + k * 30;
            *acknowledged = writer.append_batch(&records(first..first + 30))?.end;
        }
        writer.append_later(&record(first + 60), Some((first + 60) as i64 * 10))?;
        writer.flush()?;
        *acknowledged = first + 61;
        if round < 2 {
            writer.seal(&options(2), true)?;
        }
    }
    Ok(())
}

/// Every record up to the end is the right one, and a writer goes on.
fn assert_sound(memory: &Memory, acknowledged: u64, what: &str) {
    let storage = dynamic(memory);
    let store = match RecordStore::open(&storage, Path::new(PATH)) {
        Ok(store) => store,
        Err(error) => panic!("{what}: {error}"),
    };
    let writer = store.writer("default").unwrap_or_else(|error| panic!("{what}: {error}"));
    let end = writer.end();
    assert!(end >= acknowledged, "{what}: {end} of {acknowledged} records");
    let mut batch = super::Batch::default();
    batch.push(&record(end), Some(end as i64 * 10));
    assert_eq!(writer.append_batch(&batch).unwrap(), end..end + 1);
    writer.seal(&options(1), true).unwrap_or_else(|error| panic!("{what}: {error}"));
    drop(writer);
    let mut reader = reader(&storage).unwrap();
    assert_eq!(reader.view().ids(), 0..end + 1, "{what}");
    for id in 0..=end {
        assert_eq!(reader.get(id).unwrap(), record(id), "{what}: record {id}");
    }
    let verified = verify(&storage, Path::new(PATH)).unwrap();
    assert!(verified.damage.is_empty(), "{what}: {:?}", verified.damage);
}

fn prepared() -> Memory {
    let memory = disk();
    let storage = dynamic(&memory);
    RecordStore::create(&storage, Path::new(PATH), &settings()).unwrap();
    memory.crash(Fate::Kept)
}

#[test]
fn a_crash_at_every_write_loses_nothing_acknowledged() {
    let before = prepared();
    let whole = before.crash(Fate::Kept);
    let start = whole.writes();
    work(&dynamic(&whole), &mut 0).unwrap();
    let calls = whole.writes() - start;
    assert!(calls > 40, "{calls}");
    for call in 0..calls {
        for error in [EIO, ENOSPC] {
            let memory = before.crash(Fate::Kept);
            memory.fail_from(Calls::Writes, call, error);
            let mut acknowledged = 0;
            work(&dynamic(&memory), &mut acknowledged).unwrap_err();
            for fate in FATES {
                let what = format!("call {call}, {fate:?}");
                assert_sound(&memory.crash(fate), acknowledged, &what);
            }
        }
    }
}

#[test]
fn a_disk_that_is_full_for_a_moment_costs_the_records_that_were_not_acknowledged() {
    let before = prepared();
    for call in 0..30 {
        let memory = before.crash(Fate::Kept);
        let storage = dynamic(&memory);
        let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
        let writer = store.writer("default").unwrap();
        memory.fail_at(Calls::Writes, call, ENOSPC);
        let (mut id, mut failures) = (0, 0);
        while id < 200 {
            match writer.append_batch(&records(id..id + 20)) {
                Ok(ids) => {
                    assert_eq!(ids, id..id + 20);
                    id += 20;
                    if id == 100 {
                        // A full disk in seal: the log stays as it was.
                        let _ = writer.seal(&options(1), true);
                    }
                }
                Err(error) => {
                    assert!(error.to_string().contains(PATH), "{error}");
                    failures += 1;
                }
            }
        }
        assert!(failures <= 1, "{failures}");
        drop(writer);
        let mut reader = reader(&storage).unwrap();
        assert_eq!(reader.view().ids(), 0..200);
        for id in 0..200 {
            assert_eq!(reader.get(id).unwrap(), record(id));
        }
        memory.heal();
        for fate in FATES {
            assert_sound(&memory.crash(fate), 200, &format!("call {call}, {fate:?}"));
        }
    }
}

#[test]
fn records_of_a_failed_commit_are_known_as_lost() {
    let memory = prepared();
    let storage = dynamic(&memory);
    let store = RecordStore::open(&storage, Path::new(PATH)).unwrap();
    let writer = store.writer("default").unwrap();
    let first = writer.append_later(b"waits", None).unwrap();
    memory.fail_at(Calls::Writes, 0, ENOSPC);
    assert!(matches!(writer.append(b"another", None), Err(RecordError::File { .. })));
    assert!(matches!(writer.flush(), Err(RecordError::Lost { id }) if id == first));
    writer.flush().unwrap();
    assert_eq!(writer.append(b"again", None).unwrap(), first);
    assert_eq!(reader(&storage).unwrap().get(first).unwrap(), b"again");
}

#[test]
fn retention_survives_crashes_without_a_gap() {
    let before = sealed_and_open(900, 10, 1).crash(Fate::Kept);
    let retain = |memory: &Memory| {
        let store = RecordStore::open(&dynamic(memory), Path::new(PATH))?;
        let writer = store.writer("default")?;
        writer.retain(&Retention { before: None, bytes_max: Some(0) })
    };
    let whole = before.crash(Fate::Kept);
    let start = whole.writes();
    assert!(retain(&whole).unwrap().segments > 1);
    for call in 0..whole.writes() - start {
        let memory = before.crash(Fate::Kept);
        memory.fail_from(Calls::Writes, call, EIO);
        retain(&memory).unwrap_err();
        for fate in FATES {
            let storage = dynamic(&memory.crash(fate));
            let mut reader = reader(&storage).unwrap();
            let ids = reader.view().ids();
            assert_eq!(ids.end, 910);
            for id in ids {
                assert_eq!(reader.get(id).unwrap(), record(id));
            }
        }
    }
}
