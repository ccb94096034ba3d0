//! Filters that a scan evaluates itself: those of the query, and those that operators above find while they run.
//!
//! The columns of the filters are read first, the others only for granules with a row left. A filter that moves (the tenth
//! value of a top ten so far, the keys of a join's other side) is also held against the primary index, so that whole
//! granules are left out. A moving filter may be asked at any time: it only ever drops rows that nobody above wants, so it is
//! left out again while it keeps nearly all.

mod compared;
mod early;

use self::compared::by_words;
pub(crate) use self::compared::numbers;
use self::early::Stages;
use crate::exec::ends::Ends;
use crate::exec::found::comparisons;
use crate::texts::dictionary::over_dictionaries;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{and, cast, prep_null_mask_filter};
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, Result, exec_err, internal_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column as PhysicalColumn, DynamicFilterTracking, lit,
};
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::PhysicalExpr;
use datafusion::physical_plan::metrics::Count;
use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::types::DataType;
use tambour_table::Table;
use tambour_table::scan::{RowPlace, Scan, ScanFilter, sorts_like_arrow, starts_of};
use tambour_table::schema::expression::Expression;

/// Rows after which a moving filter that drops less than a tenth is not asked again until it moves.
const TRIAL_ROWS: usize = 32_768;

/// The filters of a scan, over the columns that it reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filters {
    /// Of the query: every row that comes out passes them.
    pub(crate) fixed: Vec<Arc<dyn PhysicalExpr>>,
    /// Of operators above.
    pub(crate) moving: Vec<Arc<dyn PhysicalExpr>>,
    /// The column that moving filters are asked about alone, in the form that it decides: the first of an order by several.
    pub(crate) first: Option<String>,
    /// Those of the query have constants that were not known when the scan was planned.
    pub(crate) is_found: bool,
}

impl Filters {
    pub(crate) fn is_empty(&self) -> bool {
        self.fixed.is_empty() && self.moving.is_empty()
    }
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        self.fixed.iter().chain(&self.moving)
    }
    /// The columns that they need, by place.
    pub(crate) fn columns(&self) -> BTreeSet<usize> {
        self.all().flat_map(collect_columns).map(|column| column.index()).collect()
    }
    /// The same over a schema that has the same columns at other places.
    pub(crate) fn moved_to(&self, schema: &SchemaRef) -> Result<Self> {
        let move_all = |filters: &[Arc<dyn PhysicalExpr>]| {
            let moved = filters.iter().map(|it| reassign_expr_columns(Arc::clone(it), schema));
            moved.collect::<Result<Vec<_>>>()
        };
        let (fixed, moving) = (move_all(&self.fixed)?, move_all(&self.moving)?);
        Ok(Self { fixed, moving, ..self.clone() })
    }
    /// The columns that are read before others, by place.
    fn leading(&self, schema: &Schema) -> BTreeSet<usize> {
        let fixed = self.fixed.iter().flat_map(collect_columns).map(|column| column.index());
        fixed.chain(self.moving.iter().flat_map(|it| self.asked_of(it, schema))).collect()
    }
    /// The columns that a moving filter is asked about.
    fn asked_of(&self, moving: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Vec<usize> {
        match self.first.as_ref().and_then(|name| schema.index_of(name).ok()) {
            Some(first) => vec![first],
            None => collect_columns(moving).iter().map(PhysicalColumn::index).collect(),
        }
    }
}

/// What the filters of one partition count.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Granules that were left out while running.
    pub(crate) granules: Count,
    /// Their rows.
    pub(crate) skipped: Count,
    /// Rows that were read and dropped.
    pub(crate) rows: Count,
    /// Bytes of the columns of filters.
    pub(crate) bytes: Count,
}

/// The filters of a scan at work on one partition.
pub(crate) struct Chooser {
    leading: Vec<usize>,
    /// The columns at the front of these that are enough for some conditions.
    early: usize,
    schema: SchemaRef,
    /// Conditions over the early columns, and the others.
    fixed: [Vec<Arc<dyn PhysicalExpr>>; 2],
    moving: Vec<Moving>,
    /// The rows of the granules that are read which the early conditions keep.
    left: Option<BooleanArray>,
    index: IndexColumn,
    /// The rows in front of each granule of the part that is read, and of its end.
    starts: Vec<u64>,
    counts: Counts,
    places: Option<Places>,
    /// Of each part rows are wanted until one is left.
    ends: Option<Ends>,
    error: Option<DataFusionError>,
}

