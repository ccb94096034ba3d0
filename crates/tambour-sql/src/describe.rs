//! ClickHouse's names of types: `DESCRIBE`, `SHOW CREATE TABLE`, `toTypeName`.

use crate::functions::is_variant;
use crate::{SqlError, results};
use arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;
use tambour_part::types::{Column, DataType, Strings, TYPE_KEY};

/// The type as ClickHouse writes it; Arrow's name of one that ClickHouse does not have.
fn type_name(field: &Field) -> String {
    match field.data_type() {
        ArrowType::Null => return "Nullable(Nothing)".to_owned(),
        ArrowType::List(item) if item.data_type().is_null() && !item.is_nullable() => {
            return "Array(Nothing)".to_owned();
        }
        ArrowType::List(item) if item.data_type().is_null() || item.data_type().is_list() => {
            return format!("Array({})", type_name(item));
        }
        _ => {}
    }
    DataType::from_field(field)
        .map_or_else(|_| field.data_type().to_string(), |found| found.to_string())
}

/// Columns of texts.
fn texts(columns: Vec<(&str, Vec<String>)>) -> Result<RecordBatch> {
    let fields: Vec<Field> =
        columns.iter().map(|(name, _)| DataType::String.field(name, Strings::Utf8)).collect();
    let arrays = columns
        .into_iter()
        .map(|(_, values)| Arc::new(StringViewArray::from_iter_values(values)) as ArrayRef);
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays.collect())?)
}

/// A column of lines.
pub(crate) fn lines(name: &str, lines: Vec<String>) -> Result<RecordBatch> {
    texts(vec![(name, lines)])
}

/// Names and types of a schema.
pub(crate) fn columns(schema: &SchemaRef) -> Result<RecordBatch> {
    let schema = results::restored(schema);
    let names = schema.fields().iter().map(|field| field.name().clone()).collect();
    let types = schema.fields().iter().map(|field| type_name(field)).collect();
    texts(vec![("name", names), ("type", types)])
}

/// The columns of a table that holds results of a schema.
pub(crate) fn stored_columns(schema: &SchemaRef) -> std::result::Result<Vec<Column>, SqlError> {
    let schema = results::restored(schema);
    let mut columns = Vec::with_capacity(schema.fields().len());
    for field in schema.fields() {
        let text = match field.metadata().get(TYPE_KEY) {
            Some(variant) if is_variant(field) => variant.clone(),
            _ => type_name(field),
        };
        let Ok(data_type) = text.parse::<DataType>() else {
            return Err(SqlError::refused(
                format!("a column {:?} of type {text}", field.name()),
                "no part holds it; convert it to another type",
            ));
        };
        columns.push(Column { name: field.name().clone(), data_type });
    }
    Ok(columns)
}

/// A CREATE TABLE statement as a result.
pub(crate) fn definition(statement: &str) -> Result<RecordBatch> {
    texts(vec![("statement", vec![statement.to_owned()])])
}

/// `toTypeName(x)`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct TypeName {
    aliases: Vec<String>,
    signature: Signature,
}

impl TypeName {
    pub(crate) fn new() -> Self {
        Self {
            aliases: vec!["totypename".to_owned()],
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for TypeName {
    fn name(&self) -> &'static str {
        "toTypeName"
    }
    fn aliases(&self) -> &[String] {
        &self.aliases
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[ArrowType]) -> Result<ArrowType> {
        Ok(ArrowType::Utf8View)
    }
    fn return_field_from_args(&self, _: ReturnFieldArgs) -> Result<FieldRef> {
        Ok(Arc::new(Field::new(self.name(), ArrowType::Utf8View, false)))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (Some(field), Some(value)) = (args.arg_fields.first(), args.args.first()) else {
            return datafusion::common::plan_err!("toTypeName takes an argument");
        };
        if matches!(field.data_type(), ArrowType::Interval(_)) {
            return datafusion::common::plan_err!("toTypeName does not take intervals");
        }
        let name = match value {
            // A number in a query has 64 bits for DataFusion, for ClickHouse as few as it can.
            ColumnarValue::Scalar(ScalarValue::Int64(Some(number)))
                if field.metadata().is_empty() =>
            {
                narrowest(*number)
            }
            // A constant that is there is not NULL.
            ColumnarValue::Scalar(constant) if !constant.is_null() => {
                type_name(&field.as_ref().clone().with_nullable(false))
            }
            _ => type_name(field),
        };
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(Some(name))))
    }
}

/// The narrowest type of a number.
pub(crate) fn narrowest(number: i64) -> String {
    let bits = [8_u32, 16, 32, 64];
    let (letter, needed) = match u64::try_from(number) {
        Ok(number) => ("U", u64::BITS - number.leading_zeros()),
        Err(_) => ("", i64::BITS - number.leading_ones() + 1),
    };
    let bits = bits.into_iter().find(|bits| needed <= *bits).unwrap_or(64);
    format!("{letter}Int{bits}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_narrow_as_they_can_be() {
        for (number, name) in [
            (0, "UInt8"),
            (255, "UInt8"),
            (256, "UInt16"),
            (65_536, "UInt32"),
            (1 << 32, "UInt64"),
            (-1, "Int8"),
            (-128, "Int8"),
            (-129, "Int16"),
            (-32_769, "Int32"),
            (i64::MIN, "Int64"),
        ] {
            assert_eq!(narrowest(number), name, "{number}");
        }
    }
}
