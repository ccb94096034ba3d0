//! Directories of tables: which tables are in one, removing a table, giving it another name or another's place.

use super::locked::{Contents, LockedTable, contents};
use super::recover::REMOVING;
use crate::TableError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::{Storage, commit, lock};

/// Longest name of a table: as long as a name of a file may be, less what is put before it while the table is removed.
const NAME_BYTES_MAX: usize = 200;

/// The directory of a table of this name. An error if a directory cannot be called so.
pub fn place_of(database: &Path, name: &str) -> Result<PathBuf, TableError> {
    let is_plain = !name.is_empty()
        && name.len() <= NAME_BYTES_MAX
        && !name.starts_with('.')
        && !name.starts_with(REMOVING)
        && !name.contains(['/', '\\', '\0']);
    if is_plain {
        return Ok(database.join(name));
    }
    Err(TableError::Refused {
        clause: format!("a table named {name:?}"),
        reason: format!(
            "its directory has this name: 1 to {NAME_BYTES_MAX} bytes, without slashes, no dot at the beginning"
        ),
    })
}

/// Begins the names of directories in which tables are made that will take the place of others.
const MAKING: &str = ".making_";

/// Where a table is made that will take the place of another ([`replace_table`]); [`sweep`] removes what a crash leaves there.
pub fn making(database: &Path, name: &str) -> PathBuf {
    database.join(format!("{MAKING}{}_{name}", std::process::id()))
}

/// The directories of tables in a directory, by name. What is something else is left out.
pub fn tables_in(storage: &Arc<dyn Storage>, database: &Path) -> Result<Vec<PathBuf>, TableError> {
    let entries = storage.list(database).map_err(TableError::file("list", database))?;
    let mut found = Vec::new();
    for entry in entries {
        if !entry.is_directory || place_of(database, &entry.name).is_err() {
            continue;
        }
        let path = database.join(&entry.name);
        if matches!(contents(storage.as_ref(), &path)?, Contents::Table | Contents::Parts) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Removes a table with all that is in its directory.
///
/// The directory is renamed first, which is the one step that counts: the table is there or it is not.
pub fn drop_table(storage: &Arc<dyn Storage>, path: &Path) -> Result<(), TableError> {
    let table = LockedTable::acquire(storage, path, false, "DROP TABLE")?;
    let mut name = std::ffi::OsString::from(format!("{REMOVING}{}_", std::process::id()));
    name.push(path.file_name().unwrap_or_default());
    let database = commit::parent(path);
    let removing = database.join(name);
    storage.rename(path, &removing).map_err(TableError::file("rename", path))?;
    commit::sync_directory(storage.as_ref(), &database)?;
    drop(table);
    Ok(commit::remove_directory(storage.as_ref(), &removing)?)
}

/// Gives a table another directory, which must not be there yet, and its CREATE TABLE statement the name of it.
pub fn rename_table(
    storage: &Arc<dyn Storage>,
    from: &Path,
    to: &Path,
    name: &str,
) -> Result<(), TableError> {
    let table = LockedTable::acquire(storage, from, false, "RENAME TABLE")?;
    if contents(storage.as_ref(), to)? != Contents::Absent {
        return Err(TableError::Exists { path: to.to_owned() });
    }
    storage.rename(from, to).map_err(TableError::file("rename", from))?;
    commit::sync_directory(storage.as_ref(), &commit::parent(to))?;
    drop(table);
    call(storage, to, name, "RENAME TABLE")
}

/// Puts a table in the place of another, which is removed. The one is there or the other, at any time.
pub fn replace_table(
    storage: &Arc<dyn Storage>,
    made: &Path,
    path: &Path,
) -> Result<(), TableError> {
    let table = LockedTable::acquire(storage, path, false, "CREATE OR REPLACE TABLE")?;
    storage.exchange(made, path).map_err(TableError::file("exchange", path))?;
    commit::sync_directory(storage.as_ref(), &commit::parent(path))?;
    drop(table);
    Ok(commit::remove_directory(storage.as_ref(), made)?)
}

/// Gives two tables each other's names, in one step.
pub fn exchange_tables(
    storage: &Arc<dyn Storage>,
    (first, first_name): (&Path, &str),
    (second, second_name): (&Path, &str),
) -> Result<(), TableError> {
    const WORDS: &str = "EXCHANGE TABLES";
    if first == second {
        return Ok(());
    }
    // In one order, so that two processes do not wait for each other.
    let locks = [first.min(second), first.max(second)]
        .map(|path| LockedTable::acquire(storage, path, false, WORDS));
    let locks = locks.into_iter().collect::<Result<Vec<_>, _>>()?;
    storage.exchange(first, second).map_err(TableError::file("exchange", first))?;
    commit::sync_directory(storage.as_ref(), &commit::parent(first))?;
    drop(locks);
    call(storage, first, first_name, WORDS)?;
    call(storage, second, second_name, WORDS)
}

/// Writes the name of a table into its statement. The name that counts is that of the directory; what the statement says is for
/// people, and a directory that was renamed by hand has the old one there too.
fn call(
    storage: &Arc<dyn Storage>,
    path: &Path,
    name: &str,
    words: &str,
) -> Result<(), TableError> {
    let mut table = LockedTable::acquire(storage, path, false, words)?;
    match table.describe()? {
        Some((mut sidecar, Some(mut definition))) if !sidecar.statement.is_empty() => {
            name.clone_into(&mut definition.name);
            sidecar.statement = definition.stored();
            table.commit(sidecar)
        }
        _ => Ok(()),
    }
}

/// Removes what tables left that were being dropped or made when their process ended.
pub fn sweep(storage: &Arc<dyn Storage>, database: &Path) -> Result<(), TableError> {
    let entries = storage.list(database).map_err(TableError::file("list", database))?;
    let is_left = |name: &str| {
        let rest = name.strip_prefix(REMOVING);
        rest.and_then(|rest| rest.split_once('_')).is_some_and(|(process, _)| {
            !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    for entry in entries.into_iter().filter(|entry| entry.is_directory) {
        let path = database.join(&entry.name);
        // What nobody holds, nobody makes any more.
        let is_abandoned = entry.name.starts_with(MAKING)
            && lock::try_lock_yielding(storage.as_ref(), &path).is_ok_and(|lock| lock.is_some());
        if is_abandoned || is_left(&entry.name) {
            commit::remove_directory(storage.as_ref(), &path)?;
        }
    }
    Ok(())
}