/// Where the rows that were kept last are.
struct Places {
    scan: Scan,
    /// The part that is read, among those of the scan.
    part: Option<usize>,
    /// The first row of the granules that are read.
    start: Option<u64>,
    kept: Vec<u64>,
}

impl Places {
    fn open(&mut self, part: &Part) {
        self.part = self.scan.place_of(part);
    }
    fn note(&mut self, kept: &BooleanArray) -> Result<()> {
        let (Some(part), Some(start)) = (self.part, self.start) else {
            return internal_err!("a row of a part that is not of the scan");
        };
        for index in kept.values().set_indices() {
            let Some(place) = RowPlace::new(part, start + index as u64) else {
                return exec_err!(
                    "more parts or rows than have places; SET tambour.scan_late_columns = false reads them"
                );
            };
            self.kept.push(place.number());
        }
        Ok(())
    }
}

/// Where the primary index helps.
struct IndexColumn {
    types: Vec<DataType>,
    /// The first column of the primary key, if it is one that filters use.
    column: Option<String>,
    /// Its values at the starts of the granules of the part that is read.
    entries: Option<Bounds>,
    /// What constants say of it that were not known when granules were left out.
    found: Option<Arc<dyn PhysicalExpr>>,
    /// The granules of the part that have such values.
    left: Vec<bool>,
}

/// The least and the greatest value of the first key column in each granule; NULL where it is not known.
struct Bounds {
    column: String,
    least: ArrayRef,
    greatest: ArrayRef,
}

/// A filter that moves.
struct Moving {
    filter: Arc<dyn PhysicalExpr>,
    /// The early columns are enough for it.
    is_early: bool,
    /// See [`Filters::first`].
    first: Option<String>,
    /// What that column decides, as the filter stands; all of it, if there is none.
    decided: Option<Arc<dyn PhysicalExpr>>,
    /// The same, for rows.
    of_rows: Option<Arc<dyn PhysicalExpr>>,
    asks_once: bool,
    tracking: DynamicFilterTracking,
    /// Rows that it has seen since it moved, and those that it kept.
    seen: usize,
    kept: usize,
    /// The granules of the part that it wants, as it stands.
    wanted: Option<Vec<bool>>,
}

impl Chooser {
    /// `asks_once`: filters over a dictionary are asked once for each of its values.
    pub(crate) fn new(
        filters: &Filters,
        table: &Table,
        schema: &SchemaRef,
        counts: Counts,
        asks_once: bool,
    ) -> Result<Self> {
        let stages = Stages::of(filters, filters.leading(schema), schema);
        let Stages { leading, early, fixed } = stages;
        let is_early = |moving| {
            let asked = filters.asked_of(moving, schema);
            asked.iter().all(|it| leading[..early].contains(it))
        };
        let are_early: Vec<bool> = filters.moving.iter().map(is_early).collect();
        let schema = Arc::new(schema.project(&leading)?);
        let mut filters = if filters.first.is_none() {
            filters.moved_to(&schema)?
        } else {
            // Of those that move only what one column decides is asked, which is found when they do.
            let fixed = Filters { moving: Vec::new(), ..filters.clone() }.moved_to(&schema)?;
            Filters { moving: filters.moving.clone(), ..fixed }
        };
        let mut index =
            IndexColumn::new(table, &schema, filters.moving.is_empty() && !filters.is_found);
        if filters.is_found {
            index.find(&filters.fixed, &schema);
        }
        let asked = |conditions: Vec<Arc<dyn PhysicalExpr>>| {
            let conditions = conditions
                .into_iter()
                .map(|it| asked_of_rows(&reassign_expr_columns(it, &schema)?, &schema, asks_once));
            conditions.collect::<Result<Vec<_>>>()
        };
        let [first, second] = fixed;
        let fixed = [asked(first)?, asked(second)?];
        let moving = std::mem::take(&mut filters.moving).into_iter().zip(are_early);
        let moving = moving.map(|(filter, is_early)| Moving {
            tracking: DynamicFilterTracking::classify(&filter),
            filter,
            is_early,
            first: filters.first.clone(),
            decided: None,
            of_rows: None,
            asks_once,
            seen: 0,
            kept: 0,
            wanted: None,
        });
        let moving: Vec<Moving> = moving.collect();
        Ok(Self {
            leading,
            early,
            schema,
            fixed,
            moving,
            left: None,
            index,
            starts: Vec::new(),
            counts,
            places: None,
            ends: None,
            error: None,
        })
    }
    /// The same, which also tells where the rows are that it keeps.
    pub(crate) fn telling_places(self, scan: &Scan) -> Self {
        let (part, start, kept) = (None, None, Vec::new());
        Self { places: Some(Places { scan: scan.clone(), part, start, kept }), ..self }
    }
    /// The same, which of each part wants rows until one is left.
    pub(crate) fn until_a_row(self) -> Self {
        Self { ends: Some(Ends::default()), ..self }
    }
    /// Where the rows of the last batch are ([`RowPlace`]), if they are told.
    pub(crate) fn take_places(&mut self) -> Option<UInt64Array> {
        self.places.as_mut().map(|it| std::mem::take(&mut it.kept).into())
    }
    /// The places of the columns that are read first.
    pub(crate) fn leading(&self) -> Vec<usize> {
        self.leading.clone()
    }
    /// What went wrong.
    pub(crate) fn take_error(&mut self) -> Option<DataFusionError> {
        self.error.take()
    }

