//! The index of a segment: its words, sorted, and for each the groups of records that have it. The format is described in
//! `docs/format/record.md`.
//!
//! It proposes groups, and records decide: what is cut off of a word, or that words follow each other, is not in it.

use super::query::Query;
use super::token::{Cut, WORD_BYTES_MAX, cut, digits_at, is_word, words};
use crate::batch::Batch;
use crate::bytes::{Parser, put_length, put_varint};
use crate::dictionary::zstd;
use crate::entry::{Entry, State};
use crate::error::Damage;
use crate::{RecordError, SEGMENT_RECORDS_MAX};
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_kernel::hash::crc32c;
use tambour_kernel::integer::packed::{self, Layout, Series};
use tambour_kernel::integer::stream_vbyte::{self, Lengths};
use tambour_storage::{ReadAt, Storage};

const MAGIC: [u8; 8] = *b"TMBRWORD";
const VERSION: u16 = 1;
const HEADER_BYTES: usize = 64;
/// Raw bytes of a group of records, about: what is read for a hit.
const GROUP_BYTES: usize = 16 << 10;
const GROUP_RECORDS_MAX: usize = 4096;
/// Words of a block.
const BLOCK: usize = 128;
/// Most bytes of a block of words, decompressed, and of the lists after it.
const BLOCK_BYTES_MAX: usize = BLOCK * (WORD_BYTES_MAX + 32);
const LISTS_BYTES_MAX: usize = 1 << 28;
/// Lists of this many groups and more are packed, shorter ones are StreamVByte.
const LONG: usize = 128;
const WORDS_LEVEL: i32 = 3;

/// Which segment an index is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) store: u64,
    pub(crate) base: u64,
    pub(crate) records: u64,
    /// The sum in the header of the segment: another one of the same name has another one.
    pub(crate) sum: u32,
}

/// Groups of a segment, one bit each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Groups(Vec<u64>);

impl Groups {
    fn none(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn all(count: usize) -> Self {
        let mut groups = Self::none(count);
        (0..count).for_each(|group| groups.set(group));
        groups
    }

    fn set(&mut self, group: usize) {
        if let Some(word) = self.0.get_mut(group / 64) {
            *word |= 1 << (group % 64);
        }
    }

    fn meet(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }

    fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    /// Their numbers, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(number, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.checked_sub(1)?;
                Some(number * 64 + bit)
            })
        })
    }
}

/// A block of words in the file.
#[derive(Debug)]
struct Block {
    first: Vec<u8>,
    /// Words, compressed, and the lists of their groups.
    words: Range<u64>,
    lists: Range<u64>,
    raw_bytes: usize,
    sum: u32,
}

/// An open index.
#[derive(Debug)]
pub(crate) struct WordIndex {
    path: PathBuf,
    file: Arc<dyn ReadAt>,
    /// Records of a group.
    pub(crate) group: usize,
    groups: usize,
    blocks: Vec<Block>,
}

/// The file of the index of records.
pub(crate) fn build(owner: Owner, records: &Batch) -> Result<Vec<u8>, RecordError> {
    let mean = records.bytes().len() / records.len().max(1);
    let group = (GROUP_BYTES / mean.max(1)).clamp(1, GROUP_RECORDS_MAX).next_power_of_two();
    let lists = collect(records, group)?;
    let mut sorted: Vec<(&[u8], Cut, &[u32])> =
        lists.iter().map(|((word, cut), groups)| (&word[..], *cut, &groups[..])).collect();
    sorted.sort_unstable();
    let (mut directory, mut blocks) = (Vec::new(), Vec::new());
    for words in sorted.chunks(BLOCK) {
        write_block(words, &mut directory, &mut blocks)?;
    }
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&VERSION.to_le_bytes());
    file.extend_from_slice(&[0; 2]);
    put_length(&mut file, group);
    for number in [owner.store, owner.base, owner.records, blocks.len() as u64] {
        file.extend_from_slice(&number.to_le_bytes());
    }
    file.extend_from_slice(&owner.sum.to_le_bytes());
    put_length(&mut file, directory.len());
    file.extend_from_slice(&crc32c(0, &directory).to_le_bytes());
    let sum = crc32c(0, &file);
    file.extend_from_slice(&sum.to_le_bytes());
    file.extend_from_slice(&directory);
    file.extend_from_slice(&blocks);
    Ok(file)
}

