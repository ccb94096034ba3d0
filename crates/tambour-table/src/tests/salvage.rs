//! Every file of a part lost, emptied, cut, flipped or swapped, each by itself: what is saved is right, and what is lost is only
//! what that file held.

use super::{contents, definition, insert, options, read_part, rows};
use crate::Table;
use crate::salvage::{Salvage, SalvageOptions, salvage};
use arrow_array::RecordBatch;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::Storage;
use tambour_storage::memory::{Fate, Memory};

const STATEMENT: &str = "CREATE TABLE t (d Date, k UInt32, s String, n Nullable(Int64), l LowCardinality(String), \
     e Enum8('low' = -1, 'high' = 1), id UInt64) \
     ENGINE = MergeTree PARTITION BY toYYYYMM(d) ORDER BY (k, id) SETTINGS index_granularity = 16";

/// Two parts of the same shape, with other rows.
fn wide() -> (Memory, PathBuf, PathBuf) {
    let memory = Memory::new();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let definition = definition(STATEMENT);
    for (first, factor) in [(0, 7), (1000, 11)] {
        let seeds: Vec<(u16, u32)> = (0..300).map(|at| (3, at * factor % 500)).collect();
        let batch = rows(&definition, first, &seeds);
        insert(&storage, Path::new("t"), &definition, options(), &[batch]).unwrap();
    }
    (memory, PathBuf::from("t/202201_1_1_0"), PathBuf::from("t/202201_2_2_0"))
}

/// A compact part of ClickHouse's, with its statement beside it.
fn compact() -> (Memory, PathBuf) {
    let memory = Memory::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/clickhouse-26.9/compact");
    let storage: &dyn Storage = &memory;
    storage.create_directory(Path::new("c")).unwrap();
    storage.create_directory(Path::new("c/all_1_1_0")).unwrap();
    memory.put(Path::new("c/create.sql"), &std::fs::read(golden.join("create.sql")).unwrap());
    for entry in std::fs::read_dir(golden.join("all_1_1_0")).unwrap() {
        let name = entry.unwrap().file_name();
        let bytes = std::fs::read(golden.join("all_1_1_0").join(&name)).unwrap();
        memory.put(&Path::new("c/all_1_1_0").join(&name), &bytes);
    }
    (memory, PathBuf::from("c/all_1_1_0"))
}

fn dynamic(memory: &Memory) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

/// The rows of batches, in these columns, sorted.
fn projected(batches: &[RecordBatch], columns: &[String]) -> Vec<Vec<u8>> {
    let project = |batch: &RecordBatch| {
        let indexes: Vec<usize> =
            columns.iter().map(|name| batch.schema().index_of(name).unwrap()).collect();
        batch.project(&indexes).unwrap()
    };
    contents(&batches.iter().map(project).collect::<Vec<_>>())
}

/// True if every row is among the others, as often at most; both are sorted.
fn is_among(rows: &[Vec<u8>], all: &[Vec<u8>]) -> bool {
    let mut all = all.iter();
    rows.iter().all(|row| all.any(|other| other == row))
}

/// Salvages, and compares what is saved with the rows that the part had.
fn saved(
    memory: &Memory,
    part: &Path,
    original: &[RecordBatch],
    what: &str,
    fill: bool,
) -> Option<Salvage> {
    let storage = dynamic(memory);
    let options = SalvageOptions { fill, ..SalvageOptions::default() };
    let target = Path::new("saved");
    let result = salvage(&storage, part, target, &options).ok()?;
    let table = Table::open_on(&storage, target).unwrap();
    assert_eq!(table.rows(), result.rows_saved, "{what}");
    let lost: Vec<&str> = result.losses.iter().map(|loss| loss.column.as_str()).collect();
    let names = table.columns().iter().map(|column| column.name.clone());
    let names: Vec<String> = names.filter(|name| !fill || !lost.contains(&name.as_str())).collect();
    let batches: Vec<RecordBatch> =
        (0..table.parts().len()).flat_map(|at| read_part(&table, at)).collect();
    let (got, all) = (projected(&batches, &names), projected(original, &names));
    assert!(is_among(&got, &all), "{what}: rows that the part did not have");
    let found = crate::verify::verify(&storage, target, &mut |_| {}).unwrap();
    assert!(found.damage.is_empty(), "{what}: {:?}", found.damage);
    storage.remove_directory(target).unwrap();
    Some(result)
}

