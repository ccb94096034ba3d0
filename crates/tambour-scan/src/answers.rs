//! Aggregates of whole tables that statistics of parts answer: `count`, `min`, `max`, `sum` and `avg` without a key or a filter.
//!
//! A rule replaces such an aggregate by a row of constants. An argument may be a whole number times a column plus another: the
//! sum of those is known, too, as long as no value of theirs leaves its type. Where anything is in doubt (rows that deletes
//! hide, a part without statistics, a column of another type than the part has, a sum beyond its type, an average that
//! rounding would touch), the rows are read. Statistics that are damaged or of another part are said in EXPLAIN.

use crate::exec::TambourScanExec;
use crate::scan_options::ScanOptions;
use crate::statistics::{has_exact_rows, kept, total};
use arrow::datatypes::{DataType as Arrow, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal, lit};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use std::collections::HashMap;
use std::sync::Arc;
use tambour_part::statistics::Summary;
use tambour_table::TableError;
use tambour_table::statistics::PartStatistics;

/// Whole numbers up to which floats hold each.
const FLOAT_EXACT: i128 = 1 << 53;
/// Aggregates and operations of one query up to which they are looked at.
const DEPTH_MAX: usize = 32;

/// The rule.
#[derive(Debug)]
pub(crate) struct AnswersFromStatistics;

impl PhysicalOptimizerRule for AnswersFromStatistics {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !ScanOptions::of(config).scan_statistics {
            return Ok(plan);
        }
        plan.transform_down(|node| {
            let Some(aggregate) = whole(&node) else { return Ok(Transformed::no(node)) };
            match answered(&aggregate, &node.schema()) {
                Ok(Some(answer)) => Ok(Transformed::yes(answer)),
                Ok(None) => Ok(Transformed::no(node)),
                Err(error) => noted(node, &error).map(Transformed::yes),
            }
        })
        .data()
    }
    fn name(&self) -> &'static str {
        "answers_from_statistics"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// The aggregate without keys and filters that looks at rows, under a node that is all of it.
fn whole(node: &Arc<dyn ExecutionPlan>) -> Option<AggregateExec> {
    let last = node.downcast_ref::<AggregateExec>()?;
    let first = match last.mode() {
        AggregateMode::Single | AggregateMode::SinglePartitioned => last,
        AggregateMode::Final => {
            let mut below = last.input();
            if let Some(merged) = below.downcast_ref::<CoalescePartitionsExec>() {
                below = merged.input();
            }
            let below = below.downcast_ref::<AggregateExec>()?;
            (*below.mode() == AggregateMode::Partial).then_some(below)?
        }
        _ => return None,
    };
    let is_plain = first.group_expr().is_empty()
        && !first.aggr_expr().is_empty()
        && first.filter_expr().iter().all(Option::is_none);
    is_plain.then(|| first.clone())
}

/// The same plan, whose scans say why statistics are not used.
fn noted(node: Arc<dyn ExecutionPlan>, error: &TableError) -> Result<Arc<dyn ExecutionPlan>> {
    node.transform_down(|node| {
        let found = node.downcast_ref::<TambourScanExec>();
        let found = found.filter(|scan| !scan.has_note());
        let found = found.map(|scan| Arc::new(scan.noted(error.to_string())) as _);
        Ok(found.map_or_else(|| Transformed::no(node), Transformed::yes))
    })
    .data()
}

/// A row of constants instead of an aggregate.
fn answered(
    aggregate: &AggregateExec,
    schema: &SchemaRef,
) -> Result<Option<Arc<dyn ExecutionPlan>>, TableError> {
    let Some(source) = Source::of(aggregate.input()) else { return Ok(None) };
    if source.scan.has_note() || !source.is_whole() {
        return Ok(None);
    }
    let mut known = Known::new(source.scan);
    let mut row = Vec::new();
    for (call, field) in aggregate.aggr_expr().iter().zip(schema.fields()) {
        let Some(value) = answer(&source, &mut known, call)? else { return Ok(None) };
        if value.is_null() || value.data_type() != *field.data_type() {
            return Ok(None);
        }
        // A constant is never NULL; the result is Nullable as it would be without us.
        let expr = CastExpr::new_with_target_field(lit(value), Arc::clone(field), None);
        row.push(ProjectionExpr { expr: Arc::new(expr), alias: field.name().clone() });
    }
    let nothing = Arc::new(PlaceholderRowExec::new(Arc::clone(schema)));
    let answer = ProjectionExec::try_new(row, nothing).ok();
    Ok(answer.filter(|it| it.schema() == *schema).map(|it| Arc::new(it) as _))
}

