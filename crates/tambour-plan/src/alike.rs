//! Results of different types that a value is chosen from (`if`, `coalesce`, `greatest`, arrays that are written out): dates
//! and instants become the type that ClickHouse gives all of them, with its fractions and its zone.

use super::comparison::{check_set, have_same_moments, within};
use super::listed;
use super::literal::{bare_type, field_of, nameless, narrowest};
use super::order::Order;
use super::scalar;
use super::typed::{Typed, has_nothing, holds, with_nulls};
use crate::walk::Walk;
use arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, NullEquality, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Case, Expr, LogicalPlan, cast, lit};
use std::sync::Arc;
use tambour_function as function;
use tambour_part::types::{DataType, Strings, TYPE_KEY};

/// The type of all, if they are dates and instants of different types.
pub(super) fn common(types: &[DataType]) -> Option<DataType> {
    use DataType::{Date, Date32, DateTime, DateTime64};
    let (first, rest) = types.split_first()?;
    let is_moment =
        |it: &DataType| matches!(it, Date | Date32 | DateTime { .. } | DateTime64 { .. });
    if rest.iter().all(|it| it == first) || !types.iter().all(is_moment) {
        return None;
    }
    let mut found = first.clone();
    for other in rest {
        found = match (&found, other) {
            (DateTime64 { precision: a, .. }, DateTime64 { precision: b, .. }) if b > a => {
                other.clone()
            }
            (DateTime64 { .. }, _) => found,
            (_, DateTime64 { .. }) => other.clone(),
            // A Date32 may be out of the years of a DateTime. The zone is not kept.
            (DateTime { .. }, Date32) | (Date32, DateTime { .. }) => {
                DateTime64 { precision: 0, zone: None }
            }
            (DateTime { .. } | Date32, _) => found,
            (Date, _) => other.clone(),
            _ => return None,
        };
    }
    Some(found)
}

/// Gives those of some expressions that are not NULL one type; true if anything changed.
pub(super) fn made<'a>(
    expressions: impl Iterator<Item = &'a mut Expr>,
    schema: &DFSchema,
) -> Result<bool> {
    let mut present = Vec::new();
    let mut types = Vec::new();
    let mut expressions: Vec<&mut Expr> = expressions.collect();
    if lists(&mut expressions, schema)? {
        return Ok(true);
    }
    if shown(&mut expressions, schema)? | super::texts::made(&mut expressions, schema)? {
        return Ok(true);
    }
    if counted(&mut expressions, schema)? {
        super::written::of_all(&mut expressions, schema)?;
        exact_floats(&mut expressions, schema)?;
        return Ok(true);
    }
    if whole_decimals(&mut expressions, schema)? || exact_floats(&mut expressions, schema)? {
        return Ok(true);
    }
    for expr in expressions {
        let field = field_of(expr, schema)?;
        if field.data_type().is_null() {
            continue;
        }
        let Some(data_type) = bare_type(&field) else { return Ok(false) };
        types.push(data_type);
        present.push((expr, field.is_nullable()));
    }
    let Some(wanted) = common(&types) else { return Ok(false) };
    for ((expr, is_nullable), have) in present.into_iter().zip(types) {
        if have == wanted {
            continue;
        }
        let name = if is_nullable { format!("Nullable({wanted})") } else { wanted.to_string() };
        let is_late = have == DataType::Date && matches!(wanted, DataType::DateTime { .. });
        let value = if is_late { within(expr) } else { expr.clone() };
        if let Some(call) = scalar::call("CAST", vec![value, lit(name)]) {
            *expr = call;
        }
    }
    Ok(true)
}

