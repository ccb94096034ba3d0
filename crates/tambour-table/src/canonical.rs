//! The Arrow form that rows to insert are brought into: keys are computed from it, so it must be that of the table's types,
//! whatever form the caller has.

use crate::TableError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, DictionaryArray, Int32Array, StringArray};
use arrow_schema::{DataType as ArrowType, Field};
use std::collections::HashMap;
use std::sync::Arc;
use tambour_part::types::{Column, DataType, Strings};

/// A column and how its values must look.
#[derive(Debug)]
pub(super) struct Canonical {
    column: Column,
    /// Names of an enum in the order of its type.
    names: Option<ArrayRef>,
}

impl Canonical {
    pub(super) fn new(column: &Column) -> Self {
        let names = match super::ordinal::bare(&column.data_type) {
            DataType::Enum8(values) => {
                Some(StringArray::from_iter_values(values.iter().map(|(name, _)| name)))
            }
            DataType::Enum16(values) => {
                Some(StringArray::from_iter_values(values.iter().map(|(name, _)| name)))
            }
            _ => None,
        };
        let names = names.map(|names| Arc::new(names) as ArrayRef);
        Self { column: column.clone(), names }
    }

    /// The field of values of this Arrow type. NULLs are the writer's to refuse, since it can name the row.
    pub(super) fn field(&self, arrow: &ArrowType) -> Field {
        let field = self.column.data_type.field(&self.column.name, Strings::Utf8);
        field.with_data_type(arrow.clone()).with_nullable(true)
    }

    /// The values in the form of the column's type. Strings may keep any form that strings have.
    pub(super) fn adapt(&self, values: &ArrayRef) -> Result<ArrayRef, TableError> {
        let data_type = &self.column.data_type;
        if !data_type.accepts(values.data_type()) {
            return Err(self.differs(&values.data_type().to_string()));
        }
        if let Some(names) = &self.names {
            return self.enumerated(values, names);
        }
        let wanted = data_type.arrow(Strings::Utf8);
        if *values.data_type() == wanted || is_nested(&wanted) || is_text(values.data_type()) {
            return Ok(Arc::clone(values));
        }
        let cast = Self::cast(values, &wanted)?;
        if cast.logical_null_count() > values.logical_null_count() {
            return Err(self.differs("a value that the type cannot hold"));
        }
        Ok(cast)
    }

    /// Keys of enums are positions in the type.
    fn enumerated(&self, values: &ArrayRef, names: &ArrayRef) -> Result<ArrayRef, TableError> {
        let wanted = self.column.data_type.arrow(Strings::Utf8);
        if let Some(dictionary) = values.as_any_dictionary_opt()
            && *values.data_type() == wanted
            && dictionary.values() == names
        {
            return Ok(dictionary.with_values(Arc::clone(names)));
        }
        let texts = Self::cast(values, &ArrowType::Utf8)?;
        let known: HashMap<&str, i32> =
            names.as_string::<i32>().iter().flatten().zip(0..).collect();
        let position = |text: Option<&str>| match text {
            None => Ok(None),
            Some(text) => known
                .get(text)
                .map(|position| Some(*position))
                .ok_or_else(|| self.differs(&format!("{text:?}"))),
        };
        let keys: Int32Array =
            texts.as_string::<i32>().iter().map(position).collect::<Result<_, _>>()?;
        let dictionary = DictionaryArray::try_new(keys, Arc::clone(names))
            .map_err(TableError::arrow("numbering the names of an enum"))?;
        Self::cast(&(Arc::new(dictionary) as ArrayRef), &wanted)
    }

    fn cast(values: &ArrayRef, wanted: &ArrowType) -> Result<ArrayRef, TableError> {
        arrow_cast::cast(values, wanted).map_err(TableError::arrow("converting rows to insert"))
    }

    fn differs(&self, got: &str) -> TableError {
        let (name, data_type) = (&self.column.name, &self.column.data_type);
        let (expected, got) = (format!("{name}: {data_type}"), format!("{name}: {got}"));
        TableError::Rows { field: "values of a column", expected, got }
    }
}

fn is_nested(arrow: &ArrowType) -> bool {
    matches!(arrow, ArrowType::List(_) | ArrowType::Struct(_) | ArrowType::Map(..))
}

/// True for strings, in a dictionary or not.
fn is_text(arrow: &ArrowType) -> bool {
    match arrow {
        ArrowType::Dictionary(_, values) => is_text(values),
        ArrowType::Utf8
        | ArrowType::LargeUtf8
        | ArrowType::Utf8View
        | ArrowType::Binary
        | ArrowType::LargeBinary
        | ArrowType::BinaryView => true,
        _ => false,
    }
}
