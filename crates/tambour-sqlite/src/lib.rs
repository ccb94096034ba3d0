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
//! VFS. What SQLite writes waits in memory until it syncs the file, or would if `synchronous` were not off, and is one commit
//! then: so the rollback journal keeps its meaning, and a torn page cannot be. Locks are SQLite's own, between connections
//! and between processes. Write-ahead logs need memory that processes share, which this VFS does not offer: `PRAGMA
//! journal_mode = WAL` says so, unless `locking_mode = EXCLUSIVE` makes the log one connection's own.
//!
//! The feature `linked`, on by default, registers the VFS with the SQLite that the program is linked with. Without it there
//! is [`register_with`], for an SQLite that is reached by pointers: the loadable extension is made of it.
//!
//! - `database`: bytes at offsets, kept in pages of the store; `cache`: those that were decoded last
//! - `registry`: what connections of a process share; `lock`: SQLite's locks
//! - `transfer`: plain databases into stores, and back
//! - `file`, `pragma` and `vfs`: the border to C; `abi`: SQLite's own types
#![expect(unsafe_code, reason = "SQLite hands over pointers; each block states why it is sound")]

mod abi;
mod cache;
mod database;
mod file;
mod lock;
mod pragma;
mod registry;
#[cfg(feature = "linked")]
mod transfer;
mod vfs;

pub use abi::{Find, Functions, Malloc, Register, Vfs, text};
pub use database::DatabaseError;
#[cfg(feature = "linked")]
pub use transfer::{TransferError, Transferred, export, import};
#[cfg(feature = "linked")]
pub use vfs::register;
pub use vfs::{NAME, RegisterError, register_with};

use tambour_page::{Layout, Method, PageCodec};

/// What new databases are made with, and how much memory open ones take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Bytes of a page of the store; SQLite's own pages may be smaller, and several of them are compressed together then.
    pub page_bytes: usize,
    /// How images lie.
    pub layout: Layout,
    /// How pages are encoded.
    pub codec: PageCodec,
    /// What `import` takes in its place where pages with a dictionary are at most a twentieth larger by it, since it is
    /// decoded faster; `None` to leave it at `codec`.
    pub quick: Option<PageCodec>,
    /// How pages are encoded that are written again before the next checkpoint, which encodes them as all others; `None` to
    /// make no difference.
    pub hot: Option<PageCodec>,
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
            quick: Some(PageCodec { method: Method::Lz4, level: 5 }),
            // A page that many transactions write is encoded by each of them.
            hot: Some(PageCodec::LZ4),
            cache_bytes: 128 << 20,
        }
    }
}
