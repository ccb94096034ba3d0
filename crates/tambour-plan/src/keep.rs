//! A pass over a planned query, before the engine analyses it: types that Arrow has no name for (UUID, IPv4, wide integers)
//! are kept through functions that hand values on, `min` and `max` see values in ClickHouse's order, and the lists of IN and
//! the ends of BETWEEN take the type of what they are compared with.
//!
//! ClickHouse's type of a column is metadata of its field, which the engine's functions and aggregates drop. [`Typed`] puts
//! it back around what they return.

use super::aggregate::{self, Sum, Summand};
use super::literal::{bare_type, enum_name, field_of, fitted, fitted_to, named, nameless, text};
use super::order::Order;
use super::typed::{Typed, check_kept, needs_name, of_call};
use super::{
    alike, among, beside, comparison, correlated, default, finish, frames, listed, nested,
    operators, scalar, shown, typed, variant,
};
use crate::walk::{Walk, downwards, everywhere};
use arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{
    AggregateFunction, InList, ScalarFunction, WindowFunction, WindowFunctionDefinition,
};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{grouping_set_to_exprlist, merge_schema};
use datafusion::logical_expr::{
    Aggregate, Between, BinaryExpr, Expr, ExprSchemable, Like, LogicalPlan, Operator, Projection,
    SortExpr, cast, lit, when,
};
use std::sync::Arc;
use tambour_dialect::marks::Otherwise;
use tambour_function as function;
use tambour_part::types::{DataType, TYPE_KEY};
use tambour_scan::aggregates::sliding;

/// The pass.
pub fn keep_types(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = everywhere(plan, &mut super::constant::known)?;
    let plan = everywhere(plan, &mut super::once::drawn)?;
    let plan = everywhere(plan, &mut alike::check_sets)?;
    let plan = everywhere(plan, &mut super::decimals::sets)?;
    let plan = everywhere(plan, &mut super::marked::sets)?;
    let plan = everywhere(plan, &mut super::using::merged)?;
    let plan = everywhere(plan, &mut super::zeros::joined)?;
    let plan = everywhere(plan, &mut super::joined::one_of_many)?;
    let plan = downwards(plan, &mut super::written::shown)?;
    let plan = downwards(plan, &mut correlated::referred)?;
    let plan = everywhere(plan, &mut node)?;
    let plan = downwards(plan, &mut correlated::referred)?;
    everywhere(plan, &mut super::zeros::apart)
}

fn node(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let plan = super::united::columns(plan)?;
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        let source = scan.source.schema();
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &source)?);
    }
    let finish = finish::all(&plan, &schema);
    let defaults = defaults_of(&plan)?;
    let names = NamePreserver::new(&plan);
    let is_join = matches!(plan, LogicalPlan::Join(_));
    let is_grouped = is_grouped(&plan)?;
    let plan = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let narrowed = super::written::narrowed(expr, &schema)?;
        let rewritten = narrowed.transform_data(|expr| {
            expr.up(&mut |expr| match expr {
                Expr::AggregateFunction(call) => aggregate(call, &schema, is_grouped),
                Expr::BinaryExpr(ref binary) if !is_join => {
                    match comparison::of_rows(binary, &schema)? {
                        Some(planned) => Ok(Transformed::yes(planned)),
                        None => rewrite(expr, &schema),
                    }
                }
                _ => rewrite(expr, &schema),
            })
        })?;
        let resolved = rewritten.transform_data(|expr| super::written::resolved(expr, &schema))?;
        Ok(resolved.update_data(|expr| name.restore(expr)))
    })?;
    let plan = plan.map_data(|plan| sorted(plan, &schema))?;
    let plan = plan.map_data(LogicalPlan::recompute_schema)?;
    variant::check(&plan.data)?;
    let plan = plan.map_data(shown::unnested)?;
    let plan = if finish.iter().all(Option::is_none) {
        plan
    } else {
        Transformed::yes(finish::projected(plan.data, &finish)?)
    };
    if defaults.iter().all(|it| matches!(it, Absent::Null)) {
        return Ok(plan);
    }
    Ok(Transformed::yes(filled(plan.data, &defaults)?))
}

