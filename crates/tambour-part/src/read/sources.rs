//! Where the bytes of a column's streams come from: a file each in a wide part, places in `data.bin` in a compact one.

use crate::column::{Source, Sources, StreamKind, StreamName};
use crate::mark::{Mark, Marks};
use crate::part::{COMPACT_FILE, Part, StoredColumn};
use crate::stream::read::{Shared, StreamReader, WINDOW_BYTES_MAX};
use crate::{PartError, Place};
use std::sync::Arc;

/// A stream of a wide part.
#[derive(Debug)]
struct WideStream {
    name: StreamName,
    reader: StreamReader,
    marks: Arc<Marks>,
    /// Holds keys: read on request, not granule after granule.
    is_dictionary: bool,
    /// The dictionary of the current granule was not asked for yet.
    fresh: bool,
}

impl WideStream {
    /// Whether the next byte is the first of a granule, or none is left after the last one.
    fn is_at(&self, granule: usize, is_end: bool) -> bool {
        if is_end {
            return self.reader.is_at_end();
        }
        self.marks.mark(granule, 0).is_some_and(|mark| self.reader.is_at(mark))
    }
}

/// The streams of one column of a wide part.
#[derive(Debug)]
pub(super) struct WideSources {
    streams: Vec<WideStream>,
    granule: usize,
    granules: usize,
}

impl WideSources {
    pub(super) fn open(
        part: &Part,
        stored: &StoredColumn,
        shared: &Shared,
        window_bytes: usize,
    ) -> Result<Self, PartError> {
        let mut streams = Vec::with_capacity(stored.streams.len());
        for stream in &stored.streams {
            let stem = part.files.stem(&stream.name.0);
            let name = format!("{stem}.bin");
            let file = part.files.open(&name)?;
            let path = part.files.path_of(&name);
            let column = &stored.column.name;
            streams.push(WideStream {
                name: stream.name.clone(),
                reader: StreamReader::new(file, path, column, shared, window_bytes),
                marks: part.stream_marks(&stem)?,
                is_dictionary: stream.kind == StreamKind::Keys,
                fresh: true,
            });
        }
        Ok(Self { streams, granule: 0, granules: part.granules().len() })
    }

    /// Leaves a stream out of everything.
    pub(super) fn forget(&mut self, name: &StreamName) {
        self.streams.retain(|stream| stream.name != *name);
    }

    /// Moves all streams to a granule; they will be read up to granule `end`.
    pub(super) fn jump(&mut self, granule: usize, end: usize) -> Result<(), PartError> {
        for stream in &mut self.streams {
            if let Some(limit) = end_of_reading(&stream.marks, end) {
                stream.reader.set_limit(limit);
            } else {
                stream.reader.set_limit(u64::MAX);
            }
            if !stream.is_dictionary {
                stream.reader.seek(mark(&stream.marks, granule, 0, &stream.reader)?)?;
            }
        }
        Ok(())
    }

    /// Notes that a granule (or the first of several) is read next; streams stand there already.
    pub(super) fn enter(&mut self, granule: usize) {
        self.granule = granule;
        for stream in &mut self.streams {
            stream.fresh = true;
        }
    }

    /// Checks that reading went exactly up to the start of a granule, or to the end of the stream after the last one.
    pub(super) fn leave(&mut self, granule: usize) -> Result<(), PartError> {
        let is_last = granule >= self.granules;
        for stream in self.streams.iter_mut().filter(|stream| !stream.is_dictionary) {
            if !stream.is_at(granule, is_last) {
                stream.reader.settle()?;
            }
            if !stream.is_at(granule, is_last) {
                let reason = format!("granule {} does not end where its marks say", granule - 1);
                return Err(stream.reader.corrupt(&reason));
            }
        }
        Ok(())
    }

    fn find(&mut self, name: &StreamName) -> Result<&mut WideStream, PartError> {
        let found = self.streams.iter_mut().find(|stream| stream.name == *name);
        found.ok_or_else(|| no_stream(name))
    }
}

/// Offset that reading up to granule `end` does not go beyond: the next block after the one in which that granule starts.
fn end_of_reading(marks: &Marks, end: usize) -> Option<u64> {
    let last = marks.mark(end, 0)?;
    if last.offset == 0 {
        return Some(last.block);
    }
    marks.of_stream(0).skip(end).map(|mark| mark.block).find(|block| *block > last.block)
}

fn mark(
    marks: &Marks,
    granule: usize,
    stream: usize,
    reader: &StreamReader,
) -> Result<Mark, PartError> {
    marks.mark(granule, stream).ok_or_else(|| reader.corrupt("granule has no mark"))
}

/// A reader asks for a stream that its type does not have.
fn no_stream(name: &StreamName) -> PartError {
    PartError::malformed(Place::default(), format!("the part has no stream {:?}", name.0))
}

impl Sources for WideSources {
    fn stream(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        Ok(&mut self.find(name)?.reader)
    }

