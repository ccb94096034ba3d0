//! Archives as directories: `tar`, also compressed, and `zip`.
//!
//! Members that lie in the archive as they are, are read where they lie. A compressed `tar` is decompressed as a whole into a temporary
//! file, a compressed member of a `zip` when it is opened.

mod tarball;
mod zipped;

use crate::error::BackupError;
use crate::temporary::Temporary;
use crate::window::Stream;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use tambour_codec::frame::{self, DecompressOptions, Format};
use tambour_storage::read_only::{Files, ReadOnly};
use tambour_storage::{ReadAt, Storage};

/// A compressed archive may have this many bytes for each of its own, and [`GRACE_BYTES`] on top: rows of real tables compress
/// a hundredfold at most once they are compressed in their parts.
const GROWTH_MAX: u64 = 200;
/// Bytes that any archive may have decompressed.
const GRACE_BYTES: u64 = 1 << 30;
/// The bytes of `tar`'s first header, which end after the place of its magic.
const HEADER_BYTES: usize = 512;
/// Where `tar` has its magic.
const TAR_MAGIC_AT: usize = 257;

/// How the bytes of a file begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tar,
    Gzip,
    Zstd,
    Zip,
    /// Known by name alone.
    Other(&'static str),
}

/// The kind of a file; `None` if it is a directory, is not there, or begins like no archive.
pub(crate) fn kind(storage: &Arc<dyn Storage>, path: &Path) -> Result<Option<Kind>, BackupError> {
    match open_file(storage, path)? {
        Some(file) => Ok(kind_of(&file).map_err(BackupError::file(path))?),
        None => Ok(None),
    }
}

/// Opens an archive as a directory; `None` if it is none.
pub(crate) fn open(
    storage: &Arc<dyn Storage>,
    path: &Path,
) -> Result<Option<Arc<dyn Storage>>, BackupError> {
    let Some(file) = open_file(storage, path)? else { return Ok(None) };
    let Some(kind) = kind_of(&file).map_err(BackupError::file(path))? else { return Ok(None) };
    let files: Arc<dyn Files> = match kind {
        Kind::Zip => Arc::new(zipped::open(path, file)?),
        Kind::Tar => Arc::new(tarball::open(path, file)?),
        Kind::Gzip | Kind::Zstd => Arc::new(tarball::open(path, decompressed(path, &file, kind)?)?),
        Kind::Other(name) => {
            let what = format!("archives of {name} are not read; unpack it first");
            return Err(BackupError::Unsupported { path: path.to_owned(), what });
        }
    };
    Ok(Some(ReadOnly::over(path, files, crate::REFUSAL)))
}

/// A file of a storage; `None` if it is a directory or is not there.
fn open_file(
    storage: &Arc<dyn Storage>,
    path: &Path,
) -> Result<Option<Arc<dyn ReadAt>>, BackupError> {
    if storage.list(path).is_ok() {
        return Ok(None);
    }
    match storage.open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(BackupError::file(path)(error)),
    }
}

fn kind_of(file: &Arc<dyn ReadAt>) -> io::Result<Option<Kind>> {
    let mut head = [0; HEADER_BYTES];
    let length = usize::try_from(file.len()).map_or(HEADER_BYTES, |it| it.min(HEADER_BYTES));
    let head = &mut head[..length];
    file.read_exact_at(head, 0)?;
    let begins = |magic: &[u8]| head.starts_with(magic);
    Ok(if begins(b"PK\x03\x04") || begins(b"PK\x05\x06") {
        Some(Kind::Zip)
    } else if begins(b"\x1f\x8b") {
        Some(Kind::Gzip)
    } else if begins(b"\x28\xb5\x2f\xfd") {
        Some(Kind::Zstd)
    } else if begins(b"BZh") {
        Some(Kind::Other("bzip2"))
    } else if begins(b"\xfd7zXZ\0") {
        Some(Kind::Other("xz"))
    } else if begins(b"7z\xbc\xaf\x27\x1c") {
        Some(Kind::Other("7-Zip"))
    } else if head.get(TAR_MAGIC_AT..).is_some_and(|rest| rest.starts_with(b"ustar")) {
        Some(Kind::Tar)
    } else {
        None
    })
}

/// Most bytes that a compressed file of this size may hold.
fn growth_max(stored: u64) -> u64 {
    stored.saturating_mul(GROWTH_MAX).saturating_add(GRACE_BYTES)
}

/// What a compressed file holds.
fn decompressed(
    path: &Path,
    file: &Arc<dyn ReadAt>,
    kind: Kind,
) -> Result<Arc<dyn ReadAt>, BackupError> {
    let limit = growth_max(file.len());
    let mut stream = Stream::new(Arc::clone(file));
    let content = Temporary::written(limit, |target| {
        if kind == Kind::Gzip {
            return io::copy(&mut flate2::read::MultiGzDecoder::new(stream), target).map(drop);
        }
        let options = DecompressOptions { format: Some(Format::Zstd), ..Default::default() };
        let done = frame::decompress(&mut stream, target, &options);
        done.map(drop).map_err(|error| match error {
            frame::FrameError::Write { cause, .. } => cause,
            other => io::Error::new(ErrorKind::InvalidData, other),
        })
    });
    match content {
        Ok(content) => Ok(Arc::new(content)),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => Err(BackupError::Limit {
            path: path.to_owned(),
            what: "what the archive holds".to_owned(),
            limit: format!("{limit} bytes"),
        }),
        Err(error) => Err(BackupError::file(path)(error)),
    }
}
