//! `x IN (SELECT …)` as a value: in a result, in an argument of an aggregate, as a part of a condition that may be NULL. The engine
//! knows it as a condition of rows only; elsewhere a join marks the rows whose value is in the set. `(a, b) IN (SELECT …)` comes as an EXISTS over a subquery of a name that nobody
//! types.

use crate::walk::Walk;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, ScalarValue, TableReference};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::split_conjunction_owned;
use datafusion::logical_expr::{
    Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder, Projection, lit, not, when,
};
use std::sync::Arc;
use tambour_dialect::marks::SET;

/// A set whose membership is wanted as a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Set {
    Values(InSubquery),
    Tuples(Tuples),
}

/// A set of tuples: its rows, and the equalities of their elements.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tuples {
    written: Expr,
    members: Arc<LogicalPlan>,
    equal: Vec<Expr>,
    negated: bool,
}

impl Set {
    fn of(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::InSubquery(set)
                if set.subquery.outer_ref_columns.is_empty()
                    && !set.expr.contains_outer()
                    && set.subquery.subquery.schema().fields().len() == 1 =>
            {
                Some(Self::Values(set.clone()))
            }
            Expr::Exists(exists) => Tuples::of(exists, expr).map(Self::Tuples),
            _ => None,
        }
    }
    fn is_written(&self, expr: &Expr) -> bool {
        match (self, expr) {
            (Self::Values(set), Expr::InSubquery(other)) => set == other,
            (Self::Tuples(set), other) => set.written == *other,
            _ => false,
        }
    }
}

impl Tuples {
    /// Of `SELECT 1 FROM (…) AS set WHERE element = outer AND …`.
    fn of(exists: &Exists, expr: &Expr) -> Option<Self> {
        let LogicalPlan::Projection(shown) = exists.subquery.subquery.as_ref() else { return None };
        let LogicalPlan::Filter(filter) = shown.input.as_ref() else { return None };
        let LogicalPlan::SubqueryAlias(alias) = filter.input.as_ref() else { return None };
        let is_plain = alias.alias.table() == SET && !has_outer(&alias.input);
        is_plain.then(|| Self {
            written: expr.clone(),
            members: Arc::clone(&filter.input),
            equal: split_conjunction_owned(filter.predicate.clone()),
            negated: exists.negated,
        })
    }
    /// The input with a column that says of each row whether its tuple is in the set.
    fn joined(&self, input: LogicalPlan, name: &str) -> Result<LogicalPlan> {
        let members = LogicalPlanBuilder::from(self.members.as_ref().clone())
            .alias(TableReference::bare(name))?
            .build()?;
        let equal = self.equal.iter().map(|condition| {
            let plain = condition.clone().up(&mut |expr| {
                Ok(match expr {
                    Expr::OuterReferenceColumn(_, column) => Transformed::yes(Expr::Column(column)),
                    Expr::Column(Column { relation: Some(table), name: column, .. })
                        if table.table() == SET =>
                    {
                        let table = Some(TableReference::bare(name));
                        Transformed::yes(Expr::Column(Column::new(table, column)))
                    }
                    other => Transformed::no(other),
                })
            })?;
            Ok(plain.data)
        });
        let equal = equal.collect::<Result<Vec<_>>>()?;
        LogicalPlanBuilder::from(input).join_on(members, JoinType::LeftMark, equal)?.build()
    }
}

/// True if a plan looks at the query around it.
fn has_outer(plan: &LogicalPlan) -> bool {
    plan.exists(|node| Ok(node.expressions().iter().any(Expr::contains_outer))).unwrap_or(true)
}

/// The pass over a node.
pub(super) fn sets(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let found = match &plan {
        LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) => within(&plan.expressions())?,
        LogicalPlan::Sort(sort) => {
            let keys: Vec<Expr> = sort.expr.iter().map(|it| it.expr.clone()).collect();
            within(&keys)?
        }
        LogicalPlan::Filter(filter) => {
            let (plain, found) = of_condition(filter)?;
            if let Some(plain) = plain {
                let filter = Filter::try_new(plain, Arc::clone(&filter.input))?;
                return sets(LogicalPlan::Filter(filter)).map(|it| Transformed::yes(it.data));
            }
            found
        }
        _ => return Ok(Transformed::no(plan)),
    };
    let shown = match &plan {
        LogicalPlan::Filter(_) | LogicalPlan::Sort(_) => Some(Arc::clone(plan.schema())),
        _ => None,
    };
    let marked = marked(plan, found)?;
    let Some(schema) = shown.filter(|_| marked.transformed) else { return Ok(marked) };
    // Without the marks.
    let columns =
        schema.iter().map(|(table, field)| Expr::Column(Column::new(table.cloned(), field.name())));
    marked.map_data(|plan| {
        let shown = Projection::try_new(columns.collect(), Arc::new(plan))?;
        Ok(LogicalPlan::Projection(shown))
    })
}

/// The sets in some expressions.
fn within(expressions: &[Expr]) -> Result<Vec<Set>> {
    let mut found = Vec::new();
    for expr in expressions {
        expr.look(&mut |inner| {
            if let Some(set) = Set::of(inner)
                && !found.contains(&set)
            {
                found.push(set);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(found)
}

/// The sets in a condition of which the engine would take NULL for false although it is only a part. A whole condition that a
/// NULL is not in a set comes back with the condition that there is none: the engine takes every value not to be in an empty
/// set.
fn of_condition(filter: &Filter) -> Result<(Option<Expr>, Vec<Set>)> {
    let schema = filter.input.schema();
    let conditions = split_conjunction_owned(filter.predicate.clone());
    let (mut parts, mut present) = (Vec::new(), Vec::new());
    for condition in &conditions {
        match condition {
            Expr::InSubquery(set) if set.negated && set.expr.nullable(schema)? => {
                present.push(set.expr.as_ref().clone().is_not_null());
            }
            Expr::InSubquery(_) | Expr::Exists(_) => {}
            other => parts.push(other.clone()),
        }
    }
    present.retain(|it| !conditions.contains(it));
    if !present.is_empty() {
        return Ok((conditions.into_iter().chain(present).reduce(Expr::and), Vec::new()));
    }
    let mut found = Vec::new();
    for set in within(&parts)? {
        let may_be_null = match &set {
            Set::Values(set) => set.expr.nullable(schema)?,
            Set::Tuples(_) => false,
        };
        if may_be_null {
            found.push(set);
        }
    }
    Ok((None, found))
}

/// A node with marks in the place of sets.
fn marked(plan: LogicalPlan, found: Vec<Set>) -> Result<Transformed<LogicalPlan>> {
    let only = plan.inputs().first().map(|input| (*input).clone());
    let Some(mut input) = only.filter(|_| !found.is_empty()) else {
        return Ok(Transformed::no(plan));
    };
    let mut marks = Vec::new();
    for set in found {
        let name = unused(input.schema());
        let mark = match &set {
            Set::Values(set) => {
                let mark = value(set, &name, input.schema())?;
                input = joined(input, set, &name)?;
                mark
            }
            Set::Tuples(set) => {
                input = set.joined(input, &name)?;
                let mark =
                    Expr::Column(Column::new(Some(TableReference::bare(name.as_str())), "mark"));
                if set.negated { not(mark) } else { mark }
            }
        };
        marks.push((set, mark));
    }
    let names = NamePreserver::new(&plan);
    let exprs = plan.expressions().into_iter().map(|expr| {
        let name = names.save(&expr);
        let replaced = expr.up(&mut |expr| {
            let mark = marks.iter().find(|(known, _)| known.is_written(&expr));
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
