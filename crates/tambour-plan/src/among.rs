//! `x IN (a, b, 3)` with columns in the list. The engine finds it unknown whether x is in a list with a NULL; ClickHouse looks
//! only at the others. It takes what is listed for values of x's type, so those of another kind are refused.

use super::comparison;
use super::integer::integer;
use super::literal::{bare_type, field_of, text};
use arrow::datatypes::Field;
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator, expr_fn, lit, when};
use tambour_part::types::{DataType, Strings};

/// The list as equalities.
pub(super) fn of_columns(list: InList, schema: &DFSchema) -> Result<Expr> {
    let InList { expr, list, negated } = list;
    if expr.is_volatile() {
        return plan_err!("IN does not take this random x: give it a name in a subquery");
    }
    let mut found = lit(false);
    for item in &list {
        if matches!(item, Expr::Literal(value, _) if value.is_null()) {
            continue;
        }
        check(&expr, item, schema)?;
        let plain = BinaryExpr::new(expr.clone(), Operator::Eq, Box::new(item.clone()));
        let equal = comparison::plan(&expr, Operator::Eq, item, schema)?;
        let equal = equal.unwrap_or(Expr::BinaryExpr(plain));
        let equal = if item.nullable(schema)? { expr_fn::is_true(equal) } else { equal };
        found = if found == lit(false) { equal } else { found.or(equal) };
    }
    let found = if negated { Expr::Not(Box::new(found)) } else { found };
    if !expr.nullable(schema)? {
        return Ok(found);
    }
    when(expr.is_null(), lit(ScalarValue::Boolean(None))).otherwise(found)
}

/// Refuses tuples with columns whose parts ClickHouse would convert, or which may be NULL.
pub(super) fn check_tuple(tuple: &Expr, elements: &[DataType], schema: &DFSchema) -> Result<()> {
    let Expr::ScalarFunction(call) = tuple else { return Ok(()) };
    for (part, wanted) in call.args.iter().zip(elements) {
        let field = field_of(part, schema)?;
        let is_integer = integer(&field).is_some();
        let wanted_integer = integer(&Field::new("", wanted.arrow(Strings::Utf8), false)).is_some();
        let listed = bare_type(&field);
        let fits = is_integer && wanted_integer || listed.as_ref() == Some(wanted);
        if !fits || field.is_nullable() {
            return plan_err!(
                "IN does not take tuples with columns where a part is not a {wanted} or may be NULL: write the comparisons with = and OR"
            );
        }
    }
    Ok(())
}

/// Refuses an item that ClickHouse would convert.
fn check(expr: &Expr, item: &Expr, schema: &DFSchema) -> Result<()> {
    let fields = [field_of(expr, schema)?, field_of(item, schema)?];
    if fields.iter().all(|field| integer(field).is_some()) {
        return Ok(());
    }
    let [Some(wanted), Some(listed)] = [bare_type(&fields[0]), bare_type(&fields[1])] else {
        return Ok(());
    };
    let is_literal = matches!(item, Expr::Literal(..));
    let is_text = matches!(item, Expr::Literal(value, _) if text(value).is_some());
    let is_float = matches!(wanted, DataType::Float32 | DataType::Float64);
    let is_instant = |it: &DataType| matches!(it, DataType::DateTime { .. });
    let is_same = wanted == listed || is_instant(&wanted) && is_instant(&listed);
    let is_enum = matches!(wanted, DataType::Enum8(_) | DataType::Enum16(_));
    let is_text = is_text && !is_enum;
    let fits = is_same || is_text || is_literal && is_float && listed != DataType::String;
    if fits {
        return Ok(());
    }
    plan_err!(
        "IN does not take {listed} in a list with columns where {wanted} is looked for: convert it"
    )
}
