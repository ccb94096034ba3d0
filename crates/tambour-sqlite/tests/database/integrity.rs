//! Transactions, rollbacks, several connections, journals, other files.

use crate::support::{integrity, number, open, try_open};
use rusqlite::{Connection, OpenFlags};
use tambour_page::{Access, Level, Method, PageError, Store};
use tambour_sqlite::NAME;

#[test]
fn what_is_committed_is_there_when_it_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let connection = open(&path);
    connection
        .execute_batch(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT); \
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5000) \
             INSERT INTO t SELECT x, 'row ' || x FROM n;",
        )
        .unwrap();
    assert_eq!(integrity(&connection), "ok");
    drop(connection);
    let store = Store::open(&path, Access::Read).unwrap();
    assert!(store.verify(Level::Decode, &mut |_| {}).unwrap().damage.is_empty());
    drop(store);
    let connection = open(&path);
    assert_eq!(number(&connection, "SELECT count(*) FROM t"), 5000);
    assert_eq!(integrity(&connection), "ok");
}

#[test]
fn a_rollback_undoes_everything_also_what_was_spilled() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let connection = open(&path);
    // A cache of ten pages: the transaction is written to the file long before it ends.
    connection
        .execute_batch("PRAGMA cache_size = 10; CREATE TABLE t (a INTEGER, b BLOB); INSERT INTO t VALUES (1, zeroblob(9000));")
        .unwrap();
    connection
        .execute_batch(
            "BEGIN; \
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3000) \
             INSERT INTO t SELECT x, randomblob(500) FROM n; \
             UPDATE t SET a = a + 1; ROLLBACK;",
        )
        .unwrap();
    assert_eq!(number(&connection, "SELECT count(*) FROM t"), 1);
    assert_eq!(integrity(&connection), "ok");
    drop(connection);
    let connection = open(&path);
    assert_eq!(number(&connection, "SELECT a FROM t"), 1);
    assert_eq!(integrity(&connection), "ok");
}

/// What many transactions write has a codec that encodes fast, but not for ever.
#[test]
fn what_was_written_again_and_again_is_small_when_the_last_connection_has_gone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let connection = open(&path);
    connection
        .execute_batch(
            "CREATE TABLE drum (id INTEGER PRIMARY KEY, beats INTEGER, name TEXT); \
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 500) \
             INSERT INTO drum SELECT x, 0, 'drum ' || x * x FROM n;",
        )
        .unwrap();
    for round in 0..20 {
        let update = format!("UPDATE drum SET beats = beats + 1 WHERE id % 20 = {round}");
        connection.execute_batch(&update).unwrap();
    }
    let stat = |store: &mut Store| store.stat(true).unwrap();
    let hot = stat(&mut Store::open(&path, Access::Read).unwrap());
    assert!(hot.codecs.iter().any(|(method, _)| *method == Method::Lz4), "{:?}", hot.codecs);
    drop(connection);
    let mut store = Store::open(&path, Access::Write).unwrap();
    let closed = stat(&mut store).rounded_bytes;
    store.recode(1000).unwrap();
    let best = stat(&mut store).rounded_bytes;
    assert!(closed <= best && best < hot.rounded_bytes, "{closed}, {best}, {}", hot.rounded_bytes);
    store.close().unwrap();
    let connection = open(&path);
    assert_eq!(number(&connection, "SELECT sum(beats) FROM drum"), 500);
    assert_eq!(integrity(&connection), "ok");
}

#[test]
fn vacuum_and_deletes_shrink_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let connection = open(&path);
    connection
        .execute_batch(
            "CREATE TABLE t (a INTEGER, b BLOB); \
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4000) \
             INSERT INTO t SELECT x, randomblob(700) FROM n;",
        )
        .unwrap();
    drop(connection);
    let before = std::fs::metadata(&path).unwrap().len();
    let connection = open(&path);
    connection.execute_batch("DELETE FROM t WHERE a > 100; VACUUM;").unwrap();
    assert_eq!(integrity(&connection), "ok");
    drop(connection);
    let mut store = Store::open(&path, Access::Write).unwrap();
    store.compact(u64::MAX).unwrap();
    store.close().unwrap();
    let after = std::fs::metadata(&path).unwrap().len();
    assert!(after < before / 5, "{before} {after}");
    assert_eq!(number(&open(&path), "SELECT count(*) FROM t"), 100);
}

#[test]
fn every_page_size_of_sqlite_works() {
    let directory = tempfile::tempdir().unwrap();
    for size in [512, 1024, 4096, 16384, 65536] {
        let path = directory.path().join(format!("{size}.db"));
        let connection = open(&path);
        connection
            .execute_batch(&format!(
                "PRAGMA page_size = {size}; CREATE TABLE t (a INTEGER, b TEXT); CREATE INDEX i ON t (b); \
                 WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000) \
                 INSERT INTO t SELECT x, hex(randomblob(20)) FROM n; DELETE FROM t WHERE a % 3 = 0;"
            ))
            .unwrap();
        drop(connection);
        let connection = open(&path);
        assert_eq!(number(&connection, "PRAGMA page_size"), size);
        assert_eq!(integrity(&connection), "ok");
    }
}

