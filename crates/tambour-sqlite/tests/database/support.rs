//! Databases for the tests.

use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use tambour_sqlite::{NAME, Settings, register};

/// A connection through the VFS.
pub(crate) fn open(path: &Path) -> Connection {
    try_open(path).expect("the database opens")
}

pub(crate) fn try_open(path: &Path) -> rusqlite::Result<Connection> {
    register(&Settings::default()).expect("the VFS registers");
    Connection::open_with_flags_and_vfs(path, OpenFlags::default(), NAME)
}

/// What `PRAGMA integrity_check` says.
pub(crate) fn integrity(connection: &Connection) -> String {
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("a verdict")
}

/// The first value of a query.
pub(crate) fn number(connection: &Connection, query: &str) -> i64 {
    connection.query_row(query, [], |row| row.get(0)).expect("a number")
}
