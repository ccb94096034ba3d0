//! `records seal`, `records salvage` and `records retain`.

use super::arguments::{RetainArguments, SalvageRecordsArguments, SealArguments};
use super::{format, open};
use crate::exit::{Exit, Failure};
use crate::output::{Console, failure, quantity, stdout};
use serde_json::json;
use std::io::Write;
use tambour::record::{
    Codec, CutOff, Doubtful, Group, LZ4_DICTIONARY_BYTES_MAX, Retention, Salvaged, SealOptions,
    SealReport, Writer, salvage as save,
};
use tambour::storage;
use tambour_report::clock::thread_seconds;

pub(super) fn seal(arguments: &SealArguments, console: Console) -> anyhow::Result<()> {
    let store = open(&arguments.log.store)?;
    let writer = store.writer(&arguments.log.category)?;
    tell_found(&writer, console);
    let group = match arguments.group {
        Some(group) => Group::Fixed(usize::from(group)),
        None => Group::Floor { reads_per_second: arguments.floor as f64, clock: thread_seconds },
    };
    let options = SealOptions {
        codec: arguments.codec.map(Into::into),
        level: arguments.level,
        dictionary_bytes: usize::try_from(arguments.dictionary.0).unwrap_or(usize::MAX),
        group,
    };
    let codec = options.codec.unwrap_or(store.settings().codec);
    if codec == Codec::Lz4 && options.dictionary_bytes > LZ4_DICTIONARY_BYTES_MAX {
        console.note("LZ4 reaches 64 KiB of a dictionary: no longer one is trained");
    }
    let reports = writer.seal(&options, !arguments.full_only)?;
    if arguments.json {
        let segments: Vec<_> = reports.iter().map(to_json).collect();
        return Ok(stdout::json(&json!({
            "schema": "tambour/records-seal/1",
            "segments": segments,
        }))?);
    }
    for report in &reports {
        console.note(format_args!(
            "records {} to {}: {} in groups of {}, {} of {}",
            report.base,
            report.base + report.records - 1,
            report.codec.name(),
            report.group,
            quantity::bytes(report.sealed_bytes),
            quantity::bytes(report.raw_bytes),
        ));
    }
    if reports.is_empty() {
        console.note("nothing to seal");
    }
    Ok(())
}

fn to_json(report: &SealReport) -> serde_json::Value {
    json!({
        "first_id": report.base,
        "records": report.records,
        "raw_bytes": report.raw_bytes,
        "sealed_bytes": report.sealed_bytes,
        "codec": report.codec.name(),
        "group": report.group,
        "trained": report.trained,
        "dictionary_bytes": report.dictionary_bytes,
    })
}

pub(super) fn salvage(arguments: &SalvageRecordsArguments, console: Console) -> anyhow::Result<()> {
    let saved = save(&storage::disk(), &arguments.store, &arguments.to)?;
    if arguments.json {
        salvaged_json(&saved)?;
    } else {
        salvaged_lines(&saved)?;
    }
    let records = quantity::counted(saved.records, "record", "records");
    let unknown = if saved.unknown {
        ", and an unknown number at the end of the log, which is damaged"
    } else {
        ""
    };
    let (target, lost) = (arguments.to.display(), saved.lost);
    let summary = format!("{target}: {records} saved, {lost} lost{unknown}{}", outdated(&saved));
    if lost == 0 && !saved.unknown {
        console.note(summary);
        return Ok(());
    }
    Err(Failure::Listed { summary, exit: Exit::Partial }.into())
}

/// What was saved and lost, for programs.
fn salvaged_json(saved: &Salvaged) -> anyhow::Result<()> {
    let damage: Vec<_> = saved.damage.iter().map(|error| failure::fields(error)).collect();
    let cut: Vec<_> = saved
        .cut
        .iter()
        .map(|cut| {
            json!({
                "path": cut.path.display().to_string(),
                "offset": cut.offset,
                "bytes": cut.bytes,
                "records": cut.records,
                "whole_behind": cut.whole_behind,
            })
        })
        .collect();
    let doubtful: Vec<_> = doubtful(saved)
        .map(|(category, record)| {
            json!({
                "category": category,
                "key": String::from_utf8_lossy(&record.key),
                "id": record.new,
                "old_id": record.old,
                "lost_id": record.lost,
            })
        })
        .collect();
    Ok(stdout::json(&json!({
        "schema": "tambour/records-salvage/1",
        "records": saved.records,
        "lost": saved.lost,
        "unknown": saved.unknown,
        "doubtful": doubtful,
        "doubtful_unknown": saved.blind,
        "damage": damage,
        "cut": cut,
    }))?)
}