    fn choose(&mut self, rows: &RecordBatch) -> Result<BooleanArray> {
        let left = match self.left.take() {
            Some(left) => left,
            None => self.ask(rows, all_of(rows), true)?,
        };
        let kept = self.ask(rows, left, false)?;
        self.count(rows, &kept);
        if let Some(places) = &mut self.places {
            places.note(&kept)?;
        }
        if let Some(ends) = &mut self.ends {
            ends.note(kept.true_count());
        }
        Ok(kept)
    }
    /// The rows among some that the early conditions keep, or the others.
    fn ask(
        &mut self,
        rows: &RecordBatch,
        mut kept: BooleanArray,
        is_early: bool,
    ) -> Result<BooleanArray> {
        for fixed in &self.fixed[usize::from(!is_early)] {
            if kept.true_count() == 0 {
                break;
            }
            // To compare numbers takes less than to pick out the rows that are left, and what is early cannot fail (`early::is_plain`).
            kept =
                if is_early { and(&kept, &holds(fixed, rows)?)? } else { also(fixed, rows, kept)? };
        }
        for moving in self.moving.iter_mut().filter(|it| it.is_early == is_early) {
            moving.look();
            if moving.is_idle() || kept.true_count() == 0 {
                continue;
            }
            let wanted = holds(&moving.asked_of_rows(&self.schema)?, rows)?;
            moving.seen += wanted.len();
            moving.kept += wanted.true_count();
            kept = and(&kept, &wanted)?;
        }
        Ok(kept)
    }
    fn skip(&self, granules: &Range<usize>) {
        let start = |granule| self.starts.get(granule).copied().unwrap_or_default();
        let rows = start(granules.end).saturating_sub(start(granules.start));
        self.counts.granules.add(granules.len());
        self.counts.skipped.add(usize::try_from(rows).unwrap_or(usize::MAX));
    }
    fn count(&self, rows: &RecordBatch, kept: &BooleanArray) {
        self.counts.rows.add(kept.len() - kept.true_count());
        let bytes = rows.columns().iter().map(|it| crate::exec::decoded_bytes(it)).sum();
        self.counts.bytes.add(bytes);
    }
}

fn all_of(rows: &RecordBatch) -> BooleanArray {
    BooleanArray::new(BooleanBuffer::new_set(rows.num_rows()), None)
}

/// The rows among some that a filter is true for.
fn also(
    filter: &Arc<dyn PhysicalExpr>,
    rows: &RecordBatch,
    among: BooleanArray,
) -> Result<BooleanArray> {
    if among.true_count() == among.len() {
        return holds(filter, rows);
    }
    // Of a row that is dropped already it may be an error.
    let values = filter.evaluate_selection(rows, &among)?.into_array(rows.num_rows())?;
    Ok(and(&among, &true_of(filter, &values)?)?)
}

/// The rows that a filter is true for.
fn holds(filter: &Arc<dyn PhysicalExpr>, rows: &RecordBatch) -> Result<BooleanArray> {
    true_of(filter, &filter.evaluate(rows)?.into_array(rows.num_rows())?)
}

/// The rows for which the values of a filter are true, neither false nor NULL.
fn true_of(filter: &Arc<dyn PhysicalExpr>, values: &ArrayRef) -> Result<BooleanArray> {
    let Some(values) = values.as_boolean_opt() else {
        return datafusion::common::internal_err!("a filter is not a condition: {filter}");
    };
    Ok(if values.null_count() > 0 { prep_null_mask_filter(values) } else { values.clone() })
}

