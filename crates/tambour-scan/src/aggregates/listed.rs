//! The values of each group in an order: `groupArray(x)` over `(SELECT x … ORDER BY y)`.
//!
//! The engine keeps a value and its keys as scalars of their own, which takes ten times as long as the values do, and counts the memory
//! of a batch once for each array in it. Here they lie in two piles, of the values and of the bytes of their keys, and each
//! group is sorted when it is handed out.

use super::call_of;
use super::distinct::is_told_by_bytes;
use super::first::{order_bytes, spelled};
use super::grouped::{Grouped, aggregate};
use super::piled::Piled;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, LargeBinaryArray, ListArray, UInt64Array,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, EmitTo, Expr, ExprSchemable, GroupsAccumulator, cast, lit,
};
use std::sync::Arc;

/// The calls of an aggregate, of which lists in an order have an accumulator of many groups.
pub(super) fn calls(aggregate: &Aggregate) -> Result<Vec<Expr>> {
    aggregate.aggr_expr.iter().map(|expr| listed(expr, aggregate)).collect()
}

fn listed(expr: &Expr, aggregate: &Aggregate) -> Result<Expr> {
    let is_listed = |call: &&AggregateFunction| {
        call.func.name() == "array_agg" && !call.params.order_by.is_empty() && !call.params.distinct
    };
    let Some(call) = call_of(expr).filter(is_listed) else { return Ok(expr.clone()) };
    let [value] = call.params.args.as_slice() else { return Ok(expr.clone()) };
    let schema = aggregate.input.schema();
    // A list of a dictionary is made of its values anew.
    let value = match value.get_type(schema)? {
        DataType::Dictionary(_, texts) => cast(value.clone(), *texts),
        _ => value.clone(),
    };
    let mut params = call.params.clone();
    let keys: Vec<Expr> = params.order_by.iter().map(|it| it.expr.clone()).collect();
    for key in &keys {
        if !is_told_by_bytes(&key.get_type(schema)?) {
            params.args = vec![value];
            let func = Arc::clone(&call.func);
            return Ok(Expr::AggregateFunction(AggregateFunction { func, params }));
        }
    }
    let order = [lit(spelled(&params.order_by))].into_iter().chain(keys).collect();
    params.args = vec![value, order_bytes().call(order)];
    params.order_by = Vec::new();
    Ok(Expr::AggregateFunction(AggregateFunction { func: Arc::new(list()), params }))
}

/// The aggregate that lists values by the bytes of an order, those with the same bytes as they came. Nobody types its name.
pub(super) fn list() -> AggregateUDF {
    aggregate::<OfGroups>()
}

#[derive(Debug)]
struct OfGroups {
    values: Piled,
    /// The bytes of the order of each value.
    orders: Piled,
    item: FieldRef,
    ignores_nulls: bool,
}

impl OfGroups {
    fn resize(&mut self, groups: usize) {
        self.values.resize(groups);
        self.orders.resize(groups);
    }

    fn is_in(&self, values: &dyn Array, filter: Option<&BooleanArray>, row: usize) -> bool {
        filter.is_none_or(|it| it.is_valid(row) && it.value(row))
            && !(self.ignores_nulls && values.is_null(row))
    }
}

impl Grouped for OfGroups {
    const NAME: &'static str = "\u{1f}list";
    const ARGUMENTS: usize = 2;

    fn new(args: &AccumulatorArgs<'_>) -> Result<Self> {
        let lists = args.return_field.data_type();
        let DataType::List(item) = lists else { return internal_err!("{lists} is not a list") };
        Ok(Self {
            values: Piled::of_lists(item.data_type().clone()),
            orders: Piled::of_lists(DataType::LargeBinary),
            item: Arc::clone(item),
            ignores_nulls: args.ignore_nulls,
        })
    }
    fn result(types: &[DataType]) -> Result<DataType> {
        let [value, _] = types else { return plan_err!("it takes two arguments") };
        Ok(DataType::new_list(value.clone(), true))
    }
    fn states(result: &DataType) -> Vec<(&'static str, DataType)> {
        let orders = DataType::new_list(DataType::LargeBinary, true);
        vec![("values", result.clone()), ("orders", orders)]
    }
}

/// The rows of all groups, each sorted by the bytes of its orders; `None` if they are already.
fn sorted(orders: &LargeBinaryArray, lengths: &[usize]) -> Option<UInt64Array> {
    let mut rows: Vec<u64> = Vec::new();
    let bytes = |row: u64| orders.value(usize::try_from(row).unwrap_or(usize::MAX));
    let mut start = 0;
    for length in lengths {
        let group = start..start + length;
        start += length;
        if !group.clone().is_sorted_by(|a, b| orders.value(*a) <= orders.value(*b)) {
            if rows.is_empty() {
                rows = (0..orders.len() as u64).collect();
            }
            rows[group].sort_by(|a, b| bytes(*a).cmp(bytes(*b)));
        }
    }
    (!rows.is_empty()).then(|| rows.into())
}

impl GroupsAccumulator for OfGroups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        let [values, orders] = values else { return Ok(()) };
        let rows = group_indices.iter().copied().enumerate();
        let rows: Vec<_> = rows.filter(|it| self.is_in(values, filter, it.0)).collect();
        self.values.add(values, rows.iter().copied())?;
        self.orders.add(orders, rows.into_iter())
    }
    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.resize(total_num_groups);
        let [values, orders] = values else { return Ok(()) };
        self.values.add_lists(values.as_list(), group_indices)?;
        self.orders.add_lists(orders.as_list(), group_indices)
    }
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let (values, lengths) = self.values.emitted(emit_to)?;
        let (orders, _) = self.orders.emitted(emit_to)?;
        let values = match sorted(orders.as_binary(), &lengths) {
            Some(rows) => take(&values, &rows, None)?,
            None => values,
        };
        // A group without values has no list.
        let are_there: NullBuffer = lengths.iter().map(|length| *length > 0).collect();
        let offsets = OffsetBuffer::from_lengths(lengths);
        let item = Arc::clone(&self.item);
        Ok(Arc::new(ListArray::try_new(item, offsets, values, Some(are_there))?))
    }
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.values.lists_of(emit_to)?, self.orders.lists_of(emit_to)?])
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let [values, orders] = values else { return Ok(Vec::new()) };
        let is_in = |row: usize| self.is_in(values, filter, row);
        Ok(vec![self.values.lists_of_one(values, is_in)?, self.orders.lists_of_one(orders, is_in)?])
    }
    fn size(&self) -> usize {
        self.values.size() + self.orders.size()
    }
}
