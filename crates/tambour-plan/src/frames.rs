//! Frames of windows that are distances of values, not of rows: `RANGE BETWEEN 3 PRECEDING AND CURRENT ROW`.

use super::literal::{bare_type, field_of};
use super::order::Order;
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType as ArrowType, IntervalMonthDayNano};
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::WindowFunctionParams;
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits, cast};
use tambour_part::types::DataType;

/// True for `RANGE BETWEEN 3 PRECEDING …`: a frame of values, not of rows.
pub(super) fn has_distances(frame: &WindowFrame) -> bool {
    let is_distance = |bound: &WindowFrameBound| match bound {
        WindowFrameBound::Preceding(value) | WindowFrameBound::Following(value) => !value.is_null(),
        WindowFrameBound::CurrentRow => false,
    };
    frame.units == WindowFrameUnits::Range
        && (is_distance(&frame.start_bound) || is_distance(&frame.end_bound))
}

/// A RANGE frame without distances ends with peers, as one of GROUPS does, which the engine has for all types. True if it was made
/// such.
pub(super) fn of_peers(params: &mut WindowFunctionParams, schema: &DFSchema) -> Result<bool> {
    let frame = &params.window_frame;
    let is_default = frame.end_bound == WindowFrameBound::CurrentRow
        && matches!(frame.start_bound, WindowFrameBound::Preceding(_));
    if frame.units != WindowFrameUnits::Range || is_default || has_distances(frame) {
        return Ok(false);
    }
    let is_odd = |it: &ArrowType| {
        matches!(it, ArrowType::Struct(_) | ArrowType::FixedSizeBinary(_) | ArrowType::List(_))
    };
    for item in &params.order_by {
        if is_odd(field_of(&item.expr, schema)?.data_type()) {
            let bound = |it: &WindowFrameBound| match it {
                WindowFrameBound::Preceding(_) => {
                    WindowFrameBound::Preceding(ScalarValue::UInt64(None))
                }
                WindowFrameBound::Following(_) => {
                    WindowFrameBound::Following(ScalarValue::UInt64(None))
                }
                WindowFrameBound::CurrentRow => WindowFrameBound::CurrentRow,
            };
            let ends = (bound(&frame.start_bound), bound(&frame.end_bound));
            params.window_frame = WindowFrame::new_bounds(WindowFrameUnits::Groups, ends.0, ends.1);
            return Ok(true);
        }
    }
    Ok(false)
}

/// Numbers in a frame over dates are days, over instants seconds: the engine would take them for months.
pub(super) fn distances(params: &mut WindowFunctionParams, schema: &DFSchema) -> Result<bool> {
    let Some(first) = params.order_by.first_mut() else { return Ok(false) };
    let field = field_of(&first.expr, schema)?;
    let Some(data_type) = bare_type(&field) else { return Ok(false) };
    let interval = |number: i64| match data_type {
        DataType::Date | DataType::Date32 => {
            i32::try_from(number).ok().map(|days| IntervalMonthDayNano::new(0, days, 0))
        }
        DataType::DateTime { .. } => number
            .checked_mul(1_000_000_000)
            .map(|nanoseconds| IntervalMonthDayNano::new(0, 0, nanoseconds)),
        _ => None,
    };
    if field.is_nullable() {
        return plan_err!(
            "a RANGE frame with a distance does not take values that may be NULL: order by assumeNotNull(x)"
        );
    }
    match &data_type {
        DataType::Date | DataType::Date32 | DataType::DateTime { .. } => {}
        other if Order::of_comparison(other).is_some() => {
            return plan_err!("a RANGE frame with a distance does not take {other}");
        }
        // Nothing is less than 0 for the engine in a type without a sign, and past its ends each type begins anew.
        _ if field.data_type().is_integer() => {
            let wide = ArrowType::Decimal128(DECIMAL128_MAX_PRECISION, 0);
            first.expr = cast(std::mem::take(&mut first.expr), wide);
            return Ok(true);
        }
        _ => return Ok(false),
    }
    for bound in [&mut params.window_frame.start_bound, &mut params.window_frame.end_bound] {
        let (WindowFrameBound::Preceding(value) | WindowFrameBound::Following(value)) = bound
        else {
            continue;
        };
        let number = match &*value {
            ScalarValue::Utf8(Some(text)) => text.parse::<i64>().ok(),
            other => match other.cast_to(&ArrowType::Int64) {
                Ok(ScalarValue::Int64(number)) => number,
                _ => None,
            },
        };
        if let Some(interval) = number.and_then(interval) {
            *value = ScalarValue::IntervalMonthDayNano(Some(interval));
        }
    }
    Ok(true)
}
