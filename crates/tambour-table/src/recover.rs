//! Recovery: finishing what a commit promised, and clearing away what no commit names.
//!
//! Both can be repeated at will and interrupted anywhere; only the holder of the lock does them.

use crate::TableError;
use crate::sidecar::DETACHED;
use std::io::ErrorKind;
use std::path::Path;
use tambour_storage::commit::{exists, remove_directory, remove_file};
use tambour_storage::{Lock, Storage};

/// What a directory is called while it is being removed, so that no half of it keeps a good name.
pub(crate) const REMOVING: &str = "delete_tmp_";

/// Renames a directory to the name that a commit gave it, unless that is done already. False if neither name exists.
pub(crate) fn roll_forward(
    storage: &dyn Storage,
    directory: &Path,
    from: &str,
    to: &str,
) -> Result<bool, TableError> {
    let (from, to) = (directory.join(from), directory.join(to));
    if !exists(storage, &from)? {
        return Ok(exists(storage, &to)?);
    }
    storage.rename(&from, &to).map_err(TableError::file("rename", &to))?;
    Ok(true)
}

/// Removes a directory that had a good name, unless a reader holds it; then this is false. Renames it out of the way first.
pub(crate) fn retire(
    storage: &dyn Storage,
    directory: &Path,
    name: &str,
) -> Result<bool, TableError> {
    let path = directory.join(name);
    if !exists(storage, &path)? {
        return Ok(true);
    }
    let _alone = match storage.hold(&path, true) {
        Ok(held) => held,
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
        Err(error) => return Err(TableError::file("hold", &path)(error)),
    };
    let removing = directory.join(format!("{REMOVING}{name}"));
    remove_directory(storage, &removing)?;
    storage.rename(&path, &removing).map_err(TableError::file("rename", &path))?;
    remove_directory(storage, &removing)?;
    Ok(true)
}

/// Moves a part's directory into `detached/`, unless a reader holds it; then this is false. One of its name that is there already
/// is another part's: it gets another name, as in ClickHouse.
pub(crate) fn detach(
    storage: &dyn Storage,
    directory: &Path,
    name: &str,
) -> Result<bool, TableError> {
    let path = directory.join(name);
    if !exists(storage, &path)? {
        return Ok(true);
    }
    // A reader of many parts holds the directory that they are in.
    let _both = match (storage.hold(directory, true), storage.hold(&path, true)) {
        (Err(error), _) | (_, Err(error)) if error.kind() == ErrorKind::WouldBlock => {
            return Ok(false);
        }
        (Err(error), _) | (_, Err(error)) => return Err(TableError::file("hold", &path)(error)),
        held => held,
    };
    let detached = directory.join(DETACHED);
    if !exists(storage, &detached)? {
        storage.create_directory(&detached).map_err(TableError::file("create", &detached))?;
    }
    let mut target = detached.join(name);
    for attempt in 1.. {
        if !exists(storage, &target)? {
            break;
        }
        target = detached.join(format!("{name}_try{attempt}"));
    }
    storage.rename(&path, &target).map_err(TableError::file("rename", &path))?;
    Ok(true)
}

/// Takes the whole directory of a table for removing parts; false if a reader of many parts holds it.
pub(crate) fn take_directory(
    storage: &dyn Storage,
    directory: &Path,
) -> Result<(bool, Option<Box<dyn Lock>>), TableError> {
    match storage.hold(directory, true) {
        Ok(held) => Ok((true, held)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok((false, None)),
        Err(error) => Err(TableError::file("hold", directory)(error)),
    }
}

/// Removes every entry of a directory for which `is_leftover` (name, is a directory) is true.
pub(crate) fn sweep(
    storage: &dyn Storage,
    directory: &Path,
    is_leftover: &dyn Fn(&str, bool) -> bool,
) -> Result<(), TableError> {
    let entries = storage.list(directory).map_err(TableError::file("list", directory))?;
    for entry in entries {
        if is_leftover(&entry.name, entry.is_directory) {
            let path = directory.join(&entry.name);
            if entry.is_directory {
                remove_directory(storage, &path)?;
            } else {
                remove_file(storage, &path)?;
            }
        }
    }
    Ok(())
}
