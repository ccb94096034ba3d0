//! Functions of constants against what ClickHouse 26.9 answered (`functions.tsv`: expression, type, value; or ERROR).

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::{Array, RecordBatch, RecordBatchOptions};
    use arrow_schema::Schema;
    use std::sync::Arc;
    use tambour_table::TableError;
    use tambour_table::schema::expression::Expression;

    /// Where ClickHouse makes a value out of nonsense and we say no (docs/functions.md).
    const STRICTER: &[&str] = &[
        "toDate('2024-13-05')",
        "toDate('2024-02-30')",
        "toDate('2024-02-32')",
        "toDateTime('2024-01-05 25:11:12')",
        "toDateTime('2024-01-05 10:61:12')",
    ];
    /// Where we differ: the zero date is the epoch.
    const DIFFERENT: &[(&str, &str)] =
        &[("toDateTime('0000-00-00 00:00:00')", "DateTime\t1970-01-01 00:00:00")];

    fn answer(text: &str) -> Result<String, TableError> {
        let expression = Expression::parse(text)?;
        let data_type = expression.data_type(&[])?;
        let as_text =
            Expression::Call { function: "toString".to_owned(), arguments: vec![expression] };
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let batch =
            RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap();
        let value = as_text.evaluate(&batch)?;
        assert_eq!(value.len(), 1);
        let value = if value.is_null(0) { "\\N" } else { value.as_string_view().value(0) };
        Ok(format!(
            "{data_type}\t{}",
            value.replace('\\', "\\\\").replace('\t', "\\t").replace("\\\\N", "\\N")
        ))
    }

    #[test]
    fn functions_of_constants_give_what_clickhouse_gives() {
        let mut lines = Vec::new();
        for line in include_str!("functions.tsv").lines() {
            let (text, expected) = line.split_once('\t').unwrap();
            let got = answer(text).unwrap_or_else(|_| "ERROR".to_owned());
            let different =
                DIFFERENT.iter().find(|(other, _)| *other == text).map(|(_, ours)| *ours);
            let expected =
                if STRICTER.contains(&text) { "ERROR" } else { different.unwrap_or(expected) };
            if got != expected {
                lines.push(format!("{text}: {got}, not {expected}"));
            }
        }
        assert!(lines.is_empty(), "{} differences\n{}", lines.len(), lines.join("\n"));
    }

    #[test]
    fn errors_name_function_and_row() {
        let error = answer("intDiv(1, 0)").unwrap_err();
        assert_eq!(error.to_string(), "function `intDiv`, row 0: division by zero");
        let error = answer("toYYYYMM(5)").unwrap_err();
        assert_eq!(
            error.to_string(),
            "function `toYYYYMM`: it takes a Date, Date32, DateTime or DateTime64, not UInt8"
        );
        let error = answer("toUInt8('x')").unwrap_err();
        assert_eq!(error.to_string(), "function `toUInt8`, row 0: \"x\" is not an integer");
    }
}
