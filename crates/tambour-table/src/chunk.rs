//! A chunk: rows held in memory together, and orders of them.

use super::intake::interleaved;
use super::key::Keys;
use crate::TableError;
use arrow_array::RecordBatch;
use arrow_row::Rows;
use std::ops::Range;

/// Batches of one schema, addressed as one run of rows.
#[derive(Debug)]
pub(super) struct Chunk {
    batches: Vec<RecordBatch>,
    /// Number of the first row of each batch, and of the row after the last one.
    starts: Vec<usize>,
}

/// Some rows of a chunk in some order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As they came.
    Range(Range<usize>),
    /// As listed.
    Rows(Vec<u32>),
}

/// Most rows of a chunk: they are numbered in 32 bits.
pub(super) const ROWS_MAX: usize = 1 << 31;

impl Chunk {
    /// Numbers the rows of batches.
    pub(super) fn new(batches: Vec<RecordBatch>) -> Self {
        let mut starts = Vec::with_capacity(batches.len() + 1);
        let mut rows = 0;
        for batch in &batches {
            starts.push(rows);
            rows += batch.num_rows();
        }
        starts.push(rows);
        assert!(rows <= ROWS_MAX, "a chunk is taken before it has that many rows");
        Self { batches, starts }
    }

    /// The batches.
    pub(super) fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// All rows.
    pub(super) fn rows(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Hands out the rows of an order, in pieces of at most `piece_rows` rows.
    pub(super) fn for_each(
        &self,
        order: &Order,
        piece_rows: usize,
        consume: &mut dyn FnMut(RecordBatch) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        match order {
            Order::Range(range) => {
                for (batch, start) in self.batches.iter().zip(&self.starts) {
                    let from = range.start.max(*start);
                    let to = range.end.min(start + batch.num_rows());
                    if from < to {
                        consume(batch.slice(from - start, to - from))?;
                    }
                }
            }
            Order::Rows(rows) => {
                let batches: Vec<&RecordBatch> = self.batches.iter().collect();
                for piece in rows.chunks(piece_rows.max(1)) {
                    let places: Vec<(usize, usize)> =
                        piece.iter().map(|row| self.place(*row as usize)).collect();
                    let batch = interleaved(&batches, &places)
                        .map_err(TableError::arrow("putting rows into the order of the key"))?;
                    consume(batch)?;
                }
            }
        }
        Ok(())
    }

    /// Batch and row in it.
    fn place(&self, row: usize) -> (usize, usize) {
        let batch = self.starts.partition_point(|start| *start <= row) - 1;
        (batch, row - self.starts[batch])
    }
}

impl Order {
    /// First and last row, unless there are none.
    pub(super) fn ends(&self) -> Option<(usize, usize)> {
        match self {
            Self::Range(range) => (!range.is_empty()).then(|| (range.start, range.end - 1)),
            Self::Rows(rows) => Some((*rows.first()? as usize, *rows.last()? as usize)),
        }
    }

    /// A list that is a range becomes one.
    pub(super) fn from_rows(rows: Vec<u32>) -> Self {
        match (rows.first(), rows.last()) {
            (Some(&first), Some(&last))
                if rows.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(1)) =>
            {
                Self::Range(first as usize..last as usize + 1)
            }
            _ => Self::Rows(rows),
        }
    }

    /// The same rows ordered by their keys; equal keys stay in the order in which they came.
    pub(super) fn sorted(self, keys: &Keys) -> Self {
        let is_sorted = match &self {
            Self::Range(range) => is_sorted(keys, range.clone()),
            Self::Rows(rows) => is_sorted(keys, rows.iter().map(|row| *row as usize)),
        };
        if is_sorted {
            return self;
        }
        let rows = match self {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "rows of a chunk are numbered in 32 bits"
            )]
            Self::Range(range) => range.map(|row| row as u32).collect(),
            Self::Rows(rows) => rows,
        };
        Self::from_rows(match keys {
            Keys::None(_) => rows,
            Keys::Small(keys) => sort_numbers(keys, &rows),
            Keys::Large(keys) => sort_numbers(keys, &rows),
            Keys::Rows(keys) => sort_rows(keys, &rows),
        })
    }
}

