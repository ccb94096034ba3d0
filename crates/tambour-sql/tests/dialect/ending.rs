//! What comes of the rows of a statement at the end: rows that are made up, totals, and ClickHouse's way by settings; all
//! against what ClickHouse 26.9 answered (`ending.tsv`).

use crate::session::{answer, run, session, texts};
use arrow::array::RecordBatch;

#[test]
fn endings_are_those_of_clickhouse() {
    run(async {
        let session = session();
        let mut differences = Vec::new();
        for entry in include_str!("ending.tsv").trim_end().split("\n\n") {
            let (query, expected) = entry.split_once('\n').unwrap_or((entry, ""));
            let query = query.strip_prefix("> ").unwrap();
            let got = match answer(&session, query).await {
                Ok(got) => got.trim_end_matches('\n').to_owned(),
                Err(error) => format!("ERROR {error}"),
            };
            if got != expected {
                differences.push(format!("{query}\n  got      {got:?}\n  expected {expected:?}"));
            }
        }
        let (count, all) = (differences.len(), differences.join("\n"));
        assert!(differences.is_empty(), "{count} differences\n{all}");
    });
}

#[test]
fn filling_stops_at_the_limit() {
    run(async {
        let query =
            "SELECT number FROM numbers(3) ORDER BY number WITH FILL TO 1000000000000 LIMIT 5";
        assert_eq!(answer(&session(), query).await.unwrap(), "0\n1\n2\n3\n4\n");
    });
}

#[test]
fn switches_of_set_stay() {
    run(async {
        let session = session();
        let query = "SELECT sum(k) FROM t WHERE k > 100";
        assert_eq!(answer(&session, query).await.unwrap(), "\\N\n");
        session.sql("SET aggregate_functions_null_for_empty = 0").await.unwrap();
        assert_eq!(answer(&session, query).await.unwrap(), "0\n");
        let own = format!("{query} SETTINGS aggregate_functions_null_for_empty = 1");
        assert_eq!(answer(&session, &own).await.unwrap(), "\\N\n");
        assert_eq!(answer(&session, query).await.unwrap(), "0\n");
    });
}

#[test]
fn totals_come_after_the_rows() {
    run(async {
        let session = session();
        let cases = [
            (
                "SELECT k % 3 AS m, count() FROM t GROUP BY m WITH TOTALS ORDER BY m LIMIT 1",
                1,
                "0\t20",
            ),
            ("SELECT ls, k % 2, sum(k) FROM t GROUP BY 1, 2 WITH TOTALS", 6, "\t0\t190"),
            ("SELECT n, 'x', max(k) FROM t WHERE k < 3 GROUP BY n WITH TOTALS", 3, "\\N\tx\t2"),
            ("SELECT k % 3 AS m, m + 1 FROM t GROUP BY m WITH TOTALS", 3, "0\t1"),
        ];
        for (query, rows, totals) in cases {
            let mut execution = session.sql(query).await.unwrap().execute().await.unwrap();
            let got: usize =
                execution.collect().await.unwrap().iter().map(RecordBatch::num_rows).sum();
            let row = execution.totals().await.unwrap().unwrap();
            let schema = row.schema();
            let columns = schema.fields().iter().zip(row.columns());
            let row: Vec<String> =
                columns.map(|(field, values)| texts(field, values).concat()).collect();
            assert_eq!((got, row.join("\t").as_str()), (rows, totals), "{query}");
            assert!(execution.totals().await.unwrap().is_none());
        }
    });
}

#[test]
fn endings_that_cannot_be_are_refused() {
    run(async {
        let session = session();
        let cases = [
            (
                "SELECT k FROM (SELECT k FROM t ORDER BY k WITH FILL)",
                "it is for the outermost query",
            ),
            ("SELECT u8 FROM t ORDER BY k WITH FILL", "add it to the SELECT"),
            ("SELECT k FROM t ORDER BY k WITH FILL STEP 0", "it goes the way of the order"),
            ("SELECT k FROM t ORDER BY k DESC WITH FILL STEP 1", "it goes the way of the order"),
            ("SELECT k FROM t ORDER BY k WITH FILL FROM -1", "unsigned values"),
            ("SELECT k FROM t ORDER BY k WITH FILL STEP 0.5", "whole values take whole steps"),
            ("SELECT s FROM t ORDER BY s WITH FILL", "numbers, dates and times"),
            (
                "SELECT k, u8 FROM t ORDER BY k WITH FILL INTERPOLATE (u8 AS u8 + 1)",
                "keeps the value",
            ),
            ("SELECT k FROM t ORDER BY k WITH FILL LIMIT 1 BY k", "write one of them"),
            ("SELECT DISTINCT k FROM t GROUP BY k WITH TOTALS", "put the groups in a subquery"),
            ("SELECT * FROM (SELECT k FROM t GROUP BY k WITH TOTALS)", "for the outermost query"),
            ("SELECT * FROM t SAMPLE 1 / 10", "SAMPLE BY"),
            ("SELECT k FROM t SETTINGS nonsense = 1", "the setting nonsense"),
            (
                "SELECT 1 FROM (SELECT k FROM t SETTINGS join_use_nulls = 0)",
                "after the whole query",
            ),
        ];
        for (query, words) in cases {
            let error = session.sql(query).await.map(|_| ()).expect_err(query);
            let source = std::error::Error::source(&error).map(ToString::to_string);
            let text = format!("{error} {}", source.unwrap_or_default());
            assert!(text.contains(words), "{query}: {text}");
        }
    });
}

#[test]
fn functions_and_settings_are_tables() {
    run(async {
        let session = session();
        let query = "SELECT name, is_aggregate, case_insensitive FROM system.functions \
                     WHERE name IN ('cityHash64', 'quantileExact', 'lower') ORDER BY name";
        let expected = "cityHash64\t0\t0\nlower\t0\t1\nquantileExact\t1\t0\n";
        assert_eq!(answer(&session, query).await.unwrap(), expected);
        let query = "SHOW FUNCTIONS LIKE 'cityHash%'";
        assert_eq!(answer(&session, query).await.unwrap(), "cityHash64\t0\t0\n");
        let query =
            "SELECT name, value FROM system.settings WHERE name LIKE '%\\_nulls' ORDER BY name";
        let got = answer(&session, query).await.unwrap();
        assert_eq!(got, "group_by_use_nulls\t0\njoin_use_nulls\t1\n");
    });
}
