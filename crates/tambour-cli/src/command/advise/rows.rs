//! The rows that advice is made from: of files, or of a table's or a part's granules.

use super::super::target::Target;
use super::super::threads;
use crate::cli::AdviseArguments;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::Console;
use crate::output::progress::Total;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour::files::{FileError, Input, ReadOptions};
use tambour::part::Part;
use tambour::part::part::ReadRequest;
use tambour::part::types::{Column, Strings};
use tambour::storage;
use tambour::table::Table;
use tambour::table::advise::{Intake, Present, Sample};
use tambour::table::scan::{Scan, ScanRange, ScanRequest};

/// Rows of a table that are read; of more, granules spread over all are.
const ROWS_MAX: u64 = 2_000_000;
/// Granules that are read together.
const GRANULES: usize = 8;
/// Rows that travel together.
const BATCH_ROWS: usize = 16_384;

/// A sample of rows, and what is known of their columns.
#[derive(Debug)]
pub(in crate::command) struct Rows {
    /// Name of the table, or one made of the file's.
    pub(in crate::command) name: String,
    pub(in crate::command) sample: Sample,
    pub(in crate::command) present: Vec<Present>,
    /// The rows are those of a table, whose codecs are known.
    pub(super) is_table: bool,
}

/// Reads what the arguments name.
pub(super) fn read(arguments: &AdviseArguments, console: Console) -> anyhow::Result<Rows> {
    let interrupt = Interrupt::listen();
    match &arguments.paths[..] {
        [path] if path.is_dir() => of_table(path, &interrupt),
        paths => {
            let options = ReadOptions {
                format: arguments.format.map(Into::into),
                threads: threads(arguments.threads),
                ..ReadOptions::default()
            };
            of_files(paths, options, console, &interrupt)
        }
    }
}

/// Reads a table, a part or a file.
pub(in crate::command) fn of_path(path: &Path, console: Console) -> anyhow::Result<Rows> {
    let interrupt = Interrupt::listen();
    if !path.is_dir() {
        let options = ReadOptions { threads: threads(None), ..ReadOptions::default() };
        return of_files(&[path.to_path_buf()], options, console, &interrupt);
    }
    match Target::identify(path)? {
        Target::Part => of_part(path, &interrupt),
        _ => of_table(path, &interrupt),
    }
}

fn of_files(
    paths: &[PathBuf],
    options: ReadOptions,
    console: Console,
    interrupt: &Interrupt,
) -> anyhow::Result<Rows> {
    let options = ReadOptions { batch_rows: BATCH_ROWS, ..options };
    let mut input = Input::open(paths, options)?;
    let total = input.bytes_total().map_or(Total::Unknown, Total::Bytes);
    let mut progress = console.progress("advise", total);
    let sample = loop {
        let mut intake = Intake::new(input.columns().to_vec());
        let mut rows = 0;
        let end = loop {
            interrupt.check()?;
            match input.next_batch() {
                None => break Ok(()),
                Some(Ok(batch)) => {
                    rows += batch.num_rows() as u64;
                    intake.push(&batch)?;
                    progress.update(input.bytes_read(), rows);
                }
                Some(Err(error)) => break Err(error),
            }
        };
        match end {
            Ok(()) => break intake.finish(None)?,
            // A later row contradicts the types: with all of them known, again from the start.
            Err(FileError::Widen { .. }) => input.restart()?,
            Err(error) => return Err(error.into()),
        }
    };
    let present = vec![Present::default(); input.columns().len()];
    let name = paths.first().and_then(|path| path.file_stem()).unwrap_or_default();
    let name = name.to_string_lossy().split('.').next().unwrap_or_default().to_owned();
    Ok(Rows { name, sample, present, is_table: false })
}

