//! What is written is read again, whatever the type, the granules, the blocks and the Arrow form.

use super::generate::{Random, SCALARS, array, as_binary, types};
use super::*;
use crate::column::{read_single, write_single};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    BinaryArray, BinaryViewArray, DictionaryArray, Int32Array, LargeStringArray, NullArray,
    StringArray, StringViewArray, UInt8Array,
};
use arrow_schema::DataType as Arrow;
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_column(
        data_type in types(),
        seed in any::<u64>(),
        rows in 0_usize..70,
        granule in 1_usize..40,
        cut_off in 0_usize..5,
        cuts in proptest::collection::vec(0_usize..40, 1..4),
    ) {
        let whole = array(&data_type, rows + 2 * cut_off, &mut Random(seed));
        let values = whole.slice(cut_off, rows);
        let written = write(&data_type, &values, granule).unwrap();
        let granules = written.rows.len();
        let found = read(&written, &data_type, Strings::Utf8, &cuts, 0..granules).unwrap();
        prop_assert_eq!(found.data_type(), &data_type.arrow(Strings::Utf8));
        prop_assert_eq!(&found, &values, "{}", data_type);
        // From the middle, too.
        let first = granules / 2;
        let rest = read(&written, &data_type, Strings::Utf8, &cuts, first..granules).unwrap();
        prop_assert_eq!(&rest, &values.slice((first * granule).min(rows), rows.saturating_sub(first * granule)));
    }

    #[test]
    fn any_string_as_binary(seed in any::<u64>(), rows in 0_usize..100, cut in 1_usize..300) {
        let values = array(&DataType::String, rows, &mut Random(seed));
        let written = write(&DataType::String, &values, 30).unwrap();
        let found = read(&written, &DataType::String, Strings::Binary, &[cut], 0..written.rows.len()).unwrap();
        prop_assert_eq!(found.as_binary_view(), &as_binary(&values));
        // Lengths alone, from the same blocks.
        let mut reader = ColumnReader::new("c", &DataType::String, &Layout::default(), Strings::Binary).unwrap();
        prop_assert_eq!(reader.only_lengths(), None);
        let mut sources = MarkedSources::new(&written, &[cut], true);
        sources.jump(0);
        let blank = read_on(&mut reader, &mut sources, 0..written.rows.len()).unwrap();
        let lengths = |it: &BinaryViewArray| it.iter().map(|text| text.map(<[u8]>::len)).collect::<Vec<_>>();
        prop_assert_eq!(lengths(blank.as_binary_view()), lengths(found.as_binary_view()));
    }

    #[test]
    fn any_key(data_type in types(), seed in any::<u64>(), rows in 0_usize..20) {
        prop_assume!(!data_type.to_string().contains("Map("));
        let values = array(&data_type, rows, &mut Random(seed));
        let mut bytes = Vec::new();
        for row in 0..rows {
            write_single(&values, row, &data_type, &mut bytes).unwrap();
            write_single(&values, row, &data_type, &mut bytes).unwrap();
        }
        let pair = [data_type.clone(), data_type.clone()];
        let found = read_single(&bytes, &pair, rows, Strings::Utf8).unwrap();
        prop_assert_eq!(found[0].data_type(), &data_type.arrow(Strings::Utf8));
        prop_assert_eq!(&found[0], &values);
        prop_assert_eq!(&found[1], &values);
        if !bytes.is_empty() {
            prop_assert!(read_single(&bytes[..bytes.len() - 1], &pair, rows, Strings::Utf8).is_err());
            bytes.push(0);
            prop_assert!(read_single(&bytes, &pair, rows, Strings::Utf8).is_err());
        }
    }
}

#[test]
fn lengths_alone_of_texts_of_all_lengths() {
    let lengths = [0, 1, 12, 13, 300, 4095, 4096, 4097, 4098, 9000, 4097, 13, 9000, 0];
    let texts =
        lengths.iter().enumerate().map(|(row, length)| (row % 5 != 3).then(|| "x".repeat(*length)));
    let texts: StringViewArray = texts.collect();
    let values: ArrayRef = Arc::new(texts.clone());
    let data_type = data_type("Nullable(String)");
    let written = write(&data_type, &values, 5).unwrap();
    for strings in [Strings::Utf8, Strings::Binary] {
        let mut reader = ColumnReader::new("c", &data_type, &Layout::default(), strings).unwrap();
        reader.only_lengths();
        let mut sources = MarkedSources::new(&written, &[100], true);
        sources.jump(0);
        let found = read_on(&mut reader, &mut sources, 0..written.rows.len()).unwrap();
        assert_eq!(found.data_type(), &data_type.arrow(strings));
        let found = arrow_cast::cast(&found, &Arrow::Utf8View).unwrap();
        let of =
            |it: &StringViewArray| it.iter().map(|text| text.map(str::len)).collect::<Vec<_>>();
        assert_eq!(of(found.as_string_view()), of(&texts));
    }
}

