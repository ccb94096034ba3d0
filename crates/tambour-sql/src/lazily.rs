//! The right side of AND and OR is asked only where the left one leaves the answer open, if it may fail: `x != 0 AND intDiv(10, x) > 3`
//! does not divide by zero. The engine's operators ask both sides for all rows, unless few are left.

use crate::walk::{Walk, everywhere};
use arrow::datatypes::DataType;
use datafusion::catalog::Session;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use std::sync::Arc;

/// The engine's planner, which is given plans whose AND and OR are changed so.
#[derive(Debug)]
pub struct LazyPlanner;

#[async_trait::async_trait]
impl QueryPlanner for LazyPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::default();
        planner.create_physical_plan(&asked_lazily(plan.clone())?, session).await
    }
}

/// The plan with its AND and OR as CASE where their right side may fail. It is optimised already: the engine's rules would take the
/// CASE apart again.
fn asked_lazily(plan: LogicalPlan) -> Result<LogicalPlan> {
    everywhere(plan, &mut |node| {
        if !has_such(&node)? {
            return Ok(Transformed::no(node));
        }
        let mut schema = merge_schema(&node.inputs());
        if let LogicalPlan::TableScan(scan) = &node {
            schema.merge(&DFSchema::try_from_qualified_schema(
                scan.table_name.clone(),
                &scan.source.schema(),
            )?);
        }
        let names = NamePreserver::new(&node);
        let node = node.map_expressions(|expr| {
            let name = names.save(&expr);
            let changed = expr.up(&mut |expr| lazy(expr, &schema))?;
            Ok(changed.update_data(|expr| name.restore(expr)))
        })?;
        node.map_data(LogicalPlan::recompute_schema)
    })
}

fn has_such(node: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        expr.look(&mut |expr| {
            found |= matches!(expr, Expr::BinaryExpr(it) if is_logic(it.op) && may_fail(&it.right));
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(found)
}

fn is_logic(op: Operator) -> bool {
    matches!(op, Operator::And | Operator::Or)
}

/// `a AND b` as CASE WHEN a IS FALSE THEN FALSE ELSE a AND b END, which asks `b` for the other rows only; OR likewise.
fn lazy(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
        return Ok(Transformed::no(expr));
    };
    if !is_logic(op) || !may_fail(&right) {
        return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
    }
    let is_and = op == Operator::And;
    let decided = if is_and { Expr::IsFalse(left.clone()) } else { Expr::IsTrue(left.clone()) };
    let otherwise = if left.nullable(schema)? {
        Box::new(Expr::BinaryExpr(BinaryExpr { left, op, right }))
    } else {
        right
    };
    let when = vec![(Box::new(decided), Box::new(lit(!is_and)))];
    Ok(Transformed::yes(Expr::Case(Case::new(None, when, Some(otherwise)))))
}

/// Whether there are rows for which an expression is an error.
fn may_fail(expr: &Expr) -> bool {
    let mut found = false;
    // Nothing in it fails.
    let _ = expr.look(&mut |expr| {
        found |= match expr {
            Expr::BinaryExpr(it) => {
                matches!(it.op, Operator::Divide | Operator::Modulo | Operator::IntegerDivide)
                    && !matches!(it.right.as_ref(), Expr::Literal(..))
            }
            Expr::Cast(it) => !matches!(
                it.field.data_type(),
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Float64
            ),
            Expr::ScalarFunction(it) => is_partial(it.name()),
            _ => false,
        };
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// Whether a function has no answer for some values.
fn is_partial(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_total = ["orzero", "ornull", "ordefault"].iter().any(|end| name.ends_with(end));
    let begins = [
        "toint",
        "touint",
        "tofloat",
        "tobfloat",
        "todecimal",
        "todate",
        "touuid",
        "toip",
        "tofixed",
        "tobool",
        "toenum",
        "parse",
        "accuratecast",
        "range",
        "repeat",
        "gcd",
        "lcm",
        "throwif",
    ];
    let holds = ["div", "mod", "cast"];
    !is_total
        && (begins.iter().any(|begin| name.starts_with(begin))
            || holds.iter().any(|part| name.contains(part)))
}
