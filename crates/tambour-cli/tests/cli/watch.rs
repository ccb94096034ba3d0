//! `optimize --watch`: merges beside other writers, and its end.

use crate::support::{Sandbox, until};
use std::process::{Child, Stdio};

fn terminate(child: &Child) {
    let kill = std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(kill.success());
}

fn parts(sandbox: &Sandbox, table: &str) -> u64 {
    let query = format!("SELECT count() FROM system.parts WHERE table = '{table}'");
    let run = sandbox.run(&["sql", table, &query, "--format", "tsv", "--no-header"]).expect(0);
    run.stdout.trim().parse().unwrap()
}

#[test]
fn parts_that_come_are_merged_until_it_is_told_to_stop() {
    let sandbox = Sandbox::new();
    sandbox.file("a.csv", "id,name\n1,a\n2,b\n");
    let append = |table: &str| {
        sandbox.run(&["import", "a.csv", "--into", table, "--append"]).expect(0);
    };
    for table in ["t", "u"] {
        sandbox.run(&["import", "a.csv", "--into", table, "--order-by", "id"]).expect(0);
    }
    let mut child = sandbox
        .command(&["optimize", "--watch", "t", "u", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..7 {
        // None of them is refused, though a merge may be going on.
        append("t");
        append("u");
    }
    until(|| parts(&sandbox, "t") < 8 && parts(&sandbox, "u") < 8);
    terminate(&child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let first: serde_json::Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
    assert_eq!((&first["schema"], &first["partition"]), (&"tambour/merge/1".into(), &"all".into()));
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "watching 2 tables\nstopped\n");
    for table in ["t", "u"] {
        let query = format!("SELECT count(), sum(id) FROM {table}");
        let run = sandbox.run(&["sql", table, &query, "--format", "tsv", "--no-header"]).expect(0);
        assert_eq!(run.stdout, "16\t24\n");
        sandbox.run(&["verify", table]).expect(0);
    }
}

#[test]
fn calls_that_make_no_sense_are_refused() {
    let sandbox = Sandbox::new();
    let call = |arguments: &[&str], code, text| {
        sandbox.run(&[&["optimize"], arguments].concat()).expect(code).says(&[text]);
    };
    call(&["t", "u"], 2, "several tables go with --watch only");
    call(&["--watch", "t", "--codec", "LZ4"], 2, "cannot be used with");
    call(&["--watch", "t"], 1, "it has no sidecar");
    call(&["t", "--merge-max", "1GiB"], 2, "--watch");
}
