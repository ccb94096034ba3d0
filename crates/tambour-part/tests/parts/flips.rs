//! No single damage of a part goes unseen: every bit flipped, every file cut short, emptied, removed, swapped.

use super::support::{Writing, contents, golden, memory, read_all};
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Date32Array, Decimal128Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use std::path::Path;
use std::sync::Arc;
use tambour_part::part::OpenOptions;
use tambour_part::types::{Column, DataType};
use tambour_part::write::{Dialect, Partition};
use tambour_part::{Part, PartError};
use tambour_storage::Storage;
use tambour_storage::disk;
use tambour_storage::memory::Memory;

const PATH: &str = "t/202402_1_1_0";

/// A small part with a partition, strings, NULLs, a dictionary, and types in which a flipped letter is another type.
fn small(dialect: Dialect, codec: &'static str) -> Memory {
    let column = |name: &str, data_type: &str| Column {
        name: name.to_owned(),
        data_type: data_type.parse().unwrap(),
    };
    let columns = [
        column("k", "UInt32"),
        column("d", "Date"),
        column("m", "Decimal(9, 2)"),
        column("n", "Nullable(UInt64)"),
        column("s", "String"),
        column("l", "LowCardinality(String)"),
        column("e", "Enum8('a' = 1, 'b' = 2)"),
    ];
    let mut words = StringDictionaryBuilder::<Int32Type>::new();
    for word in ["x", "y", "x", "z", "x"] {
        words.append_value(word);
    }
    let money = Decimal128Array::from(vec![1, 20, 300, -4, 5]).with_precision_and_scale(9, 2);
    let arrays: [ArrayRef; 7] = [
        Arc::new(UInt32Array::from(vec![1, 2, 3, 4, 5])),
        Arc::new(Date32Array::from(vec![19_754, 19_755, 19_756, 19_757, 19_760])),
        Arc::new(money.unwrap()),
        Arc::new(UInt64Array::from(vec![Some(1), None, Some(3), None, Some(u64::MAX)])),
        Arc::new(StringArray::from(vec!["a", "", "ccc", "a", "a longer one, beyond a view"])),
        Arc::new(words.finish()),
        Arc::new(StringArray::from(vec!["a", "b", "a", "a", "b"])),
    ];
    let rows =
        RecordBatch::try_from_iter(columns.iter().map(|c| c.name.clone()).zip(arrays)).unwrap();
    let partition = Partition {
        values: vec![(DataType::UInt32, Arc::new(UInt32Array::from(vec![202_402])))],
        ranges: vec![(
            "d".to_owned(),
            DataType::Date,
            Arc::new(Date32Array::from(vec![19_754, 19_760])),
        )],
    };
    let (memory, storage) = memory();
    let mut writing = Writing::new(&columns, dialect);
    (writing.codec, writing.index_granularity) = (codec, 2);
    writing.write(&storage, Path::new(PATH), &rows, &partition).unwrap();
    memory
}

/// What a reader and a verifier make of a part.
fn look(memory: &Memory, path: &str) -> (Result<RecordBatch, PartError>, usize) {
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let read = Part::open(&storage, Path::new(path)).and_then(|part| read_all(&Arc::new(part)));
    let seen = Part::verify_at(&storage, Path::new(path), &OpenOptions::default());
    (read, seen.damage.len())
}

