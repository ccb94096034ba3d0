//! Reads batches of whole granules of an opened part.

mod filtered;
mod seeing;
mod sources;

pub use filtered::RowFilter;

use crate::budget::{BATCH_BYTES_MAX, row_bytes};
use crate::column::{ColumnReader, concat};
use crate::part::{COMPACT_FILE, Part, ReadRequest, StoredColumn};
use crate::stream::cache::PartCache;
use crate::stream::read::{Shared, window_bytes};
use crate::types::{Column, Strings, arrow_schema};
use crate::{PartError, Place};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt8Type;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::SchemaRef;
use arrow_select::filter::FilterBuilder;
use seeing::Seeing;
use sources::{CompactSources, WideSources};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Reads of more granules than these leave the cache of blocks alone ([`Part::cache_blocks`]).
pub const CACHED_GRANULES_MAX: usize = 8;

/// Bytes of a batch, about, above which it gets no further granule, however few rows it has.
const BATCH_BYTES: u64 = 64 << 20;

/// Granules that follow each other and go into one batch.
type Run = Range<usize>;

/// A column being read.
#[derive(Debug)]
struct ColumnCursor {
    stored: StoredColumn,
    reader: ColumnReader,
    /// Its streams, in a wide part.
    wide: Option<WideSources>,
    /// Where its streams stand: before this granule.
    position: Option<usize>,
}

/// Reads batches of whole granules; an iterator of `Result<RecordBatch, PartError>`. The first error is the last item.
#[derive(Debug)]
pub struct PartReader {
    part: Arc<Part>,
    schema: SchemaRef,
    columns: Vec<ColumnCursor>,
    /// Place of the mask of lightweight deletes among `columns`.
    mask: Option<usize>,
    /// How columns become those that are seen, if they are others.
    seeing: Option<Seeing>,
    compact: Option<CompactSources>,
    runs: VecDeque<Run>,
    batch_rows: u64,
    shared: Shared,
    /// Where the streams stand: after this granule.
    position: Option<usize>,
}

impl PartReader {
    /// `is_scan`: the read is part of a larger one.
    pub(crate) fn new(
        part: &Arc<Part>,
        request: &ReadRequest,
        is_scan: bool,
    ) -> Result<Self, PartError> {
        let (mut wanted, seeing) = Seeing::plan(part, request)?;
        let schema = match &seeing {
            Some(seeing) => seeing.schema(),
            None => visible_schema(&wanted, request.strings),
        };
        let mask = part.row_exists.as_ref().map(|mask| {
            wanted.push(mask.clone());
            wanted.len() - 1
        });
        let runs = coalesce(&request.granules, part.granules().len())?;
        let granules: usize = runs.iter().map(ExactSizeIterator::len).sum();
        let is_small = !is_scan && granules <= CACHED_GRANULES_MAX;
        let runs = (runs, part.blocks.get().filter(|_| is_small).cloned());
        let mut reader = Self::over(part, wanted, request.strings, runs, request.batch_rows)?;
        reader.schema = schema;
        reader.seeing = seeing;
        reader.mask = mask;
        Ok(reader)
    }

    /// A reader that hands out every stored row, the deleted ones too.
    pub(crate) fn unmasked(
        part: &Arc<Part>,
        column: StoredColumn,
        strings: Strings,
        batch_rows: usize,
    ) -> Result<Self, PartError> {
        let all = 0..part.granules().len();
        let runs = coalesce(std::slice::from_ref(&all), all.end)?;
        Self::over(part, vec![column], strings, (runs, None), batch_rows)
    }

