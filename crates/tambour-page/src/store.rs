//! A store that is open: its state, and the calls that need no room of their own.

use super::PageError;
use super::codec::Coder;
use super::dictionary::{self, Dictionaries, Dictionary};
use super::extents::Extents;
use super::frame::{Kind, Record};
use super::map::{Entry, Map, State};
use super::options::{Durability, Generation, Layout, PAGES_MAX, PageCodec, PageId};
use super::reader::Reader;
use super::shared::{BLOCK_BYTES, Counts, Pin, Shared};
use super::snapshot::Reference;
use super::superblock::{Stretch, Superblock};
use super::training::{self, DictionaryReport};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use tambour_kernel::hash::xxh3_64;

/// Most pages that a dictionary is trained on and judged by.
const SAMPLE_PAGES: u64 = 2000;
/// Most bytes of them.
const SAMPLE_BYTES: u64 = 48 << 20;

/// A codec that is decoded faster may make pages larger by one part of this many.
const QUICK_GAIN: u64 = 20;

/// Space that was given up and is not reused yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Freed {
    /// Readers of earlier generations need it.
    pub(super) generation: Generation,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// The commits since the last checkpoint.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Checksum of the last frame; of the snapshot, if there is none yet.
    pub(super) previous: u64,
    /// Where frames stand, without the images after them: free after the next checkpoint.
    pub(super) frames: Vec<(u64, u64)>,
    /// Bytes written, images included.
    pub(super) bytes: u64,
}

/// A page store, open. One writer: whoever has it. [`Store::reader`] gives readers, which go on by themselves.
#[derive(Debug)]
pub struct Store {
    pub(super) shared: Arc<Shared>,
    pub(super) superblock: Superblock,
    pub(super) map: Map,
    pub(super) extents: Extents,
    pub(super) freed: Vec<Freed>,
    /// Bytes of the shortest images that were put into gaps.
    pub(super) unit: u64,
    pub(super) log: Log,
    pub(super) generation: Generation,
    /// The last generation that survives a power cut.
    pub(super) durable: Generation,
    pub(super) dictionaries: Dictionaries,
    pub(super) references: Vec<Reference>,
    /// Bytes of all images.
    pub(super) image_bytes: u64,
    pub(super) coder: Coder,
    pub(super) scratch: Vec<u8>,
    pub(super) arena: Vec<u8>,
    pub(super) writable: bool,
    /// What failed, if something did after which nothing may be written.
    pub(super) poisoned: Option<&'static str>,
    /// The settings differ from those of the last checkpoint.
    pub(super) changed: bool,
    /// Pages that [`Store::alloc`] gave out and no commit has written.
    pub(super) reserved: BTreeSet<PageId>,
    /// For pages that are written again before the next checkpoint.
    pub(super) hot_codec: Option<PageCodec>,
    /// Pages that have an image which is not encoded as those that are to last.
    pub(super) hot: BTreeSet<PageId>,
    pub(super) hint: PageId,
    /// Layout holes: pages whose image waits in the journal, and pages that gave up their blocks.
    pub(super) waiting: BTreeSet<PageId>,
    pub(super) vacated: BTreeSet<PageId>,
    pub(super) home_length: u64,
    pub(super) punches: bool,
    pub(super) reserves: bool,
    pub(super) repaired: Option<PageError>,
    /// Bytes that were allocated when it was opened, and bytes that were free on the file system.
    pub(super) found: Option<(u64, u64)>,
}

