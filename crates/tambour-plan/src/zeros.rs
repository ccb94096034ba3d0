//! Floats, and arrays and tuples, as keys. `-0.` and `0.` are two values for GROUP BY, DISTINCT, sets and joins of ClickHouse,
//! which look at the bits, and one for the engine. Here such keys become integers of the same bits, and floats again after.
//! PARTITION BY has one zero there, and two in the engine. Arrays and tuples join as bytes where the engine cannot compare them.

use super::elementwise::holds_floats;
use super::joined::{is_strict, sides};
use super::listed;
use super::literal::{bare_type, field_of};
use super::order::{self, Order};
use super::typed::holds;
use crate::walk::Walk;
use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, NullEquality, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::functions_aggregate::first_last::first_value;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::utils::{
    grouping_set_to_exprlist, merge_schema, split_conjunction_owned,
};
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, ExprSchemable, Filter, GroupingSet, JoinType, LogicalPlan, Operator,
    Projection, Sort, Window, cast, lit,
};
use std::sync::Arc;
use tambour_dialect::marks::APART;
use tambour_part::types::DataType;

/// The pass over a node.
pub(super) fn apart(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Aggregate(aggregate) => grouped(aggregate),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let schema = Arc::clone(input.schema());
            let Some(bits) = all_bits(&input)? else {
                return Ok(Transformed::no(LogicalPlan::Distinct(Distinct::All(input))));
            };
            let distinct = LogicalPlan::Distinct(Distinct::All(Arc::new(bits)));
            back(distinct, &schema).map(Transformed::yes)
        }
        LogicalPlan::Sort(mut sort) => {
            let Some(input) = distinct_in_order(&sort)? else {
                return Ok(Transformed::no(LogicalPlan::Sort(sort)));
            };
            sort.input = Arc::new(input);
            Ok(Transformed::yes(LogicalPlan::Sort(sort)))
        }
        LogicalPlan::Distinct(Distinct::On(mut on)) => {
            let schema = Arc::clone(on.input.schema());
            for key in &mut on.on_expr {
                *key = bits_of(key.clone(), &schema)?;
            }
            Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(on))))
        }
        LogicalPlan::Window(window) => partitioned(window),
        // INTERSECT and EXCEPT.
        LogicalPlan::Join(mut join) if join.null_equality == NullEquality::NullEqualsNull => {
            let (left, right) = (Arc::clone(join.left.schema()), Arc::clone(join.right.schema()));
            for (first, second) in &mut join.on {
                if is_float(first, &left)? && first.get_type(&left)? == second.get_type(&right)? {
                    *first = bits_of(first.clone(), &left)?;
                    *second = bits_of(second.clone(), &right)?;
                }
            }
            Ok(Transformed::yes(LogicalPlan::Join(join)))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// The pass over a join: floats meet if they are the same bits, so that a NaN has partners. WHERE above inner joins is a
/// part of their conditions there.
pub(super) fn joined(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut join = match plan {
        LogicalPlan::Join(join) => join,
        LogicalPlan::Filter(filter) => return filtered(filter),
        other => return Ok(Transformed::no(other)),
    };
    let (left, right) = (Arc::clone(join.left.schema()), Arc::clone(join.right.schema()));
    let mut is_changed = false;
    for (first, second) in &mut join.on {
        as_floats(first, second, [&left, &right])?;
        if is_float(first, &left)? && first.get_type(&left)? == second.get_type(&right)? {
            *first = bits_of(first.clone(), &left)?;
            *second = bits_of(second.clone(), &right)?;
            is_changed = true;
        }
        if let Some([a, b]) = nested_keys([first, second], [&left, &right])? {
            (*first, *second, is_changed) = (a, b, true);
        }
    }
    let schema = merge_schema(&[&join.left, &join.right]);
    let mut conditions: Vec<Expr> =
        join.filter.take().map(split_conjunction_owned).unwrap_or_default();
    is_changed |= by_bits(&mut conditions, &|it| sides(it, &join), &schema)?;
    for condition in &mut conditions {
        if let Expr::BinaryExpr(binary) = condition
            && binary.op == Operator::Eq
            && let Some([first, second]) =
                nested_keys([&binary.left, &binary.right], [&schema, &schema])?
        {
            *condition = first.eq(second);
            is_changed = true;
        }
    }
    join.filter = conditions.into_iter().reduce(Expr::and);
    Ok(Transformed::new_transformed(LogicalPlan::Join(join), is_changed))
}

/// An integer is a float where it is joined with one: 0 is not -0 there.
fn as_floats(first: &mut Expr, second: &mut Expr, schemas: [&DFSchema; 2]) -> Result<()> {
    let is_short = |data_type: &ArrowType| {
        use ArrowType::{Int8, Int16, Int32, UInt8, UInt16, UInt32};
        matches!(data_type, Int8 | Int16 | Int32 | UInt8 | UInt16 | UInt32)
    };
    let (left, right) = (first.get_type(schemas[0])?, second.get_type(schemas[1])?);
    if left.is_floating() && is_short(&right) {
        *second = cast(second.clone(), left);
    } else if right.is_floating() && is_short(&left) {
        *first = cast(first.clone(), right);
    }
    Ok(())
}

fn filtered(mut filter: Filter) -> Result<Transformed<LogicalPlan>> {
    let mut conditions = split_conjunction_owned(filter.predicate.clone());
    let schema = Arc::clone(filter.input.schema());
    let below = |it: &Expr| sides_below(it, &filter.input);
    let mut is_changed = by_bits(&mut conditions, &below, &schema)?;
    for condition in &mut conditions {
        // Two types that JOIN does not take are compared.
        if let Some((first, Operator::Eq, second)) = below(condition)
            && let Ok(Some([first, second])) = nested_keys([&first, &second], [&schema, &schema])
        {
            *condition = first.eq(second);
            is_changed = true;
        }
    }
    if let Some(predicate) = conditions.into_iter().reduce(Expr::and).filter(|_| is_changed) {
        filter.predicate = predicate;
    }
    Ok(Transformed::new_transformed(LogicalPlan::Filter(filter), is_changed))
}

/// The sides of a condition of two tables that are joined somewhere below, if by plain inner joins alone: of what ANY, ASOF and
/// PASTE JOIN take, WHERE keeps what it compares as equal.
fn sides_below(condition: &Expr, plan: &LogicalPlan) -> Option<(Expr, Operator, Expr)> {
    let LogicalPlan::Join(join) = plan else { return None };
    if join.join_type != JoinType::Inner || is_strict(join) {
        return None;
    }
    sides(condition, join)
        .or_else(|| sides_below(condition, &join.left))
        .or_else(|| sides_below(condition, &join.right))
}

/// Finds the sides of a condition of two tables.
type Sides<'a> = dyn Fn(&Expr) -> Option<(Expr, Operator, Expr)> + 'a;

/// Makes equalities of floats of two tables such of their bits, each without its guard; true if there were any. What compares
/// columns of one table is not a key, and keeps the rules of `=`.
fn by_bits(conditions: &mut Vec<Expr>, sides: &Sides, schema: &DFSchema) -> Result<bool> {
    let mut keys = Vec::new();
    for condition in conditions.iter_mut() {
        let Some((mut first, Operator::Eq, mut second)) = sides(condition) else { continue };
        as_floats(&mut first, &mut second, [schema, schema])?;
        if is_key(&first, schema)? && is_key(&second, schema)? {
            *condition = bits_of(first.clone(), schema)?.eq(bits_of(second.clone(), schema)?);
            keys.push([first, second]);
        }
    }
    for key in &keys {
        // Each equality came with one guard.
        if let Some(at) = conditions.iter().position(|condition| is_guard(condition, key)) {
            conditions.remove(at);
        }
    }
    Ok(!keys.is_empty())
}

/// Two keys as bytes, if they are arrays or tuples that the engine would lose rows by. It takes the least and the greatest of
/// one side to filter the other, and knows neither where there is something nested, a NULL or a NaN inside; and two tables number the
/// names of Enums each in its own way.
fn nested_keys(sides: [&Expr; 2], schemas: [&DFSchema; 2]) -> Result<Option<[Expr; 2]>> {
    use DataType::{Enum8, Enum16, LowCardinality, Nullable};
    let has_names =
        |it: &DataType| holds(it, &|it| matches!(it, Enum8(_) | Enum16(_) | LowCardinality(_)));
    let may_be_null = |it: &DataType| holds(it, &|it| matches!(it, Nullable(_)));
    let fields = [field_of(sides[0], schemas[0])?, field_of(sides[1], schemas[1])?];
    let (Some(left), Some(right)) = (bare_type(&fields[0]), bare_type(&fields[1])) else {
        return Ok(None);
    };
    let has_floats = fields.iter().any(|field| holds_floats(field.data_type()));
    let is_nested = |it: &DataType| matches!(it, DataType::Array(_) | DataType::Tuple(_));
    let is_lost =
        |it: &DataType| has_floats || has_names(it) || may_be_null(it) || listed::is_deep(it);
    if !is_nested(&left) || !is_nested(&right) || !is_lost(&left) && !is_lost(&right) {
        return Ok(None);
    }
    if left != right || has_floats && has_names(&left) {
        return plan_err!("JOIN does not take {left} and {right}: join by the elements one by one");
    }
    let order = if has_floats {
        Order::Key
    } else {
        Order::Nested { data_type: left.to_string(), nan_least: false, null_least: false }
    };
    Ok(Some(sides.map(|side| order.udf().call(vec![side.clone()]))))
}

/// True for a column of floats, perhaps made a Float64.
fn is_key(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    let is_column = match expr {
        Expr::Column(_) => true,
        Expr::Cast(cast) => matches!(*cast.expr, Expr::Column(_)),
        _ => false,
    };
    Ok(is_column && is_float(expr, schema)?)
}

/// True for the condition that [`super::comparison`] puts beside an equality: that no side is a NaN, or the other one is NULL.
fn is_guard(condition: &Expr, sides: &[Expr]) -> bool {
    let is_infinite = |end: &Expr| matches!(end, Expr::Literal(ScalarValue::Float64(Some(end)), _) if end.is_infinite());
    match condition {
        Expr::Between(between) => {
            sides.contains(&between.expr)
                && !between.negated
                && is_infinite(&between.low)
                && is_infinite(&between.high)
        }
        Expr::BinaryExpr(either) if either.op == Operator::Or => {
            let is_missing = matches!(&*either.right, Expr::IsNull(other) if sides.contains(other));
            is_missing && is_guard(&either.left, sides)
        }
        _ => false,
    }
}

fn is_float(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    Ok(matches!(expr.get_type(schema)?, ArrowType::Float32 | ArrowType::Float64))
}

/// The bits of a float; other values as they are.
fn bits_of(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    Ok(if is_float(&expr, schema)? { Order::Bits.udf().call(vec![expr]) } else { expr })
}

/// A float of its bits.
fn float_of(bits: Expr, data_type: &ArrowType) -> Expr {
    let float = Order::Bits.back().udf().call(vec![bits]);
    if *data_type == ArrowType::Float64 { float } else { cast(float, data_type.clone()) }
}

/// What DISTINCT below ORDER BY gives: ClickHouse compares neighbours after it has sorted them, so that the zeros of the leading
/// keys are one. `None` if there is nothing to change.
fn distinct_in_order(sort: &Sort) -> Result<Option<LogicalPlan>> {
    let LogicalPlan::Projection(floats) = sort.input.as_ref() else { return Ok(None) };
    let LogicalPlan::Distinct(Distinct::All(distinct)) = floats.input.as_ref() else {
        return Ok(None);
    };
    let LogicalPlan::Projection(bits) = distinct.as_ref() else { return Ok(None) };
    let wanted = Arc::clone(bits.input.schema());
    if sort.input.schema().columns() != wanted.columns() {
        return Ok(None);
    }
    let leading: Vec<&Column> =
        sort.expr.iter().map_while(|key| order::of_column(&key.expr)).collect();
    let is_merged = |column: &Column, data_type: &ArrowType| {
        data_type.is_floating() && leading.contains(&column)
    };
    let (mut keys, mut first) = (Vec::new(), Vec::new());
    for (column, field) in wanted.columns().into_iter().zip(wanted.fields()) {
        let value = bits_of(Expr::Column(column.clone()), &wanted)?;
        if is_merged(&column, field.data_type()) {
            keys.push(Order::Sorted { nan_least: false }.udf().call(vec![Expr::Column(column)]));
            first.push(first_value(value, Vec::new()));
        } else {
            keys.push(value);
        }
    }
    if first.is_empty() {
        return Ok(None);
    }
    let merged = Aggregate::try_new(Arc::clone(&bits.input), keys, first)?;
    let schema = Arc::clone(&merged.schema);
    let mut values = schema.columns().into_iter();
    let keys: Vec<Column> = values.by_ref().take(wanted.fields().len()).collect();
    let shown = keys.into_iter().zip(wanted.iter()).map(|(key, (qualifier, field))| {
        let own = Column::new(qualifier.cloned(), field.name());
        let first = is_merged(&own, field.data_type()).then(|| values.next()).flatten();
        let value = Expr::Column(first.unwrap_or(key));
        let is_float = field.data_type().is_floating();
        let value = if is_float { float_of(value, field.data_type()) } else { value };
        value.alias_qualified(qualifier.cloned(), field.name())
    });
    let shown = shown.collect();
    let merged = Arc::new(LogicalPlan::Aggregate(merged));
    Ok(Some(LogicalPlan::Projection(Projection::try_new(shown, merged)?)))
}

/// A projection of the bits of floats; `None` if there are none.
fn all_bits(input: &Arc<LogicalPlan>) -> Result<Option<LogicalPlan>> {
    let schema = input.schema();
    if !schema.fields().iter().any(|field| field.data_type().is_floating()) {
        return Ok(None);
    }
    let columns = schema.iter().map(|(qualifier, field)| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let bits = bits_of(column.clone(), schema)?;
        Ok(if bits == column {
            column
        } else {
            bits.alias_qualified(qualifier.cloned(), field.name())
        })
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(Some(LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(input))?)))
}

