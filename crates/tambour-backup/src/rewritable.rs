//! A disk of ClickHouse's type `s3_plain_rewritable`: directories have random names, and `__meta/<name>/prefix.path` says which directory
//! each of them is, with a slash at its end. Files have their own names in it; those of the root are in `__root`. Read from disks that
//! ClickHouse 26.9 wrote.

use crate::error::BackupError;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_storage::read_only::{Files, ReadOnly, plain};
use tambour_storage::{Entry, ReadAt, Storage};

/// Where the names are.
const MAPS: &str = "__meta";
/// The directory of the root.
const ROOT: &str = "__root";
/// The file with a name.
const PREFIX: &str = "prefix.path";
/// Most bytes of a name.
const PREFIX_MAX: u64 = 64 << 10;
/// Names that are read at a time.
const CONCURRENT: usize = 16;

/// Directories by what they are called.
#[derive(Debug)]
struct Rewritable {
    storage: Arc<dyn Storage>,
    root: PathBuf,
    directories: BTreeMap<String, PathBuf>,
}

/// The disk at `path`, with its files where their names say; `None` if it is none.
pub(crate) fn open(
    storage: &Arc<dyn Storage>,
    path: &Path,
) -> Result<Option<Arc<dyn Storage>>, BackupError> {
    let maps = path.join(MAPS);
    let entries = match storage.list(&maps) {
        Err(error) if is_nothing(error.kind()) => return Ok(None),
        entries => entries.map_err(BackupError::file(&maps))?,
    };
    let names: Vec<&str> =
        entries.iter().filter(|it| it.is_directory).map(|it| it.name.as_str()).collect();
    let mut directories = BTreeMap::from([(String::new(), path.join(ROOT))]);
    for some in names.chunks(CONCURRENT) {
        let read: Vec<_> = std::thread::scope(|scope| {
            let read = |name: &&str| prefix(storage, &maps.join(name).join(PREFIX));
            let threads: Vec<_> = some.iter().map(|name| scope.spawn(move || read(name))).collect();
            threads.into_iter().map(std::thread::ScopedJoinHandle::join).collect()
        });
        for (name, read) in some.iter().zip(read) {
            let logical = read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            if directories.insert(logical, path.join(name)).is_some() {
                return Err(BackupError::damaged(&maps.join(name), "two directories of one name"));
            }
        }
    }
    let files = Rewritable { storage: Arc::clone(storage), root: path.to_owned(), directories };
    let root = files.root.clone();
    Ok(Some(ReadOnly::over(&root, Arc::new(files), crate::REFUSAL)))
}

/// True for a directory that is not there, or that nobody can list.
fn is_nothing(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::Unsupported)
}

/// What a directory is called.
fn prefix(storage: &Arc<dyn Storage>, path: &Path) -> Result<String, BackupError> {
    let bytes = storage.read(path, PREFIX_MAX).map_err(BackupError::file(path))?;
    let text = String::from_utf8(bytes).ok();
    let text = text.as_deref().and_then(|it| it.strip_suffix('/')).map(Path::new);
    let name = text.and_then(plain).filter(|name| !name.is_empty());
    name.ok_or_else(|| BackupError::damaged(path, "not the name of a directory"))
}

impl Rewritable {
    /// Where a file is.
    fn place(&self, name: &str) -> Option<PathBuf> {
        let (directory, own) = name.rsplit_once('/').unwrap_or(("", name));
        self.directories.get(directory).map(|place| place.join(own))
    }

    /// The directories right below one.
    fn below(&self, directory: &str) -> BTreeSet<String> {
        let start = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        let names = self.directories.range(start.clone()..).map(|it| it.0.as_str());
        let names = names.take_while(|name| name.starts_with(&start));
        let rest = names.map(|name| name[start.len()..].split('/').next().unwrap_or_default());
        rest.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    fn is_directory(&self, name: &str) -> bool {
        self.directories.contains_key(name) || !self.below(name).is_empty()
    }
}

impl Files for Rewritable {
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        self.storage.open(&self.place(name).ok_or(ErrorKind::NotFound)?)
    }
    fn list(&self, name: &str) -> io::Result<Vec<Entry>> {
        if !self.is_directory(name) {
            return Err(ErrorKind::NotFound.into());
        }
        let mut entries = match self.directories.get(name).map(|place| self.storage.list(place)) {
            // A directory without files has no objects.
            Some(Err(error)) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Some(entries) => entries?,
            None => Vec::new(),
        };
        entries.retain(|entry| entry.is_file);
        entries.extend(self.below(name).into_iter().map(|name| Entry {
            name,
            is_directory: true,
            is_file: false,
            length: 0,
        }));
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }
    fn exists(&self, name: &str) -> io::Result<bool> {
        if self.is_directory(name) {
            return Ok(true);
        }
        self.place(name).map_or(Ok(false), |place| self.storage.exists(&place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tambour_storage::memory::Memory;

    fn disk(maps: &[(&str, &[u8])]) -> Arc<dyn Storage> {
        let memory: Arc<dyn Storage> = Arc::new(Memory::new());
        for directory in ["disk", "disk/__meta", "disk/x"] {
            memory.create_directory(Path::new(directory)).unwrap();
        }
        memory.create(Path::new("disk/x/a.bin")).unwrap().write_all(b"rows").unwrap();
        for (name, prefix) in maps {
            let place = Path::new("disk/__meta").join(name);
            memory.create_directory(&place).unwrap();
            memory.create(&place.join(PREFIX)).unwrap().write_all(prefix).unwrap();
        }
        memory
    }

    #[test]
    fn files_are_where_their_names_say() {
        let memory = disk(&[("x", b"store/abc/all_1_1_0/"), ("y", b"store/abc/detached/")]);
        let path = Path::new("disk");
        let disk = open(&memory, path).unwrap().unwrap();
        let list = |name: &str| {
            let entries = disk.list(&path.join(name)).unwrap();
            entries.into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(list(""), ["store"]);
        assert_eq!(list("store/abc"), ["all_1_1_0", "detached"]);
        assert_eq!(list("store/abc/all_1_1_0"), ["a.bin"]);
        assert!(list("store/abc/detached").is_empty());
        assert_eq!(disk.read(&path.join("store/abc/all_1_1_0/a.bin"), 4).unwrap(), b"rows");
        assert!(disk.exists(&path.join("store/abc")).unwrap());
        assert!(!disk.exists(&path.join("x/a.bin")).unwrap());
        assert!(open(&memory, Path::new("disk/x")).unwrap().is_none());
    }

    #[test]
    fn names_that_lead_out_or_are_none_are_damage() {
        for wrong in [&b"../up/"[..], b"/store/", b"store", b"/", b"", b"\xff/"] {
            assert!(open(&disk(&[("x", wrong)]), Path::new("disk")).is_err(), "{wrong:?}");
        }
        let twice = disk(&[("x", b"store/"), ("y", b"store/")]);
        assert!(open(&twice, Path::new("disk")).is_err());
    }
}
