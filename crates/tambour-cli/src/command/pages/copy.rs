//! Backups, restores, conversions.

use super::arguments::{BackupArguments, ConvertArguments, RestoreArguments};
use super::{check_apart, opened, tell};
use crate::exit::Failure;
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use tambour::page::{self, Access, BackupReport, Options, Store};
use tambour::storage::place::disk;

/// A backup is written in pieces of this size.
const PIECE_BYTES: usize = 1 << 18;

fn facts(report: &BackupReport) -> [(&'static str, serde_json::Value); 4] {
    [
        ("generation", json!(report.generation)),
        ("since", json!(report.since)),
        ("pages", json!(report.pages)),
        ("bytes", json!(report.bytes)),
    ]
}

/// Writes a backup; a file appears under its name when it is complete.
pub(super) fn backup(arguments: &BackupArguments, console: Console) -> anyhow::Result<()> {
    let store = opened(&arguments.store, Access::Read)?;
    if arguments.file == Path::new("-") {
        let mut target = stdout::data();
        let report = store.backup(&mut target, arguments.since)?;
        target.flush()?;
        console.note(summary(&report));
        return Ok(());
    }
    let path = &arguments.file;
    if path.exists() && !arguments.force {
        let text = format!("{} exists: --force replaces it", path.display());
        return Err(Failure::Conflict(text).into());
    }
    let mut aside = path.as_os_str().to_owned();
    aside.push(".tmp");
    let aside = PathBuf::from(aside);
    check_apart(&arguments.store, path)?;
    check_apart(&arguments.store, &aside)?;
    let written = write_backup(&store, &aside, arguments.since);
    if written.is_err() {
        let _ = std::fs::remove_file(&aside);
    }
    let report = written?;
    std::fs::rename(&aside, path).with_context(|| path.display().to_string())?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new("."))).and_then(|directory| directory.sync_all())?;
    if arguments.json {
        return tell(true, "backup", &facts(&report));
    }
    console.note(summary(&report));
    Ok(())
}

fn write_backup(store: &Store, path: &Path, since: u64) -> anyhow::Result<BackupReport> {
    let file = File::create(path).with_context(|| path.display().to_string())?;
    let mut target = BufWriter::with_capacity(PIECE_BYTES, file);
    let report = store.backup(&mut target, since)?;
    let file = target.into_inner().map_err(std::io::IntoInnerError::into_error);
    let file = file.with_context(|| path.display().to_string())?;
    file.sync_all().with_context(|| path.display().to_string())?;
    Ok(report)
}

fn summary(report: &BackupReport) -> String {
    format!(
        "generation {}, {}, {}",
        report.generation,
        quantity::counted(report.pages, "page", "pages"),
        quantity::bytes(report.bytes),
    )
}

/// Restores a backup.
pub(super) fn restore(arguments: &RestoreArguments, console: Console) -> anyhow::Result<()> {
    let options = Options { layout: arguments.layout.into(), ..Options::default() };
    let mut source: Box<dyn Read> = if arguments.file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        let file = File::open(&arguments.file);
        let file = file.with_context(|| arguments.file.display().to_string())?;
        Box::new(BufReader::with_capacity(PIECE_BYTES, file))
    };
    let report = page::restore(disk().as_ref(), &mut source, &arguments.store, &options)?;
    if arguments.json {
        return tell(true, "restore", &facts(&report));
    }
    console.note(summary(&report));
    Ok(())
}

/// Writes a store again.
pub(super) fn convert(arguments: &ConvertArguments, console: Console) -> anyhow::Result<()> {
    let store = opened(&arguments.store, Access::Read)?;
    let options = Options { layout: arguments.layout.into(), ..Options::default() };
    let report = page::convert(disk().as_ref(), &store, &arguments.target, &options)?;
    if arguments.json {
        return tell(true, "convert", &facts(&report));
    }
    console.note(summary(&report));
    Ok(())
}
