//! Parts that come and go as a whole: out of a table into its `detached/`, from there back, and from other tables.
//!
//! A part that moves between the table and `detached/` is at one of both places after every crash: the commit says where it
//! belongs, and the directory is renamed afterwards. What comes from another table is the same files under another name.

use super::Rewrite;
use crate::TableError;
use crate::conform::fit;
use crate::locked::LockedTable;
use crate::name::PartName;
use crate::open::open_part;
use crate::recover::{REMOVING, retire};
use crate::schema::TableDefinition;
use crate::schema::expression::Expression;
use crate::sidecar::{DETACHED, LivePart};
use crate::statistics;
use crate::table::Table;
use crate::verify::compare_rows;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::types::Column;
use tambour_storage::{Storage, commit};

impl Rewrite {
    /// Takes a part out of the table; after the commit its directory is in `detached/`, as soon as no query reads it any more.
    pub fn detach_part(&mut self, part: &str) -> Result<(), TableError> {
        let name = self.take_part(part)?;
        self.next.detached.push(name);
        Ok(())
    }

    /// True of a part of the table that has not been taken out yet.
    pub fn has_part(&self, part: &str) -> bool {
        self.next.parts.iter().any(|live| live.name == part)
    }

    /// Opens a part in `detached/` to look at it.
    pub fn open_detached(&self, name: &str) -> Result<Part, TableError> {
        let path = self.table.path().join(DETACHED);
        let granularity = Some(self.definition.index_granularity());
        let part = open_part(self.table.storage(), &path.join(name), granularity);
        part.map_err(TableError::part(&path, name))
    }

    /// Takes a part from `detached/` into the table, under a number that is free. It is read first: all of it must be sound, and as
    /// the table's definition says.
    pub fn attach_part(&mut self, name: &str) -> Result<(), TableError> {
        let path = self.table.path().join(DETACHED);
        let storage = Arc::clone(self.table.storage());
        let Some(parsed) = PartName::parse(name) else {
            let problem = format!("{name:?} is not the name of a part");
            return Err(self.mismatch(problem));
        };
        let is_there = detached_parts(&storage, self.table.path())?.iter().any(|it| it == name);
        if !is_there {
            return Err(self.mismatch(format!("there is no part {name:?} in detached/")));
        }
        if self.definition.partition_by.is_empty() && parsed.partition != "all" {
            let (table, part) = (path, name.to_owned());
            let (field, expected) = ("partition id in the name", "all".to_owned());
            let got = parsed.partition;
            return Err(TableError::PartDiffers { table, part, field, expected, got });
        }
        let part = Arc::new(self.open_detached(name)?);
        if let Some(damage) = part.verify().damage.into_iter().next() {
            return Err(TableError::part(&path, name)(damage.error));
        }
        check_readable(&path, name, &part)?;
        self.check_columns(&path, name, &part)?;
        let (hash, rows) = (part.content_hash(), part.rows());
        drop(part);
        compare_rows(&path, name, self.open_detached(name)?, &self.definition)?;
        // Nobody knows whether those who put it there have synced it.
        self.make_durable(&path.join(name))?;
        commit::sync_directory(storage.as_ref(), &path)?;
        let directory = format!("{DETACHED}/{name}");
        if self.next.parts.iter().any(|live| live.directory.as_ref() == Some(&directory)) {
            return Err(self.mismatch(format!("the part {name:?} is attached twice")));
        }
        self.add_part(&parsed, directory, hash, rows);
        Ok(())
    }

    /// A part with a column that the table has not is read, but not taken: a later column of that name would have its values.
    fn check_columns(&self, path: &Path, name: &str, part: &Part) -> Result<(), TableError> {
        let known = self.definition.plain_columns();
        let is_known = |it: &Column| known.iter().any(|column| column.name == it.name);
        let Some(other) = part.stored_columns().find(|it| !is_known(it)) else { return Ok(()) };
        let (table, part, field) = (path.to_owned(), name.to_owned(), "columns");
        let (expected, got) = ("no other column".to_owned(), other.name.clone());
        Err(TableError::PartDiffers { table, part, field, expected, got })
    }

    /// Adds the rows of a part of another table, which keeps it.
    pub fn copy_part(&mut self, source: &Table, name: &str) -> Result<(), TableError> {
        let missing =
            || TableError::PartMissing { table: source.path().to_owned(), part: name.to_owned() };
        let parsed = PartName::parse(name).ok_or_else(missing)?;
        let (part, _) = source.part_by_name(name).ok_or_else(missing)?;
        self.check_defaults(source, part)?;
        let (directory, linked) = self.linked(source, part)?;
        self.add_part(&parsed, directory, linked.content_hash(), linked.rows());
        Ok(())
    }

