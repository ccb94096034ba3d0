//! Runs a benchmark, and tells what it found.

use super::arguments::{
    Benchmark, CodecsArguments, ColumnsArguments, DecodeArguments, KernelArguments,
    MessagesArguments, PagesArguments, RecordsArguments, SearchArguments,
};
use super::console::Console;
use super::{Usage, print};
use anyhow::Context;
use std::fmt::Write;
use std::io::Read;
use std::path::{Path, PathBuf};
use tambour::files::ReadOptions;
use tambour::sample::{self, Rows};
use tambour_bench::codecs::TypedColumn;
use tambour_bench::input::{self, Input};
use tambour_bench::{
    BenchError, Findings, codecs, columns, decode, hashes, integers, messages, pages, reading,
    records, search,
};
use tambour_codec::kernels;
use tambour_kernel::variant::Isa;
use tambour_report::Machine;

/// Where the sample files are in a clone of the project.
const SAMPLES: &str = "data";
/// Extensions of the sample files that have rows.
const ROW_EXTENSIONS: [&str; 3] = ["csv", "arrow", "parquet"];

/// What a benchmark found.
type Found = anyhow::Result<Box<dyn Findings>>;

/// Measures and tells.
pub(super) fn run(benchmark: &Benchmark, console: Console) -> anyhow::Result<()> {
    // An unknown or unavailable level in TAMBOUR_ISA is a wrong call.
    let isa = kernels::isa().map_err(|error| Usage(error.to_string()))?;
    let found = match benchmark {
        Benchmark::Decode(arguments) => decode(arguments, isa, console),
        Benchmark::Codecs(arguments) => codecs(arguments, isa, console),
        Benchmark::Columns(arguments) => columns(arguments, console),
        Benchmark::Pages(arguments) => pages(arguments, console),
        Benchmark::Integers(arguments) => integers(arguments, isa, console),
        Benchmark::Hashes(arguments) => hashes(arguments, isa, console),
        Benchmark::Messages(arguments) => messages(arguments, console),
        Benchmark::Records(arguments) => records(arguments, console),
        Benchmark::Search(arguments) => search(arguments, console),
    }?;
    let (output, machine) = (benchmark.output(), Machine::of_this_run(isa));
    if let Some(directory) = &output.out {
        found.write(directory, machine.clone())?;
    }
    let mut text = String::new();
    if output.json {
        text = serde_json::to_string_pretty(&found.to_json(&machine))?;
        text.push('\n');
    } else {
        for (place, table) in found.tables(&machine).iter().enumerate() {
            let between = if place > 0 { "\n" } else { "" };
            write!(text, "{between}{}\n{}", table.title, table.to_text())?;
        }
    }
    print(&text)?;
    if let Some(directory) = &output.out {
        console.note(format_args!("wrote {}", directory.join("report.html").display()));
    }
    Ok(())
}

fn decode(arguments: &DecodeArguments, isa: Isa, console: Console) -> Found {
    let inputs = match &arguments.data[..] {
        [] => input::defaults(Path::new(SAMPLES))?,
        paths => input::files(paths)?,
    };
    let settings = decode::Settings {
        rounds: usize::from(arguments.rounds),
        isa,
        frontier: arguments.frontier,
        ..decode::Settings::default()
    };
    let results = decode::run(&inputs, &settings, &mut |seen| {
        console.progress(seen.files_done, seen.files);
    })?;
    console.progress(inputs.len(), inputs.len());
    Ok(Box::new(results))
}

fn codecs(arguments: &CodecsArguments, isa: Isa, console: Console) -> Found {
    let bytes = usize::try_from(arguments.size.0)?;
    let settings = codecs::Settings { rounds: usize::from(arguments.rounds), bytes, isa };
    let mut all = codecs::generated(bytes);
    for rows in rows(&arguments.data)? {
        all.extend(typed(&rows)?);
    }
    Ok(Box::new(codecs::run(&all, &settings, &mut |what| console.detail(what))?))
}

