//! Opening a table: which parts are live, where they are, and whether they agree.

use super::Table;
use super::conform::fit;
use super::name::PartName;
use super::parallel::in_parallel;
use super::sidecar::{LivePart, SIDECAR, SIZE_MAX, Sidecar};
use super::trust::is_sorted_by;
use super::unproven;
use super::widen::widens;
use crate::TableError;
use crate::schema::TableDefinition;
use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tambour_part::part::OpenOptions;
use tambour_part::types::{Column, DataType};
use tambour_part::{Part, PartError};
use tambour_storage::commit::exists;
use tambour_storage::{Lock, Storage};

/// How often a reader starts again because a writer changed the table under it.
const ATTEMPTS_MAX: usize = 32;

/// Parts that are held one by one, with an open file each; where there are more, the table's directory is held.
const HELD_MAX: usize = 64;

/// Most bytes of a .sql file.
const STATEMENT_MAX: u64 = 1 << 20;

/// Files by which a part is told from a table.
const PART_FILES: [&str; 3] = ["columns.txt", "count.txt", "checksums.txt"];

/// What can come of opening a part that a sidecar names.
enum Opened {
    Part(Box<Part>),
    /// Neither of its names exists.
    Gone,
}

/// Opens a part, with what its table knows of it.
pub(super) fn open_part(
    storage: &Arc<dyn Storage>,
    path: &Path,
    granularity: Option<usize>,
) -> Result<Part, PartError> {
    let index_granularity = granularity.map(|rows| rows as u64);
    let options = OpenOptions { index_granularity, ..OpenOptions::default() };
    Part::open_with(storage, path, &options)
}

/// What a directory without a sidecar turned out to be.
#[derive(Debug)]
pub(super) enum Found {
    /// A part by itself, of this name.
    Part(String),
    /// Parts, and perhaps a definition beside them.
    Parts(Box<FoundParts>),
}

/// Parts in a directory without a sidecar.
#[derive(Debug)]
pub(super) struct FoundParts {
    /// Live ones, by partition and block number.
    pub live: Vec<PartName>,
    /// Those that live ones replace.
    pub covered: Vec<PartName>,
    /// What a .sql file says, perhaps without its keys.
    pub definition: Option<TableDefinition>,
    /// Why the statement that a server has for them could not be read as a whole.
    pub unread: Option<TableError>,
}

/// Opens whatever is at `path`: a table with a sidecar, a directory of parts, or a single part.
pub(super) fn open(storage: &Arc<dyn Storage>, path: &Path) -> Result<Table, TableError> {
    if let Some(table) = open_with_sidecar(storage, path)? {
        return Ok(table);
    }
    match find(storage, path)? {
        Found::Part(name) => {
            let part = open_part(storage, path, None).map_err(TableError::part(path, &name))?;
            assemble(storage, path, None, vec![(name, part)])
        }
        Found::Parts(found) => open_parts(storage, path, *found),
    }
}

fn open_parts(
    storage: &Arc<dyn Storage>,
    path: &Path,
    found: FoundParts,
) -> Result<Table, TableError> {
    let names: Vec<String> = found.live.iter().map(ToString::to_string).collect();
    let granularity = found.definition.as_ref().map(TableDefinition::index_granularity);
    let opened = in_parallel(&names, |name| {
        open_part(storage, &path.join(name), granularity).map_err(TableError::part(path, name))
    })?;
    let is_whole = found.unread.is_none();
    if let (Some(error), None) = (found.unread, &found.definition)
        && opened.windows(2).any(|pair| pair[0].columns() != pair[1].columns())
    {
        // What a part lacks has a default that only the statement knows.
        return Err(error);
    }
    let mut table =
        assemble(storage, path, found.definition, names.into_iter().zip(opened).collect())?;
    if !is_whole {
        // Its columns are the statement's. Without its keys, it is good for nothing else.
        table.definition = None;
    }
    if let Some(definition) = &mut table.definition
        && !is_sorted_by(path, definition, &table.parts)
    {
        // Nothing is left out by a key that the parts do not have, and nothing is taken as sorted.
        definition.order_by.clear();
        definition.primary_key.clear();
    }
    Ok(table)
}

