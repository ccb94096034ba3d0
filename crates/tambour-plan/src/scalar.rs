//! A function of the store as a function of DataFusion.

use arrow::array::{Array, ArrayRef};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature as Arguments, TypeSignature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use tambour_function::{Function, Growth, HASHES_OF_WIDTHS, Operand, Signature};
use tambour_part::types::{DataType, Strings, TYPE_KEY};

/// What does not fit is an error and not NULL.
pub(super) const EXACT: CastOptions<'static> =
    CastOptions { safe: false, format_options: arrow::util::display::FormatOptions::new() };

/// A function of the store.
#[derive(Debug)]
pub(super) struct Wrapped {
    function: &'static Function,
    aliases: Vec<String>,
    signature: Arguments,
}

impl Wrapped {
    pub(super) fn new(function: &'static Function) -> Self {
        // DataFusion's planner writes unquoted function names in lower case.
        let mut aliases: Vec<String> =
            function.other_names().iter().map(|n| n.to_ascii_lowercase()).collect();
        aliases.push(function.name().to_ascii_lowercase());
        aliases.retain(|alias| alias != function.name());
        // `pi()` and `e()` have no arguments, which "any" does not cover.
        let counts = vec![TypeSignature::VariadicAny, TypeSignature::Nullary];
        Self { function, aliases, signature: Arguments::one_of(counts, Volatility::Immutable) }
    }
}

impl Wrapped {
    /// The result if an argument is the bare NULL, which has every type: that of the first type which fits.
    fn of_null(&self, fields: &[FieldRef]) -> Field {
        let stand_ins = [DataType::String, DataType::UInt8, DataType::Date];
        let types = stand_ins.into_iter().filter_map(|stand_in| {
            let signatures = fields.iter().map(|field| {
                let data_type = match field.data_type() {
                    ArrowType::Null => make_nullable(stand_in.clone()),
                    _ => argument_type(field, None).ok()?,
                };
                Some(Signature { data_type, constant: None })
            });
            self.function.data_type(&signatures.collect::<Option<Vec<_>>>()?).ok()
        });
        let data_type = types.into_iter().next().unwrap_or(DataType::String);
        make_nullable(data_type).field(self.name(), Strings::Utf8).with_nullable(true)
    }
}

impl Wrapped {
    /// True if the array is a NULL that is written out, which no array is: what is made of it is NULL.
    fn is_of_no_array(&self, fields: &[FieldRef]) -> bool {
        const OF_ARRAYS: &[&str] = &["arraySlice", "arrayPushBack", "arrayPushFront"];
        let is_null = fields.first().is_some_and(|first| first.data_type().is_null());
        is_null && OF_ARRAYS.contains(&self.name())
    }
    /// `CAST(NULL, 'Nullable(T)')`.
    fn of_bare_null(&self, constants: &[Option<&ScalarValue>]) -> Result<FieldRef> {
        let name = constants.get(1).copied().flatten().and_then(super::literal::text);
        match name.map(str::parse::<DataType>) {
            Some(Ok(data_type)) if is_nullable(&data_type) => {
                Ok(Arc::new(data_type.field(self.name(), Strings::Utf8).with_nullable(true)))
            }
            _ => plan_err!(
                "NULL cannot be converted to {}; write Nullable(...)",
                name.unwrap_or("this type")
            ),
        }
    }
}

impl PartialEq for Wrapped {
    fn eq(&self, other: &Self) -> bool {
        self.function.name() == other.function.name()
    }
}

impl Eq for Wrapped {}

impl Hash for Wrapped {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.function.name().hash(state);
    }
}

/// A call of a function of the store by its name.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Option<Expr> {
    let function = tambour_aggregate::find_in_queries(name)?;
    Some(ScalarUDF::new_from_impl(Wrapped::new(function)).call(arguments))
}

/// Our error inside of DataFusion's, not lost.
fn external(error: impl std::error::Error + Send + Sync + 'static) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn is_nullable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Nullable(_) => true,
        DataType::LowCardinality(inner) => is_nullable(inner),
        _ => false,
    }
}

fn make_nullable(data_type: DataType) -> DataType {
    match data_type {
        nested @ (DataType::Nullable(_)
        | DataType::Array(_)
        | DataType::Map(..)
        | DataType::Tuple(_)) => nested,
        DataType::LowCardinality(inner) => {
            DataType::LowCardinality(Box::new(make_nullable(*inner)))
        }
        plain => DataType::Nullable(Box::new(plain)),
    }
}

