//! Reading: one page, several, or all of a range in the order in which they lie on the disk.

use super::PageError;
use super::codec::Coder;
use super::dictionary::Dictionaries;
use super::map::{Entry, Map, State};
use super::options::{Generation, PageId};
use super::shared::{Pin, Shared};
use std::ops::Range;

/// Images that lie closer together than this are read in one call, with what is between them.
const GAP_BYTES_MAX: u64 = 16 << 10;
/// Bytes of one read.
const RUN_BYTES_MAX: u64 = 256 << 10;
/// So far ahead the system is told what will be read.
const AHEAD_BYTES: u64 = 2 << 20;

/// Fills `target` with a page.
pub(super) fn read_page(
    shared: &Shared,
    page: PageId,
    entry: &Entry,
    with: (&mut Coder, &Dictionaries),
    scratch: &mut Vec<u8>,
    target: &mut [u8],
) -> Result<(), PageError> {
    if target.len() != shared.page_bytes() {
        let problem = format!("{} bytes, pages have {}", target.len(), shared.page_bytes());
        return Err(PageError::Argument { what: "room for a page", problem });
    }
    match entry.state {
        State::Free => Err(PageError::NoPage { path: shared.path.clone(), page }),
        State::Zero => {
            target.fill(0);
            Ok(())
        }
        State::Packed | State::Home | State::Raw => {
            shared.fetch(page, entry, scratch)?;
            shared.decode(page, entry, scratch, with, target)
        }
    }
}

/// A view of a store as of one generation. Later commits neither change it nor take the space of what it sees.
#[derive(Debug)]
pub struct Reader {
    pin: Pin,
    map: Map,
    dictionaries: Dictionaries,
    coder: Coder,
    scratch: Vec<u8>,
    page: Vec<u8>,
}

impl Reader {
    pub(super) fn new(pin: Pin, map: Map, dictionaries: Dictionaries) -> Self {
        let page = vec![0; pin.page_bytes()];
        Self { pin, map, dictionaries, coder: Coder::new(), scratch: Vec::new(), page }
    }

    /// The generation that it sees.
    pub fn generation(&self) -> Generation {
        self.pin.generation()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.pin.page_bytes()
    }

    /// One more than the highest page ever written.
    pub fn len(&self) -> u64 {
        self.map.page_count()
    }

    /// True if no page was ever written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// True if a page was written and not freed.
    pub fn contains(&self, page: PageId) -> bool {
        self.map.get(page).state != State::Free
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.pin
    }

    pub(super) fn map(&self) -> &Map {
        &self.map
    }

    pub(super) fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    /// Fills `target`, one page long, with a page.
    pub fn read(&mut self, page: PageId, target: &mut [u8]) -> Result<(), PageError> {
        let entry = self.map.get(page);
        let with = (&mut self.coder, &self.dictionaries);
        read_page(&self.pin, page, &entry, with, &mut self.scratch, target)
    }

    /// Reads pages in the order in which they lie on the disk, and hands each one over. All of them must exist.
    pub fn read_many(
        &mut self,
        pages: &[PageId],
        take: &mut dyn FnMut(PageId, &[u8]),
    ) -> Result<(), PageError> {
        let mut wanted = Vec::with_capacity(pages.len());
        for &page in pages {
            let entry = self.map.get(page);
            if entry.state == State::Free {
                return Err(PageError::NoPage { path: self.pin.path.clone(), page });
            }
            wanted.push((page, entry));
        }
        self.run(wanted, take)
    }

    /// Hands over every page of a range that exists, in the order in which they lie on the disk.
    pub fn scan(
        &mut self,
        pages: Range<PageId>,
        take: &mut dyn FnMut(PageId, &[u8]),
    ) -> Result<(), PageError> {
        let inside = self.map.iter(pages.start).take_while(|(page, _)| *page < pages.end);
        let wanted = inside.collect();
        self.run(wanted, take)
    }

