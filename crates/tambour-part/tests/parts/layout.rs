//! Layouts that are chosen: strings with sizes or inline, and dictionaries with sorted keys.

use super::support::{Writing, memory, one, read_granules};
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, Float64Array, Int16Array, Int64Array, RecordBatch, StringArray, UInt32Array,
};
use arrow_schema::DataType as Arrow;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::block::{Block, Decoder};
use tambour_part::Part;
use tambour_part::types::Column;
use tambour_part::write::{Dialect, Partition, StringLayout};
use tambour_storage::Storage;

const PATH: &str = "t/all_1_1_0";
const SERIALIZATION: &str =
    r#"{"columns":[],"types_serialization_versions":{"string":1},"version":1}"#;

fn columns(types: &[(&str, &str)]) -> Vec<Column> {
    let column = |(name, text): &(&str, &str)| Column {
        name: (*name).to_owned(),
        data_type: text.parse().unwrap(),
    };
    types.iter().map(column).collect()
}

/// Digits of which nothing tells how many there are: their numbers are better stored apart.
fn sentence(row: u32) -> String {
    let mut state = u64::from(row + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ 0x94d0_49bb_1331_11eb;
        state >> 33
    };
    let length = 10 + next() % 31;
    (0..length).map(|_| char::from(b"0123456789abcdef"[(next() % 16) as usize])).collect()
}

fn stream(storage: &dyn Storage, name: &str) -> Vec<u8> {
    let file = storage.read(&Path::new(PATH).join(name), u64::MAX).unwrap();
    let (mut decoder, mut bytes, mut at) = (Decoder::new(), Vec::new(), 0);
    while at < file.len() {
        let block = Block::parse(&file[at..]).unwrap();
        decoder.decode_append(&block, &mut bytes).unwrap();
        at += block.header.block_bytes();
    }
    bytes
}

fn strings_of(writing: &Writing, rows: &RecordBatch) -> (Option<Vec<u8>>, Arc<Part>) {
    let (_, storage) = memory();
    let path = Path::new(PATH);
    writing.write(&storage, path, rows, &Partition::default()).unwrap();
    let part = Arc::new(Part::open(&storage, path).unwrap());
    let seen = part.verify();
    assert!(seen.damage.is_empty(), "{:?}", seen.damage);
    for start in [0, part.granules().len() / 2] {
        let all: Vec<usize> = (0..rows.num_columns()).collect();
        let found = read_granules(&part, all, one(start, part.granules().len()), 3_000).unwrap();
        let skipped: u64 = part.granules()[..start].iter().sum();
        let skipped = usize::try_from(skipped).unwrap();
        for (left, right) in found.columns().iter().zip(rows.columns()) {
            let right = right.slice(skipped, rows.num_rows() - skipped);
            let left = arrow_cast::cast(left, right.data_type()).unwrap();
            assert_eq!(left.as_ref(), right.as_ref());
        }
    }
    (storage.read(&path.join("serialization.json"), 1 << 20).ok(), part)
}

fn texts(count: u32) -> RecordBatch {
    let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..count).map(sentence)));
    let maybe: ArrayRef =
        Arc::new((0..count).map(|n| (n % 3 > 0).then(|| sentence(n))).collect::<StringArray>());
    let inner = arrow_array::StructArray::from(vec![(
        Arc::new(arrow_schema::Field::new("s", Arrow::Utf8, false)),
        Arc::clone(&text),
    )]);
    RecordBatch::try_from_iter_with_nullable([
        ("k", Arc::new(UInt32Array::from_iter_values(0..count)) as ArrayRef, false),
        ("s", text, false),
        ("n", maybe, true),
        ("t", Arc::new(inner), false),
    ])
    .unwrap()
}

const SERIALIZATION_INSIDE: &str = r#"{"columns":[],"propagate_types_serialization_versions_to_nested_types":true,"types_serialization_versions":{"string":1},"version":1}"#;

const TYPES: [(&str, &str); 4] =
    [("k", "UInt32"), ("s", "String"), ("n", "Nullable(String)"), ("t", "Tuple(s String)")];

use StringLayout::{Inline, Sized, SizedInside, Smaller};

