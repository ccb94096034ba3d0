//! Reads a text file block by block: whole records, counted and checked, never more in memory than a block and a record.

use super::block::{BLOCK_BYTES_MAX, Block, Escape, Span};
use super::split::{Splitter, Step};
use crate::error::Spot;
use crate::options::COLUMNS_MAX;
use crate::source::Source;
use crate::{FileError, ReadOptions};
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that are asked for at a time.
const READ_BYTES: usize = 1 << 20;
/// A block is cut at the first record that reaches this many bytes.
const BLOCK_BYTES: usize = 8 << 20;

/// A text file on its way into blocks.
#[derive(Debug)]
pub(crate) struct Records {
    source: Source,
    splitter: Splitter,
    path: Arc<PathBuf>,
    buffer: Vec<u8>,
    /// Bytes taken from the source.
    taken: usize,
    /// Stop at the first block that ends after this many bytes.
    sample: Option<usize>,
    ended: bool,
    /// What follows the last byte is unknown.
    truncated: bool,
    /// Records to leave out: the header.
    skip: usize,
    width: Option<usize>,
    row: u64,
    line: u64,
    batch_rows: usize,
    record_bytes_max: usize,
    /// What is wrong with the record after the last block.
    pending: Option<FileError>,
}

impl Records {
    pub(crate) fn new(source: Source, splitter: Splitter, options: &ReadOptions) -> Self {
        let width = match &splitter {
            Splitter::Lines => Some(1),
            Splitter::Delimited(_) => None,
        };
        Self {
            path: Arc::new(source.path().to_owned()),
            source,
            splitter,
            buffer: Vec::new(),
            taken: 0,
            sample: None,
            ended: false,
            truncated: false,
            skip: 0,
            width,
            row: 1,
            line: 1,
            batch_rows: options.batch_rows.max(1),
            record_bytes_max: options.record_bytes_max.clamp(1, BLOCK_BYTES_MAX / 2),
            pending: None,
        }
    }

    /// Leaves out a header, and expects this many fields.
    pub(crate) fn with_header(self, header: bool, width: usize) -> Self {
        Self { skip: usize::from(header), width: Some(width), ..self }
    }

    /// Only a sample: about this many bytes. With `truncated`, the source itself ends before its file does.
    pub(crate) fn sampled(self, bytes: Option<usize>, truncated: bool) -> Self {
        Self { sample: bytes, truncated, ..self }
    }

    /// The next records.
    pub(crate) fn next_block(&mut self) -> Result<Option<Block>, FileError> {
        if let Some(error) = self.pending.take() {
            self.ended = true;
            self.buffer.clear();
            return Err(error);
        }
        let mut spans = Vec::new();
        let mut at = 0;
        loop {
            match self.advance(&mut at, &mut spans) {
                Ok(true) => {}
                Ok(false) => return Ok(self.cut(at, spans)),
                // What is wrong comes after the rows before it.
                Err(error) if !spans.is_empty() => {
                    self.pending = Some(error);
                    return Ok(self.cut(at, spans));
                }
                Err(error) => {
                    self.ended = true;
                    self.buffer.clear();
                    return Err(error);
                }
            }
        }
    }

    /// Splits what there is and reads more; false when the block is complete.
    fn advance(&mut self, at: &mut usize, spans: &mut Vec<Span>) -> Result<bool, FileError> {
        if self.split(at, spans)? || self.ended {
            return Ok(false);
        }
        let sampled = self.sample.is_some_and(|sample| self.taken >= sample);
        if sampled && !spans.is_empty() {
            (self.ended, self.truncated) = (true, true);
            return Ok(false);
        }
        self.read(*at, spans.len() / self.width.unwrap_or(usize::MAX))?;
        Ok(true)
    }

