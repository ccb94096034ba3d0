//! The rows that advice is made from: of files, or of a table's or a part's granules.

use super::super::target::Target;
use super::super::threads;
use crate::cli::AdviseArguments;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::Console;
use crate::output::progress::{Progress, Total};
use std::path::{Path, PathBuf};
use tambour::files::ReadOptions;
use tambour::table::advise::{Present, Sample};
use tambour::{ImportEvent, Sampled, Table};

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
    let mut progress: Option<Progress> = None;
    let tell = &mut |event: ImportEvent<'_>| {
        match event {
            ImportEvent::Opened { bytes_total } => {
                let total = bytes_total.map_or(Total::Unknown, Total::Bytes);
                progress = Some(console.progress("advise", total));
            }
            ImportEvent::Rows { rows, bytes } => {
                if let Some(progress) = &mut progress {
                    progress.update(bytes, rows);
                }
            }
            _ => {}
        }
        interrupt.flow()
    };
    let sampled = Sampled::files(paths, options, tell)?;
    let name = paths.first().and_then(|path| path.file_stem()).unwrap_or_default();
    let name = name.to_string_lossy().split('.').next().unwrap_or_default().to_owned();
    Ok(Rows::new(name, sampled, false))
}

fn of_table(path: &Path, interrupt: &Interrupt) -> anyhow::Result<Rows> {
    let table = Table::open(path)?;
    let sampled = Sampled::table(&table, &mut |_| interrupt.flow())?;
    Ok(Rows::new(table.name().to_owned(), sampled, true))
}

fn of_part(path: &Path, interrupt: &Interrupt) -> anyhow::Result<Rows> {
    let sampled = Sampled::part(path, &mut |_| interrupt.flow())?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Rows::new(name, sampled, true))
}

impl Rows {
    fn new(name: String, sampled: Sampled, is_table: bool) -> Self {
        let (sample, present) = (sampled.sample, sampled.present);
        Self { name, sample, present, is_table }
    }

    /// An error if there is nothing to advise on.
    pub(in crate::command) fn check(&self) -> Result<(), Failure> {
        if self.sample.rows() == 0 {
            let reason = format!("{}: without rows there is no advice", self.name);
            return Err(Failure::NotFound(reason));
        }
        Ok(())
    }
}
