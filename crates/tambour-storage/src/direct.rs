//! Reading past the page cache: `O_DIRECT`.
//!
//! Nobody reads ahead for such a file, so it does itself: what its reader says that it will need is fetched by other threads.

use super::{ReadAt, disk};
use rustix::fs::OFlags;
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Where buffers begin, and files are read from, so that no device refuses.
const ALIGNMENT: usize = 4096;
/// Pieces of a file that are fetched ahead, for as many readers.
const PIECES_MAX: usize = 4;
/// Bytes of a piece at most.
const PIECE_BYTES_MAX: usize = 1 << 20;
/// Threads that fetch.
const THREADS: usize = 2;

/// Opens a file for access past the page cache.
pub(crate) fn open(path: &Path, write: bool) -> io::Result<File> {
    let flags = i32::try_from(OFlags::DIRECT.bits()).unwrap_or(0);
    OpenOptions::new().read(true).write(write).custom_flags(flags).open(path)
}

/// A buffer that begins at a multiple of [`ALIGNMENT`]: the memory, and where in it.
pub(crate) fn aligned(bytes: usize) -> (Vec<u8>, usize) {
    let buffer = vec![0; bytes + ALIGNMENT];
    let start = buffer.as_ptr().align_offset(ALIGNMENT);
    (buffer, start.min(ALIGNMENT))
}

/// Reads `length` bytes from `offset` in whole units of the device: the memory, and where in it they begin.
fn fetch(file: &File, offset: u64, length: usize, unit: usize) -> io::Result<(Vec<u8>, usize)> {
    let first = offset / unit as u64 * unit as u64;
    let skip = usize::try_from(offset - first).unwrap_or(0);
    let wanted = skip + length;
    let bytes = wanted.next_multiple_of(unit);
    let (mut memory, start) = aligned(bytes);
    let buffer = &mut memory[start..start + bytes];
    let mut done = 0;
    while done < wanted {
        match file.read_at(&mut buffer[done..], first + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((memory, start + skip))
}

/// Fills `target` from `offset` through a buffer of whole units of the device.
pub(crate) fn read(file: &File, target: &mut [u8], offset: u64, unit: usize) -> io::Result<()> {
    let (memory, start) = fetch(file, offset, target.len(), unit)?;
    target.copy_from_slice(&memory[start..start + target.len()]);
    Ok(())
}

type Fetched = io::Result<(Vec<u8>, usize)>;

/// A piece that a thread shall fetch, and for whom.
struct Wish {
    file: Arc<File>,
    offset: u64,
    length: usize,
    reader: Sender<Fetched>,
}

/// Threads that fetch what will be needed, as long as somebody has it.
#[derive(Clone, Debug)]
pub(crate) struct Fetchers {
    wishes: Sender<Wish>,
}

impl Fetchers {
    pub(crate) fn start() -> io::Result<Self> {
        let (wishes, receiver) = channel::<Wish>();
        let receiver = Arc::new(Mutex::new(receiver));
        for _ in 0..THREADS {
            let receiver = Arc::clone(&receiver);
            let work = move || {
                while let Ok(wish) = next(&receiver) {
                    let fetched = fetch(&wish.file, wish.offset, wish.length, ALIGNMENT);
                    // Nobody may want it any more.
                    let _ = wish.reader.send(fetched);
                }
            };
            std::thread::Builder::new().name("read ahead".to_owned()).spawn(work)?;
        }
        Ok(Self { wishes })
    }
}

fn next(wishes: &Mutex<Receiver<Wish>>) -> Result<Wish, std::sync::mpsc::RecvError> {
    wishes.lock().unwrap_or_else(PoisonError::into_inner).recv()
}

/// Bytes of a file that were fetched ahead, or will be.
#[derive(Debug)]
struct Piece {
    offset: u64,
    length: usize,
    coming: Option<Receiver<Fetched>>,
    /// The memory, and where in it the piece begins.
    here: (Vec<u8>, usize),
}

impl Piece {
    fn end(&self) -> u64 {
        self.offset + self.length as u64
    }
    fn holds(&self, offset: u64) -> bool {
        (self.offset..self.end()).contains(&offset)
    }
    /// Its bytes from `offset` on; none if fetching it failed, which a read of the same bytes will say.
    fn bytes(&mut self, offset: u64) -> Option<&[u8]> {
        if let Some(coming) = self.coming.take() {
            self.here = coming.recv().ok()?.ok()?;
        }
        let skip = usize::try_from(offset - self.offset).ok()?;
        let (memory, start) = &self.here;
        memory.get(start + skip..start + self.length)
    }
}

/// An open file and its length at that moment.
#[derive(Debug)]
pub(crate) struct DirectFile {
    /// For what does not read.
    file: File,
    direct: Arc<File>,
    length: u64,
    fetchers: Fetchers,
    pieces: Mutex<VecDeque<Piece>>,
}

impl DirectFile {
    pub(crate) fn open(
        path: &Path,
        file: File,
        length: u64,
        fetchers: Fetchers,
    ) -> io::Result<Self> {
        let direct = open(path, false).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => {
                let text = "the file system cannot read past the page cache";
                io::Error::new(io::ErrorKind::Unsupported, text)
            }
            _ => error,
        })?;
        Ok(Self { file, direct: Arc::new(direct), length, fetchers, pieces: Mutex::default() })
    }

    /// Takes the piece that holds the byte at `offset`.
    fn piece(&self, offset: u64) -> Option<Piece> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let place = pieces.iter().position(|piece| piece.holds(offset))?;
        pieces.remove(place)
    }
}