/// The ClickHouse type of an argument. Numbers in a query are 64 bits wide for DataFusion; ClickHouse gives them the
/// narrowest type.
fn argument_type(field: &Field, constant: Option<&ScalarValue>) -> Result<DataType> {
    let narrow = match constant {
        Some(ScalarValue::Int64(Some(number))) if field.metadata().is_empty() => {
            Some(narrowest(*number))
        }
        _ => None,
    };
    let data_type = match narrow {
        Some(data_type) => data_type,
        None => match field.data_type() {
            ArrowType::Interval(_) => {
                return plan_err!("an interval is not a value by itself: add it to a date or time");
            }
            ArrowType::Null => {
                return plan_err!(
                    "a NULL without a type is not supported here: write CAST(NULL AS Nullable(Int32))"
                );
            }
            _ => DataType::from_field(field).map_err(external)?,
        },
    };
    // A constant that is there is not NULL.
    let may_be_null = field.is_nullable() && constant.is_none_or(ScalarValue::is_null);
    Ok(if may_be_null && !is_nullable(&data_type) { make_nullable(data_type) } else { data_type })
}

fn narrowest(number: i64) -> DataType {
    match number {
        0..=0xff => DataType::UInt8,
        0x100..=0xffff => DataType::UInt16,
        0x1_0000..=0xffff_ffff => DataType::UInt32,
        0x1_0000_0000.. => DataType::UInt64,
        -0x80..0 => DataType::Int8,
        -0x8000..0 => DataType::Int16,
        -0x8000_0000..0 => DataType::Int32,
        _ => DataType::Int64,
    }
}

/// The values of a constant in the Arrow form of its type.
fn constant(value: &ScalarValue, data_type: &DataType) -> Result<ArrayRef> {
    let array = value.to_array_of_size(1)?;
    let wanted = data_type.field("", Strings::Utf8);
    if array.data_type().is_integer()
        && wanted.data_type() != array.data_type()
        && wanted.data_type().is_integer()
    {
        return Ok(cast(&array, wanted.data_type())?);
    }
    Ok(array)
}

/// True for bytes, and what holds them.
pub(super) fn is_bytes(arrow: &ArrowType) -> bool {
    match arrow {
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => true,
        ArrowType::Dictionary(_, inner) => is_bytes(inner),
        ArrowType::List(item) | ArrowType::LargeList(item) | ArrowType::Map(item, _) => {
            is_bytes(item.data_type())
        }
        ArrowType::Struct(fields) => fields.iter().any(|field| is_bytes(field.data_type())),
        _ => false,
    }
}

/// A list, a tuple or a map of numbers that was written out, whose type is the engine's.
fn is_of_literals(field: &Field) -> bool {
    if field.metadata().contains_key(TYPE_KEY) {
        return false;
    }
    let holds_number = |inner: &Field| {
        *inner.data_type() == ArrowType::Int64 && !inner.metadata().contains_key(TYPE_KEY)
    };
    match field.data_type() {
        ArrowType::List(item) => holds_number(item) || is_of_literals(item),
        ArrowType::Map(entries, _) => is_of_literals(entries),
        ArrowType::Struct(fields) => fields.iter().any(|it| holds_number(it) || is_of_literals(it)),
        _ => false,
    }
}

/// A condition is 0 or 1; only what has the type Bool is true or false.
fn is_condition(field: &Field) -> bool {
    *field.data_type() == ArrowType::Boolean && !field.metadata().contains_key(TYPE_KEY)
}

/// The arguments of a function as it sees them: a condition is a number; where NULL is a value, a bare one has the type of the
/// items of the array before it, or else the narrowest one.
fn typed_nulls(fields: &[FieldRef]) -> Vec<FieldRef> {
    let item = fields.first().and_then(|first| match DataType::from_field(first).ok()? {
        DataType::Array(item) => Some(*item),
        _ => None,
    });
    let of_null = make_nullable(item.unwrap_or(DataType::UInt8));
    let typed = |field: &FieldRef| {
        if is_condition(field) {
            let number = Field::clone(field).with_data_type(ArrowType::UInt8);
            return Arc::new(number);
        }
        if field.data_type().is_null() {
            let array = fields.first().and_then(|first| match first.data_type() {
                ArrowType::List(item) => Some(item.data_type().clone()),
                _ => None,
            });
            let field = of_null.field(field.name(), Strings::Utf8).with_nullable(true);
            Arc::new(match array {
                Some(data_type) => field.with_data_type(data_type),
                None => field,
            })
        } else {
            Arc::clone(field)
        }
    };
    typed_arrays(fields.iter().map(typed).collect())
}

