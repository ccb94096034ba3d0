//! The projections of tables, and those that parts have, as rows.

use super::parts::{self, PartRow, default_codec, form, marks, part_rows};
use super::tables::{engine, one_line};
use super::{Sheet, Tables, place};
use std::sync::Arc;
use tambour_part::Part;
use tambour_part::part::Totals;
use tambour_table::TableError;

/// A projection of a statement.
struct Projection {
    database: String,
    table: String,
    name: String,
    is_aggregate: bool,
    key: Vec<String>,
    query: String,
}

/// `system.projections`.
pub(super) fn fill(sheet: &mut Sheet, tables: Tables<'_>) {
    let mut rows = Vec::new();
    for (registered, table) in tables {
        let (database, table_name) = place(registered, table);
        let elements = table.definition().map_or(&[][..], |it| it.clauses.elements.as_slice());
        for (name, query) in elements.iter().filter_map(|text| parse(text)) {
            let group = clause(&query, "GROUP BY");
            let key = group.or_else(|| clause(&query, "ORDER BY")).unwrap_or_default();
            rows.push(Projection {
                database: database.to_owned(),
                table: table_name.to_owned(),
                name,
                is_aggregate: group.is_some(),
                key: pieces(key),
                query,
            });
        }
    }
    let rows = rows.as_slice();
    sheet.text("database", rows, |row| row.database.clone());
    sheet.text("table", rows, |row| row.table.clone());
    sheet.text("name", rows, |row| row.name.clone());
    sheet.either("type", ["Normal", "Aggregate"], rows, |row| row.is_aggregate);
    sheet.texts("sorting_key", rows, |row| row.key.clone());
    sheet.text("query", rows, |row| row.query.clone());
}

/// Name and query of `PROJECTION p (SELECT …)`; `None` of another element.
fn parse(element: &str) -> Option<(String, String)> {
    let line = one_line(element);
    let word = line.get(..10)?;
    let rest = line.get(10..)?.trim_start();
    let (name, query) = rest.split_once('(')?;
    let query = query.get(..query.rfind(')')?)?;
    let is_it = word.eq_ignore_ascii_case("PROJECTION");
    let name = name.trim().trim_matches(['`', '"']).to_owned();
    is_it.then(|| (name, query.trim().to_owned()))
}

/// What stands after the words of a clause, up to the next one.
fn clause<'a>(query: &'a str, words: &str) -> Option<&'a str> {
    let outside = outside(query);
    let upper = query.to_ascii_uppercase();
    let find = |words: &str, from: usize| {
        let places = upper.match_indices(words).map(|(at, _)| at);
        places.into_iter().find(|at| *at >= from && outside.get(*at) == Some(&true))
    };
    let start = find(words, 0)? + words.len();
    let end = find("ORDER BY", start).unwrap_or(query.len());
    query.get(start..end).map(str::trim)
}

