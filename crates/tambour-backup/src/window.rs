//! Files that are parts of other files.

use std::io;
use std::sync::Arc;
use tambour_storage::ReadAt;

/// Bytes from the middle of a file.
#[derive(Debug)]
pub(crate) struct Window {
    file: Arc<dyn ReadAt>,
    start: u64,
    length: u64,
}

impl Window {
    /// The bytes from `start` on; `UnexpectedEof` if the file ends before.
    pub(crate) fn new(file: Arc<dyn ReadAt>, start: u64, length: u64) -> io::Result<Self> {
        let end = start.checked_add(length).filter(|&end| end <= file.len());
        end.map(|_| Self { file, start, length }).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

impl ReadAt for Window {
    fn len(&self) -> u64 {
        self.length
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(target.len() as u64);
        match end.filter(|&end| end <= self.length) {
            Some(_) => self.file.read_exact_at(target, self.start + offset),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// One file after another.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) first: Arc<dyn ReadAt>,
    pub(crate) second: Arc<dyn ReadAt>,
}

impl ReadAt for Joined {
    fn len(&self) -> u64 {
        self.first.len().saturating_add(self.second.len())
    }
    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        let left = self.first.len().saturating_sub(offset);
        let cut = usize::try_from(left).map_or(target.len(), |left| left.min(target.len()));
        let (head, tail) = target.split_at_mut(cut);
        if !head.is_empty() {
            self.first.read_exact_at(head, offset)?;
        }
        if tail.is_empty() {
            return Ok(());
        }
        self.second.read_exact_at(tail, offset.saturating_sub(self.first.len()))
    }
}

/// Reads a file front to back, as a stream that can also be moved.
#[derive(Debug)]
pub(crate) struct Stream {
    file: Arc<dyn ReadAt>,
    at: u64,
}

impl Stream {
    pub(crate) fn new(file: Arc<dyn ReadAt>) -> Self {
        Self { file, at: 0 }
    }
}

impl io::Read for Stream {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let left = self.file.len().saturating_sub(self.at);
        let count = usize::try_from(left).map_or(target.len(), |left| left.min(target.len()));
        self.file.read_exact_at(&mut target[..count], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl io::Seek for Stream {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        let at = match to {
            io::SeekFrom::Start(at) => Some(at),
            io::SeekFrom::End(by) => self.file.len().checked_add_signed(by),
            io::SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::Temporary;
    use std::io::{Read, Seek, SeekFrom};

    fn file(bytes: &[u8]) -> Arc<dyn ReadAt> {
        Arc::new(Temporary::of(bytes).unwrap())
    }

    #[test]
    fn windows_and_joints() {
        let window = Window::new(file(b"0123456789"), 2, 5).unwrap();
        let mut two = [0; 2];
        window.read_exact_at(&mut two, 3).unwrap();
        assert_eq!((&two, window.len()), (b"56", 5));
        assert!(window.read_exact_at(&mut two, 4).is_err(), "past its end, within the file");
        assert!(
            Window::new(file(b"0123"), 2, 3).is_err()
                && Window::new(file(b"0"), 1, u64::MAX).is_err()
        );
        let joined = Joined { first: file(b"abc"), second: file(b"defg") };
        for start in 0..=7 {
            for end in start..=7 {
                let mut target = vec![0; end - start];
                joined.read_exact_at(&mut target, start as u64).unwrap();
                assert_eq!(target, b"abcdefg"[start..end]);
            }
        }
        assert!(joined.read_exact_at(&mut [0; 2], 6).is_err());
        let mut stream = Stream::new(Arc::new(joined));
        stream.seek(SeekFrom::End(-3)).unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "efg");
    }
}
