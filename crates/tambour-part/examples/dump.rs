//! Prints a part as ClickHouse's TSV: `dump PATH [COLUMN]…`. With `--verify` in front, verifies it and prints what is
//! wrong; with `--info`, prints its contents.

#[expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a value of another type is a mistake in the printer"
)]
#[path = "../tests/parts/support/tsv.rs"]
mod tsv;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::ReadRequest;
use tambour_part::types::{Column, Strings};
use tambour_storage::disk;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut flag = |name: &str| {
        let found = arguments.first().is_some_and(|first| first == name);
        if found {
            arguments.remove(0);
        }
        found
    };
    let (verify, info) = (flag("--verify"), flag("--info"));
    let Some((path, names)) = arguments.split_first() else {
        return Err("usage: dump [--verify | --info] PATH [COLUMN]...".into());
    };
    let part = Arc::new(Part::open(&disk(), Path::new(path))?);
    let mut out = std::io::stdout().lock();
    if verify {
        let seen = part.verify();
        writeln!(out, "{} files, {} blocks, {} rows", seen.files, seen.blocks, seen.rows)?;
        for damage in &seen.damage {
            let mut line = damage.error.to_string();
            let mut source = damage.error.source();
            while let Some(cause) = source {
                line = format!("{line}: {cause}");
                source = cause.source();
            }
            writeln!(out, "{line}")?;
        }
        return if seen.damage.is_empty() { Ok(()) } else { Err("damaged".into()) };
    }
    if info {
        writeln!(
            out,
            "{} {:?} .{} {} rows",
            part.name(),
            part.form(),
            part.mark_extension(),
            part.rows()
        )?;
        for (column, size) in part.columns().iter().zip(part.column_sizes()?) {
            writeln!(out, "{} {} {size:?}", column.name, column.data_type)?;
        }
        writeln!(out, "{:?}", part.unreadable_columns())?;
        return Ok(());
    }
    let wanted = |column: &Column| names.is_empty() || names.contains(&column.name);
    let columns: Vec<usize> =
        (0..part.columns().len()).filter(|index| wanted(&part.columns()[*index])).collect();
    let shown: Vec<Column> = columns.iter().map(|index| part.columns()[*index].clone()).collect();
    let granules = std::iter::once(0..part.granules().len()).collect();
    let request = ReadRequest { columns, granules, batch_rows: 8192, strings: Strings::Utf8 };
    for batch in part.read(request)? {
        let mut text = String::new();
        tsv::print(&batch?, &shown, &mut text);
        out.write_all(text.as_bytes())?;
    }
    Ok(())
}
