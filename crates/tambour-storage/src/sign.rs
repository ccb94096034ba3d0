//! Signs: what a process is doing, for others to read while it does it.
//!
//! A sign is a small file that its holder keeps locked, so that nobody takes what a dead process left for work that goes on: the
//! operating system gives the lock back however the holder dies. A sign is never needed for anything but telling; where none can
//! be put up, the work goes on without it.

use crate::Storage;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The sign of the writer that holds the lock: what it is doing.
pub const WORK: &str = ".tambour.work";
/// The sign of a writer that waits for the lock: what it is going to do.
pub const WAIT: &str = ".tambour.wait";

/// Most bytes of a sign that are looked at.
const SIZE_MAX: u64 = 1 << 20;
/// How often a file may be replaced under us before we give up.
const ATTEMPTS_MAX: usize = 16;

/// A sign that is up. It is taken down when it is dropped.
pub trait Sign: Send + Sync + std::fmt::Debug {
    /// Changes what it says. Errors are nobody's concern.
    fn say(&self, text: &str);
}

/// What a sign says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The process that put it up.
    pub process: u32,
    /// When, in milliseconds since 1970.
    pub since_ms: u64,
    /// What it says.
    pub text: String,
}

impl Said {
    fn of(line: &str) -> Option<Self> {
        let (process, rest) = line.split_once(' ')?;
        let (since, text) = rest.split_once(' ')?;
        let text = text.to_owned();
        Some(Self { process: process.parse().ok()?, since_ms: since.parse().ok()?, text })
    }
}

/// What the sign of a directory says: [`WORK`] or [`WAIT`]; `None` if it is not up, or cannot be read.
pub fn read(storage: &dyn Storage, directory: &Path, sign: &str) -> Option<Said> {
    storage.read_sign(&directory.join(sign)).ok().flatten()
}

/// A file that says something as long as it is locked.
#[derive(Debug)]
struct Board {
    file: File,
    path: PathBuf,
    process: u32,
    since_ms: u64,
}

impl Sign for Board {
    fn say(&self, text: &str) {
        let (process, since) = (self.process, self.since_ms);
        let line = format!("{process} {since} {}\n", text.replace('\n', " "));
        // A longer text of before stays after the end of the line, where nobody reads on.
        let _ = self.file.write_all_at(line.as_bytes(), 0);
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // A fork of the holder has the file as well; it is not its own to take down.
        if self.process == std::process::id() {
            let _ = std::fs::remove_file(&self.path);
            let _ = self.file.unlock();
        }
    }
}

/// Puts up a sign that says nothing yet; `None` if another process has it.
pub(crate) fn put_up(path: &Path) -> io::Result<Option<Box<dyn Sign>>> {
    for _ in 0..ATTEMPTS_MAX {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if crate::flock::is_same_file(&file, path)? {
            let (path, process) = (path.to_owned(), std::process::id());
            let since_ms = crate::lock::milliseconds();
            let board = Board { file, path, process, since_ms };
            board.say("");
            return Ok(Some(Box::new(board)));
        }
    }
    Ok(None)
}

/// What a sign says; `None` if nobody has it.
pub(crate) fn read_board(path: &Path) -> io::Result<Option<Said>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // Beside others who read; whoever puts it up in this moment tries again.
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {}
        Ok(()) => {
            let _ = file.unlock();
            return Ok(None);
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let length = file.metadata()?.len().min(SIZE_MAX);
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    let read = file.read_at(&mut bytes, 0)?;
    bytes.truncate(read);
    let text = String::from_utf8_lossy(&bytes);
    // A line without an end is being written.
    Ok(text.split_once('\n').and_then(|(line, _)| Said::of(line)))
}

#[cfg(test)]
mod tests {
    use super::{put_up, read, read_board};
    use crate::memory::Memory;
    use std::path::Path;

    #[test]
    fn a_sign_says_something_as_long_as_it_is_up() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(super::WORK);
        let said = || read_board(&path).unwrap().map(|said| said.text);
        assert_eq!(said(), None, "there is no file");
        let sign = put_up(&path).unwrap().unwrap();
        assert_eq!(said().as_deref(), Some(""));
        sign.say("merges all_1_1_0\nand all_2_2_0");
        assert_eq!(said().as_deref(), Some("merges all_1_1_0 and all_2_2_0"));
        sign.say("waits");
        assert_eq!(said().as_deref(), Some("waits"), "a shorter text leaves nothing of the longer");
        assert_eq!(read_board(&path).unwrap().unwrap().process, std::process::id());
        assert!(put_up(&path).unwrap().is_none(), "another one has it");
        drop(sign);
        assert_eq!(said(), None);
        assert!(!path.exists());
    }

    #[test]
    fn what_a_dead_process_left_says_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(super::WAIT);
        for left in ["17 99 merges\n", "17 99 mer", "", "x y z\n"] {
            std::fs::write(&path, left).unwrap();
            assert_eq!(read_board(&path).unwrap(), None, "{left:?}");
        }
        assert!(put_up(&path).unwrap().is_some(), "the next one takes its place");
        assert_eq!(read(&Memory::new(), Path::new(""), super::WORK), None);
    }
}
