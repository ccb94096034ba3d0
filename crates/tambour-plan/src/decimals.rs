//! Decimals beside floats: ClickHouse makes a float of the decimal and compares those.
//!
//! The engine would make a decimal of the float, which rounds it (`0.06 + 0.01` is less than 0.07) and fails for what no decimal
//! is. Where the float is a constant, it becomes the bound that gives the same answer for each decimal of the type, so that
//! scans can still leave out what lies beyond it.

use super::beside;
use crate::walk::Walk;
use arrow::array::{ArrayRef, StringViewArray};
use arrow::datatypes::{DataType as ArrowType, i256};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, cast, lit};
use std::sync::Arc;
use tambour_function::Operand;
use tambour_part::types::DataType;

/// The comparison of a decimal with a constant float; `None` if only the values as floats can tell.
pub(super) fn with_constant(
    decimal: &Expr,
    data_type: &ArrowType,
    operator: Operator,
    constant: f64,
) -> Option<Expr> {
    let ArrowType::Decimal128(precision, scale) = *data_type else { return None };
    let power = 10_f64.powi(i32::from(scale));
    let end = 10_i128.checked_pow(u32::from(precision))?;
    #[expect(clippy::cast_precision_loss, reason = "it is what is compared")]
    let first = |holds: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (-end, end);
        while low + 1 < high {
            let middle = low.midpoint(high);
            let is_past = holds(middle as f64 / power);
            (low, high) = if is_past { (low, middle) } else { (middle, high) };
        }
        (low > -end && high < end).then_some(high)
    };
    // The first decimal that is not less, and the first that is greater: values as floats never fall.
    let not_less = first(&|float| float >= constant)?;
    let greater = first(&|float| float > constant)?;
    let compared = |operator, bound: i128| {
        let bound = lit(ScalarValue::Decimal128(Some(bound), precision, scale));
        Expr::BinaryExpr(BinaryExpr::new(Box::new(decimal.clone()), operator, Box::new(bound)))
    };
    match operator {
        Operator::Lt => Some(compared(Operator::Lt, not_less)),
        Operator::LtEq => Some(compared(Operator::Lt, greater)),
        Operator::Gt => Some(compared(Operator::GtEq, greater)),
        Operator::GtEq => Some(compared(Operator::GtEq, not_less)),
        _ if greater == not_less + 1 => Some(compared(operator, not_less)),
        _ => None,
    }
}

/// A decimal as the float that it is compared as.
pub(super) fn as_float(side: &Expr, data_type: &ArrowType) -> Expr {
    if data_type.is_decimal() { cast(side.clone(), ArrowType::Float64) } else { side.clone() }
}

/// The members of a set of decimals: ClickHouse cuts a float off at the digits of the type (0.29 becomes 0.28), and leaves it out where
/// that is another number. A float that only the query computes is refused.
pub(super) fn members(list: &mut InList, decimal: &ArrowType, schema: &DFSchema) -> Result<()> {
    let mut kept = Vec::with_capacity(list.list.len());
    for item in std::mem::take(&mut list.list) {
        if !item.get_type(schema)?.is_floating() {
            kept.push(item);
            continue;
        }
        let computed = || match beside::constant(&item)?.cast_to(&ArrowType::Float64).ok()? {
            ScalarValue::Float64(float) => float,
            _ => None,
        };
        let Some(float) = folded(&item).or_else(computed) else {
            return plan_err!(
                "IN does not take this float beside a Decimal: write it as a number, or convert it by toDecimal64"
            );
        };
        kept.extend(member(float, decimal).map(lit));
    }
    list.list = kept;
    Ok(())
}

/// The decimal that a text says; further digits are cut off.
pub(super) fn of_text(text: &str, decimal: &ArrowType) -> Result<ScalarValue> {
    let (ArrowType::Decimal128(precision, scale) | ArrowType::Decimal256(precision, scale)) =
        decimal
    else {
        return plan_err!("{decimal} has no decimals");
    };
    let constant = |text: &str| {
        let values: ArrayRef = Arc::new(StringViewArray::from_iter_values([text]));
        Operand { data_type: DataType::String, values, is_constant: true }
    };
    let operands = [constant(text), constant(&format!("Decimal({precision}, {scale})"))];
    let Some(cast) = tambour_aggregate::find_in_queries("CAST") else {
        return plan_err!("there is no function CAST");
    };
    let Ok(made) = cast.evaluate(&operands) else {
        return plan_err!("'{text}' is not a Decimal({precision}, {scale})");
    };
    ScalarValue::try_from_array(&made.values, 0)
}

