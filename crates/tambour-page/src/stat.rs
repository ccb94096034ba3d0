//! What a store takes: logically, as images, rounded, and on the disk.

use super::PageError;
use super::header::{self, HEADER_BYTES};
use super::map::{Entry, State};
use super::options::{Generation, Layout, Method, PageId};
use super::shared::{BLOCK_BYTES, Counts};
use super::store::Store;
use tambour_storage::place::Space;

/// Images of one codec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodecStat {
    /// Images.
    pub images: u64,
    /// Their bytes, headers included.
    pub bytes: u64,
    /// How many of them take this many blocks of 4 KiB: the first for one block.
    pub blocks: Vec<u64>,
}

/// What a store takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    /// How images lie.
    pub layout: Layout,
    /// Bytes of a page.
    pub page_bytes: usize,
    /// Number that all images carry.
    pub file_id: u64,
    /// The last commit.
    pub generation: Generation,
    /// Checkpoints since the store was made.
    pub epoch: u64,
    /// One more than the highest page ever written.
    pub page_count: u64,
    /// Pages that exist.
    pub pages: u64,
    /// Of these, pages that are zero and have no image.
    pub zero_pages: u64,
    /// Bytes of all pages that exist.
    pub logical_bytes: u64,
    /// Bytes of all images with their headers.
    pub image_bytes: u64,
    /// The same, each padded as the layout pads it.
    pub rounded_bytes: u64,
    /// Bytes of the extents of the packed file that hold images.
    pub packed_bytes: u64,
    /// Bytes of free space inside the packed file.
    pub free_bytes: u64,
    /// Free runs inside the packed file.
    pub free_runs: usize,
    /// Bytes that were given up and wait for a checkpoint or a reader.
    pub waiting_bytes: u64,
    /// The packed file; in the layout holes, the map with its journal.
    pub packed_file: Space,
    /// The file with holes.
    pub home_file: Option<Space>,
    /// Dictionaries and their bytes.
    pub dictionaries: (usize, u64),
    /// Runs of images without anything between.
    pub extents: u64,
    /// Pages whose image does not stand directly after that of the page before.
    pub steps: u64,
    /// Of these, pages whose image stands before it.
    pub backward_steps: u64,
    /// Pages whose image is in more than one piece. None, in either layout; only the file system may split one.
    pub split_pages: u64,
    /// Per codec.
    pub codecs: Vec<(Method, CodecStat)>,
    /// What was done since the store was opened.
    pub counts: Counts,
    /// What it took of the disk; exact after a checkpoint. `None` where the file system does not tell.
    pub growth: Option<Growth>,
}

/// What became of the disk since a store was opened: by the count of its blocks, and by the file system's own count of what
/// is free. They differ where blocks are held that no file shows, as on btrfs; and where others write beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Bytes by which the allocated blocks of the files have become more.
    pub allocated: i64,
    /// Bytes by which the free space of the file system has become less.
    pub used: i64,
}

impl Stat {
    /// Bytes that the file system says are allocated, of both files.
    pub fn allocated_bytes(&self) -> u64 {
        self.packed_file.allocated + self.home_file.map_or(0, |space| space.allocated)
    }

    /// Bytes of both files' lengths.
    pub fn file_bytes(&self) -> u64 {
        self.packed_file.length + self.home_file.map_or(0, |space| space.length)
    }
}

impl Store {
    /// What the store takes. With `codecs`, the header of every image is read.
    pub fn stat(&mut self, codecs: bool) -> Result<Stat, PageError> {
        let shared = self.shared.clone();
        let space = |file: &super::shared::StoreFile| {
            file.file.space().map_err(PageError::file("measure", &file.path))
        };
        let mut stat = Stat {
            layout: shared.layout,
            page_bytes: shared.page_bytes(),
            file_id: shared.file_id,
            generation: self.generation,
            epoch: self.superblock.epoch,
            page_count: self.map.page_count(),
            pages: 0,
            zero_pages: 0,
            logical_bytes: 0,
            image_bytes: 0,
            rounded_bytes: 0,
            packed_bytes: 0,
            free_bytes: self.extents.free_bytes(),
            free_runs: self.extents.runs(),
            waiting_bytes: self.freed.iter().map(|freed| freed.bytes).sum(),
            packed_file: space(&shared.pack)?,
            home_file: shared.home.as_ref().map(space).transpose()?,
            dictionaries: (
                self.references.len(),
                self.references.iter().map(|(_, stretch)| stretch.bytes).sum(),
            ),
            extents: 0,
            steps: 0,
            backward_steps: 0,
            split_pages: 0,
            codecs: Vec::new(),
            counts: self.counts(),
            growth: None,
        };
        stat.growth = self.growth(stat.allocated_bytes(), stat.packed_file.free_bytes);
        self.add_pages(&mut stat);
        if codecs {
            self.add_codecs(&mut stat)?;
        }
        Ok(stat)
    }

