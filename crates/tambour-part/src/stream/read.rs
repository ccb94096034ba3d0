//! Reads one file of blocks: large reads ahead, every checksum verified, whole blocks decoded straight into the caller's
//! memory, others into a buffer that views may share.

use super::cache::{Kept, PartCache, StreamCache};
use crate::budget::Budget;
use crate::column::Source;
use crate::{PartError, Place};
use arrow_buffer::{Buffer, MutableBuffer};
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tambour_codec::CodecError;
use tambour_codec::block::{Block, Decoder, HASH_BYTES, HEADER_BYTES, Header};

use crate::mark::Mark;
use tambour_storage::ReadAt;

/// Most bytes of one read.
pub(crate) const WINDOW_BYTES_MAX: usize = 1 << 20;
/// Fewest bytes of one read, if the stream has this many.
pub(crate) const WINDOW_BYTES_MIN: usize = 64 << 10;
/// Bytes that all windows of a reader may have together; with very many streams each gets [`WINDOW_BYTES_MIN`] anyway.
const WINDOWS_BYTES: usize = 64 << 20;

/// What the streams of one reader share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    decoder: Arc<Mutex<Decoder>>,
    bytes: Arc<AtomicU64>,
    /// What the batch in hand may decode to.
    pub(crate) budget: Arc<Budget>,
    /// Where blocks may be that were decoded before.
    cache: Option<PartCache>,
}

impl Shared {
    /// Of a reader that looks for blocks in a cache first.
    pub(crate) fn with(cache: Option<PartCache>) -> Self {
        Self { cache, ..Self::default() }
    }
    /// Bytes of the blocks read so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
    fn count(&self, header: &Header) {
        self.bytes.fetch_add(header.block_bytes() as u64, Ordering::Relaxed);
    }
    fn decode(&self, block: &Block<'_>, target: &mut [u8]) -> Result<(), CodecError> {
        // The decoder holds scratch memory only; a panic elsewhere leaves nothing half done in it.
        self.decoder.lock().unwrap_or_else(PoisonError::into_inner).decode(block, target)
    }
}

/// Bytes of a window when `streams` of them are open.
pub(crate) fn window_bytes(streams: usize) -> usize {
    (WINDOWS_BYTES / streams.max(1)).clamp(WINDOW_BYTES_MIN, WINDOW_BYTES_MAX)
}

/// The block in hand. `start == next` means that none is loaded yet and the one at `next` comes first.
#[derive(Debug, Default)]
struct Current {
    start: u64,
    next: u64,
    size: usize,
    /// Its bytes; empty if they went straight to the caller (then `position` is `size`).
    buffer: Buffer,
}

/// A reader of one file of blocks.
#[derive(Debug)]
pub(crate) struct StreamReader {
    file: Arc<dyn ReadAt>,
    path: PathBuf,
    column: String,
    shared: Shared,
    window: Vec<u8>,
    window_start: u64,
    window_filled: usize,
    window_bytes: usize,
    /// No reading ahead after this offset.
    limit: u64,
    current: Current,
    position: usize,
    /// Bytes to skip in the block that is loaded next.
    skip: usize,
    /// The blocks of this file that were decoded before.
    cache: Option<StreamCache>,
}

impl StreamReader {
    /// A reader at the start of the file.
    pub(crate) fn new(
        file: Arc<dyn ReadAt>,
        path: PathBuf,
        column: &str,
        shared: &Shared,
        window_bytes: usize,
    ) -> Self {
        let limit = file.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let cache = shared.cache.as_ref().map(|cache| cache.stream(&name));
        Self {
            cache,
            file,
            path,
            column: column.to_owned(),
            shared: shared.clone(),
            window: Vec::new(),
            window_start: 0,
            window_filled: 0,
            window_bytes,
            limit,
            current: Current::default(),
            position: 0,
            skip: 0,
        }
    }

    /// Names another column in errors from now on.
    pub(crate) fn set_column(&mut self, column: &str) {
        column.clone_into(&mut self.column);
    }

    /// Sets the end of reading ahead: where the last wanted block can end.
    pub(crate) fn set_limit(&mut self, limit: u64) {
        self.limit = limit.min(self.file.len());
    }

    /// Moves to a mark; a block that is in hand stays.
    pub(crate) fn seek(&mut self, mark: Mark) -> Result<(), PartError> {
        let offset = usize::try_from(mark.offset).unwrap_or(usize::MAX);
        let loaded = self.current.next > self.current.start;
        let in_hand = self.current.buffer.len() == self.current.size || offset == self.current.size;
        if loaded && mark.block == self.current.start && in_hand {
            if offset > self.current.size {
                return Err(self.beyond(mark));
            }
            self.position = offset;
            self.skip = 0;
            return Ok(());
        }
        if mark.block > self.file.len() {
            return Err(self.beyond(mark));
        }
        self.current.start = mark.block;
        self.current.next = mark.block;
        self.current.size = 0;
        self.position = 0;
        self.skip = offset;
        Ok(())
    }

