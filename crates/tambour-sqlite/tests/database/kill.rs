//! A process that is killed in the middle of its transactions.

use crate::support::{integrity, number, open};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

const PATH: &str = "TAMBOUR_SQLITE_KILL";
const JOURNAL: &str = "TAMBOUR_SQLITE_JOURNAL";

/// Moves money between accounts for ever, and tells each commit. Does nothing unless the other test starts it.
#[test]
fn child() {
    let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else { return };
    let connection = open(&path);
    let journal = std::env::var(JOURNAL).unwrap();
    let query = format!("PRAGMA journal_mode = {journal}");
    let _: String = connection.query_row(&query, [], |row| row.get(0)).unwrap();
    connection.execute_batch("PRAGMA cache_size = 20").unwrap();
    let mut seed = u64::from(std::process::id());
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

#[test]
fn a_killed_process_loses_nothing_that_was_committed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    open(&path)
        .execute_batch(
            "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, note TEXT); \
             CREATE TABLE progress (rounds INTEGER); INSERT INTO progress VALUES (0); \
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000) \
             INSERT INTO account SELECT x, 1000, hex(randomblob(40)) FROM n;",
        )
        .unwrap();
    for (round, journal) in
        ["delete", "truncate", "persist", "delete", "truncate"].iter().enumerate()
    {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::child", "--nocapture"])
            .env(PATH, &path)
            .env(JOURNAL, journal)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
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
