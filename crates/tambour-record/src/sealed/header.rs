//! The header of a sealed segment, which stands at both of its ends.

use super::build::seed;
use crate::bytes::Parser;
use crate::codec::Codec;
use crate::entry::ENTRY_BYTES_MAX;
use crate::error::Damage;
use crate::layout::category_of;
use crate::{GROUP_RECORDS_MAX, RecordError, SEGMENT_RECORDS_MAX};
use std::path::Path;
use tambour_kernel::hash::crc32c;

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 96;
/// The first bytes of a sealed segment.
pub(crate) const MAGIC: [u8; 8] = *b"TMBRSEAL";
/// The versions that this program writes and reads: without keys, and with them.
const VERSION: u16 = 1;
const VERSION_KEYED: u16 = 2;
/// Flag: records have times.
const TIMED: u8 = 1;

/// Whether a segment that tells this store, first id and seed lies where it belongs.
pub(crate) fn check_owner(
    path: &Path,
    store: u64,
    (got, base, found): (u64, u64, u32),
) -> Result<(), RecordError> {
    let path = || path.to_owned();
    if got != store {
        return Err(RecordError::OtherStore { path: path(), expected: store, got });
    }
    let directory = path();
    if found != seed(store, category_of(&directory), base) {
        return Err(RecordError::OtherCategory { path: directory });
    }
    Ok(())
}

/// What a sealed segment says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) codec: Codec,
    /// Records of a group, 1 to 16.
    pub(crate) group: usize,
    /// Whether records have times.
    pub(crate) timed: bool,
    /// Whether records have keys in front, and an index of them is there.
    pub(crate) keyed: bool,
    /// Number of the store.
    pub(crate) store: u64,
    /// Id of the first record.
    pub(crate) base: u64,
    /// Records.
    pub(crate) records: u64,
    /// Bytes of all groups.
    pub(crate) data_bytes: u64,
    /// Bytes of all records.
    pub(crate) raw_bytes: u64,
    /// Bytes of index and dictionary, without their guard.
    pub(crate) meta_bytes: u32,
    /// Sum of these.
    pub(crate) meta_sum: u32,
    /// Longest group, decoded.
    pub(crate) group_bytes_max: u32,
    /// Where the sums of groups start.
    pub(crate) seed: u32,
    /// First and last time; 0 without times.
    pub(crate) times: (i64, i64),
}

impl Header {
    /// The id after the last record.
    pub(crate) fn end(&self) -> u64 {
        self.base.saturating_add(self.records)
    }

    /// Whether the segment is one of this store, and of the category whose directory it lies in.
    pub(crate) fn check_owner(&self, path: &Path, store: u64) -> Result<(), RecordError> {
        check_owner(path, store, (self.store, self.base, self.seed))
    }

    /// The header as bytes.
    pub(crate) fn write(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(&MAGIC);
        let version = if self.keyed { VERSION_KEYED } else { VERSION };
        bytes.extend_from_slice(&version.to_le_bytes());
        bytes.push(self.codec.number());
        #[expect(clippy::cast_possible_truncation, reason = "at most 16")]
        bytes.push(self.group as u8);
        bytes.push(if self.timed { TIMED } else { 0 });
        bytes.extend_from_slice(&[0; 3]);
        for number in [self.store, self.base, self.records, self.data_bytes, self.raw_bytes] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [self.meta_bytes, self.meta_sum, self.group_bytes_max, self.seed] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&self.times.0.to_le_bytes());
        bytes.extend_from_slice(&self.times.1.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        let mut header = [0; HEADER_BYTES];
        header[..HEADER_BYTES - 4].copy_from_slice(&bytes);
        let sum = crc32c(0, &header[..HEADER_BYTES - 4]);
        header[HEADER_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
        header
    }

    /// Reads a header and checks every field against its limit. A version that is not known is the second sort of error.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, BadHeader> {
        let mut parser = Parser::new(bytes);
        let magic: [u8; 8] = parser.array()?;
        if magic != MAGIC {
            return Err(Damage::new(0, "magic", "TMBRSEAL", String::from_utf8_lossy(&magic)).into());
        }
        let version = parser.u16()?;
        let sum = crc32c(0, bytes.get(..HEADER_BYTES - 4).unwrap_or_default());
        let [codec, group, flags] = parser.array()?;
        parser.take(3)?;
        let (store, base, records) = (parser.u64()?, parser.u64()?, parser.u64()?);
        let (data_bytes, raw_bytes) = (parser.u64()?, parser.u64()?);
        let (meta_bytes, meta_sum) = (parser.u32()?, parser.u32()?);
        let (group_bytes_max, seed) = (parser.u32()?, parser.u32()?);
        let times = (parser.i64()?, parser.i64()?);
        parser.take(4)?;
        let expected = parser.u32()?;
        if sum != expected {
            return Err(Damage::sum(0, "header", expected, sum).into());
        }
        if !(VERSION..=VERSION_KEYED).contains(&version) {
            return Err(BadHeader::Version(version));
        }
        let limited = |at, what, value: u64, least: u64, most: u64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err(Damage::new(at, what, format!("{least} to {most}"), value))
        };
        limited(11, "records of a group", group.into(), 1, GROUP_RECORDS_MAX as u64)?;
        limited(12, "flags", flags.into(), 0, TIMED.into())?;
        limited(32, "records", records, 1, SEGMENT_RECORDS_MAX)?;
        let bytes_max = (GROUP_RECORDS_MAX * ENTRY_BYTES_MAX) as u64;
        limited(64, "bytes of a group", group_bytes_max.into(), 0, bytes_max)?;
        let codec = Codec::of(codec)
            .ok_or_else(|| Damage::new(10, "number of a codec", "0 to 2", codec))?;
        Ok(Self {
            codec,
            group: group.into(),
            timed: flags == TIMED,
            keyed: version == VERSION_KEYED,
            store,
            base,
            records,
            data_bytes,
            raw_bytes,
            meta_bytes,
            meta_sum,
            group_bytes_max,
            seed,
            times,
        })
    }
}

/// Why a header cannot be used.
#[derive(Debug)]
pub(crate) enum BadHeader {
    Damaged(Damage),
    Version(u16),
}

impl From<Damage> for BadHeader {
    fn from(damage: Damage) -> Self {
        Self::Damaged(damage)
    }
}
