//! Several processes that write one store, by turns.
//!
//! A [`Store`] is locked as long as it is open. What opens it here is not: each turn locks the files, brings what is known up
//! to date with what others have committed since, and gives them back. An idle one is in nobody's way; a reader with a turn
//! keeps writers out and the other way round, also those who have the store open alone.
//!
//! What is cheap: a turn in which nothing has changed costs two reads of a superblock and one of the place where the next
//! commit would be. Commits of others are applied one by one; only past a checkpoint of theirs is the map read anew.

use super::PageError;
use super::open::{self, Files};
use super::options::{Layout, Options, PageCodec};
use super::shared::map_path;
use super::store::Store;
use super::superblock;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tambour_storage::place::{Access, File, disk};

/// So often [`Turns::wait`] looks again, and so waits half a second, for who opens or closes the store, and takes a look or a checkpoint for it.
const LOOKS: usize = 500;
/// Between two of its looks.
const PAUSE: Duration = Duration::from_millis(1);

/// A store that this process uses by turns with others.
///
/// ```
/// use tambour_page::{Access, Options, Turns};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("shared.pages");
/// let mut turns = Turns::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
/// assert!(turns.store().is_none(), "nobody has a turn");
/// turns.take(Access::Write)?;
/// assert!(turns.store().is_some());
/// turns.give();
/// turns.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Turns {
    path: PathBuf,
    pack: Arc<dyn File>,
    home: Option<Arc<dyn File>>,
    writable: bool,
    page_bytes: usize,
    hot_codec: Option<PageCodec>,
    store: Option<Store>,
    held: Option<Access>,
    /// Somebody has written between a turn for reading and the turn for writing that it was to become.
    overtaken: bool,
    /// There was a turn for writing.
    wrote: bool,
}

impl Turns {
    /// Makes a store on this machine's disk. Nobody has a turn.
    pub fn create(path: &Path, options: &Options) -> Result<Self, PageError> {
        let store = Store::create(path, options)?;
        let pack = store.shared.pack.file.clone();
        let home = store.shared.home.as_ref().map(|home| home.file.clone());
        let mut turns = Self::new(path, pack, home, (true, store.page_bytes()));
        turns.store = Some(store);
        turns.give();
        Ok(turns)
    }

    /// Opens a store on this machine's disk, for writing if the system lets us. Nobody has a turn, and nothing is known of
    /// the store but that it is one.
    pub fn open(path: &Path) -> Result<Self, PageError> {
        let storage = disk();
        let writable = std::cell::Cell::new(true);
        let open = |path: &Path| {
            let (file, may_write) = storage.open_unlocked(path)?;
            writable.set(writable.get() && may_write);
            Ok(file)
        };
        let (pack, home, pack_path) = open::files(storage.as_ref(), path, &open)?;
        // It needs no lock: one of the copies is whole at any time, and this part of them never changes.
        let superblock = superblock::read(pack.as_ref(), &pack_path)?.superblock;
        Ok(Self::new(path, pack, home, (writable.get(), 1 << superblock.page_shift)))
    }

