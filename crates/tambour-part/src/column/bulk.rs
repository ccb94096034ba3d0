//! Values of a column in bulk form: all its streams one after the other in the same bytes, as skip indexes hold them.

use super::memory::MemorySource;
use super::{ColumnReader, Layout, Source, Sources, StreamName};
use crate::types::{DataType, Strings};
use crate::{PartError, Place};
use arrow_array::ArrayRef;

/// What errors call the column of such values.
const COLUMN: &str = "index";

/// One source for all streams.
struct Single(MemorySource);

impl Sources for Single {
    fn stream(&mut self, _name: &StreamName) -> Result<&mut dyn Source, PartError> {
        Ok(&mut self.0)
    }
    fn dictionary(&mut self, _name: &StreamName) -> Result<&mut dyn Source, PartError> {
        Ok(&mut self.0)
    }
}

/// Reads `rows` values of each type, type after type; all of `source` must be used. Strings lie inline, each LowCardinality
/// brings its keys along.
pub fn read_bulk(
    source: &[u8],
    types: &[DataType],
    rows: usize,
    strings: Strings,
) -> Result<Vec<ArrayRef>, PartError> {
    // Every value takes a byte at least, that of a LowCardinality in its index.
    if rows > source.len() {
        let got = rows as u64;
        return Err(PartError::limit(Place::default(), "values", source.len() as u64, got));
    }
    let layout = Layout { compact: true, ..Layout::default() };
    let mut single = Single(MemorySource::new(source));
    let mut arrays = Vec::with_capacity(types.len());
    for data_type in types {
        let mut reader = ColumnReader::new(COLUMN, data_type, &layout, strings)?;
        arrays.push(reader.read(&mut single, &[rows])?);
    }
    match single.0.block()? {
        None => Ok(arrays),
        Some(_) => Err(single.0.corrupt("there are bytes after the last value")),
    }
}
