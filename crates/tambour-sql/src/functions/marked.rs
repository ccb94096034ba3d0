//! `x IN (SELECT …)` as a value: in a result, or in an argument of an aggregate. The engine knows it as a condition of rows only;
//! elsewhere a join marks the rows whose value is in the set.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, ScalarValue, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InSubquery;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, lit, not, when,
};

/// The pass over projections and aggregates.
pub(super) fn sets(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let (LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_)) = &plan else {
        return Ok(Transformed::no(plan));
    };
    let mut found = Vec::new();
    for expr in plan.expressions() {
        expr.apply(|inner| {
            if let Expr::InSubquery(set) = inner
                && set.subquery.outer_ref_columns.is_empty()
                && set.subquery.subquery.schema().fields().len() == 1
                && !found.contains(set)
            {
                found.push(set.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    let only = plan.inputs().first().map(|input| (*input).clone());
    let Some(mut input) = only.filter(|_| !found.is_empty()) else {
        return Ok(Transformed::no(plan));
    };
    let mut marks = Vec::new();
    for set in found {
        let name = unused(input.schema());
        let mark = value(&set, &name, input.schema())?;
        input = joined(input, &set, &name)?;
        marks.push((set, mark));
    }
    let names = NamePreserver::new(&plan);
    let exprs = plan.expressions().into_iter().map(|expr| {
        let name = names.save(&expr);
        let replaced = expr.transform_up(|expr| {
            let mark = match &expr {
                Expr::InSubquery(set) => marks.iter().find(|(known, _)| known == set),
                _ => None,
            };
            Ok(match mark {
                Some((_, mark)) => Transformed::yes(mark.clone()),
                None => Transformed::no(expr),
            })
        })?;
        Ok(name.restore(replaced.data))
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    Ok(Transformed::yes(plan.with_new_exprs(exprs, vec![input])?))
}

/// A name that no table of the input has.
fn unused(schema: &DFSchema) -> String {
    let is_used = |name: &String| {
        schema.iter().any(|(table, _)| table.is_some_and(|table| table.table() == name))
    };
    let mut names = (1_usize..).map(|number| format!("\u{1f}set {number}"));
    names.find(|name| !is_used(name)).unwrap_or_default()
}

/// The input with a column that says of each row whether its value is in the set, of which NULLs are left out.
fn joined(input: LogicalPlan, set: &InSubquery, name: &str) -> Result<LogicalPlan> {
    let members = LogicalPlanBuilder::from(set.subquery.subquery.as_ref().clone())
        .alias(TableReference::bare(name))?
        .build()?;
    let column = Expr::Column(Column::from(members.schema().qualified_field(0)));
    let members =
        LogicalPlanBuilder::from(members).filter(column.clone().is_not_null())?.build()?;
    LogicalPlanBuilder::from(input)
        .join_on(members, JoinType::LeftMark, [set.expr.as_ref().clone().eq(column)])?
        .build()
}

/// The mark as the value of the expression: of NULL it is not known whether it is in the set.
fn value(set: &InSubquery, name: &str, schema: &DFSchema) -> Result<Expr> {
    let mark = Expr::Column(Column::new(Some(TableReference::bare(name)), "mark"));
    let mark = if set.negated { not(mark) } else { mark };
    if !set.expr.nullable(schema)? {
        return Ok(mark);
    }
    when(set.expr.as_ref().clone().is_null(), lit(ScalarValue::Boolean(None))).otherwise(mark)
}
