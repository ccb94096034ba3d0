//! FINAL: tables as they would be after a merge of all parts.
//!
//! `FROM t FINAL` names a table of a database of its own ([`Merged`]); `SETTINGS final = 1` puts the same table in the place of
//! each that an engine merges ([`everywhere`]). Its scan is a node of another kind than that of stored rows: statistics of
//! parts, and all that is built on them, say nothing about rows that are still to be merged.

use crate::context::Session as Owner;
use crate::placed::has_places;
use crate::system::{Registry, registered};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, Session};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::{TableProvider, TableType, provider_as_source, source_as_provider};
use datafusion::error::DataFusionError;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, TableProviderFilterPushDown, TableScan};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tambour_part::types::{Strings, arrow_schema};
use tambour_plan::walk::everywhere;
use tambour_scan::provider::TambourTable;
use tambour_scan::pushdown::Pushdown;
use tambour_table::engine::Engine;
use tambour_table::predicate::Predicate;
use tambour_table::scan::{MergedReader, MergedScan, Pruned, ScanRequest};
use tambour_table::schema::expression::Expression;
use tambour_table::{Table, TableError};

/// The tables of a session that can be merged, by the names that they are registered under.
#[derive(Debug)]
pub(crate) struct Merged {
    registry: Registry,
    strings: Strings,
    batch_rows: usize,
}

impl Merged {
    pub(crate) fn new(registry: &Registry, strings: Strings, batch_rows: usize) -> Self {
        Self { registry: Arc::clone(registry), strings, batch_rows }
    }
}

#[async_trait]
impl SchemaProvider for Merged {
    /// None: the names are those of other databases.
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }
    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let tables = registered(&self.registry);
        let Some((_, table)) = tables.into_iter().find(|(other, _)| other == name) else {
            return Err(refused(name, "there is no table of parts with this name"));
        };
        if engine(name, &table)?.is_plain() {
            return Err(refused(name, "rows of the engine MergeTree stay as they are"));
        }
        Ok(Some(Arc::new(MergedTable::new(table, self.strings, self.batch_rows))))
    }
    fn table_exist(&self, name: &str) -> bool {
        registered(&self.registry).iter().any(|(other, _)| other == name)
    }
}

fn refused(name: &str, reason: &str) -> DataFusionError {
    external(TableError::Refused { clause: format!("{name} FINAL"), reason: reason.to_owned() })
}

fn external(error: TableError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// The engine of a table. Without a definition it may be any.
fn engine(name: &str, table: &Table) -> Result<Engine> {
    let Some(definition) = table.definition() else {
        return Err(refused(name, "the engine or the key of the table is not known"));
    };
    Engine::of(definition).map_err(external)
}

impl Owner {
    /// A plan in which FINAL stands after every table that it has a meaning for.
    pub(crate) fn everywhere(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let mut merged = |plan: LogicalPlan| {
            let LogicalPlan::TableScan(scan) = &plan else { return Ok(Transformed::no(plan)) };
            let provider = source_as_provider(&scan.source)?;
            let Some(found) = provider.as_ref().downcast_ref::<TambourTable>() else {
                return Ok(Transformed::no(plan));
            };
            if engine(scan.table_name.table(), found.table())?.is_plain() {
                return Ok(Transformed::no(plan));
            }
            let table = Arc::clone(found.table());
            if has_places(&table) {
                // There, a condition on them leaves out parts before rows are merged.
                let reason = "a row after the merge may be of several parts";
                let named = format!("_part and the like of {}", scan.table_name.table());
                return Err(refused(&named, reason));
            }
            let table = MergedTable::new(table, self.strings, self.batch_rows);
            let source = provider_as_source(Arc::new(table));
            Ok(Transformed::yes(LogicalPlan::TableScan(TableScan { source, ..scan.clone() })))
        };
        everywhere(plan, &mut merged)
    }
}

/// True if a plan reads a table so.
pub(crate) fn is_in(plan: &LogicalPlan) -> Result<bool> {
    let mut is_found = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let provider = source_as_provider(&scan.source)?;
            is_found |= provider.as_ref().is::<MergedTable>();
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(is_found)
}

/// A table whose parts are merged when it is read.
#[derive(Debug)]
struct MergedTable {
    table: Arc<Table>,
    schema: SchemaRef,
    strings: Strings,
    batch_rows: usize,
}

impl MergedTable {
    fn new(table: Arc<Table>, strings: Strings, batch_rows: usize) -> Self {
        let schema = Arc::new(arrow_schema(table.columns(), strings));
        Self { table, schema, strings, batch_rows }
    }

    fn pushdown(&self) -> Pushdown<'_> {
        Pushdown { columns: self.table.columns(), strings: self.strings }
    }

    /// Rows that the engine takes for one have the same values of these columns: a filter by them may come first.
    fn is_by_key(&self, filter: &Expr) -> bool {
        let key = self.table.definition().map(|it| it.order_by.as_slice()).unwrap_or_default();
        let is_in_key = |name: &str| {
            key.iter().any(|it| matches!(it, Expression::Column(column) if column == name))
        };
        !filter.is_volatile() && filter.column_refs().iter().all(|it| is_in_key(&it.name))
    }

    fn predicate(&self, filter: &Expr) -> Predicate {
        if self.is_by_key(filter) { self.pushdown().filter(filter) } else { Predicate::Unknown }
    }
}

