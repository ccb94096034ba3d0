//! Queries in ClickHouse's dialect against what ClickHouse 26.9 answered over the same twenty rows (`queries.tsv`: a query
//! after `> `, its answer as TSV, an empty line).

#[cfg(test)]
#[path = "dialect/columns.rs"]
mod columns;

#[cfg(test)]
mod tests {
    use super::columns::columns as more_columns;
    use arrow::array::{
        Array, ArrayRef, Date32Array, DictionaryArray, Float64Array, Int8Array, Int32Array,
        Int64Array, ListArray, RecordBatch, StringArray, StringViewArray,
        TimestampMillisecondArray, TimestampSecondArray, UInt8Array, UInt32Array, cast::AsArray,
    };
    use arrow::datatypes::{DataType as ArrowType, Field, Schema, UInt32Type};
    use std::fmt::Write;
    use std::sync::Arc;
    use tambour_codec::Kind;
    use tambour_part::types::{DataType, Strings};
    use tambour_sql::{Session, SessionOptions, SqlError};
    use tambour_store::schema::function::{self, Operand};

    /// The rows that ClickHouse had.
    #[expect(clippy::cast_possible_truncation, reason = "numbers below 20")]
    #[expect(clippy::too_many_lines, reason = "a table of columns")]
    fn rows() -> RecordBatch {
        let numbers = 0..20_i64;
        let each = |make: fn(i64) -> i64| (0..20_i64).map(make);
        let enumeration = DictionaryArray::try_new(
            each(|k| k % 2).map(|k| k as i8).collect::<Int8Array>(),
            Arc::new(StringArray::from(vec!["red", "green"])),
        );
        let dictionary = DictionaryArray::try_new(
            each(|k| k % 3).map(|k| k as i32).collect::<Int32Array>(),
            Arc::new(StringArray::from(vec!["a", "b", "c"])),
        );
        let lists = numbers.clone().map(|k| Some(vec![Some(k as u32), Some(k as u32 * 2)]));
        let columns: Vec<(&str, &str, ArrayRef)> = vec![
            ("k", "UInt32", Arc::new(each(|k| k).map(|k| k as u32).collect::<UInt32Array>())),
            (
                "u8",
                "UInt8",
                Arc::new(each(|k| k * 37 % 256).map(|k| k as u8).collect::<UInt8Array>()),
            ),
            (
                "i",
                "Int32",
                Arc::new(each(|k| k * 7 - 60).map(|k| k as i32).collect::<Int32Array>()),
            ),
            (
                "n",
                "Nullable(Int64)",
                Arc::new(
                    numbers.clone().map(|k| (k % 4 != 0).then_some(k * k)).collect::<Int64Array>(),
                ),
            ),
            (
                "f",
                "Float64",
                Arc::new(
                    numbers.clone().map(|k| Some(k as f64 * 1.25 - 3.0)).collect::<Float64Array>(),
                ),
            ),
            (
                "s",
                "String",
                Arc::new(StringViewArray::from_iter_values(
                    numbers.clone().map(|k| format!("name {}", k % 5)),
                )),
            ),
            ("ls", "LowCardinality(String)", Arc::new(dictionary.unwrap())),
            (
                "d",
                "Date",
                Arc::new(Date32Array::from_iter_values(each(|k| 19_751 + k * 3).map(|k| k as i32))),
            ),
            (
                "t",
                "DateTime",
                Arc::new(
                    TimestampSecondArray::from_iter_values(each(|k| 1_711_836_900 + k * 1801))
                        .with_timezone("UTC"),
                ),
            ),
            (
                "b",
                "DateTime('Europe/Berlin')",
                Arc::new(
                    TimestampSecondArray::from_iter_values(each(|k| 1_711_830_000 + k * 1801))
                        .with_timezone("Europe/Berlin"),
                ),
            ),
            (
                "t3",
                "DateTime64(3)",
                Arc::new(
                    TimestampMillisecondArray::from_iter_values(each(|k| {
                        1_704_067_200_000 + k * 86_400_250
                    }))
                    .with_timezone("UTC"),
                ),
            ),
            ("e", "Enum8('red' = 1, 'green' = 2)", Arc::new(enumeration.unwrap())),
            (
                "a",
                "Array(UInt32)",
                Arc::new(ListArray::from_iter_primitive::<UInt32Type, _, _>(lists)),
            ),
        ];
        let mut fields = Vec::new();
        let mut arrays = Vec::new();
        for (name, data_type, values) in columns.into_iter().chain(more_columns()) {
            let data_type: DataType = data_type.parse().unwrap();
            let field = data_type.field(name, Strings::Utf8);
            arrays.push(arrow::compute::cast(&values, field.data_type()).unwrap());
            fields.push(field);
        }
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Runtime::new().unwrap().block_on(test);
    }

