//! All values of all groups in one pile, for aggregates that need all values of a group at once.
//!
//! The engine would give each group an accumulator, and each of them a slice of each batch: with a hundred thousand groups that takes
//! thirty times as long as the values do, and each slice counts as the memory of all.

use super::copied;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListArray, UInt64Array, new_empty_array,
};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{concat, take};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

/// What becomes of the values of a group, which has none that is NULL.
type Finish = Box<dyn Fn(ArrayRef) -> Result<ScalarValue> + Send + Sync>;

/// The pile.
pub struct Piled {
    finish: Finish,
    data_type: DataType,
    chunks: Vec<ArrayRef>,
    /// The group of each value.
    groups: Vec<usize>,
    total: usize,
    /// Bytes of the chunks.
    bytes: usize,
}

impl Debug for Piled {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Piled").field("values", &self.groups.len()).finish_non_exhaustive()
    }
}

impl Piled {
    /// Of values of this type.
    pub fn new(
        data_type: DataType,
        finish: impl Fn(ArrayRef) -> Result<ScalarValue> + Send + Sync + 'static,
    ) -> Self {
        let finish = Box::new(finish);
        Self { finish, data_type, chunks: Vec::new(), groups: Vec::new(), total: 0, bytes: 0 }
    }

    /// Of values of this type, of which lists are wanted.
    pub(super) fn of_lists(data_type: DataType) -> Self {
        let item = Arc::new(Field::new_list_field(data_type.clone(), true));
        Self::new(data_type, move |values| {
            let offsets = OffsetBuffer::from_lengths([values.len()]);
            let list = ListArray::try_new(Arc::clone(&item), offsets, values, None)?;
            Ok(ScalarValue::List(Arc::new(list)))
        })
    }

    /// Makes room for this many groups.
    pub(super) fn resize(&mut self, groups: usize) {
        self.total = groups;
    }

    /// Adds some rows of a batch to their groups.
    pub(super) fn add(
        &mut self,
        values: &dyn Array,
        rows: impl Iterator<Item = (usize, usize)>,
    ) -> Result<()> {
        let (rows, groups): (Vec<u64>, Vec<usize>) =
            rows.map(|(row, group)| (row as u64, group)).unzip();
        self.groups.extend(groups);
        self.push(values, rows)
    }

    fn push(&mut self, values: &dyn Array, rows: Vec<u64>) -> Result<()> {
        if !rows.is_empty() {
            let chunk = copied(values, rows)?;
            self.bytes += chunk.get_array_memory_size();
            self.chunks.push(chunk);
        }
        Ok(())
    }

    /// The values of the groups that are handed out, a list for each.
    pub(super) fn lists_of(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (values, lengths) = self.emitted(emit_to)?;
        self.lists(values, &lengths)
    }

    /// Adds the items of lists to the groups of these.
    pub(super) fn add_lists(&mut self, lists: &ListArray, group_indices: &[usize]) -> Result<()> {
        let offsets = lists.value_offsets().windows(2);
        let rows = offsets.zip(group_indices).enumerate().flat_map(|(row, (ends, group))| {
            // What lies below a NULL does not count.
            let ends = if lists.is_valid(row) { ends } else { &[0, 0] };
            let places = ends[0]..ends[1];
            places.map(|place| (usize::try_from(place).unwrap_or(usize::MAX), *group))
        });
        self.add(lists.values(), rows)
    }

    /// A list for each row: of its value, or of none.
    pub(super) fn lists_of_one(
        &self,
        values: &dyn Array,
        is_in: impl Fn(usize) -> bool,
    ) -> Result<ArrayRef> {
        let lengths: Vec<usize> = (0..values.len()).map(|row| usize::from(is_in(row))).collect();
        let rows: Vec<u64> =
            (0..values.len()).filter(|row| is_in(*row)).map(|row| row as u64).collect();
        self.lists(take(values, &UInt64Array::from(rows), None)?, &lengths)
    }

    /// The values of the groups that are handed out, one group after another, and how many each has.
    pub(super) fn emitted(&mut self, emit_to: EmitTo) -> Result<(ArrayRef, Vec<usize>)> {
        let count = match emit_to {
            EmitTo::All => self.total,
            EmitTo::First(count) => count,
        };
        let chunks: Vec<&dyn Array> = self.chunks.iter().map(AsRef::as_ref).collect();
        let all =
            if chunks.is_empty() { new_empty_array(&self.data_type) } else { concat(&chunks)? };
        let mut lengths = vec![0; count];
        let mut rest = Vec::new();
        for (row, group) in self.groups.iter().enumerate() {
            match lengths.get_mut(*group) {
                Some(length) => *length += 1,
                None => rest.push((row as u64, group - count)),
            }
        }
        // Each group's values stay in the order in which they came.
        let mut places: Vec<usize> = OffsetBuffer::<i64>::from_lengths(lengths.iter().copied())
            .iter()
            .map(|offset| usize::try_from(*offset).unwrap_or(0))
            .collect();
        let mut order = vec![0_u64; lengths.iter().sum()];
        for (row, group) in self.groups.iter().enumerate() {
            if let Some(place) = places.get_mut(*group).filter(|_| *group < count) {
                order[*place] = row as u64;
                *place += 1;
            }
        }
        let values = take(&all, &UInt64Array::from(order), None)?;
        let (rows, groups): (Vec<u64>, Vec<usize>) = rest.into_iter().unzip();
        self.chunks.clear();
        self.bytes = 0;
        self.push(&all, rows)?;
        self.groups = groups;
        self.total -= count;
        Ok((values, lengths))
    }

    fn lists(&self, values: ArrayRef, lengths: &[usize]) -> Result<ArrayRef> {
        let item = Arc::new(Field::new_list_field(self.data_type.clone(), true));
        let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
        Ok(Arc::new(ListArray::try_new(item, offsets, values, None)?))
    }
}

impl GroupsAccumulator for Piled {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.total = total_num_groups;
        let Some(values) = values.first() else { return Ok(()) };
        let is_in = |row: usize| {
            let is_in = opt_filter.is_none_or(|it| it.is_valid(row) && it.value(row));
            is_in && values.is_valid(row)
        };
        self.add(values, group_indices.iter().copied().enumerate().filter(|it| is_in(it.0)))
    }
    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.total = total_num_groups;
        match values.first().and_then(|state| state.as_list_opt::<i32>()) {
            Some(lists) => self.add_lists(lists, group_indices),
            None => Ok(()),
        }
    }
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (values, lengths) = self.emitted(emit_to)?;
        let mut start = 0;
        let results = lengths.into_iter().map(|length| {
            start += length;
            (self.finish)(values.slice(start - length, length))
        });
        let results = results.collect::<Result<Vec<_>>>()?;
        if results.is_empty() {
            return Ok(new_empty_array(&self.data_type));
        }
        ScalarValue::iter_to_array(results)
    }
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.lists_of(emit_to)?])
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let Some(values) = values.first() else { return Ok(Vec::new()) };
        let is_in = |row: usize| {
            values.is_valid(row) && opt_filter.is_none_or(|it| it.is_valid(row) && it.value(row))
        };
        Ok(vec![self.lists_of_one(values, is_in)?])
    }
    fn size(&self) -> usize {
        self.bytes + self.groups.capacity() * size_of::<usize>()
    }
}
