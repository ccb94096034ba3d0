//! Key expressions over whole columns: NULLs, LowCardinality, constants, bytes, and errors that name a row.

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{
        Date32Type, Int32Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
    };
    use arrow_array::{
        Array, ArrayRef, BinaryViewArray, Date32Array, Int32Array, RecordBatch, StringArray,
        StringViewArray, TimestampSecondArray, UInt16Array, UInt32Array,
    };
    use arrow_schema::{DataType as ArrowType, Schema};
    use proptest::prelude::*;
    use std::sync::Arc;
    use tambour_codec::Kind;
    use tambour_part::types::{Column, DataType, Strings};
    use tambour_table::TableError;
    use tambour_table::schema::expression::Expression;

    fn batch(columns: Vec<(&str, &str, ArrayRef)>, strings: Strings) -> (Vec<Column>, RecordBatch) {
        let mut fields = Vec::new();
        let mut definitions = Vec::new();
        let mut arrays = Vec::new();
        for (name, data_type, values) in columns {
            let data_type: DataType = data_type.parse().unwrap();
            let field = data_type.field(name, strings);
            arrays.push(arrow_cast::cast(&values, field.data_type()).unwrap());
            fields.push(field);
            definitions.push(Column { name: name.to_owned(), data_type });
        }
        (definitions, RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap())
    }

    /// Type and values; the Arrow type is checked to be that of the ClickHouse type.
    fn evaluate(
        text: &str,
        (columns, batch): &(Vec<Column>, RecordBatch),
    ) -> Result<(String, ArrayRef), TableError> {
        let expression = Expression::parse(text)?;
        let data_type = expression.data_type(columns)?;
        let values = expression.evaluate(batch)?;
        assert_eq!(values.len(), batch.num_rows());
        if values.data_type() != &ArrowType::BinaryView {
            assert_eq!(
                values.data_type(),
                data_type.field("", Strings::Utf8).data_type(),
                "{text}"
            );
        }
        Ok((data_type.to_string(), values))
    }

    #[test]
    fn nulls_stay_nulls_and_raise_no_errors() {
        let zeros: ArrayRef = Arc::new(Int32Array::from(vec![Some(0), None, Some(-7)]));
        let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(19_797), None, Some(0)]));
        let rows = batch(
            vec![("n", "Nullable(Int32)", zeros), ("d", "Nullable(Date)", days)],
            Strings::Utf8,
        );
        let (data_type, values) = evaluate("toYYYYMM(d)", &rows).unwrap();
        assert_eq!(data_type, "Nullable(UInt32)");
        let expected = UInt32Array::from(vec![Some(202_403), None, Some(197_001)]);
        assert_eq!(values.as_primitive::<UInt32Type>(), &expected);
        let error = evaluate("intDiv(100, n)", &rows).unwrap_err();
        assert_eq!(error.to_string(), "function `intDiv`, row 0: division by zero");
        assert_eq!(error.kind(), Kind::Argument);
        let (data_type, values) = evaluate("intDivOrZero(100, n)", &rows).unwrap();
        assert_eq!(data_type, "Nullable(Int8)");
        assert_eq!(values.null_count(), 1);
        // A divisor that is NULL is not a zero, though a zero stands below the NULL.
        let some: ArrayRef = Arc::new(Int32Array::from(vec![Some(3), None]));
        let rows = batch(vec![("n", "Nullable(Int32)", some)], Strings::Utf8);
        assert_eq!(evaluate("intDiv(100, n)", &rows).unwrap().1.null_count(), 1);
        assert_eq!(evaluate("100 % n", &rows).unwrap().1.null_count(), 1);
    }

    #[test]
    fn low_cardinality_stays_low_cardinality() {
        let texts: ArrayRef =
            Arc::new(StringArray::from(vec![Some("Ab"), Some("aB"), None, Some("C")]));
        let rows = batch(vec![("s", "LowCardinality(Nullable(String))", texts)], Strings::Utf8);
        let (data_type, values) = evaluate("lower(s)", &rows).unwrap();
        assert_eq!(data_type, "LowCardinality(Nullable(String))");
        // `Ab` and `aB` have become one value.
        assert_eq!(values.as_any_dictionary().values().len(), 2);
        let plain = arrow_cast::cast(&values, &ArrowType::Utf8).unwrap();
        assert_eq!(
            plain.as_string::<i32>(),
            &StringArray::from(vec![Some("ab"), Some("ab"), None, Some("c")])
        );
        let (data_type, values) = evaluate("length(s)", &rows).unwrap();
        assert_eq!(data_type, "LowCardinality(Nullable(UInt64))");
        assert_eq!(values.as_primitive::<UInt64Type>().values()[0], 2);
        assert_eq!(
            evaluate("startsWith(s, 'A')", &rows).unwrap().0,
            "LowCardinality(Nullable(UInt8))"
        );
    }

    #[test]
    fn bytes_that_are_no_text_pass_through() {
        let bytes: ArrayRef =
            Arc::new(BinaryViewArray::from_iter_values([&b"A\xff"[..], b"", b"\0B"]));
        let rows = batch(vec![("s", "String", bytes)], Strings::Binary);
        let values = evaluate("lower(s)", &rows).unwrap().1;
        assert_eq!(
            values.as_binary_view().iter().flatten().collect::<Vec<_>>(),
            [&b"a\xff"[..], b"", b"\0b"]
        );
        assert_eq!(
            evaluate("length(s)", &rows).unwrap().1.as_primitive::<UInt64Type>().values(),
            &[2, 0, 2]
        );
        assert_eq!(
            evaluate("empty(s)", &rows).unwrap().1.as_primitive::<UInt8Type>().values(),
            &[0, 1, 0]
        );
    }

    #[test]
    fn constants_stand_for_every_row() {
        let numbers: ArrayRef = Arc::new(UInt16Array::from(vec![1, 2, 65_535]));
        let rows = batch(vec![("k", "UInt16", numbers)], Strings::Utf8);
        assert_eq!(
            evaluate("7", &rows).unwrap().1.as_primitive::<UInt8Type>().values(),
            &[7, 7, 7]
        );
        assert_eq!(
            evaluate("toDate('2024-03-15')", &rows)
                .unwrap()
                .1
                .as_primitive::<Date32Type>()
                .value(2),
            19_797
        );
        let (data_type, values) = evaluate("10 - k", &rows).unwrap();
        assert_eq!(
            (data_type.as_str(), values.as_primitive::<Int32Type>().values()[2]),
            ("Int32", -65_525)
        );
        let (data_type, values) = evaluate("(k + 1) % 10", &rows).unwrap();
        assert_eq!(
            (data_type.as_str(), values.as_primitive::<UInt8Type>().values().to_vec()),
            ("UInt8", vec![2, 3, 6])
        );
        assert_eq!(
            evaluate("intDiv(k, 300)", &rows).unwrap().1.as_primitive::<UInt16Type>().values(),
            &[0, 0, 218]
        );
        let empty = (rows.0.clone(), rows.1.slice(0, 0));
        assert_eq!(evaluate("7", &empty).unwrap().1.len(), 0);
        assert_eq!(evaluate("intDiv(k, 2) + 1", &empty).unwrap().1.len(), 0);
    }

    #[test]
    fn columns_that_are_missing_and_zones_that_are_unknown_are_errors() {
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(["x"]));
        let rows = batch(vec![("s", "String", texts)], Strings::Utf8);
        let message = |text: &str| evaluate(text, &rows).unwrap_err().to_string();
        assert_eq!(
            message("lower(t)"),
            "the expression t names the column `t`, which the table does not have"
        );
        assert_eq!(message("toDate(s, 'Mars/Base')"), "time zone \"Mars/Base\" is not known");
        assert_eq!(
            message("toDate(s, s)"),
            "function `toDate`: argument 2 must be a constant time zone"
        );
        assert_eq!(
            message("toDate(s)"),
            "function `toDate`, row 0: \"x\" is not a date (YYYY-MM-DD)"
        );
        assert_eq!(message("lower(s, s)"), "function `lower`: it takes 1 arguments, not 2");
        assert_eq!(message("length(1)"), "function `length`: it takes texts, not UInt8");
    }

    #[test]
    fn instants_of_any_size_are_no_panic() {
        let ends = [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX];
        let functions = [
            "toYear",
            "toYYYYMM",
            "toYYYYMMDDhhmmss",
            "toHour",
            "toStartOfDay",
            "toStartOfHour",
            "toStartOfWeek",
            "toDate",
            "toDate32",
            "toDateTime",
            "toString",
            "toUInt8",
            "toFloat64",
            "toStartOfFiveMinutes",
            "toMonday",
        ];
        for zone in ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "+05:30", "Africa/Monrovia"] {
            for unit in
                ["DateTime('Z')", "DateTime64(0, 'Z')", "DateTime64(3, 'Z')", "DateTime64(9, 'Z')"]
            {
                let data_type: DataType = unit.replace('Z', "UTC").parse().unwrap();
                let arrow = data_type.field("t", Strings::Utf8).data_type().clone();
                let ticks: ArrayRef = Arc::new(arrow_array::Int64Array::from(ends.to_vec()));
                let values = arrow_cast::cast(&ticks, &arrow).unwrap();
                let rows = batch(vec![("t", &data_type.to_string(), values)], Strings::Utf8);
                for function in functions {
                    let zone = if function.starts_with("toUInt") || function.starts_with("toFloat")
                    {
                        String::new()
                    } else if function == "toStartOfWeek" {
                        format!(", 1, '{zone}'")
                    } else {
                        format!(", '{zone}'")
                    };
                    let made = evaluate(&format!("{function}(t{zone})"), &rows);
                    // The seconds of a DateTime64 that an integer does not have are an error.
                    let may_fail = function.starts_with("toUInt") && unit.starts_with("DateTime64");
                    assert!(made.is_ok() || may_fail, "{function} of {unit}: {made:?}");
                }
                let _ = evaluate("toUnixTimestamp(t)", &rows);
                let _ = evaluate("toDateTime64(t, 9)", &rows);
                let _ = evaluate("toStartOfSecond(t)", &rows);
            }
        }
    }

    proptest! {
        /// What pruning relies on.
        #[test]
        fn functions_that_say_so_never_go_back(
            mut instants in prop::collection::vec(0_i64..=0xffff_ffff, 2..200),
            zone in prop::sample::select(vec!["UTC", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "Africa/Monrovia"]),
        ) {
            instants.sort_unstable();
            let values: ArrayRef = Arc::new(TimestampSecondArray::from(instants).with_timezone(zone));
            let rows = batch(vec![("t", &format!("DateTime('{zone}')"), values)], Strings::Utf8);
            for text in ["toYear(t)", "toYYYYMM(t)", "toYYYYMMDD(t)", "toDate(t)", "toMonday(t)", "toStartOfWeek(t)", "toStartOfMonth(t)",
                "toStartOfDay(t)", "toStartOfHour(t)", "toStartOfFifteenMinutes(t)", "toStartOfMinute(t)", "intDiv(toYYYYMM(t), 100)"]
            {
                prop_assert!(Expression::parse(text).unwrap().is_monotonic());
                let values = evaluate(text, &rows).unwrap().1;
                let numbers = match values.data_type() {
                    ArrowType::Date32 => arrow_cast::cast(&values, &ArrowType::Int32).unwrap(),
                    _ => values,
                };
                let numbers = arrow_cast::cast(&numbers, &ArrowType::Int64).unwrap();
                let numbers = numbers.as_primitive::<arrow_array::types::Int64Type>().values().to_vec();
                prop_assert!(numbers.is_sorted(), "{text}");
            }
        }
    }
}
