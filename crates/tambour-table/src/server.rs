//! A server's disk as it lies: the tables of a data directory, of a FREEZE, and of a backup, by database and name.
//!
//! | layout | known by | where a table is |
//! |---|---|---|
//! | data directory | `metadata/` beside `store/` or `data/` | `store/abc/<uuid>` that its statement names, else `data/<db>/<table>` |
//! | FREEZE (`shadow/N`) | `store/` or `data/` alone | the same; statements are taken from the server's `metadata/` two levels up |
//! | backup of ClickHouse | `.backup` | `data/<db>/<table>` |
//! | clickhouse-backup | `metadata/<db>/<table>.json` | `shadow/<db>/<table>/<disk>` |
//!
//! Links are not followed out of the directory: they are the server's absolute paths, which a copy does not have.

use crate::schema::TableDefinition;
use crate::{Table, TableError, open};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::name::{escape, unescape};
use tambour_storage::{Entry, Storage};

/// Most bytes of a statement or of a list of parts.
const METADATA_MAX: u64 = 64 << 20;
/// Databases that a server keeps for itself.
const OWN_DATABASES: [&str; 3] = ["system", "information_schema", "INFORMATION_SCHEMA"];
/// The manifest of a backup of ClickHouse's own.
const MANIFEST: &str = ".backup";

/// A table on a server's disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTable {
    /// Its database.
    pub database: String,
    /// Its name.
    pub name: String,
    /// Where its parts are; the directory need not be there if it has none.
    pub path: PathBuf,
    /// Its CREATE TABLE statement, if it was found.
    pub statement: Option<String>,
}

impl ServerTable {
    /// Opens it; without parts it is an empty table.
    pub fn open(&self, storage: &Arc<dyn Storage>) -> Result<Table, TableError> {
        let definition = self.statement.as_deref().map(TableDefinition::parse).transpose()?;
        let mut table = open::open_defined(storage, &self.path, definition)?;
        table.name.clone_from(&self.name);
        table.database = Some(self.database.clone());
        Ok(table)
    }
}

/// What a server's disk holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerTables {
    /// Tables of the MergeTree family, by database and name.
    pub tables: Vec<ServerTable>,
    /// What else has a statement there: views, tables of other engines. Names, with their databases.
    pub others: Vec<String>,
}

/// The tables of a directory that is laid out like one of a server's; `None` if it is not. The databases that a server keeps for
/// itself are left out.
pub fn tables(storage: &Arc<dyn Storage>, path: &Path) -> Result<Option<ServerTables>, TableError> {
    let Some(entries) = list(storage, path)? else { return Ok(None) };
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    let mut found = if has(MANIFEST) {
        refuse_references(storage, &path.join(MANIFEST))?;
        let places = Places { storage, root: path, statements: path };
        places.by_statements()?
    } else if has("metadata") && (has("store") || has("data")) {
        Places { storage, root: path, statements: path }.by_statements()?
    } else if has("metadata") && (has("shadow") || has("metadata.json")) {
        of_clickhouse_backup(storage, path)?
    } else if has("store") || has("data") {
        of_freeze(storage, path)?
    } else {
        return Ok(None);
    };
    found.tables.retain(|table| !OWN_DATABASES.contains(&table.database.as_str()));
    found.tables.sort_by(|a, b| (&a.database, &a.name).cmp(&(&b.database, &b.name)));
    found.others.sort();
    Ok(Some(found))
}

/// The statement of a table whose directory (or whose `detached`) lies on a server's disk.
pub(crate) fn statement_of(
    storage: &Arc<dyn Storage>,
    path: &Path,
) -> Result<Option<String>, TableError> {
    let table = if path.ends_with("detached") { path.parent() } else { Some(path) };
    let mut above = table.into_iter().flat_map(Path::ancestors).skip(2);
    let (Some(table), Some(kind), Some(root)) = (table, above.next(), above.next()) else {
        return Ok(None);
    };
    if !kind.ends_with("store") && !kind.ends_with("data") {
        return Ok(None);
    }
    let is_frozen = root.parent().is_some_and(|it| it.ends_with("shadow"));
    let server = if is_frozen { root.ancestors().nth(2) } else { Some(root) };
    let Some(statements) = server else { return Ok(None) };
    let known = Places { storage, root, statements }.by_statements()?.tables;
    let own = known.into_iter().find(|known| known.path == table);
    Ok(own.and_then(|own| own.statement))
}