/// What is below operators that only deal rows out.
fn dealt(mut node: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    while let Some(dealt) = node.downcast_ref::<RepartitionExec>() {
        node = dealt.input();
    }
    node
}

/// What an aggregate looks at: a scan, and perhaps expressions over it.
struct Source<'a> {
    scan: &'a TambourScanExec,
    between: Option<&'a ProjectionExec>,
}

impl<'a> Source<'a> {
    fn of(input: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        let input = dealt(input);
        if let Some(projection) = input.downcast_ref::<ProjectionExec>() {
            let scan = dealt(projection.input()).downcast_ref::<TambourScanExec>()?;
            return Some(Self { scan, between: Some(projection) });
        }
        Some(Self { scan: input.downcast_ref::<TambourScanExec>()?, between: None })
    }

    /// True if every row of the table is looked at, and no other.
    fn is_whole(&self) -> bool {
        let (scan, table) = (self.scan.scan(), self.scan.table());
        let rows: u64 = scan.partitions.iter().flatten().map(|range| range.rows).sum();
        has_exact_rows(table)
            && !self.scan.has_filters()
            && scan.limit.is_none()
            && scan.predicate.is_unknown()
            && rows == table.rows()
    }

    /// An expression over what the aggregate looks at, as one over a column of the scan.
    fn linear(&self, expr: &Arc<dyn PhysicalExpr>, depth: usize) -> Option<Linear> {
        linear(
            expr,
            &|column: &Column| match self.between {
                None => Some(Linear::column(self.scan, column)),
                Some(projection) => {
                    let inner = projection.expr().get(column.index())?;
                    linear(&inner.expr, &|it| Some(Linear::column(self.scan, it)), depth)
                }
            },
            depth,
        )
    }
}

/// `scale * column + offset`, and the types that it goes through.
struct Linear {
    /// Name and type of the scan's column; none of a constant.
    column: Option<(String, Arrow)>,
    scale: i128,
    offset: i128,
    /// Types with the scale and the offset at which values are in them.
    through: Vec<(Arrow, i128, i128)>,
}

impl Linear {
    fn column(scan: &TambourScanExec, column: &Column) -> Self {
        let schema = scan.schema();
        let data_type = schema.fields().get(column.index()).map(|it| it.data_type().clone());
        let data_type = data_type.unwrap_or(Arrow::Null);
        let column = Some((column.name().to_owned(), data_type.clone()));
        Self { column, scale: 1, offset: 0, through: vec![(data_type, 1, 0)] }
    }
    fn constant(value: &ScalarValue) -> Option<Self> {
        let offset = integer_of(value)?;
        let through = vec![(value.data_type(), 0, offset)];
        Some(Self { column: None, scale: 0, offset, through })
    }
    /// The same in another type of whole numbers.
    fn within(mut self, data_type: &Arrow) -> Option<Self> {
        range_of(data_type)?;
        self.through.push((data_type.clone(), self.scale, self.offset));
        Some(self)
    }
    fn data_type(&self) -> &Arrow {
        self.through.last().map_or(&Arrow::Null, |it| &it.0)
    }
    fn combined(self, operator: Operator, other: Self) -> Option<Self> {
        if self.data_type() != other.data_type() || self.column.is_some() == other.column.is_some()
        {
            return None;
        }
        let (scale, offset) = match operator {
            Operator::Plus => {
                (self.scale.checked_add(other.scale)?, self.offset.checked_add(other.offset)?)
            }
            Operator::Minus => {
                (self.scale.checked_sub(other.scale)?, self.offset.checked_sub(other.offset)?)
            }
            Operator::Multiply => {
                let factor = if self.column.is_none() { self.offset } else { other.offset };
                let of = if self.column.is_none() { &other } else { &self };
                (of.scale.checked_mul(factor)?, of.offset.checked_mul(factor)?)
            }
            _ => return None,
        };
        let data_type = self.data_type().clone();
        let mut through = self.through;
        through.extend(other.through);
        let column = self.column.or(other.column);
        Self { column, scale, offset, through }.within(&data_type)
    }
    /// The value that a value of the column becomes.
    fn at(&self, value: i128) -> Option<i128> {
        value.checked_mul(self.scale)?.checked_add(self.offset)
    }
    /// True if no value between these leaves a type on the way.
    fn stays(&self, (least, greatest): (i128, i128)) -> bool {
        self.through.iter().all(|(data_type, scale, offset)| {
            let Some((low, high)) = range_of(data_type) else { return self.is_plain() };
            [least, greatest].iter().all(|value| {
                let value = value.checked_mul(*scale).and_then(|it| it.checked_add(*offset));
                value.is_some_and(|value| (low..=high).contains(&value))
            })
        })
    }
    /// True for a column as it is.
    fn is_plain(&self) -> bool {
        self.through.len() == 1 && self.column.is_some()
    }
}

