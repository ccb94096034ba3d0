//! Which records of a segment have which keys: hashes in buckets, with the number of the record beside.
//!
//! A hash has 32 bits. Its first ones name a bucket, the rest stands in the bucket, so that an entry takes about five bytes and
//! a look touches two cache lines. Hashes only propose: what counts is the key in the record.

use crate::bytes::{Parser, put_length};
use crate::error::Damage;
use crate::line::{BITS_MARGIN, distance, pack};
use tambour_kernel::hash::xxh3_64;

/// Entries of a bucket, about.
const BUCKET: usize = 8;
/// Most bits that name a bucket.
const BUCKET_BITS_MAX: u32 = 24;
/// A bucket of more entries is searched by halves.
const BUCKET_LONG: usize = 32;
const HASH_BITS: u32 = 32;

/// The hash of a key in a store.
#[inline]
pub(crate) fn hash(store: u64, key: &[u8]) -> u32 {
    (xxh3_64(key, store) >> 32) as u32
}

/// The index of a segment.
#[derive(Debug, Default)]
pub(crate) struct KeyIndex {
    /// Where buckets start, and the end; a margin follows the entries.
    bytes: Vec<u8>,
    entries: usize,
    records: usize,
    bucket_bits: u32,
    /// Bits of the number of a record.
    number_bits: u32,
    entries_at: usize,
}

/// A number of a bucket or of a record.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "numbers of this file have 32 bits at most")]
fn small(number: u64) -> usize {
    number as usize
}

/// Bits of the numbers below `records`.
fn number_bits(records: usize) -> u32 {
    usize::BITS - records.saturating_sub(1).leading_zeros()
}

impl KeyIndex {
    /// Writes the index of a segment of `records` records; `entries` are hashes and numbers of those with a key.
    pub(crate) fn write(entries: &mut [(u32, u32)], records: usize, target: &mut Vec<u8>) {
        entries.sort_unstable();
        let buckets = (entries.len() / BUCKET).max(1);
        let bucket_bits = buckets.ilog2().min(BUCKET_BITS_MAX);
        let number_bits = number_bits(records);
        put_length(target, entries.len());
        target.extend_from_slice(&bucket_bits.to_le_bytes()[..1]);
        let mut at = 0;
        for bucket in 0..=1_u64 << bucket_bits {
            let first = bucket << (HASH_BITS - bucket_bits);
            at += entries[at..].partition_point(|entry| u64::from(entry.0) < first);
            put_length(target, at);
        }
        let rest = HASH_BITS - bucket_bits;
        let packed: Vec<u64> = entries
            .iter()
            .map(|(hash, number)| {
                let hash = u64::from(*hash) & ((1 << rest) - 1);
                hash << number_bits | u64::from(*number)
            })
            .collect();
        pack(&packed, rest + number_bits, target);
    }

    /// Reads an index.
    pub(crate) fn read(stored: &[u8], records: usize) -> Result<Self, Damage> {
        let mut parser = Parser::new(stored);
        let entries = parser.length()?;
        if entries > records {
            return Err(Damage::new(0, "keys of a segment", format!("at most {records}"), entries));
        }
        let bucket_bits = u32::from(parser.u8()?);
        if bucket_bits > BUCKET_BITS_MAX {
            return Err(Damage::new(4, "bits of a bucket", BUCKET_BITS_MAX, bucket_bits));
        }
        let number_bits = number_bits(records);
        let start = parser.at();
        let starts = parser.take(((1 << bucket_bits) + 1) * 4)?;
        let entries_at = starts.len();
        let width = HASH_BITS - bucket_bits + number_bits;
        let packed = parser.take((entries * width as usize).div_ceil(8))?;
        parser.end()?;
        let mut bytes = Vec::with_capacity(starts.len() + packed.len() + BITS_MARGIN);
        bytes.extend_from_slice(starts);
        bytes.extend_from_slice(packed);
        bytes.resize(bytes.len() + BITS_MARGIN, 0);
        let index = Self { bytes, entries, records, bucket_bits, number_bits, entries_at };
        let mut before = 0;
        for bucket in 0..=1 << bucket_bits {
            let at = index.start(bucket);
            let is_last = bucket == 1 << bucket_bits;
            if at < before || at > entries || (bucket == 0 && at > 0) || (is_last && at != entries)
            {
                let place = start + 4 * bucket;
                return Err(Damage::new(place, "start of a bucket", format!("{before} on"), at));
            }
            before = at;
        }
        Ok(index)
    }

    #[inline]
    fn start(&self, bucket: usize) -> usize {
        let bytes = self.bytes.get(4 * bucket..).and_then(<[u8]>::first_chunk::<4>);
        bytes.map_or(self.entries, |bytes| u32::from_le_bytes(*bytes) as usize)
    }

