//! Operators in words.

use super::{Node, counted, expression, plain, size};
use crate::merged::MergedScanExec;
use crate::travel::{groups_stock, is_runs};
use arrow::datatypes::DataType;
use datafusion::common::JoinType;
use datafusion::physical_expr::expressions::{CastExpr, Column, Literal};
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalExprRef, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode, SortMergeJoinExec,
};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::streaming::StreamingTableExec;
use datafusion::physical_plan::union::{InterleaveExec, UnionExec};
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use std::sync::Arc;
use tambour_scan::exec::{self, TambourScanExec};
use tambour_scan::groups::first::FirstKeysExec;
use tambour_scan::limited::LateColumnsExec;
use tambour_table::Table;
use tambour_table::scan::Pruned;

/// What a scan does.
const READ: &str = "Read";
/// Characters of a filter from above that are shown: it may list many values.
const MOVING_MAX: usize = 120;

/// What an operator does; one without a title only carries rows on.
pub(super) fn node(plan: &Arc<dyn ExecutionPlan>) -> Node {
    let (title, details) = scan(plan)
        .or_else(|| aggregate(plan))
        .or_else(|| order(plan))
        .or_else(|| join(plan))
        .or_else(|| rows(plan))
        .or_else(|| source(plan))
        .unwrap_or_else(|| (other(plan), Vec::new()));
    let inputs = if is_known(plan) { Vec::new() } else { inputs(plan) };
    let table = table(plan).map(Arc::clone);
    Node { title, details, inputs, table, metrics: None }
}

fn inputs(plan: &Arc<dyn ExecutionPlan>) -> Vec<Arc<dyn ExecutionPlan>> {
    plan.children().into_iter().map(Arc::clone).collect()
}