    fn session() -> Session {
        let session =
            Session::new(&SessionOptions { threads: 2, ..SessionOptions::default() }).unwrap();
        session.context().register_batch("t", rows()).unwrap();
        session
    }

    /// A column as ClickHouse writes it into TSV.
    fn texts(field: &Field, values: &ArrayRef) -> Vec<String> {
        if let ArrowType::List(item) = values.data_type() {
            let list = values.as_list::<i32>();
            let (item, quote) = match DataType::from_field(field).unwrap() {
                DataType::Array(inner) if !inner.arrow(Strings::Utf8).is_nested() => {
                    let is_number =
                        inner.to_string().contains("Int") || inner.to_string().contains("Float");
                    (Arc::new(inner.field("", Strings::Utf8)), if is_number { "" } else { "'" })
                }
                _ => (Arc::clone(item), ""),
            };
            let row = |inner: Option<ArrayRef>| {
                let cells = texts(&item, &inner.unwrap());
                let cells: Vec<String> =
                    cells.into_iter().map(|cell| format!("{quote}{cell}{quote}")).collect();
                format!("[{}]", cells.join(","))
            };
            return list.iter().map(row).collect();
        }
        let data_type = DataType::from_field(field).unwrap();
        let operand = Operand { data_type, values: Arc::clone(values), is_constant: false };
        let texts = function::find("toString").unwrap().evaluate(&[operand]).unwrap().values;
        let texts = arrow::compute::cast(&texts, &ArrowType::Utf8View).unwrap();
        let escape =
            |text: &str| text.replace('\\', "\\\\").replace('\t', "\\t").replace('\'', "\\'");
        texts.as_string_view().iter().map(|text| text.map_or("\\N".to_owned(), escape)).collect()
    }

    async fn answer(session: &Session, query: &str) -> Result<String, SqlError> {
        let mut execution = session.sql(query).await?.execute().await?;
        let mut answer = String::new();
        for batch in execution.collect().await? {
            let columns: Vec<Vec<String>> = batch
                .schema()
                .fields()
                .iter()
                .zip(batch.columns())
                .map(|(field, values)| texts(field, values))
                .collect();
            for row in 0..batch.num_rows() {
                let cells: Vec<&str> = columns.iter().map(|column| column[row].as_str()).collect();
                writeln!(answer, "{}", cells.join("\t")).unwrap();
            }
        }
        Ok(answer)
    }

    /// Where our answer is another one: comparisons and predicates are booleans, and what `docs/functions.md` lists.
    const DIFFERENT: &[(&str, &str)] = &[
        // Another order of adding.
        ("SELECT quantile(f), quantile(0.9)(f), median(k) FROM t", "8.875\t18.375\t9.5"),
        ("SELECT if(k, 1, 0) FROM t WHERE k < 2 ORDER BY k", "0\n1"),
        (
            "SELECT lower('ABC'), upper(s), length(s), empty(s), notEmpty(s), position(s, 'me'), startsWith(s, 'na') = 1 FROM t WHERE k = 4",
            "abc\tNAME 4\t6\tfalse\ttrue\t3\ttrue",
        ),
        ("SELECT has(a, 6), length(a) FROM t WHERE k = 3", "true\t2"),
        ("SELECT isNull(n), ifNull(n, -1) FROM t WHERE k < 2 ORDER BY k", "true\t-1\nfalse\t1"),
        ("SELECT k BETWEEN 3 AND 5, NOT (k = 3) FROM t WHERE k = 3", "true\tfalse"),
        ("SELECT yesterday() = today() - 1", "true"),
    ];

