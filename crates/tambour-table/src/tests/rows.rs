//! What goes in comes out, sorted, in as many parts as it should be.

use super::{
    STATEMENT, assert_tidy, contents, definition, insert, merge_all, options, read, read_part, rows,
};
use crate::Table;
use crate::insert::{Existing, Insert, InsertOptions};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use std::path::Path;
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_part::write::Dialect;
use tambour_storage::Storage;
use tambour_storage::memory::Memory;

pub(super) fn memory() -> Arc<dyn Storage> {
    Arc::new(Memory::new())
}

/// Numbers that look random and are the same in every run.
pub(super) fn seeds(count: u32, partitions: u16, keys: u32) -> Vec<(u16, u32)> {
    let number = |at: u32| at.wrapping_mul(2_654_435_761) >> 7;
    let day = |at: u32| u16::try_from(number(at ^ 0x5555) % u32::from(partitions)).unwrap() * 31;
    (0..count).map(|at| (day(at), number(at) % keys)).collect()
}

/// Checks the order of every part without the code that made it.
fn assert_sorted(table: &Table) {
    for part in 0..table.parts().len() {
        let mut last: Option<(u32, String, u64)> = None;
        for batch in read_part(table, part) {
            let keys = batch.column(1).as_primitive::<UInt32Type>();
            let texts = batch.column(2).as_string_view();
            let ids = batch.column(6).as_primitive::<UInt64Type>();
            for row in 0..batch.num_rows() {
                let key = (keys.value(row), texts.value(row).to_owned(), ids.value(row));
                // Equal keys stay in the order in which they came, which the ids show.
                assert!(last.as_ref().is_none_or(|last| *last < key), "{last:?} before {key:?}");
                last = Some(key);
            }
        }
    }
}

#[test]
fn an_empty_insert_makes_an_empty_table() {
    let (storage, path) = (memory(), Path::new("t"));
    let summary = insert(&storage, path, &definition(STATEMENT), options(), &[]).unwrap();
    assert_eq!((summary.rows, summary.parts), (0, 0));
    assert!(read(&storage, path).unwrap().is_empty());
    let table = Table::open_on(&storage, path).unwrap();
    assert_eq!(table.definition().unwrap().to_string(), definition(STATEMENT).to_string());
    assert_eq!(table.columns().len(), 7);
    assert_tidy(&storage, path);
}

#[test]
fn one_part_per_partition_however_often_rows_are_spilled() {
    let definition = definition(STATEMENT);
    let seeds = seeds(6000, 5, 1000);
    let batches: Vec<RecordBatch> = seeds
        .chunks(500)
        .enumerate()
        .map(|(number, chunk)| rows(&definition, 500 * number as u64, chunk))
        .collect();
    // From "everything at once" to "a spill every few rows, and several passes of merging".
    for (memory_bytes, threads) in [(64 << 20, 1), (1 << 20, 2), (1, 1), (1, 3)] {
        let (storage, path) = (memory(), Path::new("t"));
        let options = InsertOptions { memory_bytes, threads, ..options() };
        let summary = insert(&storage, path, &definition, options, &batches).unwrap();
        assert_eq!((summary.rows, summary.parts), (6000, 5));
        assert_eq!(read(&storage, path).unwrap(), contents(&batches));
        assert_sorted(&Table::open_on(&storage, path).unwrap());
        assert_tidy(&storage, path);
    }
}

