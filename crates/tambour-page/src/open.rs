//! Making and opening stores: the last checkpoint is read and checked; recovery adds what was committed since.

use super::PageError;
use super::aside;
use super::codec::Coder;
use super::dictionary::{Dictionaries, Dictionary};
use super::extents::Extents;
use super::header::HEADER_BYTES;
use super::map::{Map, State};
use super::options::{Layout, Options};
use super::shared::{Identity, Shared, StoreFile, map_path};
use super::snapshot;
use super::store::{Log, Store};
use super::superblock::{self, DATA_START, MAGIC, PLACES, Stretch, Superblock};
use std::collections::BTreeSet;
use tambour_storage::place::{Access, File, Storage, disk};

use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_kernel::hash::xxh3_64;

impl Store {
    /// Makes a store on this machine's disk.
    pub fn create(path: &Path, options: &Options) -> Result<Self, PageError> {
        Self::create_on(disk().as_ref(), path, options)
    }

    /// Opens a store on this machine's disk: one process for writing, or several for reading.
    pub fn open(path: &Path, access: Access) -> Result<Self, PageError> {
        Self::open_on(disk().as_ref(), path, access)
    }

    /// Makes a store. It appears under its name when it is whole.
    pub fn create_on(
        storage: &dyn Storage,
        path: &Path,
        options: &Options,
    ) -> Result<Self, PageError> {
        options.check()?;
        check_unit(storage, options.granule)?;
        let superblock = Superblock::new(options, options.file_id.unwrap_or_else(aside::draw));
        aside::sweep(storage, path);
        let exists = |path: &Path| storage.exists(path).map_err(PageError::file("look for", path));
        if exists(path)? || exists(&map_path(path))? {
            return Err(PageError::Exists { path: path.to_owned() });
        }
        let (pack, home) = match options.layout {
            Layout::Packed => (new_file(storage, path, &superblock)?, None),
            Layout::Holes => {
                let home = storage.create(path).map_err(PageError::file("create", path))?;
                (new_file(storage, &map_path(path), &superblock)?, Some(home))
            }
        };
        let shared = Arc::new(Shared::new(path, pack, home, identity(&superblock)));
        Ok(Self::assemble(shared, superblock, Map::default(), true, 0))
    }

    /// Opens a store, and recovers what a crash has left.
    pub fn open_on(storage: &dyn Storage, path: &Path, access: Access) -> Result<Self, PageError> {
        let open = |path: &Path| storage.open(path, access);
        let files = files(storage, path, &open)?;
        if access == Access::Write {
            aside::sweep(storage, path);
        }
        let writable = access == Access::Write;
        let (mut store, found) = Self::load(path, files, writable)?;
        if writable {
            check_unit(storage, store.superblock.granule)?;
        }
        store.repaired = found.damage;
        // What is there was read from the disk. A writer that goes on from a log makes it so, just below.
        store.durable = store.generation;
        if writable {
            store.settle(found.differ, true)?;
        }
        Ok(store)
    }

    /// Reads the last checkpoint and what was committed since.
    pub(super) fn load(
        path: &Path,
        files: Files,
        writable: bool,
    ) -> Result<(Self, superblock::Found), PageError> {
        let (pack, home, pack_path) = files;
        let found = superblock::read(pack.as_ref(), &pack_path)?;
        let superblock = found.superblock;
        if (superblock.layout == Layout::Holes) != home.is_some() {
            let problem = "its layout is not that of the files; a store with holes is opened by \
                           the name without .map";
            return Err(PageError::NotAStore { path: path.to_owned(), problem });
        }
        let shared = Arc::new(Shared::new(path, pack, home, identity(&superblock)));
        let (map, references) = load_map(&shared, &superblock)?;
        let home_length = shared.home.as_ref().map_or(Ok(0), StoreFile::length)?;
        let mut store = Self::assemble(shared, superblock, map, writable, home_length);
        store.check_map()?;
        store.load_dictionaries(references)?;
        store.replay()?;
        store.find_space()?;
        Ok((store, found))
    }

    /// Clears away what a crash may have left, before anything is written: `differ` if the superblocks do, `anew` to fold the
    /// log in any case.
    pub(super) fn settle(&mut self, differ: bool, anew: bool) -> Result<(), PageError> {
        if differ {
            // The other copy may be that of the checkpoint before, whose space is free now and taken by the next one.
            self.write_superblocks()?;
        }
        let has_log = anew && !self.log.frames.is_empty();
        if has_log || differ || self.has_leftovers()? {
            // A new epoch: nothing of what a crash left after the last commit can ever be taken for one.
            self.write_checkpoint()?;
        }
        Ok(())
    }

