//! Operators as ClickHouse has them: `+ - * /` on integers with ClickHouse's result types: sums and products get as many bits
//! as they may need, differences a sign, quotients are floats; dates and instants take numbers of days and seconds;
//! [`comparison`] has its own room. DataFusion alone would let `UInt8 - UInt8` wrap around and cut `5 / 2` to 2.

use super::array::WrittenArray;
use super::integer::{integer, of_operand, of_remainder, wide};
use super::literal::{bare_type, field_of, ticks_per_second};
use super::tuple::Tuple;
use super::typed::Typed;
use super::{aggregate, comparison, elementwise, scalar, using, written};
use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::{ScalarFunction, WindowFunctionDefinition};
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawAggregateExpr, RawBinaryExpr, RawFieldAccessExpr, RawWindowExpr,
};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, GetFieldAccess, Operator, ScalarUDF, cast, lit,
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
        BinaryOperator::Modulo => Operator::Modulo,
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
        let mut replaced = Vec::new();
        let left = using::qualified(&expr.left, schema, &mut replaced)?;
        let right = using::qualified(&expr.right, schema, &mut replaced)?;
        if replaced.is_empty() {
            return planned(expr, schema);
        }
        let bare = |expr| using::bare(expr, &replaced);
        Ok(match planned(RawBinaryExpr { op: expr.op, left, right }, schema)? {
            PlannerResult::Planned(made) => PlannerResult::Planned(bare(made)?),
            PlannerResult::Original(RawBinaryExpr { op, left, right }) => {
                let (left, right) = (bare(left)?, bare(right)?);
                PlannerResult::Original(RawBinaryExpr { op, left, right })
            }
        })
    }

    /// `[a, b]` is `array(a, b)`.
    fn plan_array_literal(
        &self,
        items: Vec<Expr>,
        _: &DFSchema,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let array = ScalarUDF::new_from_impl(WrittenArray::new());
        Ok(PlannerResult::Planned(array.call(items)))
    }

    /// `(a, b)` is `tuple(a, b)`.
    fn plan_struct_literal(
        &self,
        elements: Vec<Expr>,
        is_named: bool,
    ) -> Result<PlannerResult<Vec<Expr>>> {
        if is_named {
            return Ok(PlannerResult::Original(elements));
        }
        let tuple = ScalarUDF::new_from_impl(Tuple::new());
        Ok(PlannerResult::Planned(tuple.call(elements)))
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
        aggregate::Sum::put(&mut expr.func);
        Ok(PlannerResult::Original(expr))
    }

    fn plan_window(&self, mut expr: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        expr.args = aggregate::arguments(expr.func_def.name(), expr.args);
        if let WindowFunctionDefinition::AggregateUDF(function) = &mut expr.func_def {
            aggregate::Sum::put(function);
        }
        Ok(PlannerResult::Original(expr))
    }
}

/// What the operands make, whose columns are those of one table each.
fn planned(mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
    for side in [&mut expr.left, &mut expr.right] {
        *side = written::chosen(std::mem::take(side), schema)?;
    }
    if expr.op == BinaryOperator::StringConcat {
        return joined(expr, schema);
    }
    let Some(operator) = operator(&expr.op) else { return Ok(PlannerResult::Original(expr)) };
    let of_numbers = |left: &Expr, operator: Operator, right: &Expr| {
        let planned = if operator == Operator::Modulo {
            remainder(left, right, schema)?
        } else {
            arithmetic(left, operator, right, schema)?
        };
        Ok(planned.unwrap_or_else(|| binary(left.clone(), operator, right.clone())))
    };
    if (is_arithmetic(operator) || operator == Operator::Modulo)
        && let Some(planned) =
            elementwise::arithmetic(&expr.left, operator, &expr.right, schema, of_numbers)?
    {
        return Ok(PlannerResult::Planned(planned));
    }
    let planned = if operator == Operator::Modulo {
        remainder(&expr.left, &expr.right, schema)?
    } else if is_arithmetic(operator) {
        arithmetic(&expr.left, operator, &expr.right, schema)?
    } else {
        numbered(&mut expr, schema)?;
        comparison::plan(&expr.left, operator, &expr.right, schema)?
    };
    Ok(match planned {
        Some(planned) => PlannerResult::Planned(planned),
        None => PlannerResult::Original(expr),
    })
}

