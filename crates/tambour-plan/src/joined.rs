//! Joins that take one row of many: ANY, ASOF and PASTE. [`tambour_dialect`] leaves a mark in the condition of such a join; here the
//! join becomes one that the engine has.
//!
//! ANY: one row of each key is left of the side that must not repeat. ASOF: rows of the left side are numbered, joined with all
//! candidates, and the nearest candidate of each is kept.

use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{
    Column, DFSchema, JoinType, NullEquality, ScalarValue, exec_err, plan_err,
};
use datafusion::error::Result;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::utils::{split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder,
    Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, SortExpr, Volatility, lit,
};
use std::collections::HashSet;
use tambour_dialect::marks::Strictness;

/// The marks as functions, which are never called.
pub(super) fn marks() -> impl Iterator<Item = ScalarUDF> {
    Strictness::ALL.into_iter().map(|strictness| {
        let signature = Signature::nullary(Volatility::Immutable);
        ScalarUDF::new_from_impl(Mark { strictness, signature })
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Mark {
    strictness: Strictness,
    signature: Signature,
}

impl ScalarUDFImpl for Mark {
    fn name(&self) -> &'static str {
        self.strictness.mark()
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(ArrowType::Boolean)
    }
    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        exec_err!("{} is for the condition of a join only", self.strictness.words())
    }
}

/// Replaces the joins with marks in a plan.
pub(super) fn one_of_many(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(join) = plan else { return Ok(Transformed::no(plan)) };
    if is_of_rows(&join) {
        return counted(&join).map(Transformed::yes);
    }
    let Some(filter) = &join.filter else { return Ok(Transformed::no(LogicalPlan::Join(join))) };
    let mut strictness = None;
    let mut conditions = Vec::new();
    for condition in split_conjunction_owned(filter.clone()) {
        match &condition {
            Expr::ScalarFunction(call) if let Some(mark) = Strictness::of_mark(call.name()) => {
                strictness = Some(mark);
            }
            _ => conditions.push(condition),
        }
    }
    Ok(match strictness {
        None => Transformed::no(LogicalPlan::Join(join)),
        Some(Strictness::Any) => Transformed::yes(any(&join, conditions)?),
        Some(Strictness::Asof) => Transformed::yes(asof(&join, conditions)?),
        Some(Strictness::Paste) => Transformed::yes(crate::paste::side_by_side(&join)?),
    })
}

/// The number of a row among those that are equal to it.
const COPY: &str = "\u{1f}copy";

/// True for INTERSECT and EXCEPT, which are joins by all columns to the engine; in no other join NULLs are equal yet.
fn is_of_rows(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && !join.left.schema().has_column_with_unqualified_name(COPY)
}

/// INTERSECT ALL and EXCEPT ALL count equal rows: two of three are left without one of them. So the second of equal rows meets
/// the second only.
fn counted(join: &Join) -> Result<LogicalPlan> {
    let wanted = columns(&join.left);
    let side = |plan: &LogicalPlan| {
        let copy = row_number().partition_by(columns(plan)).build()?;
        LogicalPlanBuilder::from(plan.clone()).window([copy.alias(COPY)])?.build()
    };
    let mut keys = (Vec::new(), Vec::new());
    for (left, right) in &join.on {
        let (Expr::Column(left), Expr::Column(right)) = (left, right) else {
            return plan_err!("INTERSECT and EXCEPT take plain columns");
        };
        keys.0.push(left.clone());
        keys.1.push(right.clone());
    }
    keys.0.push(Column::new_unqualified(COPY));
    keys.1.push(Column::new_unqualified(COPY));
    LogicalPlanBuilder::from(side(&join.left)?)
        .join_detailed(side(&join.right)?, join.join_type, keys, None, join.null_equality)?
        .project(wanted)?
        .build()
}

/// True for a join with a mark that says which rows it takes.
pub(super) fn is_strict(join: &Join) -> bool {
    let is_mark = |it: &Expr| matches!(it, Expr::ScalarFunction(call) if Strictness::of_mark(call.name()).is_some());
    join.filter.as_ref().is_some_and(|filter| split_conjunction(filter).into_iter().any(is_mark))
}

/// The sides of a comparison, the left table's first.
pub(super) fn sides(condition: &Expr, join: &Join) -> Option<(Expr, Operator, Expr)> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else { return None };
    let is_of = |expr: &Expr, schema: &DFSchema| {
        let columns: HashSet<&Column> = expr.column_refs();
        !columns.is_empty() && columns.into_iter().all(|column| schema.has_column(column))
    };
    let (first, second) = (join.left.schema(), join.right.schema());
    if is_of(left, first) && is_of(right, second) {
        return Some(((**left).clone(), *op, (**right).clone()));
    }
    let swapped = is_of(right, first) && is_of(left, second);
    swapped.then(|| Some(((**right).clone(), op.swap()?, (**left).clone()))).flatten()
}

