//! The accumulators of `quantile` of numbers: between the two values at a place of the sorted ones. The engine's own takes a NaN
//! for the greatest value, and looks at the first six digits of the place alone.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, ListArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType as ArrowType, Field, Float64Type};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// All values of a group, without NULLs.
#[derive(Debug, Default, Clone)]
struct Values(Vec<f64>);

impl Values {
    /// The value at a level from 0 to 1, each value counted once if asked. A NaN does not count, unless there is nothing else.
    fn quantile(mut self, level: f64, is_distinct: bool) -> Option<f64> {
        let has_values = !self.0.is_empty();
        self.0.retain(|value| !value.is_nan());
        if is_distinct {
            self.0.sort_unstable_by(f64::total_cmp);
            self.0.dedup();
        }
        let Some(last) = self.0.len().checked_sub(1) else {
            return has_values.then_some(f64::NAN);
        };
        #[expect(clippy::cast_precision_loss, reason = "fewer values than a float counts")]
        let place = level * last as f64;
        #[expect(clippy::cast_possible_truncation, reason = "a level is at most 1")]
        let row = (place as usize).min(last);
        let (_, left, above) = self.0.select_nth_unstable_by(row, f64::total_cmp);
        let left = *left;
        let right = above.iter().copied().min_by(f64::total_cmp);
        #[expect(clippy::cast_precision_loss, reason = "fewer values than a float counts")]
        let below = row as f64;
        Some(right.map_or(left, |right| left * (below + 1.0 - place) + right * (place - below)))
    }
}

/// The numbers of a column.
fn floats(values: &[ArrayRef]) -> Result<Float64Array> {
    let Some(values) = values.first() else { return exec_err!("a quantile takes an argument") };
    let wide = arrow::compute::cast(values, &ArrowType::Float64)?;
    Ok(wide.as_primitive::<Float64Type>().clone())
}

/// Lists of numbers, which are what one step of an aggregation hands to the next.
fn lists(groups: Vec<Values>) -> Result<ListArray> {
    let offsets = OffsetBuffer::from_lengths(groups.iter().map(|it| it.0.len()));
    let values: Vec<f64> = groups.into_iter().flat_map(|it| it.0).collect();
    let item = Arc::new(Field::new_list_field(ArrowType::Float64, true));
    Ok(ListArray::try_new(item, offsets, Arc::new(Float64Array::from(values)), None)?)
}

/// The quantile of one group.
#[derive(Debug)]
pub(super) struct Single {
    level: f64,
    is_distinct: bool,
    values: Values,
}

impl Single {
    pub(super) fn new(level: f64, is_distinct: bool) -> Self {
        Self { level, is_distinct, values: Values::default() }
    }
}

impl Accumulator for Single {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.values.0.extend(floats(values)?.iter().flatten());
        Ok(())
    }
    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for gone in floats(values)?.iter().flatten() {
            let is_it = |value: &f64| value.to_bits() == gone.to_bits();
            if let Some(at) = self.values.0.iter().position(is_it) {
                self.values.0.swap_remove(at);
            }
        }
        Ok(())
    }
    fn supports_retract_batch(&self) -> bool {
        true
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(lists) = states.first().and_then(|state| state.as_list_opt::<i32>()) else {
            return Ok(());
        };
        lists.iter().flatten().try_for_each(|list| self.update_batch(&[list]))
    }
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let quantile = self.values.clone().quantile(self.level, self.is_distinct);
        Ok(ScalarValue::Float64(quantile))
    }
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::List(Arc::new(lists(vec![std::mem::take(&mut self.values)])?))])
    }
    fn size(&self) -> usize {
        size_of_val(self) + self.values.0.capacity() * size_of::<f64>()
    }
}

/// The quantiles of many groups.
#[derive(Debug)]
pub(super) struct Grouped {
    level: f64,
    is_distinct: bool,
    groups: Vec<Values>,
    /// Numbers in all of them.
    count: usize,
}

impl Grouped {
    pub(super) fn new(level: f64, is_distinct: bool) -> Self {
        Self { level, is_distinct, groups: Vec::new(), count: 0 }
    }
    fn emitted(&mut self, emit_to: EmitTo) -> Vec<Values> {
        let groups = emit_to.take_needed(&mut self.groups);
        self.count -= groups.iter().map(|it| it.0.len()).sum::<usize>();
        groups
    }
}

impl GroupsAccumulator for Grouped {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups, Values::default());
        for (row, (value, group)) in floats(values)?.iter().zip(group_indices).enumerate() {
            let is_taken = opt_filter.is_none_or(|it| it.is_valid(row) && it.value(row));
            if let Some(value) = value.filter(|_| is_taken) {
                self.groups[*group].0.push(value);
                self.count += 1;
            }
        }
        Ok(())
    }
    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.groups.resize(total_num_groups, Values::default());
        let Some(lists) = values.first().and_then(|state| state.as_list_opt::<i32>()) else {
            return Ok(());
        };
        for (list, group) in lists.iter().zip(group_indices) {
            let Some(list) = list else { continue };
            let before = self.groups[*group].0.len();
            self.groups[*group].0.extend(list.as_primitive::<Float64Type>().iter().flatten());
            self.count += self.groups[*group].0.len() - before;
        }
        Ok(())
    }
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (level, is_distinct) = (self.level, self.is_distinct);
        let groups = self.emitted(emit_to).into_iter();
        let quantiles = groups.map(|group| group.quantile(level, is_distinct));
        Ok(Arc::new(quantiles.collect::<Float64Array>()))
    }
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![Arc::new(lists(self.emitted(emit_to))?)])
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values = floats(values)?;
        let rows = values.iter().enumerate().map(|(row, value)| {
            let is_taken = opt_filter.is_none_or(|it| it.is_valid(row) && it.value(row));
            Values(value.filter(|_| is_taken).into_iter().collect())
        });
        Ok(vec![Arc::new(lists(rows.collect())?)])
    }
    fn size(&self) -> usize {
        // A vector has room for twice its numbers at most.
        self.groups.capacity() * size_of::<Values>() + 2 * self.count * size_of::<f64>()
    }
}