/// Writes an array in several Arrow forms; all must give the same bytes.
fn same_bytes(text: &str, forms: &[ArrayRef]) {
    let data_type = data_type(text);
    let first = write(&data_type, &forms[0], 3).unwrap();
    for form in &forms[1..] {
        let other = write(&data_type, form, 3)
            .unwrap_or_else(|e| panic!("{text} from {}: {e}", form.data_type()));
        assert_eq!(other.streams, first.streams, "{text} from {}", form.data_type());
    }
}

fn cast_forms(array: ArrayRef, forms: &[Arrow]) -> Vec<ArrayRef> {
    let mut all = vec![array];
    for form in forms {
        all.push(arrow_cast::cast(&all[0], form).unwrap());
        // Cut out of something larger.
        let padded = arrow_select::concat::concat(&[all[0].as_ref(), all[0].as_ref()]).unwrap();
        let rows = all[0].len();
        all.push(arrow_cast::cast(&padded, form).unwrap().slice(rows, rows));
    }
    all
}

fn dictionary(key: Arrow, value: Arrow) -> Arrow {
    Arrow::Dictionary(Box::new(key), Box::new(value))
}

#[test]
fn every_form_of_strings_is_written_alike() {
    let texts = [
        Some(""),
        Some("long enough not to be inline"),
        None,
        Some("\u{e9}"),
        Some("b"),
        Some("\u{e9}"),
        None,
    ];
    let forms = [
        Arrow::LargeUtf8,
        Arrow::Utf8View,
        Arrow::Binary,
        Arrow::LargeBinary,
        Arrow::BinaryView,
        dictionary(Arrow::Int8, Arrow::Utf8),
        dictionary(Arrow::UInt64, Arrow::LargeUtf8),
        dictionary(Arrow::Int32, Arrow::Binary),
    ];
    for text in ["Nullable(String)", "LowCardinality(Nullable(String))"] {
        same_bytes(text, &cast_forms(Arc::new(StringArray::from(texts.to_vec())), &forms));
    }
    let present: StringArray = texts.iter().flatten().map(|text| Some(*text)).collect();
    for text in
        ["String", "LowCardinality(String)", "FixedString(30)", "LowCardinality(FixedString(30))"]
    {
        same_bytes(text, &cast_forms(Arc::new(present.clone()), &forms));
    }
    let days = StringArray::from(vec![Some("mon"), None, Some("tue"), Some("mon")]);
    same_bytes("Nullable(Enum8('mon' = 1, 'tue' = 2))", &cast_forms(Arc::new(days), &forms));
}

#[test]
fn numbers_are_taken_from_other_widths_where_they_fit() {
    let small: ArrayRef = Arc::new(UInt8Array::from(vec![0, 1, 127]));
    let integers = [
        Arrow::Int8,
        Arrow::Int16,
        Arrow::Int32,
        Arrow::Int64,
        Arrow::UInt16,
        Arrow::UInt32,
        Arrow::UInt64,
    ];
    for text in [
        "UInt8",
        "UInt16",
        "UInt64",
        "Int8",
        "Int32",
        "Int128",
        "UInt256",
        "Decimal(5, 2)",
        "Decimal(50, 3)",
    ] {
        let mut forms = integers.to_vec();
        forms.push(dictionary(Arrow::Int16, Arrow::Int64));
        if text.contains('(') || text.ends_with("128") || text.ends_with("256") {
            forms.extend([Arrow::Decimal128(20, 0), Arrow::Decimal256(60, 0)]);
        }
        same_bytes(text, &cast_forms(Arc::clone(&small), &forms));
    }
    let halves = arrow_cast::cast(&Int32Array::from(vec![1, 2, -3]), &Arrow::Float16).unwrap();
    for text in ["Float32", "Float64"] {
        same_bytes(text, &cast_forms(Arc::clone(&halves), &[Arrow::Float32, Arrow::Float64]));
    }
    same_bytes("BFloat16", &cast_forms(halves, &[Arrow::Float32]));
}

