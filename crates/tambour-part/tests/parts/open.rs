//! What is opened, what is refused, and how little hinders the rest.

use super::support::{Writing, contents, memory, one, read_all, read_granules};
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt8Type, UInt32Type};
use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt8Array, UInt32Array};
use std::path::Path;
use std::sync::Arc;
use tambour_codec::Kind;
use tambour_part::part::OpenOptions;
use tambour_part::types::Column;
use tambour_part::write::{Dialect, Partition};
use tambour_part::{Part, PartError};
use tambour_storage::memory::Memory;
use tambour_storage::{Storage, disk};

const PATH: &str = "t/all_1_1_0";

fn column(name: &str, data_type: &str) -> Column {
    Column { name: name.to_owned(), data_type: data_type.parse().unwrap() }
}

/// A part of numbers, without checksums.txt so that tests may change it.
fn loose(names: [&str; 2], dialect: Dialect, rows: u8, granularity: usize) -> Memory {
    let columns = [column(names[0], "UInt8"), column(names[1], "UInt32")];
    let batch = RecordBatch::try_from_iter([
        ("a", Arc::new(UInt8Array::from_iter_values(0..rows)) as ArrayRef),
        ("b", Arc::new(UInt32Array::from_iter_values((0..rows).map(|k| u32::from(k) * 10)))),
    ])
    .unwrap();
    let (memory, storage) = memory();
    let mut writing = Writing::new(&columns, dialect);
    writing.index_granularity = granularity;
    writing.write(&storage, Path::new(PATH), &batch, &Partition::default()).unwrap();
    for name in ["checksums.txt", "tambour.txt"] {
        memory.remove_file(&Path::new(PATH).join(name)).unwrap();
    }
    memory
}

fn put(memory: &Memory, name: &str, bytes: &[u8]) {
    memory.put(&Path::new(PATH).join(name), bytes);
}

fn open(memory: &Memory) -> Result<Arc<Part>, PartError> {
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    Part::open(&storage, Path::new(PATH)).map(Arc::new)
}

#[test]
fn an_unknown_type_makes_only_its_column_unreadable() {
    let memory = loose(["a", "b"], Dialect::New, 10, 4);
    put(
        &memory,
        "columns.txt",
        b"columns format version: 1\n2 columns:\n`a` Thing(3)\n`b` UInt32\n",
    );
    let part = open(&memory).unwrap();
    assert_eq!(part.columns(), [column("b", "UInt32")]);
    assert_eq!(part.unreadable_columns()[0].name, "a");
    assert_eq!(part.unreadable_columns()[0].type_text, "Thing(3)");
    assert_eq!(read_all(&part).unwrap().column(0).as_primitive::<UInt32Type>().value(9), 90);
    let kinds: Vec<Kind> = part.verify().damage.iter().map(|it| it.error.kind()).collect();
    assert_eq!(kinds, [Kind::Corrupt, Kind::Unsupported], "no checksums.txt, and the column");
    put(&memory, "columns.txt", b"columns format version: 1\n2 columns:\n`a` Thing\n`b` Other\n");
    let part = open(&memory).unwrap();
    assert_eq!((part.columns().len(), part.rows(), part.granules()), (0, 10, &[4, 4, 2][..]));
    assert_eq!(read_all(&part).unwrap().num_rows(), 10);
}