/// Gives arrays of different items, or maps of different values, one type: what lambdas take depends on it, and the engine finds its own only later. True if
/// any changed.
pub(super) fn lists(expressions: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let fields = expressions.iter().map(|expr| field_of(expr, schema));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let present = || fields.iter().filter(|field| !field.data_type().is_null());
    let is_list = |field: &FieldRef| matches!(field.data_type(), ArrowType::List(_));
    let is_map = |field: &FieldRef| matches!(field.data_type(), ArrowType::Map(..));
    let differ = present().zip(present().skip(1)).any(|(a, b)| a.data_type() != b.data_type());
    if !differ || !present().all(is_list) && !present().all(is_map) {
        return Ok(false);
    }
    let whole = || present().filter(|field| !has_nothing(field.data_type()));
    let Some(types) = whole().map(|field| bare_type(field)).collect::<Option<Vec<_>>>() else {
        return Ok(false);
    };
    let common = types.into_iter().map(Some).reduce(|a, b| function::supertype(&a?, &b?));
    let Some(mut common) = common.flatten() else { return Ok(false) };
    let has_bytes = present().any(|field| super::scalar::is_bytes(field.data_type()));
    let strings = if has_bytes { Strings::Binary } else { Strings::Utf8 };
    for field in present().filter(|field| has_nothing(field.data_type())) {
        match with_nulls(common, field) {
            Some(wider) => common = wider,
            None => return Ok(false),
        }
    }
    // A tuple may be NULL here beside a NULL that is written out.
    let wanted = common.field("", strings).data_type().clone();
    let wanted = present().fold(wanted, |all, it| super::array::merged(&all, it.data_type()));
    for (expr, field) in expressions.iter_mut().zip(&fields) {
        if field.data_type().is_null() || *field.data_type() == wanted {
            continue;
        }
        let is_other =
            !has_nothing(field.data_type()) && bare_type(field).as_ref() != Some(&common);
        let converted = is_other
            .then(|| scalar::call("CAST", vec![expr.clone(), lit(common.to_string())]))
            .flatten();
        let converted = converted.unwrap_or_else(|| std::mem::take(&mut **expr));
        **expr = Typed::call(cast(converted, wanted.clone()), &common);
    }
    Ok(true)
}

/// Values beside texts are texts, as ClickHouse shows them; true if there were any. What has no common type is refused.
fn shown(expressions: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let fields = expressions.iter().map(|expr| field_of(expr, schema));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let types: Vec<Option<DataType>> = fields.iter().map(|field| bare_type(field)).collect();
    let is_text = |it: &DataType| matches!(it, DataType::String | DataType::FixedString(_));
    let is_list = |it: &DataType| matches!(it, DataType::Array(_));
    let is_moment = |it: &DataType| {
        use DataType::{Date, Date32, DateTime, DateTime64};
        matches!(it, Date | Date32 | DateTime { .. } | DateTime64 { .. })
    };
    let present = || {
        let all = types.iter().zip(&fields).filter(|(_, field)| !field.data_type().is_null());
        all.filter_map(|(data_type, _)| data_type.as_ref())
    };
    let any = |is: &dyn Fn(&DataType) -> bool| present().any(is);
    let all = |is: &dyn Fn(&DataType) -> bool| present().all(is);
    let is_number = |it: &DataType| {
        it.arrow(tambour_part::types::Strings::Utf8).is_numeric() && *it != DataType::Ipv4
    };
    let is_enum = |it: &DataType| matches!(it, DataType::Enum8(_) | DataType::Enum16(_));
    let text_item = |it: &DataType| matches!(it, DataType::Array(item) if is_text(&function::bare(item).clone()));
    let is_nested = |it: &DataType| matches!(it, DataType::Array(_) | DataType::Tuple(_));
    let are_other =
        |a: &DataType, b: &DataType| is_nested(a) && is_nested(b) && !have_same_moments(a, b);
    // Texts would come of the values of maps, not one by one.
    let is_map = |it: &DataType| holds(it, &|it| matches!(it, DataType::Map(..)));
    let is_mixed = |a: &DataType, b: &DataType| a != b && (is_map(a) || is_map(b));
    let is_apart = |a, b| are_other(a, b) || is_mixed(a, b) || is_lossy(a, b);
    let differ = present().zip(present().skip(1)).any(|(a, b)| is_apart(a, b))
        || any(&is_list) && !all(&is_list)
        || any(&is_moment) && any(&is_number)
        || any(&is_enum) && any(&is_number)
        || any(&|it| *it == DataType::Ipv4) && any(&|it| is_number(it) || is_text(it))
        || any(&text_item) && !all(&text_item);
    if differ {
        let names: Vec<String> = present().map(ToString::to_string).collect();
        return plan_err!("{} have no common type here; convert them", names.join(" and "));
    }
    if !any(&is_text) || all(&is_text) {
        return Ok(false);
    }
    // The engine makes bytes of an integer beside bytes.
    let have_bytes = fields.iter().any(|it| super::scalar::is_bytes(it.data_type()));
    let is_shown = |it: &DataType| is_float(it) || have_bytes && is_number(it);
    let mut is_changed = false;
    for (expr, data_type) in expressions.iter_mut().zip(&types) {
        if data_type.as_ref().is_some_and(is_shown) {
            **expr = called("toString", expr);
            is_changed = true;
        }
    }
    Ok(is_changed)
}

