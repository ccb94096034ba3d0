//! Reading as if all parts were merged: what FINAL asks for.
//!
//! Rows of all parts come together in the order of the sorting key, and the engine of the table decides which stay, over the
//! borders of partitions. The values of the primary key are cut into ranges, which are read independently: rows with the same
//! sorting key are in the same range. Where one part alone has rows, they go through as slices.

use super::pruning::Pruning;
use super::reader::conformed;
use super::{Pruned, ScanRequest, column_named, columns_in};
use crate::engine::{Engine, Fold, Folded, Use, sorting_key};
use crate::key::{Key, Keys, OwnedKey};
use crate::predicate::Predicate;
use crate::schema::expression::Expression;
use crate::tournament::{Sorted, Tournament};
use crate::{Table, TableError};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use std::ops::Range;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::{PartReader, ReadRequest};
use tambour_part::types::{Column, Strings, arrow_schema};

/// Rows that a range has at least, if there are several.
const RANGE_ROWS_MIN: u64 = 65_536;

/// What to read of a table through its engine.
#[derive(Debug)]
pub struct MergedScan {
    table: Arc<Table>,
    engine: Engine,
    /// Columns that are read, first those that are handed out.
    columns: Vec<Column>,
    read: SchemaRef,
    handed_out: usize,
    key: Arc<Key>,
    primary: Arc<Key>,
    parts: Vec<Source>,
    /// Between the ranges.
    cuts: Vec<OwnedKey>,
    strings: Strings,
    batch_rows: usize,
}

/// A part and the granules that are wanted of it.
#[derive(Debug)]
struct Source {
    part: Arc<Part>,
    name: String,
    granules: Vec<Range<usize>>,
    /// Keys of the first rows of granules, in the order of the part; `None` if there is no index.
    starts: Option<Keys>,
}

impl MergedScan {
    /// Plans a scan. The predicate must be over columns of the sorting key only: rows with the same key share its answer.
    pub fn plan(table: &Arc<Table>, request: &ScanRequest) -> Result<(Self, Pruned), TableError> {
        let Some(definition) = table.definition() else {
            let table = table.path().to_owned();
            return Err(TableError::DefinitionUnknown { table, operation: "FINAL" });
        };
        let engine = Engine::of(definition)?;
        let sorted_by = sorting_key(definition);
        let (columns, handed_out) = columns_of(table, request, &engine, &sorted_by)?;
        let read = Arc::new(arrow_schema(&columns, request.strings));
        let key = Arc::new(Key::new(&sorted_by, &columns, &read)?);
        let primary = Arc::new(Key::new(&definition.primary_key, &columns, &read)?);
        let (parts, pruned) = sources(table, &request.predicate, &primary)?;
        let mut scan = Self {
            table: Arc::clone(table),
            engine,
            columns,
            read,
            handed_out,
            key,
            primary,
            parts,
            cuts: Vec::new(),
            strings: request.strings,
            batch_rows: request.batch_rows.max(1),
        };
        scan.cuts = scan.cut(request.partitions);
        Ok((scan, pruned))
    }

    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Ranges of the key that can be read independently.
    pub fn partitions(&self) -> usize {
        self.cuts.len() + 1
    }

