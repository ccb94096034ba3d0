//! `records get`, `records scan` and `records export`.

use super::arguments::{ExportRecordsArguments, GetArguments, ScanArguments};
use super::{format, open};
use crate::exit::Failure;
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use tambour::record::{Reader, Scanned, State, ViewOptions};

/// A reader of a category. A few reads go to the file; many are worth memory.
fn reader(store: &Path, category: &str, memory_bytes: u64) -> anyhow::Result<Reader> {
    let view = open(store)?.view(category, &ViewOptions { memory_bytes })?;
    Ok(Arc::new(view).reader())
}

pub(super) fn get(arguments: &GetArguments) -> anyhow::Result<()> {
    let memory_bytes = if arguments.ids.len() + arguments.key.len() < 100 { 0 } else { 1 << 30 };
    let mut reader = reader(&arguments.log.store, &arguments.log.category, memory_bytes)?;
    let mut target = stdout::data();
    for key in &arguments.key {
        let key = key.as_encoded_bytes();
        if arguments.all {
            let ids = reader.versions(key)?;
            for id in &ids {
                format::write(&mut target, arguments.format, reader.get(*id)?)?;
            }
            if !ids.is_empty() {
                continue;
            }
        } else if let Some(record) = reader.get_by_key(key)? {
            format::write(&mut target, arguments.format, record)?;
            continue;
        }
        target.flush()?;
        return Err(no_key(key).into());
    }
    for id in &arguments.ids {
        format::write(&mut target, arguments.format, reader.get(*id)?)?;
    }
    Ok(target.flush()?)
}

/// The error of a key that is not there.
pub(super) fn no_key(key: &[u8]) -> Failure {
    let key = String::from_utf8_lossy(key);
    Failure::NotFound(format!("no record has the key {key:?}"))
}

pub(super) fn scan(arguments: &ScanArguments) -> anyhow::Result<()> {
    let mut reader = reader(&arguments.log.store, &arguments.log.category, 0)?;
    let mut target = stdout::data();
    let (mut left, mut result) = (arguments.limit.unwrap_or(u64::MAX), Ok(()));
    let mut visit = |record: &[u8]| {
        if left == 0 {
            return ControlFlow::Break(());
        }
        left -= 1;
        result = format::write(&mut target, arguments.format, record);
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    if arguments.since.is_some() || arguments.until.is_some() {
        let bound = |text: &Option<String>, open| text.as_deref().map_or(Ok(open), format::time);
        let times = bound(&arguments.since, i64::MIN + 1)?..bound(&arguments.until, i64::MAX)?;
        reader.scan_time(times, |scanned| visit(scanned.record))?;
    } else {
        let ids = arguments.from..arguments.to.unwrap_or(u64::MAX);
        let visit = |scanned: Scanned<'_>| match scanned.state {
            State::Record => visit(scanned.record),
            State::Deletion | State::Reclaimed => ControlFlow::Continue(()),
        };
        if arguments.all { reader.scan_all(ids, visit) } else { reader.scan(ids, visit) }?;
    }
    result?;
    Ok(target.flush()?)
}

pub(super) fn export(arguments: &ExportRecordsArguments, console: Console) -> anyhow::Result<()> {
    let mut reader = reader(&arguments.log.store, &arguments.log.category, 0)?;
    if arguments.file.as_os_str() == "-" {
        let mut target = stdout::data();
        write_all(&mut reader, &mut target, arguments)?;
        return Ok(target.flush()?);
    }
    let place = || arguments.file.display().to_string();
    if arguments.file.exists() && !arguments.force {
        return Err(Failure::Conflict(format!("{}: exists; --force replaces it", place())).into());
    }
    // The file appears under its name when it is complete.
    let mut name = arguments.file.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let aside = arguments.file.with_file_name(name);
    let written = File::create(&aside).map_err(anyhow::Error::from).and_then(|file| {
        let mut target = BufWriter::with_capacity(1 << 20, file);
        let records = write_all(&mut reader, &mut target, arguments)?;
        target.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        std::fs::rename(&aside, &arguments.file)?;
        Ok(records)
    });
    match written.with_context(place) {
        Ok(records) => {
            let records = quantity::counted(records, "record", "records");
            console.note(format_args!("{}: {records}", arguments.file.display()));
            Ok(())
        }
        Err(error) => {
            let _ = std::fs::remove_file(&aside);
            Err(error)
        }
    }
}

fn write_all(
    reader: &mut Reader,
    target: &mut dyn Write,
    arguments: &ExportRecordsArguments,
) -> anyhow::Result<u64> {
    let (mut records, mut result) = (0, Ok(()));
    reader.scan(0..u64::MAX, |scanned| {
        records += 1;
        result = format::write(target, arguments.format, scanned.record)
            .with_context(|| format!("record {}", scanned.id));
        if result.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    result.map(|()| records)
}
