//! Marks that are lost and found again: the rows of a part are the same without any of its files of marks.

use super::support::{Writing, contents, golden, memory, read_all, zoo};
use std::path::Path;
use std::sync::Arc;
use tambour_part::part::OpenOptions;
use tambour_part::write::{Dialect, Partition, StringLayout};
use tambour_part::{Part, PartError};
use tambour_storage::memory::Memory;
use tambour_storage::{Storage, disk};

const PATH: &str = "t/all_1_1_0";

fn damaged(memory: &Memory, path: &str, index_granularity: u64) -> Result<Arc<Part>, PartError> {
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let index_granularity = Some(index_granularity);
    let options = OpenOptions { damaged: true, index_granularity, ..OpenOptions::default() };
    Part::open_with(&storage, Path::new(path), &options).map(Arc::new)
}

/// Of streams that are read; 18.16 wrote one more beside dictionaries of what may be NULL.
fn is_marks(name: &str) -> bool {
    if name.contains(".dict.null.") {
        return false;
    }
    name.rsplit_once('.').is_some_and(|(_, end)| end.starts_with("mrk") || end.starts_with("cmrk"))
}

/// Loses each file of marks by itself, empties it, and then loses all.
fn try_all(memory: &Memory, path: &str, index_granularity: u64) {
    let good = read_all(&damaged(memory, path, index_granularity).unwrap()).unwrap();
    let check = |what: &str, count: usize| {
        let part = damaged(memory, path, index_granularity).unwrap();
        assert!(part.unreadable_columns().is_empty(), "{what}: {:?}", part.unreadable_columns());
        assert_eq!(read_all(&part).unwrap(), good, "{what}");
        // Of streams that several columns share, the marks are of one file.
        assert_eq!(part.rebuilt_marks().len(), count, "{what}: {:?}", part.rebuilt_marks());
        // Any granule is found, not only the first.
        let last = part.granules().len() - 1;
        let some = super::support::one(last, last + 1);
        let columns = (0..part.columns().len()).collect();
        let rows = super::support::read_granules(&part, columns, some, 1).unwrap();
        assert_eq!(rows, good.slice(good.num_rows() - rows.num_rows(), rows.num_rows()), "{what}");
    };
    let files = contents(memory, Path::new(path));
    let marks: Vec<_> = files.into_iter().filter(|(name, _)| is_marks(name)).collect();
    for (name, bytes) in &marks {
        let file = Path::new(path).join(name);
        memory.remove_file(&file).unwrap();
        check(name, 1);
        memory.put(&file, &bytes[..bytes.len() / 2]);
        check(name, 1);
        memory.put(&file, bytes);
    }
    for (name, _) in &marks {
        memory.remove_file(&Path::new(path).join(name)).unwrap();
    }
    check("all", marks.len());
}

#[test]
fn of_every_type_and_layout() {
    let (columns, rows) = zoo();
    for dialect in [Dialect::New, Dialect::Old] {
        for (strings, sparse_ratio) in
            [(StringLayout::Inline, None), (StringLayout::Sized, Some(0.9))]
        {
            if dialect == Dialect::Old && sparse_ratio.is_some() {
                continue;
            }
            let (memory, storage) = memory();
            let writing = Writing { strings, sparse_ratio, ..Writing::new(&columns, dialect) };
            let partition = Partition::default();
            writing.write(&storage, Path::new(PATH), &rows, &partition).unwrap();
            try_all(&memory, PATH, 256);
        }
    }
}

#[test]
fn of_dictionaries_of_old_servers() {
    for (table, part) in [("l5", "l5/all_1_1_0"), ("t", "t/202402_1_1_0")] {
        let memory = Memory::new();
        memory.create_directory(Path::new(table)).unwrap();
        memory.copy_from(disk().as_ref(), &golden(table), Path::new(table)).unwrap();
        try_all(&memory, part, 8192);
    }
}

#[test]
fn of_a_compact_part() {
    let memory = Memory::new();
    let golden = golden("../clickhouse-26.9/compact");
    memory.create_directory(Path::new("compact")).unwrap();
    memory.copy_from(disk().as_ref(), &golden, Path::new("compact")).unwrap();
    try_all(&memory, "compact/all_1_1_0", 8192);
}

/// Rows that do not use up the streams are not the part's.
#[test]
fn a_count_that_is_wrong_finds_none() {
    let memory = Memory::new();
    let golden = golden("../clickhouse-26.9/compact");
    memory.create_directory(Path::new("compact")).unwrap();
    memory.copy_from(disk().as_ref(), &golden, Path::new("compact")).unwrap();
    let part = Path::new("compact/all_1_1_0");
    memory.remove_file(&part.join("data.cmrk4")).unwrap();
    memory.remove_file(&part.join("checksums.txt")).unwrap();
    let rows: u64 = String::from_utf8(memory.read(&part.join("count.txt"), 100).unwrap())
        .unwrap()
        .parse()
        .unwrap();
    for wrong in [rows - 1, rows + 1, 2 * rows] {
        memory.put(&part.join("count.txt"), wrong.to_string().as_bytes());
        assert!(damaged(&memory, "compact/all_1_1_0", 8192).is_err(), "{wrong}");
    }
    memory.put(&part.join("count.txt"), rows.to_string().as_bytes());
    assert_eq!(damaged(&memory, "compact/all_1_1_0", 8192).unwrap().rows(), rows);
}