/// Opens the parts of a directory, of which there may be none, under a statement that lies elsewhere.
pub(super) fn open_stated(
    storage: &Arc<dyn Storage>,
    path: &Path,
    statement: Option<&str>,
) -> Result<Table, TableError> {
    let Some(statement) = statement else { return open(storage, path) };
    let (definition, unread) = read_statement(statement);
    let unread = match (&definition, unread) {
        (None, Some(error)) => return Err(error),
        (_, unread) => unread,
    };
    let (live, covered) = parts_of(storage, path)?;
    check_format_version(storage, path)?;
    open_parts(storage, path, FoundParts { live, covered, definition, unread })
}

/// True if there is a directory with the name of a part.
pub(super) fn has_parts(storage: &Arc<dyn Storage>, path: &Path) -> Result<bool, TableError> {
    parts_of(storage, path).map(|(live, _)| !live.is_empty())
}

/// Live and covered parts of a directory, which need not be there.
fn parts_of(
    storage: &Arc<dyn Storage>,
    path: &Path,
) -> Result<(Vec<PartName>, Vec<PartName>), TableError> {
    let entries = match storage.list(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
        Err(error) => return Err(TableError::file("list", path)(error)),
    };
    let directories = entries.iter().filter(|entry| entry.is_directory);
    live_set(path, directories.map(|entry| entry.name.as_str()))
}

/// Finds the parts of a directory that has no sidecar.
pub(super) fn find(storage: &Arc<dyn Storage>, path: &Path) -> Result<Found, TableError> {
    let entries = storage.list(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            TableError::NotATable { path: path.to_owned(), problem: "the directory does not exist" }
        }
        ErrorKind::NotADirectory => {
            TableError::NotATable { path: path.to_owned(), problem: "it is a file" }
        }
        _ => TableError::file("list", path)(error),
    })?;
    if entries.iter().any(|entry| PART_FILES.contains(&entry.name.as_str())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        return Ok(Found::Part(name));
    }
    let directories = entries.iter().filter(|entry| entry.is_directory);
    let (live, covered) = live_set(path, directories.map(|entry| entry.name.as_str()))?;
    let files = entries.iter().filter(|entry| entry.is_file);
    let beside = definition_beside(storage, path, files.map(|entry| entry.name.as_str()))?;
    let (definition, unread) = match beside {
        None => server_statement(storage, path)?,
        beside => (beside, None),
    };
    let looks_like_table = entries.iter().any(|entry| entry.name == "format_version.txt");
    if live.is_empty() && !(looks_like_table && definition.is_some()) {
        let problem = "it holds neither tambour.json nor parts";
        return Err(TableError::NotATable { path: path.to_owned(), problem });
    }
    check_format_version(storage, path)?;
    Ok(Found::Parts(Box::new(FoundParts { live, covered, definition, unread })))
}

