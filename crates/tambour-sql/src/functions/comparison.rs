//! Comparisons as ClickHouse has them: a NaN is not less than, equal to or greater than anything, the two zeros are equal,
//! UUIDs stand in the order of their second half, and literals take the type of the other side.
//!
//! The engine sorts floats by their bits: a NaN is beyond the infinity of its sign. So a comparison with a constant becomes a
//! range that ends at an infinity, which filters can still be pushed down with, and is evaluated without looking for NaNs.
//! What is no plain column is compared by [`Ieee`], so that no expression is written twice and grows with every nesting.

use super::integer::integer;
use super::literal::{bare_type, field_of, fitted};
use super::order::Order;
use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Float64Type};
use datafusion::common::{DFSchema, ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    Between, BinaryExpr, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, cast, lit,
};
use std::sync::Arc;
use tambour_part::types::DataType;

/// Nodes up to which an expression may be written twice.
const TWICE_MAX: usize = 16;

/// The comparison of two expressions; `None` if the engine's own is the right one.
pub(super) fn plan(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    schema: &DFSchema,
) -> Result<Option<Expr>> {
    let fields = [field_of(left, schema)?, field_of(right, schema)?];
    let [left_field, right_field] = &fields;
    let fitted_left = fitted(left, right_field)?;
    let fitted_right = fitted(right, left_field)?;
    let is_fitted = fitted_left.is_some() || fitted_right.is_some();
    let left = fitted_left.unwrap_or_else(|| left.clone());
    let right = fitted_right.unwrap_or_else(|| right.clone());
    if let Some(planned) = floats(&left, operator, &right, &fields) {
        return Ok(Some(planned));
    }
    if let Some((left, right)) = same_form(&left, operator, &right, &fields) {
        return Ok(Some(binary(left, operator, right)));
    }
    Ok(is_fitted.then(|| binary(left, operator, right)))
}

fn binary(left: Expr, operator: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)))
}

/// Sides whose Arrow types do not compare, or not in ClickHouse's order.
fn same_form(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    fields: &[FieldRef; 2],
) -> Option<(Expr, Expr)> {
    let types = [bare_type(&fields[0]), bare_type(&fields[1])];
    let is_text = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if super::literal::text(value).is_some());
    let is_literal = |expr: &Expr| matches!(expr, Expr::Literal(..));
    let both = |change: &dyn Fn(Expr) -> Expr| (change(left.clone()), change(right.clone()));
    let is_order = !matches!(operator, Operator::Eq | Operator::NotEq);
    match &types {
        [Some(DataType::Uuid), _] | [_, Some(DataType::Uuid)] if is_order => {
            Some(both(&|side| Order::Uuid.udf().call(vec![side])))
        }
        // A text that is longer than the fixed string beside it.
        [Some(DataType::FixedString(_)), _] if is_text(right) => {
            Some(both(&|side| cast(side, ArrowType::Binary)))
        }
        [_, Some(DataType::FixedString(_))] if is_text(left) => {
            Some(both(&|side| cast(side, ArrowType::Binary)))
        }
        [Some(DataType::DateTime { .. }), _]
            if integer(&fields[1]).is_some() && !is_literal(right) =>
        {
            Some((cast(left.clone(), ArrowType::Int64), right.clone()))
        }
        [_, Some(DataType::DateTime { .. })]
            if integer(&fields[0]).is_some() && !is_literal(left) =>
        {
            Some((left.clone(), cast(right.clone(), ArrowType::Int64)))
        }
        _ => None,
    }
}

/// A comparison in which a NaN or a zero may take part.
fn floats(left: &Expr, operator: Operator, right: &Expr, fields: &[FieldRef; 2]) -> Option<Expr> {
    let is_float = |field: &Field| field.data_type().is_floating();
    let is_number = |field: &Field| field.data_type().is_numeric();
    let [left_field, right_field] = fields;
    match (number(left), number(right)) {
        (None, Some(constant)) if is_float(left_field) => {
            Some(with_constant(left, operator, constant, right))
        }
        (Some(constant), None) if is_float(right_field) => {
            Some(with_constant(right, operator.swap()?, constant, left))
        }
        (None, None)
            if (is_float(left_field) && is_number(right_field))
                || (is_float(right_field) && is_number(left_field)) =>
        {
            let sides = [(left, left_field), (right, right_field)];
            let floats = sides.into_iter().filter(|(_, field)| is_float(field));
            // A guard on an outer query's column alone would keep a subquery from becoming a join.
            let is_dear =
                |side: &Expr| side.contains_outer() || matches!(side, Expr::ScalarSubquery(_));
            let guarded = floats.map(|(side, _)| side).min_by_key(|side| is_dear(side))?;
            Some(with_expression(left, operator, right, guarded))
        }
        (Some(_), Some(_)) if is_float(left_field) || is_float(right_field) => {
            Some(ieee(left, operator, right))
        }
        _ => None,
    }
}

