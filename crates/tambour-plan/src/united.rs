//! Columns of a UNION in one type. The engine's own choice loses values (an Int32 beside a Float32) and writes floats and
//! instants as texts in another way.

use super::alike;
use super::comparison::within;
use super::literal::{bare_type, narrowest};
use super::scalar;
use super::typed::Typed;
use arrow::datatypes::DataType as ArrowType;
use datafusion::common::{Column, DFSchema, DFSchemaRef, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    Expr, ExprSchemable, LogicalPlan, Projection, RecursiveQuery, Union, cast, lit,
};
use std::sync::Arc;
use tambour_function::supertype;
use tambour_part::types::{DataType, TYPE_KEY};

/// How a column becomes one of the common type.
#[derive(Clone, Debug, PartialEq)]
enum Common {
    /// It stays as it is.
    Same,
    /// By a conversion of the store.
    Made(&'static str, DataType),
}

/// The same union with conversions in its inputs.
pub(super) fn columns(plan: LogicalPlan) -> Result<LogicalPlan> {
    let union = match &plan {
        LogicalPlan::Union(union) => union,
        LogicalPlan::RecursiveQuery(query) => {
            let step = steps(&query.static_term, &query.recursive_term)?;
            return Ok(LogicalPlan::RecursiveQuery(RecursiveQuery {
                recursive_term: step,
                ..query.clone()
            }));
        }
        _ => return Ok(plan),
    };
    let count = union.schema.fields().len();
    let common = (0..count).map(|place| common(union, place)).collect::<Result<Vec<_>>>()?;
    let names: Vec<_> = (0..count).map(|place| variant(union, place)).collect();
    let is_same = common.iter().all(|it| *it == Common::Same);
    let mut inputs = union.inputs.clone();
    if !is_same {
        let made = inputs.iter().map(|input| converted(input, &common).map(Arc::new));
        inputs = made.collect::<Result<_>>()?;
    }
    let shared: Vec<_> = (0..count).map(|place| shared(&inputs, place)).collect();
    let named = inputs.iter().map(|input| named(input, &shared));
    let inputs = named.collect::<Result<Vec<_>>>()?;
    if is_same && names.iter().all(Option::is_none) {
        let schema = schema_of(union, &inputs)?;
        return Ok(LogicalPlan::Union(Union { inputs, schema }));
    }
    let made = LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?);
    if names.iter().all(Option::is_none) {
        return Ok(made);
    }
    let columns = made.schema().iter().zip(names).map(|((qualifier, field), name)| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let Some(name) = name else { return column };
        super::variant::of_types(column, &name).alias_qualified(qualifier.cloned(), field.name())
    });
    let columns = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(made))?))
}

/// The types of a column that have no common one: ClickHouse keeps each value as it is.
fn variant(union: &Union, place: usize) -> Option<Vec<DataType>> {
    let types = types_of(union, place).ok()?;
    let (first, rest) = types.split_first()?;
    let is_one = rest.iter().all(|it| it == first)
        || alike::common(&types).is_some()
        || rest.iter().try_fold(first.clone(), |have, next| supertype(&have, next)).is_some();
    (!is_one).then_some(types)
}

/// The name of a column's type, if that is the same in all inputs but for Nullable and LowCardinality: the engine takes the name
/// of one input when it plans a union, and that of another when it runs it.
fn shared(inputs: &[Arc<LogicalPlan>], place: usize) -> Option<String> {
    let fields: Vec<_> = inputs.iter().map(|it| it.schema().field(place)).collect();
    let mut names = fields.iter().map(|it| it.metadata().get(TYPE_KEY));
    let first = names.next()?;
    if names.all(|it| it == first) {
        return None;
    }
    let mut types = fields.iter().map(|it| bare_type(it));
    let data_type = types.next()??;
    let is_one = is_plain(&data_type) && types.all(|it| it.as_ref() == Some(&data_type));
    let may_be_null = fields.iter().any(|it| it.is_nullable());
    let data_type = if may_be_null { data_type.made_nullable() } else { data_type.clone() };
    is_one.then(|| data_type.to_string())
}

/// An input whose columns have these names of types, where there is one.
fn named(input: &Arc<LogicalPlan>, names: &[Option<String>]) -> Result<Arc<LogicalPlan>> {
    if names.iter().all(Option::is_none) {
        return Ok(Arc::clone(input));
    }
    let columns = input.schema().iter().zip(names).map(|((qualifier, field), name)| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let has_it = field.metadata().get(TYPE_KEY) == name.as_ref();
        let Some(name) = name.clone().filter(|_| !has_it) else { return column };
        Typed::of_name(column, name).alias_qualified(qualifier.cloned(), field.name())
    });
    let shown = Projection::try_new(columns.collect(), Arc::clone(input))?;
    Ok(Arc::new(LogicalPlan::Projection(shown)))
}