    fn run(
        &mut self,
        wanted: Vec<(PageId, Entry)>,
        take: &mut dyn FnMut(PageId, &[u8]),
    ) -> Result<(), PageError> {
        let mut target = std::mem::take(&mut self.page);
        target.fill(0);
        let (zeros, wanted): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|(_, entry)| entry.state == State::Zero);
        for (page, _) in zeros {
            take(page, &target);
        }
        let mut images = Images::new(&self.pin, wanted, std::mem::take(&mut self.scratch));
        let mut result = Ok(());
        while let Some(next) = images.next() {
            let with = (&mut self.coder, &self.dictionaries);
            let decoded = next.and_then(|(page, entry, image)| {
                self.pin.decode(page, &entry, image, with, &mut target)?;
                take(page, &target);
                Ok(())
            });
            if decoded.is_err() {
                result = decoded;
                break;
            }
        }
        self.scratch = images.into_buffer();
        self.page = target;
        result
    }
}

/// A page, its entry, its image.
type Image<'a> = (PageId, Entry, &'a [u8]);

/// The images of pages, read in large pieces in the order of their places. Nothing is checked.
pub(super) struct Images<'a> {
    shared: &'a Shared,
    wanted: Vec<(PageId, Entry)>,
    next: usize,
    buffer: Vec<u8>,
    /// What the buffer holds: up to this image, and from which place.
    loaded: usize,
    start: u64,
    expected: u64,
}

impl<'a> Images<'a> {
    pub(super) fn new(
        shared: &'a Shared,
        mut wanted: Vec<(PageId, Entry)>,
        buffer: Vec<u8>,
    ) -> Self {
        let place = |page: PageId, entry: &Entry| (entry.is_home(), shared.place(page, entry).1);
        wanted.sort_unstable_by_key(|(page, entry)| place(*page, entry));
        Self { shared, wanted, next: 0, buffer, loaded: 0, start: 0, expected: 0 }
    }

    /// The memory, for the next ones.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// The next image.
    pub(super) fn next(&mut self) -> Option<Result<Image<'_>, PageError>> {
        let &(page, entry) = self.wanted.get(self.next)?;
        if self.next >= self.loaded
            && let Err(error) = self.load()
        {
            return Some(Err(error));
        }
        self.next += 1;
        if entry.state == State::Raw {
            // Its header is not on the disk; so it was read alone.
            return Some(Ok((page, entry, &self.buffer)));
        }
        let (_, offset) = self.shared.place(page, &entry);
        let start = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        let image = self.buffer.get(start..).and_then(|rest| rest.get(..entry.length as usize));
        let lost = || self.shared.page_error(page, &entry, "it is not where it was".to_owned());
        Some(image.ok_or_else(lost).map(|image| (page, entry, image)))
    }

    /// Reads the next run.
    fn load(&mut self) -> Result<(), PageError> {
        let Some(&(page, entry)) = self.wanted.get(self.next) else { return Ok(()) };
        let (file, start) = self.shared.place(page, &entry);
        if entry.state == State::Raw {
            self.loaded = self.next + 1;
            return self.shared.fetch(page, &entry, &mut self.buffer);
        }
        let mut end = start;
        self.loaded = self.next;
        for (page, other) in &self.wanted[self.next..] {
            let (_, offset) = self.shared.place(*page, other);
            let stop = offset + u64::from(other.length);
            let joins = other.state == entry.state
                && offset <= end + GAP_BYTES_MAX
                && (stop - start <= RUN_BYTES_MAX || offset == start);
            if !joins {
                break;
            }
            end = end.max(stop);
            self.loaded += 1;
        }
        if end > self.expected {
            file.file.expect(end, AHEAD_BYTES);
            self.expected = end + AHEAD_BYTES / 2;
        }
        self.start = start;
        let bytes = usize::try_from(end - start).unwrap_or(0);
        if self.buffer.len() < bytes {
            self.buffer.resize(bytes, 0);
        }
        let read = file.read(&mut self.buffer[..bytes], start);
        if read.is_err() {
            // One of them is at fault: it is found out by reading them one by one.
            self.loaded = self.next + 1;
            return self.shared.fetch(page, &entry, &mut self.buffer);
        }
        read
    }
}
