//! Several processes at one database: SQLite's locks, as a plain database has them.

use crate::kill::{JOURNAL, PATH, PLAIN, SYNCHRONOUS, fill, start};
use crate::support::{integrity, number, open};
use rusqlite::Connection;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const QUERY: &str = "TAMBOUR_SQLITE_QUERY";
const TIMEOUT: &str = "TAMBOUR_SQLITE_TIMEOUT";
const SUMS: &str = "TAMBOUR_SQLITE_SUMS";
/// How long the long test goes on, for each of the two databases.
const SECONDS: &str = "TAMBOUR_SQLITE_SECONDS";
/// After so long it is the other one's turn.
const TURN_SECONDS: u64 = 20;

/// Runs what it is told, and says what came of it. Does nothing unless a test starts it.
#[test]
#[ignore = "a child of the tests here"]
fn other() {
    let (Some(path), Ok(query)) = (std::env::var_os(PATH).map(PathBuf::from), std::env::var(QUERY))
    else {
        return;
    };
    let connection = open(&path);
    let timeout = std::env::var(TIMEOUT).ok().and_then(|it| it.parse().ok()).unwrap_or(0);
    connection.busy_timeout(Duration::from_millis(timeout)).unwrap();
    match connection.execute_batch(&query) {
        Ok(()) => println!("came: done"),
        Err(error) => println!("came: {error}"),
    }
}

/// Adds up all balances again and again. Does nothing unless a test starts it.
#[test]
#[ignore = "a child of the tests here"]
fn sums() {
    let Some(path) = std::env::var_os(SUMS).map(PathBuf::from) else { return };
    let connection = if std::env::var_os(PLAIN).is_some() {
        Connection::open(&path).unwrap()
    } else {
        open(&path)
    };
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    loop {
        println!("sum {}", number(&connection, "SELECT sum(balance) FROM account"));
    }
}

fn told(path: &Path, query: &str, timeout: u64) -> String {
    let timeout = timeout.to_string();
    let variables: [(&str, &OsStr); 3] =
        [(PATH, path.as_os_str()), (QUERY, query.as_ref()), (TIMEOUT, timeout.as_ref())];
    let output = start("processes::other", &variables).wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, answer) = text.split_once("came: ").unwrap_or_else(|| panic!("no answer: {text}"));
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn an_idle_connection_locks_nobody_out_and_sees_what_others_commit() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let idle = open(&path);
    idle.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(number(&idle, "SELECT count(*) FROM t"), 1);
    for wanted in 2..12 {
        assert_eq!(told(&path, "INSERT INTO t VALUES (2)", 0), "done");
        assert_eq!(number(&idle, "SELECT count(*) FROM t"), wanted);
    }
    assert_eq!(told(&path, "DELETE FROM t WHERE a = 2; VACUUM", 0), "done");
    idle.execute_batch("INSERT INTO t VALUES (3)").unwrap();
    assert_eq!(number(&idle, "SELECT sum(a) FROM t"), 4);
    assert_eq!(integrity(&idle), "ok");
}

#[test]
fn readers_read_beside_a_writer_until_it_commits() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let writer = open(&path);
    writer.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
    writer.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)").unwrap();
    assert_eq!(told(&path, "SELECT * FROM t", 0), "done");
    assert_eq!(told(&path, "INSERT INTO t VALUES (3)", 0), "database is locked");
    writer.execute_batch("COMMIT; BEGIN EXCLUSIVE").unwrap();
    assert_eq!(told(&path, "SELECT * FROM t", 0), "database is locked");
    writer.execute_batch("COMMIT; BEGIN").unwrap();
    assert_eq!(number(&writer, "SELECT count(*) FROM t"), 2);
    // A reader keeps a writer from committing, and not from beginning.
    assert_eq!(told(&path, "BEGIN IMMEDIATE; ROLLBACK", 0), "done");
    assert_eq!(told(&path, "INSERT INTO t VALUES (3)", 0), "database is locked");
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(told(&path, "INSERT INTO t VALUES (3)", 0), "done");
    assert_eq!(number(&writer, "SELECT count(*) FROM t"), 3);
}