/// The entries of a directory, also of one that a link leads to; `None` if there is none.
fn list(storage: &Arc<dyn Storage>, path: &Path) -> Result<Option<Vec<Entry>>, TableError> {
    match storage.list(path) {
        Ok(entries) => Ok(Some(entries)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(TableError::file("list", path)(error)),
    }
}

fn text(storage: &Arc<dyn Storage>, path: &Path) -> Result<String, TableError> {
    let bytes = storage.read(path, METADATA_MAX).map_err(TableError::file("read", path))?;
    String::from_utf8(bytes).map_err(|error| {
        let cause = std::io::Error::new(ErrorKind::InvalidData, error);
        TableError::file("read", path)(cause)
    })
}

/// The name that a file of this extension stands for.
fn named(entry: &Entry, extension: &str) -> Option<String> {
    let stem = entry.name.strip_suffix(extension)?;
    entry.is_file.then(|| unescape(stem).unwrap_or_else(|| stem.to_owned()))
}

/// The UUID in the head of a statement (`ATTACH TABLE _ UUID '…'`).
fn uuid(statement: &str) -> Option<&str> {
    let head = statement.split_once('(').map_or(statement, |(head, _)| head);
    let (_, rest) = head.split_once("UUID '")?;
    let (uuid, _) = rest.split_once('\'')?;
    let is_uuid = uuid.len() == 36 && uuid.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    is_uuid.then_some(uuid)
}

/// `store/abc/<uuid>`.
fn store(root: &Path, uuid: &str) -> PathBuf {
    root.join("store").join(uuid.get(..3).unwrap_or_default()).join(uuid)
}

/// True for a statement of a table that has parts.
fn is_of_parts(statement: &str) -> bool {
    let words = statement.split_whitespace().take(3).any(|word| word == "TABLE");
    let engine = statement.split_once("ENGINE = ").map_or("", |(_, engine)| engine);
    let engine = engine.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    words && engine.ends_with("MergeTree")
}

/// Where parts are and where statements are.
struct Places<'a> {
    storage: &'a Arc<dyn Storage>,
    root: &'a Path,
    /// The directory that has `metadata`.
    statements: &'a Path,
}

impl Places<'_> {
    /// All tables that have a statement.
    fn by_statements(&self) -> Result<ServerTables, TableError> {
        let mut found = ServerTables::default();
        let metadata = self.statements.join("metadata");
        for (database, directory) in self.databases(&metadata)? {
            for entry in list(self.storage, &directory)?.unwrap_or_default() {
                let Some(name) = named(&entry, ".sql") else { continue };
                let statement = text(self.storage, &directory.join(&entry.name))?;
                if !is_of_parts(&statement) {
                    found.others.push(format!("{database}.{name}"));
                    continue;
                }
                let path = self.place(&database, &name, &statement)?;
                let database = database.clone();
                found.tables.push(ServerTable { database, name, path, statement: Some(statement) });
            }
        }
        Ok(found)
    }

    /// Databases and where the statements of their tables are.
    fn databases(&self, metadata: &Path) -> Result<BTreeMap<String, PathBuf>, TableError> {
        let mut databases = BTreeMap::new();
        for entry in list(self.storage, metadata)?.unwrap_or_default() {
            let Some(name) = named(&entry, ".sql") else {
                if !entry.is_file {
                    let name = unescape(&entry.name).unwrap_or_else(|| entry.name.clone());
                    databases.entry(name).or_insert_with(|| metadata.join(&entry.name));
                }
                continue;
            };
            let statement = text(self.storage, &metadata.join(&entry.name))?;
            let own = uuid(&statement).map(|uuid| store(self.statements, uuid));
            let directory = match own {
                Some(own) if list(self.storage, &own)?.is_some() => own,
                _ => metadata.join(escape(&name)),
            };
            databases.insert(name, directory);
        }
        Ok(databases)
    }

    fn place(&self, database: &str, name: &str, statement: &str) -> Result<PathBuf, TableError> {
        if let Some(uuid) = uuid(statement) {
            let path = store(self.root, uuid);
            if list(self.storage, &path)?.is_some() {
                return Ok(path);
            }
        }
        Ok(self.root.join("data").join(escape(database)).join(escape(name)))
    }
}

/// What was frozen: tables that have parts there, named by the statements of the server around it, else by their places.
fn of_freeze(storage: &Arc<dyn Storage>, path: &Path) -> Result<ServerTables, TableError> {
    let server = path.parent().and_then(Path::parent);
    let known = match server {
        Some(server) if path.parent().is_some_and(|it| it.ends_with("shadow")) => {
            Places { storage, root: path, statements: server }.by_statements()?.tables
        }
        _ => Vec::new(),
    };
    let mut found = ServerTables::default();
    for place in places_of(storage, path)? {
        let table = known.iter().find(|table| table.path == place.path).cloned();
        found.tables.push(table.unwrap_or(place));
    }
    Ok(found)
}

