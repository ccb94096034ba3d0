//! Comparisons as ClickHouse has them: a NaN is not less than, equal to or greater than anything, the two zeros are equal,
//! UUIDs stand in the order of their second half, and literals take the type of the other side.
//!
//! The engine sorts floats by their bits: a NaN is beyond the infinity of its sign. So a comparison with a constant becomes a
//! range that ends at an infinity, which filters can still be pushed down with, and is evaluated without looking for NaNs.
//! What is not a plain column is compared by [`Ieee`], so that no expression is written twice and grows with every nesting.

use super::beside::{
    between_integers, check_items, check_joined, in_one_unit, is_float_of, number, wide,
};
use super::integer::integer;
use super::literal::{bare_type, field_of, fitted, null_of_null};
use super::order::Order;
use super::{decimals, elementwise, listed, scalar};
use crate::walk::Walk;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{DataType as ArrowType, Decimal128Type, Field, FieldRef, Float64Type};
use datafusion::common::{DFSchema, ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    Between, BinaryExpr, Case, ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast, lit,
};
use std::cmp::Ordering;
use std::sync::Arc;
use tambour_part::types::DataType;
use tambour_value::Zone;

/// Nodes up to which an expression may be written twice.
const TWICE_MAX: usize = 16;

/// The comparison of two expressions; `None` if the engine's own is the right one.
pub(super) fn plan(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    schema: &DFSchema,
) -> Result<Option<Expr>> {
    let of_elements = |left: &Expr, operator: Operator, right: &Expr| {
        let planned = plan(left, operator, right, schema)?;
        Ok(planned.unwrap_or_else(|| binary(left.clone(), operator, right.clone())))
    };
    let is_order = !matches!(operator, Operator::Eq | Operator::NotEq);
    // Equality of columns of tuples is the engine's, which joins by it.
    if (is_order || elementwise::is_written(left) || elementwise::is_written(right))
        && let Some(planned) = elementwise::comparison(left, operator, right, schema, of_elements)?
    {
        return Ok(Some(planned));
    }
    let fields = [field_of(left, schema)?, field_of(right, schema)?];
    if is_unknown(operator, &fields) {
        return Ok(Some(lit(ScalarValue::Boolean(None))));
    }
    check(&fields)?;
    check_items(left, right, &fields)?;
    let [left_field, right_field] = &fields;
    let fitted_left = fitted(left, right_field)?;
    let fitted_right = fitted(right, left_field)?;
    let is_fitted = fitted_left.is_some() || fitted_right.is_some();
    let left = fitted_left.unwrap_or_else(|| left.clone());
    let right = fitted_right.unwrap_or_else(|| right.clone());
    let of_fitted = [field_of(&left, schema)?, field_of(&right, schema)?];
    if let Some(planned) = numbered(&left, operator, &right, &of_fitted)? {
        return Ok(Some(planned));
    }
    if is_order && let Some(planned) = listed::comparison(&left, operator, &right, schema)? {
        return Ok(Some(planned));
    }
    if let Some(both) = of_one_form(&of_fitted) {
        let [left, right] = [left, right].map(|side| cast(side, both.clone()));
        return Ok(Some(binary(left, operator, right)));
    }
    if let Some(planned) = floats(&left, operator, &right, &of_fitted) {
        return Ok(Some(planned));
    }
    check_joined(&left, &right, &fields)?;
    if let Some((left, right)) = same_form(&left, operator, &right, &fields) {
        let of_both = [field_of(&left, schema)?, field_of(&right, schema)?];
        let in_units = in_one_unit(&left, operator, &right, &of_both);
        return Ok(Some(in_units.unwrap_or_else(|| binary(left, operator, right))));
    }
    if let Some(planned) = in_one_unit(&left, operator, &right, &of_fitted) {
        return Ok(Some(planned));
    }
    Ok(is_fitted.then(|| binary(left, operator, right)))
}

/// True for a comparison of a bare NULL with a type whose values are compared in a form of their own, which NULL has not.
fn is_unknown(operator: Operator, fields: &[FieldRef; 2]) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let has_form =
        |field: &FieldRef| bare_type(field).is_some_and(|it| Order::of_comparison(&it).is_some());
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq)
        && fields.iter().any(|field| field.data_type().is_null())
        && fields.iter().any(has_form)
}