fn linear(
    expr: &Arc<dyn PhysicalExpr>,
    column: &dyn Fn(&Column) -> Option<Linear>,
    depth: usize,
) -> Option<Linear> {
    let depth = depth.checked_sub(1)?;
    if let Some(found) = expr.downcast_ref::<Column>() {
        return column(found);
    }
    if let Some(found) = expr.downcast_ref::<Literal>() {
        return Linear::constant(found.value());
    }
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        let inner = linear(cast.expr(), column, depth)?;
        // Only whole numbers are the same ones in another type.
        range_of(inner.data_type())?;
        return inner.within(cast.cast_type());
    }
    let binary = expr.downcast_ref::<BinaryExpr>()?;
    let (left, right) =
        (linear(binary.left(), column, depth)?, linear(binary.right(), column, depth)?);
    left.combined(*binary.op(), right)
}

/// The least and the greatest value of a type of whole numbers.
fn range_of(data_type: &Arrow) -> Option<(i128, i128)> {
    Some(match data_type {
        Arrow::Int8 => (i8::MIN.into(), i8::MAX.into()),
        Arrow::Int16 => (i16::MIN.into(), i16::MAX.into()),
        Arrow::Int32 => (i32::MIN.into(), i32::MAX.into()),
        Arrow::Int64 => (i64::MIN.into(), i64::MAX.into()),
        Arrow::UInt8 => (0, u8::MAX.into()),
        Arrow::UInt16 => (0, u16::MAX.into()),
        Arrow::UInt32 => (0, u32::MAX.into()),
        Arrow::UInt64 => (0, u64::MAX.into()),
        _ => return None,
    })
}

fn integer_of(value: &ScalarValue) -> Option<i128> {
    range_of(&value.data_type())?;
    if value.is_null() { None } else { value.to_string().parse().ok() }
}

/// A value of a type, given as [`tambour_part::statistics`] hold it.
pub(crate) fn value_of(value: i128, data_type: &Arrow) -> Option<ScalarValue> {
    match data_type {
        Arrow::Decimal128(precision, scale) => {
            let is_inside = value.unsigned_abs() < 10_u128.checked_pow(u32::from(*precision))?;
            is_inside.then_some(ScalarValue::Decimal128(Some(value), *precision, *scale))
        }
        Arrow::UInt64 => Some(ScalarValue::UInt64(Some(u64::try_from(value).ok()?))),
        Arrow::Date32 => Some(ScalarValue::Date32(Some(i32::try_from(value).ok()?))),
        Arrow::Timestamp(..) => {
            ScalarValue::Int64(Some(i64::try_from(value).ok()?)).cast_to(data_type).ok()
        }
        other => {
            let (low, high) = range_of(other)?;
            let is_inside = (low..=high).contains(&value);
            let wide = ScalarValue::Int64(Some(i64::try_from(value).ok()?));
            is_inside.then(|| wide.cast_to(other).ok()).flatten()
        }
    }
}

