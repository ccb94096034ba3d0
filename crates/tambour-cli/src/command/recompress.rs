//! `tambour recompress`: other codecs for the parts of a table, block by block.

use crate::argument::{CodecChoice, check_portable};
use crate::cli::RecompressArguments;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::progress::Total;
use crate::output::{Console, quantity, stdout};
use serde_json::json;
use tambour::codec::spec::CodecSpec;
use tambour::storage;
use tambour::table::Table;
use tambour::table::recompress::{RecompressSummary, recompress};
use tambour::table::schema::ChooseCodec;
use tambour::table::store::refuse_url;

/// Recompresses and tells what came of it.
pub(crate) fn run(arguments: &RecompressArguments, console: Console) -> anyhow::Result<()> {
    // Ended at once, the work leaves the parts that are done, and the others as they were.
    let _interrupt = Interrupt::listen();
    check_portable(arguments.portable, arguments.codec.iter().map(|choice| &choice.codec))?;
    refuse_url(&arguments.table)?;
    let table = Table::open(&arguments.table)?;
    check_columns(&table, &arguments.codec)?;
    let mut total = 0;
    for part in table.parts() {
        total += part.column_sizes()?.iter().map(|size| size.uncompressed).sum::<u64>();
    }
    drop(table);
    let mut progress = console.progress("recompress", Total::Bytes(total));
    let choose = |column: &str| chosen(&arguments.codec, column, arguments.portable);
    let summary = write(arguments, &choose, &mut |bytes| progress.update(bytes, 0))?;
    let time = progress.elapsed();
    drop(progress);
    if arguments.json {
        stdout::json(&json!({
            "schema": "tambour/recompress/1",
            "table": arguments.table.display().to_string(),
            "parts": summary.parts,
            "parts_done_before": summary.parts_done_before,
            "bytes_before": summary.bytes_before,
            "bytes_after": summary.bytes_after,
            "bytes_uncompressed": summary.uncompressed,
            "seconds": time.as_secs_f64(),
        }))?;
        return Ok(());
    }
    let resumed = match summary.parts_done_before {
        0 => String::new(),
        done => format!(", {} done before", quantity::counted(done, "part was", "parts were")),
    };
    console.note(format_args!(
        "{}: {}{resumed}, {} -> {} ({} decoded), {}",
        arguments.table.display(),
        quantity::counted(summary.parts, "part", "parts"),
        quantity::bytes(summary.bytes_before),
        quantity::bytes(summary.bytes_after),
        quantity::bytes(summary.uncompressed),
        quantity::seconds(time),
    ));
    Ok(())
}

/// Here, or on the workers that were named.
fn write(
    arguments: &RecompressArguments,
    choose: &ChooseCodec<'_>,
    told: &mut (dyn FnMut(u64) + Send),
) -> anyhow::Result<RecompressSummary> {
    #[cfg(feature = "cluster")]
    if let Some(cluster) = super::worker::errands(&arguments.cluster)? {
        return Ok(cluster.recompress(&arguments.table, choose, told)?);
    }
    Ok(recompress(&storage::disk(), &arguments.table, choose, told)?)
}

/// The last choice for a column, else the last for all; codecs of our own are among what it chooses from unless ClickHouse
/// has to read them.
pub(super) fn chosen(
    choices: &[CodecChoice],
    column: &str,
    is_portable: bool,
) -> Option<CodecSpec> {
    let own = choices.iter().rev().find(|choice| choice.column.as_deref() == Some(column));
    let all = choices.iter().rev().find(|choice| choice.column.is_none());
    let codec = own.or(all).map(|choice| choice.codec.clone());
    if is_portable { codec } else { codec.map(CodecSpec::with_own) }
}

/// An error if a choice is for a column that the table does not have.
pub(super) fn check_columns(table: &Table, choices: &[CodecChoice]) -> anyhow::Result<()> {
    for name in choices.iter().filter_map(|choice| choice.column.as_ref()) {
        if !table.columns().iter().any(|column| column.name == *name) {
            let names: Vec<&str> = table.columns().iter().map(|it| it.name.as_str()).collect();
            let names = names.join(", ");
            let text = format!("--codec: no column {name:?}; the columns are: {names}");
            return Err(Failure::NotFound(text).into());
        }
    }
    Ok(())
}
