//! Moments of columns without a zone, which are moments without a zone for Python too. Inside of the library they are of UTC, as
//! they are computed with.

use arrow_data::ArrayData;
use std::sync::Arc;
use tambour::DataType as Stated;
use tambour::arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use tambour::part::types::TYPE_KEY;

/// The zone that they are given inside.
const INSIDE: &str = "UTC";

/// The schema with such moments as Python has them.
pub(crate) fn schema(schema: &SchemaRef) -> SchemaRef {
    let field = |field: &Arc<Field>| {
        let stated = field.metadata().get(TYPE_KEY).and_then(|text| text.parse::<Stated>().ok());
        let naive = stated.and_then(|stated| naive(&stated, field.data_type()));
        naive.map_or_else(|| Arc::clone(field), |naive| with_type(field, naive))
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn with_type(field: &Arc<Field>, data_type: DataType) -> Arc<Field> {
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

/// The type without the zone of moments that have none; `None` if it has none.
fn naive(stated: &Stated, arrow: &DataType) -> Option<DataType> {
    match (stated, arrow) {
        (Stated::Nullable(stated) | Stated::LowCardinality(stated), arrow) => naive(stated, arrow),
        (stated, DataType::Dictionary(keys, values)) => {
            let values = naive(stated, values)?;
            Some(DataType::Dictionary(keys.clone(), Box::new(values)))
        }
        (
            Stated::DateTime { zone: None } | Stated::DateTime64 { zone: None, .. },
            DataType::Timestamp(unit, Some(zone)),
        ) => (zone.as_ref() == INSIDE).then_some(DataType::Timestamp(*unit, None)),
        (Stated::Array(stated), DataType::List(item)) => {
            let data_type = naive(stated, item.data_type())?;
            Some(DataType::List(with_type(item, data_type)))
        }
        (Stated::Tuple(elements), DataType::Struct(fields)) => {
            let stated = elements.iter().map(|(_, stated)| stated);
            Some(DataType::Struct(all(stated, fields)?.into()))
        }
        (Stated::Map(key, value), DataType::Map(entries, sorted)) => {
            let DataType::Struct(fields) = entries.data_type() else { return None };
            let fields = all([key.as_ref(), value.as_ref()].into_iter(), fields)?;
            let entries = with_type(entries, DataType::Struct(fields.into()));
            Some(DataType::Map(entries, *sorted))
        }
        _ => None,
    }
}

/// The fields, some of which are changed; `None` if none is.
fn all<'a>(
    stated: impl Iterator<Item = &'a Stated>,
    fields: &[Arc<Field>],
) -> Option<Vec<Arc<Field>>> {
    let naive: Vec<Option<DataType>> =
        stated.zip(fields).map(|(stated, field)| naive(stated, field.data_type())).collect();
    if naive.len() != fields.len() || naive.iter().all(Option::is_none) {
        return None;
    }
    let pairs = fields.iter().zip(naive);
    Some(
        pairs
            .map(|(field, naive)| {
                naive.map_or_else(|| Arc::clone(field), |it| with_type(field, it))
            })
            .collect(),
    )
}

/// True if types differ in nothing but zones, which do not change the values.
pub(crate) fn is_relabelled(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Timestamp(from, _), DataType::Timestamp(to, _)) => from == to,
        (DataType::Dictionary(keys, from), DataType::Dictionary(others, to)) => {
            keys == others && is_relabelled(from, to)
        }
        (DataType::List(from), DataType::List(to))
        | (DataType::Map(from, _), DataType::Map(to, _)) => {
            is_relabelled(from.data_type(), to.data_type())
        }
        (DataType::Struct(from), DataType::Struct(to)) => {
            let same = |(from, to): (&Arc<Field>, &Arc<Field>)| {
                is_relabelled(from.data_type(), to.data_type())
            };
            from.len() == to.len() && from.iter().zip(to).all(same)
        }
        _ => from == to,
    }
}

/// The same values with other zones.
pub(crate) fn relabelled(data: &ArrayData, to: &DataType) -> Result<ArrayData, ArrowError> {
    let inside: Vec<&DataType> = match to {
        DataType::Dictionary(_, values) => vec![values],
        DataType::List(item) | DataType::Map(item, _) => vec![item.data_type()],
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        _ => Vec::new(),
    };
    let children = data.child_data().iter().zip(inside);
    let children = children.map(|(child, to)| relabelled(child, to)).collect::<Result<_, _>>()?;
    data.clone().into_builder().data_type(to.clone()).child_data(children).build()
}
