//! `tambour bench codecs` and `tambour bench columns`: on generated columns, and on those of tables, parts and files.

use super::advise::rows::{Rows, of_path};
use super::bench::{Ending, SAMPLES, machine};
use super::threads;
use crate::cli::{BenchCodecsArguments, BenchColumnsArguments};
use crate::exit::Failure;
use crate::output::Console;
use std::path::{Path, PathBuf};
use tambour::codec::kernels;
use tambour_bench::codecs::{self, TypedColumn};
use tambour_bench::columns;

/// Extensions of the sample files that have rows.
const EXTENSIONS: [&str; 3] = ["csv", "arrow", "parquet"];

pub(super) fn run_codecs(arguments: &BenchCodecsArguments, console: Console) -> anyhow::Result<()> {
    let isa = kernels::isa()?;
    let bytes = usize::try_from(arguments.size.0)?;
    let settings = codecs::Settings { rounds: usize::from(arguments.rounds), bytes, isa };
    let mut all = codecs::generated(bytes);
    for path in &arguments.data {
        all.extend(typed(&of_path(path, console)?)?);
    }
    let results = codecs::run(&all, &settings, &mut |what| console.detail(what))?;
    let machine = machine(isa);
    let ending = Ending {
        write: &|directory| results.write(directory, machine.clone()),
        json: &|| results.to_json(&machine),
        tables: &|| results.tables(),
    };
    ending.tell(arguments.out.as_deref(), arguments.json, console)
}

/// The streams of values of all columns.
fn typed(rows: &Rows) -> anyhow::Result<Vec<TypedColumn>> {
    rows.check()?;
    let mut all = Vec::new();
    for (index, column) in rows.sample.columns().iter().enumerate() {
        let streams = rows.sample.streams(index)?;
        let values = streams.into_iter().filter(|it| it.holds_values && !it.bytes.is_empty());
        for (number, stream) in values.enumerate() {
            let name = match number {
                0 => format!("{}.{}", rows.name, column.name),
                _ => format!("{}.{} ({number})", rows.name, column.name),
            };
            let data_type = column.data_type.to_string();
            let (element, bytes) = (stream.element, stream.bytes);
            all.push(TypedColumn { name, data_type, element, bytes });
        }
    }
    Ok(all)
}

pub(super) fn run_columns(
    arguments: &BenchColumnsArguments,
    console: Console,
) -> anyhow::Result<()> {
    let paths = if arguments.data.is_empty() {
        samples(Path::new(SAMPLES))?
    } else {
        arguments.data.clone()
    };
    let mut tables = Vec::new();
    for path in &paths {
        let rows = of_path(path, console)?;
        rows.check()?;
        let Rows { name, sample, present, .. } = rows;
        tables.push(columns::Rows { name, sample, present });
    }
    let rounds = usize::from(arguments.rounds);
    let settings = columns::Settings { rounds, threads: threads(None) };
    let results = columns::run(&tables, &settings, &mut |what| console.detail(what))?;
    let machine = machine(kernels::isa()?);
    let ending = Ending {
        write: &|directory| results.write(directory, machine.clone()),
        json: &|| results.to_json(&machine),
        tables: &|| results.tables(),
    };
    ending.tell(arguments.out.as_deref(), arguments.json, console)
}

/// The sample files of a clone of the project.
fn samples(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if directory.is_dir() {
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            let extension = path.extension().unwrap_or_default().to_string_lossy();
            if EXTENSIONS.contains(&extension.as_ref()) {
                found.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        let what = format!("no files in {SAMPLES}: --data names tables, parts or files");
        return Err(Failure::NotFound(what).into());
    }
    Ok(found)
}
