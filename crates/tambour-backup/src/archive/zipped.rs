//! A `zip`: members that are stored are windows, others are decompressed when they are opened.

use crate::error::BackupError;
use crate::names::Names;
use crate::temporary::Temporary;
use crate::window::{Stream, Window};
use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ReaderAt, ZipArchive,
    ZipArchiveEntryWayfinder, ZipLocator,
};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use tambour_codec::frame::{self, DecompressOptions, Format};
use tambour_storage::read_only::Files;
use tambour_storage::{Entry, ReadAt};

/// Members by their names.
#[derive(Debug)]
struct Zipped {
    archive: ZipArchive<Source>,
    members: Names<Member>,
}

/// What the directory at the archive's end says of a member.
#[derive(Clone, Copy, Debug)]
struct Member {
    place: ZipArchiveEntryWayfinder,
    method: CompressionMethod,
    length: u64,
}

/// The archive's bytes, for the library.
#[derive(Clone, Debug)]
struct Source(Arc<dyn ReadAt>);

impl ReaderAt for Source {
    fn read_at(&self, target: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.0.len().saturating_sub(offset);
        let count = usize::try_from(left).map_or(target.len(), |left| left.min(target.len()));
        self.0.read_exact_at(&mut target[..count], offset)?;
        Ok(count)
    }
}

/// Reads the directory.
pub(super) fn open(path: &Path, file: Arc<dyn ReadAt>) -> Result<impl Files + use<>, BackupError> {
    let damaged = |what: String| BackupError::damaged(path, what);
    let wrong = |error: rawzip::Error| damaged(error.to_string());
    let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
    let length = file.len();
    let archive = ZipLocator::new().locate_in_reader(Source(file), &mut buffer, length);
    let archive = archive.map_err(|(_, error)| wrong(error))?;
    let mut members = Names::default();
    let mut seen = 0;
    let mut entries = archive.entries(&mut buffer);
    while let Some(entry) = entries.next_entry().map_err(wrong)? {
        seen += 1;
        if entry.is_dir() {
            continue;
        }
        let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
        let member = Member {
            place: entry.wayfinder(),
            method: entry.compression_method(),
            length: entry.uncompressed_size_hint(),
        };
        if !members.add(&name, member) {
            let what = "is there twice or outside the archive";
            return Err(damaged(format!("the member {name:?} {what}")));
        }
    }
    if seen != archive.entries_hint() {
        let said = archive.entries_hint();
        return Err(damaged(format!("{seen} members where the archive says {said}")));
    }
    Ok(Zipped { archive, members })
}

/// An error of the archive's contents.
fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, error)
}

impl Files for Zipped {
    fn open(&self, name: &str) -> io::Result<Arc<dyn ReadAt>> {
        let member = *self.members.get(name).ok_or(ErrorKind::NotFound)?;
        let entry = self.archive.get_entry(member.place).map_err(invalid)?;
        let (start, end) = entry.compressed_data_range();
        let file = Arc::clone(&self.archive.get_ref().0);
        let stored = Window::new(file, start, end.saturating_sub(start))?;
        if member.method == CompressionMethod::STORE {
            if stored.len() != member.length {
                return Err(invalid("the archive gives two lengths of a stored member"));
            }
            return Ok(Arc::new(stored));
        }
        if member.length > super::growth_max(stored.len()) {
            let what = format!("{} bytes in {} of a zip", member.length, stored.len());
            return Err(io::Error::new(ErrorKind::FileTooLarge, what));
        }
        let mut stream = Stream::new(Arc::new(stored));
        // The directory's length is the limit: one that lies cannot fill the disk.
        let content = Temporary::written(member.length, |target| match member.method {
            CompressionMethod::DEFLATE => {
                io::copy(&mut DeflateDecoder::new(stream), target).map(drop)
            }
            CompressionMethod::ZSTD => {
                let options =
                    DecompressOptions { format: Some(Format::Zstd), ..Default::default() };
                frame::decompress(&mut stream, target, &options).map(drop).map_err(invalid)
            }
            other => {
                let name = other.name().map_or_else(|| other.as_u16().to_string(), str::to_owned);
                Err(io::Error::new(ErrorKind::Unsupported, format!("method {name} of zip")))
            }
        })?;
        let content: Arc<dyn ReadAt> = Arc::new(content);
        let mut checked = entry.verifying_reader(Stream::new(Arc::clone(&content)));
        io::copy(&mut checked, &mut io::sink())?;
        Ok(content)
    }
    fn list(&self, name: &str) -> io::Result<Vec<Entry>> {
        self.members.list(name, |member| member.length)
    }
    fn exists(&self, name: &str) -> io::Result<bool> {
        Ok(self.members.exists(name))
    }
}
