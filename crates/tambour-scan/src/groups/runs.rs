//! Aggregates over rows that lie in the order of their keys: a group is a run of equal keys, and nothing is hashed.
//!
//! The engine's operator for such rows hands groups out as soon as a run ends, too, but finds the group of each row by a hash. Here
//! the keys of a row are compared with those of the row before, many at a time; accumulators are the engine's. Of a scan of several
//! parts each lies in that order, but not all of them together: then a group is handed out once for each part, for the last stage
//! of the aggregate to join.

use super::stream::{as_bytes, chosen, evaluated, rest};
use super::{described, in_no_order, is_plain, over};
use crate::exec::TambourScanExec;
use crate::texts::as_text;
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array, make_comparator};
use arrow::compute::{SortOptions, concat, partition, take};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::aggregates::{
    AggregateExec, AggregateInputMode, AggregateMode, AggregateOutputMode, aggregate_expressions,
};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode,
    PhysicalExpr, PlanProperties, ReplaceChildrenOptions,
};
use futures::stream::{self, StreamExt};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use tambour_table::schema::expression::Expression;

/// The longest text that is inside its view.
const INLINE_MAX: u32 = 12;

/// Metric: partitions whose runs were too short.
const SHORT: &str = "short_runs";
/// Rows of pieces after which runs are looked at ...
const TRIAL_ROWS: usize = 4_096;
/// ... and rows of a run, on average, below which they are not worth it.
const ROWS_MIN: usize = 2;

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
pub struct RunsExec {
    /// The engine's operator for the same.
    stock: Arc<AggregateExec>,
    /// A first stage over pieces in the order of the keys.
    is_in_pieces: bool,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// True for a first stage, or an aggregate that can be made into two, over a scan whose parts lie in the order of the keys.
pub(super) fn are_in_pieces(stock: &AggregateExec) -> Result<bool> {
    let input = stock.input();
    let Some(scan) = input.downcast_ref::<TambourScanExec>() else { return Ok(false) };
    if stock.mode().input_mode() != AggregateInputMode::Raw || !is_plain(stock) {
        return Ok(false);
    }
    let schema = input.schema();
    let mut names = BTreeSet::new();
    for (key, _) in stock.group_expr().expr() {
        let Some(column) = key.downcast_ref::<Column>() else { return Ok(false) };
        if !is_comparable(&key.data_type(&schema)?) {
            return Ok(false);
        }
        names.insert(column.name());
    }
    let sorting = scan.table().definition().map_or(&[][..], |it| it.order_by.as_slice());
    let first = sorting.iter().take(names.len());
    let is_key =
        |it: &Expression| matches!(it, Expression::Column(name) if names.contains(name.as_str()));
    Ok(first.len() == names.len() && first.clone().all(is_key))
}

impl RunsExec {
    /// None if the rows are not sorted by all keys, or an aggregate asks for more than groups.
    pub(crate) fn of(stock: &AggregateExec) -> Result<Option<Self>> {
        if *stock.input_order_mode() != InputOrderMode::Sorted || !is_plain(stock) {
            return Ok(None);
        }
        let schema = stock.input().schema();
        for (key, _) in stock.group_expr().expr() {
            if !is_comparable(&key.data_type(&schema)?) {
                return Ok(None);
            }
        }
        let stock = over(stock, Arc::clone(stock.input()))?;
        let properties = Arc::clone(stock.properties());
        Ok(Some(Self::new(stock, false, properties)))
    }
    /// Over pieces: see [`are_in_pieces`], which must be true.
    pub(crate) fn in_pieces(stock: AggregateExec) -> Self {
        let properties = Arc::new(in_no_order(&stock, EmissionType::Incremental));
        Self::new(stock, true, properties)
    }
    /// The same over other rows, if it is an aggregate of ours over those; else the engine's.
    pub fn again(stock: AggregateExec) -> Result<Arc<dyn ExecutionPlan>> {
        if let Some(runs) = Self::of(&stock)? {
            return Ok(Arc::new(runs));
        }
        if *stock.mode() == AggregateMode::Partial && are_in_pieces(&stock)? {
            return Ok(Arc::new(Self::in_pieces(stock)));
        }
        Ok(Arc::new(stock))
    }
    fn new(stock: AggregateExec, is_in_pieces: bool, properties: Arc<PlanProperties>) -> Self {
        let metrics = ExecutionPlanMetricsSet::new();
        Self { stock: Arc::new(stock), is_in_pieces, properties, metrics }
    }
    /// The engine's operator for the same.
    pub fn stock(&self) -> &Arc<AggregateExec> {
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
        &self.properties
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
        // Over rows in no order it is not one of ours any more.
        Self::again(over(&self.stock, child)?)
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
        let input = match as_bytes(&stock, partition, &context)? {
            Some(bytes) => bytes,
            None => stock.input().execute(partition, Arc::clone(&context))?,
        };
        let keys = stock.group_expr().input_exprs();
        let accumulators = stock.aggr_expr().iter().map(|it| it.create_groups_accumulator());
        let runs = Runs {
            arguments: aggregate_expressions(stock.aggr_expr(), stock.mode(), keys.len())?,
            accumulators: accumulators.collect::<Result<_>>()?,
            keys,
            open: None,
            groups: Vec::new(),
            baseline: BaselineMetrics::new(&self.metrics, partition),
            short: MetricBuilder::new(&self.metrics).counter(SHORT, partition),
            trial: self.is_in_pieces.then(Trial::default),
            partition,
            context,
            stock,
        };
        let schema = self.stock.schema();
        let batches = stream::try_unfold(State::Grouping(Box::new(runs), input), next);
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
    short: Count,
    /// Of pieces: whether runs are long enough.
    trial: Option<Trial>,
    partition: usize,
    context: Arc<TaskContext>,
}

/// What the first rows have told.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    rows: usize,
    groups: usize,
}

/// Where a partition stands.
enum State {
    Grouping(Box<Runs>, SendableRecordBatchStream),
    /// The engine's operator.
    Rest(SendableRecordBatchStream),
    Done,
}

async fn next(mut state: State) -> Result<Option<(RecordBatch, State)>> {
    loop {
        state = match state {
            State::Done => return Ok(None),
            State::Rest(mut rest) => {
                let batch = rest.next().await.transpose()?;
                return Ok(batch.map(|batch| (batch, State::Rest(rest))));
            }
            State::Grouping(mut runs, mut input) => match input.next().await.transpose()? {
                None => match runs.last() {
                    Ok(last) => return Ok(last.map(|last| (last, State::Done))),
                    Err(error) => return Err(told(error, runs).await),
                },
                Some(batch) if batch.num_rows() == 0 => State::Grouping(runs, input),
                Some(batch) if runs.are_short() => {
                    runs.short.add(1);
                    let rest = rest(&runs.stock, batch, input, &runs.context)?;
                    match runs.last()? {
                        Some(last) => return Ok(Some((last, State::Rest(rest)))),
                        None => State::Rest(rest),
                    }
                }
                Some(batch) => match runs.add(&batch) {
                    Ok(Some(ended)) => return Ok(Some((ended, State::Grouping(runs, input)))),
                    Ok(None) => State::Grouping(runs, input),
                    Err(error) => return Err(told(error, runs).await),
                },
            },
        }
    }
}

impl Runs {
    /// True if what follows is better hashed: most groups have a row or two.
    fn are_short(&self) -> bool {
        self.trial.is_some_and(|it| it.rows >= TRIAL_ROWS && it.groups * ROWS_MIN > it.rows)
    }

