//! Disks of ClickHouse's types `s3` and `azure_blob_storage`: the server's directory has a small file for each file, and its bytes lie in
//! objects. Seen through this storage the files have their own bytes and lengths.
//!
//! A server keeps these files in `disks/<disk>` of its data directory, by the same paths (`store/abc/<uuid>/…`) that it has for its own
//! disk, and the parts of a table may be on several disks. So a path below the data directory shows what all of them have there. A
//! disk's directory, or a copy of one, of a table or of a part shows what it has by itself.

mod joined;
mod metadata;
mod objects;
mod place;

use crate::error::{StoreError, io as told_io};
use joined::{Inline, Joined};
use metadata::Metadata;
use objects::Objects;
use place::{Layout, Probe};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tambour_storage::sign::{Said, Sign};
use tambour_storage::{Barrier, Entry, Lock, ReadAt, Storage, WriteFile};

/// What every attempt to write is answered.
pub const DISK_REFUSAL: &str = "the files of an object-store disk are only read: export them, or import into another directory";

/// The same storage, or one in which the files of object-store disks have their own bytes if `path` is on one or is the data directory
/// of a server with such disks. Where their objects lie is asked of the environment when the first is opened: `TAMBOUR_DISK`, or
/// `TAMBOUR_DISK_<NAME>` for a disk of that name.
pub fn with_disks(local: Arc<dyn Storage>, path: &Path) -> Arc<dyn Storage> {
    let Ok(real) = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path)) else {
        return local;
    };
    match place::layout(local.as_ref(), &real) {
        Some(layout) => Arc::new(Disks::new(local, path, real, layout, None)),
        None => local,
    }
}

/// True for the metadata of an object-store disk, or a directory with some.
pub fn is_on_disk(path: &Path) -> bool {
    let real = std::fs::canonicalize(path);
    real.is_ok_and(|real| place::is_disk(tambour_storage::disk().as_ref(), &real))
}

/// The disk whose metadata is at `path`, with objects that lie in a storage below `place`.
///
/// ```
/// use std::{path::Path, sync::Arc};
/// use tambour_storage::{Storage, memory::Memory};
/// let memory = Memory::new();
/// memory.put(Path::new("disk/count.txt"), b"5\n1\t4\n4\tpre/abc/def\n0\n1\n\n");
/// memory.put(Path::new("bucket/pre/abc/def"), b"5000");
/// let memory: Arc<dyn Storage> = Arc::new(memory);
/// let disk = tambour_object::disk_of(&memory, Path::new("disk"), &memory, Path::new("bucket/pre"));
/// assert_eq!(disk.read(Path::new("disk/count.txt"), 4)?, b"5000");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn disk_of(
    local: &Arc<dyn Storage>,
    path: &Path,
    objects: &Arc<dyn Storage>,
    place: &Path,
) -> Arc<dyn Storage> {
    let layout = Layout { server: None, disks: vec![path.to_owned()] };
    let objects = Objects::new(Arc::clone(objects), place);
    let (local, path) = (Arc::clone(local), path.to_owned());
    Arc::new(Disks::new(local, &path, path.clone(), layout, Some(objects)))
}

/// A place where something may lie: on the server's own disk, or on one of the others.
#[derive(Clone, Debug)]
struct Spot {
    disk: Option<usize>,
    path: PathBuf,
}

/// The storage.
#[derive(Debug)]
struct Disks {
    local: Arc<dyn Storage>,
    /// The path as callers write it, and what it is.
    given: PathBuf,
    real: PathBuf,
    layout: Layout,
    /// Where the objects of each disk are, once they were asked for.
    objects: Vec<Mutex<Option<Arc<Objects>>>>,
    /// Directories, and whether their files are metadata.
    probed: Mutex<HashMap<PathBuf, Probe>>,
}

