//! The plan node that runs a scan.
//!
//! It holds the [`Scan`] value and little else, so that it can be sent elsewhere as that. A partition of the plan is one of the
//! scan's; its stream decodes a batch each time it is polled, on the task that polls it: partitions run in parallel because
//! the engine polls each from its own task.

use crate::statistics;
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType as ArrowType, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column as ColumnExpr;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{
    Boundedness, CardinalityEffect, EmissionType, SchedulingType,
};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
    ReplaceChildrenOptions, SortOrderPushdownResult,
};
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tambour_table::scan::{Pruned, Scan, ScanReader, sorts_like_arrow};
use tambour_table::schema::expression::Expression;
use tambour_table::{Table, TableError};

/// Sorted runs up to which a sort is replaced by a merge of them; each run holds a reader and its buffers.
const RUNS_MAX: usize = 64;

/// Metric: bytes read from files.
pub(crate) const COMPRESSED: &str = "bytes_compressed";
/// Metric: bytes after decompression.
pub(crate) const DECODED: &str = "bytes_decoded";

/// Reads a table.
#[derive(Clone, Debug)]
pub struct TambourScanExec {
    table: Arc<Table>,
    scan: Scan,
    pruned: Pruned,
    schema: SchemaRef,
    /// Of all rows of the table, for the columns of the scan.
    all: Arc<Statistics>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl TambourScanExec {
    /// A node for a scan; `all` are the statistics of the whole table for the columns of `schema`.
    pub fn new(
        table: Arc<Table>,
        scan: Scan,
        pruned: Pruned,
        schema: SchemaRef,
        all: Arc<Statistics>,
    ) -> Self {
        let properties = properties(&table, &scan, &schema);
        let metrics = ExecutionPlanMetricsSet::new();
        Self { table, scan, pruned, schema, all, properties, metrics }
    }
    /// What it reads.
    pub fn scan(&self) -> &Scan {
        &self.scan
    }
    /// What pruning left of the table.
    pub fn pruned(&self) -> Pruned {
        self.pruned
    }
    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    fn with_scan(&self, scan: Scan) -> Self {
        let all = Arc::clone(&self.all);
        Self::new(Arc::clone(&self.table), scan, self.pruned, Arc::clone(&self.schema), all)
    }
    fn partitions(&self) -> usize {
        self.scan.partitions.len()
    }
}

/// The leading columns of the sorting key that the scan has, while Arrow's order is ClickHouse's.
fn sorting(table: &Table, scan: &Scan) -> Vec<PhysicalSortExpr> {
    let options = SortOptions { descending: false, nulls_first: false };
    let expressions = table.definition().map_or(&[][..], |it| it.order_by.as_slice());
    expressions
        .iter()
        .map_while(|expression| {
            let Expression::Column(name) = expression else { return None };
            let index = scan.columns.iter().position(|column| column == name)?;
            let column = table.columns().iter().find(|column| column.name == *name)?;
            let expression: Arc<dyn PhysicalExpr> = Arc::new(ColumnExpr::new(name, index));
            sorts_like_arrow(&column.data_type)
                .then(|| PhysicalSortExpr { expr: expression, options })
        })
        .collect()
}

fn properties(table: &Table, scan: &Scan, schema: &SchemaRef) -> Arc<PlanProperties> {
    let ordering = if scan.ordered { sorting(table, scan) } else { Vec::new() };
    let equivalence =
        EquivalenceProperties::new_with_orderings(Arc::clone(schema), LexOrdering::new(ordering));
    let properties = PlanProperties::new(
        equivalence,
        Partitioning::UnknownPartitioning(scan.partitions.len()),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    Arc::new(properties.with_scheduling_type(SchedulingType::Cooperative))
}

impl DisplayAs for TambourScanExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pruned { parts_total, parts_left, granules_total, granules_left } = self.pruned;
        let (separator, head) = match format {
            DisplayFormatType::TreeRender => ("\n", ""),
            _ => (", ", "TambourScanExec: "),
        };
        write!(f, "{head}table={}", self.table.name())?;
        write!(f, "{separator}parts={parts_left}/{parts_total}")?;
        write!(f, "{separator}granules={granules_left}/{granules_total}")?;
        write!(f, "{separator}columns=[{}]", self.scan.columns.join(", "))?;
        if !self.scan.predicate.is_unknown() {
            write!(f, "{separator}predicate={}", self.scan.predicate)?;
        }
        if let Some(limit) = self.scan.limit {
            write!(f, "{separator}limit={limit}")?;
        }
        write!(f, "{separator}partitions={}", self.partitions())?;
        if self.properties.output_ordering().is_some() {
            write!(f, "{separator}ordered=true")?;
        }
        Ok(())
    }
}

