//! Types that would be lost or differ though the values are right: those of the items that an Unnest makes rows of, and those
//! of decimals that `toTypeName` is asked about.

use super::literal::{bare_type, field_of, nameless};
use super::scalar;
use super::typed::{self, Typed, needs_name};
use super::variant;
use arrow::datatypes::DataType as ArrowType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ScalarValue, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, Projection, cast, lit,
};
use std::sync::Arc;
use tambour_part::types::{DataType, TYPE_KEY};

/// A projection above an Unnest that gives its items the types that their arrays say. The engine takes every item for one that
/// may be NULL.
pub(super) fn unnested(plan: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Unnest(unnest) = &plan else { return Ok(plan) };
    let input = unnest.input.schema();
    let item_of = |index: usize| {
        let source = *unnest.dependency_indices.get(index)?;
        let is_list = unnest.list_type_columns.iter().any(|(list, _)| *list == source);
        let field = input.fields().get(source).filter(|_| is_list)?;
        match DataType::from_field(field).ok()? {
            DataType::Array(item) => Some(*item),
            _ => None,
        }
    };
    let types: Vec<Option<DataType>> = (0..plan.schema().fields().len()).map(item_of).collect();
    if types.iter().all(Option::is_none) {
        return Ok(plan);
    }
    let schema = Arc::clone(plan.schema());
    let columns = schema.iter().zip(types).map(|((qualifier, field), data_type)| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let Some(data_type) = data_type else { return column };
        let is_present = field.is_nullable() && !holds_null(&data_type);
        let item = column.clone();
        let item = if needs_name(&data_type) { Typed::call(item, &data_type) } else { item };
        // A Boolean without a name would be a number.
        let present =
            is_present.then(|| scalar::call("assumeNotNull", vec![item.clone()])).flatten();
        let item = present.unwrap_or(item);
        if item == column {
            return column;
        }
        item.alias_qualified(qualifier.cloned(), field.name())
    });
    Ok(LogicalPlan::Projection(Projection::try_new(columns.collect(), Arc::new(plan))?))
}

fn holds_null(data_type: &DataType) -> bool {
    match data_type {
        DataType::LowCardinality(inner) => holds_null(inner),
        other => matches!(other, DataType::Nullable(_)),
    }
}

/// `toTypeName`. The type of a choice is said before the engine finds out that one of them is always taken, or never NULL.
pub(super) fn type_name(mut call: ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let Some(shown) = call.args.first() else {
        return Ok(Transformed::no(Expr::ScalarFunction(call)));
    };
    if let Expr::ScalarFunction(inner) = shown
        && let Some(named) = inner.func.inner().downcast_ref::<Typed>()
        && variant::is_name(named.data_type())
    {
        return Ok(Transformed::yes(lit(named.data_type())));
    }
    if let Expr::Column(_) = shown
        && let Some(name) = nameless(shown, schema)?.metadata().get(TYPE_KEY)
        && variant::is_name(name)
    {
        return Ok(Transformed::yes(lit(name.clone())));
    }
    let computed = match shown {
        Expr::Cast(cast) => &cast.expr,
        other => other,
    };
    if let Expr::BinaryExpr(binary) = computed
        && (binary.op.is_numerical_operators() || binary.op.supports_propagation())
        && (is_null(&binary.left) || is_null(&binary.right))
    {
        return Ok(Transformed::yes(lit("Nullable(Nothing)")));
    }
    if let Some((data_type, may_be_null)) = of_choice(shown, schema)? {
        let data_type = if may_be_null { data_type.made_nullable() } else { data_type };
        let name = lit(ScalarValue::Utf8View(Some(data_type.to_string())));
        return Ok(Transformed::yes(name));
    }
    if let Some(name) = of_query(shown, schema)? {
        return Ok(Transformed::yes(lit(ScalarValue::Utf8View(Some(name)))));
    }
    let Some(named) = decimal_result(shown, schema)? else {
        return Ok(Transformed::no(Expr::ScalarFunction(call)));
    };
    call.args = vec![named];
    Ok(Transformed::yes(Expr::ScalarFunction(call)))
}

/// The type of the value of a subquery, which may have no row, and of what is computed with one: where the engine knows the
/// value, it is not NULL any more. The same of `toNullable(1) + 1`.
fn of_query(shown: &Expr, schema: &DFSchema) -> Result<Option<String>> {
    let is_computed = matches!(shown, Expr::BinaryExpr(_));
    if !is_computed && !matches!(shown, Expr::ScalarSubquery(_)) {
        return Ok(None);
    }
    let is_such = shown.exists(|it| {
        Ok(match it {
            Expr::ScalarSubquery(_) => true,
            Expr::ScalarFunction(call) => call.name() == "toNullable",
            _ => false,
        })
    })?;
    let field = nameless(shown, schema)?;
    // Those of decimals are found otherwise.
    if !is_such || field.data_type().is_decimal() || is_computed && !field.is_nullable() {
        return Ok(None);
    }
    Ok(bare_type(&field).map(|it| match it {
        DataType::Tuple(_) => format!("Nullable({it})"),
        other => other.made_nullable().to_string(),
    }))
}

