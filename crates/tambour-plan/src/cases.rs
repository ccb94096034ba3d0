//! CASE: its results have one type, and what it looks for is found by ClickHouse's rules of equality.

use super::literal::{bare_type, field_of, nameless};
use super::typed::{Typed, check_kept, kept_wide, of_case};
use super::{alike, comparison, typed, variant};
use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Case, Expr, Operator};
use tambour_part::types::DataType;

/// The results of a CASE are of one type.
pub(super) fn chosen(case: Case, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let had_operand = case.expr.is_some();
    let mut case = without_operand(case, schema)?;
    let results = case.when_then_expr.iter().map(|(_, then)| &**then);
    let variant = variant::of_choices(results.chain(case.else_expr.as_deref()), schema)?;
    let is_changed = alike::made_of_case(&mut case, schema)? || had_operand && case.expr.is_none();
    if let Some(name) = variant {
        return Ok(Transformed::yes(variant::named(Expr::Case(case), name)));
    }
    let data_type = of_case(&case, schema);
    let results = case.when_then_expr.iter().map(|(_, then)| &**then);
    check_kept(data_type.as_ref(), results.chain(case.else_expr.as_deref()), schema)?;
    let typed = match nullable(&case, data_type.as_ref(), schema)? {
        Some(data_type) => Transformed::yes(Typed::call(Expr::Case(case), &data_type)),
        None => super::keep::typed(Expr::Case(case), data_type),
    };
    let typed = typed.transform_data(|expr| kept_wide(expr, schema))?;
    Ok(if is_changed { Transformed::yes(typed.data) } else { typed })
}

/// The type of a choice of a value that may be NULL, of which the engine finds out that it is not where it is chosen, as `x` is
/// where `x > 1`; `None` if the engine does not.
fn nullable(
    case: &Case,
    data_type: Option<&DataType>,
    schema: &DFSchema,
) -> Result<Option<DataType>> {
    let Some(data_type) = data_type else { return Ok(None) };
    if case.else_expr.is_none() || nameless(&Expr::Case(case.clone()), schema)?.is_nullable() {
        return Ok(None);
    }
    let results = case.when_then_expr.iter().map(|(_, then)| &**then);
    let may_be_null = typed::may_be_null(results.chain(case.else_expr.as_deref()), schema)?;
    Ok(may_be_null.then(|| data_type.clone().made_nullable()))
}

/// `CASE x WHEN y` with conditions where the engine compares by rules of its own, or does not know the type: a NULL meets a
/// NULL, a NaN meets nothing. Else it stays, and x is computed once.
fn without_operand(mut case: Case, schema: &DFSchema) -> Result<Case> {
    let Some(operand) = case.expr.take() else { return Ok(case) };
    let field = field_of(&operand, schema)?;
    if let Some(fixed @ DataType::FixedString(_)) = bare_type(&field) {
        return plan_err!("CASE x WHEN does not take {fixed}: write CASE WHEN x = ...");
    }
    // A table of constants is looked up by the bits of floats there.
    let is_table = field.data_type().is_floating() && is_of_constants(&case);
    let mut is_engines = is_plain(field.data_type());
    let mut conditions = Vec::with_capacity(case.when_then_expr.len());
    for (value, _) in &case.when_then_expr {
        let equal = BinaryExpr::new(operand.clone(), Operator::Eq, value.clone());
        let planned = match comparison::of_rows(&equal, schema)? {
            _ if is_table && is_zero(value) => one_of_zeros(&operand, value),
            None => comparison::plan(&operand, Operator::Eq, value, schema)?,
            planned => planned,
        };
        let may_be_null =
            nameless(&operand, schema)?.is_nullable() && nameless(value, schema)?.is_nullable();
        is_engines &= planned.is_none() && !may_be_null;
        let equal = planned.unwrap_or(Expr::BinaryExpr(equal));
        let both = || operand.as_ref().clone().is_null().and(value.as_ref().clone().is_null());
        conditions.push(if may_be_null { both().or(equal) } else { equal });
    }
    if is_engines {
        case.expr = Some(operand);
        return Ok(case);
    }
    if operand.is_volatile() {
        return plan_err!("CASE x WHEN does not take this random x: give it a name in a subquery");
    }
    for ((value, _), condition) in case.when_then_expr.iter_mut().zip(conditions) {
        **value = condition;
    }
    Ok(case)
}

/// True if all that is looked for is a number that is written out, and all that comes of it are constants.
fn is_of_constants(case: &Case) -> bool {
    let is_constant = |it: &Expr| matches!(it, Expr::Literal(..));
    let is_number =
        |it: &Expr| matches!(it, Expr::Literal(value, _) if value.data_type().is_numeric());
    case.when_then_expr.iter().all(|(when, then)| is_number(when) && is_constant(then))
}

/// True for 0, 0. and -0., of which the last is another value to choose by.
fn is_zero(value: &Expr) -> bool {
    let Expr::Literal(value, _) = value else { return false };
    matches!(value.cast_to(&ArrowType::Float64), Ok(ScalarValue::Float64(Some(0.0))))
}

fn one_of_zeros(operand: &Expr, zero: &Expr) -> Option<Expr> {
    let mut list = InList::new(Box::new(operand.clone()), vec![zero.clone()], false);
    super::zeros::in_list(&mut list).then(|| Expr::InList(list))
}

/// True for types whose equality is the engine's.
fn is_plain(data_type: &ArrowType) -> bool {
    use ArrowType::{Boolean, Utf8, Utf8View};
    data_type.is_primitive() && !data_type.is_floating()
        || matches!(data_type, Boolean | Utf8 | Utf8View)
}
