//! Records side by side in memory.

use super::entry::{Entry, State, check_key};
use super::seal::NO_TIME;
use super::{RECORD_BYTES_MAX, RecordError};
use std::ops::Range;

/// Records side by side, with their times if they have any.
///
/// ```
/// use tambour_record::Batch;
/// let mut batch = Batch::default();
/// batch.push(b"first", Some(1_700_000_000));
/// batch.push(b"second", Some(1_700_000_060));
/// assert_eq!((batch.len(), batch.get(1)), (2, Some(&b"second"[..])));
/// assert!(batch.is_timed() && !batch.is_keyed());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// One per record, or none at all.
    times: Vec<i64>,
    /// Whether the bytes are entries: records with their keys in front.
    keyed: bool,
}

impl Batch {
    /// Adds a record.
    ///
    /// # Panics
    /// When some of the records have a time and others have none.
    pub fn push(&mut self, record: &[u8], time: Option<i64>) {
        self.push_entry(Entry { record, ..Entry::default() }, time);
    }

    fn push_entry(&mut self, entry: Entry<'_>, time: Option<i64>) {
        let timed = self.times.len() == self.ends.len();
        assert!(if time.is_some() { timed } else { self.times.is_empty() }, "all or no times");
        if self.keyed {
            entry.write(&mut self.bytes);
        } else {
            self.bytes.extend_from_slice(entry.record);
        }
        self.ends.push(self.bytes.len());
        self.times.extend(time);
    }

    /// Adds a record with a key, by which it is found. A later one with the same key takes its place.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// let mut batch = Batch::default();
    /// batch.push_keyed(b"ada", b"{\"city\":\"London\"}", None)?;
    /// batch.push_keyed(b"ada", b"{\"city\":\"Turin\"}", None)?;
    /// writer.append_batch(&batch)?;
    /// let mut reader = Arc::new(store.view("default", &ViewOptions::default())?).reader();
    /// assert_eq!(reader.get_by_key(b"ada")?, Some(&b"{\"city\":\"Turin\"}"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push_keyed(
        &mut self,
        key: &[u8],
        record: &[u8],
        time: Option<i64>,
    ) -> Result<(), RecordError> {
        check_key(key)?;
        if record.len() > RECORD_BYTES_MAX {
            let (bytes, limit) = (record.len() as u64, RECORD_BYTES_MAX as u64);
            return Err(RecordError::TooLarge { what: "a record", bytes, limit });
        }
        self.push_mixed_entry(Entry { state: State::Record, key: Some(key), record }, time);
        Ok(())
    }

    /// Adds that a key is deleted. It takes an id, as records do.
    pub fn push_deletion(&mut self, key: &[u8], time: Option<i64>) -> Result<(), RecordError> {
        check_key(key)?;
        self.push_mixed_entry(Entry { state: State::Deletion, key: Some(key), record: &[] }, time);
        Ok(())
    }

    /// Adds an entry of any sort, with or without a time.
    pub(super) fn push_mixed_entry(&mut self, entry: Entry<'_>, time: Option<i64>) {
        if entry.key.is_some() || entry.state != State::Record {
            self.give_keys();
        }
        if time.is_some() && self.times.is_empty() {
            self.times = vec![NO_TIME; self.ends.len()];
        }
        let timed = time.is_some() || !self.times.is_empty();
        self.push_entry(entry, timed.then(|| time.unwrap_or(NO_TIME)));
    }

    /// Makes room for keys in front of the records.
    pub(super) fn give_keys(&mut self) {
        if self.keyed {
            return;
        }
        let mut other = Self { keyed: true, ..Self::default() };
        for record in self.iter() {
            other.push_entry(Entry { record, ..Entry::default() }, None);
        }
        other.times = std::mem::take(&mut self.times);
        *self = other;
    }

    /// Adds the bytes of an entry as they are, with or without a time; `keyed` is the same for all of a batch.
    pub(super) fn push_stored(&mut self, stored: &[u8], time: Option<i64>, keyed: bool) {
        self.keyed = false;
        self.push_mixed(stored, time);
        self.keyed = keyed;
    }

    /// Whether records have keys.
    pub fn is_keyed(&self) -> bool {
        self.keyed
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

    /// A record; in a batch with keys, as it is stored.
    pub fn get(&self, record: usize) -> Option<&[u8]> {
        self.ends.get(record).map(|end| &self.bytes[self.start(record)..*end])
    }

    /// All records; in a batch with keys, as they are stored.
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
        self.push_mixed_entry(Entry { record, ..Entry::default() }, time);
    }

    /// Adds the records of another batch, with or without times.
    pub fn append(&mut self, other: &Self) {
        if other.keyed {
            self.give_keys();
        }
        for (k, record) in other.iter().enumerate() {
            let time = other.times.get(k).copied().filter(|time| *time != NO_TIME);
            if other.keyed {
                self.push_stored(record, time, true);
            } else {
                self.push_mixed(record, time);
            }
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
        self.keyed = false;
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
