//! A file system in memory that models a crash, for tests of every layer above.
//!
//! It keeps two images. The *live* one is what the process sees. The *durable* one is what a power cut leaves: contents
//! of a file as of its last sync, entries of a directory as of its last sync, and of everything since then any part may
//! have reached the disk or not ([`Fate`] chooses). What this model does not promise is what POSIX does not promise:
//! syncing a file does not make its name durable, and entries reach the disk in any order. A rename is atomic.
//!
//! Errors are injected by call number, so that a test can walk over every call of an operation.

mod state;

use self::state::{
    Change, Dice, Injection, Node, NodeId, ROOT, State, exists_already, not_found, survive,
};
use super::{Barrier, Entry, Lock, ReadAt, Storage, WriteFile};
use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Error number of a full disk.
pub const ENOSPC: i32 = 28;
/// Error number of a device that fails.
pub const EIO: i32 = 5;

/// What a power cut does to that which was not synced.
///
/// ```
/// use std::path::Path;
/// use tambour_storage::{Storage, memory::{Fate, Memory}};
/// let storage = Memory::new();
/// storage.create(Path::new("synced"))?.sync()?;
/// storage.sync_directory(Path::new(""))?;
/// storage.create(Path::new("not synced"))?;
/// let names = |storage: Memory| storage.list(Path::new("")).map(|entries| entries.len());
/// assert_eq!(names(storage.crash(Fate::Lost))?, 1);
/// assert_eq!(names(storage.crash(Fate::Kept))?, 2);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All of it is gone.
    Lost,
    /// All of it reached the disk.
    Kept,
    /// Each piece is kept or lost by a generator with this seed; unsynced ends of files are cut anywhere, and what is
    /// beyond the cut may be there as zeros.
    Drawn(u64),
    /// As [`Fate::Drawn`], but disks write in any order: of every page of the unsynced end of a file the bytes are there or
    /// are zeros, and the length is that of the last page that is there or of all of them.
    Reordered {
        /// Of the generator.
        seed: u64,
        /// What is written at once: 512 or 4096.
        page_bytes: usize,
    },
}

/// Which calls are counted by [`Memory::fail_at`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Calls that change something: create, write, sync, rename, remove.
    Writes,
    /// Calls that read: open, read, list, exists.
    Reads,
}

/// A file system in memory. Clones share the same state.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    state: Arc<Mutex<State>>,
}

impl Memory {
    /// An empty file system; the root directory exists, others must be created.
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counted calls that changed something, so far.
    pub fn writes(&self) -> u64 {
        self.state().writes
    }

    /// Counted calls that read, so far.
    pub fn reads(&self) -> u64 {
        self.state().reads
    }