    fn over(
        part: &Arc<Part>,
        wanted: Vec<StoredColumn>,
        strings: Strings,
        (runs, cache): (VecDeque<Run>, Option<PartCache>),
        batch_rows: usize,
    ) -> Result<Self, PartError> {
        let batch_rows = (batch_rows as u64).min(rows_for(part, &wanted, BATCH_BYTES)).max(1);
        let shared = Shared::with(cache);
        let schema = visible_schema(&wanted, strings);
        let streams = wanted.iter().map(|stored| stored.streams.len()).sum();
        let window = window_bytes(streams);
        let mut columns = Vec::with_capacity(wanted.len());
        for stored in wanted {
            let Column { name, data_type } = &stored.column;
            let reader = ColumnReader::new(name, data_type, &stored.layout, strings)?;
            let wide = match part.compact {
                Some(_) => None,
                None => Some(WideSources::open(part, &stored, &shared, window)?),
            };
            columns.push(ColumnCursor { stored, reader, wide, position: None });
        }
        let stored: Vec<&StoredColumn> = columns.iter().map(|column| &column.stored).collect();
        shared.budget.limit(part, &stored, BATCH_BYTES_MAX);
        let compact = match &part.compact {
            Some(_) if !columns.is_empty() => Some(CompactSources::open(part, &shared)?),
            _ => None,
        };
        Ok(Self {
            part: Arc::clone(part),
            schema,
            columns,
            mask: None,
            seeing: None,
            compact,
            runs,
            batch_rows,
            shared,
            position: None,
        })
    }

    /// Refuses batches that take more than this many bytes (and a block of usual size for each stream) in place of
    /// [`BATCH_BYTES_MAX`]. A batch is one granule at least.
    #[must_use]
    pub fn with_bytes_max(self, bytes: u64) -> Self {
        let stored: Vec<&StoredColumn> = self.columns.iter().map(|column| &column.stored).collect();
        self.shared.budget.limit(&self.part, &stored, bytes);
        self
    }

    /// Texts of these columns, by their places, have their lengths and any bytes: those are not read where they lie in a stream
    /// of their own, and passed over where each follows its length.
    #[must_use]
    pub fn with_lengths_of(mut self, places: &[usize]) -> Self {
        if self.seeing.is_some() {
            return self;
        }
        for place in places.iter().filter(|place| Some(**place) != self.mask) {
            let Some(column) = self.columns.get_mut(*place) else { continue };
            let Some(wide) = &mut column.wide else { continue };
            if let Some(stream) = column.reader.only_lengths() {
                wide.forget(&stream);
            }
        }
        self
    }

    /// The last granule that was read, also if reading it failed.
    pub fn granule(&self) -> Option<usize> {
        self.position.and_then(|end| end.checked_sub(1))
    }

