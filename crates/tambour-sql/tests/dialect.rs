//! Queries in ClickHouse's dialect against what ClickHouse 26.9 answered over the same twenty rows (`queries.tsv`: a query
//! after `> `, its answer as TSV, an empty line).

#[cfg(test)]
#[path = "dialect/columns.rs"]
mod columns;
#[cfg(test)]
#[path = "dialect/ending.rs"]
mod ending;
#[cfg(test)]
#[path = "dialect/results.rs"]
mod results;
#[cfg(test)]
#[path = "dialect/session.rs"]
mod session;
#[cfg(test)]
#[path = "dialect/whole.rs"]
mod whole;

#[cfg(test)]
mod tests {
    use crate::session::{DIFFERENT, answer, run, session};
    use tambour_codec::Kind;
    use tambour_dialect::DialectError;
    use tambour_sql::SqlError;

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
                    "SELECT * FROM (SELECT 1) FINAL",
                    "FINAL is not supported: it stands after a table: only tables have parts to merge",
                ),
                (
                    "SELECT DISTINCT k FROM t LIMIT 1 BY ls",
                    "LIMIT ... BY with DISTINCT is not supported: put SELECT DISTINCT in a subquery",
                ),
                (
                    "SELECT histogram(3)(k) FROM t",
                    "the parametric function histogram is not supported: those here are quantile, quantiles and their like",
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
                    "SELECT arrayJoin(a), arrayJoin(t.a) FROM t",
                    "arrayJoin of several arrays is not supported: write one in a subquery, or ARRAY JOIN a, b for elements side by side",
                ),
                (
                    "SELECT k FROM t SETTINGS transform_null_in = 1",
                    "the setting transform_null_in = 1 is not supported: it would change the result, which is that of transform_null_in = 0 here",
                ),
                (
                    "SELECT [toIntervalDay(3)]",
                    "the interval \"[toIntervalDay(3)]\" as a result is not supported: add it to a date or time",
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
                assert!(
                    matches!(error, SqlError::Statement(DialectError::Refused { .. })),
                    "{statement}: {error:?}"
                );
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
            let described = columns.replace('\n', "\t\t\t\t\t\n");
            for statement in [
                "DESCRIBE t",
                "desc t",
                "DESCRIBE TABLE default.t",
                "DESCRIBE (SELECT * FROM t)",
                "DESCRIBE SELECT * FROM t",
                "DESC TABLE t SETTINGS max_threads = 1 FORMAT TSV",
            ] {
                assert_eq!(answer(&session, statement).await.unwrap(), described, "{statement}");
            }
            let computed = "DESCRIBE (SELECT k + 1 AS x, n, n, toString(k) FROM t)";
            assert_eq!(
                answer(&session, computed).await.unwrap().replace("\t\t\t\t\t", ""),
                "x\tUInt64\nn\tNullable(Int64)\nn\tNullable(Int64)\ntoString(k)\tString\n"
            );
            let fields = answer(&session, "SHOW COLUMNS FROM t LIKE 'n%' LIMIT 1").await.unwrap();
            assert_eq!(fields, "n\tNullable(Int64)\tYES\t\t\\N\t\n");
            let databases = answer(&session, "SHOW DATABASES").await.unwrap();
            assert_eq!(databases, "default\nsystem\n");
            let tables = answer(&session, "SHOW TABLES FROM system").await.unwrap();
            assert_eq!(
                tables,
                "codecs\ncolumns\ndata_skipping_indices\ndatabases\ndetached_parts\nfunctions\nmerges\nmutations\nnumbers\nnumbers_mt\none\nparts\n\
                 parts_columns\nprojection_parts\nprojections\nsettings\ntables\nzeros\nzeros_mt\n"
            );
            assert!(session.sql("DESCRIBE SHOW TABLES").await.is_err());
            for statement in ["DESCRIBE x", "SHOW CREATE TABLE x", "SHOW COLUMNS FROM x"] {
                let error = session.sql(statement).await.unwrap_err();
                assert_eq!(error.kind(), Kind::NotFound, "{statement}: {error:?}");
            }
        });
    }
}
