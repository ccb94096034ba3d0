//! Sums of narrow integers, added up as they lie.
//!
//! The engine casts the column to 64 bits and adds up the copy. A rule after statistics have had their say takes the cast away
//! where one sum is of all rows: the copy took half of the time that such a sum costs above the scan.

use datafusion::arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray};
use datafusion::arrow::compute::sum;
use datafusion::arrow::datatypes::{
    DataType, Field, FieldRef, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::CastExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use std::sync::Arc;

/// The rule.
#[derive(Debug)]
pub(crate) struct SumsOfNarrow;

impl PhysicalOptimizerRule for SumsOfNarrow {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let Some(aggregate) = node.downcast_ref::<AggregateExec>() else {
                return Ok(Transformed::no(node));
            };
            let reads_rows = aggregate.mode().input_mode() == AggregateInputMode::Raw;
            if !reads_rows || !aggregate.group_expr().is_empty() {
                return Ok(Transformed::no(node));
            }
            let calls = aggregate.aggr_expr().iter();
            let narrow = calls.map(|call| narrowed(call, aggregate));
            let narrow = narrow.collect::<Result<Vec<_>>>()?;
            if narrow.iter().all(Option::is_none) {
                return Ok(Transformed::no(node));
            }
            let calls = narrow.into_iter().zip(aggregate.aggr_expr());
            let calls: Vec<_> =
                calls.map(|(new, old)| new.unwrap_or_else(|| Arc::clone(old))).collect();
            Ok(Transformed::yes(Arc::new(aggregate.with_new_aggr_exprs(calls)) as Arc<_>))
        })
        .data()
    }
    fn name(&self) -> &'static str {
        "sums_of_narrow"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// A sum of what its cast casts, if that is narrower.
fn narrowed(
    call: &AggregateFunctionExpr,
    aggregate: &AggregateExec,
) -> Result<Option<Arc<AggregateFunctionExpr>>> {
    let is_plain = *call.fun() == *sum_udaf() && !call.is_distinct() && call.order_bys().is_empty();
    let arguments = call.expressions();
    let [argument] = arguments.as_slice() else { return Ok(None) };
    let Some(cast) = argument.downcast_ref::<CastExpr>().filter(|_| is_plain) else {
        return Ok(None);
    };
    let from = cast.expr().data_type(&aggregate.input_schema())?;
    if wide(&from).as_ref() != Some(cast.cast_type()) {
        return Ok(None);
    }
    let builder = AggregateExprBuilder::new(Arc::new(narrow_sum()), vec![Arc::clone(cast.expr())]);
    let mut builder = builder.schema(aggregate.input_schema()).alias(call.name());
    if let Some(display) = call.human_display() {
        builder = builder.human_display(display);
    }
    Ok(Some(Arc::new(builder.build()?)))
}

/// The type of the sum of narrow integers.
fn wide(narrow: &DataType) -> Option<DataType> {
    match narrow {
        DataType::Int8 | DataType::Int16 | DataType::Int32 => Some(DataType::Int64),
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => Some(DataType::UInt64),
        _ => None,
    }
}

/// The aggregate that adds up narrow integers. Nobody types its name.
pub(super) fn narrow_sum() -> AggregateUDF {
    AggregateUDF::new_from_impl(NarrowSum { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct NarrowSum {
    signature: Signature,
}

impl AggregateUDFImpl for NarrowSum {
    fn name(&self) -> &'static str {
        "\u{1f}sum"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [narrow] = types else { return plan_err!("it takes an argument") };
        wide(narrow).map_or_else(|| plan_err!("{narrow} is not a narrow integer"), Ok)
    }
    /// As the engine's sum has it, whose second stage takes it from here.
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let name = format_state_name(args.name, "sum");
        Ok(vec![Arc::new(Field::new(name, args.return_field.data_type().clone(), true))])
    }
    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let is_signed = *args.return_field.data_type() == DataType::Int64;
        Ok(Box::new(Total { sum: None, is_signed }))
    }
}

