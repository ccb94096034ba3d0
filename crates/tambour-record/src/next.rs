//! The dictionary of the next open segment: learned from all that the category has held, and kept only if it is better for
//! records that it has not seen.
//!
//! A sealed segment has the dictionary of its own records. For records to come another one is better: where a log drifts, the
//! next segment is like many of those before it, and the last one alone is a bad sample. Older records are read from sealed
//! segments at the time of training, so that there is no sample to keep.

use super::GROUP_RECORDS_MAX;
use super::RecordError;
use super::batch::Batch;
use super::codec::Codec;
use super::dictionary::{self, DICTIONARY_BYTES_MAX, Dictionary};
use super::layout::{FileKind, NEXT_DICTIONARY, RecordStore, file_name, segment_files};
use super::memory::Budget;
use super::sealed::Sealed;
use super::trial::{DICTIONARY_GAIN, HELD_OUT_BYTES, Way, encode, train_bytes};
use super::writer::OPEN_LEVEL;
use std::ops::Range;
use std::path::Path;

/// Older segments that are read, spread over all of them.
const OLDER_MAX: usize = 8;
/// Runs of neighbours that a sample consists of at least, where records are large.
const RUNS_MIN: usize = 16;
/// The last records of a segment, one part of this many, are kept for the comparison.
const TEST_PART: usize = 8;

/// The dictionary that the next open segment begins with. One that is damaged, or of another store, is not needed: the next
/// one will be trained.
pub(super) fn known(store: &RecordStore, directory: &Path) -> Dictionary {
    let limit = 4 * DICTIONARY_BYTES_MAX as u64;
    let file = store.storage.read(&directory.join(NEXT_DICTIONARY), limit).ok();
    file.and_then(|file| dictionary::from_file(&file).ok())
        .filter(|(number, ..)| *number == store.number)
        .map(|(_, dictionary, _)| dictionary)
        .unwrap_or_default()
}

/// The dictionary that the next open segment shall begin with, if that is another one: when `records`, from the id `base` on,
/// are being sealed, and their own dictionary is `own`.
pub(super) fn learn(
    store: &RecordStore,
    directory: &Path,
    base: u64,
    records: &Batch,
    own: &Dictionary,
    bytes_max: usize,
) -> Result<Option<Dictionary>, RecordError> {
    let wanted = train_bytes(records.bytes().len());
    let Some(mut sample) = older(store, directory, base, wanted / 2)? else {
        return Ok(Some(own.clone()));
    };
    // Nobody has seen the last records: neither the new dictionary nor that which was there before them.
    let seen = records.len() - records.len() / TEST_PART;
    let seen_bytes = records.bytes_of(0..seen).len();
    take(records, 0..seen, seen_bytes, wanted / 2, &mut sample);
    let mut unseen = Batch::default();
    let unseen_bytes = records.bytes().len() - seen_bytes;
    take(records, seen..records.len(), unseen_bytes, HELD_OUT_BYTES, &mut unseen);
    let lengths: Vec<usize> = sample.lengths().collect();
    let learned = Dictionary::train(sample.bytes(), &lengths, bytes_max);
    let size = |dictionary: Dictionary| -> Result<f64, RecordError> {
        let way = Way { codec: Codec::Lz4, level: OPEN_LEVEL, dictionary };
        Ok(encode(&unseen, &way, 1)?.0.len() as f64)
    };
    let is_better = !learned.is_empty()
        && !unseen.is_empty()
        && size(learned.clone())? <= size(known(store, directory))? * (1.0 - DICTIONARY_GAIN);
    Ok(is_better.then_some(learned))
}

/// Records of sealed segments in front of an id; `None` where there are none.
fn older(
    store: &RecordStore,
    directory: &Path,
    base: u64,
    wanted: usize,
) -> Result<Option<Batch>, RecordError> {
    let files = segment_files(&*store.storage, directory)?;
    let is_older = |file: &&(u64, FileKind, u64)| file.1 == FileKind::Sealed && file.0 < base;
    let bases: Vec<u64> = files.iter().filter(is_older).map(|file| file.0).collect();
    let chosen = bases.len().min(OLDER_MAX);
    let mut sample = Batch::default();
    for number in 0..chosen {
        // The last one is always among them.
        let base = bases[bases.len() - 1 - number * bases.len() / chosen];
        let path = directory.join(file_name(base, FileKind::Sealed));
        // One that is damaged, or was dropped just now, is left out.
        if let Ok(sealed) = Sealed::open(&*store.storage, &path, Some(store.number), Budget::new(0))
        {
            let _ = take_sealed(&sealed, wanted / chosen, &mut sample);
        }
    }
    Ok((!sample.is_empty()).then_some(sample))
}