#[test]
fn times_are_taken_from_other_units_where_they_fit() {
    use arrow_schema::TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    let seconds = arrow_array::TimestampSecondArray::from(vec![0, 86_400, 1_700_006_400])
        .with_timezone("UTC");
    let mut forms: Vec<Arrow> = [Second, Millisecond, Microsecond, Nanosecond]
        .map(|unit| Arrow::Timestamp(unit, None))
        .to_vec();
    forms.push(Arrow::Date64);
    for text in [
        "DateTime",
        "DateTime64(0)",
        "DateTime64(2)",
        "DateTime64(6, 'Asia/Tokyo')",
        "DateTime64(9)",
    ] {
        same_bytes(text, &cast_forms(Arc::new(seconds.clone()), &forms));
    }
    let days: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![0, 1, 65_535]));
    for text in ["Date", "Date32"] {
        same_bytes(text, &cast_forms(Arc::clone(&days), &[Arrow::Date64]));
    }
}

#[test]
fn every_form_of_lists_is_written_alike() {
    let lists = ListArrayOf(vec![Some(1), Some(2), None, Some(4)]);
    let (list, large, fixed) = lists.forms();
    let cut_out = |array: &ArrayRef| {
        let twice = arrow_select::concat::concat(&[array.as_ref(), array.as_ref()]).unwrap();
        twice.slice(array.len(), array.len())
    };
    let slices = [cut_out(&list), cut_out(&large), cut_out(&fixed)];
    same_bytes("Array(Nullable(Int32))", &[[list, large, fixed], slices].concat());
}

struct ListArrayOf(Vec<Option<i32>>);

impl ListArrayOf {
    fn forms(&self) -> (ArrayRef, ArrayRef, ArrayRef) {
        use arrow_array::{FixedSizeListArray, LargeListArray, ListArray};
        let pairs: Vec<_> = self.0.chunks(2).map(|pair| Some(pair.to_vec())).collect();
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>(pairs.clone());
        let large = LargeListArray::from_iter_primitive::<Int32Type, _, _>(pairs.clone());
        let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(pairs, 2);
        (Arc::new(list), Arc::new(large), Arc::new(fixed))
    }
}

