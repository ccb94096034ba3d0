//! Directories that are not tables of ours, or not yet, or that change while they are read.

use super::{
    STATEMENT, assert_tidy, contents, definition, insert, merge_all, options, read, rows, scratch,
};
use crate::insert::{Existing, InsertOptions};
use crate::verify::verify;
use crate::{SIDECAR, Table};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tambour_codec::Kind;
use tambour_storage::memory::Memory;
use tambour_storage::{Storage, disk};

/// A directory as ClickHouse would have it: parts, no sidecar.
fn without_sidecar() -> (Memory, Arc<dyn Storage>, Vec<Vec<u8>>) {
    let memory = Memory::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let definition = definition(STATEMENT);
    for first in [0, 60] {
        let seeds: Vec<(u16, u32)> =
            (0..60).map(|at| (at % 2 * 31, u32::from(at) * 7 % 50)).collect();
        let batch = rows(&definition, first, &seeds);
        insert(&storage, Path::new("t"), &definition, options(), &[batch]).unwrap();
    }
    let rows = read(&storage, Path::new("t")).unwrap();
    memory.remove_file(&Path::new("t").join(SIDECAR)).unwrap();
    memory.remove_file(&Path::new("t").join(".tambour.lock")).unwrap();
    (memory, storage, rows)
}

#[test]
fn parts_without_a_sidecar_are_a_table() {
    let (memory, storage, rows) = without_sidecar();
    let path = Path::new("t");
    assert_eq!(read(&storage, path).unwrap(), rows);
    let table = Table::open_on(&storage, path).unwrap();
    assert!(table.definition().is_none());
    assert_eq!(table.columns(), definition(STATEMENT).plain_columns());
    assert!(verify(&storage, path, &mut |_| {}).unwrap().damage.is_empty());
    // Nothing is changed without the definition, and nothing is left behind by trying.
    let before = memory.list(path).unwrap();
    assert_eq!(merge_all(&storage, path, 1 << 20).unwrap_err().kind(), Kind::Argument);
    let append = |existing| InsertOptions { existing, ..options() };
    let known = definition(STATEMENT);
    let error = insert(&storage, path, &known, append(Existing::Append), &[]).unwrap_err();
    assert_eq!(error.kind(), Kind::Argument);
    let error = insert(&storage, path, &known, append(Existing::Refuse), &[]).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
    assert_eq!(memory.list(path).unwrap(), before);
}

#[test]
fn a_statement_beside_the_parts_makes_them_mergeable() {
    let (memory, storage, mut expected) = without_sidecar();
    let path = Path::new("t");
    memory.put(&path.join("create.sql"), STATEMENT.as_bytes());
    // Outdated: covered by a part that a merge on the server made.
    for file in memory.list(&path.join("202201_1_1_0")).unwrap() {
        let bytes = memory.read(&path.join("202201_1_1_0").join(&file.name), u64::MAX).unwrap();
        memory.put(&path.join("202201_1_1_1").join(&file.name), &bytes);
    }
    assert_eq!(read(&storage, path).unwrap(), expected);
    let more = rows(&definition(STATEMENT), 500, &[(0, 3)]);
    insert(&storage, path, &definition(STATEMENT), options(), std::slice::from_ref(&more)).unwrap();
    expected.extend(contents(&[more]));
    expected.sort_unstable();
    assert_eq!(read(&storage, path).unwrap(), expected);
    assert!(!memory.exists(&path.join("202201_1_1_0")).unwrap());
    let summary = merge_all(&storage, path, 1 << 20).unwrap();
    assert_eq!((summary.parts_before, summary.parts_after), (5, 2));
    assert_eq!(read(&storage, path).unwrap(), expected);
    memory.remove_file(&path.join("create.sql")).unwrap();
    assert_tidy(&storage, path);
}

#[test]
fn a_single_part_is_a_table_too() {
    let (_, storage, rows) = without_sidecar();
    let table = Table::open_on(&storage, Path::new("t/202201_1_1_0")).unwrap();
    assert_eq!((table.parts().len(), table.rows(), table.name()), (1, 30, "202201_1_1_0"));
    assert_eq!(read(&storage, Path::new("t/202201_1_1_0")).unwrap().len(), 30);
    assert!(rows.len() > 30);
    let seen = verify(&storage, Path::new("t/202201_1_1_0"), &mut |_| {}).unwrap();
    assert_eq!((seen.parts, seen.rows, seen.damage.len()), (1, 30, 0));
}