    /// Makes one call fail with an error number ([`ENOSPC`], [`EIO`]): the one before which `calls_before` calls of this
    /// sort happen from now on. A failing write leaves half of its bytes.
    ///
    /// ```
    /// use std::path::Path;
    /// use tambour_storage::{Storage, memory::{Calls, ENOSPC, Memory}};
    /// let storage = Memory::new();
    /// storage.fail_at(Calls::Writes, 1, ENOSPC);
    /// let mut file = storage.create(Path::new("data"))?;
    /// assert_eq!(file.write_all(b"rows").unwrap_err().raw_os_error(), Some(ENOSPC));
    /// assert_eq!(storage.read(Path::new("data"), 4)?, b"ro", "half of it");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn fail_at(&self, calls: Calls, calls_before: u64, error: i32) {
        self.inject(calls, calls_before, error, false);
    }

    /// The same, and every later call of this sort fails as well: a disk that stays full, or a process that was killed.
    pub fn fail_from(&self, calls: Calls, calls_before: u64, error: i32) {
        self.inject(calls, calls_before, error, true);
    }

    fn inject(&self, calls: Calls, calls_before: u64, error: i32, sticky: bool) {
        let mut state = self.state();
        let done = match calls {
            Calls::Writes => state.writes,
            Calls::Reads => state.reads,
        };
        state.injections.push(Injection { calls, at: done + calls_before, error, sticky });
    }

    /// Forgets all injected errors.
    pub fn heal(&self) {
        self.state().injections.clear();
    }

    /// The file system as a power cut at this moment leaves it. This one stays as it is, so that a test can cut the
    /// power many times at the same place.
    #[must_use]
    pub fn crash(&self, fate: Fate) -> Self {
        let state = self.state();
        let mut dice = Dice(match fate {
            Fate::Drawn(seed) | Fate::Reordered { seed, .. } => seed,
            Fate::Lost | Fate::Kept => 0,
        });
        let mut after = State { nodes: state.nodes.clone(), ..State::default() };
        for change in &state.pending {
            let kept = match fate {
                Fate::Lost => false,
                Fate::Kept => true,
                Fate::Drawn(_) | Fate::Reordered { .. } => dice.roll(2) == 0,
            };
            if kept {
                after.settle(change);
            }
        }
        for node in &mut after.nodes {
            match node {
                Node::Directory { live, durable } => live.clone_from(durable),
                Node::File { live, durable } => {
                    *live = Arc::new(survive(live, durable, fate, &mut dice));
                    *durable = Arc::clone(live);
                }
            }
        }
        drop(state);
        Self { state: Arc::new(Mutex::new(after)) }
    }

    /// Sets a file's contents, live and durable, creating it and its directories if needed. Counts no call.
    ///
    /// ```
    /// use std::path::Path;
    /// use tambour_storage::{Storage, memory::Memory};
    /// let storage = Memory::new();
    /// storage.put(Path::new("hits/data.bin"), b"rows");
    /// assert_eq!(storage.read(Path::new("hits/data.bin"), 10)?, b"rows");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn put(&self, path: &Path, contents: &[u8]) {
        let mut state = self.state();
        let mut directory = ROOT;
        let components: Vec<_> = path
            .components()
            .filter_map(|component| match component {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect();
        let Some((name, directories)) = components.split_last() else { return };
        for step in directories {
            let known = state.children(directory).and_then(|children| children.get(*step)).copied();
            directory = known.unwrap_or_else(|| {
                let node = Node::Directory { live: BTreeMap::new(), durable: BTreeMap::new() };
                state.add(directory, step, node)
            });
        }
        let contents = Arc::new(contents.to_vec());
        let node = Node::File { live: Arc::clone(&contents), durable: contents };
        state.add(directory, name, node);
    }

    /// Copies a directory with all that is in it from another storage (the disk).
    pub fn copy_from(&self, source: &dyn Storage, from: &Path, to: &Path) -> io::Result<()> {
        for entry in source.list(from)? {
            let (from, to) = (from.join(&entry.name), to.join(&entry.name));
            if entry.is_directory {
                self.copy_from(source, &from, &to)?;
            } else {
                self.put(&to, &source.read(&from, u64::MAX)?);
            }
        }
        Ok(())
    }
}

/// A file opened for reading: its contents when it was opened.
#[derive(Debug)]
struct MemoryFile {
    memory: Memory,
    contents: Arc<Vec<u8>>,
}

