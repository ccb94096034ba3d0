//! A value with ClickHouse's type of it, which is metadata of its field.

use super::literal::{bare_type, named, nameless};
use super::variant;
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Case, ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, cast,
};
use std::sync::Arc;
use tambour_part::types::{DataType, TYPE_KEY};

/// True if Arrow's own type of these values tells another ClickHouse type.
pub(super) fn needs_name(data_type: &DataType) -> bool {
    use DataType::{Bool, Date, DateTime64, Enum8, Enum16, FixedString};
    let is_one = |it: &DataType| match it {
        // Arrow's instants have 0, 3, 6 or 9 digits, and with none they are taken for a DateTime.
        DateTime64 { precision, .. } => !matches!(precision, 3 | 6 | 9),
        // A Boolean without a name is the 0 or 1 of a condition.
        Bool | Date | Enum8(_) | Enum16(_) | FixedString(_) => true,
        _ => false,
    };
    holds(data_type, &is_one) || is_shown_otherwise(data_type)
}

/// True if the values would be shown as something else by Arrow's own type of them.
fn is_shown_otherwise(data_type: &DataType) -> bool {
    use DataType::{Int128, Int256, Ipv4, Ipv6, UInt128, UInt256, Uuid};
    let is_one =
        |it: &DataType| matches!(it, Uuid | Ipv4 | Ipv6 | Int128 | UInt128 | Int256 | UInt256);
    holds(data_type, &is_one)
}

/// True for a type that is such a one, or has one inside.
pub(super) fn holds(data_type: &DataType, is_one: &dyn Fn(&DataType) -> bool) -> bool {
    use DataType::{Array, LowCardinality, Map, Nullable, Tuple};
    is_one(data_type)
        || match data_type {
            Nullable(inner) | LowCardinality(inner) | Array(inner) => holds(inner, is_one),
            Map(key, value) => holds(key, is_one) || holds(value, is_one),
            Tuple(elements) => elements.iter().any(|(_, element)| holds(element, is_one)),
            _ => false,
        }
}

/// True if a NULL that is written out is all that there is in some place of a type.
pub fn has_nothing(arrow: &ArrowType) -> bool {
    match arrow {
        ArrowType::Null => true,
        ArrowType::List(item) | ArrowType::Map(item, _) => has_nothing(item.data_type()),
        ArrowType::Struct(fields) => fields.iter().any(|field| has_nothing(field.data_type())),
        _ => false,
    }
}

/// Makes NULLs and empty arrays in a tuple some of numbers, where the type of another element has to be said: the type of a
/// tuple is said whole or not at all.
pub(super) fn complete(call: &mut ScalarFunction, schema: &DFSchema) -> Result<bool> {
    let must_be_said = |it: &Expr| type_of(it, schema).is_some_and(|it| is_shown_otherwise(&it));
    if call.name() != "struct" || !call.args.iter().any(must_be_said) {
        return Ok(false);
    }
    let mut is_changed = false;
    for argument in &mut call.args {
        let data_type = argument.get_type(schema)?;
        if has_nothing(&data_type) {
            *argument = cast(std::mem::take(argument), of_numbers(&data_type));
            is_changed = true;
        }
    }
    Ok(is_changed)
}

/// The type with numbers in the place of NULLs.
pub fn of_numbers(arrow: &ArrowType) -> ArrowType {
    let with_numbers = |field: &FieldRef| {
        Arc::new(field.as_ref().clone().with_data_type(of_numbers(field.data_type())))
    };
    match arrow {
        ArrowType::Null => ArrowType::UInt8,
        ArrowType::List(item) => ArrowType::List(with_numbers(item)),
        ArrowType::Struct(fields) => ArrowType::Struct(fields.iter().map(with_numbers).collect()),
        other => other.clone(),
    }
}

/// A type that takes the NULLs that are written out in a field, as in `[[NULL]]`; an array without items holds none. `None` if
/// they have not one shape.
pub(super) fn with_nulls(data_type: DataType, field: &Field) -> Option<DataType> {
    Some(match (data_type, field.data_type()) {
        (data_type, ArrowType::Null) if field.is_nullable() => data_type.made_nullable(),
        (data_type, ArrowType::Null) => data_type,
        (DataType::Array(item), ArrowType::List(other)) => {
            DataType::Array(Box::new(with_nulls(*item, other)?))
        }
        (DataType::Map(key, value), ArrowType::Map(entries, _)) => match entries.data_type() {
            ArrowType::Struct(fields) if fields.len() == 2 => DataType::Map(
                Box::new(with_nulls(*key, &fields[0])?),
                Box::new(with_nulls(*value, &fields[1])?),
            ),
            _ => return None,
        },
        (DataType::Tuple(elements), ArrowType::Struct(fields))
            if elements.len() == fields.len() =>
        {
            let both = elements.into_iter().zip(fields);
            let both =
                both.map(|((name, element), field)| Some((name, with_nulls(element, field)?)));
            DataType::Tuple(both.collect::<Option<_>>()?)
        }
        (data_type, arrow) if !has_nothing(arrow) => data_type,
        _ => return None,
    })
}

