//! Aggregates over rows that lie in the order of their keys: a group is a run of equal keys, and nothing is hashed.
//!
//! The engine's operator for such rows hands groups out as soon as a run ends, too, but finds the group of each row by a hash. Here
//! the keys of a row are compared with those of the row before, many at a time; accumulators are the engine's.

use super::stream::{chosen, evaluated};
use super::{described, over};
use arrow::array::{ArrayRef, RecordBatch, UInt64Array, make_comparator};
use arrow::compute::{SortOptions, concat, partition, take};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_plan::aggregates::{
    AggregateExec, AggregateInputMode, AggregateMode, AggregateOutputMode, aggregate_expressions,
};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode,
    PhysicalExpr, PlanProperties, ReplaceChildrenOptions,
};
use futures::stream::{self, StreamExt};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// True if equal values of a type are those that the engine's hash takes for equal, and next to each other in their order.
fn is_comparable(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_decimal()
        || matches!(
            data_type,
            DataType::Boolean
                | DataType::Date32
                | DataType::Date64
                | DataType::Timestamp(..)
                | DataType::Utf8View
                | DataType::BinaryView
        )
}

/// An aggregate over sorted rows.
#[derive(Debug)]
pub(crate) struct RunsExec {
    /// The engine's operator for the same.
    stock: Arc<AggregateExec>,
    metrics: ExecutionPlanMetricsSet,
}

impl RunsExec {
    /// None if the rows are not sorted by all keys, or an aggregate asks for more than groups.
    pub(crate) fn of(stock: &AggregateExec) -> Result<Option<Self>> {
        let group = stock.group_expr();
        let is_plain = *stock.input_order_mode() == InputOrderMode::Sorted
            && group.is_single()
            && !group.is_empty()
            && !group.has_grouping_set()
            && stock.limit_options().is_none()
            && stock.aggr_expr().iter().all(|it| {
                it.groups_accumulator_supported() && it.order_bys().is_empty() && !it.is_distinct()
            });
        if !is_plain {
            return Ok(None);
        }
        let schema = stock.input().schema();
        for (key, _) in group.expr() {
            if !is_comparable(&key.data_type(&schema)?) {
                return Ok(None);
            }
        }
        Ok(Some(Self::new(over(stock, Arc::clone(stock.input()))?)))
    }
    fn new(stock: AggregateExec) -> Self {
        Self { stock: Arc::new(stock), metrics: ExecutionPlanMetricsSet::new() }
    }
    /// The engine's operator for the same.
    pub(crate) fn stock(&self) -> &Arc<AggregateExec> {
        &self.stock
    }
}

impl DisplayAs for RunsExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        described(&self.stock, "RunsExec: ", format, f)?;
        match self.stock.mode() {
            AggregateMode::Single => Ok(()),
            mode => write!(f, ", mode={mode:?}"),
        }
    }
}

