//! A database: bytes at offsets, kept in the pages of a store.
//!
//! Page 0 of the store says how long the file is; the bytes begin with page 1.

use crate::Settings;
use crate::cache::Cache;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tambour_page::{Access, Durability, Generation, Options, PageError, Store, Turns};

/// The first bytes of page 0.
const MAGIC: [u8; 8] = *b"TAMBSQL1";
/// Bytes of changed pages that wait in memory before they are written without a sync.
const DIRTY_BYTES_MAX: usize = 64 << 20;

/// Where a database says with two bytes, for writing and for reading, whether it has a write-ahead log (2) or not (1).
const VERSIONS_AT: u64 = 18;

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The store says no.
    #[error(transparent)]
    Store(#[from] PageError),
    /// A store that holds something else.
    #[error("{path:?} is a page store, but holds no SQLite database")]
    NoDatabase {
        /// The file.
        path: std::path::PathBuf,
    },
}

/// Device and inode of a file.
pub(crate) type Identity = (u64, u64);

/// Of the file that has this name now; `None` if there is none, or it cannot be told.
pub(crate) fn named(path: &Path) -> Option<Identity> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// True if nothing is at `path`, so that a store can be made there. An empty file, which SQLite makes where it tests whether
/// it may, goes; but one with a map beside it is a store with holes, whose commits are all in the map.
fn make_room(path: &Path) -> io::Result<bool> {
    let length = match std::fs::metadata(path) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    let mut map = path.as_os_str().to_owned();
    map.push(".map");
    let map = Path::new(&map);
    if length > 0 || map.try_exists()? {
        return Ok(false);
    }
    // Whoever makes a store there has it locked.
    let file = File::options().read(true).write(true).open(path)?;
    file.try_lock()?;
    let (locked, named) = (file.metadata()?, std::fs::metadata(path)?);
    let is_same = (locked.dev(), locked.ino()) == (named.dev(), named.ino());
    if !is_same || named.len() > 0 || map.try_exists()? {
        return Ok(false);
    }
    std::fs::remove_file(path)?;
    Ok(true)
}

fn unusable(path: &Path, cause: io::Error) -> PageError {
    let path = path.to_owned();
    match cause.kind() {
        io::ErrorKind::WouldBlock => PageError::Locked { path },
        _ => PageError::File { operation: "open", path, cause },
    }
}

/// Memory that SQLite wants filled, from its start on. It holds no values before.
#[derive(Debug)]
pub(crate) struct Room<'a>(&'a mut [MaybeUninit<u8>]);

impl<'a> Room<'a> {
    pub(crate) fn new(memory: &'a mut [MaybeUninit<u8>]) -> Self {
        Self(memory)
    }

    /// Bytes that are still to be filled.
    fn left(&self) -> usize {
        self.0.len()
    }

    /// Fills the next bytes with these, of which there are no more than are left.
    fn push(&mut self, bytes: &[u8]) {
        let (start, rest) = std::mem::take(&mut self.0).split_at_mut(bytes.len());
        start.write_copy_of_slice(bytes);
        self.0 = rest;
    }

    /// Fills all that is left.
    pub(crate) fn fill_rest(&mut self, value: u8) {
        for byte in std::mem::take(&mut self.0) {
            byte.write(value);
        }
    }
}

/// An open database. All calls but those that begin and end are made between [`Database::begin`] and [`Database::end`].
#[derive(Debug)]
pub(crate) struct Database {
    turns: Turns,
    /// Length of the file in bytes.
    size: u64,
    stored_size: u64,
    /// The commit of the store that wrote page 0, from which the length was read.
    sized_at: Option<Generation>,
    /// What was known of the store: its number, and its last commit.
    known: Option<(u64, Generation)>,
    /// From this page of the store on nothing counts that it has: the file was cut there since the last commit.
    cut: u64,
    dirty: BTreeMap<u64, Vec<u8>>,
    cache: Cache,
}