/// Describes a directory of parts without a sidecar as the sidecar that it would have; covered parts become `removed`.
pub(super) fn adopt(
    storage: &Arc<dyn Storage>,
    path: &Path,
) -> Result<(Sidecar, Option<TableDefinition>), TableError> {
    let mut found = match find(storage, path)? {
        Found::Parts(found) => found,
        Found::Part(_) => {
            let problem = "it is a single part";
            return Err(TableError::NotATable { path: path.to_owned(), problem });
        }
    };
    if found.live.iter().any(|it| it.days.is_some()) {
        let what = "writing to parts of the syntax before 2018 (format version 0); export them, or \
                    INSERT ... SELECT into a new table";
        return Err(TableError::Unsupported { path: path.to_owned(), what: what.to_owned() });
    }
    // To change a table, all of its statement must be known.
    found.unread.take().map_or(Ok(()), Err)?;
    let (live, covered) = (found.live.clone(), found.covered.clone());
    let stated = found.definition.as_ref().map(|it| it.order_by.clone()).unwrap_or_default();
    let table = open_parts(storage, path, *found)?;
    if table.definition().is_some_and(|it| it.order_by != stated) {
        let keys: Vec<String> = stated.iter().map(ToString::to_string).collect();
        return Err(TableError::DefinitionDiffers {
            table: path.to_owned(),
            clause: "ORDER BY",
            expected: "parts in another order".to_owned(),
            got: format!("({}) in the .sql file", keys.join(", ")),
        });
    }
    let statement = table.definition().map(TableDefinition::stored).unwrap_or_default();
    let mut sidecar = Sidecar::new(statement);
    for (name, part) in live.iter().zip(table.parts()) {
        sidecar.parts.push(LivePart::new(name, None, part.content_hash(), part.rows()));
    }
    // A server applies mutation N to all parts with lower block numbers: those of new rows must be higher.
    let parts = live.iter().chain(&covered);
    let known = parts.map(|name| name.block_max.max(name.mutation.unwrap_or(0)));
    let last = known.chain(mutations(storage.as_ref(), path)?).max().unwrap_or(0);
    sidecar.next_block = last.saturating_add(1).max(1);
    sidecar.removed = covered.iter().map(ToString::to_string).collect();
    sidecar.sort_parts();
    Ok((sidecar, table.definition().cloned()))
}

/// The numbers of the mutations that a server keeps in a table's directory (`mutation_12.txt`).
fn mutations(storage: &dyn Storage, path: &Path) -> Result<Vec<u64>, TableError> {
    let entries = storage.list(path).map_err(TableError::file("list", path))?;
    let number = |name: &str| name.strip_prefix("mutation_")?.strip_suffix(".txt")?.parse().ok();
    Ok(entries.iter().filter_map(|entry| number(&entry.name)).collect())
}

/// The sidecar of a table, if it has one.
pub(super) fn load_sidecar(
    storage: &dyn Storage,
    path: &Path,
) -> Result<Option<Sidecar>, TableError> {
    let file = path.join(SIDECAR);
    match storage.read(&file, SIZE_MAX) {
        Ok(bytes) => Sidecar::from_bytes(&file, &bytes).map(Some),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(TableError::file("read", &file)(error)),
    }
}

fn open_with_sidecar(storage: &Arc<dyn Storage>, path: &Path) -> Result<Option<Table>, TableError> {
    let Some(mut sidecar) = load_sidecar(storage.as_ref(), path)? else { return Ok(None) };
    for attempt in 1.. {
        let result = open_live(storage, path, &sidecar);
        let Err(error) = result else { return result.map(Some) };
        // A writer may have renamed or removed parts since the sidecar was read; then there is a new sidecar now, or a
        // part is found under its other name.
        let Some(now) = load_sidecar(storage.as_ref(), path)? else { return Err(error) };
        let is_moving = sidecar.parts.iter().any(|part| part.directory.is_some());
        if attempt == ATTEMPTS_MAX || (now == sidecar && !(is_moving && attempt < 3)) {
            return Err(error);
        }
        sidecar = now;
    }
    Ok(None)
}

/// Opens some of the parts of a table: the others are not looked at. Without a sidecar, all are.
pub(super) fn open_some(
    storage: &Arc<dyn Storage>,
    path: &Path,
    parts: &[String],
) -> Result<Table, TableError> {
    let Some(mut sidecar) = load_sidecar(storage.as_ref(), path)? else {
        return open(storage, path);
    };
    let wanted: HashSet<&String> = parts.iter().collect();
    sidecar.parts.retain(|live| wanted.contains(&live.name));
    open_live(storage, path, &sidecar)
}

