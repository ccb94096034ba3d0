//! Decimals beside floats: ClickHouse makes a float of the decimal and compares those.
//!
//! The engine would make a decimal of the float, which rounds it (`0.06 + 0.01` is less than 0.07) and fails for what no decimal
//! is. Where the float is a constant, it becomes the bound that gives the same answer for each decimal of the type, so that
//! scans can still leave out what lies beyond it.

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, cast, lit};

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
