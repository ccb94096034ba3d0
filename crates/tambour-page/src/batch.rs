//! A batch: puts and frees that are committed together or not at all.

use super::PageError;
use super::codec::Coder;
use super::frame;
use super::header::{self, HEADER_BYTES, Header};
use super::options::{Durability, Generation, Layout, Method, PAGES_MAX, PageId};
use super::shared::{BLOCK_BYTES, count};
use super::store::Store;
use std::collections::BTreeMap;

/// Most pages of a batch.
const BATCH_PAGES_MAX: u64 = 1 << 20;
/// Free space of more than this part of the images is filled before the file grows.
const SLACK_DIVISOR: u64 = 200;
/// The file with holes grows by a quarter, and by no more than this.
const HOME_STEP_MAX: u64 = 64 << 20;

/// What becomes of a page.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    /// An image in the arena.
    Image {
        start: usize,
        length: u32,
        checksum: u64,
        /// It has the codec for pages that are written again and again.
        is_hot: bool,
    },
    Zero,
    Free,
}

/// Changes that wait for their commit. Dropping it drops them.
///
/// ```
/// # use tambour_page::*;
/// # use tambour_storage::place::disk;
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("drum.pages");
/// # let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
/// let mut batch = store.batch()?;
/// batch.put(0, &[1; 4096])?;
/// batch.put(7, &[2; 4096])?;
/// drop(batch);
/// assert!(store.is_empty(), "nothing was committed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Batch<'a> {
    pub(super) store: &'a mut Store,
    pub(super) items: BTreeMap<PageId, Item>,
    /// Images, one after another, each padded to the granule.
    pub(super) arena: Vec<u8>,
    pub(super) used: usize,
    /// Compaction: images go into gaps below where they are, or stay.
    pub(super) descending: bool,
    /// Images that were hot are encoded as others are, as part of a checkpoint.
    pub(super) cools: bool,
    /// Images with the codec for hot pages.
    hot_count: usize,
    /// Of the commit, if it is not the next.
    generation: Option<Generation>,
    pages_max: u64,
}

impl Store {
    /// Starts a batch.
    pub fn batch(&mut self) -> Result<Batch<'_>, PageError> {
        self.check_writable()?;
        let arena = std::mem::take(&mut self.arena);
        let items = BTreeMap::new();
        Ok(Batch {
            store: self,
            items,
            arena,
            used: 0,
            descending: false,
            cools: false,
            hot_count: 0,
            generation: None,
            pages_max: BATCH_PAGES_MAX,
        })
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.store.arena = std::mem::take(&mut self.arena);
    }
}

/// True if there are only zeros.
fn is_zero(page: &[u8]) -> bool {
    page.iter().take(64).all(|byte| *byte == 0)
        && page[64..].chunks(64).all(|it| *it == page[..it.len()])
}

