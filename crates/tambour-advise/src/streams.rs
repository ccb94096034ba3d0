//! A column as the bytes of its streams.

use crate::{Sample, Version};
use arrow_array::{Array, ArrayRef};
use tambour_codec::codec::Element;
use tambour_part::column::{
    ColumnWriter, Layout, Sinks, StreamKind, StreamName, can_be_sparse, streams,
};
use tambour_part::types::Column;
use tambour_part::write::{SPARSE_RATIO_DEFAULT, SPARSE_SINCE, StringLayout};
use tambour_table::TableError;

/// Rows of a granule.
const GRANULE_ROWS: usize = 8192;
/// The server's settings `min_compress_block_size` and `max_compress_block_size`.
const SERVER_BLOCK_MIN: usize = 64 << 10;
const SERVER_BLOCK_MAX: usize = 1 << 20;

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
        let streams = Streams::of(column, &self.arrays(index), Version::NEWEST)?;
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
    rows: usize,
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
    pub(super) fn of(
        column: &Column,
        arrays: &[ArrayRef],
        server: Version,
    ) -> Result<Self, TableError> {
        let writes = |(major, minor)| server >= Version::new(major, minor);
        let layout = Layout {
            string_sizes: writes(StringLayout::Sized.since()),
            string_sizes_nested: writes(StringLayout::SizedInside.since()),
            ..Layout::default()
        };
        if writes(SPARSE_SINCE) && can_be_sparse(&column.data_type) {
            let layout = Layout { sparse: true, ..layout.clone() };
            let (sparse, defaults) = Self::write(column, arrays, &layout)?;
            if defaults as f64 > sparse.rows as f64 * SPARSE_RATIO_DEFAULT {
                return Ok(sparse);
            }
        }
        Ok(Self::write(column, arrays, &layout)?.0)
    }

    /// The streams in a layout, and how many values are the default if it is sparse.
    fn write(
        column: &Column,
        arrays: &[ArrayRef],
        layout: &Layout,
    ) -> Result<(Self, u64), TableError> {
        let Column { name, data_type } = column;
        let wrong = |cause| TableError::Type { column: name.clone(), cause };
        let described = streams(name, data_type, layout).into_iter();
        let empty = described.map(|stream| StreamBytes {
            name: stream.name,
            kind: stream.kind,
            element: stream.element,
            bytes: Vec::new(),
        });
        let rows = arrays.iter().map(Array::len).sum();
        let mut all = Self { column: name.clone(), all: empty.collect(), stray: Vec::new(), rows };
        let mut writer = ColumnWriter::with_layout(name, data_type, layout).map_err(wrong)?;
        writer.prefix(&mut all).map_err(wrong)?;
        for array in arrays {
            for start in (0..array.len()).step_by(GRANULE_ROWS) {
                let granule = array.slice(start, GRANULE_ROWS.min(array.len() - start));
                writer.granule(&granule, &mut all).map_err(wrong)?;
            }
        }
        writer.finish(&mut all).map_err(wrong)?;
        Ok((all, writer.defaults()))
    }

    /// Bytes of a block of a stream as a server cuts it: with the first granule that fills one, and where its buffer is full.
    pub(super) fn block_bytes(&self, stream: &StreamBytes) -> usize {
        let granule = stream.bytes.len() * GRANULE_ROWS / self.rows.max(1);
        // Arrays have more values in one granule than in the next, and whole ones in each.
        let width = usize::from(stream.element.width.max(1));
        let granule = (granule / width * width).clamp(width, SERVER_BLOCK_MAX);
        (SERVER_BLOCK_MIN.div_ceil(granule) * granule).min(SERVER_BLOCK_MAX)
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
