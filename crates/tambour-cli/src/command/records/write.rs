//! `records create` and `records append`.

use super::arguments::{AppendArguments, CreateArguments, RecordIndex};
use super::{import, maintain, open};
use crate::clock::Start;
use crate::output::{Console, quantity, stdout};
use serde_json::json;
use std::sync::Arc;
use tambour::record::{RecordStore, SealOptions, Settings};
use tambour::storage;

pub(super) fn create(arguments: &CreateArguments, console: Console) -> anyhow::Result<()> {
    let settings = Settings { segment_bytes: arguments.segment.0, codec: arguments.codec.into() };
    RecordStore::create(&storage::disk(), &arguments.store, &settings)?;
    console.note(format_args!("{}: made", arguments.store.display()));
    Ok(())
}

pub(super) fn append(arguments: &AppendArguments, console: Console) -> anyhow::Result<()> {
    let start = Start::now();
    let store = open(&arguments.log.store)?;
    let writer = Arc::new(store.writer(&arguments.log.category)?);
    maintain::tell_found(&writer, console);
    match arguments.index {
        Some(RecordIndex::Words) => {
            let made = writer.index_words()?;
            if made > 0 {
                let segments = quantity::counted(made as u64, "segment", "segments");
                console.note(format_args!("made indexes of words for {segments}"));
            }
        }
        None => {}
    }
    let sealing = if arguments.seal {
        Some(writer.seal_in_background(&SealOptions::default())?)
    } else {
        None
    };
    let first = writer.end();
    let imported = import::run(arguments, &writer);
    // What was appended is told in any case: who thinks that it was not would append it again.
    let sealed = sealing.map_or(Ok(()), |sealing| sealing.finish().map(drop));
    let (end, bytes) = (writer.end(), imported?.bytes);
    if arguments.ack {
        return Ok(sealed?);
    }
    if arguments.json {
        stdout::json(&json!({
            "schema": "tambour/records-append/1",
            "store": arguments.log.store.display().to_string(),
            "category": arguments.log.category,
            "first_id": first,
            "end_id": end,
            "raw_bytes": bytes,
        }))?;
        return Ok(sealed?);
    }
    if end == first {
        console.note("nothing was appended: there were no records, or all were passed over");
        return Ok(sealed?);
    }
    console.note(format_args!(
        "{}, {} in {}: ids {first} to {}",
        quantity::counted(end - first, "record", "records"),
        quantity::bytes(bytes),
        quantity::seconds(start.elapsed()),
        end - 1,
    ));
    Ok(sealed?)
}
