//! ClickHouse's names of types: `DESCRIBE`, `SHOW CREATE TABLE`, `toTypeName`.

use crate::system::Shown;
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
use tambour_plan::{has_nothing, is_variant, narrowest};

/// The type as ClickHouse writes it; Arrow's name of one that ClickHouse does not have.
fn type_name(field: &Field) -> String {
    if field.metadata().contains_key(TYPE_KEY)
        && let Ok(named) = DataType::from_field(field)
    {
        return named.to_string();
    }
    match field.data_type() {
        ArrowType::Null => return "Nullable(Nothing)".to_owned(),
        ArrowType::List(item) if item.data_type().is_null() && !item.is_nullable() => {
            return "Array(Nothing)".to_owned();
        }
        ArrowType::List(item) if has_nothing(item.data_type()) || item.data_type().is_list() => {
            return format!("Array({})", type_name(item));
        }
        ArrowType::Struct(fields) if has_nothing(field.data_type()) => {
            let elements: Vec<String> = fields.iter().map(|it| type_name(it)).collect();
            let tuple = format!("Tuple({})", elements.join(", "));
            return if field.is_nullable() { format!("Nullable({tuple})") } else { tuple };
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

/// The columns of a schema, of which nothing is known but names and types.
pub(crate) fn plain(schema: &SchemaRef) -> Vec<Shown> {
    let schema = results::restored(schema);
    let of = |field: &Arc<Field>| Shown {
        name: field.name().clone(),
        data_type: type_name(field),
        ..Shown::default()
    };
    schema.fields().iter().map(of).collect()
}

/// What DESCRIBE says of columns.
pub(crate) fn columns(columns: &[Shown]) -> Result<RecordBatch> {
    let of = |part: fn(&Shown) -> &str| columns.iter().map(|it| part(it).to_owned()).collect();
    texts(vec![
        ("name", of(|it| &it.name)),
        ("type", columns.iter().map(|it| spread(&it.data_type)).collect()),
        ("default_type", of(|it| it.default_kind)),
        ("default_expression", of(|it| &it.default)),
        ("comment", of(|it| &it.comment)),
        ("codec_expression", of(|it| &it.codec)),
        ("ttl_expression", of(|it| &it.ttl)),
    ])
}

/// True if the elements of a tuple have names, from its first element on.
fn is_named(elements: &str) -> bool {
    let (mut depth, mut quote) = (0_usize, None);
    for character in elements.chars() {
        match (character, quote) {
            (it, Some(end)) => quote = Some(end).filter(|end| it != *end),
            ('\'' | '`', None) => quote = Some(character),
            ('(', None) => depth += 1,
            (')' | ',', None) if depth == 0 => return false,
            (')', None) => depth -= 1,
            (' ', None) if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

/// A type with the named elements of its tuples on lines of their own.
fn spread(data_type: &str) -> String {
    let mut text = String::with_capacity(data_type.len());
    // Whether each open parenthesis is that of a tuple.
    let mut open: Vec<bool> = Vec::new();
    let mut quote = None;
    let mut is_escaped = false;
    let mut characters = data_type.chars().peekable();
    let mut past = 0;
    while let Some(character) = characters.next() {
        text.push(character);
        past += character.len_utf8();
        if let Some(end) = quote {
            quote = quote.filter(|_| is_escaped || character != end);
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        match character {
            '\'' | '`' => quote = Some(character),
            '(' => open.push(
                ["Tuple(", "Nested("].iter().any(|it| text.ends_with(it))
                    && is_named(data_type.get(past..).unwrap_or_default()),
            ),
            ')' => {
                open.pop();
            }
            _ => {}
        }
        let is_begun = matches!(character, '(' | ',') && open.last() == Some(&true);
        if is_begun && characters.peek() != Some(&')') {
            while characters.next_if_eq(&' ').is_some() {
                past += 1;
            }
            let depth = open.iter().filter(|is_tuple| **is_tuple).count();
            text.push('\n');
            text.push_str(&"    ".repeat(depth));
        }
    }
    text
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
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(Some(spread(&name)))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_tuples_have_their_lines() {
        for (name, expected) in [
            ("Map(String, Array(UInt8))", "Map(String, Array(UInt8))"),
            ("Array(Tuple(x UInt8, y String))", "Array(Tuple(\n    x UInt8,\n    y String))"),
            (
                "Tuple(x Enum8('a, (' = 1), `y z` Tuple(Decimal(9, 2)))",
                "Tuple(\n    x Enum8('a, (' = 1),\n    `y z` Tuple(Decimal(9, 2)))",
            ),
            ("Tuple(UInt8, Tuple(x Int8))", "Tuple(UInt8, Tuple(\n    x Int8))"),
        ] {
            assert_eq!(spread(name), expected);
        }
    }
}
