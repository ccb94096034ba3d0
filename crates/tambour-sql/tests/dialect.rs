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
    use tambour_function::{self, Operand};
    use tambour_part::types::{DataType, Strings};
    use tambour_sql::{Session, SessionOptions, SqlError};

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
        let texts =
            tambour_function::find("toString").unwrap().evaluate(&[operand]).unwrap().values;
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
                    "SELECT DISTINCT k FROM t LIMIT 1 BY ls",
                    "LIMIT ... BY with DISTINCT is not supported: put SELECT DISTINCT in a subquery",
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
                    "the parametric function topK is not supported: those here are quantile, quantiles and their like",
                ),
                (
                    "SELECT groupUniqArray(3)(s) FROM t",
                    "groupUniqArray with a limit is not supported: take a part of the array with array_slice",
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
                    "SELECT arrayJoin(a), arrayJoin(array(k)) FROM t",
                    "arrayJoin of several arrays is not supported: write one in a subquery, or ARRAY JOIN a, b for elements side by side",
                ),
                (
                    "SELECT * FROM t PASTE JOIN t AS u",
                    "PASTE JOIN is not supported: number the rows of both sides with row_number() and join by the numbers",
                ),
                (
                    "SELECT k FROM t SETTINGS transform_null_in = 1",
                    "the setting transform_null_in = 1 is not supported: it would change the result, which is that of transform_null_in = 0 here",
                ),
                (
                    "SELECT toIntervalDay(3)",
                    "the interval \"toIntervalDay(3)\" as a result is not supported: add it to a date or time",
                ),
                ("SELECT uniq() FROM t", "uniq() is not supported: it takes an argument"),
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
    fn names_of_results_have_one_meaning() {
        run(async {
            let session = session();
            let cases = [
                (
                    "SELECT max(k) AS k FROM t WHERE k < 5",
                    "k in WHERE is not supported: the result of this name is max(k); aggregates can be in HAVING, or give it another name",
                ),
                (
                    "SELECT ls, max(k) AS m FROM t GROUP BY ls, m",
                    "m in GROUP BY is not supported: the result of this name is max(k); aggregates can be in HAVING, or give it another name",
                ),
                (
                    "SELECT sumIf(u8, k > 1) AS u8, avg(u8) FROM t",
                    "u8 in an aggregate is not supported: the result of this name is sumIf(u8, k > 1); use a subquery for aggregates of aggregates, or give it another name",
                ),
                (
                    "SELECT row_number() OVER (ORDER BY k) AS r FROM t WHERE r = 1",
                    "r in WHERE is not supported: the result of this name is row_number() OVER (ORDER BY k); use a subquery to filter by window functions, or give it another name",
                ),
                (
                    "SELECT 1 AS x, 2 AS x",
                    "the name x for two results is not supported: it stands for 1 and for 2",
                ),
            ];
            for (query, message) in cases {
                let error = session.sql(query).await.unwrap_err();
                assert_eq!(error.to_string(), message, "{query}");
                assert_eq!(error.kind(), Kind::Argument, "{query}");
            }
            // Names that stand for names twice over double each time.
            let doubling: Vec<String> =
                (1..40).map(|n| format!("x{} + x{} AS x{n}", n - 1, n - 1)).collect();
            let doubling = format!("SELECT k AS x0, {} FROM t", doubling.join(", "));
            assert_eq!(session.sql(&doubling).await.unwrap_err().kind(), Kind::Limit);
            let deep: Vec<String> =
                (1..400).map(|n| format!("abs(abs(abs(abs(abs(x{}))))) AS x{n}", n - 1)).collect();
            let deep = format!("SELECT k AS x0, {} FROM t", deep.join(", "));
            assert_eq!(session.sql(&deep).await.unwrap_err().kind(), Kind::Limit);
        });
    }

    #[test]
    fn statements_only_read() {
        run(async {
            let session = session();
            let place = tempfile::TempDir::new().unwrap();
            let file = place.path().join("kept.csv");
            std::fs::write(&file, "a\n1\n").unwrap();
            let file = file.display();
            for (clause, statement) in [
                ("COPY", format!("COPY t TO '{file}'")),
                ("COPY", format!("COPY (SELECT 1) TO '{file}' STORED AS CSV")),
                ("COPY", format!("EXPLAIN ANALYZE COPY t TO '{file}'")),
                (
                    "CREATE EXTERNAL TABLE",
                    format!("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '{file}'"),
                ),
                ("CREATE TABLE", "CREATE TABLE x AS SELECT 1".to_owned()),
                ("DROP TABLE", "DROP TABLE t".to_owned()),
                ("INSERT", "INSERT INTO t SELECT * FROM t".to_owned()),
                ("DELETE", "DELETE FROM t WHERE k = 1".to_owned()),
                ("ALTER TABLE", "ALTER TABLE t DROP COLUMN k".to_owned()),
                ("TRUNCATE", "TRUNCATE TABLE t".to_owned()),
                ("OPTIMIZE TABLE", "OPTIMIZE TABLE t FINAL".to_owned()),
                ("CreateMemoryTable", "SELECT k INTO x FROM t".to_owned()),
            ] {
                let error = session.sql(&statement).await.unwrap_err();
                let message = format!("{clause} is not supported: ");
                assert!(error.to_string().starts_with(&message), "{statement}: {error}");
                assert!(error.to_string().contains("--write"), "{statement}: {error}");
                assert_eq!(error.kind(), Kind::Argument, "{statement}");
            }
            for statement in [
                "PREPARE p AS SELECT 1",
                "CREATE SCHEMA x",
                "START TRANSACTION",
                "CREATE VIEW system.v AS SELECT 1",
                "DROP VIEW system.parts",
            ] {
                let error = session.sql(statement).await.unwrap_err();
                assert!(matches!(error, SqlError::Refused { .. }), "{statement}: {error:?}");
            }
            assert_eq!(std::fs::read_to_string(place.path().join("kept.csv")).unwrap(), "a\n1\n");
            assert_eq!(answer(&session, "SELECT count() FROM t").await.unwrap(), "20\n");
        });
    }

    #[test]
    fn descriptions_speak_of_clickhouse_types() {
        run(async {
            let session = session();
            let columns = "k\tUInt32\nu8\tUInt8\ni\tInt32\nn\tNullable(Int64)\nf\tFloat64\ns\tString\n\
                ls\tLowCardinality(String)\nd\tDate\nt\tDateTime\nb\tDateTime(\\'Europe/Berlin\\')\n\
                t3\tDateTime64(3)\ne\tEnum8(\\'red\\' = 1, \\'green\\' = 2)\na\tArray(UInt32)\n\
                u\tUUID\nip\tIPv4\nfs\tFixedString(4)\nmp\tMap(String, UInt32)\nz\tFloat64\ny\tBool\n";
            for statement in [
                "DESCRIBE t",
                "desc t",
                "DESCRIBE TABLE default.t",
                "DESCRIBE (SELECT * FROM t)",
                "SHOW COLUMNS FROM t",
            ] {
                assert_eq!(answer(&session, statement).await.unwrap(), columns, "{statement}");
            }
            let computed = "DESCRIBE (SELECT k + 1 AS x, n, n, toString(k) FROM t)";
            assert_eq!(
                answer(&session, computed).await.unwrap(),
                "x\tUInt64\nn\tNullable(Int64)\nn\tNullable(Int64)\ntoString(k)\tString\n"
            );
            let databases = answer(&session, "SHOW DATABASES").await.unwrap();
            assert_eq!(databases, "default\nsystem\n");
            let tables = answer(&session, "SHOW TABLES FROM system").await.unwrap();
            assert_eq!(tables, "codecs\ncolumns\nnumbers\none\nparts\ntables\n");
            assert!(session.sql("DESCRIBE SHOW TABLES").await.is_err());
            for statement in ["DESCRIBE x", "SHOW CREATE TABLE x", "SHOW COLUMNS FROM x"] {
                let error = session.sql(statement).await.unwrap_err();
                assert_eq!(error.kind(), Kind::NotFound, "{statement}: {error:?}");
            }
        });
    }

    #[test]
    fn explain_takes_clickhouse_words() {
        run(async {
            let session = session();
            let plan = answer(&session, "EXPLAIN SELECT k FROM t").await.unwrap();
            for statement in [
                "EXPLAIN PLAN SELECT k FROM t",
                "EXPLAIN PIPELINE SELECT k FROM t",
                "explain indexes=1 SELECT k FROM t",
                "EXPLAIN indexes = 1, actions = 0 SELECT k FROM t",
                " EXPLAIN ESTIMATE SELECT k FROM t",
            ] {
                assert_eq!(answer(&session, statement).await.unwrap(), plan, "{statement}");
            }
            let error = session.sql("EXPLAIN SYNTAX SELECT 1").await.unwrap_err();
            assert_eq!(
                error.to_string(),
                "EXPLAIN SYNTAX is not supported: EXPLAIN shows the plan only"
            );
        });
    }

    #[test]
    fn sets_may_depend_on_the_row() {
        run(async {
            let session = session();
            // ClickHouse has none of these.
            let query = "SELECT count() FROM t AS o WHERE k NOT IN \
                (SELECT x.k FROM t AS x WHERE x.u8 = o.u8 AND x.k > 3)";
            assert_eq!(answer(&session, query).await.unwrap(), "4\n");
        });
    }

    #[test]
    fn settings_are_notes() {
        run(async {
            let session = session();
            let query = session.sql("SET max_threads = 1").await.unwrap();
            assert_eq!(query.notes(), ["SET max_threads = 1 has no effect here"]);
            assert_eq!(query.schema().fields().len(), 0);
            assert_eq!(query.execute().await.unwrap().collect().await.unwrap().len(), 0);
            let ours = session.sql("SET datafusion.execution.batch_size = 100").await.unwrap();
            assert_eq!(ours.notes().len(), 0);
        });
    }

    #[test]
    fn unknown_functions_are_called_as_written() {
        run(async {
            let session = session();
            let cases = [
                ("SELECT toYYYYMMM(d) FROM t", "toYYYYMMM", &["toYYYYMM", "toYYYYMMDD"][..]),
                ("SELECT someThingElseAltogether(k) FROM t", "someThingElseAltogether", &[]),
            ];
            for (query, called, near) in cases {
                let error = session.sql(query).await.unwrap_err();
                assert_eq!(error.kind(), Kind::Argument);
                let SqlError::UnknownFunction { name, similar } = &error else {
                    panic!("{query}: {error:?}");
                };
                assert_eq!(name, called);
                assert!(near.iter().all(|it| similar.iter().any(|s| s == it)), "{similar:?}");
                assert!(error.to_string().starts_with("there is no function"), "{error}");
            }
            let names = session.function_names();
            for name in ["toStartOfHour", "toTypeName", "formatReadableSize", "array_sort"] {
                assert!(names.iter().any(|known| known == name), "{name}");
            }
            assert!(!names.iter().any(|name| name == "tostartofhour"), "{names:?}");
        });
    }

    #[test]
    fn views_are_names_of_queries() {
        run(async {
            let session = session();
            session.sql("CREATE VIEW few AS SELECT k, k FROM t WHERE k < 2").await.unwrap();
            let rows = answer(&session, "SELECT * FROM few ORDER BY k").await.unwrap();
            assert_eq!(rows, "0\t0\n1\t1\n");
            session.sql("CREATE OR REPLACE VIEW few AS SELECT 7 AS x").await.unwrap();
            assert_eq!(answer(&session, "SELECT * FROM few").await.unwrap(), "7\n");
            session.sql("DROP VIEW few").await.unwrap();
            assert!(session.sql("SELECT * FROM few").await.is_err());
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
            for (query, expected) in [
                ("SELECT count(), count(), k AS x, x FROM t GROUP BY k", "count() count() x x"),
                ("SELECT k, s, k, t.k FROM t", "k s k k"),
                (
                    "SELECT k, * EXCEPT (u8, n, f, d, t, b, t3, e, a, ls, u, ip, fs, mp, z, y) FROM t",
                    "k k i s",
                ),
                ("WITH 5 AS m SELECT m, m + 1 FROM t", "m m + 1"),
            ] {
                let mut execution = session.sql(query).await.unwrap().execute().await.unwrap();
                let returned = execution.stream.schema();
                let batches = execution.collect().await.unwrap();
                let planned = session.sql(query).await.unwrap().schema();
                for schema in [planned, returned, batches[0].schema()] {
                    let names: Vec<&str> =
                        schema.fields().iter().map(|field| field.name().as_str()).collect();
                    assert_eq!(names.join(" "), expected, "{query}");
                }
            }
        });
    }

    #[test]
    fn results_keep_clickhouse_types() {
        run(async {
            let session = session();
            let query = "SELECT toYYYYMM(d) x1, toDate(b) x2, toStartOfHour(b) x3, intDiv(k, 2) x4, lower(ls) x5, \
                         toUInt8(n) x6, empty(s) x7 FROM t";
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
    fn clauses_of_clickhouse_run() {
        run(async {
            let session = session();
            let cases = [
                (r"SELECT 'a\_b', '\d', '\x41', 0xFF, 0b101", "a\\\\_b\t\\\\d\tA\t255\t5\n"),
                ("SELECT count() FROM (SELECT k FROM t ORDER BY k LIMIT 1 BY ls)", "3\n"),
                ("SELECT k FROM t ORDER BY ls, k LIMIT 1, 1 BY ls", "3\n4\n5\n"),
                ("SELECT k FROM t ORDER BY ls, k LIMIT 2 BY ls LIMIT 3", "0\n3\n1\n"),
                (
                    "SELECT ls, count() AS c FROM t GROUP BY ls WITH ROLLUP ORDER BY c",
                    "c\t6\na\t7\nb\t7\n\t20\n",
                ),
                (
                    "SELECT x FROM t ARRAY JOIN array(k, k + 1) AS x WHERE k = 3 ORDER BY x",
                    "3\n4\n",
                ),
                ("SELECT count() FROM t AS a ANY JOIN t AS b ON a.ls = b.ls", "3\n"),
                ("SELECT count() FROM t AS a ANY LEFT JOIN t AS b ON a.ls = b.ls", "20\n"),
                (
                    "SELECT b.k FROM t AS a ASOF JOIN t AS b ON a.ls = b.ls AND a.k > b.k WHERE a.k = 9",
                    "6\n",
                ),
                ("SELECT k > 3 ? 'a' : 'b', k MOD 2, (k, 'x').2 FROM t WHERE k = 5", "a\t1\tx\n"),
                ("SELECT count() FROM t WHERE (k, ls) IN ((0, 'a'), (1, 'a'))", "1\n"),
                ("SELECT count() FROM t WHERE (k, ls) IN (SELECT k, ls FROM t WHERE k < 4)", "4\n"),
                ("SELECT sum(number) FROM numbers(10)", "45\n"),
                ("SELECT number FROM numbers(1000000000000) LIMIT 2", "0\n1\n"),
                ("SELECT a + 1, b FROM values('a UInt8, b String', (1, 'x'))", "2\tx\n"),
                ("SELECT dummy FROM system.one", "0\n"),
                ("SELECT count() FROM (SELECT k FROM t UNION ALL SELECT k FROM t LIMIT 2)", "22\n"),
                ("SELECT lag(k) OVER (ORDER BY k) FROM t ORDER BY k LIMIT 2", "0\n0\n"),
            ];
            for (query, expected) in cases {
                assert_eq!(answer(&session, query).await.unwrap(), expected, "{query}");
            }
        });
    }

    #[test]
    fn messages_do_not_show_the_engine() {
        run(async {
            let session = session();
            for query in [
                "SELECT nothing FROM t",
                "SELECT k FROM t WHERE",
                "SELECT sum(s) FROM t",
                "SELECT x -> x FROM t",
                "SELECT k FROM t ORDER BY",
                "SELECT k, count() FROM t",
                "SELECT '\\xff'",
            ] {
                let message = match session.sql(query).await {
                    Err(error) => error.to_string(),
                    Ok(query) => match query.execute().await {
                        Err(error) => error.to_string(),
                        Ok(mut execution) => execution.collect().await.unwrap_err().to_string(),
                    },
                };
                for word in ["sqltorel", "DataFusion", "Please help", "Ident {", "AST"] {
                    assert!(!message.contains(word), "{query}: {message}");
                }
            }
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