#[test]
fn other_directories_are_left_alone() {
    let memory = Memory::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    memory.put(Path::new("documents/letter.txt"), b"Dear");
    memory.put(Path::new("old/format_version.txt"), b"7");
    memory.put(Path::new("old/all_1_1_0/count.txt"), b"1");
    let definition = definition(STATEMENT);
    let error = insert(&storage, Path::new("documents"), &definition, options(), &[]).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
    assert!(error.to_string().contains("letter.txt"), "{error}");
    assert_eq!(memory.list(Path::new("documents")).unwrap().len(), 1);
    for (path, kind) in
        [("documents", Kind::NotFound), ("nowhere", Kind::NotFound), ("old", Kind::Unsupported)]
    {
        assert_eq!(Table::open_on(&storage, Path::new(path)).unwrap_err().kind(), kind, "{path}");
        assert_eq!(
            verify(&storage, Path::new(path), &mut |_| {}).unwrap_err().kind(),
            kind,
            "{path}"
        );
    }
    assert_eq!(merge_all(&storage, Path::new("nowhere"), 1).unwrap_err().kind(), Kind::NotFound);
    assert!(!memory.exists(Path::new("nowhere")).unwrap());
    // A directory whose parent is missing is not made.
    let error = insert(&storage, Path::new("a/b"), &definition, options(), &[]).unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound);
}

#[test]
fn a_table_of_the_oldest_clickhouse_opens_and_is_sound() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden/clickhouse-18.16/t");
    let table = Table::open(&path).unwrap();
    let definition = table.definition().unwrap();
    assert_eq!(table.columns(), definition.plain_columns());
    assert!(table.rows() > 0);
    let seen = verify(&disk(), &path, &mut |_| {}).unwrap();
    assert!(seen.damage.is_empty(), "{:?}", seen.damage);
    assert_eq!(seen.rows, table.rows());
}

#[test]
fn the_directory_can_be_handed_to_clickhouse() {
    let (_, storage, _) = without_sidecar();
    assert_eq!(storage.read(Path::new("t/format_version.txt"), 10).unwrap(), b"1");
    assert!(storage.list(Path::new("t/detached")).unwrap().is_empty());
}

#[test]
fn a_thousand_parts_open() {
    let directory = scratch();
    let path = directory.path().join("t");
    let definition = definition(
        "CREATE TABLE t (d Date, k UInt32, id UInt64) ENGINE = MergeTree PARTITION BY k ORDER BY id",
    );
    let seeds: Vec<(u16, u32)> = (0..1000).map(|at| (0, at)).collect();
    insert(&disk(), &path, &definition, options(), &[rows(&definition, 0, &seeds)]).unwrap();
    let table = Table::open(&path).unwrap();
    assert_eq!((table.parts().len(), table.rows()), (1000, 1000));
}

/// While one thread appends and merges, others always see a whole table. What they held is removed by the next writer.
#[test]
fn readers_see_whole_tables_while_others_write() {
    let directory = scratch();
    let path = directory.path().join("t");
    let definition = definition(
        "CREATE TABLE t (d Date, k UInt32, id UInt64) ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY k",
    );
    let batch = |first| rows(&definition, first, &[(0, 5), (40, 3), (0, 1), (40, 9)]);
    insert(&disk(), &path, &definition, options(), &[batch(0)]).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = || {
            let (mut reads, mut last) = (0, 0);
            while !is_done.load(Ordering::Acquire) {
                let rows = Table::open(&path).unwrap().rows();
                assert!(rows.is_multiple_of(4) && rows >= last, "{rows} after {last}");
                (reads, last) = (reads + 1, rows);
            }
            reads
        };
        let readers = [scope.spawn(reader), scope.spawn(reader)];
        for number in 1..40 {
            insert(&disk(), &path, &definition, options(), &[batch(4 * number)]).unwrap();
            if number % 3 == 0 {
                merge_all(&disk(), &path, 1 << 20).unwrap();
            }
        }
        is_done.store(true, Ordering::Release);
        for reader in readers {
            assert!(reader.join().unwrap() > 0);
        }
    });
    assert_eq!(read(&disk(), &path).unwrap().len(), 160);
    merge_all(&disk(), &path, 1 << 20).unwrap();
    assert_tidy(&disk(), &path);
}