/// True for aggregates of groups. Keys that are the same for all rows make no groups in ClickHouse.
fn is_grouped(plan: &LogicalPlan) -> Result<bool> {
    let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(false) };
    let keys = grouping_set_to_exprlist(&aggregate.group_expr)?;
    Ok(keys.into_iter().any(|key| key.any_column_refs() || key.is_volatile()))
}

/// What stands for a key in the rows that are not grouped by it.
enum Absent {
    Null,
    /// The default of its type.
    Default(Field),
    /// The key itself, which is a constant.
    Same(Expr),
}

/// The same of each key of ROLLUP, CUBE and GROUPING SETS.
fn defaults_of(plan: &LogicalPlan) -> Result<Vec<Absent>> {
    let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(Vec::new()) };
    if !matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSet(_)]) {
        return Ok(Vec::new());
    }
    let keys = grouping_set_to_exprlist(&aggregate.group_expr)?;
    let schema = aggregate.input.schema();
    keys.into_iter()
        .map(|key| {
            let field = key.to_field(schema)?.1;
            Ok(match field.is_nullable() {
                _ if !key.any_column_refs() && !key.is_volatile() => Absent::Same(key.clone()),
                true => Absent::Null,
                false => Absent::Default(field.as_ref().clone()),
            })
        })
        .collect()
}

/// A projection that has defaults in the place of the NULLs of keys.
fn filled(plan: LogicalPlan, defaults: &[Absent]) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    // The engine turns `grouping` into a look at its number of the set, which is below this projection and not for those above.
    let shown = schema.iter().enumerate().filter(|(_, (_, field))| !is_number_of_set(field.name()));
    let columns = shown.map(|(index, (qualifier, field))| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let key = match defaults.get(index) {
            Some(Absent::Default(key)) => key,
            Some(Absent::Same(constant)) => {
                return Ok(constant.clone().alias_qualified(qualifier.cloned(), field.name()));
            }
            _ => return Ok(column),
        };
        let value = when(column.clone().is_null(), default::literal(key)?).otherwise(column)?;
        // A condition stays one, which is a number to what looks at it.
        let is_condition = *key.data_type() == ArrowType::Boolean && key.metadata().is_empty();
        let value = match bare_type(key).filter(|_| !is_condition) {
            Some(data_type) => typed(value, Some(data_type)).data,
            None => value,
        };
        Ok(value.alias_qualified(qualifier.cloned(), field.name()))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// True for the column of the engine's that says which of GROUPING SETS a row is of.
pub(super) fn is_number_of_set(name: &str) -> bool {
    name == Aggregate::INTERNAL_GROUPING_ID
}

/// Sorts by the form of values that has ClickHouse's order.
fn sorted(plan: LogicalPlan, schema: &DFSchema) -> Result<LogicalPlan> {
    let LogicalPlan::Sort(mut sort) = plan else { return Ok(plan) };
    for item in &mut sort.expr {
        in_order(item, schema, false)?;
    }
    Ok(LogicalPlan::Sort(sort))
}

fn in_order(item: &mut SortExpr, schema: &DFSchema, is_of_group: bool) -> Result<()> {
    let field = field_of(&item.expr, schema)?;
    let Some(data_type) = bare_type(&field) else { return Ok(()) };
    if let Some(order) = Order::of_sort(&data_type, item.asc, item.nulls_first) {
        let order = if is_of_group { order.of_group() } else { order };
        item.expr = order.udf().call(vec![item.expr.clone()]);
        return Ok(());
    }
    check_nested(&data_type, "ORDER BY")
}

/// Refuses to compare arrays and tuples whose elements the engine would compare in another order.
fn check_nested(data_type: &DataType, place: &str) -> Result<()> {
    let is_plain =
        !matches!(data_type, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..));
    if is_plain || !has_own_order(data_type) {
        return Ok(());
    }
    plan_err!("{place} does not take {data_type}: order by the elements one by one")
}

