//! Backups: a stream of images in the order of their pages, without holes and without compressing anything again.

use super::PageError;
use super::header::HEADER_BYTES;
use super::images::Images;
use super::map::{Entry, State};
use super::options::{Generation, PageCodec, PageId};
use super::reader::Reader;
use super::store::Store;
use std::io::Write;
use std::path::Path;
use tambour_kernel::hash::xxh3_64;

/// The first bytes of a stream.
pub(super) const MAGIC: [u8; 8] = *b"TAMBBACK";
/// The version that is written, and the newest that is read.
pub(super) const VERSION: u16 = 1;
/// Bytes of the head of a stream.
pub(super) const HEAD_BYTES: usize = 64;
/// Bytes in front of an image.
pub(super) const RECORD_BYTES: usize = 16;
/// Pages whose images are read together.
const WINDOW_PAGES: usize = 64;

/// What a backup or a restore did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// The generation that was saved.
    pub generation: Generation,
    /// The generation that it follows; 0 for a full backup.
    pub since: Generation,
    /// Pages in the stream.
    pub pages: u64,
    /// Bytes of the stream.
    pub bytes: u64,
}

/// A writer that counts, and chains the checksums of what went through.
struct Sink<'a> {
    target: &'a mut dyn Write,
    bytes: u64,
    chain: u64,
}

impl Sink<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), PageError> {
        let failed = PageError::file("write", Path::new("backup stream"));
        self.target.write_all(bytes).map_err(failed)?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    fn checked(&mut self, bytes: &[u8]) -> Result<(), PageError> {
        self.chain = xxh3_64(bytes, self.chain);
        self.put(bytes)
    }
}

impl Reader {
    /// Writes a backup of what this reader sees: of everything, or of what changed after a generation.
    pub fn backup(
        &mut self,
        target: &mut dyn Write,
        since: Generation,
        codec: PageCodec,
    ) -> Result<BackupReport, PageError> {
        if since > self.generation() {
            let problem = format!("{since}, but the store is at {}", self.generation());
            return Err(PageError::Argument { what: "generation to start after", problem });
        }
        let changed: Vec<(PageId, Entry)> = self
            .map()
            .iter(0)
            .filter(|(_, entry)| since == 0 || entry.generation > since)
            .collect();
        let mut sink = Sink { target, bytes: 0, chain: 0 };
        self.write_head(&mut sink, since, codec, changed.len() as u64)?;
        let shared = self.shared();
        let mut buffer = Vec::new();
        for window in changed.chunks(WINDOW_PAGES) {
            let images = window.iter().filter(|(_, entry)| entry.has_image()).copied().collect();
            let mut images = Images::new(shared, images, std::mem::take(&mut buffer));
            let mut found: Vec<(PageId, std::ops::Range<usize>)> = Vec::new();
            let mut bytes = Vec::new();
            let in_order = is_in_order(window);
            while let Some(next) = images.next() {
                let (page, entry, image) = next?;
                shared.check(page, &entry, image)?;
                if in_order {
                    write_image(&mut sink, page, image)?;
                } else {
                    let start = bytes.len();
                    bytes.extend_from_slice(image);
                    found.push((page, start..bytes.len()));
                }
            }
            buffer = images.into_buffer();
            found.sort_unstable_by_key(|(page, _)| *page);
            let mut found = found.into_iter();
            for (page, entry) in window.iter().filter(|_| !in_order) {
                if entry.state == State::Zero {
                    write_zero(&mut sink, *page)?;
                } else if let Some((page, range)) = found.next() {
                    write_image(&mut sink, page, &bytes[range])?;
                }
            }
        }
        self.write_end(&mut sink, since)?;
        Ok(BackupReport {
            generation: self.generation(),
            since,
            pages: changed.len() as u64,
            bytes: sink.bytes,
        })
    }