/// Integers that are written out beside decimals of one type are such, if they fit; true if there were any.
fn whole_decimals(expressions: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let mut found = None;
    for expr in expressions.iter() {
        if matches!(**expr, Expr::Literal(ScalarValue::Int64(Some(_)), None)) {
            continue;
        }
        match field_of(expr, schema)?.data_type() {
            decimal @ ArrowType::Decimal128(..)
                if found.as_ref().is_none_or(|it| it == decimal) =>
            {
                found = Some(decimal.clone());
            }
            ArrowType::Null => {}
            _ => return Ok(false),
        }
    }
    let Some(decimal) = found else { return Ok(false) };
    let mut is_changed = false;
    for expr in expressions {
        if let Expr::Literal(value @ ScalarValue::Int64(Some(_)), None) = &**expr
            && let Ok(value) = value.cast_to(&decimal)
        {
            **expr = Expr::Literal(value, None);
            is_changed = true;
        }
    }
    Ok(is_changed)
}

/// Integers of 64 bits beside floats: ClickHouse keeps each as it is, in a Variant. They are floats here, and one that would be
/// another number is an error; true if there were any.
fn exact_floats(expressions: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let types = expressions.iter().map(|expr| match &**expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), None) => {
            Ok(narrowest(*number).parse().ok())
        }
        other => Ok(bare_type(&*field_of(other, schema)?)),
    });
    let types = types.collect::<Result<Vec<Option<DataType>>>>()?;
    let any = |is: fn(&DataType) -> bool| types.iter().flatten().any(is);
    let is_wide = |it: &DataType| {
        use DataType::{Int128, Int256, UInt128, UInt256};
        matches!(it, Int128 | Int256 | UInt128 | UInt256)
    };
    let has_wide = any(is_wide);
    if any(|it| matches!(it, DataType::Decimal { .. }))
        || !any(is_float)
        || !(has_wide || any(is_integer_of_64))
    {
        return Ok(false);
    }
    if has_wide || types.contains(&Some(DataType::Float32)) {
        return plan_err!(
            "a float and an integer that it may not hold are a Variant in ClickHouse, which is not here; convert them, for example by toFloat64"
        );
    }
    for (expr, data_type) in expressions.iter_mut().zip(&types) {
        let Some(data_type) = data_type.as_ref().filter(|it| !is_float(it)) else { continue };
        let is_checked = is_integer_of_64(data_type);
        let function = if is_checked { "accurateCast" } else { "CAST" };
        // A NULL stays it, though the name of that type cannot say so.
        let is_said = !is_checked && nameless(expr, schema)?.is_nullable();
        let name = if is_said { "Nullable(Float64)" } else { "Float64" };
        if let Some(call) = scalar::call(function, vec![expr.clone(), lit(name)]) {
            **expr = call;
        }
    }
    Ok(true)
}

/// True for arrays and tuples of which the engine would make floats of integers of 64 bits, some of other values.
pub(super) fn is_lossy(left: &DataType, right: &DataType) -> bool {
    let is_long = |it: &DataType| matches!(it, DataType::Int64 | DataType::UInt64);
    let is_mixture = |a: &DataType, b: &DataType| holds(a, &is_long) && holds(b, &is_float);
    let is_nested = |it: &DataType| matches!(it, DataType::Array(_) | DataType::Tuple(_));
    is_nested(left)
        && is_nested(right)
        && (is_mixture(left, right) || is_mixture(right, left))
        && function::supertype(left, right).is_none()
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float32 | DataType::Float64)
}

fn is_integer_of_64(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int64 | DataType::UInt64)
}

