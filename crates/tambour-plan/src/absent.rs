//! What stands where there is no value, in ClickHouse's way: `join_use_nulls = 0` gives rows without a partner the defaults of
//! their types, `aggregate_functions_null_for_empty = 0` gives aggregates of no rows zeros, empty texts and NaN. Columns
//! that may be NULL stay NULL, there as here.

use super::aggregate::Summand;
use super::integer::integer;
use super::keep::is_number_of_set;
use super::literal::bare_type;
use super::otherwise;
use super::typed::Typed;
use super::{average, default, scalar};
use crate::walk::{Walk, everywhere};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, JoinType, ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::functions::expr_fn::{coalesce, nullif};
use datafusion::logical_expr::expr::WindowFunctionDefinition;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Aggregate, ColumnarValue, Expr, ExprSchemable, Join, LogicalPlan, Projection, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility, lit,
};
use std::sync::Arc;
use tambour_dialect::Switches;
use tambour_dialect::marks::{JOINED, Otherwise};
use tambour_part::types::DataType;

/// The pass over a planned query.
pub fn present(plan: LogicalPlan, switches: Switches) -> Result<LogicalPlan> {
    let (joins, aggregates) = (
        switches.join_use_nulls == Some(false),
        switches.aggregate_functions_null_for_empty == Some(false),
    );
    let plan = everywhere(plan, &mut average::of_decimals)?;
    let plan = everywhere(plan, &mut |plan| {
        let plan = with_partners(plan)?;
        let plan = plan.recompute_schema()?;
        let values = match &plan {
            LogicalPlan::Join(join) => partners(join, joins)?,
            LogicalPlan::Aggregate(node) => {
                let schema = node.input.schema();
                let values = node.aggr_expr.iter().map(|expr| of_nothing(expr, schema, aggregates));
                at_the_end(&plan, values.collect::<Result<_>>()?)
            }
            LogicalPlan::Window(node) => {
                let schema = merge_schema(&plan.inputs());
                let values =
                    node.window_expr.iter().map(|expr| of_nothing(expr, &schema, aggregates));
                at_the_end(&plan, values.collect::<Result<_>>()?)
            }
            _ => Vec::new(),
        };
        let schema = Arc::clone(plan.schema());
        let (plan, is_unmarked) = without_marks(plan)?;
        if values.iter().all(Option::is_none) && !is_unmarked {
            return Ok(Transformed::yes(plan));
        }
        with(plan, &schema, &values).map(Transformed::yes)
    })?;
    Ok(plan)
}

/// Takes [`JOINED`] off: a column with that mark is the one before defaults were put in.
fn with_partners(plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema = merge_schema(&plan.inputs());
    let names = NamePreserver::new(&plan);
    let plan = plan.map_expressions(|expr| {
        let name = names.save(&expr);
        let expr = expr.up(&mut |expr| {
            let Expr::ScalarFunction(call) = &expr else { return Ok(Transformed::no(expr)) };
            let (JOINED, [Expr::Column(column)]) = (call.name(), call.args.as_slice()) else {
                return Ok(Transformed::no(expr));
            };
            let before = Column::new(column.relation.clone(), before_defaults(&column.name));
            let is_there = schema.has_column(&before);
            Ok(Transformed::yes(Expr::Column(if is_there { before } else { column.clone() })))
        })?;
        Ok(expr.update_data(|expr| name.restore(expr)))
    })?;
    Ok(plan.data)
}

/// The name of a column as it was before defaults were put in.
fn before_defaults(name: &str) -> String {
    format!("{name}{JOINED}")
}

/// What stands for another value in a column.
#[derive(Clone, Debug)]
enum Value {
    /// A literal for NULL, and the field that it has, if that says more than its Arrow type.
    ForNull { literal: Expr, field: Option<FieldRef> },
    /// NULL for 0.
    NullForZero,
    /// The default of its type for NULL: an empty array, whatever the types of its items are.
    DefaultForNull,
}

impl Value {
    fn plain(literal: Expr) -> Self {
        Self::ForNull { literal, field: None }
    }

