//! A server's disk, or a backup of one: its tables.

use super::{fact, write_grid};
use crate::cli::InspectArguments;
use crate::output::grid::{Grid, Heading};
use crate::output::{failure, quantity, stdout};
use serde_json::json;
use std::io::Write;
use tambour::table::Table;
use tambour::table::server::{ServerDisk, ServerTable};

/// Shows its tables; one that cannot be opened is listed with the reason.
pub(super) fn run(arguments: &InspectArguments, disk: &ServerDisk) -> anyhow::Result<()> {
    let opened = disk.tables.iter().map(|table| (table, disk.table(table)));
    let tables: Vec<_> = opened.map(|(table, opened)| Line::of(table, opened.as_ref())).collect();
    if arguments.json {
        let tables: Vec<_> = tables.iter().map(Line::to_json).collect();
        return Ok(stdout::json(&json!({
            "schema": "tambour/inspect/1",
            "kind": "server",
            "path": arguments.path.display().to_string(),
            "tables": tables,
            "others": disk.others,
        }))?);
    }
    let mut target = stdout::text();
    fact(&mut target, "server", &arguments.path.display().to_string())?;
    if !disk.others.is_empty() {
        fact(&mut target, "others", &disk.others.join(", "))?;
    }
    writeln!(target)?;
    let mut grid = Grid::new(vec![
        Heading::text("table"),
        Heading::number("parts"),
        Heading::number("rows"),
        Heading::number("bytes"),
        Heading::text("where"),
    ]);
    for line in &tables {
        let row = match &line.contents {
            Ok([parts, rows, bytes]) => [*parts, *rows, *bytes].map(quantity::grouped),
            Err(_) => ["", "", ""].map(str::to_owned),
        };
        let [parts, rows, bytes] = row;
        let place = line.contents.as_ref().err().unwrap_or(&line.place).clone();
        grid.push([line.name.clone(), parts, rows, bytes, place]);
    }
    write_grid(&mut target, &grid)?;
    Ok(target.flush()?)
}

/// What is told of a table.
#[derive(Debug)]
struct Line {
    name: String,
    place: String,
    /// Parts, rows and bytes, or why it cannot be opened.
    contents: Result<[u64; 3], String>,
}

impl Line {
    fn of(table: &ServerTable, opened: Result<&Table, &tambour::table::TableError>) -> Self {
        let contents = opened.map(|opened| {
            let bytes = opened.parts().iter().map(|part| part.bytes_on_disk()).sum();
            [opened.parts().len() as u64, opened.rows(), bytes]
        });
        Self {
            name: format!("{}.{}", table.database, table.name),
            place: table.path.display().to_string(),
            contents: contents.map_err(|error| failure::chain(error).join(": ")),
        }
    }

    fn to_json(&self) -> serde_json::Value {
        match &self.contents {
            Ok([parts, rows, bytes]) => json!({
                "name": self.name, "path": self.place, "parts": parts, "rows": rows, "bytes": bytes,
            }),
            Err(error) => json!({ "name": self.name, "path": self.place, "error": error }),
        }
    }
}
