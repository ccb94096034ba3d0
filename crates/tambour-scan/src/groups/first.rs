//! Groups under a LIMIT and in no order: any of them will do, so it is those whose keys come first. Rows of all others are dropped
//! before they are grouped.
//!
//! A rule puts [`FirstKeysExec`] below the first stage of such an aggregate. All its partitions agree on the keys: what one of them
//! has let pass once, all let pass.

use super::runs;
use super::stream::evaluated;
use crate::late::numbers;
use crate::nodes::over;
use crate::scan_options::ScanOptions;
use arrow::array::{Array, ArrayRef, BooleanArray, BooleanBufferBuilder, RecordBatch, Scalar};
use arrow::compute::filter_record_batch;
use arrow::compute::kernels::cmp::not_distinct;
use arrow::datatypes::{ArrowNativeType, DataType, SchemaRef};
use arrow::row::{RowConverter, Rows, SortField};
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode,
    PhysicalExpr, PlanProperties, ReplaceChildrenOptions,
};
use futures::stream::{self, StreamExt};
use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Groups up to which a limit is worth the look at each row.
const KEYS_MAX: usize = 1024;
/// Values of one key up to which a row is compared with each; of more, all keys of a row are looked up.
const VALUES_MAX: usize = 16;
/// Rows that are compared with a value before the next value.
const CHUNK: usize = 256;

/// The rule.
#[derive(Debug)]
pub(crate) struct FirstKeys;

impl PhysicalOptimizerRule for FirstKeys {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ScanOptions::of(config);
        if !options.scan_groups || !options.scan_first_keys {
            return Ok(plan);
        }
        plan.transform_down(|node| {
            let Some(limit) = limit_of(&node).filter(|it| (1..=KEYS_MAX).contains(it)) else {
                return Ok(Transformed::no(node));
            };
            let Some(child) = node.children().first().map(|it| Arc::clone(it)) else {
                return Ok(Transformed::no(node));
            };
            match limited(&child, limit)? {
                Some(child) => Ok(Transformed::yes(over(node, child)?)),
                None => Ok(Transformed::no(node)),
            }
        })
        .data()
    }
    fn name(&self) -> &'static str {
        "first_keys"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// The rows that a node takes of what is below, if it takes any.
fn limit_of(node: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    if let Some(limit) = node.downcast_ref::<GlobalLimitExec>() {
        return limit.fetch()?.checked_add(limit.skip());
    }
    if let Some(limit) = node.downcast_ref::<LocalLimitExec>() {
        return Some(limit.fetch());
    }
    node.downcast_ref::<CoalescePartitionsExec>()?.fetch()
}

/// The node over the rows of `limit` keys, if it hands out groups.
fn limited(node: &Arc<dyn ExecutionPlan>, limit: usize) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let is_between = node.is::<ProjectionExec>()
        || node.is::<CoalescePartitionsExec>()
        || node.is::<RepartitionExec>();
    let Some(aggregate) = node.downcast_ref::<AggregateExec>() else {
        let Some(child) = node.children().first().filter(|_| is_between).copied() else {
            return Ok(None);
        };
        let below = limited(child, limit)?;
        return below.map(|below| over(Arc::clone(node), below)).transpose();
    };
    if aggregate.mode().input_mode() != AggregateInputMode::Raw {
        let below = limited(aggregate.input(), limit)?;
        return below.map(|below| over(Arc::clone(node), below)).transpose();
    }
    let (group, input) = (aggregate.group_expr(), aggregate.input());
    let is_plain = group.is_single()
        && !group.is_empty()
        && !group.has_grouping_set()
        && aggregate.limit_options().is_none()
        && *aggregate.input_order_mode() == InputOrderMode::Linear
        && !input.is::<FirstKeysExec>()
        && !changes(aggregate)
        && !runs::are_in_pieces(aggregate)?;
    if !is_plain {
        return Ok(None);
    }
    let keys = group.input_exprs();
    let schema = input.schema();
    for key in &keys {
        if !is_comparable(&key.data_type(&schema)?) {
            return Ok(None);
        }
    }
    let Some(place) = compared(&keys, &schema)? else { return Ok(None) };
    let first: Arc<dyn ExecutionPlan> =
        Arc::new(FirstKeysExec::new(Arc::clone(input), keys, place, limit));
    over(Arc::clone(node), first).map(Some)
}