impl ScanFilter for Chooser {
    fn opens(&mut self, part: &Part) {
        self.index.open(part, &self.schema);
        self.starts = starts_of(part.granules());
        if let Some(places) = &mut self.places {
            places.open(part);
        }
        if let Some(ends) = &mut self.ends {
            ends.open();
        }
        for moving in &mut self.moving {
            moving.wanted = None;
        }
    }
    fn wants(&mut self, granules: &Range<usize>) -> bool {
        if let Some(places) = &mut self.places {
            places.start = self.starts.get(granules.start).copied();
            places.kept.clear();
        }
        if self.ends.as_ref().is_some_and(Ends::are_read) {
            self.skip(granules);
            return false;
        }
        let Some(bounds) = &self.index.entries else { return true };
        let is_left = self.index.has_left(granules);
        let is_wanted = is_left
            && self.moving.iter_mut().all(|moving| {
                moving.look();
                if moving.wanted.is_none() {
                    // What cannot be pruned with is wanted.
                    let wanted = moving.asked(&self.schema);
                    let wanted = wanted.and_then(|it| bounds.wanted(&it, &self.schema));
                    moving.wanted = Some(wanted.unwrap_or_default());
                }
                let wanted = moving.wanted.as_deref().unwrap_or_default();
                wanted.get(granules.clone()).is_none_or(|wanted| wanted.contains(&true))
            });
        if !is_wanted {
            self.skip(granules);
        }
        is_wanted
    }
    fn early(&self) -> usize {
        self.early
    }
    fn may_keep(&mut self, rows: &RecordBatch) -> bool {
        match self.ask(rows, all_of(rows), true) {
            Ok(kept) if kept.true_count() == 0 => {
                self.count(rows, &kept);
                false
            }
            Ok(kept) => {
                self.left = Some(kept);
                true
            }
            Err(error) => {
                self.error = Some(error);
                // What went wrong is told when the rest is asked.
                true
            }
        }
    }
    fn kept(&mut self, rows: &RecordBatch) -> Option<BooleanArray> {
        if self.error.is_some() {
            return None;
        }
        match self.choose(rows) {
            Ok(kept) => Some(kept),
            Err(error) => {
                self.error = Some(error);
                None
            }
        }
    }
}

impl Moving {
    /// Forgets what was found out before the filter moved.
    fn look(&mut self) {
        if let Some(watcher) = self.tracking.watcher()
            && watcher.changed()
        {
            self.seen = 0;
            self.kept = 0;
            self.wanted = None;
            self.decided = None;
            self.of_rows = None;
        }
    }
    /// The condition over the leading columns that rows are asked.
    fn asked(&mut self, schema: &SchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
        if let Some(decided) = &self.decided {
            return Ok(Arc::clone(decided));
        }
        let mut now = snapshot_physical_expr(Arc::clone(&self.filter))?;
        if let Some(first) = &self.first {
            let decided = decided_by(&now, first).unwrap_or_else(|| lit(true));
            now = reassign_expr_columns(decided, schema)?;
        }
        self.decided = Some(Arc::clone(&now));
        Ok(now)
    }
    /// The same, asked once for each value of a dictionary.
    fn asked_of_rows(&mut self, schema: &SchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
        if let Some(known) = &self.of_rows {
            return Ok(Arc::clone(known));
        }
        let asked = asked_of_rows(&self.asked(schema)?, schema, self.asks_once)?;
        self.of_rows = Some(Arc::clone(&asked));
        Ok(asked)
    }
    fn is_idle(&self) -> bool {
        self.seen >= TRIAL_ROWS && self.kept / 9 > (self.seen - self.kept)
    }
}

/// A condition in the form in which it is asked of rows.
fn asked_of_rows(
    condition: &Arc<dyn PhysicalExpr>,
    schema: &SchemaRef,
    asks_once: bool,
) -> Result<Arc<dyn PhysicalExpr>> {
    let condition =
        if asks_once { over_dictionaries(condition, schema)? } else { Arc::clone(condition) };
    by_words(&condition, schema)
}

