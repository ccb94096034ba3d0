//! Arrow IPC: files with a footer, and streams. Messages are framed here, so that every size is checked before it is
//! believed; their content is Arrow's business.

use super::facts::Facts;
use super::{Columns, SAMPLE_ROWS, Target, arrow_error, guarded};
use crate::FileError;
use crate::pipeline::{Exit, Gone, Line};
use crate::source::{Source, is_stdin, open_file};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: &[u8] = b"ARROW1";
/// A message's description (not its data) longer than this is none.
const METADATA_BYTES_MAX: u64 = 256 << 20;
/// No buffer of a compressed batch is larger than this.
const BUFFER_BYTES_MAX: i64 = 8 << 30;
/// Nothing that is compressed gets smaller than by this factor (zstd repeats a block of 128 KiB in 4 bytes).
const RATIO_MAX: i64 = 1 << 15;

/// An Arrow IPC file or stream.
#[derive(Clone, Debug)]
pub(crate) struct IpcFile {
    pub(crate) path: PathBuf,
    pub(crate) schema: SchemaRef,
}

impl IpcFile {
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let (_, bytes) = open_file(path)?;
        if bytes == 0 {
            return Err(FileError::Empty { path: path.to_owned(), what: "the file is empty" });
        }
        let schema =
            guarded(path, || Messages::open(path).map(|messages| messages.schema.clone()))?;
        Ok(Self { path: path.to_owned(), schema })
    }

    /// The columns as a table would have them; every batch is looked at. Texts are counted only if `texts`.
    pub(crate) fn columns(&self, texts: bool) -> Result<Columns, FileError> {
        let mut facts = vec![Facts::default(); self.schema.fields().len()];
        let mut seen = 0;
        guarded(&self.path, || {
            let mut messages = Messages::open(&self.path)?;
            while let Some(batch) = messages.next_batch()? {
                for (array, facts) in batch.columns().iter().zip(&mut facts) {
                    facts.observe(array, texts && seen < SAMPLE_ROWS);
                }
                seen += batch.num_rows();
            }
            Ok(())
        })?;
        columns(&self.path, &self.schema, &facts)
    }

    /// Adds a job that reads the file.
    pub(crate) fn feed(
        &self,
        line: &Line,
        target: &Arc<Target>,
        batch_rows: usize,
        progress: &Arc<AtomicU64>,
    ) -> Result<(), Gone> {
        match guarded(&self.path, || Messages::open(&self.path)) {
            Ok(messages) => {
                messages.feed(line, Arc::clone(target), batch_rows, Arc::clone(progress))
            }
            Err(error) => line.fail(error),
        }
    }
}

/// The columns of a stream that can be read only once: what may be NULL is Nullable.
pub(crate) fn stated_columns(path: &Path, schema: &SchemaRef) -> Result<Columns, FileError> {
    let facts: Vec<Facts> = schema.fields().iter().map(|field| Facts::stated(field)).collect();
    columns(path, schema, &facts)
}

pub(crate) fn columns(
    path: &Path,
    schema: &SchemaRef,
    facts: &[Facts],
) -> Result<Columns, FileError> {
    let decide = |(field, facts): (&Arc<arrow_schema::Field>, &Facts)| {
        let data_type = facts.decide(field).map_err(|source| FileError::Type {
            path: path.to_owned(),
            column: field.name().clone(),
            data_type: field.data_type().to_string(),
            source: Box::new(source),
        })?;
        Ok((field.name().clone(), data_type))
    };
    schema.fields().iter().zip(facts).map(decide).collect()
}

/// Where messages come from.
enum Framing {
    /// By the footer's list.
    File { file: File, blocks: std::vec::IntoIter<Block> },
    /// One after the other.
    Stream(Box<dyn Read + Send>),
}

impl std::fmt::Debug for Framing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::File { .. } => "File",
            Self::Stream(_) => "Stream",
        })
    }
}

/// The batches of a file or stream.
#[derive(Debug)]
pub(crate) struct Messages {
    path: PathBuf,
    pub(crate) schema: SchemaRef,
    decoder: FileDecoder,
    framing: Framing,
    batches: u64,
    consumed: u64,
}