pub(super) fn type_of(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    let field: FieldRef = nameless(expr, schema).ok()?;
    bare_type(&field)
}

/// The same, Nullable if it is.
fn with_null(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    let field: FieldRef = nameless(expr, schema).ok()?;
    let data_type = bare_type(&field)?;
    Some(if field.is_nullable() { data_type.made_nullable() } else { data_type })
}

/// The type that all of some expressions have, NULLs aside, however deep.
fn common<'a>(expressions: impl Iterator<Item = &'a Expr>, schema: &DFSchema) -> Option<DataType> {
    let is_null = |expr: &Expr| matches!(expr, Expr::Literal(value, _) if value.is_null());
    let fields = expressions.filter(|expr| !is_null(expr)).map(|expr| nameless(expr, schema));
    common_of(fields.collect::<Result<Vec<_>>>().ok()?.into_iter())
}

/// The same of their fields.
pub(super) fn common_of(fields: impl Iterator<Item = FieldRef>) -> Option<DataType> {
    let (open, whole): (Vec<FieldRef>, Vec<FieldRef>) =
        fields.partition(|field| has_nothing(field.data_type()));
    let mut types = whole.iter().map(|field| bare_type(field));
    let first = types.next()??;
    if !types.all(|other| other.as_ref() == Some(&first)) {
        return None;
    }
    open.iter().try_fold(first, |found, field| with_nulls(found, field))
}

/// Refuses UUIDs and addresses beside other types to choose from, and arrays and tuples with what needs a name inside, if the
/// type of all is not known.
pub(super) fn check_kept<'a>(
    found: Option<&DataType>,
    mut choices: impl Iterator<Item = &'a Expr>,
    schema: &DFSchema,
) -> Result<()> {
    use DataType::{Array, Ipv4, Ipv6, Tuple, Uuid};
    let is_lost = |it: &DataType| {
        matches!(it, Array(_) | Tuple(_) | Uuid | Ipv4 | Ipv6) && is_shown_otherwise(it)
    };
    if found.is_some() {
        return Ok(());
    }
    match choices.find_map(|it| type_of(it, schema).filter(is_lost)) {
        Some(lost) => plan_err!(
            "what {lost} has in common with the others is not known; convert them by CAST"
        ),
        None => Ok(()),
    }
}

pub(super) fn of_case(case: &Case, schema: &DFSchema) -> Option<DataType> {
    let results = case.when_then_expr.iter().map(|(_, then)| &**then);
    common(results.chain(case.else_expr.as_deref()), schema)
}

/// A choice of 64 bits with a number in it. If the engine finds out that it is always that number, it would be one that is
/// written out, with as few bits as it needs.
pub(super) fn kept_wide(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_number = |it: &Expr| Ok(matches!(it, Expr::Literal(ScalarValue::Int64(Some(_)), None)));
    if *nameless(&expr, schema)?.data_type() == ArrowType::Int64 && expr.exists(is_number)? {
        return Ok(Transformed::yes(Typed::call(expr, &DataType::Int64)));
    }
    Ok(Transformed::no(expr))
}

/// The same of what is computed of constants, where one of them has 64 bits.
pub(super) fn computed_wide(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let is_computed = matches!(&expr, Expr::BinaryExpr(it) if it.op.is_numerical_operators());
    if is_computed
        && is_constant(&expr, CONSTANT_DEPTH)
        && *nameless(&expr, schema)?.data_type() == ArrowType::Int64
    {
        return Ok(Transformed::yes(Typed::call(expr, &DataType::Int64)));
    }
    Ok(Transformed::no(expr))
}

/// Calls in one another up to which constants are looked for: each level looks again.
const CONSTANT_DEPTH: usize = 8;

/// True for what has neither columns nor chance in it, as far down as that.
fn is_constant(expr: &Expr, depth: usize) -> bool {
    let Some(less) = depth.checked_sub(1) else { return false };
    match expr {
        Expr::Literal(..) => true,
        Expr::Cast(cast) => is_constant(&cast.expr, less),
        Expr::BinaryExpr(it) => is_constant(&it.left, less) && is_constant(&it.right, less),
        Expr::ScalarFunction(call) => {
            call.func.signature().volatility == Volatility::Immutable
                && call.args.iter().all(|it| is_constant(it, less))
        }
        _ => false,
    }
}

