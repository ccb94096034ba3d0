//! The columns of a log of JSON lines: the fields of a sample of its records.

use super::external;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use arrow::error::ArrowError;
use arrow_json::reader::infer_json_schema_from_iterator;
use datafusion::common::Result;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use tambour_record::{Scanned, View};

/// Records whose fields decide over the columns: this many at the start,
const SAMPLE_FIRST: u64 = 1000;
/// and in this many places of the rest
const SAMPLE_PLACES: u64 = 64;
/// this many each.
const SAMPLE_EACH: u64 = 32;

/// The fields of JSON objects in a sample, by name; none if the first record is no object.
pub(super) fn sampled_fields(view: &Arc<View>) -> Result<Fields> {
    let ids = view.ids();
    let count = ids.end - ids.start;
    let first = ids.start..ids.start + count.min(SAMPLE_FIRST);
    let mut stretches = Vec::from([first]);
    if count > SAMPLE_FIRST {
        let places = (0..SAMPLE_PLACES).map(|k| ids.start + count / SAMPLE_PLACES * k);
        stretches.extend(places.map(|start| start..(start + SAMPLE_EACH).min(ids.end)));
    }
    let mut reader = view.reader();
    let mut values = Vec::new();
    for stretch in stretches {
        let mut plain = false;
        let visit = |Scanned { record, .. }: Scanned<'_>| {
            match serde_json::from_slice(record) {
                Ok(value @ serde_json::Value::Object(_)) => values.push(value),
                // The first one decides; a later one is an error for those who ask for its fields.
                _ => plain = values.is_empty(),
            }
            if plain { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        reader.scan(stretch, visit).map_err(external)?;
        if plain {
            return Ok(Fields::empty());
        }
    }
    Ok(inferred_fields(&values))
}

/// A column for each field of the objects, by name. A field that is an object here and a number there is left out; so is one
/// that was null everywhere.
fn inferred_fields(values: &[serde_json::Value]) -> Fields {
    let infer = |values: &mut dyn Iterator<Item = serde_json::Value>| {
        infer_json_schema_from_iterator(values.map(Ok::<_, ArrowError>))
    };
    let mut fields: Vec<FieldRef> = if let Ok(schema) = infer(&mut values.iter().cloned()) {
        schema.fields().iter().cloned().collect()
    } else {
        let objects = values.iter().filter_map(serde_json::Value::as_object);
        let names: BTreeSet<&String> = objects.flat_map(|object| object.keys()).collect();
        let alone = |name: &&String| {
            let mut own = values.iter().filter_map(|value| {
                Some(serde_json::json!({ name.as_str(): value.get(name.as_str())?.clone() }))
            });
            let schema = infer(&mut own).ok()?;
            schema.fields().first().cloned()
        };
        names.iter().filter_map(alone).collect()
    };
    fields.retain(|field| !is_null(field));
    for field in &mut fields {
        if has_large_numbers(field, values) {
            *field = Arc::new(field.as_ref().clone().with_data_type(DataType::UInt64));
        }
    }
    fields.sort_by(|a, b| a.name().cmp(b.name()));
    fields.into()
}

/// Whether all values of a field are whole and not negative, and one of them is above those of `Int64`: as floats they would
/// lose their last digits.
fn has_large_numbers(field: &Field, values: &[serde_json::Value]) -> bool {
    let mut own =
        values.iter().filter_map(|value| value.get(field.name())).filter(|v| !v.is_null());
    *field.data_type() == DataType::Float64 && own.all(serde_json::Value::is_u64)
}

/// A field that was null in every record: no type can be told.
fn is_null(field: &Field) -> bool {
    *field.data_type() == DataType::Null
}