/// What is known of the columns of a table.
struct Known<'a> {
    scan: &'a TambourScanExec,
    kept: Option<Vec<PartStatistics>>,
    columns: HashMap<String, Option<Summary>>,
}

impl<'a> Known<'a> {
    fn new(scan: &'a TambourScanExec) -> Self {
        Self { scan, kept: None, columns: HashMap::new() }
    }

    /// Of all rows of a column.
    fn column(&mut self, name: &str) -> Result<Option<Summary>, TableError> {
        if let Some(known) = self.columns.get(name) {
            return Ok(*known);
        }
        let found = self.found(name)?;
        self.columns.insert(name.to_owned(), found);
        Ok(found)
    }

    fn found(&mut self, name: &str) -> Result<Option<Summary>, TableError> {
        let table = self.scan.table();
        if self.kept.is_none() {
            self.kept = kept(table)?;
        }
        Ok(self.kept.as_ref().and_then(|kept| total(table, kept, name)))
    }
}

/// The value of an aggregate, if it is known.
fn answer(
    source: &Source<'_>,
    known: &mut Known<'_>,
    call: &AggregateFunctionExpr,
) -> Result<Option<ScalarValue>, TableError> {
    let arguments = call.expressions();
    let ([argument], false, true) =
        (arguments.as_slice(), call.is_distinct(), call.order_bys().is_empty())
    else {
        return Ok(None);
    };
    let data_type = call.field().data_type().clone();
    let name = call.fun().name();
    // An average is of floats: what is under the cast is what is known.
    let averaged = argument.downcast_ref::<CastExpr>().filter(|cast| {
        name == "avg" && *cast.cast_type() == Arrow::Float64 && data_type == Arrow::Float64
    });
    let looked_at = averaged.map_or(argument, |cast| cast.expr());
    let Some(linear) = source.linear(looked_at, DEPTH_MAX) else { return Ok(None) };
    let Some((column, _)) = &linear.column else {
        let rows = i64::try_from(source.scan.table().rows()).ok();
        return Ok(rows.filter(|_| name == "count").map(|rows| ScalarValue::Int64(Some(rows))));
    };
    let Some(total) = known.column(column)? else { return Ok(None) };
    let values = i128::from(total.values());
    let Some(extremes) = total.extremes.filter(|it| total.nans == 0 && linear.stays(*it)) else {
        return Ok(None);
    };
    let sum = total.sum.and_then(|sum| {
        sum.checked_mul(linear.scale)?.checked_add(linear.offset.checked_mul(values)?)
    });
    let ends = [linear.at(extremes.0), linear.at(extremes.1)];
    let [Some(one), Some(two)] = ends else { return Ok(None) };
    Ok(match name {
        "count" => i64::try_from(values).ok().map(|it| ScalarValue::Int64(Some(it))),
        "min" => value_of(one.min(two), &data_type),
        "max" => value_of(one.max(two), &data_type),
        "sum" if is_summed(linear.data_type(), &data_type) => {
            sum.and_then(|sum| value_of(sum, &data_type)).filter(|it| it.data_type() == data_type)
        }
        "avg" if averaged.is_some() && range_of(linear.data_type()).is_some() => {
            let bound =
                one.unsigned_abs().max(two.unsigned_abs()).checked_mul(values.unsigned_abs());
            // No sum of some of the values is rounded then, in whatever order they are added.
            let is_exact = bound.is_some_and(|it| it <= FLOAT_EXACT.unsigned_abs());
            sum.filter(|_| is_exact).map(|sum| average(sum, values))
        }
        _ => None,
    })
}

/// True if values of a type are added up as they are in the type of the sum.
fn is_summed(data_type: &Arrow, sum: &Arrow) -> bool {
    match (data_type, sum) {
        (Arrow::Decimal128(_, scale), Arrow::Decimal128(_, of_sum)) => scale == of_sum,
        (_, Arrow::Int64 | Arrow::UInt64) => data_type == sum,
        _ => false,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "both are at most 2^53, or the count is rounded as the engine does"
)]
fn average(sum: i128, values: i128) -> ScalarValue {
    ScalarValue::Float64(Some(sum as f64 / values as f64))
}