#[test]
fn sorted_input_is_written_once_and_never_merged() {
    let definition = definition(
        "CREATE TABLE t (d Date, k UInt32, s String, n Nullable(Int64), l LowCardinality(String), \
         e Enum8('low' = -1, 'high' = 1), id UInt64) ENGINE = MergeTree ORDER BY id",
    );
    let batches: Vec<RecordBatch> =
        (0..40).map(|number| rows(&definition, 100 * number, &seeds(100, 3, 50))).collect();
    let storage = Memory::new();
    let dynamic: Arc<dyn Storage> = Arc::new(storage.clone());
    let options = InsertOptions { memory_bytes: 1, ..options() };
    insert(&dynamic, Path::new("t"), &definition, options, &batches).unwrap();
    assert_eq!(read(&dynamic, Path::new("t")).unwrap(), contents(&batches));
    // One part: its directory is made once, beside `t` and `t/detached`.
    assert_eq!(Table::open_on(&dynamic, Path::new("t")).unwrap().parts().len(), 1);
    assert_tidy(&dynamic, Path::new("t"));
}

#[test]
fn parts_are_cut_at_the_wanted_number_of_rows() {
    let definition = definition(STATEMENT);
    let batch = rows(&definition, 0, &seeds(1000, 2, 77));
    for memory_bytes in [64 << 20, 1] {
        let (storage, path) = (memory(), Path::new("t"));
        let options = InsertOptions { memory_bytes, rows_per_part: Some(130), ..options() };
        let batches: Vec<RecordBatch> = (0..10).map(|at| batch.slice(100 * at, 100)).collect();
        insert(&storage, path, &definition, options, &batches).unwrap();
        let table = Table::open_on(&storage, path).unwrap();
        let mut by_partition = std::collections::BTreeMap::<&str, Vec<u64>>::new();
        for (name, part) in table.part_names().iter().zip(table.parts()) {
            by_partition.entry(name.split('_').next().unwrap()).or_default().push(part.rows());
        }
        for sizes in by_partition.values() {
            let (last, full) = sizes.split_last().unwrap();
            assert!(full.iter().all(|rows| *rows == 130) && (1..=130).contains(last), "{sizes:?}");
        }
        assert_eq!(read(&storage, path).unwrap(), contents(std::slice::from_ref(&batch)));
        assert_sorted(&table);
        assert_tidy(&storage, path);
        // Merging puts them together again.
        let summary = merge_all(&storage, path, 64 << 20).unwrap();
        assert_eq!((summary.parts_after, summary.rows), (2, 1000));
        assert_eq!(read(&storage, path).unwrap(), contents(std::slice::from_ref(&batch)));
        assert_tidy(&storage, path);
    }
}

#[test]
fn without_a_sorting_key_rows_stay_as_they_came() {
    let definition = definition(
        "CREATE TABLE t (d Date, k UInt32, s String, n Nullable(Int64), l LowCardinality(String), \
         e Enum8('low' = -1, 'high' = 1), id UInt64) ENGINE = MergeTree ORDER BY tuple()",
    );
    let (storage, path) = (memory(), Path::new("t"));
    let batches: Vec<RecordBatch> =
        (0..10).map(|number| rows(&definition, 90 * number, &seeds(90, 3, 50))).collect();
    insert(&storage, path, &definition, InsertOptions { memory_bytes: 1, ..options() }, &batches)
        .unwrap();
    insert(&storage, path, &definition, options(), &[rows(&definition, 900, &[(1, 1)])]).unwrap();
    merge_all(&storage, path, 1).unwrap();
    let table = Table::open_on(&storage, path).unwrap();
    assert_eq!(table.part_names(), ["all_1_2_1"]);
    let mut ids = Vec::new();
    for batch in read_part(&table, 0) {
        ids.extend_from_slice(batch.column(6).as_primitive::<UInt64Type>().values());
    }
    assert_eq!(ids, (0..901).collect::<Vec<u64>>());
    assert_tidy(&storage, path);
}