    fn write_head(
        &self,
        sink: &mut Sink<'_>,
        since: Generation,
        codec: PageCodec,
        pages: u64,
    ) -> Result<(), PageError> {
        let shared = self.shared();
        let mut head = Vec::with_capacity(HEAD_BYTES);
        head.extend(MAGIC);
        head.extend(VERSION.to_le_bytes());
        head.extend([shared.page_shift, codec.method.byte(), codec.level.to_le_bytes()[0], 0]);
        head.extend(u16::try_from(self.dictionaries().len()).unwrap_or(0).to_le_bytes());
        head.extend(shared.file_id.to_le_bytes());
        head.extend(since.to_le_bytes());
        head.extend(self.generation().to_le_bytes());
        head.extend(self.len().to_le_bytes());
        head.extend(pages.to_le_bytes());
        head.extend([0; 8]);
        debug_assert_eq!(head.len(), HEAD_BYTES);
        sink.checked(&head)?;
        for dictionary in self.dictionaries().iter() {
            let length = u32::try_from(dictionary.bytes.len()).unwrap_or(u32::MAX);
            let mut record = Vec::with_capacity(8);
            record.extend(dictionary.id.to_le_bytes());
            record.extend([0; 2]);
            record.extend(length.to_le_bytes());
            sink.checked(&record)?;
            sink.checked(&dictionary.bytes)?;
        }
        Ok(())
    }

    /// An incremental stream ends with the ranges of pages that exist, so that freed ones go; then the footer.
    fn write_end(&self, sink: &mut Sink<'_>, since: Generation) -> Result<(), PageError> {
        let mut ranges: Vec<(PageId, PageId)> = Vec::new();
        if since > 0 {
            for (page, _) in self.map().iter(0) {
                match ranges.last_mut() {
                    Some(last) if last.1 == page => last.1 += 1,
                    _ => ranges.push((page, page + 1)),
                }
            }
        }
        sink.checked(&(ranges.len() as u64).to_le_bytes())?;
        for (start, end) in ranges {
            sink.checked(&[start.to_le_bytes(), end.to_le_bytes()].concat())?;
        }
        let chain = sink.chain;
        sink.put(&chain.to_le_bytes())
    }
}

impl Store {
    /// Writes a backup of the last commit: of everything (`since` 0), or of what changed after a generation.
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
    /// let mut full = Vec::new();
    /// store.backup(&mut full, 0)?;
    /// let copy = directory.path().join("copy.pages");
    /// let options = Options { page_bytes: 4096, ..Options::default() };
    /// restore(&*disk(), &mut full.as_slice(), &copy, &options)?;
    /// let mut content = [0; 4096];
    /// Store::open(&copy, Access::Read)?.read(0, &mut content)?;
    /// assert_eq!(content, [1; 4096]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backup(
        &self,
        target: &mut dyn Write,
        since: Generation,
    ) -> Result<BackupReport, PageError> {
        self.reader().backup(target, since, self.superblock.codec)
    }
}

/// True if the images of these pages lie in the order of the pages, and no page is zero.
fn is_in_order(window: &[(PageId, Entry)]) -> bool {
    let place = |entry: &Entry| (entry.is_home(), if entry.is_home() { 0 } else { entry.offset });
    window.iter().all(|(_, entry)| entry.has_image())
        && window.windows(2).all(|pair| place(&pair[0].1) <= place(&pair[1].1))
}

fn write_image(sink: &mut Sink<'_>, page: PageId, image: &[u8]) -> Result<(), PageError> {
    let mut record = [0; RECORD_BYTES];
    record[..8].copy_from_slice(&page.to_le_bytes());
    let length = u32::try_from(image.len()).unwrap_or(u32::MAX);
    record[8..12].copy_from_slice(&length.to_le_bytes());
    sink.checked(&record)?;
    // The image carries a checksum, which was checked; that goes into the chain.
    sink.chain = xxh3_64(&image[32..HEADER_BYTES], sink.chain);
    sink.put(image)
}

fn write_zero(sink: &mut Sink<'_>, page: PageId) -> Result<(), PageError> {
    let mut record = [0; RECORD_BYTES];
    record[..8].copy_from_slice(&page.to_le_bytes());
    sink.checked(&record)
}
