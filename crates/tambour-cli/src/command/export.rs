//! `tambour export`: a table into one file.

use crate::cli::ExportArguments;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::progress::Total;
use crate::output::{Console, quantity, stdout};
use serde_json::json;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use tambour::files::Format;
use tambour::{ExportOptions, Table};

/// Exports and tells what came of it.
pub(crate) fn run(arguments: &ExportArguments, console: Console) -> anyhow::Result<()> {
    let format = format(arguments)?;
    let to_stdout = arguments.file == Path::new("-");
    if !to_stdout && !arguments.force && arguments.file.exists() {
        let file = arguments.file.display();
        return Err(Failure::Conflict(format!("{file} exists: --force replaces it")).into());
    }
    let table = Table::open_on(&arguments.reading.storage_of(&arguments.table)?, &arguments.table)?;
    let mut options = ExportOptions::default();
    options.columns.clone_from(&arguments.columns);
    options.format = Some(format);
    options.strings = arguments.strings.into();
    options.replace = arguments.force;
    let interrupt = Interrupt::listen();
    let mut progress = console.progress("export", Total::Rows(table.rows()));
    let tell = &mut |rows| {
        progress.update(0, rows);
        interrupt.flow()
    };
    let rows = if to_stdout {
        let mut target = stdout::data();
        let rows = table.export_to(&mut target, format, &options, tell)?;
        target.flush()?;
        rows
    } else {
        table.export_with(&arguments.file, &options, tell)?
    };
    let time = progress.elapsed();
    drop(progress);

    let bytes = if to_stdout {
        None
    } else {
        std::fs::metadata(&arguments.file).ok().map(|file| file.len())
    };
    if arguments.json {
        let result = json!({
            "schema": "tambour/export/1",
            "table": arguments.table.display().to_string(),
            "file": arguments.file.display().to_string(),
            "rows": rows,
            "bytes": bytes,
            "seconds": time.as_secs_f64(),
        });
        if to_stdout {
            console.note(result);
        } else {
            stdout::json(&result)?;
        }
    } else if !to_stdout {
        console.note(format_args!(
            "{}: {}, {}, {}, {} rows/s",
            arguments.file.display(),
            quantity::counted(rows, "row", "rows"),
            quantity::bytes(bytes.unwrap_or(0)),
            quantity::seconds(time),
            quantity::rate(quantity::per_second(rows, time)),
        ));
    }
    Ok(())
}

fn format(arguments: &ExportArguments) -> anyhow::Result<Format> {
    if let Some(format) = arguments.format {
        return Ok(format.into());
    }
    if arguments.file == Path::new("-") {
        return Err(
            Failure::Usage("standard output has no name: --format is needed".to_owned()).into()
        );
    }
    let name = arguments.file.display();
    let packed = ["gz", "zst", "zstd"];
    if arguments.file.extension().is_some_and(|end| packed.iter().any(|known| end == *known)) {
        let hint = "write to - and pipe into the compressor";
        return Err(Failure::Unsupported(format!(
            "{name}: compressed files cannot be written: {hint}"
        ))
        .into());
    }
    let format = Format::by_extension(&arguments.file);
    let hint = "csv, tsv, jsonl, parquet, arrow; --format names one";
    Ok(format
        .ok_or_else(|| Failure::Unsupported(format!("{name}: no format by that name: {hint}")))?)
}

/// The name under which the file grows: hidden, in the same directory, so that the rename stays on one disk.
pub(super) fn aside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}
