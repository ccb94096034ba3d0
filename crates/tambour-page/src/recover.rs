//! Recovery: every commit after the last checkpoint that is whole is applied to the map.

use super::PageError;
use super::frame::{self, FRAME_HEADER_BYTES, FrameHeader, Kind, RECORD_BYTES, Record};
use super::header::{self, Expected, HEADER_BYTES, Header};
use super::images::Images;
use super::map::{Entry, State};
use super::options::{Generation, Layout, PageId};
use super::store::Store;
use super::superblock::{DATA_START, PLACES};

/// Bytes that are searched at once for a commit after a broken one.
const SEARCH_BYTES: usize = 1 << 20;
/// What looks like a header there may claim this many times the bytes that are searched: for a store that was made to keep its
/// reader busy.
const SEARCH_EFFORT: u64 = 64;

/// A commit that counts.
struct Commit {
    header: FrameHeader,
    records: Vec<Record>,
    /// Pages with an image that is not encoded as those that are to last.
    hot: Vec<PageId>,
}

impl Store {
    /// Applies every commit since the checkpoint. The log ends where something is not whole: a commit that was never
    /// acknowledged, unless a later one says that it was.
    pub(super) fn replay(&mut self) -> Result<(), PageError> {
        let length = self.shared.pack.length()?;
        let mut head = self.superblock.log_start;
        if head < DATA_START || !head.is_multiple_of(self.shared.granule) {
            let problem = format!("it says that commits begin at {head}");
            return Err(self.broken("superblock", PLACES[0], problem));
        }
        if head > length.next_multiple_of(self.shared.granule) {
            let path = self.shared.pack.path.clone();
            return Err(PageError::Truncated { path, expected: head, got: length });
        }
        let end = loop {
            match self.next_frame(head, length)? {
                Ok(commit) => {
                    self.follow(head, &commit);
                    head += self.frame_bytes(&commit) + commit.header.inline_bytes;
                }
                Err(problem) => break problem,
            }
        };
        self.search_behind(head, length, &end)
    }

    /// Applies a commit that stands at `head`.
    fn follow(&mut self, head: u64, commit: &Commit) {
        let (header, bytes) = (&commit.header, self.frame_bytes(commit));
        for record in &commit.records {
            self.apply(record, header.generation);
            self.forget_home(record);
        }
        for page in &commit.hot {
            self.note_hot(*page);
        }
        self.map.grow(header.page_count);
        self.generation = header.generation;
        self.durable = self.durable.max(header.durable);
        self.log.previous = header.checksum;
        self.log.frames.push((head, bytes));
        self.log.bytes += bytes + header.inline_bytes;
    }

    /// Applies the commits that others have made since this store was last up to date. `false` if they do not fit to what is
    /// known here.
    pub(super) fn catch_up(&mut self) -> Result<bool, PageError> {
        let length = self.shared.pack.length()?;
        loop {
            let head = match self.log.frames.last() {
                Some(_) => self.extents.tail(),
                None => self.superblock.log_start,
            };
            if head != self.extents.tail() {
                return Ok(false);
            }
            let commit = match self.next_frame(head, length)? {
                Ok(found) => found,
                Err(end) => {
                    // Nearly always the mark of the last commit is all that is there.
                    if length > head + frame::frame_bytes(0, self.shared.granule) {
                        self.search_behind(head, length, &end)?;
                    }
                    return Ok(true);
                }
            };
            let images = commit.records.iter().filter(|it| it.kind == Kind::Image);
            for record in images.filter(|it| it.offset < head) {
                if !self.extents.claim(record.offset, self.padded(record.length)) {
                    return Ok(false);
                }
            }
            self.extents.append(self.frame_bytes(&commit) + commit.header.inline_bytes);
            self.follow(head, &commit);
        }
    }

    /// What a page has at home is not known when a checkpoint was under way: all of it must be thought to be taken.
    fn forget_home(&mut self, record: &Record) {
        if self.shared.layout != Layout::Holes {
            return;
        }
        let mut entry = self.map.get(record.page);
        entry.home_blocks = self.blocks_max();
        self.map.set(record.page, entry);
        if !entry.has_image() {
            self.vacated.insert(record.page);
        }
    }

    /// Reads the commit at `head`; the inner error says why there is none.
    fn next_frame(&mut self, head: u64, length: u64) -> Result<Result<Commit, String>, PageError> {
        let none = |problem: &str| Ok(Err(problem.to_owned()));
        let Some(header) = self.read_header(head, length)? else {
            return none("no commit begins there");
        };
        let generation = self.generation + 1;
        if header.epoch != self.superblock.epoch
            || header.generation < generation
            || header.previous != self.log.previous
        {
            return none("the commit there does not follow the one before");
        }
        let Some(records) = self.read_records(head, length, &header)? else {
            return none("its records are incomplete");
        };
        let checked = self.check_images(&records, length)?;
        Ok(checked.map(|hot| Commit { header, records, hot }))
    }

    fn frame_bytes(&self, commit: &Commit) -> u64 {
        frame::frame_bytes(commit.records.len(), self.shared.granule)
    }

    fn read_header(&mut self, head: u64, length: u64) -> Result<Option<FrameHeader>, PageError> {
        let mut bytes = [0; FRAME_HEADER_BYTES];
        if head + bytes.len() as u64 > length {
            return Ok(None);
        }
        self.shared.pack.read(&mut bytes, head)?;
        Ok(frame::header(&bytes))
    }