    fn new(
        path: &Path,
        pack: Arc<dyn File>,
        home: Option<Arc<dyn File>>,
        (writable, page_bytes): (bool, usize),
    ) -> Self {
        let path = path.to_owned();
        Self {
            path,
            pack,
            home,
            writable,
            page_bytes,
            hot_codec: None,
            store: None,
            held: None,
            overtaken: false,
            wrote: false,
        }
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Device and inode of the file, which has another name by now, or none, if somebody has replaced or removed it.
    pub fn identity(&self) -> Result<Option<(u64, u64)>, PageError> {
        let named = self.home.as_ref().unwrap_or(&self.pack);
        named.identity().map_err(PageError::file("examine", &self.path))
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// False if the system lets us read only.
    pub fn is_writable(&self) -> bool {
        self.writable
    }

    /// As [`Store::set_hot_codec`], for all turns.
    pub fn set_hot_codec(&mut self, codec: Option<PageCodec>) -> Result<(), PageError> {
        self.hot_codec = codec.map(PageCodec::check).transpose()?;
        if let Some(store) = &mut self.store {
            store.hot_codec = self.hot_codec;
        }
        Ok(())
    }

    /// The store, while there is a turn.
    pub fn store(&mut self) -> Option<&mut Store> {
        self.store.as_mut().filter(|_| self.held.is_some())
    }

    /// Takes a turn, or makes one for reading one for writing, and brings the store up to date. [`PageError::Locked`] if
    /// somebody else is in the way; a turn for reading stays one then.
    pub fn take(&mut self, access: Access) -> Result<(), PageError> {
        if self.held == Some(access) || self.held == Some(Access::Write) {
            return Ok(());
        }
        if access == Access::Write && !self.writable {
            return Err(PageError::ReadOnly { path: self.path.clone() });
        }
        if self.overtaken {
            return Err(PageError::Locked { path: self.path.clone() });
        }
        if let Err(error) = self.lock(access) {
            if self.held.is_none() {
                self.give();
            } else if self.lock(Access::Read).is_err() {
                self.overtaken = true;
            }
            return Err(error);
        }
        let before = self.store.as_ref().map(Store::generation);
        let fresh = self.refresh();
        if self.held == Some(Access::Read)
            && (fresh.is_err() || before != self.store.as_ref().map(Store::generation))
        {
            self.overtaken = true;
            fresh?;
            return Err(PageError::Locked { path: self.path.clone() });
        }
        let differ = match fresh {
            Ok(differ) => differ,
            Err(error) => {
                self.give();
                return Err(error);
            }
        };
        let before = self.held.replace(access);
        if access == Access::Write {
            self.wrote = true;
            match self.store.as_mut().map_or(Ok(()), |store| store.settle(differ, false)) {
                // Without room nothing is cleared away. The chain of checksums keeps the rest from being a commit, too.
                Ok(()) | Err(PageError::Full { .. }) => {}
                Err(error) => {
                    self.held = before;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Takes a turn, and waits a little for who opens or closes the store: that is not what locks of the caller know of.
    pub fn wait(&mut self, access: Access) -> Result<(), PageError> {
        for _ in 0..LOOKS {
            match self.take(access) {
                Err(PageError::Locked { .. }) if !self.overtaken => std::thread::sleep(PAUSE),
                taken => return taken,
            }
        }
        self.take(access)
    }

    /// Makes a turn for writing one for reading. Nobody gets in between who could not have been there before.
    pub fn lower(&mut self) -> Result<(), PageError> {
        if self.held == Some(Access::Write) {
            self.held = Some(Access::Read);
            if let Err(error) = self.lock(Access::Read) {
                self.overtaken = true;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Ends the turn.
    pub fn give(&mut self) {
        self.held = None;
        self.overtaken = false;
        for file in [Some(&self.pack), self.home.as_ref()].into_iter().flatten() {
            // A file that cannot be unlocked is unlocked when it is closed.
            let _ = file.lock(None);
        }
    }

    /// Folds the log if this process has added to it and nobody has a turn, cuts a file that is mostly free by then, and lets
    /// go of the files.
    pub fn close(mut self) -> Result<(), PageError> {
        if !self.wrote {
            return Ok(());
        }
        match self.take(Access::Write) {
            Ok(()) => self.store.as_mut().map_or(Ok(()), |store| {
                store.checkpoint()?;
                // Nothing but room is lost by a file that stays long.
                let _ = store.shrink();
                Ok(())
            }),
            // Whoever is there goes on from the log.
            Err(PageError::Locked { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn lock(&self, access: Access) -> Result<(), PageError> {
        let files = [Some(&self.pack), self.home.as_ref()];
        for file in files.into_iter().flatten() {
            file.lock(Some(access)).map_err(PageError::file("lock", &self.path))?;
        }
        Ok(())
    }

    /// Brings what is known up to date; whether the superblocks differ.
    fn refresh(&mut self) -> Result<bool, PageError> {
        if let Some(store) = &mut self.store {
            let path = store.shared.pack.path.clone();
            let found = superblock::read(self.pack.as_ref(), &path)?;
            let (known, now) = (&store.superblock, &found.superblock);
            let is_same = known.epoch == now.epoch
                && known.file_id == now.file_id
                && known.snapshot == now.snapshot;
            if is_same && store.catch_up()? {
                return Ok(found.differ);
            }
        }
        let is_holed = self.home.is_some();
        let pack_path = if is_holed { map_path(&self.path) } else { self.path.clone() };
        let files: Files = (self.pack.clone(), self.home.clone(), pack_path);
        let (mut store, found) = Store::load(&self.path, files, self.writable)?;
        debug_assert_eq!(store.layout() == Layout::Holes, is_holed, "checked when it was loaded");
        store.hot_codec = self.hot_codec;
        if let Some(before) = &self.store {
            // What has failed here stays failed: nobody knows what the system has dropped.
            store.poisoned = before.poisoned;
            store.superblock.checkpoint_bytes = before.superblock.checkpoint_bytes;
        }
        self.store = Some(store);
        Ok(found.differ)
    }
}
