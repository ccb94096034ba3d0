//! Stores and files that are being made: under hidden names, until they are whole.

use super::PageError;
use super::options::Layout;
use super::shared::map_path;
use std::hash::{BuildHasher, Hasher};
use std::path::{Path, PathBuf};
use tambour_storage::place::{Access, Storage};

/// What files are made for, as their names tell.
const PURPOSES: [&str; 2] = ["new", "restore"];

/// Names for a store that is being made, and that takes its name when it is whole. What is not taken is removed.
#[derive(Debug)]
pub(super) struct Aside<'a> {
    storage: &'a dyn Storage,
    path: PathBuf,
    target: PathBuf,
    layout: Layout,
}

impl<'a> Aside<'a> {
    /// Names beside `target`, which must not exist.
    pub(super) fn new(
        storage: &'a dyn Storage,
        target: &Path,
        layout: Layout,
    ) -> Result<Self, PageError> {
        let exists = |path: &Path| storage.exists(path).map_err(PageError::file("look for", path));
        if exists(target)? || exists(&map_path(target))? {
            return Err(PageError::Exists { path: target.to_owned() });
        }
        sweep(storage, target);
        let path = name_beside(target, "restore");
        Ok(Self { storage, path, target: target.to_owned(), layout })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the files their names. The one by which a store is known comes last.
    pub(super) fn take(self, storage: &dyn Storage) -> Result<(), PageError> {
        name(storage, &self.path, &self.target)?;
        if self.layout == Layout::Holes {
            let named = name(storage, &map_path(&self.path), &map_path(&self.target));
            if named.is_err() {
                // It goes with the map.
                let _ = storage.rename_new(&self.target, &self.path);
            }
            named?;
        }
        let synced = storage.sync_directory_of(&self.target);
        synced.map_err(PageError::file("sync the directory of", &self.target))
    }

    fn remove(&self) {
        for path in [self.path.clone(), map_path(&self.path)] {
            let _ = self.storage.remove(&path);
        }
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        self.remove();
    }
}

/// A hidden name beside `target` that nothing else has.
pub(super) fn name_beside(target: &Path, purpose: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    // Numbers of processes repeat, in containers above all.
    name.push(format!(".{purpose}-{:016x}", draw()));
    target.with_file_name(name)
}

/// Gives a file its name, if nothing else has got it in the meantime.
pub(super) fn name(storage: &dyn Storage, from: &Path, to: &Path) -> Result<(), PageError> {
    storage.rename_new(from, to).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => PageError::Exists { path: to.to_owned() },
        _ => PageError::file("rename", from)(error),
    })
}

/// A number that nobody else has.
pub(super) fn draw() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}

/// Removes what was left beside `target` by those who were interrupted while they made a store of that name. Who is still at
/// work has the file locked. That something cannot be removed is no obstacle to anything.
pub(super) fn sweep(storage: &dyn Storage, target: &Path) {
    let Ok(found) = storage.beside(target) else { return };
    let Some(target) = target.file_name().and_then(|name| name.to_str()) else { return };
    for path in found {
        let name = path.file_name().and_then(|name| name.to_str());
        if !name.is_some_and(|name| is_left_over(name, target)) {
            continue;
        }
        if let Ok(held) = storage.open(&path, Access::Write) {
            let _ = storage.remove(&path);
            drop(held);
        }
    }
}

/// True for the names that [`name_beside`] makes for `target` and its map, and for stores that are made under such names.
fn is_left_over(name: &str, target: &str) -> bool {
    let name = name.strip_suffix(".map").unwrap_or(name);
    let Some((base, made)) = name.strip_prefix('.').and_then(|name| name.rsplit_once('.')) else {
        return false;
    };
    let is_number =
        |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_made = made
        .split_once('-')
        .is_some_and(|(purpose, number)| PURPOSES.contains(&purpose) && is_number(number));
    let base = base.strip_suffix(".map").unwrap_or(base);
    is_made && (base == target || is_left_over(base, target))
}

#[cfg(test)]
mod tests {
    use super::{is_left_over, map_path, name_beside};
    use std::path::Path;

    #[test]
    fn only_names_that_are_made_here_are_left_over() {
        let target = Path::new("/somewhere/drum.pages");
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let new = name_beside(target, "new");
        let restore = name_beside(target, "restore");
        for path in [
            new.clone(),
            restore.clone(),
            map_path(&restore),
            name_beside(&map_path(target), "new"),
            name_beside(&restore, "new"),
            name_beside(&map_path(&restore), "new"),
        ] {
            assert!(is_left_over(&name(&path), "drum.pages"), "{path:?}");
            assert!(!is_left_over(&name(&path), "rum.pages"), "{path:?}");
            assert!(!is_left_over(&name(&path), "drum"), "{path:?}");
        }
        for other in [
            "drum.pages",
            "drum.pages.map",
            ".drum.pages",
            ".drum.pages.new",
            ".drum.pages.new-12",
            ".drum.pages.old-0123456789abcdef",
            ".drum.pages.new-0123456789abcdeg",
            "drum.pages.new-0123456789abcdef",
        ] {
            assert!(!is_left_over(other, "drum.pages"), "{other}");
        }
    }
}