#[test]
fn strings_have_sizes_where_that_is_smaller() {
    let rows = texts(15_000);
    let mut writing = Writing::new(&columns(&TYPES), Dialect::New);
    writing.index_granularity = 1_000;
    for (codec, strings, wanted) in [
        ("auto(size)", Smaller, SizedInside),
        ("auto(size)", Inline, Inline),
        ("auto(size)", Sized, Sized),
        ("auto(size, 'since=25.9')", Smaller, Inline),
        ("auto(size, 'since=25.10')", Smaller, Sized),
        ("auto(size, 'since=26.3')", Smaller, SizedInside),
        ("auto(size, plain)", Smaller, Inline),
        ("LZ4", Smaller, Inline),
        ("LZ4", Sized, Sized),
        ("LZ4", SizedInside, SizedInside),
    ] {
        writing.codec = codec;
        writing.strings = strings;
        for rows_per_call in [700, usize::MAX] {
            writing.rows_per_call = rows_per_call;
            let (file, part) = strings_of(&writing, &rows);
            let told = file.map(|bytes| String::from_utf8(bytes).unwrap());
            let expected = match wanted {
                SizedInside => Some(SERIALIZATION_INSIDE),
                Sized => Some(SERIALIZATION),
                _ => None,
            };
            assert_eq!(told.as_deref(), expected, "{codec}");
            let has = |name: &str| part.files().iter().any(|(file, _)| file == name);
            assert_eq!(has("s.size.bin") && has("t%2Es.size.bin"), wanted != Inline, "{codec}");
            assert_eq!(has("n.size.bin"), wanted == SizedInside, "{codec}");
        }
    }
    // Old servers have no such thing.
    writing.dialect = Dialect::Old;
    writing.codec = "auto(size)";
    writing.strings = StringLayout::Smaller;
    assert_eq!(strings_of(&writing, &rows).0, None);
    writing.codec = "LZ4";
    writing.strings = StringLayout::Sized;
    assert_eq!(strings_of(&writing, &rows).0, None);
}

#[test]
fn strings_stay_inline_where_sizes_cost_more() {
    // The same short text again and again: two streams have twice the headers.
    let text: ArrayRef = Arc::new(StringArray::from_iter_values((0..5_000).map(|_| "same")));
    let rows = RecordBatch::try_from_iter([("s", text)]).unwrap();
    let mut writing = Writing::new(&columns(&[("s", "String")]), Dialect::New);
    writing.codec = "auto(size)";
    writing.strings = StringLayout::Smaller;
    assert_eq!(strings_of(&writing, &rows).0, None);
    // A part without rows, and one with few.
    assert_eq!(strings_of(&writing, &rows.slice(0, 0)).0, None);
    strings_of(&writing, &rows.slice(0, 1));
}

/// The keys of the first dictionary of a column of strings, without the default.
fn keys(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut take = |count: usize| {
        let (head, rest) = bytes.split_at(count);
        bytes = rest;
        head.to_vec()
    };
    assert_eq!(take(8), 1_u64.to_le_bytes());
    let count = u64::from_le_bytes(take(8).try_into().unwrap());
    let keys = (0..count).map(|_| {
        let length = take(1)[0];
        take(usize::from(length))
    });
    keys.skip(1).collect()
}