    fn beyond(&self, mark: Mark) -> PartError {
        let place = self.place(mark.block);
        PartError::malformed(place, format!("mark leads {} bytes into the block", mark.offset))
    }

    /// Where the next byte is read; good for [`StreamReader::seek`].
    pub(crate) fn position(&self) -> Mark {
        if self.current.next == self.current.start {
            Mark { block: self.current.next, offset: self.skip as u64 }
        } else if self.position == self.current.size {
            Mark { block: self.current.next, offset: 0 }
        } else {
            Mark { block: self.current.start, offset: self.position as u64 }
        }
    }

    /// True if the next byte is that of the mark, in either of its two forms.
    pub(crate) fn is_at(&self, mark: Mark) -> bool {
        let end_form = self.position == self.current.size
            && self.current.next > self.current.start
            && mark == Mark { block: self.current.start, offset: self.current.size as u64 };
        end_form || self.position() == mark
    }

    /// Makes a place at the end of a block that was not read, as [`StreamReader::seek`] leaves it, the start of the next one:
    /// marks lead there when a granule has nothing in this stream.
    pub(crate) fn settle(&mut self) -> Result<(), PartError> {
        if self.skip == 0 || self.current.next != self.current.start {
            return Ok(());
        }
        let header = self.next_header()?;
        if let Some(header) = header.filter(|it| it.uncompressed_size as usize == self.skip) {
            self.current.start += header.block_bytes() as u64;
            self.current.next = self.current.start;
            self.skip = 0;
        }
        Ok(())
    }

    /// Bytes of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.file.len()
    }

    /// True if nothing is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.position() == Mark { block: self.file.len(), offset: 0 }
    }

    fn place(&self, offset: u64) -> Place {
        let place = Place::file(&self.path).at(offset);
        if self.column.is_empty() { place } else { place.of_column(&self.column) }
    }

    fn broken(&self, cause: CodecError) -> PartError {
        PartError::Block { place: Box::new(self.place(self.current.next)), cause }
    }

    /// Makes the window hold `count` bytes at `at`; their range in the window.
    fn fetch(&mut self, at: u64, count: usize) -> Result<Range<usize>, PartError> {
        let offset = at.checked_sub(self.window_start).and_then(|o| usize::try_from(o).ok());
        let offset = offset.filter(|offset| *offset <= self.window_filled);
        if let Some(offset) = offset.filter(|offset| self.window_filled - offset >= count) {
            return Ok(offset..offset + count);
        }
        let left = self.file.len().saturating_sub(at);
        if (count as u64) > left {
            let place = self.place(at);
            return Err(PartError::malformed(place, "block extends past the end of the file"));
        }
        let kept = offset.map_or(0, |offset| {
            self.window.copy_within(offset..self.window_filled, 0);
            self.window_filled - offset
        });
        let ahead = self.limit.saturating_sub(at).min(self.window_bytes as u64).min(left);
        let wanted = count.max(usize::try_from(ahead).unwrap_or(0));
        if self.window.len() < wanted {
            self.window.resize(wanted, 0);
        }
        self.window_start = at;
        self.window_filled = kept;
        let target = self.window.get_mut(kept..wanted).unwrap_or_default();
        self.file.read_exact_at(target, at + kept as u64).map_err(|cause| {
            let place = Box::new(Place::file(&self.path).at(at + kept as u64));
            PartError::Io { place, operation: "read", cause }
        })?;
        self.window_filled = wanted;
        let next = at + wanted as u64;
        let ahead =
            self.limit.min(self.file.len()).saturating_sub(next).min(self.window_bytes as u64);
        if ahead > 0 {
            self.file.will_need(next, usize::try_from(ahead).unwrap_or(0));
        }
        Ok(0..count)
    }

    /// The header of the next block; `None` at the end of the file.
    fn next_header(&mut self) -> Result<Option<Header>, PartError> {
        let at = self.current.next;
        if at == self.file.len() {
            if self.skip > 0 {
                return Err(self.beyond(Mark { block: at, offset: self.skip as u64 }));
            }
            return Ok(None);
        }
        let range = self.fetch(at, HASH_BYTES + HEADER_BYTES)?;
        let source = self.window.get(range).unwrap_or_default();
        Header::parse(source).map(Some).map_err(|cause| self.broken(cause))
    }

    /// Notes that the block at `next` is the one in hand now.
    fn advance(&mut self, header: &Header) {
        self.shared.count(header);
        self.current.start = self.current.next;
        self.current.next += header.block_bytes() as u64;
        self.current.size = header.uncompressed_size as usize;
    }

    /// Decodes the next block into the shared buffer, or into a fresh one if somebody still looks at the old.
    fn load(&mut self, header: &Header) -> Result<(), PartError> {
        self.afford(header)?;
        let size = header.uncompressed_size as usize;
        if self.skip > size {
            let mark = Mark { block: self.current.next, offset: self.skip as u64 };
            return Err(self.beyond(mark));
        }
        let range = self.fetch(self.current.next, header.block_bytes())?;
        let source = self.window.get(range).unwrap_or_default();
        let block = Block::parse(source).map_err(|cause| self.broken(cause))?;
        let mut buffer = reuse(std::mem::take(&mut self.current.buffer), size);
        // The old buffer is gone: should the decoder fail, no block is in hand.
        self.current.start = self.current.next;
        self.current.size = 0;
        self.position = 0;
        self.shared.decode(&block, buffer.as_slice_mut()).map_err(|cause| self.broken(cause))?;
        self.current.buffer = buffer.into();
        self.advance(header);
        self.position = std::mem::take(&mut self.skip);
        if let Some(cache) = &self.cache {
            let block_bytes = header.block_bytes() as u64;
            cache.keep(
                self.current.start,
                Kept { buffer: self.current.buffer.clone(), block_bytes },
            );
        }
        Ok(())
    }

    /// Takes the next block as it was decoded before; false if it is not there.
    fn recall(&mut self) -> Result<bool, PartError> {
        let Some(cache) = &self.cache else { return Ok(false) };
        let start = self.current.next;
        let Some(kept) = cache.get(start) else { return Ok(false) };
        let size = kept.buffer.len();
        self.spend(size as u64)?;
        if self.skip > size {
            return Err(self.beyond(Mark { block: start, offset: self.skip as u64 }));
        }
        let next = start + kept.block_bytes;
        self.current = Current { start, next, size, buffer: kept.buffer };
        self.position = std::mem::take(&mut self.skip);
        Ok(true)
    }

    /// Decodes the next block into `target`, which has its size.
    fn load_into(&mut self, header: &Header, target: &mut [u8]) -> Result<(), PartError> {
        self.afford(header)?;
        let range = self.fetch(self.current.next, header.block_bytes())?;
        let source = self.window.get(range).unwrap_or_default();
        let block = Block::parse(source).map_err(|cause| self.broken(cause))?;
        self.shared.decode(&block, target).map_err(|cause| self.broken(cause))?;
        self.advance(header);
        self.position = self.current.size;
        Ok(())
    }

    /// Takes the decoded bytes of the next block from what the batch may have.
    fn afford(&self, header: &Header) -> Result<(), PartError> {
        self.spend(u64::from(header.uncompressed_size))
    }

    fn spend(&self, size: u64) -> Result<(), PartError> {
        self.shared.budget.take(size).map_err(|(limit, got)| {
            let place = self.place(self.current.next);
            PartError::limit(place, "bytes of a batch after decoding", limit, got)
        })
    }

    /// Copies from the block in hand.
    fn copy(&mut self, target: &mut [u8]) -> usize {
        let rest = self.current.buffer.as_slice().get(self.position..).unwrap_or_default();
        let count = rest.len().min(target.len());
        if let (Some(target), Some(source)) = (target.get_mut(..count), rest.get(..count)) {
            target.copy_from_slice(source);
        }
        self.position += count;
        count
    }
}