/// The schema of a union whose inputs have other types than when it was planned.
fn schema_of(union: &Union, inputs: &[Arc<LogicalPlan>]) -> Result<DFSchemaRef> {
    let fields = union.schema.iter().enumerate().map(|(place, (qualifier, field))| {
        let same = inputs.iter().map(|input| input.schema().field(place));
        let mut present = same.filter(|it| !it.data_type().is_null());
        let Some(first) = present.next() else { return (qualifier.cloned(), Arc::clone(field)) };
        let mut typed = field.as_ref().clone().with_data_type(first.data_type().clone());
        if present.all(|it| it.metadata() == first.metadata()) {
            typed.set_metadata(first.metadata().clone());
        }
        (qualifier.cloned(), Arc::new(typed))
    });
    let metadata = union.schema.metadata().clone();
    DFSchema::new_with_metadata(fields.collect(), metadata).map(Arc::new)
}

/// The steps of a recursive query with the types that its first rows have.
fn steps(first: &LogicalPlan, step: &Arc<LogicalPlan>) -> Result<Arc<LogicalPlan>> {
    let schema = step.schema();
    let both = first.schema().fields().iter().zip(schema.iter());
    let columns = both.enumerate().map(|(place, (wanted, (table, field)))| {
        let column = Expr::Column(Column::new(table.cloned(), field.name()));
        let given = before_cast(step, place)?.unwrap_or_else(|| field.data_type().clone());
        let are_integers = given.is_integer() && wanted.data_type().is_integer();
        let is_text = |it: &ArrowType| it.is_string() || super::scalar::is_bytes(it);
        let are_texts = is_text(&given) && is_text(wanted.data_type());
        if given != *wanted.data_type() && !are_texts && !are_integers {
            return plan_err!(
                "the column {} of this recursive query begins as {} and goes on as {given}: give its first row the type of all, as by toFloat64",
                wanted.name(),
                wanted.data_type()
            );
        }
        let is_same = field.data_type() == wanted.data_type();
        if is_same && field.metadata() == wanted.metadata() {
            return Ok(column);
        }
        let column = if is_same { column } else { cast(column, wanted.data_type().clone()) };
        let name = wanted.metadata().get(TYPE_KEY).cloned().unwrap_or_default();
        Ok(Typed::of_name(column, name).alias(field.name()))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let shown = Projection::try_new(columns, Arc::clone(step))?;
    Ok(Arc::new(LogicalPlan::Projection(shown)))
}

/// The type of a result before the engine cast it to that of the first rows; `None` if it did not.
fn before_cast(step: &LogicalPlan, place: usize) -> Result<Option<ArrowType>> {
    let LogicalPlan::Projection(shown) = step else { return Ok(None) };
    match shown.expr.get(place).map(|it| it.clone().unalias()) {
        Some(Expr::Cast(cast)) => cast.expr.get_type(shown.input.schema()).map(Some),
        _ => Ok(None),
    }
}

fn common(union: &Union, place: usize) -> Result<Common> {
    let Ok(types) = types_of(union, place) else { return Ok(Common::Same) };
    if let Some(common) = of_types(&types) {
        return Ok(common);
    }
    let (left, right) = match types.as_slice() {
        [left, rest @ ..] => (left, rest.iter().find(|it| *it != left).unwrap_or(left)),
        [] => return Ok(Common::Same),
    };
    plan_err!(
        "UNION of {left} and {right} in the column {}: they have no common type; convert one of them, as by toString",
        union.schema.field(place).name()
    )
}

/// The conversion for some types; `None` if they have none, where ClickHouse answers with a Variant.
fn of_types(types: &[DataType]) -> Option<Common> {
    let Some((first, rest)) = types.split_first() else { return Some(Common::Same) };
    if rest.iter().all(|it| it == first) {
        return Some(Common::Same);
    }
    let cast = |data_type| Some(Common::Made("CAST", data_type));
    if let Some(moment) = alike::common(types) {
        return cast(moment);
    }
    // Enums are refused elsewhere. A text beside an instant would be read as one there.
    let is_written = |it: &DataType| {
        is_number(it)
            || matches!(it, DataType::String | DataType::Date | DataType::Date32 | DataType::Bool)
            || matches!(it, DataType::Uuid | DataType::Ipv4 | DataType::Ipv6)
    };
    if types.contains(&DataType::String) && types.iter().all(is_written) {
        return cast(DataType::String);
    }
    // A number beside a Bool would be one there.
    if types.contains(&DataType::Bool) {
        return None;
    }
    let found = rest.iter().try_fold(first.clone(), |have, next| supertype(&have, next));
    if let Some(found) = found {
        return cast(found);
    }
    if !types.iter().all(is_number) {
        return None;
    }
    // An integer of 64 bits beside a float: ClickHouse keeps each as it is. A float that is another number is an error.
    let is_float = |it: &DataType| matches!(it, DataType::Float32 | DataType::Float64);
    if types.iter().any(is_float) && !types.iter().any(|it| matches!(it, DataType::Decimal { .. }))
    {
        return Some(Common::Made("accurateCast", DataType::Float64));
    }
    // Decimals, and integers of 64 bits with a sign and without, become Decimals that hold both.
    Some(Common::Same)
}

fn is_number(data_type: &DataType) -> bool {
    use DataType::{
        Decimal, Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64,
    };
    matches!(
        data_type,
        Int8 | Int16
            | Int32
            | Int64
            | UInt8
            | UInt16
            | UInt32
            | UInt64
            | Float32
            | Float64
            | Decimal { .. }
    )
}

fn is_plain(data_type: &DataType) -> bool {
    !matches!(data_type, DataType::Array(_) | DataType::Tuple(_) | DataType::Map(..))
}

/// The types of a column, without those of NULLs that are written out.
fn types_of(union: &Union, place: usize) -> Result<Vec<DataType>, Unknown> {
    use DataType::{Int8, Int16, Int32, Int64, UInt64};
    let types = union.inputs.iter().map(|input| type_of(input, place));
    let types = types.collect::<Result<Vec<_>, Unknown>>()?;
    let has_sign = types.iter().flatten().any(|it| matches!(it, Int8 | Int16 | Int32 | Int64));
    let both = types.into_iter().zip(&union.inputs);
    let types = both.filter_map(|(data_type, input)| match data_type {
        Some(UInt64) if has_sign && is_short(input, place) => Some(Int64),
        other => other,
    });
    Ok(types.collect())
}

/// True for a number that is written out and has 63 bits at most: it goes with numbers that have a sign, too.
fn is_short(input: &LogicalPlan, place: usize) -> bool {
    let LogicalPlan::Projection(shown) = input else { return false };
    match shown.expr.get(place).map(|it| it.clone().unalias()) {
        Some(Expr::Literal(ScalarValue::UInt64(Some(number)), _)) => i64::try_from(number).is_ok(),
        Some(Expr::Literal(ScalarValue::Int64(Some(number)), None)) => number >= 0,
        _ => false,
    }
}

/// A type that ClickHouse has no name for.
struct Unknown;

/// The type of a column without Nullable, `None` of one that is NULL in every row; a number that is written out is as narrow as
/// it can be.
fn type_of(input: &LogicalPlan, place: usize) -> Result<Option<DataType>, Unknown> {
    if let LogicalPlan::Projection(projection) = input
        && let Some(expr) = projection.expr.get(place)
        && let Expr::Literal(ScalarValue::Int64(Some(number)), None) = expr.clone().unalias()
    {
        return Ok(narrowest(number).parse().ok());
    }
    let field = input.schema().fields().get(place).ok_or(Unknown)?;
    if field.data_type().is_null() {
        return Ok(None);
    }
    bare_type(field).map(Some).ok_or(Unknown)
}

fn converted(input: &Arc<LogicalPlan>, common: &[Common]) -> Result<LogicalPlan> {
    let columns = input.schema().iter().zip(common).map(|((qualifier, field), common)| {
        let column = Expr::Column(Column::new(qualifier.cloned(), field.name()));
        let Common::Made(function, data_type) = common else { return column };
        let have = bare_type(field);
        if field.data_type().is_null() || have.as_ref() == Some(data_type) {
            return column;
        }
        let is_late =
            have == Some(DataType::Date) && matches!(data_type, DataType::DateTime { .. });
        let value = if is_late { within(&column) } else { column.clone() };
        // ClickHouse has no NULL in the place of an array.
        let name = if field.is_nullable() && is_plain(data_type) {
            format!("Nullable({data_type})")
        } else {
            data_type.to_string()
        };
        match scalar::call(function, vec![value, lit(name)]) {
            Some(call) => call.alias_qualified(qualifier.cloned(), field.name()),
            None => column,
        }
    });
    let columns = columns.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(input))?))
}
