//! The plan node that runs a scan.
//!
//! It holds the [`Scan`] value and little else, so that it can be sent elsewhere as that. A partition of the plan is one of the
//! scan's; its stream decodes a batch each time it is polled, on the task that polls it: partitions run in parallel because
//! the engine polls each from its own task.

mod bytes;
pub(crate) mod ends;
pub(crate) mod estimates;
pub(crate) mod found;
mod share;
mod stream;
mod travel;

pub use travel::{Read, Sent, read_by, untold};

use crate::late::Filters;
use crate::scan_options::ScanOptions;
use crate::shown::joined;
use crate::statistics;
use arrow::array::{Array, AsArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType as ArrowType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{ColumnStatistics, Result, Statistics};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::{Column as ColumnExpr, DynamicFilterPhysicalExpr};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, CardinalityEffect, EmissionType, SchedulingType,
};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterPushdownPhase, FilterPushdownPropagation, PushedDown,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
    ReplaceChildrenOptions, SortOrderPushdownResult,
};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use tambour_table::scan::{Pruned, Scan, sorts_like_arrow};
use tambour_table::schema::expression::Expression;
use tambour_table::{Table, TableError};

/// Sorted runs up to which a sort is replaced by a merge of them; each run holds a reader and its buffers.
const RUNS_MAX: usize = 64;

/// The column that says where a row is; nobody types its name.
pub(crate) const PLACE: &str = "\u{1f}place";

/// Metric: bytes read from files.
pub const COMPRESSED: &str = "bytes_compressed";
/// Metric: bytes after decompression.
pub const DECODED: &str = "bytes_decoded";
/// Metric: rows that were read and dropped by a filter.
pub const FILTERED: &str = "rows_filtered";
/// Metric: partitions that were read to their end.
const ENDED: &str = "partitions_ended";
/// Metric: granules that a filter from above left out.
pub const SKIPPED: &str = "granules_skipped";
/// Metric: the rows of these granules.
const SKIPPED_ROWS: &str = "rows_skipped";

