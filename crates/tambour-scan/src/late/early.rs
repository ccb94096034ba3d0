//! Conditions of a filter that are asked before its other columns are read: where they leave no row of a granule, texts and
//! lists are not decoded for nothing.
//!
//! Only what cannot fail goes first, and what may fail is asked of the rows that are left: `u8 != 0 AND intDiv(100, u8) > 5` does not
//! divide by zero.

use super::Filters;
use arrow::datatypes::{DataType, Schema};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{conjunction, split_conjunction};
use datafusion::physical_plan::PhysicalExpr;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The conditions of a query in two groups.
#[derive(Debug)]
pub(super) struct Stages {
    /// The places of the columns that filters need, those of the first group in front.
    pub(super) leading: Vec<usize>,
    /// How many of them that is; 0 if they are all.
    pub(super) early: usize,
    /// The conditions of each group. Those of the first are asked of all rows, the others of the rows that are left.
    pub(super) fixed: [Vec<Arc<dyn PhysicalExpr>>; 2],
}

impl Stages {
    /// Divides the filters of a scan that reads `schema` and for them the columns at `leading`.
    pub(super) fn of(filters: &Filters, leading: BTreeSet<usize>, schema: &Schema) -> Self {
        let is_early = |filter: &Arc<dyn PhysicalExpr>| {
            is_plain(filter, schema) && columns_of(filter).iter().all(|it| is_cheap(*it, schema))
        };
        let fixed = filters.fixed.iter().flat_map(split_conjunction).cloned();
        let (first, others): (Vec<_>, Vec<_>) = fixed.partition(is_early);
        let (second, last): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|filter| is_plain(filter, schema));
        let mut early: BTreeSet<usize> = first.iter().flat_map(columns_of).collect();
        for moving in &filters.moving {
            let asked = filters.asked_of(moving, schema);
            if asked.iter().all(|it| is_cheap(*it, schema)) {
                early.extend(asked);
            }
        }
        if early.len() == leading.len() {
            early.clear();
        }
        let late = leading.into_iter().filter(|it| !early.contains(it));
        let (count, leading) = (early.len(), early.iter().copied().chain(late).collect());
        let together = |some: Vec<_>| (!some.is_empty()).then(|| conjunction(some));
        let others = [second, last].into_iter().filter_map(together).collect();
        Self { leading, early: count, fixed: [first, others] }
    }
}

fn columns_of(filter: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    collect_columns(filter).iter().map(Column::index).collect()
}

/// Whether a column takes little to decode: numbers, times, and codes of a dictionary.
fn is_cheap(column: usize, schema: &Schema) -> bool {
    let is_cheap = |it: &DataType| {
        it.is_primitive() || matches!(it, DataType::Boolean | DataType::Dictionary(..))
    };
    schema.fields().get(column).is_some_and(|field| is_cheap(field.data_type()))
}

/// Whether a condition can be asked of any row without an error.
fn is_plain(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    let is_safe = if let Some(binary) = filter.downcast_ref::<BinaryExpr>() {
        let op = binary.op();
        is_comparison(*op) || matches!(op, Operator::And | Operator::Or)
    } else if let Some(cast) = filter.downcast_ref::<CastExpr>() {
        let from = cast.expr().data_type(schema);
        from.is_ok_and(|from| is_wider(&from, cast.cast_type()))
    } else {
        filter.is::<Column>()
            || filter.is::<Literal>()
            || filter.is::<NotExpr>()
            || filter.is::<IsNullExpr>()
            || filter.is::<IsNotNullExpr>()
            || filter.is::<InListExpr>()
            || filter.is::<LikeExpr>()
    };
    is_safe && filter.children().into_iter().all(|child| is_plain(child, schema))
}

fn is_comparison(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// Whether every value of a type is one of another.
fn is_wider(from: &DataType, to: &DataType) -> bool {
    let widths = from.primitive_width().zip(to.primitive_width());
    let is_signed =
        to.is_signed_integer() || from.is_unsigned_integer() == to.is_unsigned_integer();
    from.is_integer() && to.is_integer() && is_signed && widths.is_some_and(|it| it.0 < it.1)
}