/// True if these rows are in the order of their keys.
pub(super) fn is_sorted(keys: &Keys, rows: impl Iterator<Item = usize>) -> bool {
    if matches!(keys, Keys::None(_)) {
        return true;
    }
    let mut rows = rows;
    let Some(mut before) = rows.next() else { return true };
    rows.all(|row| {
        let is_ordered = keys.compare(before, keys, row).is_le();
        before = row;
        is_ordered
    })
}

/// The row number breaks ties, which makes an unstable sort stable.
fn sort_numbers<T: Copy + Ord>(keys: &[T], rows: &[u32]) -> Vec<u32> {
    let mut pairs: Vec<(T, u32)> = rows.iter().map(|row| (keys[*row as usize], *row)).collect();
    pairs.sort_unstable();
    pairs.into_iter().map(|(_, row)| row).collect()
}

/// Compares the first bytes as a number, and goes to the rows only where those are equal.
fn sort_rows(keys: &Rows, rows: &[u32]) -> Vec<u32> {
    let head = |row: u32| {
        let row = keys.row(row as usize);
        let bytes = row.data();
        let mut head = [0; 8];
        let length = bytes.len().min(8);
        head[..length].copy_from_slice(&bytes[..length]);
        u64::from_be_bytes(head)
    };
    let mut pairs: Vec<(u64, u32)> = rows.iter().map(|row| (head(*row), *row)).collect();
    pairs.sort_unstable_by(|left, right| {
        left.0.cmp(&right.0).then_with(|| {
            let rows = keys.row(left.1 as usize).cmp(&keys.row(right.1 as usize));
            rows.then(left.1.cmp(&right.1))
        })
    });
    pairs.into_iter().map(|(_, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::{Chunk, Keys, Order};
    use arrow_array::cast::AsArray;
    use arrow_array::types::UInt64Type;
    use arrow_array::{RecordBatch, UInt64Array};
    use std::sync::Arc;

    fn chunk(batches: &[&[u64]]) -> Chunk {
        let batch = |values: &&[u64]| {
            let column: arrow_array::ArrayRef = Arc::new(UInt64Array::from(values.to_vec()));
            RecordBatch::try_from_iter([("k", column)]).unwrap()
        };
        Chunk::new(batches.iter().map(batch).collect())
    }

    fn values(chunk: &Chunk, order: &Order, piece: usize) -> Vec<u64> {
        let mut values = Vec::new();
        let mut consume = |batch: RecordBatch| {
            values.extend_from_slice(batch.column(0).as_primitive::<UInt64Type>().values());
            Ok(())
        };
        chunk.for_each(order, piece, &mut consume).unwrap();
        values
    }

    #[test]
    fn ranges_and_lists_are_read_across_batches() {
        let chunk = chunk(&[&[5, 1], &[], &[4], &[2, 9, 3]]);
        assert_eq!(chunk.rows(), 6);
        assert_eq!(values(&chunk, &Order::Range(1..5), 100), [1, 4, 2, 9]);
        let order = Order::Range(0..6).sorted(&Keys::Small(vec![5, 1, 4, 2, 9, 3]));
        assert_eq!(order, Order::Rows(vec![1, 3, 5, 2, 0, 4]));
        for piece in 1..8 {
            assert_eq!(values(&chunk, &order, piece), [1, 2, 3, 4, 5, 9]);
        }
    }

    #[test]
    fn sorted_rows_stay_a_range_and_equal_keys_keep_their_order() {
        let keys = Keys::Large(vec![1, 1, 2, 7, 7, 0, 0]);
        assert_eq!(Order::Range(0..5).sorted(&keys), Order::Range(0..5));
        assert_eq!(Order::from_rows(vec![2, 3, 4]), Order::Range(2..5));
        assert_eq!(Order::Range(0..7).sorted(&keys), Order::Rows(vec![5, 6, 0, 1, 2, 3, 4]));
        assert_eq!(Order::Rows(vec![6, 1, 5, 0]).sorted(&keys), Order::Rows(vec![5, 6, 0, 1]));
        assert_eq!(Order::Range(0..7).sorted(&Keys::None(7)), Order::Range(0..7));
    }
}