/// The streams of values of all columns.
fn typed(rows: &Rows) -> anyhow::Result<Vec<TypedColumn>> {
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

fn columns(arguments: &ColumnsArguments, console: Console) -> Found {
    if arguments.io {
        return Ok(Box::new(reading::run(&arguments.data, usize::from(arguments.rounds))?));
    }
    let tables: Vec<columns::Rows> = rows_or_samples(&arguments.data)?
        .into_iter()
        .map(|Rows { name, sample, present, .. }| columns::Rows { name, sample, present })
        .collect();
    let settings = columns::Settings { rounds: usize::from(arguments.rounds), threads: threads() };
    Ok(Box::new(columns::run(&tables, &settings, &mut |what| console.detail(what))?))
}

fn search(arguments: &SearchArguments, console: Console) -> Found {
    let mut outcomes = Vec::new();
    for rows in rows_or_samples(&arguments.data)? {
        console.detail(&rows.name);
        outcomes.push(search::run(&rows.name, &rows.sample)?);
    }
    Ok(Box::new(search::Results { outcomes }))
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The rows of tables, parts and files; of the sample files, if none are named.
fn rows_or_samples(paths: &[PathBuf]) -> anyhow::Result<Vec<Rows>> {
    if !paths.is_empty() {
        return rows(paths);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(SAMPLES).into_iter().flatten() {
        let path = entry.context(SAMPLES)?.path();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if ROW_EXTENSIONS.contains(&extension.as_ref()) {
            found.push(path);
        }
    }
    found.sort();
    anyhow::ensure!(
        !found.is_empty(),
        "no files in {SAMPLES}: --data names tables, parts or files"
    );
    rows(&found)
}

fn rows(paths: &[PathBuf]) -> anyhow::Result<Vec<Rows>> {
    let mut all = Vec::new();
    for path in paths {
        let options = ReadOptions { threads: threads(), ..ReadOptions::default() };
        let rows = sample::of_path::<anyhow::Error>(path, options, &mut |_| Ok(()))?;
        anyhow::ensure!(rows.sample.rows() > 0, "{}: no rows to measure on", path.display());
        all.push(rows);
    }
    Ok(all)
}

fn integers(arguments: &KernelArguments, isa: Isa, console: Console) -> Found {
    let rounds = usize::from(arguments.rounds);
    let mut settings = integers::Settings { rounds, isa, ..integers::Settings::default() };
    if let Some(values) = arguments.values {
        settings.values = usize::try_from(values)?;
    }
    Ok(Box::new(integers::run(&settings, &mut |what| console.detail(what))?))
}

fn hashes(arguments: &KernelArguments, isa: Isa, console: Console) -> Found {
    let rounds = usize::from(arguments.rounds);
    let mut settings = hashes::Settings { rounds, isa, ..hashes::Settings::default() };
    if let Some(keys) = arguments.values {
        settings.keys = usize::try_from(keys)?;
    }
    Ok(Box::new(hashes::run(&settings, &mut |what| console.detail(what))?))
}

fn messages(arguments: &MessagesArguments, console: Console) -> Found {
    let inputs: Vec<Input> = match &arguments.data[..] {
        [] => Vec::new(),
        paths => input::files(paths)?,
    };
    let settings = messages::Settings {
        connections: usize::try_from(arguments.connections)?,
        rounds: usize::from(arguments.rounds),
        ..messages::Settings::default()
    };
    Ok(Box::new(messages::run(&inputs, &settings, &mut |what| console.detail(what))?))
}

/// A file system in memory where there is one: the disk is not what is measured.
fn memory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

fn pages(arguments: &PagesArguments, console: Console) -> Found {
    let directory = arguments.dir.clone().unwrap_or_else(memory);
    let settings = pages::Settings {
        bytes: usize::try_from(arguments.size.0)?,
        updates: arguments.updates,
        mariadb: arguments.mariadb.clone(),
        ..pages::Settings::of_the_study(directory.clone())
    };
    let mut results = pages::run(&settings, &mut |done, all| console.progress(done, all))?;
    if arguments.promises {
        results.promises = pages::run_targets(&directory)?;
    }
    Ok(Box::new(results))
}

fn records(arguments: &RecordsArguments, console: Console) -> Found {
    let directory = memory().join(format!("tambour-bench-records-{}", std::process::id()));
    let settings = records::Settings {
        rounds: usize::from(arguments.rounds),
        reads: arguments.reads as usize,
        seed: 1,
        log_bytes: usize::try_from(arguments.bytes.0).unwrap_or(usize::MAX),
        directory: directory.clone(),
    };
    let mut corpora = vec![records::generated(&settings)];
    for file in &arguments.data {
        let name = file.display().to_string();
        let mut text = Vec::new();
        let read = tambour::files::text_reader(file)?.read_to_end(&mut text);
        read.with_context(|| name.clone())?;
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        corpora.push(records::Corpus { name, records: lines.collect() });
    }
    let mut done = 0;
    let results: Result<_, BenchError> = records::run(&corpora, &settings, &mut |_| {
        console.progress(done, corpora.len());
        done += 1;
    });
    console.progress(corpora.len(), corpora.len());
    let _ = std::fs::remove_dir_all(&directory);
    Ok(Box::new(results?))
}