    /// Puts the parts of another table in the place of some of a partition, as if they had been merged here into one, or written
    /// anew one by one: they have the names that they would have then. A source without parts drops them.
    pub fn replace_parts(&mut self, parts: &[String], source: &Table) -> Result<(), TableError> {
        let names: Vec<PartName> =
            parts.iter().map(|part| self.name(part)).collect::<Result<_, _>>()?;
        let groups: Vec<&[PartName]> = match source.parts().len() {
            0 => Vec::new(),
            1 => vec![&names],
            count if count == names.len() => names.chunks(1).collect(),
            count => {
                let problem = format!("{count} parts in the place of {}", names.len());
                return Err(self.mismatch(problem));
            }
        };
        let mut written = Vec::with_capacity(groups.len());
        for (part, group) in source.parts().iter().zip(groups) {
            let (directory, linked) = self.linked(source, part)?;
            let name = PartName::merged(group).ok_or_else(|| TableError::Unsupported {
                path: self.table.path().to_owned(),
                what: "a part of a level above 4294967295".to_owned(),
            })?;
            let (hash, rows) = (linked.content_hash(), linked.rows());
            written.push(LivePart::new(&name, Some(directory), hash, rows));
        }
        for part in parts {
            self.drop_part(part)?;
        }
        self.summary.rows_after += written.iter().map(|it| it.rows).sum::<u64>();
        self.next.parts.extend(written);
        Ok(())
    }

    /// A directory of this table's with the files of a part of another.
    fn linked(&self, source: &Table, part: &Part) -> Result<(String, Part), TableError> {
        let (storage, path) = (self.table.storage(), self.table.path());
        let directory = self.work.directory();
        let target = path.join(&directory);
        link_tree(storage.as_ref(), part.path(), &target)?;
        self.make_durable(&target)?;
        let linked = self.written(&directory)?;
        let (expected, got) = (part.content_hash(), linked.content_hash());
        if expected != got {
            let (table, part) = (source.path().to_owned(), part.name().to_owned());
            let field = "content hash";
            return Err(TableError::PartDiffers { table, part, field, expected, got });
        }
        check_readable(path, &directory, &linked)?;
        let known = statistics::known(storage.as_ref(), source.path(), part);
        statistics::keep(storage.as_ref(), path, &linked, &known);
        let columns = (self.table.columns(), Some(&self.definition));
        Ok((directory.clone(), fit(path, &directory, columns, linked)?))
    }

    /// A directory for what others write before it becomes parts; it goes with the change, whatever comes of it.
    pub fn scratch(&self) -> Result<PathBuf, TableError> {
        let path = self.table.path().join(self.work.directory());
        let made = self.table.storage().create_directory(&path);
        made.map_err(TableError::file("create", &path))?;
        Ok(path)
    }

    /// Says what keeps the parts of another table from being parts of this one.
    pub fn check_structure(&self, source: &Table) -> Result<(), TableError> {
        let operation = "taking parts from another table";
        let table = || self.table.path().to_owned();
        if source.path() == self.table.path() {
            return Err(self.mismatch("parts are taken from the table itself".to_owned()));
        }
        let Some(other) = source.definition() else {
            let table = source.path().to_owned();
            return Err(TableError::DefinitionUnknown { table, operation });
        };
        for (clause, expected, got) in [
            ("columns", columns(&self.definition), columns(other)),
            ("ORDER BY", key(&self.definition.order_by), key(&other.order_by)),
            ("PRIMARY KEY", key(&self.definition.primary_key), key(&other.primary_key)),
            ("PARTITION BY", key(&self.definition.partition_by), key(&other.partition_by)),
            ("index_granularity", granularity(&self.definition), granularity(other)),
            ("indices and projections", elements(&self.definition), elements(other)),
        ] {
            if expected != got {
                return Err(TableError::DefinitionDiffers {
                    table: table(),
                    clause,
                    expected,
                    got,
                });
            }
        }
        Ok(())
    }

    /// A column that a part lacks has the DEFAULT of its table: in another table it must be the same.
    fn check_defaults(&self, source: &Table, part: &Part) -> Result<(), TableError> {
        let others = source.definition().map_or(&[][..], |it| &it.columns);
        let stored: Vec<&str> = part.stored_columns().map(|it| it.name.as_str()).collect();
        for (own, other) in self.definition.columns.iter().zip(others) {
            let is_stored = stored.contains(&own.column.name.as_str());
            if !is_stored && own.clauses.default != other.clauses.default {
                let shown =
                    |text: &Option<String>| text.clone().unwrap_or_else(|| "none".to_owned());
                return Err(TableError::DefinitionDiffers {
                    table: self.table.path().to_owned(),
                    clause: "DEFAULT of a column that a part lacks",
                    expected: format!("`{}` {}", own.column.name, shown(&own.clauses.default)),
                    got: shown(&other.clauses.default),
                });
            }
        }
        Ok(())
    }