    fn assemble(
        shared: Arc<Shared>,
        superblock: Superblock,
        map: Map,
        writable: bool,
        home_length: u64,
    ) -> Self {
        let extents = Extents::around(DATA_START, Vec::new()).unwrap_or_default();
        let found = shared.pack.file.space().ok().and_then(|pack| {
            let home = match &shared.home {
                Some(home) => home.file.space().ok()?.allocated,
                None => 0,
            };
            Some((pack.allocated + home, pack.free_bytes?))
        });
        let image_bytes = map.images(0).map(|(_, entry)| u64::from(entry.length)).sum();
        let holes = superblock.layout == Layout::Holes;
        let waiting = map.images(0).filter(|(_, entry)| holes && entry.state == State::Packed);
        let waiting = waiting.map(|(page, _)| page).collect();
        // Past the end of the file nobody has blocks to give back.
        let end = home_length >> superblock.page_shift;
        let vacant = map.zeros().filter(|(_, _, entry)| holes && entry.home_blocks > 0);
        let vacated = vacant.flat_map(|(page, count, _)| page..(page + count).min(end)).collect();
        Self {
            shared,
            map,
            extents,
            freed: Vec::new(),
            unit: u64::MAX,
            log: Log { previous: superblock.snapshot.checksum, ..Log::default() },
            generation: superblock.generation,
            durable: superblock.generation,
            dictionaries: Dictionaries::default(),
            references: Vec::new(),
            image_bytes,
            coder: Coder::new(),
            scratch: Vec::new(),
            arena: Vec::new(),
            writable,
            poisoned: None,
            changed: false,
            reserved: BTreeSet::new(),
            hot_codec: None,
            hot: BTreeSet::new(),
            hint: 0,
            waiting,
            vacated,
            home_length,
            punches: true,
            reserves: true,
            repaired: None,
            found,
            superblock,
        }
    }

    /// Refuses entries that point to where no image can be.
    fn check_map(&self) -> Result<(), PageError> {
        let pack_length = self.shared.pack.length()?;
        let home_length = self.home_length;
        let longest = self.shared.image_bytes_max();
        let blocks_max = self.shared.home.as_ref().map_or(0, |_| self.blocks_max());
        let zeros = self.map.zeros().map(|(page, _, entry)| (page, entry));
        for (page, entry) in zeros.chain(self.map.images(0)) {
            let wrong = |problem: &str| self.shared.page_error(page, &entry, problem.to_owned());
            if entry.home_blocks > blocks_max {
                return Err(wrong("the map gives it more blocks than its range has"));
            }
            if !entry.has_image() {
                continue;
            }
            let length = entry.length as usize;
            if length <= HEADER_BYTES || length > longest {
                return Err(wrong("the map gives it a length that no image can have"));
            }
            let (file_length, end) = match entry.state {
                State::Packed => (pack_length, entry.offset.checked_add(u64::from(entry.length))),
                _ if self.shared.home.is_none() => {
                    return Err(wrong("the map says that it is at home, but the file is missing"));
                }
                State::Raw if length != longest => {
                    return Err(wrong("the map gives a raw page another length"));
                }
                State::Home if length > self.shared.page_bytes() => {
                    return Err(wrong("the map gives it a length that does not fit its range"));
                }
                _ => {
                    let bytes = length.min(self.shared.page_bytes()) as u64;
                    (home_length, Some(self.shared.home_offset(page) + bytes))
                }
            };
            if end.is_none_or(|end| end > file_length) {
                let (file, _) = self.shared.place(page, &entry);
                return Err(PageError::Truncated {
                    path: file.path.clone(),
                    expected: end.unwrap_or(u64::MAX),
                    got: file_length,
                });
            }
        }
        Ok(())
    }

    fn load_dictionaries(&mut self, references: Vec<snapshot::Reference>) -> Result<(), PageError> {
        // They lie beside each other, so that they cannot be more than the file.
        let total: u64 = references.iter().map(|(_, stretch)| stretch.bytes).sum();
        let length = self.shared.pack.length()?;
        if total > length {
            let path = self.shared.pack.path.clone();
            return Err(PageError::Truncated { path, expected: total, got: length });
        }
        for &(id, stretch) in &references {
            let bytes = load(&self.shared, "dictionary", stretch)?;
            self.dictionaries.add(Dictionary { id, bytes });
        }
        self.references = references;
        Ok(())
    }

    /// Works out which space is free, and that nothing lies on top of something else.
    fn find_space(&mut self) -> Result<(), PageError> {
        let granule = self.shared.granule;
        let packed = self.map.images(0).filter(|(_, entry)| entry.state == State::Packed);
        let mut used: Vec<(u64, u64)> =
            packed.map(|(_, entry)| (entry.offset, self.padded(entry.length))).collect();
        used.extend(self.freed.iter().map(|freed| (freed.offset, freed.bytes)));
        used.extend(&self.log.frames);
        let stretch = |stretch: &Stretch| (stretch.offset, stretch.bytes.next_multiple_of(granule));
        used.extend(self.references.iter().map(|(_, reference)| stretch(reference)));
        if self.superblock.snapshot.bytes > 0 {
            used.push(stretch(&self.superblock.snapshot));
        }
        let overlap = |offset| {
            let problem = "two things claim the same space".to_owned();
            self.broken("extent", offset, problem)
        };
        self.extents = Extents::around(DATA_START, used).map_err(overlap)?;
        Ok(())
    }

