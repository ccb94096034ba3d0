//! Rows that a filter keeps are those of a whole reading, whichever columns come first, in parts with deleted rows too.

use super::support::{Writing, golden, memory, read_all};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, StringArray, UInt8Array, UInt32Array,
};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::{ReadRequest, RowFilter};
use tambour_part::types::{Column, Strings};
use tambour_part::write::{Dialect, Partition, StringLayout};
use tambour_storage::{Storage, disk};

/// Of granules or rows, by their places.
type Choice = fn(usize) -> bool;

/// Keeps rows by their places in the part.
struct ByPlace<'a> {
    part: &'a Part,
    /// Granules that are left out.
    unwanted: Choice,
    keeps: Choice,
    row: usize,
    /// Columns that are shown before the others.
    early: usize,
}

fn start(part: &Part, granule: usize) -> usize {
    usize::try_from(part.granules()[..granule].iter().sum::<u64>()).unwrap()
}

impl RowFilter for ByPlace<'_> {
    fn wants(&mut self, granules: &Range<usize>) -> bool {
        self.row = start(self.part, granules.start);
        !granules.clone().all(self.unwanted)
    }
    fn early(&self) -> usize {
        self.early
    }
    fn may_keep(&mut self, rows: &RecordBatch) -> bool {
        assert_eq!(rows.num_columns(), self.early);
        (0..rows.num_rows()).any(|row| (self.keeps)(self.row + row))
    }
    fn kept(&mut self, rows: &RecordBatch) -> Option<BooleanArray> {
        let keeps = |row| Some((self.keeps)(self.row + row));
        Some((0..rows.num_rows()).map(keeps).collect())
    }
}

fn request(part: &Part) -> ReadRequest {
    ReadRequest {
        columns: (0..part.columns().len()).collect(),
        granules: std::iter::once(0..part.granules().len()).collect(),
        batch_rows: 1,
        strings: Strings::Binary,
    }
}

/// Some columns first, the others for what is left: the same rows as by reading all.
fn check(part: &Arc<Part>) {
    let all = read_all(part).unwrap();
    let filters: [(Choice, Choice); 4] = [
        (|_| false, |row| row % 3 == 1),
        (|granule| granule % 2 == 0, |_| true),
        (|granule| granule % 3 == 1, |row| row / 40 % 2 == 0),
        (|_| false, |_| false),
    ];
    for (unwanted, keeps) in filters {
        let mut expected = vec![false; all.num_rows()];
        for granule in (0..part.granules().len()).filter(|granule| !unwanted(*granule)) {
            let rows = start(part, granule)..start(part, granule + 1);
            expected[rows.clone()].iter_mut().zip(rows).for_each(|(it, row)| *it = keeps(row));
        }
        let expected = filter_record_batch(&all, &BooleanArray::from(expected)).unwrap();
        let last = all.num_columns() - 1;
        let leading = [vec![], vec![0], vec![last], vec![0, last / 2], vec![last, 0]];
        let asked = leading.iter().flat_map(|it| (0..=it.len()).map(move |early| (it, early)));
        for (leading, early) in asked {
            for reversed in [false, true] {
                let mut reader = part.read(request(part)).unwrap();
                if reversed {
                    reader.reverse();
                }
                let mut filter = ByPlace { part, unwanted, keeps, row: 0, early };
                let mut batches = Vec::new();
                while let Some(batch) = reader.next_kept(leading, &mut filter) {
                    batches.push(batch.unwrap());
                }
                if reversed {
                    batches.reverse();
                }
                let found = concat_batches(&all.schema(), &batches).unwrap();
                assert_eq!(found, expected, "{leading:?}, {early} early");
            }
        }
    }
}

#[test]
fn columns_of_filters_come_first() {
    for path in [golden("t/202402_1_1_0"), golden("../clickhouse-26.9/compact/all_1_1_0")] {
        check(&Arc::new(Part::open(&disk(), &path).unwrap()));
    }
}

/// Keeps even numbers.
struct Even(Vec<u32>);

impl RowFilter for Even {
    fn wants(&mut self, _: &Range<usize>) -> bool {
        true
    }
    fn kept(&mut self, rows: &RecordBatch) -> Option<BooleanArray> {
        let numbers = rows.column(0).as_primitive::<UInt32Type>();
        self.0.extend(numbers.values());
        Some(numbers.values().iter().map(|number| Some(number % 2 == 0)).collect())
    }
}

