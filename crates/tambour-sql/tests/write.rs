//! INSERT, UPDATE, DELETE, TRUNCATE and OPTIMIZE, against a list of rows that is changed in the same way.

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use tambour_sql::{Session, SessionOptions, SqlError};
    use tambour_storage::disk;
    use tambour_table::Table;
    use tambour_table::insert::{Existing, Insert, InsertOptions};
    use tambour_table::schema::TableDefinition;
    use tambour_table::verify::verify;

    const CREATE: &str = "CREATE TABLE t (k UInt32, v Nullable(Int64), s String, l LowCardinality(String), \
                      a Array(UInt16)) ENGINE = MergeTree ORDER BY k SETTINGS index_granularity = 8";

    /// A table without rows.
    fn empty_table(directory: &Path) -> PathBuf {
        let path = directory.join("t");
        let definition = TableDefinition::parse(CREATE).unwrap();
        let options = InsertOptions { existing: Existing::Refuse, ..InsertOptions::default() };
        let insert = Insert::begin(&disk(), &path, &definition, options).unwrap();
        insert.commit().unwrap();
        path
    }

    fn session(path: &Path, write: bool) -> Session {
        let session =
            Session::new(&SessionOptions { threads: 2, write, ..SessionOptions::default() })
                .unwrap();
        session.register(Arc::new(Table::open(path).unwrap())).unwrap();
        session
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(work)
    }

    async fn tell(session: &Session, statement: &str) -> Result<String, SqlError> {
        let query = session.sql(statement).await?;
        Ok(query.notes().join("; "))
    }

    /// The results of a query as text, a row after the other.
    async fn text(session: &Session, query: &str) -> Vec<String> {
        let batches = session.sql(query).await.unwrap().execute().await.unwrap().collect().await;
        let batches = batches.unwrap();
        let mut rows = Vec::new();
        for batch in &batches {
            let schema = batch.schema();
            let options = arrow::util::display::FormatOptions::default().with_null("NULL");
            let columns: Vec<_> = batch
                .columns()
                .iter()
                .map(|column| {
                    arrow::util::display::ArrayFormatter::try_new(column.as_ref(), &options)
                        .unwrap()
                })
                .collect();
            assert_eq!(columns.len(), schema.fields().len());
            for row in 0..batch.num_rows() {
                let cells: Vec<String> =
                    columns.iter().map(|column| column.value(row).to_string()).collect();
                rows.push(cells.join("|"));
            }
        }
        rows
    }

    #[test]
    fn rows_come_change_and_go() {
        let place = tempfile::tempdir().unwrap();
        let path = empty_table(place.path());
        run(async {
            let session = session(&path, true);
            let told = tell(
                &session,
                "INSERT INTO t VALUES (2, 5, 'b', 'x', [1, 2]), (1, NULL, 'a', 'y', [])",
            );
            assert_eq!(told.await.unwrap(), "2 rows inserted");
            let told = tell(
                &session,
                "INSERT INTO t (k, s, v, l, a) SELECT k + 10, upper(s), NULL, '', [] FROM t",
            );
            assert_eq!(told.await.unwrap(), "2 rows inserted");
            let all = "SELECT * FROM t ORDER BY k";
            assert_eq!(
                text(&session, all).await,
                ["1|NULL|a|y|[]", "2|5|b|x|[1, 2]", "11|NULL|A||[]", "12|NULL|B||[]"]
            );
            let told = tell(
                &session,
                "UPDATE t SET v = k * 2, s = concat(s, '!') WHERE k IN (SELECT max(k) FROM t) OR l = 'x'",
            );
            assert_eq!(told.await.unwrap(), "2 rows updated in 2 parts");
            assert_eq!(
                text(&session, all).await,
                ["1|NULL|a|y|[]", "2|4|b!|x|[1, 2]", "11|NULL|A||[]", "12|24|B!||[]"]
            );
            let told = tell(&session, "ALTER TABLE t DELETE WHERE v > 20");
            assert_eq!(told.await.unwrap(), "1 row deleted in 1 part");
            let told = tell(&session, "DELETE FROM default.t WHERE t.k = 11");
            assert_eq!(told.await.unwrap(), "1 row deleted in 1 part");
            let told = tell(&session, "ALTER TABLE t UPDATE l = 'z' WHERE l = 'y'");
            assert_eq!(told.await.unwrap(), "1 row updated in 1 part");
            assert_eq!(text(&session, all).await, ["1|NULL|a|z|[]", "2|4|b!|x|[1, 2]"]);
            assert_eq!(
                tell(&session, "DELETE FROM t WHERE 0").await.unwrap(),
                "0 rows deleted in 0 parts"
            );
            tell(&session, "INSERT INTO t (k) VALUES (3)").await.unwrap();
            let told = tell(&session, "OPTIMIZE TABLE t FINAL").await.unwrap();
            assert_eq!(told, "1 part in the place of 2 parts");
            assert_eq!(tell(&session, "TRUNCATE TABLE t").await.unwrap(), "3 rows removed, 1 part");
            assert!(text(&session, all).await.is_empty());
        });
        assert!(Table::open(&path).unwrap().parts().is_empty());
    }

    #[test]
    fn what_does_not_fit_changes_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = empty_table(place.path());
        run(async {
            let session = session(&path, true);
            tell(&session, "INSERT INTO t VALUES (1, 1, 'a', 'x', [1])").await.unwrap();
            for (statement, said) in [
                ("INSERT INTO t VALUES (2, 1, '', '', []), (-1, 1, '', '', [])", "-1"),
                (
                    "INSERT INTO t SELECT NULL, 1, '', '', [] SETTINGS insert_null_as_default = 0",
                    "NULL",
                ),
                ("INSERT INTO t VALUES (2, 1, '', '', [70000])", "70000"),
                ("INSERT INTO t (k) VALUES (2, 3)", "2 values into 1 columns"),
                ("INSERT INTO t (k, nope) VALUES (2, 3)", "\"nope\""),
                ("INSERT INTO nope VALUES (2)", "there is no table \"nope\""),
                ("INSERT INTO t FORMAT CSV", "standard input"),
                ("INSERT INTO t FORMAT Xls", "these are read"),
                ("UPDATE t SET k = 7 WHERE 1", "key column \"k\""),
                ("UPDATE t SET s = 'b'", "WHERE"),
                ("UPDATE t SET nope = 1 WHERE 1", "\"nope\""),
                ("UPDATE t SET s = NULL WHERE 1", "NULL"),
                ("DELETE FROM t", "WHERE"),
                ("DELETE FROM t WHERE nope = 1", "nope"),
                ("DELETE FROM system.parts WHERE 1", "system.parts"),
            ] {
                let error = tell(&session, statement).await.unwrap_err();
                let chain: Vec<String> =
                    std::iter::successors(Some(&error as &dyn std::error::Error), |it| it.source())
                        .map(ToString::to_string)
                        .collect();
                assert!(chain.join(": ").contains(said), "{statement}: {chain:?}");
                assert_eq!(text(&session, "SELECT * FROM t").await, ["1|1|a|x|[1]"], "{statement}");
            }
        });
        let reading = session(&path, false);
        for statement in
            ["DELETE FROM t WHERE 1", "TRUNCATE TABLE t", "INSERT INTO t (k) VALUES (1)"]
        {
            let error = run(tell(&reading, statement)).unwrap_err();
            assert!(error.to_string().contains("give --write"), "{error}");
        }
    }

    #[test]
    fn columns_come_change_and_go() {
        let place = tempfile::tempdir().unwrap();
        let path = empty_table(place.path());
        run(async {
            let session = session(&path, true);
            tell(&session, "INSERT INTO t VALUES (1, 300, '7', 'x', [1]), (2, NULL, '8', 'y', [])")
                .await
                .unwrap();
            let query = "SELECT * FROM t ORDER BY k";
            for (statement, told, rows) in [
                (
                    "ALTER TABLE t ADD COLUMN w UInt64 DEFAULT k * 10 AFTER k, DROP COLUMN a",
                    "table t altered, 2 rows in 1 part changed",
                    ["1|10|300|7|x", "2|20|NULL|8|y"],
                ),
                (
                    "ALTER TABLE t ADD COLUMN z Enum8('p' = 1, 'q' = 2) DEFAULT 'q'",
                    "table t altered",
                    ["1|10|300|7|x|q", "2|20|NULL|8|y|q"],
                ),
                (
                    "ALTER TABLE t MODIFY COLUMN v UInt8 DEFAULT 4, MODIFY COLUMN s Int32 FIRST",
                    "table t altered, 2 rows in 1 part changed",
                    ["7|1|10|44|x|q", "8|2|20|4|y|q"],
                ),
                (
                    "ALTER TABLE default.t RENAME COLUMN w TO u, COMMENT COLUMN u 'ten times'",
                    "table t altered",
                    ["7|1|10|44|x|q", "8|2|20|4|y|q"],
                ),
                (
                    "/* wider */ ALTER TABLE t MODIFY COLUMN s Int64",
                    "table t altered",
                    ["7|1|10|44|x|q", "8|2|20|4|y|q"],
                ),
            ] {
                assert_eq!(tell(&session, statement).await.unwrap(), told, "{statement}");
                assert_eq!(text(&session, query).await, rows, "{statement}");
            }
            tell(&session, "ALTER TABLE t MODIFY COLUMN s String, ADD COLUMN c String DEFAULT 'm'")
                .await
                .unwrap();
            tell(&session, "INSERT INTO t (k, s) VALUES (3, 'nine')").await.unwrap();
            let before = text(&session, query).await;
            for (statement, said) in [
                ("ALTER TABLE t MODIFY COLUMN s Int64, DROP COLUMN c", "nine"),
                ("ALTER TABLE t DROP COLUMN k", "ORDER BY"),
                ("ALTER TABLE t MODIFY COLUMN k String", "key"),
                ("ALTER TABLE t FREEZE", "FREEZE"),
                ("ALTER TABLE nope DROP COLUMN k", "there is no table \"nope\""),
                ("ALTER TABLE system.parts DROP COLUMN k", "default"),
            ] {
                let error = tell(&session, statement).await.unwrap_err();
                let chain: Vec<String> =
                    std::iter::successors(Some(&error as &dyn std::error::Error), |it| it.source())
                        .map(ToString::to_string)
                        .collect();
                assert!(chain.join(": ").contains(said), "{statement}: {chain:?}");
                assert_eq!(text(&session, query).await, before, "{statement}");
            }
        });
        let reading = session(&path, false);
        let error = run(tell(&reading, "ALTER TABLE t DROP COLUMN s")).unwrap_err();
        assert!(error.to_string().contains("give --write"), "{error}");
        let report = verify(&disk(), &path, &mut |_| {}).unwrap();
        assert!(report.damage.is_empty(), "{report:?}");
    }

    #[test]
    fn a_file_is_inserted_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let path = empty_table(place.path());
        let file = place.path().join("data");
        let options = SessionOptions {
            threads: 2,
            write: true,
            input: Some(file.clone()),
            ..SessionOptions::default()
        };
        let session = Session::new(&options).unwrap();
        session.register(Arc::new(Table::open(&path).unwrap())).unwrap();
        run(async {
            for (data, statement, told) in [
                ("1,2,a,x,\"[1,2]\"\n2,\\N,b,y,[]\n", "INSERT INTO t FORMAT CSV", 2),
                ("k,s\n3,c\n", "INSERT INTO t (k, s) FORMAT CSVWithNames", 1),
                ("s\tk\nd\t4\n", "INSERT INTO t (k, s) FORMAT TSVWithNames", 1),
                ("5\t7\te\tz\t[]\n", "INSERT INTO t FORMAT TabSeparated", 1),
                ("{\"k\": 6, \"l\": \"w\"}\n", "INSERT INTO t (k, l) FORMAT JSONEachRow", 1),
            ] {
                std::fs::write(&file, data).unwrap();
                let got = tell(&session, statement).await.unwrap();
                assert!(got.starts_with(&format!("{told} row")), "{statement}: {got}");
            }
            let rows = text(&session, "SELECT * FROM t ORDER BY k").await;
            assert_eq!(
                rows,
                [
                    "1|2|a|x|[1, 2]",
                    "2|NULL|b|y|[]",
                    "3|NULL|c||[]",
                    "4|NULL|d||[]",
                    "5|7|e|z|[]",
                    "6|NULL||w|[]"
                ]
            );
            let mut lines: Vec<String> = (0..100_000).map(|row| format!("{row},{row}\n")).collect();
            for bad in ["x,1\n", "1\n", "-1,1\n", "1,2,3\n"] {
                let mut lines = lines.clone();
                bad.clone_into(&mut lines[99_000]);
                std::fs::write(&file, lines.concat()).unwrap();
                let error = tell(&session, "INSERT INTO t (k, v) FORMAT CSV").await;
                assert!(error.is_err(), "{bad}");
                assert_eq!(text(&session, "SELECT * FROM t ORDER BY k").await, rows, "{bad}");
            }
            lines[7].truncate(2);
            lines[7].push('\n');
            std::fs::write(&file, lines.concat()).unwrap();
            tell(&session, "ALTER TABLE t MODIFY COLUMN v DEFAULT 5").await.unwrap();
            let error = tell(&session, "INSERT INTO t (k, v) FORMAT CSV").await.unwrap_err();
            assert!(error.to_string().contains("row 8: the value of `v`"), "{error}");
        });
        let report = verify(&disk(), &path, &mut |_| {}).unwrap();
        assert!(report.damage.is_empty(), "{report:?}");
    }

    #[test]
    fn parts_and_partitions_go() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("t");
        let definition = TableDefinition::parse(
            "CREATE TABLE t (k UInt32, s String, d Date) ENGINE = MergeTree \
             PARTITION BY (s, toYYYYMM(d)) ORDER BY k",
        );
        let insert =
            Insert::begin(&disk(), &path, &definition.unwrap(), InsertOptions::default()).unwrap();
        insert.commit().unwrap();
        run(async {
            let session = session(&path, true);
            let rows = "INSERT INTO t VALUES (1, 'a', '2024-01-02'), (2, 'it''s', '2024-01-02'), \
                        (3, 'a\\\\', '2024-02-02'), (4, 'c', '2024-02-02'), (5, 'd', '2024-02-02')";
            tell(&session, rows).await.unwrap();
            let of = "FROM system.parts WHERE partition LIKE";
            let names = format!("SELECT name {of} '%202401)' AND partition NOT LIKE '%it%'");
            let names = text(&session, &names).await;
            let id = text(&session, &format!("SELECT partition_id {of} '%c%'")).await.concat();
            for (what, told, left) in [
                ("PARTITION ('a', 202402)".to_owned(), "0 rows removed, 0 parts", "12345"),
                ("PARTITION ('it\\'s', 202401)".to_owned(), "1 row removed, 1 part", "1345"),
                ("PARTITION ('a\\\\', 202402)".to_owned(), "1 row removed, 1 part", "145"),
                (format!("PARTITION ID '{id}'"), "1 row removed, 1 part", "15"),
                (format!("PART '{}'", names[0]), "1 row removed, 1 part", "5"),
                ("PARTITION ALL".to_owned(), "1 row removed, 1 part", ""),
            ] {
                let statement = format!("ALTER TABLE t DROP {what}");
                assert_eq!(tell(&session, &statement).await.unwrap(), told, "{statement}");
                let keys = text(&session, "SELECT k FROM t ORDER BY k").await.concat();
                assert_eq!(keys, left, "{statement}");
            }
            for statement in [
                "ALTER TABLE t DROP PART 'nope'".to_owned(),
                "ALTER TABLE t DROP PARTITION 'a'".to_owned(),
                "ALTER TABLE t DROP PARTITION ALL, DROP COLUMN k".to_owned(),
                format!("ALTER TABLE t DROP PART '{}'", names[0]),
            ] {
                assert!(tell(&session, &statement).await.is_err(), "{statement}");
            }
        });
    }

    #[test]
    fn partitions_go_between_tables() {
        let place = tempfile::tempdir().unwrap();
        run(async {
            let database = Some(place.path().to_owned());
            let options =
                SessionOptions { threads: 2, write: true, database, ..Default::default() };
            let session = Session::new(&options).unwrap();
            let columns = "(k UInt32, p UInt8) PARTITION BY p ORDER BY k";
            for statement in [
                format!("CREATE TABLE t {columns}"),
                format!("CREATE TABLE u {columns}"),
                "CREATE TABLE v (k UInt32, p UInt8) ORDER BY k".to_owned(),
                "CREATE TABLE w (k UInt32, p UInt16) PARTITION BY p ORDER BY k".to_owned(),
                "INSERT INTO t VALUES (1, 1), (2, 1), (3, 2)".to_owned(),
                "INSERT INTO u VALUES (4, 1), (5, 3)".to_owned(),
            ] {
                tell(&session, &statement).await.unwrap();
            }
            for (statement, told, of_t, of_u) in [
                ("t DETACH PARTITION 1", "2 rows detached, 1 part", "3", "45"),
                ("t ATTACH PARTITION 2", "0 rows attached, 0 parts", "3", "45"),
                ("t ATTACH PARTITION 1", "2 rows attached, 1 part", "123", "45"),
                ("t ATTACH PARTITION 1 FROM u", "1 row attached, 1 part", "1234", "45"),
                ("t MOVE PARTITION 1 TO TABLE u", "3 rows moved, 2 parts", "3", "12445"),
                ("t DROP PARTITION 2", "1 row removed, 1 part", "", "12445"),
                ("t REPLACE PARTITION 3 FROM u", "1 row replaced, 1 part", "5", "12445"),
                (
                    "u DETACH PARTITION 1, DETACH PARTITION ID '3'",
                    "5 rows detached, 4 parts",
                    "5",
                    "",
                ),
                ("u DROP DETACHED PARTITION ID '3'", "1 part removed from detached/", "5", ""),
                ("u ATTACH PARTITION ALL", "4 rows attached, 3 parts", "5", "1244"),
            ] {
                let statement = format!("ALTER TABLE {statement}");
                assert_eq!(tell(&session, &statement).await.unwrap(), told, "{statement}");
                let t = text(&session, "SELECT k FROM t ORDER BY k").await.concat();
                let u = text(&session, "SELECT k FROM u ORDER BY k").await.concat();
                assert_eq!((t.as_str(), u.as_str()), (of_t, of_u), "{statement}");
            }
            for statement in [
                "t ATTACH PARTITION 1 FROM v",
                "t ATTACH PARTITION 1 FROM w",
                "t ATTACH PARTITION 1 FROM nothing",
                "t REPLACE PARTITION 2 FROM u",
                "t ATTACH PARTITION 1 FROM t",
                "t MOVE PARTITION 1 TO TABLE t",
                "t ATTACH PART '1_9_9_0'",
                "t DROP DETACHED PART '1_9_9_0'",
                "t MOVE PARTITION 1 TO TABLE u, DROP PARTITION 1",
            ] {
                let statement = format!("ALTER TABLE {statement}");
                assert!(tell(&session, &statement).await.is_err(), "{statement}");
            }
            tell(&session, "ALTER TABLE u DETACH PARTITION 1").await.unwrap();
            let waiting = "SELECT table, partition_id, level, reason FROM system.detached_parts";
            assert_eq!(text(&session, waiting).await, ["u|1|0|"; 3]);
        });
        for table in ["t", "u"] {
            let report = verify(&disk(), &place.path().join(table), &mut |_| {}).unwrap();
            assert!(report.damage.is_empty(), "{report:?}");
        }
    }

    /// A change, as SQL and as what it does to a row.
    #[derive(Clone, Debug)]
    enum Step {
        Insert(Vec<(u32, Option<i64>)>),
        /// Rows whose key leaves this remainder by 7.
        Delete(u32),
        Update(u32, i64),
        Optimize,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => prop::collection::vec((0..40_u32, prop::option::of(-9..9_i64)), 1..40)
                .prop_map(Step::Insert),
            2 => (0..7_u32).prop_map(Step::Delete),
            2 => (0..7_u32, -100..100_i64).prop_map(|(rest, value)| Step::Update(rest, value)),
            1 => Just(Step::Optimize),
        ]
    }

    #[test]
    fn final_reads_what_a_merge_would_leave() {
        let place = tempfile::tempdir().unwrap();
        let database = Some(place.path().to_owned());
        let options =
            SessionOptions { threads: 2, write: true, database, ..SessionOptions::default() };
        let session = Session::new(&options).unwrap();
        run(async {
            for statement in [
                "CREATE TABLE r (k UInt32, v UInt8, s String) ENGINE = ReplacingMergeTree(v) ORDER BY k",
                "INSERT INTO r VALUES (1, 1, 'a'), (2, 1, 'b'), (2, 1, 'c')",
                "INSERT INTO r VALUES (1, 2, 'd'), (2, 0, 'e'), (3, 7, 'f')",
            ] {
                tell(&session, statement).await.unwrap();
            }
            let all = ["1|1|a", "1|2|d", "2|0|e", "2|1|c", "3|7|f"];
            let merged = ["1|2|d", "2|1|c", "3|7|f"];
            assert_eq!(text(&session, "SELECT * FROM r ORDER BY ALL").await, all);
            assert_eq!(text(&session, "SELECT * FROM r AS x FINAL ORDER BY x.k").await, merged);
            for (query, expected) in [
                ("SELECT count(), min(v), max(v) FROM r", "5|0|7"),
                ("SELECT count(), min(v), max(v) FROM r FINAL", "3|1|7"),
                ("SELECT count() FROM r FINAL WHERE v = 0", "0"),
                ("SELECT s FROM r FINAL WHERE k = 2", "c"),
                ("SELECT count() FROM (SELECT * FROM r) SETTINGS final = 1", "3"),
                ("WITH x AS (SELECT * FROM r FINAL) SELECT count() FROM x, r", "15"),
            ] {
                assert_eq!(text(&session, query).await, [expected], "{query}");
            }
            let plan = text(&session, "EXPLAIN SELECT count() FROM r FINAL WHERE k = 2").await;
            for line in ["Read r", "2 of 2 parts", "rows of one key are merged"] {
                assert!(plan.iter().any(|it| it.contains(line)), "{plan:?}");
            }
            tell(&session, "SET final = 1").await.unwrap();
            assert_eq!(text(&session, "SELECT * FROM r ORDER BY k").await, merged);
            tell(&session, "SET final = 0").await.unwrap();
            for (statement, says) in [
                ("SELECT * FROM r FINAL PREWHERE k = 1", "PREWHERE"),
                ("SELECT * FROM r PREWHERE k = 1 SETTINGS final = 1", "PREWHERE"),
                ("SELECT * FROM x FINAL", "x FINAL"),
                ("WITH r AS (SELECT 1) SELECT * FROM r FINAL", "FINAL"),
                ("UPDATE r SET v = 2 WHERE k = 1", "key column"),
                ("DELETE FROM r FINAL WHERE k = 1", "DELETE"),
            ] {
                let error = match session.sql(statement).await {
                    Err(error) => format!("{error:?} {error}"),
                    Ok(query) => format!("{:?}", query.notes()),
                };
                assert!(error.contains(says), "{statement}: {error}");
            }
            tell(&session, "OPTIMIZE TABLE r FINAL").await.unwrap();
            assert_eq!(text(&session, "SELECT * FROM r ORDER BY k").await, merged);
        });
        let report = verify(&disk(), &place.path().join("r"), &mut |_| {}).unwrap();
        assert!(report.damage.is_empty(), "{report:?}");
    }

    #[test]
    fn a_directory_of_tables_is_a_database() {
        let place = tempfile::tempdir().unwrap();
        let open = |write| {
            let database = Some(place.path().to_owned());
            let options = SessionOptions { threads: 2, write, database, ..Default::default() };
            let session = Session::new(&options).unwrap();
            session.register_database().unwrap();
            session
        };
        run(async {
            let session = open(true);
            for (statement, told) in [
                ("CREATE TABLE a (k UInt32, s String DEFAULT 'x') ORDER BY k", "table a created"),
                ("CREATE TABLE IF NOT EXISTS a (z UInt8) ORDER BY z", "table a is there already"),
                ("INSERT INTO a (k) VALUES (2), (1)", "2 rows inserted"),
                (
                    "/* a copy */ CREATE TABLE b ENGINE = MergeTree ORDER BY k AS SELECT k, s FROM a WHERE k > 1",
                    "table b created, 1 row inserted",
                ),
                ("RENAME TABLE a TO c", "table a is c now"),
                ("DROP TABLE b", "table b removed, with 1 row"),
                ("DROP TABLE IF EXISTS b", "there is no table b"),
            ] {
                assert_eq!(tell(&session, statement).await.unwrap(), told, "{statement}");
            }
            assert_eq!(text(&session, "SELECT k, s FROM c ORDER BY k").await, ["1|x", "2|x"]);
            for (statement, says) in [
                ("CREATE TABLE c (k UInt8) ORDER BY k", "\"c\""),
                ("CREATE TABLE `../d` (k UInt8) ORDER BY k", "../d"),
                ("CREATE TABLE e AS SELECT throwIf(k = 2) AS z FROM c", ""),
                (
                    "CREATE TABLE f (k UInt8) ENGINE = GraphiteMergeTree('r') ORDER BY k",
                    "GraphiteMergeTree",
                ),
                ("DROP TABLE b", "no table \"b\""),
                ("RENAME TABLE c TO `.c`", ".c"),
            ] {
                let error = tell(&session, statement).await.unwrap_err();
                assert!(format!("{error} {error:?}").contains(says), "{statement}: {error:?}");
            }
            // Another session sees what is on disk: one table, with its new name in its statement.
            let reading = open(false);
            assert_eq!(reading.tables().len(), 1);
            let definition = reading.tables()[0].1.definition().unwrap().to_string();
            assert!(definition.starts_with("CREATE TABLE c\n"), "{definition}");
            assert_eq!(text(&reading, "SELECT count() FROM c").await, ["2"]);
            assert!(tell(&reading, "DROP TABLE c").await.is_err());
        });
        let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

        #[test]
        fn a_table_is_the_list_of_its_rows(steps in prop::collection::vec(step(), 1..12)) {
            let place = tempfile::tempdir().unwrap();
            let path = empty_table(place.path());
            let mut rows: Vec<(u32, Option<i64>)> = Vec::new();
            run(async {
                let session = session(&path, true);
                for step in &steps {
                    let statement = match step {
                        Step::Insert(new) => {
                            rows.extend(new);
                            let value = |(k, v): &(u32, Option<i64>)| {
                                format!("({k}, {}, 's', 'l', [1])", v.map_or("NULL".to_owned(), |v| v.to_string()))
                            };
                            let values: Vec<String> = new.iter().map(value).collect();
                            format!("INSERT INTO t VALUES {}", values.join(", "))
                        }
                        Step::Delete(rest) => {
                            rows.retain(|(k, _)| k % 7 != *rest);
                            let form = if *rest < 3 { "ALTER TABLE t DELETE" } else { "DELETE FROM t" };
                            format!("{form} WHERE k % 7 = {rest}")
                        }
                        Step::Update(rest, value) => {
                            for (k, v) in &mut rows {
                                if *k % 7 == *rest {
                                    *v = v.map(|v| v + value);
                                }
                            }
                            format!("UPDATE t SET v = v + {value} WHERE k % 7 = {rest}")
                        }
                        Step::Optimize => "OPTIMIZE TABLE t".to_owned(),
                    };
                    tell(&session, &statement).await.unwrap();
                }
                let mut expected: Vec<String> = rows
                    .iter()
                    .map(|(k, v)| format!("{k}|{}", v.map_or("NULL".to_owned(), |v| v.to_string())))
                    .collect();
                let mut got = text(&session, "SELECT k, v FROM t").await;
                expected.sort();
                got.sort();
                assert_eq!(got, expected, "{steps:?}");
            });
            let report = verify(&disk(), &path, &mut |_| {}).unwrap();
            prop_assert!(report.damage.is_empty(), "{report:?}");
            // Those that a mask hides are stored still.
            prop_assert!(report.rows >= rows.len() as u64);
        }
    }
}
