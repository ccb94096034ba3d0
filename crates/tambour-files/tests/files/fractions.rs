//! Moments with finer fractions of a second than the columns of a table have.

use super::support::{columnar, read, read_text, scratch};
use arrow_array::{
    Array, ArrayRef, Date64Array, DictionaryArray, Int32Array, Int64Array, ListArray, MapArray,
    StringArray, StructArray, TimestampMillisecondArray,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType as Arrow, Field};
use std::sync::Arc;
use tambour_files::{FileError, Format, ReadOptions};
use tambour_part::types::Column;

/// Types that import chose are no reason to cut what is added later; those that the user wrote cut as ClickHouse does.
#[test]
fn given_types_refuse_fractions_where_the_user_did_not_choose_them() {
    let column =
        |data_type: &str| Column { name: "at".to_owned(), data_type: data_type.parse().unwrap() };
    let fine: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![1000, 2001]));
    let parquet = columnar(Format::Parquet, vec![("at", fine)]);
    let text = b"at\n1970-01-01 00:00:01.000\n1970-01-01 00:00:02.001\n".to_vec();
    for (name, bytes) in [("a.parquet", parquet), ("a.csv", text)] {
        let file = scratch(name, &bytes);
        for (data_type, exact, good) in [
            ("DateTime", true, false),
            ("DateTime", false, true),
            ("LowCardinality(DateTime)", true, false),
            ("Nullable(DateTime64(2))", true, false),
            ("DateTime64(3)", true, true),
            ("DateTime64(6)", true, true),
        ] {
            let columns = Some(vec![column(data_type)]);
            let options = ReadOptions { columns, exact, ..ReadOptions::default() };
            let found = read(&file.path, options);
            assert_eq!(found.is_ok(), good, "{name} as {data_type}");
            if let Err(error) = found {
                let message = error.to_string();
                assert!(message.contains("row 2") && message.contains("finer"), "{message}");
            }
        }
    }
}

/// However the moments are written, and wherever they are inside of a value.
#[test]
fn no_way_into_a_columnar_file_cuts_fractions() {
    let second = |fraction| TimestampMillisecondArray::from(vec![1000, 2000 + fraction]);
    let texts = |fraction| {
        StringArray::from(vec![
            "1970-01-01 00:00:01".to_owned(),
            format!("1970-01-01 00:00:02.00{fraction}"),
        ])
    };
    let offsets = || OffsetBuffer::new(vec![0, 1, 2].into());
    let dictionary = |values: ArrayRef| -> ArrayRef {
        Arc::new(DictionaryArray::new(Int32Array::from(vec![0, 1]), values))
    };
    let list = |values: ArrayRef| -> ArrayRef {
        let item = Arc::new(Field::new("item", values.data_type().clone(), true));
        Arc::new(ListArray::new(item, offsets(), values, None))
    };
    let structure = |values: ArrayRef| -> StructArray {
        let keys: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        StructArray::from(vec![
            (Arc::new(Field::new("keys", Arrow::Int64, false)), keys),
            (Arc::new(Field::new("values", values.data_type().clone(), true)), values),
        ])
    };
    let map = |values: ArrayRef| -> ArrayRef {
        let entries = structure(values);
        let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        Arc::new(MapArray::new(field, offsets(), entries, None, false))
    };
    let arrays = |fraction: i64| -> Vec<(&'static str, ArrayRef)> {
        let plain = || -> ArrayRef { Arc::new(second(fraction)) };
        let text = || -> ArrayRef { Arc::new(texts(fraction)) };
        vec![
            ("DateTime", text()),
            ("LowCardinality(DateTime)", text()),
            ("DateTime64(2)", text()),
            ("DateTime", dictionary(text())),
            ("DateTime", dictionary(plain())),
            ("Nullable(DateTime64(2))", dictionary(plain())),
            ("DateTime", Arc::new(Date64Array::from(vec![1000, 2000 + fraction]))),
            ("Array(DateTime)", list(plain())),
            ("Array(Nullable(DateTime))", list(text())),
            ("Array(Array(DateTime64(2)))", list(list(plain()))),
            ("Tuple(keys Int64, values DateTime)", Arc::new(structure(plain()))),
            ("Map(Int64, DateTime)", map(plain())),
        ]
    };
    for (fraction, exact, good) in [(1, true, false), (1, false, true), (0, true, true)] {
        for (data_type, array) in arrays(fraction) {
            let kind = array.data_type().clone();
            let file = scratch("a.arrow", &columnar(Format::ArrowIpc, vec![("at", array)]));
            let column = Column { name: "at".to_owned(), data_type: data_type.parse().unwrap() };
            let columns = Some(vec![column]);
            let options = ReadOptions { columns, exact, ..ReadOptions::default() };
            let found = read(&file.path, options);
            assert_eq!(found.is_ok(), good, "{kind} as {data_type}: {found:?}");
            if let Err(error) = found {
                let FileError::Value { spot, reason, .. } = &error else { panic!("{error:?}") };
                assert!(spot.row == 2 && reason.contains("finer"), "{kind}: {error}");
            }
        }
    }
}

/// Also inside of values that are text; numbers beside them are read as ever.
#[test]
fn fractions_inside_of_text_are_not_cut() {
    for (value, good) in [
        ("(9007199254740993, '1970-01-01 00:00:02.001')", false),
        ("(9007199254740993, '1970-01-01 00:00:02.000')", true),
        ("(1.0, '1970-01-01 00:00:02')", false),
    ] {
        let text = format!("at\n\"{value}\"\n");
        let data_type = "Tuple(n Int64, t DateTime)".parse().unwrap();
        let columns = Some(vec![Column { name: "at".to_owned(), data_type }]);
        let options = ReadOptions { columns, exact: true, ..ReadOptions::default() };
        let found = read_text("a.csv", text, options);
        assert_eq!(found.is_ok(), good, "{value}: {found:?}");
        if let Ok(found) = found {
            assert!(found.rows[0].contains("9007199254740993"), "{:?}", found.rows);
        }
    }
}
