//! Encodes one column of a part into its streams.

use super::recode::encoder;
use crate::column::{ColumnWriter, Layout, Sinks, StreamName, shared_sizes, streams};
use crate::manifest::checksums::FileSum;
use crate::stream::write::StreamWriter;
use crate::types::Column;
use crate::{PartError, Place};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;
use tambour_storage::Storage;

/// Rows of a call that belong to one granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// First row in the batch.
    pub(crate) start: usize,
    pub(crate) rows: usize,
    /// The granule starts here.
    pub(crate) opens: bool,
}

#[derive(Debug)]
struct ColumnSinks {
    streams: Vec<(StreamName, StreamWriter)>,
    /// The sizes of a Nested, if another column writes them.
    shared: Option<StreamName>,
    /// Takes those sizes; they are the same (the part's writer checks that), so they are dropped.
    dropped: Vec<u8>,
    /// Takes what a writer gives to a stream that it did not announce; must stay empty.
    stray: Vec<u8>,
}

impl Sinks for ColumnSinks {
    fn stream(&mut self, name: &StreamName) -> &mut Vec<u8> {
        let known = self.streams.iter_mut().find(|(known, _)| known == name);
        match known {
            Some((_, writer)) => &mut writer.pending,
            None if self.shared.as_ref() == Some(name) => &mut self.dropped,
            None => &mut self.stray,
        }
    }
}

/// Rows whose keys are learned before they are written, so that a dictionary is sorted: as many as this at most ...
const LEARNED_ROWS_MAX: usize = 2 << 20;
/// ... and at least, ...
const LEARNED_ROWS_MIN: usize = 64 << 10;
/// ... with about this much memory for all columns, of which a row takes eight bytes, ...
const LEARNED_BYTES: usize = 64 << 20;
/// ... besides the values of the dictionaries that the rows come with: this much for a column.
const LEARNED_VALUES_BYTES: usize = 8 << 20;

/// How many rows each of this many columns with dictionaries may keep.
pub(super) fn learned_rows(dictionaries: usize) -> usize {
    (LEARNED_BYTES / 8 / dictionaries.max(1)).clamp(LEARNED_ROWS_MIN, LEARNED_ROWS_MAX)
}

/// Rows that were learned and wait for the other keys of their dictionary.
#[derive(Debug, Default)]
struct Held {
    /// Values of a piece, and whether it opens a granule.
    pieces: Vec<(ArrayRef, bool)>,
    rows: usize,
    /// None are held if this is 0.
    rows_max: usize,
    /// Values that the pieces refer to: where the last ones are, and bytes of all.
    values: usize,
    values_bytes: usize,
}

impl Held {
    fn push(&mut self, piece: ArrayRef, opens: bool) {
        self.rows += piece.len();
        // Neighbouring pieces are often cut out of one batch.
        let values = match piece.as_any_dictionary_opt() {
            Some(dictionary) => dictionary.values(),
            None => &piece,
        };
        let place = values.to_data().buffers().last().map_or(0, |buffer| buffer.as_ptr().addr());
        if place == 0 || place != self.values {
            self.values_bytes += values.get_array_memory_size();
            self.values = place;
        }
        self.pieces.push((piece, opens));
    }

    fn is_full(&self) -> bool {
        self.rows >= self.rows_max || self.values_bytes >= LEARNED_VALUES_BYTES
    }

    /// What was held.
    fn take(&mut self) -> Vec<(ArrayRef, bool)> {
        (self.rows, self.values_bytes, self.values) = (0, 0, 0);
        std::mem::take(&mut self.pieces)
    }
}

/// A column being written.
#[derive(Debug)]
pub(crate) struct ColumnEncoder {
    name: String,
    writer: ColumnWriter,
    sinks: ColumnSinks,
    held: Held,
    started: bool,
}