fn open_live(
    storage: &Arc<dyn Storage>,
    path: &Path,
    sidecar: &Sidecar,
) -> Result<Table, TableError> {
    let definition = TableDefinition::parse(&sidecar.statement)?;
    let granularity = Some(definition.index_granularity());
    let whole = if sidecar.parts.len() > HELD_MAX { hold(storage, path)? } else { None };
    let opened = in_parallel(&sidecar.parts, |live| match &whole {
        Some(whole) => {
            let part = open_live_part(storage, path, live, granularity)?;
            Ok(part.holding(Arc::clone(whole)))
        }
        None => open_held_part(storage, path, live, granularity),
    })?;
    let names = sidecar.parts.iter().map(|live| live.name.clone());
    assemble(storage, path, Some(definition), names.zip(opened).collect())
}

/// Opens a part that is not removed as long as it is open: a writer who replaces it leaves it to the next one.
pub(super) fn open_held_part(
    storage: &Arc<dyn Storage>,
    path: &Path,
    live: &LivePart,
    granularity: Option<usize>,
) -> Result<Part, TableError> {
    for directory in std::iter::once(&live.name).chain(&live.directory) {
        if let Some(held) = hold(storage, &path.join(directory))? {
            let part = open_live_part(storage, path, live, granularity)?;
            return Ok(part.holding(held));
        }
    }
    open_live_part(storage, path, live, granularity)
}

/// Keeps a directory from being removed; `None` if it is gone or the system has nothing of the sort.
fn hold(storage: &Arc<dyn Storage>, path: &Path) -> Result<Option<Arc<dyn Lock>>, TableError> {
    match storage.hold(path, false) {
        Ok(held) => Ok(held.map(Arc::from)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(TableError::file("hold", path)(error)),
    }
}

/// Opens a part that the sidecar names, under either name, and compares it with what the sidecar says.
pub(super) fn open_live_part(
    storage: &Arc<dyn Storage>,
    path: &Path,
    live: &LivePart,
    granularity: Option<usize>,
) -> Result<Part, TableError> {
    let candidates = std::iter::once(&live.name).chain(&live.directory);
    for directory in candidates {
        match open_candidate(storage, path, (&live.name, directory), granularity)? {
            Opened::Gone => {}
            Opened::Part(part) => {
                compare(path, live, &part)?;
                return Ok(*part);
            }
        }
    }
    Err(TableError::PartMissing { table: path.to_owned(), part: live.name.clone() })
}

fn open_candidate(
    storage: &Arc<dyn Storage>,
    path: &Path,
    (name, directory): (&str, &str),
    granularity: Option<usize>,
) -> Result<Opened, TableError> {
    // A writer gives it the other name as soon as it can, also while it is read.
    let renamed_to = (directory != name).then(|| path.join(name));
    let directory = path.join(directory);
    let index_granularity = granularity.map(|rows| rows as u64);
    let options = OpenOptions { index_granularity, renamed_to, ..OpenOptions::default() };
    match Part::open_with(storage, &directory, &options) {
        Ok(part) => Ok(Opened::Part(Box::new(part))),
        // Not there, or renamed or removed while we were reading it: not damaged, but elsewhere.
        Err(_) if !exists(storage.as_ref(), &directory)? => Ok(Opened::Gone),
        Err(error) => Err(TableError::part(path, name)(error)),
    }
}

fn compare(path: &Path, live: &LivePart, part: &Part) -> Result<(), TableError> {
    let differs = |field, expected: String, got: String| {
        let (table, part) = (path.to_owned(), live.name.clone());
        Err(TableError::PartDiffers { table, part, field, expected, got })
    };
    if part.rows() != live.rows {
        return differs("rows", live.rows.to_string(), part.rows().to_string());
    }
    let hash = part.content_hash();
    if hash == live.hash { Ok(()) } else { differs("content hash", live.hash.clone(), hash) }
}

/// Puts a table together from parts that must agree about the columns.
fn assemble(
    storage: &Arc<dyn Storage>,
    path: &Path,
    definition: Option<TableDefinition>,
    parts: Vec<(String, Part)>,
) -> Result<Table, TableError> {
    let columns = match &definition {
        Some(definition) => definition.plain_columns(),
        None => common_columns(parts.iter().map(|(_, part)| part)),
    };
    let columns: Vec<Column> = columns.into_iter().map(unproven::with_known_zones).collect();
    let rows = parts.iter().map(|(_, part)| part.rows()).sum();
    let fit = |(name, part): (String, Part)| {
        let part = fit(path, &name, (&columns, definition.as_ref()), part)?;
        Ok((name, Arc::new(part)))
    };
    let parts = parts.into_iter().map(fit).collect::<Result<Vec<_>, TableError>>()?;
    let (names, parts) = parts.into_iter().unzip();
    let (storage, name, path) = (Arc::clone(storage), directory_name(path), path.to_owned());
    let database = None;
    let places = OnceLock::new();
    Ok(Table { storage, path, name, database, definition, columns, names, parts, rows, places })
}

/// [`Table::projected`]. A projection that cannot be opened is passed by: the parts have the same rows.
pub(super) fn projected(
    table: &Table,
    projection: &str,
    definition: TableDefinition,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Option<Table> {
    let mut opened = Vec::new();
    for (parent, name) in table.parts.iter().zip(&table.names).filter(|it| is_wanted(it.1)) {
        let part = parent.projection(projection).ok()?;
        let has = |column: &Column| part.stored_columns().any(|it| it.name == column.name);
        // A column that was added later would be filled, whatever the part itself has.
        let is_whole = definition.plain_columns().iter().all(has);
        if parent.has_deleted_rows() || part.rows() != parent.rows() || !is_whole {
            return None;
        }
        opened.push((name.clone(), part));
    }
    let projected = assemble(&table.storage, &table.path, Some(definition), opened).ok()?;
    let is_sorted = is_sorted_by(&table.path, projected.definition.as_ref()?, &projected.parts);
    is_sorted.then_some(projected)
}

/// The columns of parts without a definition: all that any of them has, in the order of the newest, in the widest type.
fn common_columns<'a>(parts: impl DoubleEndedIterator<Item = &'a Part>) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    // The newest first: it knows the most, and the order.
    for part in parts.rev() {
        let foreign = part.unreadable_columns().iter().map(|it| Column {
            name: it.name.clone(),
            data_type: DataType::Foreign(it.type_text.clone()),
        });
        let foreign: Vec<Column> = foreign.collect();
        for column in part.columns().iter().chain(&foreign) {
            match columns.iter_mut().find(|known| known.name == column.name) {
                None => columns.push(column.clone()),
                Some(known) if widens(&known.data_type, &column.data_type).is_some() => {
                    known.data_type = column.data_type.clone();
                }
                Some(_) => {}
            }
        }
    }
    columns
}

