//! Constants beside columns of another width: a float beside integers, an integer beside floats, a time of more digits. The engine would
//! make both of one type, and either may lose by that.

use super::comparison::{binary, plan};
use super::elementwise::holds_floats;
use super::literal::{bare_type, field_of, fitted, named, ticks_per_second, whole};
use super::scalar;
use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{BinaryExpr, ColumnarValue, Expr, Operator, lit};
use datafusion::physical_expr::create_physical_expr;
use std::collections::HashSet;
use std::sync::Arc;
use tambour_part::types::DataType;

/// Times of different fractions of a second. The engine would cut a constant to the unit of a column beside it.
pub(super) fn in_one_unit(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    fields: &[FieldRef; 2],
) -> Option<Expr> {
    let [a, b] = [&fields[0], &fields[1]].map(|field| ticks_per_second(field.data_type()));
    let (a, b) = (a?, b?);
    if a == b {
        return None;
    }
    let (coarse, operator, fine, field) = if a < b {
        (left, operator, right, &fields[0])
    } else {
        (right, operator.swap()?, left, &fields[1])
    };
    if let Some(tick) = constant_tick(fine) {
        let ratio = a.max(b) / a.min(b);
        let literal = ScalarValue::Int64(Some(tick.div_euclid(ratio)));
        let literal = literal.cast_to(field.data_type()).ok()?;
        let literal = Expr::Literal(literal, Some(named(&bare_type(field)?)));
        let operator = match operator {
            _ if tick.rem_euclid(ratio) == 0 => Some(operator),
            Operator::Gt | Operator::GtEq => Some(Operator::Gt),
            Operator::Lt | Operator::LtEq => Some(Operator::LtEq),
            _ => None,
        };
        if let Some(operator) = operator {
            return Some(binary(coarse.clone(), operator, literal));
        }
    }
    let digits = a.max(b).ilog10();
    let coarse = scalar::call("toDateTime64", vec![coarse.clone(), lit(digits)])?;
    Some(binary(coarse, operator, fine.clone()))
}

/// The ticks of a time that is computed of constants.
pub(super) fn constant_tick(expr: &Expr) -> Option<i64> {
    match constant(expr)?.cast_to(&ArrowType::Int64).ok()? {
        ScalarValue::Int64(tick) => tick,
        _ => None,
    }
}

/// What is computed of constants.
pub(super) fn constant(expr: &Expr) -> Option<ScalarValue> {
    if expr.is_volatile() || expr.any_column_refs() || expr.contains_outer() {
        return None;
    }
    let schema = DFSchema::empty();
    let (props, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
    let computed = create_physical_expr(expr, &schema, &props, &context).ok()?;
    let row = RecordBatchOptions::new().with_row_count(Some(1));
    let batch =
        RecordBatch::try_new_with_options(Arc::clone(schema.inner()), Vec::new(), &row).ok()?;
    match computed.evaluate(&batch).ok()? {
        ColumnarValue::Scalar(value) => Some(value),
        ColumnarValue::Array(values) => ScalarValue::try_from_array(&values, 0).ok(),
    }
}

/// The order of an integer and a float between two integers, as that of the integer and the lesser one.
pub(super) fn between_integers(
    expr: &Expr,
    operator: Operator,
    float: f64,
    field: &Field,
) -> Option<Expr> {
    let operator = match operator {
        Operator::Gt | Operator::GtEq => Operator::Gt,
        Operator::Lt | Operator::LtEq => Operator::LtEq,
        _ => return None,
    };
    let below = whole(float.floor(), &bare_type(&Arc::new(field.clone()))?)?;
    (float.fract() != 0.0).then(|| binary(expr.clone(), operator, lit(below)))
}

/// True for an integer that the float beside it cannot be.
#[expect(
    clippy::cast_possible_truncation,
    clippy::float_cmp,
    reason = "whether it is the same is the question"
)]
pub(super) fn is_no_float(literal: &Expr, field: &Field) -> bool {
    let Some(constant) = number(literal).filter(|_| is_integer(literal)) else { return false };
    !is_float_of(literal, constant)
        || *field.data_type() == ArrowType::Float32 && f64::from(constant as f32) != constant
}

/// A literal; as a float of 64 bits if it is an integer that no float of 32 bits is, which the engine would make of it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::float_cmp,
    reason = "whether it is the same is the question"
)]
pub(super) fn wide(literal: &Expr, number: f64) -> Expr {
    let is_narrow = f64::from(number as f32) == number || !is_integer(literal);
    if is_narrow { literal.clone() } else { lit(number) }
}

pub(super) fn is_integer(literal: &Expr) -> bool {
    matches!(literal, Expr::Literal(ScalarValue::Int64(_) | ScalarValue::UInt64(_), _))
}

/// True if the number of a literal is a float of the same value.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a float of 64 bits of an integer is within 128"
)]
pub(super) fn is_float_of(literal: &Expr, number: f64) -> bool {
    let integer = match literal {
        Expr::Literal(ScalarValue::Int64(Some(it)), _) => i128::from(*it),
        Expr::Literal(ScalarValue::UInt64(Some(it)), _) => i128::from(*it),
        _ => return true,
    };
    number as i128 == integer
}

