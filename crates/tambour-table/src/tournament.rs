//! The k-way merge: sorted sources in, one sorted stream of batches out, with one batch of each source in memory.
//!
//! Equal keys keep the order of the sources. Where a source leads by many rows, they are found by galloping and passed on
//! as slices; rows that alternate are interleaved.

use super::intake::{Dictionaries, interleaved};
use super::key::Keys;
use crate::TableError;
use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use std::cmp::Ordering;

/// What is merged: batches with their keys, which were checked to be sorted.
pub(super) type Sorted<'a> =
    Box<dyn Iterator<Item = Result<(RecordBatch, Keys), TableError>> + Send + 'a>;

/// Pieces that are longer on average are copied as runs, shorter ones row by row.
const RUN_ROWS: usize = 32;

/// Merges sorted sources.
pub(super) struct Tournament<'a> {
    sources: Vec<Contender<'a>>,
    /// Numbers of the sources that have rows left, the one with the smallest row first: a binary heap.
    heap: Vec<usize>,
    /// Batches that pieces point into.
    arena: Vec<RecordBatch>,
    pieces: Vec<Piece>,
    rows: usize,
    rows_max: usize,
    dictionaries: Dictionaries,
    is_primed: bool,
    /// A number for each source, if those of rows are wanted.
    marks: Vec<u32>,
    /// Those of the rows of the last batch.
    origins: Vec<u32>,
}

/// A source and where it stands.
struct Contender<'a> {
    batches: Sorted<'a>,
    /// Its batch, in the arena.
    batch: usize,
    keys: Keys,
    row: usize,
    /// The key of its row, if keys are numbers: what nearly all comparisons are about.
    head: Option<u128>,
}

impl Contender<'_> {
    fn stand_at(&mut self, row: usize) {
        self.row = row;
        self.head = if row < self.keys.len() { self.keys.number(row) } else { None };
    }

    /// The order of one of its rows and the row at which another source stands.
    fn compare(&self, row: usize, other: &Self) -> Ordering {
        match (self.keys.number(row), other.head) {
            (Some(key), Some(head)) => key.cmp(&head),
            _ => self.keys.compare(row, &other.keys, other.row),
        }
    }
}

/// Rows of one batch that are next in the result.
struct Piece {
    source: usize,
    batch: usize,
    start: usize,
    rows: usize,
}

impl<'a> Tournament<'a> {
    /// Merges sources into batches of `rows_max` rows.
    pub(super) fn new(sources: Vec<Sorted<'a>>, rows_max: usize) -> Self {
        let contender =
            |batches| Contender { batches, batch: 0, keys: Keys::None(0), row: 0, head: None };
        Self {
            sources: sources.into_iter().map(contender).collect(),
            heap: Vec::new(),
            arena: Vec::new(),
            pieces: Vec::new(),
            rows: 0,
            rows_max: rows_max.max(1),
            dictionaries: Dictionaries::default(),
            is_primed: false,
            marks: Vec::new(),
            origins: Vec::new(),
        }
    }

    /// Gives each source a number, which [`Tournament::origins`] tells of rows.
    pub(super) fn marked(mut self, marks: Vec<u32>) -> Self {
        self.marks = marks;
        self
    }

    /// The numbers of the sources of the rows of the last batch; none if the sources have none.
    pub(super) fn origins(&self) -> &[u32] {
        &self.origins
    }

    fn prime(&mut self) -> Result<(), TableError> {
        self.is_primed = true;
        for source in 0..self.sources.len() {
            if self.load(source)? {
                self.heap.push(source);
            }
        }
        for position in (0..self.heap.len() / 2).rev() {
            self.sift_down(position);
        }
        Ok(())
    }

    /// Gives a source its next batch; false if it has none.
    fn load(&mut self, source: usize) -> Result<bool, TableError> {
        let contender = &mut self.sources[source];
        contender.keys = Keys::None(0);
        match contender.batches.next().transpose()? {
            None => Ok(false),
            Some((batch, keys)) => {
                contender.keys = keys;
                contender.stand_at(0);
                contender.batch = self.arena.len();
                self.arena.push(self.dictionaries.unify(batch)?);
                Ok(true)
            }
        }
    }