/// Reads a table.
#[derive(Clone, Debug)]
pub struct TambourScanExec {
    table: Arc<Table>,
    scan: Scan,
    pruned: Pruned,
    /// Of the columns that are read.
    read: SchemaRef,
    /// The columns that are handed out, by their places among those that are read.
    output: Arc<[usize]>,
    /// Of the columns that are handed out.
    schema: SchemaRef,
    /// Of all rows of the table, for the columns that are read.
    all: Arc<Statistics>,
    filters: Filters,
    /// Of columns that are read: those above look at no more than the lengths of these.
    lengths: BTreeSet<usize>,
    /// The last granules first.
    is_reversed: bool,
    /// Of each part no more is read once a row is left: see [`ends`].
    is_of_ends: bool,
    /// The last column that is handed out says where the row is.
    places: bool,
    /// Why statistics that are there are not used.
    note: Option<String>,
    /// The projection whose rows are read.
    projection: Option<Arc<str>>,
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
        let output: Arc<[usize]> = (0..schema.fields().len()).collect();
        let properties = properties(&table, &scan, &schema);
        let metrics = ExecutionPlanMetricsSet::new();
        let filters = Filters::default();
        let read = Arc::clone(&schema);
        let (is_reversed, is_of_ends, places, note) = (false, false, false, None);
        Self {
            table,
            scan,
            pruned,
            read,
            output,
            schema,
            all,
            filters,
            lengths: BTreeSet::new(),
            is_reversed,
            is_of_ends,
            places,
            note,
            projection: None,
            properties,
            metrics,
        }
    }
    /// The same, known to read a projection of this name.
    pub(crate) fn of_projection(self, name: &str) -> Self {
        Self { projection: Some(name.into()), ..self }
    }
    /// What it reads.
    pub fn scan(&self) -> &Scan {
        &self.scan
    }
    /// What pruning left of the table.
    pub fn pruned(&self) -> Pruned {
        self.pruned
    }
    /// True if the query drops rows; operators above only drop what they do not want.
    pub(crate) fn has_filters(&self) -> bool {
        !self.filters.fixed.is_empty()
    }
    /// True if it says why statistics are not used.
    pub(crate) fn has_note(&self) -> bool {
        self.note.is_some()
    }
    /// The same, which says why statistics are not used.
    pub(crate) fn noted(&self, note: String) -> Self {
        Self { note: Some(note), ..self.clone() }
    }
    /// The table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// What EXPLAIN says of it besides parts and columns; filters that operators above find are cut to `moving_max` characters.
    pub fn words(&self, moving_max: usize) -> Vec<String> {
        let mut words = Vec::new();
        words.extend(self.projection.iter().map(|name| format!("rows of the projection {name}")));
        if !self.scan.predicate.is_unknown() {
            words.push(format!("index and statistics: {}", self.scan.predicate));
        }
        let fixed = joined(&self.filters.fixed);
        words.extend(fixed.map(|filter| format!("filter: {filter}")));
        let moving = joined(&self.filters.moving).map(|filter| {
            let filter = filter.replace("DynamicFilter [ empty ]", "found while it runs");
            let filter = filter.replace("DynamicFilter [ ", "").replace(" ]", "");
            match filter.char_indices().nth(moving_max) {
                Some((end, _)) => format!("{}\u{2026}", filter.get(..end).unwrap_or_default()),
                None => filter,
            }
        });
        words.extend(moving.map(|filter| format!("filter from above: {filter}")));
        let lengths = self.lengths.iter().filter_map(|place| self.read.fields().get(*place));
        let lengths: Vec<&str> = lengths.map(|field| field.name().as_str()).collect();
        if !lengths.is_empty() {
            words.push(format!("lengths alone of: {}", lengths.join(", ")));
        }
        words.extend(self.note.iter().map(|note| format!("note: {note}")));
        if self.is_reversed {
            words.push("the last granules first".to_owned());
        } else if self.properties.output_ordering().is_some() {
            words.push("in the order of the sorting key".to_owned());
        }
        words.extend(self.is_of_ends.then(|| "of each part until a row is left".to_owned()));
        words.extend(self.scan.limit.map(|limit| format!("at most {limit} rows")));
        words
    }

    fn with_scan(&self, scan: Scan) -> Self {
        let properties = properties(&self.table, &scan, &self.schema);
        let metrics = ExecutionPlanMetricsSet::new();
        Self { scan, properties, metrics, ..self.clone() }
    }
    /// The same rows with some of the columns that are handed out now.
    fn projected(&self, columns: &[usize]) -> Result<Self> {
        let schema = Arc::new(self.schema.project(columns)?);
        let wanted: Vec<usize> = columns.iter().map(|column| self.output[*column]).collect();
        let mut needed = self.filters.columns();
        needed.extend(&wanted);
        let needed: Vec<usize> = needed.into_iter().collect();
        let read = Arc::new(self.read.project(&needed)?);
        let place = |column| needed.binary_search(column).unwrap_or_default();
        let mut scan = self.scan.clone();
        scan.columns = read.fields().iter().map(|field| field.name().clone()).collect();
        let all = Arc::new(self.all.as_ref().clone().project(Some(&needed)));
        let filters = self.filters.moved_to(&read)?;
        let output = wanted.iter().map(place).collect();
        let lengths = BTreeSet::new();
        let projected = Self { scan, read, output, schema, all, filters, lengths, ..self.clone() };
        Ok(projected.with_scan(projected.scan.clone()))
    }
    /// Some of the columns that are handed out now and, last, where the row is ([`RowPlace`]). None where rows have no place, or where
    /// other rows would come if fewer columns were read.
    pub(crate) fn placed(&self, columns: &[usize]) -> Result<Option<Self>> {
        if self.scan.limit.is_some() || self.places || self.table.has_deleted_rows() {
            return Ok(None);
        }
        let mut placed = self.projected(columns)?;
        placed.places = true;
        placed.schema = placed.handed(&placed.read)?;
        Ok(Some(placed.with_scan(placed.scan.clone())))
    }
    /// The same with filters of operators above that are asked about this column alone, as far as it decides them; the others of theirs
    /// are then read for granules that may have such a row.
    pub(crate) fn asked_first(&self, column: usize) -> Self {
        let filters = Filters {
            first: Some(self.schema.field(column).name().clone()),
            ..self.filters.clone()
        };
        Self { filters, ..self.clone() }
    }
    /// What it reads of the columns that are handed out, for rows by their places.
    pub(crate) fn scan_of(&self, columns: &[usize]) -> Scan {
        let name = |column: &usize| self.schema.field(*column).name().clone();
        Scan { columns: columns.iter().map(name).collect(), ..self.scan.clone() }
    }
    /// True if a column that is handed out is read for filters anyway.
    pub(crate) fn reads_for_filters(&self, column: usize) -> bool {
        self.filters.columns().contains(&self.output[column])
    }
    /// The schema of what is handed out of these columns.
    fn handed(&self, read: &Schema) -> Result<SchemaRef> {
        let schema = read.project(&self.output)?;
        if !self.places {
            return Ok(Arc::new(schema));
        }
        let place = Field::new(PLACE, ArrowType::UInt64, false);
        let fields = schema.fields().iter().cloned().chain([Arc::new(place)]);
        Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
    }
    /// With further filters, which are over the columns that are handed out.
    fn filtered(&self, phase: FilterPushdownPhase, more: &[Arc<dyn PhysicalExpr>]) -> Result<Self> {
        let more =
            Filters { fixed: more.to_vec(), ..Filters::default() }.moved_to(&self.read)?.fixed;
        let mut filters = self.filters.clone();
        match phase {
            FilterPushdownPhase::Pre => filters.fixed.extend(more),
            FilterPushdownPhase::Post => filters.moving.extend(more),
        }
        let filtered = Self { filters, ..self.clone() };
        Ok(filtered.with_scan(filtered.scan.clone()))
    }
    fn partitions(&self) -> usize {
        self.scan.partitions.len()
    }
}

