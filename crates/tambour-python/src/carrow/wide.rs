//! Whole numbers of 128 bits, which Arrow has no type for. Tables hand them out as decimals of 256 bits, as pyarrow reads them;
//! polars has types of its own with formats of its own, and these come and go here. Inside of this crate they are decimals of
//! 128 bits whose field says what they really are.

use crate::failure::Failure;
use arrow_buffer::i256;
use std::sync::Arc;
use tambour::arrow_array::cast::AsArray;
use tambour::arrow_array::types::{Decimal128Type, Decimal256Type};
use tambour::arrow_array::{ArrayRef, PrimitiveArray, RecordBatch, RecordBatchOptions};
use tambour::arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use tambour::part::types::TYPE_KEY;
use tambour::{Kind, Place};

/// What a field has in its metadata inside of this crate: the format of polars.
const FORMAT_KEY: &str = "tambour.format";

/// The formats of polars, and the types of columns.
const FORMATS: [(&str, &str); 2] = [("_pli128", "Int128"), ("_plu128", "UInt128")];

/// How the numbers come in buffers.
pub(crate) const NARROW: DataType = DataType::Decimal128(38, 0);
/// How tables have them.
const WIDE: DataType = DataType::Decimal256(76, 0);

/// The format that a field is exported with instead of its own.
pub(crate) fn format_of(field: &Field) -> Option<&str> {
    let format = field.metadata().get(FORMAT_KEY).map(String::as_str)?;
    // Others may have metadata of this name.
    (is_format(format) && *field.data_type() == NARROW).then_some(format)
}

/// True if polars says so to a field of such numbers.
pub(crate) fn is_format(format: &str) -> bool {
    FORMATS.iter().any(|(known, _)| *known == format)
}

/// The field of such numbers with a format of polars.
pub(crate) fn field(name: &str, format: &str, is_nullable: bool) -> Field {
    let metadata = [(FORMAT_KEY.to_owned(), format.to_owned())];
    Field::new(name, NARROW, is_nullable).with_metadata(metadata.into())
}

/// The schema with these numbers as tables have them.
pub(crate) fn widened_schema(schema: &Schema) -> Schema {
    let widened = |field: &Arc<Field>| {
        let named = format_of(field).and_then(|format| {
            FORMATS.iter().find(|(known, _)| *known == format).map(|(_, name)| *name)
        });
        let Some(name) = named else { return Arc::clone(field) };
        let metadata = [(TYPE_KEY.to_owned(), name.to_owned())];
        let wide = Field::new(field.name(), WIDE, field.is_nullable());
        Arc::new(wide.with_metadata(metadata.into()))
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().map(widened).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// The batch with these numbers as tables have them.
pub(crate) fn widened(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.schema_ref().fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| {
        let Some(format) = format_of(field) else { return Ok(Arc::clone(column)) };
        let numbers = column.as_primitive::<Decimal128Type>();
        let wide: PrimitiveArray<Decimal256Type> = if format == FORMATS[0].0 {
            numbers.unary(i256::from_i128)
        } else {
            numbers.unary(|number| i256::from_parts(number.cast_unsigned(), 0))
        };
        Ok(Arc::new(wide.with_data_type(WIDE)) as ArrayRef)
    });
    let columns = columns.collect::<Result<Vec<_>, ArrowError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// The schema as polars reads it. What polars has no type for is an error that names the column.
pub(crate) fn polars_schema(schema: &Schema) -> Result<Schema, Failure> {
    let narrow = |field: &Arc<Field>| {
        let stated = field.metadata().get(TYPE_KEY).map(|name| plain(name));
        let known = FORMATS.iter().find(|(_, name)| stated == Some(*name));
        match known {
            Some((format, _)) if matches!(field.data_type(), DataType::Decimal256(..)) => {
                let mut narrow = self::field(field.name(), format, field.is_nullable());
                let stated = field.metadata().iter();
                let stated = stated.map(|(key, value)| (key.clone(), value.clone()));
                narrow.metadata_mut().extend(stated);
                Ok(Arc::new(narrow))
            }
            _ if has_wide(field.data_type()) => Err(unknown_to_polars(field)),
            _ => Ok(Arc::clone(field)),
        }
    };
    let fields = schema.fields().iter().map(narrow).collect::<Result<Vec<_>, Failure>>()?;
    Ok(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A type without the NULLs that it may have.
fn plain(name: &str) -> &str {
    name.strip_prefix("Nullable(").and_then(|it| it.strip_suffix(')')).unwrap_or(name)
}

fn has_wide(data_type: &DataType) -> bool {
    match data_type {
        DataType::Decimal256(..) => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            has_wide(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| has_wide(field.data_type())),
        DataType::Dictionary(_, values) => has_wide(values),
        _ => false,
    }
}

fn unknown_to_polars(field: &Field) -> Failure {
    let stated = field.metadata().get(TYPE_KEY).cloned();
    let stated = stated.unwrap_or_else(|| field.data_type().to_string());
    let name = field.name();
    let text = format!(
        "column {name:?} is {stated}, and polars has no such type: read it by pyarrow, or cast it in a query"
    );
    let place = Place { column: Some(name.clone()), ..Place::default() };
    Failure::At(Kind::Unsupported, text, Box::new(place))
}

/// The batch as polars reads it.
pub(crate) fn for_polars(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Failure> {
    let columns = schema.fields().iter().zip(batch.columns());
    let columns = columns.map(|(field, column)| {
        let wide = column.as_primitive_opt::<Decimal256Type>();
        let (Some(_), Some(numbers)) = (format_of(field), wide) else { return Arc::clone(column) };
        // Of those without a sign the highest bit is one like all others.
        let narrow: PrimitiveArray<Decimal128Type> =
            numbers.unary(|number| number.to_parts().0.cast_signed());
        Arc::new(narrow.with_data_type(NARROW)) as ArrayRef
    });
    let columns = columns.collect::<Vec<_>>();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}