    #[test]
    fn queries_give_what_clickhouse_gives() {
        run(async {
            let session = session();
            let mut differences = Vec::new();
            let files = [
                include_str!("queries.tsv"),
                include_str!("dialect/types.tsv"),
                include_str!("dialect/functions.tsv"),
            ];
            let entries = files.into_iter().flat_map(|file| file.trim_end().split("\n\n"));
            for entry in entries.filter(|entry| !entry.trim().is_empty()) {
                let (query, expected) = entry.split_once('\n').unwrap_or((entry, ""));
                let query = query.strip_prefix("> ").unwrap();
                let got = match answer(&session, query).await {
                    Ok(got) => got.trim_end_matches('\n').to_owned(),
                    Err(error) => {
                        let cause = std::error::Error::source(&error)
                            .map(ToString::to_string)
                            .unwrap_or_default();
                        format!("ERROR {error}: {cause}")
                    }
                };
                let ours =
                    DIFFERENT.iter().find(|(other, _)| *other == query).map(|(_, ours)| *ours);
                let expected = ours.unwrap_or(expected);
                if got != expected && !(expected == "ERROR" && got.starts_with("ERROR")) {
                    differences
                        .push(format!("{query}\n  got      {got:?}\n  expected {expected:?}"));
                }
            }
            assert!(
                differences.is_empty(),
                "{} differences\n{}",
                differences.len(),
                differences.join("\n")
            );
        });
    }

    #[test]
    fn what_cannot_be_done_is_refused_by_name() {
        run(async {
            let session = session();
            let cases = [
                (
                    "SELECT * FROM t FINAL",
                    "FINAL is not supported: rows are returned as they are in the parts; group them by the key instead",
                ),
                (
                    "SELECT k FROM t LIMIT 1 BY ls",
                    "LIMIT ... BY is not supported: number the rows with row_number() OVER (PARTITION BY ...) instead",
                ),
                (
                    "SELECT ls, count() FROM t GROUP BY ls WITH TOTALS",
                    "GROUP BY ... WITH TOTALS is not supported: write GROUP BY ROLLUP (...), CUBE (...) or GROUPING SETS (...)",
                ),
                (
                    "SELECT k FROM t ORDER BY k WITH FILL",
                    "ORDER BY ... WITH FILL is not supported: rows are not made up here",
                ),
                (
                    "SELECT topK(3)(s) FROM t",
                    "the parametric function topK is not supported: it is not there yet",
                ),
                (
                    "SELECT quantile(1.5)(f) FROM t",
                    "quantile with these parameters is not supported: levels are numbers from 0 to 1",
                ),
                (
                    "SELECT k FROM (SELECT k FROM t FORMAT TSV)",
                    "FORMAT in a subquery is not supported: only the outermost query has a format",
                ),
                (
                    "SELECT k FROM t ARRAY JOIN a",
                    "ARRAY JOIN is not supported: use unnest(...) in the list of results",
                ),
                (
                    "SELECT uniq(k, s) FROM t",
                    "uniq of 2 arguments is not supported: it takes one here",
                ),
                (
                    "SELECT 1; SELECT 2",
                    "more than one statement is not supported: one is expected here",
                ),
                ("  ", "an empty statement is not supported: there is nothing to do"),
            ];
            for (query, message) in cases {
                let error = session.sql(query).await.unwrap_err();
                assert_eq!(error.to_string(), message, "{query}");
                assert_eq!(error.kind(), Kind::Argument, "{query}");
            }
        });
    }

    #[test]
    fn format_and_settings_are_taken_out() {
        run(async {
            let session = session();
            let query = session
                .sql("SELECT k FROM t SETTINGS max_threads = 1 FORMAT JSONEachRow")
                .await
                .unwrap();
            assert_eq!(query.format(), Some("JSONEachRow"));
            assert_eq!(query.notes(), ["SETTINGS max_threads = 1 has no effect here"]);
            assert_eq!(session.sql("SELECT 1 FORMAT Null").await.unwrap().format(), Some("Null"));
            assert_eq!(session.sql("EXPLAIN SELECT uniq(k) FROM t").await.unwrap().format(), None);
            for statement in ["DESCRIBE t", "DESC TABLE t", "SHOW TABLES"] {
                session
                    .sql(statement)
                    .await
                    .unwrap_or_else(|error| panic!("{statement}: {error:?}"));
            }
        });
    }

