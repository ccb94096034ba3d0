//! Work beside other processes: what runs and waits as `system.merges` and `system.mutations` show it.

use crate::support::{Sandbox, until};
use std::process::Stdio;
use tambour::storage::disk;
use tambour::storage::lock::try_lock;
use tambour::storage::sign::WORK;

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
