//! Batches of the types that their stream announced. Whoever reads a stream takes the buffers for what the schema says, so a
//! batch of other types would be read as garbage, or past the end of memory.

use super::naive;
use crate::failure::Failure;
use arrow_cast::{CastOptions, cast_with_options};
use std::sync::Arc;
use tambour::arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use tambour::arrow_schema::{DataType, Field, SchemaRef};

/// The batch with the types of the schema: as it is, or cast where a cast keeps every value. All else is an error.
pub(crate) fn conform(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, Failure> {
    let (fields, columns) = (schema.fields(), batch.columns());
    if fields.len() != columns.len() {
        let (expected, got) = (fields.len(), columns.len());
        return Err(fault(&format!("expected {expected} columns, got {got}")));
    }
    let mut pairs = fields.iter().zip(columns);
    if pairs.all(|(field, column)| field.data_type() == column.data_type()) {
        return Ok(batch);
    }
    let cast = fields.iter().zip(columns).map(|(field, column)| of_field(column, field));
    let cast = cast.collect::<Result<Vec<_>, _>>()?;
    // Whether a column may have NULLs does not change its buffers, so the announced fields are not compared with the arrays.
    let fields = fields.iter().zip(&cast).map(|(field, column)| {
        let is_nullable = field.is_nullable() || column.null_count() > 0;
        field.as_ref().clone().with_nullable(is_nullable)
    });
    let fields = fields.collect::<Vec<_>>();
    let schema =
        tambour::arrow_schema::Schema::new_with_metadata(fields, schema.metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::new(schema), cast, &options)?)
}

fn of_field(column: &ArrayRef, field: &Field) -> Result<ArrayRef, Failure> {
    let (got, expected) = (column.data_type(), field.data_type());
    if got == expected {
        return Ok(Arc::clone(column));
    }
    if naive::is_relabelled(got, expected) {
        return Ok(make_array(naive::relabelled(&column.to_data(), expected)?));
    }
    if !is_exact(got, expected) {
        let name = field.name();
        return Err(fault(&format!("column {name:?} came as {got} instead of {expected}")));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    Ok(cast_with_options(column, expected, &options)?)
}

fn fault(what: &str) -> Failure {
    Failure::Fault(format!("a fault of Tambour, please report it: {what}"))
}

/// True if a cast keeps every value: texts in another layout, dictionaries or what they stand for, moments in another zone.
fn is_exact(from: &DataType, to: &DataType) -> bool {
    use DataType as T;
    match (from, to) {
        (T::Dictionary(_, from), T::Dictionary(_, to)) => is_exact(from, to),
        (T::Dictionary(_, from), to) => is_exact(from, to),
        (from, T::Dictionary(_, to)) => is_exact(from, to),
        (T::Timestamp(from, _), T::Timestamp(to, _)) => from == to,
        (T::List(from) | T::LargeList(from), T::List(to) | T::LargeList(to))
        | (T::Map(from, _), T::Map(to, _)) => is_exact(from.data_type(), to.data_type()),
        (T::Struct(from), T::Struct(to)) => {
            from.len() == to.len()
                && from.iter().zip(to).all(|(from, to)| {
                    from.name() == to.name() && is_exact(from.data_type(), to.data_type())
                })
        }
        _ => from == to || is_text(from) && is_text(to) || is_bytes(from) && is_bytes(to),
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_bytes(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Binary | DataType::LargeBinary | DataType::BinaryView)
}
