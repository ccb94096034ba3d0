//! `isConstant(x)` of what has columns in it. The engine computes some expressions over a single row as if they were constants,
//! so that is known before.

use crate::walk::Walk;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan, lit};

/// The name of the function.
const NAME: &str = "isConstant";

/// The pass over a node.
pub(super) fn known(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut is_asked = false;
    plan.apply_expressions(|expr| {
        expr.look(&mut |inner| {
            is_asked |= is_question(inner);
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    let input = plan.inputs().first().map(|input| (*input).clone());
    let Some(input) = input.filter(|_| is_asked) else { return Ok(Transformed::no(plan)) };
    let names = NamePreserver::new(&plan);
    plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let answered = expr.up(&mut |expr| {
            let columns = expr.column_refs();
            if !is_question(&expr) || columns.is_empty() {
                return Ok(Transformed::no(expr));
            }
            let is_one = columns.iter().all(|it| is_constant(&it.name, &input));
            Ok(Transformed::yes(lit(u8::from(is_one && !expr.is_volatile()))))
        })?;
        Ok(answered.update_data(|expr| name.restore(expr)))
    })
}

fn is_question(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.name() == NAME)
}

/// True for a column of a subquery that is a constant there.
fn is_constant(name: &str, plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => is_constant(name, &alias.input),
        LogicalPlan::Filter(filter) => is_constant(name, &filter.input),
        LogicalPlan::Sort(sort) => is_constant(name, &sort.input),
        LogicalPlan::Limit(limit) => is_constant(name, &limit.input),
        LogicalPlan::Projection(shown) => {
            let fields = shown.schema.fields().iter().zip(&shown.expr);
            let mut named = fields.filter(|(field, _)| field.name() == name).map(|(_, expr)| expr);
            named.next().is_some_and(|expr| {
                !expr.is_volatile()
                    && expr.column_refs().iter().all(|it| is_constant(&it.name, &shown.input))
            })
        }
        _ => false,
    }
}
