//! Which directories are on object-store disks.

use super::metadata::{self, is_head};
use std::path::{Component, Path, PathBuf};
use tambour_storage::{ReadAt, Storage};

/// The directory of a server's data directory that has one for each disk.
pub(super) const DISKS: &str = "disks";
/// Directories of a server's data directory, one of which is beside `disks`.
const BESIDE: [&str; 3] = ["store", "metadata", "data"];
/// Files, of which tables and parts have one at least, by which their directories are known.
const KNOWN_FILES: [&str; 5] =
    ["tambour.json", "format_version.txt", "columns.txt", "checksums.txt", "count.txt"];
/// Directories from that of a disk down to one with such a file: `store/abc/<uuid>/all_1_1_0`.
const DEPTH_MAX: usize = 4;
/// Directories that are looked at on the way.
const LOOKS_MAX: usize = 64;

/// What the files of a directory are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    Metadata,
    Plain,
    /// None of them tells.
    Unknown,
}

/// Where disks are.
#[derive(Debug)]
pub(super) struct Layout {
    /// The data directory of the server.
    pub(super) server: Option<PathBuf>,
    /// The directories of its disks, or what was given.
    pub(super) disks: Vec<PathBuf>,
}

/// The disks that concern a path, which has no links in it; `None` if there are none.
pub(super) fn layout(storage: &dyn Storage, path: &Path) -> Option<Layout> {
    let servers = path.ancestors().filter(|it| is_directory(storage, &it.join(DISKS)));
    let mut servers =
        servers.filter(|it| BESIDE.iter().any(|name| is_directory(storage, &it.join(name))));
    if let Some(server) = servers.next() {
        let entries = storage.list(&server.join(DISKS)).ok()?;
        let disks = entries.iter().filter(|entry| !entry.is_file);
        let disks: Vec<_> = disks.map(|it| server.join(DISKS).join(&it.name)).collect();
        let server = Some(server.to_owned());
        return (!disks.is_empty()).then_some(Layout { server, disks });
    }
    is_disk(storage, path).then(|| Layout { server: None, disks: vec![path.to_owned()] })
}

fn is_directory(storage: &dyn Storage, path: &Path) -> bool {
    storage.exists(path).unwrap_or(false) && storage.list(path).is_ok()
}

/// True for metadata, or a directory with some: the first directory that tells decides.
pub(super) fn is_disk(storage: &dyn Storage, path: &Path) -> bool {
    let mut looks = 0;
    let is_file = |path: &Path| storage.open(path).is_ok_and(|it| is_metadata(it.as_ref()));
    match below(storage, path, DEPTH_MAX, &mut looks) {
        Probe::Metadata => true,
        Probe::Plain => false,
        Probe::Unknown => is_file(path),
    }
}

fn below(storage: &dyn Storage, path: &Path, depth: usize, looks: &mut usize) -> Probe {
    *looks += 1;
    let own = probe(storage, path);
    if own != Probe::Unknown || depth == 0 {
        return own;
    }
    for entry in storage.list(path).unwrap_or_default() {
        if *looks >= LOOKS_MAX {
            break;
        }
        if entry.is_directory {
            let found = below(storage, &path.join(&entry.name), depth - 1, looks);
            if found != Probe::Unknown {
                return found;
            }
        }
    }
    Probe::Unknown
}

/// What the files of a directory are. A damaged one among them does not hide the others.
pub(super) fn probe(storage: &dyn Storage, directory: &Path) -> Probe {
    let mut seen = Probe::Unknown;
    for name in KNOWN_FILES {
        let Ok(file) = storage.open(&directory.join(name)) else { continue };
        if is_metadata(file.as_ref()) {
            return Probe::Metadata;
        }
        seen = Probe::Plain;
    }
    seen
}

/// True for a file that begins like metadata.
pub(super) fn is_metadata(file: &dyn ReadAt) -> bool {
    let mut head = [0; metadata::HEAD_BYTES];
    let length = usize::try_from(file.len()).unwrap_or(usize::MAX).min(head.len());
    let head = &mut head[..length];
    file.read_exact_at(head, 0).is_ok() && is_head(head)
}

/// The name of the disk that a path is on: what follows the last `disks` in it.
pub(super) fn name(path: &Path) -> Option<&str> {
    let names: Vec<_> = path.components().map(Component::as_os_str).collect();
    let at = names.iter().rposition(|it| *it == DISKS)?;
    names.get(at + 1)?.to_str()
}
