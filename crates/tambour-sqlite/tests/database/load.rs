//! A load as TPC-H's: the same answers as a plain database, in less space.

use crate::support::{integrity, open};
use crate::tpch::{QUERIES, load, rows};
use rusqlite::Connection;

#[test]
fn a_tpc_h_like_load_answers_as_a_plain_database_does() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, plain) = (directory.path().join("ours.db"), directory.path().join("plain.db"));
    load(&mut open(&ours), 4000).unwrap();
    load(&mut Connection::open(&plain).unwrap(), 4000).unwrap();
    let (one, other) = (open(&ours), Connection::open(&plain).unwrap());
    for query in QUERIES {
        let found = rows(&one, query).unwrap();
        assert!(!found.is_empty(), "{query}");
        assert_eq!(found, rows(&other, query).unwrap(), "{query}");
    }
    assert_eq!(integrity(&one), "ok");
    drop((one, other));
    let size = |path| std::fs::metadata(path).unwrap().len();
    assert!(size(&ours) * 2 <= size(&plain), "{} of {}", size(&ours), size(&plain));
}