/// Makes a number of a condition that is compared with one, but for 0 and 1, which become conditions.
fn numbered(expr: &mut RawBinaryExpr, schema: &DFSchema) -> Result<()> {
    let is_flag = |it: &Expr| matches!(it, Expr::Literal(ScalarValue::Int64(Some(0 | 1)), _));
    let is_number = |it: &FieldRef| is_number(it.data_type());
    let fields = [field_of(&expr.left, schema)?, field_of(&expr.right, schema)?];
    let [left, right] = &fields;
    let (side, other) = if *left.data_type() == ArrowType::Boolean && is_number(right) {
        (&mut expr.left, &expr.right)
    } else if *right.data_type() == ArrowType::Boolean && is_number(left) {
        (&mut expr.right, &expr.left)
    } else {
        return Ok(());
    };
    if !is_flag(other)
        && let Some(number) = scalar::call("toUInt8", vec![side.clone()])
    {
        *side = number;
    }
    Ok(())
}

/// `a || b` is `concat(a, b)`. The engine joins texts; an array it would give one item more, and it shows numbers in its own
/// way.
fn joined(expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
    let is_text = |data_type: &ArrowType| match data_type {
        ArrowType::Dictionary(_, values) => values.is_string(),
        other => other.is_string(),
    };
    let is_list = |data_type: &ArrowType| matches!(data_type, ArrowType::List(_));
    let types = [&expr.left, &expr.right].map(|side| field_of(side, schema));
    let [left, right] = types;
    let types = [left?, right?];
    let are = |is: &dyn Fn(&ArrowType) -> bool| types.iter().all(|it| is(it.data_type()));
    let has_null = types.iter().any(|it| it.data_type().is_null());
    if has_null && types.iter().any(|it| is_list(it.data_type())) {
        return Ok(PlannerResult::Planned(lit(ScalarValue::Null)));
    }
    if are(&is_text) || has_null {
        return Ok(PlannerResult::Original(expr));
    }
    // The engine takes an array beside an array of arrays for one of its elements.
    let name = if are(&is_list) { "arrayConcat" } else { "concat" };
    Ok(match scalar::call(name, vec![expr.left.clone(), expr.right.clone()]) {
        Some(call) => PlannerResult::Planned(call),
        None => PlannerResult::Original(expr),
    })
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
    let (left, right) = (&counted(left, schema)?, &counted(right, schema)?);
    let fields = [field_of(left, schema)?, field_of(right, schema)?];
    if let Some(planned) = moments(left, operator, right, &fields) {
        return Ok(Some(planned));
    }
    if let Some(planned) = wide_integers(left, operator, right, &fields) {
        return Ok(Some(planned));
    }
    let [left_field, right_field] = &fields;
    let (Some(left_integer), Some(right_integer)) =
        (of_operand(left, left_field), of_operand(right, right_field))
    else {
        return Ok(floats(left, operator, right, &fields));
    };
    let wanted = match operator {
        Operator::Divide => ArrowType::Float64,
        other => wide(left_integer, right_integer, other == Operator::Minus),
    };
    if wanted == ArrowType::Int64
        && fields.iter().any(|it| *it.data_type() == ArrowType::UInt64)
        && let Some(wrapping) = wrapping(operator)
    {
        return Ok(scalar::call(wrapping, vec![left.clone(), right.clone()]));
    }
    let operand = |expr: &Expr, field: &FieldRef| {
        if *field.data_type() == wanted { expr.clone() } else { cast(expr.clone(), wanted.clone()) }
    };
    Ok(Some(binary(operand(left, left_field), operator, operand(right, right_field))))
}

