//! The rows of one partition into groups, and what happens when they are too many.

use super::keys::Keys;
use super::over;
use super::wide::Wide;
use crate::exec::TambourScanExec;
use crate::scan_options::ScanOptions;
use crate::texts::as_texts;
use crate::texts::dictionary::over_dictionaries;
use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::aggregates::{
    AggregateExec, AggregateInputMode, AggregateMode, aggregate_expressions,
};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder,
};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PhysicalExpr};
use futures::stream::{self, Stream, StreamExt, TryStreamExt};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Metric: partitions whose keys turned out wide.
const WIDE: &str = "wide_keys";

/// The part of the memory that the tables of one stage may take together: the engine, which takes over above that, can spill.
const MEMORY_SHARE: usize = 4;

/// Aggregates whose state for a single row costs no more than the row.
const CHEAP: &[&str] = &["count", "sum", "avg", "min", "max"];

/// Groups in the making.
struct Groups {
    stock: Arc<AggregateExec>,
    context: Arc<TaskContext>,
    /// See [`super::GroupsExec`].
    whole: Option<Arc<AggregateExec>>,
    keys: Keys,
    /// The groups by keys that turned out wide.
    table: Option<Wide>,
    /// Rows that were grouped.
    rows: usize,
    types: Vec<DataType>,
    key_expressions: Vec<Arc<dyn PhysicalExpr>>,
    arguments: Vec<Vec<Arc<dyn PhysicalExpr>>>,
    accumulators: Vec<Box<dyn GroupsAccumulator>>,
    reservation: MemoryReservation,
    /// Bytes above which the engine takes over.
    bytes_max: usize,
    /// Groups that have rows.
    count: usize,
    partition: usize,
    baseline: BaselineMetrics,
    wide: Count,
}

/// Where a partition stands.
enum State {
    Grouping(Box<Groups>, SendableRecordBatchStream),
    /// Groups that are handed out, and what follows them.
    Handing(RecordBatch, usize, Option<SendableRecordBatchStream>),
    Rest(SendableRecordBatchStream),
}

/// Runs one partition of an aggregate.
pub(super) fn run(
    stock: &Arc<AggregateExec>,
    whole: Option<&Arc<AggregateExec>>,
    metrics: &ExecutionPlanMetricsSet,
    partition: usize,
    context: Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let input = match as_bytes(stock, partition, &context)? {
        Some(bytes) => bytes,
        None => stock.input().execute(partition, Arc::clone(&context))?,
    };
    let schema = stock.input().schema();
    let key_expressions = stock.group_expr().input_exprs();
    let types: Result<Vec<DataType>> =
        key_expressions.iter().map(|key| key.data_type(&schema)).collect();
    let accumulators: Result<Vec<_>> =
        stock.aggr_expr().iter().map(|it| it.create_groups_accumulator()).collect();
    let states = key_expressions.len();
    let mut arguments = aggregate_expressions(stock.aggr_expr(), stock.mode(), states)?;
    let mut key_expressions = key_expressions;
    if ScanOptions::of(context.session_config().options()).scan_dictionaries {
        for expr in key_expressions.iter_mut().chain(arguments.iter_mut().flatten()) {
            *expr = over_dictionaries(expr, &schema)?;
        }
    }
    let types = types?;
    // A text is looked up in a table of hashes in any case: the other keys may as well be there.
    let is_text = types.iter().any(|it| matches!(it, DataType::Utf8View | DataType::BinaryView));
    let options = ScanOptions::of(context.session_config().options());
    let is_table = is_text && options.scan_wide_groups;
    let partitions = stock.input().output_partitioning().partition_count();
    let bytes_max = match context.memory_pool().memory_limit() {
        MemoryLimit::Finite(limit) => limit / MEMORY_SHARE / partitions.max(1),
        _ => usize::MAX,
    };
    let groups = Groups {
        bytes_max,
        keys: Keys::new(&types),
        table: Wide::new(&types).filter(|_| is_table),
        rows: 0,
        types,
        key_expressions,
        arguments,
        accumulators: accumulators?,
        reservation: MemoryConsumer::new("groups by position").register(context.memory_pool()),
        count: 0,
        partition,
        baseline: BaselineMetrics::new(metrics, partition),
        wide: MetricBuilder::new(metrics).counter(WIDE, partition),
        stock: Arc::clone(stock),
        whole: whole.map(Arc::clone),
        context: Arc::clone(&context),
    };
    let rows = context.session_config().batch_size();
    let handed = groups.baseline.output_rows().clone();
    let state = State::Grouping(Box::new(groups), input);
    let batches = stream::try_unfold(state, move |state| next(state, rows));
    let batches = batches.inspect_ok(move |batch: &RecordBatch| handed.add(batch.num_rows()));
    let schema = whole.unwrap_or(stock).schema();
    Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
}