impl Messages {
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        if is_stdin(path) {
            return Self::stream(path, Source::open(path, None)?.into_reader());
        }
        let (mut file, bytes) = open_file(path)?;
        let mut magic = [0; 6];
        let found = file.read(&mut magic).map_err(FileError::io(path, "read"))?;
        if magic[..found] == *MAGIC {
            return Self::file(path, file, bytes);
        }
        // From the start, and decompressed if it is compressed as a whole.
        Self::stream(path, Source::open(path, None)?.into_reader())
    }

    fn file(path: &Path, mut file: File, bytes: u64) -> Result<Self, FileError> {
        let io = |source| FileError::io(path, "read")(source);
        let damaged = |reason: &str| damaged(path, reason.to_owned());
        if bytes < 18 {
            return Err(damaged("too short for an Arrow file"));
        }
        let mut tail = [0; 10];
        file.seek(SeekFrom::End(-10)).map_err(io)?;
        file.read_exact(&mut tail).map_err(io)?;
        if tail[4..] != *MAGIC {
            return Err(damaged("the end of an Arrow file is missing"));
        }
        let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
        if length > bytes - 18 {
            return Err(damaged("the footer is longer than the file"));
        }
        file.seek(SeekFrom::Start(bytes - 10 - length)).map_err(io)?;
        let mut footer = Vec::new();
        (&mut file).take(length).read_to_end(&mut footer).map_err(io)?;
        let footer = root_as_footer(&footer).map_err(|e| {
            arrow_error(path, "footer".to_owned(), ArrowError::ParseError(e.to_string()))
        })?;
        let schema = footer.schema().ok_or_else(|| damaged("the footer has no schema"))?;
        let schema = Arc::new(fb_to_schema(schema));
        let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        let mut consumed = 0;
        for block in footer.dictionaries().iter().flatten() {
            let buffer = read_block(path, &mut file, bytes, block)?;
            consumed += buffer.len() as u64;
            decoder
                .read_dictionary(block, &buffer)
                .map_err(|e| arrow_error(path, "dictionary".to_owned(), e))?;
        }
        let blocks: Vec<Block> = footer.recordBatches().iter().flatten().copied().collect();
        let framing = Framing::File { file, blocks: blocks.into_iter() };
        Ok(Self { path: path.to_owned(), schema, decoder, framing, batches: 0, consumed })
    }

    pub(crate) fn stream(path: &Path, mut reader: Box<dyn Read + Send>) -> Result<Self, FileError> {
        let first = read_message(path, &mut reader)?;
        let Some((_, buffer)) = first else {
            return Err(FileError::Empty { path: path.to_owned(), what: "the stream is empty" });
        };
        let message = root_as_message(&buffer[8..]).map_err(|e| {
            arrow_error(path, "schema".to_owned(), ArrowError::ParseError(e.to_string()))
        })?;
        let schema = message.header_as_schema();
        let schema =
            schema.ok_or_else(|| damaged(path, "it does not start with a schema".to_owned()))?;
        let schema = Arc::new(fb_to_schema(schema));
        let decoder = FileDecoder::new(Arc::clone(&schema), message.version());
        let (path, framing) = (path.to_owned(), Framing::Stream(reader));
        Ok(Self { path, schema, decoder, framing, batches: 0, consumed: buffer.len() as u64 })
    }

    /// The next batch.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>, FileError> {
        loop {
            let next = match &mut self.framing {
                Framing::File { file, blocks } => match blocks.next() {
                    Some(block) => {
                        let bytes =
                            file.metadata().map_err(FileError::io(&self.path, "read"))?.len();
                        Some((block, read_block(&self.path, file, bytes, &block)?))
                    }
                    None => None,
                },
                Framing::Stream(reader) => read_message(&self.path, reader)?,
            };
            let Some((block, buffer)) = next else { return Ok(None) };
            self.consumed += buffer.len() as u64;
            check_compression(&self.path, &buffer, block.metaDataLength())?;
            let place = || format!("batch {}", self.batches);
            if is_dictionary(&buffer) {
                self.decoder
                    .read_dictionary(&block, &buffer)
                    .map_err(|e| arrow_error(&self.path, place(), e))?;
                continue;
            }
            let batch = self.decoder.read_record_batch(&block, &buffer);
            if let Some(batch) = batch.map_err(|e| arrow_error(&self.path, place(), e))? {
                self.batches += 1;
                return Ok(Some(batch));
            }
        }
    }

    /// Adds a job that reads everything.
    pub(crate) fn feed(
        self,
        line: &Line,
        target: Arc<Target>,
        batch_rows: usize,
        progress: Arc<AtomicU64>,
    ) -> Result<(), Gone> {
        line.push(move |exit| {
            let path = self.path.clone();
            if let Err(error) = guarded(&path, || self.pass(&target, batch_rows, &progress, exit)) {
                // If nobody wants it, nobody misses it.
                let _ = exit.send(Err(error));
            }
        })
    }

    /// Hands on all batches, in pieces of at most `batch_rows`.
    fn pass(
        mut self,
        target: &Target,
        batch_rows: usize,
        progress: &AtomicU64,
        exit: &Exit,
    ) -> Result<(), FileError> {
        let mut rows = 0;
        let mut told = 0;
        while let Some(batch) = self.next_batch()? {
            let mut start = 0;
            while start < batch.num_rows() {
                let piece = batch.slice(start, batch_rows.max(1).min(batch.num_rows() - start));
                let fitted = target.batch(&self.path, &piece, rows)?;
                start += piece.num_rows();
                rows += piece.num_rows() as u64;
                if exit.send(Ok(fitted)).is_err() {
                    return Ok(());
                }
            }
            progress.fetch_add(self.consumed - told, Ordering::Relaxed);
            told = self.consumed;
        }
        Ok(())
    }
}

fn damaged(path: &Path, reason: String) -> FileError {
    FileError::Damaged { path: path.to_owned(), reason }
}

