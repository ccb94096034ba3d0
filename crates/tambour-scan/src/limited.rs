//! Rows under an order and a limit: the order is found with the columns that it needs, and the other columns are read for the rows that
//! are left.
//!
//! A rule puts [`LateColumnsExec`] above such a sort, and below it a scan of fewer columns that also says where its rows are.

use crate::exec::{PLACE, Read, TambourScanExec};
use crate::nodes::over;
use crate::scan_options::ScanOptions;
use arrow::array::{AsArray, RecordBatch, RecordBatchOptions};
use arrow::compute::concat_batches;
use arrow::datatypes::{SchemaRef, UInt64Type};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, exec_err, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    Partitioning, PhysicalExpr, PlanProperties, ReplaceChildrenOptions,
};
use futures::{TryStreamExt, future, stream};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use tambour_table::Table;
use tambour_table::scan::{RowPlace, Scan};

/// Rows up to which a limit is worth it.
const ROWS_MAX: usize = 4096;
/// Granules of each partition for each row of the limit, at least: each row may cost a granule, and one thread reads them all.
const GRANULES_MIN: usize = 2;

/// The rule.
#[derive(Debug)]
pub(crate) struct LateColumns;

impl PhysicalOptimizerRule for LateColumns {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !ScanOptions::of(config).scan_late_columns {
            return Ok(plan);
        }
        plan.transform_down(|node| {
            let better = match late(&node)? {
                Some(late) => Some(late),
                None => asked(&node)?,
            };
            Ok(match better {
                Some(better) => Transformed::new(better, true, TreeNodeRecursion::Jump),
                None => Transformed::no(node),
            })
        })
        .data()
    }
    fn name(&self) -> &'static str {
        "late_columns"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// A sort under a limit, and the merge of several.
struct Limited<'a> {
    merge: Option<&'a SortPreservingMergeExec>,
    sort: &'a SortExec,
    between: Option<&'a ProjectionExec>,
    scan: &'a TambourScanExec,
    rows: usize,
}

impl<'a> Limited<'a> {
    fn of(node: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        let merge = node.downcast_ref::<SortPreservingMergeExec>();
        let sort = merge.map_or(node, SortPreservingMergeExec::input).downcast_ref::<SortExec>()?;
        // What comes out is one stream.
        if merge.is_none() && node.output_partitioning().partition_count() != 1 {
            return None;
        }
        let rows = match merge {
            Some(merge) => merge.fetch().filter(|rows| sort.fetch() == Some(*rows))?,
            None => sort.fetch()?,
        };
        let between = sort.input().downcast_ref::<ProjectionExec>();
        let input = between.map_or(sort.input(), ProjectionExec::input);
        Some(Self { merge, sort, between, scan: input.downcast_ref()?, rows })
    }

    /// The column of the scan that a column of the sort's input is, if it is nothing else.
    fn plain(&self, index: usize) -> Option<usize> {
        let Some(between) = self.between else { return Some(index) };
        Some(between.expr().get(index)?.expr.downcast_ref::<Column>()?.index())
    }

    /// The columns of the sort's input that are needed early: those of the order, and those that are computed, once for each row.
    fn early(&self) -> Vec<usize> {
        let sorted = self.sort.expr().iter().flat_map(|it| collect_columns(&it.expr));
        let mut early: BTreeSet<usize> = sorted.map(|column| column.index()).collect();
        let all = 0..self.sort.input().schema().fields().len();
        early.extend(all.filter(|index| self.plain(*index).is_none()));
        early.into_iter().collect()
    }

    /// The only column of the scan that the first key of an order by several needs.
    fn first(&self) -> Option<usize> {
        let keys = self.sort.expr();
        let all: BTreeSet<usize> =
            keys.iter().flat_map(|it| collect_columns(&it.expr)).map(|it| it.index()).collect();
        let first = collect_columns(&keys.first().expr);
        let mut first = first.iter().map(Column::index);
        match (first.next(), first.next()) {
            (Some(only), None) if all.len() > 1 => self.plain(only),
            _ => None,
        }
    }

    /// The scan, asked about the first key before others are read.
    fn asking(&self) -> Option<TambourScanExec> {
        self.first().map(|column| self.scan.asked_first(column))
    }

