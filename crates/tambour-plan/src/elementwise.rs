//! Tuples element by element: `(1, 2) + (3, 4)`, `(1, 2) * 2`, `(a, b) < (c, d)`. The engine compares tuples of one type
//! only, and orders their elements by its own rules.

use super::tuple::TupleElement;
use arrow::datatypes::DataType as ArrowType;
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, ScalarUDF, lit};

/// The elements of a tuple; `None` of other values.
pub(super) fn elements(expr: &Expr, schema: &DFSchema) -> Result<Option<Vec<Expr>>> {
    if let Expr::ScalarFunction(call) = expr
        && call.name() == "struct"
    {
        return Ok(Some(call.args.clone()));
    }
    let field = super::literal::field_of(expr, schema)?;
    let ArrowType::Struct(fields) = field.data_type() else { return Ok(None) };
    let element = |number: usize| {
        let number = lit(i64::try_from(number).unwrap_or(i64::MAX));
        ScalarUDF::new_from_impl(TupleElement::new()).call(vec![expr.clone(), number])
    };
    Ok(Some((1..=fields.len()).map(element).collect()))
}

/// A tuple of these elements.
fn tuple(elements: Vec<Expr>) -> Expr {
    datafusion::functions::core::r#struct().call(elements)
}

/// The sum, difference, product or quotient of tuples, or of a tuple and a number.
pub(super) fn arithmetic(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    schema: &DFSchema,
    combined: impl Fn(&Expr, Operator, &Expr) -> Result<Expr>,
) -> Result<Option<Expr>> {
    let sides = (elements(left, schema)?, elements(right, schema)?);
    let is_null = |side: &Expr| matches!(side, Expr::Literal(value, _) if value.is_null());
    if matches!(sides, (Some(_), None)) && is_null(right)
        || matches!(sides, (None, Some(_))) && is_null(left)
    {
        return Ok(Some(lit(ScalarValue::Null)));
    }
    let of_elements = |left: &Expr, right: &Expr| combined(left, operator, right);
    let made: Vec<Expr> = match sides {
        (Some(_), Some(_)) if operator == Operator::Modulo => {
            return plan_err!("a tuple cannot be divided by a tuple");
        }
        (Some(a), Some(b)) if a.len() == b.len() => {
            a.iter().zip(&b).map(|(a, b)| of_elements(a, b)).collect::<Result<_>>()?
        }
        (Some(_), Some(_)) => return plan_err!("the tuples have different lengths"),
        (None, Some(intervals))
            if matches!(operator, Operator::Plus | Operator::Minus) && is_moment(left, schema)? =>
        {
            // One interval after the other.
            let moved = intervals.iter().try_fold(left.clone(), |sum, it| of_elements(&sum, it));
            return moved.map(Some);
        }
        (Some(_), None) | (None, Some(_))
            if matches!(operator, Operator::Plus | Operator::Minus) =>
        {
            return plan_err!("a tuple and another value have no sum");
        }
        (None, Some(_)) if matches!(operator, Operator::Divide | Operator::Modulo) => {
            return plan_err!("a number cannot be divided by a tuple");
        }
        (Some(a), None) => a.iter().map(|a| of_elements(a, right)).collect::<Result<_>>()?,
        (None, Some(b)) => b.iter().map(|b| of_elements(left, b)).collect::<Result<_>>()?,
        (None, None) => return Ok(None),
    };
    Ok(Some(tuple(made)))
}

/// True for dates and times.
fn is_moment(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let field = super::literal::field_of(expr, schema)?;
    Ok(matches!(field.data_type(), ArrowType::Date32 | ArrowType::Timestamp(..)))
}

/// True for arrays and tuples with floats in them, however deep.
pub(super) fn holds_floats(data_type: &ArrowType) -> bool {
    let is_one = |it: &ArrowType| it.is_floating() || holds_floats(it);
    match data_type {
        ArrowType::Struct(fields) => fields.iter().any(|field| is_one(field.data_type())),
        ArrowType::List(item) => is_one(item.data_type()),
        _ => false,
    }
}

/// True for a tuple that is written out.
pub(super) fn is_written(side: &Expr) -> bool {
    matches!(side, Expr::ScalarFunction(call) if call.name() == "struct")
}

/// A comparison of tuples; `None` unless both sides are. NULLs in them are those of AND and OR.
pub(super) fn comparison(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    schema: &DFSchema,
    of_elements: impl Fn(&Expr, Operator, &Expr) -> Result<Expr>,
) -> Result<Option<Expr>> {
    let (Some(a), Some(b)) = (elements(left, schema)?, elements(right, schema)?) else {
        return Ok(None);
    };
    if a.len() != b.len() || a.is_empty() {
        return plan_err!("tuples of {} and {} elements cannot be compared", a.len(), b.len());
    }
    // Beside a bare NULL, which has no type to compare with, nothing is known of an order, nor of constants; of columns it is known
    // that they differ.
    let unknown = || lit(ScalarValue::Boolean(None));
    let is_null = |side: &Expr| matches!(side, Expr::Literal(value, _) if value.is_null());
    let is_constant = |side: &Expr| matches!(side, Expr::Literal(..));
    let is_equality = matches!(operator, Operator::Eq | Operator::NotEq);
    if a.iter().chain(&b).any(is_null) && (!is_equality || a.iter().chain(&b).all(is_constant)) {
        return Ok(Some(unknown()));
    }
    let pairs: Vec<(&Expr, &Expr)> = a.iter().zip(&b).collect();
    let equal = |a: &Expr, b: &Expr| {
        if is_null(a) || is_null(b) { Ok(unknown()) } else { of_elements(a, Operator::Eq, b) }
    };
    let all_equal = |pairs: &[(&Expr, &Expr)]| -> Result<Vec<Expr>> {
        pairs.iter().map(|(a, b)| equal(a, b)).collect()
    };
    let and = |list: Vec<Expr>| {
        list.into_iter().reduce(|a, b| {
            Expr::BinaryExpr(BinaryExpr::new(Box::new(a), Operator::And, Box::new(b)))
        })
    };
    let equal = and(all_equal(&pairs)?);
    let (strict, or_equal) = match operator {
        Operator::Eq => return Ok(equal),
        Operator::NotEq => return Ok(equal.map(|it| Expr::Not(Box::new(it)))),
        Operator::Lt => (Operator::Lt, Operator::Lt),
        Operator::LtEq => (Operator::Lt, Operator::LtEq),
        Operator::Gt => (Operator::Gt, Operator::Gt),
        _ => (Operator::Gt, Operator::GtEq),
    };
    // The first element that differs decides.
    let mut made: Option<Expr> = None;
    for (at, (a, b)) in pairs.iter().enumerate() {
        let is_last = at + 1 == pairs.len();
        let decides = of_elements(a, if is_last { or_equal } else { strict }, b)?;
        let mut list = all_equal(&pairs[..at])?;
        list.push(decides);
        made = match (made, and(list)) {
            (Some(before), Some(next)) => Some(Expr::BinaryExpr(BinaryExpr::new(
                Box::new(before),
                Operator::Or,
                Box::new(next),
            ))),
            (None, next) => next,
            (before, None) => before,
        };
    }
    Ok(made)
}