impl Database {
    /// Opens a database, or makes one. Nothing is locked then.
    pub(crate) fn open(
        path: &Path,
        create: bool,
        settings: &Settings,
    ) -> Result<Self, DatabaseError> {
        let options = Options {
            page_bytes: settings.page_bytes,
            layout: settings.layout,
            codec: settings.codec,
            ..Options::default()
        };
        let is_new = create && make_room(path).map_err(|cause| unusable(path, cause))?;
        let made = if is_new { Some(Turns::create(path, &options)) } else { None };
        let mut turns = match made {
            // Another process was faster.
            None | Some(Err(PageError::Exists { .. })) => Turns::open(path)?,
            Some(made) => made?,
        };
        turns.set_hot_codec(settings.hot)?;
        let cache = Cache::new(settings.cache_bytes, turns.page_bytes());
        let (cut, dirty, sized_at, known) = (u64::MAX, BTreeMap::new(), None, None);
        let mut database =
            Self { turns, size: 0, stored_size: 0, sized_at, known, cut, dirty, cache };
        match database.peek() {
            Ok(()) => database.end(),
            // Somebody writes: what is there is seen when it is read.
            Err(DatabaseError::Store(PageError::Locked { .. })) => {}
            Err(error) => return Err(error),
        }
        Ok(database)
    }

    /// The file that is open, whatever its name is by now.
    pub(crate) fn identity(&self) -> Result<Identity, DatabaseError> {
        let unknown = || {
            let path = self.turns.path();
            DatabaseError::Store(unusable(path, io::ErrorKind::Unsupported.into()))
        };
        self.turns.identity()?.ok_or_else(unknown)
    }

    /// False if the system lets this process only read.
    pub(crate) fn is_writable(&self) -> bool {
        self.turns.is_writable()
    }

    /// Begins to read; waits a little for somebody who closes the file.
    pub(crate) fn begin(&mut self) -> Result<(), DatabaseError> {
        self.turns.wait(Access::Read)?;
        self.measure()
    }

    /// Begins to read if that goes at once.
    pub(crate) fn peek(&mut self) -> Result<(), DatabaseError> {
        self.turns.take(Access::Read)?;
        self.measure()
    }

    /// Begins to write, after [`Database::begin`].
    pub(crate) fn begin_write(&mut self) -> Result<(), DatabaseError> {
        Ok(self.turns.wait(Access::Write)?)
    }

    /// Goes back to reading. What waits is written; if it cannot be, it is dropped: SQLite has its journal for that.
    pub(crate) fn end_write(&mut self) -> Result<(), DatabaseError> {
        let flushed = self.flush(Durability::Async);
        if flushed.is_err() {
            self.dirty.clear();
            self.cut = u64::MAX;
            self.size = self.stored_size;
        }
        self.turns.lower()?;
        flushed
    }

    /// Ends reading.
    pub(crate) fn end(&mut self) {
        self.turns.give();
    }

    /// Finds out how long the file is, if somebody may have changed that.
    fn measure(&mut self) -> Result<(), DatabaseError> {
        let path = self.turns.path().to_owned();
        let measured = self.read_head(&path);
        if measured.is_err() {
            self.turns.give();
        }
        measured
    }

    fn read_head(&mut self, path: &Path) -> Result<(), DatabaseError> {
        let store = store(&mut self.turns)?;
        let now = (store.file_id(), store.generation());
        let before = self.known.replace(now);
        if before.is_some_and(|before| before.0 != now.0 || before.1 > now.1) {
            // Somebody has copied another store into the file, or an older state of this one: commits of the same number
            // are others.
            self.cache.clear();
            self.sized_at = None;
        }
        let written = Some(store.written_at(0));
        if self.sized_at == written {
            return Ok(());
        }
        let mut size = 0;
        if !store.is_empty() {
            let mut head = vec![0; store.page_bytes()];
            store.read(0, &mut head)?;
            if head[..8] != MAGIC {
                return Err(DatabaseError::NoDatabase { path: path.to_owned() });
            }
            size = head[8..16].try_into().map_or(0, u64::from_le_bytes);
        }
        (self.size, self.stored_size, self.sized_at) = (size, size, written);
        Ok(())
    }