    /// The sort's input with these columns and the places.
    fn narrow(&self, early: &[usize]) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let asking = self.asking();
        let wide = asking.as_ref().unwrap_or(self.scan);
        let Some(between) = self.between else {
            return Ok(wide.placed(early)?.map(|scan| Arc::new(scan) as _));
        };
        let kept: Vec<&ProjectionExpr> = early.iter().map(|it| &between.expr()[*it]).collect();
        let columns = kept.iter().flat_map(|it| collect_columns(&it.expr));
        let columns: BTreeSet<usize> = columns.map(|column| column.index()).collect();
        let columns: Vec<usize> = columns.into_iter().collect();
        let Some(scan) = wide.placed(&columns)? else { return Ok(None) };
        let mut narrow = Vec::with_capacity(kept.len() + 1);
        for it in kept {
            narrow
                .push(ProjectionExpr { expr: moved(&it.expr, &columns)?, alias: it.alias.clone() });
        }
        let place = Arc::new(Column::new(PLACE, columns.len()));
        narrow.push(ProjectionExpr { expr: place, alias: PLACE.to_owned() });
        Ok(Some(Arc::new(ProjectionExec::try_new(narrow, Arc::new(scan))?)))
    }
}

/// An expression over some columns of its input only, which are at their places among these.
fn moved(expr: &Arc<dyn PhysicalExpr>, columns: &[usize]) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = Arc::clone(expr).transform_up(|node| {
        let Some(column) = node.downcast_ref::<Column>() else { return Ok(Transformed::no(node)) };
        let Ok(index) = columns.binary_search(&column.index()) else {
            return internal_err!("an order needs a column that is read late");
        };
        let moved: Arc<dyn PhysicalExpr> = Arc::new(Column::new(column.name(), index));
        Ok(Transformed::yes(moved))
    });
    moved.data()
}

fn moved_order(order: &LexOrdering, columns: &[usize]) -> Result<LexOrdering> {
    let moved = order
        .iter()
        .map(|it| Ok(PhysicalSortExpr { expr: moved(&it.expr, columns)?, options: it.options }));
    let moved = LexOrdering::new(moved.collect::<Result<Vec<_>>>()?);
    moved.map_or_else(|| internal_err!("an order by nothing"), Ok)
}

/// The same rows, with columns that are read late; none where that is not possible or no gain.
fn late(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(limited) = Limited::of(node) else { return Ok(None) };
    let granules = limited.scan.pruned().granules_left;
    let granules = granules / limited.scan.scan().partitions.len().max(1);
    if limited.rows == 0 || limited.rows > ROWS_MAX || granules < GRANULES_MIN * limited.rows {
        return Ok(None);
    }
    let early = limited.early();
    let schema = limited.sort.input().schema();
    let mut sources = Vec::with_capacity(schema.fields().len());
    let mut picked = Vec::new();
    for index in 0..schema.fields().len() {
        let source = if let Ok(place) = early.binary_search(&index) {
            Source::Early(place)
        } else {
            let Some(column) = limited.plain(index) else { return Ok(None) };
            picked.push(column);
            Source::Late(picked.len() - 1)
        };
        sources.push(source);
    }
    let is_free = |it: usize| limited.scan.reads_for_filters(it);
    if picked.iter().all(|it| is_free(*it)) {
        return Ok(None);
    }
    let Some(narrow) = limited.narrow(&early)? else { return Ok(None) };
    let order = moved_order(limited.sort.expr(), &early)?;
    let sort = SortExec::new(order.clone(), narrow)
        .with_preserve_partitioning(limited.sort.preserve_partitioning())
        .with_fetch(Some(limited.rows));
    let mut input: Arc<dyn ExecutionPlan> = Arc::new(sort);
    if limited.merge.is_some() {
        let merge = SortPreservingMergeExec::new(order, input).with_fetch(Some(limited.rows));
        input = Arc::new(merge);
    }
    let properties = PlanProperties::new(
        node.equivalence_properties().clone(),
        Partitioning::UnknownPartitioning(1),
        EmissionType::Final,
        Boundedness::Bounded,
    );
    Ok(Some(Arc::new(LateColumnsExec {
        input,
        table: Arc::clone(limited.scan.table()),
        scan: limited.scan.scan_of(&picked),
        sources: sources.into(),
        properties: Arc::new(properties),
        metrics: ExecutionPlanMetricsSet::new(),
    })))
}

/// The same rows, where only the first key of the order is read for all; none where that gains nothing.
fn asked(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(scan) = Limited::of(node).and_then(|it| it.asking()) else { return Ok(None) };
    over_scan(node, scan).map(Some)
}