/// The type of a choice between values of one type, or of a number made of such, and true if it may be NULL; `None` if there is
/// no choice, or the types are made one later.
fn of_choice(expr: &Expr, schema: &DFSchema) -> Result<Option<(DataType, bool)>> {
    let last_is_null =
        |choices: &[Expr]| choices.last().map_or(Ok(true), |last| last.nullable(schema));
    let (choices, may_be_null): (Vec<&Expr>, bool) = match expr {
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, then)| &**then);
            let choices: Vec<&Expr> = results.chain(case.else_expr.as_deref()).collect();
            let may_be_null = typed::may_be_null(choices.iter().copied(), schema)?;
            (choices, may_be_null || case.else_expr.is_none())
        }
        Expr::ScalarFunction(call) => match (call.name(), call.args.as_slice()) {
            ("assumeNotNull" | "typed", [inner]) => return of_choice(inner, schema),
            ("nullif", [first, _]) => (vec![first], true),
            ("coalesce" | "nvl", choices) => (choices.iter().collect(), last_is_null(choices)?),
            ("greatest" | "least", values) => {
                (values.iter().collect(), typed::may_be_null(values.iter(), schema)?)
            }
            _ => return Ok(None),
        },
        Expr::BinaryExpr(binary) if binary.op.is_numerical_operators() => {
            return of_operands(binary, schema);
        }
        Expr::Cast(cast) if matches!(*cast.expr, Expr::BinaryExpr(_)) => {
            let inner = of_choice(&cast.expr, schema)?;
            return Ok(inner.and_then(|inner| Some((bare_type(&cast.field)?, inner.1))));
        }
        _ => return Ok(None),
    };
    Ok(of_all(choices.into_iter(), schema)?.map(|found| (found, may_be_null)))
}

/// The same of a sum, difference, product or quotient of two numbers of which one is a choice.
fn of_operands(binary: &BinaryExpr, schema: &DFSchema) -> Result<Option<(DataType, bool)>> {
    let mut has_choice = false;
    let mut may_be_null = false;
    for side in [&binary.left, &binary.right] {
        let side = match &**side {
            Expr::Cast(cast) if cast.field.data_type().is_numeric() => &cast.expr,
            _ => side,
        };
        let choice = of_choice(side, schema)?;
        has_choice |= choice.is_some();
        may_be_null |= choice.map_or_else(|| side.nullable(schema), |it| Ok(it.1))?;
    }
    let field = field_of(&Expr::BinaryExpr(binary.clone()), schema)?;
    // Those of decimals are found otherwise.
    let is_known = has_choice && !field.data_type().is_decimal();
    Ok(bare_type(&field).filter(|_| is_known).map(|found| (found, may_be_null)))
}

/// The type that all of some values have, NULLs that are written out aside.
fn of_all<'a>(
    values: impl Iterator<Item = &'a Expr>,
    schema: &DFSchema,
) -> Result<Option<DataType>> {
    let mut found: Option<DataType> = None;
    for value in values {
        let field = value.to_field(schema)?.1;
        if field.data_type().is_null() {
            continue;
        }
        let Some(data_type) = bare_type(&field) else { return Ok(None) };
        let is_converted = matches!(value, Expr::ScalarFunction(it) if it.name() == "accurateCast");
        if is_converted || found.as_ref().is_some_and(|it| *it != data_type) {
            return plan_err!(
                "toTypeName of this choice is not supported: its values have different types; convert them to one"
            );
        }
        if matches!(field.data_type(), ArrowType::Dictionary(..)) {
            return Ok(None);
        }
        found = Some(data_type);
    }
    Ok(found)
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(value, _) if value.is_null())
}

/// A sum, difference or product of decimals with the type that it has in ClickHouse, whose decimals are as wide as the
/// machine's integers; elsewhere the engine's type, which is wider, does no harm.
fn decimal_result(expr: &Expr, schema: &DFSchema) -> Result<Option<Expr>> {
    let Expr::BinaryExpr(binary) = expr else { return Ok(None) };
    let digits = |side: &Expr| {
        let side = as_decimal(side);
        let of_inner = match decimal_result(side, schema)? {
            Some(Expr::Cast(cast)) => Some(cast.field.data_type().clone()),
            _ => None,
        };
        let data_type = match of_inner {
            Some(data_type) => data_type,
            None => field_of(side, schema)?.data_type().clone(),
        };
        Ok::<_, DataFusionError>(match data_type {
            ArrowType::Decimal128(precision, scale) => Some((precision, scale)),
            _ => None,
        })
    };
    let scale = match (digits(&binary.left)?, digits(&binary.right)?, binary.op) {
        (Some((_, a)), Some((_, b)), Operator::Plus | Operator::Minus) => a.max(b),
        (Some((_, a)), Some((_, b)), Operator::Multiply) => a + b,
        (Some((_, a)), None, Operator::Plus | Operator::Minus | Operator::Multiply) => a,
        (None, Some((_, b)), Operator::Plus | Operator::Minus | Operator::Multiply) => b,
        _ => return Ok(None),
    };
    let widest = [digits(&binary.left)?, digits(&binary.right)?].into_iter().flatten();
    let precision = match widest.map(|it| it.0).max().unwrap_or(0) {
        0..=9 => 9,
        10..=18 => 18,
        _ => 38,
    };
    Ok(Some(cast(expr.clone(), ArrowType::Decimal128(precision, scale))))
}

/// A side of an operator without what the planner put around it.
fn as_decimal(side: &Expr) -> &Expr {
    match side {
        Expr::Cast(cast) if cast.field.data_type().is_decimal() => &cast.expr,
        other => other,
    }
}
