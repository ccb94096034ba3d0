//! `tambour advise`: which codecs and types suit the columns of a table or of files.

mod json;
pub(super) mod rows;
mod text;

use super::threads;
use crate::cli::AdviseArguments;
use crate::clock;
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use std::io::Write;
use std::path::Path;
use tambour::codec::kernels;
use tambour::table::advise::{AdviseOptions, advise, alter};
use tambour_bench::machine::Machine;

/// The page that `--out` writes.
const PAGE: &str = "report.html";

/// Advises.
pub(crate) fn run(arguments: &AdviseArguments, console: Console) -> anyhow::Result<()> {
    let start = clock::Start::now();
    let rows = rows::read(arguments, console)?;
    rows.check()?;
    let mut options = AdviseOptions {
        goal: arguments.goal.into(),
        server: arguments.server,
        threads: threads(arguments.threads),
        ..AdviseOptions::new(tambour_bench::thread_time)
    };
    if arguments.exhaustive {
        options = options.exhaustive();
    }
    let advice = advise(&rows.sample, &rows.present, &options)?;
    if let Some(directory) = &arguments.out {
        let machine = Machine {
            commit: env!("CARGO_PKG_VERSION").to_owned(),
            command: command_line(),
            date: clock::today(),
            ..Machine::detect(kernels::isa()?)
        };
        let page = tambour_bench::advise::page(&advice, &rows.name, machine).render()?;
        write_page(directory, &page)?;
    }
    if arguments.json {
        stdout::json(&json::advice(&advice, &rows, arguments))?;
    } else {
        let mut target = stdout::text();
        if arguments.alter {
            target
                .write_all(alter::statements(&advice, &rows.name, arguments.server).as_bytes())?;
        } else {
            text::advice(&advice, &rows, arguments.server, &mut target)?;
        }
        target.flush()?;
    }
    console.note(format_args!(
        "advised on {} ({} sampled) in {}",
        quantity::counted(advice.rows, "row", "rows"),
        quantity::grouped(advice.rows_sampled),
        quantity::seconds(start.elapsed()),
    ));
    if let Some(directory) = &arguments.out {
        console.note(format_args!("wrote {}", directory.join(PAGE).display()));
    }
    Ok(())
}

fn command_line() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.collect::<Vec<_>>().join(" ")
}

fn write_page(directory: &Path, page: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory).with_context(|| directory.display().to_string())?;
    let path = directory.join(PAGE);
    std::fs::write(&path, page).with_context(|| path.display().to_string())
}
