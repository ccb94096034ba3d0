//! A database: bytes at offsets, kept in the pages of a store.
//!
//! Page 0 of the store says how long the file is; the bytes begin with page 1.

use crate::Settings;
use crate::cache::Cache;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use tambour_page::{Access, Durability, Options, PageError, Store};

/// The first bytes of page 0.
const MAGIC: [u8; 8] = *b"TAMBSQL1";
/// Bytes of changed pages that wait in memory before they are written without a sync.
const DIRTY_BYTES_MAX: usize = 64 << 20;

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

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    store: Store,
    /// Length of the file in bytes.
    size: u64,
    stored_size: u64,
    /// From this page of the store on nothing counts that it has: the file was cut there since the last commit.
    cut: u64,
    dirty: BTreeMap<u64, Vec<u8>>,
    cache: Cache,
    writable: bool,
}

impl Database {
    /// Opens a database, or makes one.
    pub(crate) fn open(
        path: &Path,
        writable: bool,
        create: bool,
        settings: &Settings,
    ) -> Result<Self, DatabaseError> {
        let is_new = create && make_room(path).map_err(|cause| unusable(path, cause))?;
        let store = if is_new {
            let options = Options {
                page_bytes: settings.page_bytes,
                layout: settings.layout,
                codec: settings.codec,
                ..Options::default()
            };
            Store::create(path, &options)?
        } else {
            Store::open(path, if writable { Access::Write } else { Access::Read })?
        };
        let cache = Cache::new(settings.cache_bytes, store.page_bytes());
        let (cut, dirty) = (u64::MAX, BTreeMap::new());
        let mut database = Self { store, size: 0, stored_size: 0, cut, dirty, cache, writable };
        if !database.store.is_empty() {
            let mut head = vec![0; database.store.page_bytes()];
            database.store.read(0, &mut head)?;
            if head[..8] != MAGIC {
                return Err(DatabaseError::NoDatabase { path: path.to_owned() });
            }
            database.size = head[8..16].try_into().map_or(0, u64::from_le_bytes);
            database.stored_size = database.size;
        }
        Ok(database)
    }

    /// Refuses to change what was opened for reading.
    pub(crate) fn check_writable(&self) -> Result<(), DatabaseError> {
        if self.writable {
            return Ok(());
        }
        Err(PageError::ReadOnly { path: self.store.path().to_owned() }.into())
    }

    /// Length of the file in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Page of the store and offset in it.
    fn place(&self, offset: u64) -> (u64, usize) {
        let bytes = self.store.page_bytes() as u64;
        (offset / bytes + 1, usize::try_from(offset % bytes).unwrap_or(0))
    }

    /// Fills `target` from `offset`; what lies behind the end is zeros. `false` if something did.
    pub(crate) fn read(&mut self, target: &mut [u8], offset: u64) -> Result<bool, DatabaseError> {
        let inside = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let inside = inside.min(target.len());
        target[inside..].fill(0);
        let mut done = 0;
        while done < inside {
            let (page, start) = self.place(offset + done as u64);
            let count = (self.store.page_bytes() - start).min(inside - done);
            let piece = &mut target[done..done + count];
            let content = match self.dirty.get(&page) {
                Some(content) => content,
                None => cached(&mut self.cache, &mut self.store, page, self.cut)?,
            };
            piece.copy_from_slice(&content[start..start + count]);
            done += count;
        }
        Ok(inside == target.len())
    }

    /// Changes bytes; what lies between the end and `offset` becomes zeros.
    pub(crate) fn write(&mut self, source: &[u8], offset: u64) -> Result<(), DatabaseError> {
        self.check_writable()?;
        let mut done = 0;
        while done < source.len() {
            let (page, start) = self.place(offset + done as u64);
            let count = (self.store.page_bytes() - start).min(source.len() - done);
            self.changed(page)?[start..start + count].copy_from_slice(&source[done..done + count]);
            done += count;
            // What was written counts even if the next page cannot be read.
            self.size = self.size.max(offset + done as u64);
        }
        if self.dirty.len() * self.store.page_bytes() > DIRTY_BYTES_MAX {
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
                let content = cached(&mut self.cache, &mut self.store, page, self.cut)?.to_vec();
                self.cache.remove(page);
                Ok(place.insert(content))
            }
        }
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
            self.cache.forget_from(keep);
            self.cut = self.cut.min(keep);
        }
        self.size = size;
        Ok(())
    }

    /// Commits what has changed.
    pub(crate) fn flush(&mut self, durability: Durability) -> Result<(), DatabaseError> {
        if !self.writable && self.dirty.is_empty() && self.size == self.stored_size {
            return Ok(());
        }
        self.check_writable()?;
        // Of the pages that were cut off, those count that were written since.
        let gone = |page: &u64| self.store.contains(*page) && !self.dirty.contains_key(page);
        let gone: Vec<u64> = (self.cut..self.store.len()).filter(gone).collect();
        let page_bytes = self.store.page_bytes();
        let mut batch = self.store.batch()?;
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
        self.cut = u64::MAX;
        for (page, content) in std::mem::take(&mut self.dirty) {
            self.cache.put(page, &content);
        }
        Ok(())
    }

    /// Writes what waits and folds the log, so that the file can be opened without a replay.
    pub(crate) fn close(mut self) -> Result<(), DatabaseError> {
        self.flush(Durability::Async)?;
        Ok(self.store.close()?)
    }
}