fn columns(plan: &LogicalPlan) -> Vec<Expr> {
    plan.schema().columns().into_iter().map(Expr::Column).collect()
}

/// A row of each key.
fn first_of_each(plan: &LogicalPlan, keys: Vec<Expr>) -> Result<LogicalPlan> {
    LogicalPlanBuilder::from(plan.clone()).distinct_on(keys, columns(plan), None)?.build()
}

fn any(join: &Join, conditions: Vec<Expr>) -> Result<LogicalPlan> {
    let (mut left_keys, mut right_keys) = (Vec::new(), Vec::new());
    for condition in &conditions {
        match sides(condition, join) {
            Some((left, Operator::Eq, right)) => {
                // A key that is there twice is one.
                if !left_keys.contains(&left) {
                    left_keys.push(left);
                }
                if !right_keys.contains(&right) {
                    right_keys.push(right);
                }
            }
            _ => {
                return plan_err!(
                    "the condition of ANY JOIN must be equalities of the two tables' columns; \
                     {condition} is not one: move it to WHERE or to a subquery"
                );
            }
        }
    }
    let (left, right) = match join.join_type {
        JoinType::Inner => {
            (first_of_each(&join.left, left_keys)?, first_of_each(&join.right, right_keys)?)
        }
        JoinType::Left => ((*join.left).clone(), first_of_each(&join.right, right_keys)?),
        JoinType::Right => (first_of_each(&join.left, left_keys)?, (*join.right).clone()),
        JoinType::Full => {
            return plan_err!(
                "ANY FULL JOIN is not supported: join LEFT and RIGHT, and unite them"
            );
        }
        _ => ((*join.left).clone(), (*join.right).clone()),
    };
    LogicalPlanBuilder::from(left).join_on(right, join.join_type, conditions)?.build()
}

/// Names of the numbers that ASOF works with.
const ROW: &str = "\u{1f}asof row";
const NEAREST: &str = "\u{1f}asof nearest";

fn asof(join: &Join, conditions: Vec<Expr>) -> Result<LogicalPlan> {
    if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
        return plan_err!("ASOF JOIN is INNER or LEFT; exchange the tables");
    }
    let mut order = None;
    for condition in &conditions {
        match sides(condition, join) {
            Some((_, Operator::Eq, _)) => {}
            Some((_, Operator::GtEq | Operator::Gt, right)) if order.is_none() => {
                order = Some(SortExpr::new(right, false, false));
            }
            Some((_, Operator::LtEq | Operator::Lt, right)) if order.is_none() => {
                order = Some(SortExpr::new(right, true, false));
            }
            _ => {
                return plan_err!(
                    "the condition of ASOF JOIN must be equalities and one inequality of the two \
                     tables' columns; {condition} is not one of these"
                );
            }
        }
    }
    let Some(order) = order else {
        return plan_err!("ASOF JOIN needs an inequality of the two tables' columns: a.t >= b.t");
    };
    let wanted: Vec<Expr> = columns(&join.left).into_iter().chain(columns(&join.right)).collect();
    let numbered = LogicalPlanBuilder::from((*join.left).clone())
        .window([row_number().alias(ROW)])?
        .build()?;
    let candidates = LogicalPlanBuilder::from(numbered)
        .join_on((*join.right).clone(), join.join_type, conditions)?
        .build()?;
    let nearest = row_number()
        .partition_by(vec![Expr::Column(Column::new_unqualified(ROW))])
        .order_by(vec![order])
        .build()?;
    LogicalPlanBuilder::from(candidates)
        .window([nearest.alias(NEAREST)])?
        .filter(
            Expr::Column(Column::new_unqualified(NEAREST)).eq(lit(ScalarValue::UInt64(Some(1)))),
        )?
        .project(wanted)?
        .build()
}
