//! A process that is killed in the middle of its transactions.

use crate::support::{integrity, number, open};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PATH: &str = "TAMBOUR_SQLITE_KILL";
const JOURNAL: &str = "TAMBOUR_SQLITE_JOURNAL";
const READ: &str = "TAMBOUR_SQLITE_READ";

/// With it, the child stays inside a transaction that has changed every account.
const INSIDE: &str = "TAMBOUR_SQLITE_INSIDE";
const SPILL: &str = "UPDATE account SET balance = 0, note = hex(randomblob(20000));";

/// Moves money between accounts for ever, and tells each commit.
#[test]
#[ignore = "a process that the tests below start and kill"]
fn child() {
    let path =
        PathBuf::from(std::env::var_os(PATH).expect("the test that starts this one sets it"));
    let connection = open(&path);
    let journal = std::env::var(JOURNAL).unwrap();
    let query = format!("PRAGMA journal_mode = {journal}");
    let _: String = connection.query_row(&query, [], |row| row.get(0)).unwrap();
    connection.execute_batch("PRAGMA cache_size = 20").unwrap();
    let mut seed = u64::from(std::process::id());
    if std::env::var_os(INSIDE).is_some() {
        // More than the VFS keeps in memory: most of it is in the file, and the journal on the disk, when this tells.
        connection.execute_batch(&format!("BEGIN; {SPILL}")).unwrap();
        println!("inside");
        loop {
            std::thread::park();
        }
    }
    for round in number(&connection, "SELECT rounds FROM progress") + 1.. {
        let (from, to) =
            (crate::tpch::random(&mut seed) % 2000, crate::tpch::random(&mut seed) % 2000);
        connection
            .execute_batch(&format!(
                "BEGIN; UPDATE account SET balance = balance - 7 WHERE id % 50 = {from} % 50; \
                 UPDATE account SET balance = balance + 7 WHERE id % 50 = {to} % 50; \
                 UPDATE account SET note = hex(randomblob(40)) WHERE id = {from}; \
                 UPDATE progress SET rounds = {round}; COMMIT"
            ))
            .unwrap();
        println!("committed {round}");
    }
}

/// Says what another process finds.
#[test]
#[ignore = "a process that a test below starts"]
fn reader() {
    let path =
        PathBuf::from(std::env::var_os(READ).expect("the test that starts this one sets it"));
    let connection = open(&path);
    let sum = number(&connection, "SELECT sum(balance) FROM account");
    println!("found {} {sum}", integrity(&connection));
}

fn start(test: &str, variables: &[(&str, &std::ffi::OsStr)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn fill(path: &Path) {
    open(path)
        .execute_batch(
            "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, note TEXT); \
             CREATE TABLE progress (rounds INTEGER); INSERT INTO progress VALUES (0); \
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000) \
             INSERT INTO account SELECT x, 1000, hex(randomblob(40)) FROM n;",
        )
        .unwrap();
}

/// The journal of a killed writer is hot: whoever opens the database next, here a third process, rolls back.
#[test]
fn another_process_rolls_back_what_a_killed_one_had_begun() {
    for journal in ["delete", "truncate", "persist"] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        fill(&path);
        let variables =
            [(PATH, path.as_os_str()), (JOURNAL, journal.as_ref()), (INSIDE, "1".as_ref())];
        let mut writer = start("kill::child", &variables);
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines();
        let told = lines.map_while(Result::ok).any(|line| line.ends_with("inside"));
        assert!(told, "{journal}: the child ended too early");
        writer.kill().unwrap();
        writer.wait().unwrap();
        let hot = std::fs::metadata(directory.path().join("a.db-journal")).unwrap().len();
        assert!(hot > 4096, "{journal}: the journal has {hot} bytes");
        // The file has what was never committed, and SQLite, not the store, knows to undo it.
        let length = std::fs::metadata(&path).unwrap().len();
        assert!(length > 20_000_000, "{journal}: nothing was written before the end: {length}");
        let reader = start("kill::reader", &[(READ, path.as_os_str())]).wait_with_output().unwrap();
        let found = String::from_utf8_lossy(&reader.stdout).into_owned();
        assert!(found.contains("found ok 2000000"), "{journal}: {found}");
        assert_eq!(number(&open(&path), "SELECT sum(balance) FROM account"), 2000 * 1000);
    }
}

#[test]
fn a_killed_process_loses_nothing_that_was_committed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    fill(&path);
    for (round, journal) in
        ["delete", "truncate", "persist", "delete", "truncate"].iter().enumerate()
    {
        let variables = [(PATH, path.as_os_str()), (JOURNAL, journal.as_ref())];
        let mut child = start("kill::child", &variables);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut committed = 0;
        let wanted = 3 + round * 4;
        let mut seen = 0;
        for line in lines {
            let line = line.unwrap();
            // The harness writes its own words onto the first line.
            let Some((_, number)) = line.rsplit_once("committed ") else { continue };
            committed = number.trim().parse::<i64>().unwrap();
            seen += 1;
            if seen == wanted {
                // SIGKILL, wherever it is by now.
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(seen >= wanted, "the child ended too early");
        let connection = open(&path);
        assert_eq!(integrity(&connection), "ok");
        let rounds = number(&connection, "SELECT rounds FROM progress");
        assert!(rounds >= committed, "{committed} was told, {rounds} is there");
        assert_eq!(number(&connection, "SELECT sum(balance) FROM account"), 2000 * 1000);
    }
}
