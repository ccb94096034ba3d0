//! A database whose file is replaced or removed while the process has it open, as when a backup is restored.

use crate::support::{integrity, number, open, try_open};
use rusqlite::Connection;
use std::path::Path;

/// A database with this number and nothing else; its file is like every other one that is made so.
fn with_number(path: &Path, value: i64) {
    let connection = open(path);
    connection
        .execute_batch(&format!("CREATE TABLE t (a); INSERT INTO t VALUES ({value})"))
        .unwrap();
}

fn sum(connection: &Connection) -> i64 {
    number(connection, "SELECT sum(a) FROM t")
}

/// Puts another file into the place of `path`, while the first connection is open.
fn replaced_by(replace: impl Fn(&Path, &Path)) {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("a.db"), directory.path().join("b.db"));
    with_number(&path, 1);
    with_number(&other, 100);
    let old = open(&path);
    assert_eq!(sum(&old), 1);
    replace(&other, &path);
    let new = open(&path);
    assert_eq!(sum(&new), 100, "a new connection sees what has the name now");
    new.execute_batch("INSERT INTO t VALUES (10)").unwrap();
    // One file, or two: nobody reads what the other one has cached.
    let of_old = sum(&old);
    let is_same = of_old == 110;
    assert!(is_same || of_old == 1, "{of_old}");
    // SQLite sees that the file has moved, as it does with a plain one.
    assert_eq!(old.execute_batch("INSERT INTO t VALUES (1000)").is_ok(), is_same);
    let third = open(&path);
    let wanted = if is_same { 1110 } else { 110 };
    assert_eq!(sum(&third), wanted);
    drop(old);
    third.execute_batch("INSERT INTO t VALUES (10000)").unwrap();
    assert_eq!(sum(&new), wanted + 10000);
    drop((new, third));
    let connection = open(&path);
    assert_eq!(sum(&connection), wanted + 10000, "nothing that was acknowledged is lost");
    assert_eq!(integrity(&connection), "ok");
}

#[test]
fn a_file_that_is_renamed_into_its_place_is_another_database() {
    replaced_by(|other, path| std::fs::rename(other, path).unwrap());
}

#[test]
fn so_is_a_copy_after_it_was_removed() {
    replaced_by(|other, path| {
        std::fs::remove_file(path).unwrap();
        std::fs::copy(other, path).unwrap();
    });
}

#[test]
fn what_is_copied_over_it_is_read_and_not_what_was_decoded_before() {
    replaced_by(|other, path| {
        std::fs::copy(other, path).unwrap();
    });
}

#[test]
fn a_removed_database_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    with_number(&path, 1);
    let old = open(&path);
    assert_eq!(sum(&old), 1);
    std::fs::remove_file(&path).unwrap();
    with_number(&path, 2);
    assert_eq!((sum(&old), sum(&open(&path))), (1, 2));
    assert!(old.execute_batch("INSERT INTO t VALUES (3)").is_err());
    drop(old);
    assert_eq!(sum(&open(&path)), 2);
}

#[test]
fn two_names_of_one_file_are_one_database() {
    let directory = tempfile::tempdir().unwrap();
    let (path, other) = (directory.path().join("a.db"), directory.path().join("b.db"));
    with_number(&path, 1);
    std::fs::hard_link(&path, &other).unwrap();
    let (one, two) = (open(&path), open(&other));
    one.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (10)").unwrap();
    assert!(two.execute_batch("INSERT INTO t VALUES (100)").is_err(), "it is locked");
    one.execute_batch("COMMIT").unwrap();
    two.execute_batch("INSERT INTO t VALUES (100)").unwrap();
    assert_eq!((sum(&one), sum(&two)), (111, 111));
    drop(two);
    // The locks of one are those of the other, whichever is closed first.
    one.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert!(
        try_open(&other).and_then(|two| two.execute_batch("INSERT INTO t VALUES (7)")).is_err()
    );
}

#[test]
fn a_small_database_does_not_stay_long_when_it_is_closed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let connection = open(&path);
    connection
        .execute_batch("PRAGMA synchronous = off; CREATE TABLE t (a INTEGER PRIMARY KEY, b)")
        .unwrap();
    for round in 0..3000 {
        let text = format!("text {round} ").repeat(8);
        connection
            .execute("INSERT OR REPLACE INTO t VALUES (?1, ?2)", (round * 7919 % 2000, text))
            .unwrap();
    }
    assert!(std::fs::metadata(&path).unwrap().len() > 2_000_000, "there is nothing to cut");
    drop(connection);
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length < 200_000, "{length}");
    let connection = open(&path);
    assert_eq!(
        (integrity(&connection).as_str(), number(&connection, "SELECT count(*) FROM t")),
        ("ok", 2000)
    );
}
