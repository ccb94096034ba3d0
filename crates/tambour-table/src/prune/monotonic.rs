//! Which functions of a key keep its order, and by how much local time may break it.

use super::super::ordinal::{Order, bare, order};
use crate::TableError;
use crate::schema::expression::Expression;
use arrow_array::cast::AsArray;
use arrow_array::types::Date32Type;
use arrow_array::{ArrayRef, Date32Array, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType as ArrowType, Schema};
use std::sync::Arc;
use tambour_part::types::{DataType, Strings};

/// Slack for local times that go backward, in seconds: no zone ever set its clocks back by this much.
const ZONE_SLACK: i64 = 2 * 86_400;

pub(super) fn column_name(expression: &Expression) -> Option<&str> {
    match expression {
        Expression::Column(name) => Some(name),
        _ => None,
    }
}

/// True if the function never decreases (slack aside) over all values of the type.
pub(super) fn follows(function: &Expression, argument: &DataType, result: &DataType) -> bool {
    let is_small = match bare(argument) {
        // All their values stay in the range of all results.
        DataType::Date | DataType::DateTime { .. } => true,
        // Far dates overflow results that are dates themselves.
        DataType::Date32 | DataType::DateTime64 { .. } => matches!(
            bare(result),
            DataType::UInt16
                | DataType::UInt32
                | DataType::UInt64
                | DataType::Int32
                | DataType::Int64
        ),
        // Other functions take integers for days or seconds, or wrap around.
        DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64 => is_division(function),
        _ => false,
    };
    is_small && order(result) == Order::Same && function.is_monotonic()
}

/// True if the only functions are whole divisions.
fn is_division(expression: &Expression) -> bool {
    match expression {
        Expression::Column(_) | Expression::Literal(_) => true,
        Expression::Call { function, arguments } => {
            function == "intDiv" && arguments.iter().all(is_division)
        }
    }
}

/// Seconds by which the argument of a monotonic function of times may be out of order in local time.
pub(super) fn slack(function: &Expression, argument: &DataType) -> i64 {
    fn has_literal(expression: &Expression) -> bool {
        match expression {
            Expression::Literal(_) => true,
            Expression::Call { arguments, .. } => arguments.iter().any(has_literal),
            Expression::Column(_) => false,
        }
    }
    let is_steady = match bare(argument) {
        DataType::DateTime { zone } | DataType::DateTime64 { zone, .. } => {
            zone.as_deref() == Some("UTC")
        }
        _ => true,
    };
    // A literal may be a zone.
    if is_steady && !has_literal(function) { 0 } else { ZONE_SLACK }
}

/// False for times whose zone is that of whatever server looks at them.
pub(super) fn has_zone(data_type: &DataType) -> bool {
    !matches!(
        bare(data_type),
        DataType::DateTime { zone: None } | DataType::DateTime64 { zone: None, .. }
    )
}

/// Constants that a key function may be applied to: functions of a Date wrap around outside of its range, so the ends of
/// ranges are moved into it; `None` if a single value lies outside.
pub(super) fn within(values: ArrayRef, argument: &DataType, wide: bool) -> Option<ArrayRef> {
    const DAYS: std::ops::RangeInclusive<i32> = 0..=u16::MAX as i32;
    if !matches!(bare(argument), DataType::Date) {
        return Some(values);
    }
    let days = values.as_primitive_opt::<Date32Type>()?;
    if wide {
        let inside: Date32Array = days.unary(|day| day.clamp(*DAYS.start(), *DAYS.end()));
        return Some(Arc::new(inside));
    }
    days.iter().flatten().all(|day| DAYS.contains(&day)).then_some(values)
}

/// A function of one column, for these values of it.
pub(super) fn evaluate(
    function: &Expression,
    column: &Expression,
    values: &ArrayRef,
    data_type: &DataType,
) -> Result<ArrayRef, TableError> {
    let arrow = |cause| TableError::arrow("evaluate a key expression")(cause);
    let values = match values.data_type() {
        ArrowType::BinaryView => arrow_cast::cast(values, &ArrowType::Utf8View).map_err(arrow)?,
        _ => Arc::clone(values),
    };
    let name = column_name(column).unwrap_or_default();
    let field = data_type
        .field(name, Strings::Utf8)
        .with_data_type(values.data_type().clone())
        .with_nullable(true);
    let options = RecordBatchOptions::new().with_row_count(Some(values.len()));
    let schema = Arc::new(Schema::new(vec![field]));
    let batch = RecordBatch::try_new_with_options(schema, vec![values], &options).map_err(arrow)?;
    function.evaluate(&batch)
}