/// True if an expression gives another value each time it is asked: the keys are asked twice, and the rest of fewer rows.
fn changes(aggregate: &AggregateExec) -> bool {
    let keys = aggregate.group_expr().input_exprs();
    let arguments = aggregate.aggr_expr().iter().flat_map(|it| it.expressions());
    let filters = aggregate.filter_expr().iter().flatten().cloned();
    keys.into_iter().chain(arguments).chain(filters).any(|it| is_volatile(&it))
}

/// The place of the key that rows are compared by at first: numbers rather than texts. None if it is quicker to group all rows: those
/// of dictionaries by their codes, those of one short range, as times are, by position.
fn compared(keys: &[Arc<dyn PhysicalExpr>], schema: &SchemaRef) -> Result<Option<usize>> {
    let types = keys.iter().map(|key| key.data_type(schema)).collect::<Result<Vec<_>>>()?;
    let is_short =
        |it: &DataType| it.is_temporal() || it.primitive_width().is_some_and(|it| it < 4);
    if matches!(types.as_slice(), [one] if is_short(one)) {
        return Ok(None);
    }
    let number = types.iter().position(|it| matches!(it.primitive_width(), Some(4 | 8)));
    let other = || types.iter().position(|it| !matches!(it, DataType::Dictionary(..)));
    Ok(number.or_else(other))
}

/// True if values of a type are the same to the engine's groups, to comparisons and as rows.
fn is_comparable(data_type: &DataType) -> bool {
    if let DataType::Dictionary(_, values) = data_type {
        return matches!(**values, DataType::Utf8 | DataType::Binary);
    }
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

/// Rows whose keys are among the first that came.
#[derive(Debug)]
pub struct FirstKeysExec {
    input: Arc<dyn ExecutionPlan>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    /// The key that rows are compared by at first.
    place: usize,
    limit: usize,
    known: Arc<Mutex<Known>>,
    metrics: ExecutionPlanMetricsSet,
}

impl FirstKeysExec {
    fn new(
        input: Arc<dyn ExecutionPlan>,
        keys: Vec<Arc<dyn PhysicalExpr>>,
        place: usize,
        limit: usize,
    ) -> Self {
        let (known, metrics) = (Arc::default(), ExecutionPlanMetricsSet::new());
        Self { input, keys, place, limit, known, metrics }
    }
    /// How many keys there are at most.
    pub fn limit(&self) -> usize {
        self.limit
    }
    fn again(&self, input: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        Arc::new(Self::new(input, self.keys.clone(), self.place, self.limit))
    }
}

impl DisplayAs for FirstKeysExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (head, separator) = match format {
            DisplayFormatType::TreeRender => ("", "\n"),
            _ => ("FirstKeysExec: ", ", "),
        };
        let keys: Vec<String> = self.keys.iter().map(ToString::to_string).collect();
        write!(f, "{head}keys=[{}]{separator}limit={}", keys.join(", "), self.limit)
    }
}

