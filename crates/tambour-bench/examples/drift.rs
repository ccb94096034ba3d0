//! What open segments weigh in a log that changes: `drift DIRECTORY SEGMENT_BYTES COMMIT_RECORDS FILE OF LINES`.
//!
//! Each segment is sealed when it is full, and then the next one begins: once with the dictionary that the store learned from
//! all segments, once with that of the segment before, once with that of the first. The first segment, which has none, does
//! not count.
use std::path::{Path, PathBuf};
use tambour_record::{
    Batch, Dictionary, RecordStore, SealOptions, SegmentState, Settings, ViewOptions, disk,
};

const DICTIONARY_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug)]
enum Policy {
    Learned,
    Previous,
    First,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("a directory")?);
    let segment_bytes: usize = arguments.next().ok_or("bytes of a segment")?.parse()?;
    let commit: usize = arguments.next().ok_or("records of a commit")?.parse()?;
    let text = std::fs::read(arguments.next().ok_or("a file")?)?;
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let records: Vec<&[u8]> = lines.collect();
    for policy in [Policy::Learned, Policy::Previous, Policy::First] {
        let path = directory.join(format!("{policy:?}"));
        let (raw, open) = open_bytes(&path, &records, policy, segment_bytes, commit)?;
        #[expect(clippy::print_stdout, reason = "an example prints")]
        {
            println!(
                "{policy:?}: {raw} bytes are {open} in open segments: {:.2}",
                raw as f64 / open as f64
            );
        }
    }
    Ok(())
}

/// Raw bytes of all segments but the first, and those that they took while they were open, without the dictionary.
fn open_bytes(
    path: &Path,
    records: &[&[u8]],
    policy: Policy,
    segment_bytes: usize,
    commit: usize,
) -> Result<(u64, u64), Box<dyn std::error::Error>> {
    let store = RecordStore::create(&disk(), path, &Settings::default())?;
    let writer = store.writer("default")?;
    let (mut raw, mut open, mut at) = (0, 0, 0);
    let mut own = Dictionary::default();
    while at < records.len() {
        let (first, mut bytes) = (at, 0);
        while at < records.len() && bytes < segment_bytes {
            let batch: Batch =
                records[at..records.len().min(at + commit)].iter().copied().collect();
            at += batch.len();
            bytes += batch.bytes().len();
            writer.append_batch(&batch)?;
        }
        if first > 0 {
            let view = std::sync::Arc::new(store.view("default", &ViewOptions::default())?);
            let stats = view.stat().segments;
            let last = stats.iter().rfind(|stat| stat.state == SegmentState::Open).ok_or("none")?;
            raw += bytes as u64;
            open += last.data_bytes;
        }
        writer.seal(&SealOptions::default(), true)?;
        let sample: Batch = records[first..at].iter().copied().collect();
        match policy {
            Policy::Learned => {}
            Policy::First if first > 0 => writer.use_dictionary(&own)?,
            Policy::First | Policy::Previous => own = writer.train(&sample, DICTIONARY_BYTES)?,
        }
    }
    Ok((raw, open))
}
