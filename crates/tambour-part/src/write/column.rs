//! Encodes one column of a part into its streams.

use super::recode::encoder;
use crate::column::{ColumnWriter, Layout, Sinks, StreamName, shared_sizes, streams};
use crate::manifest::checksums::FileSum;
use crate::storage::Storage;
use crate::stream::write::StreamWriter;
use crate::types::Column;
use crate::{PartError, Place};
use arrow_array::ArrayRef;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use tambour_codec::spec::CodecSpec;

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

/// A column being written.
#[derive(Debug)]
pub(crate) struct ColumnEncoder {
    name: String,
    writer: ColumnWriter,
    sinks: ColumnSinks,
    started: bool,
}

impl ColumnEncoder {
    /// `owners` knows the streams that other columns write already; those of this column are added.
    pub(crate) fn new(
        storage: &Arc<dyn Storage>,
        directory: &Path,
        column: &Column,
        codec: &CodecSpec,
        owners: &mut HashMap<StreamName, String>,
    ) -> Result<Self, PartError> {
        let Column { name, data_type } = column;
        // The first column of a Nested writes the sizes of all.
        let shared = shared_sizes(name, data_type).filter(|sizes| owners.contains_key(sizes));
        let mut written = Vec::new();
        for stream in streams(name, data_type, &Layout::default()) {
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
        let writer = ColumnWriter::new(name, data_type)?;
        let (dropped, stray) = (Vec::new(), Vec::new());
        let sinks = ColumnSinks { streams: written, shared, dropped, stray };
        Ok(Self { name: name.clone(), writer, sinks, started: false })
    }

    /// Appends the pieces of a batch.
    pub(crate) fn write(&mut self, values: &ArrayRef, pieces: &[Piece]) -> Result<(), PartError> {
        if !self.started {
            self.writer.prefix(&mut self.sinks)?;
            self.started = true;
        }
        for piece in pieces {
            if piece.opens {
                for (_, stream) in &mut self.sinks.streams {
                    stream.begin_granule()?;
                }
            }
            if piece.start == 0 && piece.rows == values.len() {
                self.writer.granule(values, &mut self.sinks)?;
            } else {
                let slice = values.slice(piece.start, piece.rows);
                self.writer.granule(&slice, &mut self.sinks)?;
            }
            self.cut()?;
        }
        Ok(())
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
