//! Parts that ClickHouse 18.16 wrote are read with the values that ClickHouse itself reads from them.

use super::support::{golden, read_all, tsv};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, UInt32Type};
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::{Form, OpenOptions};
use tambour_part::types::DataType;
use tambour_storage::disk;

fn open(path: &str) -> Arc<Part> {
    Arc::new(Part::open(&disk(), &golden(path)).unwrap())
}

#[test]
fn values_are_those_that_clickhouse_reads() {
    for table in ["t/202402_1_1_0", "l5/all_1_1_0", "l6/all_1_1_0"] {
        let part = open(table);
        let mut text = String::new();
        tsv::print(&read_all(&part).unwrap(), part.columns(), &mut text);
        let expected = golden(table).parent().map(|table| table.join("expected.tsv")).unwrap();
        let expected = std::fs::read_to_string(expected).unwrap();
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&text), sorted(&expected), "{table}");
        assert_eq!(u64::try_from(text.lines().count()).unwrap(), part.rows());
    }
}

#[test]
fn nothing_is_found_damaged() {
    for table in ["t/202402_1_1_0", "l5/all_1_1_0", "l6/all_1_1_0"] {
        let seen = open(table).verify();
        assert!(seen.damage.is_empty(), "{table}: {:?}", seen.damage);
        assert!(seen.blocks > 0 && seen.rows > 0);
    }
}

#[test]
fn the_part_says_what_it_is() {
    let part = open("t/202402_1_1_0");
    assert_eq!(part.form(), Form::Wide);
    assert_eq!((part.mark_extension(), part.has_final_mark()), ("mrk", false));
    // index_granularity=256 is nowhere in the part; it follows from the marks of fixed-width columns.
    assert_eq!(part.granules(), [256, 256, 256, 232]);
    let index = part.primary_index(&[DataType::UInt32, DataType::String]).unwrap();
    assert_eq!(index[0].as_primitive::<UInt32Type>().values(), &[0, 256, 512, 768]);
    assert_eq!(index[1].as_binary_view().value(3), b"s768");
    assert!(part.primary_index(&[DataType::UInt32]).is_err());
    let values = part.partition_values(&[DataType::UInt32]).unwrap();
    assert_eq!(values[0].as_primitive::<UInt32Type>().value(0), 202_402);
    assert!(part.partition_values(&[DataType::Int8]).is_err());
    let range = part.minmax("d").unwrap().unwrap();
    assert_eq!((range.len(), range.as_primitive::<Date32Type>().value(0)), (2, 19_756));
    assert!(part.minmax("k").unwrap().is_none());
    let sizes = part.column_sizes().unwrap();
    assert_eq!((sizes[0].compressed, sizes[0].uncompressed, sizes[0].marks), (4034, 4000, 64));
    assert_eq!(sizes[0].codecs, ["CODEC(LZ4)"]);
    assert_eq!(part.files().len(), 64);
}

#[test]
fn a_table_with_another_granularity_is_told() {
    let path = golden("t/202402_1_1_0");
    let open = |index_granularity| {
        let options =
            OpenOptions { index_granularity: Some(index_granularity), ..OpenOptions::default() };
        Part::open_with(&disk(), &path, &options)
    };
    assert!(open(256).is_ok());
    let error = open(8192).unwrap_err().to_string();
    assert!(error.ends_with("index_granularity is 256, expected 8192"), "{error}");
    assert!(Part::open(&disk(), Path::new("nowhere")).is_err());
}
