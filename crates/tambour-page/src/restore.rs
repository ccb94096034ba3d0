//! Restores: a full backup makes a store of either layout; an incremental one goes into a store that is exactly at the
//! generation which it follows.

use super::PageError;
use super::aside;
use super::backup::{BackupReport, HEAD_BYTES, MAGIC, RECORD_BYTES, VERSION};
use super::dictionary::{DICTIONARIES_MAX, DICTIONARY_BYTES_MAX, Dictionary};
use super::header::{HEADER_BYTES, read_u16, read_u32, read_u64};

use super::options::{
    Durability, GENERATION_MAX, Generation, Layout, Options, PAGES_MAX, PageCodec, PageId,
};
use super::store::Store;
use std::io::{Read, Write};
use std::path::Path;
use tambour_kernel::hash::xxh3_64;
use tambour_storage::place::{Access, Storage};

/// Images of one commit of a restore.
const COMMIT_BYTES: usize = 1 << 20;
/// Pages of one commit of a restore: zero pages have no images.
const COMMIT_PAGES: usize = 1 << 16;

/// A reader that counts, and chains the checksums of what went through.
struct Stream<'a> {
    source: &'a mut dyn Read,
    offset: u64,
    chain: u64,
}

impl Stream<'_> {
    fn wrong(&self, problem: impl Into<String>) -> PageError {
        PageError::Stream { offset: self.offset, problem: problem.into() }
    }

    fn get(&mut self, target: &mut [u8]) -> Result<(), PageError> {
        match self.source.read_exact(target) {
            Ok(()) => {
                self.offset += target.len() as u64;
                Ok(())
            }
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(self.wrong("it ends too early"))
            }
            Err(error) => Err(PageError::file("read", Path::new("backup stream"))(error)),
        }
    }

    fn checked(&mut self, target: &mut [u8]) -> Result<(), PageError> {
        self.get(target)?;
        self.chain = xxh3_64(target, self.chain);
        Ok(())
    }
}

/// The head of a stream.
#[derive(Debug)]
struct Head {
    page_shift: u8,
    codec: PageCodec,
    dictionaries: u16,
    file_id: u64,
    since: Generation,
    generation: Generation,
    page_count: u64,
    pages: u64,
}

fn read_head(stream: &mut Stream<'_>) -> Result<Head, PageError> {
    let mut bytes = [0; HEAD_BYTES];
    stream.checked(&mut bytes)?;
    if bytes[..8] != MAGIC {
        return Err(stream.wrong("not a backup: it does not begin with TAMBBACK"));
    }
    let version = read_u16(&bytes, 8);
    if version > VERSION {
        let path = Path::new("backup stream").to_owned();
        return Err(PageError::Newer { path, version, known: VERSION });
    }
    let method = super::Method::of(bytes[11]);
    let head = Head {
        page_shift: bytes[10],
        codec: PageCodec {
            method: method.ok_or_else(|| stream.wrong("unknown codec"))?,
            level: i32::from(i8::from_le_bytes([bytes[12]])),
        },
        dictionaries: read_u16(&bytes, 14),
        file_id: read_u64(&bytes, 16),
        since: read_u64(&bytes, 24),
        generation: read_u64(&bytes, 32),
        page_count: read_u64(&bytes, 40),
        pages: read_u64(&bytes, 48),
    };
    let good = (12..=20).contains(&head.page_shift)
        && head.page_count <= PAGES_MAX
        && head.pages <= head.page_count
        && usize::from(head.dictionaries) <= DICTIONARIES_MAX
        && head.since <= head.generation
        && head.generation <= GENERATION_MAX;
    if good && head.codec.check().is_ok() {
        Ok(head)
    } else {
        Err(stream.wrong("a field of its head is out of range"))
    }
}

fn read_dictionaries(stream: &mut Stream<'_>, count: u16) -> Result<Vec<Dictionary>, PageError> {
    let mut dictionaries = Vec::new();
    for _ in 0..count {
        let mut record = [0; 8];
        stream.checked(&mut record)?;
        let length = read_u32(&record, 4) as usize;
        if length > DICTIONARY_BYTES_MAX {
            return Err(stream.wrong("a dictionary is too long"));
        }
        let mut bytes = vec![0; length];
        stream.checked(&mut bytes)?;
        dictionaries.push(Dictionary { id: read_u16(&record, 0), bytes });
    }
    Ok(dictionaries)
}