    /// The columns that are read, those that only the engine looks at included.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The schema of the rows that are handed out.
    pub fn schema(&self) -> SchemaRef {
        let fields = self.read.fields().iter().take(self.handed_out).cloned();
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// Opens one range.
    pub fn run(self: &Arc<Self>, partition: usize) -> Result<MergedReader, TableError> {
        let bound = |at: Option<usize>| at.and_then(|at| self.cuts.get(at)).cloned();
        let (low, high) = (bound(partition.checked_sub(1)), bound(Some(partition)));
        let mut sources: Vec<Sorted<'static>> = Vec::new();
        let mut marks = Vec::new();
        for (number, source) in self.parts.iter().enumerate() {
            let granules = source.within(low.as_ref(), high.as_ref());
            if granules.is_empty() {
                continue;
            }
            let columns: Vec<&Column> = self.columns.iter().collect();
            let request = ReadRequest {
                columns: columns_in(&source.part, &columns)?,
                granules,
                batch_rows: self.batch_rows,
                strings: self.strings,
            };
            let place = TableError::part(self.table.path(), &source.name);
            let reader = source.part.read(request).map_err(place)?;
            marks.push(self.engine.mark(number, &source.name));
            let (scan, last) = (Arc::clone(self), None);
            let (low, high) = (low.clone(), high.clone());
            sources.push(Box::new(SourceReader { scan, number, reader, low, high, last }));
        }
        let fold = (self.columns.as_slice(), &self.read);
        let fold = Fold::new(&self.engine, &self.key, fold, Use::Read)?;
        let merged = Tournament::new(sources, self.batch_rows).marked(marks);
        let schema = self.schema();
        Ok(MergedReader { schema, rows: Folded::new(merged, Some(fold)) })
    }

    /// Keys that cut the rows into ranges of about equal size.
    fn cut(&self, wanted: usize) -> Vec<OwnedKey> {
        let mut starts: Vec<(OwnedKey, u64)> = Vec::new();
        for source in &self.parts {
            // Without an index nobody knows where a range begins.
            let Some(keys) = &source.starts else { return Vec::new() };
            let granules = source.granules.iter().cloned().flatten();
            let rows = source.part.granules();
            starts.extend(granules.map(|granule| (keys.owned(granule), rows[granule])));
        }
        let total: u64 = starts.iter().map(|(_, rows)| rows).sum();
        let count = (total / RANGE_ROWS_MIN).clamp(1, wanted.max(1) as u64);
        if count == 1 || self.primary.is_empty() {
            return Vec::new();
        }
        starts.sort_unstable();
        let mut cuts: Vec<OwnedKey> = Vec::new();
        let mut before = 0;
        for (key, rows) in &starts {
            let wanted = (cuts.len() as u64 + 1) * total / count;
            let is_new = cuts.last().map_or(*key > starts[0].0, |last| last < key);
            if before >= wanted && is_new && (cuts.len() as u64) < count - 1 {
                cuts.push(key.clone());
            }
            before += rows;
        }
        cuts
    }
}

/// The columns that are read, and how many of them are handed out: those come first.
fn columns_of(
    table: &Table,
    request: &ScanRequest,
    engine: &Engine,
    sorting_key: &[Expression],
) -> Result<(Vec<Column>, usize), TableError> {
    let mut columns = Vec::with_capacity(request.columns.len());
    for name in &request.columns {
        columns.push(column_named(table, name)?.clone());
    }
    let handed_out = columns.len();
    let of_key = sorting_key.iter().flat_map(Expression::columns);
    for name in of_key.chain(engine.columns()) {
        if !columns.iter().any(|it| it.name == name) {
            columns.push(column_named(table, name)?.clone());
        }
    }
    if columns.is_empty() {
        // Some column says how many rows there are.
        columns.extend(table.columns().first().cloned());
    }
    Ok((columns, handed_out))
}

/// The parts that may have rows, in the order in which equal rows come.
fn sources(
    table: &Table,
    predicate: &Predicate,
    primary: &Key,
) -> Result<(Vec<Source>, Pruned), TableError> {
    let pruning = Pruning::new(table, predicate)?;
    let (mut pruned, mut sources) = (Pruned::default(), Vec::new());
    for (part, name) in table.parts().iter().zip(table.part_names()) {
        let granules = pruning.granules(part, name)?;
        pruned.count(part.granules().len(), granules.as_deref());
        let Some(granules) = granules.filter(|granules| !granules.is_empty()) else { continue };
        let starts = if primary.is_empty() || !part.has_primary_index() {
            None
        } else {
            let entries = part.primary_index(primary.types());
            let entries = entries.map_err(TableError::part(table.path(), name))?;
            Some(primary.of_values(&entries)?).filter(|it| it.len() >= part.granules().len())
        };
        sources.push(Source { part: Arc::clone(part), name: name.clone(), granules, starts });
    }
    Ok((sources, pruned))
}

impl Source {
    /// The granules that may have rows of a range.
    fn within(&self, low: Option<&OwnedKey>, high: Option<&OwnedKey>) -> Vec<Range<usize>> {
        let Some(starts) = &self.starts else { return self.granules.clone() };
        let count = self.part.granules().len();
        let is_in = |granule: usize| {
            let begins = high.is_none_or(|it| starts.compare_owned(granule, it).is_lt());
            let is_last = granule + 1 == count;
            let ends =
                low.is_none_or(|it| is_last || starts.compare_owned(granule + 1, it).is_ge());
            begins && ends
        };
        let mut within: Vec<Range<usize>> = Vec::new();
        for granule in self.granules.iter().cloned().flatten().filter(|it| is_in(*it)) {
            match within.last_mut() {
                Some(last) if last.end == granule => last.end += 1,
                _ => within.push(granule..granule + 1),
            }
        }
        within
    }
}

/// The rows of one part that are in a range.
struct SourceReader {
    scan: Arc<MergedScan>,
    number: usize,
    reader: PartReader,
    low: Option<OwnedKey>,
    high: Option<OwnedKey>,
    last: Option<OwnedKey>,
}

impl SourceReader {
    fn read(&mut self) -> Result<Option<(RecordBatch, Keys)>, TableError> {
        let (table, name) = (self.scan.table.path(), &self.scan.parts[self.number].name);
        while let Some(batch) = self.reader.next() {
            let batch = batch.map_err(TableError::part(table, name))?;
            let batch = self.clipped(conformed(&batch, &self.scan.read)?)?;
            if batch.num_rows() == 0 {
                continue;
            }
            let keys = self.scan.key.evaluate(&batch)?;
            let is_behind = self.last.as_ref().is_some_and(|it| keys.compare_owned(0, it).is_lt());
            if let Some(row) = if is_behind { Some(0) } else { keys.first_unsorted() } {
                let (table, part) = (table.to_owned(), name.clone());
                return Err(TableError::Unsorted { table, part, row: row as u64 });
            }
            self.last = Some(keys.owned(batch.num_rows() - 1));
            return Ok(Some((batch, keys)));
        }
        Ok(None)
    }

