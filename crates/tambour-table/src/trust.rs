//! Whether the parts of a directory without a sidecar are sorted by the key that a CREATE TABLE beside them names.
//!
//! The statement may be another table's, or from before an ALTER. Pruning by a wrong key loses rows without a word, so the key
//! is computed from rows at the borders of granules and compared with the primary index, and the rows must be in its order.

use super::key::Key;
use crate::TableError;
use crate::schema::TableDefinition;
use std::path::Path;
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::ReadRequest;
use tambour_part::types::{Strings, arrow_schema};

/// Granules of a part that are looked at, spread evenly.
const GRANULES_MAX: usize = 16;

/// True if nothing that was looked at contradicts the keys of the definition. What cannot be looked at proves nothing.
pub(super) fn is_sorted_by(path: &Path, definition: &TableDefinition, parts: &[Arc<Part>]) -> bool {
    if definition.order_by.is_empty() {
        return true;
    }
    let agrees = |part: &Arc<Part>| agrees(path, definition, part).unwrap_or(false);
    parts.iter().filter(|part| part.rows() > 0).all(agrees)
}

fn agrees(path: &Path, definition: &TableDefinition, part: &Arc<Part>) -> Result<bool, TableError> {
    let columns = definition.plain_columns();
    let names: Vec<&str> =
        definition.order_by.iter().flat_map(|expression| expression.columns()).collect();
    let needed: Vec<_> =
        columns.iter().filter(|it| names.contains(&it.name.as_str())).cloned().collect();
    let schema = Arc::new(arrow_schema(&needed, Strings::Binary));
    let order = Key::new(&definition.order_by, &needed, &schema)?;
    let primary = Key::new(&definition.primary_key, &needed, &schema)?;
    let is_indexed = !primary.is_empty();
    if is_indexed && !part.has_primary_index() {
        return Ok(false);
    }
    let place = || TableError::part(path, part.name());
    let entries = if is_indexed {
        let entries = part.primary_index(primary.types()).map_err(place())?;
        Some(primary.of_values(&entries)?)
    } else {
        None
    };
    let find = |name: &str| part.columns().iter().position(|column| column.name == name);
    let Some(indexes) = needed.iter().map(|it| find(&it.name)).collect::<Option<Vec<_>>>() else {
        return Ok(false);
    };
    let count = part.granules().len();
    let step = count.div_ceil(GRANULES_MAX).max(1);
    let last = count.checked_sub(1);
    let mut looked: Vec<usize> = (0..count).step_by(step).chain(last).collect();
    looked.dedup();
    for granule in looked {
        let request = ReadRequest {
            columns: indexes.clone(),
            granules: std::iter::once(granule..granule + 1).collect(),
            batch_rows: 1,
            strings: Strings::Binary,
        };
        for batch in part.read(request).map_err(place())? {
            let batch = batch.map_err(place())?;
            if batch.num_rows() == 0 {
                continue;
            }
            if order.evaluate(&batch)?.first_unsorted().is_some() {
                return Ok(false);
            }
            if let Some(entries) = &entries {
                let keys = primary.evaluate(&batch)?;
                let found = entries.compare(granule, &keys, 0);
                // The entry is of the granule's first row, which may be a deleted one.
                if found.is_gt() || (found.is_lt() && !part.has_deleted_rows()) {
                    return Ok(false);
                }
            }
        }
    }
    let in_order = |entries: &super::key::Keys| entries.first_unsorted().is_none();
    Ok(entries.as_ref().is_none_or(in_order))
}