/// True for the type of `[]`, which has no items, and of arrays of such.
fn is_of_nothing(data_type: &ArrowType) -> bool {
    match data_type {
        ArrowType::List(item) => item.data_type().is_null() || is_of_nothing(item.data_type()),
        _ => false,
    }
}

/// The type of an array of nothing with items of a type.
fn filled(data_type: &ArrowType, item: &FieldRef) -> ArrowType {
    match data_type {
        ArrowType::List(inner) if is_of_nothing(inner.data_type()) => {
            let inner_type = filled(inner.data_type(), item);
            ArrowType::List(Arc::new(inner.as_ref().clone().with_data_type(inner_type)))
        }
        // `[NULL]` holds NULLs, `[]` does not.
        ArrowType::List(inner) if inner.is_nullable() => {
            ArrowType::List(Arc::new(item.as_ref().clone().with_nullable(true)))
        }
        _ => ArrowType::List(Arc::clone(item)),
    }
}

/// Gives arrays of nothing the items of another array, or else those that another argument could be: what is in them does
/// not matter, as nothing is.
fn typed_arrays(fields: Vec<FieldRef>) -> Vec<FieldRef> {
    let is_other =
        |field: &&FieldRef| !is_of_nothing(field.data_type()) && !field.data_type().is_null();
    let list = fields.iter().filter(is_other).find_map(|field| match field.data_type() {
        ArrowType::List(item) => Some(Arc::clone(item)),
        _ => None,
    });
    let single =
        || fields.iter().find(is_other).map(|it| Arc::new(it.as_ref().clone().with_name("item")));
    let item = list
        .or_else(single)
        .unwrap_or_else(|| Arc::new(Field::new("item", ArrowType::UInt8, false)));
    let typed = |field: FieldRef| match field.data_type() {
        data_type if is_of_nothing(data_type) => {
            let data_type = filled(data_type, &item);
            Arc::new(field.as_ref().clone().with_data_type(data_type))
        }
        _ => field,
    };
    fields.into_iter().map(typed).collect()
}

