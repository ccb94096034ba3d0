//! A storage over files that have names and cannot be changed.

use crate::{Barrier, Entry, Lock, ReadAt, Storage, WriteFile};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Files by their names below a root.
pub trait Files: Send + Sync + std::fmt::Debug {
    /// Opens a file for reading; `NotFound` if there is none.
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>>;
    /// What a directory holds, sorted by name; `NotFound` if there is none.
    fn list(&self, name: &str) -> io::Result<Vec<Entry>>;
    /// True for a file or directory.
    fn exists(&self, name: &str) -> io::Result<bool>;
}

/// The storage: paths below the root are names, everything else is not there.
#[derive(Debug)]
pub struct ReadOnly {
    root: PathBuf,
    files: Arc<dyn Files>,
    refusal: &'static str,
}

impl ReadOnly {
    /// Files below `root`. Every attempt to write is answered with the refusal, which says what to do instead.
    pub fn over(root: &Path, files: Arc<dyn Files>, refusal: &'static str) -> Arc<dyn Storage> {
        Arc::new(Self { root: root.to_owned(), files, refusal })
    }

    fn name(&self, path: &Path) -> io::Result<String> {
        let name = path.strip_prefix(&self.root).ok().and_then(plain);
        name.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn refused<T>(&self) -> io::Result<T> {
        Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, self.refusal))
    }
}

/// A relative path as a name with `/` between its parts; `None` if it leads out of its root or is not UTF-8.
pub fn plain(path: &Path) -> Option<String> {
    let mut name = String::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => {
                if !name.is_empty() {
                    name.push('/');
                }
                name.push_str(part.to_str()?);
            }
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    Some(name)
}

impl Storage for ReadOnly {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        self.files.open(&self.name(path)?)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        self.files.list(&self.name(path)?)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.name(path).map_or(Ok(false), |name| self.files.exists(&name))
    }
    fn create(&self, _path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.refused()
    }
    fn create_directory(&self, _path: &Path) -> io::Result<()> {
        self.refused()
    }
    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        self.refused()
    }
    fn sync_file(&self, _path: &Path) -> io::Result<()> {
        self.refused()
    }
    fn sync_directory(&self, _path: &Path) -> io::Result<()> {
        self.refused()
    }
    fn remove_file(&self, _path: &Path) -> io::Result<()> {
        self.refused()
    }
    fn remove_directory(&self, _path: &Path) -> io::Result<()> {
        self.refused()
    }
    fn lock(&self, _path: &Path, _note: &str) -> io::Result<Box<dyn Lock>> {
        self.refused()
    }
    fn barrier(&self, _path: &Path) -> io::Result<Box<dyn Barrier>> {
        self.refused()
    }
}
