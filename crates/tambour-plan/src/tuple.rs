//! Tuples, their elements (`tupleElement`, which `t.1` and `t.name` are), and `emptyArrayToSingle`, which LEFT ARRAY JOIN needs.

use super::literal::{bare_type, named};
use super::typed::needs_name;
use arrow::array::{Array, ArrayRef, ListArray, StructArray, cast::AsArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Fields};
use datafusion::common::{ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;
use tambour_part::types::DataType;

/// `tupleElement(tuple, number or name)`; of an array of tuples, the array of the elements.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TupleElement {
    aliases: Vec<String>,
    signature: Signature,
}

impl TupleElement {
    pub(super) fn new() -> Self {
        Self {
            aliases: vec!["tupleelement".to_owned()],
            signature: Signature::any(2, Volatility::Immutable),
        }
    }
}

/// `tuple(a, b)` in the engine's place: elements without names of their own are called as those of stored tuples are, so that
/// they come out as elements without names.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Tuple {
    signature: Signature,
}

impl Tuple {
    pub(super) fn new() -> Self {
        Self { signature: Signature::variadic_any(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for Tuple {
    fn name(&self) -> &'static str {
        "struct"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, types: &[ArrowType]) -> Result<ArrowType> {
        if types.is_empty() {
            return plan_err!("a tuple has at least one element");
        }
        let field = |(place, data_type): (usize, &ArrowType)| {
            Field::new((place + 1).to_string(), data_type.clone(), true)
        };
        Ok(ArrowType::Struct(types.iter().enumerate().map(field).collect()))
    }
    /// Elements that are never NULL say so in the type, as ClickHouse's do.
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        if args.arg_fields.is_empty() {
            return plan_err!("a tuple has at least one element");
        }
        let field = |(place, field): (usize, &FieldRef)| {
            let name = (place + 1).to_string();
            Field::new(name, field.data_type().clone(), field.is_nullable())
        };
        let fields = args.arg_fields.iter().enumerate().map(field).collect();
        let field = Field::new(self.name(), ArrowType::Struct(fields), false);
        let elements =
            args.arg_fields.iter().map(|it| Some((None, DataType::from_field(it).ok()?)));
        let data_type = elements.collect::<Option<Vec<_>>>().map(DataType::Tuple);
        Ok(Arc::new(match data_type.filter(needs_name) {
            Some(data_type) => named(&data_type).add_to_field(field),
            None => field,
        }))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ArrowType::Struct(fields) = args.return_type() else {
            return plan_err!("a tuple is a struct");
        };
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        Ok(ColumnarValue::Array(Arc::new(StructArray::try_new(fields.clone(), columns, None)?)))
    }
}

/// The place of an element that is named by its number or by its name.
fn place(fields: &Fields, element: Option<&ScalarValue>) -> Result<usize> {
    let names = || fields.iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
    let number = match element.map(|element| element.cast_to(&ArrowType::Int64)) {
        _ if element.is_some_and(|it| super::literal::text(it).is_some()) => None,
        Some(Ok(ScalarValue::Int64(Some(number)))) => Some(number),
        _ => return plan_err!("the element of a tuple is a constant number or name"),
    };
    let found = match (number, element.and_then(super::literal::text)) {
        (Some(number), _) => {
            // Below 0 from the end.
            let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
            let index = if number < 0 { number.checked_add(count) } else { number.checked_sub(1) };
            index
                .and_then(|index| usize::try_from(index).ok())
                .filter(|index| *index < fields.len())
        }
        (None, Some(name)) => fields.iter().position(|field| field.name() == name),
        (None, None) => None,
    };
    let Some(index) = found else {
        return plan_err!(
            "the tuple has no element {}; it has {}: {}",
            element.map(ToString::to_string).unwrap_or_default(),
            fields.len(),
            names()
        );
    };
    Ok(index)
}

/// An element of the rows of a tuple; of a row that is NULL, NULL.
fn element(tuples: &StructArray, index: usize) -> Result<ArrayRef> {
    let values = tuples.column(index);
    let Some(nulls) = tuples.nulls() else { return Ok(Arc::clone(values)) };
    let both = NullBuffer::union(Some(nulls), values.nulls());
    Ok(arrow::array::make_array(values.to_data().into_builder().nulls(both).build()?))
}

/// The field of an element, or of an array of them, with the type that the tuple says.
fn with_type(field: Field, tuple: &Field, index: usize) -> Field {
    let element = |elements: &[(Option<String>, DataType)]| {
        elements.get(index).map(|(_, data_type)| data_type.clone())
    };
    let found = match bare_type(tuple) {
        Some(DataType::Tuple(elements)) => element(&elements),
        Some(DataType::Array(item)) => match *item {
            DataType::Tuple(elements) => element(&elements).map(|it| DataType::Array(Box::new(it))),
            _ => None,
        },
        _ => None,
    };
    match found {
        Some(data_type) => named(&data_type).add_to_field(field),
        None => field,
    }
}

impl ScalarUDFImpl for TupleElement {
    fn name(&self) -> &'static str {
        "tupleElement"
    }
    fn aliases(&self) -> &[String] {
        &self.aliases
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        plan_err!("the type of an element depends on its number")
    }
    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let ([tuple, _], [_, wanted]) = (args.arg_fields, args.scalar_arguments) else {
            return plan_err!("tupleElement takes a tuple and a number or name");
        };
        match tuple.data_type() {
            ArrowType::Struct(fields) => {
                let index = place(fields, *wanted)?;
                let field = &fields[index];
                let is_nullable = field.is_nullable() || tuple.is_nullable();
                let field = field.as_ref().clone().with_nullable(is_nullable);
                Ok(Arc::new(with_type(field, tuple, index)))
            }
            ArrowType::List(item) => match item.data_type() {
                ArrowType::Struct(fields) => {
                    let index = place(fields, *wanted)?;
                    let item = Arc::new(fields[index].as_ref().clone().with_name(item.name()));
                    let list = ArrowType::List(item);
                    let field = Field::new(self.name(), list, tuple.is_nullable());
                    Ok(Arc::new(with_type(field, tuple, index)))
                }
                other => plan_err!("tupleElement takes a tuple, not an array of {other}"),
            },
            other => plan_err!("tupleElement takes a tuple, not {other}"),
        }
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [tuple, ColumnarValue::Scalar(wanted)] = args.args.as_slice() else {
            return exec_err!("the element of a tuple is a constant number or name");
        };
        let values = match tuple {
            ColumnarValue::Array(values) => Arc::clone(values),
            ColumnarValue::Scalar(value) => value.to_array_of_size(1)?,
        };
        let result: ArrayRef = match values.data_type() {
            ArrowType::Struct(fields) => element(values.as_struct(), place(fields, Some(wanted))?)?,
            ArrowType::List(item) => {
                let (ArrowType::Struct(fields), ArrowType::List(target)) =
                    (item.data_type(), args.return_field.data_type())
                else {
                    return exec_err!("tupleElement takes a tuple");
                };
                let lists = values.as_list::<i32>();
                let index = place(fields, Some(wanted))?;
                Arc::new(ListArray::try_new(
                    Arc::clone(target),
                    lists.offsets().clone(),
                    element(lists.values().as_struct(), index)?,
                    lists.nulls().cloned(),
                )?)
            }
            other => return exec_err!("tupleElement takes a tuple, not {other}"),
        };
        Ok(match tuple {
            ColumnarValue::Array(_) => ColumnarValue::Array(result),
            ColumnarValue::Scalar(_) => {
                ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?)
            }
        })
    }
}