/// What holds wherever a condition does, as far as one column decides it; `None` if that is always.
fn decided_by(expr: &Arc<dyn PhysicalExpr>, column: &str) -> Option<Arc<dyn PhysicalExpr>> {
    let over = |op, sides: [Arc<dyn PhysicalExpr>; 2]| {
        let [left, right] = sides;
        Arc::new(BinaryExpr::new(left, op, right)) as Arc<dyn PhysicalExpr>
    };
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>()
        && matches!(binary.op(), Operator::And | Operator::Or)
    {
        let sides = [decided_by(binary.left(), column), decided_by(binary.right(), column)];
        return match (binary.op(), sides) {
            (op, [Some(left), Some(right)]) => Some(over(*op, [left, right])),
            (Operator::And, [left, right]) => left.or(right),
            _ => None,
        };
    }
    collect_columns(expr).iter().all(|it| it.name() == column).then(|| Arc::clone(expr))
}

impl IndexColumn {
    fn new(table: &Table, schema: &SchemaRef, is_idle: bool) -> Self {
        let found = table.definition().filter(|_| !is_idle).and_then(|definition| {
            let Some(Expression::Column(name)) = definition.primary_key.first() else {
                return None;
            };
            let column = table.columns().iter().find(|it| it.name == *name)?;
            let is_used = sorts_like_arrow(&column.data_type) && schema.index_of(name).is_ok();
            let types = definition.primary_key_types().ok()?;
            is_used.then(|| (types, name.clone()))
        });
        let (types, column) = found.map_or((Vec::new(), None), |it| (it.0, Some(it.1)));
        Self { types, column, entries: None, found: None, left: Vec::new() }
    }
    /// Takes what filters say of the column.
    fn find(&mut self, fixed: &[Arc<dyn PhysicalExpr>], schema: &Schema) {
        self.found = self.column.as_ref().and_then(|it| comparisons(fixed, it, schema));
    }
    /// False if no row of these granules passes.
    fn has_left(&self, granules: &Range<usize>) -> bool {
        self.left.get(granules.clone()).is_none_or(|left| left.contains(&true))
    }

    /// Loads the bounds of a part; what cannot be read is reported by whoever needs it.
    fn open(&mut self, part: &Part, schema: &SchemaRef) {
        self.entries = None;
        self.left.clear();
        let Some(column) = &self.column else { return };
        // A part from before a change of the column's type has an index of the older one.
        let is_same = |it: &tambour_part::types::Column| {
            it.name == *column && Some(&it.data_type) == self.types.first()
        };
        if !part.has_primary_index() || !part.columns().iter().any(is_same) {
            return;
        }
        let Ok(entries) = part.primary_index(&self.types) else { return };
        let Ok(field) = schema.field_with_name(column) else { return };
        let Some(keys) = entries.first().and_then(|it| cast(it, field.data_type()).ok()) else {
            return;
        };
        self.entries = Bounds::new(column, &keys, part.granules().len());
        if let (Some(bounds), Some(found)) = (&self.entries, &self.found) {
            self.left = bounds.wanted(found, schema).unwrap_or_default();
        }
    }
}

impl Bounds {
    fn new(column: &str, keys: &ArrayRef, granules: usize) -> Option<Self> {
        if keys.len() < granules {
            return None;
        }
        // Without a final mark the end of the last granule is not known.
        let ends: Vec<Option<u64>> =
            (1..=granules).map(|end| (end < keys.len()).then_some(end as u64)).collect();
        let ends = arrow::array::UInt64Array::from(ends);
        let greatest = arrow::compute::take(keys, &ends, None).ok()?;
        Some(Self { column: column.to_owned(), least: keys.slice(0, granules), greatest })
    }
    /// The granules in which a filter may be true for a row.
    fn wanted(&self, filter: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Result<Vec<bool>> {
        let filter = snapshot_physical_expr(Arc::clone(filter))?;
        let predicate = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema));
        predicate.try_build(filter)?.prune(self)
    }
}

impl PruningStatistics for Bounds {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        (column.name == self.column).then(|| Arc::clone(&self.least))
    }
    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        (column.name == self.column).then(|| Arc::clone(&self.greatest))
    }
    fn num_containers(&self) -> usize {
        self.least.len()
    }
    fn null_counts(&self, _: &Column) -> Option<ArrayRef> {
        None
    }
    fn row_counts(&self) -> Option<ArrayRef> {
        None
    }
    fn contained(
        &self,
        _: &Column,
        _: &HashSet<datafusion::common::ScalarValue>,
    ) -> Option<BooleanArray> {
        None
    }
}