#[test]
fn a_busy_timeout_waits_as_long_as_it_takes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let writer = open(&path);
    writer.execute_batch("CREATE TABLE t (a); BEGIN EXCLUSIVE").unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| told(&path, "INSERT INTO t VALUES (1)", 60_000));
        std::thread::sleep(Duration::from_millis(500));
        assert!(!waits.is_finished());
        writer.execute_batch("COMMIT").unwrap();
        assert_eq!(waits.join().unwrap(), "done");
    });
    assert_eq!(number(&writer, "SELECT count(*) FROM t"), 1);
}

/// Two writers and two readers for so long, or until there is a commit and a sum; how many they told.
fn work(path: &Path, time: Duration, plain: bool) -> (u64, u64) {
    let mut variables: Vec<(&str, &OsStr)> = vec![
        (PATH, path.as_os_str()),
        (JOURNAL, "truncate".as_ref()),
        (SYNCHRONOUS, "normal".as_ref()),
    ];
    let mut reader: Vec<(&str, &OsStr)> = vec![(SUMS, path.as_os_str())];
    if plain {
        variables.push((PLAIN, "1".as_ref()));
        reader.push((PLAIN, "1".as_ref()));
    }
    let mut children: Vec<_> = (0..2).map(|_| start("kill::child", &variables)).collect();
    children.extend((0..2).map(|_| start("processes::sums", &reader)));
    let (commits, sums) = (&AtomicU64::new(0), &AtomicU64::new(0));
    std::thread::scope(|scope| {
        for child in &mut children {
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            scope.spawn(move || {
                for line in lines.map_while(Result::ok) {
                    if line.contains("committed ") {
                        commits.fetch_add(1, Ordering::Relaxed);
                    } else if let Some((_, sum)) = line.rsplit_once("sum ") {
                        assert_eq!(sum, "2000000", "a sum of a state that never was");
                        sums.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        std::thread::sleep(time);
        // Processes begin late on a machine that is busy.
        for _ in 0..600 {
            if commits.load(Ordering::Relaxed) > 0 && sums.load(Ordering::Relaxed) > 0 {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    });
    (commits.load(Ordering::Relaxed), sums.load(Ordering::Relaxed))
}

#[test]
fn every_sum_of_every_reader_is_right_while_others_write() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    fill(&path);
    let (commits, sums) = work(&path, Duration::from_secs(3), false);
    assert!(commits > 0 && sums > 0, "{commits} commits, {sums} sums");
    let connection = open(&path);
    assert_eq!(integrity(&connection), "ok");
    assert_eq!(number(&connection, "SELECT sum(balance) FROM account"), 2_000_000);
}

#[test]
#[ignore = "minutes: cargo test --release -p tambour-sqlite --test database -- --ignored --nocapture sums_beside"]
fn sums_beside_a_plain_database() {
    let seconds = std::env::var(SECONDS).ok().and_then(|it| it.parse().ok()).unwrap_or(600);
    let directory = tempfile::tempdir().unwrap();
    let (ours, plain) = (directory.path().join("ours.db"), directory.path().join("plain.db"));
    fill(&ours);
    let exported = tambour_sqlite::export(&ours, &plain).unwrap();
    println!("{} bytes, plain {}", exported.source_bytes, exported.target_bytes);
    let mut told = [[0, 0]; 2];
    // By turns, as the machine may not be the same from one minute to the next.
    let mut left = seconds;
    while left > 0 {
        let turn = left.min(TURN_SECONDS);
        left -= turn;
        for (path, [commits, sums]) in [&plain, &ours].into_iter().zip(&mut told) {
            let (more_commits, more_sums) = work(path, Duration::from_secs(turn), path == &plain);
            *commits += more_commits;
            *sums += more_sums;
        }
    }
    let [plain, ours_told] = told;
    for (name, [commits, sums]) in [("plain", plain), ("ours", ours_told)] {
        println!("{name}: {commits} commits, {sums} sums in {seconds} s, none wrong");
    }
    let ratio = |index: usize| ours_told[index] as f64 / plain[index] as f64;
    println!("of plain: {:.2} of the commits, {:.2} of the sums", ratio(0), ratio(1));
    assert_eq!(integrity(&open(&ours)), "ok");
}