/// The number of a literal.
fn number(expr: &Expr) -> Option<f64> {
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

/// True for what scans understand, and for what costs nothing to evaluate again.
fn may_stand_twice(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::OuterReferenceColumn(..) | Expr::Literal(..) => true,
        Expr::Cast(cast) => may_stand_twice(&cast.expr),
        Expr::Alias(alias) => may_stand_twice(&alias.expr),
        _ => false,
    }
}

fn nodes(expr: &Expr) -> usize {
    use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
    let mut count = 0;
    // The closure never fails.
    let _ = expr.apply(|_| {
        count += 1;
        Ok(if count > TWICE_MAX { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    count
}

fn between(expr: &Expr, negated: bool, low: f64, high: f64) -> Expr {
    let (low, high) = (Box::new(lit(low)), Box::new(lit(high)));
    Expr::Between(Between::new(Box::new(expr.clone()), negated, low, high))
}

fn with_constant(expr: &Expr, operator: Operator, constant: f64, literal: &Expr) -> Expr {
    let is_zero = constant == 0.0;
    let is_plain = matches!(operator, Operator::Eq | Operator::NotEq) && !is_zero;
    if constant.is_nan() || (!is_plain && !may_stand_twice(expr)) {
        return ieee(expr, operator, literal);
    }
    // Below both zeros, or above them.
    let (low, high) =
        if is_zero { (lit(-0.0_f64), lit(0.0_f64)) } else { (literal.clone(), literal.clone()) };
    let compared = |operator, limit| binary(expr.clone(), operator, limit);
    let finite = |operator, infinity: f64| compared(operator, lit(infinity));
    match operator {
        Operator::Eq if is_zero => between(expr, false, -0.0, 0.0),
        Operator::NotEq if is_zero => between(expr, true, -0.0, 0.0),
        Operator::Lt => compared(Operator::Lt, low).and(finite(Operator::GtEq, f64::NEG_INFINITY)),
        Operator::LtEq => {
            compared(Operator::LtEq, high).and(finite(Operator::GtEq, f64::NEG_INFINITY))
        }
        Operator::Gt => compared(Operator::Gt, high).and(finite(Operator::LtEq, f64::INFINITY)),
        Operator::GtEq => compared(Operator::GtEq, low).and(finite(Operator::LtEq, f64::INFINITY)),
        _ => compared(operator, literal.clone()),
    }
}

/// Equality stays one, so that tables can be joined by it.
fn with_expression(left: &Expr, operator: Operator, right: &Expr, guarded: &Expr) -> Expr {
    let equality = matches!(operator, Operator::Eq | Operator::NotEq);
    if !equality || nodes(guarded) > TWICE_MAX {
        return ieee(left, operator, right);
    }
    let compared = binary(left.clone(), operator, right.clone());
    let is_nan = |negated: bool| between(guarded, !negated, f64::NEG_INFINITY, f64::INFINITY);
    if operator == Operator::Eq { compared.and(is_nan(true)) } else { compared.or(is_nan(false)) }
}

fn ieee(left: &Expr, operator: Operator, right: &Expr) -> Expr {
    let wide = |side: &Expr| cast(side.clone(), ArrowType::Float64);
    ScalarUDF::new_from_impl(Ieee::new(operator)).call(vec![wide(left), wide(right)])
}

/// A comparison of floats as the processor makes it.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Ieee {
    operator: Operator,
    signature: Signature,
}

impl Ieee {
    fn new(operator: Operator) -> Self {
        let floats = vec![ArrowType::Float64, ArrowType::Float64];
        Self { operator, signature: Signature::exact(floats, Volatility::Immutable) }
    }
    #[expect(clippy::float_cmp, reason = "it is the comparison")]
    fn compare(&self, left: f64, right: f64) -> bool {
        match self.operator {
            Operator::Eq => left == right,
            Operator::NotEq => left != right,
            Operator::Lt => left < right,
            Operator::LtEq => left <= right,
            Operator::Gt => left > right,
            _ => left >= right,
        }
    }
    fn values(&self, left: &Float64Array, right: &Float64Array) -> ArrayRef {
        let (a, b) = (left.values(), right.values());
        let of_row = |row: usize| self.compare(a[row], b[row]);
        let nulls = NullBuffer::union(left.nulls(), right.nulls());
        Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(left.len(), of_row), nulls))
    }
}

impl ScalarUDFImpl for Ieee {
    fn name(&self) -> &str {
        match self.operator {
            Operator::Eq => "equals",
            Operator::NotEq => "notEquals",
            Operator::Lt => "less",
            Operator::LtEq => "lessOrEquals",
            Operator::Gt => "greater",
            _ => "greaterOrEquals",
        }
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(ArrowType::Boolean)
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = arrays.as_slice() else {
            return exec_err!("{} takes two arguments", self.name());
        };
        let floats = [left, right].map(arrow::array::AsArray::as_primitive::<Float64Type>);
        let values = self.values(floats[0], floats[1]);
        if args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_))) {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?));
        }
        Ok(ColumnarValue::Array(values))
    }
}

