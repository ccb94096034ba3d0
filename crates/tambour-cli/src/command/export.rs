//! `tambour export`: a table into one file.

use crate::cli::ExportArguments;
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::progress::{Progress, Total};
use crate::output::{Console, quantity, stdout};
use anyhow::Context;
use serde_json::json;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour::Column;
use tambour::files::{self, Format};
use tambour::part::types::{Strings, arrow_schema};
use tambour::table::Table;
use tambour::table::scan::{Scan, ScanRequest};

/// Rows per batch at least; large enough for one Parquet row group to need few of them.
const BATCH_ROWS: usize = 65_536;

/// Exports and tells what came of it.
pub(crate) fn run(arguments: &ExportArguments, console: Console) -> anyhow::Result<()> {
    let format = format(arguments)?;
    let to_stdout = arguments.file == Path::new("-");
    if !to_stdout && !arguments.force && arguments.file.exists() {
        let file = arguments.file.display();
        return Err(Failure::Conflict(format!("{file} exists: --force replaces it")).into());
    }
    let table = Table::open(&arguments.table)?;
    let columns = columns(&table, &arguments.columns)?;
    let job = Job { table, columns, strings: arguments.strings.into(), format };
    let interrupt = Interrupt::listen();
    let mut progress = console.progress("export", Total::Rows(job.table.rows()));

    let rows = if to_stdout {
        let mut target = stdout::data();
        job.write(Box::new(&mut target), &mut progress, &interrupt)?;
        target.flush()?;
        job.table.rows()
    } else {
        write_file(&job, &arguments.file, &mut progress, &interrupt)?
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

/// The columns that were asked for, or all.
fn columns(table: &Table, names: &[String]) -> Result<Vec<Column>, Failure> {
    if names.is_empty() {
        return Ok(table.columns().to_vec());
    }
    let find = |name: &String| {
        table.columns().iter().find(|column| column.name == *name).cloned().ok_or_else(|| {
            let known: Vec<&str> =
                table.columns().iter().map(|column| column.name.as_str()).collect();
            Failure::NotFound(format!("no column {name:?}; there are: {}", known.join(", ")))
        })
    };
    names.iter().map(find).collect()
}

struct Job {
    table: Table,
    columns: Vec<Column>,
    strings: Strings,
    format: Format,
}

impl Job {
    /// All rows, in the order of the parts.
    fn write(
        &self,
        target: Box<dyn Write + Send + '_>,
        progress: &mut Progress,
        interrupt: &Interrupt,
    ) -> anyhow::Result<()> {
        let request = ScanRequest {
            columns: self.columns.iter().map(|column| column.name.clone()).collect(),
            batch_rows: BATCH_ROWS,
            strings: self.strings,
            ..ScanRequest::default()
        };
        let (scan, _) = Scan::plan(&self.table, &request)?;
        let schema = Arc::new(arrow_schema(&self.columns, self.strings));
        let mut output = files::output(self.format, &schema, target)?;
        let mut rows = 0;
        for partition in 0..scan.partitions.len() {
            for batch in scan.run(partition, self.table.storage(), Some(&self.table))? {
                let batch = batch?;
                interrupt.check()?;
                output.write(&batch)?;
                rows += batch.num_rows() as u64;
                progress.update(0, rows);
            }
        }
        Ok(output.finish()?)
    }
}

/// Writes beside the file and puts it in place when it is complete.
fn write_file(
    job: &Job,
    path: &Path,
    progress: &mut Progress,
    interrupt: &Interrupt,
) -> anyhow::Result<u64> {
    let aside = aside(path);
    let place = || aside.display().to_string();
    let result = (|| {
        let file = File::create_new(&aside).with_context(place)?;
        let mut target = BufWriter::with_capacity(1 << 20, file);
        job.write(Box::new(&mut target), progress, interrupt)?;
        let file =
            target.into_inner().map_err(std::io::IntoInnerError::into_error).with_context(place)?;
        file.sync_all().with_context(place)?;
        std::fs::rename(&aside, path).with_context(|| path.display().to_string())?;
        Ok(job.table.rows())
    })();
    if result.is_err() {
        // What is half written is of no use to anybody; that it cannot be removed is the smaller trouble.
        let _ = std::fs::remove_file(&aside);
    }
    result
}

/// The name under which the file grows: hidden, in the same directory, so that the rename stays on one disk.
pub(super) fn aside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.tmp", std::process::id()));
    path.with_file_name(name)
}