#[async_trait]
impl TableProvider for MergedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => Arc::clone(&self.schema),
        };
        let request = ScanRequest {
            columns: schema.fields().iter().map(|field| field.name().clone()).collect(),
            predicate: Predicate::all(filters.iter().map(|filter| self.predicate(filter))),
            partitions: state.config().target_partitions(),
            batch_rows: self.batch_rows,
            strings: self.strings,
            ..ScanRequest::default()
        };
        let (scan, pruned) = MergedScan::plan(&self.table, &request).map_err(external)?;
        let predicate = request.predicate;
        Ok(Arc::new(MergedScanExec::new(scan, pruned, predicate, schema)))
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match self.predicate(filter) {
            Predicate::Unknown => TableProviderFilterPushDown::Unsupported,
            // Granules are left out, rows are not.
            _ => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(support).collect())
    }
}

/// Reads a table and merges its parts.
#[derive(Debug)]
pub(crate) struct MergedScanExec {
    scan: Arc<MergedScan>,
    pruned: Pruned,
    predicate: Predicate,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl MergedScanExec {
    fn new(scan: MergedScan, pruned: Pruned, predicate: Predicate, schema: SchemaRef) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(scan.partitions()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let properties = Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative));
        let metrics = ExecutionPlanMetricsSet::new();
        Self { scan: Arc::new(scan), pruned, predicate, properties, metrics }
    }

    /// The table that it reads.
    pub(crate) fn table(&self) -> &Arc<Table> {
        self.scan.table()
    }

    /// What pruning left of the table.
    pub(crate) fn pruned(&self) -> Pruned {
        self.pruned
    }

    /// The columns that it hands out.
    pub(crate) fn columns(&self) -> Vec<&str> {
        self.scan.columns().iter().map(|it| it.name.as_str()).collect()
    }

    /// Says what pruning has left, as scans of stored rows say it.
    fn tell(&self) {
        for (name, count) in Pruned::NAMES.into_iter().zip(self.pruned.figures()) {
            MetricBuilder::new(&self.metrics).global_counter(name).add(count);
        }
    }
}

impl DisplayAs for MergedScanExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pruned { parts_total, parts_left, granules_total, granules_left, .. } = self.pruned;
        let (separator, head) = match format {
            DisplayFormatType::TreeRender => ("\n", ""),
            _ => (", ", "MergedScanExec: "),
        };
        write!(f, "{head}table={}", self.scan.table().name())?;
        write!(f, "{separator}parts={parts_left}/{parts_total}")?;
        write!(f, "{separator}granules={granules_left}/{granules_total}")?;
        write!(f, "{separator}columns=[{}]", self.columns().join(", "))?;
        if !self.predicate.is_unknown() {
            write!(f, "{separator}predicate={}", self.predicate)?;
        }
        Ok(())
    }
}

impl ExecutionPlan for MergedScanExec {
    fn name(&self) -> &'static str {
        "MergedScanExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }
    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn execute(
        &self,
        partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if partition == 0 {
            self.tell();
        }
        let stream = MergedStream {
            schema: Arc::clone(self.properties.eq_properties.schema()),
            state: State::Planned(Arc::clone(&self.scan), partition),
            baseline: BaselineMetrics::new(&self.metrics, partition),
        };
        Ok(Box::pin(cooperative(stream)))
    }
    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        _args: &datafusion::physical_plan::statistics::StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        // What parts count is what comes before the merge.
        Ok(Arc::new(Statistics::new_unknown(self.properties.eq_properties.schema())))
    }
}

/// Batches of one range.
struct MergedStream {
    schema: SchemaRef,
    state: State,
    baseline: BaselineMetrics,
}

enum State {
    Planned(Arc<MergedScan>, usize),
    Open(Box<MergedReader>),
    Done,
}

impl MergedStream {
    fn read(&mut self) -> Result<Option<RecordBatch>> {
        if let State::Planned(scan, partition) = &self.state {
            self.state = State::Open(Box::new(scan.run(*partition).map_err(external)?));
        }
        let State::Open(reader) = &mut self.state else { return Ok(None) };
        let Some(batch) = reader.next().transpose().map_err(external)? else { return Ok(None) };
        // The same columns, with what the schema of the table says of them.
        Ok(Some(batch.with_schema(Arc::clone(&self.schema))?))
    }
}

impl Stream for MergedStream {
    type Item = Result<RecordBatch>;
    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let time = self.baseline.elapsed_compute().clone();
        let timer = time.timer();
        let item = self.read().transpose();
        timer.done();
        if !matches!(item, Some(Ok(_))) {
            self.state = State::Done;
        }
        self.baseline.record_poll(Poll::Ready(item))
    }
}

impl RecordBatchStream for MergedStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