/// Refuses values of sets whose types ClickHouse would make others.
fn check_members(plan: &LogicalPlan) -> Result<()> {
    let schema = merge_schema(&plan.inputs());
    for expr in plan.expressions() {
        expr.look(&mut |expr| {
            if let Expr::InSubquery(set) = expr
                && let [member] = set.subquery.subquery.schema().fields().as_ref()
                && let Ok(value) = field_of(&set.expr, &schema)
            {
                check_set(&[value, Arc::clone(member)])?;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(())
}

/// Refuses Enums beside other types in UNION, INTERSECT and EXCEPT, where the engine takes their names for texts.
pub(super) fn check_sets(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    check_members(&plan)?;
    let pairs: Vec<(FieldRef, FieldRef)> = match &plan {
        LogicalPlan::Union(union) => {
            let mut inputs = union.inputs.iter().map(|it| it.schema().fields().iter().cloned());
            let Some(first) = inputs.next() else { return Ok(Transformed::no(plan)) };
            let first: Vec<FieldRef> = first.collect();
            inputs.flat_map(|it| first.iter().cloned().zip(it).collect::<Vec<_>>()).collect()
        }
        LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull => {
            let sides = join.left.schema().fields().iter().zip(join.right.schema().fields());
            sides.map(|(left, right)| (Arc::clone(left), Arc::clone(right))).collect()
        }
        _ => return Ok(Transformed::no(plan)),
    };
    let is_enum =
        |it: &Option<DataType>| matches!(it, Some(DataType::Enum8(_) | DataType::Enum16(_)));
    let is_join = matches!(&plan, LogicalPlan::Join(_));
    for (left, right) in pairs {
        let (a, b) = (bare_type(&left), bare_type(&right));
        let has_null = left.data_type().is_null() || right.data_type().is_null();
        if let (true, false, Some(a), Some(b)) = (is_join, has_null, &a, &b)
            && a != b
            && function::supertype(a, b).is_none()
        {
            return plan_err!(
                "the column {} is {a} in one query and {b} in the other, which have no common type: convert one of them",
                left.name()
            );
        }
        if (is_enum(&a) || is_enum(&b)) && a != b && !has_null {
            return plan_err!(
                "the column {} is an Enum in one query and another type in the other; convert it by toString",
                left.name()
            );
        }
    }
    Ok(Transformed::no(plan))
}

/// A conversion of the store, whose result says its own type; a cast of the engine would keep the one before.
fn called(name: &str, expr: &Expr) -> Expr {
    scalar::call(name, vec![expr.clone()]).unwrap_or_else(|| expr.clone())
}

/// Refuses `min` and `max` over windows of arrays, tuples and maps that the engine orders in another way, or not at all.
pub(super) fn check_extreme(name: &str, data_type: &DataType) -> Result<()> {
    listed::check_map(name, Some(data_type))?;
    let is_nested = matches!(data_type, DataType::Array(_) | DataType::Tuple(_));
    if is_nested && (listed::is_own(data_type, true) || listed::is_deep(data_type)) {
        return plan_err!("{name} does not take {data_type} here: it is not the engine's to order");
    }
    Ok(())
}

/// Conditions beside numbers are 0 and 1; true if there were any. A Bool is a UInt8 by another name: of those the first says
/// what all are called.
fn counted(expressions: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let fields = expressions.iter().map(|expr| field_of(expr, schema));
    let fields = fields.collect::<Result<Vec<_>>>()?;
    let is_flag = |field: &FieldRef| *field.data_type() == ArrowType::Boolean;
    if !fields.iter().any(is_flag) || !fields.iter().any(|it| it.data_type().is_numeric()) {
        return Ok(false);
    }
    let is_byte = |(expr, field): (&&mut Expr, &FieldRef)| match &**expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), None) => (0..256).contains(number),
        _ => is_flag(field) || *field.data_type() == ArrowType::UInt8,
    };
    let present =
        || expressions.iter().zip(&fields).filter(|(_, field)| !field.data_type().is_null());
    let is_bool =
        present().next().is_some_and(|(_, first)| bare_type(first) == Some(DataType::Bool))
            && present().all(is_byte);
    for (expr, field) in expressions.iter_mut().zip(&fields) {
        if is_bool && field.data_type().is_numeric() && !is_flag_literal(expr) {
            return plan_err!(
                "a number beside a Bool keeps its value in ClickHouse, which a Bool here cannot: convert it by toBool, or the Bool by toUInt8"
            );
        }
        if is_bool && field.data_type().is_numeric() {
            **expr = expr.clone().not_eq(lit(0_u8));
        } else if !is_bool && is_flag(field) {
            **expr = called("toUInt8", expr);
        }
    }
    Ok(true)
}

/// True for 0 and 1.
fn is_flag_literal(expr: &Expr) -> bool {
    let Expr::Literal(value, _) = expr else { return false };
    matches!(value.cast_to(&ArrowType::Int64), Ok(ScalarValue::Int64(Some(0 | 1))))
}

/// The results of a CASE.
pub(super) fn made_of_case(case: &mut Case, schema: &DFSchema) -> Result<bool> {
    let results = case.when_then_expr.iter_mut().map(|(_, then)| &mut **then);
    made(results.chain(case.else_expr.as_deref_mut()), schema)
}

/// The arguments of a function that gives one of them, or puts them into an array.
pub(super) fn made_of_call(call: &mut ScalarFunction, schema: &DFSchema) -> Result<bool> {
    if call.name() == "make_array" && unpacked(call, schema)? {
        return Ok(true);
    }
    if call.name() == "make_array" {
        check_items(call, schema)?;
    }
    if matches!(call.name(), "greatest" | "least") && numbered(call, schema)? {
        return Ok(true);
    }
    match call.name() {
        "coalesce" | "nvl" | "greatest" | "least" | "make_array" => {
            made(call.args.iter_mut(), schema)
        }
        _ => Ok(false),
    }
}

/// The greatest of two Bools that are never NULL is a number there, of others a Bool; true if it is a number.
fn numbered(call: &mut ScalarFunction, schema: &DFSchema) -> Result<bool> {
    let fields = call.args.iter().map(|it| nameless(it, schema)).collect::<Result<Vec<_>>>()?;
    if fields.iter().any(|it| *it.data_type() != ArrowType::Boolean) {
        return Ok(false);
    }
    let are_two = fields.len() == 2 && !fields.iter().any(|it| it.is_nullable());
    let is_bool = fields.first().is_some_and(|it| it.metadata().contains_key(TYPE_KEY));
    if is_bool && !are_two {
        return Ok(false);
    }
    call.args.iter_mut().for_each(|argument| *argument = called("toUInt8", argument));
    Ok(true)
}

/// Refuses a list of texts and of what ClickHouse makes no text of.
fn check_items(call: &ScalarFunction, schema: &DFSchema) -> Result<()> {
    let types = call.args.iter().map(|item| Ok(bare_type(&*field_of(item, schema)?)));
    let types = types.collect::<Result<Vec<_>>>()?;
    let is_text = |it: &DataType| {
        use DataType::{Enum8, Enum16, FixedString, String};
        matches!(it, String | FixedString(_) | Enum8(_) | Enum16(_))
    };
    let mut known = types.iter().flatten().map(function::bare);
    if known.clone().any(is_text) && known.any(|it| !is_text(it)) {
        let names: Vec<std::string::String> =
            types.iter().flatten().map(ToString::to_string).collect();
        return plan_err!(
            "an array of {} is a Variant in ClickHouse, which is not here; convert its items by toString",
            names.join(" and ")
        );
    }
    Ok(())
}

/// Refuses `greatest` and `least` of what the engine has in another order than ClickHouse.
fn check_order(call: &ScalarFunction, schema: &DFSchema) -> Result<()> {
    let types = call.args.iter().map(|it| Ok(bare_type(&*field_of(it, schema)?)));
    let types = types.collect::<Result<Vec<_>>>()?;
    let is_fixed = |it: &Option<DataType>| matches!(it, Some(DataType::FixedString(_)));
    if types.iter().any(is_fixed) && types.contains(&Some(DataType::String)) {
        let name = call.name();
        return plan_err!(
            "{name} does not take a FixedString beside a String: convert it by toString"
        );
    }
    for argument in &call.args {
        let data_type = bare_type(&*field_of(argument, schema)?);
        let Some(data_type) = data_type.filter(|it| !is_float(it)) else { continue };
        listed::check_map(call.name(), Some(&data_type))?;
        if Order::of_sort(&data_type, true, false).is_some() {
            return plan_err!("{} does not take {data_type}: compare with if", call.name());
        }
    }
    Ok(())
}

/// `greatest` and `least` of numbers one of which is a float: the engine compares those by their bits.
fn extreme_float(call: &ScalarFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    let types = call.args.iter().map(|expr| Ok(field_of(expr, schema)?.data_type().clone()));
    let types = types.collect::<Result<Vec<ArrowType>>>()?;
    let is_instant = |it: &ArrowType| matches!(it, ArrowType::Timestamp(..));
    if types.contains(&ArrowType::Date32) && types.iter().any(is_instant) {
        return plan_err!("{} of dates and times: convert the dates by toDateTime", call.name());
    }
    let is_number = |it: &ArrowType| it.is_numeric() || it.is_null();
    if !types.iter().all(is_number) || !types.iter().any(ArrowType::is_floating) {
        return Ok(None);
    }
    // Two values that are never NULL are compared as numbers, others by an order in which a NaN is last.
    let mut are_ordered = call.args.len() > 2;
    for (argument, data_type) in call.args.iter().zip(&types) {
        if matches!(data_type, ArrowType::Int64 | ArrowType::UInt64)
            && !matches!(argument, Expr::Literal(..))
        {
            let name = call.name();
            return plan_err!(
                "{name} does not take integers of 64 bits beside floats: convert them by toFloat64"
            );
        }
        are_ordered |= data_type.is_null() || nameless(argument, schema)?.is_nullable();
    }
    let own = match (call.name(), are_ordered) {
        ("greatest", false) => "greatestFloat",
        ("greatest", true) => "greatestOrderedFloat",
        (_, false) => "leastFloat",
        (_, true) => "leastOrderedFloat",
    };
    let is_float = |it: &ArrowType| *it == ArrowType::Float64;
    let wide = call.args.iter().zip(&types).map(|(expr, data_type)| {
        if is_float(data_type) { expr.clone() } else { called("toFloat64", expr) }
    });
    let wide = wide.collect();
    let is_narrow = |it: &ArrowType| {
        use ArrowType::{Float32, Int8, Int16, Null, UInt8, UInt16};
        matches!(it, Float32 | Int8 | Int16 | UInt8 | UInt16 | Null)
    };
    let is_short = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::Int64(Some(number)), None) => (-32_768..65_536).contains(number),
        _ => false,
    };
    let mut sides = call.args.iter().zip(&types);
    let narrowed = types.contains(&ArrowType::Float32)
        && sides.all(|(expr, data_type)| is_narrow(data_type) || is_short(expr));
    let found = scalar::call(own, wide);
    Ok(found.map(|it| if narrowed { called("toFloat32", &it) } else { it }))
}