impl ExecutionPlan for TambourScanExec {
    fn name(&self) -> &'static str {
        "TambourScanExec"
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
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        _config: &ConfigOptions,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if target_partitions <= self.partitions() {
            return Ok(None);
        }
        let is_ordered = self.properties.output_ordering().is_some();
        let scan = self.scan.repartitioned(&self.table, target_partitions, is_ordered);
        let scan = scan.map_err(external)?;
        if scan.partitions.len() <= self.partitions() {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.with_scan(scan))))
    }

    fn execute(
        &self,
        partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let stream = ScanStream {
            schema: Arc::clone(&self.schema),
            state: State::Planned(Box::new(self.clone()), partition),
            baseline: BaselineMetrics::new(&self.metrics, partition),
            compressed: MetricBuilder::new(&self.metrics).counter(COMPRESSED, partition),
            decoded: MetricBuilder::new(&self.metrics).counter(DECODED, partition),
        };
        Ok(Box::pin(cooperative(stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let is_exact = statistics::has_exact_rows(&self.table);
        let (rows, is_all) = if let Some(partition) = args.partition() {
            (self.scan.partition_rows(partition), false)
        } else {
            let rows = (0..self.partitions()).map(|it| self.scan.partition_rows(it)).sum();
            (rows, rows == self.table.rows())
        };
        Ok(Arc::new(statistics::of_some_rows(&self.all, rows, is_exact, is_all)))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        let mut scan = self.scan.clone();
        scan.limit = limit.map(|limit| limit as u64);
        Some(Arc::new(self.with_scan(scan)))
    }
    fn fetch(&self) -> Option<usize> {
        self.scan.limit.and_then(|limit| usize::try_from(limit).ok())
    }
    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        if self.scan.limit.is_some() {
            // A limit below a sort chooses rows before they are sorted.
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let count = self.partitions();
        let scan = self.scan.repartitioned(&self.table, count, true).map_err(external)?;
        let sorted = self.with_scan(scan);
        if sorted.partitions() > RUNS_MAX
            || !sorted.properties.eq_properties.ordering_satisfy(order.iter().cloned())?
        {
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let inner: Arc<dyn ExecutionPlan> = match LexOrdering::new(order.iter().cloned()) {
            // Above a single partition nobody merges: the runs are merged here.
            Some(order) if count == 1 && sorted.partitions() > 1 => {
                Arc::new(SortPreservingMergeExec::new(order, Arc::new(sorted)))
            }
            _ => Arc::new(sorted),
        };
        Ok(SortOrderPushdownResult::Exact { inner })
    }
}

fn external(error: TableError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Batches of one partition.
struct ScanStream {
    schema: SchemaRef,
    state: State,
    baseline: BaselineMetrics,
    compressed: Count,
    decoded: Count,
}

enum State {
    Planned(Box<TambourScanExec>, usize),
    Open(Box<ScanReader>),
    Done,
}

impl ScanStream {
    fn advance(&mut self) -> Option<Result<RecordBatch>> {
        if let State::Planned(plan, partition) = &self.state {
            let storage = plan.table.storage();
            match plan.scan.run(*partition, storage, Some(&plan.table)) {
                Ok(reader) => self.state = State::Open(Box::new(reader)),
                Err(error) => {
                    self.state = State::Done;
                    return Some(Err(external(error)));
                }
            }
        }
        let State::Open(reader) = &mut self.state else { return None };
        let before = reader.bytes_read();
        let item = reader.next();
        let read = reader.bytes_read().saturating_sub(before);
        self.compressed.add(usize::try_from(read).unwrap_or(usize::MAX));
        if !matches!(item, Some(Ok(_))) {
            self.state = State::Done;
        }
        item.map(|item| item.map_err(external))
    }
}

impl Stream for ScanStream {
    type Item = Result<RecordBatch>;
    fn poll_next(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let time = self.baseline.elapsed_compute().clone();
        let timer = time.timer();
        let item = self.advance();
        timer.done();
        if let Some(Ok(batch)) = &item {
            self.decoded.add(batch.columns().iter().map(|column| decoded_bytes(column)).sum());
        }
        self.baseline.record_poll(Poll::Ready(item))
    }
}

impl RecordBatchStream for ScanStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Bytes of the values of a column, as they are in a part before compression, nearly.
fn decoded_bytes(values: &dyn Array) -> usize {
    let rows = values.len();
    match values.data_type() {
        ArrowType::Utf8View | ArrowType::BinaryView => {
            let views = match values.data_type() {
                ArrowType::Utf8View => values.as_string_view().views(),
                _ => values.as_binary_view().views(),
            };
            // The low half of a view's first word is the length of the string.
            #[expect(clippy::cast_possible_truncation, reason = "the length is the low 32 bits")]
            let bytes: usize = views.iter().map(|view| *view as u32 as usize).sum();
            bytes + rows
        }
        data_type => match data_type.primitive_width() {
            Some(width) => rows * width,
            None => values.to_data().get_slice_memory_size().unwrap_or(0),
        },
    }
}
