//! What is written is read again, byte for byte as the format says.

use super::support::{Writing, contents, memory, one, read_all, read_granules, zoo};
use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, Date32Array, RecordBatch, StringArray, UInt32Array};
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::types::{Column, DataType};
use tambour_part::write::{Dialect, Partition};

fn column(name: &str, data_type: DataType) -> Column {
    Column { name: name.to_owned(), data_type }
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// The part that docs/format/part.md prints in hex; ClickHouse accepted it.
#[test]
fn the_documented_part_is_written_to_the_byte() {
    let columns = [column("k", DataType::UInt32), column("s", DataType::String)];
    let rows = RecordBatch::try_from_iter([
        ("k", Arc::new(UInt32Array::from(vec![1, 2, 3])) as ArrayRef),
        ("s", Arc::new(StringArray::from(vec!["a", "", "ccc"]))),
    ])
    .unwrap();
    let (memory, storage) = memory();
    let path = Path::new("t/all_1_1_0");
    let mut writing = Writing::new(&columns, Dialect::New);
    writing.codec = "NONE";
    let summary = writing.write(&storage, path, &rows, &Partition::default()).unwrap();
    assert_eq!((summary.rows, summary.granules, summary.uncompressed), (3, 1, 19));
    let files = contents(&memory, path);
    let file = |name: &str| &files.iter().find(|(known, _)| known == name).unwrap().1;
    assert_eq!(
        std::str::from_utf8(file("columns.txt")).unwrap(),
        "columns format version: 1\n2 columns:\n`k` UInt32\n`s` String\n"
    );
    for (name, hex) in [
        ("count.txt", "33"),
        ("k.bin", "7c1175e89f6123e649ce0eae65ad9e28 02 15000000 0c000000 010000000200000003000000"),
        (
            "k.mrk2",
            "0000000000000000 0000000000000000 0300000000000000 0000000000000000 0c00000000000000 0000000000000000",
        ),
        ("s.bin", "a247674318ef13e66d71ce74767c0e91 02 10000000 07000000 0161 00 03636363"),
        (
            "s.mrk2",
            "0000000000000000 0000000000000000 0300000000000000 0000000000000000 0700000000000000 0000000000000000",
        ),
        ("primary.idx", "01000000 03000000"),
    ] {
        assert_eq!(*file(name), unhex(hex), "{name}");
    }
    assert_eq!(
        summary.bytes_on_disk,
        files.iter().map(|(_, bytes)| bytes.len() as u64).sum::<u64>()
    );
    assert!(file("checksums.txt").starts_with(b"checksums format version: 4\n"));
}

/// The same part as the document has it, with its own checksums.txt.
#[test]
fn the_documented_part_is_read() {
    let sums = "ecc8a76032bb4d8ff262a6a23203bb9e 02 c8000000 bf000000
        06 09636f756e742e747874 01 77b7950445b8f9bd2bab46cbff137bdb 00 056b2e62696e 25 57bc07a3ac21fc0e10896bb4208f364b
        01 0c 4dedf5344be929b809a3ab69ffbf1759 066b2e6d726b32 30 b29f49086d3d8799ff74526270149ec9 00
        0b7072696d6172792e696478 08 7139462ff1ac301fa817edeacdba16f2 00 05732e62696e 20 4eb7fbfc29c6bf3998c844b9d3dbee83
        01 07 0348e67f6d33843b9c00bf0db303900d 06732e6d726b32 30 3ae9fc8434d172f64f79fc9b593886a5 00";
    let (memory, storage) = memory();
    let put = |name: &str, bytes: &[u8]| memory.put(&Path::new("t/all_1_1_0").join(name), bytes);
    put("columns.txt", b"columns format version: 1\n2 columns:\n`k` UInt32\n`s` String\n");
    put("count.txt", b"3");
    put(
        "k.bin",
        &unhex("7c1175e89f6123e649ce0eae65ad9e28 02 15000000 0c000000 010000000200000003000000"),
    );
    put("s.bin", &unhex("a247674318ef13e66d71ce74767c0e91 02 10000000 07000000 0161 00 03636363"));
    let marks = |end: &str| {
        unhex(&format!("{:0>32}03{:0>14}{:0>16}{end}{:0>14}{:0>16}", "", "", "", "", ""))
    };
    put("k.mrk2", &marks("0c"));
    put("s.mrk2", &marks("07"));
    put("primary.idx", &unhex("0100000003000000"));
    put("checksums.txt", &[b"checksums format version: 4\n".to_vec(), unhex(sums)].concat());
    let part = Arc::new(Part::open(&storage, Path::new("t/all_1_1_0")).unwrap());
    let rows = read_all(&part).unwrap();
    assert_eq!(rows.column(0).as_primitive::<UInt32Type>().values(), &[1, 2, 3]);
    assert_eq!(rows.column(1).as_binary_view().value(2), b"ccc");
    let seen = part.verify();
    assert!(seen.damage.is_empty(), "{:?}", seen.damage);
    assert!(part.has_final_mark());
    let index = part.primary_index(&[DataType::UInt32]).unwrap();
    assert_eq!(index[0].as_primitive::<UInt32Type>().values(), &[1, 3]);
}

#[test]
fn most_types_survive_in_both_dialects() {
    let (columns, rows) = zoo();
    for dialect in [Dialect::New, Dialect::Old] {
        for index_granularity in [1, 7, 256, 1000, 8192] {
            for codec in ["LZ4", "ZSTD(1)", "NONE"] {
                let (_, storage) = memory();
                let mut writing = Writing::new(&columns, dialect);
                (writing.index_granularity, writing.codec) = (index_granularity, codec);
                writing.keys = vec![0, 5];
                let path = Path::new("t/all_1_1_0");
                writing.write(&storage, path, &rows, &Partition::default()).unwrap();
                let part = Arc::new(Part::open(&storage, path).unwrap());
                assert_eq!(
                    read_all(&part).unwrap(),
                    rows,
                    "{dialect:?} {index_granularity} {codec}"
                );
                assert_eq!(part.columns(), columns);
                assert_eq!(part.granules().len(), rows.num_rows().div_ceil(index_granularity));
                let seen = part.verify();
                assert!(seen.damage.is_empty(), "{:?}", seen.damage);
            }
        }
    }
}

#[test]
fn neither_calls_nor_threads_change_a_byte() {
    let (columns, rows) = zoo();
    let path = Path::new("t/all_1_1_0");
    // Records of LowCardinality columns follow the calls, all else is the same.
    let plain: Vec<usize> = (0..columns.len())
        .filter(|index| !columns[*index].data_type.to_string().contains("LowCardinality"))
        .collect();
    let columns: Vec<Column> = plain.iter().map(|index| columns[*index].clone()).collect();
    let rows = rows.project(&plain).unwrap();
    let write = |rows_per_call, threads| {
        let (memory, storage) = memory();
        let writing = Writing { threads, rows_per_call, ..Writing::new(&columns, Dialect::New) };
        writing.write(&storage, path, &rows, &Partition::default()).unwrap();
        contents(&memory, path)
    };
    let expected = write(usize::MAX, 1);
    for rows_per_call in [1, 100, 256, 300, 999] {
        assert!(write(rows_per_call, 1) == expected, "{rows_per_call}");
    }
    assert!(write(usize::MAX, 4) == expected);
}

#[test]
fn threads_encode_large_calls_alike() {
    let rows = 40_000u32;
    let batch = RecordBatch::try_from_iter([
        ("a", Arc::new(UInt32Array::from_iter_values(0..rows)) as ArrayRef),
        ("b", Arc::new(UInt32Array::from_iter_values((0..rows).map(|k| k % 7)))),
        ("c", Arc::new(StringArray::from_iter_values((0..rows).map(|k| k.to_string())))),
    ])
    .unwrap();
    let columns = [
        column("a", DataType::UInt32),
        column("b", DataType::UInt32),
        column("c", DataType::String),
    ];
    let write = |threads| {
        let (memory, storage) = memory();
        let mut writing = Writing::new(&columns, Dialect::New);
        (writing.threads, writing.index_granularity) = (threads, 8192);
        writing.write(&storage, Path::new("t/p"), &batch, &Partition::default()).unwrap();
        let part = Arc::new(Part::open(&storage, Path::new("t/p")).unwrap());
        assert_eq!(part.granules(), [8192, 8192, 8192, 8192, 7232]);
        assert_eq!(read_all(&part).unwrap().column(0), batch.column(0));
        contents(&memory, Path::new("t/p"))
    };
    assert!(write(1) == write(3));
}

#[test]
fn any_granules_and_columns_can_be_read() {
    let (columns, rows) = zoo();
    for dialect in [Dialect::New, Dialect::Old] {
        let (_, storage) = memory();
        let path = Path::new("t/all_1_1_0");
        let mut writing = Writing::new(&columns, dialect);
        writing.index_granularity = 100;
        writing.write(&storage, path, &rows, &Partition::default()).unwrap();
        let part = Arc::new(Part::open(&storage, path).unwrap());
        let all: Vec<usize> = (0..columns.len()).collect();
        for ranges in [one(0, 1), one(9, 10), one(3, 7), vec![0..2, 2..4, 8..10], vec![1..1, 5..6]]
        {
            for batch_rows in [1, 150, 10_000] {
                let read = read_granules(&part, all.clone(), ranges.clone(), batch_rows).unwrap();
                let slices: Vec<RecordBatch> = ranges
                    .iter()
                    .map(|range| rows.slice(range.start * 100, range.len() * 100))
                    .collect();
                let expected =
                    arrow_select::concat::concat_batches(&rows.schema(), &slices).unwrap();
                assert_eq!(read, expected, "{ranges:?} {batch_rows}");
            }
        }
        let swapped = read_granules(&part, vec![5, 0], one(2, 3), 1).unwrap();
        assert_eq!(swapped, rows.project(&[5, 0]).unwrap().slice(200, 100));
        let counted = read_granules(&part, vec![], vec![2..3, 9..10], 1).unwrap();
        assert_eq!((counted.num_rows(), counted.num_columns()), (200, 0));
        for bad in [one(0, 11), vec![3..4, 1..2], vec![0..5, 4..6]] {
            assert!(read_granules(&part, vec![0], bad, 1).is_err());
        }
        assert!(read_granules(&part, vec![99], one(0, 1), 1).is_err());
    }
}

/// A granule whose arrays are all empty has a mark at the end of a block of the items: wherever reading begins, it ends there.
#[test]
fn granules_of_empty_arrays_are_read_from_anywhere() {
    let granules = 10;
    for full in [vec![], vec![0], vec![9], vec![0, 5], vec![2, 3, 8]] {
        let mut items = arrow_array::builder::ListBuilder::new(StringBuilder::new());
        for row in 0..2 * granules {
            if full.contains(&(row / 2)) {
                items.values().append_value(format!("item {row}"));
            }
            items.append(true);
        }
        let rows = RecordBatch::try_from_iter([("a", Arc::new(items.finish()) as ArrayRef)]);
        let rows = rows.unwrap();
        let columns = [column("a", DataType::Array(Box::new(DataType::String)))];
        for dialect in [Dialect::New, Dialect::Old] {
            let (_, storage) = memory();
            let mut writing = Writing::new(&columns, dialect);
            (writing.index_granularity, writing.keys) = (2, vec![]);
            let path = Path::new("t/all_1_1_0");
            writing.write(&storage, path, &rows, &Partition::default()).unwrap();
            let part = Arc::new(Part::open(&storage, path).unwrap());
            let whole = read_granules(&part, vec![0], one(0, granules), 1).unwrap();
            for (start, end) in
                (0..granules).flat_map(|it| (it + 1..=granules).map(move |end| (it, end)))
            {
                let read = read_granules(&part, vec![0], one(start, end), 1).unwrap();
                assert_eq!(
                    read,
                    whole.slice(2 * start, 2 * (end - start)),
                    "{full:?} {start}..{end}"
                );
            }
        }
    }
}

#[test]
fn granules_of_wide_rows_are_small_and_the_same_however_rows_come() {
    let long = "x".repeat(3 << 20);
    let texts: Vec<&str> = (0..10).map(|k| if k < 7 { long.as_str() } else { "short" }).collect();
    let batch = RecordBatch::try_from_iter([("s", Arc::new(StringArray::from(texts)) as ArrayRef)])
        .unwrap();
    let columns = [column("s", DataType::String)];
    for rows_per_call in [1, 3, 10] {
        let (_, storage) = memory();
        let mut writing = Writing::new(&columns, Dialect::New);
        (writing.rows_per_call, writing.keys) = (rows_per_call, vec![]);
        writing.write(&storage, Path::new("t/p"), &batch, &Partition::default()).unwrap();
        let part = Arc::new(Part::open(&storage, Path::new("t/p")).unwrap());
        assert_eq!(part.granules(), [3, 3, 4], "10 MiB hold three rows of 3 MiB");
        assert!(!part.has_primary_index());
        let read = read_granules(&part, vec![0], one(1, 3), 1).unwrap();
        assert_eq!(read.column(0).as_binary_view().value(0).len(), 3 << 20);
        assert_eq!(read.column(0).as_binary_view().value(6), b"short");
    }
}

#[test]
fn partitions_are_written_and_believed_only_under_their_name() {
    let days = Date32Array::from(vec![19_754, 19_760, 19_781]);
    let batch = RecordBatch::try_from_iter([("d", Arc::new(days) as ArrayRef)]).unwrap();
    let columns = [column("d", DataType::Date)];
    let partition = Partition {
        values: vec![(DataType::UInt32, Arc::new(UInt32Array::from(vec![202_402])))],
        ranges: vec![(
            "d".to_owned(),
            DataType::Date,
            Arc::new(Date32Array::from(vec![19_754, 19_781])),
        )],
    };
    assert_eq!(partition.id().unwrap(), "202402");
    let (memory, storage) = memory();
    let writing = Writing::new(&columns, Dialect::New);
    writing.write(&storage, Path::new("t/tmp_x"), &batch, &partition).unwrap();
    let open = |name: &str| {
        memory.copy_from(&memory, Path::new("t/tmp_x"), &Path::new("t").join(name)).unwrap();
        Part::open(&storage, &Path::new("t").join(name))
    };
    assert!(open("202402_1_1_0").is_ok() && open("tmp_y").is_ok());
    assert!(open("202403_1_1_0").is_err() && open("all_1_1_0").is_err());
    let part = Arc::new(open("202402_2_2_0").unwrap());
    assert!(part.verify().damage.is_empty());
    assert_eq!(part.minmax("d").unwrap().unwrap().len(), 2);

    let wrong = Partition {
        ranges: vec![(
            "d".to_owned(),
            DataType::Date,
            Arc::new(Date32Array::from(vec![19_755, 19_781])),
        )],
        ..partition
    };
    writing.write(&storage, Path::new("t/202402_3_3_0"), &batch, &wrong).unwrap();
    let part = Arc::new(Part::open(&storage, Path::new("t/202402_3_3_0")).unwrap());
    let damage = part.verify().damage;
    assert_eq!(damage.len(), 1);
    assert_eq!(
        damage[0].error.to_string(),
        "t/202402_3_3_0/minmax_d.idx, column `d`, row 0: value is outside the range"
    );
}

#[test]
fn an_empty_part_is_a_part() {
    let (columns, rows) = zoo();
    for dialect in [Dialect::New, Dialect::Old] {
        let (memory, storage) = memory();
        let path = Path::new("t/all_1_1_0");
        let writing = Writing::new(&columns, dialect);
        writing.write(&storage, path, &rows.slice(0, 0), &Partition::default()).unwrap();
        let part = Arc::new(Part::open(&storage, path).unwrap());
        assert_eq!((part.rows(), part.granules().len()), (0, 0));
        assert_eq!(read_all(&part).unwrap().num_rows(), 0);
        let seen = part.verify();
        assert!(seen.damage.is_empty(), "{:?}", seen.damage);
        assert_eq!(part.primary_index(&[DataType::UInt32]).unwrap()[0].len(), 0);
        assert!(
            contents(&memory, path).iter().any(|(name, bytes)| name == "k.bin" && bytes.is_empty())
        );
    }
}

#[test]
fn long_names_are_hashed() {
    let name = "\u{e9}".repeat(30);
    let columns = [column("k", DataType::UInt32), column(&name, DataType::UInt32)];
    let numbers: ArrayRef = Arc::new(UInt32Array::from(vec![1, 2]));
    let batch = RecordBatch::try_from_iter([("k", Arc::clone(&numbers)), ("e", numbers)]).unwrap();
    let (memory, storage) = memory();
    let path = Path::new("t/all_1_1_0");
    Writing::new(&columns, Dialect::New)
        .write(&storage, path, &batch, &Partition::default())
        .unwrap();
    assert!(contents(&memory, path).iter().any(|(file, _)| file.starts_with("84d14789")));
    let part = Arc::new(Part::open(&storage, path).unwrap());
    assert_eq!(read_all(&part).unwrap().column(1), batch.column(1));
    assert!(part.verify().damage.is_empty());
}

#[test]
fn arguments_that_make_no_part_are_refused() {
    let (_, storage) = memory();
    let path = Path::new("t/p");
    let k = column("k", DataType::UInt32);
    let create =
        |writing: &Writing| tambour_part::PartWriter::create(&storage, path, writing.spec());
    assert!(create(&Writing::new(&[k.clone(), k.clone()], Dialect::New)).is_err());
    let mut zero = Writing::new(std::slice::from_ref(&k), Dialect::New);
    zero.index_granularity = 0;
    assert!(create(&zero).is_err());
    let mut none = Writing::new(&[], Dialect::New);
    none.keys.clear();
    assert!(create(&none).is_err());
    // Files of two columns that would have the same name.
    let nested = [column("n.a", DataType::UInt32), column("n%2Ea", DataType::UInt32)];
    assert!(create(&Writing::new(&nested, Dialect::New)).is_ok(), "the second is n%252Ea");
    let error = create(&Writing::new(&nested, Dialect::New)).unwrap_err();
    assert_eq!(error.kind(), tambour_codec::Kind::Conflict);
}

#[test]
fn arrays_of_a_nested_must_agree() {
    use arrow_array::types::UInt8Type;
    let list = |lengths: &[usize]| -> ArrayRef {
        let rows = lengths.iter().map(|length| Some(vec![Some(1); *length]));
        Arc::new(arrow_array::ListArray::from_iter_primitive::<UInt8Type, _, _>(rows))
    };
    let array = || DataType::Array(Box::new(DataType::UInt8));
    let columns = [column("n.x", array()), column("n.y", array())];
    let mut writing = Writing::new(&columns, Dialect::New);
    writing.keys.clear();
    let (memory, storage) = memory();
    let write = |y: &[usize]| {
        let batch = RecordBatch::try_from_iter([("x", list(&[1, 2])), ("y", list(y))]).unwrap();
        writing.write(&storage, Path::new("t/p"), &batch, &Partition::default())
    };
    let error = write(&[1, 3]).unwrap_err();
    assert!(error.to_string().contains("`n.y`, row 1"), "{error}");
    write(&[1, 2]).unwrap();
    let names: Vec<String> =
        contents(&memory, Path::new("t/p")).into_iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"n.size0.bin".to_owned()) && names.contains(&"n%2Ey.bin".to_owned()));
}

#[test]
fn batches_of_wide_rows_stay_small() {
    let long = "x".repeat(1 << 20);
    let texts: StringArray = (0..200).map(|_| Some(long.as_str())).collect();
    let batch = RecordBatch::try_from_iter([("s", Arc::new(texts) as ArrayRef)]).unwrap();
    let columns = [column("s", DataType::String)];
    let (_, storage) = memory();
    let mut writing = Writing::new(&columns, Dialect::New);
    writing.keys.clear();
    writing.write(&storage, Path::new("t/p"), &batch, &Partition::default()).unwrap();
    let part = Arc::new(Part::open(&storage, Path::new("t/p")).unwrap());
    let request = tambour_part::part::ReadRequest {
        columns: vec![0],
        granules: one(0, part.granules().len()),
        batch_rows: 8192,
        strings: tambour_part::types::Strings::Utf8,
    };
    let rows: Vec<usize> =
        part.read(request).unwrap().map(|batch| batch.unwrap().num_rows()).collect();
    assert_eq!(rows.iter().sum::<usize>(), 200);
    assert!(rows.iter().all(|rows| *rows <= 72), "{rows:?}");
}
