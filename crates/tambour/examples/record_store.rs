//! Appends small records to a log, seals them with a trained dictionary, and finds them again.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use std::error::Error;
use std::sync::Arc;
use tambour::record::ViewOptions;
use tambour::{RecordOptions, RecordStore, storage};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("events");
    let store = RecordStore::create(&storage::disk(), &path, &RecordOptions::default())?;
    let writer = store.writer("logins")?;
    let events: Vec<String> = (0..500)
        .map(|number| format!(r#"{{"event":"login","user":"u{number}","ok":true}}"#))
        .collect();
    // A batch is durable when this returns.
    let ids = writer.append_batch(&events.iter().map(String::as_bytes).collect())?;
    drop(writer);

    // Readers need no lock, and may be other processes.
    let store = RecordStore::open(&storage::disk(), &path)?;
    let view = Arc::new(store.view("logins", &ViewOptions::default())?);
    let record = view.reader().get(ids.start + 123)?.to_vec();
    println!("record {}: {}", ids.start + 123, String::from_utf8(record.clone())?);
    assert_eq!(record, events[123].as_bytes());
    Ok(())
}
