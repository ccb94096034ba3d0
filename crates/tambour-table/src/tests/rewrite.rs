//! Merges that write parts anew for their form or their codecs.

use super::{assert_tidy, definition, insert, merge_all, options, read, rows, scratch};
use crate::alter::Altered;
use crate::insert::{Existing, InsertOptions};
use crate::merge::{OptimizeOptions, OptimizeSummary, optimize_with};
use crate::recompress::recompress;
use crate::rewrite::{Rewrite, detached_parts, drop_detached};
use crate::schema::alter::Alteration;
use crate::{Table, TableError};
use arrow_buffer::BooleanBuffer;
use std::path::{Path, PathBuf};
use tambour_codec::Kind;
use tambour_codec::spec::CodecSpec;
use tambour_part::part::Form;
use tambour_storage::disk;

const OPTIONS: OptimizeOptions =
    OptimizeOptions { memory_bytes: 1 << 20, threads: 1, now: None, partition: None };

fn with_codecs(path: &Path, codecs: &[(&str, &str)]) -> Result<OptimizeSummary, TableError> {
    let choose = |column: &str| -> Option<CodecSpec> {
        let own = codecs.iter().find(|(name, _)| *name == column);
        own.or(codecs.iter().find(|(name, _)| name.is_empty())).map(|it| it.1.parse().unwrap())
    };
    optimize_with(&disk(), path, &OPTIONS, Some(&choose), &mut |_| {})
}

/// A copy of a server's table with one compact part.
fn compact(directory: &Path) -> PathBuf {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden/clickhouse-26.9");
    let (from, to) = (golden.join("compact"), directory.join("compact"));
    std::fs::create_dir_all(to.join("all_1_1_0")).unwrap();
    std::fs::copy(from.join("create.sql"), to.join("create.sql")).unwrap();
    for entry in std::fs::read_dir(from.join("all_1_1_0")).unwrap() {
        let name = entry.unwrap().file_name();
        std::fs::copy(from.join("all_1_1_0").join(&name), to.join("all_1_1_0").join(&name))
            .unwrap();
    }
    to
}

fn codecs(table: &Table) -> Vec<String> {
    let columns = table.definition().unwrap().columns.iter();
    columns.map(|it| it.codec.as_ref().map_or_else(String::new, ToString::to_string)).collect()
}

#[test]
fn a_compact_part_that_is_alone_becomes_wide() {
    let directory = scratch();
    let path = compact(directory.path());
    let before = read(&disk(), &path).unwrap();
    assert_eq!(before.len(), 200);
    let zstd = |_: &str| Some("ZSTD(3)".parse().unwrap());
    let refused = recompress(&disk(), &path, &zstd, &mut |_| {}).unwrap_err();
    assert_eq!(refused.kind(), Kind::Unsupported);
    let cause = std::error::Error::source(&refused).map(ToString::to_string).unwrap_or_default();
    let said = format!("{refused} {cause}");
    assert!(said.contains("tambour optimize --codec"), "{said}");
    let summary = merge_all(&disk(), &path, 1 << 20).unwrap();
    assert_eq!((summary.parts_before, summary.parts_after, summary.rows), (1, 1, 200));
    let table = Table::open(&path).unwrap();
    assert_eq!(table.parts()[0].form(), Form::Wide);
    assert_eq!(table.part_names(), ["all_1_1_1"]);
    assert_eq!(read(&disk(), &path).unwrap(), before);
    // Now it is like any other.
    assert!(recompress(&disk(), &path, &zstd, &mut |_| {}).unwrap().parts == 1);
    assert_eq!(merge_all(&disk(), &path, 1 << 20).unwrap().rows, 0);
    assert_eq!(read(&disk(), &path).unwrap(), before);
}

#[test]
fn codecs_may_come_with_the_merge() {
    let directory = scratch();
    let path = compact(directory.path());
    let before = read(&disk(), &path).unwrap();
    let summary = with_codecs(&path, &[("", "auto(size)"), ("k", "Delta(4), ZSTD(1)")]).unwrap();
    assert_eq!((summary.parts_after, summary.rows), (1, 200));
    let table = Table::open(&path).unwrap();
    assert_eq!(table.parts()[0].form(), Form::Wide);
    assert_eq!(codecs(&table), ["Delta(4), ZSTD(1)", "auto(size)", "auto(size)", "auto(size)"]);
    assert_eq!(read(&disk(), &path).unwrap(), before);
}

