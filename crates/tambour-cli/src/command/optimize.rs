//! `tambour optimize`: merges the parts of a table.

use super::threads;
use crate::cli::OptimizeArguments;
use crate::interrupt::Interrupt;
use crate::output::progress::Total;
use crate::output::{Console, quantity, stdout};
use serde_json::json;
use tambour::part::storage;
use tambour::store::Table;
use tambour::store::table::merge::{OptimizeOptions, optimize};

/// Merges and tells what came of it.
pub(crate) fn run(arguments: &OptimizeArguments, console: Console) -> anyhow::Result<()> {
    // The merge cannot be asked to stop; ended at once, it leaves the table as it was.
    let _interrupt = Interrupt::listen();
    let before = Table::open(&arguments.table)?;
    let (rows, bytes_before) = (before.rows(), bytes_on_disk(&before));
    drop(before);

    let options =
        OptimizeOptions { memory_bytes: arguments.memory.0, threads: threads(arguments.threads) };
    let mut progress = console.progress("optimize", Total::Rows(rows));
    let summary = optimize(&storage::disk(), &arguments.table, &options, &mut |rows| {
        progress.update(0, rows);
    })?;
    let time = progress.elapsed();
    drop(progress);

    let bytes_after = bytes_on_disk(&Table::open(&arguments.table)?);
    if arguments.json {
        stdout::json(&json!({
            "schema": "tambour/optimize/1",
            "table": arguments.table.display().to_string(),
            "parts_before": summary.parts_before,
            "parts_after": summary.parts_after,
            "rows": summary.rows,
            "bytes_before": bytes_before,
            "bytes_after": bytes_after,
            "seconds": time.as_secs_f64(),
        }))?;
    } else if summary.rows == 0 {
        console.note(format_args!("{}: nothing to merge", arguments.table.display()));
    } else {
        console.note(format_args!(
            "{}: {} -> {}, {}, {} -> {}, {}, {} rows/s",
            arguments.table.display(),
            quantity::grouped(summary.parts_before),
            quantity::counted(summary.parts_after, "part", "parts"),
            quantity::counted(summary.rows, "row", "rows"),
            quantity::bytes(bytes_before),
            quantity::bytes(bytes_after),
            quantity::seconds(time),
            quantity::rate(quantity::per_second(summary.rows, time)),
        ));
    }
    Ok(())
}

fn bytes_on_disk(table: &Table) -> u64 {
    table.parts().iter().map(|part| part.bytes_on_disk()).sum()
}
