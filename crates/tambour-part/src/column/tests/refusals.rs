//! What does not fit is refused, by column, row and value; nothing is wrapped or cut off.

use super::*;
use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::{
    Date32Array, Decimal128Array, Float64Array, Int16Array, Int64Array, StringArray,
    TimestampMillisecondArray, TimestampSecondArray,
};
use std::sync::Arc;
use tambour_codec::Kind;

fn refused(text: &str, array: impl Array + 'static, row: u64, said: &str) {
    let array: ArrayRef = Arc::new(array);
    // As the second granule, so that the row is counted from the first.
    let data_type = data_type(text);
    let mut writer = ColumnWriter::new("c", &data_type).unwrap();
    let mut sinks = MemorySinks::default();
    let good = array.slice(0, 1);
    writer.granule(&good, &mut sinks).unwrap();
    let error = writer.granule(&array, &mut sinks).expect_err(text);
    let message = error.to_string();
    assert!(message.contains(said), "{message} should say {said}");
    assert_eq!(error.kind(), Kind::Argument, "{message}");
    let place = error.place().unwrap();
    assert_eq!((place.column.as_deref(), place.row), (Some("c"), Some(row + 1)), "{message}");
}

#[test]
fn values_out_of_range() {
    refused("UInt8", Int64Array::from(vec![0, 255, 256]), 2, "256 does not fit UInt8");
    refused("UInt8", Int64Array::from(vec![Some(0), None]), 1, "NULL");
    refused("Nullable(Int8)", Int16Array::from(vec![Some(0), None, Some(-129)]), 2, "-129");
    refused("Date", Date32Array::from(vec![0, 65_535, 65_536]), 2, "2149-06-07 does not fit Date");
    refused("Date", Date32Array::from(vec![0, -1]), 1, "1969-12-31");
    refused("Date32", Date32Array::from(vec![0, 120_529, 120_530]), 2, "2300-01-01");
    refused("DateTime", TimestampSecondArray::from(vec![0, 0xffff_ffff, 1 << 32]), 2, "DateTime");
    refused("DateTime", TimestampSecondArray::from(vec![0, -1]), 1, "1969-12-31T23:59:59");
    refused(
        "DateTime",
        TimestampMillisecondArray::from(vec![0, 1000, 1500]),
        2,
        "1970-01-01T00:00:01.5",
    );
    refused(
        "DateTime64(2)",
        TimestampMillisecondArray::from(vec![0, 10, 15]),
        2,
        "DateTime64(2) exactly",
    );
    refused("DateTime64(9)", TimestampSecondArray::from(vec![0, i64::MAX]), 1, "DateTime64(9)");
    refused(
        "Float32",
        Float64Array::from(vec![0.0, f64::NAN, f64::INFINITY, 0.1]),
        3,
        "0.1 does not fit Float32",
    );
    refused("FixedString(2)", StringArray::from(vec!["", "ab", "\u{e9}!"]), 2, "\u{e9}!");
    refused(
        "Enum8('a' = 1)",
        StringArray::from(vec!["a", "a", "b"]),
        2,
        "\"b\" is not a value of the Enum",
    );
    let cents =
        Decimal128Array::from(vec![0, 9_999, 10_000]).with_precision_and_scale(38, 2).unwrap();
    refused("Decimal(4, 2)", cents.clone(), 2, "100.00");
    refused("Decimal(5, 3)", cents, 2, "100.00");
    refused("UInt128", Int64Array::from(vec![0, -1]), 1, "-1 does not fit UInt128");
    refused("UInt256", Int64Array::from(vec![0, -1]), 1, "-1 does not fit UInt256");
    refused("BFloat16", arrow_array::Float32Array::from(vec![1.5, 1.001]), 1, "1.001");
    refused("LowCardinality(UInt8)", Int64Array::from(vec![0, 300]), 1, "300");
    refused("LowCardinality(String)", StringArray::from(vec![Some(""), None]), 1, "NULL");
}

#[test]
fn what_stands_under_a_null_does_not_matter() {
    let mask = arrow_array::BooleanArray::from(vec![false, true]);
    let null = |array: ArrayRef| arrow_select::nullif::nullif(&array, &mask).unwrap();
    for (text, array) in [
        ("Nullable(UInt8)", Arc::new(Int64Array::from(vec![1, 300])) as ArrayRef),
        ("Nullable(Date)", Arc::new(Date32Array::from(vec![1, -5]))),
        ("Nullable(DateTime)", Arc::new(TimestampSecondArray::from(vec![1, -5]))),
        ("Nullable(DateTime64(2))", Arc::new(TimestampMillisecondArray::from(vec![10, 15]))),
        ("Nullable(Float32)", Arc::new(Float64Array::from(vec![1.0, 0.1]))),
        ("Nullable(FixedString(1))", Arc::new(StringArray::from(vec!["a", "bc"]))),
        ("Nullable(Enum8('a' = 1))", Arc::new(StringArray::from(vec!["a", "bc"]))),
        ("LowCardinality(Nullable(UInt8))", Arc::new(Int64Array::from(vec![1, 300]))),
        ("Nullable(UInt128)", Arc::new(Int64Array::from(vec![1, -1]))),
    ] {
        let data_type = data_type(text);
        let written =
            write(&data_type, &null(array), 10).unwrap_or_else(|error| panic!("{text}: {error}"));
        let found = read(&written, &data_type, Strings::Utf8, &[100], 0..1).unwrap();
        assert_eq!(found.logical_null_count(), 1, "{text}");
    }
}

