//! Expressions over rows that no table has yet: queries of the session over one batch after another, planned once.

use crate::SqlError;
use crate::context::Session;
use crate::execution::Planned;
use arrow::array::{RecordBatch, UInt8Array};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Column as Name, SchemaError, TableReference};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::{StreamExt, stream};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use tambour_dialect as dialect;
use tambour_part::types::{Column, Strings, arrow_schema};

/// A column that is there even if no expression reads one: rows are counted by it.
const COUNTED: &str = "\u{1f}counted";

/// Columns that are computed from those of a batch.
pub(crate) struct Derived {
    rows: Arc<Rows>,
    query: Planned,
}

impl std::fmt::Debug for Derived {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Derived").field("rows", &self.rows.schema).finish_non_exhaustive()
    }
}

impl Derived {
    /// For rows with these columns.
    pub(crate) async fn new(
        session: &Session,
        table: &str,
        columns: &[Column],
        steps: &[Vec<Step>],
    ) -> Result<Self, SqlError> {
        let rows = Arc::new(Rows::new(columns, steps, session.strings));
        let query = session.computing(table, Arc::clone(&rows), steps).await;
        let query = query.map_err(|error| with_all(error, columns))?;
        Ok(Self { rows, query })
    }

    /// Where the column of a step is in what is computed.
    pub(crate) fn place(&self, name: &str) -> Result<usize, SqlError> {
        Ok(self.query.schema().index_of(name).map_err(DataFusionError::from)?)
    }

    /// The columns of all steps for the rows of a batch, in their order.
    pub(crate) async fn of(&self, batch: &RecordBatch) -> Result<RecordBatch, SqlError> {
        self.rows.put(batch)?;
        let mut stream = self.query.rows()?;
        let mut made = Vec::new();
        while let Some(batch) = stream.next().await {
            made.push(batch?);
        }
        let made = concat_batches(&stream.schema(), &made).map_err(DataFusionError::from)?;
        if made.num_rows() != batch.num_rows() {
            let told = format!("{} rows were computed of {}", made.num_rows(), batch.num_rows());
            return Err(DataFusionError::Internal(told).into());
        }
        Ok(made)
    }
}

/// An error of a column that is not there names those that are, also if no expression reads them.
fn with_all(error: SqlError, columns: &[Column]) -> SqlError {
    let SqlError::Query(cause) = &error else { return error };
    let DataFusionError::SchemaError(cause, _) = cause.find_root() else { return error };
    let SchemaError::FieldNotFound { field, .. } = cause.as_ref() else { return error };
    let valid_fields = columns.iter().map(|it| Name::new_unqualified(&it.name)).collect();
    let cause = SchemaError::FieldNotFound { field: field.clone(), valid_fields };
    DataFusionError::SchemaError(Box::new(cause), Box::new(None)).into()
}

/// A column that is computed.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) name: String,
    /// Its expression.
    pub(crate) sql: String,
    /// The columns that the expression names.
    pub(crate) reads: BTreeSet<String>,
}

