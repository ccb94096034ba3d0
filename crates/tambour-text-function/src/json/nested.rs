//! Tuples and maps of `JSONExtract`: an element without a name is taken by its place, one with a name from the member that is
//! called so; a map has all members of an object.

use super::extract::build;
use arrow_array::{Array, ArrayRef, StringArray, StructArray};
use arrow_schema::Field;
use std::sync::Arc;
use tambour_function::FunctionError;
use tambour_function::kit::{item_field, map_array, wrong};
use tambour_part::types::DataType;
use tambour_value::json::Json;

/// What an element of a tuple is made of. Arrays have places only.
fn element<'a>(value: Option<&'a Json>, place: usize, name: Option<&str>) -> Option<&'a Json> {
    match (value?, name) {
        (Json::Array(items), _) => items.get(place),
        (Json::Object(members), None) => members.get(place).map(|(_, value)| value),
        (Json::Object(members), Some(name)) => {
            members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
        }
        _ => None,
    }
}

pub(super) fn tuples(
    name: &str,
    elements: &[(Option<String>, DataType)],
    values: &[Option<&Json>],
) -> Result<ArrayRef, FunctionError> {
    let mut fields = Vec::with_capacity(elements.len());
    let mut columns = Vec::with_capacity(elements.len());
    for (place, (called, data_type)) in elements.iter().enumerate() {
        let found = values.iter().map(|value| element(*value, place, called.as_deref()));
        let found: Vec<Option<&Json>> = found.collect();
        let column = build(name, data_type, &found)?;
        let called = called.clone().unwrap_or_else(|| (place + 1).to_string());
        let field: Field = item_field(data_type, &column).as_ref().clone();
        fields.push(field.with_name(called));
        columns.push(column);
    }
    let tuples = StructArray::try_new(fields.into(), columns, None);
    Ok(Arc::new(tuples.map_err(FunctionError::arrow("extract tuples"))?))
}

pub(super) fn maps(
    name: &str,
    wanted: &DataType,
    values: &[Option<&Json>],
) -> Result<ArrayRef, FunctionError> {
    let DataType::Map(key, value) = wanted else { return Err(wrong(name, "it extracts a map")) };
    let (mut keys, mut members, mut lengths) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        let of_row: &[(String, Json)] = match value {
            Some(Json::Object(members)) => members,
            _ => &[],
        };
        lengths.push(of_row.len());
        keys.extend(of_row.iter().map(|(name, _)| name.as_str()));
        members.extend(of_row.iter().map(|(_, value)| Some(value)));
    }
    let keys: ArrayRef = Arc::new(StringArray::from(keys));
    let keys = in_form(&keys, key)?;
    let values = build(name, value, &members)?;
    map_array(lengths, keys, values, wanted)
}

/// Texts in the form that the type of keys has.
fn in_form(keys: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, FunctionError> {
    let form = wanted.field("", tambour_part::types::Strings::Utf8);
    if form.data_type() == keys.data_type() {
        return Ok(keys.clone());
    }
    tambour_function::cast(keys, form.data_type())
}