    /// The rows of the range: granules at its ends have others, too.
    fn clipped(&self, batch: RecordBatch) -> Result<RecordBatch, TableError> {
        let rows = batch.num_rows();
        if rows == 0 || (self.low.is_none() && self.high.is_none()) {
            return Ok(batch);
        }
        let primary = &self.scan.primary;
        let ends = [batch.slice(0, 1), batch.slice(rows - 1, 1)];
        let [first, last] = [primary.evaluate(&ends[0])?, primary.evaluate(&ends[1])?];
        let is_low = self.low.as_ref().is_none_or(|it| first.compare_owned(0, it).is_ge());
        let is_high = self.high.as_ref().is_none_or(|it| last.compare_owned(0, it).is_lt());
        if is_low && is_high {
            return Ok(batch);
        }
        let keys = primary.evaluate(&batch)?;
        let below = |bound: &Option<OwnedKey>, open: usize| {
            bound.as_ref().map_or(open, |bound| {
                (0..rows).take_while(|row| keys.compare_owned(*row, bound).is_lt()).count()
            })
        };
        let (start, end) = (below(&self.low, 0), below(&self.high, rows));
        Ok(batch.slice(start, end.saturating_sub(start)))
    }
}

impl Iterator for SourceReader {
    type Item = Result<(RecordBatch, Keys), TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// The rows of one range, as the engine leaves them.
#[derive(Debug)]
pub struct MergedReader {
    schema: SchemaRef,
    rows: Folded<'static>,
}

impl MergedReader {
    /// The schema of its batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn handed_out(&self, batch: &RecordBatch) -> Result<RecordBatch, TableError> {
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns()[..self.schema.fields().len()].to_vec();
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(TableError::arrow("read a batch"))
    }
}

impl Iterator for MergedReader {
    type Item = Result<RecordBatch, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.rows.next()?;
        Some(batch.and_then(|batch| self.handed_out(&batch)))
    }
}
