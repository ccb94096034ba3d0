//! What sectors that did not reach the disk explain.
//!
//! Zeros alone prove nothing: directories hold long runs of them, for lengths of empty records and differences of equal
//! times. So they have to explain what is wrong: where a sector of zeros is not, a head has to be what the other one says.

use super::OpenSegment;
use super::frame::{DIRECTORY_BYTES_MAX, FRAME_RECORDS_MAX, HEAD_BYTES, MAGICS, PAYLOAD_BYTES_MAX};
use std::ops::Range;
use tambour_kernel::hash::crc32c;

/// The least that disks write at once.
const SECTOR_BYTES: usize = 512;

/// The sectors of a file, as a commit that begins at `start` wrote them.
pub(super) struct Sectors<'a> {
    pub(super) segment: &'a OpenSegment,
    pub(super) start: usize,
}

/// What a head says in front of its directory.
struct Fields {
    directory_bytes: usize,
    payload_bytes: usize,
    records: u64,
    first: u64,
    sum: u32,
}

/// The first bytes of a place where a head should stand.
enum Look {
    /// Some of them were lost.
    Lost,
    /// All are there, and are those of a head.
    Head(Fields),
    /// All are there, and are something else.
    Other,
}

/// A frame of which no head can be read, because sectors of both were lost.
pub(super) struct Unread {
    /// Where it ends and how many records it has, if either head still tells.
    pub(super) told: Option<(usize, u64)>,
    /// Whether it goes on with a commit, if that is still there.
    pub(super) goes_on: Option<bool>,
    /// Whether the beginning of its second head is there.
    pub(super) has_end: bool,
}

