//! The disk of this machine.

use super::direct::{DirectFile, Fetchers};
use super::sign::{self, Said, Sign};
use super::{Barrier, Entry, Lock, ReadAt, Reading, Storage, WriteFile, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tambour_kernel::map::Mapped;

/// Permissions of a new file, before the process's umask.
const FILE_MODE: u32 = 0o644;

/// The disk of this machine.
#[derive(Debug, Default)]
pub struct Disk {
    reading: Reading,
    /// Threads for files that are read past the page cache, once there is one.
    fetchers: OnceLock<Fetchers>,
}

impl Disk {
    pub(crate) const fn new(reading: Reading) -> Self {
        Self { reading, fetchers: OnceLock::new() }
    }
}

/// Files of at least this many bytes are read as [`Reading`] says.
const LONG: u64 = 128 << 10;

/// Bytes of the blocks in which systems count what a file takes.
const STORED_UNIT: u64 = 512;

/// An open file and its length at that moment.
#[derive(Debug)]
struct DiskFile {
    file: File,
    length: u64,
}

impl ReadAt for DiskFile {
    fn len(&self) -> u64 {
        self.length
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(target, offset)
    }
    fn stored(&self) -> io::Result<u64> {
        stored(&self.file, self.length)
    }
}

impl ReadAt for Mapped {
    fn len(&self) -> u64 {
        Self::len(self) as u64
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        Self::read_exact_at(self, target, offset)
    }
    fn stored(&self) -> io::Result<u64> {
        stored(self.file(), ReadAt::len(self))
    }
    fn will_need(&self, offset: u64, length: usize) {
        Self::will_need(self, offset, length);
    }
}

/// Bytes that a file takes, as the system counts them.
pub(crate) fn stored(file: &File, length: u64) -> io::Result<u64> {
    match file.metadata()?.blocks() {
        0 => Ok(stored_of_uncounted(file, length)),
        blocks => Ok(blocks.saturating_mul(STORED_UNIT)),
    }
}

/// A file without blocks is nothing but a hole, or on a file system that does not count them.
#[cfg(target_os = "linux")]
fn stored_of_uncounted(file: &File, length: u64) -> u64 {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(0)) {
        Err(rustix::io::Errno::NXIO) => 0,
        Err(_) | Ok(_) => length,
    }
}
#[cfg(not(target_os = "linux"))]
fn stored_of_uncounted(_file: &File, length: u64) -> u64 {
    length
}

/// A file being written; every write goes to the system at once, the callers write large pieces.
#[derive(Debug)]
struct DiskWriter {
    file: File,
}

impl WriteFile for DiskWriter {
    fn write_all(&mut self, source: &[u8]) -> io::Result<()> {
        self.file.write_all(source)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// A file system, known by a directory on it that was opened before anything was written: an error in between is reported
/// to whoever had it open then.
#[derive(Debug)]
struct FileSystem {
    directory: File,
}

impl Barrier for FileSystem {
    #[cfg(target_os = "linux")]
    fn sync(&mut self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.directory)?)
    }
    #[cfg(not(target_os = "linux"))]
    fn sync(&mut self) -> io::Result<()> {
        self.directory.metadata()?;
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Storage for Disk {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not an ordinary file"));
        }
        let length = metadata.len();
        match self.reading {
            Reading::Direct if length >= LONG => {
                let fetchers = if let Some(fetchers) = self.fetchers.get() {
                    fetchers
                } else {
                    let started = Fetchers::start()?;
                    self.fetchers.get_or_init(|| started)
                };
                Ok(Arc::new(DirectFile::open(path, file, length, fetchers.clone())?))
            }
            Reading::Mapped if length >= LONG => Ok(Arc::new(Mapped::new(file)?)),
            _ => Ok(Arc::new(DiskFile { file, length })),
        }
    }

