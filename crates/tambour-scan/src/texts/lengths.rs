//! Texts of which only the lengths are asked for: a rule that tells scans so.
//!
//! `length`, `empty`, `notEmpty` and comparisons with the empty text do not look at bytes. Where nobody else looks at a
//! column, its scan hands out texts of the right lengths and any bytes, and reads the lengths alone.

use crate::exec::TambourScanExec;
use crate::groups::GroupsExec;
use crate::groups::runs::RunsExec;
use crate::nodes::over;
use crate::scan_options::ScanOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::ScalarFunctionExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, IsNotNullExpr, IsNullExpr, Literal,
};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PhysicalExpr};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Functions that look at the length of a text only.
const FUNCTIONS: [&str; 3] = ["length", "empty", "notEmpty"];

/// The rule.
#[derive(Debug)]
pub(crate) struct LengthsOfTexts;

impl PhysicalOptimizerRule for LengthsOfTexts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !ScanOptions::of(config).scan_lengths {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            let found = expressions(&node).and_then(|above| {
                let mut columns = BTreeSet::new();
                for expr in &above {
                    looked_at(expr, &mut columns);
                }
                of_lengths(node.children().first()?, &columns).transpose()
            });
            let Some(below) = found.transpose()? else { return Ok(Transformed::no(node)) };
            over(node, below).map(Transformed::yes)
        })
        .data()
    }
    fn name(&self) -> &'static str {
        "lengths_of_texts"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// A scan, perhaps below an operator that deals its rows out, for operators above that look at the contents of these columns
/// only; none if it is not one, or that is nothing new.
fn of_lengths(
    node: &Arc<dyn ExecutionPlan>,
    columns: &BTreeSet<usize>,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = node.downcast_ref::<TambourScanExec>() {
        return Ok(scan.of_lengths(columns).map(|it| Arc::new(it) as _));
    }
    let dealing = node.downcast_ref::<RepartitionExec>();
    let Some(dealing) =
        dealing.filter(|it| matches!(it.partitioning(), Partitioning::RoundRobinBatch(_)))
    else {
        return Ok(None);
    };
    let below = of_lengths(dealing.input(), columns)?;
    below.map(|below| over(Arc::clone(node), below)).transpose()
}

/// All expressions of an operator that hands out nothing but their values.
fn expressions(node: &Arc<dyn ExecutionPlan>) -> Option<Vec<Arc<dyn PhysicalExpr>>> {
    if let Some(projection) = node.downcast_ref::<ProjectionExec>() {
        return Some(projection.expr().iter().map(|it| Arc::clone(&it.expr)).collect());
    }
    let aggregate = if let Some(groups) = node.downcast_ref::<GroupsExec>() {
        groups.stock().as_ref()
    } else if let Some(runs) = node.downcast_ref::<RunsExec>() {
        runs.stock().as_ref()
    } else {
        node.downcast_ref::<AggregateExec>()?
    };
    if aggregate.mode().input_mode() != AggregateInputMode::Raw {
        return None;
    }
    let mut all = aggregate.group_expr().input_exprs();
    for call in aggregate.aggr_expr() {
        all.extend(call.expressions());
        all.extend(call.order_bys().iter().map(|it| Arc::clone(&it.expr)));
    }
    all.extend(aggregate.filter_expr().iter().flatten().cloned());
    Some(all)
}

/// True for a function of the length of a column.
pub(super) fn is_length(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() else { return false };
    let is_column = |it: &Arc<dyn PhysicalExpr>| it.downcast_ref::<Column>().is_some();
    FUNCTIONS.contains(&call.fun().name()) && matches!(call.args(), [one] if is_column(one))
}

/// True for a comparison of a column with the empty text, and for whether it is NULL.
fn is_emptiness(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let is_column = |it: &Arc<dyn PhysicalExpr>| it.downcast_ref::<Column>().is_some();
    let is_empty = |it: &Arc<dyn PhysicalExpr>| match it.downcast_ref::<Literal>() {
        Some(literal) => match literal.value() {
            ScalarValue::BinaryView(Some(bytes)) => bytes.is_empty(),
            ScalarValue::Utf8View(Some(text)) => text.is_empty(),
            _ => false,
        },
        None => false,
    };
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        let (left, right) = (binary.left(), binary.right());
        return matches!(binary.op(), Operator::Eq | Operator::NotEq)
            && ((is_column(left) && is_empty(right)) || (is_empty(left) && is_column(right)));
    }
    expr.downcast_ref::<IsNullExpr>().is_some_and(|it| is_column(it.arg()))
        || expr.downcast_ref::<IsNotNullExpr>().is_some_and(|it| is_column(it.arg()))
}

/// The columns of which an expression looks at more than their lengths.
pub(crate) fn looked_at(expr: &Arc<dyn PhysicalExpr>, found: &mut BTreeSet<usize>) {
    if is_length(expr) || is_emptiness(expr) {
        return;
    }
    if let Some(column) = expr.downcast_ref::<Column>() {
        found.insert(column.index());
    }
    for child in expr.children() {
        looked_at(child, found);
    }
}
