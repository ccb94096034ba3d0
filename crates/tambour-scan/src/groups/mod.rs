//! Aggregates whose groups are found by position, where keys are narrow, instead of by hashing.
//!
//! A rule replaces the stages of an aggregate whose keys are integers, times, dictionaries or texts by [`GroupsExec`]. It drives the
//! engine's own accumulators, so that overflows, NULLs and states are the engine's; only the way from a row to its group is ours ([`keys`]).
//! Keys that turn out wide go into a table of hashes ([`wide`]); what has no place there is left to the engine's own operator, after the
//! groups so far. Where one operator sees all rows, there is no second stage; elsewhere that has groups of the same kind. Where rows lie
//! in the order of the keys, be it part by part, groups are runs ([`runs`]).

pub mod first;
mod keys;
pub mod runs;
mod stream;
mod wide;

use crate::aggregates::narrow::SumsOfNarrow;
use crate::answers::AnswersFromStatistics;
use crate::arrival::OrderOfArrival;
use crate::counts::WithoutDistinct;
use crate::doubled::WithoutDoubled;
use crate::exec::ends::EndsOfParts;
use crate::exec::estimates::EstimatesOfJoins;
use crate::lambdas::PlacesOfParameters;
use crate::limited::LateColumns;
use crate::scan_options::ScanOptions;
use crate::texts::lengths::LengthsOfTexts;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::config::ConfigOptions;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode, AggregateMode};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties,
    InputOrderMode, Partitioning, PhysicalExpr, PlanProperties, ReplaceChildrenOptions,
};
use first::FirstKeys;
use runs::RunsExec;
use std::fmt;
use std::sync::Arc;

/// The engine's rules with ours: places of parameters first, estimates before sides of joins are chosen, the others after sorts
/// are in their places and before operators are made to yield.
pub fn rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let engines = PhysicalOptimizer::new().rules.into_iter();
    let engines = engines.map(WithoutDoubled::around).map(WithoutDistinct::around);
    let mut rules: Vec<_> = engines.collect();
    let place = rules.iter().position(|rule| rule.name() == "EnsureCooperative");
    let place = place.unwrap_or(rules.len());
    rules.insert(place, Arc::new(LateColumns));
    rules.insert(place, Arc::new(LengthsOfTexts));
    rules.insert(place, Arc::new(GroupsByPosition));
    rules.insert(place, Arc::new(FirstKeys));
    rules.insert(place, Arc::new(SumsOfNarrow));
    rules.insert(place, Arc::new(EndsOfParts));
    rules.insert(place, Arc::new(AnswersFromStatistics));
    let place = rules.iter().position(|rule| rule.name() == "join_selection").unwrap_or_default();
    rules.insert(place, Arc::new(EstimatesOfJoins));
    // Scans know better than the engine what a condition leaves, once they have it.
    rules.insert(place, WithoutDoubled::around(Arc::new(FilterPushdown::new())));
    rules.insert(0, Arc::new(PlacesOfParameters));
    rules.push(Arc::new(OrderOfArrival));
    rules
}

/// The rule.
#[derive(Debug)]
pub(crate) struct GroupsByPosition;

impl PhysicalOptimizerRule for GroupsByPosition {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !ScanOptions::of(config).scan_groups {
            return Ok(plan);
        }
        replaced_below(plan, false)
    }
    fn name(&self) -> &'static str {
        "groups_by_position"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

/// A plan with groups by position wherever they can be; `is_free` if nobody above relies on the order of its rows.
fn replaced_below(plan: Arc<dyn ExecutionPlan>, is_free: bool) -> Result<Arc<dyn ExecutionPlan>> {
    let is_free_below = match plan.downcast_ref::<AggregateExec>() {
        Some(aggregate) => {
            let mut calls = aggregate.aggr_expr().iter();
            aggregate.group_expr().is_empty() && calls.all(|it| it.order_bys().is_empty())
        }
        None if plan.downcast_ref::<SortExec>().is_some() => true,
        None => is_free && plan.downcast_ref::<ProjectionExec>().is_some(),
    };
    let children = plan.children();
    let below = children.iter().map(|it| replaced_below(Arc::clone(it), is_free_below));
    let below = below.collect::<Result<Vec<_>>>()?;
    let is_same = children.iter().zip(&below).all(|(old, new)| Arc::ptr_eq(old, new));
    drop(children);
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    let plan = if is_same { plan } else { plan.replace_children(below, options)? };
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else { return Ok(plan) };
    if let Some(runs) = RunsExec::of(aggregate)? {
        return Ok(Arc::new(runs));
    }
    Ok(replaced(aggregate, is_free)?.unwrap_or(plan))
}

/// True if only groups are asked for, and each aggregate takes rows of many groups at once.
fn is_plain(aggregate: &AggregateExec) -> bool {
    let group = aggregate.group_expr();
    group.is_single()
        && !group.is_empty()
        && !group.has_grouping_set()
        && aggregate.limit_options().is_none()
        && aggregate.aggr_expr().iter().all(|it| {
            it.groups_accumulator_supported() && it.order_bys().is_empty() && !it.is_distinct()
        })
}