/// The arithmetic of numbers whose types are others than was known when it was planned ([`super::written`], counts); `None` if it
/// is right. Nothing is copied to find that out: it may be a chain of a thousand.
pub(super) fn planned_again(binary: &BinaryExpr, schema: &DFSchema) -> Result<Option<Expr>> {
    if !is_arithmetic(binary.op) && binary.op != Operator::Modulo {
        return Ok(None);
    }
    let sides = [without_cast(&binary.left, schema)?, without_cast(&binary.right, schema)?];
    let fields = [field_of(sides[0], schema)?, field_of(sides[1], schema)?];
    if fields.iter().any(is_wide) && binary.op != Operator::Modulo {
        return Ok(wide_integers(sides[0], binary.op, sides[1], &fields));
    }
    let any = |is: fn(&ArrowType) -> bool| fields.iter().any(|field| is(field.data_type()));
    let (has_float, has_decimal) = (any(ArrowType::is_floating), any(ArrowType::is_decimal));
    if binary.op == Operator::Modulo {
        // That of floats and decimals is a function.
        let is_other = has_float || has_decimal;
        return if is_other { remainder(sides[0], sides[1], schema) } else { Ok(None) };
    }
    if has_decimal && !has_float {
        let is_cast = [&*binary.left, &*binary.right]
            .into_iter()
            .zip(sides)
            .any(|(given, side)| matches!(given, Expr::Cast(_)) && !matches!(side, Expr::Cast(_)));
        return Ok(is_cast.then(|| self::binary(sides[0].clone(), binary.op, sides[1].clone())));
    }
    let wanted = match (of_operand(sides[0], &fields[0]), of_operand(sides[1], &fields[1])) {
        (Some(left), Some(right)) if binary.op != Operator::Divide => {
            wide(left, right, binary.op == Operator::Minus)
        }
        (Some(_), Some(_)) => ArrowType::Float64,
        _ if has_float && fields.iter().all(|it| is_number(it.data_type())) => ArrowType::Float64,
        _ => return Ok(None),
    };
    let fits = |(side, field): (&Expr, &FieldRef)| match side {
        Expr::Cast(cast) => *cast.field.data_type() == wanted,
        _ => *field.data_type() == wanted,
    };
    let wraps =
        wanted == ArrowType::Int64 && fields.iter().any(|it| *it.data_type() == ArrowType::UInt64);
    if !wraps && [&*binary.left, &*binary.right].into_iter().zip(&fields).all(fits) {
        return Ok(None);
    }
    arithmetic(sides[0], binary.op, sides[1], schema)
}

/// The same of the function that [`wrapping`] gives.
pub(super) fn wrapping_again(call: &ScalarFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    let operator = match call.name() {
        "plus" => Operator::Plus,
        "minus" => Operator::Minus,
        "multiply" => Operator::Multiply,
        _ => return Ok(None),
    };
    let [left, right] = call.args.as_slice() else { return Ok(None) };
    let [left, right] = [without_cast(left, schema)?, without_cast(right, schema)?];
    let mut has_float = false;
    for side in [left, right] {
        let field = field_of(side, schema)?;
        has_float |= field.data_type().is_floating();
        if !is_number(field.data_type()) {
            return Ok(None);
        }
    }
    // It takes integers of any width.
    if has_float { arithmetic(left, operator, right, schema) } else { Ok(None) }
}

fn is_arithmetic(operator: Operator) -> bool {
    matches!(operator, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide)
}

/// True for integers of at most 64 bits, decimals and floats.
fn is_number(data_type: &ArrowType) -> bool {
    data_type.is_integer() || data_type.is_floating() || data_type.is_decimal()
}

/// The same of a remainder, which is cast to its type.
pub(super) fn remainder_again(expr: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let Expr::Cast(cast) = expr else { return Ok(None) };
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Modulo, right }) = &*cast.expr else {
        return Ok(None);
    };
    if !cast.field.data_type().is_integer() {
        return Ok(None);
    }
    let planned = remainder(without_cast(left, schema)?, without_cast(right, schema)?, schema)?;
    Ok(planned.filter(|it| it != expr))
}

