//! Decoded pages, so that not each of SQLite's small reads decodes a page.
//!
//! When the cache is full, pages go that were not asked for again. A page that is read piece by piece, as a scan does, counts
//! as asked for once: so a scan does not drive out what is used all the time. Every other page that comes then takes the place
//! of the one that came before it, and not that of the oldest: so a scan of more than fits finds part of it when it is run
//! again, where it would find nothing if the oldest went each time.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// So many rounds of the hand does a page survive at most without being asked for.
const USES_MAX: u8 = 3;
/// Of this many pages that come into a full cache, one takes the place of an older page than the last that came. More of them
/// would keep more of what is scanned again and again, and be slower to let in what is used from now on.
const ARRIVALS: u32 = 2;

/// The number of a slot that holds no page.
const NONE: u64 = u64::MAX;

/// Numbers of pages are spread well enough by a multiplication.
#[derive(Debug, Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[derive(Debug)]
struct Slot {
    page: u64,
    /// The commit that wrote what is here: another process may write a later one.
    written: u64,
    uses: u8,
    content: Box<[u8]>,
}

/// Decoded pages of one database.
#[derive(Debug)]
pub(crate) struct Cache {
    slots: Vec<Slot>,
    places: HashMap<u64, usize, BuildHasherDefault<PageHasher>>,
    /// Slots without a page.
    vacant: Vec<usize>,
    /// The slot that was looked at last for a page to go.
    hand: usize,
    /// Counts pages that came when the cache was full, up to [`ARRIVALS`].
    arrivals: u32,
    /// The page that was asked for last.
    last: u64,
    capacity: usize,
    page_bytes: usize,
}

impl Cache {
    /// A cache of about this many bytes, and of one page at least. It takes memory as it fills.
    pub(crate) fn new(bytes: usize, page_bytes: usize) -> Self {
        Self {
            slots: Vec::new(),
            places: HashMap::default(),
            vacant: Vec::new(),
            hand: 0,
            arrivals: 0,
            last: NONE,
            capacity: (bytes / page_bytes).max(1),
            page_bytes,
        }
    }

    /// A page as the commit `written` has it; `fill` makes its content if it is not there.
    pub(crate) fn get_or<E>(
        &mut self,
        page: u64,
        written: u64,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<&[u8], E> {
        let again = std::mem::replace(&mut self.last, page) == page;
        if let Some(&place) = self.places.get(&page) {
            let slot = &mut self.slots[place];
            if slot.written == written {
                if !again && slot.uses < USES_MAX {
                    slot.uses += 1;
                }
                return Ok(&self.slots[place].content);
            }
            self.remove(page);
        }
        let place = self.room();
        if let Err(error) = fill(&mut self.slots[place].content) {
            self.vacant.push(place);
            return Err(error);
        }
        self.slots[place].page = page;
        self.slots[place].written = written;
        self.slots[place].uses = 0;
        self.places.insert(page, place);
        Ok(&self.slots[place].content)
    }

    /// Sets the content of a page as the commit `written` has it.
    pub(crate) fn put(&mut self, page: u64, written: u64, content: &[u8]) {
        self.remove(page);
        let filled = self.get_or(page, written, |target| {
            target.copy_from_slice(content);
            Ok::<(), std::convert::Infallible>(())
        });
        debug_assert!(filled.is_ok(), "copying cannot fail");
    }

    /// Forgets a page.
    pub(crate) fn remove(&mut self, page: u64) {
        if let Some(place) = self.places.remove(&page) {
            self.slots[place].page = NONE;
            self.vacant.push(place);
        }
    }

    /// Forgets all pages.
    pub(crate) fn clear(&mut self) {
        for page in self.places.keys().copied().collect::<Vec<_>>() {
            self.remove(page);
        }
    }

    /// A slot without a page.
    fn room(&mut self) -> usize {
        if let Some(place) = self.vacant.pop() {
            return place;
        }
        if self.slots.len() < self.capacity {
            let content = vec![0; self.page_bytes].into_boxed_slice();
            self.slots.push(Slot { page: NONE, written: 0, uses: 0, content });
            return self.slots.len() - 1;
        }
        self.arrivals = (self.arrivals + 1) % ARRIVALS;
        let mut step = usize::from(self.arrivals == 0 || self.slots[self.hand].uses > 0);
        loop {
            self.hand = (self.hand + step) % self.slots.len();
            step = 1;
            let slot = &mut self.slots[self.hand];
            if slot.uses == 0 {
                let page = std::mem::replace(&mut slot.page, NONE);
                self.places.remove(&page);
                return self.hand;
            }
            slot.uses -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cache;

    /// Reads pages, and says which of them had to be made.
    fn read(cache: &mut Cache, pages: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut made = Vec::new();
        for page in pages {
            let content = cache.get_or(page, 1, |target| {
                made.push(page);
                target.fill(u8::try_from(page % 251).unwrap());
                Ok::<(), ()>(())
            });
            assert!(content.unwrap().iter().all(|byte| u64::from(*byte) == page % 251));
        }
        made
    }

    #[test]
    fn what_fits_is_made_once() {
        let mut cache = Cache::new(64 * 100, 64);
        assert_eq!(read(&mut cache, (0..100).chain(0..100)).len(), 100);
        assert_eq!(cache.slots.len(), 100);
    }

    #[test]
    fn a_scan_does_not_drive_out_what_is_used_again_and_again() {
        let mut cache = Cache::new(64 * 100, 64);
        let hot = || 0..20_u64;
        read(&mut cache, hot().chain(hot()).chain(hot()));
        // Each page of the scan is read in four pieces.
        read(&mut cache, (1000..1150).flat_map(|page| [page; 4]));
        assert_eq!(read(&mut cache, hot()), Vec::<u64>::new());
        assert!(cache.slots.len() <= 100);
    }

    #[test]
    fn a_scan_of_more_than_fits_finds_part_of_it_again() {
        let mut cache = Cache::new(64 * 100, 64);
        let scan = |cache: &mut Cache| read(cache, 0..150).len();
        assert_eq!(scan(&mut cache), 150);
        for _ in 0..10 {
            let made = scan(&mut cache);
            assert!((50..120).contains(&made), "{made}");
        }
        // What is used from then on comes in.
        for _ in 0..20 {
            read(&mut cache, 1000..1050);
        }
        assert_eq!(read(&mut cache, 1000..1050), Vec::<u64>::new());
    }

    #[test]
    fn what_is_forgotten_or_failed_is_made_again() {
        let mut cache = Cache::new(64 * 10, 64);
        read(&mut cache, 0..10);
        cache.remove(0);
        // Another process has written page 5.
        assert_eq!(
            cache.get_or(5, 2, |target| {
                target.fill(7);
                Ok::<(), ()>(())
            }),
            Ok(&[7; 64][..])
        );
        assert_eq!(read(&mut cache, 0..10), [0, 5]);
        assert!(cache.get_or(99, 1, |_| Err(())).is_err());
        assert_eq!(read(&mut cache, std::iter::once(99)), [99]);
        cache.put(99, 1, &[99; 64]);
        assert_eq!(read(&mut cache, std::iter::once(99)), Vec::<u64>::new());
        assert_eq!(cache.slots.len(), 10);
        assert_eq!(cache.places.len() + cache.vacant.len(), 10);
    }
}