impl Sectors<'_> {
    /// Whether a sector is zeros as far as the commit wrote it, or past the end of the file.
    fn is_lost(&self, sector: usize) -> bool {
        let file_bytes = self.segment.file_bytes;
        let (from, to) = (sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES);
        if from >= file_bytes {
            return true;
        }
        let place = from.max(self.start)..to.min(file_bytes);
        let bytes = self.segment.bytes.get(place).unwrap_or_default();
        !bytes.is_empty() && bytes.iter().all(|byte| *byte == 0)
    }

    /// Whether any sector of a range was lost.
    pub(super) fn any_is_lost(&self, range: Range<usize>) -> bool {
        range.end > self.segment.file_bytes
            || (range.start / SECTOR_BYTES..range.end.div_ceil(SECTOR_BYTES))
                .any(|sector| self.is_lost(sector))
    }

    /// The bytes of a range, without those that were lost.
    fn read(&self, range: Range<usize>) -> Vec<Option<u8>> {
        let mut bytes = vec![None; range.len()];
        for sector in range.start / SECTOR_BYTES..range.end.div_ceil(SECTOR_BYTES) {
            if self.is_lost(sector) {
                continue;
            }
            let start = range.start.max(sector * SECTOR_BYTES);
            let end = range.end.min((sector + 1) * SECTOR_BYTES).min(self.segment.file_bytes);
            let there = self.segment.bytes.get(start..end).unwrap_or_default();
            for (target, byte) in bytes[start - range.start..].iter_mut().zip(there) {
                *target = Some(*byte);
            }
        }
        bytes
    }

    /// Whether a head at `at`, first or second, is that at `known_at`, but for bytes that were lost.
    pub(super) fn explain_head(
        &self,
        (at, side): (usize, usize),
        known_at: usize,
        own_bytes: usize,
    ) -> bool {
        let magic = MAGICS[side];
        let known = self.segment.bytes.get(known_at + magic.len()..known_at + own_bytes);
        let expected = magic.iter().chain(known.unwrap_or_default());
        let found = self.read(at..at + own_bytes);
        found.iter().zip(expected).all(|(found, expected)| found.is_none_or(|it| it == *expected))
    }

    /// A frame at `at` whose heads cannot be read, with the next one that can at `end` or later; `None` where lost sectors do not
    /// explain why.
    pub(super) fn explain_unread(&self, at: usize, end: usize, id: u64) -> Option<Unread> {
        let fields = match self.look(at, 0) {
            Look::Head(fields) => Some(fields),
            Look::Lost => self.behind(at, end),
            Look::Other => return None,
        };
        let Some(fields) = fields else {
            return Some(Unread { told: None, goes_on: None, has_end: false });
        };
        if fields.first != id {
            return None;
        }
        let own_bytes = HEAD_BYTES + fields.directory_bytes;
        let behind_at = at + own_bytes + fields.payload_bytes;
        let head = self.merge(at, behind_at, own_bytes)?;
        // With all bytes from one head or the other, it has to be right.
        let whole: Option<Vec<u8>> = head.iter().copied().collect();
        if whole.is_some_and(|bytes| self.sum(&bytes) != fields.sum) {
            return None;
        }
        Some(Unread {
            told: Some((behind_at + own_bytes, fields.records)),
            goes_on: head.get(HEAD_BYTES).copied().flatten().map(super::frame::goes_on),
            has_end: matches!(self.look(behind_at, 1), Look::Head(_)),
        })
    }

    fn look(&self, at: usize, side: usize) -> Look {
        let bytes: Option<Vec<u8>> = self.read(at..at + HEAD_BYTES).into_iter().collect();
        let Some(bytes) = bytes else { return Look::Lost };
        let number =
            |at: usize| u32::from_le_bytes(bytes[at..].first_chunk().copied().unwrap_or_default());
        let fields = Fields {
            directory_bytes: number(4) as usize,
            payload_bytes: number(8) as usize,
            records: number(12).into(),
            first: u64::from(number(20)) << 32 | u64::from(number(16)),
            sum: number(24),
        };
        let is_head = bytes.starts_with(&MAGICS[side])
            && (1..=DIRECTORY_BYTES_MAX).contains(&fields.directory_bytes)
            && fields.payload_bytes <= PAYLOAD_BYTES_MAX
            && (1..=FRAME_RECORDS_MAX as u64).contains(&fields.records)
            && fields.first <= u64::MAX / 2;
        if is_head { Look::Head(fields) } else { Look::Other }
    }

    /// The fields of the second head of a frame at `at`, of whose first one they were lost.
    fn behind(&self, at: usize, end: usize) -> Option<Fields> {
        let rest = self.segment.bytes.get(at..end).unwrap_or_default();
        memchr::memmem::find_iter(rest, &MAGICS[1]).find_map(|distance| {
            match self.look(at + distance, 1) {
                Look::Head(fields)
                    if HEAD_BYTES + fields.directory_bytes + fields.payload_bytes == distance =>
                {
                    Some(fields)
                }
                _ => None,
            }
        })
    }

    /// What is there of two heads that should be equal but for their magic; `None` where they are not.
    fn merge(
        &self,
        front_at: usize,
        behind_at: usize,
        own_bytes: usize,
    ) -> Option<Vec<Option<u8>>> {
        let front = self.read(front_at..front_at + own_bytes);
        let behind = self.read(behind_at..behind_at + own_bytes);
        let pairs = front.into_iter().zip(behind).enumerate();
        let both = pairs.map(|(number, pair)| {
            let magic = [MAGICS[0].get(number).copied(), MAGICS[1].get(number).copied()];
            match (pair, magic) {
                ((front, behind), [Some(first), Some(second)]) => {
                    let is_right = front.is_none_or(|byte| byte == first)
                        && behind.is_none_or(|byte| byte == second);
                    is_right.then_some(front.map(|_| first).or(behind.map(|_| first)))
                }
                ((Some(front), Some(behind)), _) if front != behind => None,
                ((front, behind), _) => Some(front.or(behind)),
            }
        });
        both.collect()
    }

    /// The sum that a head should have.
    fn sum(&self, head: &[u8]) -> u32 {
        let fields = crc32c(self.segment.header.seed, &head[4..HEAD_BYTES - 4]);
        crc32c(fields, &head[HEAD_BYTES..])
    }
}
