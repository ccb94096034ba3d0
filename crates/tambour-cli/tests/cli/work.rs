//! Work beside other processes: what runs and waits as `system.merges` and `system.mutations` show it, statements that are killed.

use crate::support::{Sandbox, until};
use std::process::Stdio;
use std::time::Duration;
use tambour::storage::disk;
use tambour::storage::lock::try_lock;
use tambour::storage::sign::WORK;
use tambour::table::alter::Altered;
use tambour::table::insert::InsertOptions;
use tambour::table::rewrite::Rewrite;
use tambour::table::schema::alter::Alteration;
use tambour::table::task::tasks;

fn answer(sandbox: &Sandbox, query: &str) -> String {
    sandbox.run(&["sql", "t", query, "--format", "tsv", "--no-header"]).expect(0).stdout
}

#[test]
fn mutations_that_wait_are_seen_from_another_process() {
    let sandbox = Sandbox::new();
    let path = sandbox.table();
    let waiting = "SELECT table, command, parts_to_do, is_done, process_id FROM system.mutations";
    assert_eq!(answer(&sandbox, waiting), "");
    let statements = [
        ("DELETE FROM t WHERE id < 10", "UPDATE _row_exists = 0 WHERE id < 10"),
        (
            "alter table t add column t UInt8, drop column score;",
            "add column t UInt8, drop column score",
        ),
    ];
    for (statement, command) in statements {
        let held = try_lock(disk().as_ref(), &path).unwrap();
        let mut child = sandbox
            .command(&["sql", "t", "--write", "--lock-wait", "600", statement])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let expected = format!("t\t{command}\t1\t0\t{}\n", child.id());
        until(|| answer(&sandbox, waiting) == expected);
        assert_eq!(answer(&sandbox, "SELECT count() FROM system.merges"), "0\n");
        drop(held);
        assert!(child.wait().unwrap().success());
        assert_eq!(answer(&sandbox, waiting), "");
    }
    assert_eq!(answer(&sandbox, "SELECT count(), sum(t) FROM t"), "990\t0\n");
    assert_eq!(
        answer(&sandbox, "SELECT rows, has_lightweight_delete FROM system.parts"),
        "1000\t1\n"
    );
}

#[test]
fn writers_that_have_waited_work_on_what_they_find() {
    let sandbox = Sandbox::new();
    let path = sandbox.table();
    let beside = |change: &dyn Fn(&mut Rewrite), statement: &str| {
        let options = InsertOptions::default();
        let mut rewrite = Rewrite::begin(&disk(), &path, "TEST", options).unwrap();
        let child = sandbox
            .command(&["sql", "t", "--write", "--lock-wait", "600", statement])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until(|| tasks(disk().as_ref(), &path).iter().any(|it| it.is_waiting));
        change(&mut rewrite);
        rewrite.commit().unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let altered = |text: &'static str| {
        move |rewrite: &mut Rewrite| {
            let statement = Alteration::parse(text).unwrap().unwrap();
            let altered = Altered::new(rewrite.definition(), &statement.commands).unwrap();
            rewrite.redefine(altered).unwrap();
        }
    };
    // An INSERT stores the DEFAULT of now, takes no column away, and follows what rows must be.
    let default = altered("ALTER TABLE t MODIFY COLUMN score DEFAULT 7, ADD COLUMN more UInt8");
    let (is_done, _) = beside(&default, "INSERT INTO t (id) VALUES (5000)");
    assert!(is_done);
    assert_eq!(answer(&sandbox, "SELECT id, score, more FROM t WHERE id > 999"), "5000\t7\t0\n");
    let constraint = altered("ALTER TABLE t ADD CONSTRAINT small CHECK id < 6000");
    let (is_done, told) = beside(&constraint, "INSERT INTO t (id) SELECT id + 1000 FROM t");
    assert!(!is_done && told.contains("small"), "{told}");
    // A condition looks at the table without the part that is gone.
    let last = |rewrite: &mut Rewrite| {
        let part = rewrite.table().part_names().last().unwrap().clone();
        rewrite.drop_part(&part).unwrap();
    };
    let statement = "ALTER TABLE t UPDATE name = 'last' WHERE id IN (SELECT max(id) FROM t), DELETE WHERE name = 'last' AND id < 500";
    let (is_done, _) = beside(&last, statement);
    assert!(is_done);
    let found = answer(&sandbox, "SELECT id, count() OVER () FROM t WHERE name = 'last'");
    assert_eq!(found, "999\t1\n");
}

