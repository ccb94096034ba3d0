//! Where each page is. Clones share chunks until one of them is written to, so that a reader's view of the whole store costs
//! a few bytes per thousand pages. What is free takes little room, however it is strewn among what is in use.

use super::options::{Generation, PageId};
use std::sync::Arc;

/// Entries of a chunk.
const CHUNK: usize = 1024;
/// This many pages in use are listed; more of them have a table of all pages of their chunk.
const FEW_MAX: usize = 128;

/// What a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum State {
    /// Never written, or freed.
    #[default]
    Free,
    /// All zeros, without an image.
    Zero,
    /// An image in the packed file (or in the journal of the layout holes).
    Packed,
    /// An image at its home: number times page size, in the file with holes.
    Home,
    /// The page itself at its home, without a header, which would not fit. The entry holds the checksum of the image that
    /// header and page would be.
    Raw,
}

/// Where a page is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Of the image, for [`State::Packed`]; its checksum, for [`State::Raw`].
    pub(crate) offset: u64,
    pub(crate) generation: Generation,
    /// Bytes of the image with its header.
    pub(crate) length: u32,
    /// Blocks that the page has at its home.
    pub(crate) home_blocks: u16,
    pub(crate) state: State,
}

impl Entry {
    /// True if there is an image.
    pub(crate) fn has_image(&self) -> bool {
        matches!(self.state, State::Packed | State::Home | State::Raw)
    }

    /// True if the page is at its home.
    pub(crate) fn is_home(&self) -> bool {
        matches!(self.state, State::Home | State::Raw)
    }
}

type Entries = [Entry; CHUNK];

/// A thousand free pages.
static EMPTY: Entries =
    [Entry { offset: 0, generation: 0, length: 0, home_blocks: 0, state: State::Free }; CHUNK];

/// A thousand pages.
#[derive(Clone, Debug, Default)]
enum Chunk {
    /// All of them free.
    #[default]
    Free,
    /// All of them alike, and without an image.
    Same(Arc<Entry>),
    /// These, in their order; the others are free.
    Few(Arc<Vec<(usize, Entry)>>),
    /// Each with an entry of its own.
    Each(Arc<Entries>),
}

/// Where a page is listed, or would be.
fn find(listed: &[(usize, Entry)], index: usize) -> Result<usize, usize> {
    listed.binary_search_by_key(&index, |(index, _)| *index)
}

impl Chunk {
    fn set(&mut self, index: usize, entry: Entry) {
        match self {
            Self::Each(entries) => Arc::make_mut(entries)[index] = entry,
            Self::Same(same) => {
                let mut entries = Arc::new(EMPTY);
                let all = Arc::make_mut(&mut entries);
                all.fill(**same);
                all[index] = entry;
                *self = Self::Each(entries);
            }
            Self::Free if entry == Entry::default() => {}
            Self::Free => *self = Self::Few(Arc::new(vec![(index, entry)])),
            Self::Few(listed) => match find(listed, index) {
                Ok(at) if entry == Entry::default() => {
                    Arc::make_mut(listed).remove(at);
                }
                Ok(at) => Arc::make_mut(listed)[at].1 = entry,
                Err(_) if entry == Entry::default() => {}
                Err(at) if listed.len() < FEW_MAX => {
                    Arc::make_mut(listed).insert(at, (index, entry));
                }
                Err(_) => {
                    let mut entries = Arc::new(EMPTY);
                    let all = Arc::make_mut(&mut entries);
                    listed.iter().for_each(|(index, entry)| all[*index] = *entry);
                    all[index] = entry;
                    *self = Self::Each(entries);
                }
            },
        }
    }

    /// Entries of pages that are not free, or may not be, with their places in the chunk; none for those that are all alike.
    fn entries(&self) -> impl Iterator<Item = (usize, Entry)> + '_ {
        let (listed, each): (&[(usize, Entry)], &[Entry]) = match self {
            Self::Free | Self::Same(_) => (&[], &[]),
            Self::Few(listed) => (listed, &[]),
            Self::Each(entries) => (&[], &entries[..]),
        };
        listed.iter().copied().chain(each.iter().copied().enumerate())
    }
}