/// An array of texts some of which are dictionaries: all become plain texts.
fn unpacked(call: &mut ScalarFunction, schema: &DFSchema) -> Result<bool> {
    let types = call.args.iter().map(|expr| Ok(field_of(expr, schema)?.data_type().clone()));
    let types = types.collect::<Result<Vec<ArrowType>>>()?;
    let is_text = |it: &ArrowType| match it {
        ArrowType::Dictionary(_, value) => matches!(**value, ArrowType::Utf8 | ArrowType::Utf8View),
        ArrowType::Utf8 | ArrowType::Utf8View => true,
        other => other.is_null(),
    };
    let is_packed = |it: &ArrowType| matches!(it, ArrowType::Dictionary(..));
    if !types.iter().all(is_text) || !types.iter().any(is_packed) {
        return Ok(false);
    }
    // An Enum is a dictionary too, and is kept.
    for argument in &call.args {
        let data_type = bare_type(&*field_of(argument, schema)?);
        if matches!(data_type, Some(DataType::Enum8(_) | DataType::Enum16(_))) {
            return Ok(false);
        }
    }
    for (argument, data_type) in call.args.iter_mut().zip(&types) {
        if is_packed(data_type) {
            *argument = cast(argument.clone(), ArrowType::Utf8View);
        }
    }
    Ok(true)
}