impl ColumnEncoder {
    /// `owners` knows the streams that other columns write already; those of this column are added. With the layout comes
    /// how many rows are learned at once, where the codec is chosen and so the order of a dictionary's keys is, too.
    pub(crate) fn new(
        (storage, directory): (&Arc<dyn Storage>, &Path),
        column: &Column,
        codec: &CodecSpec,
        (layout, learned): (&Layout, usize),
        owners: &mut HashMap<StreamName, String>,
    ) -> Result<Self, PartError> {
        let Column { name, data_type } = column;
        // The first column of a Nested writes the sizes of all.
        let shared = shared_sizes(name, data_type).filter(|sizes| owners.contains_key(sizes));
        let mut written = Vec::new();
        for stream in streams(name, data_type, layout) {
            if shared.as_ref() == Some(&stream.name) {
                continue;
            }
            if let Some(owner) = owners.insert(stream.name.clone(), name.clone()) {
                let reason = format!("its file {:?} is that of column `{owner}`", stream.name.0);
                return Err(PartError::value(Place::column(name), reason));
            }
            let encoder = encoder(name, codec, &stream)?;
            let writer = StreamWriter::new(storage, directory, &stream.name, name, encoder);
            written.push((stream.name, writer));
        }
        let writer = ColumnWriter::with_layout(name, data_type, layout)?;
        let held = Held { rows_max: if codec.is_auto() { learned } else { 0 }, ..Held::default() };
        let (dropped, stray) = (Vec::new(), Vec::new());
        let sinks = ColumnSinks { streams: written, shared, dropped, stray };
        Ok(Self { name: name.clone(), writer, sinks, held, started: false })
    }

    /// Rows so far that have the default value, of a sparse column.
    pub(crate) fn defaults(&self) -> u64 {
        self.writer.defaults()
    }

    /// Appends the pieces of a batch.
    pub(crate) fn write(&mut self, values: &ArrayRef, pieces: &[Piece]) -> Result<(), PartError> {
        if !self.started {
            self.writer.prefix(&mut self.sinks)?;
            self.started = true;
        }
        for piece in pieces {
            let slice = if piece.start == 0 && piece.rows == values.len() {
                Arc::clone(values)
            } else {
                values.slice(piece.start, piece.rows)
            };
            if self.held.rows_max > 0 && self.writer.can_learn() {
                self.hold(slice, piece.opens)?;
            } else {
                self.put(&slice, piece.opens)?;
            }
        }
        Ok(())
    }

    /// Learns the keys of a piece and keeps it; writes all that are kept when the dictionary is full, or there are many.
    fn hold(&mut self, values: ArrayRef, opens: bool) -> Result<(), PartError> {
        let is_full = self.writer.learn(&values)?;
        self.held.push(values, opens);
        if is_full || self.held.is_full() { self.release() } else { Ok(()) }
    }

    fn release(&mut self) -> Result<(), PartError> {
        let pieces = self.held.take();
        if pieces.is_empty() {
            return Ok(());
        }
        self.writer.sort_keys();
        for (values, opens) in pieces {
            self.put(&values, opens)?;
        }
        self.writer.settle(&mut self.sinks);
        self.cut()
    }

    fn put(&mut self, values: &ArrayRef, opens: bool) -> Result<(), PartError> {
        if opens {
            for (_, stream) in &mut self.sinks.streams {
                stream.begin_granule()?;
            }
        }
        self.writer.granule(values, &mut self.sinks)?;
        self.cut()
    }

    /// Closes the blocks that are full.
    fn cut(&mut self) -> Result<(), PartError> {
        for (_, stream) in &mut self.sinks.streams {
            stream.cut()?;
        }
        self.sinks.dropped.clear();
        if self.sinks.stray.is_empty() {
            return Ok(());
        }
        let place = Place::column(&self.name);
        Err(PartError::value(place, "the column's writer used a stream that it did not announce"))
    }

    /// Closes all streams, with rows and a final mark if `rows` of the granules are given; the sums of the files.
    pub(crate) fn finish(
        mut self,
        storage: &Arc<dyn Storage>,
        directory: &Path,
        extension: &str,
        rows: Option<&[u64]>,
    ) -> Result<Vec<(String, FileSum)>, PartError> {
        if self.started {
            self.release()?;
            self.writer.finish(&mut self.sinks)?;
            self.cut()?;
        }
        let mut files = Vec::new();
        for (_, stream) in self.sinks.streams {
            files.extend(stream.finish(storage, directory, extension, rows)?);
        }
        Ok(files)
    }
}