async fn next(mut state: State, rows: usize) -> Result<Option<(RecordBatch, State)>> {
    loop {
        state = match state {
            State::Grouping(mut groups, mut input) => match input.next().await {
                None => State::Handing(groups.finished()?, 0, None),
                Some(batch) => {
                    let batch = batch?;
                    if groups.add(&batch)? {
                        State::Grouping(groups, input)
                    } else if groups.is_damaged() && !groups.is_last() {
                        // The engine's operator, which sees texts, finds and tells where.
                        let stock = groups.whole.as_ref().unwrap_or(&groups.stock);
                        State::Rest(stock.execute(groups.partition, groups.context)?)
                    } else {
                        groups.given_up(batch, input)?
                    }
                }
            },
            State::Handing(groups, from, rest) => {
                let count = rows.min(groups.num_rows().saturating_sub(from));
                if count > 0 {
                    let batch = groups.slice(from, count);
                    return Ok(Some((batch, State::Handing(groups, from + count, rest))));
                }
                match rest {
                    Some(rest) => State::Rest(rest),
                    None => return Ok(None),
                }
            }
            State::Rest(mut rest) => {
                let batch = rest.next().await.transpose()?;
                return Ok(batch.map(|batch| (batch, State::Rest(rest))));
            }
        }
    }
}

impl Groups {
    /// Leaves what is left to the engine.
    fn given_up(&mut self, batch: RecordBatch, input: SendableRecordBatchStream) -> Result<State> {
        if self.table.is_none() {
            self.wide.add(1);
        }
        let rows = self.context.session_config().batch_size();
        if self.is_last() {
            let first = slices(self.hand_out()?, rows).chain(stream::iter([Ok(batch)]));
            let states = RecordBatchStreamAdapter::new(input.schema(), first.chain(input));
            let last = over(&self.stock, once(Box::pin(states))?)?;
            return Ok(State::Rest(last.execute(0, Arc::clone(&self.context))?));
        }
        let rest = rest(&self.stock, batch, input, &self.context_of_rest())?;
        let groups = self.hand_out()?;
        let Some(whole) = &self.whole else {
            return Ok(State::Handing(groups, 0, Some(rest)));
        };
        let states = slices(groups, rows).chain(rest);
        let states = RecordBatchStreamAdapter::new(self.stock.schema(), states);
        let last = AggregateExec::try_new(
            AggregateMode::Final,
            whole.group_expr().as_final(),
            whole.aggr_expr().to_vec(),
            vec![None; whole.aggr_expr().len()],
            once(Box::pin(states))?,
            whole.input_schema(),
        )?;
        if last.schema() != whole.schema() {
            return internal_err!("the last stage of an aggregate gives another schema");
        }
        Ok(State::Rest(last.execute(0, Arc::clone(&self.context))?))
    }

    /// True for the last of two stages, which merges states.
    fn is_last(&self) -> bool {
        self.stock.mode().input_mode() == AggregateInputMode::Partial
    }

    /// True for a first stage that has nearly as many groups as rows, by the settings of the engine's own.
    fn is_useless(&self) -> bool {
        let execution = &self.context.session_config().options().execution;
        let is_first = self.whole.is_none() && !self.is_last();
        is_first
            && self.rows >= execution.skip_partial_aggregation_probe_rows_threshold
            && self.count as f64
                >= self.rows as f64 * execution.skip_partial_aggregation_probe_ratio_threshold
    }

    fn is_damaged(&self) -> bool {
        self.keys.is_damaged() || self.table.as_ref().is_some_and(Wide::is_damaged)
    }

    /// How many groups there are, those without rows among them.
    fn len(&self) -> usize {
        self.table.as_ref().map_or_else(|| self.keys.len(), Wide::len)
    }

    /// The groups of some rows; `None` if they must be left to the engine.
    fn of(&mut self, keys: &[ArrayRef]) -> Result<Option<Vec<usize>>> {
        if let Some(table) = &mut self.table {
            return table.groups(keys);
        }
        let found = self.keys.groups(keys)?;
        let options = ScanOptions::of(self.context.session_config().options());
        if found.is_some() || self.keys.is_damaged() || !options.scan_wide_groups {
            return Ok(found);
        }
        let Some(mut table) = Wide::new(&self.types) else { return Ok(None) };
        if self.count > 0 && table.groups(&self.keys.values(self.count)?)?.is_none() {
            return Ok(None);
        }
        self.wide.add(1);
        self.keys = Keys::new(&self.types);
        self.table.insert(table).groups(keys)
    }

