//! Compaction: images at the end of the file move into gaps, so that the file can be cut. And re-encoding of what is there.

use super::PageError;
use super::map::State;
use super::options::{Durability, Layout, PageId};
use super::shared::BLOCK_BYTES;
use super::store::Store;
use std::collections::BTreeMap;

/// Bytes of images that are moved by one commit.
const STEP_BYTES: u64 = 1 << 20;

/// A file of which less is free is not cut when its last user goes.
const SHRUNK_BYTES_MIN: u64 = 1 << 20;
/// Most bytes of images that are moved then, so that going takes no long time.
const SHRUNK_BUDGET: u64 = 16 << 20;

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Images moved.
    pub moved: u64,
    /// Their bytes.
    pub moved_bytes: u64,
    /// Bytes of the packed file before.
    pub before: u64,
    /// And after.
    pub after: u64,
}

impl Store {
    /// Moves up to `budget` bytes of images from the end of the packed file into gaps, and cuts it. In the layout holes, every
    /// page goes home, and ranges of pages without an image are given back.
    pub fn compact(&mut self, budget: u64) -> Result<Compacted, PageError> {
        self.check_writable()?;
        let mut done = Compacted { before: self.shared.pack.length()?, ..Compacted::default() };
        // What is hot would move as it is, and not be remembered.
        self.cool(&BTreeMap::new())?;
        self.write_checkpoint()?;
        if self.shared.layout == Layout::Holes {
            self.punch_vacant()?;
        } else {
            let mut tail = u64::MAX;
            while done.moved_bytes < budget && self.extents.tail() < tail {
                tail = self.extents.tail();
                self.move_last(budget - done.moved_bytes, &mut done)?;
            }
        }
        // Twice: the first frees the space of the last map, the second need not step over it.
        self.write_checkpoint()?;
        self.write_checkpoint()?;
        done.after = self.shared.pack.length()?;
        Ok(done)
    }

    /// Cuts a packed file of which more than a half is free: small stores are mostly log, which is free after a checkpoint.
    pub(super) fn shrink(&mut self) -> Result<(), PageError> {
        let free = self.extents.free_bytes();
        let is_worth = free >= SHRUNK_BYTES_MIN && free > self.extents.tail() / 2;
        if !is_worth || self.shared.layout != Layout::Packed || self.shared.oldest_pin().is_some() {
            return Ok(());
        }
        match self.compact(SHRUNK_BUDGET) {
            // Moving takes room for a moment; without it the file stays as long as it is.
            Ok(_) | Err(PageError::Full { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Moves images from the end of the file into the lowest gaps that hold them, as long as that brings them down.
    fn move_last(&mut self, budget: u64, done: &mut Compacted) -> Result<(), PageError> {
        let packed = self.map.images(0).filter(|(_, entry)| entry.state == State::Packed);
        let mut last: Vec<(u64, PageId)> =
            packed.map(|(page, entry)| (entry.offset, page)).collect();
        last.sort_unstable_by(|one, other| other.cmp(one));
        let free = self.extents.free_bytes();
        let mut planned = Vec::new();
        let mut bytes = 0;
        for (offset, page) in last {
            let entry = self.map.get(page);
            let padded = self.padded(entry.length);
            // What lies below the space that is free anyway would come to lie no lower.
            if bytes >= budget || offset + free < self.extents.tail() {
                break;
            }
            planned.push((page, padded));
            bytes += padded;
        }
        let mut rest = &planned[..];
        while !rest.is_empty() {
            let mut count = 0;
            let mut step = 0;
            while count < rest.len() && step < STEP_BYTES {
                step += rest[count].1;
                count += 1;
            }
            let (now, later) = rest.split_at(count);
            self.move_pages(now, done)?;
            rest = later;
        }
        self.write_checkpoint()
    }

    fn move_pages(
        &mut self,
        pages: &[(PageId, u64)],
        done: &mut Compacted,
    ) -> Result<(), PageError> {
        let shared = self.shared.clone();
        let mut images = Vec::with_capacity(pages.len());
        for &(page, _) in pages {
            let entry = self.map.get(page);
            let mut image = Vec::new();
            shared.fetch(page, &entry, &mut image)?;
            shared.check(page, &entry, &image)?;
            images.push((page, image));
        }
        let places: Vec<u64> = pages.iter().map(|(page, _)| self.map.get(*page).offset).collect();
        let mut batch = self.batch()?;
        for (page, image) in &images {
            batch.room(image.len()).copy_from_slice(image);
            batch.take_room(*page, image.len())?;
        }
        batch.descend();
        batch.commit(Durability::Async)?;
        for ((page, bytes), place) in pages.iter().zip(places) {
            if self.map.get(*page).offset != place {
                done.moved += 1;
                done.moved_bytes += bytes;
            }
        }
        Ok(())
    }

    /// Gives back the ranges of all pages that have nothing at home.
    fn punch_vacant(&mut self) -> Result<(), PageError> {
        if self.shared.oldest_pin().is_some() {
            return Ok(());
        }
        let range = u64::from(self.blocks_max()) * BLOCK_BYTES;
        let mut page = 0;
        while page < self.map.page_count() {
            if !self.map.get(page).is_home() {
                self.give_back(self.shared.home_offset(page), range)?;
            }
            page += 1;
        }
        Ok(())
    }

    /// Writes every page again with the codec and the dictionary that are set, in batches of `batch_pages`.
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
    /// store.set_codec(PageCodec::LZ4)?;
    /// assert_eq!(store.recode(100)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recode(&mut self, batch_pages: usize) -> Result<u64, PageError> {
        let hot = self.hot_codec.take();
        let recoded = self.recode_all(batch_pages);
        self.hot_codec = hot;
        recoded
    }

    fn recode_all(&mut self, batch_pages: usize) -> Result<u64, PageError> {
        let pages: Vec<PageId> = self.map.images(0).map(|(page, _)| page).collect();
        let mut content = vec![0; self.page_bytes()];
        for group in pages.chunks(batch_pages.max(1)) {
            let mut reader = self.reader();
            let mut batch = self.batch()?;
            for &page in group {
                reader.read(page, &mut content)?;
                batch.put(page, &content)?;
            }
            drop(reader);
            batch.commit(Durability::Async)?;
        }
        self.checkpoint()?;
        Ok(pages.len() as u64)
    }
}