/// A page as the store has it; zeros if it has none, or was cut off.
fn cached<'a>(
    cache: &'a mut Cache,
    store: &mut Store,
    page: u64,
    cut: u64,
) -> Result<&'a [u8], DatabaseError> {
    cache.get_or(page, |content| {
        if page < cut && store.contains(page) {
            store.read(page, content)?;
        } else {
            content.fill(0);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of plain bytes does the same.
    #[derive(Default)]
    struct Plain(Vec<u8>);

    impl Plain {
        fn write(&mut self, source: &[u8], offset: usize) {
            self.0.resize(self.0.len().max(offset + source.len()), 0);
            self.0[offset..offset + source.len()].copy_from_slice(source);
        }
    }

    fn content(database: &mut Database) -> Vec<u8> {
        let mut content = vec![9; usize::try_from(database.size()).unwrap()];
        assert!(database.read(&mut content, 0).unwrap());
        content
    }

    fn reopened(database: Database, path: &Path) -> Database {
        database.close().unwrap();
        Database::open(path, true, false, &Settings::default()).unwrap()
    }

    #[test]
    fn what_was_cut_off_is_zeros_when_the_file_grows_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let mut database = Database::open(&path, true, true, &Settings::default()).unwrap();
        database.write(&vec![7; 10 * 4096], 0).unwrap();
        database.flush(Durability::Sync).unwrap();
        // Back to more than a page, then longer than before, by a write and by setting the length.
        for grown in [12 * 4096, 3 * 4096 + 1] {
            database.truncate(4096 + 100).unwrap();
            database.write(&[8], grown).unwrap();
            database.truncate(grown + 5000).unwrap();
            let mut wanted = vec![7; 4096 + 100];
            wanted.resize(usize::try_from(grown).unwrap(), 0);
            wanted.push(8);
            wanted.resize(wanted.len() + 4999, 0);
            assert!(content(&mut database) == wanted, "before the commit");
            database.flush(Durability::Sync).unwrap();
            assert!(content(&mut database) == wanted, "after it");
            database = reopened(database, &path);
            assert!(content(&mut database) == wanted, "from the disk");
        }
    }

    #[test]
    fn cuts_and_writes_in_any_order_leave_what_a_plain_file_has() {
        let directory = tempfile::tempdir().unwrap();
        for seed in 0..8_u64 {
            let path = directory.path().join(format!("{seed}.db"));
            let mut database = Database::open(&path, true, true, &Settings::default()).unwrap();
            let mut plain = Plain::default();
            let mut state = seed;
            let mut below = |end: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99_991);
                (state >> 33) % end
            };
            for step in 0..200_u8 {
                let offset = below(60_000);
                match below(8) {
                    0 | 1 => {
                        database.truncate(offset).unwrap();
                        plain.0.resize(usize::try_from(offset).unwrap(), 0);
                    }
                    2 => database.flush(Durability::Async).unwrap(),
                    3 if below(4) == 0 => database = reopened(database, &path),
                    _ => {
                        let bytes = vec![step | 1; usize::try_from(below(9000)).unwrap() + 1];
                        database.write(&bytes, offset).unwrap();
                        plain.write(&bytes, usize::try_from(offset).unwrap());
                    }
                }
                assert!(content(&mut database) == plain.0, "seed {seed}, step {step}");
            }
        }
    }

    #[test]
    fn a_cut_that_fails_leaves_everything_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let settings = Settings { codec: tambour_page::PageCodec::NONE, ..Settings::default() };
        let mut database = Database::open(&path, true, true, &settings).unwrap();
        let pages: Vec<u8> = [1_u8, 2, 3, 4].iter().flat_map(|value| [*value; 4096]).collect();
        database.write(&pages, 0).unwrap();
        database.close().unwrap();
        let mut bytes = std::fs::read(&path).unwrap();
        let image = bytes.windows(4096).position(|bytes| bytes == [2; 4096]).unwrap();
        bytes[image + 7] ^= 1;
        std::fs::write(&path, bytes).unwrap();

        let mut database = Database::open(&path, true, false, &settings).unwrap();
        // A change that waits, behind the cut.
        database.write(&[9; 10], 3 * 4096).unwrap();
        let mut wanted = pages[2 * 4096..].to_vec();
        wanted[4096..4106].fill(9);
        let tail = |database: &mut Database| {
            let mut content = vec![0; 2 * 4096];
            assert!(database.read(&mut content, 2 * 4096).unwrap());
            content
        };
        let error = database.truncate(4096 + 100).unwrap_err();
        assert!(matches!(error, DatabaseError::Store(PageError::Page { .. })), "{error:?}");
        assert_eq!(database.size(), 4 * 4096);
        assert!(tail(&mut database) == wanted, "before the commit");
        database.flush(Durability::Sync).unwrap();
        assert!(tail(&mut database) == wanted, "after it");
        let mut database = reopened(database, &path);
        assert!(tail(&mut database) == wanted, "from the disk");
        // Cuts that need not read the page do.
        database.truncate(4096).unwrap();
        assert!(content(&mut database) == pages[..4096]);
    }

    #[test]
    fn an_empty_file_goes_unless_it_is_a_store_or_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        assert!(make_room(&path).unwrap());
        let file = File::create(&path).unwrap();
        file.lock().unwrap();
        let error = make_room(&path).map_err(|cause| unusable(&path, cause)).unwrap_err();
        assert!(matches!(error, PageError::Locked { .. }), "{error}");
        drop(file);
        let map = directory.path().join("a.db.map");
        File::create(&map).unwrap();
        assert!(!make_room(&path).unwrap());
        std::fs::remove_file(&map).unwrap();
        assert!(make_room(&path).unwrap());
        assert!(!path.exists());
    }
}