/// Directories of parts below `store` and `data`, named by where they are.
fn places_of(storage: &Arc<dyn Storage>, path: &Path) -> Result<Vec<ServerTable>, TableError> {
    let mut found = Vec::new();
    for (kind, is_store) in [("store", true), ("data", false)] {
        let root = path.join(kind);
        for outer in list(storage, &root)?.unwrap_or_default() {
            for inner in list(storage, &root.join(&outer.name))?.unwrap_or_default() {
                let path = root.join(&outer.name).join(&inner.name);
                let plain = |name: &str| unescape(name).unwrap_or_else(|| name.to_owned());
                let database = if is_store { "default".to_owned() } else { plain(&outer.name) };
                let name = plain(&inner.name);
                if inner.is_directory && open::has_parts(storage, &path)? {
                    found.push(ServerTable { database, name, path, statement: None });
                }
            }
        }
    }
    Ok(found)
}

/// What clickhouse-backup notes of a table.
#[derive(Deserialize)]
struct Noted {
    database: String,
    table: String,
    query: String,
}

fn of_clickhouse_backup(
    storage: &Arc<dyn Storage>,
    path: &Path,
) -> Result<ServerTables, TableError> {
    let mut found = ServerTables::default();
    let metadata = path.join("metadata");
    for outer in list(storage, &metadata)?.unwrap_or_default() {
        let directory = metadata.join(&outer.name);
        for inner in list(storage, &directory)?.unwrap_or_default() {
            if named(&inner, ".json").is_none() {
                continue;
            }
            let file = directory.join(&inner.name);
            let noted: Noted = serde_json::from_str(&text(storage, &file)?)
                .map_err(|cause| TableError::SidecarSyntax { path: file.clone(), cause })?;
            if !is_of_parts(&noted.query) {
                found.others.push(format!("{}.{}", noted.database, noted.table));
                continue;
            }
            let stem = inner.name.strip_suffix(".json").unwrap_or_default();
            let parts = path.join("shadow").join(&outer.name).join(stem);
            let path = only_disk(storage, &parts)?;
            let (database, name) = (noted.database, noted.table);
            found.tables.push(ServerTable { database, name, path, statement: Some(noted.query) });
        }
    }
    Ok(found)
}

/// The directory of the only disk that a table has parts on.
fn only_disk(storage: &Arc<dyn Storage>, path: &Path) -> Result<PathBuf, TableError> {
    let disks = list(storage, path)?.unwrap_or_default();
    let archive = disks.iter().find(|entry| entry.is_file);
    let unsupported = |what: String| Err(TableError::Unsupported { path: path.to_owned(), what });
    if let Some(archive) = archive {
        return unsupported(format!("the archive {:?} (unpack it first)", archive.name));
    }
    match disks.as_slice() {
        [] => Ok(path.join("default")),
        [disk] => Ok(path.join(&disk.name)),
        [_, ..] => unsupported(format!("a table on {} disks", disks.len())),
    }
}

/// Refuses a backup whose files are elsewhere: in the base that it is an increment of, or under another name.
fn refuse_references(storage: &Arc<dyn Storage>, manifest: &Path) -> Result<(), TableError> {
    let text = text(storage, manifest)?;
    let between = |start: &str, end: &str| {
        text.split_once(start).and_then(|(_, rest)| rest.split_once(end)).map(|(found, _)| found)
    };
    let unsupported =
        |what: String| Err(TableError::Unsupported { path: manifest.to_owned(), what });
    if text.contains("<use_base>") || text.contains("<base_size>") {
        let base = between("<base_backup>", "</base_backup>").unwrap_or("another backup");
        return unsupported(format!(
            "an incremental backup whose files are in its base {base} (restore both, or give the base)"
        ));
    }
    let mut renamed = BTreeSet::new();
    for file in text.split("<file>").skip(1) {
        let field = |tag: &str| {
            let (_, rest) = file.split_once(&format!("<{tag}>"))?;
            rest.split_once(&format!("</{tag}>")).map(|(value, _)| value)
        };
        if let (Some(name), Some(data)) = (field("name"), field("data_file"))
            && name != data
        {
            renamed.insert(name.to_owned());
        }
    }
    match renamed.first() {
        None => Ok(()),
        Some(first) => unsupported(format!(
            "a backup in which {} files are kept once under another name, like {first:?}",
            renamed.len()
        )),
    }
}
