//! Marks of a damaged part that are lost, or another part's: found again by reading the streams from their starts. They are believed only
//! if the rows that the part has use up its streams.

use super::layouts;
use super::marks::measurable;
use super::{COMPACT_FILE, PartFiles, StoredColumn};
use crate::budget::{BATCH_BYTES_MAX, row_bytes};
use crate::column::{
    ColumnReader, DICTIONARY_VERSION, Source, Sources, StreamKind, StreamName, streams,
};
use crate::mark::{GRANULE_ROWS_MAX, Granules, Mark, Marks};
use crate::stream::headers::Headers;
use crate::stream::read::{Shared, StreamReader, WINDOW_BYTES_MAX};
use crate::types::{Column, Strings};
use crate::{PartError, Place};

/// Bytes of a block that another one of the same column may follow: ClickHouse's `max_compress_block_size`.
const FULL_BYTES: u64 = 1 << 20;

/// The marks of all streams of a column of a wide part, each with the stem of its stream.
pub(super) fn wide(
    files: &PartFiles,
    stored: &StoredColumn,
    granules: &Granules,
) -> Result<Vec<(String, Marks)>, PartError> {
    let shared = Shared::default();
    shared.budget.limit_to(BATCH_BYTES_MAX);
    let mut sources = Serial::open(files, stored, &shared)?;
    let mut reader = reader_of(stored)?;
    for rows in &granules.rows {
        shared.budget.begin();
        sources.enter();
        reader.read(&mut sources, &[affordable(stored, *rows)?])?;
    }
    for stream in &mut sources.streams {
        stream.reader.settle()?;
        if !stream.is_dictionary && !stream.reader.is_at_end() {
            return Err(stream.reader.corrupt("it has more than the rows of the part"));
        }
    }
    let marks = sources.streams.into_iter().map(|stream| stream.marks(granules));
    Ok(marks.collect())
}

fn reader_of(stored: &StoredColumn) -> Result<ColumnReader, PartError> {
    let (name, data_type) = (&stored.column.name, &stored.column.data_type);
    ColumnReader::new(name, data_type, &stored.layout, Strings::Binary)
}

/// The rows of a granule, if they do not take more than a batch may.
fn affordable(stored: &StoredColumn, rows: u64) -> Result<usize, PartError> {
    let bytes = row_bytes(&stored.column.data_type).saturating_mul(rows);
    if rows > GRANULE_ROWS_MAX || bytes > BATCH_BYTES_MAX {
        let place = Place::column(&stored.column.name);
        return Err(PartError::limit(place, "bytes of a granule", BATCH_BYTES_MAX, bytes));
    }
    Ok(usize::try_from(rows).unwrap_or(usize::MAX))
}

/// A stream that is read from its start, and where its granules start.
struct SerialStream {
    stem: String,
    name: StreamName,
    reader: StreamReader,
    is_dictionary: bool,
    /// A place for each granule that was entered; none yet in a stream of dictionaries of which the granule has asked for none.
    places: Vec<Option<Mark>>,
    /// Where the dictionary starts that was read last.
    last: Option<Mark>,
}

impl SerialStream {
    fn marks(self, granules: &Granules) -> (String, Marks) {
        let end = Mark { block: self.reader.file_bytes(), offset: 0 };
        // No record of such a granule asks for a dictionary.
        let mut before = Mark { block: 0, offset: 8 };
        let mut places = Vec::with_capacity(granules.records());
        for place in self.places {
            before = place.unwrap_or(before);
            places.push(before);
        }
        let mut rows = granules.rows.clone();
        if granules.final_mark {
            places.push(end);
            rows.push(0);
        }
        (self.stem, Marks::new(1, places, rows))
    }
}

/// The streams of a column of a wide part.
struct Serial {
    streams: Vec<SerialStream>,
}