    fn of(field: &FieldRef) -> Result<Self> {
        // A zero of whatever width: counts lose their sign only later.
        let is_integer = integer(field).is_some() && bare_type(field) != Some(DataType::Ipv4);
        if is_integer {
            return Ok(Self::plain(lit(0_i64)));
        }
        // The same of an array, whose items may be numbers that are written out.
        if matches!(field.data_type(), ArrowType::List(_)) {
            let nothing = ScalarValue::new_list(&[], &ArrowType::Null, false);
            return Ok(Self::plain(lit(ScalarValue::List(nothing))));
        }
        Ok(Self::ForNull { literal: default::literal(field)?, field: Some(Arc::clone(field)) })
    }

    /// The column with this value put in.
    fn instead(&self, column: Expr) -> Expr {
        let (literal, field) = match self {
            Self::ForNull { literal, field } => (literal, field),
            Self::NullForZero => return nullif(column, lit(0_u64)),
            Self::DefaultForNull => {
                let called = scalar::call("assumeNotNull", vec![column.clone()]);
                return called.unwrap_or(column);
            }
        };
        let chosen = coalesce(vec![column, literal.clone()]);
        match field.as_ref().and_then(|field| bare_type(field)) {
            Some(data_type) => Typed::call(chosen, &data_type),
            None => chosen,
        }
    }
}

/// The defaults of the columns of a join that are NULL only where there is no partner.
fn partners(join: &Join, are_all: bool) -> Result<Vec<Option<Value>>> {
    let (left, right) = match join.join_type {
        JoinType::Left => (false, true),
        JoinType::Right => (true, false),
        JoinType::Full => (true, true),
        _ => return Ok(Vec::new()),
    };
    let sides = [(left, join.left.schema()), (right, join.right.schema())];
    let fields = sides.into_iter().flat_map(|(is_missing, schema)| {
        schema.fields().iter().map(move |field| (is_missing, field))
    });
    let value = |(is_missing, field): (bool, &FieldRef)| {
        // An array is never NULL, whatever `join_use_nulls` says.
        let is_nested = matches!(
            field.data_type(),
            ArrowType::List(_) | ArrowType::Map(..) | ArrowType::Struct(_)
        );
        let is_filled = is_missing && !field.is_nullable() && (are_all || is_nested);
        is_filled.then(|| Value::of(field)).transpose()
    };
    fields.map(value).collect()
}

/// Values of the last columns of a node.
fn at_the_end(plan: &LogicalPlan, values: Vec<Option<Value>>) -> Vec<Option<Value>> {
    let before = plan.schema().fields().len().saturating_sub(values.len());
    std::iter::repeat_n(None, before).chain(values).collect()
}

/// What an aggregate of no rows is; `None` where it is NULL for ClickHouse too, or never NULL.
fn of_nothing(expr: &Expr, schema: &DFSchema, is_asked: bool) -> Result<Option<Value>> {
    let (name, arguments) = match expr {
        Expr::Alias(alias) => return of_nothing(&alias.expr, schema, is_asked),
        Expr::AggregateFunction(call) => (call.func.name(), &call.params.args),
        Expr::WindowFunction(call) => match &call.fun {
            WindowFunctionDefinition::AggregateUDF(function) => {
                (function.name(), &call.params.args)
            }
            WindowFunctionDefinition::WindowUDF(_) => return Ok(None),
        },
        _ => return Ok(None),
    };
    let Some(first) = arguments.first() else { return Ok(None) };
    let otherwise = otherwise::of(first);
    // Whatever was asked, these are never NULL.
    let is_list = matches!(first.get_type(schema)?, ArrowType::List(_) | ArrowType::Map(..));
    if name == "count" {
        // `uniqCombined` of NULLs alone is NULL; its arguments are beside the mark.
        let is_null = otherwise == Some(Otherwise::Usual) && first.nullable(schema)?;
        return Ok(is_null.then_some(Value::NullForZero));
    }
    let is_usual = matches!(otherwise, None | Some(Otherwise::Usual));
    if otherwise == Some(Otherwise::Null) || is_usual && !is_asked && !is_list {
        return Ok(None);
    }
    // What is wrapped for the planner says nothing about NULLs.
    let first = match first {
        Expr::ScalarFunction(call) if call.name() == Summand::NAME => {
            call.args.first().unwrap_or(first)
        }
        other => other,
    };
    let is_own = otherwise == Some(Otherwise::Own);
    let mut field = first.to_field(schema)?.1;
    if is_own {
        field = Arc::new(field.as_ref().clone().with_nullable(false));
    }
    let result = expr.to_field(schema)?.1;
    if name == "array_agg" {
        let is_never = is_own || !list_may_be_null(first, &field, schema)?;
        return Ok(is_never.then_some(Value::DefaultForNull));
    }
    let is_nullable = match arguments.get(1..) {
        Some(others) if !is_own => {
            let others = others.iter().map(|it| it.nullable(schema));
            field.is_nullable() || others.collect::<Result<Vec<_>>>()?.contains(&true)
        }
        _ => field.is_nullable(),
    };
    if is_nullable && !is_list || name == "grouping" {
        return Ok(None);
    }
    let otherwise = otherwise.unwrap_or(Otherwise::Usual);
    of_no_value(name, &result, &field, otherwise)
}