impl ScalarUDFImpl for Wrapped {
    fn name(&self) -> &str {
        self.function.name()
    }
    fn aliases(&self) -> &[String] {
        &self.aliases
    }
    fn signature(&self) -> &Arguments {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        plan_err!(
            "the result type of {} depends on more than the types of its arguments",
            self.name()
        )
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let has_null = args.arg_fields.iter().any(|field| field.data_type().is_null());
        if has_null && !self.function.takes_null_values() {
            return Ok(Arc::new(self.of_null(args.arg_fields)));
        }
        if has_null && self.name() == "CAST" {
            return self.of_bare_null(args.scalar_arguments);
        }
        if self.is_of_no_array(args.arg_fields) {
            return Ok(Arc::new(self.of_null(args.arg_fields)));
        }
        let arg_fields = &typed_nulls(args.arg_fields);
        let arguments: Vec<Signature> = arg_fields
            .iter()
            .zip(args.scalar_arguments)
            .map(|(field, value)| {
                let value = value.filter(|value| !value.data_type().is_null());
                let number = value.filter(|_| *field.data_type() == ArrowType::UInt8);
                let number = number.map(|it| it.cast_to(&ArrowType::UInt8)).transpose()?;
                let value = number.as_ref().or(value);
                let data_type = argument_type(field, value)?;
                let constant = value.map(|value| constant(value, &data_type)).transpose()?;
                Ok(Signature { data_type, constant })
            })
            .collect::<Result<_>>()?;
        if HASHES_OF_WIDTHS.contains(&self.name()) && arg_fields.iter().any(|it| is_of_literals(it))
        {
            return plan_err!(
                "{} counts the width of numbers: say the type, like CAST([1, 2] AS Array(UInt8))",
                self.name()
            );
        }
        let result = self.function.data_type(&arguments).map_err(external)?;
        let is_nullable = is_nullable(&result);
        let result = match result {
            _ if self.function.is_predicate() => {
                // Without the name of a type, as the engine's own conditions.
                let field = Field::new(self.name(), ArrowType::Boolean, is_nullable);
                return Ok(Arc::new(field));
            }
            other => other,
        };
        let has_bytes = arg_fields.iter().any(|field| is_bytes(field.data_type()));
        let strings =
            if has_bytes || self.function.gives_bytes() { Strings::Binary } else { Strings::Utf8 };
        let field = result.field(self.name(), strings);
        // An array made of a NULL is NULL here, though ClickHouse has no such type.
        let is_nested = field.data_type().is_nested();
        // A group of no rows has no array, and what reduces arrays gives NULL for it.
        let is_null_array = (is_nested || self.name().starts_with("reduce"))
            && args.arg_fields.iter().any(|field| field.is_nullable());
        let is_nullable = is_nullable || field.is_nullable() || is_null_array;
        Ok(Arc::new(field.with_nullable(is_nullable)))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let has_null = args.arg_fields.iter().any(|field| field.data_type().is_null());
        if has_null && !self.function.takes_null_values() {
            let null = ScalarValue::try_from(args.return_field.data_type())?;
            return Ok(ColumnarValue::Scalar(null));
        }
        if has_null && self.name() == "CAST" || self.is_of_no_array(&args.arg_fields) {
            let null = ScalarValue::try_from(args.return_field.data_type())?;
            return Ok(ColumnarValue::Scalar(null));
        }
        let arg_fields = typed_nulls(&args.arg_fields);
        let operands: Vec<Operand> = args
            .args
            .iter()
            .zip(&arg_fields)
            .map(|(value, field)| match value {
                ColumnarValue::Scalar(null) if null.data_type().is_null() => Ok(Operand {
                    data_type: argument_type(field, None)?,
                    values: arrow::array::new_null_array(field.data_type(), 1),
                    is_constant: true,
                }),
                array if is_of_nothing(&array.data_type()) => Ok(Operand {
                    data_type: argument_type(field, None)?,
                    values: cast(&array.to_array(1)?, field.data_type())?,
                    is_constant: matches!(array, ColumnarValue::Scalar(_)),
                }),
                ColumnarValue::Array(values) => {
                    let data_type = argument_type(field, None)?;
                    let is_number = *field.data_type() == ArrowType::UInt8;
                    let is_flag = is_number && *values.data_type() == ArrowType::Boolean;
                    let values =
                        if is_flag { cast(values, &ArrowType::UInt8)? } else { Arc::clone(values) };
                    Ok(Operand { data_type, values, is_constant: false })
                }
                ColumnarValue::Scalar(value) => {
                    let number = (*field.data_type() == ArrowType::UInt8)
                        .then(|| value.cast_to(&ArrowType::UInt8))
                        .transpose()?;
                    let value = number.as_ref().unwrap_or(value);
                    let data_type = argument_type(field, Some(value))?;
                    Ok(Operand {
                        values: constant(value, &data_type)?,
                        data_type,
                        is_constant: true,
                    })
                }
            })
            .collect::<Result<_>>()?;
        let result = self.function.evaluate(&operands).map_err(external)?;
        // What was promised when the query was planned counts, whatever turned out to be constant since.
        let wanted = args.return_field.data_type();
        let is_wanted = result.values.data_type() == wanted;
        let values = if is_wanted {
            result.values
        } else {
            cast_with_options(&result.values, wanted, &EXACT)?
        };
        if result.is_constant {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?));
        }
        Ok(ColumnarValue::Array(values))
    }
    /// A monotonic function of a sorted date or time is sorted: groups by it need no hash table.
    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        let Some((first, others)) = inputs.split_first() else {
            return Ok(SortProperties::Unordered);
        };
        // In other zones clocks are set back, and with them what functions of local time return.
        let is_time = matches!(
            first.range.data_type(),
            ArrowType::Timestamp(arrow::datatypes::TimeUnit::Second, Some(zone)) if &*zone == "UTC"
        );
        let is_followed = self.function.growth() == Growth::Monotonic && is_time;
        let are_constant =
            others.iter().all(|other| other.sort_properties == SortProperties::Singleton);
        Ok(if is_followed && are_constant {
            first.sort_properties
        } else {
            SortProperties::Unordered
        })
    }
}
