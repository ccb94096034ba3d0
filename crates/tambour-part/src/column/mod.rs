//! Columns ⇄ streams: how the values of each type are laid out (`docs/format/part-columns.md`).
//!
//! A column of a part is one or more streams. This module turns arrays into the bytes of streams and back, granule by
//! granule; where the bytes come from and go to (blocks, marks, wide or compact files) is behind [`Sources`] and [`Sinks`].
//!
//! One file per type family. `tree.rs` walks a type and puts the families together; all types of a constant width are
//! one family with a small file per conversion, listed in `fixed.rs`. To add a type: a file and its two lines there.

mod array;
mod boolean;
mod bulk;
mod bytes;
mod coerce;
mod date;
mod decimal;
mod enumeration;
mod fault;
mod fixed;
mod gathered;
mod intern;
mod join;
mod low_cardinality;
mod low_cardinality_write;
mod map;
mod memory;
mod nested;
mod nullable;
mod number;
mod opaque;
mod path;
mod single;
mod sparse;
mod sparse_write;
mod string;
mod string_write;
#[cfg(test)]
mod tests;
mod tree;
mod tuple;
mod wide;

use crate::types::{DataType, Strings};
use crate::{PartError, Place};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use fault::{Fault, Way};
use tree::{Context, Decode, Encode, Nulls};

pub use bulk::read_bulk;
pub use join::concat;
pub use nested::{check_shared_sizes, shared_sizes};
pub use single::{read_single, write_single};

#[cfg(not(target_endian = "little"))]
compile_error!("parts are little-endian, and values are copied as they are");

/// The u64 at the start of each dictionary stream of a wide part, and of each dictionary prefix of a compact one.
pub const DICTIONARY_VERSION: u64 = 1;

