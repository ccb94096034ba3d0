//! Rows of a group that is not complete yet, which may lie in batches that have gone by.

use crate::TableError;
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;

/// A row of the batch that is looked at, or one of an earlier batch.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Here(usize),
    Earlier(RecordBatch),
}

impl Place {
    /// The same when the batch goes by.
    pub(super) fn kept(self, batch: &RecordBatch) -> Self {
        match self {
            Self::Here(row) => Self::Earlier(batch.slice(row, 1)),
            earlier @ Self::Earlier(_) => earlier,
        }
    }
}

/// The rows that stay of a batch, and those of earlier ones that come before them.
#[derive(Debug)]
pub(super) struct Staying {
    earlier: Vec<RecordBatch>,
    mask: Vec<bool>,
}

impl Staying {
    pub(super) fn of(batch: &RecordBatch) -> Self {
        Self { earlier: Vec::new(), mask: vec![false; batch.num_rows()] }
    }

    /// Keeps a row. Rows come in their order.
    pub(super) fn keep(&mut self, place: Place) {
        match place {
            Place::Here(row) => self.mask[row] = true,
            Place::Earlier(row) => self.earlier.push(row),
        }
    }

    /// The rows, in order.
    pub(super) fn rows(self, batch: &RecordBatch) -> Result<Vec<RecordBatch>, TableError> {
        let mut rows = self.earlier;
        let here = only(batch, self.mask)?;
        if here.num_rows() > 0 {
            rows.push(here);
        }
        Ok(rows)
    }
}

/// The rows of a batch that a mask names.
pub(super) fn only(batch: &RecordBatch, mask: Vec<bool>) -> Result<RecordBatch, TableError> {
    if mask.iter().all(|it| *it) {
        return Ok(batch.clone());
    }
    filter_record_batch(batch, &BooleanArray::from(mask))
        .map_err(TableError::arrow("leaving out rows"))
}
