//! `records delete` and `records compact`.

use super::arguments::{CompactArguments, DeleteArguments};
use super::{maintain, open, read};
use crate::output::{Console, quantity, stdout};
use serde_json::json;
use std::sync::Arc;
use tambour::record::{Batch, CompactOptions, ViewOptions};

pub(super) fn delete(arguments: &DeleteArguments, console: Console) -> anyhow::Result<()> {
    let store = open(&arguments.log.store)?;
    let writer = store.writer(&arguments.log.category)?;
    maintain::tell_found(&writer, console);
    let view = store.view(&arguments.log.category, &ViewOptions { memory_bytes: 0 })?;
    let mut reader = Arc::new(view).reader();
    let mut deletions = Batch::default();
    for key in &arguments.key {
        let key = key.as_encoded_bytes();
        if reader.find(key)?.is_none() {
            return Err(read::no_key(key).into());
        }
        deletions.push_deletion(key, None)?;
    }
    writer.append_batch(&deletions)?;
    let count = quantity::counted(deletions.len() as u64, "key", "keys");
    console.note(format_args!("{count} deleted; `records compact` reclaims the space"));
    Ok(())
}

pub(super) fn compact(arguments: &CompactArguments, console: Console) -> anyhow::Result<()> {
    let writer = open(&arguments.log.store)?.writer(&arguments.log.category)?;
    maintain::tell_found(&writer, console);
    let least = f64::from(arguments.least) / 100.0;
    let done = writer.compact(&CompactOptions { least, ..CompactOptions::default() })?;
    let sum = |of: fn(&tambour::record::Compacted) -> u64| done.iter().map(of).sum::<u64>();
    let reclaimed = sum(|done| done.reclaimed);
    let (before, after) = (sum(|done| done.bytes_before), sum(|done| done.report.sealed_bytes));
    if arguments.json {
        return Ok(stdout::json(&json!({
            "schema": "tambour/records-compact/1",
            "segments": done.len(),
            "reclaimed": reclaimed,
            "bytes_before": before,
            "bytes_after": after,
        }))?);
    }
    if done.is_empty() {
        console.note("nothing to reclaim in sealed segments");
        return Ok(());
    }
    console.note(format_args!(
        "{} in {} reclaimed: {} from {}",
        quantity::counted(reclaimed, "record", "records"),
        quantity::counted(done.len() as u64, "segment", "segments"),
        quantity::bytes(after),
        quantity::bytes(before),
    ));
    Ok(())
}