#[test]
fn every_rollback_journal_works_and_the_write_ahead_log_is_refused_by_name() {
    let directory = tempfile::tempdir().unwrap();
    for mode in ["delete", "truncate", "persist", "memory", "off"] {
        let path = directory.path().join(format!("{mode}.db"));
        let connection = open(&path);
        let query = format!("PRAGMA journal_mode = {mode}");
        let set: String = connection.query_row(&query, [], |row| row.get(0)).unwrap();
        assert_eq!(set, mode);
        connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1), (2);").unwrap();
        drop(connection);
        assert_eq!(number(&open(&path), "SELECT count(*) FROM t"), 2);
    }
    let path = directory.path().join("wal.db");
    let connection = open(&path);
    let refused = connection.execute_batch("PRAGMA journal_mode = wal").unwrap_err().to_string();
    assert!(refused.contains("TRUNCATE") && refused.contains("locking_mode"), "{refused}");
    connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1);").unwrap();
}

#[test]
fn a_write_ahead_log_that_was_closed_is_no_obstacle() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let connection = open(&path);
    connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE").unwrap();
    let set: String =
        connection.query_row("PRAGMA journal_mode = wal", [], |row| row.get(0)).unwrap();
    assert_eq!(set, "wal");
    connection.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1);").unwrap();
    drop(connection);
    let connection = open(&path);
    assert_eq!(number(&connection, "SELECT count(*) FROM t"), 1);
    connection.execute_batch("INSERT INTO t VALUES (2);").unwrap();
    assert_eq!(integrity(&connection), "ok");
}

#[test]
fn a_write_ahead_log_of_one_connection_alone_works() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let connection = open(&path);
    connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE").unwrap();
    let set: String =
        connection.query_row("PRAGMA journal_mode = wal", [], |row| row.get(0)).unwrap();
    assert_eq!(set, "wal");
    connection
        .execute_batch(
            "CREATE TABLE t (a); \
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 9000) INSERT INTO t SELECT x FROM n; \
             PRAGMA journal_mode = delete;",
        )
        .unwrap();
    assert_eq!(integrity(&connection), "ok");
    drop(connection);
    assert_eq!(number(&open(&path), "SELECT count(*) FROM t"), 9000);
}

#[test]
fn connections_of_one_process_lock_each_other_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let one = open(&path);
    one.execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (1)").unwrap();
    let two = open(&path);
    two.busy_timeout(std::time::Duration::ZERO).unwrap();
    assert_eq!(number(&two, "SELECT a FROM t"), 1);
    one.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)").unwrap();
    assert!(two.execute_batch("INSERT INTO t VALUES (3)").is_err());
    assert_eq!(number(&two, "SELECT count(*) FROM t"), 1, "what is not committed is not seen");
    one.execute_batch("COMMIT").unwrap();
    assert_eq!(number(&two, "SELECT count(*) FROM t"), 2);
    two.execute_batch("INSERT INTO t VALUES (3)").unwrap();
    assert_eq!(number(&one, "SELECT count(*) FROM t"), 3);
    drop(one);
    assert_eq!(integrity(&two), "ok");
}

#[test]
fn threads_count_together() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    open(&path).execute_batch("CREATE TABLE t (a); INSERT INTO t VALUES (0)").unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let connection = open(&path);
                connection.busy_timeout(std::time::Duration::from_mins(1)).unwrap();
                for _ in 0..30 {
                    connection
                        .execute_batch("BEGIN IMMEDIATE; UPDATE t SET a = a + 1; COMMIT")
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(number(&open(&path), "SELECT a FROM t"), 90);
}

#[test]
fn files_that_are_no_stores_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("plain.db");
    let plain = Connection::open(&path).unwrap();
    plain.execute_batch("CREATE TABLE t (a)").unwrap();
    drop(plain);
    let refused = try_open(&path).and_then(|it| it.execute_batch("SELECT * FROM t"));
    assert!(refused.unwrap_err().to_string().contains("not a database"));
}

#[test]
fn a_damaged_page_is_an_error_and_never_a_wrong_row() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    let connection = open(&path);
    connection
        .execute_batch(
            "CREATE TABLE t (a INTEGER, b BLOB); \
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000) \
             INSERT INTO t SELECT x, randomblob(300) FROM n;",
        )
        .unwrap();
    drop(connection);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let connection = open(&path);
    let read = connection.query_row("SELECT sum(length(b)) FROM t", [], |row| row.get::<_, i64>(0));
    assert!(read.unwrap_err().to_string().contains("malformed"));
}

#[test]
fn who_only_reads_is_in_nobodys_way() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.db");
    open(&path).execute_batch("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1);").unwrap();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let reader = Connection::open_with_flags_and_vfs(&path, flags, NAME).unwrap();
    assert_eq!(number(&reader, "SELECT count(*) FROM t"), 1);
    let refused = reader.execute_batch("INSERT INTO t VALUES (2);").unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(rusqlite::ErrorCode::ReadOnly), "{refused}");
    let writer = open(&path);
    writer.execute_batch("INSERT INTO t VALUES (2);").unwrap();
    assert_eq!(number(&reader, "SELECT count(*) FROM t"), 2);
    // The store's own tools, too, while connections are idle.
    let mut store = Store::open(&path, Access::Write).unwrap();
    store.compact(u64::MAX).unwrap();
    store.close().unwrap();
    writer.execute_batch("INSERT INTO t VALUES (3);").unwrap();
    assert_eq!(number(&reader, "SELECT count(*) FROM t"), 3);
    // In the middle of a transaction they wait.
    reader.execute_batch("BEGIN; SELECT * FROM t").unwrap();
    assert_eq!(number(&reader, "SELECT count(*) FROM t"), 3);
    assert!(matches!(Store::open(&path, Access::Write), Err(PageError::Locked { .. })));
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(integrity(&reader), "ok");
}
