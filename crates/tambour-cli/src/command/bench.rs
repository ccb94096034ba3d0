//! `tambour bench`: measures what this machine does.

use super::bench_codecs::{run_codecs, run_columns};
use crate::cli::{
    BenchDecodeArguments, BenchKernelArguments, BenchMessagesArguments, BenchPagesArguments,
    BenchRecordsArguments, Benchmark,
};
use crate::clock;
use crate::output::grid::{Frame, Grid, Heading};
use crate::output::progress::Total;
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use std::io::{self, Read, Write};
use std::path::Path;
use tambour::codec::kernels;
use tambour::kernel::variant::Isa;
use tambour_bench::BenchError;
use tambour_bench::decode::{self, Settings};
use tambour_bench::input::{self, Input};
use tambour_bench::machine::Machine;
use tambour_bench::pages;
use tambour_bench::records;
use tambour_bench::report::Table;
use tambour_bench::{hashes, integers, messages, race};

/// Where the sample files are in a clone of the project.
pub(super) const SAMPLES: &str = "data";

/// Measures and tells.
pub(crate) fn run(benchmark: &Benchmark, console: Console) -> anyhow::Result<()> {
    match benchmark {
        Benchmark::Decode(arguments) => run_decode(arguments, console),
        Benchmark::Codecs(arguments) => run_codecs(arguments, console),
        Benchmark::Columns(arguments) => run_columns(arguments, console),
        Benchmark::Pages(arguments) => run_pages(arguments, console),
        Benchmark::Integers(arguments) => run_integers(arguments, console),
        Benchmark::Hashes(arguments) => run_hashes(arguments, console),
        Benchmark::Messages(arguments) => run_messages(arguments, console),
        Benchmark::Records(arguments) => run_records(arguments, console),
    }
}

fn run_integers(arguments: &BenchKernelArguments, console: Console) -> anyhow::Result<()> {
    let mut settings = integers::Settings {
        rounds: usize::from(arguments.rounds),
        isa: kernels::isa()?,
        ..integers::Settings::default()
    };
    if let Some(values) = arguments.values {
        settings.values = usize::try_from(values)?;
    }
    let mut observe = |what: &str| console.detail(what);
    let results = integers::run(&settings, &mut observe)?;
    tell_race(&results, integers::headings(&results), arguments, console)
}

fn run_hashes(arguments: &BenchKernelArguments, console: Console) -> anyhow::Result<()> {
    let mut settings = hashes::Settings {
        rounds: usize::from(arguments.rounds),
        isa: kernels::isa()?,
        ..hashes::Settings::default()
    };
    if let Some(keys) = arguments.values {
        settings.keys = usize::try_from(keys)?;
    }
    let mut observe = |what: &str| console.detail(what);
    let results = hashes::run(&settings, &mut observe)?;
    tell_race(&results, hashes::headings(&results), arguments, console)
}

fn tell_race(
    results: &race::Results,
    headings: race::Headings,
    arguments: &BenchKernelArguments,
    console: Console,
) -> anyhow::Result<()> {
    let machine = machine(kernels::isa()?);
    let ending = Ending {
        write: &|directory| results.write(directory, headings.clone(), machine.clone()),
        json: &|| results.to_json(&machine),
        tables: &|| results.tables(),
    };
    ending.tell(arguments.out.as_deref(), arguments.json, console)
}

fn run_messages(arguments: &BenchMessagesArguments, console: Console) -> anyhow::Result<()> {
    let inputs =
        if arguments.data.is_empty() { Vec::new() } else { input::files(&arguments.data)? };
    let settings = messages::Settings {
        connections: usize::try_from(arguments.connections)?,
        rounds: usize::from(arguments.rounds),
        ..messages::Settings::default()
    };
    let mut observe = |what: &str| console.detail(what);
    let results = messages::run(&inputs, &settings, &mut observe)?;
    let machine = machine(kernels::isa()?);
    let ending = Ending {
        write: &|directory| results.write(directory, machine.clone()),
        json: &|| results.to_json(&machine),
        tables: &|| vec![results.table()],
    };
    ending.tell(arguments.out.as_deref(), arguments.json, console)
}

/// Tells where the page is.
pub(super) fn note_page(directory: Option<&Path>, console: Console) {
    if let Some(directory) = directory {
        console.note(format_args!("wrote {}", directory.join("report.html").display()));
    }
}

/// What every benchmark does with its results.
pub(super) struct Ending<'a> {
    pub(super) write: &'a dyn Fn(&Path) -> Result<(), BenchError>,
    pub(super) json: &'a dyn Fn() -> serde_json::Value,
    pub(super) tables: &'a dyn Fn() -> Vec<Table>,
}

impl Ending<'_> {
    /// Writes files into a directory, if there is one, and prints one object or tables.
    pub(super) fn tell(
        &self,
        out: Option<&Path>,
        is_json: bool,
        console: Console,
    ) -> anyhow::Result<()> {
        if let Some(directory) = out {
            (self.write)(directory)?;
        }
        if is_json {
            stdout::json(&(self.json)())?;
        } else {
            write_tables(&(self.tables)())?;
        }
        note_page(out, console);
        Ok(())
    }
}

/// Tables, with a line between them.
pub(super) fn write_tables(tables: &[Table]) -> io::Result<()> {
    let mut target = stdout::text();
    for (index, table) in tables.iter().enumerate() {
        if index > 0 {
            writeln!(target)?;
        }
        write_table(&mut target, table)?;
    }
    target.flush()
}