fn has_own_order(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nullable(inner) | DataType::LowCardinality(inner) | DataType::Array(inner) => {
            has_own_order(inner)
        }
        DataType::Map(..) => listed::is_own(data_type, true),
        DataType::Tuple(elements) => elements.iter().any(|(_, element)| has_own_order(element)),
        other => Order::of_comparison(other).is_some(),
    }
}

fn in_list(mut list: InList, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let field = field_of(&list.expr, schema)?;
    let Some(data_type) = bare_type(&field) else {
        return Ok(Transformed::no(Expr::InList(list)));
    };
    let is_nested = matches!(data_type, DataType::Array(_) | DataType::Tuple(_));
    let is_literal = |it: &Expr| matches!(it, Expr::Literal(..));
    let mut is_open = list.list.iter().any(Expr::any_column_refs);
    for item in list.list.iter().filter(|it| !is_literal(it)) {
        is_open |= nameless(item, schema)?.is_nullable();
    }
    let has_others = field.data_type().is_floating()
        && list.list.iter().any(|it| beside::is_no_float(it, &field));
    let is_fixed = matches!(data_type, DataType::FixedString(_))
        && list.list.iter().any(|it| !matches!(it, Expr::Literal(..)));
    if !is_nested && is_open || has_others || is_fixed {
        return among::of_columns(list, schema).map(Transformed::yes);
    }
    if let DataType::Tuple(elements) = &data_type
        && list.list.iter().any(Expr::any_column_refs)
    {
        let elements: Vec<DataType> =
            elements.iter().map(|(_, it)| function::bare(it).clone()).collect();
        for item in &list.list {
            among::check_tuple(item, &elements, schema)?;
        }
    }
    if field.data_type().is_decimal() {
        super::decimals::members(&mut list, field.data_type(), schema)?;
        if list.list.is_empty() {
            return among::of_columns(list, schema).map(Transformed::yes);
        }
    }
    // ClickHouse has a spelling of its own for a float as a text: 1. is none of these.
    if data_type == DataType::String {
        for item in &list.list {
            if nameless(item, schema)?.data_type().is_floating() {
                return plan_err!("IN does not take floats beside a text: write them as texts");
            }
        }
    }
    for item in &list.list {
        comparison::check(&[Arc::clone(&field), field_of(item, schema)?])?;
        if is_nested && item.any_column_refs() && listed::is_own(&data_type, false) {
            return plan_err!("IN does not take {data_type} beside columns: compare with =");
        }
    }
    if let Some(Order::Number(known)) = Order::of_comparison(&data_type)
        && list.list.iter().any(is_integer_literal)
    {
        list.expr = Box::new(Order::Number(known).udf().call(vec![*list.expr]));
        return Ok(Transformed::yes(Expr::InList(list)));
    }
    if field.data_type().is_floating() && super::zeros::in_list(&mut list) {
        return Ok(Transformed::yes(Expr::InList(list)));
    }
    fit_items(&mut list, &field, &data_type)?;
    // A float that is none of them would make floats of the integers.
    let is_other = |it: &Expr| matches!(it, Expr::Literal(ScalarValue::Float64(Some(_)), _));
    if matches!(data_type, DataType::Int64 | DataType::UInt64) && !list.list.iter().all(is_other) {
        list.list.retain(|it| !is_other(it));
    }
    Ok(Transformed::yes(Expr::InList(list)))
}

