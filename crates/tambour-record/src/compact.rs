//! Compaction: the space of records that were updated or deleted later is reclaimed, segment by segment. Ids stay.
//!
//! What is reclaimed leaves a byte or two, so that ids go on without gaps. A deletion stays as long as there is anything older
//! of its key, and goes with the compaction after: a reader that opens one segment before and another one after a compaction
//! finds either the deletion or nothing to delete.

use super::RecordError;
use super::batch::Batch;
use super::entry::{Entry, State};
use super::keys::Outdated;
use super::reader::Reader;
use super::seal::{self, Job, SealOptions, SealReport};
use super::view::{Segment, Slot, ViewOptions};
use super::writer::{Writer, hold};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How to compact.
#[derive(Clone, Debug)]
pub struct CompactOptions {
    /// Segments of which a smaller part of the records can be reclaimed stay as they are: 0 to 1.
    pub least: f64,
    /// How they are sealed again.
    pub seal: SealOptions,
}

impl Default for CompactOptions {
    fn default() -> Self {
        Self { least: 0.1, seal: SealOptions::default() }
    }
}

/// What a compaction did to a segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Compacted {
    /// Records and deletions whose space was reclaimed.
    pub reclaimed: u64,
    /// Bytes of the file before.
    pub bytes_before: u64,
    /// The segment as it was sealed again.
    pub report: SealReport,
}

impl Writer {
    /// Seals segments again without the records that were updated or deleted since. Open segments stay as they are. A crash
    /// leaves each segment as it was or as it will be; readers go on with what they have opened.
    ///
    /// ```
    /// # use std::ops::ControlFlow;
    /// # use std::sync::Arc;
    /// # use tambour_record::*;
    /// # let storage: Arc<dyn Storage> = Arc::new(tambour_storage::memory::Memory::new());
    /// # let store = RecordStore::create(&storage, "events".as_ref(), &Settings::default())?;
    /// # let writer = store.writer("default")?;
    /// for visits in 0..100 {
    ///     writer.put_keyed(b"page", format!("visits: {visits}").as_bytes(), None)?;
    /// }
    /// writer.seal(&SealOptions::default(), true)?;
    /// let compacted = writer.compact(&CompactOptions::default())?;
    /// assert_eq!(compacted[0].reclaimed, 99);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compact(&self, options: &CompactOptions) -> Result<Vec<Compacted>, RecordError> {
        let _pass = hold(self.sealing());
        let (store, directory) = (self.store(), self.directory());
        let category = directory.file_name().and_then(std::ffi::OsStr::to_str).unwrap_or_default();
        let view = Arc::new(store.view(category, &ViewOptions { memory_bytes: 0 })?);
        let mut reader = view.reader();
        let mut done = Vec::new();
        let Some(outdated) = reader.outdated()? else { return Ok(done) };
        for (number, slot) in view.slots.iter().enumerate() {
            let Segment::Sealed(sealed) = &slot.segment else { continue };
            if !sealed.header.keyed {
                continue;
            }
            let (records, reclaimed) = rest(&mut reader, &outdated, (number, slot))?;
            let part = reclaimed as f64 / records.len().max(1) as f64;
            if reclaimed == 0 || part < options.least {
                continue;
            }
            let dictionary = sealed.meta.dictionary.clone();
            let job = Job { base: slot.ids.start, files: Vec::new(), records, dictionary };
            let report = match seal::run(store, directory, &job, &options.seal, self.maintenance())
            {
                // Dropped meanwhile.
                Err(RecordError::Gone { .. }) => continue,
                report => report?,
            };
            done.push(Compacted { reclaimed, bytes_before: sealed.file_bytes(), report });
        }
        Ok(done)
    }
}

/// The records of a segment with those reclaimed that can be, and how many are new among these.
fn rest(
    reader: &mut Reader,
    outdated: &Outdated,
    (number, slot): (usize, &Slot),
) -> Result<(Batch, u64), RecordError> {
    let (mut batch, mut reclaimed) = (Batch::default(), 0);
    batch.give_keys();
    reader.scan_all(slot.ids.clone(), |scanned| {
        let record = super::reader::record_in(slot.ids.start, scanned.id);
        let entry = scanned.entry();
        let gone = outdated.is(number, record)
            || (entry.state == State::Deletion && !outdated.hides(number, record));
        reclaimed += u64::from(gone);
        let entry =
            if gone { Entry { state: State::Reclaimed, ..Entry::default() } } else { entry };
        batch.push_mixed_entry(entry, scanned.time);
        ControlFlow::Continue(())
    })?;
    Ok((batch, reclaimed))
}
