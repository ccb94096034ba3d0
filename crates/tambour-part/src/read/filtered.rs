//! Batches of the rows that a filter keeps: its columns are read first, the others only where a row is left.

use super::{PartReader, Run, kept_rows, unexpected};
use crate::PartError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::ArrowError;
use arrow_select::dictionary::garbage_collect_any_dictionary;
use arrow_select::filter::{FilterBuilder, FilterPredicate};
use std::sync::Arc;

/// What decides on rows while they are read.
pub trait RowFilter: Send {
    /// False if no row of these granules can be kept: they are not read.
    fn wants(&mut self, granules: &std::ops::Range<usize>) -> bool;
    /// How many of the columns that it asks for are shown to [`RowFilter::may_keep`] before the others are read.
    fn early(&self) -> usize {
        0
    }
    /// False if the first columns show that no row is kept: the others are not read.
    fn may_keep(&mut self, _rows: &RecordBatch) -> bool {
        true
    }
    /// The rows to keep, given the columns that the filter asked for. `None` ends the reading.
    fn kept(&mut self, rows: &RecordBatch) -> Option<BooleanArray>;
}

/// Values of a dictionary for each row that is left, above which the others are dropped: whoever looks at all values would do much
/// more work for them than for the rows. Of fewer, a dictionary that stays the same from batch to batch is worth more.
const VALUES_PER_ROW: usize = 64;

/// The same rows, of a dictionary that is much larger than what they have of it.
fn compact(array: ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.as_any_dictionary_opt() {
        Some(all) if all.values().len() / VALUES_PER_ROW > array.len() => {
            garbage_collect_any_dictionary(all)
        }
        _ => Ok(array),
    }
}

impl PartReader {
    /// Reads the last granules first. Batches still have their rows in the order of the part.
    pub fn reverse(&mut self) {
        let mut pieces = std::collections::VecDeque::new();
        while let Some((run, _)) = self.next_run() {
            pieces.push_front(run);
        }
        self.runs = pieces;
    }

    /// The next batch of rows that the filter keeps, which may be none. `leading` are the places of its columns, in the order in which it sees
    /// them. The first error is the last item.
    pub fn next_kept(
        &mut self,
        leading: &[usize],
        filter: &mut dyn RowFilter,
    ) -> Option<Result<RecordBatch, PartError>> {
        loop {
            let (run, whole) = self.next_run()?;
            if !filter.wants(&run) {
                continue;
            }
            match self.kept_batch(&run, &whole, leading, filter).transpose() {
                None => {
                    self.runs.clear();
                    return None;
                }
                Some(batch) => {
                    if batch.is_err() {
                        self.runs.clear();
                    }
                    return Some(batch);
                }
            }
        }
    }

    /// Where columns are seen in other types than they are stored in, all of them are read at once.
    fn kept_of_seen(
        &mut self,
        run: &Run,
        whole: &Run,
        leading: &[usize],
        filter: &mut dyn RowFilter,
    ) -> Result<Option<RecordBatch>, PartError> {
        let batch = self.batch(run, whole)?;
        if batch.num_rows() == 0 {
            return Ok(Some(batch));
        }
        let Some(kept) = filter.kept(&batch.project(leading).map_err(wrong)?) else {
            return Ok(None);
        };
        arrow_select::filter::filter_record_batch(&batch, &kept).map(Some).map_err(wrong)
    }

    /// The living rows of the columns that the filter asks for; `None` if the first of them show that it keeps none.
    fn seen(
        &mut self,
        run: &Run,
        whole: &Run,
        leading: &[usize],
        filter: &mut dyn RowFilter,
    ) -> Result<Option<Seen>, PartError> {
        let rows = self.rows_of(run);
        let total = rows.iter().sum::<usize>();
        let (early, others) = leading.split_at(filter.early().min(leading.len()));
        let mut first = if early.is_empty() { leading } else { early }.to_vec();
        let shown = first.len();
        first.extend(self.mask);
        let mut found = self.read(&first, run, whole, &rows)?;
        let alive = found.drain(shown..).next().map(|mask| kept_rows(&mask)).transpose()?;
        let alive = alive.filter(|alive| alive.true_count() < total);
        let count = alive.as_ref().map_or(total, BooleanArray::true_count);
        if count == 0 {
            return Ok(None);
        }
        let alive = alive.map(|alive| FilterBuilder::new(&alive).optimize().build());
        let mut found = living(alive.as_ref(), found)?;
        if !early.is_empty() {
            if !filter.may_keep(&self.batch_of(early, found.clone(), count)?) {
                return Ok(None);
            }
            found.extend(living(alive.as_ref(), self.read(others, run, whole, &rows)?)?);
        }
        let batch = self.batch_of(leading, found, count)?;
        Ok(Some(Seen { rows, batch, alive }))
    }

    /// Some columns by their places as a batch.
    fn batch_of(
        &self,
        places: &[usize],
        columns: Vec<ArrayRef>,
        rows: usize,
    ) -> Result<RecordBatch, PartError> {
        let schema = self.schema.project(places).map_err(wrong)?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).map_err(wrong)
    }

    fn kept_batch(
        &mut self,
        run: &Run,
        whole: &Run,
        leading: &[usize],
        filter: &mut dyn RowFilter,
    ) -> Result<Option<RecordBatch>, PartError> {
        if self.seeing.is_some() {
            return self.kept_of_seen(run, whole, leading, filter);
        }
        let empty = RecordBatch::new_empty(Arc::clone(&self.schema));
        let Some(seen) = self.seen(run, whole, leading, filter)? else { return Ok(Some(empty)) };
        let count = seen.batch.num_rows();
        let Some(kept) = filter.kept(&seen.batch) else { return Ok(None) };
        if kept.len() != count {
            return Err(unexpected("a filter answers for another number of rows"));
        }
        let left = kept.true_count();
        if left == 0 {
            return Ok(Some(empty));
        }
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let late: Vec<usize> =
            all.iter().copied().filter(|index| !leading.contains(index)).collect();
        let others = self.read(&late, run, whole, &seen.rows)?;
        let mut others = living(seen.alive.as_ref(), others)?.into_iter();
        let choice = (left < count).then(|| FilterBuilder::new(&kept).optimize().build());
        let mut arrays = Vec::with_capacity(all.len());
        for index in &all {
            let place = leading.iter().position(|it| it == index);
            let Some(mut array) =
                place.map(|it| Arc::clone(seen.batch.column(it))).or_else(|| others.next())
            else {
                return Err(unexpected("a column was not read"));
            };
            if let Some(choice) = &choice {
                array = compact(choice.filter(&array).map_err(wrong)?).map_err(wrong)?;
            }
            arrays.push(array);
        }
        self.batch_of(&all, arrays, left).map(Some)
    }
}

/// What a filter sees of some granules.
struct Seen {
    /// Of each granule, with those that are deleted.
    rows: Vec<usize>,
    batch: RecordBatch,
    /// The rows that are not deleted; `None` if that is all of them.
    alive: Option<FilterPredicate>,
}

/// The rows of some columns that are not deleted.
fn living(
    alive: Option<&FilterPredicate>,
    columns: Vec<ArrayRef>,
) -> Result<Vec<ArrayRef>, PartError> {
    let Some(alive) = alive else { return Ok(columns) };
    columns.iter().map(|column| alive.filter(column).map_err(wrong)).collect()
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of map_err")]
fn wrong(error: ArrowError) -> PartError {
    unexpected(&error.to_string())
}
