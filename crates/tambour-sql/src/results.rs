//! Results of the same name. DataFusion wants the columns of a query to be distinct, ClickHouse does not (`SELECT count(),
//! count()`): repeated names carry a number while a query is planned, and lose it when its result is handed out.

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use std::sync::Arc;
use tambour_dialect::marks::written;

/// The schema with the names that were written.
pub(crate) fn restored(schema: &SchemaRef) -> SchemaRef {
    if schema.fields().iter().all(|field| written(field.name()).is_none()) {
        return Arc::clone(schema);
    }
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .map(|field| match written(field.name()) {
            Some(name) => field.as_ref().clone().with_name(name),
            None => field.as_ref().clone(),
        })
        .collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
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
    let columns = batch.columns().to_vec();
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::DataType;
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