#[cfg(test)]
mod tests {
    use super::plan;
    use arrow::datatypes::{DataType as ArrowType, Field, Schema};
    use datafusion::common::DFSchema;
    use datafusion::logical_expr::{Expr, Operator, col, lit};
    use tambour_part::types::Strings;

    fn planned(left: &Expr, operator: Operator, right: &Expr) -> String {
        let uuid = "UUID".parse::<tambour_part::DataType>().unwrap().field("u", Strings::Utf8);
        let fields = vec![
            Field::new("x", ArrowType::Float64, false),
            Field::new("y", ArrowType::Float32, true),
            Field::new("k", ArrowType::Int32, false),
            uuid,
        ];
        let schema = DFSchema::try_from(Schema::new(fields)).unwrap();
        let planned = plan(left, operator, right, &schema).unwrap();
        planned.map_or("-".to_owned(), |expr| expr.to_string())
    }

    #[test]
    fn ranges_end_at_the_infinities() {
        let (x, five) = (col("x"), lit(5_i64));
        assert_eq!(planned(&x, Operator::Gt, &five), "x > Int64(5) AND x <= Float64(inf)");
        assert_eq!(planned(&five, Operator::GtEq, &x), "x <= Int64(5) AND x >= Float64(-inf)");
        assert_eq!(planned(&x, Operator::Eq, &five), "x = Int64(5)");
        assert_eq!(planned(&x, Operator::Eq, &lit(0_i64)), "x BETWEEN Float64(-0) AND Float64(0)");
        assert_eq!(
            planned(&x, Operator::Lt, &lit(0_i64)),
            "x < Float64(-0) AND x >= Float64(-inf)"
        );
    }

    #[test]
    fn expressions_are_not_repeated_without_end() {
        let sum = col("x") + lit(1.0);
        assert!(planned(&sum, Operator::Gt, &lit(5_i64)).starts_with("greater("));
        assert!(planned(&col("x"), Operator::Lt, &col("y")).starts_with("less("));
        assert!(planned(&col("x"), Operator::Eq, &col("k")).starts_with("x = k AND x BETWEEN"));
        let long = (0..20).fold(col("x"), |sum, _| sum + lit(1.0));
        assert!(planned(&long, Operator::Eq, &col("y")).starts_with("equals("));
    }

    #[test]
    fn what_has_no_floats_is_left_alone() {
        assert_eq!(planned(&col("k"), Operator::Gt, &lit(5_i64)), "-");
        let text = lit("00010203-0405-0607-0809-0a0b0c0d0e0f");
        assert!(planned(&col("u"), Operator::Eq, &text).starts_with("u = FixedSizeBinary(16, "));
        assert!(planned(&col("u"), Operator::Lt, &text).starts_with("uuidOrder(u) < "));
    }
}
