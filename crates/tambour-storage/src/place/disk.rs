//! Files of this machine: `pread`, `pwritev`, `fdatasync`, `fallocate`.

use super::{Access, File, Space, Storage};
use rustix::fs::{Advice, CWD, FallocateFlags, FlockOperation, RenameFlags};
use rustix::io::Errno;
use std::fs::OpenOptions;
use std::io::{self, IoSlice};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file system.
#[derive(Clone, Copy, Debug)]
pub struct Disk;

/// Where `fallocate` in front of a write leaves blocks behind that no count shows.
pub const BTRFS_MAGIC: u64 = 0x9123_683e;

/// So often a file is made anew when somebody removes it before it is locked.
const CREATIONS_MAX: usize = 8;

/// Most pieces of one `pwritev`.
const PIECES_MAX: usize = 64;

#[derive(Debug)]
struct Open {
    file: std::fs::File,
    reserves: bool,
}

impl Open {
    fn lock(file: std::fs::File, access: Access) -> io::Result<Arc<dyn File>> {
        flock(&file, Some(access))?;
        Ok(Self::wrap(file))
    }

    fn wrap(file: std::fs::File) -> Arc<dyn File> {
        let reserves = file_system(&file).is_none_or(|magic| magic != BTRFS_MAGIC);
        Arc::new(Self { file, reserves })
    }
}

fn flock(file: &std::fs::File, access: Option<Access>) -> io::Result<()> {
    let operation = match access {
        Some(Access::Read) => FlockOperation::NonBlockingLockShared,
        Some(Access::Write) => FlockOperation::NonBlockingLockExclusive,
        None => FlockOperation::Unlock,
    };
    Ok(rustix::fs::flock(file, operation)?)
}

/// True if the file is the one that has this name.
fn is_named(file: &std::fs::File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let file = file.metadata()?;
    match std::fs::symlink_metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (file.dev(), file.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The number that tells file systems apart.
pub fn file_system(file: &std::fs::File) -> Option<u64> {
    let found = rustix::fs::fstatfs(file).ok()?;
    u64::try_from(found.f_type).ok().map(|magic| magic & 0xffff_ffff)
}

impl File for Open {
    fn lock(&self, access: Option<Access>) -> io::Result<()> {
        flock(&self.file, access)
    }

    fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        use std::os::unix::fs::MetadataExt;
        let found = self.file.metadata()?;
        Ok(Some((found.dev(), found.ino())))
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(target, offset)
    }

    fn write_at(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()> {
        if let [piece] = pieces {
            return self.file.write_all_at(piece, offset);
        }
        let mut offset = offset;
        for group in pieces.chunks(PIECES_MAX) {
            let length: usize = group.iter().map(|piece| piece.len()).sum();
            let slices: Vec<IoSlice<'_>> = group.iter().map(|piece| IoSlice::new(piece)).collect();
            let written = loop {
                match rustix::io::pwritev(&self.file, &slices, offset) {
                    Err(Errno::INTR) => {}
                    result => break result?,
                }
            };
            if written < length {
                self.write_rest(group, written, offset)?;
            }
            offset += length as u64;
        }
        Ok(())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn punch(&self, offset: u64, length: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(rustix::fs::fallocate(&self.file, flags, offset, length)?)
    }

    fn reserve(&self, offset: u64, length: u64) -> io::Result<()> {
        if !self.reserves {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(rustix::fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, offset, length)?)
    }

    fn expect(&self, offset: u64, length: u64) {
        // Only a hint: what cannot be read ahead is read when it is needed.
        let _ = rustix::fs::fadvise(&self.file, offset, NonZeroU64::new(length), Advice::WillNeed);
    }

    fn space(&self) -> io::Result<Space> {
        use std::os::unix::fs::MetadataExt;
        let metadata = self.file.metadata()?;
        Ok(Space {
            length: metadata.len(),
            allocated: metadata.blocks() * 512,
            block_bytes: metadata.blksize().clamp(512, 1 << 16),
            free_bytes: rustix::fs::fstatvfs(&self.file).ok().map(|it| it.f_bfree * it.f_frsize),
        })
    }
}

impl Open {
    /// Writes what a short `pwritev` left.
    fn write_rest(&self, group: &[&[u8]], written: usize, offset: u64) -> io::Result<()> {
        let mut start = 0;
        for piece in group {
            let end = start + piece.len();
            if end > written {
                let skip = written.saturating_sub(start);
                self.file.write_all_at(&piece[skip..], offset + (start + skip) as u64)?;
            }
            start = end;
        }
        Ok(())
    }
}

impl Storage for Disk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let file = OpenOptions::new().read(true).write(access == Access::Write).open(path)?;
        Open::lock(file, access)
    }

    fn open_unlocked(&self, path: &Path) -> io::Result<(Arc<dyn File>, bool)> {
        match OpenOptions::new().read(true).write(true).open(path) {
            Ok(file) => Ok((Open::wrap(file), true)),
            Err(error) => match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    Ok((Open::wrap(std::fs::File::open(path)?), false))
                }
                _ => Err(error),
            },
        }
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        for _ in 0..CREATIONS_MAX {
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
            // Nobody else has it for long: only who takes it for a leftover, and removes it.
            rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
            if is_named(&file, path)? {
                return Ok(Open::wrap(file));
            }
        }
        Err(io::ErrorKind::Interrupted.into())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Some file systems cannot; none of them replaces a file by a link.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                std::fs::hard_link(from, to)?;
                std::fs::remove_file(from)
            }
            renamed => Ok(renamed?),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn beside(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let entries = std::fs::read_dir(parent.unwrap_or(Path::new(".")))?;
        entries.map(|entry| Ok(entry?.path())).collect()
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.symlink_metadata().map(|_| true).or_else(|error| {
            if error.kind() == io::ErrorKind::NotFound { Ok(false) } else { Err(error) }
        })
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        std::fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }
}
