//! Laws of all types, and ClickHouse's own bytes.
#![expect(clippy::cast_possible_truncation, reason = "random numbers of any width will do")]

mod clickhouse;
mod generate;
mod hostile;
mod refusals;
mod round_trip;

use super::memory::{MemorySinks, MemorySource};
use super::{ColumnReader, ColumnWriter, Layout, Sinks, Source, Sources, StreamName, streams};
use crate::PartError;
use crate::types::{DataType, Strings};
use arrow_array::{Array, ArrayRef};
use std::collections::HashMap;
use std::ops::Range;

pub(super) fn name(text: &str) -> StreamName {
    StreamName(text.to_owned())
}

pub(super) fn data_type(text: &str) -> DataType {
    text.parse().unwrap()
}

/// A column of a wide part in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    streams: HashMap<StreamName, Vec<u8>>,
    /// For each stream where each granule starts, and where the last one ends.
    marks: HashMap<StreamName, Vec<usize>>,
    rows: Vec<usize>,
}

impl Written {
    pub(super) fn bytes(&self, stream: &str) -> &[u8] {
        &self.streams[&name(stream)]
    }
}

/// Writes an array in granules, as a part does.
pub(super) fn write(
    data_type: &DataType,
    array: &ArrayRef,
    granule: usize,
) -> Result<Written, PartError> {
    let mut writer = ColumnWriter::new("c", data_type)?;
    let mut sinks = MemorySinks::default();
    let names: Vec<StreamName> =
        streams("c", data_type, &Layout::default()).into_iter().map(|stream| stream.name).collect();
    for name in &names {
        sinks.stream(name);
    }
    writer.prefix(&mut sinks)?;
    let mut written = Written::default();
    let mut start = 0;
    while start < array.len() {
        let rows = granule.min(array.len() - start);
        for name in &names {
            written.marks.entry(name.clone()).or_default().push(sinks.streams[name].len());
        }
        writer.granule(&array.slice(start, rows), &mut sinks)?;
        written.rows.push(rows);
        start += rows;
    }
    writer.finish(&mut sinks)?;
    assert_eq!(sinks.streams.len(), names.len(), "only announced streams are written");
    for name in &names {
        written.marks.entry(name.clone()).or_default().push(sinks.streams[name].len());
    }
    written.streams = sinks.streams;
    Ok(written)
}

/// Streams cut into blocks of the given sizes, with marks: positioned as a part positions them.
#[derive(Debug)]
pub(super) struct MarkedSources<'a> {
    written: &'a Written,
    cuts: Vec<usize>,
    open: HashMap<StreamName, MemorySource>,
    granule: usize,
    dictionaries: Vec<StreamName>,
    with_marks: bool,
}

impl<'a> MarkedSources<'a> {
    pub(super) fn new(written: &'a Written, cuts: &[usize], with_marks: bool) -> Self {
        Self {
            written,
            cuts: cuts.to_vec(),
            open: HashMap::new(),
            granule: 0,
            dictionaries: Vec::new(),
            with_marks,
        }
    }

    pub(super) fn jump(&mut self, granule: usize) {
        self.open.clear();
        self.enter(granule);
    }

    pub(super) fn enter(&mut self, granule: usize) {
        self.granule = granule;
        self.dictionaries.clear();
    }

    fn at_mark(&self, name: &StreamName) -> MemorySource {
        let bytes = &self.written.streams[name];
        let mark = self.written.marks[name][self.granule];
        let mut source = MemorySource::cut(bytes, &self.cuts);
        source.read_exact(&mut vec![0; mark]).unwrap();
        source
    }

    /// All streams that were read stand at the start of a granule.
    fn check(&self, granule: usize) {
        for (name, source) in &self.open {
            if !name.0.contains(".dict") {
                let behind = self.written.streams[name].len() - self.written.marks[name][granule];
                assert_eq!(source.remaining(), behind, "{name:?} before granule {granule}");
            }
        }
    }
}

impl Sources for MarkedSources<'_> {
    fn stream(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        if !self.open.contains_key(name) {
            let source = self.at_mark(name);
            self.open.insert(name.clone(), source);
        }
        Ok(self.open.get_mut(name).unwrap())
    }

    fn dictionary(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        if !self.dictionaries.contains(name) {
            self.dictionaries.push(name.clone());
            let source = self.at_mark(name);
            self.open.insert(name.clone(), source);
        }
        self.stream(name)
    }

    fn dictionary_mark(&mut self, name: &StreamName) -> Option<(u64, u64)> {
        self.with_marks.then(|| (0, self.written.marks[name][self.granule] as u64))
    }
}

/// Reads granules the way a part reads them: several at once where the column allows it.
pub(super) fn read(
    written: &Written,
    data_type: &DataType,
    strings: Strings,
    cuts: &[usize],
    granules: Range<usize>,
) -> Result<ArrayRef, PartError> {
    let mut sources = MarkedSources::new(written, cuts, true);
    let mut reader = ColumnReader::new("c", data_type, &Layout::default(), strings)?;
    sources.jump(granules.start);
    read_on(&mut reader, &mut sources, granules)
}

pub(super) fn read_on(
    reader: &mut ColumnReader,
    sources: &mut MarkedSources<'_>,
    granules: Range<usize>,
) -> Result<ArrayRef, PartError> {
    let rows = &sources.written.rows[granules.clone()];
    if !reader.by_granule() {
        let array = reader.read(sources, rows)?;
        sources.check(granules.end);
        return Ok(array);
    }
    let mut pieces = Vec::new();
    for (granule, rows) in granules.zip(rows) {
        sources.enter(granule);
        pieces.push(reader.read(sources, &[*rows])?);
        sources.check(granule + 1);
    }
    if pieces.is_empty() {
        pieces.push(reader.read(sources, &[])?);
    }
    super::concat("c", &pieces)
}
