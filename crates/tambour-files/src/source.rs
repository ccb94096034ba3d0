//! Bytes of a text file or of standard input, decompressed on the way.

use crate::FileError;
use crate::compression::Compression;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use zstd_safe::{DCtx, InBuffer, OutBuffer};

/// Bytes that one call to the operating system asks for.
const READ_BYTES: usize = 256 << 10;

/// Whether a path means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Whether a path can be read only once: standard input, a pipe, a device, a socket.
pub(crate) fn is_stream(path: &Path) -> bool {
    // What cannot be looked at is reported when it is opened.
    is_stdin(path) || path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir())
}

/// Opens a file for reading; a directory is an error already here.
pub(crate) fn open_file(path: &Path) -> Result<(File, u64), FileError> {
    let file = File::open(path).map_err(FileError::io(path, "open"))?;
    let metadata = file.metadata().map_err(FileError::io(path, "open"))?;
    if metadata.is_dir() {
        let source = io::Error::from(io::ErrorKind::IsADirectory);
        return Err(FileError::Io { path: path.to_owned(), action: "read", source });
    }
    Ok((file, metadata.len()))
}

/// The bytes of a text file, or of standard input for `-`; gzip and zstd, told by their first bytes, are decompressed.
///
/// # Errors
/// The file cannot be opened or read. Damage of compressed data comes from the reader.
pub fn text_reader(path: &Path) -> Result<Box<dyn Read + Send>, FileError> {
    Ok(Source::open(path, None)?.into_reader())
}

/// A stream of decompressed bytes.
pub(crate) struct Source {
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    compression: Option<Compression>,
    /// Decompressed bytes handed out.
    offset: u64,
}

impl Source {
    /// Opens a file, or standard input for `-`. Bytes taken from it (as stored) are added to `progress`.
    pub(crate) fn open(path: &Path, progress: Option<Arc<AtomicU64>>) -> Result<Self, FileError> {
        let raw: Box<dyn Read + Send> =
            if is_stdin(path) { Box::new(io::stdin()) } else { Box::new(open_file(path)?.0) };
        let mut counted = Counted { raw, progress };
        let mut head = Vec::new();
        // No more than tells: a pipe may have a short line only for a long time.
        while Compression::may_begin(&head) {
            let read = (&mut counted).take(1).read_to_end(&mut head);
            if read.map_err(FileError::io(path, "read"))? == 0 {
                break;
            }
        }
        let compression = Compression::sniff(&head);
        let whole = io::Cursor::new(head).chain(counted);
        let reader: Box<dyn Read + Send> = match compression {
            None => Box::new(whole),
            Some(Compression::Zstd) => Box::new(Zstd::new(whole)?),
            Some(Compression::Gzip) => {
                let buffered = io::BufReader::with_capacity(READ_BYTES, whole);
                Box::new(flate2::bufread::MultiGzDecoder::new(buffered))
            }
        };
        Ok(Self { path: path.to_owned(), reader, compression, offset: 0 })
    }

    /// Bytes in memory, of a file that is named for messages.
    pub(crate) fn of_bytes(path: &Path, bytes: Vec<u8>) -> Self {
        let reader = Box::new(io::Cursor::new(bytes));
        Self { path: path.to_owned(), reader, compression: None, offset: 0 }
    }

    /// The same stream with bytes put back in front.
    pub(crate) fn preceded_by(self, head: Vec<u8>) -> Self {
        let offset = self.offset.saturating_sub(head.len() as u64);
        Self { reader: Box::new(io::Cursor::new(head).chain(self.reader)), offset, ..self }
    }

    /// Appends up to `bytes` more to `target`; fewer only at the end of the stream.
    pub(crate) fn fill(&mut self, target: &mut Vec<u8>, bytes: usize) -> Result<usize, FileError> {
        let read = (&mut self.reader).take(bytes as u64).read_to_end(target);
        let read = read.map_err(|source| match self.compression {
            Some(compression) => FileError::Decompress {
                path: self.path.clone(),
                format: compression.name(),
                offset: self.offset,
                source,
            },
            None => FileError::io(&self.path, "read")(source),
        })?;
        self.offset += read as u64;
        Ok(read)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn into_reader(self) -> Box<dyn Read + Send> {
        self.reader
    }
}

/// Counts what passes.
struct Counted {
    raw: Box<dyn Read + Send>,
    progress: Option<Arc<AtomicU64>>,
}

impl Read for Counted {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(target)?;
        if let Some(progress) = &self.progress {
            progress.fetch_add(read as u64, Ordering::Relaxed);
        }
        Ok(read)
    }
}

/// Decompresses concatenated zstd frames. Windows above libzstd's default limit (128 MiB) are refused by the library.
struct Zstd<R> {
    inner: R,
    context: DCtx<'static>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Nothing of an unfinished frame is pending.
    between_frames: bool,
}

impl<R: Read> Zstd<R> {
    fn new(inner: R) -> Result<Self, FileError> {
        let context = DCtx::try_create().ok_or_else(|| FileError::Argument {
            reason: "no memory for a zstd decompressor".to_owned(),
        })?;
        let buffer = vec![0; DCtx::in_size()];
        Ok(Self { inner, context, buffer, start: 0, end: 0, between_frames: true })
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        if target.is_empty() {
            return Ok(0);
        }
        loop {
            let mut input = InBuffer::around(&self.buffer[self.start..self.end]);
            let mut output = OutBuffer::around(&mut *target);
            let hint = self.context.decompress_stream(&mut output, &mut input).map_err(|code| {
                io::Error::new(io::ErrorKind::InvalidData, zstd_safe::get_error_name(code))
            })?;
            let (consumed, written) = (input.pos(), output.pos());
            if consumed > 0 || written > 0 {
                self.between_frames = hint == 0;
            }
            self.start += consumed;
            if written > 0 {
                return Ok(written);
            }
            if self.start == self.end {
                self.start = 0;
                self.end = self.inner.read(&mut self.buffer)?;
                if self.end == 0 {
                    return if self.between_frames {
                        Ok(0)
                    } else {
                        Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the stream is cut off"))
                    };
                }
            }
        }
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("path", &self.path).finish_non_exhaustive()
    }
}
