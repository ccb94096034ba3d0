//! Files as memory.
//!
//! Not a loop over buffers, but here because a map is `unsafe` wherever it is read, and this crate is where such arguments are
//! kept. Nobody gets a slice of the map: the file may change below it, so bytes are copied out and whoever takes them checks the copy.

use memmap2::{Advice, MmapOptions, MmapRaw};
use std::fs::File;
use std::io;

/// Bytes from which on the system is told of a read before it begins.
const HINTED_MIN: usize = 64 << 10;

/// A file that is mapped for reading.
#[derive(Debug)]
pub struct Mapped {
    /// `None` for a file of no bytes, which cannot be mapped.
    map: Option<MmapRaw>,
    file: File,
}

impl Mapped {
    /// Maps all of a file.
    pub fn new(file: File) -> io::Result<Self> {
        let map = match file.metadata()?.len() {
            0 => None,
            _ => Some(MmapOptions::new().map_raw_read_only(&file)?),
        };
        Ok(Self { map, file })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Bytes that are mapped.
    pub fn len(&self) -> usize {
        self.map.as_ref().map_or(0, MmapRaw::len)
    }

    /// True if nothing is mapped.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies bytes from `offset` on; `UnexpectedEof` past the end of the map, and past that of the file if it was cut since. If it
    /// is cut in this very moment, the system ends the process with SIGBUS: see [`explain_cuts`].
    pub fn read_exact_at(&self, target: &mut [u8], offset: u64) -> io::Result<()> {
        if target.is_empty() {
            return Ok(());
        }
        let start = usize::try_from(offset).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let end = start.checked_add(target.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        let Some(map) = self.map.as_ref().filter(|map| end <= map.len()) else {
            return Err(io::ErrorKind::UnexpectedEof.into());
        };
        if self.file.metadata()?.len() < end as u64 {
            let text = "the file was cut while it was mapped";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        // At once, and not some pages at a time as they are touched.
        if target.len() >= HINTED_MIN {
            self.will_need(offset, target.len());
        }
        let source = map.as_ptr().wrapping_add(start);
        // SAFETY: `start..end` lies within the map, which lives as long as `self`; `target` is memory of its own. The bytes may
        // change while they are copied, but no reference to them exists.
        unsafe { std::ptr::copy_nonoverlapping(source, target.as_mut_ptr(), target.len()) };
        Ok(())
    }

    /// Asks the system to begin reading these bytes. A hint: nothing is said if it does not.
    pub fn will_need(&self, offset: u64, length: usize) {
        let Ok(start) = usize::try_from(offset) else { return };
        let length = length.min(self.len().saturating_sub(start));
        if let Some(map) = self.map.as_ref().filter(|_| length > 0) {
            let _ = map.advise_range(Advice::WillNeed, start, length);
        }
    }
}

/// What the process says when a mapped file is cut below it.
const CUT: &[u8] = b"error: a file was cut while it was mapped; --io buffered reads such files\n";

/// From now on, a process that touches a page of a mapped file that is gone says so and ends with code 1, instead of dying by a
/// signal without a word. For programs, not for libraries: it is the process's answer to SIGBUS, whatever raised it.
pub fn explain_cuts() {
    extern "C" fn say(_signal: libc::c_int) {
        // SAFETY: `write` may be called in a signal handler; the text is static.
        unsafe { libc::write(libc::STDERR_FILENO, CUT.as_ptr().cast(), CUT.len()) };
        // SAFETY: `_exit` may be called in a signal handler, and runs no code of this program.
        unsafe { libc::_exit(1) }
    }
    // SAFETY: a `sigaction` of zeros is one: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = say as extern "C" fn(libc::c_int) as usize;
    // SAFETY: the action is whole, and nobody asks for the old one.
    unsafe { libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    #[cfg_attr(miri, ignore = "no maps of files there")]
    fn bytes_are_the_files_and_end_where_it_ends() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"granule").unwrap();
        let cut = file.try_clone().unwrap();
        let mapped = Mapped::new(file).unwrap();
        let mut four = [0; 4];
        mapped.will_need(3, usize::MAX);
        mapped.read_exact_at(&mut four, 3).unwrap();
        assert_eq!((mapped.len(), &four), (7, b"nule"));
        for offset in [4, 7, u64::MAX] {
            let error = mapped.read_exact_at(&mut four, offset).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        cut.set_len(5).unwrap();
        let error = mapped.read_exact_at(&mut four, 2).unwrap_err();
        assert_eq!(error.to_string(), "the file was cut while it was mapped");
        mapped.read_exact_at(&mut four, 1).unwrap();
        assert_eq!(&four, b"ranu");
        assert!(Mapped::new(tempfile::tempfile().unwrap()).unwrap().is_empty());
    }
}