    /// Adds rows to their groups, and hands out those that are complete.
    fn add(&mut self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let time = self.baseline.elapsed_compute().clone();
        let _timer = time.timer();
        let keys = evaluated(&self.keys, batch)?;
        let starts = starts(&keys)?;
        let goes_on = match &self.open {
            Some(open) => are_equal(open, &keys)?,
            None => false,
        };
        let first = usize::from(self.open.is_some() && !goes_on);
        self.groups.clear();
        for (group, start) in starts.iter().enumerate() {
            let end = starts.get(group + 1).copied().unwrap_or(batch.num_rows() as u64);
            let rows = usize::try_from(end - start).unwrap_or_default();
            self.groups.extend(std::iter::repeat_n(first + group, rows));
        }
        let count = first + starts.len();
        if let Some(trial) = &mut self.trial {
            trial.rows += batch.num_rows();
            trial.groups += starts.len();
        }
        self.accumulate(batch, count)?;
        // The keys of all groups: that which was open, and where a run begins that does not go on from it.
        let begun: UInt64Array = starts.into_iter().skip(usize::from(goes_on)).collect();
        let known = self.open.take().unwrap_or_default();
        let mut all = Vec::with_capacity(keys.len());
        for (index, key) in keys.iter().enumerate() {
            let begun = take(key, &begun, None)?;
            all.push(match known.get(index) {
                Some(open) => concat(&[open.as_ref(), begun.as_ref()])?,
                None => begun,
            });
        }
        let open = all.iter().map(|key| apart(&key.slice(count - 1, 1)));
        self.open = Some(open.collect());
        if count == 1 {
            return Ok(None);
        }
        let ended = all.iter().map(|key| apart(&key.slice(0, count - 1))).collect();
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

    fn handed_out(&mut self, keys: Vec<ArrayRef>, which: EmitTo) -> Result<RecordBatch> {
        let schema = self.stock.schema();
        let fields = schema.fields().iter();
        let texts = keys.into_iter().zip(fields).map(|(key, field)| as_text(key, field));
        let mut columns = texts.collect::<Result<Vec<_>>>()?;
        let is_partial = self.stock.mode().output_mode() == AggregateOutputMode::Partial;
        for accumulator in &mut self.accumulators {
            if is_partial {
                columns.extend(accumulator.state(which)?);
            } else {
                columns.push(accumulator.evaluate(which)?);
            }
        }
        let batch = RecordBatch::try_new(schema, columns)?;
        self.baseline.record_output(batch.num_rows());
        Ok(batch)
    }
}

/// An error, or the one that the scan has for it: a text that is none is known there by its place.
async fn told(error: DataFusionError, runs: Box<Runs>) -> DataFusionError {
    let Runs { stock, partition, context, .. } = *runs;
    let input = stock.input();
    if !input.is::<TambourScanExec>() {
        return error;
    }
    let Ok(mut rows) = input.execute(partition, context) else { return error };
    while let Some(batch) = rows.next().await {
        if let Err(told) = batch {
            return told;
        }
    }
    error
}

/// The same values in memory of their own: for a few keys the blocks of a whole batch would be kept, and each next batch would
/// need new ones.
fn apart(keys: &ArrayRef) -> ArrayRef {
    match keys.data_type() {
        DataType::Utf8View => Arc::new(keys.as_string_view().gc()),
        DataType::BinaryView => Arc::new(keys.as_binary_view().gc()),
        _ => Arc::clone(keys),
    }
}

/// The rows at which a key is another one than in the row before, the first among them.
fn starts(keys: &[ArrayRef]) -> Result<Vec<u64>> {
    let rows = keys.first().map_or(0, Array::len);
    let mut is_start = vec![false; rows];
    if let Some(first) = is_start.first_mut() {
        *first = true;
    }
    for key in keys {
        match key.data_type() {
            DataType::Utf8View if key.null_count() == 0 => {
                let texts = key.as_string_view();
                mark_views(texts.views(), |row| texts.value(row).as_bytes(), &mut is_start);
            }
            DataType::BinaryView if key.null_count() == 0 => {
                let texts = key.as_binary_view();
                mark_views(texts.views(), |row| texts.value(row), &mut is_start);
            }
            _ => {
                for range in partition(std::slice::from_ref(key))?.ranges() {
                    if let Some(is_start) = is_start.get_mut(range.start) {
                        *is_start = true;
                    }
                }
            }
        }
    }
    let marked = is_start.into_iter().enumerate().filter(|(_, is_start)| *is_start);
    Ok(marked.map(|(row, _)| row as u64).collect())
}

/// Marks the rows whose text is another one than that of the row before.
#[expect(clippy::cast_possible_truncation, reason = "the low halves of a view are meant")]
fn mark_views<'a>(views: &[u128], text: impl Fn(usize) -> &'a [u8], is_start: &mut [bool]) {
    let pairs = views.windows(2).zip(is_start.iter_mut().skip(1));
    for (row, (pair, is_start)) in pairs.enumerate() {
        let [before, here] = [pair[0], pair[1]];
        // The length and the first four bytes; a short text is in its view whole.
        let is_other = before != here
            && (before as u64 != here as u64
                || here as u32 <= INLINE_MAX
                || text(row) != text(row + 1));
        *is_start |= is_other;
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
