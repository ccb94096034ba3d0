//! `system.merges` and `system.mutations`: what writers of the tables do in this moment, in whatever process, and what waits.
//!
//! Mutations of this program end with their statement, so those that are listed run, or wait for another writer. In a directory of
//! a server's there may be others: what its files `mutation_….txt` say, which parts have had it or have not.

use super::{Sheet, Tables, place};
use arrow::compute::kernels::cast_utils::string_to_timestamp_nanos;
use std::path::Path;
use std::sync::Arc;
use tambour_storage::{Storage, StorageError};
use tambour_table::task::{Doing, Task, tasks};
use tambour_table::{PartName, Table, TableError};

/// A merge, or the part that a mutation is at.
struct MergeRow {
    database: String,
    table: String,
    process: u32,
    since_ms: u64,
    is_mutation: bool,
    sources: Vec<String>,
    result: String,
    partition: String,
    bytes: u64,
    rows: u64,
    rows_written: u64,
}

impl MergeRow {
    fn of((name, table): &(String, Arc<Table>), doing: Doing) -> Option<Self> {
        let (database, own) = place(name, table);
        let mut row = Self {
            database: database.to_owned(),
            table: own.to_owned(),
            process: doing.process,
            since_ms: doing.since_ms,
            is_mutation: false,
            sources: Vec::new(),
            result: String::new(),
            partition: String::new(),
            bytes: 0,
            rows: 0,
            rows_written: 0,
        };
        match doing.task {
            _ if doing.is_waiting => return None,
            Task::Merge(merge) => {
                (row.sources, row.result) = (merge.sources, merge.result);
                (row.partition, row.bytes) = (merge.partition, merge.bytes);
                (row.rows, row.rows_written) = (merge.rows, merge.rows_written);
            }
            Task::Mutation(mutation) => {
                let name = PartName::parse(&mutation.part)?;
                row.result = PartName::merged(std::slice::from_ref(&name))?.to_string();
                (row.partition, row.sources) = (name.partition, vec![mutation.part]);
                let mut parts = table.part_names().iter().zip(table.parts());
                if let Some((_, part)) = parts.find(|(other, _)| *other == &row.sources[0]) {
                    (row.bytes, row.rows) = (part.bytes_on_disk(), part.rows());
                }
                row.is_mutation = true;
            }
            Task::Other(_) => return None,
        }
        Some(row)
    }
}

pub(super) fn merges(sheet: &mut Sheet, tables: Tables<'_>, now_ms: u64) {
    let mut rows = Vec::new();
    for entry in tables {
        let doing = tasks(entry.1.storage().as_ref(), entry.1.path());
        rows.extend(doing.into_iter().filter_map(|doing| MergeRow::of(entry, doing)));
    }
    let rows = rows.as_slice();
    sheet.text("database", rows, |row| row.database.clone());
    sheet.text("table", rows, |row| row.table.clone());
    sheet.real("elapsed", rows, |row| now_ms.saturating_sub(row.since_ms) as f64 / 1000.0);
    sheet.real("progress", rows, |row| row.rows_written as f64 / row.rows.max(1) as f64);
    sheet.number("num_parts", rows, |row| row.sources.len() as u64);
    sheet.texts("source_part_names", rows, |row| row.sources.clone());
    sheet.text("result_part_name", rows, |row| row.result.clone());
    sheet.text("partition_id", rows, |row| row.partition.clone());
    sheet.flag("is_mutation", rows, |row| row.is_mutation);
    sheet.number("total_size_bytes_compressed", rows, |row| row.bytes);
    sheet.number("rows_written", rows, |row| row.rows_written);
    sheet.number("process_id", rows, |row| row.process.into());
}

/// A mutation.
#[derive(Default)]
struct MutationRow {
    database: String,
    table: String,
    id: String,
    command: String,
    created: i64,
    in_progress: Vec<String>,
    to_do: Vec<String>,
    is_done: bool,
    process: u32,
}

