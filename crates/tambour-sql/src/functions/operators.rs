//! Operators as ClickHouse has them: `+ - * /` on integers with ClickHouse's result types: sums and products get as many bits as they may need, differences
//! a sign, quotients are floats; booleans compare with 0 and 1. DataFusion alone would let `UInt8 - UInt8` wrap around and cut
//! `5 / 2` to 2.

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, cast};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// The planner of the operators.
#[derive(Debug)]
pub(super) struct Operators;

/// Bits and sign of an integer operand; literals are as narrow as they can be.
#[derive(Clone, Copy)]
struct Integer {
    bits: u8,
    is_signed: bool,
}

fn integer(expr: &Expr, schema: &DFSchema) -> Result<Option<Integer>> {
    if let Expr::Literal(ScalarValue::Int64(Some(number)), _) = expr {
        let is_signed = *number < 0;
        let magnitude = if is_signed { !*number as u64 } else { *number as u64 };
        let needed = u64::BITS - magnitude.leading_zeros() + u32::from(is_signed);
        let bits = [8, 16, 32].into_iter().find(|bits| needed <= u32::from(*bits)).unwrap_or(64);
        return Ok(Some(Integer { bits, is_signed }));
    }
    let (bits, is_signed) = match expr.get_type(schema)? {
        ArrowType::UInt8 => (8, false),
        ArrowType::UInt16 => (16, false),
        ArrowType::UInt32 => (32, false),
        ArrowType::UInt64 => (64, false),
        ArrowType::Int8 => (8, true),
        ArrowType::Int16 => (16, true),
        ArrowType::Int32 => (32, true),
        ArrowType::Int64 => (64, true),
        _ => return Ok(None),
    };
    Ok(Some(Integer { bits, is_signed }))
}

/// The type in which both operands are computed.
fn wide(left: Integer, right: Integer, always_signed: bool) -> ArrowType {
    let is_signed = always_signed || left.is_signed || right.is_signed;
    match (left.bits.max(right.bits), is_signed) {
        (8, false) => ArrowType::UInt16,
        (8, true) => ArrowType::Int16,
        (16, false) => ArrowType::UInt32,
        (16, true) => ArrowType::Int32,
        (_, false) => ArrowType::UInt64,
        (_, true) => ArrowType::Int64,
    }
}

impl ExprPlanner for Operators {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let operator = match expr.op {
            BinaryOperator::Plus => Operator::Plus,
            BinaryOperator::Minus => Operator::Minus,
            BinaryOperator::Multiply => Operator::Multiply,
            BinaryOperator::Divide => Operator::Divide,
            BinaryOperator::Eq => return boolean_comparison(expr, Operator::Eq, schema),
            BinaryOperator::NotEq => return boolean_comparison(expr, Operator::NotEq, schema),
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let (Some(left), Some(right)) =
            (integer(&expr.left, schema)?, integer(&expr.right, schema)?)
        else {
            return Ok(PlannerResult::Original(expr));
        };
        let wanted = match operator {
            Operator::Divide => ArrowType::Float64,
            other => wide(left, right, other == Operator::Minus),
        };
        let operand = |expr: Expr| -> Result<Box<Expr>> {
            Ok(Box::new(if expr.get_type(schema)? == wanted {
                expr
            } else {
                cast(expr, wanted.clone())
            }))
        };
        let planned = BinaryExpr::new(operand(expr.left)?, operator, operand(expr.right)?);
        Ok(PlannerResult::Planned(Expr::BinaryExpr(planned)))
    }
}

/// `startsWith(s, 'a') = 1`: the number becomes a boolean.
fn boolean_comparison(
    expr: RawBinaryExpr,
    operator: Operator,
    schema: &DFSchema,
) -> Result<PlannerResult<RawBinaryExpr>> {
    let is_boolean = |expr: &Expr| {
        Ok::<_, datafusion::error::DataFusionError>(expr.get_type(schema)? == ArrowType::Boolean)
    };
    let as_boolean = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::Int64(Some(number @ (0 | 1))), metadata) => {
            Some(Expr::Literal(ScalarValue::Boolean(Some(*number == 1)), metadata.clone()))
        }
        _ => None,
    };
    let (left, right) = match (as_boolean(&expr.left), as_boolean(&expr.right)) {
        (None, Some(right)) if is_boolean(&expr.left)? => (expr.left, right),
        (Some(left), None) if is_boolean(&expr.right)? => (left, expr.right),
        _ => return Ok(PlannerResult::Original(expr)),
    };
    let planned = BinaryExpr::new(Box::new(left), operator, Box::new(right));
    Ok(PlannerResult::Planned(Expr::BinaryExpr(planned)))
}
