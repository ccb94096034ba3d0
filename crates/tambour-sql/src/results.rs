//! Results of the same name. DataFusion wants the columns of a query to be distinct, ClickHouse does not (`SELECT count(),
//! count()`): repeated names carry a number while a query is planned, and lose it when its result is handed out.

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use std::sync::Arc;
use tambour_dialect::marks::written;
use tambour_plan::{has_nothing, of_numbers};

/// The schema with the names that were written. NULLs in tuples become numbers that are NULL: a tuple with values of no type has
/// no type itself.
pub(crate) fn restored(schema: &SchemaRef) -> SchemaRef {
    let is_open = |field: &Field| is_tuple(field.data_type()) && has_nothing(field.data_type());
    if schema.fields().iter().all(|field| written(field.name()).is_none() && !is_open(field)) {
        return Arc::clone(schema);
    }
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .map(|field| {
            let name = written(field.name()).unwrap_or_else(|| field.name());
            let shown = field.as_ref().clone().with_name(name);
            if !is_open(field) {
                return shown;
            }
            let data_type = of_numbers(field.data_type());
            shown.with_data_type(data_type)
        })
        .collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn is_tuple(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) => is_tuple(item.data_type()),
        other => matches!(other, DataType::Struct(_)),
    }
}

/// The batches with the names that were written.
pub(crate) fn stream(stream: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let schema = restored(&stream.schema());
    if Arc::ptr_eq(&schema, &stream.schema()) {
        return stream;
    }
    let of_batches = Arc::clone(&schema);
    let renamed = stream.map(move |batch| rename(batch?, &of_batches));
    Box::pin(RecordBatchStreamAdapter::new(schema, renamed))
}

fn rename(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    // Batches of counts have rows but no columns.
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        let is_same = column.data_type() == field.data_type();
        Ok(if is_same { Arc::clone(column) } else { cast(column, field.data_type())? })
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tambour_dialect::marks::numbered;

    #[test]
    fn names_come_back() {
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        let schema = Arc::new(Schema::new(vec![field("a"), field(&numbered("a", 1))]));
        let names: Vec<String> =
            restored(&schema).fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, ["a", "a"]);
        let plain = Arc::new(Schema::new(vec![field("a"), field("b\u{1f}c")]));
        assert!(Arc::ptr_eq(&plain, &restored(&plain)));
    }
}