/// The sum so far, modulo 2^64: signed and unsigned ones are the same bits.
#[derive(Debug)]
struct Total {
    sum: Option<i64>,
    is_signed: bool,
}

impl Total {
    fn add(&mut self, sum: Option<i64>) {
        if let Some(sum) = sum {
            self.sum = Some(self.sum.unwrap_or_default().wrapping_add(sum));
        }
    }
}

impl Accumulator for Total {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let [values] = values else { return plan_err!("it takes an argument") };
        self.add(match values.data_type() {
            DataType::Int8 => added::<Int8Type>(values),
            DataType::Int16 => added::<Int16Type>(values),
            DataType::Int32 => added::<Int32Type>(values),
            DataType::UInt8 => added::<UInt8Type>(values),
            DataType::UInt16 => added::<UInt16Type>(values),
            DataType::UInt32 => added::<UInt32Type>(values),
            other => return plan_err!("{other} is not a narrow integer"),
        });
        Ok(())
    }
    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [sums] = states else { return plan_err!("it has one state") };
        self.add(if self.is_signed {
            sum(sums.as_primitive::<Int64Type>())
        } else {
            sum(sums.as_primitive::<UInt64Type>()).map(u64::cast_signed)
        });
        Ok(())
    }
    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(if self.is_signed {
            ScalarValue::Int64(self.sum)
        } else {
            ScalarValue::UInt64(self.sum.map(i64::cast_unsigned))
        })
    }
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }
    fn size(&self) -> usize {
        size_of::<Self>()
    }
}

/// The sum of a batch; `None` if all values are NULL.
fn added<T>(values: &dyn Array) -> Option<i64>
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    let values = values.as_primitive::<T>();
    if values.null_count() == values.len() {
        return None;
    }
    let wrapping = |sum: i64, value: i64| sum.wrapping_add(value);
    let Some(nulls) = values.nulls().filter(|it| it.null_count() > 0) else {
        return Some(values.values().iter().map(|&value| value.into()).fold(0, wrapping));
    };
    let masks = nulls.inner().bit_chunks().iter_padded();
    let sums = values.values().chunks(64).zip(masks).map(|(values, mask)| {
        let valid = |row: usize| (mask >> row & 1).cast_signed();
        let kept = values.iter().enumerate().map(|(row, &value)| value.into() * valid(row));
        kept.fold(0, wrapping)
    });
    Some(sums.fold(0, wrapping))
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int32Array, UInt8Array};

    #[test]
    fn nulls_at_any_place_are_left_out() {
        for length in [0, 1, 2, 63, 64, 65, 127, 128, 129, 1000] {
            for start in [0, 1, 7, 64] {
                for every in [1, 2, 3, 64, 2000] {
                    let value = |row: i32| (row % every != 0).then_some(row * 1_000_003 - 7);
                    let values: Int32Array = (0..length + start).map(value).collect();
                    let values = values.slice(start as usize, length as usize);
                    let plain: Vec<i64> = values.iter().flatten().map(i64::from).collect();
                    let wanted = (!plain.is_empty()).then(|| plain.iter().sum::<i64>());
                    assert_eq!(added::<Int32Type>(&values), wanted, "{length} {start} {every}");
                }
            }
        }
    }

    #[test]
    fn sums_of_unsigned_go_beyond_their_type() {
        let mut total = Total { sum: None, is_signed: false };
        assert_eq!(total.evaluate().unwrap(), ScalarValue::UInt64(None));
        let values: ArrayRef = Arc::new(UInt8Array::from(vec![255; 1000]));
        total.update_batch(&[Arc::clone(&values)]).unwrap();
        total.update_batch(&[values]).unwrap();
        assert_eq!(total.evaluate().unwrap(), ScalarValue::UInt64(Some(510_000)));
    }
}