/// Gives what is listed the type of what is looked for.
fn fit_items(list: &mut InList, field: &Field, data_type: &DataType) -> Result<()> {
    for item in &mut list.list {
        if let (DataType::Tuple(elements), Expr::ScalarFunction(tuple)) = (data_type, &mut *item) {
            for (part, (_, element)) in tuple.args.iter_mut().zip(elements) {
                let Expr::Literal(value, _) = &*part else { continue };
                if let Some(name) =
                    text(value).and_then(|it| enum_name(function::bare(element), it))
                {
                    *part = lit(name);
                }
            }
        }
        if let Some(fitted) = fitted_to(item, field, data_type)? {
            *item = fitted;
        }
    }
    Ok(())
}

/// A pattern that is not a constant is read by the function, which knows ClickHouse's escapes, and so is one beside texts that the
/// engine does not take: those of a fixed width.
fn with_pattern(like: Like, schema: &DFSchema) -> Transformed<Expr> {
    let data_type = like.expr.get_type(schema).ok();
    let is_fixed = matches!(data_type, Some(ArrowType::FixedSizeBinary(_)));
    // Nor bytes that need not be UTF-8.
    let is_cut = data_type.as_ref().is_some_and(super::scalar::is_bytes);
    let is_constant = matches!(*like.pattern, Expr::Literal(..) | Expr::Cast(_));
    if like.escape_char.is_some() || is_constant && !is_fixed && !is_cut {
        return Transformed::no(Expr::Like(like));
    }
    let name = match (like.case_insensitive, like.negated) {
        (false, false) => "like",
        (false, true) => "notLike",
        (true, false) => "ilike",
        (true, true) => "notILike",
    };
    match scalar::call(name, vec![(*like.expr).clone(), (*like.pattern).clone()]) {
        Some(call) => Transformed::yes(call),
        None => Transformed::no(Expr::Like(like)),
    }
}

pub(super) fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::InList(list) => in_list(list, schema),
        Expr::Like(like) => Ok(with_pattern(like, schema)),
        Expr::Between(mut between) => {
            let field = field_of(&between.expr, schema)?;
            if let Some(compared) = between_by_form(&between, schema)? {
                return Ok(Transformed::yes(compared));
            }
            for end in [&mut between.low, &mut between.high] {
                if let Some(fitted) = fitted(end, &field)? {
                    **end = fitted;
                }
            }
            Ok(Transformed::yes(Expr::Between(between)))
        }
        Expr::BinaryExpr(binary) => {
            let planned = match operators::planned_again(&binary, schema)? {
                None => compared_late(&binary, schema)?,
                planned => planned,
            };
            let planned = match planned {
                Some(planned) => Transformed::yes(planned),
                None => Transformed::no(Expr::BinaryExpr(binary)),
            };
            planned.transform_data(|expr| typed::computed_wide(expr, schema))
        }
        Expr::Cast(_) => Ok(match operators::remainder_again(&expr, schema)? {
            Some(planned) => Transformed::yes(planned),
            None => Transformed::no(expr),
        }),
        Expr::Case(case) => super::cases::chosen(case, schema),
        Expr::ScalarFunction(call) if call.name() == "toTypeName" => shown::type_name(call, schema),
        Expr::ScalarFunction(call) if call.name() == Summand::NAME => {
            aggregate::unwrapped(call, schema)
        }
        Expr::ScalarFunction(mut call) if Otherwise::of_mark(call.name()).is_some() => {
            call.args.truncate(1);
            let Some(inner) = call.args.pop() else { return plan_err!("it takes an argument") };
            Ok(Transformed::yes(inner))
        }
        Expr::Literal(value @ ScalarValue::Boolean(Some(_)), None) => {
            Ok(Transformed::yes(Expr::Literal(value, Some(named(&DataType::Bool)))))
        }
        Expr::ScalarFunction(call) if call.name() == "arrayElement" => {
            Ok(nested::element(call, schema))
        }
        Expr::ScalarFunction(call) if call.name() == "get_field" => nested::subcolumn(call, schema),
        Expr::ScalarFunction(call) => called(call, schema),
        Expr::AggregateFunction(call) => aggregate(call, schema, false),
        Expr::HigherOrderFunction(call) => super::lambda::typed(call, schema),
        Expr::ScalarSubquery(query) => correlated::without_empty(query),
        Expr::WindowFunction(call) => window(call, schema),
        other => Ok(Transformed::no(other)),
    }
}