/// Whether arrays and tuples with floats in them, or tuples with NULLs, are equal; a join asks the engine for that, which looks at their bits as
/// ClickHouse's joins do.
pub(super) fn of_rows(binary: &BinaryExpr, schema: &DFSchema) -> Result<Option<Expr>> {
    let (left, operator, right) = (&*binary.left, binary.op, &*binary.right);
    if !matches!(operator, Operator::Eq | Operator::NotEq) {
        return Ok(None);
    }
    let fields = [field_of(left, schema)?, field_of(right, schema)?];
    let has_nulls = |field: &FieldRef| match bare_type(field) {
        Some(DataType::Tuple(elements)) => {
            elements.iter().any(|(_, it)| matches!(it, DataType::Nullable(_)))
        }
        _ => {
            matches!(field.data_type(), ArrowType::Struct(of) if of.iter().any(|it| it.data_type().is_null()))
        }
    };
    let is_own =
        |field: &FieldRef| elementwise::holds_floats(field.data_type()) || has_nulls(field);
    if !fields.iter().any(is_own) {
        return Ok(None);
    }
    let of_elements = |left: &Expr, operator: Operator, right: &Expr| {
        let pair = BinaryExpr::new(Box::new(left.clone()), operator, Box::new(right.clone()));
        let planned = match of_rows(&pair, schema)? {
            Some(planned) => Some(planned),
            None => plan(left, operator, right, schema)?,
        };
        Ok(planned.unwrap_or(Expr::BinaryExpr(pair)))
    };
    match elementwise::comparison(left, operator, right, schema, of_elements)? {
        Some(planned) => Ok(Some(planned)),
        None => listed::comparison(left, operator, right, schema),
    }
}

/// Refuses what the engine would compare by other rules.
pub(super) fn check(fields: &[FieldRef; 2]) -> Result<()> {
    let (Some(left), Some(right)) = (bare_type(&fields[0]), bare_type(&fields[1])) else {
        return Ok(());
    };
    let is_enum = |it: &DataType| matches!(it, DataType::Enum8(_) | DataType::Enum16(_));
    let is_map = |it: &DataType| matches!(it, DataType::Map(..)) && listed::is_own(it, true);
    if is_enum(&left) && is_enum(&right) && left != right {
        return plan_err!("two Enums are compared if they are the same; convert one by CAST");
    }
    if is_map(&left) || is_map(&right) {
        return plan_err!("comparisons of {left} are not there; compare the keys and values");
    }
    let is_nested = |it: &DataType| matches!(it, DataType::Array(_) | DataType::Tuple(_));
    if is_nested(&left) && is_nested(&right) && are_other_moments(&left, &right) {
        return plan_err!("no comparison of {left} and {right}: convert the dates by toDateTime");
    }
    Ok(())
}

/// Refuses `x IN (SELECT …)` where ClickHouse would make another value of x, of the type that the set has.
pub(super) fn check_set(fields: &[FieldRef; 2]) -> Result<()> {
    check(fields)?;
    let (Some(value), Some(member)) = (bare_type(&fields[0]), bare_type(&fields[1])) else {
        return Ok(());
    };
    let is_cut = matches!(value, DataType::Decimal { .. }) && integer(&fields[1]).is_some();
    let is_nested = |it: &DataType| matches!(it, DataType::Array(_) | DataType::Tuple(_));
    let is_other = is_nested(&value)
        && is_nested(&member)
        && (!have_same_moments(&value, &member) || super::alike::is_lossy(&value, &member));
    let is_long = |it: &DataType| matches!(it, DataType::Int64 | DataType::UInt64);
    let is_float = |it: &DataType| matches!(it, DataType::Float32 | DataType::Float64);
    // The engine compares floats, and an integer of 64 bits may have none of its value.
    let is_lossy = is_long(&value) && is_float(&member) || is_float(&value) && is_long(&member);
    let is_fixed = |it: &DataType| matches!(it, DataType::FixedString(_));
    let is_padded = is_fixed(&value) != is_fixed(&member);
    if is_cut || is_other || is_lossy || is_padded || are_other_moments(&value, &member) {
        return plan_err!("IN does not look for {value} in a set of {member}: convert one of them");
    }
    Ok(())
}

/// True for types with the same dates and times in the same places of arrays and tuples, if with any.
pub(super) fn have_same_moments(left: &DataType, right: &DataType) -> bool {
    let is_moment = |it: &DataType| is_day(it) || is_time(it);
    all_pairs(left, right, &|a, b| a == b || !is_moment(a) && !is_moment(b))
}