/// The map of a store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    chunks: Vec<Chunk>,
    page_count: u64,
}

fn place(page: PageId) -> Option<(usize, usize)> {
    let page = usize::try_from(page).ok()?;
    Some((page / CHUNK, page % CHUNK))
}

impl Map {
    /// One more than the highest page ever written.
    pub(crate) fn page_count(&self) -> u64 {
        self.page_count
    }

    /// Raises the number of pages.
    pub(crate) fn grow(&mut self, page_count: u64) {
        self.page_count = self.page_count.max(page_count);
    }

    /// The entry of a page, [`State::Free`] if it has none.
    pub(crate) fn get(&self, page: PageId) -> Entry {
        let Some((chunk, index)) = place(page) else { return Entry::default() };
        match self.chunks.get(chunk) {
            Some(Chunk::Each(entries)) => entries[index],
            Some(Chunk::Same(entry)) => **entry,
            Some(Chunk::Few(listed)) => {
                find(listed, index).map_or_else(|_| Entry::default(), |at| listed[at].1)
            }
            Some(Chunk::Free) | None => Entry::default(),
        }
    }

    /// Room for a chunk.
    fn chunk(&mut self, chunk: usize) -> &mut Chunk {
        if self.chunks.len() <= chunk {
            self.chunks.resize(chunk + 1, Chunk::Free);
        }
        &mut self.chunks[chunk]
    }

    /// Changes the entry of a page.
    pub(crate) fn set(&mut self, page: PageId, entry: Entry) {
        let Some((chunk, index)) = place(page) else { return };
        self.chunk(chunk).set(index, entry);
        if entry.state != State::Free {
            self.page_count = self.page_count.max(page + 1);
        }
    }

    /// Gives pages from `start` to before `end`, which are in use from then on and have no image, one entry. A thousand of
    /// them take no more room than one.
    pub(crate) fn fill(&mut self, start: PageId, end: PageId, entry: Entry) {
        let same = Arc::new(entry);
        let mut page = start;
        while page < end {
            let next = (page / CHUNK as u64 + 1) * CHUNK as u64;
            match place(page) {
                Some((chunk, 0)) if next <= end => {
                    *self.chunk(chunk) = Chunk::Same(same.clone());
                    page = next;
                }
                _ => {
                    self.set(page, entry);
                    page += 1;
                }
            }
        }
        self.page_count = self.page_count.max(end);
    }

