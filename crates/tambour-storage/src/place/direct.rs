//! Files of this machine past the page cache: `O_DIRECT`. For stores whose user has a cache of its own.
//!
//! Reads go through a buffer of whole sectors; writes must be whole sectors themselves, which they are where the granule of
//! the store is a sector or more.

use super::disk::Disk;
use super::{Access, File, Space, Storage};
use crate::direct::{self, aligned};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of a sector.
const SECTOR: usize = 512;

/// The file system, past the page cache.
#[derive(Clone, Copy, Debug)]
pub struct Direct;

#[derive(Debug)]
struct Open {
    /// What is no read and no write; it has the lock.
    file: Arc<dyn File>,
    direct: std::fs::File,
}

impl Open {
    fn beside(file: Arc<dyn File>, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        let direct = direct::open(path, access == Access::Write)?;
        // Said here, and not by the first commit.
        let (mut buffer, start) = aligned(SECTOR);
        match direct.read_at(&mut buffer[start..start + SECTOR], 0) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                let text = format!("the device does not read {SECTOR} bytes past the page cache");
                Err(io::Error::new(io::ErrorKind::Unsupported, text))
            }
            _ => Ok(Arc::new(Self { file, direct })),
        }
    }
}

impl File for Open {
    fn identity(&self) -> io::Result<Option<(u64, u64)>> {
        self.file.identity()
    }

    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        direct::read(&self.direct, target, offset, SECTOR)
    }

    fn write_at(&self, pieces: &[&[u8]], offset: u64) -> io::Result<()> {
        let bytes = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        if !offset.is_multiple_of(SECTOR as u64) || !bytes.is_multiple_of(SECTOR) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let (mut buffer, start) = aligned(bytes);
        let buffer = &mut buffer[start..start + bytes];
        let mut at = 0;
        for piece in pieces {
            buffer[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        }
        self.direct.write_all_at(buffer, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn sync(&self) -> io::Result<()> {
        // Past the cache is not past the memory of the device.
        self.file.sync()
    }

    fn punch(&self, offset: u64, length: u64) -> io::Result<()> {
        self.file.punch(offset, length)
    }

    fn reserve(&self, offset: u64, length: u64) -> io::Result<()> {
        self.file.reserve(offset, length)
    }

    fn space(&self) -> io::Result<Space> {
        self.file.space()
    }
}

impl Storage for Direct {
    fn open(&self, path: &Path, access: Access) -> io::Result<Arc<dyn File>> {
        Open::beside(Disk.open(path, access)?, path, access)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        Open::beside(Disk.create(path)?, path, Access::Write)
    }

    fn write_unit(&self) -> u64 {
        SECTOR as u64
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        Disk.rename_new(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        Disk.remove(path)
    }

    fn beside(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        Disk.beside(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Disk.exists(path)
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        Disk.sync_directory_of(path)
    }
}
