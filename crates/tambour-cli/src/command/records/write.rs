//! `records create` and `records append`.

use super::arguments::{AppendArguments, CreateArguments};
use super::{format, maintain, open};
use crate::clock::Start;
use crate::output::{Console, quantity, stdout};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use tambour::record::{Batch, RecordStore, SealOptions, Settings};
use tambour::storage;

/// Raw bytes of a commit at most.
const BATCH_BYTES_MAX: usize = 8 << 20;

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
    let sealing = if arguments.seal {
        Some(writer.seal_in_background(&SealOptions::default())?)
    } else {
        None
    };
    let first = writer.end();
    let (mut batch, mut bytes) = (Batch::default(), 0_u64);
    let standard_input = [PathBuf::from("-")];
    let files = if arguments.files.is_empty() { &standard_input[..] } else { &arguments.files };
    let commit = |batch: &mut Batch| -> anyhow::Result<()> {
        writer.append_batch(batch)?;
        batch.clear();
        Ok(())
    };
    for file in files {
        let format = format::of(file, arguments.format);
        format::read(file, format, &mut |_, record| {
            let time = match &arguments.time {
                Some(field) => format::time_of(record, field, arguments.time_unit)?,
                None => None,
            };
            bytes += record.len() as u64;
            batch.push_mixed(record, time);
            let full = batch.len() >= arguments.batch as usize;
            if full || batch.bytes().len() >= BATCH_BYTES_MAX {
                commit(&mut batch)?;
            }
            Ok(())
        })?;
    }
    if !batch.is_empty() {
        commit(&mut batch)?;
    }
    // What was appended is told in any case: who thinks that it was not would append it again.
    let sealed = sealing.map_or(Ok(()), |sealing| sealing.finish().map(drop));
    let end = writer.end();
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
    console.note(format_args!(
        "{}, {} in {}: ids {first} to {}",
        quantity::counted(end - first, "record", "records"),
        quantity::bytes(bytes),
        quantity::seconds(start.elapsed()),
        end.saturating_sub(1),
    ));
    Ok(sealed?)
}