/// A call of a function: of one that chooses or puts together, the values have one type.
fn called(mut call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if let ("greatest" | "least", [only]) = (call.name(), call.args.as_slice()) {
        let mut only = [only.clone()];
        numbered(call.name(), &mut only, schema)?;
        let [only] = only;
        return Ok(Transformed::yes(only));
    }
    if let Some(replaced) = alike::replaced(&call, schema)? {
        return Ok(Transformed::yes(replaced));
    }
    if let Some(planned) = operators::wrapping_again(&call, schema)? {
        return Ok(Transformed::yes(planned));
    }
    let variant = match call.name() {
        "coalesce" | "nvl" => variant::of_choices(call.args.iter(), schema)?,
        "make_array" => {
            variant::of_choices(call.args.iter(), schema)?.map(|it| format!("Array({it})"))
        }
        _ => None,
    };
    let is_one = super::written::made_wide(&mut call, schema)?
        | alike::made_of_call(&mut call, schema)?
        | super::typed::complete(&mut call, schema)?
        | super::array::keep_nullable(&mut call, schema)?;
    if let Some(name) = variant {
        return Ok(Transformed::yes(variant::named(Expr::ScalarFunction(call), name)));
    }
    let data_type = of_call(&call, schema);
    if let "coalesce" | "nvl" | "greatest" | "least" | "make_array" = call.name() {
        check_kept(data_type.as_ref(), call.args.iter(), schema)?;
    }
    let is_extreme = matches!(call.name(), "greatest" | "least");
    let is_present = is_extreme && !typed::may_be_null(call.args.iter(), schema)?;
    let is_choice = is_extreme || matches!(call.name(), "coalesce" | "nvl");
    let mut typed = typed(Expr::ScalarFunction(call), data_type);
    if is_choice {
        typed = typed.transform_data(|expr| typed::kept_wide(expr, schema))?;
    }
    // The engine's may always be NULL.
    if is_present && let Some(it) = scalar::call("assumeNotNull", vec![typed.data.clone()]) {
        return Ok(Transformed::yes(it));
    }
    Ok(if is_one { Transformed::yes(typed.data) } else { typed })
}

fn is_integer_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.data_type().is_integer())
}

/// BETWEEN as two comparisons, where those are not the engine's.
fn between_by_form(between: &Between, schema: &DFSchema) -> Result<Option<Expr>> {
    let of_end = |end: &Expr, operator| comparison::plan(&between.expr, operator, end, schema);
    let is_plain = |data_type: Option<DataType>| {
        data_type.is_none_or(|it| !has_own_order(&it) && !listed::is_own(&it, true))
    };
    let fields = [&between.expr, &between.low, &between.high].map(|expr| field_of(expr, schema));
    let types =
        fields.into_iter().map(|field| Ok(bare_type(&*field?))).collect::<Result<Vec<_>>>()?;
    let is_instant = types
        .iter()
        .any(|it| matches!(it, Some(DataType::DateTime { .. } | DataType::DateTime64 { .. })));
    // The engine takes a NaN for the greatest number, and makes a decimal of the float beside one.
    let is_float = types.iter().any(|it| matches!(it, Some(DataType::Float32 | DataType::Float64)));
    let is_fixed = types.iter().any(|it| matches!(it, Some(DataType::FixedString(_))));
    if is_plain(types[0].clone()) && !is_instant && !is_float && !is_fixed {
        return Ok(None);
    }
    // A NaN is neither within nor outside.
    let operators = if between.negated {
        (Operator::Lt, Operator::Gt)
    } else {
        (Operator::GtEq, Operator::LtEq)
    };
    let low = of_end(&between.low, operators.0)?;
    let high = of_end(&between.high, operators.1)?;
    let plain = |end: &Expr, operator| {
        Expr::BinaryExpr(BinaryExpr::new(between.expr.clone(), operator, Box::new(end.clone())))
    };
    if low.is_none() && high.is_none() {
        return Ok(None);
    }
    let low = low.unwrap_or_else(|| plain(&between.low, operators.0));
    let high = high.unwrap_or_else(|| plain(&between.high, operators.1));
    Ok(Some(if between.negated { low.or(high) } else { low.and(high) }))
}