/// True if an array of no rows is NULL, as those are of what may be NULL. What reduces the array gives ClickHouse's value for an empty one.
fn list_may_be_null(first: &Expr, field: &FieldRef, schema: &DFSchema) -> Result<bool> {
    let Expr::ScalarFunction(call) = first else { return Ok(field.is_nullable()) };
    if call.name() != "struct" {
        return Ok(field.is_nullable());
    }
    let elements = call.args.iter().map(|it| it.nullable(schema));
    Ok(elements.collect::<Result<Vec<_>>>()?.contains(&true))
}

/// What an aggregate of no values is that is never NULL; `field` is that of its argument.
fn of_no_value(
    name: &str,
    result: &FieldRef,
    field: &FieldRef,
    otherwise: Otherwise,
) -> Result<Option<Value>> {
    let is_own = otherwise == Otherwise::Own;
    let plain = |value: ScalarValue| Ok(Some(Value::plain(Expr::Literal(value, None))));
    if otherwise == Otherwise::Default
        && result.data_type().is_floating()
        && name != "quantileExact"
    {
        return plain(ScalarValue::new_default(result.data_type())?);
    }
    match (name, result.data_type()) {
        ("quantileExact", data_type) if is_own && data_type.is_floating() => {
            plain(ScalarValue::new_default(data_type)?)
        }
        ("min" | "max" | "any_value" | "first_value" | "last_value" | "nth_value", _) => {
            Value::of(field).map(Some)
        }
        // Integers of 256 bits: the engine has their sum as a decimal, and it gets its type only later.
        ("sum", _) if matches!(field.data_type(), ArrowType::FixedSizeBinary(_)) => {
            Ok(Some(Value::DefaultForNull))
        }
        ("sum" | "bit_or" | "bit_xor", data_type) => plain(ScalarValue::new_default(data_type)?),
        ("bit_and", data_type) if data_type.is_integer() => plain(all_ones(data_type)?),
        ("quantileExact" | super::quantile::BETWEEN, data_type) if !data_type.is_floating() => {
            Value::of(field).map(Some)
        }
        // It counts, and is never NULL.
        ("regr_count", _) => Ok(None),
        // Those whose names end with Stable there.
        ("var_pop" | "stddev_pop" | "covar_pop", ArrowType::Float64) => {
            plain(ScalarValue::Float64(Some(f64::INFINITY)))
        }
        (_, ArrowType::Float64) => plain(ScalarValue::Float64(Some(f64::NAN))),
        (_, ArrowType::Float32) => plain(ScalarValue::Float32(Some(f32::NAN))),
        (other, _) => plan_err!(
            "aggregate_functions_null_for_empty = 0 does not cover {other}: what it gives for no rows is not known"
        ),
    }
}

/// The integer whose bits are all set.
fn all_ones(data_type: &ArrowType) -> Result<ScalarValue> {
    let bits = if data_type.is_signed_integer() {
        ScalarValue::Int64(Some(-1))
    } else {
        let width = data_type.primitive_width().unwrap_or(8) * 8;
        ScalarValue::UInt64(Some(u64::MAX >> (64 - width)))
    };
    bits.cast_to(data_type)
}

