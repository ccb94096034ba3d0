//! Batches of the rows that a filter keeps: its columns are read first, the others only where a row is left.

use super::{PartReader, Run, kept_rows, unexpected};
use crate::PartError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::ArrowError;
use arrow_select::dictionary::garbage_collect_any_dictionary;
use arrow_select::filter::FilterBuilder;
use std::sync::Arc;

/// What decides on rows while they are read.
pub trait RowFilter: Send {
    /// False if no row of these granules can be kept: they are not read.
    fn wants(&mut self, granules: &std::ops::Range<usize>) -> bool;
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
        let wrong = |error: ArrowError| unexpected(&error.to_string());
        let Some(kept) = filter.kept(&batch.project(leading).map_err(wrong)?) else {
            return Ok(None);
        };
        arrow_select::filter::filter_record_batch(&batch, &kept).map(Some).map_err(wrong)
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
        let rows = self.rows_of(run);
        let mut first: Vec<usize> = leading.to_vec();
        first.extend(self.mask);
        let mut found = self.read(&first, run, whole, &rows)?;
        let total = rows.iter().sum::<usize>();
        let alive = match self.mask {
            Some(_) => found.pop().map(|mask| kept_rows(&mask)).transpose()?,
            None => None,
        };
        let alive = alive.filter(|alive| alive.true_count() < total);
        let count = alive.as_ref().map_or(total, BooleanArray::true_count);
        let wrong = |error: ArrowError| unexpected(&error.to_string());
        let schema = Arc::new(self.schema.project(leading).map_err(wrong)?);
        let sized = |count| RecordBatchOptions::new().with_row_count(Some(count));
        let mut seen =
            RecordBatch::try_new_with_options(schema, found, &sized(total)).map_err(wrong)?;
        if let Some(alive) = &alive {
            seen = arrow_select::filter::filter_record_batch(&seen, alive).map_err(wrong)?;
        }
        let empty = RecordBatch::new_empty(Arc::clone(&self.schema));
        if count == 0 {
            return Ok(Some(empty));
        }
        let Some(kept) = filter.kept(&seen) else { return Ok(None) };
        if kept.len() != count {
            return Err(unexpected("a filter answers for another number of rows"));
        }
        let left = kept.true_count();
        if left == 0 {
            return Ok(Some(empty));
        }
        let late: Vec<usize> =
            (0..self.schema.fields().len()).filter(|index| !leading.contains(index)).collect();
        let mut others = self.read(&late, run, whole, &rows)?.into_iter();
        let choice = (left < count).then(|| FilterBuilder::new(&kept).optimize().build());
        let living = alive.map(|alive| FilterBuilder::new(&alive).optimize().build());
        let mut arrays = Vec::with_capacity(self.schema.fields().len());
        for index in 0..self.schema.fields().len() {
            let mut array = if let Some(place) = leading.iter().position(|it| *it == index) {
                Arc::clone(seen.column(place))
            } else {
                let Some(array) = others.next() else {
                    return Err(unexpected("a column was not read"));
                };
                match &living {
                    Some(living) => living.filter(&array).map_err(wrong)?,
                    None => array,
                }
            };
            if let Some(choice) = &choice {
                array = compact(choice.filter(&array).map_err(wrong)?).map_err(wrong)?;
            }
            arrays.push(array);
        }
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &sized(left))
            .map(Some)
            .map_err(wrong)
    }
}