impl Store {
    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.shared.page_bytes()
    }

    /// How images lie.
    pub fn layout(&self) -> Layout {
        self.shared.layout
    }

    /// How new images are encoded.
    pub fn codec(&self) -> PageCodec {
        self.superblock.codec
    }

    /// Number that all images carry.
    pub fn file_id(&self) -> u64 {
        self.shared.file_id
    }

    /// One more than the highest page ever written.
    pub fn len(&self) -> u64 {
        self.map.page_count()
    }

    /// True if no page was ever written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The last commit.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// The last commit that survives a power cut.
    pub fn durable_generation(&self) -> Generation {
        self.durable
    }

    /// What was done to the files since the store was opened.
    pub fn counts(&self) -> Counts {
        self.shared.counters.counts()
    }

    /// What was found damaged and is whole again: a copy of the superblock.
    pub fn repaired(&self) -> Option<&PageError> {
        self.repaired.as_ref()
    }

    /// False where the file system has no holes: ranges are overwritten with zeros then, and take their space.
    pub fn has_holes(&self) -> bool {
        self.punches
    }

    /// True if a page was written and not freed.
    pub fn contains(&self, page: PageId) -> bool {
        self.map.get(page).state != State::Free
    }

    /// The pages of the store.
    pub fn pages(&self) -> impl Iterator<Item = PageId> + '_ {
        self.map.iter(0).map(|(page, _)| page)
    }

    /// The commit that wrote a page; 0 if there is no such page. The same number of the same store is the same content.
    pub fn written_at(&self, page: PageId) -> Generation {
        self.map.get(page).generation
    }

    /// Fills `target`, one page long, with a page as of the last commit.
    pub fn read(&mut self, page: PageId, target: &mut [u8]) -> Result<(), PageError> {
        let entry = self.map.get(page);
        let with = (&mut self.coder, &self.dictionaries);
        super::reader::read_page(&self.shared, page, &entry, with, &mut self.scratch, target)
    }

    /// A reader of the store as it is now; it sees no later commit, and holds the space of what it sees.
    pub fn reader(&self) -> Reader {
        let pin = Pin::new(self.shared.clone(), self.generation);
        Reader::new(pin, self.map.clone(), self.dictionaries.clone())
    }

    /// A page that is not in use. It exists once a commit has written it.
    ///
    /// ```
    /// # use tambour_page::*;
    /// # use tambour_storage::place::disk;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("drum.pages");
    /// # let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
    /// let page = store.alloc()?;
    /// assert!(!store.contains(page), "it exists once a commit has written it");
    /// let mut batch = store.batch()?;
    /// batch.put(page, &[1; 4096])?;
    /// batch.commit(Durability::Sync)?;
    /// assert!(store.contains(page));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn alloc(&mut self) -> Result<PageId, PageError> {
        self.check_writable()?;
        let mut page = self.hint;
        while self.contains(page) || self.reserved.contains(&page) {
            page += 1;
        }
        if page >= PAGES_MAX {
            return Err(PageError::Limit { what: "number of pages", got: page, limit: PAGES_MAX });
        }
        self.reserved.insert(page);
        self.hint = page + 1;
        Ok(page)
    }

    /// Frees a page, in a commit of its own.
    ///
    /// ```
    /// # use tambour_page::*;
    /// # use tambour_storage::place::disk;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("drum.pages");
    /// # let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
    /// # let mut batch = store.batch()?;
    /// # batch.put(0, &[1; 4096])?;
    /// # batch.commit(Durability::Sync)?;
    /// store.free(0, Durability::Sync)?;
    /// assert!(!store.contains(0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn free(&mut self, page: PageId, durability: Durability) -> Result<Generation, PageError> {
        let mut batch = self.batch()?;
        batch.free(page)?;
        batch.commit(durability)
    }

    /// Sets how new images are encoded. Images that are there stay as they are until they are written again.
    pub fn set_codec(&mut self, codec: PageCodec) -> Result<(), PageError> {
        self.check_writable()?;
        let codec = codec.check()?;
        self.changed |= self.superblock.codec != codec;
        self.superblock.codec = codec;
        Ok(())
    }

    /// Sets after how many bytes of commits a checkpoint is made by itself; `None` is the default.
    pub fn set_checkpoint_bytes(&mut self, bytes: Option<u64>) {
        self.superblock.checkpoint_bytes = bytes.unwrap_or(0);
    }

    /// Trains a dictionary on the pages of `sample` (on pages of the store itself if it is empty), and keeps it for new images
    /// if pages that it was not trained on become smaller by it.
    pub fn train_dict(&mut self, sample: &[Vec<u8>]) -> Result<DictionaryReport, PageError> {
        let codec = match self.superblock.codec {
            codec if codec.method.takes_dictionary() => codec,
            _ => PageCodec::ZSTD,
        };
        let (report, kept) = self.train_for(codec, sample)?;
        if let Some(dictionary) = kept {
            self.keep(dictionary)?;
        }
        Ok(report)
    }

    /// As [`Store::train_dict`], for `quick` and for the codec of the store: `quick` becomes the codec if pages that nothing was
    /// trained on are at most a twentieth larger by it, each with its own dictionary.
    ///
    /// ```
    /// # use tambour_page::*;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("drum.pages");
    /// # let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
    /// let row = |k: u64| format!("{{\"drum\":{k},\"shell\":\"maple\",\"hoops\":{}}}", k * k % 97);
    /// let text: Vec<u8> = (0..20_000).flat_map(|k| row(k).into_bytes()).collect();
    /// let pages: Vec<Vec<u8>> = text.chunks_exact(4096).map(<[u8]>::to_vec).collect();
    /// let report = store.train_dict_or("lz4:5".parse()?, &pages)?;
    /// // Rows so alike need no dictionary, and LZ4 makes them larger than zstd by more than a twentieth.
    /// assert_eq!((report.kept, store.codec().method), (None, Method::Zstd));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn train_dict_or(
        &mut self,
        quick: PageCodec,
        sample: &[Vec<u8>],
    ) -> Result<DictionaryReport, PageError> {
        if quick == self.superblock.codec || !quick.method.takes_dictionary() {
            return self.train_dict(sample);
        }
        let codec = self.superblock.codec;
        let (report, kept) = self.train_for(quick, sample)?;
        let (other, other_kept) = self.train_for(codec, sample)?;
        let is_close = report.best_bytes() <= other.best_bytes() + other.best_bytes() / QUICK_GAIN;
        let (report, kept, codec) =
            if is_close { (report, kept, quick) } else { (other, other_kept, codec) };
        self.set_codec(codec)?;
        if let Some(dictionary) = kept {
            self.keep(dictionary)?;
        }
        Ok(report)
    }

    /// Trains and judges, and changes nothing.
    fn train_for(
        &mut self,
        codec: PageCodec,
        sample: &[Vec<u8>],
    ) -> Result<(DictionaryReport, Option<Dictionary>), PageError> {
        self.check_writable()?;
        let own;
        let sample = if sample.is_empty() {
            own = self.sample()?;
            &own
        } else {
            sample
        };
        let limit = dictionary::DICTIONARIES_MAX as u64;
        let full = PageError::Limit { what: "number of dictionaries", got: limit + 1, limit };
        let id = match self.dictionaries.next_id() {
            Some(id) if (self.dictionaries.len() as u64) < limit => id,
            _ => return Err(full),
        };
        let pages = self.len().max(sample.len() as u64);
        training::train(&mut Coder::new(), codec, id, sample, pages)
    }

    /// Writes a dictionary and makes it the one for new images.
    fn keep(&mut self, dictionary: Dictionary) -> Result<(), PageError> {
        let id = dictionary.id;
        self.add_dictionary(dictionary)?;
        self.superblock.dictionary = id;
        self.checkpoint()
    }

    /// Writes a dictionary into an extent; the next checkpoint makes it durable.
    pub(super) fn add_dictionary(&mut self, dictionary: Dictionary) -> Result<(), PageError> {
        // The tail is where the log goes on; so whatever is there is folded into the map first.
        self.checkpoint()?;
        let bytes = dictionary.bytes.len() as u64;
        let padded = bytes.next_multiple_of(self.shared.granule);
        let offset = self.extents.allocate(padded).unwrap_or_else(|| self.extents.append(padded));
        if let Err(error) = self.write_padded(&dictionary.bytes, offset) {
            self.extents.free(offset, padded);
            if matches!(error, PageError::Full { .. }) {
                // Nothing leads there.
                self.poisoned = None;
            }
            return Err(error);
        }
        let checksum = xxh3_64(&dictionary.bytes, self.shared.file_id);
        self.references.push((dictionary.id, Stretch { offset, bytes, checksum }));
        self.dictionaries.add(dictionary);
        self.changed = true;
        Ok(())
    }

    /// Writes something into an extent of its own, padded with zeros.
    pub(super) fn write_padded(&mut self, bytes: &[u8], offset: u64) -> Result<(), PageError> {
        let granule = usize::try_from(self.shared.granule).expect("a granule is a few bytes");
        let padding = vec![0; bytes.len().next_multiple_of(granule) - bytes.len()];
        let written = self.shared.pack.write(&[bytes, &padding], offset);
        if written.is_err() {
            self.poisoned = Some("write");
        }
        written
    }

    /// Pages of the store, evenly spread.
    fn sample(&mut self) -> Result<Vec<Vec<u8>>, PageError> {
        let wanted = SAMPLE_PAGES.min(SAMPLE_BYTES >> self.shared.page_shift);
        let pages: Vec<PageId> = self.map.images(0).map(|(page, _)| page).collect();
        let step = (pages.len() as u64 / wanted.max(1)).max(1);
        let mut sample = Vec::new();
        for page in pages.iter().step_by(usize::try_from(step).unwrap_or(1)) {
            let mut bytes = vec![0; self.page_bytes()];
            self.read(*page, &mut bytes)?;
            sample.push(bytes);
        }
        Ok(sample)
    }

    /// Makes every commit durable and lets go of the file. Dropping a store instead costs the next opener the replay of the
    /// log, and asynchronous commits their promise.
    pub fn close(mut self) -> Result<(), PageError> {
        if self.writable { self.checkpoint() } else { Ok(()) }
    }

    pub(super) fn check_writable(&self) -> Result<(), PageError> {
        if let Some(operation) = self.poisoned {
            let path = self.shared.path.clone();
            return Err(PageError::Poisoned { path, operation });
        }
        if self.writable {
            Ok(())
        } else {
            Err(PageError::ReadOnly { path: self.shared.path.clone() })
        }
    }

    /// Syncs the packed file; a failure poisons the store.
    pub(super) fn sync_pack(&mut self) -> Result<(), PageError> {
        let synced = self.shared.pack.sync();
        if synced.is_err() {
            self.poisoned = Some("sync");
        }
        synced
    }

    /// Changes the map as a record says. Space of the image that it replaces waits until a checkpoint covers the change and no
    /// reader needs it.
    pub(super) fn apply(&mut self, record: &Record, generation: Generation) {
        let old = self.map.get(record.page);
        if old.state == State::Packed {
            self.freed.push(Freed {
                generation,
                offset: old.offset,
                bytes: self.padded(old.length),
            });
        }
        if old.has_image() {
            self.image_bytes -= u64::from(old.length);
        }
        let home_blocks = old.home_blocks;
        let entry = match record.kind {
            Kind::Image => Entry {
                offset: record.offset,
                generation: record.generation,
                length: record.length,
                home_blocks,
                state: State::Packed,
            },
            Kind::Zero => Entry {
                generation: record.generation,
                home_blocks,
                state: State::Zero,
                ..Entry::default()
            },
            Kind::Free => Entry { home_blocks, ..Entry::default() },
        };
        self.image_bytes += u64::from(entry.length);
        self.map.set(record.page, entry);
        if self.shared.layout == Layout::Holes {
            self.waiting.remove(&record.page);
            self.vacated.remove(&record.page);
            if entry.has_image() {
                self.waiting.insert(record.page);
            } else if home_blocks > 0 {
                self.vacated.insert(record.page);
            }
        }
        self.reserved.remove(&record.page);
        self.hot.remove(&record.page);
        if record.kind == Kind::Free {
            self.hint = self.hint.min(record.page);
        }
    }

    /// Bytes that an image takes in the packed file.
    pub(super) fn padded(&self, length: u32) -> u64 {
        u64::from(length).next_multiple_of(self.shared.granule)
    }

    /// Blocks of a page's range.
    pub(super) fn blocks_max(&self) -> u16 {
        u16::try_from(self.page_bytes() as u64 / BLOCK_BYTES).unwrap_or(u16::MAX)
    }
}
