//! The right side of AND and OR is asked only where the left one leaves the answer open, if it may fail: `x != 0 AND intDiv(10, x) > 3`
//! does not divide by zero. The engine asks both sides for all rows, unless the left one leaves a fifth of them or less.

use crate::walk::{Walk, everywhere};
use arrow::datatypes::DataType;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use std::sync::Arc;
use tambour_scan::provider::TambourTable;

/// The engine's planner, which is given plans that were rewritten this way.
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
/// CASE apart again. What a scan was told to prune by stays as it is.
fn asked_lazily(plan: LogicalPlan) -> Result<LogicalPlan> {
    everywhere(plan, &mut |node| {
        if matches!(node, LogicalPlan::TableScan(_)) {
            return Ok(Transformed::no(node));
        }
        let schema = merge_schema(&node.inputs());
        if !has_such(&node, &schema)? {
            return Ok(Transformed::no(node));
        }
        if let LogicalPlan::Filter(mut filter) = node {
            let is_over_parts = is_over_parts(&filter.input)?;
            filter.predicate = filtered(filter.predicate, &schema, is_over_parts)?;
            return Ok(Transformed::yes(LogicalPlan::Filter(filter)));
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

/// True if a filter over this goes into a scan, which asks conditions that may fail last by itself.
fn is_over_parts(plan: &LogicalPlan) -> Result<bool> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => is_over_parts(&alias.input),
        LogicalPlan::TableScan(scan) => {
            Ok(source_as_provider(&scan.source)?.as_ref().is::<TambourTable>())
        }
        _ => Ok(false),
    }
}

fn has_such(node: &LogicalPlan, schema: &DFSchema) -> Result<bool> {
    let mut found = false;
    let is_logic = &mut |expr: &Expr| matches!(expr, Expr::BinaryExpr(it) if is_logic(it.op));
    node.apply_expressions(|expr| {
        found |= holds(expr, is_logic) && may_fail(expr, schema);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn is_logic(op: Operator) -> bool {
    matches!(op, Operator::And | Operator::Or)
}

/// A condition of which only true counts. The engine has put its parts in an order of its own: those that may fail come last, and
/// each is asked where the ones before it are true.
fn filtered(predicate: Expr, schema: &DFSchema, is_over_parts: bool) -> Result<Expr> {
    let parts = split_conjunction_owned(predicate).into_iter();
    let parts = parts.map(|part| Ok(part.up(&mut |expr| lazy(expr, schema))?.data));
    let parts = parts.collect::<Result<Vec<Expr>>>()?;
    let (risky, safe): (Vec<Expr>, Vec<Expr>) =
        parts.into_iter().partition(|part| !is_over_parts && may_fail(part, schema));
    let all = safe.into_iter().reduce(Expr::and);
    let asked = risky.into_iter().fold(all, |before, part| {
        Some(match before {
            Some(before) => case(None, vec![(before, part)], lit(false)),
            None => part,
        })
    });
    Ok(asked.unwrap_or_else(|| lit(true)))
}

/// `a AND b` as CASE a WHEN false THEN false WHEN true THEN b ELSE b AND NULL END; OR likewise. Each side stands for different rows
/// in each of its places.
fn lazy(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
        return Ok(Transformed::no(expr));
    };
    let is_open = is_logic(op) && may_fail(&right, schema);
    let is_nullable = is_open && left.nullable(schema)?;
    // A side stands in two places where the other may be NULL: what has such logic inside would grow at each level.
    if !is_open || (is_nullable && has_case(&right)) {
        return Ok(Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })));
    }
    let changed = match op {
        _ if is_nullable => {
            let (decided, open) = (lit(op == Operator::Or), lit(op == Operator::And));
            let null = Box::new(Expr::Literal(ScalarValue::Boolean(None), None));
            let unknown = Expr::BinaryExpr(BinaryExpr { left: right.clone(), op, right: null });
            case(Some(left), vec![(decided.clone(), decided), (open, *right)], unknown)
        }
        Operator::And => case(None, vec![(*left, *right)], lit(false)),
        _ => case(None, vec![(*left, lit(true))], *right),
    };
    Ok(Transformed::yes(changed))
}

fn case(of: Option<Box<Expr>>, when: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    let when = when.into_iter().map(|(when, then)| (Box::new(when), Box::new(then))).collect();
    Expr::Case(Case::new(of, when, Some(Box::new(otherwise))))
}

fn has_case(expr: &Expr) -> bool {
    holds(expr, &mut |expr| matches!(expr, Expr::Case(_)))
}

/// Whether there are rows for which an expression is an error.
fn may_fail(expr: &Expr, schema: &DFSchema) -> bool {
    holds(expr, &mut |expr| match expr {
        Expr::BinaryExpr(it) => {
            let is_division =
                matches!(it.op, Operator::Divide | Operator::Modulo | Operator::IntegerDivide);
            let is_number = |literal: &ScalarValue| {
                !literal.is_null()
                    && ScalarValue::new_zero(&literal.data_type())
                        .is_ok_and(|zero| zero != *literal)
            };
            is_division && !matches!(it.right.as_ref(), Expr::Literal(by, _) if is_number(by))
        }
        Expr::Cast(it) => is_text_of(&it.expr, schema) && !is_text(it.field.data_type()),
        Expr::ScalarFunction(it) => {
            is_partial(it.name(), it.args.first().is_some_and(|first| is_text_of(first, schema)))
        }
        _ => false,
    })
}

/// Whether one of the parts of an expression is such.
fn holds(expr: &Expr, is_such: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = false;
    // The closure never fails.
    let _ = expr.look(&mut |expr| {
        found |= is_such(expr);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// Whether an expression is a text; if its type is not known here, it may be one.
fn is_text_of(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).map_or(true, |data_type| is_text(&data_type))
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, items) => is_text(items),
        other => other.is_string() || other.is_binary(),
    }
}

/// Whether a function has no answer for some values, of which the first is a text or not.
fn is_partial(name: &str, is_of_text: bool) -> bool {
    let name = name.to_ascii_lowercase();
    if ["orzero", "ornull", "ordefault"].iter().any(|end| name.ends_with(end)) {
        return false;
    }
    // Numbers and times in texts.
    let reading = ["to", "add", "subtract", "date", "parse", "ipv", "uuid", "base", "reinterpret"];
    let others = ["range", "repeat", "gcd", "lcm", "throwif", "bitshift", "bitrotate"];
    let begins = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    let is_division = ["div", "mod"].iter().any(|part| name.contains(part));
    is_division
        || begins(&others)
        || (is_of_text && name != "tostring" && (begins(&reading) || name.contains("cast")))
}
