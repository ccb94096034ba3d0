//! SQLite databases in a compressed page store: a VFS.
//!
//! ```
//! use rusqlite::{Connection, OpenFlags};
//!
//! tambour_sqlite::register(&tambour_sqlite::Settings::default())?;
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("drums.db");
//! let flags = OpenFlags::default();
//! let connection = Connection::open_with_flags_and_vfs(&path, flags, tambour_sqlite::NAME)?;
//! connection.execute_batch("CREATE TABLE drum (name TEXT); INSERT INTO drum VALUES ('snare')")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The database file is a [`Store`](tambour_page::Store); journals and temporary files are plain files of SQLite's own
//! VFS. What SQLite writes waits in memory until it asks for a sync, and is one commit then: so the rollback journal keeps its
//! meaning, and a torn page cannot be. One process has a database open for writing; connections within it share the store, and
//! lock each other out as SQLite wants it. Write-ahead logs need memory shared between processes, which this VFS does not
//! have: SQLite stays with the rollback journal, or, with `locking_mode = EXCLUSIVE`, keeps the log's index to itself.
//!
//! - `database`: bytes at offsets, kept in pages of the store; `cache`: those that were decoded last
//! - `lock`: who may read and write
//! - `file` and `vfs`: the border to C
#![expect(unsafe_code, reason = "SQLite hands over pointers; each block states why it is sound")]

mod cache;
mod database;
mod file;
mod lock;
mod registry;
mod vfs;

pub use database::DatabaseError;
pub use vfs::{NAME, RegisterError, register};

use tambour_page::{Layout, PageCodec};

/// What new databases are made with, and how much memory open ones take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of a page of the store; SQLite's own pages may be smaller, and several of them are compressed together then.
    pub page_bytes: usize,
    /// How images lie.
    pub layout: Layout,
    /// How pages are encoded.
    pub codec: PageCodec,
    /// Bytes of decoded pages that are kept for each database.
    pub cache_bytes: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            // SQLite's own page: larger ones take less space, but of what is decoded less is asked for.
            page_bytes: 4 << 10,
            layout: Layout::Packed,
            codec: PageCodec::ZSTD,
            cache_bytes: 128 << 20,
        }
    }
}