/// The leading columns of the sorting key that the scan has, while Arrow's order is ClickHouse's.
fn sorting(table: &Table, schema: &SchemaRef) -> Vec<PhysicalSortExpr> {
    let options = SortOptions { descending: false, nulls_first: false };
    let expressions = table.definition().map_or(&[][..], |it| it.order_by.as_slice());
    expressions
        .iter()
        .map_while(|expression| {
            let Expression::Column(name) = expression else { return None };
            let index = schema.index_of(name).ok()?;
            let column = table.columns().iter().find(|column| column.name == *name)?;
            let expression: Arc<dyn PhysicalExpr> = Arc::new(ColumnExpr::new(name, index));
            sorts_like_arrow(&column.data_type)
                .then(|| PhysicalSortExpr { expr: expression, options })
        })
        .collect()
}

fn properties(table: &Table, scan: &Scan, schema: &SchemaRef) -> Arc<PlanProperties> {
    let ordering = if scan.ordered { sorting(table, schema) } else { Vec::new() };
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
        let Pruned { parts_total, parts_left, granules_total, granules_left, .. } = self.pruned;
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
        for (name, filters) in
            [("filter", &self.filters.fixed), ("dynamic_filter", &self.filters.moving)]
        {
            if !filters.is_empty() {
                let filters: Vec<String> = filters.iter().map(ToString::to_string).collect();
                write!(f, "{separator}{name}={}", filters.join(" AND "))?;
            }
        }
        if !self.lengths.is_empty() {
            let name = |place: &usize| self.read.fields().get(*place).map(|it| it.name().as_str());
            let names: Vec<&str> = self.lengths.iter().filter_map(name).collect();
            write!(f, "{separator}lengths=[{}]", names.join(", "))?;
        }
        if let Some(note) = &self.note {
            write!(f, "{separator}note={note}")?;
        }
        if self.is_reversed {
            write!(f, "{separator}reversed=true")?;
        }
        if self.is_of_ends {
            write!(f, "{separator}ends=true")?;
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
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for filter in self.filters.all() {
            if visit(filter)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
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
        if self.filters.moving.is_empty() {
            return Ok(self);
        }
        // What an earlier run has found must not filter another.
        let filters = Filters { moving: Vec::new(), ..self.filters.clone() };
        let reset = Self { filters, ..self.as_ref().clone() };
        Ok(Arc::new(reset.with_scan(reset.scan.clone())))
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
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        // What only filters look at is handed out to nobody.
        if let Some(bytes) = self.execute_as_bytes(partition, &context, &BTreeSet::new())? {
            return Ok(bytes);
        }
        match self.execute_as_texts(partition, &context)? {
            Some(texts) => Ok(texts),
            None => self.stream(partition, &context),
        }
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
        let mut all = self.all.as_ref().clone().project(Some(&self.output.to_vec()));
        all.total_byte_size = statistics::bytes_of(&all.column_statistics);
        all.column_statistics.extend(self.places.then(ColumnStatistics::new_unknown));
        if self.filters.is_empty() {
            return Ok(Arc::new(statistics::of_some_rows(&all, rows, is_exact, is_all)));
        }
        let rows = share::left_by(&self.filters.fixed, rows, &self.all);
        Ok(Arc::new(statistics::of_some_rows(&all, rows, false, false)))
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
        if self.filters.is_empty() {
            CardinalityEffect::Equal
        } else {
            CardinalityEffect::LowerEqual
        }
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let columns: Option<Vec<usize>> = projection
            .expr()
            .iter()
            .map(|item| {
                let column = item.expr.downcast_ref::<ColumnExpr>()?;
                (column.name() == item.alias).then(|| column.index())
            })
            .collect();
        let Some(columns) = columns else { return Ok(None) };
        let distinct: std::collections::HashSet<&usize> = columns.iter().collect();
        if distinct.len() < columns.len() || self.places {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.projected(&columns)?)))
    }

    fn handle_child_pushdown_result(
        &self,
        phase: FilterPushdownPhase,
        result: ChildPushdownResult,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        let options = ScanOptions::of(config);
        let is_on = match phase {
            FilterPushdownPhase::Pre => options.scan_filters,
            FilterPushdownPhase::Post => options.scan_dynamic_filters,
        };
        // A limit chooses rows before a filter above it does.
        if !is_on || self.scan.limit.is_some() || result.parent_filters.is_empty() {
            return Ok(FilterPushdownPropagation::all_unsupported(result));
        }
        let (mut filters, mut answers) = (Vec::new(), Vec::new());
        for parent in &result.parent_filters {
            let is_taken = phase == FilterPushdownPhase::Pre
                || !self.is_of_nested(&parent.filter) && !is_within_itself(&parent.filter)?;
            answers.push(if is_taken { PushedDown::Yes } else { PushedDown::No });
            filters.extend(is_taken.then(|| Arc::clone(&parent.filter)));
        }
        if filters.is_empty() {
            return Ok(FilterPushdownPropagation::all_unsupported(result));
        }
        let filtered: Arc<dyn ExecutionPlan> = Arc::new(self.filtered(phase, &filters)?);
        Ok(FilterPushdownPropagation::with_parent_pushdown_result(answers)
            .with_updated_node(filtered))
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> Result<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        if self.scan.limit.is_some() || self.places {
            // A limit below a sort chooses rows before they are sorted.
            return Ok(SortOrderPushdownResult::Unsupported);
        }
        let count = self.partitions();
        let scan = self.scan.repartitioned(&self.table, count, true).map_err(external)?;
        let sorted = self.with_scan(scan);
        if sorted.partitions() > RUNS_MAX
            || !sorted.properties.eq_properties.ordering_satisfy(order.iter().cloned())?
        {
            return Ok(self.last_first(order));
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

impl TambourScanExec {
    /// True for conditions on arrays, tuples and maps. Those that are found while a query runs are wrong: the engine cannot
    /// compare all such values, and takes any of them for the least and the greatest of a join's side.
    fn is_of_nested(&self, filter: &Arc<dyn PhysicalExpr>) -> bool {
        let columns = collect_columns(filter);
        columns.iter().any(|it| self.schema.field(it.index()).data_type().is_nested())
    }

    /// For the descending order of the key: what comes last in the table is read first, and sorted above.
    fn last_first(
        &self,
        order: &[PhysicalSortExpr],
    ) -> SortOrderPushdownResult<Arc<dyn ExecutionPlan>> {
        let key = sorting(&self.table, &self.schema).into_iter().next();
        let is_reverse = match (key, order.first()) {
            (Some(key), Some(wanted)) => wanted.options.descending && wanted.expr.eq(&key.expr),
            _ => false,
        };
        if !is_reverse || self.is_reversed {
            return SortOrderPushdownResult::Unsupported;
        }
        let reversed = Self { is_reversed: true, ..self.clone() };
        let mut scan = reversed.scan.clone();
        scan.ordered = false;
        SortOrderPushdownResult::Inexact { inner: Arc::new(reversed.with_scan(scan)) }
    }
}

/// True for a condition found while a query runs if one of its values is computed from another, as for `ORDER BY a * b, a`. When its
/// columns move, the engine replaces `a` first, within `a * b` too, no longer finds `a * b`, and leaves `b` at its old place.
fn is_within_itself(filter: &Arc<dyn PhysicalExpr>) -> Result<bool> {
    filter.exists(|node| {
        let Some(found) = node.downcast_ref::<DynamicFilterPhysicalExpr>() else {
            return Ok(false);
        };
        let values = found.children();
        let is_below = |value: &&Arc<dyn PhysicalExpr>, outer: &Arc<dyn PhysicalExpr>| {
            outer
                .children()
                .into_iter()
                .any(|below| below.exists(|it| Ok(it.as_ref() == value.as_ref())).unwrap_or(true))
        };
        Ok(values.iter().any(|value| values.iter().any(|outer| is_below(value, outer))))
    })
}

fn external(error: TableError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// Bytes of the values of a column, as they are in a part before compression, nearly.
pub(crate) fn decoded_bytes(values: &dyn Array) -> usize {
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
