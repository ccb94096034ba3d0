//! `RIGHT JOIN … USING (k)` and `FULL JOIN … USING (k)`: a bare `k` is the key of whichever side has the row. The engine
//! takes the left one, which is missing in the rows that only the right side has.

use crate::walk::Walk;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, JoinConstraint, JoinType, plan_err};
use datafusion::error::Result;
use datafusion::functions::expr_fn::coalesce;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Projection};
use std::sync::Arc;

/// An expression whose bare columns that several tables have are those of the first one: what JOIN ... USING merged is still
/// two columns while operators are planned, and their types must be known. Which columns were bare is noted.
pub(super) fn qualified(
    expr: &Expr,
    schema: &DFSchema,
    replaced: &mut Vec<Column>,
) -> Result<Expr> {
    let mut tables = schema.iter().map(|(table, _)| table);
    if tables.next() == tables.last() {
        return Ok(expr.clone());
    }
    let named = expr.clone().up(&mut |expr| {
        let Expr::Column(column) = &expr else { return Ok(Transformed::no(expr)) };
        if column.relation.is_some() {
            return Ok(Transformed::no(expr));
        }
        let all = schema.qualified_fields_with_unqualified_name(&column.name);
        Ok(match all.as_slice() {
            [(Some(table), _), _, ..] => {
                let column = Column::new(Some((*table).clone()), column.name.clone());
                replaced.push(column.clone());
                Transformed::yes(Expr::Column(column))
            }
            _ => Transformed::no(expr),
        })
    })?;
    Ok(named.data)
}

/// The expression with these columns bare again: if they were not merged, the engine says that they are ambiguous.
pub(super) fn bare(expr: Expr, replaced: &[Column]) -> Result<Expr> {
    let bare = expr.up(&mut |expr| {
        Ok(match expr {
            Expr::Column(column) if replaced.contains(&column) => {
                Transformed::yes(Expr::Column(Column::new_unqualified(column.name)))
            }
            other => Transformed::no(other),
        })
    })?;
    Ok(bare.data)
}

/// The pass over a join: the keys of the left side are those of both. (The dialect refuses to ask for the left side's alone.)
pub(super) fn merged(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = &plan else { return Ok(Transformed::no(plan)) };
    let is_outer = matches!(join.join_type, JoinType::Right | JoinType::Full);
    if join.join_constraint != JoinConstraint::Using || !is_outer {
        return Ok(Transformed::no(plan));
    }
    let mut keys = Vec::new();
    for (left, right) in &join.on {
        let (Expr::Column(key), Expr::Column(_)) = (left, right) else {
            return plan_err!("JOIN ... USING takes names of columns");
        };
        let types = (left.get_type(join.left.schema())?, right.get_type(join.right.schema())?);
        if types.0 != types.1 {
            return plan_err!(
                "the columns {} of an outer JOIN ... USING have different types; write ON",
                key.name
            );
        }
        let both = match join.join_type {
            JoinType::Right => right.clone(),
            _ => coalesce(vec![left.clone(), right.clone()]),
        };
        keys.push((key.clone(), both));
    }
    let columns = join.schema.iter().map(|(qualifier, field)| {
        let column = Column::new(qualifier.cloned(), field.name());
        match keys.iter().find(|(key, _)| *key == column) {
            Some((_, both)) => both.clone().alias_qualified(qualifier.cloned(), field.name()),
            None => Expr::Column(column),
        }
    });
    let columns = columns.collect();
    Ok(Transformed::yes(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?)))
}
