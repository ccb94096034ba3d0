//! A server's disk as it lies: the tables of a data directory, of a FREEZE, and of a backup, by database and name.
//!
//! | layout | known by | where a table is |
//! |---|---|---|
//! | data directory | `metadata/` beside `store/` or `data/` | `store/abc/<uuid>` that its statement names, else `data/<db>/<table>` |
//! | FREEZE (`shadow/N`) | `store/` or `data/` alone | the same; statements are taken from the server's `metadata/` two levels up |
//! | backup of ClickHouse | `.backup` | `data/<db>/<table>`, as the manifest says; its base is looked for beside it |
//! | disk of type `s3_plain_rewritable` | `__meta/…/prefix.path` | as these names say |
//! | disk of type `s3` | its metadata, in `disks/<disk>` | where it is for the server; the storage shows it |
//! | `tar`, `zip` | how the file begins | any of these layouts within, or the parts of one table |
//! | clickhouse-backup | `metadata/<db>/<table>.json` | `shadow/<db>/<table>/<disk>` |
//!
//! Links are not followed out of the directory: they are the server's absolute paths, which a copy does not have.

use crate::store::is_url;
use crate::verify::{TableVerification, VerifyProgress, verify};
use crate::{SIDECAR, Table, TableError, open};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_backup::Backup;
use tambour_part::name::{escape, unescape};
use tambour_storage::{Entry, Storage};

/// Most bytes of a statement or of a list of parts.
const METADATA_MAX: u64 = 64 << 20;
/// Databases that a server keeps for itself.
const OWN_DATABASES: [&str; 3] = ["system", "information_schema", "INFORMATION_SCHEMA"];
/// Directories around a layout in an archive: it may have been packed from above.
const WRAPPERS_MAX: usize = 4;

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

/// What a server's disk holds.
#[derive(Debug)]
pub struct ServerDisk {
    /// Tables of the MergeTree family, by database and name. The databases that a server keeps for itself are left out.
    pub tables: Vec<ServerTable>,
    /// What else has a statement there: views, tables of other engines. Names, with their databases.
    pub others: Vec<String>,
    /// Where the tables are: what was given, or a view of a backup or an archive.
    storage: Arc<dyn Storage>,
    backup: Option<Backup>,
}

/// Tables and other names, before they are put in order.
#[derive(Debug, Default)]
struct Known {
    tables: Vec<ServerTable>,
    others: Vec<String>,
}

/// True for a file that begins like an archive.
pub fn is_archive(path: &Path) -> bool {
    tambour_backup::is_archive(path)
}

impl ServerDisk {
    /// Looks at a directory or an archive; `None` for a directory that is not laid out like one of a server's.
    pub fn open(storage: &Arc<dyn Storage>, path: &Path) -> Result<Option<Self>, TableError> {
        if is_url(path) && is_own_table(storage, path)? {
            return Ok(None);
        }
        let backup = tambour_backup::open(storage, path)?;
        let storage = backup.as_ref().map_or(storage, |backup| &backup.storage).clone();
        let mut known = known(&storage, path)?;
        if known.is_none() && backup.is_some() {
            known = wrapped(&storage, path)?;
            if known.is_none() {
                let what = "the archive holds no parts, no backup, and no directory of a server";
                let (path, what) = (path.to_owned(), what.to_owned());
                return Err(TableError::Unsupported { path, what });
            }
        }
        let Some(Known { mut tables, mut others }) = known else { return Ok(None) };
        tables.retain(|table| !OWN_DATABASES.contains(&table.database.as_str()));
        tables.sort_by(|a, b| (&a.database, &a.name).cmp(&(&b.database, &b.name)));
        others.sort();
        Ok(Some(Self { tables, others, storage, backup }))
    }

    /// Opens one of its tables; without parts it is an empty one.
    pub fn table(&self, of: &ServerTable) -> Result<Table, TableError> {
        let mut table = open::open_stated(&self.storage, &of.path, of.statement.as_deref())?;
        table.name.clone_from(&of.name);
        table.database = Some(of.database.clone());
        Ok(table)
    }