    /// Reads the records of a frame, if the file is long enough for them and they are whole.
    fn read_records(
        &mut self,
        head: u64,
        length: u64,
        header: &FrameHeader,
    ) -> Result<Option<Vec<Record>>, PageError> {
        let bytes = FRAME_HEADER_BYTES + header.record_count as usize * RECORD_BYTES;
        let end = (head + bytes as u64).checked_add(header.inline_bytes);
        if end.is_none_or(|end| end > length) {
            return Ok(None);
        }
        if self.scratch.len() < bytes {
            self.scratch.resize(bytes, 0);
        }
        let scratch = &mut self.scratch[..bytes];
        self.shared.pack.read(scratch, head)?;
        Ok(frame::records(header, scratch, self.shared.file_id))
    }

    /// Checks the images that records speak of; the pages of those that are not encoded as images that are to last.
    fn check_images(
        &mut self,
        records: &[Record],
        length: u64,
    ) -> Result<Result<Vec<PageId>, String>, PageError> {
        let named = |record: &Record, problem: &str| {
            Ok(Err(format!("page {}, image at {}: {problem}", record.page, record.offset)))
        };
        let records: Vec<&Record> = records.iter().filter(|it| it.kind == Kind::Image).collect();
        let mut wanted = Vec::with_capacity(records.len());
        for record in &records {
            if let Err(problem) = self.check_place(record, length) {
                return named(record, problem);
            }
            let (offset, length) = (record.offset, record.length);
            let entry = Entry { offset, length, state: State::Packed, ..Entry::default() };
            wanted.push((record.page, entry));
        }
        let (mut hot, mut problem) = (Vec::new(), None);
        let buffer = std::mem::take(&mut self.scratch);
        let mut images = Images::new(&self.shared, wanted, buffer).without_ahead();
        while let Some(image) = images.next() {
            let (page, _, image) = image?;
            let Ok(at) = records.binary_search_by_key(&page, |record| record.page) else {
                continue;
            };
            match self.check_image(records[at], image) {
                Ok(header) if self.is_hot_image(&header) => hot.push(page),
                Ok(_) => {}
                Err(found) => {
                    problem = Some((records[at], found));
                    break;
                }
            }
        }
        self.scratch = images.into_buffer();
        match problem {
            Some((record, problem)) => named(record, &problem),
            None => Ok(Ok(hot)),
        }
    }

    /// Checks that an image can be where a record says.
    fn check_place(&self, record: &Record, length: u64) -> Result<(), &'static str> {
        let size = record.length as usize;
        let end = record.offset.checked_add(u64::from(record.length));
        if size <= HEADER_BYTES
            || size > self.shared.image_bytes_max()
            || record.offset < DATA_START
            || !record.offset.is_multiple_of(self.shared.granule)
        {
            return Err("an image cannot be there");
        }
        if end.is_none_or(|end| end > length) {
            return Err("the file ends before it does");
        }
        Ok(())
    }

    /// Checks the image that a record speaks of.
    fn check_image(&self, record: &Record, image: &[u8]) -> Result<Header, String> {
        let expected = Expected {
            file_id: self.shared.file_id,
            page_shift: self.shared.page_shift,
            page: record.page,
            generation: record.generation,
        };
        let found = header::verify(image, expected)?;
        if found.checksum == record.checksum {
            return Ok(found);
        }
        Err("another image of the same generation".to_owned())
    }

    /// Looks past the end of the log for a later commit of this epoch that knew the missing one to be durable: then what
    /// looks like the end of the log is damage.
    fn search_behind(&mut self, head: u64, length: u64, end: &str) -> Result<(), PageError> {
        let granule = self.shared.granule;
        let step = usize::try_from(granule).expect("a granule is a few bytes");
        let mut at = head + granule;
        let mut effort = length.saturating_sub(head).saturating_mul(SEARCH_EFFORT);
        while at + FRAME_HEADER_BYTES as u64 <= length {
            let bytes = usize::try_from(length - at).unwrap_or(SEARCH_BYTES).min(SEARCH_BYTES);
            let mut piece = vec![0; bytes];
            self.shared.pack.read(&mut piece, at)?;
            for start in (0..bytes.saturating_sub(FRAME_HEADER_BYTES - 1)).step_by(step) {
                let Some(header) = frame::header(&piece[start..]) else { continue };
                let missing: Generation = self.generation + 1;
                if header.epoch != self.superblock.epoch || header.durable < missing {
                    continue;
                }
                let claimed = (header.record_count as usize * RECORD_BYTES) as u64;
                let Some(rest) = effort.checked_sub(claimed.min(length)) else {
                    let problem = format!(
                        "{end}; after it there are more beginnings of commits than can be checked"
                    );
                    return Err(self.broken("commit", head, problem));
                };
                effort = rest;
                if self.read_records(at + start as u64, length, &header)?.is_some() {
                    let witness =
                        if header.record_count == 0 { "the mark of commit" } else { "commit" };
                    let problem = format!(
                        "commit {missing} was acknowledged and is damaged: {end}; {witness} {} after it is intact",
                        header.generation
                    );
                    return Err(self.broken("commit", head, problem));
                }
            }
            // The first place at which no header was looked for.
            at += (bytes + 1).saturating_sub(FRAME_HEADER_BYTES).next_multiple_of(step) as u64;
            if bytes < SEARCH_BYTES {
                break;
            }
        }
        Ok(())
    }
}
