//! A log of records as a table: JSON lines with a schema on read.
//!
//! Each record is a row. `_id`, `_time` and `_record` are what the store knows of it; the other columns are the fields of
//! JSON objects, with types taken from a sample, and where a query names others, from all records. Only the fields that a
//! query names are parsed; records that are not objects have none. Segments that have no
//! wanted time, and ids that are not wanted, are not read.

mod column;
mod fields;
mod json;
mod rows;
mod shape;
mod words;

use self::fields::{further_fields, sampled_fields};
use self::rows::Rows;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Result, ScalarValue, SchemaError};
use datafusion::datasource::{TableProvider, TableType};
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use std::any::Any;
use std::ops::{ControlFlow, Range};
use std::sync::{Arc, PoisonError, RwLock};
use tambour_part::types::Strings;
use tambour_record::{Query, RecordError, Scanned, View};

/// What a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Id,
    Time,
    Record,
    Field,
}

/// The records of one category, as the SQL engine sees them.
#[derive(Debug)]
pub struct RecordTable {
    view: Arc<View>,
    columns: RwLock<Columns>,
    batch_rows: usize,
}

/// The columns as they are known.
#[derive(Clone, Debug)]
struct Columns {
    schema: SchemaRef,
    sources: Vec<Source>,
    /// Names that were looked for in all records, and not in a sample alone.
    looked_for: Vec<String>,
}

impl RecordTable {
    /// A provider for a view. The columns come from a sample of the records.
    pub fn new(view: Arc<View>, strings: Strings, batch_rows: usize) -> Result<Self> {
        let fields = sampled_fields(&view)?;
        let text = match strings {
            Strings::Utf8 => DataType::Utf8,
            Strings::Binary => DataType::Binary,
        };
        let known = [
            ("_id", DataType::UInt64, false, Source::Id),
            ("_time", DataType::Timestamp(TimeUnit::Microsecond, None), true, Source::Time),
            ("_record", text, false, Source::Record),
        ];
        let mut sources = Vec::new();
        let mut columns = Vec::new();
        for (name, data_type, nullable, source) in known {
            // What the records call so keeps its name.
            let mut name = name.to_owned();
            while fields.iter().any(|field| *field.name() == name) {
                name.insert(0, '_');
            }
            columns.push(Arc::new(Field::new(name, data_type, nullable)));
            sources.push(source);
        }
        sources.extend(fields.iter().map(|_| Source::Field));
        columns.extend(fields.iter().cloned());
        let schema = Arc::new(Schema::new(columns));
        let columns = RwLock::new(Columns { schema, sources, looked_for: Vec::new() });
        Ok(Self { view, columns, batch_rows })
    }

    fn columns(&self) -> Columns {
        self.columns.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks for a field that the sample did not have in all records; whether it is there. It comes after the known ones,
    /// so that queries which are planned already find theirs.
    pub(crate) fn widen(&self, wanted: &str) -> Result<bool> {
        let known = self.columns();
        if known.looked_for.iter().any(|name| name == wanted) {
            return Ok(false);
        }
        let further = further_fields(&self.view, wanted)?;
        let is_wider = !further.is_empty();
        let mut looked_for = known.looked_for;
        looked_for.push(wanted.to_owned());
        let mut sources = known.sources;
        sources.extend(further.iter().map(|_| Source::Field));
        let fields: Vec<_> = known.schema.fields().iter().cloned().chain(further).collect();
        let schema = Arc::new(Schema::new(fields));
        let mut columns = self.columns.write().unwrap_or_else(PoisonError::into_inner);
        *columns = Columns { schema, sources, looked_for };
        Ok(is_wider)
    }

    /// The bounds that filters set.
    fn bounds(&self, filters: &[Expr]) -> Bounds {
        let mut bounds = Bounds { ids: self.view.ids(), times: None, only: None };
        for filter in filters {
            self.narrow(&mut bounds, filter);
        }
        let queries: Vec<Query> = filters.iter().filter_map(|filter| self.query(filter)).collect();
        if !queries.is_empty() && self.view.has_index() {
            bounds.only = Some(Arc::new(self.view.candidates(&Query::And(queries))));
        }
        bounds
    }

    /// What a filter says of the words of records, for an index.
    fn query(&self, filter: &Expr) -> Option<Query> {
        let Columns { schema, sources, .. } = self.columns();
        let record = sources.iter().position(|source| *source == Source::Record)?;
        words::query_of(filter, schema.field(record).name())
    }

    /// Narrows the bounds by a filter as far as it is understood; whether it is.
    fn narrow(&self, bounds: &mut Bounds, filter: &Expr) -> bool {
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                // Both sides, even if only one of them is understood.
                self.narrow(bounds, left) | self.narrow(bounds, right)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (&**left, &**right) {
                (Expr::Column(column), Expr::Literal(value, _)) => {
                    self.compare(bounds, &column.name, *op, value)
                }
                (Expr::Literal(value, _), Expr::Column(column)) => {
                    let turned = op.swap();
                    turned.is_some_and(|op| self.compare(bounds, &column.name, op, value))
                }
                _ => false,
            },
            Expr::Between(between) if !between.negated => {
                let (Expr::Column(column), Expr::Literal(low, _), Expr::Literal(high, _)) =
                    (&*between.expr, &*between.low, &*between.high)
                else {
                    return false;
                };
                self.compare(bounds, &column.name, Operator::GtEq, low)
                    | self.compare(bounds, &column.name, Operator::LtEq, high)
            }
            _ => false,
        }
    }

