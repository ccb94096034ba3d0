//! `tambour salvage`: a new table of what a damaged part still holds.

use super::import::create_statement;
use super::threads;
use crate::cli::SalvageArguments;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::{Console, quantity, stdout};
use serde_json::json;
use std::io::Write;
use tambour::part::part::Mend;
use tambour::storage;
use tambour::table::salvage::{Loss, Salvage, SalvageOptions, salvage_into};
use tambour::table::store::{refuse_url, storage_of};

/// Salvages and tells each loss.
pub(crate) fn run(arguments: &SalvageArguments, console: Console) -> anyhow::Result<()> {
    // Ended at once, it leaves no table behind.
    let _interrupt = Interrupt::listen();
    refuse_url(&arguments.to)?;
    let definition = arguments.create.as_deref().map(create_statement).transpose()?;
    let options =
        SalvageOptions { definition, fill: arguments.fill, threads: threads(arguments.threads) };
    let from = storage_of(&arguments.part)?;
    let (from, to) = ((&from, &*arguments.part), (&storage::disk(), &*arguments.to));
    let saved = salvage_into(from, to, &options)?;
    if arguments.json {
        stdout::json(&to_json(arguments, &saved))?;
    } else {
        let mut lines = stdout::text();
        for (file, Mend { offset, bit }) in &saved.mends {
            writeln!(lines, "put right: bit {bit} of byte {offset} of {file}")?;
        }
        for file in &saved.marks_rebuilt {
            writeln!(lines, "found again: the marks of {file}, by reading what they are of")?;
        }
        for loss in &saved.losses {
            writeln!(lines, "{}", line(loss))?;
        }
        lines.flush()?;
    }
    if !saved.is_proven {
        let what = "checksums.txt is lost, damaged or another part's: nothing proves that the files belong together";
        console.note(format!("{}: {what}", arguments.part.display()));
    }
    let summary = format!(
        "{}: {} of {} and {} saved into {}",
        arguments.part.display(),
        quantity::grouped(saved.rows_saved),
        quantity::counted(saved.rows, "row", "rows"),
        quantity::counted(saved.columns_saved as u64, "column", "columns"),
        arguments.to.display(),
    );
    if saved.is_whole() {
        console.note(summary);
        return Ok(());
    }
    Err(Failure::Listed { summary, exit: Exit::Partial }.into())
}

fn line(loss: &Loss) -> String {
    let Loss { column, rows, reason } = loss;
    match rows {
        Some(rows) => {
            let (first, last) = (quantity::grouped(rows.start), quantity::grouped(rows.end - 1));
            format!("lost rows {first} to {last}, by column `{column}`: {reason}")
        }
        None => format!("lost column `{column}`: {reason}"),
    }
}

fn to_json(arguments: &SalvageArguments, saved: &Salvage) -> serde_json::Value {
    let loss = |loss: &Loss| {
        json!({
            "column": loss.column,
            "first_row": loss.rows.as_ref().map(|rows| rows.start),
            "rows": loss.rows.as_ref().map(|rows| rows.end - rows.start),
            "reason": loss.reason,
        })
    };
    let mend = |(file, mend): &(String, Mend)| json!({ "file": file, "offset": mend.offset, "bit": mend.bit });
    json!({
        "schema": "tambour/salvage/1",
        "part": arguments.part.display().to_string(),
        "table": arguments.to.display().to_string(),
        "whole": saved.is_whole(),
        "proven": saved.is_proven,
        "rows": saved.rows,
        "rows_saved": saved.rows_saved,
        "columns_saved": saved.columns_saved,
        "put_right": saved.mends.iter().map(mend).collect::<Vec<_>>(),
        "marks_rebuilt": saved.marks_rebuilt,
        "losses": saved.losses.iter().map(loss).collect::<Vec<_>>(),
    })
}
