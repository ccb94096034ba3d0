//! Lists of rows: in the dictionary or beside it, as numbers, as Roaring bitmaps, or as packed differences.

use crate::IndexError;
use std::ops::Range;

/// What the flags of a token say.
const IS_RAW: u64 = 1;
const IS_EMBEDDED: u64 = 1 << 1;
const IS_ONE_LIST: u64 = 1 << 2;
const IS_PACKED: u64 = 1 << 3;
const HAS_POSITIONS: u64 = 1 << 5;
const HAS_FREQUENCIES: u64 = 1 << 6;
const FLAGS_MAX: u64 = (1 << 7) - 1;
/// Largest list in bytes. One of as many rows as a part may have takes a quarter.
const LIST_BYTES_MAX: u64 = 64 << 20;
/// Most bytes of a number, and of the four in front of packed differences.
const NUMBER_BYTES_MAX: u64 = 10;
/// How a list of packed differences says what it is.
const PACKED: u64 = 1;
/// Differences that are packed together, in lanes beside each other.
const PACKED_ROWS: usize = 128;
const LANES: usize = 4;
/// How Roaring bitmaps begin: without and with runs. The first has places of its containers always, the second of many.
const ROARING: u32 = 12_346;
const ROARING_RUNS: u32 = 12_347;
const ROARING_PLACES_MIN: usize = 4;
/// Rows up to which a container is a list.
const LISTED_MAX: usize = 4096;

/// Bytes that are read from the front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], IndexError> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or_else(|| broken("it ends early"))?;
        self.0 = rest;
        Ok(taken)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], IndexError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or_else(|| broken("it ends early"))?;
        self.0 = rest;
        Ok(*taken)
    }
    /// LEB128 of at most 64 bits.
    pub(super) fn number(&mut self) -> Result<u64, IndexError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(broken("a number has more than 64 bits"))
    }
    /// The same, of what is counted: no more than there are bytes left.
    pub(super) fn count(&mut self) -> Result<usize, IndexError> {
        let count = self.number()?;
        let count = usize::try_from(count).ok().filter(|count| *count <= self.0.len());
        count.ok_or_else(|| broken("it has not as much as it says"))
    }
    fn row(&mut self) -> Result<u32, IndexError> {
        u32::try_from(self.number()?).map_err(|_| broken("a row has more than 32 bits"))
    }
    fn short(&mut self) -> Result<u16, IndexError> {
        Ok(u16::from_le_bytes(self.array()?))
    }
    fn word(&mut self) -> Result<u32, IndexError> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    pub(super) fn long(&mut self) -> Result<u64, IndexError> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    pub(super) fn end(self) -> Result<(), IndexError> {
        if self.0.is_empty() { Ok(()) } else { Err(broken("it goes on after its end")) }
    }
}

pub(super) fn broken(reason: &str) -> IndexError {
    IndexError::malformed(0, reason)
}

/// Where a list of rows lies, and its first and last row.
#[derive(Clone, Copy, Debug)]
struct List {
    offset: u64,
    first: u32,
    last: u32,
}

/// What the dictionary says of the rows of a token.
#[derive(Clone, Debug)]
pub(super) struct Info {
    flags: u64,
    /// Its rows.
    count: u64,
    lists: Vec<List>,
    /// All of them, if they lie in the dictionary.
    embedded: Vec<u32>,
}

/// Reads some bytes of the file of lists.
pub(super) type ReadLists<'a> = &'a dyn Fn(u64, usize) -> Result<Vec<u8>, IndexError>;

