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
use tambour::advise::{Advice, AdviseOptions, advise, alter};
use tambour::codec::kernels;
use tambour::files::ReadOptions;
use tambour::sample::{self, Rows, Seen};
#[cfg(feature = "cluster")]
use tambour::table::Table;
use tambour::table::store::is_url;
use tambour_report::{Machine, clock::thread_time};

/// Advises.
pub(crate) fn run(arguments: &AdviseArguments, console: Console) -> anyhow::Result<()> {
    let start = clock::Start::now();
    let mut options = AdviseOptions {
        goal: arguments.goal.into(),
        server: arguments.server,
        portable: arguments.portable,
        threads: threads(arguments.threads),
        ..AdviseOptions::new(thread_time)
    };
    if arguments.exhaustive {
        options = options.exhaustive();
    }
    let (rows, advice) = make(arguments, &options, console)?;
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

/// Reads the sample and makes the advice, on workers if there are any.
fn make(
    arguments: &AdviseArguments,
    options: &AdviseOptions,
    console: Console,
) -> anyhow::Result<(Rows, Advice)> {
    #[cfg(feature = "cluster")]
    if let Some(cluster) = super::worker::errands(&arguments.cluster)? {
        let path = match &arguments.paths[..] {
            [path] if path.is_dir() || is_url(path) => path,
            _ => {
                let what = "--workers advise on one table, not on files: leave them out";
                return Err(Failure::Usage(what.to_owned()).into());
            }
        };
        let table = Table::open(path)?;
        let rows = some(observed(console, |observe| sample::of_opened(&table, observe))?)?;
        let advice = cluster.advise(&table, &rows, options)?;
        return Ok((rows, advice));
    }
    let rows = some(read(arguments, console)?)?;
    let advice = advise(&rows.sample, &rows.present, options)?;
    Ok((rows, advice))
}

/// An error if there are no rows.
fn some(rows: Rows) -> Result<Rows, Failure> {
    if rows.sample.rows() == 0 {
        let reason = format!("{}: without rows there is no advice", rows.name);
        return Err(Failure::NotFound(reason));
    }
    Ok(rows)
}

/// Shows how far reading is.
fn observed<T>(
    console: Console,
    work: impl FnOnce(&mut dyn FnMut(Seen) -> anyhow::Result<()>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let interrupt = Interrupt::listen();
    let mut progress = None;
    work(&mut |seen: Seen| {
        let total = seen.bytes_total.map_or(Total::Unknown, Total::Bytes);
        let progress = progress.get_or_insert_with(|| console.progress("advise", total));
        progress.update(seen.bytes, seen.rows);
        Ok(interrupt.check()?)
    })
}

/// Reads what the arguments name: a table, or files.
fn read(arguments: &AdviseArguments, console: Console) -> anyhow::Result<Rows> {
    observed(console, |observe| match &arguments.paths[..] {
        [path] if path.is_dir() || is_url(path) => sample::of_table(path, observe),
        paths => {
            let options = ReadOptions {
                format: arguments.format.map(Into::into),
                threads: threads(arguments.threads),
                ..ReadOptions::default()
            };
            sample::of_files(paths, options, observe)
        }
    })
}
