//! `tambour bench`: measures what this machine does.

use crate::cli::{BenchDecodeArguments, BenchPagesArguments, Benchmark};
use crate::clock;
use crate::output::grid::{Frame, Grid, Heading};
use crate::output::progress::Total;
use crate::output::{Console, quantity, stdout};
use std::io::{self, Write};
use std::path::Path;
use tambour::codec::kernels;
use tambour::kernel::variant::Isa;
use tambour_bench::decode::{self, Settings};
use tambour_bench::input::{self, Input};
use tambour_bench::machine::Machine;
use tambour_bench::pages;
use tambour_bench::report::Table;

/// Where the sample files are in a clone of the project.
const SAMPLES: &str = "data";

/// Measures and tells.
pub(crate) fn run(benchmark: &Benchmark, console: Console) -> anyhow::Result<()> {
    match benchmark {
        Benchmark::Decode(arguments) => run_decode(arguments, console),
        Benchmark::Pages(arguments) => run_pages(arguments, console),
    }
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
    if let Some(directory) = &arguments.out {
        results.write(directory, machine.clone())?;
    }
    if arguments.json {
        stdout::json(&results.to_json(&machine))?;
    } else {
        let mut target = stdout::text();
        for (index, table) in results.tables(&machine).iter().enumerate() {
            if index > 0 {
                writeln!(target)?;
            }
            write_table(&mut target, table)?;
        }
        target.flush()?;
    }
    let files = quantity::counted(inputs.len() as u64, "file", "files");
    console.note(format_args!("{files} in {}", quantity::seconds(time)));
    if let Some(directory) = &arguments.out {
        console.note(format_args!("wrote {}", directory.join("report.html").display()));
    }
    Ok(())
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
        ..pages::Settings::of_the_study(directory.clone())
    };
    let mut progress = console.progress("bench", Total::Files(48));
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
        // Whoever builds a release may say from which commit.
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