impl Info {
    pub(super) fn read(bytes: &mut Bytes<'_>) -> Result<Self, IndexError> {
        let (flags, count) = (bytes.number()?, bytes.number()?);
        let has = |flag| flags & flag != 0;
        if has(HAS_FREQUENCIES) {
            return Err(IndexError::Unusable { reason: "it counts tokens" });
        }
        if flags > FLAGS_MAX || has(IS_RAW) && has(IS_PACKED) || has(IS_EMBEDDED) && !has(IS_RAW) {
            return Err(broken("flags that do not belong together"));
        }
        if has(HAS_POSITIONS) {
            bytes.number()?;
            bytes.number()?;
        }
        let mut info = Self { flags, count, lists: Vec::new(), embedded: Vec::new() };
        if has(IS_EMBEDDED) {
            for _ in 0..count {
                info.embedded.push(bytes.row()?);
            }
            return Ok(info);
        }
        let lists = if has(IS_ONE_LIST) { 1 } else { bytes.number()? };
        for _ in 0..lists {
            let (offset, first, last) = (bytes.number()?, bytes.row()?, bytes.row()?);
            let follows = info.lists.last().is_none_or(|before| before.last < first);
            if first > last || !follows {
                return Err(broken("lists of rows that do not follow each other"));
            }
            info.lists.push(List { offset, first, last });
        }
        Ok(info)
    }

    /// Calls `each` with all rows of the token in a range, ascending. Every list that is read is checked. An error if the part has
    /// not as many rows.
    pub(super) fn visit(
        &self,
        read: ReadLists<'_>,
        packs: bool,
        (rows, wanted): (u64, &Range<u64>),
        each: &mut dyn FnMut(u64),
    ) -> Result<(), IndexError> {
        let is_raw = self.flags & IS_RAW != 0;
        if self.count == 0 || self.count > rows {
            return Err(broken("a token of no rows, or of more than there are"));
        }
        let mut list_of = |list: &List, max: u64| {
            let mut seen = Seen { wanted, each: &mut *each, last: None, first: 0, count: 0 };
            seen.of(read, packs, (self.flags, list, max))?;
            let fits = seen.count > 0 && seen.first == list.first && seen.last == Some(list.last);
            if fits { Ok(seen.count) } else { Err(broken("a list of other rows than it says")) }
        };
        if let (Some(first), Some(last)) = (self.embedded.first(), self.embedded.last()) {
            let is_sorted = self.embedded.is_sorted_by(|one, next| one < next);
            if !is_sorted || u64::from(*last) >= rows {
                return Err(broken("rows that are not ascending, or of no part"));
            }
            debug_assert!(first <= last, "rows ascend");
            let rows = self.embedded.iter().map(|row| u64::from(*row));
            rows.filter(|row| wanted.contains(row)).for_each(each);
            return Ok(());
        }
        let Some(last) = self.lists.last() else { return Err(broken("rows without a list")) };
        if u64::from(last.last) >= rows || is_raw && self.lists.len() != 1 {
            return Err(broken("rows of no part"));
        }
        let (mut seen, mut all) = (0, true);
        for list in &self.lists {
            let (first, last) = (u64::from(list.first), u64::from(list.last));
            if first < wanted.end && wanted.start <= last {
                seen += list_of(list, self.count.min(last - first + 1))?;
            } else {
                all = false;
            }
        }
        if seen > self.count || all && seen != self.count {
            return Err(broken("not as many rows as it says"));
        }
        Ok(())
    }
}

/// The rows of a list, as they come.
struct Seen<'a> {
    wanted: &'a Range<u64>,
    each: &'a mut dyn FnMut(u64),
    first: u32,
    last: Option<u32>,
    count: u64,
}

