//! Layouts that parts choose when they are written, and again when they are merged.

use super::*;
use arrow_array::cast::AsArray;

const CHOSEN: &str = "CREATE TABLE t (k UInt32, s String CODEC(auto(size)), l LowCardinality(String) CODEC(auto(size)), \
     m LowCardinality(Date) CODEC(auto(size)), n LowCardinality(Nullable(Int16)) CODEC(auto(size)), \
     c LowCardinality(Float64) CODEC(auto(size))) \
     ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 512";

fn mixed(n: u32) -> u32 {
    let mut state = u64::from(n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    u32::try_from((state ^ state >> 27) >> 40).unwrap()
}

/// Texts, and values of few.
fn batch(definition: &TableDefinition, range: std::ops::Range<u32>) -> RecordBatch {
    // Of which nothing tells how many digits there are: their numbers are better stored apart.
    let sentence = |n: u32| -> String {
        let digit = |at: u32| char::from(b"0123456789abcdef"[(mixed(n * 64 + at) % 16) as usize]);
        (0..10 + mixed(n) % 31).map(digit).collect()
    };
    let small = |n: u32, limit: u32| i16::try_from(mixed(n) % limit).unwrap();
    let number = |n: u32| (!n.is_multiple_of(5)).then(|| small(n, 300) - 100);
    let odd = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(UInt32Array::from_iter_values(range.clone())),
        Arc::new(StringViewArray::from_iter_values(range.clone().map(sentence))),
        Arc::new(StringArray::from_iter_values(
            range.clone().map(|n| format!("label {}", mixed(n) % 900)),
        )),
        Arc::new(Date32Array::from_iter_values(range.clone().map(|n| small(n, 80).into()))),
        Arc::new(range.clone().map(number).collect::<arrow_array::Int16Array>()),
        Arc::new(arrow_array::Float64Array::from_iter_values(
            range.map(|n| odd[(mixed(n) % 5) as usize]),
        )),
    ];
    let schema = arrow_schema(&definition.plain_columns(), Strings::Utf8);
    let columns = columns.iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()).unwrap());
    RecordBatch::try_new(Arc::new(schema.clone()), columns.collect()).unwrap()
}

fn has_sizes(table: &Table, part: usize) -> bool {
    table.parts()[part].files().iter().any(|(name, _)| name == "s.size.bin")
}

#[test]
fn rows_survive_chosen_layouts_and_merging() {
    let (storage, scratch) = (tambour_storage::disk(), scratch());
    let path = scratch.path().join("t");
    let definition = definition(CHOSEN);
    let batches: Vec<RecordBatch> =
        (0..4).map(|part| batch(&definition, part * 9_000..(part + 1) * 9_000)).collect();
    let expected = contents(&batches);
    for batch in &batches {
        insert(&storage, &path, &definition, options(), std::slice::from_ref(batch)).unwrap();
    }
    // A part of the old layout among them.
    let old = InsertOptions { dialect: Dialect::Old, ..options() };
    let more = batch(&definition, 36_000..40_000);
    let written = insert(&storage, &path, &definition, old, std::slice::from_ref(&more));
    written.unwrap();
    let table = Table::open_on(&storage, &path).unwrap();
    assert_eq!(
        (0..5).map(|part| has_sizes(&table, part)).collect::<Vec<_>>(),
        [true, true, true, true, false]
    );
    let all: Vec<RecordBatch> = batches.into_iter().chain([more]).collect();
    assert_ne!(contents(&all), expected);
    let expected = contents(&all);
    assert_eq!(read(&storage, &path).unwrap(), expected);
    // An open table keeps what is replaced.
    drop(table);
    merge_all(&storage, &path, 64 << 20).unwrap();
    assert_eq!(read(&storage, &path).unwrap(), expected);
    assert_tidy(&storage, &path);
    let table = Table::open_on(&storage, &path).unwrap();
    let dictionaries: Vec<RecordBatch> = read_part(&table, 0);
    let values = dictionaries[0].column(2).as_any_dictionary().values().clone();
    let values = values.as_string::<i32>();
    // Key 0 is the empty string, so all of them are in order.
    assert!(values.iter().flatten().is_sorted(), "{values:?}");
}

/// Dictionaries end and begin again after a uniform start, in a part and when parts are merged.
#[test]
fn many_values_behind_few() {
    let (storage, scratch) = (tambour_storage::disk(), scratch());
    let path = scratch.path().join("t");
    let definition = definition(
        "CREATE TABLE t (k UInt32, l LowCardinality(String) CODEC(auto)) ENGINE = MergeTree ORDER BY k",
    );
    let schema = Arc::new(arrow_schema(&definition.plain_columns(), Strings::Utf8));
    let rows = |range: std::ops::Range<u32>, label: fn(u32) -> String| {
        let labels: ArrayRef = Arc::new(StringArray::from_iter_values(range.clone().map(label)));
        let labels = cast(&labels, schema.field(1).data_type()).unwrap();
        let keys: ArrayRef = Arc::new(UInt32Array::from_iter_values(range));
        RecordBatch::try_new(Arc::clone(&schema), vec![keys, labels]).unwrap()
    };
    let uniform = rows(0..60_000, |_| "same".to_owned());
    let different = rows(60_000..230_000, |n| format!("{:x}", mixed(n) as u64 * 97));
    let expected = contents(&[uniform.clone(), different.clone()]);
    insert(&storage, &path, &definition, options(), &[uniform.clone(), different.clone()]).unwrap();
    assert_eq!(read(&storage, &path).unwrap(), expected);
    insert(&storage, &path, &definition, options(), std::slice::from_ref(&uniform)).unwrap();
    merge_all(&storage, &path, 64 << 20).unwrap();
    assert_eq!(read(&storage, &path).unwrap(), contents(&[uniform.clone(), uniform, different]));
    assert_tidy(&storage, &path);
}
