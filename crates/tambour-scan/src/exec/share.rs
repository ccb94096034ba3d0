//! What share of the rows a filter leaves, as joins are planned by: a guess from the form of the filter and the least and the
//! greatest value of its column.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use std::sync::Arc;

/// Different values of a column of which nothing is known.
const DISTINCT: f64 = 50.0;
/// What a filter of another form leaves, as the engine's own guess has it.
const OTHER: f64 = 0.2;
/// What a comparison leaves whose column has no known ends.
const HALF_OPEN: f64 = 1.0 / 3.0;
const PATTERN: f64 = 0.05;
const NULLS: f64 = 0.1;

/// How many of the rows all of these leave. `all` has the columns that they look at.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share from 0 to 1 of a count is a count, and a guess at that"
)]
pub(super) fn left_by(filters: &[Arc<dyn PhysicalExpr>], rows: u64, all: &Statistics) -> u64 {
    let share: f64 = filters.iter().map(|filter| of(filter.as_ref(), all)).product();
    ((rows as f64 * share.clamp(0.0, 1.0)) as u64).max(1).min(rows)
}

fn of(filter: &dyn PhysicalExpr, all: &Statistics) -> f64 {
    let not = |is_negated: bool, share: f64| if is_negated { 1.0 - share } else { share };
    if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
        let (left, right) = (binary.left().as_ref(), binary.right().as_ref());
        return match binary.op() {
            Operator::And => of(left, all) * of(right, all),
            Operator::Or => (of(left, all) + of(right, all)).min(1.0),
            Operator::Eq => 1.0 / distinct(left, all).max(distinct(right, all)),
            Operator::NotEq => 1.0 - 1.0 / distinct(left, all).max(distinct(right, all)),
            Operator::Lt | Operator::LtEq => below(left, right, all),
            Operator::Gt | Operator::GtEq => below(right, left, all),
            _ => OTHER,
        };
    }
    if let Some(list) = filter.downcast_ref::<InListExpr>() {
        let share = list.list().len() as f64 / distinct(list.expr().as_ref(), all);
        return not(list.negated(), share.min(1.0));
    }
    if let Some(like) = filter.downcast_ref::<LikeExpr>() {
        return not(like.negated(), PATTERN);
    }
    if let Some(inner) = filter.downcast_ref::<NotExpr>() {
        return 1.0 - of(inner.arg().as_ref(), all);
    }
    if filter.is::<IsNullExpr>() {
        return NULLS;
    }
    if filter.is::<IsNotNullExpr>() { 1.0 - NULLS } else { OTHER }
}

/// What is known of the column that an expression is.
fn column<'a>(expr: &dyn PhysicalExpr, all: &'a Statistics) -> Option<&'a ColumnStatistics> {
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        return column(cast.expr().as_ref(), all);
    }
    all.column_statistics.get(expr.downcast_ref::<Column>()?.index())
}

/// How many different values a column has at most, if its values are whole numbers with known ends; else a guess.
fn distinct(expr: &dyn PhysicalExpr, all: &Statistics) -> f64 {
    let Some(column) = column(expr, all) else { return 1.0 };
    let whole = |value: &ScalarValue| {
        let data_type = value.data_type();
        let is_whole = data_type.is_integer() || data_type == DataType::Date32;
        is_whole.then(|| number(value)).flatten()
    };
    let ends = column.min_value.get_value().and_then(whole);
    let Some((least, greatest)) = ends.zip(column.max_value.get_value().and_then(whole)) else {
        return DISTINCT;
    };
    let rows = all.num_rows.get_value().map_or(f64::INFINITY, |rows| *rows as f64);
    (greatest - least + 1.0).min(rows).max(1.0)
}

/// The share of rows in which the first side is below the second, of which one is a column and one a constant.
fn below(low: &dyn PhysicalExpr, high: &dyn PhysicalExpr, all: &Statistics) -> f64 {
    let constant = |expr: &dyn PhysicalExpr| number(expr.downcast_ref::<Literal>()?.value());
    let ends = |expr: &dyn PhysicalExpr| {
        let column = column(expr, all)?;
        let least = number(column.min_value.get_value()?)?;
        Some((least, number(column.max_value.get_value()?)?))
    };
    let share = match (ends(low), constant(high), constant(low), ends(high)) {
        (Some((least, greatest)), Some(bound), ..) => (bound - least) / (greatest - least),
        (_, _, Some(bound), Some((least, greatest))) => (greatest - bound) / (greatest - least),
        _ => HALF_OPEN,
    };
    if share.is_nan() { HALF_OPEN } else { share.clamp(0.0, 1.0) }
}

fn number(value: &ScalarValue) -> Option<f64> {
    let through = match value.data_type() {
        DataType::Date32 => value.cast_to(&DataType::Int32).ok()?,
        DataType::Timestamp(..) => value.cast_to(&DataType::Int64).ok()?,
        _ => value.clone(),
    };
    match through.cast_to(&DataType::Float64).ok()? {
        ScalarValue::Float64(number) => number,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{Field, Schema};
    use datafusion::common::stats::Precision;
    use datafusion::physical_expr::expressions::{binary, col, in_list, lit};

    fn left(filter: Arc<dyn PhysicalExpr>, ends: Option<(i64, i64)>) -> u64 {
        let known = |value: i64| Precision::Inexact(ScalarValue::Int64(Some(value)));
        let (min_value, max_value) = match ends {
            Some((least, greatest)) => (known(least), known(greatest)),
            None => (Precision::Absent, Precision::Absent),
        };
        let all = Statistics {
            num_rows: Precision::Exact(10_000),
            total_byte_size: Precision::Absent,
            column_statistics: vec![ColumnStatistics {
                min_value,
                max_value,
                ..Default::default()
            }],
        };
        left_by(&[filter], 10_000, &all)
    }

    #[test]
    fn shares_are_guessed_from_the_ends_of_a_column() {
        let schema = Schema::new(vec![Field::new("a", DataType::Int64, false)]);
        let a = || col("a", &schema).unwrap();
        let compared = |op, bound: i64| binary(a(), op, lit(bound), &schema).unwrap();
        let ends = Some((1, 100));
        assert_eq!(left(compared(Operator::Eq, 7), ends), 100);
        assert_eq!(left(compared(Operator::Eq, 7), None), 200);
        assert_eq!(left(compared(Operator::NotEq, 7), ends), 9_900);
        assert_eq!(left(compared(Operator::Lt, 50), Some((0, 100))), 5_000);
        assert_eq!(left(compared(Operator::GtEq, 90), Some((0, 100))), 1_000);
        assert_eq!(left(compared(Operator::Gt, 500), ends), 1);
        assert_eq!(left(compared(Operator::Lt, 50), None), 3_333);
        let set = vec![lit(1_i64), lit(2_i64)];
        assert_eq!(left(in_list(a(), set, &true, &schema).unwrap(), ends), 9_800);
        let both =
            binary(compared(Operator::Eq, 1), Operator::Or, compared(Operator::Eq, 2), &schema);
        assert_eq!(left(both.unwrap(), ends), 200);
        // A column of one value has no range to take a share of.
        assert_eq!(left(compared(Operator::Lt, 5), Some((5, 5))), 3_333);
    }
}