    /// Refuses to change what the system lets us only read.
    fn check_writable(&self) -> Result<(), DatabaseError> {
        if self.turns.is_writable() {
            return Ok(());
        }
        Err(PageError::ReadOnly { path: self.turns.path().to_owned() }.into())
    }

    /// Length of the file in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Page of the store and offset in it.
    fn place(&self, offset: u64) -> (u64, usize) {
        let bytes = self.turns.page_bytes() as u64;
        (offset / bytes + 1, usize::try_from(offset % bytes).unwrap_or(0))
    }

    /// Fills `target` from `offset`; what lies past the end is zeros. `false` if something did.
    pub(crate) fn read(
        &mut self,
        target: &mut Room<'_>,
        offset: u64,
    ) -> Result<bool, DatabaseError> {
        let inside = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let inside = inside.min(target.left());
        let mut done = 0;
        while done < inside {
            let (page, start) = self.place(offset + done as u64);
            let count = (self.turns.page_bytes() - start).min(inside - done);
            let content = match self.dirty.get(&page) {
                Some(content) => content,
                None => cached(&mut self.cache, &mut self.turns, page, self.cut)?,
            };
            target.push(&content[start..start + count]);
            done += count;
        }
        let is_whole = target.left() == 0;
        target.fill_rest(0);
        Ok(is_whole)
    }

    /// Changes bytes; what lies between the end and `offset` becomes zeros.
    pub(crate) fn write(&mut self, source: &[u8], offset: u64) -> Result<(), DatabaseError> {
        self.check_writable()?;
        let page_bytes = self.turns.page_bytes();
        let mut done = 0;
        while done < source.len() {
            let (page, start) = self.place(offset + done as u64);
            let count = (page_bytes - start).min(source.len() - done);
            let piece = &source[done..done + count];
            if count == page_bytes {
                // All of it is new, so that what was there need not be decoded.
                self.cache.remove(page);
                self.dirty.insert(page, piece.to_vec());
            } else {
                self.changed(page)?[start..start + count].copy_from_slice(piece);
            }
            done += count;
            // What was written counts even if the next page cannot be read.
            self.size = self.size.max(offset + done as u64);
        }
        if self.dirty.len() * page_bytes > DIRTY_BYTES_MAX {
            // The rollback journal, which was synced before, can undo it.
            self.flush(Durability::Async)?;
        }
        Ok(())
    }

