//! The setting without which ClickHouse refuses some types.

use super::TableDefinition;
use tambour_part::choose::needs_permission;

/// The setting that gives it; ClickHouse takes it in the statement, and does not keep it with the table.
const PERMISSION: &str = "allow_suspicious_low_cardinality_types";

/// Adds the setting without which ClickHouse refuses a definition's types, if they need it.
pub fn permit(definition: &mut TableDefinition) {
    let needs = definition.columns.iter().any(|it| needs_permission(&it.column.data_type));
    if needs && definition.setting(PERMISSION).is_none() {
        definition.settings.push((PERMISSION.to_owned(), "1".to_owned()));
    }
}