/// The columns that steps read, and where they stand among these.
pub(crate) fn read_by(steps: &[Vec<Step>], columns: &[Column]) -> (Vec<usize>, Vec<Column>) {
    // `t.y` may be of the tuple `t`.
    let is_of = |read: &String, name: &str| {
        read.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let reads = || steps.iter().flatten().flat_map(|step| &step.reads);
    let is_read = |column: &Column| reads().any(|read| is_of(read, &column.name));
    let read = columns.iter().enumerate().filter(|(_, column)| is_read(column));
    read.map(|(place, column)| (place, column.clone())).unzip()
}

/// The columns in steps, each of which reads nothing but what is given and what the steps before made.
pub(crate) fn ordered(mut waiting: BTreeMap<String, Step>) -> Result<Vec<Vec<Step>>, SqlError> {
    let reads = waiting.iter().map(|(name, step)| (name.clone(), step.reads.clone()));
    let layers = dialect::in_layers(reads.collect()).map_err(|names| {
        SqlError::refused(format!("the DEFAULT of {}", names.join(", ")), "they need each other")
    })?;
    let mut step = |name: &String| waiting.remove(name);
    Ok(layers.iter().map(|layer| layer.iter().filter_map(&mut step).collect()).collect())
}

impl Session {
    /// Plans the query that makes the columns of all steps. It runs on one thread: rows stay in their order.
    async fn computing(
        &self,
        table: &str,
        rows: Arc<Rows>,
        steps: &[Vec<Step>],
    ) -> Result<Planned, SqlError> {
        let quoted = |name: &str| format!("\"{}\"", super::between_quotes(name));
        let own = format!("\u{1f}rows of {table}");
        let mut from = format!("{} AS {}", quoted(&own), quoted(table));
        for (number, step) in steps.iter().enumerate() {
            let values = step.iter().map(|it| format!("{} AS {}", it.sql, quoted(&it.name)));
            let values: Vec<String> = values.collect();
            from = format!("(SELECT *, {} FROM {from}) AS {}", values.join(", "), quoted(table));
            if number + 1 == steps.len() {
                from = format!("SELECT * FROM {from}");
            }
        }
        let mut catalog = self.catalog();
        let names = rows.schema.fields().iter().map(|field| field.name().clone()).collect();
        catalog.insert(own.clone(), names);
        let place = TableReference::bare(own);
        let provider = StreamingTable::try_new(Arc::clone(&rows.schema), vec![rows])?;
        self.context().register_table(place.clone(), Arc::new(provider))?;
        let planned = match dialect::prepare_for(&from, &catalog) {
            Ok(prepared) => self.planned(prepared, &from).await,
            Err(error) => Err(error.into()),
        };
        // What is planned keeps the rows.
        self.context().deregister_table(place)?;
        let planned = planned?;
        check(table, planned.frame.logical_plan())?;
        planned.on_one_thread().plan().await
    }
}

/// An error if more than the values of a row is needed for its DEFAULTs: subqueries, aggregates, `arrayJoin`.
fn check(table: &str, plan: &LogicalPlan) -> Result<(), SqlError> {
    let mut has_more = false;
    plan.apply_with_subqueries(|node| {
        has_more |= !matches!(
            node,
            LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::TableScan(_)
        );
        Ok(if has_more { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if has_more {
        return Err(SqlError::refused(
            format!("the expression of a column of {table:?}"),
            "it needs more than the values of the row: a query, an aggregate, arrayJoin",
        ));
    }
    Ok(())
}

/// The rows that the query is over now.
#[derive(Debug)]
struct Rows {
    schema: SchemaRef,
    /// Where the columns that are read stand among those that are completed.
    columns: Vec<usize>,
    now: Mutex<Option<RecordBatch>>,
}

impl Rows {
    /// For rows with these columns, of which some steps read some.
    fn new(columns: &[Column], steps: &[Vec<Step>], strings: Strings) -> Self {
        let (columns, read) = read_by(steps, columns);
        let mut fields: Vec<FieldRef> =
            arrow_schema(&read, strings).fields().iter().cloned().collect();
        fields.push(Arc::new(Field::new(COUNTED, DataType::UInt8, false)));
        Self { schema: Arc::new(Schema::new(fields)), columns, now: Mutex::default() }
    }

    fn put(&self, batch: &RecordBatch) -> Result<()> {
        let fields = self.schema.fields().iter().zip(&self.columns);
        let columns = fields.map(|(field, index)| cast(batch.column(*index), field.data_type()));
        let mut columns = columns.collect::<Result<Vec<_>, _>>()?;
        columns.push(Arc::new(UInt8Array::from(vec![0; batch.num_rows()])));
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = Some(batch);
        Ok(())
    }
}

impl PartitionStream for Rows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }
    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner).take();
        let rows = stream::iter(now.map(Ok));
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}