impl ReadAt for DirectFile {
    fn len(&self) -> u64 {
        self.length
    }

    fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while let Some(mut piece) = self.piece(offset + done as u64) {
            let Some(bytes) = piece.bytes(offset + done as u64) else { break };
            let rest = target.get_mut(done..).unwrap_or_default();
            let count = rest.len().min(bytes.len());
            rest[..count].copy_from_slice(&bytes[..count]);
            let is_left = count < bytes.len();
            done += count;
            if is_left {
                let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
                pieces.push_back(piece);
            }
            if done == target.len() {
                return Ok(());
            }
        }
        let rest = target.get_mut(done..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(());
        }
        read(&self.direct, rest, offset + done as u64, ALIGNMENT)
    }

    fn stored(&self) -> io::Result<u64> {
        disk::stored(&self.file, self.length)
    }

    fn will_need(&self, offset: u64, length: usize) {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        // What is on its way is not fetched again.
        let start = pieces.iter().find(|piece| piece.holds(offset)).map_or(offset, Piece::end);
        let end = (offset + length as u64).min(self.length);
        if start >= end || pieces.iter().any(|piece| piece.holds(start)) {
            return;
        }
        let length = usize::try_from(end - start).unwrap_or(0).min(PIECE_BYTES_MAX);
        let (reader, coming) = channel();
        let file = Arc::clone(&self.direct);
        if self.fetchers.wishes.send(Wish { file, offset: start, length, reader }).is_err() {
            return;
        }
        if pieces.len() >= PIECES_MAX {
            pieces.pop_front();
        }
        let here = (Vec::new(), 0);
        pieces.push_back(Piece { offset: start, length, coming: Some(coming), here });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn pieces_that_were_fetched_ahead_are_the_files() {
        // On the disk of the build, since a file system in memory may have no such access.
        let target = std::env::current_exe().unwrap();
        let mut file = tempfile::NamedTempFile::new_in(target.parent().unwrap()).unwrap();
        let bytes: Vec<u8> =
            (0..300_000_u32).map(|number| (number * 7 / 5).to_le_bytes()[0]).collect();
        file.write_all(&bytes).unwrap();
        let opened = File::open(file.path()).unwrap();
        let fetchers = Fetchers::start().unwrap();
        let direct = DirectFile::open(file.path(), opened, bytes.len() as u64, fetchers).unwrap();
        let read = |offset: usize, length: usize| {
            let mut target = vec![0; length];
            direct.read_exact_at(&mut target, offset as u64).map(|()| target)
        };
        let mut state = 1_usize;
        let mut draw = |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % limit
        };
        for _ in 0..500 {
            let offset = draw(bytes.len());
            let length = draw(bytes.len() - offset + 1);
            if draw(2) == 0 {
                direct.will_need(draw(bytes.len()) as u64, draw(100_000));
            }
            if draw(3) == 0 {
                direct.will_need(offset as u64, draw(bytes.len()));
            }
            assert!(read(offset, length).unwrap() == bytes[offset..offset + length]);
        }
        direct.will_need(u64::MAX - 5, 5);
        assert_eq!(read(299_999, 2).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert!(direct.pieces.lock().unwrap().len() <= PIECES_MAX);
    }
}