/// Damages one file at a time; what is read is an error or the right rows, and what is not read is seen by verify.
fn damage_each(
    memory: &Memory,
    path: &str,
    damages: impl Fn(&[u8]) -> Vec<Vec<u8>>,
    is_tolerated: impl Fn(&str) -> bool,
) {
    let (good, found) = look(memory, path);
    let good = good.unwrap();
    assert_eq!(found, 0);
    for (name, bytes) in contents(memory, Path::new(path)) {
        let file = Path::new(path).join(&name);
        for (index, damaged) in damages(&bytes).into_iter().enumerate() {
            memory.put(&file, &damaged);
            let (read, found) = look(memory, path);
            match read {
                Ok(rows) => {
                    // A type that is not understood any more is a column less, and verify says so.
                    let fewer = rows.num_columns() < good.num_columns() && is_tolerated(&name);
                    assert!(rows == good || fewer, "{name}, damage {index}: other rows");
                    assert!(found > 0, "{name}, damage {index}: not seen");
                }
                Err(error) => {
                    assert!(found > 0, "{name}, damage {index}: {error}, but verify saw nothing");
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        memory.put(&file, &bytes);
    }
}

fn every_bit(bytes: &[u8]) -> Vec<Vec<u8>> {
    (0..bytes.len() * 8)
        .map(|bit| {
            let mut damaged = bytes.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            damaged
        })
        .collect()
}

#[test]
fn every_flipped_bit_is_seen_in_the_new_dialect() {
    damage_each(&small(Dialect::New, "LZ4"), PATH, every_bit, |_| false);
}

#[test]
fn every_flipped_bit_is_seen_in_the_old_dialect() {
    damage_each(&small(Dialect::Old, "NONE"), PATH, every_bit, |_| false);
}

#[test]
fn every_flipped_bit_is_seen_under_zstd() {
    damage_each(&small(Dialect::New, "ZSTD(1)"), PATH, every_bit, |_| false);
}

#[test]
fn every_cut_and_every_added_byte_is_seen() {
    let cuts = |bytes: &[u8]| {
        let mut damaged: Vec<Vec<u8>> =
            (0..bytes.len()).map(|length| bytes[..length].to_vec()).collect();
        damaged.push([bytes, &[0]].concat());
        damaged.push([bytes, bytes].concat());
        damaged.retain(|damaged| damaged != bytes);
        damaged
    };
    damage_each(&small(Dialect::New, "LZ4"), PATH, cuts, |_| false);
    damage_each(&small(Dialect::Old, "LZ4"), PATH, cuts, |_| false);
}

#[test]
fn a_missing_or_foreign_file_is_seen() {
    for dialect in [Dialect::New, Dialect::Old] {
        let memory = small(dialect, "LZ4");
        let files = contents(&memory, Path::new(PATH));
        for (name, bytes) in &files {
            let file = Path::new(PATH).join(name);
            memory.remove_file(&file).unwrap();
            let (read, found) = look(&memory, PATH);
            assert!(read.is_err() && found > 0, "{name}");
            for (other, foreign) in &files {
                if foreign != bytes {
                    memory.put(&file, foreign);
                    let (read, found) = look(&memory, PATH);
                    // Good blocks of another column are seen by who compares the hash of the whole file.
                    let is_data =
                        |name: &String| Path::new(name).extension() == Some("bin".as_ref());
                    let data = is_data(name) && is_data(other);
                    assert!(read.is_err() || data, "{name} with the bytes of {other}");
                    assert!(found > 0, "{name} with the bytes of {other}");
                }
            }
            memory.put(&file, bytes);
        }
        memory.put(&Path::new(PATH).join("stray.bin"), b"");
        assert_eq!(look(&memory, PATH).1, 1);
    }
}

/// Without checksums.txt only blocks, counts and the agreement of files protect a part; still nothing panics, and rows of
/// columns are right or an error, except where the bytes say something else that is just as valid.
#[test]
fn without_checksums_no_flipped_bit_panics_and_values_stay_protected() {
    for dialect in [Dialect::New, Dialect::Old] {
        let memory = small(dialect, "LZ4");
        let good = look(&memory, PATH).0.unwrap();
        memory.remove_file(&Path::new(PATH).join("checksums.txt")).unwrap();
        assert!(
            matches!(look(&memory, PATH).0, Err(PartError::Missing { .. })),
            "tambour.txt tells that there were checksums"
        );
        memory.remove_file(&Path::new(PATH).join("tambour.txt")).unwrap();
        assert_eq!(look(&memory, PATH).1, 1, "verifying misses them");
        for (name, bytes) in contents(&memory, Path::new(PATH)) {
            let file = Path::new(PATH).join(&name);
            for damaged in every_bit(&bytes) {
                memory.put(&file, &damaged);
                if let (Ok(rows), _) = look(&memory, PATH) {
                    let valid = ["columns.txt", "count.txt"].contains(&name.as_str());
                    assert!(rows == good || valid, "{name}");
                }
            }
            memory.put(&file, &bytes);
        }
    }
}

/// What ClickHouse does not protect, we cannot either: `columns.txt`. All else is seen.
#[test]
fn every_flipped_bit_of_a_part_of_clickhouse_is_seen() {
    let memory = Memory::new();
    memory.copy_from(disk().as_ref(), &golden("l5"), Path::new("t")).unwrap();
    let unprotected = |name: &str| name == "columns.txt";
    let sparse_bits = |bytes: &[u8]| {
        // Every bit of small files, and of the large one some in each byte.
        every_bit(bytes).into_iter().step_by(if bytes.len() > 1000 { 5 } else { 1 }).collect()
    };
    damage_each(&memory, "t/all_1_1_0", sparse_bits, unprotected);
}
