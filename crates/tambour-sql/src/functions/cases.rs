//! CASE: its results have one type, and what it looks for is found by ClickHouse's rules of equality.

use super::literal::{bare_type, field_of};
use super::typed::{check_kept, of_case};
use super::{alike, comparison};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{BinaryExpr, Case, Expr, ExprSchemable, Operator};
use tambour_part::types::DataType;

/// The results of a CASE are of one type.
pub(super) fn chosen(case: Case, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_changed = case.expr.is_some();
    let mut case = without_operand(case, schema)?;
    let is_changed = alike::made_of_case(&mut case, schema)? || is_changed;
    let data_type = of_case(&case, schema);
    let results = case.when_then_expr.iter().map(|(_, then)| &**then);
    check_kept(data_type.as_ref(), results.chain(case.else_expr.as_deref()), schema)?;
    let typed = super::keep::typed(Expr::Case(case), data_type);
    Ok(if is_changed { Transformed::yes(typed.data) } else { typed })
}

/// `CASE x WHEN y` with conditions, which the engine compares by rules of its own, and does not know for all types: a NULL
/// meets a NULL, a NaN meets nothing.
fn without_operand(mut case: Case, schema: &DFSchema) -> Result<Case> {
    let Some(operand) = case.expr.take() else { return Ok(case) };
    if let Some(fixed @ DataType::FixedString(_)) = bare_type(&*field_of(&operand, schema)?) {
        return plan_err!("CASE x WHEN does not take {fixed}: write CASE WHEN x = ...");
    }
    for (value, _) in &mut case.when_then_expr {
        let equal = BinaryExpr::new(operand.clone(), Operator::Eq, value.clone());
        let planned = match comparison::of_rows(&equal, schema)? {
            None => comparison::plan(&operand, Operator::Eq, value, schema)?,
            planned => planned,
        };
        let equal = planned.unwrap_or(Expr::BinaryExpr(equal));
        let may_be_null = operand.nullable(schema)? && value.nullable(schema)?;
        let both = || operand.as_ref().clone().is_null().and(value.as_ref().clone().is_null());
        **value = if may_be_null { both().or(equal) } else { equal };
    }
    Ok(case)
}