impl Serial {
    fn open(files: &PartFiles, stored: &StoredColumn, shared: &Shared) -> Result<Self, PartError> {
        let mut streams = Vec::with_capacity(stored.streams.len());
        for stream in &stored.streams {
            let stem = files.stem(&stream.name.0);
            let name = format!("{stem}.bin");
            let (file, path) = (files.open(&name)?, files.path_of(&name));
            let column = &stored.column.name;
            let mut reader = StreamReader::new(file, path, column, shared, WINDOW_BYTES_MAX);
            let is_dictionary = stream.kind == StreamKind::Keys;
            if is_dictionary {
                let mut version = [0; 8];
                reader.read_exact(&mut version)?;
                if u64::from_le_bytes(version) != DICTIONARY_VERSION {
                    return Err(reader.corrupt("it is not a stream of dictionaries"));
                }
            }
            let (name, places, last) = (stream.name.clone(), Vec::new(), None);
            streams.push(SerialStream { stem, name, reader, is_dictionary, places, last });
        }
        Ok(Self { streams })
    }

    /// Notes that the next granule starts here.
    fn enter(&mut self) {
        for stream in &mut self.streams {
            stream.places.push((!stream.is_dictionary).then(|| stream.reader.position()));
        }
    }

    fn find(&mut self, name: &StreamName) -> Result<&mut SerialStream, PartError> {
        let found = self.streams.iter_mut().find(|stream| stream.name == *name);
        found.ok_or_else(|| no_stream(name))
    }
}

fn no_stream(name: &StreamName) -> PartError {
    PartError::malformed(Place::default(), format!("the part has no stream {:?}", name.0))
}

impl Sources for Serial {
    fn stream(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        Ok(&mut self.find(name)?.reader)
    }

    fn dictionary(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        let stream = self.find(name)?;
        let here = stream.reader.position();
        stream.last = Some(here);
        if let Some(place) = stream.places.last_mut() {
            place.get_or_insert(here);
        }
        Ok(&mut stream.reader)
    }

    fn keep_dictionary(&mut self, name: &StreamName) -> bool {
        if let Ok(stream) = self.find(name)
            && let (Some(place), Some(last)) = (stream.places.last_mut(), stream.last)
        {
            place.get_or_insert(last);
        }
        // It was read once, and the stream stands after it.
        false
    }
}

/// The rows of a wide part of which neither `count.txt` nor the marks say it: those of the columns that have the same number of bytes for each,
/// if they agree.
pub(super) fn count(files: &PartFiles, columns: &[StoredColumn]) -> Option<u64> {
    let rows_of = |(stream, width): (String, u64)| {
        let name = format!("{}.bin", files.stem(&stream));
        let (file, path) = (files.open(&name).ok()?, files.path_of(&name));
        let mut bytes = 0_u64;
        for block in Headers::new(file.as_ref(), &path, 0) {
            bytes = bytes.saturating_add(u64::from(block.ok()?.header.uncompressed_size));
        }
        bytes.is_multiple_of(width).then(|| bytes / width)
    };
    let mut counts = columns.iter().filter_map(measurable).filter_map(rows_of);
    let first = counts.next()?;
    counts.all(|rows| rows == first).then_some(first)
}

/// How a column of a compact part is laid out, by its marks and what lies there: the one layout in which each granule ends where the next
/// column starts.
pub(super) fn layout(
    files: &PartFiles,
    stored: &StoredColumn,
    marks: &Marks,
    granules: &Granules,
) -> Option<StoredColumn> {
    let mut found: Option<StoredColumn> = None;
    for layout in layouts::all(&stored.layout) {
        let Column { name, data_type } = &stored.column;
        let streams = streams(name, data_type, &layout);
        let candidate = StoredColumn { layout, streams, ..stored.clone() };
        if fits(files, &candidate, marks, granules).is_err() {
            continue;
        }
        // Layouts of the same streams are the same.
        let is_other = |it: &StoredColumn| it.streams != candidate.streams;
        if found.as_ref().is_some_and(is_other) {
            return None;
        }
        found.get_or_insert(candidate);
    }
    found
}

