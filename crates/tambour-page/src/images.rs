//! The images of pages, read in large pieces in the order of their places.

use super::PageError;
use super::map::{Entry, State};
use super::options::PageId;
use super::shared::Shared;

/// Images that lie closer together than this are read in one call, with what is between them.
const GAP_BYTES_MAX: u64 = 16 << 10;
/// Bytes of one read: they should still be near the processor when they are decoded.
const RUN_BYTES_MAX: u64 = 256 << 10;
/// So far ahead the system is told what will be read.
const AHEAD_BYTES: u64 = 2 << 20;

/// A page, its entry, its image.
pub(super) type Image<'a> = (PageId, Entry, &'a [u8]);

/// The images of some pages. Nothing is checked.
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

    /// For images that were written just now: the system has them in memory.
    pub(super) fn without_ahead(self) -> Self {
        Self { expected: u64::MAX, ..self }
    }

    /// The memory, for the next ones.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// The next image.
    pub(super) fn next(&mut self) -> Option<Result<Image<'_>, PageError>> {
        self.next_group(1)?.pop()
    }

    /// The next images, as many as are there after one read, and at most this many. `None` at the end.
    pub(super) fn next_group(
        &mut self,
        count_max: usize,
    ) -> Option<Vec<Result<Image<'_>, PageError>>> {
        if self.next >= self.wanted.len() {
            return None;
        }
        if self.next >= self.loaded
            && let Err(error) = self.load()
        {
            // Nothing is known of those after it.
            self.next = self.wanted.len();
            return Some(vec![Err(error)]);
        }
        let start = self.next;
        self.next = self.loaded.min(start + count_max.max(1));
        Some((start..self.next).map(|index| self.image(index)).collect())
    }

    /// An image that was read.
    fn image(&self, index: usize) -> Result<Image<'_>, PageError> {
        let (page, entry) = self.wanted[index];
        if entry.state == State::Raw {
            // Its header is not on the disk; so it was read alone.
            return Ok((page, entry, &self.buffer[..entry.length as usize]));
        }
        let (_, offset) = self.shared.place(page, &entry);
        let start = usize::try_from(offset - self.start).unwrap_or(usize::MAX);
        let image = self.buffer.get(start..).and_then(|rest| rest.get(..entry.length as usize));
        let lost = || self.shared.page_error(page, &entry, "it is not where it was".to_owned());
        image.ok_or_else(lost).map(|image| (page, entry, image))
    }

    /// Reads the next run.
    fn load(&mut self) -> Result<(), PageError> {
        let Some(&(page, entry)) = self.wanted.get(self.next) else { return Ok(()) };
        let (file, start) = self.shared.place(page, &entry);
        if entry.state == State::Raw {
            self.loaded = self.next + 1;
            return self.shared.fetch(page, &entry, &mut self.buffer).map(|_| ());
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
            return self.shared.fetch(page, &entry, &mut self.buffer).map(|_| ());
        }
        read
    }
}
