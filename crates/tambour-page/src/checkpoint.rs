//! Checkpoints: the map is written as a whole, the superblock leads to it, and what the commits before gave up is free.
//!
//! In the layout holes, the images in the journal move home first.

use super::PageError;
use super::batch::{Item, is_unsupported};
use super::map::{Entry, State};
use super::options::PageId;
use super::shared::{BLOCK_BYTES, count};
use super::snapshot;
use super::store::{Freed, Log, Store};
use super::superblock::{PLACES, Stretch};
use std::collections::BTreeMap;
use tambour_kernel::hash::xxh3_64;

/// Commits of fewer bytes never make a checkpoint by themselves.
const LOG_BYTES_MIN: u64 = 8 << 20;
/// Commits may take this part of the images before a checkpoint is made.
const LOG_DIVISOR: u64 = 20;

impl Store {
    /// Bytes of commits after which a checkpoint is due.
    pub(super) fn log_limit(&self) -> u64 {
        match self.superblock.checkpoint_bytes {
            0 => LOG_BYTES_MIN.max(self.image_bytes / LOG_DIVISOR),
            bytes => bytes,
        }
    }

    /// Makes every commit durable, empties the log, and frees the space that it gave up.
    pub fn checkpoint(&mut self) -> Result<(), PageError> {
        self.checkpoint_but(&BTreeMap::new())
    }

    /// As [`Store::checkpoint`], for a batch that is about to write some pages anew.
    pub(super) fn checkpoint_but(
        &mut self,
        items: &BTreeMap<PageId, Item>,
    ) -> Result<(), PageError> {
        self.check_writable()?;
        self.cool(items)?;
        let releasable = self.freed.iter().any(|freed| self.is_released(freed));
        if self.log.frames.is_empty() && !self.changed && !releasable {
            return Ok(());
        }
        self.write_checkpoint()
    }

    pub(super) fn write_checkpoint(&mut self) -> Result<(), PageError> {
        self.go_home()?;
        let bytes = snapshot::encode(&self.map, &self.references, self.shared.granule);
        let padded = (bytes.len() as u64).next_multiple_of(self.shared.granule);
        let offset = self.extents.allocate(padded).unwrap_or_else(|| self.extents.append(padded));
        if let Err(error) = self.write_padded(&bytes, offset) {
            self.extents.free(offset, padded);
            if matches!(error, PageError::Full { .. }) {
                // Nothing leads there yet.
                self.poisoned = None;
            }
            return Err(error);
        }
        self.sync_pack()?;
        let snapshot = Stretch {
            offset,
            bytes: bytes.len() as u64,
            checksum: xxh3_64(&bytes, self.shared.file_id),
        };
        self.release(self.superblock.snapshot);
        self.superblock.epoch += 1;
        self.superblock.generation = self.generation;
        self.superblock.page_count = self.map.page_count();
        self.superblock.snapshot = snapshot;
        self.superblock.log_start = self.extents.tail();
        self.write_superblocks()?;
        self.durable = self.generation;
        self.log = Log { previous: snapshot.checksum, ..Log::default() };
        self.changed = false;
        count(&self.shared.counters.checkpoints, 1);
        // What is after the tail is of no use; that it goes is no condition for anything.
        let tail = self.extents.tail();
        if self.shared.pack.length().is_ok_and(|length| length > tail) {
            let _ = self.shared.pack.set_length(tail);
        }
        Ok(())
    }

    /// Writes both copies of the superblock. Only when both are durable may anything be reused: so each copy leads to a whole
    /// store at any moment.
    pub(super) fn write_superblocks(&mut self) -> Result<(), PageError> {
        let bytes = self.superblock.encode();
        for place in PLACES {
            if let Err(error) = self.shared.pack.write(&[&bytes], place) {
                self.poisoned = Some("write");
                return Err(error);
            }
            self.sync_pack()?;
        }
        Ok(())
    }

    /// True if no reader needs it any more.
    fn is_released(&self, freed: &Freed) -> bool {
        self.shared.oldest_pin().is_none_or(|pin| pin >= freed.generation)
    }

    /// Frees what this checkpoint makes superfluous.
    fn release(&mut self, snapshot: Stretch) {
        let oldest = self.shared.oldest_pin().unwrap_or(u64::MAX);
        for (offset, bytes) in std::mem::take(&mut self.log.frames) {
            self.extents.free(offset, bytes);
        }
        self.extents.free(snapshot.offset, snapshot.bytes.next_multiple_of(self.shared.granule));
        let extents = &mut self.extents;
        self.freed.retain(|freed| {
            let kept = oldest < freed.generation;
            if !kept {
                extents.free(freed.offset, freed.bytes);
            }
            kept
        });
    }