impl Batch<'_> {
    /// Number of pages that the batch changes.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if nothing changes.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Bytes of the images so far.
    pub fn bytes(&self) -> usize {
        self.used
    }

    fn check_page(&self, page: PageId) -> Result<(), PageError> {
        if page >= PAGES_MAX {
            return Err(PageError::Limit { what: "number of a page", got: page, limit: PAGES_MAX });
        }
        let (got, limit) = (self.items.len() as u64, self.pages_max);
        if got >= limit {
            return Err(PageError::Limit { what: "pages of a batch", got, limit });
        }
        Ok(())
    }

    /// Sets the content of a page. The last of several puts counts.
    pub fn put(&mut self, page: PageId, content: &[u8]) -> Result<(), PageError> {
        self.check_page(page)?;
        let shared = self.store.shared.clone();
        if content.len() != shared.page_bytes() {
            let problem = format!("{} bytes, pages have {}", content.len(), shared.page_bytes());
            return Err(PageError::Argument { what: "content of a page", problem });
        }
        if is_zero(content) {
            self.items.insert(page, Item::Zero);
            return Ok(());
        }
        let start = self.used;
        let need = start + HEADER_BYTES + Coder::bound(content.len()) + 4096;
        if self.arena.len() < need {
            // The step is large: what is new must be set to zero once.
            self.arena.resize(need.max(self.arena.len() + self.arena.len() / 2), 0);
        }
        let gain = match shared.layout {
            Layout::Packed => usize::try_from(shared.granule).expect("a granule is a few bytes"),
            Layout::Holes => {
                usize::try_from(BLOCK_BYTES).expect("a block has 4096 bytes") + HEADER_BYTES
            }
        };
        let codec = self.store.superblock.codec;
        let dictionary = self.store.dictionaries.get(self.store.superblock.dictionary);
        let hot = self.store.hot_codec_of(page, self.hot_count).filter(|_| !self.cools);
        let target = &mut self.arena[start + HEADER_BYTES..];
        let coder = &mut self.store.coder;
        let quick = hot.map(|hot| coder.encode(hot, None, content, gain, target)).transpose()?;
        // What the fast codec cannot make smaller another one may.
        let quick = quick.filter(|encoded| encoded.method != Method::None);
        let is_hot = quick.is_some();
        let encoded = match quick {
            Some(encoded) => encoded,
            None => coder.encode(codec, dictionary, content, gain, target)?,
        };
        self.hot_count += usize::from(is_hot);
        let length = HEADER_BYTES + encoded.bytes;
        let header = Header {
            method: encoded.method,
            page_shift: shared.page_shift,
            dictionary: encoded.dictionary,
            page,
            generation: self.store.generation + 1,
            payload_bytes: u32::try_from(encoded.bytes).expect("a page is at most a few megabytes"),
            checksum: 0,
        };
        let image = &mut self.arena[start..start + length];
        let checksum = header::seal(shared.file_id, image, header);
        self.hold(page, start, length, (checksum, is_hot));
        Ok(())
    }

    /// Room for the image of a page, as another store of the same number has it; [`Batch::take_room`] takes it.
    pub(super) fn room(&mut self, length: usize) -> &mut [u8] {
        let need = self.used + length + 4096;
        if self.arena.len() < need {
            self.arena.resize(need.max(self.arena.len() * 2), 0);
        }
        &mut self.arena[self.used..self.used + length]
    }

    /// Sets the image of a page to what was put into the room.
    pub(super) fn take_room(&mut self, page: PageId, length: usize) -> Result<(), PageError> {
        self.check_page(page)?;
        let start = self.used;
        let checksum = header::read_u64(&self.arena, start + 32);
        self.hold(page, start, length, (checksum, false));
        Ok(())
    }

    /// Images go into gaps below where they are, or stay.
    pub(super) fn descend(&mut self) {
        self.descending = true;
    }

    /// Takes as many pages as a store can have: for what must be one commit, however much it is.
    pub(super) fn lift_limit(&mut self) {
        self.pages_max = PAGES_MAX;
    }

    /// Frees every page that is not to live.
    pub(super) fn free_all_but(&mut self, lives: &dyn Fn(PageId) -> bool) -> Result<(), PageError> {
        let gone: Vec<PageId> = self.store.pages().filter(|page| !lives(*page)).collect();
        gone.into_iter().try_for_each(|page| self.free(page))
    }

    /// Commits as a later generation than the next.
    pub(super) fn commit_as(mut self, generation: Generation) -> Result<Generation, PageError> {
        if self.items.is_empty() {
            self.store.generation = generation;
            self.store.changed = true;
            return Ok(generation);
        }
        self.generation = Some(generation);
        self.commit(Durability::Sync)
    }

    /// Pads an image in the arena and notes it.
    fn hold(&mut self, page: PageId, start: usize, length: usize, (checksum, is_hot): (u64, bool)) {
        let granule = usize::try_from(self.store.shared.granule).expect("a granule is a few bytes");
        let end = start + length;
        self.used = end.next_multiple_of(granule);
        self.arena[end..self.used].fill(0);
        let length = u32::try_from(length).expect("a page is at most a few megabytes");
        self.items.insert(page, Item::Image { start, length, checksum, is_hot });
    }

    /// Makes a page zero without an image.
    pub(super) fn put_zero(&mut self, page: PageId) -> Result<(), PageError> {
        self.check_page(page)?;
        self.items.insert(page, Item::Zero);
        Ok(())
    }

    /// Frees a page.
    pub fn free(&mut self, page: PageId) -> Result<(), PageError> {
        self.check_page(page)?;
        if !self.store.contains(page) && !self.items.contains_key(&page) {
            return Err(PageError::NoPage { path: self.store.shared.path.clone(), page });
        }
        self.items.insert(page, Item::Free);
        Ok(())
    }

    /// Commits: all of it, or, on an error, nothing. Returns the generation from which on readers see it.
    ///
    /// An error of a sync leaves open what the disk has; the store takes no further writes then, and opening it again tells.
    ///
    /// ```
    /// # use tambour_page::*;
    /// # use tambour_storage::place::disk;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("drum.pages");
    /// # let mut store = Store::create(&path, &Options { page_bytes: 4096, ..Options::default() })?;
    /// let mut batch = store.batch()?;
    /// batch.put(0, &[1; 4096])?;
    /// batch.put(7, &[2; 4096])?;
    /// let generation = batch.commit(Durability::Sync)?;
    /// assert_eq!((generation, store.written_at(7), store.len()), (1, 1, 8));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(mut self, durability: Durability) -> Result<Generation, PageError> {
        self.store.check_writable()?;
        if self.items.is_empty() {
            if durability == Durability::Sync && self.store.durable < self.store.generation {
                self.store.sync_pack()?;
                self.store.acknowledge();
            }
            return Ok(self.store.generation);
        }
        self.make_way()?;
        self.reserve()?;
        let generation = self.generation.unwrap_or(self.store.generation + 1);
        let spread = self.store.shared.layout == Layout::Packed
            && self.store.extents.free_bytes() > self.store.image_bytes / SLACK_DIVISOR;
        let (records, placed, head) = self.place(generation, spread);
        let frame_bytes = frame::frame_bytes(records.len(), self.store.shared.granule);
        if records.is_empty() {
            return Ok(self.store.generation);
        }
        if let Err(error) = self.write(generation, &records, &placed, head) {
            // Nothing refers to what was written; the gaps are free as before.
            for gap in placed.iter().filter(|placed| placed.offset < head) {
                self.store.extents.free(gap.offset, gap.padded as u64);
            }
            if !matches!(error, PageError::Full { .. }) {
                // Who knows what the disk has of it.
                self.store.poisoned = Some("write");
            }
            return Err(error);
        }
        if durability == Durability::Sync {
            self.store.sync_pack()?;
        }
        let inline: u64 =
            placed.iter().filter(|it| it.offset >= head).map(|it| it.padded as u64).sum();
        let store = &mut *self.store;
        store.extents.append(frame_bytes + inline);
        store.log.frames.push((head, frame_bytes));
        store.log.bytes += frame_bytes + placed.iter().map(|it| it.padded as u64).sum::<u64>();
        for record in &records {
            store.apply(record, generation);
            if let Some(Item::Image { is_hot: true, .. }) = self.items.get(&record.page) {
                store.hot.insert(record.page);
            }
        }
        store.generation = generation;
        if durability == Durability::Sync {
            store.acknowledge();
        }
        count(&store.shared.counters.commits, 1);
        Ok(generation)
    }

    /// Makes a checkpoint where one is due, or where the log would not begin at the place where recovery looks for it: a
    /// dictionary was written there, and the checkpoint that was to follow has failed.
    fn make_way(&mut self) -> Result<(), PageError> {
        let store = &mut *self.store;
        if store.log.frames.is_empty() && store.extents.tail() != store.superblock.log_start {
            return store.write_checkpoint();
        }
        if self.cools || store.log.bytes <= store.log_limit() {
            return Ok(());
        }
        let before = store.generation;
        store.checkpoint_but(&self.items)?;
        if store.generation > before {
            self.stamp(before + 1);
        }
        Ok(())
    }

    /// Gives the images that were made for the commit `before` the generation of the one that is next now.
    fn stamp(&mut self, before: Generation) {
        let (file_id, next) = (self.store.shared.file_id, self.store.generation + 1);
        for item in self.items.values_mut() {
            let Item::Image { start, length, checksum, .. } = item else { continue };
            let image = &mut self.arena[*start..*start + *length as usize];
            if header::read_u64(image, 16) == before {
                *checksum = header::stamp(file_id, image, next);
            }
        }
    }

    /// Layout holes: lengthens the file and reserves the blocks that pages will need at home, so that a full disk is found
    /// out now and not when the commit has been acknowledged.
    fn reserve(&mut self) -> Result<(), PageError> {
        let store = &mut *self.store;
        let shared = store.shared.clone();
        let Some(home) = &shared.home else { return Ok(()) };
        if let Some(last) = self.items.keys().next_back() {
            let need = shared.home_offset(last + 1);
            if store.home_length < need {
                let step = (need / 4).min(HOME_STEP_MAX);
                let length = (need + step).next_multiple_of(shared.page_bytes() as u64);
                home.set_length(length)?;
                store.home_length = length;
            }
        }
        for (&page, item) in &self.items {
            let Item::Image { length, .. } = *item else { continue };
            let bytes = u64::from(length).min(shared.page_bytes() as u64);
            let need = u16::try_from(bytes.div_ceil(BLOCK_BYTES)).unwrap_or(u16::MAX);
            let mut entry = store.map.get(page);
            let have = entry.home_blocks;
            if need <= have || !store.reserves {
                continue;
            }
            let offset = shared.home_offset(page) + u64::from(have) * BLOCK_BYTES;
            count(&shared.counters.reservations, 1);
            match home.file.reserve(offset, u64::from(need - have) * BLOCK_BYTES) {
                Ok(()) => {}
                Err(error) if is_unsupported(&error) => {
                    store.reserves = false;
                    continue;
                }
                Err(error) => return Err(PageError::file("reserve space in", &home.path)(error)),
            }
            entry.home_blocks = need;
            store.map.set(page, entry);
            if !entry.has_image() {
                store.vacated.insert(page);
            }
        }
        Ok(())
    }
}

/// What a system without the call says.
pub(super) fn is_unsupported(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::Unsupported
}