    /// Syncs a directory of files that others have written, now or with all others before the commit.
    pub(super) fn make_durable(&self, path: &Path) -> Result<(), TableError> {
        let storage = self.table.storage().as_ref();
        if self.work.sync_singly(files_in(storage, path)?) {
            sync_tree(storage, path)?;
        }
        Ok(())
    }

    /// Adds a part under the next number. Its level stays: it says that the rows have been merged.
    fn add_part(&mut self, was: &PartName, directory: String, hash: String, rows: u64) {
        let block = self.next.next_block;
        let (partition, level) = (was.partition.clone(), was.level);
        let name = PartName {
            partition,
            block_min: block,
            block_max: block,
            level,
            mutation: None,
            days: None,
        };
        self.next.parts.push(LivePart::new(&name, Some(directory), hash, rows));
        self.next.next_block += 1;
        self.summary.parts_added += 1;
        self.summary.rows_after += rows;
    }

    fn mismatch(&self, problem: String) -> TableError {
        TableError::Mismatch { table: self.table.path().to_owned(), problem }
    }
}

/// Refuses a part with a column that is not read here: what it holds cannot be checked.
fn check_readable(path: &Path, name: &str, part: &Part) -> Result<(), TableError> {
    match part.unreadable_columns().first() {
        None => Ok(()),
        Some(column) => {
            let what = format!("column {:?} of part {name:?}", column.name);
            Err(TableError::Unsupported { path: path.to_owned(), what })
        }
    }
}

/// The directories in `detached/`: parts by their names, and others that begin with a reason (`broken_`) or end with an attempt.
pub fn detached_parts(storage: &Arc<dyn Storage>, table: &Path) -> Result<Vec<String>, TableError> {
    let path = table.join(DETACHED);
    match storage.list(&path) {
        Ok(entries) => {
            let directories = entries.into_iter().filter(|entry| entry.is_directory);
            Ok(directories.map(|entry| entry.name).collect())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(TableError::file("list", &path)(error)),
    }
}

/// Removes directories of `detached/` for good; returns how many. `choose` is asked for each.
pub fn drop_detached(
    storage: &Arc<dyn Storage>,
    table: &Path,
    choose: &mut dyn FnMut(&str) -> Result<bool, TableError>,
) -> Result<u64, TableError> {
    let _locked = LockedTable::acquire(storage, table, false, "DROP DETACHED")?;
    let path = table.join(DETACHED);
    let mut chosen = Vec::new();
    for name in detached_parts(storage, table)? {
        // Begun before, and cut off.
        if name.starts_with(REMOVING) {
            commit::remove_directory(storage.as_ref(), &path.join(&name))?;
        } else if choose(&name)? {
            chosen.push(name);
        }
    }
    for name in &chosen {
        if !retire(storage.as_ref(), &path, name)? {
            let problem = format!("the part {name:?} in detached/ is being read");
            return Err(TableError::Mismatch { table: table.to_owned(), problem });
        }
    }
    if !chosen.is_empty() {
        commit::sync_directory(storage.as_ref(), &path)?;
    }
    Ok(chosen.len() as u64)
}

/// A directory with the same files.
fn link_tree(storage: &dyn Storage, from: &Path, to: &Path) -> Result<(), TableError> {
    storage.create_directory(to).map_err(TableError::file("create", to))?;
    for entry in storage.list(from).map_err(TableError::file("list", from))? {
        let (from, to) = (from.join(&entry.name), to.join(&entry.name));
        if entry.is_directory {
            link_tree(storage, &from, &to)?;
        } else {
            storage.link(&from, &to).map_err(TableError::file("link", &to))?;
        }
    }
    Ok(())
}

/// Makes the files of a directory durable, and their names.
fn sync_tree(storage: &dyn Storage, path: &Path) -> Result<(), TableError> {
    for entry in storage.list(path).map_err(TableError::file("list", path))? {
        let inner = path.join(&entry.name);
        if entry.is_directory {
            sync_tree(storage, &inner)?;
        } else {
            storage.sync_file(&inner).map_err(TableError::file("sync", &inner))?;
        }
    }
    Ok(commit::sync_directory(storage, path)?)
}

fn files_in(storage: &dyn Storage, path: &Path) -> Result<u64, TableError> {
    let entries = storage.list(path).map_err(TableError::file("list", path))?;
    Ok(entries.len() as u64)
}

fn columns(definition: &TableDefinition) -> String {
    let shown = |column: &Column| format!("{} {}", column.name, column.data_type);
    definition.plain_columns().iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn key(expressions: &[Expression]) -> String {
    let texts: Vec<String> = expressions.iter().map(ToString::to_string).collect();
    format!("({})", texts.join(", "))
}

fn granularity(definition: &TableDefinition) -> String {
    definition.index_granularity().to_string()
}

fn elements(definition: &TableDefinition) -> String {
    definition.clauses.elements.join(", ")
}
