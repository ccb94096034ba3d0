//! The two ends of a stream: a source that knows where it is, and a target that counts.

use super::FrameError;
use std::io::{ErrorKind, Read, Write};

/// Bytes that are passed by in one piece; small enough for the stack.
const SKIP_BYTES: usize = 4 << 10;

/// Where bytes come from. It reads no byte further than it is asked to, but for four that it may give back.
pub(super) struct Source<'a> {
    input: &'a mut dyn Read,
    /// Bytes handed out.
    offset: u64,
    /// A magic number that was looked at and given back.
    returned: Option<[u8; 4]>,
}

impl<'a> Source<'a> {
    pub(super) fn new(input: &'a mut dyn Read) -> Self {
        Self { input, offset: 0, returned: None }
    }

    /// The offset of the next byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads until `target` is full or the input ends; returns the bytes read.
    pub(super) fn fill(&mut self, target: &mut [u8]) -> Result<usize, FrameError> {
        let mut filled = 0;
        if let Some(returned) = self.returned.take() {
            // Only whole magic numbers are given back, and all readers begin with at least four bytes.
            debug_assert!(target.len() >= returned.len());
            target[..4].copy_from_slice(&returned);
            filled = returned.len();
            self.offset += 4;
        }
        while filled < target.len() {
            match self.input.read(&mut target[filled..]) {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    self.offset += count as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(FrameError::Read { offset: self.offset, cause }),
            }
        }
        Ok(filled)
    }

    /// Reads bytes that must be there; `what` starts at `start`.
    pub(super) fn array<const N: usize>(
        &mut self,
        what: &'static str,
        start: u64,
    ) -> Result<[u8; N], FrameError> {
        let mut bytes = [0; N];
        if self.fill(&mut bytes)? < N {
            return Err(self.truncated(what, start));
        }
        Ok(bytes)
    }

    /// Appends this many bytes to `target`, which grows with what arrives: a size that lies allocates little.
    pub(super) fn append(
        &mut self,
        count: usize,
        target: &mut Vec<u8>,
        what: &'static str,
        start: u64,
    ) -> Result<(), FrameError> {
        debug_assert!(self.returned.is_none(), "a magic number is read before what follows");
        let result = (&mut *self.input).take(count as u64).read_to_end(target);
        let got = result.map_err(|cause| FrameError::Read { offset: self.offset, cause })?;
        self.offset += got as u64;
        if got < count { Err(self.truncated(what, start)) } else { Ok(()) }
    }

    /// Passes bytes by that must be there.
    pub(super) fn skip(
        &mut self,
        mut count: u64,
        what: &'static str,
        start: u64,
    ) -> Result<(), FrameError> {
        let mut scratch = [0; SKIP_BYTES];
        while count > 0 {
            let piece = usize::try_from(count).map_or(SKIP_BYTES, |count| count.min(SKIP_BYTES));
            if self.fill(&mut scratch[..piece])? < piece {
                return Err(self.truncated(what, start));
            }
            count -= piece as u64;
        }
        Ok(())
    }

    /// The next four bytes as a number; `None` at the end of the input.
    pub(super) fn magic(&mut self) -> Result<Option<u32>, FrameError> {
        let start = self.offset;
        let mut bytes = [0; 4];
        match self.fill(&mut bytes)? {
            0 => Ok(None),
            4 => Ok(Some(u32::from_le_bytes(bytes))),
            _ => Err(self.truncated("magic number", start)),
        }
    }

    /// Gives the last four bytes back.
    pub(super) fn give_back(&mut self, magic: u32) {
        self.offset -= 4;
        self.returned = Some(magic.to_le_bytes());
    }

    /// The error for an input that ends too early.
    pub(super) fn truncated(&self, what: &'static str, start: u64) -> FrameError {
        FrameError::Truncated { what, offset: start, end: self.offset }
    }
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("offset", &self.offset).finish_non_exhaustive()
    }
}

/// Where bytes go to.
pub(super) struct Target<'a> {
    output: &'a mut dyn Write,
    written: u64,
}

impl<'a> Target<'a> {
    pub(super) fn new(output: &'a mut dyn Write) -> Self {
        Self { output, written: 0 }
    }

    /// Bytes written so far.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        let result = self.output.write_all(bytes);
        result.map_err(|cause| FrameError::Write { offset: self.written, cause })?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), FrameError> {
        let result = self.output.flush();
        result.map_err(|cause| FrameError::Write { offset: self.written, cause })
    }
}
