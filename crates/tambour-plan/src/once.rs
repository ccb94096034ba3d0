//! A call of chance that a query writes twice is drawn once, as in ClickHouse: `SELECT rand() AS r ... WHERE r < 9` shows the
//! numbers that it chose by, and `rand(1), rand(2)` are two. The engine would draw for each place.
//!
//! The calls are computed in a projection below the first filter of their level of the query. Those in lambdas are drawn for
//! each element and stay.

use super::keep::is_number_of_set;
use super::session;
use crate::walk::Walk;
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, Projection};
use std::sync::Arc;

/// A projection or an aggregate whose level draws each call once.
pub(super) fn drawn(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !matches!(plan, LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_)) {
        return Ok(Transformed::no(plan));
    }
    let mut seen = Vec::new();
    let mut shared = Vec::new();
    level(&plan, &mut |expr| gather(expr, &mut seen, &mut shared))?;
    if shared.is_empty() {
        return Ok(Transformed::no(plan));
    }
    // What was drawn may be the argument of a further call.
    let plan = drawn(placed(plan, &shared)?)?.data;
    Ok(Transformed::yes(plan))
}

/// Visits the expressions of a level: of its top and of the filters, sorts and windows below it.
fn level(plan: &LogicalPlan, visit: &mut impl FnMut(&Expr) -> Result<()>) -> Result<()> {
    plan.apply_expressions(|expr| visit(expr).map(|()| TreeNodeRecursion::Continue))?;
    match below(plan) {
        Some(input) => level(input, visit),
        None => Ok(()),
    }
}

/// What is below a node, if it belongs to the same level.
fn below(plan: &LogicalPlan) -> Option<&LogicalPlan> {
    let input = plan.inputs().into_iter().next()?;
    is_between(input).then_some(input)
}

fn is_between(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Window(_))
}

/// Adds the calls of an expression to those seen, and to those shared if they were.
fn gather(expr: &Expr, seen: &mut Vec<Expr>, shared: &mut Vec<Expr>) -> Result<()> {
    expr.look(&mut |expr| {
        if matches!(expr, Expr::Lambda(_)) {
            return Ok(TreeNodeRecursion::Jump);
        }
        if is_drawn(expr) {
            if !seen.contains(expr) {
                seen.push(expr.clone());
            } else if !shared.contains(expr) {
                shared.push(expr.clone());
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// True for a call of chance whose arguments are none.
fn is_drawn(expr: &Expr) -> bool {
    let Expr::ScalarFunction(call) = expr else { return false };
    session::is_of_chance(&call.func) && !call.args.iter().any(Expr::is_volatile)
}

/// The node with columns in the place of the calls, which are computed below its level.
fn placed(plan: LogicalPlan, calls: &[Expr]) -> Result<LogicalPlan> {
    let inputs = plan.inputs().into_iter().cloned();
    let inputs: Vec<LogicalPlan> = inputs
        .map(|input| if is_between(&input) { placed(input, calls) } else { computed(input, calls) })
        .collect::<Result<_>>()?;
    let names = NamePreserver::new(&plan);
    let expressions = plan.expressions().into_iter().map(|expr| {
        let name = names.save(&expr);
        let replaced = expr.down(&mut |expr| {
            if matches!(expr, Expr::Lambda(_)) {
                return Ok(Transformed::new(expr, false, TreeNodeRecursion::Jump));
            }
            if !calls.contains(&expr) {
                return Ok(Transformed::no(expr));
            }
            Ok(Transformed::yes(Expr::Column(Column::new_unqualified(name_of(&expr)))))
        })?;
        Ok(name.restore(replaced.data))
    });
    let expressions = expressions.collect::<Result<Vec<Expr>>>()?;
    plan.with_new_exprs(expressions, inputs)
}

/// A projection of all columns and the calls.
fn computed(plan: LogicalPlan, calls: &[Expr]) -> Result<LogicalPlan> {
    let columns = plan.schema().columns().into_iter();
    let columns = columns.filter(|it| !is_number_of_set(&it.name)).map(Expr::Column);
    let calls = calls.iter().map(|call| call.clone().alias(name_of(call)));
    let columns = columns.chain(calls).collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

fn name_of(call: &Expr) -> String {
    format!("{} drawn once", call.schema_name())
}
