//! Expressions as EXPLAIN shows them.

use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr_common::physical_expr::fmt_sql;
use datafusion::physical_plan::PhysicalExpr;
use std::sync::Arc;

/// The engine counts rows by a constant.
pub fn plain(text: &str) -> String {
    text.replace("count(Int64(1))", "count()").replace("count(1)", "count()")
}

/// An expression without the places of its columns.
pub fn expression(expr: &dyn PhysicalExpr) -> String {
    plain(&fmt_sql(expr).to_string())
}

/// Filters that must all hold; none if there are none.
pub(crate) fn joined(filters: &[Arc<dyn PhysicalExpr>]) -> Option<String> {
    let texts = filters.iter().map(|it| expression(with_quotes(Arc::clone(it)).as_ref()));
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(" AND "))
}

/// Puts texts in quotes, which the engine leaves out.
fn with_quotes(expr: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    let quoted = Arc::clone(&expr).transform_up(|part| {
        let mut value = part.downcast_ref::<Literal>().map(Literal::value);
        while let Some(ScalarValue::Dictionary(_, inner)) = value {
            value = Some(inner);
        }
        let Some(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text))) = value else {
            return Ok(Transformed::no(part));
        };
        let text = format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
        let wrapped = match value {
            Some(ScalarValue::Utf8(_)) => ScalarValue::Utf8(Some(text)),
            _ => ScalarValue::Utf8View(Some(text)),
        };
        Ok(Transformed::yes(Arc::new(Literal::new(wrapped))))
    });
    quoted.map_or(expr, |it| it.data)
}