/// Restores a backup: a full one makes a new store at `path`, in the layout of the options; an incremental one goes into the
/// store at `path`, which must be at the generation that it follows.
///
/// Of `options`, layout, granule and checkpoint size count; page size, codec and number come from the stream.
pub fn restore(
    storage: &dyn Storage,
    source: &mut dyn Read,
    path: &Path,
    options: &Options,
) -> Result<BackupReport, PageError> {
    let mut stream = Stream { source, offset: 0, chain: 0 };
    let head = read_head(&mut stream)?;
    let dictionaries = read_dictionaries(&mut stream, head.dictionaries)?;
    let report = BackupReport {
        generation: head.generation,
        since: head.since,
        pages: head.pages,
        bytes: 0,
    };
    if head.since == 0 {
        let options = Options {
            page_bytes: 1 << head.page_shift,
            codec: head.codec,
            file_id: Some(head.file_id),
            ..*options
        };
        restore_full(storage, &mut stream, path, &options, (&head, dictionaries))?;
    } else {
        restore_changes(storage, &mut stream, path, &head, dictionaries)?;
    }
    Ok(BackupReport { bytes: stream.offset, ..report })
}

fn restore_full(
    storage: &dyn Storage,
    stream: &mut Stream<'_>,
    path: &Path,
    options: &Options,
    (head, dictionaries): (&Head, Vec<Dictionary>),
) -> Result<(), PageError> {
    let aside = aside::Aside::new(storage, path, options.layout)?;
    let mut store = Store::create_on(storage, aside.path(), options)?;
    // Until it is whole it is nobody's store: one checkpoint at the end is enough.
    store.set_checkpoint_bytes(Some(u64::MAX));
    for dictionary in dictionaries {
        store.superblock.dictionary = store.superblock.dictionary.max(dictionary.id);
        store.add_dictionary(dictionary)?;
    }
    let mut left = head.pages;
    while left > 0 {
        // In the layout holes the journal is emptied on the way.
        if options.layout == Layout::Holes && store.log.bytes > 64 << 20 {
            store.checkpoint()?;
        }
        let mut batch = store.batch()?;
        while left > 0 && batch.bytes() < COMMIT_BYTES && batch.len() < COMMIT_PAGES {
            read_page(stream, head, &mut batch)?;
            left -= 1;
        }
        batch.commit(Durability::Async)?;
    }
    read_end(stream)?;
    store.map.grow(head.page_count);
    store.generation = head.generation;
    store.superblock.checkpoint_bytes = options.checkpoint_bytes.unwrap_or(0);
    store.write_checkpoint()?;
    store.write_checkpoint()?;
    // The store keeps its files locked until they have their names: else they would be taken for left over.
    let taken = aside.take(storage);
    drop(store);
    taken
}

fn restore_changes(
    storage: &dyn Storage,
    stream: &mut Stream<'_>,
    path: &Path,
    head: &Head,
    dictionaries: Vec<Dictionary>,
) -> Result<(), PageError> {
    let mut store = Store::open_on(storage, path, Access::Write)?;
    if store.file_id() != head.file_id || store.shared.page_shift != head.page_shift {
        let problem =
            format!("it is of store {:016x}, this is {:016x}", head.file_id, store.file_id());
        return Err(PageError::Mismatch { problem });
    }
    if store.generation() != head.since {
        let (since, at) = (head.since, store.generation());
        let problem = format!("it follows generation {since}, the store is at {at}");
        return Err(PageError::Mismatch { problem });
    }
    let differs = |new: &&Dictionary| {
        store.dictionaries.get(new.id).is_some_and(|known| known.bytes != new.bytes)
    };
    if let Some(dictionary) = dictionaries.iter().find(differs) {
        let id = dictionary.id;
        let problem = format!("its dictionary {id} is not the one that the store has");
        return Err(PageError::Mismatch { problem });
    }
    for dictionary in dictionaries {
        if store.dictionaries.get(dictionary.id).is_none() {
            store.superblock.dictionary = dictionary.id;
            store.add_dictionary(dictionary)?;
        }
    }
    let mut batch = store.batch()?;
    batch.lift_limit();
    for _ in 0..head.pages {
        read_page(stream, head, &mut batch)?;
    }
    let live = read_end(stream)?;
    let lives = |page: PageId| {
        let after = live.partition_point(|(start, _)| *start <= page);
        after > 0 && page < live[after - 1].1
    };
    batch.free_all_but(&lives)?;
    batch.commit_as(head.generation)?;
    store.write_checkpoint()
}

