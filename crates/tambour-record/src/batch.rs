//! Records side by side in memory.

use super::seal::NO_TIME;
use std::ops::Range;

/// Records side by side, with their times if they have any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// One per record, or none at all.
    times: Vec<i64>,
}

impl Batch {
    /// Adds a record.
    ///
    /// # Panics
    /// When some of the records have a time and others have none.
    pub fn push(&mut self, record: &[u8], time: Option<i64>) {
        let timed = self.times.len() == self.ends.len();
        assert!(if time.is_some() { timed } else { self.times.is_empty() }, "all or no times");
        self.bytes.extend_from_slice(record);
        self.ends.push(self.bytes.len());
        self.times.extend(time);
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether records have times.
    pub fn is_timed(&self) -> bool {
        !self.times.is_empty()
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A record.
    pub fn get(&self, record: usize) -> Option<&[u8]> {
        self.ends.get(record).map(|end| &self.bytes[self.start(record)..*end])
    }

    /// All records.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.len()).map(|record| self.bytes_of(record..record + 1))
    }

    /// Times of all records, or nothing.
    pub fn times(&self) -> &[i64] {
        &self.times
    }

    /// Lengths of all records.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + Clone {
        (0..self.len()).map(|record| self.ends[record] - self.start(record))
    }

    /// Adds a record with or without a time to records of either sort. Beside records with a time, one without has
    /// `i64::MIN`, which stands for none wherever batches are appended.
    pub fn push_mixed(&mut self, record: &[u8], time: Option<i64>) {
        if time.is_some() && self.times.is_empty() {
            self.times = vec![NO_TIME; self.ends.len()];
        }
        let timed = time.is_some() || !self.times.is_empty();
        self.push(record, timed.then(|| time.unwrap_or(NO_TIME)));
    }

    /// Adds the records of another batch, with or without times.
    pub fn append(&mut self, other: &Self) {
        for (k, record) in other.iter().enumerate() {
            self.push_mixed(record, other.times.get(k).copied().filter(|time| *time != NO_TIME));
        }
    }

    /// Makes room for this many more records of this many bytes in all.
    pub(super) fn reserve(&mut self, records: usize, bytes: usize) {
        self.ends.reserve(records);
        self.bytes.reserve(bytes);
    }

    /// Forgets all records, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.times.clear();
    }

    /// The bytes of neighbouring records.
    pub(super) fn bytes_of(&self, records: Range<usize>) -> &[u8] {
        let end = records.end.checked_sub(1).map_or(0, |last| self.ends[last]);
        &self.bytes[self.start(records.start)..end.max(self.start(records.start))]
    }

    fn start(&self, record: usize) -> usize {
        record.checked_sub(1).map_or(0, |before| self.ends[before])
    }
}

impl<'a> Extend<&'a [u8]> for Batch {
    fn extend<I: IntoIterator<Item = &'a [u8]>>(&mut self, records: I) {
        for record in records {
            self.push(record, None);
        }
    }
}

impl<'a> FromIterator<&'a [u8]> for Batch {
    fn from_iter<I: IntoIterator<Item = &'a [u8]>>(records: I) -> Self {
        let mut batch = Self::default();
        batch.extend(records);
        batch
    }
}