    /// Verifies all tables, and every file of a backup against its manifest.
    pub fn verify(&self, progress: &mut dyn FnMut(&VerifyProgress)) -> TableVerification {
        let mut total = TableVerification::default();
        let mut told = VerifyProgress::default();
        if let Some(backup) = &self.backup {
            let damage = backup.verify(&mut |bytes| {
                told.bytes += bytes;
                progress(&told);
                total.files += 1;
            });
            total.damage.extend(damage.into_iter().map(TableError::from));
        }
        for table in &self.tables {
            let before = told.clone();
            let mut add = |seen: &VerifyProgress| {
                told = VerifyProgress {
                    parts: before.parts + seen.parts,
                    parts_total: before.parts_total + seen.parts_total,
                    rows: before.rows + seen.rows,
                    bytes: before.bytes + seen.bytes,
                };
                progress(&told);
            };
            match open::has_parts(&self.storage, &table.path) {
                Ok(false) => {}
                Ok(true) => match verify(&self.storage, &table.path, &mut add) {
                    Ok(seen) => total.add(seen),
                    Err(error) => total.damage.push(error),
                },
                Err(error) => total.damage.push(error),
            }
        }
        total
    }
}

/// True for a table with a sidecar. In a store it is asked for first: a web server can say that much, and no more.
fn is_own_table(storage: &Arc<dyn Storage>, path: &Path) -> Result<bool, TableError> {
    // A store answers from this one listing then.
    match storage.list(path) {
        Err(error) if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unsupported) => {
            return Err(TableError::file("list", path)(error));
        }
        Ok(_) | Err(_) => {}
    }
    let sidecar = path.join(SIDECAR);
    storage.exists(&sidecar).map_err(TableError::file("find", &sidecar))
}

/// The layout of a directory.
fn known(storage: &Arc<dyn Storage>, path: &Path) -> Result<Option<Known>, TableError> {
    let Some(entries) = list(storage, path)? else { return Ok(None) };
    let has = |name: &str| entries.iter().any(|entry| entry.name == name);
    if has("metadata") && (has("store") || has("data")) {
        Places { storage, root: path, statements: path }.by_statements().map(Some)
    } else if has("metadata") && (has("shadow") || has("metadata.json")) {
        of_clickhouse_backup(storage, path).map(Some)
    } else if has("store") || has("data") {
        of_freeze(storage, path).map(Some)
    } else {
        Ok(None)
    }
}

/// The layout of an archive that was packed from above it: each directory down to it is the only one. The parts of a single table
/// are a layout, too; the archive names it.
fn wrapped(storage: &Arc<dyn Storage>, path: &Path) -> Result<Option<Known>, TableError> {
    let mut place = path.to_owned();
    for _ in 0..WRAPPERS_MAX {
        if open::has_parts(storage, &place)? {
            let named = if place == path { path.file_stem() } else { place.file_name() };
            let name = named.unwrap_or_default().to_string_lossy().into_owned();
            let name = name.strip_suffix(".tar").unwrap_or(&name).to_owned();
            let table =
                ServerTable { database: "default".to_owned(), name, path: place, statement: None };
            return Ok(Some(Known { tables: vec![table], others: Vec::new() }));
        }
        let entries = list(storage, &place)?.unwrap_or_default();
        let [only] = entries.as_slice() else { return Ok(None) };
        place.push(&only.name);
        let found = known(storage, &place)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The statement of a table whose directory (or whose `detached`) lies on a server's disk. The path may be relative, or one of the
/// links that a server has in `data/<database>`.
pub(crate) fn statement_of(
    storage: &Arc<dyn Storage>,
    path: &Path,
) -> Result<Option<String>, TableError> {
    let found = statement_at(storage, path)?;
    match std::fs::canonicalize(path) {
        Ok(real) if found.is_none() && real != path => statement_at(storage, &real),
        _ => Ok(found),
    }
}

fn statement_at(storage: &Arc<dyn Storage>, path: &Path) -> Result<Option<String>, TableError> {
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
    fn by_statements(&self) -> Result<Known, TableError> {
        let mut found = Known::default();
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
fn of_freeze(storage: &Arc<dyn Storage>, path: &Path) -> Result<Known, TableError> {
    let server = path.parent().and_then(Path::parent);
    let known = match server {
        Some(server) if path.parent().is_some_and(|it| it.ends_with("shadow")) => {
            Places { storage, root: path, statements: server }.by_statements()?.tables
        }
        _ => Vec::new(),
    };
    let mut found = Known::default();
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

fn of_clickhouse_backup(storage: &Arc<dyn Storage>, path: &Path) -> Result<Known, TableError> {
    let mut found = Known::default();
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