/// True for dates beside times, also in arrays and tuples.
fn are_other_moments(left: &DataType, right: &DataType) -> bool {
    !all_pairs(left, right, &|a, b| !(is_day(a) && is_time(b) || is_time(a) && is_day(b)))
}

fn is_day(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Date | DataType::Date32)
}

fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::DateTime { .. } | DataType::DateTime64 { .. })
}

/// True if all types in the same places of arrays and tuples are such a pair.
fn all_pairs(
    left: &DataType,
    right: &DataType,
    is_pair: &dyn Fn(&DataType, &DataType) -> bool,
) -> bool {
    use DataType::{Array, Nullable, Tuple};
    match (left, right) {
        (Nullable(inner), other) => all_pairs(inner, other, is_pair),
        (other, Nullable(inner)) => all_pairs(other, inner, is_pair),
        (Array(a), Array(b)) => all_pairs(a, b, is_pair),
        (Tuple(a), Tuple(b)) => a.iter().zip(b).all(|(a, b)| all_pairs(&a.1, &b.1, is_pair)),
        (a, b) => is_pair(a, b),
    }
}

/// The form of arrays or tuples that differ in nothing but where there may be a NULL, which the engine takes for two types.
fn of_one_form(fields: &[FieldRef; 2]) -> Option<ArrowType> {
    let [left, right] = [fields[0].data_type(), fields[1].data_type()];
    let both = super::array::merged(left, right);
    let is_nested = matches!(left, ArrowType::List(_) | ArrowType::Struct(_));
    (is_nested && left != right && both == super::array::merged(right, left)).then_some(both)
}

pub(super) fn binary(left: Expr, operator: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right)))
}

/// The last day that a DateTime has whole: ClickHouse makes it of later dates beside one.
const WHOLE_DAY: i32 = 49_709;

/// A `Date` that is not after the last one of a DateTime.
pub(super) fn within(date: &Expr) -> Expr {
    if let Expr::Literal(ScalarValue::Date32(Some(day)), metadata) = date {
        return Expr::Literal(ScalarValue::Date32(Some((*day).min(WHOLE_DAY))), metadata.clone());
    }
    let last = lit(ScalarValue::Date32(Some(WHOLE_DAY)));
    // A date that is NULL stays it.
    let is_later = Box::new(date.clone().gt(last.clone()));
    let within = Case::new(None, vec![(is_later, Box::new(last))], Some(Box::new(date.clone())));
    // The engine takes what a CASE gives for a Date32.
    let within = Expr::Case(within);
    scalar::call("toDate", vec![within.clone()]).unwrap_or(within)
}

/// The first moment of a date in a zone, as an expression.
pub(super) fn midnight(date: &Expr, zone: Option<&str>) -> Option<Expr> {
    // DateTime has neither 1900 nor 2149, and a date may lie there.
    let mut arguments = vec![date.clone(), lit(0_u8)];
    arguments.extend(zone.map(lit));
    scalar::call("toDateTime64", arguments)
}

/// The first moment of a `Date` as a `DateTime` has it, beside which it stands.
fn start(date: &Expr, zone: Option<&str>) -> Option<Expr> {
    // Where 1970-01-01 began before Unix time did, a DateTime takes the day after.
    let begins_early = Zone::of(zone).ok()?.instant(0, 0) < 0;
    let date = within(date);
    if !begins_early {
        return midnight(&date, zone);
    }
    let [first, second] = [0, 1].map(|day| lit(ScalarValue::Date32(Some(day))));
    let is_first = Box::new(date.clone().eq(first));
    let later = Case::new(None, vec![(is_first, Box::new(second))], Some(Box::new(date)));
    midnight(&Expr::Case(later), zone)
}