    /// Runs of pages that are not free, in their order: the first, how many, the entry that they share. Neighbours may be
    /// runs of their own.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (PageId, u64, Entry)> + '_ {
        self.chunks.iter().enumerate().flat_map(|(chunk, entries)| {
            let base = (chunk * CHUNK) as u64;
            let same = if let Chunk::Same(entry) = entries { Some(**entry) } else { None };
            let each = entries.entries().filter(|(_, entry)| entry.state != State::Free);
            let each = each.map(move |(index, entry)| (base + index as u64, 1, entry));
            same.map(|entry| (base, CHUNK as u64, entry)).into_iter().chain(each)
        })
    }

    /// The runs of zero pages.
    pub(crate) fn zeros(&self) -> impl Iterator<Item = (PageId, u64, Entry)> + '_ {
        self.runs().filter(|(_, _, entry)| entry.state == State::Zero)
    }

    /// All pages that are not free, in their order, from `start`.
    pub(crate) fn iter(&self, start: PageId) -> impl Iterator<Item = (PageId, Entry)> + '_ {
        let behind = self.runs().filter(move |(first, count, _)| first + count > start);
        behind.flat_map(move |(first, count, entry)| {
            (first.max(start)..first + count).map(move |page| (page, entry))
        })
    }

    /// All pages with an image, in their order, from `start`. Long runs of others are stepped over.
    pub(crate) fn images(&self, start: PageId) -> impl Iterator<Item = (PageId, Entry)> + '_ {
        let (first, _) = place(start).unwrap_or((usize::MAX, 0));
        let chunks = self.chunks.iter().enumerate().skip(first);
        let each = chunks.flat_map(|(chunk, entries)| {
            let base = (chunk * CHUNK) as u64;
            entries.entries().map(move |(index, entry)| (base + index as u64, entry))
        });
        each.filter(move |(page, entry)| *page >= start && entry.has_image())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_shares_its_chunks() {
        let zero = Entry { generation: 7, state: State::Zero, ..Entry::default() };
        let (mut filled, mut set) = (Map::default(), Map::default());
        filled.fill(1000, 5000, zero);
        (1000..5000).for_each(|page| set.set(page, zero));
        assert!(filled.iter(0).eq(set.iter(0)));
        assert_eq!(filled.page_count(), 5000);
        assert!(matches!((&filled.chunks[1], &filled.chunks[3]), (Chunk::Same(_), Chunk::Same(_))));
        assert_eq!(filled.zeros().map(|(_, count, _)| count).sum::<u64>(), 4000);
        assert_eq!(filled.images(0).count(), 0);
        let before = filled.clone();
        filled.set(2000, Entry::default());
        assert_eq!((before.get(2000), filled.get(3024)), (zero, zero));
    }

    #[test]
    fn few_pages_in_use_are_listed_and_many_have_a_table() {
        let entry = |offset| Entry { offset, state: State::Packed, ..Entry::default() };
        // The first of each chunk, then all of them but every third, in an order that is not theirs.
        let strewn = (0..1_u64 << 20).step_by(CHUNK);
        let most = (0..3 * CHUNK as u64).rev().filter(|page| page % 3 > 0);
        let mut map = Map::default();
        let mut model = std::collections::BTreeMap::new();
        let same = |map: &Map, model: &std::collections::BTreeMap<u64, Entry>| {
            let listed: Vec<_> = model.iter().map(|(page, entry)| (*page, *entry)).collect();
            assert_eq!(map.iter(0).collect::<Vec<_>>(), listed);
            assert_eq!(map.images(0).collect::<Vec<_>>(), listed);
            let behind: Vec<_> = listed.iter().copied().filter(|(page, _)| *page >= 1500).collect();
            assert_eq!(map.images(1500).collect::<Vec<_>>(), behind);
            assert!(
                (0..5000)
                    .all(|page| { map.get(page) == model.get(&page).copied().unwrap_or_default() })
            );
        };
        for page in strewn {
            map.set(page, entry(page));
            model.insert(page, entry(page));
        }
        assert!(map.chunks.iter().all(|chunk| matches!(chunk, Chunk::Few(one) if one.len() == 1)));
        same(&map, &model);
        for page in most.clone() {
            map.set(page, entry(7 * page));
            model.insert(page, entry(7 * page));
        }
        assert!(map.chunks[..3].iter().all(|chunk| matches!(chunk, Chunk::Each(_))));
        same(&map, &model);
        for page in most.chain([1 << 15, 1 << 16, (1 << 16) + 1]) {
            map.set(page, Entry::default());
            model.remove(&page);
        }
        same(&map, &model);
    }

    #[test]
    fn clones_do_not_see_later_changes() {
        let mut map = Map::default();
        let entry = |offset| Entry { offset, state: State::Packed, ..Entry::default() };
        map.set(5000, entry(1));
        let before = map.clone();
        map.set(5000, entry(2));
        map.set(3, entry(3));
        assert_eq!(before.get(5000).offset, 1);
        assert_eq!(before.get(3).state, State::Free);
        assert_eq!(map.iter(0).map(|(page, _)| page).collect::<Vec<_>>(), [3, 5000]);
        assert_eq!(map.iter(4).count(), 1);
        assert_eq!(map.page_count(), 5001);
        assert_eq!(map.get(u64::MAX).state, State::Free);
    }
}