fn fits(
    files: &PartFiles,
    stored: &StoredColumn,
    marks: &Marks,
    granules: &Granules,
) -> Result<(), PartError> {
    let (file, path) = (files.open(COMPACT_FILE)?, files.path_of(COMPACT_FILE));
    let end = Mark { block: file.len(), offset: 0 };
    let shared = Shared::default();
    shared.budget.limit_to(BATCH_BYTES_MAX);
    let mut reader = StreamReader::new(file, path, "", &shared, WINDOW_BYTES_MAX);
    let mut column = reader_of(stored)?;
    for (granule, rows) in granules.rows.iter().enumerate() {
        let mark = |record, column| marks.mark(record, column);
        let start =
            mark(granule, stored.position).ok_or_else(|| reader.corrupt("granule has no mark"))?;
        let next = mark(granule, stored.position + 1).or_else(|| mark(granule + 1, 0));
        reader.seek(start)?;
        column.seek();
        shared.budget.begin();
        let mut sources = InGranule { reader: &mut reader, names: None, starts: Vec::new() };
        column.read(&mut sources, &[affordable(stored, *rows)?])?;
        if !reader.is_at(next.unwrap_or(end)) {
            reader.settle()?;
        }
        if !reader.is_at(next.unwrap_or(end)) {
            return Err(reader.corrupt("granule does not end where its marks say"));
        }
    }
    Ok(())
}

/// What is known of a compact part besides its marks.
pub(super) struct Known<'a> {
    /// All its columns, in the order of columns.txt.
    pub(super) columns: Vec<&'a StoredColumn>,
    /// The substreams of each, if marks are per substream.
    pub(super) substreams: Option<&'a [Vec<String>]>,
    pub(super) rows: u64,
    pub(super) granularity: u64,
}

impl Known<'_> {
    /// Marks of a column in a record.
    fn width_of(&self, column: usize) -> usize {
        self.substreams.map_or(1, |all| all.get(column).map_or(0, Vec::len))
    }
}

/// The marks of a compact part. Each column of a granule has blocks of its own there, but for a server that was told otherwise.
pub(super) fn compact(files: &PartFiles, known: &Known<'_>) -> Result<Marks, PartError> {
    let (file, path) = (files.open(COMPACT_FILE)?, files.path_of(COMPACT_FILE));
    let shared = Shared::default();
    shared.budget.limit_to(BATCH_BYTES_MAX);
    let mut blocks = Vec::new();
    for block in Headers::new(file.as_ref(), &path, 0) {
        let block = block?;
        blocks.push((block.start, u64::from(block.header.uncompressed_size)));
    }
    let end = Mark { block: file.len(), offset: 0 };
    let reader = StreamReader::new(file, path, "", &shared, WINDOW_BYTES_MAX);
    let columns = known.columns.iter().map(|stored| reader_of(stored));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let mut walk = Walk { known, blocks, reader, columns, shared };
    let width = (0..known.columns.len()).map(|column| known.width_of(column)).sum();
    let (mut places, mut rows, mut done) = (Vec::new(), Vec::new(), 0);
    while done < known.rows {
        let (count, mut record) = walk.granule(known.rows - done)?;
        places.append(&mut record);
        rows.push(count);
        done += count;
    }
    if !walk.reader.is_at_end() {
        return Err(walk.reader.corrupt("it has more than the rows of the part"));
    }
    places.extend(std::iter::repeat_n(end, width));
    rows.push(0);
    Ok(Marks::new(width, places, rows))
}

/// On the way through data.bin.
struct Walk<'a> {
    known: &'a Known<'a>,
    /// Where each block starts, and its bytes after decoding.
    blocks: Vec<(u64, u64)>,
    reader: StreamReader,
    columns: Vec<ColumnReader>,
    shared: Shared,
}

