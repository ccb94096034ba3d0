//! EXPLAIN and EXPLAIN ANALYZE: the plan as an indented tree in the words of users, a line per operator and, below it, what it
//! reads and skips. The engine's own words are there with `EXPLAIN VERBOSE` and `EXPLAIN FORMAT …`.

mod words;

pub(crate) use tambour_scan::shown::{expression, plain};

use crate::Session;
use crate::SqlError;
use crate::describe;
use arrow::array::RecordBatch;
use async_trait::async_trait;
use datafusion::common::format::ExplainFormat;
use datafusion::error::Result;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use tambour_table::Table;
use tambour_value::readable::{SIZES, readable};

/// An operator in words.
#[derive(Debug, Default)]
pub struct Node {
    /// What it does.
    pub title: String,
    /// More about it, a line each.
    pub details: Vec<String>,
    /// What it takes its rows from.
    pub inputs: Vec<Arc<dyn ExecutionPlan>>,
    /// The table that it reads.
    pub table: Option<Arc<Table>>,
    /// What was measured, unless the operator itself knows it.
    pub metrics: Option<MetricsSet>,
}

/// The operators that another crate brings into plans, for [`Session`]s that have it as an extension of their settings.
#[async_trait]
pub trait Explainer: Debug + Send + Sync {
    /// An operator in words; `None` for those of others.
    fn node(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<Node>;
    /// A plan that ran, with all that was measured elsewhere.
    async fn measured(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>;
}

/// An [`Explainer`] as an extension.
#[derive(Clone, Debug)]
pub struct Explained(pub Arc<dyn Explainer>);

/// What an operator of this crate or of the engine does.
pub fn node(plan: &Arc<dyn ExecutionPlan>) -> Node {
    words::node(plan)
}

/// The statement that is explained, and whether it is run for it; `None` if the engine's own words are asked for.
pub(crate) fn wanted(plan: &LogicalPlan) -> Option<(&LogicalPlan, bool)> {
    match plan {
        LogicalPlan::Explain(explain)
            if !explain.verbose && explain.explain_format == ExplainFormat::Indent =>
        {
            Some((explain.plan.as_ref(), false))
        }
        LogicalPlan::Analyze(analyze)
            if !analyze.verbose && analyze.format == ExplainFormat::Indent =>
        {
            Some((analyze.input.as_ref(), true))
        }
        _ => None,
    }
}

impl Session {
    /// The lines of EXPLAIN for a statement; it runs first for ANALYZE.
    pub(crate) async fn explain(
        &self,
        plan: &LogicalPlan,
        is_run: bool,
    ) -> Result<RecordBatch, SqlError> {
        let state = self.context().state();
        let explainer = state.config().get_extension::<Explained>();
        let explainer = explainer.as_deref().map(|it| it.0.as_ref());
        let mut physical = state.create_physical_plan(plan).await?;
        if is_run {
            let mut stream = execute_stream(Arc::clone(&physical), state.task_ctx())?;
            while let Some(batch) = stream.next().await {
                batch?;
            }
            if let Some(explainer) = explainer {
                physical = explainer.measured(physical).await?;
            }
        }
        let tables = self.tables();
        let names =
            tables.iter().map(|(name, table)| (Arc::as_ptr(table).addr(), name.as_str())).collect();
        let mut tree = Tree { explainer, names, is_run, lines: Vec::new() };
        tree.add(&physical, 0);
        Ok(describe::lines("explain", tree.lines)?)
    }
}

/// The lines so far.
struct Tree<'a> {
    explainer: Option<&'a dyn Explainer>,
    /// Names of tables by their addresses.
    names: BTreeMap<usize, &'a str>,
    is_run: bool,
    lines: Vec<String>,
}

impl Tree<'_> {
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>, depth: usize) {
        let known = self.explainer.and_then(|explainer| explainer.node(plan));
        let mut node = known.unwrap_or_else(|| words::node(plan));
        // Operators without a word of their own only carry rows on.
        if node.title.is_empty() {
            for input in &node.inputs {
                self.add(input, depth);
            }
            return;
        }
        if let Some(table) = &node.table {
            let name = self.names.get(&Arc::as_ptr(table).addr()).copied();
            node.title = format!("Read {}", name.unwrap_or(table.name()));
        }
        let indent = "  ".repeat(depth);
        let mut measured = String::new();
        if self.is_run {
            let metrics = node.metrics.take().or_else(|| plan.metrics()).unwrap_or_default();
            measured = work(&metrics);
            if node.table.is_some() {
                node.details.extend(words::read(&metrics));
            }
        }
        self.lines.push(format!("{indent}{}{measured}", node.title));
        for detail in node.details {
            self.lines.push(format!("{indent}    {detail}"));
        }
        for input in &node.inputs {
            self.add(input, depth + 1);
        }
    }
}

/// Rows, time and what was spilled.
fn work(metrics: &MetricsSet) -> String {
    let rows = metrics.output_rows().map(|rows| counted(rows, "row"));
    let nanoseconds = metrics.elapsed_compute().unwrap_or_default();
    let time = (nanoseconds > 0)
        .then(|| duration(Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))));
    let spilled = metrics.spilled_bytes().filter(|bytes| *bytes > 0);
    let spilled = spilled.map(|bytes| format!("{} spilled", size(bytes)));
    let parts: Vec<String> = [rows, time, spilled].into_iter().flatten().collect();
    if parts.is_empty() { String::new() } else { format!("  [{}]", parts.join(", ")) }
}

/// A number and what it counts.
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn duration(time: Duration) -> String {
    let microseconds = time.as_micros();
    match microseconds {
        0..1_000 => format!("{microseconds} \u{b5}s"),
        1_000..1_000_000 => format!("{}.{} ms", microseconds / 1000, microseconds / 100 % 10),
        _ => format!("{}.{:02} s", microseconds / 1_000_000, microseconds / 10_000 % 100),
    }
}

fn size(bytes: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "two digits after the point are shown")]
    let bytes = bytes as f64;
    readable(bytes, 1024.0, &SIZES)
}