#[test]
fn a_filter_sees_living_rows_only() {
    let column = |name: &str, data_type: &str| Column {
        name: name.to_owned(),
        data_type: data_type.parse().unwrap(),
    };
    let columns = [column("_row_exists", "UInt8"), column("b", "UInt32"), column("c", "String")];
    let alive = |row: u32| !row.is_multiple_of(5) && !(20..40).contains(&row);
    let batch = RecordBatch::try_from_iter([
        (
            "_row_exists",
            Arc::new(UInt8Array::from_iter_values((0..100).map(|row| u8::from(alive(row)))))
                as ArrayRef,
        ),
        ("b", Arc::new(UInt32Array::from_iter_values(0..100))),
        ("c", Arc::new(StringArray::from_iter_values((0..100).map(|row| row.to_string())))),
    ])
    .unwrap();
    let (memory, storage) = memory();
    let mut writing = Writing::new(&columns, Dialect::New);
    writing.index_granularity = 8;
    let path = Path::new("t/all_1_1_0");
    writing.write(&storage, path, &batch, &Partition::default()).unwrap();
    for name in ["checksums.txt", "tambour.txt"] {
        memory.remove_file(&path.join(name)).unwrap();
    }
    let storage: Arc<dyn Storage> = Arc::new(memory.clone());
    let part = Arc::new(Part::open(&storage, path).unwrap());
    assert!(part.has_deleted_rows());
    let mut reader = part.read(request(&part)).unwrap();
    let mut filter = Even(Vec::new());
    let mut texts = Vec::new();
    while let Some(batch) = reader.next_kept(&[0], &mut filter) {
        let batch = batch.unwrap();
        let found = batch.column(1).as_binary_view();
        texts.extend(found.iter().map(|it| String::from_utf8(it.unwrap().to_vec()).unwrap()));
    }
    assert_eq!(filter.0, (0..100).filter(|row| alive(*row)).collect::<Vec<u32>>());
    let expected = (0..100).filter(|row| alive(*row) && row % 2 == 0);
    assert_eq!(texts, expected.map(|row| row.to_string()).collect::<Vec<String>>());
}

/// Lengths and NULLs as ever, of texts of every layout; the bytes are read only where the lengths are among them.
#[test]
fn lengths_alone_are_those_of_the_texts() {
    let column = |name: &str, data_type: &str| Column {
        name: name.to_owned(),
        data_type: data_type.parse().unwrap(),
    };
    let columns = [column("b", "UInt32"), column("s", "String"), column("n", "Nullable(String)")];
    // One of 41 is longer than those of which the lengths are kept in mind.
    let text = |row: u32| {
        let times = if row % 41 == 40 { 600 + row % 3 } else { row * 7 % 5 };
        "a text ".repeat(times as usize) + &row.to_string()
    };
    let texts = StringArray::from_iter_values((0..300).map(text));
    let some: StringArray = (0..300).map(|row| (row % 4 > 0).then(|| text(row))).collect();
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("b", Arc::new(UInt32Array::from_iter_values(0..300)) as ArrayRef, false),
        ("s", Arc::new(texts), false),
        ("n", Arc::new(some), true),
    ])
    .unwrap();
    for layout in [StringLayout::Inline, StringLayout::Sized, StringLayout::SizedInside] {
        let (_memory, storage) = memory();
        let mut writing = Writing::new(&columns, Dialect::New);
        (writing.index_granularity, writing.strings, writing.codec) = (32, layout, "NONE");
        let path = Path::new("t/all_1_1_0");
        writing.write(&storage, path, &batch, &Partition::default()).unwrap();
        let part = Arc::new(Part::open(&storage, path).unwrap());
        for granules in [vec![0..4, 4..10], vec![1..3, 7..9]] {
            let request = ReadRequest { granules, batch_rows: 64, ..request(&part) };
            let mut whole = part.read(request.clone()).unwrap();
            let mut few = part.read(request).unwrap().with_lengths_of(&[1, 2]);
            for expected in whole.by_ref() {
                let (expected, got) = (expected.unwrap(), few.next().unwrap().unwrap());
                assert_eq!(expected.column(0), got.column(0));
                for place in [1, 2] {
                    let (expected, got) = (expected.column(place), got.column(place));
                    assert_eq!(expected.nulls(), got.nulls());
                    let lengths = |it: &ArrayRef| -> Vec<_> {
                        it.as_binary_view().iter().map(|text| text.map(<[u8]>::len)).collect()
                    };
                    assert_eq!(lengths(expected), lengths(got), "{layout:?}");
                }
            }
            assert!(few.next().is_none());
            let is_less = few.bytes_read() < whole.bytes_read();
            assert_eq!(is_less, layout != StringLayout::Inline, "{layout:?}");
        }
    }
}