    /// Layout holes: writes waiting images to their homes and gives back the blocks that nobody needs. What an older reader
    /// still sees at home stays there, and the image waits.
    fn go_home(&mut self) -> Result<(), PageError> {
        if self.shared.home.is_none() || (self.waiting.is_empty() && self.vacated.is_empty()) {
            return Ok(());
        }
        // A power cut may tear what is overwritten now; the journal must be able to mend it.
        self.sync_pack()?;
        let oldest = self.shared.oldest_pin().unwrap_or(u64::MAX);
        let moved = self.move_images(oldest).and_then(|moved| {
            self.vacate(oldest)?;
            self.shared.home.as_ref().map_or(Ok(()), super::shared::StoreFile::sync)?;
            Ok(moved)
        });
        let moved = match moved {
            Ok(moved) => moved,
            Err(error) => {
                if !matches!(error, PageError::Full { .. }) {
                    self.poisoned = Some("write");
                }
                return Err(error);
            }
        };
        for (page, entry) in moved {
            let old = self.map.get(page);
            let bytes = self.padded(old.length);
            // A reader may hold a view in which the image is in the journal.
            let generation = self.generation + 1;
            self.freed.push(Freed { generation, offset: old.offset, bytes });
            self.map.set(page, entry);
            self.waiting.remove(&page);
        }
        Ok(())
    }

    /// Writes images home, without a change of the map; returns the entries that they have from now on.
    fn move_images(&mut self, oldest: u64) -> Result<Vec<(PageId, Entry)>, PageError> {
        let shared = self.shared.clone();
        let Some(home) = &shared.home else { return Ok(Vec::new()) };
        let waiting: Vec<PageId> = self.waiting.iter().copied().collect();
        let mut moved = Vec::with_capacity(waiting.len());
        let mut scratch = std::mem::take(&mut self.scratch);
        for page in waiting {
            let entry = self.map.get(page);
            if oldest < entry.generation {
                continue;
            }
            let image = shared.fetch(page, &entry, &mut scratch)?;
            let header = shared.check(page, &entry, image)?;
            let raw = image.len() > shared.page_bytes();
            let source = if raw { &image[super::header::HEADER_BYTES..] } else { image };
            let blocks = (source.len() as u64).div_ceil(BLOCK_BYTES);
            let used = usize::try_from(blocks * BLOCK_BYTES).expect("the page is in memory");
            let padding = vec![0; used - source.len()];
            let at = shared.home_offset(page);
            home.write(&[source, &padding], at)?;
            let have = u64::from(entry.home_blocks);
            if have > blocks {
                self.give_back(at + blocks * BLOCK_BYTES, (have - blocks) * BLOCK_BYTES)?;
            }
            let home_blocks = u16::try_from(blocks).expect("a page has few blocks");
            let state = if raw { State::Raw } else { State::Home };
            let offset = if raw { header.checksum } else { 0 };
            moved.push((page, Entry { offset, home_blocks, state, ..entry }));
        }
        self.scratch = scratch;
        Ok(moved)
    }

    /// Gives back the blocks of pages that are zero or free.
    fn vacate(&mut self, oldest: u64) -> Result<(), PageError> {
        if oldest != u64::MAX {
            // Whoever reads an older generation may need them.
            return Ok(());
        }
        for page in std::mem::take(&mut self.vacated) {
            let mut entry = self.map.get(page);
            let bytes = u64::from(entry.home_blocks) * BLOCK_BYTES;
            self.give_back(self.shared.home_offset(page), bytes)?;
            entry.home_blocks = 0;
            self.map.set(page, entry);
        }
        Ok(())
    }

    /// Punches a hole; where there are none, writes zeros.
    pub(super) fn give_back(&mut self, offset: u64, bytes: u64) -> Result<(), PageError> {
        let shared = self.shared.clone();
        let Some(home) = &shared.home else { return Ok(()) };
        if self.punches {
            count(&shared.counters.punches, 1);
            match home.file.punch(offset, bytes) {
                Ok(()) => return Ok(()),
                Err(error) if is_unsupported(&error) => self.punches = false,
                Err(error) => return Err(PageError::file("punch", &home.path)(error)),
            }
        }
        let zeros = vec![0; usize::try_from(bytes).expect("a page fits in memory")];
        home.write(&[&zeros], offset)
    }
}