impl ReadAt for MemoryFile {
    fn len(&self) -> u64 {
        self.contents.len() as u64
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        self.memory.state().count(Calls::Reads)?;
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.checked_add(target.len());
        let source = end.and_then(|end| self.contents.get(start..end));
        target.copy_from_slice(source.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// A file being written.
#[derive(Debug)]
struct MemoryWriter {
    memory: Memory,
    node: NodeId,
}

impl WriteFile for MemoryWriter {
    fn write_all(&mut self, source: &[u8]) -> io::Result<()> {
        let mut state = self.memory.state();
        let answer = state.count(Calls::Writes);
        let written = if answer.is_ok() { source } else { &source[..source.len() / 2] };
        if let Some(Node::File { live, .. }) = state.nodes.get_mut(self.node) {
            Arc::make_mut(live).extend_from_slice(written);
        }
        answer
    }
    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.memory.state();
        state.count(Calls::Writes)?;
        if let Some(Node::File { live, durable }) = state.nodes.get_mut(self.node) {
            *durable = Arc::clone(live);
        }
        Ok(())
    }
}

impl Storage for Memory {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        let mut state = self.state();
        state.count(Calls::Reads)?;
        let node = state.find(path).ok_or_else(|| not_found(path))?;
        match state.nodes.get(node) {
            Some(Node::File { live, .. }) => {
                Ok(Arc::new(MemoryFile { memory: self.clone(), contents: Arc::clone(live) }))
            }
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let mut state = self.state();
        state.count(Calls::Writes)?;
        let (parent, name) = state.parent(path)?;
        if state.find(path).is_some() {
            return Err(exists_already(path));
        }
        let node = state.nodes.len();
        state.nodes.push(Node::File { live: Arc::default(), durable: Arc::default() });
        state.change(vec![(parent, name, Some(node))]);
        Ok(Box::new(MemoryWriter { memory: self.clone(), node }))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.count(Calls::Writes)?;
        let (parent, name) = state.parent(path)?;
        if state.find(path).is_some() {
            return Err(exists_already(path));
        }
        let node = state.nodes.len();
        state.nodes.push(Node::Directory { live: BTreeMap::new(), durable: BTreeMap::new() });
        state.change(vec![(parent, name, Some(node))]);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.count(Calls::Writes)?;
        let node = state.find(from).ok_or_else(|| not_found(from))?;
        let (from_parent, from_name) = state.parent(from)?;
        let (to_parent, to_name) = state.parent(to)?;
        if let Some(target) = state.find(to).and_then(|target| state.children(target)) {
            if state.children(node).is_none() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            if !target.is_empty() {
                return Err(io::ErrorKind::DirectoryNotEmpty.into());
            }
        }
        state.change(vec![(from_parent, from_name, None), (to_parent, to_name, Some(node))]);
        Ok(())
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.count(Calls::Writes)?;
        let node = state.find(path).ok_or_else(|| not_found(path))?;
        match state.nodes.get_mut(node) {
            Some(Node::File { live, durable }) => {
                *durable = Arc::clone(live);
                Ok(())
            }
            _ => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.count(Calls::Writes)?;
        let directory = state.find(path).ok_or_else(|| not_found(path))?;
        if state.children(directory).is_none() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let (settled, pending) = std::mem::take(&mut state.pending)
            .into_iter()
            .partition(|change: &Change| change.iter().any(|(node, ..)| *node == directory));
        state.pending = pending;
        let settled: Vec<Change> = settled;
        for change in &settled {
            state.settle(change);
        }
        Ok(())
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let mut state = self.state();
        state.count(Calls::Reads)?;
        let directory = state.find(path).ok_or_else(|| not_found(path))?;
        let children = state.children(directory).ok_or(io::ErrorKind::NotADirectory)?;
        let entry = |(name, node): (&String, &NodeId)| {
            let length = match state.nodes.get(*node) {
                Some(Node::File { live, .. }) => Some(live.len() as u64),
                _ => None,
            };
            Entry {
                name: name.clone(),
                is_directory: length.is_none(),
                is_file: length.is_some(),
                length: length.unwrap_or(0),
            }
        };
        Ok(children.iter().map(entry).collect())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.count(Calls::Writes)?;
        let node = state.find(path).ok_or_else(|| not_found(path))?;
        if state.children(node).is_some() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let (parent, name) = state.parent(path)?;
        state.change(vec![(parent, name, None)]);
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        let directory = state.find(path).ok_or_else(|| not_found(path))?;
        if state.children(directory).is_none() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let (parent, name) = state.parent(path)?;
        state.remove_tree(directory)?;
        state.count(Calls::Writes)?;
        state.change(vec![(parent, name, None)]);
        Ok(())
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let mut state = self.state();
        state.count(Calls::Reads)?;
        Ok(state.find(path).is_some())
    }

    fn barrier(&self, _path: &Path) -> io::Result<Box<dyn Barrier>> {
        Ok(Box::new(MemoryBarrier { memory: self.clone() }))
    }

    fn lock(&self, path: &Path, note: &str) -> io::Result<Box<dyn Lock>> {
        let mut state = self.state();
        state.count(Calls::Writes)?;
        let (parent, name) = state.parent(path)?;
        if !state.locks.insert(path.to_owned()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let node = state.find(path).unwrap_or_else(|| {
            let node = state.nodes.len();
            state.nodes.push(Node::File { live: Arc::default(), durable: Arc::default() });
            state.change(vec![(parent, name, Some(node))]);
            node
        });
        if let Some(Node::File { live, .. }) = state.nodes.get_mut(node) {
            *live = Arc::new(note.as_bytes().to_vec());
        }
        Ok(Box::new(MemoryLock { memory: self.clone(), path: path.to_owned() }))
    }
}

/// Syncs the whole file system.
#[derive(Debug)]
struct MemoryBarrier {
    memory: Memory,
}

impl Barrier for MemoryBarrier {
    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.memory.state();
        state.count(Calls::Writes)?;
        for change in std::mem::take(&mut state.pending) {
            state.settle(&change);
        }
        for node in &mut state.nodes {
            if let Node::File { live, durable } = node {
                *durable = Arc::clone(live);
            }
        }
        Ok(())
    }
}

/// Gives the lock back when it is dropped.
#[derive(Debug)]
struct MemoryLock {
    memory: Memory,
    path: PathBuf,
}

impl Lock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        self.memory.state().locks.remove(&self.path);
    }
}

#[cfg(test)]
mod tests;