    /// Where the last stage follows right away, or rows are of groups of their own, the engine's first stage hands on each row as a group.
    fn context_of_rest(&self) -> Arc<TaskContext> {
        let config = self.context.session_config();
        let mut calls = self.stock.aggr_expr().iter();
        let is_cheap = calls.all(|it| CHEAP.contains(&it.fun().name()));
        let is_skipped = self.whole.is_some() || self.is_useless();
        if !is_skipped || !is_cheap || !ScanOptions::of(config.options()).scan_wide_groups {
            return Arc::clone(&self.context);
        }
        let mut config = config.clone();
        let execution = &mut config.options_mut().execution;
        execution.skip_partial_aggregation_probe_rows_threshold = 0;
        execution.skip_partial_aggregation_probe_ratio_threshold = 0.0;
        let context = &self.context;
        Arc::new(TaskContext::new(
            context.task_id(),
            context.session_id(),
            config,
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            context.runtime_env(),
        ))
    }

    /// Adds rows to their groups; `false` if the keys are wide, or memory for more is refused.
    fn add(&mut self, batch: &RecordBatch) -> Result<bool> {
        let time = self.baseline.elapsed_compute().clone();
        let _timer = time.timer();
        if self.is_useless() {
            return Ok(false);
        }
        let keys = evaluated(&self.key_expressions, batch)?;
        let Some(groups) = self.of(&keys)? else { return Ok(false) };
        let table = self.table.as_ref().map_or_else(|| self.keys.size(), Wide::size);
        let size = self.accumulators.iter().map(|it| it.size()).sum::<usize>() + table;
        if size > self.bytes_max || self.reservation.try_resize(size).is_err() {
            return Ok(false);
        }
        self.count = self.len();
        self.rows += batch.num_rows();
        let is_last = self.is_last();
        let filters = self.stock.filter_expr();
        let each = self.accumulators.iter_mut().zip(&self.arguments).zip(filters);
        for ((accumulator, arguments), filter) in each {
            let values = evaluated(arguments, batch)?;
            if is_last {
                accumulator.merge_batch(&values, &groups, self.count)?;
                continue;
            }
            let filter = filter.as_ref().map(|filter| chosen(filter, batch)).transpose()?;
            accumulator.update_batch(&values, &groups, filter.as_ref(), self.count)?;
        }
        Ok(true)
    }

    fn key_values(&mut self) -> Result<Vec<ArrayRef>> {
        match &mut self.table {
            Some(table) => table.taken(self.count),
            None => self.keys.values(self.count),
        }
    }

    /// All groups, as the next stage wants them: where there is none, with their results.
    fn finished(&mut self) -> Result<RecordBatch> {
        let last = self.whole.as_ref().or_else(|| self.is_last().then_some(&self.stock));
        let Some(schema) = last.map(|it| it.schema()) else { return self.hand_out() };
        let mut columns = self.key_values()?;
        for accumulator in &mut self.accumulators {
            if self.count > 0 {
                columns.push(accumulator.evaluate(EmitTo::All)?);
            }
        }
        self.batch(schema, columns)
    }

    /// All groups that have rows, with the states of their aggregates.
    fn hand_out(&mut self) -> Result<RecordBatch> {
        let mut columns = self.key_values()?;
        for accumulator in &mut self.accumulators {
            if self.count > 0 {
                columns.extend(accumulator.state(EmitTo::All)?);
            }
        }
        let schema = if self.is_last() { self.stock.input().schema() } else { self.stock.schema() };
        self.batch(schema, columns)
    }