    fn compare(&self, bounds: &mut Bounds, name: &str, op: Operator, value: &ScalarValue) -> bool {
        let Columns { schema, sources, .. } = self.columns();
        let Ok(index) = schema.index_of(name) else { return false };
        match (sources[index], value) {
            (Source::Id, ScalarValue::UInt64(Some(id))) => {
                let wanted = range(op, *id, 0, u64::MAX, |id| id.saturating_add(1));
                wanted.map(|wanted| meet(&mut bounds.ids, &wanted)).is_some()
            }
            (Source::Time, ScalarValue::TimestampMicrosecond(Some(time), _)) => {
                let next = |time: i64| time.saturating_add(1);
                let wanted = range(op, *time, i64::MIN, i64::MAX, next);
                let Some(wanted) = wanted else { return false };
                meet(bounds.times.get_or_insert(i64::MIN..i64::MAX), &wanted);
                true
            }
            _ => false,
        }
    }

    fn plan(&self, projection: &[usize], bounds: &Bounds, partitions: usize) -> Vec<Part> {
        let known = self.columns();
        let schema = Arc::new(Schema::new(
            projection.iter().map(|index| known.schema.field(*index).clone()).collect::<Vec<_>>(),
        ));
        let sources: Vec<Source> = projection.iter().map(|index| known.sources[*index]).collect();
        let part = |ids: Range<u64>| Part {
            view: Arc::clone(&self.view),
            schema: Arc::clone(&schema),
            sources: sources.clone(),
            ids,
            times: bounds.times.clone(),
            only: bounds.only.clone(),
            batch_rows: self.batch_rows,
        };
        if bounds.times.is_some() {
            // Times are found segment by segment, in one go.
            return vec![part(bounds.ids.clone())];
        }
        let Range { start, end } = bounds.ids;
        let count = end.saturating_sub(start);
        let partitions = (partitions as u64).clamp(1, (count / self.batch_rows as u64).max(1));
        let edge =
            |k: u64| if k == partitions { end.max(start) } else { start + count / partitions * k };
        (0..partitions).map(|k| part(edge(k)..edge(k + 1))).collect()
    }
}

/// Where a column is missing, looks for it in all records of the logs that a statement names; whether it is there.
pub(crate) async fn widen(
    state: &SessionState,
    error: &DataFusionError,
    statement: &str,
) -> Result<bool> {
    let DataFusionError::SchemaError(error, _) = error.find_root() else { return Ok(false) };
    let SchemaError::FieldNotFound { field, .. } = error.as_ref() else { return Ok(false) };
    let mut is_wider = false;
    let catalogs = state.catalog_list();
    for catalog in catalogs.catalog_names().iter().filter_map(|name| catalogs.catalog(name)) {
        for schema in catalog.schema_names().iter().filter_map(|name| catalog.schema(name)) {
            for name in schema.table_names().into_iter().filter(|it| statement.contains(it)) {
                let table = schema.table(&name).await?;
                let log = table.as_deref().and_then(|it| (it as &dyn Any).downcast_ref());
                if let Some(log) = log {
                    is_wider |= RecordTable::widen(log, &field.name)?;
                }
            }
        }
    }
    Ok(is_wider)
}

