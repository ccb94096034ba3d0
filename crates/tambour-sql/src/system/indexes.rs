//! The skip indexes of tables as rows.

use super::{Sheet, Tables, place};
use std::sync::Arc;
use tambour_index::{Found, look_into};
use tambour_table::Table;

/// `system.data_skipping_indices`.
pub(super) fn fill(sheet: &mut Sheet, tables: Tables<'_>) {
    let of_table = |(name, table): &(String, Arc<Table>)| {
        let (database, table_name) = place(name, table);
        let owned = (database.to_owned(), table_name.to_owned());
        look_into(table).into_iter().map(move |found| (owned.clone(), found))
    };
    let rows: Vec<((String, String), Found)> = tables.iter().flat_map(of_table).collect();
    let rows = rows.as_slice();
    sheet.text("database", rows, |((database, _), _)| database.clone());
    sheet.text("table", rows, |((_, table), _)| table.clone());
    sheet.text("name", rows, |(_, found)| found.index.definition.name.clone());
    sheet.text("type", rows, |(_, found)| found.index.definition.kind.clone());
    sheet.text("type_full", rows, |(_, found)| found.index.definition.kind_full.clone());
    sheet.text("expr", rows, |(_, found)| listed(&found.index.definition.expression).to_owned());
    sheet.either("creation", ["Explicit", "Implicit"], rows, |(_, found)| {
        found.index.definition.is_implicit
    });
    sheet.number("granularity", rows, |(_, found)| found.index.definition.granularity as u64);
    sheet.number("data_compressed_bytes", rows, |(_, found)| found.sizes.compressed);
    sheet.number("data_uncompressed_bytes", rows, |(_, found)| found.sizes.uncompressed);
    sheet.number("marks_bytes", rows, |(_, found)| found.sizes.marks);
}

/// An expression without the parentheses of a tuple.
pub(crate) fn listed(expression: &str) -> &str {
    let inner = expression.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let is_one = |inner: &&str| {
        let mut depth = 0_i32;
        inner.chars().all(|character| {
            depth += match character {
                '(' => 1,
                ')' => -1,
                _ => 0,
            };
            depth >= 0
        })
    };
    inner.filter(is_one).unwrap_or(expression).trim()
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn tuples_are_lists() {
        assert_eq!(listed("(a, lower(s))"), "a, lower(s)");
        assert_eq!(listed("(a + 1) * (b)"), "(a + 1) * (b)");
        assert_eq!(listed("a"), "a");
    }
}
