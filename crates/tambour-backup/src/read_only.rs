//! A storage over files that have names and cannot be changed.

use crate::names::plain;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::{Barrier, Entry, Lock, ReadAt, Storage, WriteFile};

/// Files by their names below a root.
pub(crate) trait Files: Send + Sync + std::fmt::Debug {
    /// Opens a file for reading; `NotFound` if there is none.
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>>;
    /// What a directory holds.
    fn list(&self, name: &str) -> Option<Vec<Entry>>;
    /// True for a file or directory.
    fn exists(&self, name: &str) -> bool;
}

/// The storage: paths below the root are names, everything else is not there.
#[derive(Debug)]
pub(crate) struct ReadOnly {
    root: PathBuf,
    files: Arc<dyn Files>,
}

impl ReadOnly {
    pub(crate) fn over(root: &Path, files: Arc<dyn Files>) -> Arc<dyn Storage> {
        Arc::new(Self { root: root.to_owned(), files })
    }

    fn name(&self, path: &Path) -> io::Result<String> {
        let name = path.strip_prefix(&self.root).ok().and_then(plain);
        name.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// What every attempt to write is answered.
fn refused<T>() -> io::Result<T> {
    let what = "a backup or an archive is read only; import or restore it first";
    Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, what))
}

impl Storage for ReadOnly {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        self.files.open(&self.name(path)?)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        self.files.list(&self.name(path)?).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.name(path).is_ok_and(|name| self.files.exists(&name)))
    }
    fn create(&self, _path: &Path) -> io::Result<Box<dyn WriteFile>> {
        refused()
    }
    fn create_directory(&self, _path: &Path) -> io::Result<()> {
        refused()
    }
    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        refused()
    }
    fn sync_file(&self, _path: &Path) -> io::Result<()> {
        refused()
    }
    fn sync_directory(&self, _path: &Path) -> io::Result<()> {
        refused()
    }
    fn remove_file(&self, _path: &Path) -> io::Result<()> {
        refused()
    }
    fn remove_directory(&self, _path: &Path) -> io::Result<()> {
        refused()
    }
    fn lock(&self, _path: &Path, _note: &str) -> io::Result<Box<dyn Lock>> {
        refused()
    }
    fn barrier(&self, _path: &Path) -> io::Result<Box<dyn Barrier>> {
        refused()
    }
}
