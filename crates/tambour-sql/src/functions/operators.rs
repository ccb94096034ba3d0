//! Operators as ClickHouse has them: `+ - * /` on integers with ClickHouse's result types: sums and products get as many bits
//! as they may need, differences a sign, quotients are floats; dates and instants take numbers of days and seconds;
//! [`comparison`] has its own room. DataFusion alone would let `UInt8 - UInt8` wrap around and cut `5 / 2` to 2.

use super::integer::{integer, of_operand, wide};
use super::keep::Typed;
use super::literal::{bare_type, field_of, ticks_per_second};
use super::{aggregate, comparison, scalar};
use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawFieldAccessExpr, RawWindowExpr,
};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, GetFieldAccess, Operator, cast, lit,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;
use tambour_part::types::DataType;

/// The planner of the operators.
#[derive(Debug)]
pub(super) struct Operators;

fn operator(written: &BinaryOperator) -> Option<Operator> {
    Some(match written {
        BinaryOperator::Plus => Operator::Plus,
        BinaryOperator::Minus => Operator::Minus,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let Some(operator) = operator(&expr.op) else { return Ok(PlannerResult::Original(expr)) };
        let is_arithmetic = matches!(
            operator,
            Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide
        );
        let planned = if is_arithmetic {
            arithmetic(&expr.left, operator, &expr.right, schema)?
        } else {
            comparison::plan(&expr.left, operator, &expr.right, schema)?
        };
        Ok(match planned {
            Some(planned) => PlannerResult::Planned(planned),
            None => PlannerResult::Original(expr),
        })
    }

    /// `a[1]`, `m['key']`: what is not there is the default of its type.
    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let nested = expr.expr.get_type(schema)?;
        let key = match &expr.field_access {
            GetFieldAccess::ListIndex { key } => (**key).clone(),
            // A text in brackets is the name of a field, or a key.
            GetFieldAccess::NamedStructField { name } => lit(name.clone()),
            GetFieldAccess::ListRange { .. } => return Ok(PlannerResult::Original(expr)),
        };
        if !matches!(nested, ArrowType::Map(..) | ArrowType::List(_) | ArrowType::LargeList(_)) {
            return Ok(PlannerResult::Original(expr));
        }
        Ok(match scalar::call("arrayElement", vec![expr.expr.clone(), key]) {
            Some(call) => PlannerResult::Planned(call),
            None => PlannerResult::Original(expr),
        })
    }

    fn plan_aggregate(
        &self,
        mut expr: RawAggregateExpr,
    ) -> Result<PlannerResult<RawAggregateExpr>> {
        expr.args = aggregate::arguments(expr.func.name(), expr.args);
        Ok(PlannerResult::Original(expr))
    }

    fn plan_window(&self, mut expr: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        expr.args = aggregate::arguments(expr.func_def.name(), expr.args);
        Ok(PlannerResult::Original(expr))
    }
}

fn binary(left: Expr, operator: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)))
}

fn arithmetic(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    schema: &DFSchema,
) -> Result<Option<Expr>> {
    let fields = [field_of(left, schema)?, field_of(right, schema)?];
    if let Some(planned) = moments(left, operator, right, &fields) {
        return Ok(Some(planned));
    }
    let [left_field, right_field] = &fields;
    let (Some(left_integer), Some(right_integer)) =
        (of_operand(left, left_field), of_operand(right, right_field))
    else {
        return Ok(None);
    };
    let wanted = match operator {
        Operator::Divide => ArrowType::Float64,
        other => wide(left_integer, right_integer, other == Operator::Minus),
    };
    let operand = |expr: &Expr, field: &FieldRef| {
        if *field.data_type() == wanted { expr.clone() } else { cast(expr.clone(), wanted.clone()) }
    };
    Ok(Some(binary(operand(left, left_field), operator, operand(right, right_field))))
}

/// Sums and differences of dates and instants: numbers are days and seconds.
fn moments(left: &Expr, operator: Operator, right: &Expr, fields: &[FieldRef; 2]) -> Option<Expr> {
    use DataType::{Date, Date32, DateTime, DateTime64};
    let [left_field, right_field] = fields;
    let types = (bare_type(left_field)?, bare_type(right_field)?);
    let is_right_integer = integer(right_field).is_some();
    match (&types, operator) {
        ((DateTime { .. }, DateTime { .. }), Operator::Minus) => {
            let seconds = |side: &Expr| cast(side.clone(), ArrowType::Int64);
            Some(binary(seconds(left), Operator::Minus, seconds(right)))
        }
        (
            (DateTime { .. } | DateTime64 { .. }, DateTime { .. } | DateTime64 { .. }),
            Operator::Minus,
        ) => elapsed(left, right, fields),
        ((Date | Date32, Date | Date32), Operator::Minus) => {
            let days = |side: &Expr| cast(side.clone(), ArrowType::Int32);
            Some(binary(days(left), Operator::Minus, days(right)))
        }
        ((Date | Date32 | DateTime { .. }, _), Operator::Plus) if is_right_integer => {
            scalar::call("plus", vec![left.clone(), right.clone()])
        }
        ((Date | Date32 | DateTime { .. }, _), Operator::Minus) if is_right_integer => {
            scalar::call("minus", vec![left.clone(), right.clone()])
        }
        ((DateTime64 { .. }, _), Operator::Plus | Operator::Minus) if is_right_integer => {
            let ticks = ticks_per_second(left_field.data_type())?;
            let number = cast(right.clone(), ArrowType::Int64);
            let moved = binary(
                cast(left.clone(), ArrowType::Int64),
                operator,
                binary(number, Operator::Multiply, lit(ticks)),
            );
            let moved = cast(moved, left_field.data_type().clone());
            Some(Typed::call(moved, &types.0))
        }
        ((_, Date | Date32 | DateTime { .. } | DateTime64 { .. }), Operator::Plus)
            if integer(left_field).is_some() =>
        {
            let exchanged = [right_field.clone(), left_field.clone()];
            moments(right, operator, left, &exchanged)
        }
        _ => None,
    }
}

/// The seconds between two instants with fractions, as a decimal.
fn elapsed(left: &Expr, right: &Expr, fields: &[FieldRef; 2]) -> Option<Expr> {
    let per_second =
        [ticks_per_second(fields[0].data_type())?, ticks_per_second(fields[1].data_type())?];
    let finest = per_second[0].max(per_second[1]);
    let digits = u8::try_from(finest.ilog10()).ok()?;
    let scale = i8::try_from(digits).ok()?;
    let ticks = |side: &Expr, per_second: i64| {
        let ticks = cast(side.clone(), ArrowType::Int64);
        if per_second == finest {
            return ticks;
        }
        binary(ticks, Operator::Multiply, lit(finest / per_second))
    };
    let between = binary(ticks(left, per_second[0]), Operator::Minus, ticks(right, per_second[1]));
    let tick = lit(ScalarValue::Decimal128(Some(1), digits.max(1), scale));
    let seconds = binary(cast(between, ArrowType::Decimal128(19, 0)), Operator::Multiply, tick);
    Some(cast(seconds, ArrowType::Decimal128(18, scale)))
}
