//! Columns ⇄ streams: how the values of each type are laid out (format document in docs/format/part.md).
//!
//! A column of a part is one or more streams. This module turns arrays into the bytes of streams and back, granule by
//! granule; where the bytes come from and go to (blocks, marks, wide or compact files) is behind [`Sources`] and [`Sinks`].

use crate::PartError;
use crate::types::{DataType, Strings};
use arrow_array::ArrayRef;
use arrow_buffer::Buffer;

/// Identifies a stream of a column: the file stem behind the escaped column name, e.g. ``, `.null`, `.size0`, `%2Ea.dict`;
/// and the whole stem, since Nested columns share their `.size0` (named after the part before the dot).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StreamName(pub String);

/// What a stream holds; decides which codec it gets (format document §3.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Values: the whole chain.
    Values,
    /// Null maps, sizes, indexes, sparse offsets: generic codecs only.
    Helper,
    /// Keys of a LowCardinality dictionary.
    Keys,
}

/// One stream of a column, in the order of writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The unhashed file stem, column name included (escaped).
    pub name: StreamName,
    /// What it holds.
    pub kind: StreamKind,
    /// What its codec learns.
    pub element: tambour_codec::codec::Element,
}

/// How a part laid a column out: from `serialization.json`, and whether the part is compact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The column (or this tuple element) is sparse.
    pub sparse: bool,
    /// Layouts of the elements of a Tuple, in order; empty if all are default.
    pub elements: Vec<Layout>,
    /// Top-level strings have a size stream.
    pub string_sizes: bool,
    /// Strings inside Nullable, Array, Map have one too.
    pub string_sizes_nested: bool,
    /// Nullable may be sparse.
    pub nullable_sparse: bool,
    /// Compact part: every granule stands alone, state prefixes are repeated in each.
    pub compact: bool,
}

/// The streams of a column in the order of writing (state prefixes first, then depth-first).
pub fn streams(_column: &str, _data_type: &DataType, _layout: &Layout) -> Vec<Stream> {
    todo!()
}

/// A positioned source of one stream's decompressed bytes.
pub trait Source {
    /// Fills `target`; whole blocks are decompressed straight into it.
    fn read_exact(&mut self, target: &mut [u8]) -> Result<(), PartError>;
    /// The rest of the current block (the next one is loaded if it is used up) with the position in it;
    /// `None` at the end of the stream. Shared, so that views may keep pointing into it.
    fn block(&mut self) -> Result<Option<(&Buffer, usize)>, PartError>;
    /// Moves on by `count` bytes within the current block.
    fn consume(&mut self, count: usize);
    /// An error at the current position.
    fn corrupt(&self, reason: &str) -> PartError;
}

/// The streams of one column in a granule, by name.
pub trait Sources {
    /// The source of a stream, positioned where the last read of this granule left it (or at the granule's mark).
    fn stream(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError>;
    /// The source of a LowCardinality dictionary, positioned at the dictionary that the current granule needs
    /// (wide parts: behind the u64 version, at the granule's mark).
    fn dictionary(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError>;
}

/// Reads one column; keeps what must be kept between granules (dictionaries).
#[derive(Debug)]
pub struct ColumnReader {}

impl ColumnReader {
    /// A reader for a column of a part with this layout.
    pub fn new(
        _column: &str,
        _data_type: &DataType,
        _layout: &Layout,
        _strings: Strings,
    ) -> Result<Self, PartError> {
        todo!()
    }
    /// Reads the next granules, which follow each other in the part: `rows[i]` rows each. Sources are positioned at the
    /// first of them; `before_granule` is called before each further granule when the layout needs it.
    pub fn read(
        &mut self,
        _sources: &mut dyn Sources,
        _rows: &[usize],
    ) -> Result<ArrayRef, PartError> {
        todo!()
    }
    /// True if granules must be read one at a time (compact parts, LowCardinality, sparse).
    pub fn by_granule(&self) -> bool {
        todo!()
    }
    /// Forgets what was kept, after a jump to another granule.
    pub fn seek(&mut self) {
        todo!()
    }
}

/// Takes the bytes of one granule for each stream.
pub trait Sinks {
    /// Where bytes of a stream are appended; the caller cuts them into blocks.
    fn stream(&mut self, name: &StreamName) -> &mut Vec<u8>;
}

/// Writes one column of a wide part; collects LowCardinality keys over the whole part.
#[derive(Debug)]
pub struct ColumnWriter {}

impl ColumnWriter {
    /// A writer; strings are written inline (layout version 0).
    pub fn new(_column: &str, _data_type: &DataType) -> Result<Self, PartError> {
        todo!()
    }
    /// Appends the state prefixes; before the first granule's marks.
    pub fn prefix(&mut self, _sinks: &mut dyn Sinks) -> Result<(), PartError> {
        todo!()
    }
    /// Appends one granule (a slice of an array of any Arrow type that fits, see [`crate::types`]).
    pub fn granule(&mut self, _values: &ArrayRef, _sinks: &mut dyn Sinks) -> Result<(), PartError> {
        todo!()
    }
    /// Appends what comes at the end of the part (LowCardinality dictionaries).
    pub fn finish(&mut self, _sinks: &mut dyn Sinks) -> Result<(), PartError> {
        todo!()
    }
}

/// Appends one value in the single value binary form of primary.idx, partition.dat and minmax files (format document §7).
pub fn write_single(
    _values: &ArrayRef,
    _row: usize,
    _data_type: &DataType,
    _target: &mut Vec<u8>,
) -> Result<(), PartError> {
    todo!()
}

/// Reads `rows` x `types` values in single value form, row after row, into one array per type; all of `source` must be used.
pub fn read_single(
    _source: &[u8],
    _types: &[DataType],
    _rows: usize,
    _strings: Strings,
) -> Result<Vec<ArrayRef>, PartError> {
    todo!()
}