/// Each loss in a line.
fn salvaged_lines(saved: &Salvaged) -> anyhow::Result<()> {
    let mut lines = stdout::text();
    for error in &saved.damage {
        writeln!(lines, "{}", failure::chain(error).join(": "))?;
    }
    for cut in &saved.cut {
        let rest = if cut.whole_behind {
            "; what is intact is saved, the rest is counted as lost"
        } else {
            ""
        };
        writeln!(lines, "{}{rest}", cut_off(cut))?;
    }
    for (category, record) in doubtful(saved) {
        writeln!(
            lines,
            "{category}: key {:?} has record {} again, which was {}: record {}, which is lost, replaced or deleted it",
            String::from_utf8_lossy(&record.key),
            record.new,
            record.old,
            record.lost,
        )?;
    }
    Ok(lines.flush()?)
}

/// Records that are the latest of their keys again.
fn doubtful(saved: &Salvaged) -> impl Iterator<Item = (&str, &Doubtful)> {
    let each = saved.doubtful.iter();
    each.flat_map(|(category, records)| records.iter().map(move |it| (category.as_str(), it)))
}

/// Says that keys may have older records than they had.
fn outdated(saved: &Salvaged) -> String {
    let records = doubtful(saved).count() as u64;
    let known = quantity::counted(records, "key has", "keys have");
    let untold =
        "what was lost may have replaced or deleted records of other keys, and nothing tells which";
    match (records, saved.blind) {
        (0, false) => String::new(),
        (0, true) => format!("; {untold}"),
        (_, false) => format!("; {known} an older record again"),
        (_, true) => format!("; {known} an older record again, and {untold}"),
    }
}

/// Says what a writer found wrong when it took over.
pub(super) fn tell_found(writer: &Writer, console: Console) {
    for found in writer.take_found() {
        console.note(format_args!(
            "damaged; continues after it: {}",
            failure::chain(&found).join(": ")
        ));
    }
    if let Some(cut) = writer.take_cut() {
        let copy = cut.copy.as_ref().map_or_else(String::new, |copy| copy.display().to_string());
        console.note(format_args!(
            "{}; parts of it are intact: the file as it was is kept as {copy}",
            cut_off(&cut)
        ));
    }
}

/// What was cut off, in words.
fn cut_off(cut: &CutOff) -> String {
    let records = cut.records.map_or_else(String::new, |records| {
        format!(" of {} at least", quantity::counted(records, "record", "records"))
    });
    let (path, offset, bytes) = (cut.path.display(), cut.offset, quantity::bytes(cut.bytes));
    format!(
        "{path}, offset {offset}: {bytes} of a commit{records} that was cut off: not acknowledged if it was a crash"
    )
}

pub(super) fn retain(arguments: &RetainArguments, console: Console) -> anyhow::Result<()> {
    let writer = open(&arguments.log.store)?.writer(&arguments.log.category)?;
    tell_found(&writer, console);
    let retention = Retention {
        before: arguments.before.as_deref().map(format::time).transpose()?,
        bytes_max: arguments.bytes.map(|bytes| bytes.0),
    };
    let dropped = writer.retain(&retention)?;
    if arguments.json {
        return Ok(stdout::json(&json!({
            "schema": "tambour/records-retain/1",
            "segments": dropped.segments,
            "records": dropped.records,
            "bytes": dropped.bytes,
        }))?);
    }
    let segments = quantity::counted(dropped.segments as u64, "segment", "segments");
    let records = quantity::counted(dropped.records, "record", "records");
    console.note(format_args!("dropped {segments}, {records}, {}", quantity::bytes(dropped.bytes)));
    Ok(())
}