/// Enums are compared by their numbers, integers of 256 bits by their value.
fn numbered(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    fields: &[FieldRef; 2],
) -> Result<Option<Expr>> {
    let types = [bare_type(&fields[0]), bare_type(&fields[1])];
    let is_order = !matches!(operator, Operator::Eq | Operator::NotEq);
    let form = |data_type: &Option<DataType>| data_type.as_ref().and_then(Order::of_comparison);
    let of_enum = |known: &[(String, i16)], other: &Expr, field: &Field| match other {
        Expr::Literal(value, _) if let Some(name) = super::literal::text(value) => {
            let Some((_, number)) = known.iter().find(|it| it.0 == name) else {
                let names = known.iter().map(|it| it.0.as_str()).collect::<Vec<_>>();
                return plan_err!("the Enum has no name {name:?}; it has: {}", names.join(", "));
            };
            Ok(Some(lit(*number)))
        }
        other if integer(field).is_some() => Ok(Some(other.clone())),
        _ => Ok(None),
    };
    let made = |left: Expr, right: Expr| Some(binary(left, operator, right));
    Ok(match (form(&types[0]), form(&types[1])) {
        (Some(order @ Order::Wide { .. }), Some(other)) if order == other && is_order => {
            made(order.udf().call(vec![left.clone()]), order.udf().call(vec![right.clone()]))
        }
        (Some(Order::Wide { .. }), other) | (other, Some(Order::Wide { .. }))
            if is_order || other.is_none() =>
        {
            return plan_err!(
                "integers of 256 bits are compared with constants and with their own type only"
            );
        }
        (Some(order @ Order::Number(_)), Some(other)) if order == other => {
            if !is_order {
                return Ok(None);
            }
            made(order.udf().call(vec![left.clone()]), order.udf().call(vec![right.clone()]))
        }
        (Some(order @ Order::Number(_)), None) => {
            let Order::Number(known) = &order else { return Ok(None) };
            if !is_order && integer(&fields[1]).is_none() {
                return Ok(None);
            }
            let Some(right) = of_enum(known, right, &fields[1])? else { return unordered() };
            made(order.udf().call(vec![left.clone()]), right)
        }
        (None, Some(order @ Order::Number(_))) => {
            let Order::Number(known) = &order else { return Ok(None) };
            if !is_order && integer(&fields[0]).is_none() {
                return Ok(None);
            }
            let Some(left) = of_enum(known, left, &fields[0])? else { return unordered() };
            made(left, order.udf().call(vec![right.clone()]))
        }
        _ => None,
    })
}

fn unordered() -> Result<Option<Expr>> {
    plan_err!("an Enum is compared with one of its names, a number or the same Enum")
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
        [Some(DataType::DateTime { zone }), Some(DataType::Date)] => {
            Some((left.clone(), start(right, zone.as_deref())?))
        }
        [Some(DataType::Date), Some(DataType::DateTime { zone })] => {
            Some((start(left, zone.as_deref())?, right.clone()))
        }
        // The type of both together has no zone.
        [Some(DataType::DateTime { .. }), Some(DataType::Date32)] => {
            Some((left.clone(), midnight(right, None)?))
        }
        [Some(DataType::Date32), Some(DataType::DateTime { .. })] => {
            Some((midnight(left, None)?, right.clone()))
        }
        [Some(DataType::DateTime64 { zone, .. }), Some(DataType::Date | DataType::Date32)] => {
            Some((left.clone(), midnight(right, zone.as_deref())?))
        }
        [Some(DataType::Date | DataType::Date32), Some(DataType::DateTime64 { zone, .. })] => {
            Some((midnight(left, zone.as_deref())?, right.clone()))
        }
        // A text that is longer than the fixed string beside it.
        [Some(DataType::FixedString(_)), _] if is_text(right) => {
            Some(both(&|side| cast(side, ArrowType::Binary)))
        }
        [_, Some(DataType::FixedString(_))] if is_text(left) => {
            Some(both(&|side| cast(side, ArrowType::Binary)))
        }
        // The shorter one is taken for as long as the other, with zeros at its end.
        [Some(DataType::FixedString(_)), Some(DataType::String)]
        | [Some(DataType::String), Some(DataType::FixedString(_))] => {
            let bytes = |side: &Expr| cast(side.clone(), ArrowType::Binary);
            let without_zeros = |side| scalar::call("trimRight", vec![bytes(side), lit("\0")]);
            Some((without_zeros(left)?, without_zeros(right)?))
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
    let is_long = |field: &Field| matches!(field.data_type(), ArrowType::Int64 | ArrowType::UInt64);
    let [left_field, right_field] = fields;
    let types = [left_field.data_type(), right_field.data_type()];
    if types.iter().any(|it| it.is_decimal()) && types.iter().any(|it| it.is_floating()) {
        return Some(with_decimal(left, operator, right, types));
    }
    let are_long_and_float = (is_float(left_field) && is_long(right_field))
        || (is_float(right_field) && is_long(left_field));
    match (number(left), number(right)) {
        (None, Some(constant)) if is_float(left_field) && is_float_of(right, constant) => {
            Some(with_constant(left, operator, constant, &wide(right, constant)))
        }
        (Some(constant), None) if is_float(right_field) && is_float_of(left, constant) => {
            Some(with_constant(right, operator.swap()?, constant, &wide(left, constant)))
        }
        (None, Some(constant)) if are_long_and_float => {
            let between = between_integers(left, operator, constant, left_field);
            Some(between.unwrap_or_else(|| exact(left, operator, right, fields)))
        }
        (Some(constant), None) if are_long_and_float => {
            let between = between_integers(right, operator.swap()?, constant, right_field);
            Some(between.unwrap_or_else(|| exact(left, operator, right, fields)))
        }
        _ if are_long_and_float => Some(exact(left, operator, right, fields)),
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
            let other =
                if std::ptr::eq(guarded, left) { (right, right_field) } else { (left, left_field) };
            let missing = other.1.is_nullable() && !other.0.contains_outer();
            Some(with_expression(left, operator, right, guarded, missing.then_some(other.0)))
        }
        (Some(_), Some(_)) if is_float(left_field) || is_float(right_field) => {
            Some(ieee(left, operator, right))
        }
        _ => None,
    }
}