type Lists = HashMap<(Vec<u8>, Cut), Vec<u32>>;

/// The groups of each word.
fn collect(records: &Batch, group: usize) -> Result<Lists, RecordError> {
    let mut lists = Lists::new();
    let mut lower = Vec::new();
    // Most words are there already: asked for with a key that is kept.
    let mut key = (Vec::new(), Cut::Whole);
    for (number, stored) in records.iter().enumerate() {
        let entry = Entry::of(stored, records.is_keyed());
        let entry = entry.map_err(|damage| damage.within(Path::new("a batch"), number as u64))?;
        if entry.state != State::Record {
            continue;
        }
        lower.clear();
        lower.extend(entry.record.iter().map(u8::to_ascii_lowercase));
        #[expect(clippy::cast_possible_truncation, reason = "segments have less records")]
        let number = (number / group) as u32;
        for place in words(&lower) {
            let (word, how) = cut(&lower[place]);
            key.0.clear();
            key.0.extend_from_slice(word);
            key.1 = how;
            match lists.get_mut(&key) {
                Some(groups) if groups.last() == Some(&number) => {}
                Some(groups) => groups.push(number),
                None => drop(lists.insert(key.clone(), vec![number])),
            }
        }
    }
    Ok(lists)
}

fn write_block(
    words: &[(&[u8], Cut, &[u32])],
    directory: &mut Vec<u8>,
    target: &mut Vec<u8>,
) -> Result<(), RecordError> {
    let (mut raw, mut lists) = (Vec::new(), Vec::new());
    let mut before: &[u8] = &[];
    for (word, how, groups) in words {
        let common = before.iter().zip(*word).take_while(|(a, b)| a == b).count();
        put_varint(&mut raw, common as u64);
        put_varint(&mut raw, ((word.len() - common) as u64) << 2 | *how as u64);
        raw.extend_from_slice(&word[common..]);
        before = word;
        put_varint(&mut raw, groups.len() as u64);
        if let [group] = groups {
            put_varint(&mut raw, u64::from(*group));
        } else {
            let start = lists.len();
            write_list(groups, &mut lists);
            put_varint(&mut raw, (lists.len() - start) as u64);
        }
    }
    let mut packed = Vec::with_capacity(zstd_safe::compress_bound(raw.len()));
    zstd_safe::compress(&mut packed, &raw, WORDS_LEVEL).map_err(zstd("compress words"))?;
    let first = words.first().map_or(&[][..], |word| word.0);
    put_varint(directory, first.len() as u64);
    directory.extend_from_slice(first);
    for length in [raw.len(), packed.len(), lists.len()] {
        put_varint(directory, length as u64);
    }
    directory.extend_from_slice(&crc32c(crc32c(0, &packed), &lists).to_le_bytes());
    target.extend_from_slice(&packed);
    target.extend_from_slice(&lists);
    Ok(())
}

/// Appends the distances of groups, each less one.
fn write_list(groups: &[u32], target: &mut Vec<u8>) {
    let mut next = 0;
    let gaps: Vec<u32> = groups
        .iter()
        .map(|group| {
            let gap = group - next;
            next = group + 1;
            gap
        })
        .collect();
    let start = target.len();
    let written = if gaps.len() < LONG {
        target.resize(start + stream_vbyte::bound(gaps.len()), 0);
        stream_vbyte::encode(&gaps, &mut target[start..], Lengths::ZeroToFour)
    } else {
        target.resize(start + packed::bound(gaps.len()), 0);
        packed::encode(&gaps, &mut target[start..], Layout::Plain, Series::Values)
    };
    target.truncate(start + written.expect("a target of the bound holds every encoding"));
}