    /// The order of the current rows of two sources.
    fn compare(&self, left: usize, right: usize) -> Ordering {
        let (one, other) = (&self.sources[left], &self.sources[right]);
        let order = match (one.head, other.head) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => one.keys.compare(one.row, &other.keys, other.row),
        };
        order.then(left.cmp(&right))
    }

    fn sift_down(&mut self, mut position: usize) {
        loop {
            let mut smallest = position;
            for child in [2 * position + 1, 2 * position + 2] {
                if child < self.heap.len()
                    && self.compare(self.heap[child], self.heap[smallest]).is_lt()
                {
                    smallest = child;
                }
            }
            if smallest == position {
                return;
            }
            self.heap.swap(position, smallest);
            position = smallest;
        }
    }

    /// The source that leads when `heap[0]` is left out.
    fn runner_up(&self) -> Option<usize> {
        match (self.heap.get(1), self.heap.get(2)) {
            (Some(&left), Some(&right)) => {
                Some(if self.compare(left, right).is_lt() { left } else { right })
            }
            (left, _) => left.copied(),
        }
    }

    /// How many rows of the leader come before the first row of the runner-up; at most `limit`, at least one.
    fn lead(&self, leader: usize, runner_up: usize, limit: usize) -> usize {
        let (one, other) = (&self.sources[leader], &self.sources[runner_up]);
        let is_before =
            |rows: usize| one.compare(one.row + rows, other).then(leader.cmp(&runner_up)).is_lt();
        // Rows below `low` are before, the one at `high` is not (or is out of reach).
        let (mut low, mut step) = (1, 1);
        while low < limit && is_before(low) {
            low += step;
            step *= 2;
        }
        let (mut low, mut high) = (low.saturating_sub(step / 2).max(1), low.min(limit));
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Takes the rows of the leader that come next.
    fn advance(&mut self, leader: usize) -> Result<(), TableError> {
        let contender = &self.sources[leader];
        let left = contender.keys.len() - contender.row;
        let limit = left.min(self.rows_max - self.rows);
        let rows = match self.runner_up() {
            Some(runner_up) => self.lead(leader, runner_up, limit),
            None => limit,
        };
        let contender = &mut self.sources[leader];
        let (batch, start) = (contender.batch, contender.row);
        self.pieces.push(Piece { source: leader, batch, start, rows });
        contender.stand_at(start + rows);
        self.rows += rows;
        if rows == left && !self.load(leader)? {
            self.heap.swap_remove(0);
        }
        self.sift_down(0);
        Ok(())
    }

    /// Makes a batch of the pieces, and lets go of the batches that are used up.
    fn flush(&mut self) -> Result<RecordBatch, TableError> {
        let batch = self.assemble()?;
        if !self.marks.is_empty() {
            let of_piece = |it: &Piece| std::iter::repeat_n(self.marks[it.source], it.rows);
            self.origins = self.pieces.iter().flat_map(of_piece).collect();
        }
        self.pieces.clear();
        self.rows = 0;
        let mut kept = Vec::with_capacity(self.heap.len());
        for source in &self.heap {
            let contender = &mut self.sources[*source];
            kept.push(self.arena[contender.batch].clone());
            contender.batch = kept.len() - 1;
        }
        self.arena = kept;
        Ok(batch)
    }

    fn assemble(&self) -> Result<RecordBatch, TableError> {
        let slice = |piece: &Piece| self.arena[piece.batch].slice(piece.start, piece.rows);
        if let [piece] = self.pieces.as_slice() {
            return Ok(slice(piece));
        }
        let operation = "merging rows";
        if self.rows >= RUN_ROWS * self.pieces.len() {
            let slices: Vec<RecordBatch> = self.pieces.iter().map(slice).collect();
            return concat_batches(&slices[0].schema(), &slices)
                .map_err(TableError::arrow(operation));
        }
        let batches: Vec<&RecordBatch> = self.arena.iter().collect();
        let places: Vec<(usize, usize)> = self
            .pieces
            .iter()
            .flat_map(|piece| (0..piece.rows).map(|row| (piece.batch, piece.start + row)))
            .collect();
        interleaved(&batches, &places).map_err(TableError::arrow(operation))
    }

    fn step(&mut self) -> Result<Option<RecordBatch>, TableError> {
        if !self.is_primed {
            self.prime()?;
        }
        while self.rows < self.rows_max {
            let Some(leader) = self.heap.first().copied() else { break };
            self.advance(leader)?;
        }
        if self.rows == 0 { Ok(None) } else { self.flush().map(Some) }
    }
}