/// The table that an operator reads.
fn table(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<Table>> {
    let scan = plan.downcast_ref::<TambourScanExec>().map(TambourScanExec::table);
    scan.or_else(|| plan.downcast_ref::<MergedScanExec>().map(MergedScanExec::table))
}

type Words = (String, Vec<String>);

fn scan(plan: &Arc<dyn ExecutionPlan>) -> Option<Words> {
    if let Some(scan) = plan.downcast_ref::<TambourScanExec>() {
        let mut details = pruned(scan.pruned());
        details
            .extend(columns(&scan.scan().columns.iter().map(String::as_str).collect::<Vec<_>>()));
        details.extend(scan.words(MOVING_MAX));
        return Some((READ.to_owned(), details));
    }
    let merged = plan.downcast_ref::<MergedScanExec>()?;
    let mut details = pruned(merged.pruned());
    details.extend(columns(&merged.columns()));
    details.push("rows of one key are merged (FINAL)".to_owned());
    Some((READ.to_owned(), details))
}

fn pruned(pruned: Pruned) -> Vec<String> {
    let Pruned { parts_total, parts_left, granules_total, granules_left, .. } = pruned;
    let mut words = vec![format!(
        "{parts_left} of {}, {granules_left} of {}",
        counted(parts_total, "part"),
        counted(granules_total, "granule")
    )];
    let left_out: Vec<String> = pruned
        .left_out()
        .filter(|(_, count)| *count > 0)
        .map(|(by, count)| format!("{count} by {by}"))
        .collect();
    if !left_out.is_empty() {
        words.push(format!("granules left out: {}", left_out.join(", ")));
    }
    words
}

fn columns(names: &[&str]) -> Vec<String> {
    match names {
        [] => vec!["no columns: rows are counted".to_owned()],
        names => vec![format!("columns: {}", names.join(", "))],
    }
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// What was read and left out by a scan that ran.
pub(super) fn read(metrics: &MetricsSet) -> Vec<String> {
    let value = |name| metrics.sum_by_name(name).map_or(0, |value| value.as_usize());
    let mut lines = vec![format!(
        "read {}, decoded {}",
        size(value(exec::COMPRESSED)),
        size(value(exec::DECODED))
    )];
    let filtered = value(exec::FILTERED);
    if filtered > 0 {
        lines.push(format!("{} filtered out", counted(filtered, "row")));
    }
    let skipped = value(exec::SKIPPED);
    if skipped > 0 {
        lines.push(format!("{} skipped by a filter from above", counted(skipped, "granule")));
    }
    lines
}

fn aggregate(plan: &Arc<dyn ExecutionPlan>) -> Option<Words> {
    let own = groups_stock(plan.as_ref()).map(AsRef::as_ref);
    let stock = own.or_else(|| plan.downcast_ref::<AggregateExec>())?;
    let calls = stock.aggr_expr().iter().map(|it| it.human_display().unwrap_or(it.name()));
    let calls = list(calls.map(plain));
    let keys = list(stock.group_expr().expr().iter().map(|(_, name)| name.clone()));
    let head = match stock.mode() {
        AggregateMode::Final | AggregateMode::FinalPartitioned => "Finish aggregates",
        _ if own.is_none() => "Aggregate",
        _ if is_runs(plan.as_ref()) => "Aggregate runs of sorted keys",
        _ => "Aggregate in the scan",
    };
    let title = match (keys.is_empty(), calls.is_empty()) {
        (true, _) => format!("{head}: {calls}"),
        (false, true) => format!("{} by {keys}", head.replace("Finish aggregates", "Distinct")),
        (false, false) => format!("{head} by {keys}: {calls}"),
    };
    let limit = stock.limit_options().map(|it| format!("at most {}", counted(it.limit(), "group")));
    Some((title, limit.into_iter().collect()))
}

fn order(plan: &Arc<dyn ExecutionPlan>) -> Option<Words> {
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let keys = ordering(sort.expr());
        return Some(match sort.fetch() {
            Some(fetch) => (format!("Keep the first {fetch} by {keys}"), Vec::new()),
            None => (format!("Sort by {keys}"), Vec::new()),
        });
    }
    if let Some(late) = plan.downcast_ref::<LateColumnsExec>() {
        let names: Vec<&str> = late.columns().iter().map(String::as_str).collect();
        return Some(("Read more columns of these rows".to_owned(), columns(&names)));
    }
    let merge = plan.downcast_ref::<SortPreservingMergeExec>()?;
    let limit = merge.fetch().map(|fetch| format!("at most {}", counted(fetch, "row")));
    Some((format!("Merge streams by {}", ordering(merge.expr())), limit.into_iter().collect()))
}

fn ordering(keys: &LexOrdering) -> String {
    let key = |key: &PhysicalSortExpr| {
        let direction = if key.options.descending { " DESC" } else { "" };
        format!("{}{direction}", expression(key.expr.as_ref()))
    };
    list(keys.iter().map(key))
}

fn join(plan: &Arc<dyn ExecutionPlan>) -> Option<Words> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        let title =
            format!("{} join by hash on {}", kind(*join.join_type()), equalities(join.on()));
        let mut details = vec![match join.partition_mode() {
            PartitionMode::CollectLeft | PartitionMode::Auto => {
                "the first input is held in memory".to_owned()
            }
            PartitionMode::Partitioned => {
                "the first input is held in memory, both divided by the key".to_owned()
            }
        }];
        let filter = join.filter().map(|it| expression(it.expression().as_ref()));
        details.extend(filter.map(|filter| format!("condition: {filter}")));
        return Some((title, details));
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        let title =
            format!("{} join of sorted rows on {}", kind(join.join_type()), equalities(join.on()));
        return Some((title, Vec::new()));
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        let title = format!("{} join of every pair", kind(*join.join_type()));
        let filter = join.filter().map(|it| expression(it.expression().as_ref()));
        return Some((title, filter.map(|it| format!("condition: {it}")).into_iter().collect()));
    }
    plan.is::<CrossJoinExec>().then(|| ("Cross join".to_owned(), Vec::new()))
}

fn kind(join_type: JoinType) -> &'static str {
    match join_type {
        JoinType::Inner => "Inner",
        JoinType::Left => "Left",
        JoinType::Right => "Right",
        JoinType::Full => "Full",
        JoinType::LeftSemi => "Left semi",
        JoinType::RightSemi => "Right semi",
        JoinType::LeftAnti => "Left anti",
        JoinType::RightAnti => "Right anti",
        JoinType::LeftMark => "Left mark",
        JoinType::RightMark => "Right mark",
    }
}

fn equalities(on: &[(PhysicalExprRef, PhysicalExprRef)]) -> String {
    let equality = |(left, right): &(PhysicalExprRef, PhysicalExprRef)| {
        format!("{} = {}", expression(left.as_ref()), expression(right.as_ref()))
    };
    on.iter().map(equality).collect::<Vec<_>>().join(" AND ")
}