impl ExecutionPlan for RunsExec {
    fn name(&self) -> &'static str {
        "RunsExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        self.stock.properties()
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.stock.input()]
    }
    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.stock.apply_expressions(visit)
    }
    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(child) = children.pop() else { return Ok(self) };
        let stock = over(&self.stock, child)?;
        // Over rows in no order it is not one of ours any more.
        match Self::of(&stock)? {
            Some(runs) => Ok(Arc::new(runs)),
            None => Ok(Arc::new(stock)),
        }
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let stock = Arc::clone(&self.stock);
        let input = stock.input().execute(partition, context)?;
        let keys = stock.group_expr().input_exprs();
        let accumulators = stock.aggr_expr().iter().map(|it| it.create_groups_accumulator());
        let runs = Runs {
            arguments: aggregate_expressions(stock.aggr_expr(), stock.mode(), keys.len())?,
            accumulators: accumulators.collect::<Result<_>>()?,
            keys,
            open: None,
            groups: Vec::new(),
            baseline: BaselineMetrics::new(&self.metrics, partition),
            stock,
        };
        let schema = self.stock.schema();
        let batches = stream::try_unfold((runs, Some(input)), next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Groups in the making: those of the last batch, of which all but one are handed out.
struct Runs {
    stock: Arc<AggregateExec>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    arguments: Vec<Vec<Arc<dyn PhysicalExpr>>>,
    accumulators: Vec<Box<dyn GroupsAccumulator>>,
    /// The keys of the group that may go on, one row of each.
    open: Option<Vec<ArrayRef>>,
    groups: Vec<usize>,
    baseline: BaselineMetrics,
}

type Standing = (Runs, Option<SendableRecordBatchStream>);

async fn next((mut runs, input): Standing) -> Result<Option<(RecordBatch, Standing)>> {
    let Some(mut input) = input else { return Ok(None) };
    loop {
        let Some(batch) = input.next().await else {
            let last = runs.last()?;
            return Ok(last.map(|last| (last, (runs, None))));
        };
        let batch = batch?;
        if batch.num_rows() > 0
            && let Some(ended) = runs.add(&batch)?
        {
            return Ok(Some((ended, (runs, Some(input)))));
        }
    }
}

impl Runs {
    /// Adds rows to their groups, and hands out those that are complete.
    fn add(&mut self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let time = self.baseline.elapsed_compute().clone();
        let _timer = time.timer();
        let keys = evaluated(&self.keys, batch)?;
        let ranges = partition(&keys)?.ranges();
        let goes_on = match &self.open {
            Some(open) => are_equal(open, &keys)?,
            None => false,
        };
        let first = usize::from(self.open.is_some() && !goes_on);
        self.groups.clear();
        for (group, range) in ranges.iter().enumerate() {
            self.groups.extend(std::iter::repeat_n(first + group, range.len()));
        }
        let count = first + ranges.len();
        self.accumulate(batch, count)?;
        // The keys of all groups: that which was open, and where a run begins that does not go on from it.
        let starts = ranges.iter().skip(usize::from(goes_on)).map(|range| range.start as u64);
        let starts: UInt64Array = starts.collect();
        let known = self.open.take().unwrap_or_default();
        let mut all = Vec::with_capacity(keys.len());
        for (index, key) in keys.iter().enumerate() {
            let begun = take(key, &starts, None)?;
            all.push(match known.get(index) {
                Some(open) => concat(&[open.as_ref(), begun.as_ref()])?,
                None => begun,
            });
        }
        // A copy, so that the batch is not kept for one row of it.
        let last = UInt64Array::from(vec![count as u64 - 1]);
        let open = all.iter().map(|key| Ok(take(key, &last, None)?));
        self.open = Some(open.collect::<Result<_>>()?);
        if count == 1 {
            return Ok(None);
        }
        let ended = all.iter().map(|key| key.slice(0, count - 1)).collect();
        self.handed_out(ended, EmitTo::First(count - 1)).map(Some)
    }

    fn accumulate(&mut self, batch: &RecordBatch, count: usize) -> Result<()> {
        let is_raw = self.stock.mode().input_mode() == AggregateInputMode::Raw;
        let filters = self.stock.filter_expr();
        let each = self.accumulators.iter_mut().zip(&self.arguments).zip(filters);
        for ((accumulator, arguments), filter) in each {
            let values = evaluated(arguments, batch)?;
            if is_raw {
                let filter = filter.as_ref().map(|filter| chosen(filter, batch)).transpose()?;
                accumulator.update_batch(&values, &self.groups, filter.as_ref(), count)?;
            } else {
                accumulator.merge_batch(&values, &self.groups, count)?;
            }
        }
        Ok(())
    }

    /// The group that nothing follows.
    fn last(&mut self) -> Result<Option<RecordBatch>> {
        let Some(open) = self.open.take() else { return Ok(None) };
        self.handed_out(open, EmitTo::All).map(Some)
    }

    fn handed_out(&mut self, mut columns: Vec<ArrayRef>, which: EmitTo) -> Result<RecordBatch> {
        let is_partial = self.stock.mode().output_mode() == AggregateOutputMode::Partial;
        for accumulator in &mut self.accumulators {
            if is_partial {
                columns.extend(accumulator.state(which)?);
            } else {
                columns.push(accumulator.evaluate(which)?);
            }
        }
        let batch = RecordBatch::try_new(self.stock.schema(), columns)?;
        self.baseline.record_output(batch.num_rows());
        Ok(batch)
    }
}

/// True if the first rows are equal, NULLs being equal to each other.
fn are_equal(left: &[ArrayRef], right: &[ArrayRef]) -> Result<bool> {
    for (left, right) in left.iter().zip(right) {
        let compare = make_comparator(left, right, SortOptions::default())?;
        if compare(0, 0) != Ordering::Equal {
            return Ok(false);
        }
    }
    Ok(true)
}
