//! Values of subqueries in the filters of a scan: they are known when it runs, not when it is planned.
//!
//! `key = (SELECT max(key) ...)`: in comparisons of a column the value takes the place of the subquery, so that texts are compared as
//! bytes and the primary index leaves granules out.

use super::TambourScanExec;
use crate::scan_options::ScanOptions;
use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::{conjunction, split_conjunction};
use datafusion::physical_plan::PhysicalExpr;
use std::borrow::Cow;
use std::sync::Arc;

impl TambourScanExec {
    /// The same with the values of subqueries in its filters, as far as they are known by now.
    pub(super) fn with_found(&self, options: &ScanOptions) -> Cow<'_, Self> {
        let mut scan = Cow::Borrowed(self);
        if !options.scan_subqueries {
            return scan;
        }
        for (index, filter) in self.filters.fixed.iter().enumerate() {
            let conditions = split_conjunction(filter).into_iter();
            let mut is_found = false;
            let conditions = conditions.map(|condition| match found(condition, &self.read) {
                Some(found) => {
                    is_found = true;
                    found
                }
                None => Arc::clone(condition),
            });
            let whole = conjunction(conditions.collect::<Vec<_>>());
            if is_found && let Some(place) = scan.to_mut().filters.fixed.get_mut(index) {
                *place = whole;
                scan.to_mut().filters.is_found = true;
            }
        }
        scan
    }
}

/// A comparison of a column and a subquery, with the value of the subquery; none of other conditions, and before it is known.
fn found(condition: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Arc<dyn PhysicalExpr>> {
    let binary = condition.downcast_ref::<BinaryExpr>()?;
    if !is_comparison(*binary.op()) {
        return None;
    }
    let (left, right) = (binary.left(), binary.right());
    let is_column = |it: &Arc<dyn PhysicalExpr>| it.downcast_ref::<Column>().is_some();
    let known = |it: &Arc<dyn PhysicalExpr>, column: &Arc<dyn PhysicalExpr>| {
        let value = value_of(it).filter(|it| column.data_type(schema).ok() == Some(it.data_type()));
        value.map(|value| Arc::new(Literal::new(value)) as Arc<dyn PhysicalExpr>)
    };
    let sides = match (is_column(left), is_column(right)) {
        (true, false) => (Arc::clone(left), known(right, left)?),
        (false, true) => (known(left, right)?, Arc::clone(right)),
        _ => return None,
    };
    Some(Arc::new(BinaryExpr::new(sides.0, *binary.op(), sides.1)))
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq};
    matches!(operator, Eq | Lt | LtEq | Gt | GtEq)
}

/// The value of a subquery, which casts may surround.
fn value_of(expr: &Arc<dyn PhysicalExpr>) -> Option<ScalarValue> {
    let mut inner = expr;
    while let Some(cast) = inner.downcast_ref::<CastExpr>() {
        inner = cast.expr();
    }
    inner.downcast_ref::<ScalarSubqueryExpr>()?;
    // It is an error while the subquery has not ended.
    match expr.evaluate(&RecordBatch::new_empty(Arc::new(Schema::empty()))).ok()? {
        ColumnarValue::Scalar(value) => Some(value),
        ColumnarValue::Array(_) => None,
    }
}

/// What filters say of a column by comparing it with constants, as far as the primary index can tell; none if that is nothing.
pub(crate) fn comparisons(
    filters: &[Arc<dyn PhysicalExpr>],
    column: &str,
    schema: &Schema,
) -> Option<Arc<dyn PhysicalExpr>> {
    let is_one = |condition: &&Arc<dyn PhysicalExpr>| {
        let Some(binary) = condition.downcast_ref::<BinaryExpr>() else { return false };
        let sides = [(binary.left(), binary.right()), (binary.right(), binary.left())];
        is_comparison(*binary.op())
            && sides.iter().any(|(one, other)| {
                let one = one.downcast_ref::<Column>().filter(|it| it.name() == column);
                let value = other.downcast_ref::<Literal>().map(Literal::value);
                let (Some(one), Some(value)) = (one, value) else { return false };
                let same = schema.fields().get(one.index()).map(|it| it.data_type());
                // An index has no place for NaN.
                same == Some(&value.data_type())
                    && !value.is_null()
                    && !value.data_type().is_floating()
            })
    };
    let all = filters.iter().flat_map(split_conjunction).filter(is_one).cloned();
    let all: Vec<_> = all.collect();
    (!all.is_empty()).then(|| conjunction(all))
}