/// Takes the marks off counts, before an alias in the place of the mark hides them from the engine's rules; true if there were any.
fn without_marks(plan: LogicalPlan) -> Result<(LogicalPlan, bool)> {
    let LogicalPlan::Aggregate(mut node) = plan else { return Ok((plan, false)) };
    let mut is_changed = false;
    for expr in &mut node.aggr_expr {
        if let Expr::AggregateFunction(call) = expr
            && call.func.name() == "count"
            && let [Expr::ScalarFunction(mark)] = call.params.args.as_mut_slice()
            && Otherwise::of_mark(mark.name()).is_some()
        {
            mark.args.truncate(1);
            call.params.args = std::mem::take(&mut mark.args);
            is_changed = true;
        }
    }
    if !is_changed {
        return Ok((LogicalPlan::Aggregate(node), false));
    }
    let node = Aggregate::try_new(node.input, node.group_expr, node.aggr_expr)?;
    Ok((LogicalPlan::Aggregate(node), true))
}

/// A projection above a node that has values in the place of NULLs, with the names of a schema.
fn with(plan: LogicalPlan, names: &DFSchema, values: &[Option<Value>]) -> Result<LogicalPlan> {
    let schema = Arc::clone(plan.schema());
    let shown = names.iter().enumerate().filter(|(_, (_, field))| !is_number_of_set(field.name()));
    let columns = shown.map(|(index, (qualifier, field))| {
        let (from, given) = schema.qualified_field(index);
        let column = Expr::Column(Column::new(from.cloned(), given.name()));
        let Some(Some(value)) = values.get(index) else {
            let is_same = (from, given.name()) == (qualifier, field.name());
            let named = || column.clone().alias_qualified(qualifier.cloned(), field.name());
            return Ok(if is_same { column } else { named() });
        };
        let chosen = value.instead(column);
        Ok(chosen.alias_qualified(qualifier.cloned(), field.name()))
    });
    let mut columns = columns.collect::<Result<Vec<_>>>()?;
    if matches!(&plan, LogicalPlan::Join(join) if join.join_type == JoinType::Full) {
        for ((qualifier, field), value) in schema.iter().zip(values) {
            let name = before_defaults(field.name());
            let before = Column::new(qualifier.cloned(), &name);
            // A join below may have kept it.
            if value.is_some() && !schema.has_column(&before) {
                let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
                columns.push(column.alias_qualified(qualifier.cloned(), name));
            }
        }
    }
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?))
}

/// `defaultValueOfArgumentType(x)`: the default of the type of `x`, NULL if it may be NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct DefaultOfType {
    aliases: Vec<String>,
    signature: Signature,
}

impl DefaultOfType {
    pub(super) fn new() -> Self {
        Self {
            aliases: vec!["defaultvalueofargumenttype".to_owned()],
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for DefaultOfType {
    fn name(&self) -> &'static str {
        "defaultValueOfArgumentType"
    }
    fn aliases(&self) -> &[String] {
        &self.aliases
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        plan_err!("the type is that of the argument")
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [only] = args.arg_fields else {
            return plan_err!("{} takes one argument", self.name());
        };
        if matches!(only.data_type(), ArrowType::Struct(_)) {
            return plan_err!("{} does not take tuples", self.name());
        }
        let field = Field::new(self.name(), only.data_type().clone(), only.is_nullable());
        Ok(Arc::new(field.with_metadata(only.metadata().clone())))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [only] = args.arg_fields.as_slice() else {
            return exec_err!("{} takes one argument", self.name());
        };
        // A constant that was worked out says no more whether its type has NULLs.
        let only = &only.as_ref().clone().with_nullable(args.return_field.is_nullable());
        // The first date of the narrow calendar; elsewhere a date that is not there is 1970-01-01.
        if bare_type(only) == Some(DataType::Date32) && !only.is_nullable() {
            return Ok(ColumnarValue::Scalar(ScalarValue::Date32(Some(-25_567))));
        }
        Ok(ColumnarValue::Scalar(default::scalar(only)?))
    }
}
