//! `tambour verify`: reads everything and tells what is wrong.

use super::target::Target;
use super::{dictionary, threads};
use crate::blocks::{BlockFile, Depth};
use crate::cli::VerifyArguments;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::progress::Total;
use crate::output::{Console, failure, quantity, stdout};
use anyhow::Context;
use serde_json::json;
use std::error::Error;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tambour::Part;
use tambour::codec::frame::{self, DecompressOptions, Dictionary};
use tambour::index::verify;
use tambour::storage::Storage;
use tambour::table::Table;
use tambour::table::server::ServerDisk;
use tambour::table::verify::TableVerification;

/// Verifies and lists the damage.
pub(crate) fn run(arguments: &VerifyArguments, console: Console) -> anyhow::Result<()> {
    let path = arguments.path.as_path();
    let _interrupt = Interrupt::listen();
    if super::records::is_store(path) {
        return super::records::verify(path, arguments.json, console);
    }
    let target = Target::identify(path)?;
    #[cfg(feature = "cluster")]
    if let Some(cluster) = super::worker::errands(&arguments.cluster)? {
        let (report, time) = verify_on(&cluster, path, &target, console)?;
        return tell(arguments, &target, &report, time, console);
    }
    let (report, time) = match &target {
        Target::Table => verify_table(&arguments.reading.storage_of(path)?, path, console)?,
        Target::Server(disk) => verify_server(disk, console),
        Target::Part => verify_part(&arguments.reading.storage_of(path)?, path, console),
        Target::Blocks => verify_blocks(path, console)?,
        Target::Pages => return super::pages::verify(path, arguments.json, console),
        Target::Frames => verify_frames(path, arguments.dictionary.as_deref(), console)?,
    };
    tell(arguments, &target, &report, time, console)
}

fn tell(
    arguments: &VerifyArguments,
    target: &Target,
    report: &Report,
    time: Duration,
    console: Console,
) -> anyhow::Result<()> {
    let path = arguments.path.as_path();
    if arguments.json {
        stdout::json(&report.to_json(path, target, time))?;
    } else {
        let mut lines = stdout::text();
        for damage in &report.damage {
            writeln!(lines, "{}", failure::chain(damage.as_ref()).join(": "))?;
        }
        lines.flush()?;
    }
    report.check(path)?;
    if !arguments.json {
        console.note(report.summary(path, time));
    }
    Ok(())
}

/// What was looked at, and what is wrong.
#[derive(Debug, Default)]
struct Report {
    parts: u64,
    files: u64,
    blocks: u64,
    bytes: u64,
    rows: u64,
    damage: Vec<Box<dyn Error>>,
}

impl Report {
    /// An error if anything was found. What this version cannot read is no damage, unless there is damage as well.
    fn check(&self, path: &Path) -> Result<(), Failure> {
        let exits = || self.damage.iter().map(|error| Exit::of(error.as_ref()));
        let Some(first) = exits().next() else { return Ok(()) };
        let exit = exits().find(|exit| *exit == Exit::Corrupt).unwrap_or(first);
        let what = if exit == Exit::Corrupt { "damaged" } else { "cannot be checked" };
        let places = quantity::counted(self.damage.len() as u64, "place", "places");
        Err(Failure::Listed { summary: format!("{}: {what} in {places}", path.display()), exit })
    }

    fn summary(&self, path: &Path, time: Duration) -> String {
        let mut counts = Vec::new();
        if self.parts > 0 {
            counts.push(quantity::counted(self.parts, "part", "parts"));
        }
        counts.push(quantity::counted(self.files, "file", "files"));
        counts.push(quantity::counted(self.blocks, "block", "blocks"));
        if self.rows > 0 {
            counts.push(quantity::counted(self.rows, "row", "rows"));
        }
        let speed = quantity::byte_rate(quantity::per_second(self.bytes, time));
        format!(
            "{}: good; {}, {} in {} ({})",
            path.display(),
            counts.join(", "),
            quantity::bytes(self.bytes),
            quantity::seconds(time),
            speed.trim_end_matches('.'),
        )
    }

    fn to_json(&self, path: &Path, target: &Target, time: Duration) -> serde_json::Value {
        json!({
            "schema": "tambour/verify/1",
            "path": path.display().to_string(),
            "kind": target.name(),
            "good": self.damage.is_empty(),
            "parts": self.parts,
            "files": self.files,
            "blocks": self.blocks,
            "bytes": self.bytes,
            "rows": self.rows,
            "seconds": time.as_secs_f64(),
            "damage": self.damage.iter().map(|error| failure::fields(error.as_ref())).collect::<Vec<_>>(),
        })
    }
}

fn verify_table(
    disk: &Arc<dyn Storage>,
    path: &Path,
    console: Console,
) -> anyhow::Result<(Report, Duration)> {
    // A table that cannot be opened for its parts' sake can still be verified; only the length of the bar is missing.
    let table = Table::open_on(disk, path).ok();
    if let Some(table) = &table {
        super::sql::tell_unproven(table, console);
    }
    let total = table.map_or(Total::Unknown, |table| {
        Total::Bytes(table.parts().iter().map(|part| part.bytes_on_disk()).sum())
    });
    let mut progress = console.progress("verify", total);
    let seen = verify(disk, path, &mut |seen| progress.update(seen.bytes, seen.rows))?;
    Ok((table_report(seen, console), progress.elapsed()))
}

