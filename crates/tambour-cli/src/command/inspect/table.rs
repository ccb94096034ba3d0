//! A table: its definition, parts and columns.

use super::{ColumnReport, fact, write_columns, write_grid};
use crate::cli::InspectArguments;
use crate::output::grid::{Grid, Heading};
use crate::output::{quantity, stdout};
use serde_json::json;
use std::io::Write;
use std::sync::Arc;
use tambour::Part;
use tambour::index::{Found, look_into};
use tambour::part::part::{ColumnSize, Form};
use tambour::table::Table;

/// Shows a table.
pub(super) fn run(arguments: &InspectArguments) -> anyhow::Result<()> {
    let table = Table::open(&arguments.path)?;
    let columns = column_reports(&table)?;
    if arguments.json {
        return Ok(stdout::json(&to_json(&table, &columns))?);
    }
    let mut target = stdout::text();
    fact(&mut target, "table", &table.path().display().to_string())?;
    let parts = quantity::counted(table.parts().len() as u64, "part", "parts");
    let rows = quantity::counted(table.rows(), "row", "rows");
    fact(
        &mut target,
        "contents",
        &format!("{rows} in {parts}, {}", quantity::bytes(bytes_on_disk(&table))),
    )?;
    if let Some(definition) = table.definition() {
        fact(&mut target, "definition", &definition.to_string())?;
    }
    writeln!(target)?;
    write_columns(&mut target, &columns)?;
    writeln!(target)?;
    write_grid(&mut target, &part_grid(&table))?;
    if let Some(grid) = index_grid(&look_into(&table)) {
        writeln!(target)?;
        write_grid(&mut target, &grid)?;
    }
    target.flush()?;
    if arguments.blocks {
        for part in table.parts() {
            super::stream::write_part(part, &mut target)?;
        }
    }
    Ok(target.flush()?)
}

fn bytes_on_disk(table: &Table) -> u64 {
    table.parts().iter().map(|part| part.bytes_on_disk()).sum()
}

/// The live parts with their names; a directory may still have another one.
fn named_parts(table: &Table) -> impl Iterator<Item = (&String, &Arc<Part>)> {
    table.part_names().iter().zip(table.parts())
}

fn part_grid(table: &Table) -> Grid {
    let mut grid = Grid::new(vec![
        Heading::text("part"),
        Heading::text("form"),
        Heading::number("rows"),
        Heading::number("granules"),
        Heading::number("files"),
        Heading::number("bytes"),
    ]);
    for (name, part) in named_parts(table) {
        grid.push([
            name.clone(),
            form(part).to_owned(),
            quantity::grouped(part.rows()),
            quantity::grouped(part.granules().len() as u64),
            quantity::grouped(part.files().len() as u64),
            quantity::grouped(part.bytes_on_disk()),
        ]);
    }
    grid
}

/// The skip indexes of the table; nothing if there are none.
fn index_grid(found: &[Found]) -> Option<Grid> {
    let mut grid = Grid::new(vec![
        Heading::text("index"),
        Heading::text("type"),
        Heading::text("over"),
        Heading::number("granules"),
        Heading::number("parts"),
        Heading::number("bytes"),
        Heading::text("use"),
    ]);
    for it in found {
        let used = match it.refused {
            _ if !it.index.is_usable() => "listed only".to_owned(),
            0 => "prunes".to_owned(),
            refused => format!("not in {}", quantity::counted(refused as u64, "part", "parts")),
        };
        grid.push([
            it.index.definition.name.clone(),
            it.index.definition.kind_full.clone(),
            it.index.definition.expression.clone(),
            quantity::grouped(it.index.definition.granularity as u64),
            quantity::grouped(it.parts as u64),
            quantity::grouped(it.sizes.compressed + it.sizes.marks),
            used,
        ]);
    }
    (!found.is_empty()).then_some(grid)
}

fn index_json(found: &Found) -> serde_json::Value {
    let definition = &found.index.definition;
    json!({
        "name": definition.name,
        "type": definition.kind_full,
        "expression": definition.expression,
        "granularity": definition.granularity,
        "parts": found.parts,
        "parts_refused": found.refused,
        "compressed_bytes": found.sizes.compressed,
        "uncompressed_bytes": found.sizes.uncompressed,
        "marks_bytes": found.sizes.marks,
        "prunes": found.index.is_usable(),
    })
}

/// The word for a part's form.
pub(super) fn form(part: &Part) -> &'static str {
    match part.form() {
        Form::Wide => "wide",
        Form::Compact => "compact",
    }
}

/// Sizes of the table's columns, summed over its parts.
fn column_reports(table: &Table) -> anyhow::Result<Vec<ColumnReport>> {
    let mut reports: Vec<ColumnReport> = table
        .columns()
        .iter()
        .map(|column| ColumnReport { column: column.clone(), size: ColumnSize::default() })
        .collect();
    for part in table.parts() {
        for (column, size) in part.columns().iter().zip(part.column_sizes()?) {
            // A column that was dropped from the table may still be in its parts.
            let report = reports.iter_mut().find(|report| report.column.name == column.name);
            let Some(ColumnReport { size: sum, .. }) = report else { continue };
            sum.compressed += size.compressed;
            sum.uncompressed += size.uncompressed;
            sum.marks += size.marks;
            for codec in size.codecs {
                if !sum.codecs.contains(&codec) {
                    sum.codecs.push(codec);
                }
            }
        }
    }
    Ok(reports)
}

fn to_json(table: &Table, columns: &[ColumnReport]) -> serde_json::Value {
    let parts: Vec<_> = named_parts(table)
        .map(|(name, part)| {
            json!({
                "name": name,
                "path": part.path().display().to_string(),
                "form": form(part),
                "rows": part.rows(),
                "granules": part.granules().len(),
                "files": part.files().len(),
                "bytes_on_disk": part.bytes_on_disk(),
                "content_hash": part.content_hash(),
            })
        })
        .collect();
    json!({
        "schema": "tambour/inspect/1",
        "kind": "table",
        "path": table.path().display().to_string(),
        "name": table.name(),
        "create": table.definition().map(ToString::to_string),
        "rows": table.rows(),
        "bytes_on_disk": bytes_on_disk(table),
        "columns": columns.iter().map(ColumnReport::to_json).collect::<Vec<_>>(),
        "parts": parts,
        "skip_indexes": look_into(table).iter().map(index_json).collect::<Vec<_>>(),
    })
}