#[test]
fn other_codecs_rewrite_parts_that_are_alone() {
    let directory = scratch();
    let path = directory.path().join("t");
    let definition = definition(
        "CREATE TABLE t (d Date, k UInt32, s String, id UInt64) ENGINE = MergeTree PARTITION BY d ORDER BY k",
    );
    let seeds: Vec<(u16, u32)> = (0..3000).map(|at| (at % 3, u32::from(at))).collect();
    insert(&disk(), &path, &definition, options(), &[rows(&definition, 0, &seeds)]).unwrap();
    let before = read(&disk(), &path).unwrap();
    let size = |path: &Path| -> u64 {
        let table = Table::open(path).unwrap();
        table.parts().iter().map(|part| part.bytes_on_disk()).sum()
    };
    let none = with_codecs(&path, &[("", "NONE")]).unwrap();
    assert_eq!((none.parts_before, none.parts_after, none.rows), (3, 3, 3000));
    let large = size(&path);
    with_codecs(&path, &[("s", "ZSTD(3)")]).unwrap();
    assert!(size(&path) < large, "{} of {large}", size(&path));
    assert_eq!(codecs(&Table::open(&path).unwrap()), ["NONE", "NONE", "ZSTD(3)", "NONE"]);
    assert_eq!(read(&disk(), &path).unwrap(), before);
    assert_tidy(&disk(), &path);
    // A codec that does not suit a column changes nothing.
    let error = with_codecs(&path, &[("s", "T64")]).unwrap_err();
    assert_eq!(error.kind(), Kind::Argument, "{error}");
    assert_eq!(codecs(&Table::open(&path).unwrap()), ["NONE", "NONE", "ZSTD(3)", "NONE"]);
    assert_tidy(&disk(), &path);
}

/// A table of three partitions, a part each.
fn partitioned(path: &Path) -> crate::schema::TableDefinition {
    let definition = definition(
        "CREATE TABLE t (d Date, k UInt32, s String, id UInt64) ENGINE = MergeTree PARTITION BY d ORDER BY k",
    );
    let seeds: Vec<(u16, u32)> = (0..300).map(|at| (at % 3, u32::from(at))).collect();
    insert(&disk(), path, &definition, options(), &[rows(&definition, 0, &seeds)]).unwrap();
    definition
}

fn detached(path: &Path) -> Vec<String> {
    detached_parts(&disk(), path).unwrap()
}

fn begin(path: &Path) -> Rewrite {
    Rewrite::begin(&disk(), path, "a test", options()).unwrap()
}

#[test]
fn detached_parts_wait_for_readers_and_come_back() {
    let directory = scratch();
    let path = directory.path().join("t");
    partitioned(&path);
    let before = read(&disk(), &path).unwrap();
    let reader = Table::open(&path).unwrap();
    let first = reader.part_names()[0].clone();
    let mut rewrite = begin(&path);
    rewrite.detach_part(&first).unwrap();
    assert_eq!(rewrite.commit().unwrap().parts, 1);
    assert_eq!(detached(&path), [""; 0], "a reader has it");
    assert_eq!(Table::open(&path).unwrap().rows(), 200);
    drop(reader);
    crate::remove_replaced(&disk(), &path).unwrap();
    assert_eq!(detached(&path), std::slice::from_ref(&first));
    assert_tidy(&disk(), &path);

    let mut rewrite = begin(&path);
    rewrite.attach_part(&first).unwrap();
    assert!(rewrite.attach_part(&first).is_err(), "twice");
    assert_eq!(rewrite.commit().unwrap().parts_added, 1);
    assert_eq!(read(&disk(), &path).unwrap(), before);
    assert!(detached(&path).is_empty());
    assert!(!Table::open(&path).unwrap().part_names().contains(&first), "it has a free name");
    assert_tidy(&disk(), &path);
}