impl Iterator for Tournament<'_> {
    type Item = Result<RecordBatch, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::{Sorted, Tournament};
    use crate::key::Key;
    use crate::schema::expression::Expression;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{UInt32Type, UInt64Type};
    use arrow_array::{ArrayRef, RecordBatch, StringViewArray, UInt32Array, UInt64Array};
    use proptest::prelude::{ProptestConfig, any, prop, proptest};
    use std::sync::Arc;
    use tambour_part::types::{Column, DataType};

    /// Columns: the key as number and as text, the source, the position in the source.
    fn batch(source: usize, first: usize, keys: &[u64]) -> RecordBatch {
        let number: ArrayRef = Arc::new(UInt64Array::from(keys.to_vec()));
        let texts = keys.iter().map(|key| format!("a long common prefix {key:020}"));
        let text: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
        let sources: ArrayRef = Arc::new(UInt64Array::from(vec![source as u64; keys.len()]));
        let rows = (first..first + keys.len()).map(|row| u32::try_from(row).unwrap());
        let positions: ArrayRef = Arc::new(UInt32Array::from_iter_values(rows));
        let columns = [("k", number), ("s", text), ("source", sources), ("position", positions)];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn merge(key: &str, sources: &[Vec<Vec<u64>>], rows_max: usize) -> Vec<(u64, u64, u32)> {
        let columns = [
            Column { name: "k".to_owned(), data_type: DataType::UInt64 },
            Column { name: "s".to_owned(), data_type: DataType::String },
        ];
        let schema = batch(0, 0, &[]).schema();
        let key = Key::new(&Expression::parse_key(key).unwrap(), &columns, &schema).unwrap();
        let sorted = |(number, batches): (usize, &Vec<Vec<u64>>)| {
            let mut first = 0;
            let mut result = Vec::new();
            for keys in batches.iter().filter(|keys| !keys.is_empty()) {
                let batch = batch(number, first, keys);
                first += keys.len();
                let keys = key.evaluate(&batch).unwrap();
                result.push(Ok((batch, keys)));
            }
            Box::new(result.into_iter()) as Sorted<'static>
        };
        let sources = sources.iter().enumerate().map(sorted).collect();
        let mut rows = Vec::new();
        for batch in Tournament::new(sources, rows_max) {
            let batch = batch.unwrap();
            assert!((1..=rows_max).contains(&batch.num_rows()));
            let number = |column: usize| batch.column(column).as_primitive::<UInt64Type>().values();
            let positions = batch.column(3).as_primitive::<UInt32Type>().values();
            for row in 0..batch.num_rows() {
                rows.push((number(0)[row], number(2)[row], positions[row]));
            }
        }
        rows
    }

    #[test]
    fn no_sources_and_empty_sources_give_nothing() {
        assert!(merge("k", &[], 10).is_empty());
        assert!(merge("k", &[vec![], vec![vec![]]], 10).is_empty());
    }

    #[test]
    fn without_a_key_sources_follow_each_other() {
        let sources = [vec![vec![3, 1], vec![2]], vec![vec![1]]];
        assert_eq!(merge("tuple()", &sources, 2), [(3, 0, 0), (1, 0, 1), (2, 0, 2), (1, 1, 0)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// The result is what a stable sort of all rows gives, however the rows are cut into batches.
        #[test]
        fn merging_is_a_stable_sort(
            sources in prop::collection::vec(
                (prop::collection::vec(0_u64..60, 0..300), 1_usize..90, any::<bool>()), 0..9),
            rows_max in 1_usize..200,
            by_text in any::<bool>(),
        ) {
            let mut expected = Vec::new();
            let mut cut = Vec::new();
            for (number, (mut keys, batch_rows, is_far)) in sources.into_iter().enumerate() {
                keys.sort_unstable();
                if is_far {
                    // Runs that do not overlap with those of other sources.
                    for key in &mut keys {
                        *key += 1000 * number as u64;
                    }
                }
                let rows = keys.iter().enumerate();
                expected.extend(rows.map(|(row, key)| (*key, number as u64, u32::try_from(row).unwrap())));
                cut.push(keys.chunks(batch_rows).map(<[u64]>::to_vec).collect::<Vec<_>>());
            }
            expected.sort_unstable();
            assert_eq!(merge(if by_text { "s" } else { "k" }, &cut, rows_max), expected);
        }
    }
}