impl ExecutionPlan for FirstKeysExec {
    fn name(&self) -> &'static str {
        "FirstKeysExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for key in &self.keys {
            if visit(key)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
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
        let schema = self.schema();
        let chooser = Chooser {
            keys: self.keys.clone(),
            place: self.place,
            limit: self.limit,
            known: Arc::clone(&self.known),
            converter: converter(&self.keys, &schema)?,
            values: Values::Open,
            baseline: BaselineMetrics::new(&self.metrics, partition),
        };
        let input = self.input.execute(partition, context)?;
        let batches = stream::try_unfold((chooser, input), next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

fn converter(keys: &[Arc<dyn PhysicalExpr>], schema: &SchemaRef) -> Result<RowConverter> {
    let fields = keys.iter().map(|key| Ok(SortField::new(key.data_type(schema)?)));
    Ok(RowConverter::new(fields.collect::<Result<_>>()?)?)
}

/// The keys that came first, in the order in which they came.
#[derive(Debug, Default)]
struct Known {
    /// As rows of a [`RowConverter`]: the same bytes in all partitions.
    rows: HashSet<Vec<u8>>,
    is_full: bool,
}

/// One partition.
struct Chooser {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    place: usize,
    limit: usize,
    known: Arc<Mutex<Known>>,
    converter: RowConverter,
    values: Values,
    baseline: BaselineMetrics,
}

/// The values of the key that is compared.
enum Values {
    /// More keys may come.
    Open,
    TooMany,
    Known(Vec<ArrayRef>),
}

type Standing = (Chooser, SendableRecordBatchStream);

async fn next((mut chooser, mut input): Standing) -> Result<Option<(RecordBatch, Standing)>> {
    loop {
        let Some(batch) = input.next().await.transpose()? else { return Ok(None) };
        let chosen = chooser.chosen(&batch)?;
        if chosen.num_rows() > 0 {
            return Ok(Some((chosen, (chooser, input))));
        }
    }
}

impl Chooser {
    /// The rows that may pass.
    fn chosen(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let time = self.baseline.elapsed_compute().clone();
        let _timer = time.timer();
        let mut chosen = batch.clone();
        if let Values::Known(values) = &self.values {
            let key = std::slice::from_ref(&self.keys[self.place]);
            let [key] = &evaluated(key, batch)?[..] else { return Ok(chosen) };
            chosen = filter_record_batch(batch, &are_among(key, values)?)?;
            if chosen.num_rows() == 0 || self.keys.len() == 1 {
                return Ok(chosen);
            }
        }
        let keys = evaluated(&self.keys, &chosen)?;
        let rows = self.converter.convert_columns(&keys)?;
        let are_known = self.are_known(&rows)?;
        Ok(filter_record_batch(&chosen, &are_known)?)
    }

    /// Whether each of some keys is among the first, to which it may be added.
    fn are_known(&mut self, rows: &Rows) -> Result<BooleanArray> {
        let shared = Arc::clone(&self.known);
        let mut known = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut are_known = Vec::with_capacity(rows.num_rows());
        for row in rows {
            let row = row.as_ref();
            let is_known = known.rows.contains(row);
            if !is_known && !known.is_full {
                known.rows.insert(row.to_vec());
                known.is_full = known.rows.len() >= self.limit;
                are_known.push(true);
            } else {
                are_known.push(is_known);
            }
        }
        if known.is_full && matches!(self.values, Values::Open) {
            self.values = self.first_values(&known)?;
        }
        Ok(BooleanArray::from(are_known))
    }

    /// The values of the key that is compared, each once.
    fn first_values(&self, known: &Known) -> Result<Values> {
        let parser = self.converter.parser();
        let columns = self.converter.convert_rows(known.rows.iter().map(|it| parser.parse(it)))?;
        let Some(first) = columns.get(self.place) else { return Ok(Values::TooMany) };
        let mut values: Vec<ArrayRef> = Vec::new();
        for row in 0..first.len() {
            let value = first.slice(row, 1);
            if !values.iter().any(|it| **it == *value) {
                values.push(value);
            }
            if values.len() > VALUES_MAX {
                return Ok(Values::TooMany);
            }
        }
        Ok(Values::Known(values))
    }
}

/// The rows that have one of some values; NULL is one.
fn are_among(column: &ArrayRef, values: &[ArrayRef]) -> Result<BooleanArray> {
    let has_nulls = column.null_count() > 0 || values.iter().any(|it| it.null_count() > 0);
    match column.data_type().primitive_width().filter(|_| !has_nulls) {
        Some(4) => return Ok(among::<u32>(column, values)),
        Some(8) => return Ok(among::<u64>(column, values)),
        _ => {}
    }
    let mut found = BooleanArray::from(vec![false; column.len()]);
    for value in values {
        let same = not_distinct(column, &Scalar::new(Arc::clone(value)))?;
        found = arrow::compute::or(&found, &same)?;
    }
    Ok(found)
}

/// The same of numbers by their bits, some rows at a time.
fn among<T: ArrowNativeType>(column: &ArrayRef, values: &[ArrayRef]) -> BooleanArray {
    let wanted = values.iter().filter_map(|it| numbers::<T>(it));
    let wanted: Vec<T> = wanted.flat_map(|it| it.to_vec()).collect();
    let mut found = BooleanBufferBuilder::new(column.len());
    let rows = numbers::<T>(column);
    for rows in rows.iter().flat_map(|it| it.chunks(CHUNK)) {
        let mut is_found = [false; CHUNK];
        for value in &wanted {
            for (is_found, row) in is_found.iter_mut().zip(rows) {
                *is_found |= row == value;
            }
        }
        found.append_slice(&is_found[..rows.len()]);
    }
    BooleanArray::new(found.finish(), None)
}