    /// Splits what is in the buffer; true when a block is full.
    fn split(&mut self, at: &mut usize, spans: &mut Vec<Span>) -> Result<bool, FileError> {
        let last = self.ended && !self.truncated;
        while *at < self.buffer.len() {
            let before = spans.len();
            if *at >= BLOCK_BYTES && before > 0
                || before / self.width.unwrap_or(usize::MAX) >= self.batch_rows
            {
                return Ok(true);
            }
            let step = self.splitter.record(&self.buffer, *at, last, spans);
            let rows = before / self.width.unwrap_or(usize::MAX);
            match step {
                Step::Record(next) => {
                    if let Err(error) = self.check(*at, next, spans.len() - before, rows) {
                        spans.truncate(before);
                        return Err(error);
                    }
                    *at = next;
                    if self.skip > 0 {
                        self.skip -= 1;
                        spans.truncate(before);
                    }
                }
                Step::Blank(next) => {
                    // In TSV with one column an empty line is the empty string.
                    if self.splitter.escape() == Escape::Backslash
                        && self.width == Some(1)
                        && self.skip == 0
                    {
                        spans.push(Span::new(*at, *at, false, false));
                    }
                    *at = next;
                }
                Step::Incomplete => {
                    spans.truncate(before);
                    return Ok(false);
                }
                Step::Unclosed => {
                    spans.truncate(before);
                    return Err(self.quote(*at, rows, "a quoted field is not closed"));
                }
                Step::AfterQuote => {
                    spans.truncate(before);
                    let reason = "text between a closing quote and the next delimiter";
                    return Err(self.quote(*at, rows, reason));
                }
            }
        }
        Ok(false)
    }

    /// Length and width of a record.
    fn check(
        &mut self,
        at: usize,
        next: usize,
        fields: usize,
        row: usize,
    ) -> Result<(), FileError> {
        if next - at > self.record_bytes_max {
            return Err(self.too_long(at, row));
        }
        let width = *self.width.get_or_insert(fields);
        if fields > COLUMNS_MAX {
            let spot = Box::new(self.spot(at, row));
            return Err(FileError::Limit {
                spot,
                what: "the number of columns",
                limit: COLUMNS_MAX as u64,
            });
        }
        if fields != width {
            let spot = Box::new(self.spot(at, row));
            return Err(FileError::Ragged { spot, expected: width, got: fields });
        }
        Ok(())
    }

    fn spot(&self, at: usize, rows: usize) -> Spot {
        let newlines = memchr::memchr_iter(b'\n', &self.buffer[..at]).count() as u64;
        Spot {
            path: self.path.as_ref().clone(),
            row: self.row + rows as u64,
            line: Some(self.line + newlines),
            column: None,
        }
    }

    fn quote(&self, at: usize, rows: usize, reason: &'static str) -> FileError {
        FileError::Quote { spot: Box::new(self.spot(at, rows)), reason }
    }

    fn too_long(&self, at: usize, rows: usize) -> FileError {
        let what = match self.splitter {
            Splitter::Lines => "the length of a line in bytes",
            Splitter::Delimited(_) => "the length of a record in bytes (is a quote not closed?)",
        };
        let limit = self.record_bytes_max as u64;
        FileError::Limit { spot: Box::new(self.spot(at, rows)), what, limit }
    }

    /// Appends bytes from the source. An unfinished record at `at` is read in steps of its own length, so that splitting it
    /// again and again takes no more than twice its time.
    fn read(&mut self, at: usize, rows: usize) -> Result<(), FileError> {
        let unfinished = self.buffer.len() - at;
        if unfinished > self.record_bytes_max {
            return Err(self.too_long(at, rows));
        }
        let step = self.sample.map_or(READ_BYTES, |sample| sample.clamp(1, READ_BYTES));
        let wanted = step.max(unfinished).min(self.record_bytes_max + 1 - unfinished).max(1);
        let read = self.source.fill(&mut self.buffer, wanted)?;
        if self.taken == 0 && self.buffer.starts_with(b"\xef\xbb\xbf") {
            self.buffer.drain(..3);
        }
        self.taken += read;
        self.ended = read < wanted;
        Ok(())
    }

    /// Cuts the buffer after the records that were split.
    fn cut(&mut self, at: usize, spans: Vec<Span>) -> Option<Block> {
        let width = self.width.filter(|_| !spans.is_empty())?;
        let rest = self.buffer.split_off(at);
        let text = std::mem::replace(&mut self.buffer, rest);
        let block = Block {
            path: Arc::clone(&self.path),
            width,
            escape: self.splitter.escape(),
            first_row: self.row,
            first_line: self.line,
            spans,
            text,
        };
        self.row += block.rows() as u64;
        self.line += memchr::memchr_iter(b'\n', &block.text).count() as u64;
        Some(block)
    }

    /// Bytes taken from the (decompressed) source so far.
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }
}
