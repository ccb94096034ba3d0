//! What leads to the records of a sealed segment: where groups end, how long records are, when they happened, and the
//! dictionary. On disk in one guarded piece.

use super::header::Header;
use crate::bytes::{Parser, put_length};
use crate::dictionary::Dictionary;
use crate::error::Damage;
use crate::keys::index::KeyIndex;
use crate::line::{BITS_MARGIN, Line, distance, narrow, pack};
use std::ops::Range;

/// Groups of a block of the index.
pub(super) const BLOCK_GROUPS: usize = 128;
/// Times of a block.
pub(super) const BLOCK_TIMES: usize = 1024;
/// Most bits of a distance in the index of groups: two of them are one load.
const WIDTH_MAX: u32 = 28;

/// Lengths of the records of a block of groups.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    least: u32,
    width: u32,
    bits_at: usize,
}

/// Index and dictionary of a segment, in memory.
#[derive(Debug)]
pub(crate) struct Meta {
    bytes: Vec<u8>,
    group: usize,
    records: usize,
    data_bytes: u64,
    lines: Vec<Line>,
    lengths: Vec<Lengths>,
    times: Vec<Line>,
    pub(crate) dictionary: Dictionary,
    /// Empty where records have no keys.
    pub(crate) keys: KeyIndex,
    /// Bytes of index (groups and lengths), of times, of the dictionary, and of keys.
    pub(crate) sizes: [usize; 4],
}

/// What a segment is made of, before it is written.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Where each group ends in the data.
    pub(super) ends: Vec<i64>,
    /// Lengths of all records; used when groups have more than one.
    pub(super) lengths: Vec<u64>,
    /// Times of all records, or none.
    pub(super) times: Vec<i64>,
    /// The index of keys, where records have some.
    pub(super) keys: Option<Vec<u8>>,
}

impl Draft {
    /// The meta piece. `dictionary` is in its stored form.
    pub(super) fn write(&self, group: usize, dictionary: &[u8]) -> Vec<u8> {
        let mut index = Vec::new();
        let starts: Vec<i64> = std::iter::once(0).chain(self.ends.iter().copied()).collect();
        for first in (0..self.ends.len()).step_by(BLOCK_GROUPS) {
            // One more than there are groups: the start of the next is the end of the last.
            let last = starts.len().min(first + BLOCK_GROUPS + 1);
            Line::write(&starts[first..last], &mut index);
        }
        if group > 1 {
            for lengths in self.lengths.chunks(BLOCK_GROUPS * group) {
                write_lengths(lengths, &mut index);
            }
        }
        let mut times = Vec::new();
        for block in self.times.chunks(BLOCK_TIMES) {
            Line::write(block, &mut times);
        }
        let mut parts = vec![&index[..], &times, dictionary];
        parts.extend(self.keys.as_deref());
        let mut meta = Vec::new();
        for part in &parts {
            put_length(&mut meta, part.len());
        }
        for part in &parts {
            meta.extend_from_slice(part);
        }
        meta
    }
}

fn write_lengths(lengths: &[u64], target: &mut Vec<u8>) {
    let least = lengths.iter().copied().min().unwrap_or(0);
    let above: Vec<u64> = lengths.iter().map(|length| length - least).collect();
    let width = above.iter().map(|d| 64 - d.leading_zeros()).max().unwrap_or(0);
    #[expect(clippy::cast_possible_truncation, reason = "records are below 4 GiB")]
    target.extend_from_slice(&(least as u32).to_le_bytes());
    #[expect(clippy::cast_possible_truncation, reason = "at most 32")]
    target.push(width as u8);
    pack(&above, width, target);
}

