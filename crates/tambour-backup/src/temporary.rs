//! Temporary files without a name: the system frees them when they are closed, however the process ends.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use tambour_storage::ReadAt;

/// A file that was written once and is only read now.
#[derive(Debug)]
pub(crate) struct Temporary {
    file: File,
    length: u64,
}

impl Temporary {
    /// Keeps what `write` writes, at most `limit` bytes: the next one is an error of kind `FileTooLarge`.
    pub(crate) fn written<E: From<io::Error>>(
        limit: u64,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut target = Limited { file: tempfile::tempfile()?, written: 0, limit };
        write(&mut target)?;
        Ok(Self { file: target.file, length: target.written })
    }

    #[cfg(test)]
    pub(crate) fn of(bytes: &[u8]) -> io::Result<Self> {
        Self::written(u64::MAX, |target| target.write_all(bytes))
    }
}

impl ReadAt for Temporary {
    fn len(&self) -> u64 {
        self.length
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(target, offset)
    }
}

/// Counts what is written.
#[derive(Debug)]
struct Limited {
    file: File,
    written: u64,
    limit: u64,
}

impl Write for Limited {
    fn write(&mut self, source: &[u8]) -> io::Result<usize> {
        if source.len() as u64 > self.limit - self.written {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let count = self.file.write(source)?;
        self.written += count as u64;
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