    /// The rest of a hash, and the number of a record.
    #[inline]
    fn entry(&self, at: usize) -> (u64, u64) {
        let width = HASH_BITS - self.bucket_bits + self.number_bits;
        let entry = distance(&self.bytes, self.entries_at, at, width).unwrap_or(0);
        (entry >> self.number_bits, entry & ((1 << self.number_bits) - 1))
    }

    /// Begins to load what a look for a hash reads first.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u32) {
        let bucket = u64::from(hash) >> (HASH_BITS - self.bucket_bits);
        tambour_kernel::prefetch(&self.bytes, 4 * small(bucket));
        let width = (HASH_BITS - self.bucket_bits + self.number_bits) as usize;
        // Hashes are even: where a bucket would begin if all were equal.
        let at = small((u64::from(hash) * self.entries as u64) >> HASH_BITS);
        tambour_kernel::prefetch(&self.bytes, self.entries_at + at * width / 8);
    }

    /// Numbers of the records whose key has a hash, the last first; those that cannot be are left to the caller.
    #[inline]
    pub(crate) fn find(&self, hash: u32) -> impl Iterator<Item = usize> + '_ {
        let rest_bits = HASH_BITS - self.bucket_bits;
        let bucket = small(u64::from(hash) >> rest_bits);
        let rest = u64::from(hash) & ((1 << rest_bits) - 1);
        let (start, end) = (self.start(bucket), self.start(bucket + 1));
        let end = if end - start > BUCKET_LONG { self.after(start, end, rest) } else { end };
        let numbers = (start..end).rev().map(|at| self.entry(at));
        // A bucket is sorted.
        let numbers = numbers.skip_while(move |entry| entry.0 > rest);
        numbers.take_while(move |entry| entry.0 == rest).map(|entry| small(entry.1))
    }

    /// Where the first entry of a bucket is whose rest is above one.
    fn after(&self, mut start: usize, mut end: usize, rest: u64) -> usize {
        while start < end {
            let middle = start + (end - start) / 2;
            if self.entry(middle).0 <= rest { start = middle + 1 } else { end = middle }
        }
        end
    }

    /// All hashes and numbers, sorted.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let rest_bits = HASH_BITS - self.bucket_bits;
        (0..1_usize << self.bucket_bits).flat_map(move |bucket| {
            (self.start(bucket)..self.start(bucket + 1)).map(move |at| {
                let (rest, number) = self.entry(at);
                #[expect(clippy::cast_possible_truncation, reason = "32 bits, and below 2^26")]
                let both = (((bucket as u64) << rest_bits | rest) as u32, number as u32);
                both
            })
        })
    }

    /// Records of the segment.
    pub(crate) fn records(&self) -> usize {
        self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(count: u32, records: u32) -> Vec<(u32, u32)> {
        let key = |k: u32| (k % 1000).to_le_bytes();
        (0..count).map(|k| (hash(9, &key(k)), k * (records / count.max(1)))).collect()
    }

    #[test]
    fn every_number_is_found_and_no_other() {
        for (count, records) in [(0, 1), (1, 1), (7, 100), (300, 300), (5000, 20_000)] {
            let mut entries = entries(count, records);
            // One key that has very many records.
            for entry in entries.iter_mut().step_by(3) {
                entry.0 = 0x8000_0000;
            }
            let mut stored = Vec::new();
            KeyIndex::write(&mut entries, records as usize, &mut stored);
            let index = KeyIndex::read(&stored, records as usize).unwrap();
            assert_eq!(index.all().collect::<Vec<_>>(), entries);
            for (hash, _) in &entries {
                let expected: Vec<usize> =
                    entries.iter().rev().filter(|e| e.0 == *hash).map(|e| e.1 as usize).collect();
                assert_eq!(index.find(*hash).collect::<Vec<_>>(), expected);
            }
            for other in [0, 1, u32::MAX] {
                if entries.iter().all(|entry| entry.0 != other) {
                    assert_eq!(index.find(other).count(), 0);
                }
            }
            for cut in 0..stored.len().min(200) {
                assert!(KeyIndex::read(&stored[..cut], records as usize).is_err());
            }
        }
    }

    #[test]
    fn hostile_bytes_neither_panic_nor_lead_out() {
        let mut entries = entries(300, 300);
        let mut stored = Vec::new();
        KeyIndex::write(&mut entries, 300, &mut stored);
        for at in 0..stored.len() {
            for bit in 0..8 {
                let mut other = stored.clone();
                other[at] ^= 1 << bit;
                if let Ok(index) = KeyIndex::read(&other, 300) {
                    assert!(index.all().count() <= 300);
                    assert!((0..64_u32).all(|k| index.find(k << 26).count() <= 300));
                }
            }
        }
    }
}