/// A comparison with a text that was planned before it was known that the other side is a UUID or an address, and took it for
/// a number or a fixed string: `HAVING min(u) = '…'`.
fn compared_late(binary: &BinaryExpr, schema: &DFSchema) -> Result<Option<Expr>> {
    if let Operator::IsDistinctFrom | Operator::IsNotDistinctFrom = binary.op {
        return beside::distinct(binary, schema);
    }
    if !is_comparison(binary.op) {
        return Ok(None);
    }
    let (left, right) = (as_written(&binary.left), as_written(&binary.right));
    // Its type was that of its first value before all had one.
    let is_choice = |it: &Expr| match it {
        Expr::Case(_) => true,
        Expr::ScalarFunction(call) => matches!(call.name(), "coalesce" | "nvl"),
        _ => false,
    };
    if is_choice(&left) || is_choice(&right) {
        return comparison::plan(&left, binary.op, &right, schema);
    }
    let is_text = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if text(value).is_some());
    let other = match (is_text(&left), is_text(&right)) {
        (true, false) => &right,
        (false, true) => &left,
        _ => return Ok(None),
    };
    let field = field_of(other, schema)?;
    match bare_type(&field) {
        Some(DataType::Uuid | DataType::Ipv4 | DataType::Ipv6) => {
            comparison::plan(&left, binary.op, &right, schema)
        }
        _ => Ok(None),
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// A side of a comparison without what was made of it when it was planned.
fn as_written(side: &Expr) -> Expr {
    match side {
        Expr::Cast(cast) if *cast.field.data_type() == ArrowType::Binary => as_written(&cast.expr),
        Expr::Literal(ScalarValue::FixedSizeBinary(_, Some(bytes)), Some(metadata))
            if *metadata == named(&DataType::FixedString(bytes.len())) =>
        {
            match std::str::from_utf8(bytes) {
                Ok(text) => lit(text.trim_end_matches('\0')),
                Err(_) => side.clone(),
            }
        }
        other => other.clone(),
    }
}

pub(super) fn typed(expr: Expr, data_type: Option<DataType>) -> Transformed<Expr> {
    match data_type.filter(needs_name) {
        Some(data_type) => Transformed::yes(Typed::call(expr, &data_type)),
        None => Transformed::no(expr),
    }
}

/// `min` and `max` look at values in another form; the first of rows in the order of a float (`argMax`) is never a NaN.
fn aggregate(
    mut call: AggregateFunction,
    schema: &DFSchema,
    is_grouped: bool,
) -> Result<Transformed<Expr>> {
    super::gather::check_zone(&call, schema)?;
    if let Some(first) = listed::extreme(&call, schema, is_grouped)? {
        return Ok(Transformed::yes(first));
    }
    let is_changed = Sum::replaced(&mut call.func)
        | narrowed(call.func.name(), &mut call.params.args, schema)?
        | extreme(call.func.name(), &mut call.params.args, schema)?
        | numbered(call.func.name(), &mut call.params.args, schema)?;
    let mut is_reordered = false;
    if matches!(call.func.name(), "first_value" | "array_agg") {
        for sort in &mut call.params.order_by {
            if sort.expr.get_type(schema)?.is_floating() {
                let order = Order::Sorted { nan_least: !sort.asc };
                sort.expr = order.udf().call(vec![sort.expr.clone()]);
                is_reordered = true;
                continue;
            }
            let before = sort.expr.clone();
            in_order(sort, schema, is_grouped)?;
            is_reordered |= before != sort.expr;
        }
    }
    let expr = Expr::AggregateFunction(call);
    Ok(if is_changed || is_reordered { Transformed::yes(expr) } else { Transformed::no(expr) })
}

fn window(mut call: Box<WindowFunction>, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let name = call.fun.name().to_owned();
    let is_replaced = match &mut call.fun {
        WindowFunctionDefinition::AggregateUDF(function) => Sum::replaced(function),
        WindowFunctionDefinition::WindowUDF(_) => false,
    };
    let is_changed = is_replaced
        | narrowed(&name, &mut call.params.args, schema)?
        | extreme(&name, &mut call.params.args, schema)?
        | numbered(&name, &mut call.params.args, schema)?;
    let is_moved = neighbour(&name, &mut call.params.args, schema)?;
    let mut is_reordered = false;
    let is_far = frames::has_distances(&call.params.window_frame);
    if is_far {
        is_reordered = frames::distances(&mut call.params, schema)?;
    }
    for item in call.params.order_by.iter_mut().filter(|_| !is_far) {
        let before = item.expr.clone();
        in_order(item, schema, false)?;
        is_reordered |= before != item.expr;
    }
    is_reordered |= frames::of_peers(&mut call.params, schema)?;
    let types = call.params.args.iter().map(|it| it.get_type(schema));
    let is_gathered = sliding::anew(&mut call.fun, &types.collect::<Result<Vec<_>>>()?);
    let is_changed = is_changed || is_moved || is_reordered || is_gathered;
    let expr = Expr::WindowFunction(call);
    Ok(if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// `lag` and `lead` past the end: the default of the type, unless the values may be NULL.
fn neighbour(name: &str, arguments: &mut Vec<Expr>, schema: &DFSchema) -> Result<bool> {
    let (Some(first), "lag" | "lead") = (arguments.first(), name) else { return Ok(false) };
    let field = first.to_field(schema)?.1;
    // A list is never NULL there.
    let is_list = matches!(field.data_type(), ArrowType::List(_) | ArrowType::Map(..));
    if field.is_nullable() && !is_list || arguments.len() > 2 {
        return Ok(false);
    }
    if arguments.len() == 1 {
        arguments.push(lit(1_i64));
    }
    arguments.push(default::literal(&field)?);
    Ok(true)
}

/// Gives a number that an aggregate hands on, or adds up, its own type.
fn narrowed(name: &str, arguments: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let is_kept = matches!(
        name,
        "min"
            | "max"
            | "bit_and"
            | "bit_or"
            | "bit_xor"
            | "quantileExact"
            | "sum"
            | "any_value"
            | "first_value"
            | "last_value"
            | "nth_value"
            | "array_agg"
            | "lag"
            | "lead"
    );
    super::written::of_each(
        if is_kept { arguments.get_mut(..1).unwrap_or_default() } else { &mut [] },
        schema,
    )
}

/// What an aggregate makes of conditions it makes of numbers; a Bool stays one.
fn numbered(name: &str, arguments: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let mut is_changed = false;
    for argument in arguments.iter_mut().filter(|_| !matches!(name, "count" | "grouping")) {
        let field = argument.to_field(schema)?.1;
        if *field.data_type() == ArrowType::Boolean && !field.metadata().contains_key(TYPE_KEY) {
            *argument = cast(argument.clone(), ArrowType::UInt8);
            is_changed = true;
        }
    }
    Ok(is_changed)
}

fn extreme(name: &str, arguments: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let (([argument], "min" | "max") | ([argument, _], "quantileExact")) = (arguments, name) else {
        return Ok(false);
    };
    let field = argument.to_field(schema)?.1;
    if let Some(data_type) = bare_type(&field) {
        check_nested(&data_type, name)?;
        alike::check_extreme(name, &data_type)?;
    }
    let Some(form) = finish::form_of(name, &field) else { return Ok(false) };
    *argument = form.udf().call(vec![argument.clone()]);
    Ok(true)
}