fn of_table(path: &Path, interrupt: &Interrupt) -> anyhow::Result<Rows> {
    let table = Table::open(path)?;
    let columns: Vec<Column> = table.columns().to_vec();
    let request = ScanRequest {
        columns: columns.iter().map(|column| column.name.clone()).collect(),
        batch_rows: BATCH_ROWS,
        ..ScanRequest::default()
    };
    let (mut scan, _) = Scan::plan(&table, &request)?;
    thin(&mut scan, &table);
    let mut intake = Intake::new(columns.clone());
    for partition in 0..scan.partitions.len() {
        for batch in scan.run(partition, table.storage(), Some(&table))? {
            interrupt.check()?;
            intake.push(&batch?)?;
        }
    }
    let sample = intake.finish(Some(table.rows()))?;
    let present = columns.iter().map(|column| present(&table, column)).collect::<Result<_, _>>()?;
    Ok(Rows { name: table.name().to_owned(), sample, present, is_table: true })
}

fn of_part(path: &Path, interrupt: &Interrupt) -> anyhow::Result<Rows> {
    let part = Arc::new(Part::open(&storage::disk(), path)?);
    let columns: Vec<Column> = part.columns().to_vec();
    let count = part.granules().len();
    let stride = usize::try_from(part.rows().div_ceil(ROWS_MAX)).unwrap_or(usize::MAX).max(1);
    let runs = (0..count).step_by(GRANULES).enumerate();
    let kept = runs.filter(|(number, _)| number % stride == 0);
    let request = ReadRequest {
        columns: (0..columns.len()).collect(),
        granules: kept.map(|(_, start)| start..(start + GRANULES).min(count)).collect(),
        batch_rows: BATCH_ROWS,
        strings: Strings::Binary,
    };
    let mut intake = Intake::new(columns);
    for batch in part.read(request)? {
        interrupt.check()?;
        intake.push(&batch?)?;
    }
    let sample = intake.finish(Some(part.rows()))?;
    // What most blocks of a column really have.
    let present = part.column_sizes()?.into_iter().map(|size| Present {
        codec: size.codecs.first().and_then(|codec| codec.parse().ok()),
        on_disk: Some(size.compressed),
    });
    let present = present.collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Rows { name, sample, present, is_table: true })
}

/// What the table says of a column, and what its files take.
fn present(table: &Table, column: &Column) -> anyhow::Result<Present> {
    let defined = table.definition().and_then(|definition| {
        definition.columns.iter().find(|defined| defined.column.name == column.name)
    });
    let mut on_disk = 0;
    for part in table.parts() {
        for (own, size) in part.columns().iter().zip(part.column_sizes()?) {
            if own.name == column.name {
                on_disk += size.compressed;
            }
        }
    }
    let codec = defined.and_then(|defined| defined.codec.clone());
    Ok(Present { codec, on_disk: Some(on_disk) })
}

/// Leaves runs of granules that are spread over a large table.
fn thin(scan: &mut Scan, table: &Table) {
    let rows = table.rows();
    if rows <= ROWS_MAX {
        return;
    }
    let stride = usize::try_from(rows.div_ceil(ROWS_MAX)).unwrap_or(usize::MAX);
    let mut number = 0;
    for ranges in &mut scan.partitions {
        let mut kept = Vec::new();
        for range in ranges.iter() {
            let sizes = table.parts().get(range.part).map_or(&[][..], |part| part.granules());
            for start in (range.start..range.end).step_by(GRANULES) {
                let end = (start + GRANULES).min(range.end);
                if number % stride == 0 {
                    let rows = sizes.get(start..end).unwrap_or_default().iter().sum();
                    kept.push(ScanRange { part: range.part, start, end, rows });
                }
                number += 1;
            }
        }
        *ranges = kept;
    }
}

impl Rows {
    /// An error if there is nothing to advise on.
    pub(in crate::command) fn check(&self) -> Result<(), Failure> {
        if self.sample.rows() == 0 {
            let reason = format!("{}: without rows there is no advice", self.name);
            return Err(Failure::NotFound(reason));
        }
        Ok(())
    }
}