/// A projection with the names and types of a schema above a node with as many columns.
fn back(plan: LogicalPlan, wanted: &DFSchema) -> Result<LogicalPlan> {
    let have = Arc::clone(plan.schema());
    let both = have.iter().zip(wanted.iter());
    let shown = both.filter(|((_, bits), _)| !super::keep::is_number_of_set(bits.name()));
    let columns = shown.map(|((from, bits), (qualifier, field))| {
        let column = Expr::Column(Column::new(from.cloned(), bits.name()));
        if bits.data_type() == field.data_type() {
            if from == qualifier && bits.name() == field.name() {
                return column;
            }
            return column.alias_qualified(qualifier.cloned(), field.name());
        }
        float_of(column, field.data_type()).alias_qualified(qualifier.cloned(), field.name())
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(plan))?))
}

fn grouped(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(aggregate.input.schema());
    let is_counted = |expr: &Expr| is_distinct_count(expr, &schema);
    let keys = grouping_set_to_exprlist(&aggregate.group_expr)?.into_iter().cloned();
    let mut has_key = false;
    for key in keys {
        has_key |= is_float(&key, &schema)?;
    }
    if !has_key && !aggregate.aggr_expr.iter().any(is_counted) {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let wanted = Arc::clone(&aggregate.schema);
    let one = |key: Expr| bits_of(key, &schema);
    let all = |keys: Vec<Expr>| keys.into_iter().map(one).collect::<Result<Vec<_>>>();
    let sets = |sets: Vec<Vec<Expr>>| sets.into_iter().map(all).collect::<Result<Vec<_>>>();
    let group_expr = aggregate.group_expr.into_iter().map(|key| {
        Ok(match key {
            Expr::GroupingSet(GroupingSet::Rollup(keys)) => {
                Expr::GroupingSet(GroupingSet::Rollup(all(keys)?))
            }
            Expr::GroupingSet(GroupingSet::Cube(keys)) => {
                Expr::GroupingSet(GroupingSet::Cube(all(keys)?))
            }
            Expr::GroupingSet(GroupingSet::GroupingSets(lists)) => {
                Expr::GroupingSet(GroupingSet::GroupingSets(sets(lists)?))
            }
            plain => one(plain)?,
        })
    });
    let group_expr = group_expr.collect::<Result<Vec<_>>>()?;
    let aggr_expr = aggregate.aggr_expr.into_iter().map(|expr| {
        let changed = expr.up(&mut |expr| {
            let Expr::AggregateFunction(mut call) = expr else { return Ok(Transformed::no(expr)) };
            let is_changed = call.func.name() == "grouping"
                || call.func.name() == "count" && call.params.distinct;
            if is_changed {
                for argument in &mut call.params.args {
                    *argument = bits_of(argument.clone(), &schema)?;
                }
            }
            Ok(Transformed::new_transformed(Expr::AggregateFunction(call), is_changed))
        });
        changed.map(|changed| changed.data)
    });
    let aggr_expr = aggr_expr.collect::<Result<Vec<_>>>()?;
    let bits = Aggregate::try_new(aggregate.input, group_expr, aggr_expr)?;
    back(LogicalPlan::Aggregate(bits), &wanted).map(Transformed::yes)
}

/// PARTITION BY sorts there, and takes the zeros for one; LIMIT BY, whose keys are marked, does not, but in arrays and tuples.
fn partitioned(window: Window) -> Result<Transformed<LogicalPlan>> {
    let schema = Arc::clone(window.input.schema());
    let mut is_changed = false;
    let mut expressions = Vec::with_capacity(window.window_expr.len());
    for expr in &window.window_expr {
        let changed = expr.clone().up(&mut |expr| {
            let Expr::WindowFunction(mut call) = expr else { return Ok(Transformed::no(expr)) };
            let before = call.params.partition_by.clone();
            for key in &mut call.params.partition_by {
                let mut is_apart = false;
                if let Expr::ScalarFunction(mark) = key
                    && mark.name() == APART
                    && let Some(inner) = mark.args.pop()
                {
                    (*key, is_apart) = (inner, true);
                }
                let field = field_of(key, &schema)?;
                if is_apart && field.data_type().is_floating() {
                    *key = bits_of(key.clone(), &schema)?;
                    continue;
                }
                if !field.data_type().is_floating() && !holds_floats(field.data_type()) {
                    continue;
                }
                let order = bare_type(&field).and_then(|it| Order::of_sort(&it, true, false));
                *key = order.map_or_else(|| key.clone(), |it| it.udf().call(vec![key.clone()]));
            }
            let is_changed = before != call.params.partition_by;
            Ok(Transformed::new_transformed(Expr::WindowFunction(call), is_changed))
        })?;
        is_changed |= changed.transformed;
        expressions.push(changed.data);
    }
    if !is_changed {
        return Ok(Transformed::no(LogicalPlan::Window(window)));
    }
    let bits = LogicalPlan::Window(Window::try_new(expressions, window.input)?);
    back(bits, &window.schema).map(Transformed::yes)
}

/// True for `count(DISTINCT x)` of floats.
fn is_distinct_count(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Alias(alias) => is_distinct_count(&alias.expr, schema),
        Expr::AggregateFunction(call) => {
            call.func.name() == "count"
                && call.params.distinct
                && call.params.args.iter().any(|it| is_float(it, schema).unwrap_or(false))
        }
        _ => false,
    }
}

