//! Plain databases into stores, and back.

use crate::support::{integrity, number, open};
use rusqlite::Connection;
use tambour_page::{Access, Level, Method, Store};
use tambour_sqlite::{Settings, TransferError, export, import};

fn plain(path: &std::path::Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA user_version = 7; CREATE TABLE t (a INTEGER, b TEXT); CREATE INDEX i ON t (b); \
             WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) \
             INSERT INTO t SELECT x, 'row ' || x FROM n; DELETE FROM t WHERE a % 5 = 0;",
        )
        .unwrap();
    connection
}

#[test]
fn there_and_back_is_the_same_file() {
    let directory = tempfile::tempdir().unwrap();
    let [source, store, back] = ["a.db", "a.pages", "b.db"].map(|it| directory.path().join(it));
    drop(plain(&source));
    let imported = import(&source, &store, &Settings::default()).unwrap();
    assert!(imported.target_bytes * 2 < imported.source_bytes, "{imported:?}");
    assert_eq!(number(&open(&store), "PRAGMA user_version"), 7);
    assert_eq!(integrity(&open(&store)), "ok");
    let verified = Store::open(&store, Access::Read).unwrap();
    assert!(verified.verify(Level::Decode, &mut |_| {}).unwrap().damage.is_empty());
    assert_eq!(verified.codec(), Settings::default().codec, "mostly digits: LZ4 takes much more");
    drop(verified);
    export(&store, &back).unwrap();
    let (mut one, mut other) = (std::fs::read(&source).unwrap(), std::fs::read(&back).unwrap());
    assert_eq!(one.len(), other.len());
    // A count of changes, the number of the version that wrote it last, and the schema's number.
    for file in [&mut one, &mut other] {
        file[24..28].fill(0);
        file[40..44].fill(0);
        file[92..100].fill(0);
    }
    assert!(one == other, "a page differs");
    let names = std::fs::read_dir(directory.path()).unwrap();
    assert_eq!(names.count(), 3, "nothing is left beside them");
}

#[test]
fn rows_that_are_much_alike_are_kept_by_the_codec_that_is_decoded_faster() {
    let directory = tempfile::tempdir().unwrap();
    let [source, store] = ["a.db", "a.pages"].map(|it| directory.path().join(it));
    let mut connection = Connection::open(&source).unwrap();
    crate::tpch::load(&mut connection, 4000).unwrap();
    let imported = import(&source, &store, &Settings::default()).unwrap();
    assert!(imported.dictionary_bytes.is_some_and(|bytes| bytes <= 64 << 10), "{imported:?}");
    assert_eq!(Store::open(&store, Access::Read).unwrap().codec().method, Method::Lz4);
    for query in crate::tpch::QUERIES {
        let rows = |connection: &Connection| crate::tpch::rows(connection, query).unwrap();
        assert_eq!(rows(&open(&store)), rows(&connection), "{query}");
    }
    // Changed pages are written with the same dictionary.
    open(&store)
        .execute_batch("UPDATE orders SET o_clerk = o_clerk || '!' WHERE o_orderkey % 7 = 0")
        .unwrap();
    assert_eq!(number(&open(&store), "SELECT count(*) FROM orders WHERE o_clerk LIKE '%!'"), 572);
    assert_eq!(integrity(&open(&store)), "ok");
    let verified = Store::open(&store, Access::Read).unwrap();
    assert!(verified.verify(Level::Decode, &mut |_| {}).unwrap().damage.is_empty());
}

#[test]
fn a_database_with_a_write_ahead_log_that_is_in_use_comes_over() {
    let directory = tempfile::tempdir().unwrap();
    let [source, store] = ["a.db", "a.pages"].map(|it| directory.path().join(it));
    let used = plain(&source);
    let set: String = used.query_row("PRAGMA journal_mode = wal", [], |row| row.get(0)).unwrap();
    assert_eq!(set, "wal");
    used.execute_batch("DELETE FROM t WHERE a % 3 = 0").unwrap();
    let wanted = number(&used, "SELECT count(*) FROM t");
    import(&source, &store, &Settings::default()).unwrap();
    assert_eq!(number(&open(&store), "SELECT count(*) FROM t"), wanted);
}

#[test]
fn what_is_no_database_and_what_is_there_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let [source, store, other] = ["a.db", "a.pages", "c"].map(|it| directory.path().join(it));
    drop(plain(&source));
    std::fs::write(&other, "no database at all, and longer than sixteen bytes").unwrap();
    let settings = Settings::default();
    let refused = |result: Result<_, TransferError>| result.map(|_| ()).unwrap_err().to_string();
    assert!(refused(import(&other, &store, &settings)).contains("is not an SQLite database"));
    import(&source, &store, &settings).unwrap();
    assert!(refused(import(&source, &store, &settings)).contains("exists already"));
    let target = directory.path().join("d");
    assert!(refused(import(&store, &target, &settings)).contains("is a store already"));
    assert!(refused(export(&source, &target)).contains("is a plain database already"));
    assert!(refused(export(&store, &source)).contains("exists already"));
    assert!(!target.exists());
}
