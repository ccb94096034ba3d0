//! Files that are written in place: the only door of the page store to the system, so that a crash is a value a test can
//! hold.
//!
//! [`disk()`] is the file system of this machine, [`Direct`] the same past the page cache; [`memory`] is one that tears, loses and reorders what was not synced.

mod direct;
pub mod disk;
pub mod memory;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// For reading; others may read it, too, and nobody writes.
    Read,
    /// For reading and writing, alone.
    Write,
}

/// What a file takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Its length in bytes.
    pub length: u64,
    /// Bytes that the file system says it has allocated.
    pub allocated: u64,
    /// Bytes of a block: the smallest hole.
    pub block_bytes: u64,
    /// Bytes that are free on its file system, if that can be told.
    pub free_bytes: Option<u64>,
}

/// An open file, locked as it was opened. Dropping it gives the lock back.
pub trait File: Send + Sync + std::fmt::Debug {
    /// Changes the lock; `None` gives it back. `WouldBlock`, at once, if somebody else is in the way: the file may have no
    /// lock then. `Unsupported` where files are locked as long as they are open.
    fn lock(&self, _access: Option<Access>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// What tells it from every other file that this machine has open, whatever their names: device and inode. `None` where
    /// files have nothing of the sort.
    fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        Ok(None)
    }
    /// Length in bytes.
    fn length(&self) -> io::Result<u64>;
    /// Fills `target` from `offset`; an early end is `UnexpectedEof`.
    fn read_at(&self, target: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes the pieces one after another from `offset`.
    fn write_at(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()>;
    /// Changes the length; what is new reads as zeros.
    fn set_length(&self, length: u64) -> io::Result<()>;
    /// Makes what was written durable.
    fn sync(&self) -> io::Result<()>;
    /// Gives a range back to the file system; it reads as zeros. `Unsupported` where that does not exist.
    fn punch(&self, offset: u64, length: u64) -> io::Result<()>;
    /// Makes sure that a later write of this range finds room, without a change of content or length. `Unsupported` where
    /// that does not exist, or where it would cost more than it promises.
    fn reserve(&self, offset: u64, length: u64) -> io::Result<()>;
    /// Says that a range will be read soon.
    fn expect(&self, _offset: u64, _length: u64) {}
    /// What it takes.
    fn space(&self) -> io::Result<Space>;
}

/// A file system.
///
/// ```
/// use std::path::Path;
/// use tambour_storage::place::{Storage, memory::Memory};
/// let storage = Memory::default();
/// let file = storage.create(Path::new("pages"))?;
/// file.write_at(&[b"one", b"two"], 4)?;
/// let mut bytes = [9; 6];
/// file.read_at(&mut bytes, 2)?;
/// assert_eq!(&bytes, b"\0\0onet");
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Storage: Send + Sync + std::fmt::Debug {
    /// Opens a file and locks it; `WouldBlock`, at once, if somebody else has it.
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>>;
    /// Opens a file without a lock: [`File::lock`] takes it. For writing, too, if the system lets us; the second value tells.
    fn open_unlocked(&self, _path: &Path) -> io::Result<(Arc<dyn File>, bool)> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Makes a new file for writing (an existing one is an error).
    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>>;
    /// Writes must begin at multiples of this many bytes, and be multiples of them.
    fn write_unit(&self) -> u64 {
        1
    }
    /// Renames a file; one at the target is replaced.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Renames a file; `AlreadyExists` if there is one at the target.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.exists(to)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.rename(from, to)
    }
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// What is in the directory that holds `path`.
    fn beside(&self, path: &Path) -> io::Result<Vec<PathBuf>>;
    /// True if something is there.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Makes the entries of the directory that holds `path` durable.
    fn sync_directory_of(&self, path: &Path) -> io::Result<()>;
}

pub use direct::Direct;

/// The file system of this machine.
pub fn disk() -> Arc<dyn Storage> {
    Arc::new(disk::Disk)
}
