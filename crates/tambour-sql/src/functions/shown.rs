//! Types that would be lost or differ though the values are right: those of the items that an Unnest makes rows of, and those
//! of decimals that `toTypeName` is asked about.

use super::literal::field_of;
use super::scalar;
use super::typed::{Typed, needs_name};
use arrow::datatypes::DataType as ArrowType;
use datafusion::common::{Column, DFSchema};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, Projection, cast};
use std::sync::Arc;
use tambour_part::types::DataType;

/// A projection above an Unnest that gives its items the types that their arrays say. The engine takes every item for one that
/// may be NULL.
pub(super) fn unnested(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Unnest(unnest) = &plan else { return Ok(plan) };
    let input = unnest.input.schema();
    let item_of = |index: usize| {
        let source = *unnest.dependency_indices.get(index)?;
        let is_list = unnest.list_type_columns.iter().any(|(list, _)| *list == source);
        let field = input.fields().get(source).filter(|_| is_list)?;
        match DataType::from_field(field).ok()? {
            DataType::Array(item) => Some(*item),
            _ => None,
        }
    };
    let types: Vec<Option<DataType>> = (0..plan.schema().fields().len()).map(item_of).collect();
    if types.iter().all(Option::is_none) {
        return Ok(plan);
    }
    let schema = Arc::clone(plan.schema());
    let columns = schema.iter().zip(types).map(|((qualifier, field), data_type)| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let Some(data_type) = data_type else { return column };
        let is_present = field.is_nullable() && !may_be_null(&data_type);
        let present =
            is_present.then(|| scalar::call("assumeNotNull", vec![column.clone()])).flatten();
        let item = present.unwrap_or_else(|| column.clone());
        let is_named = needs_name(&data_type) || is_present && data_type == DataType::Bool;
        let item = if is_named { Typed::call(item, &data_type) } else { item };
        if item == column {
            return column;
        }
        item.alias_qualified(qualifier.cloned(), field.name())
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(plan))?))
}

fn may_be_null(data_type: &DataType) -> bool {
    match data_type {
        DataType::LowCardinality(inner) => may_be_null(inner),
        other => matches!(other, DataType::Nullable(_)),
    }
}

/// A sum, difference or product of decimals with the type that it has in ClickHouse, whose decimals are as wide as the
/// machine's integers; elsewhere the engine's type, which is wider, does no harm.
pub(super) fn decimal_result(expr: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let Expr::BinaryExpr(binary) = expr else { return Ok(None) };
    let digits = |side: &Expr| {
        Ok::<_, DataFusionError>(match field_of(as_decimal(side), schema)?.data_type() {
            ArrowType::Decimal128(precision, scale) => Some((*precision, *scale)),
            _ => None,
        })
    };
    let scale = match (digits(&binary.left)?, digits(&binary.right)?, binary.op) {
        (Some((_, a)), Some((_, b)), Operator::Plus | Operator::Minus) => a.max(b),
        (Some((_, a)), Some((_, b)), Operator::Multiply) => a + b,
        (Some((_, a)), None, Operator::Plus | Operator::Minus | Operator::Multiply) => a,
        (None, Some((_, b)), Operator::Plus | Operator::Minus | Operator::Multiply) => b,
        _ => return Ok(None),
    };
    let widest = [digits(&binary.left)?, digits(&binary.right)?].into_iter().flatten();
    let precision = match widest.map(|it| it.0).max().unwrap_or(0) {
        0..=9 => 9,
        10..=18 => 18,
        _ => 38,
    };
    Ok(Some(cast(expr.clone(), ArrowType::Decimal128(precision, scale))))
}

/// A side of an operator without what the planner put around it.
fn as_decimal(side: &Expr) -> &Expr {
    match side {
        Expr::Cast(cast) if cast.field.data_type().is_decimal() => &cast.expr,
        other => other,
    }
}
