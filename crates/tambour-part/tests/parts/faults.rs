//! A disk that fails, fills up or loses power: an error or a whole part, and nothing left behind.

use super::support::{Writing, contents, memory, read_all, zoo};
use arrow_array::RecordBatch;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_part::types::Column;
use tambour_part::write::{Dialect, Partition};
use tambour_part::{Part, PartWriter};
use tambour_storage::Storage;
use tambour_storage::memory::{Calls, EIO, ENOSPC, Fate, Memory};

fn few_columns() -> (Vec<Column>, RecordBatch) {
    let (columns, rows) = zoo();
    let some = [0, 5, 6, 8, 10];
    let columns = some.iter().map(|index| columns[*index].clone()).collect();
    (columns, rows.project(&some).unwrap())
}

/// Writes and finishes; gives up on an error.
fn attempt(
    storage: &Arc<dyn Storage>,
    writing: &Writing,
    rows: &RecordBatch,
) -> Result<(), tambour_part::PartError> {
    let mut writer = PartWriter::create(storage, Path::new("t/tmp"), writing.spec())?;
    let keys = [Arc::clone(rows.column(0))];
    if let Err(error) = writer.write(rows, &keys) {
        assert!(writer.write(rows, &keys).is_err(), "a writer that failed stays failed");
        drop(writer.abort());
        return Err(error);
    }
    if let Err(error) = writer.finish(&Partition::default()) {
        drop(storage.remove_directory(Path::new("t/tmp")));
        return Err(error);
    }
    Ok(())
}

#[test]
fn a_full_or_failing_disk_is_an_error_at_every_call() {
    let (columns, rows) = few_columns();
    let writing = Writing::new(&columns, Dialect::New);
    let (counted, storage) = memory();
    let before = counted.writes();
    attempt(&storage, &writing, &rows).unwrap();
    let calls = counted.writes() - before;
    assert!(calls > 30, "{calls}");
    for call in 0..calls {
        for error in [ENOSPC, EIO] {
            let (memory, storage) = memory();
            memory.fail_at(Calls::Writes, call, error);
            let failure = attempt(&storage, &writing, &rows).unwrap_err();
            assert_eq!(failure.kind(), Kind::Io, "call {call}");
            assert!(failure.place().is_some_and(|place| place.path.starts_with("t/tmp")));
            memory.heal();
            assert!(memory.list(Path::new("t")).unwrap().is_empty(), "call {call}");
        }
    }
}

#[test]
fn a_failing_read_is_an_error_at_every_call() {
    let (columns, rows) = few_columns();
    let (memory, storage) = memory();
    attempt(&storage, &Writing::new(&columns, Dialect::New), &rows).unwrap();
    let look = || {
        let part = Arc::new(Part::open(&storage, Path::new("t/tmp"))?);
        let read = read_all(&part)?;
        let damage = part.verify().damage;
        part.column_sizes()?;
        Ok::<_, tambour_part::PartError>((read, damage.len()))
    };
    let before = memory.reads();
    assert_eq!(look().unwrap(), (rows.clone(), 0));
    let calls = memory.reads() - before;
    for call in 0..calls {
        memory.fail_at(Calls::Reads, call, EIO);
        match look() {
            Ok((read, damage)) => assert!(read == rows && damage > 0, "call {call} of {calls}"),
            Err(error) => assert_eq!(error.kind(), Kind::Io, "call {call}"),
        }
        memory.heal();
    }
}

#[test]
fn a_finished_part_survives_a_power_cut_whole() {
    let (columns, rows) = few_columns();
    let writing = Writing::new(&columns, Dialect::New);
    let (memory, storage) = memory();
    attempt(&storage, &writing, &rows).unwrap();
    let expected = contents(&memory, Path::new("t/tmp"));
    let commit = |memory: &Memory| {
        memory.rename(Path::new("t/tmp"), Path::new("t/all_1_1_0")).unwrap();
        memory.sync_directory(Path::new("t")).unwrap();
    };
    commit(&memory);
    for seed in 0..50 {
        let after = memory.crash(Fate::Drawn(seed));
        assert!(contents(&after, Path::new("t/all_1_1_0")) == expected);
    }
}

#[test]
fn a_power_cut_in_between_leaves_no_part_that_looks_whole() {
    let (columns, rows) = few_columns();
    let writing = Writing::new(&columns, Dialect::New);
    let (counted, storage) = memory();
    let before = counted.writes();
    attempt(&storage, &writing, &rows).unwrap();
    for call in 0..counted.writes() - before {
        let (memory, storage) = memory();
        memory.fail_from(Calls::Writes, call, EIO);
        assert!(attempt(&storage, &writing, &rows).is_err());
        for seed in 0..4 {
            let after: Arc<dyn Storage> = Arc::new(memory.crash(Fate::Drawn(seed)));
            if let Ok(part) = Part::open(&after, Path::new("t/tmp")) {
                // The names of all files happened to reach the disk: then all of their bytes did.
                assert!(read_all(&Arc::new(part)).is_ok_and(|read| read == rows), "call {call}");
            }
        }
    }
}