/// What is wanted.
#[derive(Clone, Debug)]
struct Bounds {
    ids: Range<u64>,
    /// `None`: any time, or none.
    times: Option<Range<i64>>,
    /// Ids that an index of words proposes; `None`: all.
    only: Option<Arc<Vec<Range<u64>>>>,
}

/// The values that a comparison lets through.
fn range<T: Copy>(
    op: Operator,
    value: T,
    min: T,
    max: T,
    next: impl Fn(T) -> T,
) -> Option<Range<T>> {
    match op {
        Operator::Eq => Some(value..next(value)),
        Operator::Lt => Some(min..value),
        Operator::LtEq => Some(min..next(value)),
        Operator::Gt => Some(next(value)..max),
        Operator::GtEq => Some(value..max),
        _ => None,
    }
}

fn meet<T: Ord + Copy>(range: &mut Range<T>, other: &Range<T>) {
    range.start = range.start.max(other.start);
    range.end = range.end.min(other.end).max(range.start);
}

fn external(error: RecordError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

#[async_trait]
impl TableProvider for RecordTable {
    fn schema(&self) -> SchemaRef {
        self.columns().schema
    }
    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.columns().schema.fields().len()).collect();
        let projection = projection.unwrap_or(&all);
        let bounds = self.bounds(filters);
        let parts = self.plan(projection, &bounds, state.config().target_partitions());
        let schema = Arc::clone(&parts[0].schema);
        let streams = parts.into_iter().map(|part| Arc::new(part) as Arc<dyn PartitionStream>);
        let limit = limit.filter(|_| filters.is_empty());
        Ok(Arc::new(StreamingTableExec::try_new(
            schema,
            streams.collect(),
            None,
            [],
            false,
            limit,
        )?))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| {
            let mut bounds = Bounds { ids: 0..u64::MAX, times: None, only: None };
            if self.narrow(&mut bounds, filter) || self.query(filter).is_some() {
                TableProviderFilterPushDown::Inexact
            } else {
                TableProviderFilterPushDown::Unsupported
            }
        };
        Ok(filters.iter().map(support).collect())
    }
}

/// One partition of a scan.
#[derive(Clone, Debug)]
struct Part {
    view: Arc<View>,
    schema: SchemaRef,
    sources: Vec<Source>,
    ids: Range<u64>,
    times: Option<Range<i64>>,
    only: Option<Arc<Vec<Range<u64>>>>,
    batch_rows: usize,
}

impl PartitionStream for Part {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let (sender, part) = (stream.tx(), self.clone());
        stream.spawn_blocking(move || {
            // Nobody listens any more when the query was cancelled or has its rows.
            part.read(|batch| sender.blocking_send(Ok(batch)).is_ok())
        });
        stream.build()
    }
}

impl Part {
    /// Reads everything; `pass` takes a batch and says whether to go on.
    fn read(&self, mut pass: impl FnMut(RecordBatch) -> bool) -> Result<()> {
        let mut reader = self.view.reader();
        let mut rows = Rows::new(self);
        let mut outcome = Ok(());
        let mut on = true;
        let mut visit = |scanned: Scanned<'_>| {
            if !on {
                return ControlFlow::Break(());
            }
            if !self.ids.contains(&scanned.id) {
                return ControlFlow::Continue(());
            }
            let added = rows.add(scanned).and_then(|()| {
                if rows.are_full(self.batch_rows) {
                    on = pass(rows.finish()?);
                }
                Ok(())
            });
            if let Err(error) = added {
                outcome = Err(error);
                on = false;
            }
            if on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        match (&self.times, &self.only) {
            (Some(times), _) => reader.scan_time(times.clone(), visit),
            (None, Some(only)) => only.iter().try_for_each(|ids| {
                let ids = ids.start.max(self.ids.start)..ids.end.min(self.ids.end);
                if ids.is_empty() { Ok(()) } else { reader.scan(ids, &mut visit) }
            }),
            (None, None) => reader.scan(self.ids.clone(), visit),
        }
        .map_err(external)?;
        outcome?;
        if on && rows.count > 0 {
            pass(rows.finish()?);
        }
        Ok(())
    }
}
