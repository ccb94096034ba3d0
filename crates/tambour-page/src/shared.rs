//! What a writer and its readers share: the files, what the store is, the pins, the counters.

use super::PageError;
use super::codec::Coder;
use super::dictionary::Dictionaries;
use super::header::{self, Expected, HEADER_BYTES, Header};
use super::map::{Entry, State};
use super::options::{Generation, Layout, Method, PageId};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tambour_codec::CodecError;
use tambour_storage::place::File;

/// Bytes of a header, as images count them.
const HEADER_LENGTH: u32 = 40;
const _: () = assert!(HEADER_LENGTH as usize == HEADER_BYTES);

/// The unit of holes.
pub(crate) const BLOCK_BYTES: u64 = 4096;

/// What was done to the files since the store was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Bytes written, of images, commits, checkpoints and superblocks.
    pub bytes_written: u64,
    /// Calls that wrote.
    pub writes: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Syncs.
    pub syncs: u64,
    /// Holes punched.
    pub punches: u64,
    /// Reservations of blocks before a page grows.
    pub reservations: u64,
    /// Commits.
    pub commits: u64,
    /// Checkpoints.
    pub checkpoints: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) bytes_written: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) punches: AtomicU64,
    pub(crate) reservations: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) checkpoints: AtomicU64,
}

impl Counters {
    pub(crate) fn counts(&self) -> Counts {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            bytes_written: get(&self.bytes_written),
            writes: get(&self.writes),
            bytes_read: get(&self.bytes_read),
            syncs: get(&self.syncs),
            punches: get(&self.punches),
            reservations: get(&self.reservations),
            commits: get(&self.commits),
            checkpoints: get(&self.checkpoints),
        }
    }
}

pub(crate) fn count(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

/// A file of a store: counts what is done to it and says its name in errors.
#[derive(Debug)]
pub(crate) struct StoreFile {
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<dyn File>,
    pub(crate) counters: Arc<Counters>,
}

impl StoreFile {
    pub(crate) fn read(&self, target: &mut [u8], offset: u64) -> Result<(), PageError> {
        count(&self.counters.bytes_read, target.len() as u64);
        self.file.read_at(target, offset).map_err(PageError::file("read", &self.path))
    }

    pub(crate) fn write(&self, pieces: &[&[u8]], offset: u64) -> Result<(), PageError> {
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        count(&self.counters.bytes_written, bytes as u64);
        count(&self.counters.writes, 1);
        self.file.write_at(pieces, offset).map_err(PageError::file("write", &self.path))
    }

    pub(crate) fn sync(&self) -> Result<(), PageError> {
        count(&self.counters.syncs, 1);
        self.file.sync().map_err(PageError::file("sync", &self.path))
    }

    pub(crate) fn length(&self) -> Result<u64, PageError> {
        self.file.length().map_err(PageError::file("measure", &self.path))
    }

    pub(crate) fn set_length(&self, length: u64) -> Result<(), PageError> {
        self.file.set_length(length).map_err(PageError::file("resize", &self.path))
    }
}

/// What does not change while a store is open.
#[derive(Debug)]
pub(crate) struct Shared {
    /// As the user named it.
    pub(crate) path: PathBuf,
    /// The packed file; in the layout holes, the map with its journal.
    pub(crate) pack: StoreFile,
    /// The file with holes.
    pub(crate) home: Option<StoreFile>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) file_id: u64,
    pub(crate) page_shift: u8,
    pub(crate) granule: u64,
    pub(crate) layout: Layout,
    /// Generations that readers hold, and how many hold each.
    pins: Mutex<BTreeMap<Generation, usize>>,
}

/// The path of the map of a store with holes.
pub(crate) fn map_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".map");
    PathBuf::from(name)
}

/// What distinguishes a store from another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) file_id: u64,
    pub(crate) page_shift: u8,
    pub(crate) granule: u64,
    pub(crate) layout: Layout,
}

impl Shared {
    pub(crate) fn new(
        path: &Path,
        pack: Arc<dyn File>,
        home: Option<Arc<dyn File>>,
        identity: Identity,
    ) -> Self {
        let counters = Arc::new(Counters::default());
        let wrap = |file, path: PathBuf| StoreFile { path, file, counters: counters.clone() };
        let pack_path = if home.is_some() { map_path(path) } else { path.to_owned() };
        Self {
            path: path.to_owned(),
            pack: wrap(pack, pack_path),
            home: home.map(|file| wrap(file, path.to_owned())),
            counters,
            file_id: identity.file_id,
            page_shift: identity.page_shift,
            granule: identity.granule,
            layout: identity.layout,
            pins: Mutex::default(),
        }
    }

    /// Bytes of a page.
    pub(crate) fn page_bytes(&self) -> usize {
        1 << self.page_shift
    }

