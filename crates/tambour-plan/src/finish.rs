//! What aggregates and window functions give, finished by a projection above them: with its type, turned back from the form in
//! which it was compared, or with a default in the place of a row that the frame does not have.

use super::aggregate::{Summand, is_moment};
use super::keep::is_number_of_set;
use super::literal::bare_type;
use super::order::Order;
use super::typed::{Typed, needs_name};
use super::{default, quantile, scalar};
use crate::walk::Walk;
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType as ArrowType, Field, FieldRef};
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Projection, cast, when};
use std::sync::Arc;
use tambour_part::types::DataType;

/// What must be done to a value when an aggregate has made it.
#[derive(Clone, Debug, Default)]
pub(super) struct Finish {
    /// Turned back from the form in which it was compared.
    form: Option<(Order, ArrowType)>,
    /// Given its type.
    data_type: Option<DataType>,
    /// What stands where the frame has no such row.
    default: Option<Expr>,
    /// Never NULL, whatever the engine says.
    is_present: bool,
    /// Made a date or an instant of a number.
    moment: Option<ArrowType>,
    /// A count: the engine's have a sign.
    is_count: bool,
    /// The conversion that cuts a sum to 128 bits: the engine adds such integers up as decimals of more digits.
    cut: Option<&'static str>,
    /// The type of a sum of decimals.
    widest: Option<ArrowType>,
}

impl Finish {
    fn of_count() -> Self {
        Self { is_count: true, ..Self::default() }
    }
}

/// One entry per aggregate or window function of a node, which are the last columns of it.
pub(super) fn all(plan: &LogicalPlan, schema: &DFSchema) -> Vec<Option<Finish>> {
    let expressions = match plan {
        LogicalPlan::Aggregate(aggregate) => &aggregate.aggr_expr,
        LogicalPlan::Window(window) => &window.window_expr,
        _ => return Vec::new(),
    };
    expressions.iter().map(|expr| finish_of(expr, schema)).collect()
}

fn finish_of(expr: &Expr, schema: &DFSchema) -> Option<Finish> {
    let (name, arguments) = match expr {
        Expr::Alias(alias) => return finish_of(&alias.expr, schema),
        Expr::AggregateFunction(call) => (call.func.name(), &call.params.args),
        Expr::WindowFunction(call) => (call.fun.name(), &call.params.args),
        _ => return None,
    };
    if name == "count" {
        return Some(Finish::of_count());
    }
    let field = match arguments.first()? {
        Expr::ScalarFunction(call) if call.name() == Summand::NAME => {
            return match name {
                "avg" => average_of(call, schema),
                "sum" => sum_of(call, schema),
                _ => None,
            };
        }
        first => named(first, schema)?,
    };
    let data_type = bare_type(&field)?;
    let is_of_order = matches!(name, "min" | "max" | "quantileExact");
    let form = is_of_order.then(|| form_of(name, &field)).flatten();
    let form = form.map(|form| (form.back(), field.data_type().clone()));
    let data_type = match name {
        "min" | "max" | "first_value" | "last_value" | "any_value" | "nth_value" | "lag"
        | "lead" => Some(data_type),
        "quantileExact" => Some(data_type),
        quantile::BETWEEN if quantile::stays(field.data_type()) => Some(data_type),
        "array_agg" => Some(DataType::Array(Box::new(data_type))),
        _ => None,
    };
    let has_no_null = name == "array_agg" && (!field.is_nullable() || leaves_nulls_out(expr)?);
    let data_type = data_type.filter(|it| has_no_null || needs_name(it));
    // A list is never NULL there.
    let is_list = matches!(field.data_type(), ArrowType::List(_) | ArrowType::Map(..));
    let may_be_null = field.is_nullable() && !is_list;
    let is_of_frame = matches!(expr, Expr::WindowFunction(_))
        && matches!(name, "nth_value" | "first_value" | "last_value")
        && !may_be_null;
    let default = is_of_frame.then(|| default::literal(&field).ok()).flatten();
    // Past the ends of the window, these give a default.
    let is_default = |it: &Expr| matches!(it, Expr::Literal(value, _) if !value.is_null());
    let is_present =
        matches!(name, "lag" | "lead") && !may_be_null && arguments.get(2).is_none_or(is_default);
    let is_finished = form.is_some() || data_type.is_some() || default.is_some() || is_present;
    let finish = Finish { form, data_type, default, is_present, ..Finish::default() };
    is_finished.then_some(finish)
}

/// What an expression is after the pass that gives types their names.
fn named(expr: &Expr, schema: &DFSchema) -> Option<FieldRef> {
    let mut expr = super::written::narrowed(expr.clone(), schema).ok()?.data;
    super::written::of_each(std::slice::from_mut(&mut expr), schema).ok()?;
    let expr = expr.up(&mut |expr| super::keep::rewrite(expr, schema)).ok()?.data;
    Some(expr.to_field(schema).ok()?.1)
}