/// Sets hold the bits of floats, so that the two zeros are two. True if the list has one, or a constant that is yet to be
/// computed (`-inf`), and was changed.
pub(super) fn in_list(list: &mut InList) -> bool {
    let number = |item: &Expr| match item {
        Expr::Literal(value, _) => value.cast_to(&ArrowType::Float64).ok(),
        _ => None,
    };
    let is_zero = |item: &Expr| match number(item) {
        Some(value) => matches!(value, ScalarValue::Float64(Some(0.0))),
        None => true,
    };
    let is_text = |item: &Expr| matches!(item, Expr::Literal(..)) && number(item).is_none();
    if list.list.iter().any(is_text) || !list.list.iter().any(is_zero) {
        return false;
    }
    let bits = |item: Expr| match number(&item) {
        Some(ScalarValue::Float64(Some(known))) => lit(known.to_bits().cast_signed()),
        Some(_) => lit(ScalarValue::Int64(None)),
        None => Order::Bits.udf().call(vec![cast(item, ArrowType::Float64)]),
    };
    list.list = std::mem::take(&mut list.list).into_iter().map(bits).collect();
    let expr = std::mem::replace(&mut *list.expr, lit(0_i64));
    *list.expr = Order::Bits.udf().call(vec![expr]);
    true
}