    /// A page that waits from now on for the next commit.
    fn changed(&mut self, page: u64) -> Result<&mut [u8], DatabaseError> {
        match self.dirty.entry(page) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(place) => {
                let content = cached(&mut self.cache, &mut self.turns, page, self.cut)?.to_vec();
                self.cache.remove(page);
                Ok(place.insert(content))
            }
        }
    }

    /// Cuts the file, or lengthens it with zeros, as SQLite has it done. With a write-ahead log that is the end of a checkpoint:
    /// the log is written anew next, so what it had must be in the file then, whether or not SQLite syncs.
    pub(crate) fn resize(&mut self, size: u64) -> Result<(), DatabaseError> {
        self.truncate(size)?;
        if self.says_log()? { self.flush(Durability::Async) } else { Ok(()) }
    }

    /// Cuts the file, or lengthens it with zeros. What fails changes nothing.
    pub(crate) fn truncate(&mut self, size: u64) -> Result<(), DatabaseError> {
        self.check_writable()?;
        if size < self.size {
            let (last, start) = self.place(size);
            let keep = if start == 0 { last } else { last + 1 };
            if start > 0 {
                // The only step that can fail, as the page may have to be read.
                self.changed(last)?[start..].fill(0);
            }
            self.dirty.retain(|page, _| *page < keep);
            self.cut = self.cut.min(keep);
        }
        self.size = size;
        Ok(())
    }

    /// Commits what has changed.
    pub(crate) fn flush(&mut self, durability: Durability) -> Result<(), DatabaseError> {
        let is_changed = !self.dirty.is_empty() || self.size != self.stored_size;
        if !is_changed && (durability == Durability::Async || !self.turns.is_writable()) {
            return Ok(());
        }
        self.check_writable()?;
        if is_changed {
            // SQLite has the lock for it.
            self.turns.take(Access::Write)?;
        }
        let store = store(&mut self.turns)?;
        // Of the pages that were cut off, those count that were written since.
        let gone = |page: &u64| store.contains(*page) && !self.dirty.contains_key(page);
        let gone: Vec<u64> = (self.cut..store.len()).filter(gone).collect();
        let page_bytes = store.page_bytes();
        let mut batch = store.batch()?;
        for (page, content) in &self.dirty {
            batch.put(*page, content)?;
        }
        for page in gone {
            batch.free(page)?;
        }
        if self.size != self.stored_size {
            let mut head = vec![0; page_bytes];
            head[..8].copy_from_slice(&MAGIC);
            head[8..16].copy_from_slice(&self.size.to_le_bytes());
            batch.put(0, &head)?;
        }
        batch.commit(durability)?;
        self.stored_size = self.size;
        self.sized_at = Some(store.written_at(0));
        self.cut = u64::MAX;
        for (page, content) in std::mem::take(&mut self.dirty) {
            self.cache.put(page, store.written_at(page), &content);
        }
        Ok(())
    }

    /// Folds the log, so that the file can be opened without a replay, unless somebody else is at work.
    pub(crate) fn close(mut self) -> Result<(), DatabaseError> {
        if self.is_writable() && self.peek().is_ok() {
            let marked = self.has_log_mark();
            self.end();
            if marked? && self.turns.take(Access::Write).is_ok() {
                let left = self.measure().and_then(|()| self.leave_log());
                self.end();
                left?;
            }
        }
        Ok(self.turns.close()?)
    }

    /// Whether the database says that it has a write-ahead log, and has none.
    fn has_log_mark(&mut self) -> Result<bool, DatabaseError> {
        let mut log = self.turns.path().as_os_str().to_owned();
        log.push("-wal");
        Ok(!Path::new(&log).exists() && self.says_log()?)
    }

    /// Whether the database says that it has a write-ahead log.
    fn says_log(&mut self) -> Result<bool, DatabaseError> {
        if self.size < VERSIONS_AT + 2 {
            return Ok(false);
        }
        let (page, start) = self.place(VERSIONS_AT);
        let content = match self.dirty.get(&page) {
            Some(content) => content,
            None => cached(&mut self.cache, &mut self.turns, page, self.cut)?,
        };
        Ok(content[start..start + 2] == [2, 2])
    }

    /// Such a database could be opened only by who can have a log. With nothing in the log any more, the header can say that
    /// there is none.
    fn leave_log(&mut self) -> Result<(), DatabaseError> {
        if self.has_log_mark()? {
            self.write(&[1, 1], VERSIONS_AT)?;
            self.flush(Durability::Sync)?;
        }
        Ok(())
    }
}

fn store(turns: &mut Turns) -> Result<&mut Store, PageError> {
    let path = turns.path().to_owned();
    turns.store().ok_or(PageError::Locked { path })
}

/// A page as the store has it; zeros if it has none, or was cut off.
fn cached<'a>(
    cache: &'a mut Cache,
    turns: &mut Turns,
    page: u64,
    cut: u64,
) -> Result<&'a [u8], DatabaseError> {
    let store = store(turns)?;
    let written = if page < cut { store.written_at(page) } else { 0 };
    cache.get_or(page, written, |content| {
        if written > 0 {
            store.read(page, content)?;
        } else {
            content.fill(0);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
