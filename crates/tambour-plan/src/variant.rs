//! Choices between values that have no common type in ClickHouse, which makes a Variant of them: a UInt64 beside a negative
//! number, an integer of 64 bits beside a float, a number beside a text. Here they have the engine's common type. So they are
//! shown, as each value is shown there; what computes with them is refused, since there each value keeps its own type.

use super::integer::{Integer, common, of_choice};
use super::literal::{bare_type, field_of, narrowest};
use super::typed::Typed;
use crate::walk::Walk;
use arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, ExprSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan};
use std::collections::BTreeSet;
use tambour_part::types::{DataType, TYPE_KEY};

/// How the name of the type begins.
const NAME: &str = "Variant(";

/// The name of the type that some choices make together; `None` if there is a common one, or if it is not known.
pub(super) fn of_choices<'a>(
    choices: impl Iterator<Item = &'a Expr>,
    schema: &DFSchema,
) -> Result<Option<String>> {
    let mut names = BTreeSet::new();
    let mut integers: Vec<Integer> = Vec::new();
    let (mut has_float, mut has_text, mut has_long) = (false, false, false);
    let (mut has_decimal, mut has_other) = (false, false);
    for choice in choices {
        let field = field_of(choice, schema)?;
        if field.data_type().is_null() {
            continue;
        }
        if is_such(choice, schema)? {
            return refused();
        }
        let byte = Field::new("", ArrowType::UInt8, true);
        let number = if *field.data_type() == ArrowType::Boolean { &byte } else { &*field };
        match (of_choice(choice, number), bare_type(&field)) {
            // A number of up to 63 bits goes with signed ones and with others.
            (Some(integer), _) if is_literal(choice) && integer.is_long() => has_long = true,
            (Some(integer), _) => integers.push(integer),
            (None, Some(DataType::Float32 | DataType::Float64)) => has_float = true,
            (None, Some(DataType::String)) => has_text = true,
            (None, Some(DataType::Decimal { .. })) => has_decimal = true,
            _ => has_other = true,
        }
        names.insert(match (choice, bare_type(&field)) {
            (Expr::Literal(ScalarValue::Int64(Some(number)), None), _) => narrowest(*number),
            (_, Some(data_type)) => data_type.to_string(),
            (_, None) => return Ok(None),
        });
    }
    if has_decimal && (has_float || has_text) {
        return plan_err!(
            "a Decimal has no common type with floats and texts: convert one of them, for example by toFloat64 or toString"
        );
    }
    let has_number = has_float || has_long || !integers.is_empty();
    let are_apart = !integers.is_empty() && common(&integers).is_none();
    let is_inexact = has_float && (has_long || integers.iter().any(|it| !it.is_exact()));
    let is_variant =
        !has_other && !has_decimal && (are_apart || is_inexact || has_text && has_number);
    let names: Vec<String> = names.into_iter().collect();
    Ok(is_variant.then(|| format!("{NAME}{})", names.join(", "))))
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(ScalarValue::Int64(Some(_)), None))
}

/// A choice with that type.
pub(super) fn named(choice: Expr, name: String) -> Expr {
    Typed::of_name(choice, name)
}

/// The same of values whose types are known.
pub(super) fn of_types(value: Expr, types: &[DataType]) -> Expr {
    let names: BTreeSet<String> = types.iter().map(ToString::to_string).collect();
    let names: Vec<String> = names.into_iter().collect();
    named(value, format!("{NAME}{})", names.join(", ")))
}

/// True for the name of such a type, or of one with such inside.
pub(super) fn is_name(name: &str) -> bool {
    name.contains(NAME)
}

/// True for a field of such a type.
pub fn is_variant(field: &Field) -> bool {
    field.metadata().get(TYPE_KEY).is_some_and(|name| is_name(name))
}

/// Refuses a node that does more with them than show them.
pub(super) fn check(plan: &LogicalPlan) -> Result<()> {
    let schema = merge_schema(&plan.inputs());
    let has_some = schema.fields().iter().any(|field| is_variant(field));
    let passes = match plan {
        LogicalPlan::Projection(_) => true,
        LogicalPlan::Distinct(Distinct::All(_))
        | LogicalPlan::Union(_)
        | LogicalPlan::Unnest(_)
        | LogicalPlan::RecursiveQuery(_)
        | LogicalPlan::Dml(_)
        | LogicalPlan::Ddl(_)
            if has_some =>
        {
            return refused();
        }
        _ => false,
    };
    for expr in plan.expressions() {
        if !passes && is_such(&expr, &schema)? {
            return refused();
        }
        expr.look(&mut |inner| {
            for child in inner.children() {
                if !is_shown_by(inner) && is_such(child, &schema)? {
                    return refused();
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(())
}

/// True for what hands a value on, or looks at nothing but whether it is NULL.
fn is_shown_by(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(_) | Expr::IsNull(_) | Expr::IsNotNull(_) => true,
        Expr::ScalarFunction(call) => call.name() == "toTypeName",
        Expr::AggregateFunction(call) => call.func.name() == "count" && !call.params.distinct,
        _ => false,
    }
}

fn is_such(expr: &Expr, schema: &DFSchema) -> Result<bool> {
    Ok(match expr {
        Expr::Alias(alias) => is_such(&alias.expr, schema)?,
        Expr::Column(column) => {
            schema.field_from_column(column).is_ok_and(|field| is_variant(field))
        }
        Expr::ScalarFunction(call) => {
            call.func.inner().downcast_ref::<Typed>().is_some_and(|it| is_name(it.data_type()))
        }
        Expr::ScalarSubquery(query) => {
            query.subquery.schema().fields().iter().any(|field| is_variant(field))
        }
        Expr::InSubquery(set) => {
            set.subquery.subquery.schema().fields().iter().any(|field| is_variant(field))
        }
        _ => false,
    })
}

fn refused<T>() -> Result<T> {
    plan_err!(
        "values of types that have no common one in ClickHouse are shown, and nothing is computed with them: convert them to one type, for example by toInt64, toFloat64 or toString"
    )
}