/// A literal as it was written, and a number before it was cast to what it is computed in; anything else as it is.
fn without_cast<'a>(side: &'a Expr, schema: &DFSchema) -> Result<&'a Expr> {
    let Expr::Cast(cast) = side else { return Ok(side) };
    let is_remainder =
        matches!(&*cast.expr, Expr::BinaryExpr(inner) if inner.op == Operator::Modulo);
    let inner = field_of(&cast.expr, schema)?;
    let (from, to) = (inner.data_type(), cast.field.data_type());
    // A decimal is made a float on purpose.
    let is_computed = !is_remainder
        && (to.is_integer() && is_number(from)
            || to.is_floating() && is_number(from) && !from.is_decimal());
    match &*cast.expr {
        literal @ Expr::Literal(..) => Ok(literal),
        inner if is_computed => without_cast(inner, schema),
        _ => Ok(side),
    }
}

/// The function that takes an integer past the range of an Int64 as the number that its bits are there, where the engine's
/// operator would refuse it.
fn wrapping(operator: Operator) -> Option<&'static str> {
    Some(match operator {
        Operator::Plus => "plus",
        Operator::Minus => "minus",
        Operator::Multiply => "multiply",
        _ => return None,
    })
}

/// A condition as 0 or 1, other values as they are.
fn counted(side: &Expr, schema: &DFSchema) -> Result<Expr> {
    let is_flag = *field_of(side, schema)?.data_type() == ArrowType::Boolean;
    Ok(if is_flag { cast(side.clone(), ArrowType::UInt8) } else { side.clone() })
}

/// Arithmetic of integers of 128 and 256 bits, which are decimals and bytes for the engine.
fn wide_integers(
    left: &Expr,
    operator: Operator,
    right: &Expr,
    fields: &[FieldRef; 2],
) -> Option<Expr> {
    if !fields.iter().any(is_wide) {
        return None;
    }
    if let Some(function) = wrapping(operator) {
        return scalar::call(function, vec![left.clone(), right.clone()]);
    }
    let float = |side: &Expr| scalar::call("toFloat64", vec![side.clone()]);
    Some(binary(float(left)?, operator, float(right)?))
}

fn is_wide(field: &FieldRef) -> bool {
    use DataType::{Int128, Int256, UInt128, UInt256};
    matches!(bare_type(field), Some(Int128 | UInt128 | Int256 | UInt256))
}

/// With a float the result is a Float64, whatever the widths.
fn floats(left: &Expr, operator: Operator, right: &Expr, fields: &[FieldRef; 2]) -> Option<Expr> {
    let types = [fields[0].data_type(), fields[1].data_type()];
    let is_number = |data_type: &&ArrowType| data_type.is_numeric();
    let is_float = types.iter().any(|it| it.is_floating());
    let is_narrow = types.iter().any(|it| **it != ArrowType::Float64);
    if !is_float || !is_narrow || !types.iter().all(is_number) {
        return None;
    }
    let side = |expr: &Expr| cast(expr.clone(), ArrowType::Float64);
    Some(binary(side(left), operator, side(right)))
}

/// The remainder; that of floats is what a quotient without its fraction leaves.
fn remainder(left: &Expr, right: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let (left, right) = (&counted(left, schema)?, &counted(right, schema)?);
    let is_float =
        |side: &Expr| Ok::<_, DataFusionError>(field_of(side, schema)?.data_type().is_floating());
    let is_decimal =
        |side: &Expr| Ok::<_, DataFusionError>(field_of(side, schema)?.data_type().is_decimal());
    if is_wide(&field_of(left, schema)?) || is_wide(&field_of(right, schema)?) {
        return Ok(scalar::call("modulo", vec![left.clone(), right.clone()]));
    }
    if !is_float(left)? && !is_float(right)? {
        if is_decimal(left)? || is_decimal(right)? {
            return Ok(scalar::call("modulo", vec![left.clone(), right.clone()]));
        }
        let fields = [field_of(left, schema)?, field_of(right, schema)?];
        let operands = (of_operand(left, &fields[0]), of_operand(right, &fields[1]));
        let (Some(left_integer), Some(right_integer)) = operands else { return Ok(None) };
        let rest = long_remainder(left, right, schema)?;
        let rest = rest.unwrap_or_else(|| binary(left.clone(), Operator::Modulo, right.clone()));
        let wanted = of_remainder(left_integer, right_integer);
        let is_wanted = rest.get_type(schema)? == wanted;
        return Ok(Some(if is_wanted { rest } else { cast(rest, wanted) }));
    }
    let side = |side: &Expr| cast(side.clone(), ArrowType::Float64);
    Ok(scalar::call("modulo", vec![side(left), side(right)]))
}

