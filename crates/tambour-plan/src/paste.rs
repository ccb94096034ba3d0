//! PASTE JOIN: the first row of one side beside the first row of the other, up to the end of the shorter one.
//!
//! Rows are numbered in the order of each side and joined by their numbers. Rows of a table have no order before somebody asks for one, so
//! such a side is refused.

use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::{Column, Result, plan_err};
use datafusion::datasource::{MemTable, source_as_provider};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, Join, JoinType, LogicalPlan, LogicalPlanBuilder,
};
use tambour_scan::aggregates::ordered::{Ordered, ordered};

/// Names of the numbers; nobody types them.
const LEFT: &str = "\u{1f}paste left";
const RIGHT: &str = "\u{1f}paste right";
const SOURCE: &str = "\u{1f}paste source";

/// The plan that stands for such a join.
pub(crate) fn side_by_side(join: &Join) -> Result<LogicalPlan> {
    let wanted: Vec<Expr> = columns(&join.left).chain(columns(&join.right)).collect();
    let (left, right) = (numbered(&join.left, LEFT)?, numbered(&join.right, RIGHT)?);
    let number = |name: &str| Expr::Column(Column::new_unqualified(name));
    LogicalPlanBuilder::from(left)
        .join_on(right, JoinType::Inner, [number(LEFT).eq(number(RIGHT))])?
        .sort([number(LEFT).sort(true, false)])?
        .project(wanted)?
        .build()
}

fn columns(plan: &LogicalPlan) -> impl Iterator<Item = Expr> {
    plan.schema().columns().into_iter().map(Expr::Column)
}

/// A side with the numbers of its rows.
fn numbered(plan: &LogicalPlan, name: &str) -> Result<LogicalPlan> {
    let Some((input, order)) = ordered(plan, &source)? else {
        return plan_err!(
            "PASTE JOIN needs an order on both sides: rows of a table have none before they are sorted; write (SELECT ... ORDER BY ...)"
        );
    };
    let number = row_number().order_by(order).build()?.alias(name);
    let wanted = columns(plan).chain([Expr::Column(Column::new_unqualified(name))]);
    LogicalPlanBuilder::from(input).window([number])?.project(wanted)?.build()
}

/// Rows that are made one after the other are numbered where they are made.
fn source(plan: &LogicalPlan) -> Result<Option<Ordered>> {
    let is_made = match plan {
        LogicalPlan::TableScan(scan) => {
            let provider = source_as_provider(&scan.source)?;
            provider.as_ref().is::<StreamingTable>() || provider.as_ref().is::<MemTable>()
        }
        LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) => true,
        _ => false,
    };
    if !is_made {
        return Ok(None);
    }
    let number = row_number().alias(SOURCE);
    let plan = LogicalPlanBuilder::from(plan.clone()).window([number])?.build()?;
    let order = Expr::Column(Column::new_unqualified(SOURCE)).sort(true, false);
    Ok(Some((plan, vec![order])))
}
