//! `records train`: a dictionary for a store, and whether one pays.

use super::arguments::TrainArguments;
use super::{format, open};
use crate::output::progress::Total;
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use serde_json::json;
use std::io::Write;
use tambour::codec::kernels;
use tambour::record::Batch;
use tambour_report::Machine;
use tambour_report::dictionary::trade_offs;

/// Most raw bytes that are read to learn from.
const SAMPLE_BYTES_MAX: usize = 256 << 20;

pub(super) fn run(arguments: &TrainArguments, console: Console) -> anyhow::Result<()> {
    let mut records = Batch::default();
    let format = format::of(&arguments.file, arguments.format);
    format::read(&arguments.file, format, &mut |record| {
        if records.bytes().len() < SAMPLE_BYTES_MAX {
            records.push(record, None);
        }
        Ok(())
    })?;
    if let Some(store) = &arguments.into {
        let writer = open(store)?.writer(&arguments.category)?;
        let bytes_max = usize::try_from(arguments.dictionary.0).unwrap_or(usize::MAX);
        let dictionary = writer.train(&records, bytes_max)?;
        let bytes = quantity::bytes(dictionary.bytes().len() as u64);
        if dictionary.is_empty() {
            console.note("nothing was learned: too few records, or nothing in common");
        } else {
            console.note(format_args!("the next segment begins with a dictionary of {bytes}"));
        }
    }
    // Without anything else that was asked for, it tells what it measures, and writes no page.
    if arguments.report.is_none() && arguments.into.is_some() {
        return Ok(());
    }
    let mut progress = console.progress("train", Total::Files(100));
    let found = trade_offs(&records, &mut |done, total| {
        progress.update((100 * done / total.max(1)) as u64, 0);
    })?;
    drop(progress);
    if let Some(page) = &arguments.report {
        let html = found.page(Machine::of_this_run(kernels::isa()?)).render()?;
        std::fs::write(page, html).with_context(|| page.display().to_string())?;
    }
    if arguments.json {
        let cells = found.cells.iter().map(|cell| {
            json!({
                "block_bytes": cell.block_bytes,
                "dictionary_bytes": cell.dictionary_bytes,
                "codec": if cell.level.is_some() { "zstd" } else { "lz4" },
                "level": cell.level,
                "ratio": cell.ratio,
                "reads_per_second": cell.reads,
            })
        });
        return Ok(stdout::json(&json!({
            "schema": "tambour/records-train/1",
            "records": found.records,
            "raw_bytes": found.raw_bytes,
            "cells": cells.collect::<Vec<_>>(),
            "recommendation": found.recommendation(),
        }))?);
    }
    let mut target = stdout::text();
    let table = found.table();
    writeln!(target, "{}\n{}\n{}", table.title, table.to_text(), found.recommendation())?;
    target.flush()?;
    if let Some(page) = &arguments.report {
        console.note(format_args!("wrote {}", page.display()));
    }
    Ok(())
}