/// `emptyArrayToSingle(array)`: an empty array becomes one with the default of its type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct EmptyToSingle {
    aliases: Vec<String>,
    signature: Signature,
}

impl EmptyToSingle {
    pub(super) fn new() -> Self {
        Self {
            aliases: vec!["emptyarraytosingle".to_owned()],
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

fn padded(lists: &ListArray) -> Result<ArrayRef> {
    let ArrowType::List(item) = lists.data_type() else { return exec_err!("it takes an array") };
    let default = default_of(item)?;
    let extended = concat(&[lists.values(), &default])?;
    let end = lists.values().len() as u64;
    let mut indices = Vec::with_capacity(lists.values().len() + lists.len());
    let mut lengths = Vec::with_capacity(lists.len());
    for window in lists.offsets().windows(2) {
        let (start, stop) = (window[0].unsigned_abs(), window[1].unsigned_abs());
        if start == stop {
            indices.push(end);
            lengths.push(1);
        } else {
            indices.extend(u64::from(start)..u64::from(stop));
            lengths.push((stop - start) as usize);
        }
    }
    let values = take(&extended, &arrow::array::UInt64Array::from(indices), None)?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, values, None)?))
}

/// One row of the value that ClickHouse gives where there is none.
pub(super) fn default_of(field: &Field) -> Result<ArrayRef> {
    let value = super::default::scalar(field)?;
    value.to_array_of_size(1)
}

impl ScalarUDFImpl for EmptyToSingle {
    fn name(&self) -> &'static str {
        "emptyArrayToSingle"
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
        match args.arg_fields {
            [only] if matches!(only.data_type(), ArrowType::List(_)) => Ok(Arc::clone(only)),
            _ => plan_err!("emptyArrayToSingle takes an array"),
        }
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(values)] => Ok(ColumnarValue::Array(padded(values.as_list())?)),
            [ColumnarValue::Scalar(value)] => {
                let padded = padded(value.to_array_of_size(1)?.as_list())?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&padded, 0)?))
            }
            _ => exec_err!("emptyArrayToSingle takes an array"),
        }
    }
}