/// A chain of operators over another scan.
fn over_scan(
    node: &Arc<dyn ExecutionPlan>,
    scan: TambourScanExec,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(child) = node.children().first().copied().cloned() else { return Ok(Arc::new(scan)) };
    over(Arc::clone(node), over_scan(&child, scan)?)
}

/// Where a column that is handed out comes from: its place in the input, or among those that are read here.
#[derive(Clone, Copy, Debug)]
enum Source {
    Early(usize),
    Late(usize),
}

/// Reads columns for the few rows of its input, whose last column says where they are.
#[derive(Debug)]
pub struct LateColumnsExec {
    input: Arc<dyn ExecutionPlan>,
    table: Arc<Table>,
    /// Of the columns that are read here.
    scan: Scan,
    sources: Arc<[Source]>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl LateColumnsExec {
    /// The names of the columns that are read here.
    pub fn columns(&self) -> &[String] {
        &self.scan.columns
    }
    fn again(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self {
            input,
            table: Arc::clone(&self.table),
            scan: self.scan.clone(),
            sources: Arc::clone(&self.sources),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }
}

impl DisplayAs for LateColumnsExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = match format {
            DisplayFormatType::TreeRender => "",
            _ => "LateColumnsExec: ",
        };
        write!(f, "{head}columns=[{}]", self.scan.columns.join(", "))
    }
}

impl ExecutionPlan for LateColumnsExec {
    fn name(&self) -> &'static str {
        "LateColumnsExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(child) = children.pop() else { return Ok(self) };
        Ok(self.again(child))
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        let input = Arc::clone(&self.input).reset_state()?;
        Ok(self.again(input))
    }
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let bytes_max = ScanOptions::of(context.session_config().options()).scan_batch_bytes;
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let rows = self.input.execute(partition, context)?;
        let schema = self.schema();
        let (table, scan) = (Arc::clone(&self.table), self.scan.clone());
        let (sources, handed) = (Arc::clone(&self.sources), Arc::clone(&schema));
        // What is read here counts as read by the scan below.
        let below = scan_below(&self.input);
        let work = async move {
            let input = rows.schema();
            let rows: Vec<RecordBatch> = rows.try_collect().await?;
            let time = baseline.elapsed_compute().clone();
            let _timer = time.timer();
            let rows = concat_batches(&input, &rows)?;
            if rows.num_rows() == 0 {
                return Ok(None);
            }
            let (whole, read) = completed(&rows, &sources, handed, |places| {
                let picked = scan.pick(&table, places, bytes_max);
                picked.map_err(|error| DataFusionError::External(Box::new(error)))
            })?;
            if let Some(below) = below {
                below.tell(&read);
            }
            baseline.record_output(whole.num_rows());
            Ok(Some(whole))
        };
        let batches = stream::once(work).try_filter_map(future::ok);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

fn scan_below(node: &Arc<dyn ExecutionPlan>) -> Option<TambourScanExec> {
    match node.downcast_ref::<TambourScanExec>() {
        Some(scan) => Some(scan.clone()),
        None => node.children().first().and_then(|it| scan_below(it)),
    }
}

/// The rows with all columns, and what was read for them.
fn completed(
    rows: &RecordBatch,
    sources: &[Source],
    schema: SchemaRef,
    pick: impl FnOnce(&[RowPlace]) -> Result<(RecordBatch, u64)>,
) -> Result<(RecordBatch, Read)> {
    let places = rows.columns().last().and_then(|it| it.as_primitive_opt::<UInt64Type>());
    let Some(places) = places else { return internal_err!("rows without places") };
    let places: Vec<RowPlace> = places.values().iter().map(|it| RowPlace::of_number(*it)).collect();
    let (picked, compressed) = pick(&places)?;
    if picked.num_rows() != rows.num_rows() {
        return exec_err!("{} rows of {} were found", picked.num_rows(), rows.num_rows());
    }
    let bytes = picked.columns().iter().map(|it| crate::exec::decoded_bytes(it) as u64).sum();
    let column = |source: &Source| match source {
        Source::Early(place) => Arc::clone(rows.column(*place)),
        Source::Late(place) => Arc::clone(picked.column(*place)),
    };
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    let columns = sources.iter().map(column).collect();
    let whole = RecordBatch::try_new_with_options(schema, columns, &options)?;
    Ok((whole, Read { rows: 0, bytes, compressed, skipped: 0, ended: 0 }))
}