#[test]
fn many_partitions_do_not_mean_many_open_parts() {
    let definition = definition(
        "CREATE TABLE t (d Date, k UInt32, s String, n Nullable(Int64), l LowCardinality(String), \
         e Enum8('low' = -1, 'high' = 1), id UInt64) ENGINE = MergeTree PARTITION BY d ORDER BY k",
    );
    let (storage, path) = (memory(), Path::new("t"));
    let seeds: Vec<(u16, u32)> =
        (0..1200_u32).map(|at| (u16::try_from(at * 7 % 300).unwrap(), at)).collect();
    let batch = rows(&definition, 0, &seeds);
    let batches: Vec<RecordBatch> = (0..3).map(|at| batch.slice(400 * at, 400)).collect();
    let options = InsertOptions { memory_bytes: 1, ..options() };
    let summary = insert(&storage, path, &definition, options, &batches).unwrap();
    assert_eq!(summary.parts, 300);
    assert_eq!(read(&storage, path).unwrap(), contents(&[batch]));
    assert_tidy(&storage, path);
}

#[test]
fn absurdly_many_partitions_are_refused() {
    let definition = definition(
        "CREATE TABLE t (d Date, k UInt32, s String, n Nullable(Int64), l LowCardinality(String), \
         e Enum8('low' = -1, 'high' = 1), id UInt64) ENGINE = MergeTree PARTITION BY id ORDER BY k",
    );
    let (storage, path) = (memory(), Path::new("t"));
    let batch = rows(&definition, 0, &vec![(1, 1); 10_001]);
    let error = insert(&storage, path, &definition, options(), &[batch]).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit);
    assert!(!storage.exists(path).unwrap());
}

#[test]
fn the_old_dialect_stays_old_when_merged() {
    let (storage, path, definition) = (memory(), Path::new("t"), definition(STATEMENT));
    let old = InsertOptions { dialect: Dialect::Old, memory_bytes: 1, ..options() };
    let batches =
        [rows(&definition, 0, &seeds(300, 1, 50)), rows(&definition, 300, &seeds(200, 1, 50))];
    for batch in &batches {
        insert(&storage, path, &definition, old.clone(), std::slice::from_ref(batch)).unwrap();
    }
    merge_all(&storage, path, 1).unwrap();
    let table = Table::open_on(&storage, path).unwrap();
    assert_eq!(table.parts().len(), 1);
    assert_eq!(table.parts()[0].mark_extension(), "mrk");
    assert_eq!(read(&storage, path).unwrap(), contents(&batches));
    // Mixed parts become new ones.
    insert(&storage, path, &definition, options(), &batches[..1]).unwrap();
    merge_all(&storage, path, 1).unwrap();
    assert_eq!(Table::open_on(&storage, path).unwrap().parts()[0].mark_extension(), "mrk2");
    assert_tidy(&storage, path);
}

