//! Parts that need not survive a crash: spilled runs that will be merged are never synced.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tambour_storage::{Barrier, Entry, Lock, ReadAt, Storage, WriteFile};

/// Decides late whether what was written through a [`Draft`] is made durable.
#[derive(Clone, Debug, Default)]
pub(super) struct Durability(Arc<AtomicBool>);

impl Durability {
    /// From now on syncs are real.
    pub(super) fn require(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_required(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Another storage, whose syncs do nothing until durability is required.
#[derive(Debug)]
pub(super) struct Draft {
    inner: Arc<dyn Storage>,
    durability: Durability,
}

impl Draft {
    /// A storage for one part, and what decides about it.
    pub(super) fn over(inner: &Arc<dyn Storage>) -> (Arc<dyn Storage>, Durability) {
        let durability = Durability::default();
        let draft = Self { inner: Arc::clone(inner), durability: durability.clone() };
        (Arc::new(draft), durability)
    }
}

#[derive(Debug)]
struct DraftFile {
    inner: Box<dyn WriteFile>,
    durability: Durability,
}

impl WriteFile for DraftFile {
    fn write_all(&mut self, source: &[u8]) -> io::Result<()> {
        self.inner.write_all(source)
    }
    fn sync(&mut self) -> io::Result<()> {
        if self.durability.is_required() { self.inner.sync() } else { Ok(()) }
    }
}

impl Storage for Draft {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        self.inner.open(path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let (inner, durability) = (self.inner.create(path)?, self.durability.clone());
        Ok(Box::new(DraftFile { inner, durability }))
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.create_directory(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.link(from, to)
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        if self.durability.is_required() { self.inner.sync_file(path) } else { Ok(()) }
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        if self.durability.is_required() { self.inner.sync_directory(path) } else { Ok(()) }
    }
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        self.inner.list(path)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_file(path)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.inner.remove_directory(path)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }
    fn barrier(&self, path: &Path) -> io::Result<Box<dyn Barrier>> {
        self.inner.barrier(path)
    }
    fn lock(&self, path: &Path, note: &str) -> io::Result<Box<dyn Lock>> {
        self.inner.lock(path, note)
    }
}