impl Meta {
    /// Reads the meta piece of a segment.
    pub(crate) fn parse(mut bytes: Vec<u8>, header: &Header) -> Result<Self, Damage> {
        let too_many = |_| Damage::new(0, "records", "a number for this machine", header.records);
        let records = usize::try_from(header.records).map_err(too_many)?;
        let groups = records.div_ceil(header.group);
        let mut parser = Parser::new(&bytes);
        let mut sizes = [parser.length()?, parser.length()?, parser.length()?, 0];
        if header.keyed {
            sizes[3] = parser.length()?;
        }
        let [index_bytes, time_bytes, dictionary_bytes, key_bytes] = sizes;
        let start = parser.at();
        let mut lines = Vec::with_capacity(groups.div_ceil(BLOCK_GROUPS).min(bytes.len()));
        for first in (0..groups).step_by(BLOCK_GROUPS) {
            let at = parser.at();
            let line = Line::read(&mut parser, BLOCK_GROUPS.min(groups - first) + 1)?;
            if line.width() > WIDTH_MAX {
                return Err(Damage::new(at, "bits of the index", WIDTH_MAX, line.width()));
            }
            lines.push(line);
        }
        let mut lengths = Vec::new();
        if header.group > 1 {
            let block = BLOCK_GROUPS * header.group;
            for first in (0..records).step_by(block) {
                lengths.push(Lengths::read(&mut parser, block.min(records - first))?);
            }
        }
        let got = parser.at() - start;
        if got != index_bytes {
            return Err(Damage::new(start, "bytes of the index", index_bytes, got));
        }
        let mut times = Vec::new();
        if header.timed {
            for first in (0..records).step_by(BLOCK_TIMES) {
                times.push(Line::read(&mut parser, BLOCK_TIMES.min(records - first))?);
            }
        }
        let got = parser.at() - start - index_bytes;
        if got != time_bytes {
            return Err(Damage::new(start + index_bytes, "bytes of times", time_bytes, got));
        }
        let dictionary = Dictionary::restore(parser.take(dictionary_bytes)?)?;
        let keys = if header.keyed {
            KeyIndex::read(parser.take(key_bytes)?, records)?
        } else {
            KeyIndex::default()
        };
        parser.end()?;
        bytes.truncate(start + index_bytes + time_bytes);
        bytes.resize(bytes.len() + BITS_MARGIN, 0);
        let (group, data_bytes) = (header.group, header.data_bytes);
        Ok(Self {
            bytes,
            group,
            records,
            data_bytes,
            lines,
            lengths,
            times,
            dictionary,
            keys,
            sizes,
        })
    }

    /// Where a group is in the data; the last four bytes are its sum.
    #[inline]
    pub(crate) fn group(&self, group: usize) -> Option<Range<usize>> {
        let line = self.lines.get(group / BLOCK_GROUPS)?;
        let (start, end) = line.pair(&self.bytes, group % BLOCK_GROUPS)?;
        let (start, end) = (start.cast_unsigned(), end.cast_unsigned());
        if start.checked_add(4)? > end || end > self.data_bytes {
            return None;
        }
        Some(usize::try_from(start).ok()?..usize::try_from(end).ok()?)
    }

    /// Begins to load what [`Meta::group`] will read.
    #[inline]
    pub(crate) fn prefetch(&self, group: usize) {
        if let Some(line) = self.lines.get(group / BLOCK_GROUPS) {
            let bit = group % BLOCK_GROUPS * line.width() as usize;
            tambour_kernel::prefetch(&self.bytes, line.bits_at + bit / 8);
        }
    }

    /// Where a record is in its group, decoded; `None` for the end where groups have one record.
    #[inline]
    pub(crate) fn place(&self, record: usize) -> Option<(usize, Option<usize>)> {
        if self.group == 1 {
            return Some((0, None));
        }
        let group = record / self.group;
        let (within, first) = (record % self.group, group * self.group);
        let lengths = self.lengths.get(group / BLOCK_GROUPS)?;
        let first_in_block = group % BLOCK_GROUPS * self.group;
        let count = self.group.min(self.records.checked_sub(first)?);
        let (mut start, mut length) = (0_u64, 0_u64);
        // Always over the whole group: how many records lie in front is a surprise each time, a choice is not.
        for k in 0..count {
            let above = narrow(&self.bytes, lengths.bits_at, first_in_block + k, lengths.width)?;
            let whole = above + u64::from(lengths.least);
            start += if k < within { whole } else { 0 };
            length = if k == within { whole } else { length };
        }
        let place = |at: u64| usize::try_from(at).ok();
        if within < count { Some((place(start)?, Some(place(start + length)?))) } else { None }
    }

    /// Length of a record, where groups have more than one.
    #[inline]
    fn length(&self, record: usize) -> Option<usize> {
        let block = BLOCK_GROUPS * self.group;
        let lengths = self.lengths.get(record / block)?;
        let above = distance(&self.bytes, lengths.bits_at, record % block, lengths.width)?;
        usize::try_from(above).ok()?.checked_add(lengths.least as usize)
    }

    /// Lengths of the records of a group, decoded; empty where groups have one record.
    pub(crate) fn group_lengths(&self, group: usize, target: &mut Vec<usize>) {
        target.clear();
        if self.group > 1 {
            let first = group * self.group;
            let records = first..self.records.min(first + self.group);
            target.extend(records.map_while(|record| self.length(record)));
        }
    }

    /// Time of a record.
    pub(crate) fn time(&self, record: usize) -> Option<i64> {
        self.times.get(record / BLOCK_TIMES)?.get(&self.bytes, record % BLOCK_TIMES)
    }
}

impl Lengths {
    fn read(parser: &mut Parser<'_>, count: usize) -> Result<Self, Damage> {
        let least = parser.u32()?;
        let at = parser.at();
        let width = u32::from(parser.u8()?);
        if width > 32 {
            return Err(Damage::new(at, "bits of a length", "at most 32", width));
        }
        let bits_at = parser.at();
        parser.take((count * width as usize).div_ceil(8))?;
        Ok(Self { least, width, bits_at })
    }
}