    fn batch(&mut self, schema: SchemaRef, columns: Vec<ArrayRef>) -> Result<RecordBatch> {
        self.reservation.free();
        if self.count == 0 {
            return Ok(RecordBatch::new_empty(schema));
        }
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}

/// A batch in pieces: whoever runs out of memory can give some of it away between two of them.
fn slices(batch: RecordBatch, rows: usize) -> impl Stream<Item = Result<RecordBatch>> {
    let starts = (0..batch.num_rows()).step_by(rows.max(1));
    stream::iter(starts.map(move |start| {
        let count = rows.min(batch.num_rows() - start);
        Ok(batch.slice(start, count))
    }))
}

/// The engine's own operator over a batch and what follows it.
pub(super) fn rest(
    stock: &AggregateExec,
    batch: RecordBatch,
    input: SendableRecordBatchStream,
    context: &Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let schema = stock.input().schema();
    let wanted = Arc::clone(&schema);
    let rows = stream::once(futures::future::ready(Ok(batch))).chain(input);
    let rows = rows.map(move |batch| as_texts(batch?, &wanted));
    let rows = RecordBatchStreamAdapter::new(Arc::clone(&schema), rows);
    over(stock, once(Box::pin(rows))?)?.execute(0, Arc::clone(context))
}

/// A plan whose rows can be asked for once.
fn once(rows: SendableRecordBatchStream) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = rows.schema();
    let once = Once { schema: Arc::clone(&schema), rows: Mutex::new(Some(rows)) };
    let partition: Arc<dyn PartitionStream> = Arc::new(once);
    Ok(Arc::new(StreamingTableExec::try_new(schema, vec![partition], None, [], false, None)?))
}

/// The rows of the scan below, with texts as bytes if all of them are keys and nothing else; `None` if not. One operator that computes
/// columns may stand between, if it hands on these texts as they are.
pub(super) fn as_bytes(
    stock: &AggregateExec,
    partition: usize,
    context: &Arc<TaskContext>,
) -> Result<Option<SendableRecordBatchStream>> {
    let keys = stock.group_expr().input_exprs();
    let (bare, other): (Vec<_>, Vec<_>) = keys.iter().partition(|key| key.is::<Column>());
    let arguments = aggregate_expressions(stock.aggr_expr(), &AggregateMode::Partial, 0)?;
    let filters = stock.filter_expr().iter().flatten();
    let others = other.into_iter().chain(arguments.iter().flatten()).chain(filters);
    let accepted = &places(bare) - &places(others);
    if let Some(scan) = stock.input().downcast_ref::<TambourScanExec>() {
        return scan.execute_as_bytes(partition, context, &accepted);
    }
    let Some(computing) = stock.input().downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let Some(scan) = computing.input().downcast_ref::<TambourScanExec>() else { return Ok(None) };
    let columns: Vec<_> = computing.expr().iter().map(|it| Arc::clone(&it.expr)).collect();
    let is_key = |(place, column): &(usize, &Arc<dyn PhysicalExpr>)| {
        accepted.contains(place) && column.is::<Column>()
    };
    let (bare, other): (Vec<_>, Vec<_>) = columns.iter().enumerate().partition(is_key);
    let column = |(_, column)| column;
    let accepted = &places(bare.into_iter().map(column)) - &places(other.into_iter().map(column));
    let Some(rows) = scan.execute_as_bytes(partition, context, &accepted)? else { return Ok(None) };
    let texts = computing.schema();
    let fields = columns.iter().zip(texts.fields()).map(|(column, field)| {
        let data_type = column.data_type(&rows.schema())?;
        Ok(Arc::new(field.as_ref().clone().with_data_type(data_type)))
    });
    let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?));
    let handed = Arc::clone(&schema);
    let rows = rows.map(move |batch| {
        let columns = evaluated(&columns, &batch?)?;
        Ok(RecordBatch::try_new(Arc::clone(&handed), columns)?)
    });
    Ok(Some(Box::pin(RecordBatchStreamAdapter::new(schema, rows))))
}

/// The places of all columns that some expressions look at.
fn places<'a>(expressions: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>) -> BTreeSet<usize> {
    expressions.into_iter().flat_map(collect_columns).map(|it| it.index()).collect()
}

pub(super) fn evaluated(
    expressions: &[Arc<dyn PhysicalExpr>],
    batch: &RecordBatch,
) -> Result<Vec<ArrayRef>> {
    let values = expressions.iter().map(|it| it.evaluate(batch)?.into_array(batch.num_rows()));
    values.collect()
}

pub(super) fn chosen(filter: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<BooleanArray> {
    let values = filter.evaluate(batch)?.into_array(batch.num_rows())?;
    let Some(values) = values.as_boolean_opt() else {
        return internal_err!("a filter is not a condition: {filter}");
    };
    Ok(values.clone())
}

/// Rows that can be asked for once.
struct Once {
    schema: SchemaRef,
    rows: Mutex<Option<SendableRecordBatchStream>>,
}

impl std::fmt::Debug for Once {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Once").finish_non_exhaustive()
    }
}

impl PartitionStream for Once {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }
    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).take();
        rows.unwrap_or_else(|| {
            let rows = stream::empty();
            Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
        })
    }
}
