//! A process that is killed in the middle of its transactions.

use crate::support::{integrity, number, open};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(crate) const PATH: &str = "TAMBOUR_SQLITE_KILL";
pub(crate) const JOURNAL: &str = "TAMBOUR_SQLITE_JOURNAL";
pub(crate) const SYNCHRONOUS: &str = "TAMBOUR_SQLITE_SYNCHRONOUS";
const LOCKING: &str = "TAMBOUR_SQLITE_LOCKING";
const CHECKPOINT: &str = "TAMBOUR_SQLITE_CHECKPOINT";
const READ: &str = "TAMBOUR_SQLITE_READ";
/// With it, the child writes a plain database.
pub(crate) const PLAIN: &str = "TAMBOUR_SQLITE_PLAIN";
/// How many kills the long loop makes of each combination.
const KILLS: &str = "TAMBOUR_SQLITE_KILLS";

/// With it, the child stays inside a transaction that has changed every account.
const INSIDE: &str = "TAMBOUR_SQLITE_INSIDE";
const SPILL: &str = "UPDATE account SET balance = 0, note = hex(randomblob(20000));";

/// Moves money between accounts for ever, and tells each commit.
#[test]
#[ignore = "a process that the tests below start and kill"]
fn child() {
    let Some(path) = std::env::var_os(PATH).map(PathBuf::from) else { return };
    let connection = if std::env::var_os(PLAIN).is_some() {
        rusqlite::Connection::open(&path).unwrap()
    } else {
        open(&path)
    };
    connection.busy_timeout(std::time::Duration::from_secs(20)).unwrap();
    let set = |pragma: &str, variable: &str| {
        let Ok(value) = std::env::var(variable) else { return };
        let query = format!("PRAGMA {pragma} = {value}");
        let _ = connection.query_row(&query, [], |_| Ok(()));
    };
    set("locking_mode", LOCKING);
    set("journal_mode", JOURNAL);
    set("synchronous", SYNCHRONOUS);
    // A checkpoint every few transactions, if there is a write-ahead log.
    set("wal_autocheckpoint", CHECKPOINT);
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

pub(crate) fn start(test: &str, variables: &[(&str, &std::ffi::OsStr)]) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub(crate) fn fill(path: &Path) {
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

/// What survives the end of a process does not depend on `synchronous`: what reached the system is there. So none of these
/// loses a commit in a plain database, and none may here.
const JOURNALS: [&str; 4] = ["delete", "truncate", "persist", "wal"];
const SYNCHRONOUS_MODES: [&str; 3] = ["off", "normal", "full"];
const LOCKING_MODES: [&str; 2] = ["normal", "exclusive"];

/// Starts a writer, lets it commit a few times, kills it at some moment after that, and looks at what is there. Returns how
/// many commits it had told.
fn kill_once(path: &Path, modes: [&str; 3], seed: &mut u64) -> i64 {
    let [journal, synchronous, locking] = modes;
    let variables = [
        (PATH, path.as_os_str()),
        (JOURNAL, journal.as_ref()),
        (SYNCHRONOUS, synchronous.as_ref()),
        (LOCKING, locking.as_ref()),
        (CHECKPOINT, "40".as_ref()),
    ];
    let mut child = start("kill::child", &variables);
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let wanted = 2 + crate::tpch::random(seed) % 12;
    let (mut committed, mut seen) = (0, 0);
    for line in lines {
        let line = line.unwrap();
        // The harness writes its own words onto the first line.
        let Some((_, number)) = line.rsplit_once("committed ") else { continue };
        committed = number.trim().parse::<i64>().unwrap();
        seen += 1;
        if seen == wanted {
            // Somewhere in the next transactions.
            let pause = crate::tpch::random(seed) % 8000;
            std::thread::sleep(std::time::Duration::from_micros(pause));
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(seen >= wanted, "{modes:?}: the child ended too early");
    let connection = open(path);
    // Only who is alone has a write-ahead log.
    connection.execute_batch(&format!("PRAGMA locking_mode = {locking}")).unwrap();
    assert_eq!(integrity(&connection), "ok", "{modes:?}");
    let rounds = number(&connection, "SELECT rounds FROM progress");
    assert!(rounds >= committed, "{modes:?}: {committed} was told, {rounds} is there");
    let sum = number(&connection, "SELECT sum(balance) FROM account");
    assert_eq!(sum, 2000 * 1000, "{modes:?}");
    committed
}

/// Kills a writer this many times in each combination of modes; returns kills and commits.
fn kill_all(times: usize) -> (usize, i64) {
    let mut seed = 5;
    let (mut kills, mut commits) = (0, 0);
    for journal in JOURNALS {
        for synchronous in SYNCHRONOUS_MODES {
            for locking in LOCKING_MODES {
                if journal == "wal" && locking == "normal" {
                    continue;
                }
                let directory = tempfile::tempdir().unwrap();
                let path = directory.path().join("a.db");
                fill(&path);
                let modes = [journal, synchronous, locking];
                for _ in 0..times {
                    commits += kill_once(&path, modes, &mut seed);
                    kills += 1;
                }
            }
        }
    }
    (kills, commits)
}

#[test]
fn a_killed_process_loses_nothing_that_was_committed() {
    let (kills, _) = kill_all(1);
    assert_eq!(kills, 21);
}

#[test]
#[ignore = "minutes: cargo test --release -p tambour-sqlite --test database -- --ignored --nocapture kills"]
fn many_kills_lose_nothing_that_was_committed() {
    let times = std::env::var(KILLS).ok().and_then(|times| times.parse().ok()).unwrap_or(50);
    let (kills, _) = kill_all(times);
    println!("{kills} kills, none lost");
}