/// Identifies a stream of a column: the whole file stem, escaped column name included (`v`, `v.null`, `v.size0`,
/// `t%2Ea.dict`). It is the whole stem because Nested columns share their sizes: `nest.x` has `nest.size0` and `nest%2Ex`.
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
#[expect(clippy::struct_excessive_bools, reason = "they are independent entries of a file")]
pub struct Layout {
    /// The column (or this tuple element) is sparse.
    pub sparse: bool,
    /// Layouts of the elements of a Tuple, in order; empty if all are default. Only their `sparse` and `elements` count.
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

/// The streams of a column in the order of writing (state prefixes first, then depth-first). In a compact part a
/// LowCardinality has three, as `columns_substreams.txt` lists them: `.dict_prefix`, `.dict` (empty), and the indexes.
pub fn streams(column: &str, data_type: &DataType, layout: &Layout) -> Vec<Stream> {
    tree::streams(column, data_type, layout)
}

/// True of types whose columns are written sparse where most values are the default: those that ClickHouse does it for, but for
/// Tuples, Nullable, and types whose default is not all zeros.
pub fn can_be_sparse(data_type: &DataType) -> bool {
    *data_type == DataType::String || tree::sparse_width(data_type).is_some()
}

/// A positioned source of one stream's decompressed bytes.
pub trait Source {
    /// Fills `target`; whole blocks are decompressed straight into it. An early end is an error.
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
    /// The source of a stream, positioned where the last read left it (or at the granule's mark after a jump).
    fn stream(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError>;
    /// The source of a LowCardinality dictionary (wide parts only). When it is first asked for in a granule it is
    /// positioned at the granule's mark; further calls find it where the last read left it.
    fn dictionary(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError>;
    /// The mark of the current granule in the stream of a LowCardinality dictionary. A column that still has the
    /// dictionary of that mark does not read it again after a jump; `None`: it always does.
    fn dictionary_mark(&mut self, _name: &StreamName) -> Option<(u64, u64)> {
        None
    }
    /// Notes that the first record of a granule that refers to a dictionary refers to the one that is kept. True if the source stands before it,
    /// as the granule's mark says; false if it was left where the last read ended.
    fn keep_dictionary(&mut self, _name: &StreamName) -> bool {
        true
    }
}

/// Reads one column; keeps what must be kept between granules (dictionaries).
#[derive(Debug)]
pub struct ColumnReader {
    column: String,
    compact: bool,
    by_granule: bool,
    root: Box<dyn Decode>,
}

impl ColumnReader {
    /// A reader for a column of a part with this layout.
    pub fn new(
        column: &str,
        data_type: &DataType,
        layout: &Layout,
        strings: Strings,
    ) -> Result<Self, PartError> {
        let root = tree::decoder(column, data_type, &Context::new(layout, strings))
            .map_err(|fault| fault.into_error(column, 0, Way::Read))?;
        let by_granule = layout.compact || tree::has_dictionaries(data_type);
        Ok(Self { column: column.to_owned(), compact: layout.compact, by_granule, root })
    }

    /// Reads the next granules, which follow each other in the part: `rows[i]` rows each. Sources are positioned at the
    /// first of them; the others follow in each stream, so that nothing has to be positioned again.
    ///
    /// Rows in errors count from the first row of this read.
    ///
    /// # Panics
    /// If several granules are asked for where [`ColumnReader::by_granule`] says one at a time.
    pub fn read(
        &mut self,
        sources: &mut dyn Sources,
        rows: &[usize],
    ) -> Result<ArrayRef, PartError> {
        assert!(!self.by_granule || rows.len() <= 1, "this column is read by granule");
        self.read_inner(sources, rows).map_err(|fault| fault.into_error(&self.column, 0, Way::Read))
    }

    fn read_inner(&mut self, sources: &mut dyn Sources, rows: &[usize]) -> Result<ArrayRef, Fault> {
        if self.compact && !rows.is_empty() {
            self.root.prefix(sources)?;
        }
        let total = tree::sum(rows)?;
        let array = self.root.read(sources, rows, None)?;
        assert_eq!(array.len(), total, "a column reads as many rows as it was asked for");
        Ok(array)
    }

    /// True if granules must be read one at a time: in compact parts, where other columns lie between them, and with
    /// LowCardinality, where each granule has its mark in the stream of dictionaries.
    pub fn by_granule(&self) -> bool {
        self.by_granule
    }

    /// From now on texts have their lengths and any bytes; the stream that is not read then, if there are such texts.
    pub fn only_lengths(&mut self) -> Option<StreamName> {
        self.root.only_lengths()
    }

    /// To be called after a jump to another granule: what was kept holds no longer.
    pub fn seek(&mut self) {
        self.root.seek();
    }
}

/// Takes the bytes of one granule for each stream.
pub trait Sinks {
    /// Where bytes of a stream are appended; the caller cuts them into blocks.
    fn stream(&mut self, name: &StreamName) -> &mut Vec<u8>;
}

/// Writes one column of a wide part; collects LowCardinality keys over the whole part.
#[derive(Debug)]
pub struct ColumnWriter {
    column: String,
    data_type: DataType,
    root: Box<dyn Encode>,
    rows: u64,
    /// Rows that were learned and not written yet.
    learned: u64,
}

impl ColumnWriter {
    /// A writer; strings are written inline (layout version 0).
    pub fn new(column: &str, data_type: &DataType) -> Result<Self, PartError> {
        Self::with_layout(column, data_type, &Layout::default())
    }

    /// A writer for a layout, of which the sizes of strings and whether the column itself is sparse count; it must be of a type that
    /// [`can_be_sparse`]. Nothing is written compact.
    pub fn with_layout(
        column: &str,
        data_type: &DataType,
        layout: &Layout,
    ) -> Result<Self, PartError> {
        let root = tree::encoder(column, data_type, &Context::new(layout, Strings::default()))
            .map_err(|fault| fault.into_error(column, 0, Way::Write))?;
        let (column, data_type) = (column.to_owned(), data_type.clone());
        Ok(Self { column, data_type, root, rows: 0, learned: 0 })
    }

    /// Rows so far that have the default value, of a sparse column.
    pub fn defaults(&self) -> u64 {
        self.root.defaults()
    }

    /// True if the column has a dictionary to which no record refers yet: keys that are learned now can be sorted.
    pub fn can_learn(&mut self) -> bool {
        self.root.dictionary().is_some_and(|dictionary| dictionary.is_fresh())
    }

    /// Takes the keys of rows that come next; true if the dictionary takes no more of them. When enough is learned,
    /// [`ColumnWriter::sort_keys`], all the rows that were learned, and [`ColumnWriter::settle`] have to follow.
    pub fn learn(&mut self, values: &ArrayRef) -> Result<bool, PartError> {
        self.check_type(values)?;
        let at = self.rows + self.learned;
        let Some(dictionary) = self.root.dictionary() else { return Ok(true) };
        let is_full = dictionary
            .learn(values)
            .map_err(|fault| fault.into_error(&self.column, at, Way::Write))?;
        self.learned += values.len() as u64;
        Ok(is_full)
    }

    /// Sorts the keys that were learned.
    pub fn sort_keys(&mut self) {
        if let Some(dictionary) = self.root.dictionary() {
            dictionary.sort();
        }
    }

    /// Closes the dictionary if it is full, now that all rows are written that were learned.
    pub fn settle(&mut self, sinks: &mut dyn Sinks) {
        if let Some(dictionary) = self.root.dictionary() {
            dictionary.settle(sinks);
        }
    }

    fn check_type(&self, values: &ArrayRef) -> Result<(), PartError> {
        if self.data_type.accepts(values.data_type()) {
            return Ok(());
        }
        let reason = format!("Arrow type {} does not fit {}", values.data_type(), self.data_type);
        Err(PartError::value(Place::column(&self.column), reason))
    }

    /// Appends the state prefixes; before the first granule's marks.
    pub fn prefix(&mut self, sinks: &mut dyn Sinks) -> Result<(), PartError> {
        self.root.prefix(sinks);
        Ok(())
    }

    /// Appends one granule (a slice of an array of any Arrow type that fits, see [`DataType::accepts`]). After an error
    /// the sinks hold a part of the granule: the column cannot be completed.
    ///
    /// Rows in errors count from the first row ever given to this writer.
    pub fn granule(&mut self, values: &ArrayRef, sinks: &mut dyn Sinks) -> Result<(), PartError> {
        self.check_type(values)?;
        self.root
            .write(values, Nulls::Refused, sinks)
            .map_err(|fault| fault.into_error(&self.column, self.rows, Way::Write))?;
        self.rows += values.len() as u64;
        self.learned = self.learned.saturating_sub(values.len() as u64);
        Ok(())
    }

    /// Appends what comes at the end of the part (LowCardinality dictionaries).
    pub fn finish(&mut self, sinks: &mut dyn Sinks) -> Result<(), PartError> {
        self.root.finish(sinks);
        Ok(())
    }
}
