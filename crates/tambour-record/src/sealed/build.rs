//! Makes a sealed segment out of records.

use super::header::Header;
use super::meta::Draft;
use crate::batch::Batch;
use crate::codec::{Codec, Encoder};
use crate::dictionary::Dictionary;
use crate::entry::Entry;
use crate::keys::index::{KeyIndex, hash};
use crate::{RecordError, SEGMENT_BYTES_MAX, SEGMENT_RECORDS_MAX, guard};
use std::path::Path;
use tambour_kernel::hash::crc32c;

/// How a segment is to be encoded.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) codec: Codec,
    pub(crate) level: i32,
    /// Records of a group.
    pub(crate) group: usize,
    pub(crate) dictionary: Dictionary,
}

/// Level of zstd for dictionaries. The highest take a tenth of the time of sealing 12 MB, for half a kilobyte.
const DICTIONARY_LEVEL: i32 = 12;

/// The file of a segment with these records, of which the first has the id `base`.
pub(crate) fn build(
    store: u64,
    category: &str,
    base: u64,
    records: &Batch,
    shape: &Shape,
) -> Result<Vec<u8>, RecordError> {
    check_records(records.len() as u64)?;
    let seed = seed(store, category, base);
    let mut encoder = Encoder::new(shape.codec, shape.level, &shape.dictionary)?;
    let mut draft = Draft::default();
    let mut data = Vec::new();
    let mut group_bytes_max = 0;
    for (number, first) in (0..records.len()).step_by(shape.group).enumerate() {
        let group = records.bytes_of(first..records.len().min(first + shape.group));
        group_bytes_max = group_bytes_max.max(group.len());
        let start = data.len();
        encoder.encode(group, &mut data)?;
        let sum = crc32c(group_start(seed, number), &data[start..]);
        data.extend_from_slice(&sum.to_le_bytes());
        draft.ends.push(data.len() as i64);
    }
    if data.len() as u64 > SEGMENT_BYTES_MAX {
        let (bytes, limit) = (data.len() as u64, SEGMENT_BYTES_MAX);
        return Err(RecordError::TooLarge { what: "a sealed segment", bytes, limit });
    }
    draft.lengths = records.lengths().map(|length| length as u64).collect();
    draft.times = records.times().to_vec();
    if records.is_keyed() {
        draft.keys = Some(key_index(store, records)?);
    }
    let meta = draft.write(shape.group, &shape.dictionary.store(DICTIONARY_LEVEL)?);
    let span = |times: &[i64]| {
        (times.iter().copied().min().unwrap_or(0), times.iter().copied().max().unwrap_or(0))
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "all below 4 GiB by the limits of a segment"
    )]
    let header = Header {
        codec: shape.codec,
        group: shape.group,
        timed: !draft.times.is_empty(),
        keyed: records.is_keyed(),
        store,
        base,
        records: records.len() as u64,
        data_bytes: data.len() as u64,
        raw_bytes: records.bytes().len() as u64,
        meta_bytes: meta.len() as u32,
        meta_sum: crc32c(0, &meta),
        group_bytes_max: group_bytes_max as u32,
        seed,
        times: span(&draft.times),
    };
    let header = header.write();
    let mut file = Vec::with_capacity(data.len() + meta.len() * 2);
    file.extend_from_slice(&header);
    file.append(&mut data);
    file.extend_from_slice(&meta);
    guard::write(&meta, &mut file);
    file.extend_from_slice(&header);
    Ok(file)
}

/// The index of the keys of a segment.
fn key_index(store: u64, records: &Batch) -> Result<Vec<u8>, RecordError> {
    let mut entries = Vec::with_capacity(records.len());
    for (number, stored) in records.iter().enumerate() {
        let entry = Entry::of(stored, true);
        let entry = entry.map_err(|damage| damage.within(Path::new("a batch"), number as u64))?;
        #[expect(clippy::cast_possible_truncation, reason = "segments have less records")]
        entries.extend(entry.key.map(|key| (hash(store, key), number as u32)));
    }
    let mut index = Vec::new();
    KeyIndex::write(&mut entries, records.len(), &mut index);
    Ok(index)
}

/// Readers refuse a segment of more.
fn check_records(records: u64) -> Result<(), RecordError> {
    if records > SEGMENT_RECORDS_MAX {
        let (bytes, limit) = (records, SEGMENT_RECORDS_MAX);
        return Err(RecordError::TooLarge { what: "records of a sealed segment", bytes, limit });
    }
    Ok(())
}

/// Where the sums of a segment start: another one, of whatever store and category, has other sums for the same bytes.
pub(crate) fn seed(store: u64, category: &str, base: u64) -> u32 {
    crc32c(crc32c(crc32c(0, &store.to_le_bytes()), &base.to_le_bytes()), category.as_bytes())
}

/// Where the sum of a group starts: no group passes for another one.
#[inline]
pub(crate) fn group_start(seed: u32, group: usize) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "segments have less groups")]
    let group = group as u32;
    seed ^ group
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_records_than_readers_take_are_refused() {
        check_records(SEGMENT_RECORDS_MAX).unwrap();
        check_records(SEGMENT_RECORDS_MAX + 1).unwrap_err();
    }
}