#[test]
fn an_unknown_serialization_makes_only_its_column_unreadable() {
    let memory = loose(["a", "b"], Dialect::New, 10, 4);
    put(&memory, "serialization.json", br#"{"version":0,"columns":[{"name":"a","kind":"Odd"}]}"#);
    let part = open(&memory).unwrap();
    assert_eq!(part.unreadable_columns()[0].reason, "serialization kind \"Odd\" is not supported");
    put(
        &memory,
        "serialization.json",
        br#"{"version":0,"columns":[{"name":"x","kind":"Sparse"}]}"#,
    );
    assert_eq!(open(&memory).unwrap_err().kind(), Kind::Corrupt);
}

#[test]
fn lightweight_deletes_are_honoured() {
    // The first column serves as the mask: row 0 is deleted.
    let memory = loose(["_row_exists", "b"], Dialect::New, 3, 1);
    let part = open(&memory).unwrap();
    assert!(part.has_deleted_rows());
    assert_eq!((part.rows(), part.columns()), (3, &[column("b", "UInt32")][..]));
    let read = read_all(&part).unwrap();
    assert_eq!(read.column(0).as_primitive::<UInt32Type>().values(), &[10, 20]);
    let counted = read_granules(&part, vec![], vec![0..1, 1..3], 1).unwrap();
    assert_eq!(counted.num_rows(), 2);
    assert_eq!(part.verify().damage.len(), 1, "only checksums.txt is missing");
}

#[test]
fn a_damaged_part_without_its_mask_has_all_rows_and_says_so() {
    let memory = loose(["_row_exists", "b"], Dialect::New, 3, 1);
    memory.remove_file(&Path::new(PATH).join("_row_exists.bin")).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let options = OpenOptions { damaged: true, ..OpenOptions::default() };
    let part = Part::open_with(&storage, Path::new(PATH), &options).map(Arc::new).unwrap();
    assert!(!part.has_deleted_rows());
    let lost = &part.unreadable_columns()[0];
    assert_eq!(lost.name, "_row_exists");
    assert!(
        lost.reason.ends_with("rows that a lightweight delete hid are back"),
        "{}",
        lost.reason
    );
    let read = read_all(&part).unwrap();
    assert_eq!(read.column(0).as_primitive::<UInt32Type>().values(), &[0, 10, 20]);
}

#[test]
fn system_columns_are_not_shown() {
    let memory = loose(["_block_number", "b"], Dialect::New, 3, 1);
    assert_eq!(open(&memory).unwrap().columns(), [column("b", "UInt32")]);
}

#[test]
fn foreign_kinds_of_parts_are_unsupported() {
    let memory = loose(["a", "b"], Dialect::New, 10, 4);
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let path = Path::new("t/patch-8a6f-all_1_1_0");
    memory.copy_from(&memory, Path::new(PATH), path).unwrap();
    assert_eq!(Part::open(&storage, path).unwrap_err().kind(), Kind::Unsupported);
    put(&memory, "data.packed", b"");
    assert_eq!(open(&memory).unwrap_err().kind(), Kind::Unsupported);
}

#[test]
fn marks_must_be_of_one_form_and_agree() {
    let memory = loose(["a", "b"], Dialect::New, 10, 4);
    let marks = memory.read(&Path::new(PATH).join("b.mrk2"), 1000).unwrap();
    for (name, bytes) in [
        ("b.mrk2", &marks[..48]),
        ("b.mrk2", &marks[..47]),
        ("b.mrk2", &[]),
        ("x.mrk", &[]),
        ("x.cmrk2", &[]),
    ] {
        put(&memory, name, bytes);
        assert_eq!(open(&memory).unwrap_err().kind(), Kind::Corrupt, "{name}");
        if name == "b.mrk2" {
            put(&memory, name, &marks);
        } else {
            memory.remove_file(&Path::new(PATH).join(name)).unwrap();
        }
    }
    // Rows of granules that sum up to the same, but are others than those of the first column.
    let mut other = marks.clone();
    (other[16], other[40]) = (3, 5);
    put(&memory, "b.mrk2", &other);
    assert!(read_all(&open(&memory).unwrap()).is_err());
    // A mark that leads to a place where a value starts, but not the one of its granule.
    let mut other = marks.clone();
    other[32] -= 4;
    put(&memory, "b.mrk2", &other);
    let error = read_all(&open(&memory).unwrap());
    assert!(error.is_ok(), "a single run needs the first mark only");
    let part = open(&memory).unwrap();
    let error = part
        .read(tambour_part::part::ReadRequest {
            columns: vec![0, 1],
            granules: one(0, 3),
            batch_rows: 1,
            strings: tambour_part::types::Strings::Utf8,
        })
        .unwrap()
        .find_map(Result::err)
        .unwrap();
    assert!(error.to_string().contains("does not end where its marks say"), "{error}");
    // Marks after the file, and backwards.
    for (at, byte) in [(24, 0xff), (0, 0xff)] {
        let mut other = marks.clone();
        other[at] = byte;
        put(&memory, "b.mrk2", &other);
        assert!(read_all(&open(&memory).unwrap()).is_err());
    }
}

#[test]
fn the_granularity_of_old_marks_is_measured_given_or_the_default() {
    let memory = loose(["a", "b"], Dialect::Old, 100, 7);
    assert_eq!(open(&memory).unwrap().granules().len(), 15);
    assert_eq!(open(&memory).unwrap().granules()[14], 2);
    // Strings have no fixed width.
    let columns = [column("s", "String")];
    let words: ArrayRef = Arc::new(StringArray::from_iter_values((0..100).map(|k| k.to_string())));
    let batch = RecordBatch::try_from_iter([("s", words)]).unwrap();
    let (memory, storage) = memory_and_storage();
    let mut writing = Writing::new(&columns, Dialect::Old);
    writing.index_granularity = 7;
    writing.write(&storage, Path::new(PATH), &batch, &Partition::default()).unwrap();
    assert_eq!(open(&memory).unwrap().granules()[0], 7, "tambour.txt says it");
    for name in ["checksums.txt", "tambour.txt"] {
        memory.remove_file(&Path::new(PATH).join(name)).unwrap();
    }
    let error = open(&memory).unwrap_err().to_string();
    assert!(error.contains("15 marks do not fit 100 rows in granules of 8192"), "{error}");
    let options = OpenOptions { index_granularity: Some(7), ..OpenOptions::default() };
    let part = Arc::new(Part::open_with(&storage, Path::new(PATH), &options).unwrap());
    assert_eq!(read_all(&part).unwrap().num_rows(), 100);
    // A wrong one that fits the number of marks is found when granules are read.
    let wrong = |granularity| {
        let options =
            OpenOptions { index_granularity: Some(granularity), ..OpenOptions::default() };
        Part::open_with(&storage, Path::new(PATH), &options).map(Arc::new)
    };
    assert!(wrong(8).is_err() && wrong(6).is_err());
}

fn memory_and_storage() -> (Memory, Arc<dyn Storage>) {
    memory()
}

#[test]
fn links_are_refused() {
    let directory = std::env::temp_dir().join(format!("tambour-part-links-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&directory));
    std::fs::create_dir_all(directory.join("all_1_1_0")).unwrap();
    let memory = loose(["a", "b"], Dialect::New, 10, 4);
    for (name, bytes) in contents(&memory, Path::new(PATH)) {
        std::fs::write(directory.join("all_1_1_0").join(name), bytes).unwrap();
    }
    let path = directory.join("all_1_1_0");
    assert!(Part::open(&disk(), &path).is_ok());
    std::fs::rename(path.join("a.bin"), directory.join("a.bin")).unwrap();
    std::os::unix::fs::symlink("../a.bin", path.join("a.bin")).unwrap();
    let error = Part::open(&disk(), &path).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt);
    assert!(error.to_string().contains("links are not followed"), "{error}");
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn names_that_are_kept_in_all_small_files() {
    for name in ["a b", "`", "\\", "\u{fc}.x", "a/b", "..", "data", "%41"] {
        let columns = [column(name, "UInt8"), column("other", "UInt32")];
        let memory = loose([name, "other"], Dialect::New, 3, 2);
        let part = open(&memory).unwrap();
        assert_eq!(part.columns(), columns, "{name}");
        assert_eq!(
            read_all(&part).unwrap().column(0).as_primitive::<UInt8Type>().values(),
            &[0, 1, 2]
        );
    }
}

#[test]
fn contents_have_a_hash_that_tells_them_apart() {
    let memory = loose(["a", "b"], Dialect::New, 10, 4);
    let first = open(&memory).unwrap().content_hash();
    assert_eq!(first.len(), 32);
    assert_eq!(open(&memory).unwrap().content_hash(), first);
    put(&memory, "metadata_version.txt", b"1");
    assert_ne!(open(&memory).unwrap().content_hash(), first);
}

#[test]
fn many_columns_are_no_hindrance() {
    let columns: Vec<Column> = (0..2000).map(|k| column(&format!("c{k}"), "UInt8")).collect();
    let arrays = columns.iter().map(|column| {
        let values: ArrayRef = Arc::new(UInt8Array::from(vec![1, 2, 3]));
        (column.name.clone(), values)
    });
    let batch = RecordBatch::try_from_iter(arrays).unwrap();
    let (_, storage) = memory();
    let writing = Writing::new(&columns, Dialect::New);
    writing.write(&storage, Path::new(PATH), &batch, &Partition::default()).unwrap();
    let part = Arc::new(Part::open(&storage, Path::new(PATH)).unwrap());
    assert_eq!(
        read_all(&part).unwrap(),
        read_granules(&part, (0..2000).collect(), one(0, 1), 1).unwrap()
    );
    assert_eq!(part.column_sizes().unwrap().len(), 2000);
    assert!(part.verify().damage.is_empty());
}

/// A writer renames the directory of a part that it has just committed, also under readers.
#[test]
fn a_part_is_read_on_under_its_other_name() {
    let memory = loose(["a", "b"], Dialect::New, 10, 4);
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let other = Path::new("t/all_1_1_0_5");
    let options = OpenOptions { renamed_to: Some(other.to_owned()), ..OpenOptions::default() };
    let part = Arc::new(Part::open_with(&storage, Path::new(PATH), &options).unwrap());
    storage.rename(Path::new(PATH), other).unwrap();
    assert_eq!(read_all(&part).unwrap().num_rows(), 10);
}