/// The aggregate whose first stage is one of ours, if it can be.
fn replaced(aggregate: &AggregateExec, is_free: bool) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    // Groups of sorted rows come out in their order, which those above may rely on.
    let is_whole = *aggregate.mode() == AggregateMode::Single;
    let is_linear = *aggregate.input_order_mode() == InputOrderMode::Linear;
    if !is_plain(aggregate) || !(is_linear || (is_free && is_whole)) {
        return Ok(None);
    }
    if aggregate.mode().input_mode() == AggregateInputMode::Partial {
        let is_fit = is_linear && is_codable(aggregate)?;
        let last = || GroupsExec::new(Arc::new(aggregate.clone()));
        return if is_fit { Ok(Some(Arc::new(last()?))) } else { Ok(None) };
    }
    let Some(partial) = first_stage(aggregate)? else { return Ok(None) };
    match aggregate.mode() {
        AggregateMode::Partial if partial.schema() == aggregate.schema() => Ok(Some(partial)),
        AggregateMode::Single if partial.output_partitioning().partition_count() == 1 => {
            if partial.is::<GroupsExec>() {
                let whole = GroupsExec::new(Arc::new(aggregate.clone()))?;
                return Ok(Some(Arc::new(whole)));
            }
            let last = AggregateExec::try_new(
                AggregateMode::Final,
                aggregate.group_expr().as_final(),
                aggregate.aggr_expr().to_vec(),
                vec![None; aggregate.aggr_expr().len()],
                partial,
                aggregate.input_schema(),
            )?;
            let is_same = last.schema() == aggregate.schema();
            Ok(is_same.then(|| Arc::new(last) as Arc<dyn ExecutionPlan>))
        }
        _ => Ok(None),
    }
}

/// The first stage of an aggregate by runs or by position; none if its keys allow neither.
fn first_stage(aggregate: &AggregateExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if runs::are_in_pieces(aggregate)? {
        return Ok(Some(Arc::new(RunsExec::in_pieces(partial(aggregate)?))));
    }
    if !is_codable(aggregate)? {
        return Ok(None);
    }
    Ok(Some(Arc::new(GroupsExec::new(Arc::new(partial(aggregate)?))?)))
}

/// True if values of all keys may have codes.
fn is_codable(aggregate: &AggregateExec) -> Result<bool> {
    let schema = aggregate.input().schema();
    for (key, _) in aggregate.group_expr().expr() {
        if !keys::is_codable(&key.data_type(&schema)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The first stage of the same aggregate.
fn partial(aggregate: &AggregateExec) -> Result<AggregateExec> {
    AggregateExec::try_new(
        AggregateMode::Partial,
        aggregate.group_expr().clone(),
        aggregate.aggr_expr().to_vec(),
        aggregate.filter_expr().to_vec(),
        Arc::clone(aggregate.input()),
        aggregate.input_schema(),
    )
}

/// An aggregate with groups by position: the first or the last stage of one, or the whole of one that all rows come to.
#[derive(Debug)]
pub struct GroupsExec {
    /// The engine's operator for the stage, the first if this is all of them.
    stock: Arc<AggregateExec>,
    /// The engine's operator for all of it, if this is all of it.
    whole: Option<Arc<AggregateExec>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl GroupsExec {
    /// The engine's operator for the same.
    pub fn stock(&self) -> &Arc<AggregateExec> {
        self.whole.as_ref().unwrap_or(&self.stock)
    }
    /// Groups by position in place of an operator of the engine.
    pub fn new(stock: Arc<AggregateExec>) -> Result<Self> {
        let mut properties = in_no_order(&stock, EmissionType::Final);
        if stock.mode().input_mode() == AggregateInputMode::Partial {
            properties =
                properties.with_partitioning(stock.properties().output_partitioning().clone());
        }
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        let (stock, whole) = match stock.mode() {
            AggregateMode::Single => (Arc::new(partial(&stock)?), Some(stock)),
            _ => (stock, None),
        };
        Ok(Self { stock, whole, properties, metrics })
    }
}

/// What those above may know of a stage whose groups come in no order.
fn in_no_order(stock: &AggregateExec, emission: EmissionType) -> PlanProperties {
    let count = stock.input().output_partitioning().partition_count();
    PlanProperties::new(
        EquivalenceProperties::new(stock.schema()),
        Partitioning::UnknownPartitioning(count),
        emission,
        Boundedness::Bounded,
    )
}

impl DisplayAs for GroupsExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        described(self.stock(), "GroupsExec: ", format, f)
    }
}

/// Keys and aggregates, after the name of the operator where there is no room for it elsewhere.
fn described(
    stock: &AggregateExec,
    name: &str,
    format: DisplayFormatType,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let (head, separator) = match format {
        DisplayFormatType::TreeRender => ("", "\n"),
        _ => (name, ", "),
    };
    let keys = stock.group_expr().expr().iter().map(|(_, name)| name.as_str());
    let keys: Vec<&str> = keys.collect();
    let aggregates: Vec<&str> = stock.aggr_expr().iter().map(|it| it.name()).collect();
    write!(f, "{head}gby=[{}]{separator}aggr=[{}]", keys.join(", "), aggregates.join(", "))
}

impl ExecutionPlan for GroupsExec {
    fn name(&self) -> &'static str {
        "GroupsExec"
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
        Ok(Arc::new(Self::new(Arc::new(over(self.stock(), child)?))?))
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
        stream::run(&self.stock, self.whole.as_ref(), &self.metrics, partition, context)
    }
    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The aggregate over another input of the same schema.
fn over(aggregate: &AggregateExec, input: Arc<dyn ExecutionPlan>) -> Result<AggregateExec> {
    let schema: SchemaRef = aggregate.input_schema();
    AggregateExec::try_new(
        *aggregate.mode(),
        aggregate.group_expr().clone(),
        aggregate.aggr_expr().to_vec(),
        aggregate.filter_expr().to_vec(),
        input,
        schema,
    )
}
