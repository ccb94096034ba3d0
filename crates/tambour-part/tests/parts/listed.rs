//! Bad directories that were seen in the wild: each is refused with its reason, or costs only the column that it concerns.

use super::support::{Writing, memory, read_all};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt8Array};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tambour_codec::Kind;
use tambour_part::types::Column;
use tambour_part::write::{Dialect, Partition, StringLayout};
use tambour_part::{Part, PartError};
use tambour_storage::Storage;
use tambour_storage::memory::Memory;

const PATH: &str = "t/all_1_1_0";

/// A part of a number and a text, which nothing proves; strings in the layout asked for.
fn loose(strings: StringLayout) -> Memory {
    let column =
        |name: &str, text: &str| Column { name: name.to_owned(), data_type: text.parse().unwrap() };
    let columns = [column("a", "UInt8"), column("s", "String")];
    let text = |row| format!("text {row} that is longer than a view");
    let batch = RecordBatch::try_from_iter([
        ("a", Arc::new(UInt8Array::from_iter_values(0..10)) as ArrayRef),
        ("s", Arc::new(StringArray::from_iter_values((0..10).map(text)))),
    ])
    .unwrap();
    let (memory, storage) = memory();
    let mut writing = Writing::new(&columns, Dialect::New);
    (writing.index_granularity, writing.strings) = (4, strings);
    writing.write(&storage, Path::new(PATH), &batch, &Partition::default()).unwrap();
    for name in ["checksums.txt", "tambour.txt"] {
        memory.remove_file(&Path::new(PATH).join(name)).unwrap();
    }
    memory
}

fn put(memory: &Memory, name: &str, bytes: &[u8]) {
    memory.put(&Path::new(PATH).join(name), bytes);
}

fn read(memory: &Memory) -> Result<RecordBatch, PartError> {
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    read_all(&Arc::new(Part::open(&storage, Path::new(PATH))?))
}

#[track_caller]
fn refused(memory: &Memory, said: &str) {
    let error = read(memory).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
    assert!(error.to_string().contains(said), "{error}");
}

#[test]
fn a_count_that_the_marks_contradict() {
    let memory = loose(StringLayout::Inline);
    assert_eq!(read(&memory).unwrap().num_rows(), 10);
    for (count, said) in
        [("9", "sum of rows"), ("11", "sum of rows"), ("", "count.txt"), ("1e1", "count.txt")]
    {
        put(&memory, "count.txt", count.as_bytes());
        refused(&memory, said);
    }
}

#[test]
fn marks_of_which_the_rows_do_not_sum_up() {
    let memory = loose(StringLayout::Inline);
    let marks = memory.read(&Path::new(PATH).join("a.mrk2"), 1000).unwrap();
    for (rows, said) in [(5_u64, "sum of rows"), (0, "has no rows"), (u64::MAX, "rows")] {
        let mut other = marks.clone();
        other[16..24].copy_from_slice(&rows.to_le_bytes());
        put(&memory, "a.mrk2", &other);
        let error = read(&memory).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn marks_of_no_bytes() {
    let memory = loose(StringLayout::Inline);
    for name in ["a.mrk2", "s.mrk2"] {
        put(&memory, name, b"");
    }
    refused(&memory, "sum of rows");
}

#[test]
fn marks_that_go_back_or_past_the_end() {
    let memory = loose(StringLayout::Inline);
    let marks = memory.read(&Path::new(PATH).join("a.mrk2"), 1000).unwrap();
    for (at, value, said) in [(32, 0_u64, "lies before"), (24, 1 << 40, "offset of a mark")] {
        let mut other = marks.clone();
        if at == 32 {
            other[8] = 3;
        }
        other[at..at + 8].copy_from_slice(&value.to_le_bytes());
        put(&memory, "a.mrk2", &other);
        refused(&memory, said);
    }
}

#[test]
fn a_list_of_columns_that_is_empty() {
    let memory = loose(StringLayout::Inline);
    for text in ["", "columns format version: 1\n0 columns:\n"] {
        put(&memory, "columns.txt", text.as_bytes());
        refused(&memory, "columns");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test looks at how long it takes")]
fn a_million_columns_without_files_are_refused_in_little_time() {
    let memory = loose(StringLayout::Inline);
    let lines: Vec<String> = (0..1_000_000).map(|at| format!("`c{at}` UInt8")).collect();
    let lines = lines.join("\n");
    put(
        &memory,
        "columns.txt",
        format!("columns format version: 1\n1000000 columns:\n{lines}\n").as_bytes(),
    );
    let start = Instant::now();
    refused(&memory, "c0.bin");
    assert!(start.elapsed() < Duration::from_mins(1), "{:?}", start.elapsed());
}

#[test]
fn a_name_that_leaves_the_directory_reads_nothing_there() {
    let memory = loose(StringLayout::Inline);
    memory.put(Path::new("t/a.bin"), b"outside");
    memory.put(Path::new("t/a.mrk2"), b"outside");
    put(&memory, "columns.txt", b"columns format version: 1\n1 columns:\n`../a` UInt8\n");
    refused(&memory, "2Fa.bin");
}

#[test]
fn sizes_of_strings_that_serialization_contradicts() {
    let with = r#"{"columns":[],"types_serialization_versions":{"string":1},"version":1}"#;
    let inline = loose(StringLayout::Inline);
    put(&inline, "serialization.json", with.as_bytes());
    refused(&inline, "s.size");
    let sized = loose(StringLayout::Sized);
    assert_eq!(read(&sized).unwrap().num_rows(), 10);
    sized.remove_file(&Path::new(PATH).join("serialization.json")).unwrap();
    assert!(read(&sized).is_err(), "bytes without lengths are not strings");
}