/// Reads what a footer points to, if it is inside of the file.
fn read_block(
    path: &Path,
    file: &mut File,
    bytes: u64,
    block: &Block,
) -> Result<Buffer, FileError> {
    let start = u64::try_from(block.offset());
    let metadata = u64::try_from(block.metaDataLength());
    let body = u64::try_from(block.bodyLength());
    let (Ok(start), Ok(metadata), Ok(body)) = (start, metadata, body) else {
        return Err(damaged(path, "negative offset or size in the footer".to_owned()));
    };
    let length = metadata.checked_add(body).filter(|_| metadata >= 8);
    let end = length.and_then(|length| start.checked_add(length));
    let (Some(length), Some(_)) = (length, end.filter(|&end| end <= bytes)) else {
        return Err(damaged(path, format!("a batch at {start} is outside the file")));
    };
    file.seek(SeekFrom::Start(start)).map_err(FileError::io(path, "read"))?;
    exactly(path, file, length)
}

/// This many bytes; memory grows with what is really there.
fn exactly(path: &Path, reader: &mut impl Read, length: u64) -> Result<Buffer, FileError> {
    let mut bytes = Vec::with_capacity(usize::try_from(length.min(1 << 20)).unwrap_or(0));
    let read = reader.take(length).read_to_end(&mut bytes).map_err(FileError::io(path, "read"))?;
    if read as u64 != length {
        return Err(damaged(path, "cut off".to_owned()));
    }
    Ok(Buffer::from_vec(bytes))
}

/// The next message of a stream, in the frame that the decoder expects: marker, length, description, body.
fn read_message(
    path: &Path,
    reader: &mut Box<dyn Read + Send>,
) -> Result<Option<(Block, Buffer)>, FileError> {
    let mut word = [0; 4];
    let mut first = Vec::new();
    reader.take(4).read_to_end(&mut first).map_err(FileError::io(path, "read"))?;
    match first.len() {
        0 => return Ok(None),
        4 => word.copy_from_slice(&first),
        _ => return Err(damaged(path, "cut off".to_owned())),
    }
    // Streams of Arrow before 0.15 have no marker in front of the length.
    if word == [0xff; 4] {
        let length = exactly(path, reader, 4)?;
        word.copy_from_slice(&length);
    }
    let length = u64::from(u32::from_le_bytes(word));
    if length == 0 {
        return Ok(None);
    }
    if length > METADATA_BYTES_MAX {
        return Err(damaged(path, format!("a message of {length} bytes without its data")));
    }
    let description = exactly(path, reader, length)?;
    let message = root_as_message(&description).map_err(|e| {
        arrow_error(path, "message".to_owned(), ArrowError::ParseError(e.to_string()))
    })?;
    let body = u64::try_from(message.bodyLength())
        .map_err(|_| damaged(path, "a message of negative size".to_owned()))?;
    let mut whole = vec![0xff; 4];
    whole.extend_from_slice(&word);
    whole.extend_from_slice(&description);
    let metadata = i32::try_from(whole.len())
        .map_err(|_| damaged(path, "a message that is too long".to_owned()))?;
    let start = whole.len() as u64;
    let read = reader.take(body).read_to_end(&mut whole).map_err(FileError::io(path, "read"))?;
    if read as u64 != body || whole.len() as u64 != start + body {
        return Err(damaged(path, "cut off".to_owned()));
    }
    let block = Block::new(0, metadata, message.bodyLength());
    // Buffers start at multiples of 8 after the description; Arrow copies what is not aligned.
    Ok(Some((block, Buffer::from_vec(whole))))
}

fn is_dictionary(buffer: &[u8]) -> bool {
    let message = buffer.get(8..).and_then(|message| root_as_message(message).ok());
    message.is_some_and(|message| message.header_type() == MessageHeader::DictionaryBatch)
}

/// The sizes that compressed buffers claim to have, before they decide over memory.
fn check_compression(path: &Path, buffer: &[u8], metadata: i32) -> Result<(), FileError> {
    let start = if buffer.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = buffer.get(start..).and_then(|message| root_as_message(message).ok());
    let Some(message) = message else { return Ok(()) };
    let batch = match message.header_type() {
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => message.header_as_record_batch(),
    };
    let Some(batch) = batch else { return Ok(()) };
    let body = usize::try_from(metadata).ok().and_then(|metadata| buffer.get(metadata..));
    let body = body.unwrap_or_default();
    for piece in batch.buffers().iter().flatten() {
        let range = usize::try_from(piece.offset())
            .ok()
            .zip(usize::try_from(piece.length()).ok())
            .and_then(|(offset, length)| body.get(offset..offset.checked_add(length)?));
        let Some(bytes) = range else {
            return Err(damaged(path, "a buffer is outside its batch".to_owned()));
        };
        if batch.compression().is_none() {
            continue;
        }
        let Some(stated) = bytes.first_chunk::<8>().map(|word| i64::from_le_bytes(*word)) else {
            continue;
        };
        let most = i64::try_from(bytes.len()).unwrap_or(i64::MAX).saturating_mul(RATIO_MAX);
        if stated > most.min(BUFFER_BYTES_MAX) {
            return Err(damaged(
                path,
                format!("a buffer claims {stated} bytes in {}", bytes.len()),
            ));
        }
    }
    Ok(())
}
