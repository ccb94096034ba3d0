//! The average of decimals, a Float64 in ClickHouse: their exact sum divided by their number. The engine's own is a decimal
//! of four digits more.

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result;
use datafusion::functions_aggregate::{count::count_udaf, sum::sum_udaf};
use datafusion::logical_expr::expr::{AggregateFunction, WindowFunctionDefinition};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, Expr, ExprSchemable, LogicalPlan, Projection, Window, cast,
};
use std::sync::Arc;

/// The pass over a node.
pub(super) fn of_decimals(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Aggregate(aggregate) => grouped(aggregate),
        LogicalPlan::Window(window) => windowed(window),
        other => Ok(Transformed::no(other)),
    }
}

fn is_decimal(arguments: &[Expr], schema: &DFSchema) -> bool {
    match arguments {
        [only] => only.get_type(schema).is_ok_and(|it| it.is_decimal()),
        _ => false,
    }
}

/// The call of an average of decimals.
fn average<'a>(expr: &'a Expr, schema: &DFSchema) -> Option<&'a AggregateFunction> {
    match expr {
        Expr::Alias(alias) => average(&alias.expr, schema),
        Expr::AggregateFunction(call)
            if call.func.name() == "avg" && is_decimal(&call.params.args, schema) =>
        {
            Some(call)
        }
        _ => None,
    }
}

/// Beside `count(DISTINCT x)` the engine adds sums of decimals up twice, each time with ten digits more than it says.
fn widened(aggregate: &mut Aggregate, schema: &DFSchema) -> Result<bool> {
    let is_distinct = |expr: &Expr| match expr {
        Expr::AggregateFunction(call) => call.params.distinct,
        _ => false,
    };
    if !aggregate.aggr_expr.iter().any(is_distinct) {
        return Ok(false);
    }
    let mut is_changed = false;
    for expr in &mut aggregate.aggr_expr {
        let name = expr.schema_name().to_string();
        let Expr::AggregateFunction(call) = expr else { continue };
        let [argument] = call.params.args.as_mut_slice() else { continue };
        if let (ArrowType::Decimal128(..37, scale), "sum") =
            (argument.get_type(schema)?, call.func.name())
        {
            *argument = cast(argument.clone(), ArrowType::Decimal128(38, scale));
            let wide = expr.clone().alias(name);
            *expr = wide;
            is_changed = true;
        }
    }
    Ok(is_changed)
}

fn grouped(mut aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(aggregate.input.schema());
    if widened(&mut aggregate, &schema)? {
        let Aggregate { input, group_expr, aggr_expr, .. } = aggregate;
        let wide = Aggregate::try_new(input, group_expr, aggr_expr)?;
        return grouped(wide).map(|plan| Transformed::yes(plan.data));
    }
    let found: Vec<Option<AggregateFunction>> =
        aggregate.aggr_expr.iter().map(|expr| average(expr, &schema).cloned()).collect();
    if found.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let wanted = Arc::clone(&aggregate.schema);
    let keys = wanted.fields().len() - aggregate.aggr_expr.len();
    let name = |what: &str, index: usize| format!("\u{1f}{what} {index}");
    let mut aggr_expr = aggregate.aggr_expr;
    let mut counts = Vec::new();
    for (index, call) in found.iter().enumerate() {
        let Some(call) = call else { continue };
        let of = |func| Expr::AggregateFunction(AggregateFunction { func, ..call.clone() });
        aggr_expr[index] = of(sum_udaf()).alias(name("sum", index));
        counts.push(of(count_udaf()).alias(name("count", index)));
    }
    aggr_expr.extend(counts);
    let sums = Aggregate::try_new(aggregate.input, aggregate.group_expr, aggr_expr)?;
    let shown = wanted.iter().enumerate();
    let shown = shown.filter(|(_, (_, field))| !super::keep::is_number_of_set(field.name()));
    let columns = shown.map(|(at, (qualifier, field))| {
        let index = at.checked_sub(keys);
        let call = index.and_then(|index| found.get(index)).and_then(Option::as_ref);
        match (call, index) {
            (Some(_), Some(index)) => {
                let float = |what| {
                    let column = Expr::Column(Column::new_unqualified(name(what, index)));
                    cast(column, ArrowType::Float64)
                };
                (float("sum") / float("count")).alias_qualified(qualifier.cloned(), field.name())
            }
            _ => Expr::Column(Column::new(qualifier.cloned(), field.name())),
        }
    });
    let sums = Arc::new(LogicalPlan::Aggregate(sums));
    let projected = Projection::try_new(columns.collect(), sums)?;
    Ok(Transformed::yes(LogicalPlan::Projection(projected)))
}

/// Over windows the values are floats from the start.
fn windowed(mut window: Window) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&[&window.input]);
    let wanted = Arc::clone(&window.schema);
    let mut is_changed = false;
    for expr in &mut window.window_expr {
        let Expr::WindowFunction(call) = expr else { continue };
        let WindowFunctionDefinition::AggregateUDF(function) = &call.fun else { continue };
        if function.name() == "avg" && is_decimal(&call.params.args, &schema) {
            for argument in &mut call.params.args {
                *argument = cast(argument.clone(), ArrowType::Float64);
            }
            is_changed = true;
        }
    }
    if !is_changed {
        return Ok(Transformed::no(LogicalPlan::Window(window)));
    }
    let floats = LogicalPlan::Window(Window::try_new(window.window_expr, window.input)?);
    let columns = floats.schema().iter().zip(wanted.iter()).map(|((from, have), (to, field))| {
        Expr::Column(Column::new(from.cloned(), have.name()))
            .alias_qualified(to.cloned(), field.name())
    });
    let projected = Projection::try_new(columns.collect(), Arc::new(floats))?;
    Ok(Transformed::yes(LogicalPlan::Projection(projected)))
}