/// The inverse: sets the groups of a list.
fn read_list(stored: &[u8], count: usize, groups: &mut Groups) -> Result<(), Damage> {
    let mut gaps = vec![0; count];
    let taken = if count < LONG {
        stream_vbyte::decode(stored, &mut gaps, Lengths::ZeroToFour)
    } else {
        packed::decode(stored, &mut gaps, Layout::Plain, Series::Values)
    };
    if taken != Ok(stored.len()) {
        return Err(Damage::new(0, "a list of groups", format!("{count} numbers"), "others"));
    }
    let mut next = 0_usize;
    for gap in gaps {
        let group = next.saturating_add(gap as usize);
        groups.set(group);
        next = group.saturating_add(1);
    }
    Ok(())
}

/// What words are looked for in the list of all.
enum Wanted<'a> {
    Exactly(&'a [u8], Cut),
    Beginning(&'a [u8]),
    Holding(&'a [u8]),
    Ending(&'a [u8]),
}

impl Wanted<'_> {
    fn takes(&self, word: &[u8], how: Cut) -> bool {
        match self {
            Self::Exactly(wanted, cut) => word == *wanted && how == *cut,
            Self::Beginning(start) => word.starts_with(start),
            Self::Holding(piece) => how.may_hold(word, piece, false),
            Self::Ending(piece) => how.may_hold(word, piece, true),
        }
    }
}

impl WordIndex {
    /// Opens the index of a segment.
    pub(crate) fn open(
        storage: &dyn Storage,
        path: &Path,
        owner: Owner,
    ) -> Result<Self, RecordError> {
        let file = storage.open(path).map_err(RecordError::file("open", path))?;
        let read = |at: u64, length: usize| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, at).map_err(RecordError::file("read", path))?;
            Ok::<_, RecordError>(bytes)
        };
        let header = read(0, HEADER_BYTES)?;
        let parsed = Self::parse_header(&header, owner).map_err(|found| found.within(path, 0))?;
        let (group, blocks_bytes, directory_bytes, sum) = parsed;
        let end = (HEADER_BYTES + directory_bytes) as u64;
        if end.checked_add(blocks_bytes) != Some(file.len()) {
            let found =
                Damage::new(0, "length of the file", end.saturating_add(blocks_bytes), file.len());
            return Err(found.within(path, 0));
        }
        let directory = read(HEADER_BYTES as u64, directory_bytes)?;
        let within = |found: Damage| found.within(path, HEADER_BYTES as u64);
        let got = crc32c(0, &directory);
        if got != sum {
            return Err(within(Damage::sum(0, "directory of an index", sum, got)));
        }
        let blocks = Self::parse_directory(&directory, end, file.len()).map_err(within)?;
        let records = usize::try_from(owner.records).unwrap_or(usize::MAX);
        let (path, groups) = (path.to_owned(), records.div_ceil(group));
        Ok(Self { path, file, group, groups, blocks })
    }

    fn parse_header(header: &[u8], owner: Owner) -> Result<(usize, u64, usize, u32), Damage> {
        let mut parser = Parser::new(header);
        if parser.array()? != MAGIC {
            return Err(Damage::new(0, "magic of an index", "TMBRWORD", "something else"));
        }
        let version = parser.u16()?;
        parser.take(2)?;
        let group = parser.length()?;
        let (store, base, records) = (parser.u64()?, parser.u64()?, parser.u64()?);
        let blocks_bytes = parser.u64()?;
        let (sum, directory_bytes, directory_sum) =
            (parser.u32()?, parser.length()?, parser.u32()?);
        let (got, expected) = (crc32c(0, &header[..parser.at()]), parser.u32()?);
        if got != expected {
            return Err(Damage::sum(0, "header of an index", expected, got));
        }
        if version != VERSION {
            return Err(Damage::new(8, "version of an index", VERSION, version));
        }
        let found = Owner { store, base, records, sum };
        if found != owner {
            let other = format!("that of {records} records from {base} on, sum {sum:08x}");
            let own = format!(
                "that of {} records from {} on, sum {:08x}",
                owner.records, owner.base, owner.sum
            );
            return Err(Damage::new(16, "the segment of an index", own, other));
        }
        if !(1..=2 * GROUP_RECORDS_MAX).contains(&group) || records > SEGMENT_RECORDS_MAX {
            return Err(Damage::new(12, "records of a group", GROUP_RECORDS_MAX, group));
        }
        Ok((group, blocks_bytes, directory_bytes, directory_sum))
    }

    fn parse_directory(directory: &[u8], mut at: u64, end: u64) -> Result<Vec<Block>, Damage> {
        let mut parser = Parser::new(directory);
        let mut blocks = Vec::new();
        while parser.at() < directory.len() {
            let length = parser.varint_up_to(WORD_BYTES_MAX)?;
            let first = parser.take(length)?.to_vec();
            let raw_bytes = parser.varint_up_to(BLOCK_BYTES_MAX)?;
            let words = parser.varint_up_to(2 * BLOCK_BYTES_MAX)? as u64;
            let lists = parser.varint_up_to(LISTS_BYTES_MAX)? as u64;
            let sum = parser.u32()?;
            let (start, middle) = (at, at + words);
            at = middle + lists;
            if at > end {
                return Err(Damage::new(parser.at(), "end of a block of words", end, at));
            }
            blocks.push(Block { first, words: start..middle, lists: middle..at, raw_bytes, sum });
        }
        Ok(blocks)
    }

    /// Which groups may have records that match.
    pub(crate) fn candidates(&self, query: &Query) -> Result<Groups, RecordError> {
        Ok(match query {
            Query::Words { words, prefix } => {
                let mut groups = Groups::all(self.groups);
                for (number, word) in words.iter().enumerate() {
                    let is_start = *prefix && number + 1 == words.len();
                    groups.meet(&if is_start {
                        self.beginning(word)?
                    } else {
                        self.exactly(word)?
                    });
                }
                groups
            }
            Query::Bytes(bytes) => self.holding(bytes)?,
            Query::And(all) => {
                let mut groups = Groups::all(self.groups);
                for query in all {
                    groups.meet(&self.candidates(query)?);
                }
                groups
            }
            Query::Or(any) => {
                let mut groups = Groups::none(self.groups);
                for query in any {
                    groups.join(&self.candidates(query)?);
                }
                groups
            }
            // A group has records that match and others.
            Query::Not(_) => Groups::all(self.groups),
        })
    }

    fn exactly(&self, word: &[u8]) -> Result<Groups, RecordError> {
        let (kept, how) = cut(word);
        self.find(&Wanted::Exactly(kept, how))
    }

    /// Words that begin so, and those of which only the beginning is kept.
    fn beginning(&self, start: &[u8]) -> Result<Groups, RecordError> {
        let mut groups =
            self.find(&Wanted::Beginning(start.get(..WORD_BYTES_MAX).unwrap_or(start)))?;
        let digits_at = digits_at(start);
        if let Some(kept) = start.get(..digits_at).filter(|kept| kept.len() < start.len()) {
            groups.join(&self.find(&Wanted::Exactly(kept, Cut::Digits))?);
        }
        Ok(groups)
    }

    /// Groups that may have some bytes anywhere.
    fn holding(&self, bytes: &[u8]) -> Result<Groups, RecordError> {
        let lower = bytes.to_ascii_lowercase();
        let pieces: Vec<Range<usize>> = words(&lower).collect();
        let is_open =
            |at: Option<usize>| at.and_then(|at| lower.get(at)).is_none_or(|b| is_word(*b));
        let mut groups = Groups::all(self.groups);
        let sides =
            |piece: &Range<usize>| (is_open(piece.start.checked_sub(1)), is_open(Some(piece.end)));
        // Whole words are found at once; only without them all words are looked at.
        let has_start = pieces.iter().any(|piece| !sides(piece).0);
        for piece in &pieces {
            let word = &lower[piece.clone()];
            let found = match sides(piece) {
                (false, false) => self.exactly(word)?,
                (false, true) => self.beginning(word)?,
                _ if has_start => continue,
                (true, false) => self.find(&Wanted::Ending(word))?,
                (true, true) => self.find(&Wanted::Holding(word))?,
            };
            groups.meet(&found);
        }
        Ok(groups)
    }

    fn find(&self, wanted: &Wanted<'_>) -> Result<Groups, RecordError> {
        let blocks = match wanted {
            Wanted::Exactly(start, _) | Wanted::Beginning(start) => {
                // The block in front may end with it: equal words that are cut differently follow each other.
                let first = self.blocks.partition_point(|block| block.first[..] < **start);
                let beyond =
                    |block: &Block| block.first[..] <= **start || block.first.starts_with(start);
                let rest = self.blocks.get(first..).unwrap_or_default();
                first.saturating_sub(1)
                    ..first + rest.iter().take_while(|block| beyond(block)).count()
            }
            Wanted::Holding(_) | Wanted::Ending(_) => 0..self.blocks.len(),
        };
        let mut groups = Groups::none(self.groups);
        let mut context = zstd_safe::DCtx::create();
        for block in self.blocks.get(blocks).unwrap_or_default() {
            self.look(block, &mut context, &mut |word, how| wanted.takes(word, how), &mut groups)?;
        }
        Ok(groups)
    }

    /// Adds the groups of the words of a block that are wanted.
    fn look(
        &self,
        block: &Block,
        context: &mut zstd_safe::DCtx<'static>,
        wanted: &mut dyn FnMut(&[u8], Cut) -> bool,
        groups: &mut Groups,
    ) -> Result<(), RecordError> {
        let length = |range: &Range<u64>| usize::try_from(range.end - range.start).unwrap_or(0);
        let mut bytes = vec![0; length(&block.words) + length(&block.lists)];
        self.file
            .read_exact_at(&mut bytes, block.words.start)
            .map_err(RecordError::file("read", &self.path))?;
        let within = |found: Damage| found.within(&self.path, block.words.start);
        let got = crc32c(0, &bytes);
        if got != block.sum {
            return Err(within(Damage::sum(0, "a block of words", block.sum, got)));
        }
        let (packed, lists) = bytes.split_at(length(&block.words));
        let mut raw = Vec::with_capacity(block.raw_bytes);
        context.decompress(&mut raw, packed).map_err(|code| {
            within(Damage::new(0, "a block of words", "zstd", zstd_safe::get_error_name(code)))
        })?;
        read_block(&raw, lists, wanted, groups).map_err(within)
    }

    /// Reads all of it: whatever is wrong is an error.
    pub(crate) fn check(&self) -> Result<(), RecordError> {
        let mut groups = Groups::none(self.groups);
        let mut context = zstd_safe::DCtx::create();
        for block in &self.blocks {
            self.look(block, &mut context, &mut |_, _| true, &mut groups)?;
        }
        Ok(())
    }

    /// Records of a group, counted in the segment; there may be less.
    pub(crate) fn records_of(&self, group: usize) -> Range<usize> {
        group * self.group..(group + 1) * self.group
    }
}