    #[test]
    fn results_are_called_what_was_written() {
        run(async {
            let session = session();
            let query = "SELECT count(), uniq(s), toYYYYMM(min(d)), k + 1 FROM t GROUP BY k + 1";
            let schema = session.sql(query).await.unwrap().schema();
            let names: Vec<&str> =
                schema.fields().iter().map(|field| field.name().as_str()).collect();
            assert_eq!(names, ["count()", "uniq(s)", "toYYYYMM(min(d))", "k + 1"]);
        });
    }

    #[test]
    fn results_keep_clickhouse_types() {
        run(async {
            let session = session();
            let query = "SELECT toYYYYMM(d) a, toDate(b) b, toStartOfHour(b) c, intDiv(k, 2) d, lower(ls) e, toUInt8(n) f, \
                         empty(s) g FROM t";
            let schema = session.sql(query).await.unwrap().schema();
            let types: Vec<String> = schema
                .fields()
                .iter()
                .map(|field| DataType::from_field(field).unwrap().to_string())
                .collect();
            let expected = [
                "UInt32",
                "Date",
                "DateTime('Europe/Berlin')",
                "UInt32",
                "LowCardinality(String)",
                "Nullable(UInt8)",
                "Bool",
            ];
            assert_eq!(types, expected);
        });
    }

    #[test]
    fn what_is_made_of_identifiers_keeps_their_types() {
        run(async {
            let session = session();
            let query = "SELECT min(u) a, max(ip) b, groupArray(u) c, [min(ip)] d, tuple(min(u), max(ip), 1) e, \
                         map('a', min(ip)) f, if(count() > 1, max(u), NULL) g, coalesce(max(u), min(u)) h, \
                         nullIf(any(ip), max(ip)) i, argMin(u, k) j FROM t";
            let query = session.sql(query).await.unwrap();
            let types = |schema: &Schema| -> Vec<String> {
                // Which of them may be NULL is another matter.
                let fields = schema.fields().iter();
                let names = fields.map(|field| DataType::from_field(field).unwrap().to_string());
                let words = names.map(|name| name.replace("Nullable", "").replace(['(', ')'], " "));
                words.map(|words| words.replace("  ", " ").trim().to_owned()).collect()
            };
            let planned = types(&query.schema());
            let batches = query.execute().await.unwrap().collect().await.unwrap();
            let expected = [
                "UUID",
                "IPv4",
                "Array UUID",
                "Array IPv4",
                "Tuple UUID, IPv4, Int64",
                "Map String, IPv4",
                "UUID",
                "UUID",
                "IPv4",
                "UUID",
            ];
            assert_eq!(planned, expected);
            assert_eq!(types(&batches[0].schema()), expected);
        });
    }

    #[test]
    fn errors_of_functions_keep_their_kind() {
        run(async {
            let session = session();
            let error = session.sql("SELECT toYYYYMM(s) FROM t").await.unwrap_err();
            assert_eq!(error.kind(), Kind::Argument);
            let mut execution =
                session.sql("SELECT intDiv(1, k) FROM t").await.unwrap().execute().await.unwrap();
            assert_eq!(execution.collect().await.unwrap_err().kind(), Kind::Argument);
        });
    }

    #[test]
    fn large_statements_are_refused_and_long_ones_run() {
        run(async {
            let session = session();
            let chain = |count: usize| format!("SELECT 1{}", " + 1".repeat(count));
            assert_eq!(answer(&session, &chain(900)).await.unwrap(), "901\n");
            assert_eq!(session.sql(&chain(100_000)).await.unwrap_err().kind(), Kind::Limit);
            let long =
                format!("SELECT count() FROM t WHERE k IN ({})", vec!["3"; 50_000].join(", "));
            assert_eq!(answer(&session, &long).await.unwrap(), "1\n");
            let deep = format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000));
            assert!(session.sql(&deep).await.is_err());
        });
    }
}