impl Walk<'_> {
    /// Reads a granule: its rows, and the places of its record.
    fn granule(&mut self, left: u64) -> Result<(u64, Vec<Mark>), PartError> {
        let start = self.reader.position();
        let mut fault = None;
        for rows in self.counts(start, left) {
            self.reader.seek(start)?;
            match self.record(rows) {
                Ok(record) => return Ok((rows, record)),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        Err(fault.unwrap_or_else(|| self.reader.corrupt("no number of rows fits the granule")))
    }

    /// Numbers of rows that the granule may have: the one that columns of a constant width say, or else those that ClickHouse
    /// would have cut, which makes the last granule up to one and a half times as large as others.
    fn counts(&self, start: Mark, left: u64) -> Vec<u64> {
        let first = index(&self.blocks, start);
        let mut measured = None;
        for (stored, (_, size)) in self.known.columns.iter().zip(self.blocks.iter().skip(first)) {
            if *size >= FULL_BYTES {
                // Which blocks the next columns have is not known.
                break;
            }
            let is_plain = !stored.layout.sparse && stored.streams.len() == 1;
            let Some(width) = stored.column.data_type.fixed_width().filter(|_| is_plain) else {
                continue;
            };
            let rows = size.checked_div(width as u64).filter(|rows| rows * width as u64 == *size);
            match (rows, measured) {
                (Some(rows), None) => measured = Some(rows),
                (Some(rows), Some(known)) if rows == known => {}
                _ => return Vec::new(),
            }
        }
        let granularity = self.known.granularity.max(1);
        let mut counts = match measured {
            Some(rows) => vec![rows],
            None if left < granularity.saturating_add(granularity.div_ceil(2)) => {
                vec![left, granularity]
            }
            None => vec![granularity],
        };
        counts.retain(|rows| *rows > 0 && *rows <= left);
        counts
    }

    fn record(&mut self, rows: u64) -> Result<Vec<Mark>, PartError> {
        let mut record = Vec::new();
        self.shared.budget.begin();
        for (column, reader) in self.columns.iter_mut().enumerate() {
            let stored = self.known.columns[column];
            let rows = affordable(stored, rows)?;
            let names = self.known.substreams.and_then(|all| all.get(column));
            let start = self.reader.position();
            let starts = vec![None; self.known.width_of(column)];
            let mut sources = InGranule { reader: &mut self.reader, names, starts };
            reader.seek();
            reader.read(&mut sources, &[rows])?;
            let starts = sources.starts;
            self.reader.settle()?;
            let end = self.reader.position();
            check(&self.blocks, start, end).map_err(|reason| self.reader.corrupt(reason))?;
            let own = (0..starts.len()).map(|number| {
                // What has no bytes starts where the next one does.
                starts[number..].iter().flatten().next().copied().unwrap_or(end)
            });
            record.extend(own);
        }
        Ok(record)
    }
}

/// The first block that does not start before a place.
fn index(blocks: &[(u64, u64)], place: Mark) -> usize {
    blocks.partition_point(|(start, _)| *start < place.block)
}

/// Checks that a column has blocks of its own, of which only full ones are followed by another.
fn check(blocks: &[(u64, u64)], start: Mark, end: Mark) -> Result<(), &'static str> {
    let own = blocks.get(index(blocks, start)..index(blocks, end)).unwrap_or_default();
    let is_own =
        own.split_last().is_some_and(|(_, full)| full.iter().all(|(_, size)| *size >= FULL_BYTES));
    if start.offset == 0 && end.offset == 0 && is_own {
        return Ok(());
    }
    Err("the blocks are not those of the rows of a granule")
}

/// The streams of a column of a granule of a compact part, which lie one after the other and are read so.
struct InGranule<'a> {
    reader: &'a mut StreamReader,
    names: Option<&'a Vec<String>>,
    starts: Vec<Option<Mark>>,
}

impl Sources for InGranule<'_> {
    fn stream(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        let number = match self.names {
            Some(names) => names.iter().position(|known| *known == name.0),
            None => Some(0),
        };
        let number = number.ok_or_else(|| no_stream(name))?;
        let later = self.starts.get(number + 1..).unwrap_or_default();
        if self.starts.get(number).is_some_and(Option::is_none) && later.iter().any(Option::is_some)
        {
            return Err(self.reader.corrupt("streams are not read in their order"));
        }
        if let Some(start) = self.starts.get_mut(number) {
            start.get_or_insert(self.reader.position());
        }
        Ok(self.reader)
    }

    fn dictionary(&mut self, name: &StreamName) -> Result<&mut dyn Source, PartError> {
        self.stream(name)
    }
}