/// A comparison of a decimal with a float, in either order.
fn with_decimal(left: &Expr, operator: Operator, right: &Expr, types: [&ArrowType; 2]) -> Expr {
    let [left_type, right_type] = types;
    let known = if left_type.is_decimal() {
        let constant = decimals::folded(right);
        constant.and_then(|it| decimals::with_constant(left, left_type, operator, it))
    } else {
        let constant = decimals::folded(left);
        constant.and_then(|it| decimals::with_constant(right, right_type, operator.swap()?, it))
    };
    known.unwrap_or_else(|| {
        let side = |side, data_type| decimals::as_float(side, data_type);
        let float = if left_type.is_decimal() { right } else { left };
        with_expression(&side(left, left_type), operator, &side(right, right_type), float, None)
    })
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
    use datafusion::common::tree_node::TreeNodeRecursion;
    let mut count = 0;
    // The closure never fails.
    let _ = expr.look(&mut |_| {
        count += 1;
        Ok(if count > TWICE_MAX { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    count
}

fn between(expr: &Expr, low: f64, high: f64) -> Expr {
    let (low, high) = (Box::new(lit(low)), Box::new(lit(high)));
    Expr::Between(Between::new(Box::new(expr.clone()), false, low, high))
}

/// Holds of a NaN, as a user's NOT BETWEEN does not.
fn outside(expr: &Expr, low: f64, high: f64) -> Expr {
    Expr::Not(Box::new(between(expr, low, high)))
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
        Operator::Eq if is_zero => between(expr, -0.0, 0.0),
        Operator::NotEq if is_zero => outside(expr, -0.0, 0.0),
        Operator::Lt => compared(Operator::Lt, low).and(finite(Operator::GtEq, f64::NEG_INFINITY)),
        Operator::LtEq => {
            compared(Operator::LtEq, high).and(finite(Operator::GtEq, f64::NEG_INFINITY))
        }
        Operator::Gt => compared(Operator::Gt, high).and(finite(Operator::LtEq, f64::INFINITY)),
        Operator::GtEq => compared(Operator::GtEq, low).and(finite(Operator::LtEq, f64::INFINITY)),
        _ => compared(operator, literal.clone()),
    }
}

/// Equality stays one, so that tables can be joined by it. Beside a NULL, which may be `other`, a NaN is NULL.
fn with_expression(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    guarded: &Expr,
    other: Option<&Expr>,
) -> Expr {
    let equality = matches!(operator, Operator::Eq | Operator::NotEq);
    if !equality || nodes(guarded) > TWICE_MAX {
        return ieee(left, operator, right);
    }
    let compared = binary(left.clone(), operator, right.clone());
    let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
    let (is_number, is_nan) = (between(guarded, least, most), outside(guarded, least, most));
    match (operator, other.cloned()) {
        (Operator::Eq, None) => compared.and(is_number),
        (Operator::Eq, Some(other)) => compared.and(is_number.or(other.is_null())),
        (_, None) => compared.or(is_nan),
        (_, Some(other)) => compared.or(is_nan.and(other.is_not_null())),
    }
}

/// An integer of 64 bits may have no float of the same value: they are compared as they are.
fn exact(left: &Expr, operator: Operator, right: &Expr, fields: &[FieldRef; 2]) -> Expr {
    let side = |expr: &Expr, field: &Field| match field.data_type() {
        ArrowType::Int64 | ArrowType::UInt64 => cast(expr.clone(), ArrowType::Decimal128(20, 0)),
        _ => cast(expr.clone(), ArrowType::Float64),
    };
    let sides = vec![side(left, &fields[0]), side(right, &fields[1])];
    ScalarUDF::new_from_impl(Ieee::new(operator)).call(sides)
}

fn ieee(left: &Expr, operator: Operator, right: &Expr) -> Expr {
    let wide = |side: &Expr| cast(side.clone(), ArrowType::Float64);
    ScalarUDF::new_from_impl(Ieee::new(operator)).call(vec![wide(left), wide(right)])
}

/// A comparison of floats as the processor makes it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Ieee {
    operator: Operator,
    signature: Signature,
}

impl Ieee {
    /// Which comparison it is.
    pub(super) fn operator(&self) -> Operator {
        self.operator
    }
    pub(super) fn new(operator: Operator) -> Self {
        Self { operator, signature: Signature::any(2, Volatility::Immutable) }
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
    fn holds(&self, order: Option<Ordering>) -> bool {
        match self.operator {
            Operator::Eq => order == Some(Ordering::Equal),
            Operator::NotEq => order != Some(Ordering::Equal),
            Operator::Lt => order == Some(Ordering::Less),
            Operator::LtEq => order.is_some_and(Ordering::is_le),
            Operator::Gt => order == Some(Ordering::Greater),
            _ => order.is_some_and(Ordering::is_ge),
        }
    }
    fn values(&self, left: &ArrayRef, right: &ArrayRef) -> Result<ArrayRef> {
        let floats = |side: &ArrayRef| side.as_primitive_opt::<Float64Type>().cloned();
        let integers = |side: &ArrayRef| side.as_primitive_opt::<Decimal128Type>().cloned();
        let rows = left.len();
        let bits = match (floats(left), floats(right), integers(left), integers(right)) {
            (Some(a), Some(b), ..) => {
                let (a, b) = (a.values(), b.values());
                BooleanBuffer::collect_bool(rows, |row| self.compare(a[row], b[row]))
            }
            (Some(a), _, _, Some(b)) => {
                let (a, b) = (a.values(), b.values());
                let order = |row: usize| against(b[row], a[row]).map(Ordering::reverse);
                BooleanBuffer::collect_bool(rows, |row| self.holds(order(row)))
            }
            (_, Some(b), Some(a), _) => {
                let (a, b) = (a.values(), b.values());
                BooleanBuffer::collect_bool(rows, |row| self.holds(against(a[row], b[row])))
            }
            _ => return exec_err!("{} takes numbers", self.name()),
        };
        let nulls = NullBuffer::union(left.nulls(), right.nulls());
        Ok(Arc::new(BooleanArray::new(bits, nulls)))
    }
}

/// The order of an integer of up to 64 bits and a float; `None` for a NaN.
#[expect(clippy::cast_possible_truncation, reason = "the float is within the range of integers")]
fn against(integer: i128, float: f64) -> Option<Ordering> {
    /// Past all integers of 64 bits.
    const END: f64 = 1e20;
    if float.is_nan() {
        return None;
    }
    if float >= END {
        return Some(Ordering::Less);
    }
    if float <= -END {
        return Some(Ordering::Greater);
    }
    let whole = float.trunc();
    let rest = 0.0_f64.partial_cmp(&(float - whole))?;
    Some(integer.cmp(&(whole as i128)).then(rest))
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
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(null_of_null(self.name(), ArrowType::Boolean, &args))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [left, right] = arrays.as_slice() else {
            return exec_err!("{} takes two arguments", self.name());
        };
        let values = self.values(left, right)?;
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

    #[test]
    fn integers_and_floats_are_compared_exactly() {
        use super::against;
        use std::cmp::Ordering::{Equal, Greater, Less};
        let near = 9_007_199_254_740_993_i128;
        assert_eq!(against(near, 9_007_199_254_740_992.0), Some(Greater));
        assert_eq!(against(-3, -3.5), Some(Greater));
        assert_eq!(against(3, 3.5), Some(Less));
        assert_eq!(against(3, 3.0), Some(Equal));
        assert_eq!(against(i128::from(u64::MAX), f64::INFINITY), Some(Less));
        assert_eq!(against(0, f64::NAN), None);
    }

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
