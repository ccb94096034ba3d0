//! `isConstant(x)` of what has columns in it. The engine computes some expressions over a single row as if they were constants,
//! so that is known before.

use crate::walk::Walk;
use datafusion::common::plan_err;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, lit};

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
            if !is_question(&expr) {
                return Ok(Transformed::no(expr));
            }
            let is_one = is_constant(&expr, &input);
            if is_one == Some(false) && !expr.is_volatile() {
                check(&expr, &input)?;
            }
            Ok(match is_one {
                Some(is_one) => Transformed::yes(lit(u8::from(is_one))),
                None => Transformed::no(expr),
            })
        })?;
        Ok(answered.update_data(|expr| name.restore(expr)))
    })
}

fn is_question(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if call.name() == NAME)
}

/// Whether an expression over the rows of a plan is a constant; `None` if that is not known here.
fn is_constant(expr: &Expr, plan: &LogicalPlan) -> Option<bool> {
    let mut is_varied = expr.is_volatile();
    let looked = expr.look(&mut |inner| {
        is_varied |= matches!(inner, Expr::ScalarFunction(it) if it.name() == "materialize");
        Ok(TreeNodeRecursion::Continue)
    });
    if looked.is_err() || is_varied {
        return Some(false);
    }
    let columns = expr.column_refs();
    if columns.is_empty() {
        return None;
    }
    if is_of_nothing(expr, plan) {
        return Some(true);
    }
    let known = columns.iter().map(|it| is_constant_column(&it.name, plan));
    known.collect::<Option<Vec<bool>>>().map(|all| all.into_iter().all(|it| it))
}

/// True for what is computed of nothing but NULLs without a type, whatever the rows are, and of constants.
fn is_of_nothing(expr: &Expr, plan: &LogicalPlan) -> bool {
    let is_null = |it: &Expr| it.get_type(plan.schema()).is_ok_and(|it| it.is_null());
    let inner = expr.children();
    match expr {
        Expr::Alias(alias) => is_of_nothing(&alias.expr, plan),
        Expr::ScalarFunction(call) if call.name() == NAME => {
            inner.iter().any(|it| is_of_nothing(it, plan))
        }
        Expr::Column(_) | Expr::Literal(..) => false,
        _ => inner
            .iter()
            .all(|it| matches!(it, Expr::Literal(..)) || is_null(it) || is_of_nothing(it, plan)),
    }
}

/// Refuses what ClickHouse finds to be a constant, or not, by ways of its own: choices, logic that is decided by one side, and
/// what depends on a type alone.
fn check(expr: &Expr, plan: &LogicalPlan) -> Result<()> {
    use Operator::{And, Or};
    let is_plain = |it: &Expr| !it.any_column_refs();
    let mut found = None;
    expr.look(&mut |inner| {
        let is_own = match inner {
            Expr::Case(case) => {
                let results = case.when_then_expr.iter().map(|(_, then)| then);
                let is_decided = case.when_then_expr.iter().any(|(when, _)| is_plain(when))
                    || results.chain(&case.else_expr).all(|it| is_plain(it));
                is_decided.then_some("a choice")
            }
            Expr::BinaryExpr(it) if matches!(it.op, And | Or) => {
                (is_plain(&it.left) || is_plain(&it.right)).then_some("AND and OR")
            }
            Expr::IsNull(inner) | Expr::IsNotNull(inner) => {
                (!inner.nullable(plan.schema())?).then_some("IS NULL")
            }
            Expr::ScalarFunction(call) => match call.name() {
                "coalesce" | "nvl" | "nullif" => {
                    call.args.first().is_some_and(is_plain).then_some("a choice")
                }
                "toTypeName" | "isNullable" | "isNull" | "isNotNull" => Some("what a type says"),
                _ => None,
            },
            _ => None,
        };
        found = found.or(is_own.filter(|_| inner.any_column_refs()));
        Ok(TreeNodeRecursion::Continue)
    })?;
    match found {
        Some(what) => plan_err!("{NAME} of {what} with columns is not known here"),
        None => Ok(()),
    }
}

/// The same of a column.
fn is_constant_column(name: &str, plan: &LogicalPlan) -> Option<bool> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => is_constant_column(name, &alias.input),
        LogicalPlan::Filter(filter) => is_constant_column(name, &filter.input),
        LogicalPlan::Sort(sort) => is_constant_column(name, &sort.input),
        LogicalPlan::Limit(limit) => is_constant_column(name, &limit.input),
        LogicalPlan::TableScan(_) => Some(false),
        LogicalPlan::Projection(shown) => {
            let fields = shown.schema.fields().iter().zip(&shown.expr);
            let mut named = fields.filter(|(field, _)| field.name() == name).map(|(_, expr)| expr);
            let expr = named.next()?;
            let is_plain = !expr.any_column_refs() && !expr.is_volatile();
            is_constant(expr, &shown.input).or(is_plain.then_some(true))
        }
        _ => None,
    }
}