/// A statement beside parts that is not theirs leaves no row out, and nothing is taken as sorted by it.
#[test]
fn a_key_that_the_parts_do_not_have_is_not_used() {
    use crate::predicate::{Comparison, Constant, Predicate};
    use crate::scan::{Scan, ScanRequest};
    use crate::schema::expression::Expression;
    let (memory, storage, expected) = without_sidecar();
    let path = Path::new("t");
    let granules_left = |statement: &str, column: &str, value: i128| {
        memory.put(&path.join("create.sql"), statement.as_bytes());
        let table = Table::open_on(&storage, path).unwrap();
        assert_eq!(read(&storage, path).unwrap(), expected, "{statement}");
        let predicate = Predicate::Compare(
            Expression::Column(column.to_owned()),
            Comparison::GreaterOrEqual,
            Constant::Integer(value),
        );
        let request =
            ScanRequest { columns: vec![column.to_owned()], predicate, ..ScanRequest::default() };
        let (_, pruned) = Scan::plan(&table, &request).unwrap();
        (pruned.granules_left, pruned.granules_total, table.definition().unwrap().order_by.len())
    };
    let (left, total, keys) = granules_left(STATEMENT, "k", 45);
    assert!(left < total && keys == 2, "{left} of {total}");
    for wrong in ["ORDER BY id", "ORDER BY (id, k)", "ORDER BY (n, s)", "ORDER BY (k, id)"] {
        let statement = STATEMENT
            .replace("ORDER BY (k, s)", wrong)
            .replace("SETTINGS ", "SETTINGS allow_nullable_key = 1, ");
        let (left, total, keys) = granules_left(&statement, "id", 0);
        assert_eq!((left, keys), (total, 0), "{wrong}");
        assert_eq!(
            merge_all(&storage, path, 1 << 20).unwrap_err().kind(),
            Kind::Conflict,
            "{wrong}"
        );
    }
}

/// A column of a type out of scope is shown, and refused where it is read.
#[test]
fn columns_of_foreign_types_are_shown() {
    use crate::scan::{Scan, ScanRequest};
    let directory = scratch();
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden/clickhouse-26.9");
    let from = golden.join("compact/all_1_1_0");
    let part = directory.path().join("all_1_1_0");
    std::fs::create_dir_all(&part).unwrap();
    for entry in std::fs::read_dir(&from).unwrap() {
        let name = entry.unwrap().file_name();
        std::fs::copy(from.join(&name), part.join(&name)).unwrap();
    }
    let columns = std::fs::read_to_string(part.join("columns.txt")).unwrap();
    std::fs::write(part.join("columns.txt"), columns.replace("`s` String", "`s` JSON")).unwrap();
    let create = std::fs::read_to_string(golden.join("compact/create.sql")).unwrap();
    for statement in [None, Some(create.replace("`s` String", "`s` JSON"))] {
        if let Some(statement) = &statement {
            std::fs::write(directory.path().join("create.sql"), statement).unwrap();
        }
        let table = Table::open(directory.path()).unwrap();
        let names: Vec<String> =
            table.columns().iter().map(|it| format!("{} {}", it.name, it.data_type)).collect();
        assert!(names.contains(&"s JSON".to_owned()) && names.len() == 4, "{names:?}");
        let scan = |columns: &[&str]| {
            let columns = columns.iter().map(|name| (*name).to_owned()).collect();
            let request = ScanRequest { columns, ..ScanRequest::default() };
            let (scan, _) = Scan::plan(&table, &request).unwrap();
            let mut rows = 0;
            for batch in scan.run(0, &disk(), Some(&table))? {
                rows += batch?.num_rows();
            }
            Ok::<usize, crate::TableError>(rows)
        };
        assert_eq!(scan(&["k", "n", "d"]).unwrap(), 200);
        let error = scan(&["k", "s"]).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported, "{error:?}");
    }
}
