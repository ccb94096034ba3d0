//! `records stat` and `records verify`, which `inspect` and `verify` use for record stores, too.

use super::open;
use crate::exit::{Exit, Failure};
use crate::output::grid::{Frame, Grid, Heading};
use crate::output::{Console, failure, quantity, stdout};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use tambour::record::{Codec, SegmentStat, SegmentState, Stat, ViewOptions, verify as check};
use tambour::storage;

/// Shows what a store is made of.
pub(crate) fn inspect(path: &Path, json: bool) -> anyhow::Result<()> {
    let store = open(path)?;
    let mut categories = Vec::new();
    for name in store.categories()? {
        let view = store.view(&name, &ViewOptions { memory_bytes: 0 })?;
        categories.push((name, view.stat()));
    }
    if json {
        let all = categories.iter().map(|(name, stat)| to_json(name, stat));
        return Ok(stdout::json(&json!({
            "schema": "tambour/records-stat/1",
            "path": path.display().to_string(),
            "segment_bytes": store.settings().segment_bytes,
            "codec": store.settings().codec.name(),
            "categories": all.collect::<Vec<_>>(),
        }))?);
    }
    let mut target = stdout::text();
    for (name, stat) in &categories {
        write_category(&mut target, name, stat)?;
    }
    Ok(target.flush()?)
}

fn write_category(target: &mut dyn Write, name: &str, stat: &Stat) -> anyhow::Result<()> {
    writeln!(
        target,
        "{name}: {}, {} of {} (ratio {})",
        quantity::counted(stat.records(), "record", "records"),
        quantity::bytes(stat.file_bytes()),
        quantity::bytes(stat.raw_bytes()),
        quantity::ratio(stat.raw_bytes(), stat.file_bytes()),
    )?;
    let mut headings =
        vec![Heading::text("state"), Heading::text("codec"), Heading::text("dictionary")];
    let numbers = ["first id", "records", "group", "raw", "file", "ratio", "index/record"];
    headings.extend(numbers.iter().map(|name| Heading::number(name)));
    let mut grid = Grid::new(headings);
    for segment in &stat.segments {
        let records = segment.ids.end - segment.ids.start;
        grid.push([
            state(segment.state).to_owned(),
            segment.codec.map_or("", |codec| codec.name()).to_owned(),
            if segment.dictionary == 0 {
                "none".to_owned()
            } else {
                format!("{:08x}", segment.dictionary)
            },
            segment.ids.start.to_string(),
            quantity::grouped(records),
            segment.group.to_string(),
            quantity::grouped(segment.raw_bytes),
            quantity::grouped(segment.file_bytes),
            quantity::ratio(segment.raw_bytes, segment.file_bytes),
            format!("{:.2}", segment.index_bytes as f64 / records.max(1) as f64),
        ]);
    }
    if let Some(widths) = grid.widths(Frame::Plain, None) {
        grid.write(target, Frame::Plain, &widths, None)?;
    }
    Ok(())
}

fn state(state: SegmentState) -> &'static str {
    match state {
        SegmentState::Open => "open",
        SegmentState::Sealed => "sealed",
        SegmentState::Broken => "broken",
    }
}

fn to_json(name: &str, stat: &Stat) -> serde_json::Value {
    let segment = |segment: &SegmentStat| {
        json!({
            "state": state(segment.state),
            "first_id": segment.ids.start,
            "end_id": segment.ids.end,
            "codec": segment.codec.map(Codec::name),
            "group": segment.group,
            "raw_bytes": segment.raw_bytes,
            "file_bytes": segment.file_bytes,
            "data_bytes": segment.data_bytes,
            "index_bytes": segment.index_bytes,
            "time_bytes": segment.time_bytes,
            "dictionary_bytes": segment.dictionary_bytes,
            "dictionary": segment.dictionary,
            "first_time": segment.times.map(|times| times.0),
            "last_time": segment.times.map(|times| times.1),
        })
    };
    json!({
        "name": name,
        "records": stat.records(),
        "raw_bytes": stat.raw_bytes(),
        "file_bytes": stat.file_bytes(),
        "segments": stat.segments.iter().map(segment).collect::<Vec<_>>(),
    })
}

/// Reads and checks everything.
pub(crate) fn verify(path: &Path, json: bool, console: Console) -> anyhow::Result<()> {
    let verified = check(&storage::disk(), path)?;
    if json {
        let damage: Vec<_> = verified.damage.iter().map(|error| failure::fields(error)).collect();
        stdout::json(&json!({
            "schema": "tambour/verify/1",
            "path": path.display().to_string(),
            "kind": "records",
            "good": verified.damage.is_empty(),
            "categories": verified.categories,
            "segments": verified.segments,
            "records": verified.records,
            "bytes": verified.raw_bytes,
            "damage": damage,
        }))?;
    } else {
        let mut lines = stdout::text();
        for error in &verified.damage {
            writeln!(lines, "{}", failure::chain(error).join(": "))?;
        }
        lines.flush()?;
    }
    let Some(first) = verified.damage.first() else {
        let records = quantity::counted(verified.records, "record", "records");
        let bytes = quantity::bytes(verified.raw_bytes);
        console.note(format_args!("{}: good; {records}, {bytes}", path.display()));
        return Ok(());
    };
    let exits = || verified.damage.iter().map(|error| Exit::of(error));
    let exit = exits().find(|exit| *exit == Exit::Corrupt).unwrap_or(Exit::of(first));
    let places = quantity::counted(verified.damage.len() as u64, "place", "places");
    let summary = format!("{}: damaged in {places}", path.display());
    Err(Failure::Listed { summary, exit }.into())
}