    /// Compressed bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.shared.bytes()
    }

    /// The schema of all batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Takes the next granules for a batch off the list; `None` at the end.
    fn next_run(&mut self) -> Option<(Run, Run)> {
        let range = self.runs.front_mut()?;
        self.shared.budget.begin();
        let mut rows = 0;
        let mut end = range.start;
        while end < range.end && rows < self.batch_rows {
            rows += self.part.granules().get(end).copied().unwrap_or(0);
            end += 1;
        }
        let run = range.start..end;
        let whole = range.start..range.end;
        range.start = end;
        if range.start == range.end {
            self.runs.pop_front();
        }
        Some((run, whole))
    }

    fn batch(&mut self, run: &Run, whole: &Run) -> Result<RecordBatch, PartError> {
        let rows = self.rows_of(run);
        let every: Vec<usize> = (0..self.columns.len()).collect();
        let arrays = self.read(&every, run, whole, &rows)?;
        self.assemble(arrays, rows.iter().sum())
    }

    /// The rows of each granule of a run.
    fn rows_of(&self, run: &Run) -> Vec<usize> {
        let granules = self.part.granules().get(run.clone()).unwrap_or_default();
        granules.iter().map(|rows| usize::try_from(*rows).unwrap_or(usize::MAX)).collect()
    }

    /// Reads a run of some of the columns, by their places.
    fn read(
        &mut self,
        wanted: &[usize],
        run: &Run,
        whole: &Run,
        rows: &[usize],
    ) -> Result<Vec<ArrayRef>, PartError> {
        self.position = Some(run.end);
        self.afford(wanted, run, rows.iter().sum())?;
        if self.compact.is_some() {
            return self.read_compact(wanted, run, rows);
        }
        let mut arrays = Vec::with_capacity(wanted.len());
        for &index in wanted {
            let Some(column) = self.columns.get_mut(index) else {
                return Err(unexpected("a column that is not read is wanted"));
            };
            let array = column.read_wide(run, whole, rows);
            arrays.push(array.map_err(|error| relocate(error, &self.part, column, run.start))?);
        }
        Ok(arrays)
    }

    /// Refuses rows that would take more than the limit, whatever is on disk of them.
    fn afford(&self, wanted: &[usize], run: &Run, rows: usize) -> Result<(), PartError> {
        let types = wanted.iter().filter_map(|index| self.columns.get(*index));
        let width: u64 = types.map(|it| row_bytes(&it.stored.column.data_type)).sum();
        let bytes = width.saturating_mul(rows as u64);
        self.shared.budget.check(bytes).map_err(|(limit, got)| {
            let mut place = Place::file(self.part.path());
            place.row = Some(self.part.granules.start(run.start));
            PartError::limit(place, "bytes of the rows of a batch", limit, got)
        })
    }

    /// Granule by granule, column by column, as the data lies in the file.
    fn read_compact(
        &mut self,
        wanted: &[usize],
        run: &Run,
        rows: &[usize],
    ) -> Result<Vec<ArrayRef>, PartError> {
        let mut pieces: Vec<Vec<ArrayRef>> = vec![Vec::new(); wanted.len()];
        let Some(sources) = &mut self.compact else { return Ok(Vec::new()) };
        for (granule, rows) in run.clone().zip(rows) {
            for (&index, pieces) in wanted.iter().zip(&mut pieces) {
                let Some(column) = self.columns.get_mut(index) else {
                    return Err(unexpected("a column that is not read is wanted"));
                };
                column.reader.seek();
                sources.enter(&column.stored, granule);
                let array = column.reader.read(sources, std::slice::from_ref(rows));
                let array = array.and_then(|array| sources.leave().map(|()| array));
                let array = array.and_then(|array| checked(array, *rows, &column.stored));
                match array {
                    Ok(array) => pieces.push(array),
                    Err(error) => return Err(relocate(error, &self.part, column, granule)),
                }
            }
        }
        let columns = wanted.iter().filter_map(|index| self.columns.get(*index));
        pieces
            .into_iter()
            .zip(columns)
            .map(|(pieces, c)| concat(&c.stored.column.name, &pieces))
            .collect()
    }

    fn assemble(&self, mut arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, PartError> {
        let mask = self.mask.map(|index| arrays.swap_remove(index));
        let mut count = rows;
        if let Some(mask) = mask {
            let kept = kept_rows(&mask)?;
            count = kept.true_count();
            if count < rows {
                let filter = FilterBuilder::new(&kept).optimize().build();
                for array in &mut arrays {
                    *array = filter.filter(array).map_err(|e| unexpected(&e.to_string()))?;
                }
            }
        }
        if let Some(seeing) = &self.seeing {
            return seeing.see(arrays, count);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(|error| unexpected(&error.to_string()))
    }
}

impl Iterator for PartReader {
    type Item = Result<RecordBatch, PartError>;
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (run, whole) = self.next_run()?;
            let batch = self.batch(&run, &whole);
            match &batch {
                Err(_) => self.runs.clear(),
                // All rows are deleted.
                Ok(batch) if batch.num_rows() == 0 => continue,
                Ok(_) => {}
            }
            return Some(batch);
        }
    }
}

impl ColumnCursor {
    /// Reads granules of a wide part. `whole` is the range that will be read in the end, for reading ahead.
    fn read_wide(&mut self, run: &Run, whole: &Run, rows: &[usize]) -> Result<ArrayRef, PartError> {
        let jumped = self.position != Some(run.start);
        self.position = Some(run.end);
        let Some(sources) = &mut self.wide else {
            return Err(unexpected("a column of a wide part has no streams"));
        };
        if jumped {
            self.reader.seek();
            sources.jump(run.start, whole.end)?;
        }
        if !self.reader.by_granule() {
            sources.enter(run.start);
            let array = self.reader.read(sources, rows)?;
            sources.leave(run.end)?;
            return checked(array, rows.iter().sum(), &self.stored);
        }
        let mut pieces = Vec::with_capacity(rows.len());
        let mut before = 0;
        for (granule, rows) in run.clone().zip(rows) {
            sources.enter(granule);
            let array = self.reader.read(sources, std::slice::from_ref(rows));
            let array = array.map_err(|mut error| {
                if let Some(row) = error.place_mut().and_then(|place| place.row.as_mut()) {
                    *row += before;
                }
                error
            })?;
            sources.leave(granule + 1)?;
            pieces.push(checked(array, *rows, &self.stored)?);
            before += *rows as u64;
        }
        concat(&self.stored.column.name, &pieces)
    }
}

