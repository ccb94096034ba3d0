//! What a plan needs to run in another process: the same functions and settings there, and the nodes and functions of ours in
//! a form that can be sent. Whatever has no such form must not be sent.

use crate::SqlError;
use crate::context::register_functions;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::prelude::SessionContext;
use std::sync::Arc;
use tambour_plan::travel;
use tambour_scan::exec::TambourScanExec;
use tambour_scan::groups::GroupsExec;
use tambour_scan::groups::runs::RunsExec;
use tambour_scan::scan_options::ScanOptions;

/// A session for parts of plans: all functions and settings, no tables.
pub fn session(mut builder: SessionStateBuilder) -> Result<SessionState, SqlError> {
    let config = builder.config().get_or_insert_default();
    if config.options().extensions.get::<ScanOptions>().is_none() {
        config.options_mut().extensions.insert(ScanOptions::default());
    }
    let context = SessionContext::new_with_state(builder.build());
    register_functions(&context)?;
    Ok(context.state())
}

/// The form of a function that was made for one query; `None` of those that sessions have by name.
pub fn function_text(function: &ScalarUDF) -> Option<String> {
    travel::text_of(function)
}

/// The function of such a form.
pub fn function_of(text: &str) -> Option<ScalarUDF> {
    travel::function_of(text)
}

/// Whether a scan reads columns that tables of this session have and others of the same parts may not: `_table` is the name that
/// a table has here.
pub fn reads_places(scan: &TambourScanExec) -> bool {
    let columns = &scan.scan().columns;
    columns.iter().any(|column| tambour_dialect::PLACES_OF_ROWS.contains(&column.as_str()))
}

/// The engine's operator that an aggregate of ours stands for; `None` of other nodes.
pub fn groups_stock(node: &dyn ExecutionPlan) -> Option<&Arc<AggregateExec>> {
    let groups = node.downcast_ref::<GroupsExec>().map(GroupsExec::stock);
    groups.or_else(|| node.downcast_ref::<RunsExec>().map(RunsExec::stock))
}

/// True for an aggregate of ours over sorted rows.
pub fn is_runs(node: &dyn ExecutionPlan) -> bool {
    node.is::<RunsExec>()
}

/// An aggregate with groups by position instead of the engine's operator.
pub fn groups_over(stock: Arc<AggregateExec>) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
    Ok(Arc::new(GroupsExec::new(stock)?))
}

/// An aggregate over sorted rows instead of the engine's operator, if the rows are sorted there, too.
pub fn runs_over(stock: Arc<AggregateExec>) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
    Ok(RunsExec::again(Arc::unwrap_or_clone(stock))?)
}
