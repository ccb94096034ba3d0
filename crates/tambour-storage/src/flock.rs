//! Locks between processes: `flock` on a file that is only there to be locked.
//!
//! The operating system gives the lock back when its holder dies, however it dies, so a stale lock cannot exist; the
//! file itself stays, and what is written in it means nothing unless the lock is taken.

use super::Lock;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;

/// A lock, given back when it is dropped.
///
/// Closing the file would not be enough: a process that another thread is just about to start has the file, too, until it
/// becomes another program, and the lock would outlive its holder by that long.
#[derive(Debug)]
struct Flock {
    file: File,
    /// Who took it: a fork of that process has the file as well, and must not give back what is not its own.
    process: u32,
}

impl Flock {
    fn of(file: File) -> Self {
        Self { file, process: std::process::id() }
    }
}

impl Lock for Flock {}

impl Drop for Flock {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // Where this fails, closing the file does the same a little later.
            let _ = self.file.unlock();
        }
    }
}

/// How often a file may be replaced under us before we give up.
const ATTEMPTS_MAX: usize = 16;

/// Opens or creates the file, locks it, and makes sure that the path still leads to the locked file: the holder before us
/// may have removed it (with its whole directory) after we opened it.
pub(super) fn lock(path: &Path, note: &str) -> io::Result<Box<dyn Lock>> {
    for _ in 0..ATTEMPTS_MAX {
        let mut file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        if is_same_file(&file, path)? {
            // The note is for people who wonder who holds the lock; a full disk does not take the lock away.
            let _ = file.set_len(0).and_then(|()| file.write_all(note.as_bytes()));
            return Ok(Box::new(Flock::of(file)));
        }
    }
    Err(io::Error::other("the lock file is replaced again and again"))
}

/// Locks an open directory; `None` where directories cannot be locked (some network file systems) or too many files are open.
pub(super) fn hold(path: &Path, alone: bool) -> io::Result<Option<Box<dyn Lock>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        Err(_) => return Ok(None),
    };
    let taken =
        if alone { file.try_lock() } else { file.lock_shared().map_err(TryLockError::Error) };
    match taken {
        // Whoever had it before us may have removed it.
        Ok(()) if !is_same_file(&file, path)? => Err(io::ErrorKind::NotFound.into()),
        Ok(()) => Ok(Some(Box::new(Flock::of(file)))),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

#[cfg(unix)]
pub(super) fn is_same_file(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let held = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(found) => Ok(held.dev() == found.dev() && held.ino() == found.ino()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
pub(super) fn is_same_file(_file: &File, path: &Path) -> io::Result<bool> {
    std::fs::exists(path)
}

#[cfg(test)]
mod tests {
    use super::{Flock, hold, lock};
    use std::io::ErrorKind;

    #[test]
    fn a_lock_ends_with_its_holder_though_others_have_the_file() {
        let path = std::env::temp_dir().join(format!("tambour-copy-{}", std::process::id()));
        let file = std::fs::File::create(&path).unwrap();
        file.try_lock().unwrap();
        // As in a process that is being started.
        let copy = file.try_clone().unwrap();
        let held = Flock::of(file);
        assert_eq!(lock(&path, "").unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(held);
        lock(&path, "").unwrap();
        // As in a fork of the holder: not its own to give back.
        copy.try_lock().unwrap();
        drop(Flock { file: copy.try_clone().unwrap(), process: 0 });
        assert_eq!(lock(&path, "").unwrap_err().kind(), ErrorKind::WouldBlock);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_directory_is_held_by_many_or_by_one() {
        let directory = std::env::temp_dir().join(format!("tambour-hold-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let first = hold(&directory, false).unwrap().unwrap();
        let second = hold(&directory, false).unwrap().unwrap();
        assert_eq!(hold(&directory, true).unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(first);
        assert_eq!(hold(&directory, true).unwrap_err().kind(), ErrorKind::WouldBlock);
        drop(second);
        let alone = hold(&directory, true).unwrap().unwrap();
        let waiting = directory.clone();
        let waiting = std::thread::spawn(move || hold(&waiting, false).unwrap_err().kind());
        std::fs::remove_dir(&directory).unwrap();
        drop(alone);
        assert_eq!(waiting.join().unwrap(), ErrorKind::NotFound);
        assert_eq!(hold(&directory, false).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn second_holder_is_refused_until_the_first_lets_go() {
        let directory = std::env::temp_dir().join(format!("tambour-flock-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join(".tambour.lock");
        let first = lock(&path, "1").unwrap();
        assert_eq!(lock(&path, "2").unwrap_err().kind(), ErrorKind::WouldBlock);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "1");
        drop(first);
        let second = lock(&path, "22").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "22");
        std::fs::remove_dir_all(&directory).unwrap();
        drop(second);
        assert_eq!(lock(&path, "3").unwrap_err().kind(), ErrorKind::NotFound);
    }
}