/// The remainder of integers of which one is a UInt64: the engine would make decimals of them where the other has a sign, and
/// takes literals for such.
fn long_remainder(left: &Expr, right: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let types = [field_of(left, schema)?, field_of(right, schema)?];
    let [left_integer, right_integer] = [of_operand(left, &types[0]), of_operand(right, &types[1])];
    let (Some(left_integer), Some(right_integer)) = (left_integer, right_integer) else {
        return Ok(None);
    };
    if types.iter().all(|it| *it.data_type() != ArrowType::UInt64) {
        return Ok(None);
    }
    if left_integer.is_signed() || right_integer.is_signed() {
        return Ok(scalar::call("modulo", vec![left.clone(), right.clone()]));
    }
    let side = |side: &Expr| cast(side.clone(), ArrowType::UInt64);
    Ok(Some(binary(side(left), Operator::Modulo, side(right))))
}

/// Sums and differences of dates and instants: numbers are days and seconds.
fn moments(left: &Expr, operator: Operator, right: &Expr, fields: &[FieldRef; 2]) -> Option<Expr> {
    use DataType::{Date, Date32, DateTime, DateTime64};
    let [left_field, right_field] = fields;
    if let (Operator::Plus, Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(_)), _)) =
        (operator, left)
    {
        let exchanged = [right_field.clone(), left_field.clone()];
        return moved(right, operator, left, &exchanged[0]);
    }
    if let Some(moved) = moved(left, operator, right, left_field) {
        return Some(moved);
    }
    let left_type = bare_type(left_field)?;
    let types = (left_type, bare_type(right_field)?);
    let is_right_integer = integer(right_field).is_some();
    match (&types, operator) {
        ((DateTime { .. }, DateTime { .. }), Operator::Minus) => {
            let seconds = |side: &Expr| cast(side.clone(), ArrowType::Int64);
            // More than 68 years do not fit: an error.
            Some(cast(binary(seconds(left), Operator::Minus, seconds(right)), ArrowType::Int32))
        }
        (
            (DateTime { .. } | DateTime64 { .. }, DateTime { .. } | DateTime64 { .. }),
            Operator::Minus,
        ) => elapsed(left, right, fields),
        ((Date | Date32, Date | Date32), Operator::Minus) => {
            let days = |side: &Expr| cast(side.clone(), ArrowType::Int32);
            let apart = binary(days(left), Operator::Minus, days(right));
            Some(cast(apart, ArrowType::Int32))
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

/// A date or an instant moved by an interval of one unit. The engine would leave the range of the type, where ClickHouse wraps
/// around or ends.
fn moved(left: &Expr, operator: Operator, right: &Expr, field: &FieldRef) -> Option<Expr> {
    use DataType::{Date, Date32, DateTime, DateTime64};
    const NANOSECONDS: i64 = 1_000_000_000;
    let Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) = right else {
        return None;
    };
    let is_named = !field.metadata().is_empty();
    match bare_type(field)? {
        Date | Date32 | DateTime { .. } => {}
        // What has no name of a type is an instant of the engine's own.
        DateTime64 { .. } if is_named => {}
        _ => return None,
    }
    let (name, count) = match (interval.months, interval.days, interval.nanoseconds) {
        (months, 0, 0) if months != 0 => ("addMonths", i64::from(months)),
        (0, days, 0) => ("addDays", i64::from(days)),
        (0, 0, nanoseconds) if nanoseconds % NANOSECONDS == 0 => {
            ("addSeconds", nanoseconds / NANOSECONDS)
        }
        _ => return None,
    };
    let count = match operator {
        Operator::Plus => count,
        Operator::Minus => count.checked_neg()?,
        _ => return None,
    };
    scalar::call(name, vec![left.clone(), lit(count)])
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
