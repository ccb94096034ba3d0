//! Any value of each group.
//!
//! The engine's `any_value` has an accumulator for each group, which costs a microsecond for each group of each batch. Without an
//! order one place per group is all that it takes: the value that was met first is copied once, and nothing after it is looked at.

use super::first::first_of;
use super::grouped::{Grouped, aggregate};
use super::{call_of, copied};
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, UInt64Array, new_null_array};
use datafusion::arrow::compute::{interleave, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment, Sort};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{
    Aggregate, AggregateUDF, EmitTo, Expr, ExprSchemable, GroupsAccumulator, cast,
};
use std::sync::Arc;

/// The calls of an aggregate, of which those of any, the first, the least and the greatest value have an accumulator of many groups.
pub(super) fn calls(aggregate: &Aggregate) -> Result<Vec<Expr>> {
    aggregate.aggr_expr.iter().map(|expr| any_of(expr, aggregate)).collect()
}

/// The call that takes the place of an `any_value`, or a `first_value` without an order, if its values are plain.
fn any_of(expr: &Expr, aggregate: &Aggregate) -> Result<Expr> {
    let other = || Ok(expr.clone());
    let Some(call) = call_of(expr) else { return other() };
    let params = &call.params;
    let [argument] = params.args.as_slice() else { return other() };
    let data_type = argument.get_type(aggregate.input.schema())?;
    if matches!(call.func.name(), "min" | "max") && data_type.is_nested() {
        return Ok(first_of(call, aggregate)?.unwrap_or_else(|| expr.clone()));
    }
    // Of one group the engine keeps plain values as well.
    if aggregate.group_expr.is_empty() && !data_type.is_nested() {
        return other();
    }
    if matches!(call.func.name(), "first_value" | "last_value") && !params.order_by.is_empty() {
        let mut call = call.clone();
        call.params.order_by = fields_of(params.order_by.clone(), aggregate)?;
        // The engine has accumulators of groups for texts, and none for dictionaries.
        if let DataType::Dictionary(_, values) = &data_type {
            call.params.args = vec![cast(argument.clone(), values.as_ref().clone())];
        }
        if data_type.is_nested()
            && let Some(first) = first_of(&call, aggregate)?
        {
            return Ok(first);
        }
        let is_same = call.params == *params;
        return if is_same { other() } else { Ok(Expr::AggregateFunction(call)) };
    }
    // The last one is kept for each group by the engine, and of a dictionary each has a key.
    if let ("last_value", DataType::Dictionary(_, values)) = (call.func.name(), &data_type) {
        let mut call = call.clone();
        call.params.args = vec![cast(argument.clone(), values.as_ref().clone())];
        return Ok(Expr::AggregateFunction(call));
    }
    let is_it = matches!(call.func.name(), "any_value" | "first_value")
        && !params.distinct
        && params.order_by.is_empty()
        && !data_type.is_nested()
        && !data_type.is_null();
    let ignores_nulls = call.func.name() == "any_value"
        || params.null_treatment == Some(NullTreatment::IgnoreNulls);
    // Whether a NULL was met first is not kept.
    if !is_it || !ignores_nulls && argument.nullable(aggregate.input.schema())? {
        return other();
    }
    let mut params = params.clone();
    params.null_treatment = None;
    if let DataType::Dictionary(_, values) = &data_type {
        params.args = vec![cast(argument.clone(), values.as_ref().clone())];
    }
    Ok(Expr::AggregateFunction(AggregateFunction { func: Arc::new(any()), params }))
}

/// The order by a tuple as that by its elements, if none can be NULL. The engine keeps the tuple of each group as an array of one row.
fn fields_of(order: Vec<Sort>, aggregate: &Aggregate) -> Result<Vec<Sort>> {
    let [Sort { expr: Expr::ScalarFunction(made), asc, nulls_first }] = order.as_slice() else {
        return Ok(order);
    };
    let schema = aggregate.input.schema();
    let mut is_plain = made.func.name() == "struct";
    for element in &made.args {
        is_plain &= !element.nullable(schema)? && !element.get_type(schema)?.is_nested();
    }
    if !is_plain {
        return Ok(order);
    }
    let sorts = made.args.iter().map(|it| Sort::new(it.clone(), *asc, *nulls_first));
    Ok(sorts.collect())
}

/// The aggregate that takes the value which is met first. Nobody types its name.
pub(super) fn any() -> AggregateUDF {
    aggregate::<OfGroups>()
}

/// Of each group the place of its value among the copies.
#[derive(Debug)]
struct OfGroups {
    /// The first holds a NULL, which groups without a value have.
    copies: Vec<ArrayRef>,
    places: Vec<(usize, usize)>,
    bytes: usize,
}

const NOWHERE: (usize, usize) = (0, 0);

impl OfGroups {
    fn see(
        &mut self,
        values: &ArrayRef,
        groups: &[usize],
        filter: Option<&BooleanArray>,
    ) -> Result<()> {
        let mut rows: Vec<u64> = Vec::new();
        for (row, group) in groups.iter().enumerate() {
            let Some(place) = self.places.get_mut(*group).filter(|it| **it == NOWHERE) else {
                continue;
            };
            let is_in = filter.is_none_or(|it| it.is_valid(row) && it.value(row));
            if is_in && values.is_valid(row) {
                *place = (self.copies.len(), rows.len());
                rows.push(row as u64);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let copy = copied(values, rows)?;
        self.bytes += copy.get_array_memory_size();
        self.copies.push(copy);
        Ok(())
    }

    fn values(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let places = emit_to.take_needed(&mut self.places);
        let copies: Vec<&dyn Array> = self.copies.iter().map(AsRef::as_ref).collect();
        let values = interleave(&copies, &places)?;
        // Of what was copied, only the values of groups that are left are kept.
        let left = interleave(&copies, &self.places)?;
        for (row, place) in self.places.iter_mut().enumerate().filter(|it| *it.1 != NOWHERE) {
            *place = (1, row);
        }
        self.copies.truncate(1);
        self.bytes = left.get_array_memory_size();
        self.copies.push(left);
        Ok(values)
    }
}

impl Grouped for OfGroups {
    const NAME: &'static str = "\u{1f}any";
    const ARGUMENTS: usize = 1;

    fn new(args: &AccumulatorArgs<'_>) -> Result<Self> {
        let none = new_null_array(args.return_field.data_type(), 1);
        Ok(Self { copies: vec![none], places: Vec::new(), bytes: 0 })
    }
    fn result(types: &[DataType]) -> Result<DataType> {
        if let [only] = types { Ok(only.clone()) } else { plan_err!("it takes an argument") }
    }
    fn states(result: &DataType) -> Vec<(&'static str, DataType)> {
        vec![("any", result.clone())]
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
        self.places.resize(total_num_groups, NOWHERE);
        let [values] = values else { return Ok(()) };
        self.see(values, group_indices, filter)
    }
    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.update_batch(values, group_indices, None, total_num_groups)
    }
    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.values(emit_to)
    }
    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.values(emit_to)?])
    }
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let [values] = values else { return Ok(Vec::new()) };
        let rows = (0..values.len()).map(|row| {
            let is_in = filter.is_none_or(|it| it.is_valid(row) && it.value(row));
            is_in.then_some(row as u64)
        });
        Ok(vec![take(values, &rows.collect::<UInt64Array>(), None)?])
    }
    fn size(&self) -> usize {
        self.bytes + self.places.capacity() * size_of::<(usize, usize)>()
    }
}