#[test]
fn what_does_not_fit_is_not_attached() {
    let directory = scratch();
    let path = directory.path().join("t");
    partitioned(&path);
    let other = |name: &str, statement: &str| {
        let path = directory.path().join(name);
        let definition = definition(statement);
        let seeds: Vec<(u16, u32)> = (0..100).map(|at| (0, at)).collect();
        insert(&disk(), &path, &definition, options(), &[rows(&definition, 0, &seeds)]).unwrap();
        let part = Table::open(&path).unwrap().part_names()[0].clone();
        (path.join(&part), part)
    };
    let columns = "(d Date, k UInt32, s String, id UInt64";
    for (name, statement, told) in [
        ("columns", format!("CREATE TABLE t {columns}, x UInt8) ENGINE = MergeTree PARTITION BY d ORDER BY k"), "x"),
        (
            "type",
            "CREATE TABLE t (d Date, k UInt32, s String, id String) ENGINE = MergeTree PARTITION BY d ORDER BY k"
                .to_owned(),
            "id String",
        ),
        ("order", format!("CREATE TABLE t {columns}) ENGINE = MergeTree PARTITION BY d ORDER BY s"), "primary"),
        ("partition", format!("CREATE TABLE t {columns}) ENGINE = MergeTree ORDER BY k"), "partition"),
    ] {
        let (from, part) = other(name, &statement);
        let to = path.join("detached").join(&part);
        std::fs::rename(from, &to).unwrap();
        let error = begin(&path).attach_part(&part).unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert!(format!("{error} {cause}").contains(told), "{name}: {error} {cause}");
        assert_eq!(detached(&path), std::slice::from_ref(&part), "{name}");
        assert_eq!(drop_detached(&disk(), &path, &mut |it| Ok(it == part)).unwrap(), 1);
        assert_tidy(&disk(), &path);
    }
    // Every byte is read before it is taken.
    let part = Table::open(&path).unwrap().part_names()[1].clone();
    let mut rewrite = begin(&path);
    rewrite.detach_part(&part).unwrap();
    rewrite.commit().unwrap();
    crate::remove_replaced(&disk(), &path).unwrap();
    let file = path.join("detached").join(&part).join("s.bin");
    let mut bytes = std::fs::read(&file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let error = begin(&path).attach_part(&part).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
    for name in ["nothing", "all_9_9_0", "../t"] {
        assert!(begin(&path).attach_part(name).is_err(), "{name}");
    }
    assert_eq!(Table::open(&path).unwrap().rows(), 200);
}

#[test]
fn hidden_rows_stay_hidden_whatever_is_done() {
    let directory = scratch();
    let path = directory.path().join("t");
    let definition = definition(
        "CREATE TABLE t (k UInt32, s String, id UInt64) ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 16",
    );
    for first in [0, 100] {
        let seeds: Vec<(u16, u32)> = (0..100).map(|at| (0, at)).collect();
        let rows = rows(&definition, first, &seeds);
        insert(&disk(), &path, &definition, options(), &[rows]).unwrap();
    }
    let mut expected = read(&disk(), &path).unwrap();
    assert_eq!(expected.len(), 200);
    let table = Table::open(&path).unwrap();
    let first = table.part_names()[0].clone();
    drop(table);
    // Every third row that is shown, twice: the second time, others are counted.
    let mut name = first;
    for shown in [100, 66] {
        let mut rewrite = begin(&path);
        assert!(rewrite.can_hide_rows(&name).unwrap());
        let bits: BooleanBuffer = (0..shown).map(|at| at % 3 == 0).collect();
        rewrite.hide_rows(&name, &bits).unwrap();
        rewrite.commit().unwrap();
        crate::remove_replaced(&disk(), &path).unwrap();
        let table = Table::open(&path).unwrap();
        assert!(table.parts()[0].has_deleted_rows() && !table.parts()[1].has_deleted_rows());
        name.clone_from(&table.part_names()[0]);
        assert_tidy(&disk(), &path);
    }
    let shown = read(&disk(), &path).unwrap();
    assert_eq!(shown.len(), 144);
    expected.retain(|row| shown.contains(row));
    assert_eq!(shown, expected);
    // More rows than there are.
    let mut rewrite = begin(&path);
    let error = rewrite.hide_rows(&name, &BooleanBuffer::new_set(45)).unwrap_err();
    assert!(std::error::Error::source(&error).is_some_and(|it| it.to_string().contains("44")));
    drop(rewrite);
    // Writing the part anew, and merging it, leave the hidden rows out.
    let summary = merge_all(&disk(), &path, 1 << 20).unwrap();
    assert_eq!((summary.parts_after, read(&disk(), &path).unwrap()), (1, shown));
    assert!(!Table::open(&path).unwrap().has_deleted_rows());
    assert_tidy(&disk(), &path);
}

#[test]
fn a_part_is_changed_more_than_once_before_the_commit() {
    let directory = scratch();
    let path = directory.path().join("t");
    let definition =
        definition("CREATE TABLE t (k UInt32, s String, id UInt64) ENGINE = MergeTree ORDER BY k");
    let seeds: Vec<(u16, u32)> = (0..100).map(|at| (0, at)).collect();
    let rows = rows(&definition, 0, &seeds);
    insert(&disk(), &path, &definition, options(), std::slice::from_ref(&rows)).unwrap();
    let before = read(&disk(), &path).unwrap();
    let first = Table::open(&path).unwrap().part_names()[0].clone();
    // Each time without its first ten rows.
    let halve = |rewrite: &mut Rewrite, part: &str| {
        let mut draft = rewrite.replace(part).unwrap();
        for batch in rewrite.rows(part).unwrap() {
            let batch = batch.unwrap();
            draft.write(&batch.slice(10, batch.num_rows() - 10)).unwrap();
        }
        rewrite.put(draft).unwrap().unwrap()
    };
    for is_committed in [false, true] {
        let mut rewrite = begin(&path);
        let mut part = first.clone();
        for left in [90, 80, 70] {
            part = halve(&mut rewrite, &part);
            rewrite.go_on_with(&part).unwrap();
            assert_eq!(rewrite.only(&part).unwrap().rows(), left);
        }
        if !is_committed {
            drop(rewrite);
            assert_eq!(read(&disk(), &path).unwrap(), before);
            assert_tidy(&disk(), &path);
            continue;
        }
        let summary = rewrite.commit().unwrap();
        assert_eq!((summary.parts, summary.rows_before, summary.rows_after), (1, 100, 70));
    }
    crate::remove_replaced(&disk(), &path).unwrap();
    assert_eq!(Table::open(&path).unwrap().part_names(), ["all_1_1_3"]);
    assert_eq!(read(&disk(), &path).unwrap().len(), 70);
    assert_tidy(&disk(), &path);
}

#[test]
fn rows_come_to_the_table_that_was_opened_or_not_at_all() {
    let directory = scratch();
    let path = directory.path().join("t");
    let before =
        definition("CREATE TABLE t (k UInt32, s String, id UInt64) ENGINE = MergeTree ORDER BY k");
    let rows = rows(&before, 0, &[(0, 1)]);
    let same = InsertOptions { existing: Existing::Same, ..options() };
    let add = |definition, same: &InsertOptions| {
        insert(&disk(), &path, definition, same.clone(), std::slice::from_ref(&rows))
    };
    assert!(matches!(add(&before, &same).unwrap_err(), TableError::NotATable { .. }));
    assert!(!path.exists(), "no table is made");
    add(&before, &options()).unwrap();
    let opened = Table::open(&path).unwrap();
    add(&before, &same).unwrap();
    assert!(!opened.is_altered().unwrap());
    let statement = Alteration::parse("ALTER TABLE t MODIFY COLUMN s DEFAULT 'x'").unwrap();
    let mut rewrite = begin(&path);
    let altered = Altered::new(&before, &statement.unwrap().commands).unwrap();
    rewrite.redefine(altered).unwrap();
    rewrite.commit().unwrap();
    assert!(opened.is_altered().unwrap());
    let error = add(&before, &same).unwrap_err();
    assert!(matches!(error, TableError::Altered { .. }) && error.kind() == Kind::Conflict);
    let looked = InsertOptions { seen: Some(before.clone()), ..options() };
    let error = add(&before, &looked).unwrap_err();
    assert!(matches!(error, TableError::Altered { .. }) && error.kind() == Kind::Conflict);
    let now = Table::open(&path).unwrap().definition().unwrap().clone();
    assert_eq!(add(&now, &same).unwrap().rows, 1);
    std::fs::remove_dir_all(&path).unwrap();
    assert!(!opened.is_altered().unwrap());
}