/// Kinds of harm to a file: the name, and what becomes of its bytes; nothing if it is removed.
type Harm = (&'static str, fn(&[u8], &[u8]) -> Option<Vec<u8>>);

const HARMS: [Harm; 6] = [
    ("lost", |_, _| None),
    ("emptied", |_, _| Some(Vec::new())),
    ("cut", |bytes, _| Some(bytes[..bytes.len() / 2].to_vec())),
    ("flipped", |bytes, _| {
        let mut flipped = bytes.to_vec();
        let middle = flipped.len() / 2;
        flipped.get_mut(middle).map(|byte| *byte ^= 4)?;
        Some(flipped)
    }),
    ("garbled", |bytes, _| {
        let mut garbled = bytes.to_vec();
        let middle = garbled.len() / 2;
        garbled.get_mut(middle).map(|byte| *byte ^= 0x5a)?;
        Some(garbled)
    }),
    ("swapped", |_, other| Some(other.to_vec())),
];

fn harmed(good: &Memory, file: &Path, contents: Option<Vec<u8>>) -> Memory {
    let broken = good.crash(Fate::Kept);
    match contents {
        Some(bytes) => broken.put(file, &bytes),
        None => broken.remove_file(file).unwrap(),
    }
    broken
}

#[test]
fn every_file_of_a_wide_part() {
    let (good, part, other) = wide();
    let table = Table::open_on(&dynamic(&good), Path::new("t")).unwrap();
    let (original, rows) = (read_part(&table, 0), table.parts()[0].rows());
    assert!(saved(&good, &part, &original, "nothing", false).unwrap().is_whole());
    for file in good.list(&part).unwrap() {
        let path = part.join(&file.name);
        let bytes = good.read(&path, u64::MAX).unwrap();
        let swapped = good.read(&other.join(&file.name), u64::MAX).unwrap_or_default();
        for (harm, change) in HARMS {
            let what = format!("{} {harm}", file.name);
            let contents = change(&bytes, &swapped);
            if contents.as_ref() == Some(&bytes) {
                continue;
            }
            let broken = harmed(&good, &path, contents);
            let result = saved(&broken, &part, &original, &what, false)
                .unwrap_or_else(|| panic!("{what}: nothing is saved"));
            if path.extension().is_none_or(|end| end != "bin") {
                assert!(result.is_whole(), "{what}: {:?}", result.losses);
                assert_eq!(result.rows_saved, rows, "{what}");
                let is_marks = file.name.contains(".cmrk") || file.name.contains(".mrk");
                assert_eq!(result.marks_rebuilt.len(), usize::from(is_marks), "{what}");
                continue;
            }
            // A single bit of a block is put right, and said.
            let is_mended = harm == "flipped" && result.mends.len() == 1;
            assert!(is_mended == result.is_whole(), "{what} is not noticed");
            if !matches!(harm, "flipped" | "garbled" | "cut") || is_mended {
                assert_eq!(result.rows_saved, rows, "{what}: {:?}", result.losses);
            }
            let filled = saved(&broken, &part, &original, &what, true).unwrap();
            assert_eq!(filled.rows_saved, rows, "{what}, filled");
        }
    }
}

#[test]
fn every_file_of_a_compact_part() {
    let (good, part) = compact();
    let table = Table::open_on(&dynamic(&good), Path::new("c")).unwrap();
    let (original, rows) = (read_part(&table, 0), table.parts()[0].rows());
    for file in good.list(&part).unwrap() {
        let path = part.join(&file.name);
        let bytes = good.read(&path, u64::MAX).unwrap();
        for (harm, change) in HARMS.into_iter().filter(|(harm, _)| *harm != "swapped") {
            let what = format!("{} {harm}", file.name);
            let broken = harmed(&good, &path, change(&bytes, &[]));
            let result = saved(&broken, &part, &original, &what, false);
            if file.name == "data.bin" {
                let is_told = |result: Salvage| {
                    (harm == "flipped" && result.mends.len() == 1) == result.is_whole()
                };
                assert!(result.is_none_or(is_told), "{what} is not noticed");
                continue;
            }
            let result = result.unwrap_or_else(|| panic!("{what}: nothing is saved"));
            assert!(result.is_whole(), "{what}: {:?}", result.losses);
            assert_eq!(result.rows_saved, rows, "{what}");
        }
    }
}

#[test]
fn names_and_types_come_from_a_part_beside_or_from_the_caller() {
    let (good, part, _) = wide();
    let table = Table::open_on(&dynamic(&good), Path::new("t")).unwrap();
    let original = read_part(&table, 0);
    good.remove_file(&part.join("columns.txt")).unwrap();
    good.remove_file(&Path::new("t").join(crate::SIDECAR)).unwrap();
    let result = saved(&good, &part, &original, "a part beside", false).unwrap();
    assert!(result.is_whole() && result.columns_saved == 7, "{:?}", result.losses);
    good.remove_directory(Path::new("t/202201_2_2_0")).unwrap();
    assert!(saved(&good, &part, &original, "alone", false).is_none());
    let given =
        SalvageOptions { definition: Some(definition(STATEMENT)), ..SalvageOptions::default() };
    let result = salvage(&dynamic(&good), &part, Path::new("given"), &given).unwrap();
    assert!(result.is_whole() && result.rows_saved == 300);
    let table = Table::open_on(&dynamic(&good), Path::new("given")).unwrap();
    assert_eq!(table.definition().unwrap().order_by, definition(STATEMENT).order_by);
}