/// A buffer of `size` bytes: the old one if nobody shares it and it is large enough.
fn reuse(old: Buffer, size: usize) -> MutableBuffer {
    match old.into_mutable() {
        Ok(mut buffer) if buffer.capacity() >= size => {
            buffer.resize(size, 0);
            buffer
        }
        _ => MutableBuffer::from_len_zeroed(size),
    }
}

impl Source for StreamReader {
    fn read_exact(&mut self, target: &mut [u8]) -> Result<(), PartError> {
        let mut filled = 0;
        while let Some(rest) = target.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            if self.position < self.current.size {
                filled += self.copy(rest);
                continue;
            }
            if self.recall()? {
                continue;
            }
            let Some(header) = self.next_header()? else {
                let cause = io::ErrorKind::UnexpectedEof.into();
                let place = Box::new(self.place(self.current.next));
                return Err(PartError::Io { place, operation: "read", cause });
            };
            let size = header.uncompressed_size as usize;
            match rest.get_mut(..size) {
                Some(whole) if self.skip == 0 && self.cache.is_none() => {
                    self.load_into(&header, whole)?;
                    filled += size;
                }
                _ => self.load(&header)?,
            }
        }
        Ok(())
    }

    fn block(&mut self) -> Result<Option<(&Buffer, usize)>, PartError> {
        while self.position >= self.current.size {
            if self.recall()? {
                continue;
            }
            let Some(header) = self.next_header()? else { return Ok(None) };
            self.load(&header)?;
        }
        Ok(Some((&self.current.buffer, self.position)))
    }

    fn consume(&mut self, count: usize) {
        assert!(count <= self.current.size - self.position, "consumed more than the block has");
        self.position += count;
    }

    fn corrupt(&self, reason: &str) -> PartError {
        PartError::malformed(self.place(self.current.start), reason.to_owned())
    }
}