#[test]
fn dictionaries_are_sorted_where_the_codec_is_chosen() {
    let types = [("k", "UInt32"), ("l", "LowCardinality(String)"), ("n", "LowCardinality(Int16)")];
    let count = 150_000_u32;
    let mixed = |n: u32| n.wrapping_mul(2_654_435_761) >> 8;
    // More keys than a dictionary takes.
    let text: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..count).map(|n| (mixed(n) % 100_000).to_string()),
    ));
    let numbers: ArrayRef = Arc::new(Int16Array::from_iter_values(
        (0..count).map(|n| i16::try_from(mixed(n) % 700).unwrap() - 300),
    ));
    let rows = RecordBatch::try_from_iter([
        ("k", Arc::new(UInt32Array::from_iter_values(0..count)) as ArrayRef),
        ("l", text),
        ("n", numbers),
    ])
    .unwrap();
    let mut writing = Writing::new(&columns(&types), Dialect::New);
    writing.index_granularity = 8_192;
    for dialect in [Dialect::New, Dialect::Old] {
        for (codec, rows_per_call) in [("auto(size)", 10_000), ("auto", usize::MAX), ("LZ4", 777)] {
            writing.dialect = dialect;
            writing.codec = codec;
            writing.rows_per_call = rows_per_call;
            let (_, storage) = memory();
            writing.write(&storage, Path::new(PATH), &rows, &Partition::default()).unwrap();
            let found = keys(&stream(storage.as_ref(), "l.dict.bin"));
            assert!(found.len() >= 65_535, "{}", found.len());
            assert_eq!(found.is_sorted(), codec != "LZ4", "{codec}");
            let numbers = stream(storage.as_ref(), "n.dict.bin");
            let (numbers, _) = numbers[18..].as_chunks::<2>();
            let found: Vec<i16> = numbers.iter().map(|bytes| i16::from_le_bytes(*bytes)).collect();
            assert_eq!(found.is_sorted(), codec != "LZ4", "{codec}");
            strings_of(&writing, &rows);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_learned() {
    let nulls: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None]));
    let rows = RecordBatch::try_from_iter_with_nullable([("l", nulls, true)]).unwrap();
    let mut writing = Writing::new(&columns(&[("l", "LowCardinality(String)")]), Dialect::New);
    writing.codec = "auto";
    let (_, storage) = memory();
    let error = writing.write(&storage, Path::new(PATH), &rows, &Partition::default()).unwrap_err();
    assert!(error.to_string().contains("row 1"), "{error}");
    assert!(rows.column(0).as_string::<i32>().is_null(1));
}

/// Rows of which one in twenty is not the default.
fn rare(count: u32) -> RecordBatch {
    let is_rare = |n: &u32| n % 20 == 7;
    let number = |n: u32| if is_rare(&n) { i64::from(n) - 5_000 } else { 0 };
    let float = |n: u32| match n % 40 {
        7 => -0.0,
        27 => f64::NAN,
        _ => 0.0,
    };
    let text = |n: u32| if is_rare(&n) { sentence(n) } else { String::new() };
    RecordBatch::try_from_iter_with_nullable([
        ("k", Arc::new(UInt32Array::from_iter_values(0..count)) as ArrayRef, false),
        ("i", Arc::new((0..count).map(|n| Some(number(n))).collect::<Int64Array>()) as _, false),
        ("f", Arc::new((0..count).map(|n| Some(float(n))).collect::<Float64Array>()) as _, false),
        ("s", Arc::new(StringArray::from_iter_values((0..count).map(text))) as _, false),
    ])
    .unwrap()
}

#[test]
fn columns_of_defaults_are_sparse() {
    let rows = rare(15_000);
    let types = [("k", "UInt32"), ("i", "Int64"), ("f", "Float64"), ("s", "String")];
    let mut writing = Writing::new(&columns(&types), Dialect::New);
    writing.index_granularity = 1_000;
    for (ratio, strings, wanted) in [
        (Some(0.9), Inline, true),
        (Some(0.9), Sized, true),
        (Some(0.9), SizedInside, true),
        (Some(0.95), Inline, false),
        (Some(1.0), Inline, false),
        (None, Inline, false),
    ] {
        (writing.sparse_ratio, writing.strings) = (ratio, strings);
        for rows_per_call in [700, usize::MAX] {
            writing.rows_per_call = rows_per_call;
            let (file, part) = strings_of(&writing, &rows);
            let told = file.map(|bytes| String::from_utf8(bytes).unwrap()).unwrap_or_default();
            let count =
                part.files().iter().filter(|(it, _)| it.ends_with(".sparse.idx.bin")).count();
            assert_eq!(count, if wanted { 3 } else { 0 }, "{ratio:?}, {strings:?}");
            assert_eq!(told.matches("\"num_defaults\":14250,\"num_rows\":15000").count(), count);
        }
    }
    // Neither old servers nor those that a codec is chosen for.
    writing.sparse_ratio = Some(0.9);
    writing.codec = "auto(size, 'since=21.12')";
    let is_sparse = |part: &Part| part.files().iter().any(|(it, _)| it.contains(".sparse."));
    assert!(!is_sparse(&strings_of(&writing, &rows).1));
    (writing.codec, writing.dialect) = ("LZ4", Dialect::Old);
    assert!(!is_sparse(&strings_of(&writing, &rows).1));
    // One row, all of which is the default, and none.
    writing.dialect = Dialect::New;
    assert!(is_sparse(&strings_of(&writing, &rare(1)).1));
    assert!(!is_sparse(&strings_of(&writing, &rare(0)).1));
}