/// True for an aggregate over values that are not NULL.
fn leaves_nulls_out(expr: &Expr) -> Option<bool> {
    let filter = match expr {
        Expr::AggregateFunction(call) => call.params.filter.as_ref(),
        Expr::WindowFunction(call) => call.params.filter.as_ref(),
        _ => None,
    };
    filter.map_or(Some(false), |it| it.exists(|it| Ok(matches!(it, Expr::IsNotNull(_)))).ok())
}

/// The average of dates is a date, of instants an instant.
fn average_of(call: &ScalarFunction, schema: &DFSchema) -> Option<Finish> {
    let field = call.args.first()?.to_field(schema).ok()?.1;
    let moment = Some(field.data_type()).filter(|it| is_moment(it)).cloned();
    moment.as_ref()?;
    let data_type = bare_type(&field);
    Some(Finish { data_type, moment, ..Finish::default() })
}

/// The sum of integers of 128 bits is one, too, and wraps around. That of decimals has 38 digits.
fn sum_of(call: &ScalarFunction, schema: &DFSchema) -> Option<Finish> {
    let cut = match bare_type(named(call.args.first()?, schema)?.as_ref())? {
        wide @ (DataType::Int256 | DataType::UInt256) => {
            let form = Some((Order::OfSum, ArrowType::FixedSizeBinary(32)));
            return Some(Finish { form, data_type: Some(wide), ..Finish::default() });
        }
        // What has more digits already is summed in its own type.
        DataType::Decimal { precision, .. } if precision > DECIMAL128_MAX_PRECISION => return None,
        DataType::Decimal { scale, .. } => {
            let scale = i8::try_from(scale).ok()?;
            let widest = ArrowType::Decimal128(DECIMAL128_MAX_PRECISION, scale);
            return Some(Finish { widest: Some(widest), ..Finish::default() });
        }
        DataType::Int128 => Some("toInt128"),
        DataType::UInt128 => Some("toUInt128"),
        _ => return None,
    };
    Some(Finish { cut, ..Finish::default() })
}

/// The form in which the least or greatest values of a type are found, or one at a place of their order.
pub(super) fn form_of(aggregate: &str, field: &Field) -> Option<Order> {
    match bare_type(field)? {
        DataType::Float32 | DataType::Float64 if field.data_type().is_floating() => (aggregate
            != "quantileExact")
            .then_some(if aggregate == "max" { Order::NanLeast } else { Order::NanGreatest }),
        other => Order::of_comparison(&other),
    }
}

/// A projection above a node that finishes its last columns.
pub(super) fn projected(plan: LogicalPlan, finish: &[Option<Finish>]) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let first = schema.fields().len().saturating_sub(finish.len());
    let shown = schema.iter().enumerate().filter(|(_, (_, field))| !is_number_of_set(field.name()));
    let columns = shown.map(|(index, (qualifier, field))| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let finish =
            index.checked_sub(first).and_then(|at| finish.get(at)).and_then(Option::as_ref);
        let Some(finish) = finish else { return Ok(column) };
        let Finish { form, data_type, default, moment, is_count, is_present, cut, widest } = finish;
        let column = match widest {
            Some(widest) => cast(column, widest.clone()),
            None => column,
        };
        let column = if *is_count { cast(column, ArrowType::UInt64) } else { column };
        let cut = cut.and_then(|cut| scalar::call(cut, vec![column.clone()]));
        let column = cut.unwrap_or(column);
        // Halves go to the even neighbour.
        let column = match (moment, scalar::call("roundBankers", vec![column.clone()])) {
            (Some(_), Some(rounded)) => rounded,
            _ => column,
        };
        let column = match moment {
            Some(ArrowType::Date32) => cast(cast(column, ArrowType::Int32), ArrowType::Date32),
            Some(instant) => cast(cast(column, ArrowType::Int64), instant.clone()),
            None => column,
        };
        let column = match form {
            Some((
                form @ (Order::Uuid | Order::Wide { .. } | Order::WideBack | Order::OfSum),
                _,
            )) => form.udf().call(vec![column]),
            Some((form, float)) if *float == ArrowType::Float64 => form.udf().call(vec![column]),
            Some((form, other)) => cast(form.udf().call(vec![column]), other.clone()),
            None => column,
        };
        let column = match default {
            Some(default) => when(column.clone().is_null(), default.clone()).otherwise(column)?,
            None => column,
        };
        let column = match data_type {
            Some(data_type) => Typed::call(column, data_type),
            None => column,
        };
        // The engine's windows may always be NULL.
        let is_present = *is_present || default.is_some();
        let present =
            is_present.then(|| scalar::call("assumeNotNull", vec![column.clone()])).flatten();
        let column = present.unwrap_or(column);
        Ok(column.alias_qualified(qualifier.cloned(), field.name()))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}