#[test]
fn refusing_appending_and_replacing() {
    let (storage, path, known) = (memory(), Path::new("t"), definition(STATEMENT));
    let batches = [rows(&known, 0, &seeds(50, 2, 9)), rows(&known, 50, &seeds(70, 2, 9))];
    let with = |existing| InsertOptions { existing, ..options() };
    insert(&storage, path, &known, with(Existing::Refuse), &batches[..1]).unwrap();
    let refused = insert(&storage, path, &known, with(Existing::Refuse), &batches[1..]);
    assert_eq!(refused.unwrap_err().kind(), Kind::Conflict);
    insert(&storage, path, &known, with(Existing::Append), &batches[1..]).unwrap();
    assert_eq!(read(&storage, path).unwrap(), contents(&batches));
    for (from, to) in [("ORDER BY (k, s)", "ORDER BY k"), ("UInt64", "Int64"), ("toYYYYMM(d)", "d")]
    {
        let other = definition(&STATEMENT.replace(from, to));
        let error = insert(&storage, path, &other, with(Existing::Append), &[]).unwrap_err();
        assert_eq!(error.kind(), Kind::Conflict, "{error}");
    }
    insert(&storage, path, &known, with(Existing::Replace), &batches[..1]).unwrap();
    assert_eq!(read(&storage, path).unwrap(), contents(&batches[..1]));
    assert_tidy(&storage, path);
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let (storage, path, definition) = (memory(), Path::new("t"), definition(STATEMENT));
    let batch = rows(&definition, 0, &seeds(50, 2, 9));
    let mut insert = Insert::begin(&storage, path, &definition, options()).unwrap();
    let narrow = batch.project(&[0, 1, 2]).unwrap();
    assert_eq!(insert.write(narrow).unwrap_err().kind(), Kind::Argument);
    insert.write(batch.clone()).unwrap();
    let other = batch.project(&[1, 0, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!(insert.write(other).unwrap_err().kind(), Kind::Argument);
    insert.abort().unwrap();
    assert!(!storage.exists(path).unwrap());
}

#[test]
fn a_dropped_or_aborted_insert_leaves_no_trace() {
    let (storage, path, definition) = (memory(), Path::new("t"), definition(STATEMENT));
    let batch = rows(&definition, 0, &seeds(500, 2, 9));
    for threads in [1, 2] {
        let options = InsertOptions { memory_bytes: 1, threads, ..options() };
        let mut first = Insert::begin(&storage, path, &definition, options.clone()).unwrap();
        first.write(batch.clone()).unwrap();
        let locked = Insert::begin(&storage, path, &definition, options.clone()).unwrap_err();
        assert_eq!(locked.kind(), Kind::Conflict);
        assert!(locked.to_string().contains(&std::process::id().to_string()), "{locked}");
        assert_eq!(Table::open_on(&storage, path).unwrap_err().kind(), Kind::NotFound);
        drop(first);
        assert!(!storage.exists(path).unwrap());
    }
    insert(&storage, path, &definition, options(), std::slice::from_ref(&batch)).unwrap();
    let before = storage.list(path).unwrap();
    let mut second = Insert::begin(&storage, path, &definition, options()).unwrap();
    second.write(batch).unwrap();
    second.abort().unwrap();
    assert_eq!(storage.list(path).unwrap(), before);
    assert_tidy(&storage, path);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Random rows, cut anyhow, with any memory: the table has exactly these rows, sorted in each part; also after merging.
    #[test]
    fn tables_hold_what_was_put_in(
        inserts in prop::collection::vec(
            prop::collection::vec(prop::collection::vec((0_u16..90, 0_u32..40), 0..120), 0..8), 1..4),
        memory_bytes in prop::sample::select(vec![1_u64, 60 << 10, 400 << 10, 64 << 20]),
        rows_per_part in prop::option::of(1_u64..150),
        threads in 1_usize..3,
        is_old in any::<bool>(),
    ) {
        let definition = definition(STATEMENT);
        let (storage, path) = (memory(), Path::new("t"));
        let dialect = if is_old { Dialect::Old } else { Dialect::New };
        let options = InsertOptions { dialect, rows_per_part, memory_bytes, threads, ..options() };
        let (mut all, mut id) = (Vec::new(), 0);
        for batches in &inserts {
            let batches: Vec<RecordBatch> = batches.iter().map(|seeds| {
                let batch = rows(&definition, id, seeds);
                id += seeds.len() as u64;
                batch
            }).collect();
            insert(&storage, path, &definition, options.clone(), &batches).unwrap();
            all.extend(batches);
        }
        assert_eq!(read(&storage, path).unwrap(), contents(&all));
        let table = Table::open_on(&storage, path).unwrap();
        assert!(table.parts().iter().all(|part| part.rows() <= rows_per_part.unwrap_or(u64::MAX)));
        assert_sorted(&table);
        assert_tidy(&storage, path);
        merge_all(&storage, path, memory_bytes).unwrap();
        assert_eq!(read(&storage, path).unwrap(), contents(&all));
        let merged = Table::open_on(&storage, path).unwrap();
        assert_sorted(&merged);
        let partitions: std::collections::BTreeSet<_> =
            table.part_names().iter().map(|name| name.split('_').next().unwrap().to_owned()).collect();
        assert_eq!(merged.parts().len(), partitions.len());
        assert_tidy(&storage, path);
    }
}