pub(super) fn mutations(sheet: &mut Sheet, tables: Tables<'_>) -> Result<(), TableError> {
    let mut rows = Vec::new();
    for (name, table) in tables {
        let (database, own) = place(name, table);
        let mut found = of_server(table.storage().as_ref(), table.path(), table)?;
        let doing = tasks(table.storage().as_ref(), table.path());
        found.extend(doing.into_iter().filter_map(|doing| of_writer(table, doing)));
        for row in &mut found {
            (row.database, row.table) = (database.to_owned(), own.to_owned());
        }
        rows.append(&mut found);
    }
    let rows = rows.as_slice();
    sheet.text("database", rows, |row| row.database.clone());
    sheet.text("table", rows, |row| row.table.clone());
    sheet.text("mutation_id", rows, |row| row.id.clone());
    sheet.text("command", rows, |row| row.command.clone());
    sheet.time("create_time", rows, |row| row.created);
    sheet.texts("parts_in_progress_names", rows, |row| row.in_progress.clone());
    sheet.texts("parts_to_do_names", rows, |row| row.to_do.clone());
    sheet.signed("parts_to_do", rows, |row| row.to_do.len() as u64);
    sheet.flag("is_done", rows, |row| row.is_done);
    sheet.number("process_id", rows, |row| row.process.into());
    Ok(())
}

/// One of this program's, which runs or waits.
fn of_writer(table: &Table, doing: Doing) -> Option<MutationRow> {
    let Task::Mutation(mutation) = doing.task else { return None };
    let created = i64::try_from(doing.since_ms / 1000).unwrap_or(0);
    let mut row = MutationRow { command: mutation.command, created, ..MutationRow::default() };
    row.process = doing.process;
    if doing.is_waiting {
        // It has no number yet, and will come to the parts that are there then.
        row.to_do = table.part_names().to_vec();
        return Some(row);
    }
    row.id = format!("mutation_{}.txt", mutation.number);
    row.in_progress = if mutation.part.is_empty() { Vec::new() } else { vec![mutation.part] };
    row.to_do = row.in_progress.iter().cloned().chain(mutation.parts_to_do).collect();
    Some(row)
}

/// Most bytes of a server's file that are looked at.
const MUTATION_MAX: u64 = 16 << 20;

/// What a server has left in a table's directory.
fn of_server(
    storage: &dyn Storage,
    path: &Path,
    table: &Table,
) -> Result<Vec<MutationRow>, TableError> {
    // A part may be opened on its own, and tables be in archives.
    let Ok(entries) = storage.list(path) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries.into_iter().filter(|entry| entry.is_file) {
        let Some(number) = mutation_number(&entry.name) else { continue };
        let file = path.join(&entry.name);
        let bytes = match storage.read(&file, MUTATION_MAX) {
            Ok(bytes) => bytes,
            // A server at work has removed it.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(StorageError::file("read", &file)(error).into()),
        };
        let text = String::from_utf8_lossy(&bytes);
        let line = |begin: &str| text.lines().find_map(|line| line.strip_prefix(begin));
        let waits = |name: &&String| {
            PartName::parse(name).is_some_and(|it| it.mutation.unwrap_or(it.block_min) < number)
        };
        let to_do: Vec<String> = table.part_names().iter().filter(waits).cloned().collect();
        found.push(MutationRow {
            id: entry.name,
            command: line("commands: ").unwrap_or_default().to_owned(),
            created: line("create time: ").and_then(seconds).unwrap_or(0),
            is_done: to_do.is_empty(),
            to_do,
            ..MutationRow::default()
        });
    }
    found.sort_by_key(|row| mutation_number(&row.id));
    Ok(found)
}

fn mutation_number(name: &str) -> Option<u64> {
    name.strip_prefix("mutation_")?.strip_suffix(".txt")?.parse().ok()
}

/// `2024-02-03 04:05:06` as seconds since 1970.
fn seconds(text: &str) -> Option<i64> {
    Some(string_to_timestamp_nanos(text.trim()).ok()?.div_euclid(1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::{mutation_number, seconds};

    #[test]
    fn files_of_a_server_are_known_by_their_names() {
        assert_eq!(mutation_number("mutation_12.txt"), Some(12));
        for other in ["mutation_.txt", "mutation_1.txt.tmp", "tmp_mutation_1.txt", "mutations.txt"]
        {
            assert_eq!(mutation_number(other), None, "{other}");
        }
        assert_eq!(seconds("1970-01-02 00:00:01"), Some(86_401));
        assert_eq!(seconds("yesterday"), None);
    }
}