/// True if one of some expressions may be NULL.
pub(super) fn may_be_null<'a>(
    mut expressions: impl Iterator<Item = &'a Expr>,
    schema: &DFSchema,
) -> Result<bool> {
    expressions.try_fold(false, |any, it| Ok(any || nameless(it, schema)?.is_nullable()))
}

/// The type of what a function hands on or puts together.
pub(super) fn of_call(call: &ScalarFunction, schema: &DFSchema) -> Option<DataType> {
    // Keys and values of a map are single ones, or lists.
    let item = |index: usize| {
        let data_type = match call.args.get(index)? {
            // The engine's lists may all hold NULLs; those that are written out need not.
            Expr::ScalarFunction(list) if list.name() == "make_array" => of_call(list, schema)?,
            other => type_of(other, schema)?,
        };
        match data_type {
            DataType::Array(item) => Some(*item),
            single => Some(single),
        }
    };
    match call.name() {
        "coalesce" | "nvl" | "greatest" | "least" => common(call.args.iter(), schema),
        // A condition stays one, beside a Bool too.
        "nullif" => {
            let first = nameless(call.args.first()?, schema).ok()?;
            let is_condition =
                *first.data_type() == ArrowType::Boolean && first.metadata().is_empty();
            bare_type(&first).filter(|_| !is_condition)
        }
        "make_array" => {
            let may_be_null = |item: &Expr| nameless(item, schema).is_ok_and(|it| it.is_nullable());
            let item = common(call.args.iter(), schema)?;
            let has_nulls = call.args.iter().any(may_be_null);
            Some(DataType::Array(Box::new(if has_nulls { item.made_nullable() } else { item })))
        }
        "struct" => {
            let elements = call
                .args
                .iter()
                .map(|argument| with_null(argument, schema).map(|data_type| (None, data_type)));
            elements.collect::<Option<Vec<_>>>().map(DataType::Tuple)
        }
        "map" => {
            // Lists that the engine makes may hold NULLs, keys of maps may not.
            let key = match item(0)? {
                DataType::Nullable(inner) => *inner,
                other => other,
            };
            Some(DataType::Map(Box::new(key), Box::new(item(1)?)))
        }
        "array_sort" | "array_distinct" | "array_slice" | "array_reverse" | "array_concat" => {
            type_of(call.args.first()?, schema)
        }
        _ => None,
    }
}

/// Its argument, with a ClickHouse type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Typed {
    data_type: String,
    signature: Signature,
}

impl Typed {
    /// An expression with this type, or a Nullable of it.
    pub(super) fn call(expr: Expr, data_type: &DataType) -> Expr {
        ScalarUDF::new_from_impl(Self::new(data_type.to_string())).call(vec![expr])
    }
    /// An expression with a type that has no more than a name here.
    pub(super) fn of_name(expr: Expr, name: String) -> Expr {
        ScalarUDF::new_from_impl(Self::new(name)).call(vec![expr])
    }
    pub(super) fn new(data_type: String) -> Self {
        Self { data_type, signature: Signature::any(1, Volatility::Immutable) }
    }
    pub(super) fn data_type(&self) -> &str {
        &self.data_type
    }
}

impl ScalarUDFImpl for Typed {
    fn name(&self) -> &'static str {
        "typed"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, arguments: &[ArrowType]) -> Result<ArrowType> {
        if let [only] = arguments { Ok(only.clone()) } else { plan_err!("it takes an argument") }
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let [only] = args.arg_fields else {
            return plan_err!("it takes an argument");
        };
        let field = Field::new(self.name(), only.data_type().clone(), only.is_nullable());
        Ok(match self.data_type.parse::<DataType>() {
            Ok(data_type @ DataType::Nullable(_)) => {
                Arc::new(named(&data_type).add_to_field(field).with_nullable(true))
            }
            Ok(data_type) => Arc::new(named(&data_type).add_to_field(field)),
            Err(_) if variant::is_name(&self.data_type) => {
                let name = (TYPE_KEY.to_owned(), self.data_type.clone());
                Arc::new(field.with_metadata([name].into()))
            }
            Err(_) => Arc::new(field),
        })
    }
    /// Columns are called what was written.
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        let names: Vec<String> =
            arguments.iter().map(|argument| argument.schema_name().to_string()).collect();
        Ok(names.join(","))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        if let [only] = args.args.as_slice() {
            Ok(only.clone())
        } else {
            exec_err!("it takes an argument")
        }
    }
}