impl Seen<'_> {
    fn add(&mut self, row: u32) -> Result<(), IndexError> {
        match self.last {
            None => self.first = row,
            Some(last) if last >= row => return Err(broken("rows that are not ascending")),
            Some(_) => {}
        }
        self.last = Some(row);
        self.count += 1;
        if self.wanted.contains(&u64::from(row)) {
            (self.each)(u64::from(row));
        }
        Ok(())
    }

    /// Reads a list of at most `max` rows.
    fn of(
        &mut self,
        read: ReadLists<'_>,
        packs: bool,
        (flags, list, max): (u64, &List, u64),
    ) -> Result<(), IndexError> {
        let head = |numbers: u64| {
            read(list.offset, usize::try_from(numbers * NUMBER_BYTES_MAX).unwrap_or(0))
        };
        let sized = |size: u64, most: u64, head: &[u8], left: Bytes<'_>| {
            let size = usize::try_from(size).ok().filter(|_| size <= most.min(LIST_BYTES_MAX));
            let size = size.ok_or_else(|| broken("a list is larger than its rows"))?;
            let offset = list.offset.saturating_add((head.len() - left.0.len()) as u64);
            let bytes = read(offset, size)?;
            if bytes.len() == size { Ok(bytes) } else { Err(broken("a list ends early")) }
        };
        if flags & IS_RAW != 0 {
            // Longer ones are written in another form.
            let most = LIST_BYTES_MAX / NUMBER_BYTES_MAX;
            let bytes = head(max.min(most))?;
            let mut bytes = Bytes(&bytes);
            return (0..max).try_for_each(|_| self.add(bytes.row()?));
        }
        if flags & IS_PACKED == 0 {
            let start = head(1)?;
            let mut left = Bytes(&start);
            let size = left.number()?;
            // A container has two bytes for a row at most, and the head eleven for each.
            let bytes = sized(size, max.saturating_mul(11).saturating_add(8), &start, left)?;
            return self.roaring(&bytes, max);
        }
        if !packs {
            return Err(IndexError::Unusable {
                reason: "its lists of rows are older than their codec",
            });
        }
        let start = head(4)?;
        let mut left = Bytes(&start);
        let [codec, size, count, first] =
            [left.number()?, left.number()?, left.number()?, left.number()?];
        if codec != PACKED {
            return Err(IndexError::Unusable { reason: "its lists of rows have another codec" });
        }
        if count > max || first != u64::from(list.first) {
            return Err(broken("a list of other rows than it says"));
        }
        let most = (count / PACKED_ROWS as u64 + 1) * (1 + 4 * PACKED_ROWS as u64 + 16);
        let bytes = sized(size, most, &start, left)?;
        self.packed(&bytes, count, list.first)
    }

    /// A Roaring bitmap in its portable form.
    fn roaring(&mut self, bytes: &[u8], max: u64) -> Result<(), IndexError> {
        let mut bytes = Bytes(bytes);
        let cookie = bytes.word()?;
        let (count, runs) = if cookie == ROARING {
            let count = usize::try_from(bytes.word()?).unwrap_or(usize::MAX);
            (count, None)
        } else if cookie & 0xffff == ROARING_RUNS {
            let count = usize::try_from(cookie >> 16).unwrap_or(usize::MAX) + 1;
            (count, Some(bytes.take(count.div_ceil(8))?))
        } else {
            return Err(broken("no Roaring bitmap"));
        };
        let mut heads = Bytes(bytes.take(count.saturating_mul(4))?);
        let has_places = runs.is_none() || count >= ROARING_PLACES_MIN;
        bytes.take(if has_places { count.saturating_mul(4) } else { 0 })?;
        let mut sum = 0;
        for container in 0..count {
            let (key, rows) = (u32::from(heads.short()?) << 16, usize::from(heads.short()?) + 1);
            sum += rows as u64;
            if sum > max {
                return Err(broken("a Roaring bitmap of more rows than it says"));
            }
            let is_run = runs.is_some_and(|runs| runs[container / 8] >> (container % 8) & 1 == 1);
            self.container(&mut bytes, key, rows, is_run)?;
        }
        bytes.end()
    }

    fn container(
        &mut self,
        bytes: &mut Bytes<'_>,
        key: u32,
        rows: usize,
        is_run: bool,
    ) -> Result<(), IndexError> {
        let before = self.count;
        if is_run {
            for _ in 0..bytes.short()? {
                let (start, more) = (u32::from(bytes.short()?), u32::from(bytes.short()?));
                let left = rows as u64 - (self.count - before);
                if start + more > 0xffff || u64::from(more) >= left {
                    return Err(broken("a run that goes too far"));
                }
                (start..=start + more).try_for_each(|row| self.add(key | row))?;
            }
        } else if rows <= LISTED_MAX {
            for _ in 0..rows {
                self.add(key | u32::from(bytes.short()?))?;
            }
        } else {
            for at in 0..1024_u32 {
                let mut word = bytes.long()?;
                while word != 0 {
                    self.add(key | at << 6 | word.trailing_zeros())?;
                    word &= word - 1;
                }
            }
        }
        if self.count - before == rows as u64 {
            Ok(())
        } else {
            Err(broken("a container of other rows"))
        }
    }

    /// Blocks of packed differences, each with its number of bits in front.
    fn packed(&mut self, bytes: &[u8], count: u64, first: u32) -> Result<(), IndexError> {
        let mut bytes = Bytes(bytes);
        let (mut left, mut row) = (usize::try_from(count).unwrap_or(usize::MAX), first);
        while left > 0 {
            let count = left.min(PACKED_ROWS);
            let [bits] = bytes.array()?;
            let size = match bits {
                0..32 => (count.div_ceil(LANES) * usize::from(bits)).div_ceil(32) * 4 * LANES,
                32 => 4 * count,
                _ => return Err(broken("differences of more than 32 bits")),
            };
            let packed = bytes.take(size)?;
            for at in 0..count {
                let step = unpacked(packed, usize::from(bits), at);
                row = row.checked_add(step).ok_or_else(|| broken("a row has more than 32 bits"))?;
                self.add(row)?;
            }
            left -= count;
        }
        bytes.end()
    }
}