/// For each byte whether it is outside of parentheses and quotes.
fn outside(text: &str) -> Vec<bool> {
    let (mut depth, mut quote) = (0_usize, None);
    let see = |byte: u8| {
        match (quote, byte) {
            (Some(end), _) if byte == end => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(byte),
            (None, b'(' | b'[') => depth += 1,
            (None, b')' | b']') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && quote.is_none()
    };
    text.bytes().map(see).collect()
}

/// The expressions of a list, which may be a tuple.
fn pieces(list: &str) -> Vec<String> {
    let inner = list.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let list = inner.filter(|it| !it.contains(['(', ')'])).unwrap_or(list);
    let outside = outside(list);
    let mut found = vec![String::new()];
    for (at, character) in list.char_indices() {
        match found.last_mut() {
            Some(last) if character != ',' || outside.get(at) != Some(&true) => {
                last.push(character);
            }
            _ => found.push(String::new()),
        }
    }
    let found = found.iter().map(|piece| piece.trim().to_owned());
    found.filter(|piece| !piece.is_empty()).collect()
}

/// A projection of a part.
struct ProjectionPart {
    parent: Arc<PartRow>,
    name: String,
    part: Option<Part>,
    totals: Totals,
    /// What is wrong with it.
    broken: String,
}

impl AsRef<PartRow> for ProjectionPart {
    fn as_ref(&self) -> &PartRow {
        &self.parent
    }
}

impl ProjectionPart {
    fn open(parent: &Arc<PartRow>, name: String) -> Self {
        let opened = parent.part.projection(&name);
        let opened = opened.and_then(|part| part.totals().map(|totals| (part, totals)));
        let parent = Arc::clone(parent);
        match opened {
            Ok((part, totals)) => {
                Self { parent, name, part: Some(part), totals, broken: String::new() }
            }
            Err(error) => {
                let broken = error.to_string();
                Self { parent, name, part: None, totals: Totals::default(), broken }
            }
        }
    }
    fn number(&self, of: impl Fn(&Part) -> u64) -> u64 {
        self.part.as_ref().map_or(0, of)
    }
    fn text(&self, of: impl Fn(&Part) -> String) -> String {
        self.part.as_ref().map_or_else(String::new, of)
    }
}

/// `system.projection_parts`.
pub(super) fn fill_parts(sheet: &mut Sheet, tables: Tables<'_>) -> Result<(), TableError> {
    let mut rows = Vec::new();
    for parent in part_rows(tables)? {
        let parent = Arc::new(parent);
        let names = parent.part.projections().into_iter();
        rows.extend(names.map(|name| ProjectionPart::open(&parent, name)));
    }
    let rows = rows.as_slice();
    sheet.text("partition", rows, |row| row.parent.partition().to_owned());
    sheet.text("name", rows, |row| row.name.clone());
    sheet.text("part_type", rows, |row| row.text(|part| form(part).to_owned()));
    sheet.text("parent_name", rows, |row| row.parent.name.clone());
    sheet.text("parent_part_type", rows, |row| form(&row.parent.part));
    sheet.flag("active", rows, |_| true);
    sheet.number("marks", rows, |row| row.number(marks));
    sheet.number("rows", rows, |row| row.number(Part::rows));
    sheet.number("files", rows, |row| row.totals.files);
    sheet.number("bytes_on_disk", rows, |row| row.totals.bytes);
    sheet.number("data_compressed_bytes", rows, |row| row.totals.compressed);
    sheet.number("data_uncompressed_bytes", rows, |row| row.totals.uncompressed);
    sheet.number("marks_bytes", rows, |row| row.totals.marks);
    sheet.number("parent_marks", rows, |row| marks(&row.parent.part));
    sheet.number("parent_rows", rows, |row| row.parent.part.rows());
    sheet.number("parent_bytes_on_disk", rows, |row| row.parent.totals().bytes);
    sheet.number("parent_data_compressed_bytes", rows, |row| row.parent.totals().compressed);
    sheet.number("parent_data_uncompressed_bytes", rows, |row| row.parent.totals().uncompressed);
    sheet.number("parent_marks_bytes", rows, |row| row.parent.totals().marks);
    parts::numbered(sheet, rows);
    sheet.text("database", rows, |row| row.parent.database.clone());
    sheet.text("table", rows, |row| row.parent.table_name.clone());
    sheet.text("engine", rows, |row| engine(&row.parent.table));
    sheet.text("path", rows, |row| row.text(|part| format!("{}/", part.path().display())));
    sheet.text("hash_of_all_files", rows, |row| {
        row.text(|part| part.hash_of_all_files().unwrap_or_default())
    });
    sheet.read_text("default_compression_codec", rows, |row| match &row.part {
        Some(part) => default_codec(&row.parent.table, part, &row.parent.name),
        None => Ok(String::new()),
    })?;
    sheet.flag("is_broken", rows, |row| row.part.is_none());
    sheet.text("exception", rows, |row| row.broken.clone());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{clause, parse, pieces};

    #[test]
    fn projections_are_parsed() {
        let (name, query) =
            parse("PROJECTION p\n    (\n        SELECT\n            b,\n            count()\n        GROUP BY b\n    )")
                .unwrap();
        assert_eq!((name.as_str(), query.as_str()), ("p", "SELECT b, count() GROUP BY b"));
        assert_eq!(clause(&query, "GROUP BY"), Some("b"));
        assert_eq!(
            clause("SELECT 'GROUP BY x', f(a ORDER BY b) ORDER BY a, g(b, c)", "GROUP BY"),
            None
        );
        let key = clause("SELECT * ORDER BY a, g(b, c)", "ORDER BY").unwrap();
        assert_eq!(pieces(key), ["a", "g(b, c)"]);
        assert_eq!(pieces("(a, b)"), ["a", "b"]);
        assert_eq!(parse("INDEX i b TYPE minmax GRANULARITY 1"), None);
    }
}
