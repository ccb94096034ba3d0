//! DEFAULTs that only a query computes, of columns that a part does not have. This layer has no queries: who has them says how.

use crate::schema::ColumnDefinition;
use std::sync::{Arc, OnceLock};
use tambour_part::part::Derive;
use tambour_part::types::Column;

/// Gives the places of the stored columns that the DEFAULT of a column reads, itself or by the DEFAULTs of others that are not stored
/// either, and what makes its values of them. An error says why there is nothing of the sort.
pub type Computing = fn(
    column: &ColumnDefinition,
    others: &[&ColumnDefinition],
    stored: &[Column],
) -> Result<(Vec<usize>, Arc<dyn Derive>), String>;

static COMPUTING: OnceLock<Computing> = OnceLock::new();

/// Says how such DEFAULTs are computed, for tables that are opened from now on. The first call counts.
pub fn compute_defaults_by(computing: Computing) {
    COMPUTING.get_or_init(|| computing);
}

pub(super) fn computing() -> Option<Computing> {
    COMPUTING.get().copied()
}