/// Adds records of a sealed segment to a sample.
fn take_sealed(sealed: &Sealed, wanted: usize, sample: &mut Batch) -> Result<(), RecordError> {
    let (mut decoder, mut spare) = (sealed.decoder()?, Vec::new());
    let count = usize::try_from(sealed.header.records).unwrap_or(usize::MAX);
    let bytes = usize::try_from(sealed.header.raw_bytes).unwrap_or(usize::MAX);
    let mut left = wanted;
    for record in runs(0..count, bytes, wanted).flatten() {
        let place = sealed.group(record / sealed.header.group)?;
        // As it is stored: with its key.
        push(sealed.get(record, place, &mut decoder, &mut spare)?, &mut left, sample);
    }
    Ok(())
}

/// Adds records of a range that has this many bytes.
fn take(records: &Batch, range: Range<usize>, bytes: usize, wanted: usize, sample: &mut Batch) {
    let mut left = wanted;
    for record in runs(range, bytes, wanted).flatten() {
        push(records.get(record).unwrap_or_default(), &mut left, sample);
    }
}

/// Adds a record if there is room for it: one that is long leaves it to others.
fn push(record: &[u8], left: &mut usize, sample: &mut Batch) {
    if let Some(rest) = left.checked_sub(record.len()) {
        *left = rest;
        sample.push(record, None);
    }
}

/// Runs of neighbours, spread over a range of records that has this many bytes, which have about as many as are wanted. Of large
/// records a run has fewer, so that there are some runs in any case.
fn runs(records: Range<usize>, bytes: usize, wanted: usize) -> impl Iterator<Item = Range<usize>> {
    let every = (bytes / wanted.max(1)).max(1);
    let record_bytes = (bytes / records.len().max(1)).max(1);
    let run = (wanted / RUNS_MIN / record_bytes).clamp(1, GROUP_RECORDS_MAX);
    let end = records.end;
    records.step_by(run * every).map(move |first| first..end.min(first + run))
}

#[cfg(test)]
mod tests {
    use super::super::layout::Settings;
    use super::super::tests::{PATH, disk, dynamic, options};
    use super::*;
    use crate::view::ViewOptions;

    /// Something like JSON, of this many bytes, with a number that makes it another one.
    fn large(id: usize, bytes: usize) -> Vec<u8> {
        let text = |k: usize| format!("{{\"id\":{id},\"k\":{},\"name\":\"a name\"}},", k * id);
        (0..).flat_map(|k| text(k).into_bytes()).take(bytes).collect()
    }

    #[test]
    fn a_sample_has_no_more_bytes_than_are_wanted() {
        let wanted = 300_000;
        // Small ones, large ones, and a few that are longer than all that is wanted.
        for (count, bytes) in [(20_000, 100), (200, 40_000), (6, 400_000)] {
            let mut batch = Batch::default();
            (0..count).for_each(|id| batch.push(&large(id, bytes), None));
            let mut sample = Batch::default();
            take(&batch, 0..batch.len(), batch.bytes().len(), wanted, &mut sample);
            let most = if bytes > wanted { 0 } else { wanted / bytes };
            assert!(
                sample.len() <= most && sample.len() * 2 >= most,
                "{} of {bytes}",
                sample.len()
            );
            // From all over the records.
            if bytes < wanted {
                let last = sample.get(sample.len() - 1).unwrap();
                let number = batch.iter().position(|record| record == last).unwrap();
                assert!(number > count / 2, "{number} of {count}");
            }
        }
    }

    #[test]
    fn large_records_of_older_segments_are_bounded() {
        let storage = dynamic(&disk());
        let settings = Settings { segment_bytes: 4 << 20, ..Settings::default() };
        let store = RecordStore::create(&storage, Path::new(PATH), &settings).unwrap();
        let writer = store.writer("default").unwrap();
        for segment in 0..3 {
            let mut batch = Batch::default();
            (0..100).for_each(|k| batch.push(&large(segment * 100 + k, 40_000), None));
            writer.append_batch(&batch).unwrap();
        }
        writer.seal(&options(1), true).unwrap();
        let view = store.view("default", &ViewOptions::default()).unwrap();
        assert!(view.segments() >= 2);
        let directory = store.directory("default").unwrap();
        let wanted = 600_000;
        let sample = older(&store, &directory, 300, wanted).unwrap().unwrap();
        assert!(sample.bytes().len() <= wanted && sample.len() >= 8, "{}", sample.bytes().len());
    }
}
