//! The only door to files: a small trait, so that a crash is a value a test can hold.
//!
//! Files that are appended and never changed are here, at the root; files that are written in place are in [`place`].
//! [`read_only`] is for files that have names and cannot be changed. [`commit`] replaces one small file atomically; [`lock`] keeps other writers out; a [`sign`] tells others what a writer does.
#![forbid(unsafe_code)]

pub mod commit;
mod direct;
pub mod disk;
mod error;
mod flock;
pub mod lock;
pub mod memory;
pub mod place;
pub mod read_only;
pub mod sign;
mod spot;

pub use error::StorageError;
pub use spot::Place;

use std::io;
use std::path::Path;
use std::sync::Arc;

/// A file opened for reading at positions; its length is fixed.
pub trait ReadAt: Send + Sync + std::fmt::Debug {
    /// Length in bytes.
    fn len(&self) -> u64;
    /// Fills `target` from `offset`; an early end is `UnexpectedEof`.
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()>;
    /// Bytes that it takes on disk, about; fewer than its length if it has holes.
    fn stored(&self) -> io::Result<u64> {
        Ok(self.len())
    }
    /// These bytes will be read next: a file that does not know by itself what comes next begins to fetch them.
    fn will_need(&self, offset: u64, length: usize) {
        let _ = (offset, length);
    }
    /// True for a file of no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A new file written front to back.
pub trait WriteFile: Send + std::fmt::Debug {
    /// Appends all of `source`.
    fn write_all(&mut self, source: &[u8]) -> io::Result<()>;
    /// Makes what was written durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// What a directory entry is. One that is neither file nor directory (a link, a device) is followed by nobody and
/// refused by whoever needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Name without path. Bytes that are not UTF-8 are replaced, so that such a file is seen but cannot be opened.
    pub name: String,
    /// True for a directory, not for a link to one.
    pub is_directory: bool,
    /// True for an ordinary file, not for a link to one.
    pub is_file: bool,
    /// Length in bytes of a file, else 0.
    pub length: u64,
}

/// An exclusive lock that all writers respect; dropping it gives it back.
pub trait Lock: Send + Sync + std::fmt::Debug {}

/// Makes many files durable at once.
pub trait Barrier: Send + std::fmt::Debug {
    /// Makes everything durable that was written since the barrier was made: contents of files and entries of directories.
    /// Reports also errors that the system met on its own in between.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file system. Paths are as the caller gave them.
///
/// ```
/// use std::path::Path;
/// use tambour_storage::{Storage, memory::Memory};
/// let storage = Memory::new();
/// storage.create_directory(Path::new("hits"))?;
/// storage.create(Path::new("hits/data.bin"))?.write_all(b"rows")?;
/// let entries = storage.list(Path::new("hits"))?;
/// assert_eq!((entries[0].name.as_str(), entries[0].length), ("data.bin", 4));
/// assert_eq!(storage.read(Path::new("hits/data.bin"), 4)?, b"rows");
/// assert!(storage.read(Path::new("hits/data.bin"), 3).is_err(), "longer than the limit");
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Storage: Send + Sync + std::fmt::Debug {
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>>;
    /// Creates a new file (an existing one is an error).
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>>;
    /// Creates one directory (an existing one is an error).
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    /// Renames a file or directory; a file at the target is replaced.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives two directories each other's names, in one step. An error where the system cannot do that.
    fn exchange(&self, _first: &Path, _second: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    /// Gives a file that nobody changes any more another name beside its own: the same file where the system can do that, a copy
    /// elsewhere. An existing one is an error.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        copy(self.open(from)?.as_ref(), self.create(to)?.as_mut())
    }
    /// Makes the contents of a file durable, whoever wrote them.
    fn sync_file(&self, path: &Path) -> io::Result<()>;
    /// Makes the entries of a directory durable.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
    /// The entries of a directory, sorted by name.
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>>;
    /// Removes a file.
    fn remove_file(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory with all that is in it.
    fn remove_directory(&self, path: &Path) -> io::Result<()>;
    /// True if something is there, a link that leads nowhere included.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Takes the lock that the file at `path` stands for (made if it is not there) and writes `note` into it, for whoever
    /// finds it taken; `WouldBlock`, at once, if somebody else has it.
    fn lock(&self, path: &Path, note: &str) -> io::Result<Box<dyn Lock>>;
    /// Holds a directory. Readers hold what they read, beside each other; they wait for a writer who has it, and it is gone then.
    /// A writer removes only what it can have `alone`: `WouldBlock`, at once, if a reader has it. `None` where the system has nothing
    /// of the sort.
    fn hold(&self, path: &Path, alone: bool) -> io::Result<Option<Box<dyn Lock>>> {
        let _ = (path, alone);
        Ok(None)
    }
    /// Puts up the sign that the file at `path` stands for (see [`sign`]); `None` if another process has it up, and where storage is
    /// of one process only.
    fn put_up(&self, path: &Path) -> io::Result<Option<Box<dyn sign::Sign>>> {
        let _ = path;
        Ok(None)
    }
    /// What the sign at `path` says; `None` if it is not up.
    fn read_sign(&self, path: &Path) -> io::Result<Option<sign::Said>> {
        let _ = path;
        Ok(None)
    }
    /// A barrier for everything that is written from now on, in whatever directory of the file system that `path` is on; an
    /// error of kind `Unsupported` where the system has nothing of the sort. Worth it for hundreds of files.
    fn barrier(&self, path: &Path) -> io::Result<Box<dyn Barrier>>;
    /// Reads a whole small file that is known to have `length` bytes; one that has not is an error of kind `InvalidData`. It may be
    /// done in fewer calls of the system than [`Storage::read`].
    fn read_known(&self, path: &Path, length: usize) -> io::Result<Vec<u8>> {
        let file = self.open(path)?;
        if file.len() != length as u64 {
            return Err(other_length(length, file.len()));
        }
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
    /// Reads a whole small file of at most `limit` bytes (a longer one is an error of kind `FileTooLarge`).
    fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let file = self.open(path)?;
        let too_large = || {
            let text = format!("file has {} bytes, limit {limit}", file.len());
            io::Error::new(io::ErrorKind::FileTooLarge, text)
        };
        if file.len() > limit {
            return Err(too_large());
        }
        let length = usize::try_from(file.len()).map_err(|_| too_large())?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}

/// What [`Storage::read_known`] says.
fn other_length(expected: usize, got: u64) -> io::Error {
    let text = format!("file has {got} bytes, expected {expected}");
    io::Error::new(io::ErrorKind::InvalidData, text)
}

/// Bytes that are copied at a time.
const COPIED_BYTES: usize = 1 << 20;

fn copy(source: &dyn ReadAt, target: &mut dyn WriteFile) -> io::Result<()> {
    let mut piece = vec![0; COPIED_BYTES];
    let mut offset = 0;
    while offset < source.len() {
        let rest = usize::try_from(source.len() - offset).unwrap_or(usize::MAX);
        let piece = piece.get_mut(..rest.min(COPIED_BYTES)).unwrap_or_default();
        source.read_exact_at(piece, offset)?;
        target.write_all(piece)?;
        offset += piece.len() as u64;
    }
    Ok(())
}

/// The disk of this machine.
///
/// ```
/// let directory = tempfile::tempdir()?;
/// let path = directory.path().join("data.bin");
/// let disk = tambour_storage::disk();
/// disk.create(&path)?.write_all(b"rows")?;
/// let mut middle = [0; 2];
/// disk.open(&path)?.read_exact_at(&mut middle, 1)?;
/// assert_eq!(&middle, b"ow");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn disk() -> Arc<dyn Storage> {
    disk_read(Reading::default())
}

/// How the longer files of this machine are read; small ones always go through the system's page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Through the page cache.
    #[default]
    Buffered,
    /// Past it (`O_DIRECT`): for scans that would push other things out of it. `Unsupported` where the file system has nothing of the sort.
    Direct,
    /// As memory (`mmap`). A program that does this calls [`tambour_kernel::map::explain_cuts`].
    Mapped,
}

/// The disk of this machine, with files that are read in another way.
pub fn disk_read(reading: Reading) -> Arc<dyn Storage> {
    Arc::new(disk::Disk::new(reading))
}