    pub(super) fn broken(&self, what: &'static str, offset: u64, problem: String) -> PageError {
        PageError::structure(&self.shared.pack.path, what, offset, problem)
    }
}

/// Refuses granules of which a storage cannot write one alone.
fn check_unit(storage: &dyn Storage, granule: u64) -> Result<(), PageError> {
    let unit = storage.write_unit();
    if granule >= unit {
        return Ok(());
    }
    let problem = format!("{granule} bytes: this storage writes multiples of {unit}");
    Err(PageError::Argument { what: "granule", problem })
}

fn identity(superblock: &Superblock) -> Identity {
    Identity {
        file_id: superblock.file_id,
        page_shift: superblock.page_shift,
        granule: superblock.granule,
        layout: superblock.layout,
    }
}

/// A new packed file with its superblocks; it gets its name when it is whole.
fn new_file(
    storage: &dyn Storage,
    path: &Path,
    superblock: &Superblock,
) -> Result<Arc<dyn File>, PageError> {
    let beside = aside::name_beside(path, "new");
    let file = storage.create(&beside).map_err(PageError::file("create", &beside))?;
    let named =
        fill(file.as_ref(), &beside, superblock).and_then(|()| aside::name(storage, &beside, path));
    if named.is_err() {
        let _ = storage.remove(&beside);
    }
    named?;
    storage.sync_directory_of(path).map_err(PageError::file("sync the directory of", path))?;
    Ok(file)
}

/// Writes the superblocks of an empty store.
fn fill(file: &dyn File, path: &Path, superblock: &Superblock) -> Result<(), PageError> {
    let bytes = superblock.encode();
    for place in PLACES {
        file.write_at(&[&bytes], place).map_err(PageError::file("write", path))?;
    }
    file.set_length(DATA_START).map_err(PageError::file("resize", path))?;
    file.sync().map_err(PageError::file("sync", path))
}

/// Packed file, file with holes, path of the packed file.
pub(super) type Files = (Arc<dyn File>, Option<Arc<dyn File>>, PathBuf);

/// Opens what belongs to a store, whichever layout it has.
pub(super) fn files(
    storage: &dyn Storage,
    path: &Path,
    open: &dyn Fn(&Path) -> std::io::Result<Arc<dyn File>>,
) -> Result<Files, PageError> {
    let open = |path: &Path| open(path).map_err(PageError::file("open", path));
    let aside = map_path(path);
    let file = open(path)?;
    if storage.exists(&aside).map_err(PageError::file("look for", &aside))? {
        let pack = open(&aside)?;
        return Ok((pack, Some(file), aside));
    }
    let mut head = [0; 8];
    let is_store = |file: &dyn File, head: &mut [u8; 8]| {
        PLACES.iter().any(|place| file.read_at(head, *place).is_ok() && *head == MAGIC)
    };
    if is_store(file.as_ref(), &mut head) {
        return Ok((file, None, path.to_owned()));
    }
    let problem = "it has no superblock, and there is no .map file beside it";
    Err(PageError::NotAStore { path: path.to_owned(), problem })
}

/// Reads a stretch and checks it.
fn load(shared: &Shared, what: &'static str, stretch: Stretch) -> Result<Vec<u8>, PageError> {
    let broken =
        |problem: String| PageError::structure(&shared.pack.path, what, stretch.offset, problem);
    let length = shared.pack.length()?;
    let end = stretch.offset.checked_add(stretch.bytes);
    if end.is_none_or(|end| end > length) {
        let expected = end.unwrap_or(u64::MAX);
        return Err(PageError::Truncated { path: shared.pack.path.clone(), expected, got: length });
    }
    let mut bytes = vec![0; usize::try_from(stretch.bytes).unwrap_or(0)];
    shared.pack.read(&mut bytes, stretch.offset)?;
    let got = xxh3_64(&bytes, shared.file_id);
    if got == stretch.checksum {
        return Ok(bytes);
    }
    let wanted = stretch.checksum;
    Err(broken(format!("checksum mismatch: expected {wanted:016x}, got {got:016x}")))
}

/// Reads the map of the last checkpoint.
fn load_map(
    shared: &Shared,
    superblock: &Superblock,
) -> Result<(Map, Vec<snapshot::Reference>), PageError> {
    if superblock.snapshot.bytes == 0 {
        return Ok((Map::default(), Vec::new()));
    }
    let bytes = load(shared, "map snapshot", superblock.snapshot)?;
    let decoded = snapshot::decode(&bytes, superblock.page_count, superblock.granule);
    let broken = || {
        let problem = "it is not a map".to_owned();
        PageError::structure(&shared.pack.path, "map snapshot", superblock.snapshot.offset, problem)
    };
    let snapshot = decoded.ok_or_else(broken)?;
    Ok((snapshot.map, snapshot.dictionaries))
}
