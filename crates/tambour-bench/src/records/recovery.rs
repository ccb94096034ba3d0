//! Appending durably, and opening again what a crash or damage left.
//!
//! An open segment is filled in batches that are durable each. Then its end is cut off and its bits are flipped, here and there,
//! and every time a writer opens it: that must not take long, and may not cost what was acknowledged before the cut.

use super::Settings;
use crate::BenchError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tambour_record::{Batch, RecordStore, Storage, ViewOptions};
use tambour_report::clock::thread_seconds;

/// Records of a durable batch.
const BATCH: usize = 100;
/// Raw bytes of the open segment.
const OPEN_BYTES: usize = 60 << 20;
/// How often the file is cut, and how often a bit of its end is flipped.
const DAMAGES: u64 = 12;
/// Flips hit the last this many bytes.
const TAIL_BYTES: usize = 64 << 10;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// Raw bytes of the open segment.
    pub raw_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Raw bytes appended durably per second of processor time.
    pub append_rate: f64,
    /// The same by the clock.
    pub append_rate_by_clock: f64,
    /// Longest time that a writer needed to open, in seconds of processor time.
    pub open_seconds: f64,
    /// The same by the clock.
    pub open_seconds_by_clock: f64,
    /// How often it was opened.
    pub opened: u64,
}

/// Measures with the records of a corpus; `clock` tells the time.
pub fn recovery(
    storage: &Arc<dyn Storage>,
    records: &Batch,
    settings: &Settings,
    clock: &dyn Fn() -> Duration,
) -> Result<Recovery, BenchError> {
    let directory = settings.directory.join("recovery");
    std::fs::create_dir_all(&settings.directory)
        .map_err(|source| BenchError::Io { path: settings.directory.clone(), source })?;
    let store = RecordStore::create(storage, &directory, &tambour_record::Settings::default())?;
    let writer = store.writer("default")?;
    let mut batches = Vec::new();
    let mut raw_bytes = 0;
    let mut all = records.iter().cycle();
    while raw_bytes < OPEN_BYTES {
        let batch: Batch = all.by_ref().take(BATCH).collect();
        raw_bytes += batch.bytes().len();
        batches.push(batch);
    }
    let (by_clock, by_thread) = (clock(), thread_seconds());
    for batch in &batches {
        writer.append_batch(batch)?;
    }
    let seconds = thread_seconds() - by_thread;
    let seconds_by_clock = clock().saturating_sub(by_clock).as_secs_f64();
    let end = writer.end();
    drop(writer);
    let file = only_file(&directory)?;
    let whole =
        std::fs::read(&file).map_err(|source| BenchError::Io { path: file.clone(), source })?;
    let mut result = Recovery {
        raw_bytes: raw_bytes as u64,
        file_bytes: whole.len() as u64,
        append_rate: raw_bytes as f64 / seconds,
        append_rate_by_clock: raw_bytes as f64 / seconds_by_clock,
        open_seconds: 0.0,
        open_seconds_by_clock: 0.0,
        opened: 0,
    };
    for round in 0..2 * DAMAGES {
        let (bytes, is_cut) = damaged(&whole, round);
        write_anew(&file, &bytes)?;
        let (by_clock, by_thread) = (clock(), thread_seconds());
        let writer = store.writer("default")?;
        result.open_seconds = result.open_seconds.max(thread_seconds() - by_thread);
        result.open_seconds_by_clock =
            result.open_seconds_by_clock.max(clock().saturating_sub(by_clock).as_secs_f64());
        result.opened += 1;
        let ids = writer.end();
        drop(writer);
        // One flip costs no record its id; a cut costs those behind it.
        if ids > end || !is_cut && ids != end {
            return Err(wrong(ids, end));
        }
        // A flip may cost the sixteen records of its block, of which one in 97 is looked at.
        if unreadable(&store, records, ids)? > u64::from(!is_cut) {
            return Err(wrong(ids, end));
        }
    }
    Ok(result)
}

/// The file cut off somewhere, or with a bit of its end flipped.
fn damaged(whole: &[u8], round: u64) -> (Vec<u8>, bool) {
    let mut bytes = whole.to_vec();
    let noise = usize::try_from(round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).unwrap_or(0);
    let length = bytes.len();
    let is_cut = round.is_multiple_of(2);
    if is_cut {
        bytes.truncate(length - noise % (length / 2));
    } else {
        bytes[length - 1 - noise % TAIL_BYTES.min(length / 2)] ^= 1 << (round / 2 % 8);
    }
    (bytes, is_cut)
}

/// Makes the directory of the category again, with nothing but this file.
fn write_anew(file: &Path, bytes: &[u8]) -> Result<(), BenchError> {
    let io = |source| BenchError::Io { path: file.to_owned(), source };
    let directory = file.parent().unwrap_or(file);
    std::fs::remove_dir_all(directory).map_err(io)?;
    std::fs::create_dir_all(directory).map_err(io)?;
    std::fs::write(file, bytes).map_err(io)
}

/// Reads one record in 97; how many of them are errors.
fn unreadable(store: &RecordStore, records: &Batch, ids: u64) -> Result<u64, BenchError> {
    let view = Arc::new(store.view("default", &ViewOptions::default())?);
    let mut reader = view.reader();
    let mut bad = 0;
    for id in (0..ids).rev().step_by(97) {
        let number = usize::try_from(id).unwrap_or(0) % records.len();
        match reader.get(id) {
            Ok(record) if Some(record) == records.get(number) => {}
            Ok(_) => return Err(wrong(id, id)),
            Err(_) => bad += 1,
        }
    }
    Ok(bad)
}

fn wrong(got: u64, expected: u64) -> BenchError {
    BenchError::WrongOutput {
        contender: "records".to_owned(),
        file: "an open segment, reopened".to_owned(),
        block: usize::try_from(got).unwrap_or(0),
        reason: format!("{got} records, or others, where {expected} were acknowledged"),
    }
}

/// The open segment of a new store.
fn only_file(directory: &Path) -> Result<PathBuf, BenchError> {
    let category = directory.join("default");
    let io = |source| BenchError::Io { path: category.clone(), source };
    for entry in std::fs::read_dir(&category).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|extension| extension == "open") {
            return Ok(path);
        }
    }
    Err(BenchError::NoInput { what: category.display().to_string() })
}
