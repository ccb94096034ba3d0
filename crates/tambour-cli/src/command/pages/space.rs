//! `tambour pages space`: what a file would take as pages.

use super::arguments::SpaceArguments;
use crate::exit::Failure;
use crate::output::progress::Total;
use crate::output::{Console, stdout};
use anyhow::Context;
use serde_json::json;
use std::fs::File;
use std::io::{Read, Write};
use tambour::codec::kernels;
use tambour::page::space::measure;
use tambour_report::Machine;
use tambour_report::space::space_report;

/// Measures and tells.
pub(super) fn run(arguments: &SpaceArguments, console: Console) -> anyhow::Result<()> {
    let place = || arguments.file.display().to_string();
    let file = File::open(&arguments.file).with_context(place)?;
    let length = file.metadata().with_context(place)?.len();
    let mut content = Vec::new();
    file.take(arguments.limit.0).read_to_end(&mut content).with_context(place)?;
    if content.is_empty() {
        return Err(Failure::NotFound(format!("{}: the file is empty", place())).into());
    }
    if length > content.len() as u64 {
        console.note(format_args!(
            "looked at the first {} of {length} bytes; --limit takes more",
            content.len()
        ));
    }
    let mut sizes = Vec::new();
    for size in &arguments.page_size {
        sizes.push(usize::try_from(size.0)?);
    }
    let mut progress = console.progress("space", Total::Unknown);
    progress.phase("encoding pages");
    let dictionaries = !arguments.no_dictionary;
    let found = measure(&content, &sizes, &arguments.codec, dictionaries, &mut || {})?;
    drop(progress);
    let report = space_report(&place(), &found);
    if let Some(directory) = &arguments.out {
        report.write(directory, Machine::of_this_run(kernels::isa()?))?;
        console.note(format_args!("wrote {}", directory.join("report.html").display()));
    }
    if arguments.json {
        let rows: Vec<_> = found
            .iter()
            .map(|space| {
                json!({
                    "page_bytes": space.page_bytes,
                    "codec": space.codec.to_string(),
                    "dictionary_bytes": space.dictionary_bytes,
                    "pages": space.pages,
                    "raw_bytes": space.raw_bytes,
                    "packed_bytes": space.packed_bytes,
                    "holes_bytes": space.holes_bytes,
                    "blocks": space.blocks,
                })
            })
            .collect();
        return Ok(stdout::json(&json!({
            "schema": "tambour/pages space/1",
            "file": place(),
            "bytes": content.len(),
            "space": rows,
        }))?);
    }
    let mut target = stdout::text();
    write!(target, "{}\n{}", report.table.title, report.table.to_text())?;
    Ok(target.flush()?)
}