impl Disks {
    fn new(
        local: Arc<dyn Storage>,
        given: &Path,
        real: PathBuf,
        layout: Layout,
        objects: Option<Objects>,
    ) -> Self {
        let known = objects.map(Arc::new);
        let objects = layout.disks.iter().map(|_| Mutex::new(known.clone())).collect();
        let given = given.to_owned();
        Self { local, given, real, layout, objects, probed: Mutex::default() }
    }

    /// Where a path may be, in the order of asking.
    fn spots(&self, path: &Path) -> Vec<Spot> {
        let path = match path.strip_prefix(&self.given) {
            Ok(rest) => self.real.join(rest),
            Err(_) if self.layout.server.is_none() => path.to_owned(),
            Err(_) => std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
        };
        let disks = &self.layout.disks;
        if let Some(disk) = disks.iter().position(|disk| path.starts_with(disk)) {
            let beside = path.strip_prefix(&disks[disk]).ok().zip(self.layout.server.as_deref());
            // Statements are on the server's own disk.
            let statements = beside.filter(|(rest, _)| rest.starts_with("metadata"));
            let own = statements.map(|(rest, server)| Spot { disk: None, path: server.join(rest) });
            return [Some(Spot { disk: Some(disk), path }), own].into_iter().flatten().collect();
        }
        let rest = self.layout.server.as_deref().and_then(|server| path.strip_prefix(server).ok());
        let others: Vec<Spot> = match rest {
            Some(rest) if !rest.starts_with(place::DISKS) && !rest.starts_with("metadata") => {
                let spot = |(at, disk): (usize, &PathBuf)| Spot {
                    disk: Some(at),
                    path: if rest.as_os_str().is_empty() { disk.clone() } else { disk.join(rest) },
                };
                disks.iter().enumerate().map(spot).collect()
            }
            _ => Vec::new(),
        };
        std::iter::once(Spot { disk: None, path }).chain(others).collect()
    }

    /// What the first spot answers at which something is.
    fn first<T>(&self, path: &Path, get: impl Fn(&Spot) -> io::Result<T>) -> io::Result<T> {
        let mut nothing = None;
        for spot in self.spots(path) {
            match get(&spot) {
                Err(error) if is_nothing(&error) => nothing = nothing.or(Some(error)),
                answer => return answer,
            }
        }
        Err(nothing.unwrap_or_else(|| ErrorKind::NotFound.into()))
    }

    /// Whether the files of a directory are metadata.
    fn probe(&self, directory: &Path) -> Probe {
        let mut probed = self.probed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = probed.get(directory) {
            return *known;
        }
        let found = place::probe(self.local.as_ref(), directory);
        probed.insert(directory.to_owned(), found);
        found
    }

    /// What a file on a disk consists of; `None` if it is a file like others.
    fn metadata(&self, path: &Path) -> io::Result<Option<Metadata>> {
        let file = self.local.open(path)?;
        let is_metadata = match self.probe(path.parent().unwrap_or(path)) {
            Probe::Metadata => true,
            Probe::Plain => false,
            Probe::Unknown => place::is_metadata(file.as_ref()),
        };
        if !is_metadata {
            return Ok(None);
        }
        let wrong = |problem| io_of(StoreError::Metadata { path: path.to_owned(), problem });
        if file.len() > metadata::BYTES_MAX {
            let limit = metadata::BYTES_MAX;
            return Err(wrong(format!("it has {} bytes, more than {limit}", file.len())));
        }
        let mut bytes = vec![0; usize::try_from(file.len()).unwrap_or(0)];
        file.read_exact_at(&mut bytes, 0)?;
        Metadata::parse(&bytes).map(Some).map_err(wrong)
    }

