//! `tambour optimize`: merges the parts of a table, with other codecs if they are named.

use super::recompress::{check_columns, chosen};
use super::threads;
use crate::argument::check_portable;
use crate::cli::OptimizeArguments;
use crate::clock;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::progress::Total;
use crate::output::{Console, quantity, stdout};
use serde_json::json;
use std::path::Path;
use tambour::storage;
use tambour::table::Table;
use tambour::table::merge::{OptimizeOptions, OptimizeSummary, optimize_with};
use tambour::table::schema::ChooseCodec;
use tambour::table::store::refuse_url;

mod watch;

/// Merges and tells what came of it.
pub(crate) fn run(arguments: &OptimizeArguments, console: Console) -> anyhow::Result<()> {
    arguments.tables.iter().try_for_each(|table| refuse_url(table))?;
    if arguments.watch {
        return watch::run(arguments, console);
    }
    let [table] = arguments.tables.as_slice() else {
        let what = "several tables go with --watch only";
        return Err(Failure::Usage(what.to_owned()).into());
    };
    // The merge cannot be asked to stop; ended at once, it leaves the table as it was.
    let _interrupt = Interrupt::listen();
    check_portable(arguments.portable, arguments.codec.iter().map(|choice| &choice.codec))?;
    let before = Table::open(table)?;
    check_columns(&before, &arguments.codec)?;
    let (rows, bytes_before) = (before.rows(), bytes_on_disk(&before));
    drop(before);

    let options = options(arguments);
    let choose = |column: &str| chosen(&arguments.codec, column, arguments.portable);
    let codecs: Option<&ChooseCodec<'_>> =
        if arguments.codec.is_empty() { None } else { Some(&choose) };
    let mut progress = console.progress("optimize", Total::Rows(rows));
    let mut told = |rows| progress.update(0, rows);
    let summary = merge(arguments, table, &options, codecs, &mut told)?;
    let time = progress.elapsed();
    drop(progress);

    let bytes_after = bytes_on_disk(&Table::open(table)?);
    if arguments.json {
        stdout::json(&json!({
            "schema": "tambour/optimize/1",
            "table": table.display().to_string(),
            "parts_before": summary.parts_before,
            "parts_after": summary.parts_after,
            "rows": summary.rows,
            "rows_expired": summary.rows_expired,
            "bytes_before": bytes_before,
            "bytes_after": bytes_after,
            "seconds": time.as_secs_f64(),
        }))?;
    } else if summary.rows == 0 && summary.rows_expired == 0 {
        console.note(format_args!("{}: nothing to merge", table.display()));
    } else {
        console.note(format_args!(
            "{}: {} -> {}, {}, {} -> {}, {}, {} rows/s",
            table.display(),
            quantity::grouped(summary.parts_before),
            quantity::counted(summary.parts_after, "part", "parts"),
            quantity::counted(summary.rows, "row", "rows"),
            quantity::bytes(bytes_before),
            quantity::bytes(bytes_after),
            quantity::seconds(time),
            quantity::rate(quantity::per_second(summary.rows, time)),
        ));
    }
    if summary.rows_expired > 0 && !arguments.json {
        console.note(format_args!(
            "{} had expired by the table's TTL and went",
            quantity::counted(summary.rows_expired, "row", "rows"),
        ));
    }
    Ok(())
}

/// Here, or on the workers that were named.
fn merge(
    arguments: &OptimizeArguments,
    table: &Path,
    options: &OptimizeOptions,
    codecs: Option<&ChooseCodec<'_>>,
    told: &mut (dyn FnMut(u64) + Send),
) -> anyhow::Result<OptimizeSummary> {
    #[cfg(feature = "cluster")]
    if let Some(cluster) = super::worker::errands(&arguments.cluster)? {
        return Ok(cluster.optimize(table, options, codecs, told)?);
    }
    Ok(optimize_with(&storage::disk(), table, options, codecs, told)?)
}

fn options(arguments: &OptimizeArguments) -> OptimizeOptions {
    OptimizeOptions {
        partition: None,
        memory_bytes: arguments.memory.0,
        threads: threads(arguments.threads),
        now: if arguments.keep_expired { None } else { clock::unix_seconds() },
    }
}

fn bytes_on_disk(table: &Table) -> u64 {
    table.parts().iter().map(|part| part.bytes_on_disk()).sum()
}