/// The parts of a table, each by one worker.
#[cfg(feature = "cluster")]
fn verify_on(
    cluster: &tambour::Cluster,
    path: &Path,
    target: &Target,
    console: Console,
) -> anyhow::Result<(Report, Duration)> {
    if !matches!(target, Target::Table) {
        let what = format!("--workers verify tables, and {} is none", path.display());
        return Err(Failure::Usage(what).into());
    }
    let total = Table::open(path).map_or(Total::Unknown, |table| {
        Total::Bytes(table.parts().iter().map(|part| part.bytes_on_disk()).sum())
    });
    let mut progress = console.progress("verify", total);
    let seen = cluster.verify(path, &mut |seen| progress.update(seen.bytes, seen.rows))?;
    for note in &seen.notes {
        console.note(note);
    }
    tell_replaced(&seen.replaced, console);
    let report = Report {
        parts: seen.parts,
        files: seen.files,
        blocks: seen.blocks,
        bytes: seen.bytes,
        rows: seen.rows,
        damage: seen.damage.into_iter().map(|error| Box::new(error) as Box<dyn Error>).collect(),
    };
    Ok((report, progress.elapsed()))
}

/// A server's disk, or a backup of one: its tables and, where there is one, the manifest.
fn verify_server(disk: &ServerDisk, console: Console) -> (Report, Duration) {
    let mut progress = console.progress("verify", Total::Unknown);
    let seen = disk.verify(&mut |seen| progress.update(seen.bytes, seen.rows));
    if !disk.others.is_empty() {
        console.note(format!("without parts, not looked at: {}", disk.others.join(", ")));
    }
    (table_report(seen, console), progress.elapsed())
}

/// Writers that replaced parts all the time have left some that nobody has looked at.
fn tell_replaced(replaced: &[String], console: Console) {
    if let Some(first) = replaced.first() {
        let parts = quantity::counted(replaced.len() as u64, "part was", "parts were");
        console.note(format_args!(
            "{parts} replaced while the table was read, {first} among them: verify again when no writer is at work"
        ));
    }
}

/// Tells the notes.
fn table_report(seen: TableVerification, console: Console) -> Report {
    for note in &seen.notes {
        console.note(failure::chain(note).join(": "));
    }
    tell_replaced(&seen.replaced, console);
    Report {
        parts: seen.parts,
        files: seen.files,
        blocks: seen.blocks,
        bytes: seen.bytes,
        rows: seen.rows,
        damage: seen.damage.into_iter().map(|error| Box::new(error) as Box<dyn Error>).collect(),
    }
}

fn verify_part(disk: &Arc<dyn Storage>, path: &Path, console: Console) -> (Report, Duration) {
    let mut progress = console.progress("verify", Total::Unknown);
    progress.phase("reading the part");
    let mut report = Report { parts: 1, ..Report::default() };
    match Part::open(disk, path) {
        Ok(part) => {
            let seen = Arc::new(part).verify();
            report.files = seen.files;
            report.blocks = seen.blocks;
            report.bytes = seen.bytes;
            report.rows = seen.rows;
            report.damage.extend(
                seen.damage.into_iter().map(|damage| Box::new(damage.error) as Box<dyn Error>),
            );
        }
        Err(error) => report.damage.push(Box::new(error)),
    }
    (report, progress.elapsed())
}

fn verify_blocks(path: &Path, console: Console) -> anyhow::Result<(Report, Duration)> {
    let file = BlockFile::open(path, Depth::Contents)?;
    let mut progress = console.progress("verify", Total::Bytes(file.length()));
    let mut report = Report { files: 1, bytes: file.length(), ..Report::default() };
    for entry in file {
        match entry {
            Ok(entry) => {
                report.blocks += 1;
                progress.update(entry.offset + entry.header.block_bytes() as u64, 0);
                report.damage.extend(entry.damage.map(|error| Box::new(error) as Box<dyn Error>));
            }
            Err(error) => report.damage.push(Box::new(error)),
        }
    }
    Ok((report, progress.elapsed()))
}

/// Decompresses frames to nowhere: that checks everything. Nothing tells where the next frame is after damage, so that one
/// place is all that is found.
fn verify_frames(
    path: &Path,
    dictionary: Option<&Path>,
    console: Console,
) -> anyhow::Result<(Report, Duration)> {
    let place = || path.display().to_string();
    let mut file = File::open(path).with_context(place)?;
    let length = file.metadata().with_context(place)?.len();
    let dictionary = dictionary.map(dictionary::read).transpose()?;
    let options = DecompressOptions {
        threads: threads(None),
        dictionary: dictionary.map(|bytes| Dictionary { id: None, bytes }),
        ..DecompressOptions::default()
    };
    let progress = console.progress("verify", Total::Bytes(length));
    let mut report = Report { files: 1, bytes: length, ..Report::default() };
    match frame::decompress(&mut file, &mut io::sink(), &options) {
        Ok(summary) => report.blocks = summary.blocks,
        Err(error) => report.damage.push(Box::new(error)),
    }
    Ok((report, progress.elapsed()))
}