/// The last component of a path; `.` and `..` have none of their own until they are resolved.
pub(super) fn directory_name(path: &Path) -> String {
    let own = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    own(path)
        .or_else(|| std::fs::canonicalize(path).ok().as_deref().and_then(own))
        .unwrap_or_else(|| "table".to_owned())
}

/// Live parts among directory names, in order, and those that they cover.
fn live_set<'a>(
    path: &Path,
    directories: impl Iterator<Item = &'a str>,
) -> Result<(Vec<PartName>, Vec<PartName>), TableError> {
    let mut names = Vec::new();
    for directory in directories {
        if directory.starts_with("patch-") {
            let what = format!("the patch part {directory:?}");
            return Err(TableError::Unsupported { path: path.to_owned(), what });
        }
        names.extend(PartName::parse(directory));
    }
    // By partition and first block, the widest first: a part that is covered comes right after one that covers it.
    names.sort_by(|left, right| {
        (&left.partition, left.block_min, right.block_max, right.level, right.mutation).cmp(&(
            &right.partition,
            right.block_min,
            left.block_max,
            left.level,
            left.mutation,
        ))
    });
    let mut live: Vec<PartName> = Vec::new();
    let mut covered = Vec::new();
    for name in names {
        match live.last() {
            Some(last) if last.covers(&name) => covered.push(name),
            Some(last) if last.overlaps(&name) => {
                let (part, other) = (last.to_string(), name.to_string());
                return Err(TableError::PartsOverlap { table: path.to_owned(), part, other });
            }
            _ => live.push(name),
        }
    }
    Ok((live, covered))
}

