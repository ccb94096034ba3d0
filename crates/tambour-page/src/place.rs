//! Where the images of a commit go, and the writes that put them there.

use super::PageError;
use super::batch::{Batch, Item};
use super::frame::{self, FrameHeader, Kind, Record};
use super::header;
use super::options::{Generation, PageId};
use std::collections::BTreeMap;

/// Free space of more than this part of the images is plenty: less is what checkpoints leave for the next commits.
const ROOM_DIVISOR: u64 = 2;
/// By this part of it the shortest image of the commits before is forgotten with each commit.
const UNIT_DIVISOR: u64 = 64;
/// An image on its way: where it is in the arena, and where it goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    start: usize,
    pub(super) padded: usize,
    pub(super) offset: u64,
}

impl Batch<'_> {
    /// Finds a place for each image: a gap if there is enough of them, after the frame otherwise.
    pub(super) fn place(
        &mut self,
        generation: Generation,
        spread: bool,
    ) -> (Vec<Record>, Vec<Placed>, u64) {
        let granule = self.store.shared.granule;
        let head = self.store.extents.tail();
        let mut inline = head + frame::frame_bytes(self.items.len(), granule);
        let mut records = Vec::with_capacity(self.items.len());
        let mut placed = Vec::with_capacity(self.items.len());
        // Where there is much room, the best place for all of them is one gap that takes them together. Where there is little,
        // that would break up what single images could fill.
        let roomy = self.store.extents.free_bytes() > self.store.image_bytes / ROOM_DIVISOR;
        let whole = if spread && roomy && !self.descending {
            self.store.extents.allocate(self.used as u64)
        } else {
            None
        };
        let mut within = whole;
        let mut gaps = if spread && whole.is_none() && !self.descending {
            self.find_gaps()
        } else {
            BTreeMap::new()
        };
        for (&page, item) in &self.items {
            let empty = |kind| Record { kind, page, generation, offset: 0, length: 0, checksum: 0 };
            let (start, length, checksum) = match *item {
                Item::Zero => {
                    records.push(empty(Kind::Zero));
                    continue;
                }
                Item::Free => {
                    records.push(empty(Kind::Free));
                    continue;
                }
                Item::Image { start, length, checksum, .. } => (start, length, checksum),
            };
            let padded = u64::from(length).next_multiple_of(granule);
            let offset = if let Some(at) = &mut within {
                *at += padded;
                *at - padded
            } else if self.descending {
                let below = self.store.map.get(page).offset;
                match self.store.extents.allocate_below(padded, below) {
                    Some(gap) => gap,
                    None => continue,
                }
            } else {
                gaps.remove(&page).unwrap_or_else(|| {
                    inline += padded;
                    inline - padded
                })
            };
            let generation = header::read_u64(&self.arena, start + 16);
            records.push(Record { kind: Kind::Image, page, generation, offset, length, checksum });
            let padded = usize::try_from(padded).expect("the image is in memory");
            placed.push(Placed { start, padded, offset });
        }
        if let (Some(start), Some(end)) = (whole, within) {
            // Pages that were put twice have left room over.
            self.store.extents.free(end, start + self.used as u64 - end);
        }
        (records, placed, head)
    }

    /// Gaps for images, the shortest image first: what is left over goes to the long ones.
    fn find_gaps(&mut self) -> BTreeMap<PageId, u64> {
        let store = &mut *self.store;
        let mut images: Vec<(u64, PageId)> = Vec::with_capacity(self.items.len());
        for (&page, item) in &self.items {
            if let Item::Image { length, .. } = *item {
                images.push((u64::from(length).next_multiple_of(store.shared.granule), page));
            }
        }
        images.sort_unstable();
        let Some(&(shortest, _)) = images.first() else { return BTreeMap::new() };
        // That of the commits before counts, too, and less and less.
        store.unit = shortest.min(store.unit.saturating_add(store.unit / UNIT_DIVISOR));
        let find = |(padded, page): (u64, PageId)| {
            Some((page, store.extents.allocate_among(padded, store.unit)?))
        };
        images.into_iter().filter_map(find).collect()
    }

    /// Writes the images that go into gaps, then the frame with the others after it, in one call.
    pub(super) fn write(
        &mut self,
        generation: Generation,
        records: &[Record],
        placed: &[Placed],
        head: u64,
    ) -> Result<(), PageError> {
        let store = &mut *self.store;
        let pack = &store.shared.pack;
        let (mut gaps, behind): (Vec<Placed>, Vec<Placed>) =
            placed.iter().partition(|placed| placed.offset < head);
        gaps.sort_unstable_by_key(|placed| placed.offset);
        for run in gaps.chunk_by(|one, other| one.offset + one.padded as u64 == other.offset) {
            pack.write(&pieces(&self.arena, run), run[0].offset)?;
        }
        let inline_bytes = behind.iter().map(|placed| placed.padded as u64).sum();
        let last = self.items.keys().next_back().map_or(0, |page| page + 1);
        let header = FrameHeader {
            record_count: u32::try_from(records.len()).unwrap_or(u32::MAX),
            epoch: store.superblock.epoch,
            generation,
            durable: store.durable,
            previous: store.log.previous,
            page_count: store.map.page_count().max(last),
            inline_bytes,
            checksum: 0,
        };
        let mut bytes = std::mem::take(&mut store.scratch);
        let shared = &store.shared;
        let sum = frame::encode(&header, records, shared.file_id, shared.granule, &mut bytes);
        let mut all: Vec<&[u8]> = vec![&bytes];
        all.extend(pieces(&self.arena, &behind));
        let written = pack.write(&all, head);
        store.scratch = bytes;
        written?;
        store.log.previous = sum;
        Ok(())
    }
}

/// The bytes of images; those that stand side by side in the arena are one piece.
fn pieces<'a>(arena: &'a [u8], run: &[Placed]) -> Vec<&'a [u8]> {
    let joined = run.chunk_by(|one, other| one.start + one.padded == other.start);
    let piece = |group: &[Placed]| {
        let end = group.last().map_or(0, |last| last.start + last.padded);
        group.first().map(|first| &arena[first.start..end])
    };
    joined.filter_map(piece).collect()
}