/// The decimal of a type that is a float.
#[expect(clippy::float_cmp, reason = "whether it is the same is the question")]
fn member(float: f64, decimal: &ArrowType) -> Option<ScalarValue> {
    let (ArrowType::Decimal128(precision, scale) | ArrowType::Decimal256(precision, scale)) =
        *decimal
    else {
        return None;
    };
    // The nearest float to the power.
    let power: f64 = format!("1e{scale}").parse().ok()?;
    let cut = (float * power).trunc();
    if !cut.is_finite() || (cut / power) != float {
        return None;
    }
    let digits = format!("{cut:.0}");
    if digits.trim_start_matches('-').len() > usize::from(precision) {
        return None;
    }
    Some(match decimal {
        ArrowType::Decimal128(..) => {
            ScalarValue::Decimal128(Some(digits.parse().ok()?), precision, scale)
        }
        _ => ScalarValue::Decimal256(Some(i256::from_string(&digits)?), precision, scale),
    })
}

/// Sets of floats that a query gives are compared with a decimal as a float. What ClickHouse makes of a float that it looks for among
/// decimals is another number, and refused.
pub(super) fn sets(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&plan.inputs());
    plan.map_expressions(|expr| {
        expr.up(&mut |expr| {
            let Expr::InSubquery(mut set) = expr else { return Ok(Transformed::no(expr)) };
            let fields = set.subquery.subquery.schema().fields().clone();
            let ([member], Ok(value)) = (fields.as_ref(), set.expr.get_type(&schema)) else {
                return Ok(Transformed::no(Expr::InSubquery(set)));
            };
            let is_changed = value.is_decimal() && member.data_type().is_floating();
            if is_changed {
                *set.expr = cast(std::mem::take(&mut *set.expr), ArrowType::Float64);
            } else if value.is_floating() && member.data_type().is_decimal() {
                return plan_err!(
                    "IN does not look for a float among Decimals: convert one of them, for example by toFloat64(x)"
                );
            }
            Ok(Transformed::new_transformed(Expr::InSubquery(set), is_changed))
        })
    })
}

/// The value of an expression of constants (`0.06 + 0.01`), which is a float.
pub(super) fn folded(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Literal(value, _) if value.data_type().is_numeric() => {
            match value.cast_to(&ArrowType::Float64) {
                Ok(ScalarValue::Float64(number)) => number,
                _ => None,
            }
        }
        Expr::Cast(made) if *made.field.data_type() == ArrowType::Float64 => folded(&made.expr),
        Expr::Negative(inner) => folded(inner).map(|it| -it),
        Expr::BinaryExpr(binary) => {
            let (left, right) = (folded(&binary.left)?, folded(&binary.right)?);
            Some(match binary.op {
                Operator::Plus => left + right,
                Operator::Minus => left - right,
                Operator::Multiply => left * right,
                _ => return None,
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::col;

    #[test]
    fn bounds_give_what_the_floats_give() {
        let operators = [Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq, Operator::Eq];
        let data_type = ArrowType::Decimal128(4, 2);
        for constant in [0.07, 0.06 + 0.01, 0.1 + 0.2, -0.29, 0.295, 0.0, 57.0, -99.98, 1e-300] {
            for operator in operators {
                let planned = with_constant(&col("d"), &data_type, operator, constant);
                let Some(Expr::BinaryExpr(planned)) = planned else {
                    assert_eq!(operator, Operator::Eq, "{constant}");
                    continue;
                };
                let Expr::Literal(ScalarValue::Decimal128(Some(bound), ..), _) = *planned.right
                else {
                    panic!("{planned:?} has no bound");
                };
                for value in -9999_i32..10_000 {
                    let float = f64::from(value) / 100.0;
                    let wanted = holds(operator, float.partial_cmp(&constant));
                    let got = holds(planned.op, Some(i128::from(value).cmp(&bound)));
                    assert_eq!(got, wanted, "{float} {operator} {constant}");
                }
            }
        }
    }

    #[test]
    fn bounds_beyond_the_type_are_none() {
        let data_type = ArrowType::Decimal128(4, 2);
        for constant in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -100.0] {
            assert_eq!(with_constant(&col("d"), &data_type, Operator::Lt, constant), None);
        }
    }

    fn holds(operator: Operator, order: Option<std::cmp::Ordering>) -> bool {
        let order = order.expect("no NaN");
        match operator {
            Operator::Lt => order.is_lt(),
            Operator::LtEq => order.is_le(),
            Operator::Gt => order.is_gt(),
            Operator::GtEq => order.is_ge(),
            _ => order.is_eq(),
        }
    }
}
