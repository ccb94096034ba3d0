//! The different values of each group: `groupUniqArray(x)`.
//!
//! The engine has a set of each group. Here there is one of all groups, of the bytes of values, and a pile of the values that were
//! met first.

use super::distinct::{Different, bytes_of};
use super::grouped::{Grouped, aggregate};
use super::piled::Piled;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{AggregateUDF, EmitTo, GroupsAccumulator};

/// The aggregate that lists the different values that are not NULL, in the order in which they are met. Nobody types its name.
pub(super) fn unique() -> AggregateUDF {
    aggregate::<OfGroups>()
}

#[derive(Debug)]
struct OfGroups {
    different: Different,
    pile: Piled,
}

impl OfGroups {
    /// Takes the values that are new to their groups.
    fn see(&mut self, values: &ArrayRef, rows: impl Iterator<Item = (usize, usize)>) -> Result<()> {
        let bytes = bytes_of(values)?;
        let is_new = |(row, group): &(usize, usize)| {
            bytes.is_valid(*row) && self.different.see(*group, bytes.value(*row))
        };
        self.pile.add(values, rows.filter(is_new))
    }
}

impl Grouped for OfGroups {
    const NAME: &'static str = "\u{1f}unique";
    const ARGUMENTS: usize = 1;

    fn new(args: &AccumulatorArgs<'_>) -> Result<Self> {
        let lists = args.return_field.data_type();
        let DataType::List(item) = lists else { return internal_err!("{lists} is not a list") };
        let pile = Piled::of_lists(item.data_type().clone());
        Ok(Self { different: Different::default(), pile })
    }
    fn result(types: &[DataType]) -> Result<DataType> {
        let [value] = types else { return plan_err!("it takes an argument") };
        Ok(DataType::new_list(value.clone(), true))
    }
    fn states(result: &DataType) -> Vec<(&'static str, DataType)> {
        vec![("unique", result.clone())]
    }
}

impl GroupsAccumulator for OfGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.different.resize(total_num_groups);
        self.pile.resize(total_num_groups);
        let [values] = values else { return Ok(()) };
        let is_in = |row: usize| filter.is_none_or(|it| it.is_valid(row) && it.value(row));
        self.see(values, group_indices.iter().copied().enumerate().filter(|it| is_in(it.0)))
    }
    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.different.resize(total_num_groups);
        self.pile.resize(total_num_groups);
        let [lists] = values else { return Ok(()) };
        let lists = lists.as_list::<i32>();
        let rows = group_indices.iter().enumerate().flat_map(|(list, group)| {
            let start = usize::try_from(lists.value_offsets()[list]).unwrap_or(0);
            let length = usize::try_from(lists.value_length(list)).unwrap_or(0);
            let length = if lists.is_valid(list) { length } else { 0 };
            (start..start + length).map(|row| (row, *group))
        });
        self.see(lists.values(), rows)
    }
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        drop(self.different.counted(emit_to));
        self.pile.lists_of(emit_to)
    }
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.evaluate(emit_to)?])
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        self.pile.convert_to_state(values, filter)
    }
    fn size(&self) -> usize {
        GroupsAccumulator::size(&self.different) + self.pile.size()
    }
}
