//! The rows of one part with their numbers: what a change is decided on. Granules in which no row can match are left out.

use super::schema_of;
use crate::context::Session;
use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session as Planning;
use datafusion::common::Result;
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::TableProviderFilterPushDown;
use datafusion::physical_expr::expressions::col;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use std::sync::Arc;
use tambour_part::types::Strings;
use tambour_scan::pushdown::Pushdown;
use tambour_table::predicate::Predicate;
use tambour_table::scan::{Scan, ScanRequest, starts_of};
use tambour_table::{Table, TableError};

/// The column with the numbers, from 0; nobody types this name.
pub(super) const ROW: &str = "\u{1f}row";

/// A table of one part, with the number of each row as the last column.
#[derive(Debug)]
pub(super) struct Numbered {
    table: Arc<Table>,
    schema: SchemaRef,
    strings: Strings,
    batch_rows: usize,
}

impl Numbered {
    /// Over a table that has one part.
    pub(super) fn new(session: &Session, table: Table) -> Self {
        let plain = schema_of(session, &table);
        let mut fields: Vec<_> = plain.fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(ROW, DataType::UInt64, false)));
        let schema = Arc::new(Schema::new(fields));
        let (strings, batch_rows) = (session.strings, session.batch_rows);
        Self { table: Arc::new(table), schema, strings, batch_rows }
    }

    fn pushdown(&self) -> Pushdown<'_> {
        Pushdown { columns: self.table.columns(), strings: self.strings }
    }
}

#[async_trait]
impl TableProvider for Numbered {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
    fn table_type(&self) -> TableType {
        TableType::Base
    }
    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        // Rows that are deleted have no number, and granules do not tell how many of theirs are.
        let is_counted = !self.table.has_deleted_rows();
        let support = |filter: &&Expr| match self.pushdown().filter(filter) {
            Predicate::Unknown => TableProviderFilterPushDown::Unsupported,
            _ if is_counted => TableProviderFilterPushDown::Inexact,
            _ => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(support).collect())
    }
    async fn scan(
        &self,
        _state: &dyn Planning,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => Arc::clone(&self.schema),
        };
        let names = schema.fields().iter().map(|field| field.name().clone());
        let request = ScanRequest {
            columns: names.filter(|name| name != ROW).collect(),
            predicate: self.pushdown().all(filters),
            strings: self.strings,
            batch_rows: self.batch_rows,
            ..ScanRequest::default()
        };
        let (scan, _) = Scan::plan(&self.table, &request).map_err(external)?;
        let order = match schema.index_of(ROW) {
            Ok(_) => LexOrdering::new([PhysicalSortExpr::new(
                col(ROW, &schema)?,
                SortOptions { descending: false, nulls_first: false },
            )]),
            Err(_) => None,
        };
        let rows = Rows { table: Arc::clone(&self.table), scan, schema: Arc::clone(&schema) };
        let partitions: Vec<Arc<dyn PartitionStream>> = vec![Arc::new(rows)];
        let plan = StreamingTableExec::try_new(schema, partitions, None, order, false, None)?;
        Ok(Arc::new(plan))
    }
}

/// The rows of the part as a stream.
#[derive(Debug)]
struct Rows {
    table: Arc<Table>,
    scan: Scan,
    schema: SchemaRef,
}

impl Rows {
    /// The numbers of the rows that are read.
    fn numbers(&self) -> impl Iterator<Item = u64> + Send + use<> {
        let starts = self.table.parts().first().map(|part| starts_of(part.granules()));
        let starts = starts.unwrap_or_default();
        let ranges = self.scan.partitions.iter().flatten().cloned().collect::<Vec<_>>();
        let is_whole = self.table.has_deleted_rows();
        let whole = is_whole.then_some(0..u64::MAX);
        let read = ranges.into_iter().filter_map(move |range| {
            (!is_whole).then_some(*starts.get(range.start)?..*starts.get(range.end)?)
        });
        whole.into_iter().chain(read).flatten()
    }
}

impl PartitionStream for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }
    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let schema = Arc::clone(&self.schema);
        let of_batches = Arc::clone(&self.schema);
        let reader = self.scan.run(0, self.table.storage(), Some(&self.table));
        let mut numbers = self.numbers();
        let mut number = move |batch: RecordBatch| {
            let numbers: UInt64Array = numbers.by_ref().take(batch.num_rows()).collect();
            numbered(&batch, Arc::new(numbers), &of_batches)
        };
        let batches: Box<dyn Iterator<Item = Result<RecordBatch>> + Send> = match reader {
            Ok(reader) => {
                Box::new(reader.map(move |batch| batch.map_err(external).and_then(&mut number)))
            }
            Err(error) => Box::new(std::iter::once(Err(external(error)))),
        };
        Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches)))
    }
}

/// Puts the numbers where the schema wants them.
fn numbered(batch: &RecordBatch, numbers: ArrayRef, schema: &SchemaRef) -> Result<RecordBatch> {
    let mut columns = batch.columns().iter();
    let take = |field: &Arc<Field>| {
        if field.name() == ROW { Some(Arc::clone(&numbers)) } else { columns.next().cloned() }
    };
    let columns: Option<Vec<ArrayRef>> = schema.fields().iter().map(take).collect();
    let columns = columns.ok_or_else(|| {
        DataFusionError::Internal("a scan gave fewer columns than it was asked for".to_owned())
    })?;
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

fn external(error: TableError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