/// Reads a page of a stream into a batch.
fn read_page(
    stream: &mut Stream<'_>,
    head: &Head,
    batch: &mut super::Batch<'_>,
) -> Result<(), PageError> {
    let mut record = [0; RECORD_BYTES];
    stream.checked(&mut record)?;
    let (page, length) = (read_u64(&record, 0), read_u32(&record, 8));
    if page >= head.page_count {
        return Err(stream.wrong(format!("page {page} of {}", head.page_count)));
    }
    if length == 0 {
        return batch.put_zero(page);
    }
    let longest = (1 << head.page_shift) + HEADER_BYTES;
    if !(HEADER_BYTES + 1..=longest).contains(&(length as usize)) {
        return Err(stream.wrong(format!("page {page}: an image of {length} bytes")));
    }
    let at = stream.offset;
    let image = batch.room(length as usize);
    stream.get(image)?;
    let expected = super::header::Expected {
        file_id: head.file_id,
        page_shift: head.page_shift,
        page,
        generation: read_u64(image, 16),
    };
    let found = super::header::verify(image, expected);
    let header = found.map_err(|problem| PageError::Stream {
        offset: at,
        problem: format!("page {page}: {problem}"),
    })?;
    if header.generation > head.generation || header.generation <= head.since {
        return Err(stream.wrong(format!("page {page}: generation {}", header.generation)));
    }
    stream.chain = xxh3_64(&image[32..HEADER_BYTES], stream.chain);
    batch.take_room(page, length as usize)
}

/// Reads the ranges of pages that exist, and the footer.
fn read_end(stream: &mut Stream<'_>) -> Result<Vec<(PageId, PageId)>, PageError> {
    let mut count = [0; 8];
    stream.checked(&mut count)?;
    let count = u64::from_le_bytes(count);
    if count > PAGES_MAX {
        return Err(stream.wrong("too many ranges of pages"));
    }
    let mut ranges: Vec<(PageId, PageId)> = Vec::new();
    for _ in 0..count {
        let mut range = [0; 16];
        stream.checked(&mut range)?;
        let (start, end) = (read_u64(&range, 0), read_u64(&range, 8));
        if start >= end || ranges.last().is_some_and(|last| last.1 >= start) {
            return Err(stream.wrong("ranges of pages are out of order"));
        }
        ranges.push((start, end));
    }
    let wanted = stream.chain;
    let mut footer = [0; 8];
    stream.get(&mut footer)?;
    if u64::from_le_bytes(footer) == wanted {
        Ok(ranges)
    } else {
        Err(stream.wrong("checksum mismatch at its end"))
    }
}

/// Writes a store again in another layout: a backup and its restore, without anything between.
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
/// let holes = directory.path().join("holes.pages");
/// let options = Options { page_bytes: 4096, layout: Layout::Holes, ..Options::default() };
/// convert(&*disk(), &store, &holes, &options)?;
/// assert_eq!(Store::open(&holes, Access::Read)?.layout(), Layout::Holes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn convert(
    storage: &dyn Storage,
    source: &Store,
    path: &Path,
    options: &Options,
) -> Result<BackupReport, PageError> {
    let (mut reader, writer) = std::io::pipe().map_err(PageError::file("open", path))?;
    let codec = source.codec();
    let mut view = source.reader();
    std::thread::scope(|scope| {
        let sender = scope.spawn(move || {
            let mut target = std::io::BufWriter::with_capacity(1 << 20, writer);
            let saved = view.backup(&mut target, 0, codec)?;
            target.flush().map_err(PageError::file("write", Path::new("backup stream")))?;
            Ok(saved)
        });
        let restored = restore(storage, &mut reader, path, options);
        drop(reader);
        let sent: Result<BackupReport, PageError> = match sender.join() {
            Ok(sent) => sent,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        match (restored, sent) {
            // A page that cannot be read ends the stream; that is the error to tell.
            (_, Err(error)) if error.page().is_some() => Err(error),
            (restored, _) => restored,
        }
    })
}
