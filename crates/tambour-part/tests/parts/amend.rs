//! Parts with other columns beside the files of old ones: what is read is what a part has that is written as a whole.

use super::support::{Writing, contents, memory, read_all, zoo};
use arrow_array::{RecordBatch, UInt32Array};
use arrow_buffer::BooleanBuffer;
use arrow_select::take::take_record_batch;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_part::Part;
use tambour_part::column::shared_sizes;
use tambour_part::types::Column;
use tambour_part::write::{Amender, Amendment, Dialect, Partition, StringLayout, can_amend, mask};
use tambour_storage::Storage;

const OLD: &str = "t/all_1_1_0";
const NEW: &str = "t/all_1_1_0_2";

/// Every column, by its place, with the values of other rows; all that share sizes come together.
fn groups(columns: &[Column]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let sizes = |at: usize| shared_sizes(&columns[at].name, &columns[at].data_type);
    for at in 0..columns.len() {
        let known = groups.iter_mut().find(|it| sizes(at).is_some() && sizes(it[0]) == sizes(at));
        match known {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    groups
}

fn reversed(rows: &RecordBatch) -> RecordBatch {
    let last = u32::try_from(rows.num_rows()).unwrap();
    take_record_batch(rows, &UInt32Array::from_iter_values((0..last).rev())).unwrap()
}

fn open(storage: &Arc<dyn Storage>, path: &str) -> Arc<Part> {
    let part = Arc::new(Part::open(storage, Path::new(path)).unwrap());
    let found = part.verify();
    assert!(found.damage.is_empty(), "{:?}", found.damage);
    part
}

/// The rows with the columns of a part, in its order.
fn in_order(rows: &RecordBatch, part: &Part) -> RecordBatch {
    let places = part.columns().iter().map(|it| rows.schema().index_of(&it.name).unwrap());
    rows.project(&places.collect::<Vec<_>>()).unwrap()
}

fn try_all(writing: &Writing, is_masked: bool) {
    let (columns, rows) = zoo();
    let other = reversed(&rows);
    for group in groups(&columns) {
        let (memory, storage) = memory();
        writing.write(&storage, Path::new(OLD), &rows, &Partition::default()).unwrap();
        let mut part = open(&storage, OLD);
        let (mut shown, mut given) = (rows.clone(), other.clone());
        if is_masked {
            // The first rows, some in the middle, the last ones.
            let hidden = |row: usize| row < 5 || row % 3 == 1 || row + 4 > rows.num_rows();
            let bits = BooleanBuffer::collect_bool(rows.num_rows(), hidden);
            mask(&part, &storage, Path::new("t/all_1_1_0_1"), &bits).unwrap();
            part = open(&storage, "t/all_1_1_0_1");
            let kept = (0..rows.num_rows()).filter(|row| !hidden(*row));
            let kept = kept.map(|row| u32::try_from(row).unwrap());
            let kept = UInt32Array::from_iter_values(kept);
            shown = take_record_batch(&rows, &kept).unwrap();
            given = take_record_batch(&other, &kept).unwrap();
        }
        let names: Vec<&str> = group.iter().map(|at| columns[*at].name.as_str()).collect();
        let codec: CodecSpec = "ZSTD(1)".parse().unwrap();
        let written = group.iter().map(|at| (columns[*at].clone(), codec.clone())).collect();
        let amendment = Amendment { written, ..Amendment::default() };
        assert!(can_amend(&part, &amendment), "{names:?}");
        let mut amender = Amender::create(&part, &storage, Path::new(NEW), amendment).unwrap();
        let mut start = 0;
        while start < given.num_rows() {
            let count = 97.min(given.num_rows() - start);
            let batch = given.slice(start, count).project(&group).unwrap();
            amender.write(&batch).unwrap();
            start += count;
        }
        amender.finish().unwrap();
        let amended = open(&storage, NEW);
        let got = read_all(&amended).unwrap();
        let mut arrays = shown.columns().to_vec();
        for at in &group {
            arrays[*at] = Arc::clone(given.column(*at));
        }
        let expected = RecordBatch::try_new(shown.schema(), arrays).unwrap();
        assert_eq!(got, in_order(&expected, &amended), "{names:?}");

        // Away with them, and back under other names.
        let dropped = names.iter().map(|it| (*it).to_owned()).collect();
        let amendment = Amendment { dropped, ..Amendment::default() };
        let path = Path::new("t/all_1_1_0_3");
        Amender::create(&part, &storage, path, amendment).unwrap().finish().unwrap();
        let without = open(&storage, "t/all_1_1_0_3");
        assert_eq!(read_all(&without).unwrap(), in_order(&shown, &without), "{names:?}");
        let fresh = |name: &str| match name.split_once('.') {
            Some((nested, inner)) => format!("{nested}.new {inner}"),
            None => format!("{} {name}", "long".repeat(40)),
        };
        let renamed = names.iter().map(|it| ((*it).to_owned(), fresh(it))).collect();
        let amendment = Amendment { renamed, ..Amendment::default() };
        let path = Path::new("t/all_1_1_0_4");
        Amender::create(&part, &storage, path, amendment).unwrap().finish().unwrap();
        let renamed = open(&storage, "t/all_1_1_0_4");
        assert_eq!(read_all(&renamed).unwrap().columns(), shown.columns(), "{names:?}");
        assert!(renamed.columns().iter().any(|it| it.name == fresh(names[0])));
        drop(memory);
    }
}

#[test]
fn every_type_gets_other_values_goes_and_gets_another_name() {
    let (columns, _) = zoo();
    try_all(&Writing::new(&columns, Dialect::New), false);
    let sized =
        Writing { strings: StringLayout::SizedInside, ..Writing::new(&columns, Dialect::New) };
    try_all(&sized, false);
}

#[test]
fn parts_of_old_servers_too() {
    let (columns, _) = zoo();
    try_all(&Writing::new(&columns, Dialect::Old), false);
}

#[test]
fn hidden_rows_stay_hidden() {
    let (columns, _) = zoo();
    let writing = Writing { rows_per_call: 100, ..Writing::new(&columns, Dialect::New) };
    try_all(&writing, true);
}

#[test]
fn what_stays_is_not_written_again() {
    let (columns, rows) = zoo();
    let (memory, storage) = memory();
    let writing = Writing::new(&columns, Dialect::New);
    writing.write(&storage, Path::new(OLD), &rows, &Partition::default()).unwrap();
    let part = open(&storage, OLD);
    let at = columns.iter().position(|it| it.data_type.to_string() == "UInt32").unwrap();
    let written = vec![(columns[at].clone(), CodecSpec::lz4())];
    let amendment = Amendment { written, ..Amendment::default() };
    let mut amender = Amender::create(&part, &storage, Path::new(NEW), amendment).unwrap();
    let only = reversed(&rows).project(&[at]).unwrap();
    amender.write(&only.slice(0, 10)).unwrap();
    let failed = amender.finish().unwrap_err();
    assert!(failed.to_string().contains("number of rows written"), "{failed}");
    memory.remove_directory(Path::new(NEW)).unwrap();

    let written = vec![(columns[at].clone(), CodecSpec::lz4())];
    let amendment = Amendment { written, ..Amendment::default() };
    let mut amender = Amender::create(&part, &storage, Path::new(NEW), amendment).unwrap();
    amender.write(&only).unwrap();
    assert!(amender.write(&only.slice(0, 1)).is_err(), "a row too many");
    let (old, new) = (contents(&memory, Path::new(OLD)), contents(&memory, Path::new(NEW)));
    assert!(new.len() < 3, "nothing but the column so far: {:?}", new.len());
    assert!(old.len() > 40);
}

#[test]
fn sizes_that_others_share_are_not_changed_alone() {
    let (columns, rows) = zoo();
    let nested: Vec<usize> = groups(&columns).into_iter().find(|it| it.len() > 1).unwrap();
    let (_, storage) = memory();
    let writing = Writing::new(&columns, Dialect::New);
    writing.write(&storage, Path::new(OLD), &rows, &Partition::default()).unwrap();
    let part = open(&storage, OLD);
    let written = vec![(columns[nested[0]].clone(), CodecSpec::lz4())];
    let amendment = Amendment { written, ..Amendment::default() };
    assert!(!can_amend(&part, &amendment));
    assert!(Amender::create(&part, &storage, Path::new(NEW), amendment).is_err());
    // The sizes stay as long as one of them does.
    let dropped = vec![columns[nested[0]].name.clone()];
    let amendment = Amendment { dropped, ..Amendment::default() };
    Amender::create(&part, &storage, Path::new(NEW), amendment).unwrap().finish().unwrap();
    let left = open(&storage, NEW);
    assert_eq!(read_all(&left).unwrap(), in_order(&rows, &left));
}