#[test]
fn faults_inside_arrays_name_the_row() {
    let mut builder = ListBuilder::new(Int32Builder::new());
    builder.append_value([Some(1)]);
    builder.append_value([]);
    builder.append_value([Some(5), Some(6)]);
    builder.append_value([Some(5), Some(600)]);
    refused("Array(UInt8)", builder.finish(), 3, "600");
    builder.append_value([Some(1)]);
    builder.append_null();
    refused("Array(UInt8)", builder.finish(), 1, "NULL");
}

#[test]
fn types_that_do_not_fit_are_refused() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["1"]));
    for text in [
        "UInt8",
        "Date",
        "Array(String)",
        "UUID",
        "Tuple(String)",
        "Map(String, String)",
        "Nullable(Bool)",
    ] {
        let mut writer = ColumnWriter::new("c", &data_type(text)).unwrap();
        let error = writer.granule(&texts, &mut MemorySinks::default()).unwrap_err();
        assert_eq!(error.to_string(), format!("column `c`: Arrow type Utf8 does not fit {text}"));
    }
    let nonsense = DataType::Nullable(Box::new(DataType::Array(Box::new(DataType::UInt8))));
    assert_eq!(ColumnWriter::new("c", &nonsense).unwrap_err().kind(), Kind::Unsupported);
    assert!(ColumnReader::new("c", &nonsense, &Layout::default(), Strings::Utf8).is_err());
}

#[test]
fn stored_values_that_no_type_allows_are_damage() {
    for (text, bytes, row, said) in [
        ("Bool", &[0, 1, 2][..], 2, "byte 2 in a Bool"),
        ("Enum8('a' = 1)", &[1, 1, 0xff], 2, "no name for the number -1"),
        ("Enum16('a' = 1)", &[1, 0, 1, 0, 0, 1], 2, "no name for the number 256"),
        (
            "DateTime64(2)",
            &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0],
            1,
            "beyond",
        ),
    ] {
        let mut sources = super::super::memory::MemorySources::default();
        sources.insert(name("c"), MemorySource::new(bytes));
        let mut reader =
            ColumnReader::new("c", &data_type(text), &Layout::default(), Strings::Utf8).unwrap();
        let error = reader.read(&mut sources, &[3]).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!((error.kind(), error.place().unwrap().row), (Kind::Corrupt, Some(row)));
    }
}

#[test]
fn bytes_that_are_no_text_name_their_row() {
    let values: ArrayRef =
        Arc::new(arrow_array::BinaryArray::from_vec(vec![b"a", b"long enough, but \xff", b"b"]));
    let lists: ArrayRef = {
        let item =
            Arc::new(arrow_schema::Field::new("item", arrow_schema::DataType::Binary, false));
        let offsets = arrow_buffer::OffsetBuffer::from_lengths([1, 0, 2]);
        Arc::new(arrow_array::ListArray::new(item, offsets, Arc::clone(&values), None))
    };
    for (text, array, row) in [("String", values, 1), ("Array(String)", lists, 2)] {
        let written = write(&data_type(text), &array, 2).unwrap();
        let error = read(&written, &data_type(text), Strings::Utf8, &[7], 0..2).unwrap_err();
        assert!(matches!(error, PartError::Utf8 { .. }), "{error}");
        assert_eq!(error.place().unwrap().row, Some(row));
    }
}

#[test]
fn columns_of_a_nested_must_agree_in_their_sizes() {
    use crate::column::{check_shared_sizes, shared_sizes};
    use crate::types::Column;
    let column =
        |name: &str, text: &str| Column { name: name.to_owned(), data_type: data_type(text) };
    let columns =
        [column("k", "UInt8"), column("n.x", "Array(Int32)"), column("n.y", "Array(Int32)")];
    assert_eq!(shared_sizes("n.x", &columns[1].data_type), Some(name("n.size0")));
    assert_eq!(shared_sizes("n", &columns[1].data_type), None);
    assert_eq!(shared_sizes("n.x", &columns[0].data_type), None);
    let list = |sizes: &[usize]| -> ArrayRef {
        let mut builder = ListBuilder::new(Int32Builder::new());
        for &size in sizes {
            builder.append_value((0..size as i32).map(Some));
        }
        Arc::new(builder.finish())
    };
    let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let good = [Arc::clone(&keys), list(&[1, 2]), list(&[1, 2])];
    check_shared_sizes(&columns, &good, 0).unwrap();
    let error =
        check_shared_sizes(&columns, &[keys, list(&[1, 2]), list(&[1, 3])], 10).unwrap_err();
    assert_eq!(error.place().unwrap().row, Some(11));
    assert!(error.to_string().contains("column `n.y`"), "{error}");
}
