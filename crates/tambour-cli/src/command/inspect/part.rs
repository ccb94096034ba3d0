//! A part: its files, columns, granules and index.

use super::table::form;
use super::{ColumnReport, fact, stream, write_columns, write_grid};
use crate::cli::InspectArguments;
use crate::output::grid::{Grid, Heading};
use crate::output::{quantity, stdout};
use crate::query::cells;
use arrow::array::ArrayRef;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use tambour::part::types::Strings;
use tambour::table::PartName;
use tambour::table::Table;
use tambour::table::store::{is_url, storage_of};
use tambour::{DataType, Part};

/// Entries of the primary index that are shown from the start and from the end.
const ENTRIES_SHOWN: usize = 2;

/// Shows a part.
pub(super) fn run(arguments: &InspectArguments) -> anyhow::Result<()> {
    let part = Part::open(&storage_of(&arguments.path)?, &arguments.path)?;
    let sizes = part.column_sizes()?;
    let columns: Vec<ColumnReport> = part
        .columns()
        .iter()
        .cloned()
        .zip(sizes)
        .map(|(column, size)| ColumnReport { column, size })
        .collect();
    let index = Index::read(&part);
    if arguments.json {
        return Ok(stdout::json(&to_json(&part, &columns, index.as_ref(), arguments.blocks)?)?);
    }
    let mut target = stdout::text();
    write_facts(&part, index.as_ref(), &mut target)?;
    writeln!(target)?;
    write_columns(&mut target, &columns)?;
    writeln!(target)?;
    let mut grid = Grid::new(vec![Heading::text("file"), Heading::number("bytes")]);
    for (name, bytes) in part.files() {
        grid.push([name, quantity::grouped(bytes)]);
    }
    write_grid(&mut target, &grid)?;
    if arguments.blocks {
        stream::write_part(&part, &mut target)?;
    }
    Ok(target.flush()?)
}

fn write_facts(part: &Part, index: Option<&Index>, target: &mut dyn Write) -> anyhow::Result<()> {
    fact(target, "part", &part.path().display().to_string())?;
    let form = format!("{}, marks in .{}", form(part), part.mark_extension());
    fact(target, "form", &form)?;
    let granules = quantity::counted(part.granules().len() as u64, "granule", "granules");
    let last = if part.has_final_mark() { ", with a final mark" } else { "" };
    let rows = quantity::counted(part.rows(), "row", "rows");
    fact(target, "rows", &format!("{rows} in {granules}{last}"))?;
    if let Some(name) = PartName::parse(part.name()) {
        fact(target, "partition", &name.partition)?;
        fact(target, "level", &name.level.to_string())?;
    }
    let files = quantity::counted(part.files().len() as u64, "file", "files");
    fact(target, "size", &format!("{} in {files}", quantity::bytes(part.bytes_on_disk())))?;
    fact(target, "contents", &part.content_hash())?;
    match index {
        Some(index) => index.write(target)?,
        None if part.has_primary_index() => {
            fact(target, "index", "present; only the table knows its types")?;
        }
        None => fact(target, "index", "none")?,
    }
    Ok(())
}

/// The primary index, where the table beside the part tells its types.
struct Index {
    key: Vec<String>,
    types: Vec<DataType>,
    columns: Vec<ArrayRef>,
}

impl Index {
    fn read(part: &Part) -> Option<Self> {
        let directory = match part.path() {
            path if is_url(path) => path.to_owned(),
            path => std::path::absolute(path).ok()?,
        };
        let table = Table::open(directory.parent().unwrap_or(Path::new("/"))).ok()?;
        let definition = table.definition()?;
        let types = definition.primary_key_types().ok()?;
        if types.is_empty() || !part.has_primary_index() {
            return None;
        }
        let key = definition.primary_key.iter().map(ToString::to_string).collect();
        let columns = part.primary_index(&types).ok()?;
        Some(Self { key, types, columns })
    }

    fn entries(&self) -> usize {
        self.columns.first().map_or(0, |column| column.len())
    }

    fn entry(&self, row: usize) -> anyhow::Result<String> {
        let columns = self.columns.iter().zip(&self.types);
        let cell = |(column, data_type): (&ArrayRef, &DataType)| {
            cells::one(column.as_ref(), row, &data_type.field("", Strings::Binary))
        };
        let cells = columns.map(cell).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(format!("({})", cells.join(", ")))
    }

    fn write(&self, target: &mut dyn Write) -> anyhow::Result<()> {
        let entries = self.entries();
        let counted = quantity::counted(entries as u64, "entry", "entries");
        fact(target, "index", &format!("{counted} of ({})", self.key.join(", ")))?;
        for row in 0..entries {
            if row < ENTRIES_SHOWN || row + ENTRIES_SHOWN >= entries {
                fact(target, "", &format!("{row:>6}  {}", self.entry(row)?))?;
            } else if row == ENTRIES_SHOWN {
                fact(target, "", "     \u{2026}")?;
            }
        }
        Ok(())
    }
}

fn to_json(
    part: &Part,
    columns: &[ColumnReport],
    index: Option<&Index>,
    blocks: bool,
) -> anyhow::Result<serde_json::Value> {
    let name = PartName::parse(part.name());
    let files: Vec<_> = part
        .files()
        .into_iter()
        .map(|(name, bytes)| json!({ "name": name, "bytes": bytes }))
        .collect();
    let index = match index {
        Some(index) => {
            let entries =
                (0..index.entries()).map(|row| index.entry(row)).collect::<Result<Vec<_>, _>>()?;
            json!({ "key": index.key, "entries": entries })
        }
        None => serde_json::Value::Null,
    };
    let mut object = json!({
        "schema": "tambour/inspect/1",
        "kind": "part",
        "path": part.path().display().to_string(),
        "name": part.name(),
        "partition": name.as_ref().map(|name| name.partition.clone()),
        "level": name.as_ref().map(|name| name.level),
        "form": form(part),
        "marks": part.mark_extension(),
        "final_mark": part.has_final_mark(),
        "rows": part.rows(),
        "granules": part.granules(),
        "bytes_on_disk": part.bytes_on_disk(),
        "content_hash": part.content_hash(),
        "columns": columns.iter().map(ColumnReport::to_json).collect::<Vec<_>>(),
        "primary_index": index,
        "files": files,
    });
    if let (true, Some(object)) = (blocks, object.as_object_mut()) {
        object.insert("blocks".to_owned(), stream::part_to_json(part)?);
    }
    Ok(object)
}