/// What `greatest` and `least` of floats become: the store's own.
pub(super) fn replaced(call: &ScalarFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    if !matches!(call.name(), "greatest" | "least") {
        return Ok(None);
    }
    check_order(call, schema)?;
    extreme_float(call, schema)
}

#[cfg(test)]
mod tests {
    use super::common;
    use tambour_part::types::DataType;

    #[test]
    fn the_finest_fraction_and_its_zone_win() {
        for (types, wanted) in [
            (
                vec!["DateTime('UTC')", "DateTime64(3, 'Asia/Tokyo')"],
                Some("DateTime64(3, 'Asia/Tokyo')"),
            ),
            (
                vec!["DateTime64(6, 'UTC')", "DateTime64(3, 'Asia/Tokyo')"],
                Some("DateTime64(6, 'UTC')"),
            ),
            (
                vec!["DateTime64(3, 'UTC')", "DateTime64(3, 'Asia/Tokyo')"],
                Some("DateTime64(3, 'UTC')"),
            ),
            (vec!["Date", "DateTime('Asia/Tokyo')"], Some("DateTime('Asia/Tokyo')")),
            (vec!["Date32", "Date"], Some("Date32")),
            (vec!["DateTime('UTC')", "DateTime('Asia/Tokyo')"], Some("DateTime('UTC')")),
            (vec!["Date", "Date"], None),
            (vec!["Date", "String"], None),
            (vec!["Date32", "DateTime('Asia/Tokyo')"], Some("DateTime64(0)")),
        ] {
            let types: Vec<DataType> = types.into_iter().map(|it| it.parse().unwrap()).collect();
            let found = common(&types).map(|it| it.to_string());
            assert_eq!(found.as_deref(), wanted, "{types:?}");
        }
    }
}