/// Reads the parts of an index, whatever they are: see [`crate::law`].
pub(crate) fn read_any(directory: &[u8], words: &[u8], lists: &[u8]) {
    if let Ok(blocks) = WordIndex::parse_directory(directory, 0, u64::from(u32::MAX)) {
        assert!(blocks.is_sorted_by(|one, other| one.lists.end <= other.words.start));
    }
    for count in [1, 70, 5000] {
        let mut groups = Groups::none(count);
        let mut words_seen = 0;
        let mut take = |word: &[u8], _: Cut| {
            assert!(word.len() <= WORD_BYTES_MAX);
            words_seen += 1;
            true
        };
        let found = read_block(words, lists, &mut take, &mut groups);
        assert!(found.is_err() || words_seen <= words.len());
        assert!(groups.iter().all(|group| group < count.next_multiple_of(64)));
    }
}

fn read_block(
    raw: &[u8],
    mut lists: &[u8],
    wanted: &mut dyn FnMut(&[u8], Cut) -> bool,
    groups: &mut Groups,
) -> Result<(), Damage> {
    let mut parser = Parser::new(raw);
    let mut word = Vec::with_capacity(WORD_BYTES_MAX);
    while parser.at() < raw.len() {
        let at = parser.at();
        let common = parser.varint_up_to(word.len())?;
        word.truncate(common);
        let told = parser.varint_up_to(WORD_BYTES_MAX << 2 | 3)?;
        let how = Cut::of(told as u64 & 3);
        let how = how.ok_or_else(|| Damage::new(at, "how a word is cut", "0 to 2", told & 3))?;
        word.extend_from_slice(parser.take(told >> 2)?);
        if word.len() > WORD_BYTES_MAX {
            return Err(Damage::new(at, "bytes of a word", WORD_BYTES_MAX, word.len()));
        }
        let count = parser.varint_up_to(1 << 26)?;
        let single = parser.varint_up_to(1 << 28)?;
        let is_wanted = wanted(&word, how);
        if count == 1 {
            if is_wanted {
                groups.set(single);
            }
            continue;
        }
        let Some((list, rest)) = lists.split_at_checked(single) else {
            return Err(Damage::new(
                at,
                "a list of groups",
                format!("{single} bytes"),
                lists.len(),
            ));
        };
        lists = rest;
        if is_wanted {
            // A packed list of equal distances takes next to nothing, a group that is there does not.
            if count > groups.0.len() * 64 {
                return Err(Damage::new(at, "groups of a word", groups.0.len() * 64, count));
            }
            read_list(list, count, groups)?;
        }
    }
    if lists.is_empty() { Ok(()) } else { Err(Damage::new(0, "lists of a block", 0, lists.len())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The law of [`crate::law`], for real parts with every bit flipped and at every length.
    #[test]
    fn damaged_parts_neither_panic_nor_lead_out() {
        let long: Vec<u32> = (0..200).map(|k| k * 3).collect();
        let listed: [(&[u8], &[u32]); 5] = [
            (b"disk", &[1, 2, 9]),
            (b"disks", &[4]),
            (b"error", &long),
            (b"f", &[63]),
            (b"g", &[]),
        ];
        let listed = listed.map(|(word, groups)| (word, Cut::Whole, groups));
        let (mut directory, mut target) = (Vec::new(), Vec::new());
        write_block(&listed, &mut directory, &mut target).unwrap();
        let blocks = WordIndex::parse_directory(&directory, 0, target.len() as u64).unwrap();
        let packed = usize::try_from(blocks[0].words.end).unwrap();
        let mut raw = Vec::with_capacity(blocks[0].raw_bytes);
        zstd_safe::decompress(&mut raw, &target[..packed]).unwrap();
        let mut groups = Groups::none(600);
        let mut names = Vec::new();
        let mut error = |word: &[u8], _: Cut| {
            names.push(word.to_vec());
            word == b"error"
        };
        read_block(&raw, &target[packed..], &mut error, &mut groups).unwrap();
        assert_eq!(names, listed.map(|(word, ..)| word.to_vec()));
        assert!(groups.iter().eq(long.iter().map(|group| *group as usize)));
        let lengths = [directory.len(), raw.len()].map(|bytes| u16::try_from(bytes).unwrap());
        let mut whole = lengths.map(u16::to_be_bytes).concat();
        whole.extend([&directory, &raw, &target[packed..]].into_iter().flatten());
        for end in 0..whole.len() {
            crate::law::index_of_words(&whole[..end]);
        }
        for bit in 0..whole.len() * 8 {
            let mut wrong = whole.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            crate::law::index_of_words(&wrong);
        }
    }
}