    fn growth(&self, allocated: u64, free: Option<u64>) -> Option<Growth> {
        let (allocated_before, free_before) = self.found?;
        Some(Growth {
            allocated: allocated.cast_signed() - allocated_before.cast_signed(),
            used: free_before.cast_signed() - free?.cast_signed(),
        })
    }

    fn add_pages(&self, stat: &mut Stat) {
        let page_bytes = stat.page_bytes as u64;
        // The image before, and where the next one would stand after it.
        let mut before: Option<(u64, u64)> = None;
        stat.zero_pages = self.map.zeros().map(|(_, count, _)| count).sum();
        stat.pages = stat.zero_pages;
        for (page, entry) in self.map.images(0) {
            stat.pages += 1;
            let bytes = self.space_of(&entry);
            stat.image_bytes += u64::from(entry.length);
            stat.rounded_bytes += bytes;
            let (_, offset) = self.shared.place(page, &entry);
            let end = if entry.is_home() { offset + page_bytes } else { offset + bytes };
            stat.packed_bytes += if entry.state == State::Packed { bytes } else { 0 };
            let joins = before.is_some_and(|(_, end)| end == offset);
            let whole_range = !entry.is_home() || bytes == page_bytes;
            if !joins || !whole_range {
                stat.extents += 1;
            }
            if let Some((earlier, _)) = before.filter(|_| !joins) {
                stat.steps += 1;
                stat.backward_steps += u64::from(offset < earlier);
            }
            before = Some((offset, end));
        }
        stat.logical_bytes = stat.pages * page_bytes;
    }

    /// Bytes that an image takes with its padding.
    fn space_of(&self, entry: &Entry) -> u64 {
        if entry.is_home() {
            let bytes = u64::from(entry.length).min(self.page_bytes() as u64);
            bytes.next_multiple_of(BLOCK_BYTES)
        } else {
            self.padded(entry.length)
        }
    }

    fn add_codecs(&mut self, stat: &mut Stat) -> Result<(), PageError> {
        let mut codecs: Vec<(Method, CodecStat)> = Vec::new();
        let images: Vec<(PageId, Entry)> = self.map.images(0).collect();
        let mut head = [0; HEADER_BYTES];
        for (page, entry) in images {
            let method = if entry.state == State::Raw {
                Method::None
            } else {
                let (file, offset) = self.shared.place(page, &entry);
                file.read(&mut head, offset)?;
                let found = header::parse(&head, self.shared.expected(page, &entry));
                found.map_err(|problem| self.shared.page_error(page, &entry, problem))?.method
            };
            let known = codecs.iter().position(|(known, _)| *known == method);
            let index = known.unwrap_or(codecs.len());
            if index == codecs.len() {
                codecs.push((method, CodecStat::default()));
            }
            let codec = &mut codecs[index].1;
            let stored = u64::from(entry.length)
                - if entry.state == State::Raw { HEADER_BYTES as u64 } else { 0 };
            let blocks = usize::try_from(stored.div_ceil(BLOCK_BYTES)).unwrap_or(1);
            if codec.blocks.len() < blocks {
                codec.blocks.resize(blocks, 0);
            }
            codec.blocks[blocks - 1] += 1;
            codec.images += 1;
            codec.bytes += u64::from(entry.length);
        }
        codecs.sort_by_key(|(method, _)| method.byte());
        stat.codecs = codecs;
        Ok(())
    }
}