#[test]
fn nulls_are_written_as_the_default_of_the_type() {
    let values: ArrayRef = Arc::new(Int32Array::from(vec![Some(7), None]));
    let values = arrow_select::nullif::nullif(&Int32Array::from(vec![7, 99]), &{
        let mask: arrow_array::BooleanArray =
            values.as_primitive::<Int32Type>().iter().map(|v| Some(v.is_none())).collect();
        mask
    })
    .unwrap();
    let written = write(&data_type("Nullable(Int32)"), &values, 10).unwrap();
    assert_eq!(written.bytes("c"), [7, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(written.bytes("c.null"), [0, 1]);

    let names: ArrayRef = Arc::new(StringArray::from(vec![None, Some("b")]));
    let written = write(&data_type("Nullable(Enum8('a' = 5, 'b' = 9))"), &names, 10).unwrap();
    assert_eq!(written.bytes("c"), [5, 9]);

    let none: ArrayRef = Arc::new(NullArray::new(3));
    let written = write(&data_type("Nullable(String)"), &none, 10).unwrap();
    assert_eq!(
        (written.bytes("c"), written.bytes("c.null")),
        ([0; 3].as_slice(), [1; 3].as_slice())
    );
    let written = write(&data_type("LowCardinality(Nullable(String))"), &none, 10).unwrap();
    assert_eq!(written.bytes("c")[16..], [0; 3]);
}

#[test]
fn all_scalars_round_trip_in_the_plain_the_nullable_and_the_empty() {
    for text in SCALARS {
        for data_type in [data_type(text), data_type(text).made_nullable()] {
            for rows in [0, 1, 9, 300] {
                let values = array(&data_type, rows, &mut Random(rows as u64));
                let written = write(&data_type, &values, 100).unwrap();
                let granules = written.rows.len();
                let found = read(&written, &data_type, Strings::Utf8, &[7], 0..granules).unwrap();
                assert_eq!(&found, &values, "{data_type}");
            }
        }
    }
}

#[test]
fn long_strings_point_into_the_blocks() {
    let text = "long enough not to be inline";
    let values: ArrayRef = Arc::new(StringViewArray::from(vec![text; 100]));
    let written = write(&DataType::String, &values, 100).unwrap();
    let found = read(&written, &DataType::String, Strings::Utf8, &[1 << 20], 0..1).unwrap();
    assert_eq!(found.as_string_view().data_buffers().len(), 1);
    // In blocks of ten and a half strings one in twenty-one straddles.
    let found = read(&written, &DataType::String, Strings::Utf8, &[29 * 21 / 2], 0..1).unwrap();
    assert_eq!(&found, &values);
    assert!(found.as_string_view().data_buffers().len() < 25);
}

#[test]
fn a_dictionary_is_read_once_and_shared_between_batches() {
    let data_type = data_type("LowCardinality(String)");
    let texts: StringArray = (0..100).map(|n| Some(format!("v{}", n % 11))).collect();
    let written = write(&data_type, &(Arc::new(texts) as ArrayRef), 10).unwrap();
    for with_marks in [true, false] {
        let mut sources = MarkedSources::new(&written, &[5], with_marks);
        let mut reader =
            ColumnReader::new("c", &data_type, &Layout::default(), Strings::Utf8).unwrap();
        sources.jump(0);
        let first = read_on(&mut reader, &mut sources, 0..3).unwrap();
        let second = read_on(&mut reader, &mut sources, 3..5).unwrap();
        let values = |array: &ArrayRef| Arc::clone(array.as_any_dictionary().values());
        assert!(Arc::ptr_eq(&values(&first), &values(&second)));
        sources.jump(8);
        reader.seek();
        let third = read_on(&mut reader, &mut sources, 8..9).unwrap();
        assert!(Arc::ptr_eq(&values(&first), &values(&third)), "with marks: {with_marks}");
        let third = third.as_dictionary::<Int32Type>().downcast_dict::<StringArray>().unwrap();
        assert_eq!(third.into_iter().next().flatten(), Some("v3"));
    }
}

#[test]
fn a_full_dictionary_is_followed_by_another() {
    let data_type = data_type("LowCardinality(String)");
    let texts: LargeStringArray = (0..150_000).map(|n| Some((n / 2).to_string())).collect();
    let values: ArrayRef = Arc::new(texts);
    let written = write(&data_type, &values, 8192).unwrap();
    let granules = written.rows.len();
    let new = |granule: &usize| {
        let mark = written.marks[&name("c")][*granule];
        written.bytes("c")[mark + 1] & 4 != 0
    };
    assert_eq!((0..granules).filter(new).count(), 2, "two dictionaries");
    let expected = arrow_cast::cast(&values, &data_type.arrow(Strings::Utf8)).unwrap();
    let mut random = Random(1);
    let mut sources = MarkedSources::new(&written, &[100_000], true);
    let mut reader = ColumnReader::new("c", &data_type, &Layout::default(), Strings::Utf8).unwrap();
    for _ in 0..30 {
        let (start, middle) = (random.below(granules), random.below(granules));
        sources.jump(start);
        reader.seek();
        for range in [start..start.max(middle), start.max(middle)..granules] {
            let found = read_on(&mut reader, &mut sources, range.clone()).unwrap();
            let row = range.start * 8192;
            assert_eq!(found.as_ref(), expected.slice(row, found.len()).as_ref(), "{range:?}");
        }
    }
    for start in [0, 5, granules - 1] {
        let found =
            read(&written, &data_type, Strings::Utf8, &[1000, 77], start..granules).unwrap();
        let row = start * 8192;
        assert_eq!(found.len(), values.len() - row);
        assert_eq!(found.as_ref(), expected.slice(row, values.len() - row).as_ref());
    }
}

#[test]
fn rows_of_arrow_dictionaries_keep_their_keys() {
    // A dictionary with a value that nobody uses, one that is there twice, and a NULL among the values.
    let values: ArrayRef =
        Arc::new(StringArray::from(vec![Some("x"), Some("unused"), Some("x"), None]));
    let keys = Int32Array::from(vec![Some(2), Some(0), Some(3), None]);
    let array: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
    let written = write(&data_type("LowCardinality(Nullable(String))"), &array, 10).unwrap();
    assert_eq!(written.bytes("c")[16..], [2, 2, 0, 0]);
    assert_eq!(written.bytes("c.dict")[8..], [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, b'x']);
}

#[test]
fn bytes_that_are_no_text_are_written_and_read_as_binary() {
    let values: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"ok", b"\xff\xfe", b""]));
    for text in ["String", "LowCardinality(String)"] {
        let data_type = data_type(text);
        let written = write(&data_type, &values, 10).unwrap();
        let found = read(&written, &data_type, Strings::Binary, &[3], 0..1).unwrap();
        assert_eq!(arrow_cast::cast(&found, &Arrow::Binary).unwrap().as_ref(), values.as_ref());
        let error = read(&written, &data_type, Strings::Utf8, &[3], 0..1).unwrap_err();
        assert!(matches!(error, PartError::Utf8 { .. }), "{error}");
        assert_eq!(error.place().unwrap().column.as_deref(), Some("c"));
    }
}