    fn open_at(&self, spot: &Spot) -> io::Result<Arc<dyn ReadAt>> {
        let Some(disk) = spot.disk else { return self.local.open(&spot.path) };
        let Some(metadata) = self.metadata(&spot.path)? else {
            return self.local.open(&spot.path);
        };
        if metadata.pieces.is_empty() {
            return Ok(Arc::new(Inline(metadata.inline)));
        }
        let objects = self.objects(disk, &spot.path).map_err(io_of)?;
        let mut pieces = Vec::new();
        for piece in &metadata.pieces {
            pieces.push(objects.open(piece, metadata.is_whole, &spot.path)?);
        }
        Ok(Joined::of(pieces))
    }

    /// The objects of a disk, for one of its files.
    fn objects(&self, disk: usize, path: &Path) -> Result<Arc<Objects>, StoreError> {
        let mut known = self.objects[disk].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(objects) = known.as_ref() {
            return Ok(Arc::clone(objects));
        }
        let objects = Arc::new(Objects::find(&self.layout.disks[disk], path)?);
        *known = Some(Arc::clone(&objects));
        Ok(objects)
    }

    fn list_at(&self, spot: &Spot) -> io::Result<Vec<Entry>> {
        let mut entries = self.local.list(&spot.path)?;
        if spot.disk.is_some() {
            for entry in entries.iter_mut().filter(|entry| entry.is_file) {
                if let Some(metadata) = self.metadata(&spot.path.join(&entry.name))? {
                    entry.length = metadata.length();
                }
            }
        }
        Ok(entries)
    }

    /// Where to write: on the server's own disk only.
    fn own(&self, path: &Path) -> io::Result<PathBuf> {
        match self.spots(path).into_iter().next() {
            Some(Spot { disk: None, path }) => Ok(path),
            _ => Err(io::Error::new(ErrorKind::ReadOnlyFilesystem, DISK_REFUSAL)),
        }
    }
}

/// True for something that is not there.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn io_of(error: StoreError) -> io::Error {
    told_io(Arc::new(error))
}

impl Storage for Disks {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        self.first(path, |spot| self.open_at(spot))
    }
    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let (mut found, mut nothing) = (None::<BTreeMap<String, Entry>>, None);
        for spot in self.spots(path) {
            match self.list_at(&spot) {
                Ok(entries) => {
                    let found = found.get_or_insert_default();
                    for entry in entries {
                        found.entry(entry.name.clone()).or_insert(entry);
                    }
                }
                Err(error) if is_nothing(&error) => nothing = nothing.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        match found {
            Some(found) => Ok(found.into_values().collect()),
            None => Err(nothing.unwrap_or_else(|| ErrorKind::NotFound.into())),
        }
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        for spot in self.spots(path) {
            if self.local.exists(&spot.path)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        self.local.create(&self.own(path)?)
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.local.create_directory(&self.own(path)?)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.local.rename(&self.own(from)?, &self.own(to)?)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.local.link(&self.own(from)?, &self.own(to)?)
    }
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.local.sync_file(&self.own(path)?)
    }
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.local.sync_directory(&self.own(path)?)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.local.remove_file(&self.own(path)?)
    }
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.local.remove_directory(&self.own(path)?)
    }
    fn lock(&self, path: &Path, note: &str) -> io::Result<Box<dyn Lock>> {
        self.local.lock(&self.own(path)?, note)
    }
    fn hold(&self, path: &Path, alone: bool) -> io::Result<Option<Box<dyn Lock>>> {
        self.first(path, |spot| match spot.disk {
            None => self.local.hold(&spot.path, alone),
            // The server knows nothing of holds.
            Some(_) => self.local.list(&spot.path).map(|_| None),
        })
    }
    fn put_up(&self, path: &Path) -> io::Result<Option<Box<dyn Sign>>> {
        self.local.put_up(&self.own(path)?)
    }
    fn read_sign(&self, path: &Path) -> io::Result<Option<Said>> {
        self.own(path).map_or(Ok(None), |path| self.local.read_sign(&path))
    }
    fn barrier(&self, path: &Path) -> io::Result<Box<dyn Barrier>> {
        self.local.barrier(&self.own(path)?)
    }
}

#[cfg(test)]
mod tests;
