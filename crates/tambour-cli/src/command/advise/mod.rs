//! `tambour advise`: which codecs and types suit the columns of a table or of files.

mod json;
mod text;

use super::threads;
use crate::cli::AdviseArguments;
use crate::clock;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::progress::Total;
use crate::output::{Console, quantity, stdout};
use std::io::Write;
use tambour::advise::{AdviseOptions, advise, alter};
use tambour::codec::kernels;
use tambour::files::ReadOptions;
use tambour::sample::{self, Rows, Seen};
use tambour::table::store::is_url;
use tambour_report::{Machine, clock::thread_time};

/// Advises.
pub(crate) fn run(arguments: &AdviseArguments, console: Console) -> anyhow::Result<()> {
    let start = clock::Start::now();
    let rows = read(arguments, console)?;
    if rows.sample.rows() == 0 {
        let reason = format!("{}: without rows there is no advice", rows.name);
        return Err(Failure::NotFound(reason).into());
    }
    let mut options = AdviseOptions {
        goal: arguments.goal.into(),
        server: arguments.server,
        threads: threads(arguments.threads),
        ..AdviseOptions::new(thread_time)
    };
    if arguments.exhaustive {
        options = options.exhaustive();
    }
    let advice = advise(&rows.sample, &rows.present, &options)?;
    if let Some(directory) = &arguments.out {
        let machine = Machine::of_this_run(kernels::isa()?);
        let page = tambour_report::advise::page(&advice, &rows.name, machine);
        tambour_report::write(directory, &[], &page)?;
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
        console.note(format_args!("wrote {}", directory.join("report.html").display()));
    }
    Ok(())
}

/// Reads what the arguments name: a table, or files.
fn read(arguments: &AdviseArguments, console: Console) -> anyhow::Result<Rows> {
    let interrupt = Interrupt::listen();
    let mut progress = None;
    let mut observe = |seen: Seen| -> anyhow::Result<()> {
        let total = seen.bytes_total.map_or(Total::Unknown, Total::Bytes);
        let progress = progress.get_or_insert_with(|| console.progress("advise", total));
        progress.update(seen.bytes, seen.rows);
        Ok(interrupt.check()?)
    };
    match &arguments.paths[..] {
        [path] if path.is_dir() || is_url(path) => sample::of_table(path, &mut observe),
        paths => {
            let options = ReadOptions {
                format: arguments.format.map(Into::into),
                threads: threads(arguments.threads),
                ..ReadOptions::default()
            };
            sample::of_files(paths, options, &mut observe)
        }
    }
}
