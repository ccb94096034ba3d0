//! What a planned statement may do: read. Tables are changed by imports, merges and [`crate::write`], which keep parts and
//! definition in agreement; the engine's own ways to write would pass both by, and its external tables would let a query
//! read any file.

use crate::SqlError;
use datafusion::common::TableReference;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use tambour_dialect::READ_ONLY;

/// Refuses plans that change tables or write files, however deep inside.
pub(crate) fn check(plan: &LogicalPlan) -> Result<(), SqlError> {
    let mut found = None;
    plan.apply_with_subqueries(|node| {
        found = change(node);
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    match found {
        Some(clause) => Err(SqlError::refused(clause, READ_ONLY)),
        None => Ok(()),
    }
}

/// The name of what a node would change; views are nothing but names of queries.
fn change(node: &LogicalPlan) -> Option<String> {
    match node {
        LogicalPlan::Ddl(DdlStatement::CreateView(_) | DdlStatement::DropView(_)) => None,
        LogicalPlan::Ddl(statement) => Some(statement.name().to_owned()),
        LogicalPlan::Dml(statement) => Some(statement.op.name().to_owned()),
        LogicalPlan::Copy(_) => Some("COPY".to_owned()),
        _ => None,
    }
}

/// The view that a plan makes or drops.
pub(crate) fn view(plan: &LogicalPlan) -> Option<&TableReference> {
    match plan {
        LogicalPlan::Ddl(DdlStatement::CreateView(statement)) => Some(&statement.name),
        LogicalPlan::Ddl(DdlStatement::DropView(statement)) => Some(&statement.name),
        _ => None,
    }
}
