//! `tambour inspect`: what a table, a part, a server's disk, a file of blocks or one of frames is made of.

mod frames;
mod learning;
mod part;
mod server;
mod stage;
mod stream;
mod table;

use super::target::Target;
use crate::cli::InspectArguments;
use crate::output::grid::{Frame, Grid, Heading};
use crate::output::quantity;
use std::io::{self, Write};
use tambour::Column;
use tambour::part::part::ColumnSize;

/// Shows what is there.
pub(crate) fn run(arguments: &InspectArguments) -> anyhow::Result<()> {
    if super::records::is_store(&arguments.path) {
        return super::records::inspect(&arguments.path, arguments.json);
    }
    match Target::identify(&arguments.path)? {
        Target::Table => table::run(arguments),
        Target::Server(disk) => server::run(arguments, &disk),
        Target::Part => part::run(arguments),
        Target::Blocks => stream::run(arguments),
        Target::Pages => super::pages::inspect(&arguments.path, arguments.json),
        Target::Frames => frames::run(arguments),
    }
}

/// Sizes of a column with its name and type.
#[derive(Debug)]
struct ColumnReport {
    column: Column,
    size: ColumnSize,
}

impl ColumnReport {
    fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "name": self.column.name,
            "type": self.column.data_type.to_string(),
            "codecs": self.size.codecs,
            "compressed": self.size.compressed,
            "uncompressed": self.size.uncompressed,
            "marks": self.size.marks,
        })
    }
}

/// A line of name and value at the head of a report.
pub(super) fn fact(target: &mut dyn Write, name: &str, value: &str) -> io::Result<()> {
    // A value may hold a statement of many lines; they stand below each other.
    let mut lines = value.lines();
    writeln!(target, "{name:<11} {}", lines.next().unwrap_or_default())?;
    lines.try_for_each(|line| writeln!(target, "{:<11} {line}", ""))
}

pub(super) fn write_grid(target: &mut dyn Write, grid: &Grid) -> io::Result<()> {
    match grid.widths(Frame::Plain, None) {
        Some(widths) => grid.write(target, Frame::Plain, &widths, None),
        None => Ok(()),
    }
}

/// The table of columns, with a line of totals.
fn write_columns(target: &mut dyn Write, columns: &[ColumnReport]) -> io::Result<()> {
    let mut grid = Grid::new(vec![
        Heading::text("column"),
        Heading::text("type"),
        Heading::text("codec"),
        Heading::number("compressed"),
        Heading::number("raw"),
        Heading::number("ratio"),
        Heading::number("marks"),
    ]);
    let mut total = ColumnSize::default();
    for ColumnReport { column, size } in columns {
        total.compressed += size.compressed;
        total.uncompressed += size.uncompressed;
        total.marks += size.marks;
        let codecs = size.codecs.join("; ");
        grid.push(column_row(&column.name, &column.data_type.to_string(), &codecs, size));
    }
    if columns.len() > 1 {
        grid.push(column_row("(all)", "", "", &total));
    }
    write_grid(target, &grid)
}

fn column_row(name: &str, data_type: &str, codecs: &str, size: &ColumnSize) -> [String; 7] {
    [
        name.to_owned(),
        data_type.to_owned(),
        codecs.to_owned(),
        quantity::grouped(size.compressed),
        quantity::grouped(size.uncompressed),
        quantity::ratio(size.uncompressed, size.compressed),
        quantity::grouped(size.marks),
    ]
}