#[test]
fn merges_and_mutations_of_others_are_listed() {
    let sandbox = Sandbox::new();
    let path = sandbox.table();
    let sign = disk().put_up(&path.join(WORK)).unwrap().unwrap();
    sign.say(
        r#"{"merge":{"partition":"all","sources":["all_1_1_0","all_2_2_0"],"result":"all_1_2_1",
            "bytes":300,"rows":40,"rows_written":10}}"#,
    );
    let merges = "SELECT table, progress, num_parts, source_part_names, result_part_name, partition_id, \
         is_mutation, total_size_bytes_compressed, rows_written FROM system.merges";
    assert_eq!(
        answer(&sandbox, merges),
        "t\t0.25\t2\t['all_1_1_0','all_2_2_0']\tall_1_2_1\tall\t0\t300\t10\n"
    );
    sign.say(
        r#"{"mutation":{"command":"DELETE WHERE 1","part":"all_1_1_0","parts_to_do":["all_2_2_0"],"number":7}}"#,
    );
    assert_eq!(
        answer(&sandbox, "SELECT result_part_name, is_mutation, elapsed >= 0 FROM system.merges"),
        "all_1_1_1\t1\t1\n"
    );
    // One that a server has left beside it.
    sandbox.file(
        "t/mutation_1.txt",
        "format version: 1\ncreate time: 2024-01-02 03:04:05\ncommands: UPDATE name = 'x' WHERE 1\n",
    );
    let mutations = "SELECT mutation_id, command, toString(create_time) LIKE '2024-01-02%', \
         parts_in_progress_names, parts_to_do_names, is_done FROM system.mutations ORDER BY mutation_id";
    assert_eq!(
        answer(&sandbox, mutations),
        "mutation_1.txt\tUPDATE name = \\'x\\' WHERE 1\t1\t[]\t[]\t1\n\
         mutation_7.txt\tDELETE WHERE 1\t0\t['all_1_1_0']\t['all_1_1_0','all_2_2_0']\t0\n"
    );
    drop(sign);
    assert_eq!(answer(&sandbox, "SELECT count() FROM system.merges"), "0\n");
}

/// Batches of 50 rows come, change and go as a whole, and so do columns.
const KILLED: [&str; 10] = [
    "INSERT INTO t (b, k, v) SELECT {b} AS b, number AS k, 0 AS v FROM numbers(50)",
    "INSERT INTO t (b, k, v) SELECT {b} + 1 AS b, number AS k, 0 AS v FROM numbers(50)",
    "ALTER TABLE t UPDATE v = v + 1 WHERE b % 2 = 0",
    "ALTER TABLE t UPDATE v = v + 1 WHERE b % 3 = 0, DELETE WHERE v = 3 AND b < {b}, UPDATE v = v + 1 WHERE v = 2",
    "DELETE FROM t WHERE b % 7 = {b} % 7 AND b < {b}",
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS c UInt64 DEFAULT b * 3",
    "OPTIMIZE TABLE t FINAL",
    "ALTER TABLE t DELETE WHERE b % 5 = {b} % 5 AND b < {b}",
    "ALTER TABLE t MODIFY COLUMN c String",
    "ALTER TABLE t DROP COLUMN IF EXISTS c",
];

#[test]
fn killed_statements_have_happened_or_have_not() {
    let rounds: u64 = std::env::var("TAMBOUR_KILLS").map_or(6, |text| text.parse().unwrap());
    let sandbox = Sandbox::new();
    let create = "CREATE TABLE t (b UInt64, k UInt64, v UInt64) ENGINE = MergeTree ORDER BY (b, k)";
    sandbox.file("none.csv", "b,k,v\n");
    sandbox.run(&["import", "none.csv", "--into", "t", "--create", create]).expect(0);
    let mut statements_done = 0;
    for round in 0..rounds {
        let script: Vec<String> = (0..2_000)
            .map(|at| {
                let batch = round * 10_000 + at / KILLED.len() as u64 * 2;
                let which = usize::try_from(at + round).unwrap() % KILLED.len();
                KILLED[which].replace("{b}", &batch.to_string())
            })
            .collect();
        let script = sandbox.file("script.sql", script.join(";\n"));
        let mut child = sandbox
            .command(&["sql", "t", "--write", "-f", script.to_str().unwrap(), "--ignore-error"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(300 + round * 7919 % 1_700));
        child.kill().unwrap();
        child.wait().unwrap();
        let torn = "SELECT count() FROM (SELECT b FROM t GROUP BY b \
             HAVING count() != 50 OR min(v) != max(v) OR uniqExact(k) != 50)";
        assert_eq!(answer(&sandbox, torn), "0\n", "round {round}");
        assert_eq!(answer(&sandbox, "SELECT count() FROM system.merges"), "0\n");
        assert_eq!(answer(&sandbox, "SELECT count() FROM system.mutations"), "0\n");
        let has_column = answer(&sandbox, "SELECT type FROM system.columns WHERE name = 'c'");
        if !has_column.is_empty() {
            let wrong = "SELECT count() FROM t WHERE toString(c) != toString(b * 3)";
            assert_eq!(answer(&sandbox, wrong), "0\n", "round {round}");
        }
        statements_done += answer(&sandbox, "SELECT max(max_block_number) FROM system.parts")
            .trim()
            .parse()
            .unwrap_or(0_u64);
        sandbox.run(&["verify", "t"]).expect(0);
    }
    assert!(statements_done > 0, "no statement was ever finished");
    // The next writer is not held up, and tidies up.
    sandbox.run(&["sql", "t", "--write", "OPTIMIZE TABLE t FINAL"]).expect(0);
    for entry in std::fs::read_dir(sandbox.path().join("t")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(!name.starts_with("tmp_") && !name.starts_with("delete_tmp_"), "{name}");
    }
}