/// Refuses arrays of integers of 64 bits beside those of floats, but of integers that are written out and floats of the same value.
pub(super) fn check_items(left: &Expr, right: &Expr, fields: &[FieldRef; 2]) -> Result<()> {
    let (Some(a), Some(b)) = (bare_type(&fields[0]), bare_type(&fields[1])) else { return Ok(()) };
    if super::alike::is_lossy(&a, &b) && !is_written(left) && !is_written(right) {
        return plan_err!("no comparison of {a} and {b}: convert one of them");
    }
    Ok(())
}

fn is_written(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => number(expr).is_none_or(|it| is_float_of(expr, it)),
        Expr::ScalarFunction(call) => {
            call.name() == "make_array" && call.args.iter().all(is_written)
        }
        Expr::Cast(cast) => is_written(&cast.expr),
        _ => false,
    }
}

/// Refuses a FixedString beside a String of another table: in a join ClickHouse does not take zeros at the end for nothing.
pub(super) fn check_joined(left: &Expr, right: &Expr, fields: &[FieldRef; 2]) -> Result<()> {
    let types = [bare_type(&fields[0]), bare_type(&fields[1])];
    let are_apart = || {
        let tables = |side: &Expr| -> HashSet<_> {
            side.column_refs().into_iter().map(|it| it.relation.clone()).collect()
        };
        let (left, right) = (tables(left), tables(right));
        !left.is_empty() && !right.is_empty() && left != right
    };
    match types {
        [Some(fixed @ DataType::FixedString(_)), Some(DataType::String)]
        | [Some(DataType::String), Some(fixed @ DataType::FixedString(_))]
            if are_apart() =>
        {
            plan_err!(
                "a {fixed} and a String of two tables are not compared: convert one by toString(x)"
            )
        }
        _ => Ok(()),
    }
}

/// The number of a literal.
pub(super) fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Literal(value, _) if value.data_type().is_numeric() => {
            match value.cast_to(&ArrowType::Float64) {
                Ok(ScalarValue::Float64(number)) => number,
                _ => None,
            }
        }
        _ => None,
    }
}

/// `a IS DISTINCT FROM b` of floats that cannot be NULL is `a != b`, since a NaN is distinct from a NaN, and so is that of an integer
/// and a float.
pub(super) fn distinct(binary: &BinaryExpr, schema: &DFSchema) -> Result<Option<Expr>> {
    let fields = [field_of(&binary.left, schema)?, field_of(&binary.right, schema)?];
    let types = [bare_type(&fields[0]), bare_type(&fields[1])];
    let is_text = |it: &Option<DataType>| matches!(it, Some(DataType::String));
    let is_fixed = |it: &Option<DataType>| matches!(it, Some(DataType::FixedString(_)));
    if is_fixed(&types[0]) && is_text(&types[1]) || is_text(&types[0]) && is_fixed(&types[1]) {
        return plan_err!("IS DISTINCT FROM does not take a FixedString beside a String: write =");
    }
    let is_date = |it: &Option<DataType>| matches!(it, Some(DataType::Date | DataType::Date32));
    let has_zone = |it: &Option<DataType>| match it {
        Some(DataType::DateTime { zone } | DataType::DateTime64 { zone, .. }) => {
            zone.as_deref().is_some_and(|zone| zone != "UTC")
        }
        _ => false,
    };
    if is_date(&types[0]) && has_zone(&types[1]) || has_zone(&types[0]) && is_date(&types[1]) {
        return plan_err!("IS DISTINCT FROM does not take a date beside a time of a zone: write =");
    }
    let is_wide = |it: &Option<DataType>| matches!(it, Some(DataType::Int64 | DataType::UInt64));
    let is_kept = |it: &Expr| match number(it) {
        Some(number) => is_float_of(it, number),
        None => false,
    };
    let sides = [&binary.left, &binary.right];
    let loses = |wide: usize, other: usize| {
        is_wide(&types[wide])
            && fields[other].data_type().is_floating()
            && !is_kept(sides[wide])
            && !matches!(sides[other].as_ref(), Expr::Literal(..))
    };
    let loses = loses(0, 1) || loses(1, 0);
    if loses && fields.iter().any(|it| it.is_nullable()) {
        return plan_err!(
            "IS DISTINCT FROM does not take an integer of 64 bits beside a float where one may be NULL: write ="
        );
    }
    let is_float = |it: &Expr| matches!(it, Expr::Literal(ScalarValue::Float64(_), _));
    let fitted = |side: &Expr, other| if is_float(side) { fitted(side, other) } else { Ok(None) };
    let sides = (fitted(&binary.left, &fields[1])?, fitted(&binary.right, &fields[0])?);
    if sides.0.is_some() || sides.1.is_some() {
        let left = sides.0.map_or_else(|| binary.left.clone(), Box::new);
        let right = sides.1.map_or_else(|| binary.right.clone(), Box::new);
        return Ok(Some(Expr::BinaryExpr(BinaryExpr::new(left, binary.op, right))));
    }
    let is_plain = |field: &FieldRef| field.data_type().is_floating() && !field.is_nullable();
    if fields.iter().all(|field| holds_floats(field.data_type())) {
        return plan_err!(
            "IS DISTINCT FROM does not take arrays and tuples of floats; compare with ="
        );
    }
    if !loses && !fields.iter().all(is_plain) {
        return Ok(None);
    }
    let operator =
        if binary.op == Operator::IsDistinctFrom { Operator::NotEq } else { Operator::Eq };
    plan(&binary.left, operator, &binary.right, schema)
}
