//! Names and types of results, clauses, and messages.

use crate::session::{answer, run, session};
use arrow::datatypes::Schema;
use tambour_codec::Kind;
use tambour_part::types::DataType;
use tambour_sql::SqlError;

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
        for statement in ["DESCRIBE t", "DESC TABLE t", "SHOW TABLES", "EXISTS t", "SHOW CREATE x"]
        {
            let with = format!("{statement} SETTINGS max_threads = 1 FORMAT CSV;");
            match session.sql(&with).await {
                Ok(query) => {
                    assert_eq!(query.format(), Some("CSV"), "{with}");
                    assert_eq!(query.notes().len(), 1, "{with}");
                    assert!(session.sql(statement).await.unwrap().format().is_none());
                }
                Err(error) => assert_eq!(error.kind(), Kind::NotFound, "{with}: {error:?}"),
            }
        }
        // Words of clauses are names elsewhere.
        for (statement, refusal) in [
            ("DESCRIBE settings", "there is no table \"settings\""),
            ("DESCRIBE system.settings", ""),
            ("SHOW SETTINGS FORMAT CSV", ""),
            ("USE default", ""),
            ("USE shop", "write the database in front of each table: shop.t"),
            ("SHOW PROCESSLIST", "SHOW PROCESSLIST is not supported"),
            ("SHOW GRANTS FOR somebody", "SHOW GRANTS is not supported"),
            ("SELECT * FROM system.partz", "system.parts_columns"),
        ] {
            let said =
                session.sql(statement).await.map_or_else(|it| it.to_string(), |_| String::new());
            assert!(said.contains(refusal) && said.is_empty() == refusal.is_empty(), "{said}");
        }
    });
}

#[test]
fn results_have_the_names_that_clickhouse_gives_them() {
    run(async {
        let session = session();
        let query = "SELECT count(), uniq(s), toYYYYMM(min(d)), k + 1 FROM t GROUP BY k + 1";
        let schema = session.sql(query).await.unwrap().schema();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["count()", "uniq(s)", "toYYYYMM(min(d))", "plus(k, 1)"]);
        for (query, expected) in [
            ("SELECT count(), count(), k AS x, x FROM t GROUP BY k", "count() count() x x"),
            ("SELECT k, s, k, t.k FROM t", "k s k k"),
            (
                "SELECT k, * EXCEPT (u8, n, f, d, t, b, t3, e, a, ls, u, ip, fs, mp, z, y) FROM t",
                "k k i s",
            ),
            ("WITH 5 AS m SELECT m, m + 1 FROM t", "m plus(m, 1)"),
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
            "UInt8",
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
            words
                .map(|words| words.replace("  ", " ").replace(" ,", ",").trim().to_owned())
                .collect()
        };
        let planned = types(&query.schema());
        let batches = query.execute().await.unwrap().collect().await.unwrap();
        let expected = [
            "UUID",
            "IPv4",
            "Array UUID",
            "Array IPv4",
            "Tuple UUID, IPv4, UInt8",
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
            ("SELECT x FROM t ARRAY JOIN array(k, k + 1) AS x WHERE k = 3 ORDER BY x", "3\n4\n"),
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
            (
                "WITH CAST((1, 'x'), 'Tuple(k UInt8, v String)') AS tp SELECT tp.k + 1, tp.v",
                "2\tx\n",
            ),
            ("SELECT tp.k AS tp FROM t AS tp WHERE tp.k = 5", "5\n"),
            (
                "SELECT tp.v AS tp FROM (SELECT (1, 2)::Tuple(k UInt8, v UInt8) AS tp) WHERE tp.k = 1",
                "2\n",
            ),
            (
                "SELECT k FROM t WHERE EXISTS (SELECT u.number AS t FROM numbers(2) AS u WHERE u.number = t.k) AND k = 1",
                "1\n",
            ),
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
fn values_that_do_not_fit_their_column_are_refused() {
    run(async {
        let session = session();
        for (values, said) in [
            ("'a UInt8', (300)", "the value does not fit UInt8"),
            ("'a Int8', -129", "the value does not fit Int8"),
            ("'a Nullable(UInt8)', ('256')", r#""256" is not a value of UInt8"#),
        ] {
            let error = answer(&session, &format!("SELECT a FROM values({values})")).await;
            let error = error.unwrap_err().to_string();
            assert!(error.contains(said), "{values}: {error}");
        }
    });
}

#[test]
fn rows_come_in_the_order_of_their_source() {
    run(async {
        let session = session();
        for (query, expected) in [
            ("SELECT number FROM system.numbers WHERE number % 7 = 3 LIMIT 3", "3\n10\n17\n"),
            (
                "SELECT number FROM numbers(30000) WHERE number % 9000 = 1",
                "1\n9001\n18001\n27001\n",
            ),
            (
                "SELECT number FROM numbers(20000) WHERE number > 19998 UNION ALL SELECT 2 UNION ALL \
                 SELECT number FROM numbers(3) LIMIT 2",
                "19999\n2\n0\n1\n",
            ),
        ] {
            for _ in 0..20 {
                assert_eq!(answer(&session, query).await.unwrap(), expected, "{query}");
            }
        }
    });
}

#[test]
fn columns_of_a_union_have_a_type_that_holds_both() {
    run(async {
        let session = session();
        for (left, right, expected) in [
            ("toFloat32(0.5)", "toInt32(16777217)", "Float64 0.5 16777217"),
            ("toFloat32(0.5)", "5", "Float32 0.5 5"),
            ("toUInt8(200)", "toInt8(-1)", "Int16 200 -1"),
            // Those without one are shown.
            ("'a'", "1.5", "Variant(Float64, String) a 1.5"),
            (
                "toUInt64(18446744073709551615)",
                "-1",
                "Variant(Int8, UInt64) 18446744073709551615 -1",
            ),
            (
                "toDate('2020-01-02')",
                "toDateTime('2020-01-01 01:00:00')",
                "DateTime 2020-01-02 00:00:00 2020-01-01 01:00:00",
            ),
        ] {
            let query = format!(
                "SELECT toTypeName(x), x FROM (SELECT {left} AS x UNION ALL SELECT {right})"
            );
            let got = answer(&session, &query).await.unwrap();
            let lines: Vec<(&str, &str)> =
                got.lines().filter_map(|line| line.split_once('\t')).collect();
            let [(name, one), (_, two)] = lines.as_slice() else { panic!("{query}: {got}") };
            assert_eq!(format!("{name} {one} {two}"), expected, "{query}");
        }
        for (left, right) in [("1", "toDate('2020-01-01')"), ("[1]", "['a']"), ("true", "2")] {
            let query = format!("SELECT {left} AS x UNION ALL SELECT {right}");
            let error = answer(&session, &query).await.unwrap_err().to_string();
            assert!(error.contains("they have no common type"), "{query}: {error}");
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
        let long = format!("SELECT count() FROM t WHERE k IN ({})", vec!["3"; 50_000].join(", "));
        assert_eq!(answer(&session, &long).await.unwrap(), "1\n");
        let deep = format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000));
        assert!(session.sql(&deep).await.is_err());
    });
}
