//! The sample: runs of rows that follow each other, spread over all rows that were taken in.

use arrow_array::{ArrayRef, RecordBatch};
use std::collections::VecDeque;
use std::ops::Range;
use tambour_part::choose::facts::Facts;
use tambour_part::types::Column;
use tambour_table::TableError;

/// Rows of a run: blocks are cut from rows that follow each other, as they are in a part.
const RUN_ROWS: usize = 65_536;
/// Most runs of a sample ...
const RUNS_MAX: usize = 16;
/// ... and most memory.
const BYTES_MAX: usize = 160 << 20;

/// Rows to advise on.
#[derive(Clone, Debug)]
pub struct Sample {
    pub(super) columns: Vec<Column>,
    pub(super) facts: Vec<Facts>,
    pub(super) runs: Vec<RecordBatch>,
    /// Which of the rows that were taken in the runs are.
    ranges: Vec<Range<u64>>,
    pub(super) rows_total: u64,
    pub(super) complete: bool,
}

impl Sample {
    /// Rows in it.
    pub fn rows(&self) -> u64 {
        self.runs.iter().map(|run| run.num_rows() as u64).sum()
    }

    /// Which of the rows that were taken in are in it, for [`Intake::of_ranges`].
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Rows of all per row of the sample.
    pub fn scale(&self) -> f64 {
        self.rows_total as f64 / (self.rows() as f64).max(1.0)
    }

    /// The runs of a column.
    pub(super) fn arrays(&self, index: usize) -> Vec<ArrayRef> {
        self.runs.iter().map(|run| run.column(index).clone()).collect()
    }
}

/// Takes rows in, and keeps some of them.
#[derive(Debug)]
pub struct Intake {
    columns: Vec<Column>,
    facts: Vec<Facts>,
    /// Runs that are kept, with their numbers and the rows that they are.
    runs: Vec<(usize, Range<u64>, RecordBatch)>,
    /// Batches of the run that is open.
    open: Vec<RecordBatch>,
    open_rows: usize,
    /// Memory of the open run, about.
    open_bytes: usize,
    /// Number of the run that is open.
    number: usize,
    /// Runs whose number is a multiple of this are kept.
    stride: usize,
    rows: u64,
    /// The first row of the open run.
    start: u64,
    /// What is left of the runs that somebody else chose.
    chosen: Option<VecDeque<Range<u64>>>,
}

impl Intake {
    /// For rows of these columns.
    pub fn new(columns: Vec<Column>) -> Self {
        let facts = columns.iter().map(|_| Facts::default()).collect();
        Self {
            columns,
            facts,
            runs: Vec::new(),
            open: Vec::new(),
            open_rows: 0,
            open_bytes: 0,
            number: 0,
            stride: 1,
            rows: 0,
            start: 0,
            chosen: None,
        }
    }

    /// For some columns of rows of which others were taken in elsewhere: with the runs that were kept there. They are short where
    /// rows are long, which some of the columns do not tell.
    pub fn of_ranges(columns: Vec<Column>, ranges: &[Range<u64>]) -> Self {
        Self { chosen: Some(ranges.iter().cloned().collect()), ..Self::new(columns) }
    }

    /// Takes the next rows.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<(), TableError> {
        for (facts, array) in self.facts.iter_mut().zip(batch.columns()) {
            facts.add(array);
        }
        let first = self.rows;
        self.rows += batch.num_rows() as u64;
        if self.chosen.is_some() {
            return self.push_chosen(batch, first);
        }
        // Slices say the memory of the whole.
        let row_bytes = batch.get_array_memory_size() / batch.num_rows().max(1);
        let mut rest = batch.clone();
        while rest.num_rows() > 0 {
            let taken = rest.num_rows().min(RUN_ROWS - self.open_rows);
            if self.number.is_multiple_of(self.stride) {
                self.open.push(rest.slice(0, taken));
            }
            self.open_rows += taken;
            self.open_bytes += taken * row_bytes;
            rest = rest.slice(taken, rest.num_rows() - taken);
            // Long rows make short runs.
            if self.open_rows == RUN_ROWS || self.open_bytes >= BYTES_MAX / RUNS_MAX {
                self.close()?;
            }
        }
        Ok(())
    }

    /// Takes what is chosen of rows that begin with the row `first`.
    fn push_chosen(&mut self, batch: &RecordBatch, first: u64) -> Result<(), TableError> {
        while let Some(run) = self.chosen.as_ref().and_then(|chosen| chosen.front()).cloned() {
            let (from, to) = (run.start.max(first), run.end.min(self.rows));
            if from < to {
                let place = |row: u64| usize::try_from(row).unwrap_or(usize::MAX);
                self.open.push(batch.slice(place(from - first), place(to - from)));
            }
            if run.end > self.rows {
                break;
            }
            self.start = run.start;
            self.gather()?;
            self.chosen.as_mut().map(VecDeque::pop_front);
        }
        Ok(())
    }

    /// Keeps the open run.
    fn gather(&mut self) -> Result<(), TableError> {
        if let Some(first) = self.open.first() {
            let run = arrow_select::concat::concat_batches(&first.schema(), &self.open);
            let run = run.map_err(TableError::arrow("gather a sample"))?;
            let range = self.start..self.start + run.num_rows() as u64;
            self.runs.push((self.number, range, run));
        }
        self.open.clear();
        Ok(())
    }

    /// Closes the open run; when there are too many, every second one goes.
    fn close(&mut self) -> Result<(), TableError> {
        self.gather()?;
        self.start += self.open_rows as u64;
        (self.open_rows, self.open_bytes) = (0, 0);
        self.number += 1;
        while self.runs.len() > 1 && (self.runs.len() > RUNS_MAX || self.bytes() > BYTES_MAX) {
            self.stride *= 2;
            let stride = self.stride;
            self.runs.retain(|(number, ..)| number.is_multiple_of(stride));
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.runs.iter().map(|(.., run)| run.get_array_memory_size()).sum()
    }

    /// The sample. `rows_total` is how many rows there are, if those taken in were not all.
    pub fn finish(mut self, rows_total: Option<u64>) -> Result<Sample, TableError> {
        if self.chosen.is_none() {
            self.close()?;
        }
        let complete = rows_total.is_none_or(|total| total == self.rows);
        let runs = self.runs.into_iter().filter(|(.., run)| run.num_rows() > 0);
        let (ranges, runs) = runs.map(|(_, range, run)| (range, run)).unzip();
        Ok(Sample {
            columns: self.columns,
            facts: self.facts,
            runs,
            ranges,
            rows_total: rows_total.unwrap_or(self.rows),
            complete,
        })
    }
}