/// Operators that change rows one by one or pass them on.
fn rows(plan: &Arc<dyn ExecutionPlan>) -> Option<Words> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let is_renaming =
            projection.expr().iter().all(|it| without_cast(it.expr.as_ref()).is::<Column>());
        if is_renaming {
            return Some((String::new(), Vec::new()));
        }
        let columns = projection.expr().iter().map(|it| {
            let text = expression(without_cast(it.expr.as_ref()));
            if text == it.alias { text } else { format!("{text} AS {}", it.alias) }
        });
        let head = if is_known(plan) { "Known without reading" } else { "Compute" };
        return Some((format!("{head}: {}", list(columns)), Vec::new()));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return Some((format!("Filter {}", expression(filter.predicate().as_ref())), Vec::new()));
    }
    if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        let fetch = limit.fetch().map(|fetch| format!("Keep {}", counted(fetch, "row")));
        let skip = (limit.skip() > 0).then(|| format!("after the first {}", limit.skip()));
        let title = fetch.into_iter().chain(skip).collect::<Vec<_>>().join(" ");
        return Some((title, Vec::new()));
    }
    if let Some(limit) = plan.downcast_ref::<LocalLimitExec>() {
        return Some((
            format!("Keep {} of each stream", counted(limit.fetch(), "row")),
            Vec::new(),
        ));
    }
    if let Some(division) = plan.downcast_ref::<RepartitionExec>() {
        return Some(match division.partitioning() {
            Partitioning::Hash(keys, count) => {
                let keys = list(keys.iter().map(|key| expression(key.as_ref())));
                (format!("Divide into {} by hash of {keys}", counted(*count, "stream")), Vec::new())
            }
            other => {
                (format!("Divide into {}", counted(other.partition_count(), "stream")), Vec::new())
            }
        });
    }
    if let Some(first) = plan.downcast_ref::<FirstKeysExec>() {
        return Some((format!("Keep rows of the {} first keys", first.limit()), Vec::new()));
    }
    if let Some(gather) = plan.downcast_ref::<CoalescePartitionsExec>() {
        let limit = gather.fetch().map(|fetch| format!("at most {}", counted(fetch, "row")));
        return Some(("Gather streams".to_owned(), limit.into_iter().collect()));
    }
    plan.is::<CooperativeExec>().then(|| (String::new(), Vec::new()))
}

/// A count without the cast that takes its sign away.
fn without_cast(expr: &dyn PhysicalExpr) -> &dyn PhysicalExpr {
    let Some(cast) = expr.downcast_ref::<CastExpr>() else { return expr };
    let inner = cast.expr().as_ref();
    let is_count = inner.downcast_ref::<Column>().is_some_and(|it| it.name().starts_with("count("));
    let is_count = is_count || inner.is::<Literal>();
    if is_count && *cast.cast_type() == DataType::UInt64 { inner } else { expr }
}

/// True for a row of constants that takes the place of an aggregate.
fn is_known(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.downcast_ref::<ProjectionExec>().is_some_and(|it| it.input().is::<PlaceholderRowExec>())
}

fn source(plan: &Arc<dyn ExecutionPlan>) -> Option<Words> {
    if let Some(window) = plan.downcast_ref::<WindowAggExec>() {
        let calls = list(window.window_expr().iter().map(|it| it.name().to_owned()));
        return Some((format!("Window {calls}"), Vec::new()));
    }
    if let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() {
        let calls = list(window.window_expr().iter().map(|it| it.name().to_owned()));
        return Some((format!("Window {calls}"), Vec::new()));
    }
    let title = if plan.is::<UnionExec>() || plan.is::<InterleaveExec>() {
        "Union"
    } else if plan.is::<UnnestExec>() {
        "Unfold arrays"
    } else if plan.is::<PlaceholderRowExec>() {
        "One row"
    } else if plan.is::<EmptyExec>() {
        "No rows"
    } else if plan.is::<StreamingTableExec>() {
        "Generate rows"
    } else {
        return None;
    };
    Some((title.to_owned(), Vec::new()))
}

/// The engine's name of another operator, without what each of them ends with.
fn other(plan: &Arc<dyn ExecutionPlan>) -> String {
    plan.name().trim_end_matches("Exec").to_owned()
}