    /// Longest image.
    pub(crate) fn image_bytes_max(&self) -> usize {
        self.page_bytes() + HEADER_BYTES
    }

    /// Where a page is at home.
    pub(crate) fn home_offset(&self, page: PageId) -> u64 {
        page << self.page_shift
    }

    pub(crate) fn pin(&self, generation: Generation) {
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        *pins.entry(generation).or_insert(0) += 1;
    }

    pub(crate) fn unpin(&self, generation: Generation) {
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = pins.get_mut(&generation) {
            *held -= 1;
            if *held == 0 {
                pins.remove(&generation);
            }
        }
    }

    /// The oldest generation that a reader holds.
    pub(crate) fn oldest_pin(&self) -> Option<Generation> {
        let pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        pins.keys().next().copied()
    }

    /// What the image of a page must say.
    pub(crate) fn expected(&self, page: PageId, entry: &Entry) -> Expected {
        Expected {
            file_id: self.file_id,
            page_shift: self.page_shift,
            page,
            generation: entry.generation,
        }
    }

    /// The file and the place of an image.
    pub(crate) fn place(&self, page: PageId, entry: &Entry) -> (&StoreFile, u64) {
        match &self.home {
            Some(home) if entry.is_home() => (home, self.home_offset(page)),
            _ => (&self.pack, entry.offset),
        }
    }

    /// An error about the image of a page.
    pub(crate) fn page_error(&self, page: PageId, entry: &Entry, problem: String) -> PageError {
        let (file, offset) = self.place(page, entry);
        PageError::Page { path: file.path.clone(), page, offset, problem }
    }

    /// Reads an image as it is on disk, with a header in front of pages that have none there. Nothing is checked. The buffer
    /// grows where it must; the image is its beginning.
    pub(crate) fn fetch<'a>(
        &self,
        page: PageId,
        entry: &Entry,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], PageError> {
        let (file, offset) = self.place(page, entry);
        let length = entry.length as usize;
        if buffer.len() < length {
            buffer.resize(length, 0);
        }
        let target = &mut buffer[..length];
        let result = if entry.state == State::Raw {
            let read = file.read(&mut target[HEADER_BYTES..], offset);
            self.complete(page, entry, target);
            read
        } else {
            file.read(target, offset)
        };
        match result {
            Err(PageError::File { cause, .. })
                if cause.kind() == std::io::ErrorKind::UnexpectedEof =>
            {
                Err(self.page_error(page, entry, "the file ends before it does".to_owned()))
            }
            result => result.map(|()| &*target),
        }
    }

    /// Puts the header in front of a raw page, with the checksum that the map has for it.
    pub(crate) fn complete(&self, page: PageId, entry: &Entry, image: &mut [u8]) {
        let header = Header {
            method: Method::None,
            page_shift: self.page_shift,
            dictionary: 0,
            page,
            generation: entry.generation,
            payload_bytes: entry.length.saturating_sub(HEADER_LENGTH),
            checksum: 0,
        };
        header::seal(self.file_id, image, header);
        image[32..40].copy_from_slice(&entry.offset.to_le_bytes());
    }

    /// Checks an image.
    pub(crate) fn check(
        &self,
        page: PageId,
        entry: &Entry,
        image: &[u8],
    ) -> Result<Header, PageError> {
        header::verify(image, self.expected(page, entry))
            .map_err(|problem| self.page_error(page, entry, problem))
    }

    /// Checks and decodes an image.
    pub(crate) fn decode(
        &self,
        page: PageId,
        entry: &Entry,
        image: &[u8],
        with: (&mut Coder, &Dictionaries),
        target: &mut [u8],
    ) -> Result<(), PageError> {
        let header = self.check(page, entry, image)?;
        let (coder, dictionaries) = with;
        let payload = &image[HEADER_BYTES..];
        let decoded = coder.decode(header.method, header.dictionary, dictionaries, payload, target);
        decoded.map_err(|cause| self.decode_error(page, entry, cause))
    }

    /// An error about the payload of a page.
    pub(crate) fn decode_error(&self, page: PageId, entry: &Entry, cause: CodecError) -> PageError {
        let (file, offset) = self.place(page, entry);
        PageError::Decode { path: file.path.clone(), page, offset, cause }
    }
}

/// A generation held against reuse of its space.
#[derive(Debug)]
pub(crate) struct Pin {
    shared: Arc<Shared>,
    generation: Generation,
}

impl Pin {
    pub(crate) fn new(shared: Arc<Shared>, generation: Generation) -> Self {
        shared.pin(generation);
        Self { shared, generation }
    }

    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }
}

impl Deref for Pin {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.shared.unpin(self.generation);
    }
}
