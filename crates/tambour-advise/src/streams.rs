//! A column as the bytes of its streams.

use crate::Sample;
use arrow_array::ArrayRef;
use tambour_codec::codec::Element;
use tambour_part::column::{ColumnWriter, Layout, Sinks, StreamKind, StreamName, streams};
use tambour_part::types::Column;
use tambour_table::TableError;

/// Rows of a granule.
const GRANULE_ROWS: usize = 8192;

/// The bytes of one stream.
#[derive(Debug)]
pub(super) struct StreamBytes {
    name: StreamName,
    pub(super) kind: StreamKind,
    pub(super) element: Element,
    pub(super) bytes: Vec<u8>,
}

/// A stream of a column, for who measures it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleStream {
    /// Whole chains are for it; other streams (sizes, null maps) take the general-purpose codecs of one.
    pub holds_values: bool,
    /// What its bytes are.
    pub element: Element,
    /// The bytes, as a part has them before compression.
    pub bytes: Vec<u8>,
}

impl Sample {
    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The streams of a column, by its number.
    pub fn streams(&self, index: usize) -> Result<Vec<SampleStream>, TableError> {
        let Some(column) = self.columns.get(index) else { return Ok(Vec::new()) };
        let streams = Streams::of(column, &self.arrays(index))?;
        let stream = |stream: StreamBytes| SampleStream {
            holds_values: stream.kind == StreamKind::Values,
            element: stream.element,
            bytes: stream.bytes,
        };
        Ok(streams.all.into_iter().map(stream).collect())
    }
}

/// All streams of a column.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) column: String,
    pub(super) all: Vec<StreamBytes>,
    stray: Vec<u8>,
}

impl Sinks for Streams {
    fn stream(&mut self, name: &StreamName) -> &mut Vec<u8> {
        match self.all.iter_mut().find(|stream| stream.name == *name) {
            Some(stream) => &mut stream.bytes,
            None => &mut self.stray,
        }
    }
}

impl Streams {
    /// Writes values as a part would hold them.
    pub(super) fn of(column: &Column, arrays: &[ArrayRef]) -> Result<Self, TableError> {
        let Column { name, data_type } = column;
        let wrong = |cause| TableError::Type { column: name.clone(), cause };
        let described = streams(name, data_type, &Layout::default()).into_iter();
        let empty = described.map(|stream| StreamBytes {
            name: stream.name,
            kind: stream.kind,
            element: stream.element,
            bytes: Vec::new(),
        });
        let mut all = Self { column: name.clone(), all: empty.collect(), stray: Vec::new() };
        let mut writer = ColumnWriter::new(name, data_type).map_err(wrong)?;
        writer.prefix(&mut all).map_err(wrong)?;
        for array in arrays {
            for start in (0..array.len()).step_by(GRANULE_ROWS) {
                let granule = array.slice(start, GRANULE_ROWS.min(array.len() - start));
                writer.granule(&granule, &mut all).map_err(wrong)?;
            }
        }
        writer.finish(&mut all).map_err(wrong)?;
        Ok(all)
    }

    /// The streams that hold values.
    pub(super) fn values(&self) -> impl Iterator<Item = &StreamBytes> {
        self.all.iter().filter(|stream| stream.kind == StreamKind::Values)
    }

    /// What most of the values are.
    pub(super) fn element(&self) -> Element {
        let longest = self.values().max_by_key(|stream| stream.bytes.len());
        longest.map_or(Element::BYTES, |stream| stream.element)
    }

    /// Bytes of all streams.
    pub(super) fn raw_bytes(&self) -> usize {
        self.all.iter().map(|stream| stream.bytes.len()).sum()
    }
}
