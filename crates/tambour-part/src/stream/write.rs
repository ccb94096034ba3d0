//! Writes one stream: cuts bytes into blocks, notes marks, hashes what goes to the file on the way.

use crate::column::StreamName;
use crate::manifest::checksums::FileSum;
use crate::mark::Mark;
use crate::name::file_stem;
use crate::part::file_hash;
use crate::{PartError, Place};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tambour_codec::CodecError;
use tambour_codec::block::Encoder;
use tambour_codec::codec::Element;
use tambour_codec::spec::CodecSpec;
use tambour_kernel::hash::FileHasher;
use tambour_storage::{Storage, WriteFile};

/// A block with this many bytes is closed before a granule starts.
pub(crate) const BLOCK_BYTES_MIN: usize = 64 << 10;
/// A block is closed inside a granule when it has this many bytes.
pub(crate) const BLOCK_BYTES_MAX: usize = 1 << 20;
/// Blocks of mark files have this many bytes.
const MARK_BLOCK_BYTES: usize = 64 << 10;
/// Encoded bytes that wait before they go to the file.
const FLUSH_BYTES: usize = 256 << 10;

/// A file being written, and the hash of what was written.
#[derive(Debug)]
pub(crate) struct HashedFile {
    storage: Arc<dyn Storage>,
    path: PathBuf,
    file: Option<Box<dyn WriteFile>>,
    hasher: FileHasher,
    size: u64,
}

impl HashedFile {
    /// The file is created with the first bytes, so that a part of many small columns holds few of them open.
    pub(crate) fn new(storage: &Arc<dyn Storage>, path: PathBuf) -> Self {
        let hasher = FileHasher::default();
        Self { storage: Arc::clone(storage), path, file: None, hasher, size: 0 }
    }

    fn open(&mut self) -> Result<&mut Box<dyn WriteFile>, PartError> {
        match &mut self.file {
            Some(file) => Ok(file),
            empty => {
                let file = self.storage.create(&self.path);
                Ok(empty.insert(file.map_err(|e| PartError::io(&self.path, "create", e))?))
            }
        }
    }

    pub(crate) fn write(&mut self, source: &[u8]) -> Result<(), PartError> {
        self.hasher.update(source);
        self.size += source.len() as u64;
        let answer = self.open()?.write_all(source);
        answer.map_err(|cause| PartError::io(&self.path, "write", cause))
    }

    /// Makes it durable and closes it; its size and hash.
    pub(crate) fn finish(mut self) -> Result<FileSum, PartError> {
        let answer = self.open()?.sync();
        answer.map_err(|cause| PartError::io(&self.path, "sync", cause))?;
        Ok(FileSum { size: self.size, hash: self.hasher.finish(), contents: None })
    }
}

/// Writes a whole small file durably.
pub(crate) fn write_file(
    storage: &Arc<dyn Storage>,
    path: PathBuf,
    contents: &[u8],
) -> Result<FileSum, PartError> {
    let mut file = HashedFile::new(storage, path);
    if !contents.is_empty() {
        file.write(contents)?;
    }
    file.finish()
}

/// A writer of one stream of a wide part.
#[derive(Debug)]
pub(crate) struct StreamWriter {
    /// Stem of its files.
    stem: String,
    column: String,
    encoder: Encoder,
    /// Blocks are closed before a granule from the first size on, and anywhere at the second.
    block_bytes: (usize, usize),
    /// Bytes of the block that is open.
    pub(crate) pending: Vec<u8>,
    /// Blocks that wait for the file.
    encoded: Vec<u8>,
    file: HashedFile,
    contents_hasher: FileHasher,
    contents_bytes: u64,
    marks: Vec<Mark>,
}

impl StreamWriter {
    pub(crate) fn new(
        storage: &Arc<dyn Storage>,
        directory: &Path,
        name: &StreamName,
        column: &str,
        encoder: Encoder,
    ) -> Self {
        let stem = file_stem(&name.0).into_owned();
        let path = directory.join(format!("{stem}.bin"));
        let block_bytes = encoder.block_bytes().unwrap_or((BLOCK_BYTES_MIN, BLOCK_BYTES_MAX));
        Self {
            stem,
            column: column.to_owned(),
            encoder,
            block_bytes,
            pending: Vec::new(),
            encoded: Vec::new(),
            file: HashedFile::new(storage, path),
            contents_hasher: FileHasher::default(),
            contents_bytes: 0,
            marks: Vec::new(),
        }
    }