fn run_decode(arguments: &BenchDecodeArguments, console: Console) -> anyhow::Result<()> {
    let isa = kernels::isa()?;
    let inputs = inputs(arguments)?;
    let settings = Settings {
        rounds: usize::from(arguments.rounds),
        isa,
        frontier: arguments.frontier,
        ..Settings::default()
    };
    let mut progress = console.progress("bench", Total::Files(inputs.len() as u64));
    let results = decode::run(&inputs, &settings, &mut |seen| {
        progress.update(seen.files_done as u64, 0);
    })?;
    let time = progress.elapsed();
    drop(progress);

    let machine = machine(isa);
    let files = quantity::counted(inputs.len() as u64, "file", "files");
    console.note(format_args!("{files} in {}", quantity::seconds(time)));
    let ending = Ending {
        write: &|directory| results.write(directory, machine.clone()),
        json: &|| results.to_json(&machine),
        tables: &|| results.tables(&machine),
    };
    ending.tell(arguments.out.as_deref(), arguments.json, console)
}

fn run_pages(arguments: &BenchPagesArguments, console: Console) -> anyhow::Result<()> {
    let memory = Path::new("/dev/shm");
    let directory = match &arguments.dir {
        Some(directory) => directory.clone(),
        None if memory.is_dir() => memory.to_owned(),
        None => std::env::temp_dir(),
    };
    let settings = pages::Settings {
        bytes: usize::try_from(arguments.size.0)?,
        updates: arguments.updates,
        mariadb: arguments.mariadb.clone(),
        ..pages::Settings::of_the_study(directory.clone())
    };
    let cases = settings.case_count() as u64;
    let mut progress = console.progress("bench", Total::Files(cases));
    let results = pages::run(&settings, &mut |done, _| progress.update(done as u64, 0))?;
    let targets = if arguments.promises { pages::run_targets(&directory)? } else { Vec::new() };
    drop(progress);
    let machine = machine(kernels::isa()?);
    if let Some(directory) = &arguments.out {
        results.write(directory, machine.clone())?;
    }
    if arguments.json {
        stdout::json(&results.to_json(&machine))?;
    } else {
        let mut target = stdout::text();
        write_table(&mut target, &results.table())?;
        if let Some(table) = results.served_table() {
            writeln!(target)?;
            write_table(&mut target, &table)?;
        }
        if !targets.is_empty() {
            writeln!(target)?;
            write_table(&mut target, &pages::targets_table(&targets))?;
        }
        target.flush()?;
    }
    if let Some(directory) = &arguments.out {
        console.note(format_args!("wrote {}", directory.join("report.html").display()));
    }
    Ok(())
}

fn run_records(arguments: &BenchRecordsArguments, console: Console) -> anyhow::Result<()> {
    let isa = kernels::isa()?;
    // A tmpfs where there is one: the disk is not what is measured.
    let memory = Path::new("/dev/shm");
    let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let directory = parent.join(format!("tambour-bench-records-{}", std::process::id()));
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
    let mut progress = console.progress("bench", Total::Files(corpora.len() as u64));
    let mut done = 0;
    let results = records::run(&corpora, &settings, &mut |_| {
        progress.update(done, 0);
        done += 1;
    });
    drop(progress);
    let _ = std::fs::remove_dir_all(&directory);
    let results = results?;
    let machine = machine(isa);
    if let Some(directory) = &arguments.out {
        let page = directory.join("report.html");
        let place = || page.display().to_string();
        std::fs::create_dir_all(directory).with_context(place)?;
        let html = records::page(&results, machine.clone()).render()?;
        std::fs::write(&page, html).with_context(place)?;
        console.note(format_args!("wrote {}", page.display()));
    }
    if arguments.json {
        return Ok(stdout::json(&records::to_json(&results, &machine))?);
    }
    let mut target = stdout::text();
    for corpus in &results.corpora {
        write_table(&mut target, &records::table(corpus))?;
    }
    Ok(target.flush()?)
}

/// What the user named, or the defaults.
fn inputs(arguments: &BenchDecodeArguments) -> anyhow::Result<Vec<Input>> {
    if arguments.data.is_empty() {
        Ok(input::defaults(Path::new(SAMPLES))?)
    } else {
        Ok(input::files(&arguments.data)?)
    }
}

/// This machine and this run.
pub(crate) fn machine(isa: Isa) -> Machine {
    let version = env!("CARGO_PKG_VERSION");
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    Machine {
        // Release builds know from which commit they are (build.rs).
        commit: match option_env!("TAMBOUR_COMMIT") {
            Some(commit) => format!("{version} ({commit})"),
            None => version.to_owned(),
        },
        command: words.collect::<Vec<_>>().join(" "),
        date: clock::today(),
        ..Machine::detect(isa)
    }
}

/// A table with its title.
pub(crate) fn write_table(target: &mut dyn Write, table: &Table) -> io::Result<()> {
    writeln!(target, "{}", table.title)?;
    let heading = |column: &tambour_bench::report::Column| {
        if column.right { Heading::number(&column.name) } else { Heading::text(&column.name) }
    };
    let mut grid = Grid::new(table.columns.iter().map(heading).collect());
    for row in &table.rows {
        grid.push(row.iter().cloned());
    }
    match grid.widths(Frame::Plain, None) {
        Some(widths) => grid.write(target, Frame::Plain, &widths, None),
        None => Ok(()),
    }
}