/// The statement in create.sql, or in the only .sql file.
pub(super) fn definition_beside<'a>(
    storage: &Arc<dyn Storage>,
    path: &Path,
    files: impl Iterator<Item = &'a str>,
) -> Result<Option<TableDefinition>, TableError> {
    let statements: Vec<&str> = files
        .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "sql"))
        .collect();
    let name = match statements.as_slice() {
        [only] => only,
        several if several.contains(&"create.sql") => "create.sql",
        _ => return Ok(None),
    };
    let file = path.join(name);
    let bytes = storage.read(&file, STATEMENT_MAX).map_err(TableError::file("read", &file))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let cause = std::io::Error::new(ErrorKind::InvalidData, error);
        TableError::file("read", &file)(cause)
    })?;
    TableDefinition::parse(&text).map(Some)
}

/// The definition that the server has on whose disk the directory lies, or why its statement cannot be read: it may have
/// clauses that are unknown here, such as a key of comparisons.
fn server_statement(
    storage: &Arc<dyn Storage>,
    path: &Path,
) -> Result<(Option<TableDefinition>, Option<TableError>), TableError> {
    let statement = super::server::statement_of(storage, path)?;
    Ok(statement.as_deref().map_or((None, None), read_statement))
}

/// What a server's statement says. If its keys are not known here, all else, and why.
fn read_statement(statement: &str) -> (Option<TableDefinition>, Option<TableError>) {
    match TableDefinition::parse(statement) {
        Ok(definition) => (Some(definition), None),
        Err(error) => (TableDefinition::parse_without_keys(statement).ok(), Some(error)),
    }
}

/// Version 1 is that of all tables since 2018. Version 0 differs in the names of parts alone.
fn check_format_version(storage: &Arc<dyn Storage>, path: &Path) -> Result<(), TableError> {
    let file = path.join("format_version.txt");
    match storage.read(&file, 16) {
        Ok(text) if !matches!(text.trim_ascii(), b"0" | b"1") => {
            let what = format!("format version {:?}", String::from_utf8_lossy(&text));
            Err(TableError::Unsupported { path: file, what })
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(TableError::file("read", &file)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::live_set;
    use std::path::Path;
    use tambour_codec::Kind;

    fn live(names: &[&str]) -> Result<Vec<String>, crate::TableError> {
        let (live, _) = live_set(Path::new("t"), names.iter().copied())?;
        Ok(live.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn covering_parts_replace_covered_ones() {
        let names = [
            "all_1_1_0",
            "all_1_3_1",
            "all_2_2_0",
            "all_3_3_0",
            "all_4_4_0",
            "all_4_4_0_9",
            "detached",
            "tmp_merge_all_1_4_2",
            "delete_tmp_all_9_9_0",
            "broken_all_7_7_0",
        ];
        assert_eq!(live(&names).unwrap(), ["all_1_3_1", "all_4_4_0_9"]);
        assert_eq!(
            live(&["202402_2_2_0", "202401_1_3_1"]).unwrap(),
            ["202401_1_3_1", "202402_2_2_0"]
        );
        assert_eq!(live(&["all_1_9_2", "all_2_8_1", "all_3_3_0"]).unwrap(), ["all_1_9_2"]);
        assert!(live(&[]).unwrap().is_empty());
    }

    #[test]
    fn what_cannot_be_settled_is_refused() {
        assert_eq!(live(&["all_1_3_1", "all_2_4_1"]).unwrap_err().kind(), Kind::Corrupt);
        let patch = "patch-21818ffeee1ae033898614f81c7c3c75-all_1_1_0";
        assert_eq!(live(&["all_1_1_0", patch]).unwrap_err().kind(), Kind::Unsupported);
    }
}
