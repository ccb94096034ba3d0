//! Comparisons of arrays, and the least and greatest of arrays and tuples. The engine's own go by its order: NaN and NULL have
//! another place there, names of Enums count instead of their numbers, and so do bytes instead of what they mean.

use super::literal::{bare_type, field_of};
use super::order::Order;
use super::scalar;
use super::typed::{Typed, holds, needs_name, of_call};
use crate::walk::Walk;
use arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, plan_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, SortExpr, lit};
use tambour_function as function;
use tambour_part::types::DataType;

/// The comparison; `None` if they are not arrays, or the engine's own is the right one.
pub(super) fn comparison(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    schema: &DFSchema,
) -> Result<Option<Expr>> {
    for side in [left, right] {
        if !matches!(field_of(side, schema)?.data_type(), ArrowType::List(_)) {
            return Ok(None);
        }
    }
    let is_order = !matches!(operator, Operator::Eq | Operator::NotEq);
    let (left, right) = (named(left, schema)?, named(right, schema)?);
    let fields = [field_of(&left, schema)?, field_of(&right, schema)?];
    if is_order && fields.iter().any(|field| is_unknown(field)) {
        return plan_err!(
            "arrays of what is written out here have no order: convert the items, for example by toString"
        );
    }
    let [Some(DataType::Array(a)), Some(DataType::Array(b))] =
        [bare_type(&fields[0]), bare_type(&fields[1])]
    else {
        return Ok(None);
    };
    if !is_own(&a, is_order) && !is_own(&b, is_order) {
        return Ok(None);
    }
    let sides = [function::bare(&a), function::bare(&b)];
    let is_float = |it: &&DataType| matches!(it, DataType::Float32 | DataType::Float64);
    let is_mixed = sides.iter().any(is_float) && function::supertype(sides[0], sides[1]).is_none();
    let as_floats = |side: Expr| {
        let name = lit("Array(Nullable(Float64))");
        if is_mixed { scalar::call("CAST", vec![side, name]) } else { Some(side) }
    };
    let (Some(left), Some(right)) = (as_floats(left), as_floats(right)) else { return Ok(None) };
    let Some(order) = scalar::call("arrayOrder", vec![left, right]) else { return Ok(None) };
    let (order, zero) = (Box::new(order), Box::new(lit(0_i8)));
    Ok(Some(Expr::BinaryExpr(BinaryExpr::new(order, operator, zero))))
}

/// `min` and `max` of arrays and tuples, where the engine's are not the right ones: the first value in that order.
pub(super) fn extreme(
    call: &AggregateFunction,
    schema: &DFSchema,
    is_grouped: bool,
) -> Result<Option<Expr>> {
    let ([argument], "min" | "max") = (call.params.args.as_slice(), call.func.name()) else {
        return Ok(None);
    };
    let data_type = bare_type(&*field_of(argument, schema)?);
    check_map(call.func.name(), data_type.as_ref())?;
    let is_least = call.func.name() == "min";
    let order = data_type.and_then(|data_type| Order::of_sort(&data_type, is_least, false));
    let Some(order @ Order::Nested { .. }) = order else { return Ok(None) };
    let order = if is_grouped { order.of_group() } else { order };
    let by = order.udf().call(vec![argument.clone()]);
    Ok(Some(Expr::AggregateFunction(AggregateFunction::new_udf(
        first_value_udaf(),
        vec![argument.clone()],
        false,
        call.params.filter.clone(),
        vec![SortExpr::new(by, is_least, false)],
        Some(NullTreatment::IgnoreNulls),
    ))))
}

/// Refuses maps and what holds them: the engine has no order of them, and keeps the first.
pub(super) fn check_map(name: &str, data_type: Option<&DataType>) -> Result<()> {
    match data_type {
        Some(data_type) if holds(data_type, &|it| matches!(it, DataType::Map(..))) => {
            plan_err!("{name} does not take {data_type}: it has no order here")
        }
        _ => Ok(()),
    }
}

/// True for arrays and tuples with such inside, of which the engine does not know the lesser one.
pub(super) fn is_deep(data_type: &DataType) -> bool {
    let is_nested = |it: &DataType| matches!(it, DataType::Array(_) | DataType::Tuple(_));
    match data_type {
        DataType::Array(item) => is_nested(item),
        DataType::Tuple(elements) => elements.iter().any(|(_, item)| is_nested(item)),
        _ => false,
    }
}

/// True for items, also of tuples, whose comparison is not the engine's.
pub(super) fn is_own(item: &DataType, is_order: bool) -> bool {
    use DataType::{Array, Enum8, Enum16, Float32, Float64, LowCardinality, Map, Nullable, Tuple};
    match item {
        Array(item) | LowCardinality(item) => is_own(item, is_order),
        Nullable(item) => is_order || is_own(item, is_order),
        Tuple(elements) => elements.iter().any(|(_, item)| is_own(item, is_order)),
        Map(key, value) => is_own(key, is_order) || is_own(value, is_order),
        Float32 | Float64 => true,
        Enum8(_) | Enum16(_) | DataType::Uuid | DataType::Int256 | DataType::UInt256 => is_order,
        _ => false,
    }
}

/// An array that is written out, with the types that its items have.
fn named(expr: &Expr, schema: &DFSchema) -> Result<Expr> {
    let named = expr.clone().up(&mut |expr| {
        let data_type = match &expr {
            Expr::ScalarFunction(call) => of_call(call, schema).filter(needs_name),
            _ => None,
        };
        Ok(match data_type {
            Some(data_type) => Transformed::yes(Typed::call(expr, &data_type)),
            None => Transformed::no(expr),
        })
    })?;
    Ok(named.data)
}

/// True for an array of which the engine knows the bytes of items, and nobody what they mean.
fn is_unknown(field: &Field) -> bool {
    fn is_bare(arrow: &ArrowType) -> bool {
        match arrow {
            // An array without items may be one of anything.
            ArrowType::List(item) if item.data_type().is_null() => item.is_nullable(),
            ArrowType::List(item) => is_bare(item.data_type()),
            ArrowType::Struct(fields) => fields.iter().any(|field| is_bare(field.data_type())),
            ArrowType::FixedSizeBinary(16 | 32) | ArrowType::Dictionary(..) => true,
            other => other.is_null(),
        }
    }
    field.metadata().is_empty() && is_bare(field.data_type())
}