    /// Notes that a granule starts here; closes the open block if it is large enough.
    pub(crate) fn begin_granule(&mut self) -> Result<(), PartError> {
        if self.pending.len() >= self.block_bytes.0 {
            self.close_block()?;
        }
        self.marks.push(self.position());
        Ok(())
    }

    fn position(&self) -> Mark {
        let block = self.file.size + self.encoded.len() as u64;
        Mark { block, offset: self.pending.len() as u64 }
    }

    /// Closes full blocks after bytes were appended.
    pub(crate) fn cut(&mut self) -> Result<(), PartError> {
        let max = self.block_bytes.1;
        if self.pending.len() < max {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        let blocks = pending.chunks_exact(max);
        let rest = blocks.remainder().len();
        for block in blocks {
            self.encode(block)?;
        }
        self.pending = pending;
        self.pending.drain(..self.pending.len() - rest);
        if self.pending.capacity() > 4 * max {
            self.pending.shrink_to(2 * max);
        }
        Ok(())
    }

    fn close_block(&mut self) -> Result<(), PartError> {
        let pending = std::mem::take(&mut self.pending);
        self.encode(&pending)?;
        self.pending = pending;
        self.pending.clear();
        Ok(())
    }

    fn encode(&mut self, block: &[u8]) -> Result<(), PartError> {
        self.contents_hasher.update(block);
        self.contents_bytes += block.len() as u64;
        let offset = self.position().block;
        self.encoder
            .encode(block, &mut self.encoded)
            .map_err(|cause| self.broken(offset, cause))?;
        if self.encoded.len() >= FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    fn broken(&self, offset: u64, cause: CodecError) -> PartError {
        let place = Place::file(&self.file.path).of_column(&self.column).at(offset);
        PartError::Block { place: Box::new(place), cause }
    }

    fn flush(&mut self) -> Result<(), PartError> {
        if !self.encoded.is_empty() {
            self.file.write(&self.encoded)?;
            self.encoded.clear();
        }
        Ok(())
    }

    /// Closes the stream and writes its marks: with rows and a final mark if `rows` are given. The sums of both files.
    pub(crate) fn finish(
        mut self,
        storage: &Arc<dyn Storage>,
        directory: &Path,
        extension: &str,
        rows: Option<&[u64]>,
    ) -> Result<[(String, FileSum); 2], PartError> {
        let end = self.position();
        if !self.pending.is_empty() {
            self.close_block()?;
        }
        self.flush()?;
        let records = marks_file(&self.marks, end, rows);
        let contents = (self.contents_bytes, self.contents_hasher.finish());
        let sum = FileSum { contents: Some(contents), ..self.file.finish()? };
        let marks_name = format!("{}.{extension}", self.stem);
        let marks_path = directory.join(&marks_name);
        let marks_sum = write_marks(storage, marks_path, &records, extension.starts_with('c'))?;
        Ok([(format!("{}.bin", self.stem), sum), (marks_name, marks_sum)])
    }
}

/// Writes the records of a mark file; those of formats with a `c` in front are compressed.
pub(crate) fn write_marks(
    storage: &Arc<dyn Storage>,
    path: PathBuf,
    records: &[u8],
    is_compressed: bool,
) -> Result<FileSum, PartError> {
    if !is_compressed {
        return write_file(storage, path, records);
    }
    let broken = |cause| PartError::Block { place: Box::new(Place::file(&path)), cause };
    let mut encoder = Encoder::new(&CodecSpec::lz4(), Element::BYTES).map_err(broken)?;
    let mut blocks = Vec::new();
    for piece in records.chunks(MARK_BLOCK_BYTES) {
        encoder.encode(piece, &mut blocks).map_err(broken)?;
    }
    let contents = Some((records.len() as u64, file_hash(records)));
    Ok(FileSum { contents, ..write_file(storage, path.clone(), &blocks)? })
}

/// The records of a mark file.
fn marks_file(marks: &[Mark], end: Mark, rows: Option<&[u64]>) -> Vec<u8> {
    let mut records = Vec::new();
    let mut push = |mark: Mark, rows: Option<u64>| {
        records.extend_from_slice(&mark.block.to_le_bytes());
        records.extend_from_slice(&mark.offset.to_le_bytes());
        if let Some(rows) = rows {
            records.extend_from_slice(&rows.to_le_bytes());
        }
    };
    match rows {
        None => marks.iter().for_each(|mark| push(*mark, None)),
        Some(rows) => {
            marks.iter().zip(rows).for_each(|(mark, rows)| push(*mark, Some(*rows)));
            if !marks.is_empty() {
                push(end, Some(0));
            }
        }
    }
    records
}