/// A value of some bits: words of 32 bits of all lanes lie beside each other, and the values of a lane go on from word to word.
fn unpacked(packed: &[u8], bits: usize, at: usize) -> u32 {
    let (lane, start) = (at % LANES, at / LANES * bits);
    let word = |word: usize| {
        let bytes = packed.get(4 * (word * LANES + lane)..).and_then(|it| it.first_chunk::<4>());
        u64::from(u32::from_le_bytes(bytes.copied().unwrap_or_default()))
    };
    let pair = word(start / 32) | word(start / 32 + 1) << 32;
    let value = pair >> (start % 32) & ((1 << bits) - 1);
    u32::try_from(value).unwrap_or_default()
}

/// Some of a range of rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    range: Range<u64>,
    bits: Vec<u64>,
}

impl Rows {
    pub(super) fn none(range: Range<u64>) -> Self {
        let words = (range.end - range.start).div_ceil(64);
        Self { range, bits: vec![0; usize::try_from(words).unwrap_or(0)] }
    }
    pub(super) fn add(&mut self, row: u64) {
        let at = row - self.range.start;
        if let Some(word) = usize::try_from(at / 64).ok().and_then(|it| self.bits.get_mut(it)) {
            *word |= 1 << (at % 64);
        }
    }
    pub(super) fn clear(&mut self) {
        self.bits.fill(0);
    }
    pub(super) fn both(&mut self, other: &Self) {
        for (word, other) in self.bits.iter_mut().zip(&other.bits) {
            *word &= other;
        }
    }
    pub(super) fn either(&mut self, other: &Self) {
        for (word, other) in self.bits.iter_mut().zip(&other.bits) {
            *word |= other;
        }
    }
    pub(super) fn is_empty(&self) -> bool {
        self.bits.iter().all(|word| *word == 0)
    }
    /// True if one of these rows is there.
    pub(super) fn has_any(&self, rows: &Range<u64>) -> bool {
        let (mut at, end) = (rows.start - self.range.start, rows.end - self.range.start);
        while at < end {
            let word = usize::try_from(at / 64).ok().and_then(|it| self.bits.get(it)).copied();
            let next = (at / 64 + 1) * 64;
            let mut word = word.unwrap_or_default() >> (at % 64);
            if next > end {
                word &= (1 << (end - at)) - 1;
            }
            if word != 0 {
                return true;
            }
            at = next;
        }
        false
    }
}

#[cfg(test)]
mod tests;
