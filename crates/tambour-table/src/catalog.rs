//! Directories of tables: which tables are in one, removing a table, giving it another name.

use super::locked::{Contents, LockedTable, contents};
use super::recover::REMOVING;
use crate::TableError;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::{Storage, commit};

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
    // From here on the table has its new name; what its statement says is for people, and a directory that was renamed by
    // hand has the old one there too.
    let mut table = LockedTable::acquire(storage, to, false, "RENAME TABLE")?;
    match table.describe()? {
        Some((mut sidecar, Some(mut definition))) if !sidecar.statement.is_empty() => {
            name.clone_into(&mut definition.name);
            sidecar.statement = definition.stored();
            table.commit(sidecar)
        }
        _ => Ok(()),
    }
}

/// Removes what tables left that were being dropped when their process ended.
pub fn sweep(storage: &Arc<dyn Storage>, database: &Path) -> Result<(), TableError> {
    let entries = storage.list(database).map_err(TableError::file("list", database))?;
    let is_left = |name: &str| {
        let rest = name.strip_prefix(REMOVING);
        rest.and_then(|rest| rest.split_once('_')).is_some_and(|(process, _)| {
            !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    for entry in entries {
        if entry.is_directory && is_left(&entry.name) {
            commit::remove_directory(storage.as_ref(), &database.join(&entry.name))?;
        }
    }
    Ok(())
}
