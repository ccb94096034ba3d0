//! Sums of a column and a constant: of thirty of them, one sum and one count are kept.
//!
//! `sum(x + c)` is `sum(x) + c * count(x)` where neither the addition nor the cast before it can lose anything; the sum itself
//! wraps both ways alike. What is left repeats itself, so that the engine computes it once.

use super::{call_of, column};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::functions_aggregate::count::count_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, cast,
    lit,
};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::sync::Arc;

/// The rule.
#[derive(Debug)]
pub(super) struct SumsOfShifted;

impl OptimizerRule for SumsOfShifted {
    fn name(&self) -> &'static str {
        "sums_of_shifted"
    }
    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }
    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        let found = aggregate.aggr_expr.iter().map(|expr| Shifted::of(expr, aggregate));
        let found = found.collect::<Result<Vec<_>>>()?;
        // A single one is as dear as it was.
        if found.iter().flatten().count() < 2 {
            return Ok(Transformed::no(plan));
        }
        let mut calls: Vec<Expr> = Vec::new();
        // Names of their own: those that the engine would give need not differ where the calls do.
        let mut known = |call: Expr| {
            let place = calls.iter().position(|it| *it == call).unwrap_or(calls.len());
            if place == calls.len() {
                calls.push(call);
            }
            Expr::Column(Column::new_unqualified(name(place)))
        };
        let mut columns = Vec::with_capacity(found.len());
        for (expr, shifted) in aggregate.aggr_expr.iter().zip(found) {
            let (qualifier, alias) = expr.qualified_name();
            let value = match shifted {
                None => known(expr.clone()),
                Some(it) => {
                    known(it.sum)
                        + cast(known(it.count), it.constant.data_type()) * lit(it.constant)
                }
            };
            columns.push(value.alias_qualified(qualifier, alias));
        }
        let groups = aggregate.group_expr.iter().map(column);
        let columns: Vec<Expr> = groups.chain(columns).collect();
        let input = Arc::clone(&aggregate.input);
        let calls = calls.into_iter().enumerate().map(|(place, call)| call.alias(name(place)));
        let below = Aggregate::try_new(input, aggregate.group_expr.clone(), calls.collect())?;
        let made =
            LogicalPlanBuilder::from(LogicalPlan::Aggregate(below)).project(columns)?.build()?;
        if made.schema().logically_equivalent_names_and_types(plan.schema()) {
            return Ok(Transformed::yes(made));
        }
        Ok(Transformed::no(plan))
    }
}

/// The name of a call.
fn name(place: usize) -> String {
    format!("__call_{place}")
}

/// A sum that can be told from two others.
struct Shifted {
    sum: Expr,
    count: Expr,
    /// What is added to each, in the type of the sum.
    constant: ScalarValue,
}

impl Shifted {
    fn of(expr: &Expr, aggregate: &Aggregate) -> Result<Option<Self>> {
        if !aggregate.group_expr.iter().all(|key| !matches!(key, Expr::GroupingSet(_))) {
            return Ok(None);
        }
        let Some(call) = call_of(expr) else { return Ok(None) };
        let params = &call.params;
        let [argument] = params.args.as_slice() else { return Ok(None) };
        let is_plain = call.func.name() == "sum"
            && !params.distinct
            && params.order_by.is_empty()
            && params.null_treatment.is_none();
        let schema = aggregate.input.schema();
        let summed = expr.get_type(schema)?;
        if !is_plain || !matches!(summed, DataType::Int64 | DataType::UInt64) {
            return Ok(None);
        }
        let Expr::BinaryExpr(BinaryExpr { left, op, right }) = without_casts(argument, schema)?
        else {
            return Ok(None);
        };
        let (base, constant) = match (op, &**left, &**right) {
            (Operator::Plus | Operator::Minus, base, Expr::Literal(constant, _)) => {
                (base, constant)
            }
            (Operator::Plus, Expr::Literal(constant, _), base) => (base, constant),
            _ => return Ok(None),
        };
        let Some(constant) = integer(constant) else { return Ok(None) };
        let constant = if *op == Operator::Minus { -constant } else { constant };
        let base = without_casts(base, schema)?;
        let (Some((least, greatest)), Some(within)) = (
            range(&base.get_type(schema)?),
            range(
                &Expr::BinaryExpr(BinaryExpr::new(left.clone(), *op, right.clone()))
                    .get_type(schema)?,
            ),
        ) else {
            return Ok(None);
        };
        let is_kept = within.0 <= least + constant && greatest + constant <= within.1;
        let Some(wide) = range(&summed) else { return Ok(None) };
        if !is_kept || least < wide.0 || wide.1 < greatest {
            return Ok(None);
        }
        let constant = match summed {
            DataType::Int64 => i64::try_from(constant).ok().map(ScalarValue::from),
            _ => u64::try_from(constant).ok().map(ScalarValue::from),
        };
        let Some(constant) = constant else { return Ok(None) };
        let over = |func, argument| {
            let params = AggregateFunctionParams { args: vec![argument], ..params.clone() };
            Expr::AggregateFunction(AggregateFunction { func, params })
        };
        let sum = over(Arc::clone(&call.func), cast(base.clone(), summed.clone()));
        if sum.get_type(schema)? != summed {
            return Ok(None);
        }
        let counted = if base.nullable(schema)? { base.clone() } else { lit(1_i64) };
        Ok(Some(Self { sum, count: over(count_udaf(), counted), constant }))
    }
}

/// What is below casts between integers that lose nothing.
fn without_casts<'a>(mut expr: &'a Expr, schema: &DFSchema) -> Result<&'a Expr> {
    while let Expr::Cast(outer) = expr {
        let (from, to) = (range(&outer.expr.get_type(schema)?), range(&expr.get_type(schema)?));
        let (Some(from), Some(to)) = (from, to) else { break };
        if from.0 < to.0 || to.1 < from.1 {
            break;
        }
        expr = &outer.expr;
    }
    Ok(expr)
}

/// The least and the greatest value of an integer type.
fn range(data_type: &DataType) -> Option<(i128, i128)> {
    match data_type {
        DataType::Int8 => Some((i8::MIN.into(), i8::MAX.into())),
        DataType::Int16 => Some((i16::MIN.into(), i16::MAX.into())),
        DataType::Int32 => Some((i32::MIN.into(), i32::MAX.into())),
        DataType::Int64 => Some((i64::MIN.into(), i64::MAX.into())),
        DataType::UInt8 => Some((0, u8::MAX.into())),
        DataType::UInt16 => Some((0, u16::MAX.into())),
        DataType::UInt32 => Some((0, u32::MAX.into())),
        DataType::UInt64 => Some((0, u64::MAX.into())),
        _ => None,
    }
}

fn integer(value: &ScalarValue) -> Option<i128> {
    match value {
        ScalarValue::Int8(value) => value.map(i128::from),
        ScalarValue::Int16(value) => value.map(i128::from),
        ScalarValue::Int32(value) => value.map(i128::from),
        ScalarValue::Int64(value) => value.map(i128::from),
        ScalarValue::UInt8(value) => value.map(i128::from),
        ScalarValue::UInt16(value) => value.map(i128::from),
        ScalarValue::UInt32(value) => value.map(i128::from),
        ScalarValue::UInt64(value) => value.map(i128::from),
        _ => None,
    }
}