/// Rows of these columns that take this many bytes, by their average.
fn rows_for(part: &Part, columns: &[StoredColumn], bytes: u64) -> u64 {
    let sizes = columns.iter().flat_map(|column| &column.streams).map(|stream| {
        let name = format!("{}.bin", part.files.stem(&stream.name.0));
        let contents = part.files.sum(&name).and_then(|sum| sum.contents);
        contents.map_or(part.files.length(&name), |(size, _)| size)
    });
    let total = match part.compact {
        Some(_) => part.files.length(COMPACT_FILE),
        None => sizes.fold(0, u64::saturating_add),
    };
    let rows = u128::from(bytes) * u128::from(part.rows()) / u128::from(total.max(1));
    // Rows may take more in memory than their bytes do: defaults that are not stored, views of short strings.
    let width: u64 = columns.iter().map(|it| row_bytes(&it.column.data_type)).sum();
    u64::try_from(rows).unwrap_or(u64::MAX).min(bytes / width.max(1))
}

/// The array, if it has as many rows as were asked for.
fn checked(array: ArrayRef, rows: usize, stored: &StoredColumn) -> Result<ArrayRef, PartError> {
    if array.len() == rows {
        return Ok(array);
    }
    let place = Place::column(&stored.column.name);
    Err(PartError::mismatch(place, "number of rows", rows as u64, array.len() as u64))
}

/// Adds to an error what its maker could not know: the part, the column, the row in the part.
fn relocate(mut error: PartError, part: &Part, column: &ColumnCursor, granule: usize) -> PartError {
    if let Some(place) = error.place_mut() {
        if place.path.as_os_str().is_empty() {
            part.path().clone_into(&mut place.path);
        }
        place.column.get_or_insert_with(|| column.stored.column.name.clone());
        if let Some(row) = &mut place.row {
            *row += part.granules.start(granule);
        }
    }
    error
}

/// The rows that were not deleted.
fn kept_rows(mask: &ArrayRef) -> Result<BooleanArray, PartError> {
    let mask = mask.as_primitive_opt::<UInt8Type>();
    let values =
        mask.ok_or_else(|| unexpected("the mask of deleted rows is not a UInt8"))?.values();
    let kept = BooleanBuffer::collect_bool(values.len(), |row| {
        values.get(row).is_some_and(|value| *value != 0)
    });
    Ok(BooleanArray::new(kept, None))
}

/// Arrays that do not make up a batch: readers of columns and this one disagree.
fn unexpected(reason: &str) -> PartError {
    PartError::value(Place::default(), reason.to_owned())
}

fn visible_schema(columns: &[StoredColumn], strings: Strings) -> SchemaRef {
    let columns: Vec<Column> = columns.iter().map(|stored| stored.column.clone()).collect();
    Arc::new(arrow_schema(&columns, strings))
}

/// Checks the ranges and joins those that touch.
fn coalesce(ranges: &[Run], granules: usize) -> Result<VecDeque<Run>, PartError> {
    let mut runs: VecDeque<Run> = VecDeque::new();
    let mut end = 0;
    for range in ranges {
        if range.start < end || range.end < range.start || range.end > granules {
            let reason = format!("granules {range:?} of {granules} are out of order or range");
            return Err(PartError::argument(reason));
        }
        end = range.end;
        match runs.back_mut() {
            _ if range.is_empty() => {}
            Some(last) if last.end == range.start => last.end = range.end,
            _ => runs.push_back(range.clone()),
        }
    }
    Ok(runs)
}