    fn dictionary(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        let granule = self.granule;
        let stream = self.find(name)?;
        if stream.fresh {
            stream.fresh = false;
            let mark = mark(&stream.marks, granule, 0, &stream.reader)?;
            stream.reader.seek(mark)?;
        }
        Ok(&mut stream.reader)
    }

    fn dictionary_mark(&mut self, name: &StreamName) -> Option<(u64, u64)> {
        let granule = self.granule;
        let mark = self.find(name).ok()?.marks.mark(granule, 0)?;
        Some((mark.block, mark.offset))
    }
}

/// The streams of a compact part: one reader that moves between the places of `data.bin`.
#[derive(Debug)]
pub(super) struct CompactSources {
    part: Arc<Part>,
    reader: StreamReader,
    granule: usize,
    /// Place of the column in columns.txt.
    column: usize,
    /// The substream that the reader stands in.
    current: Option<usize>,
    /// Where the other substreams of the column were left.
    left: Vec<Option<Mark>>,
}

impl CompactSources {
    pub(super) fn open(part: &Arc<Part>, shared: &Shared) -> Result<Self, PartError> {
        let file = part.files.open(COMPACT_FILE)?;
        let path = part.files.path_of(COMPACT_FILE);
        let reader = StreamReader::new(file, path, "", shared, WINDOW_BYTES_MAX);
        let part = Arc::clone(part);
        Ok(Self { part, reader, granule: 0, column: 0, current: None, left: Vec::new() })
    }

    /// Notes which column of which granule is read next.
    pub(super) fn enter(&mut self, stored: &StoredColumn, granule: usize) {
        self.granule = granule;
        self.column = stored.position;
        self.current = None;
        self.left.clear();
        self.reader.set_column(&stored.column.name);
    }

    /// Checks that each stream of the column that was read was read up to where the next one starts: a type that takes more bytes
    /// than the column has would go on in those of its neighbour, and one that takes fewer is not the column's.
    pub(super) fn leave(&mut self) -> Result<(), PartError> {
        let Some(current) = self.current.take() else { return Ok(()) };
        self.left.resize(self.left.len().max(current + 1), None);
        self.left[current] = Some(self.reader.position());
        for number in 0..self.left.len() {
            let Some(end) = self.left[number] else { continue };
            let start = self.start(number)?;
            let next = self.next_start(number, start);
            let is_block_end = end.offset == 0 && next.offset > 0 && next.block < end.block;
            if end != next && end != start && !is_block_end {
                let reason = format!("granule {} does not end where its marks say", self.granule);
                return Err(self.reader.corrupt(&reason));
            }
        }
        Ok(())
    }

    /// Where the first stream after this one starts that has bytes: in this granule, in the next one, or at the end of the file.
    fn next_start(&self, number: usize, start: Mark) -> Mark {
        let end = Mark { block: self.reader.file_bytes(), offset: 0 };
        let Some(compact) = self.part.compact.as_ref() else { return end };
        let base = compact.bases.get(self.column).copied().unwrap_or_default();
        let rest = (base + number + 1..compact.marks.width()).map(|at| (self.granule, at));
        let below = (0..compact.marks.width()).map(|at| (self.granule + 1, at));
        let marks = rest.chain(below).map_while(|(record, at)| compact.marks.mark(record, at));
        marks.into_iter().find(|mark| *mark != start).unwrap_or(end)
    }

    /// The number of a stream among those of the column that have marks.
    fn number(&self, name: &StreamName) -> Result<usize, PartError> {
        let compact = self.part.compact.as_ref();
        match compact.and_then(|compact| compact.substreams.as_ref()) {
            // One mark per column: its streams lie one after another and are read in that order.
            None => Ok(0),
            Some(substreams) => substreams
                .get(self.column)
                .and_then(|names| names.iter().position(|known| *known == name.0))
                .ok_or_else(|| no_stream(name)),
        }
    }

    fn start(&self, number: usize) -> Result<Mark, PartError> {
        let compact = self.part.compact.as_ref();
        let base = compact.and_then(|compact| compact.bases.get(self.column));
        compact
            .zip(base)
            .and_then(|(compact, base)| compact.marks.mark(self.granule, base + number))
            .ok_or_else(|| self.reader.corrupt("granule has no mark"))
    }
}

impl Sources for CompactSources {
    fn stream(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        let number = self.number(name)?;
        if self.current != Some(number) {
            let here = self.reader.position();
            if let Some(current) = self.current {
                if self.left.len() <= current {
                    self.left.resize(current + 1, None);
                }
                if let Some(left) = self.left.get_mut(current) {
                    *left = Some(here);
                }
            }
            let target = match self.left.get(number).copied().flatten() {
                Some(left) => left,
                None => self.start(number)?,
            };
            self.reader.seek(target)?;
            self.current = Some(number);
        }
        Ok(&mut self.reader)
    }

    fn dictionary(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        self.stream(name)
    }
}