    fn read_known(&self, path: &Path, length: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        // A byte more than there should be tells a file that has grown, without a call that asks for its length.
        let mut bytes = vec![0; length + 1];
        let mut filled = 0;
        while filled <= length {
            match file.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    // A read of a file on a disk is short at its end only.
                    if filled == length {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        if filled != length {
            return Err(super::other_length(length, file.metadata()?.len()));
        }
        bytes.truncate(length);
        Ok(bytes)
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn WriteFile>> {
        let file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
        Ok(Box::new(DiskWriter { file }))
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn exchange(&self, first: &Path, second: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags};
        Ok(rustix::fs::renameat_with(CWD, first, CWD, second, RenameFlags::EXCHANGE)?)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        use io::ErrorKind::{AlreadyExists, NotFound};
        match fs::hard_link(from, to) {
            Err(error) if !matches!(error.kind(), AlreadyExists | NotFound) => {
                super::copy(self.open(from)?.as_ref(), self.create(to)?.as_mut())
            }
            linked => linked,
        }
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // What the entry itself is: a link stays a link. The directory says it without a call for each, but not the length.
            let found = entry.file_type().and_then(|kind| {
                let length = if kind.is_file() { entry.metadata()?.len() } else { 0 };
                Ok((kind, length))
            });
            let (kind, length) = match found {
                // Removed or renamed since the directory was read: it is not there.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                found => found?,
            };
            entries.push(Entry {
                name: entry.file_name().to_string_lossy().into_owned(),
                is_directory: kind.is_dir(),
                is_file: kind.is_file(),
                length,
            });
        }
        entries.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir_all(path)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        match fs::symlink_metadata(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn barrier(&self, path: &Path) -> io::Result<Box<dyn Barrier>> {
        if !cfg!(target_os = "linux") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Box::new(FileSystem { directory: File::open(path)? }))
    }

    fn lock(&self, path: &Path, note: &str) -> io::Result<Box<dyn Lock>> {
        flock::lock(path, note)
    }

    fn hold(&self, path: &Path, alone: bool) -> io::Result<Option<Box<dyn Lock>>> {
        flock::hold(path, alone)
    }

    fn put_up(&self, path: &Path) -> io::Result<Option<Box<dyn Sign>>> {
        sign::put_up(path)
    }

    fn read_sign(&self, path: &Path) -> io::Result<Option<Said>> {
        sign::read_board(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    static DISK: Disk = Disk::new(Reading::Buffered);

    /// A directory of this test, removed again by the test itself.
    fn scratch(name: &str) -> std::path::PathBuf {
        let path = std::env::temp_dir().join(format!("tambour-disk-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn files_are_new_readable_and_never_replaced_by_create() {
        let directory = scratch("create");
        let path = directory.join("a.bin");
        let mut file = DISK.create(&path).unwrap();
        file.write_all(b"hello ").unwrap();
        file.write_all(b"world").unwrap();
        file.sync().unwrap();
        assert_eq!(DISK.create(&path).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & !FILE_MODE, 0);

        let open = DISK.open(&path).unwrap();
        let mut target = [0; 5];
        open.read_exact_at(&mut target, 6).unwrap();
        assert_eq!((open.len(), &target), (11, b"world"));
        assert_eq!(
            open.read_exact_at(&mut target, 7).unwrap_err().kind(),
            io::ErrorKind::UnexpectedEof
        );
        assert_eq!(DISK.read(&path, 11).unwrap(), b"hello world");
        assert_eq!(DISK.read(&path, 10).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(DISK.open(&directory).is_err());
        DISK.sync_directory(&directory).unwrap();
        DISK.remove_directory(&directory).unwrap();
        assert!(!DISK.exists(&directory).unwrap());
    }

    #[test]
    fn a_file_gets_another_name_once() {
        let directory = scratch("names");
        let (from, to) = (directory.join("a"), directory.join("b"));
        fs::write(&from, "12").unwrap();
        DISK.link(&from, &to).unwrap();
        assert_eq!(DISK.link(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        DISK.remove_file(&from).unwrap();
        assert_eq!(DISK.read(&to, 2).unwrap(), b"12");
        assert_eq!(DISK.link(&from, &to).unwrap_err().kind(), io::ErrorKind::NotFound);
        DISK.remove_directory(&directory).unwrap();
    }

    #[test]
    fn a_link_is_listed_as_neither_file_nor_directory() {
        let directory = scratch("link");
        fs::write(directory.join("b"), "12").unwrap();
        fs::create_dir(directory.join("c")).unwrap();
        symlink("b", directory.join("a")).unwrap();
        symlink("nowhere", directory.join("d")).unwrap();
        let seen: Vec<_> = DISK
            .list(&directory)
            .unwrap()
            .into_iter()
            .map(|entry| (entry.name, entry.is_file, entry.is_directory, entry.length))
            .collect();
        let entry =
            |name: &str, file, directory, length| (name.to_owned(), file, directory, length);
        assert_eq!(
            seen,
            [
                entry("a", false, false, 0),
                entry("b", true, false, 2),
                entry("c", false, true, 0),
                entry("d", false, false, 0)
            ]
        );
        assert!(DISK.exists(&directory.join("d")).unwrap());
        DISK.remove_directory(&directory).unwrap();
    }
}
