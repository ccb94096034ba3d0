//! Projections ⇄ scans: the rows of parts in another order, which the parts hold beside their own.
//!
//! Where a filter is on the key of a projection, its granules are fewer. Only columns that are taken as they are, all rows of a part and
//! an order that the rows prove are believed; whatever else a projection is, a scan passes it by.

use std::collections::HashSet;
use tambour_table::scan::{Pruned, Scan, ScanRange, ScanRequest};
use tambour_table::schema::expression::Expression;
use tambour_table::schema::{ColumnDefinition, ColumnKind, TableDefinition, one_line};
use tambour_table::{PartName, Table, TableError};

/// A projection of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Projection {
    /// Its name.
    pub name: String,
    /// True if it has groups, not rows.
    pub is_aggregate: bool,
    /// What its rows or groups are sorted by.
    pub key: Vec<String>,
    /// Its SELECT, on one line.
    pub query: String,
}

/// A scan of a projection in the place of one of its table.
#[derive(Debug)]
#[non_exhaustive]
pub struct Projected {
    /// Its name.
    pub name: String,
    /// The parts of the projection.
    pub table: Table,
    /// What is read of them.
    pub scan: Scan,
    /// What was left out.
    pub pruned: Pruned,
}

impl Projection {
    /// All of a table's statement.
    pub fn all(table: &Table) -> impl Iterator<Item = Self> {
        let elements = table.definition().map_or(&[][..], |it| it.clauses.elements.as_slice());
        elements.iter().filter_map(|text| Self::parse(text))
    }

    /// `PROJECTION p (SELECT …)`; `None` of another element.
    fn parse(element: &str) -> Option<Self> {
        let line = one_line(element);
        let word = line.get(..10)?;
        let rest = line.get(10..)?.trim_start();
        let (name, query) = rest.split_once('(')?;
        let query = query.get(..query.rfind(')')?)?.trim().to_owned();
        let is_it = word.eq_ignore_ascii_case("PROJECTION");
        let name = name.trim().trim_matches(['`', '"']).to_owned();
        let group = clause(&query, "GROUP BY");
        let key = pieces(group.or_else(|| clause(&query, "ORDER BY")).unwrap_or_default());
        let is_aggregate = group.is_some();
        is_it.then_some(Self { name, is_aggregate, key, query })
    }

    /// The scan of the projection that leaves the fewest granules, if they are fewer than those of the table's own scan.
    pub fn choose(
        table: &Table,
        request: &ScanRequest,
        own: (&Scan, Pruned),
    ) -> Result<Option<Projected>, TableError> {
        let (scan, pruned) = own;
        // One granule of each part is the least that there can be.
        if request.predicate.is_unknown() || pruned.granules_left <= pruned.parts_left {
            return Ok(None);
        }
        let mut best: Option<Projected> = None;
        for projection in Self::all(table) {
            let least = best.as_ref().map_or(pruned.granules_left, |it| it.pruned.granules_left);
            let Some(found) = projection.plan(table, request, scan)? else { continue };
            if found.pruned.granules_left < least {
                let parts_total = pruned.parts_total;
                best = Some(Projected { pruned: Pruned { parts_total, ..found.pruned }, ..found });
            }
        }
        Ok(best)
    }

    fn plan(
        &self,
        table: &Table,
        request: &ScanRequest,
        own: &Scan,
    ) -> Result<Option<Projected>, TableError> {
        let Some(definition) = self.definition(table, request) else { return Ok(None) };
        let ranges = || own.partitions.iter().flatten();
        let names: HashSet<&str> =
            ranges().map(|range| own.parts[range.part].name.as_str()).collect();
        // A mutation leaves a projection of `*` as it is when it drops a column, or fills another one of that name.
        let is_changed = |name: &&str| PartName::parse(name).is_none_or(|it| it.mutation.is_some());
        if self.query.contains('*') && names.iter().any(is_changed) {
            return Ok(None);
        }
        let scan_of = |is_wanted: &dyn Fn(&str) -> bool| -> Result<_, TableError> {
            let projected = table.projected(&self.name, definition.clone(), is_wanted);
            projected.map(|it| Ok((Scan::plan(&it, request)?, it))).transpose()
        };
        // Most often it does not help, and of many parts one says so.
        if let Some(first) = ranges().next().filter(|_| names.len() > 1) {
            let granules = |range: &&ScanRange| range.part == first.part;
            let left: usize = ranges().filter(granules).map(|it| it.end - it.start).sum();
            let name = &own.parts[first.part].name;
            match scan_of(&|it| it == name)? {
                Some(((_, pruned), _)) if pruned.granules_left < left => {}
                _ => return Ok(None),
            }
        }
        let Some(((scan, pruned), projected)) = scan_of(&|name| names.contains(name))? else {
            return Ok(None);
        };
        Ok(Some(Projected { name: self.name.clone(), table: projected, scan, pruned }))
    }

    /// What a table of its rows would be. `None` of one without all that a scan wants, and of one whose key does not help.
    fn definition(&self, table: &Table, request: &ScanRequest) -> Option<TableDefinition> {
        let definition = table.definition().filter(|_| !self.is_aggregate)?;
        let columns = self.columns(definition)?;
        let key = format!("({})", self.key.join(", "));
        let order_by = Expression::parse_key(&key).ok()?;
        let filtered = request.predicate.columns();
        let first = order_by.first()?.columns();
        let is_whole = filtered
            .iter()
            .copied()
            .chain(request.columns.iter().map(String::as_str))
            .all(|name| columns.iter().any(|it| it.column.name == name));
        if !is_whole || !first.iter().any(|name| filtered.contains(name)) {
            return None;
        }
        let mut projected = TableDefinition::new(definition.name.clone(), columns);
        projected.primary_key.clone_from(&order_by);
        projected.order_by = order_by;
        projected.settings.clone_from(&definition.settings);
        projected.check().is_ok().then_some(projected)
    }

    /// The columns that it takes as they are; `None` if it calculates any, or leaves rows out.
    fn columns(&self, definition: &TableDefinition) -> Option<Vec<ColumnDefinition>> {
        let word = self.query.get(..7).filter(|it| it.eq_ignore_ascii_case("SELECT "))?;
        let end = self.query.to_ascii_uppercase().rfind(" ORDER BY ")?;
        let plain = |it: &ColumnDefinition| {
            ColumnDefinition::new(it.column.name.clone(), it.column.data_type.clone())
        };
        let mut columns = Vec::new();
        for piece in pieces(self.query.get(word.len()..end)?) {
            if piece == "*" {
                let given = definition.columns.iter();
                columns.extend(given.filter(|it| it.clauses.kind == ColumnKind::Given).map(plain));
                continue;
            }
            let name = piece.strip_prefix('`').and_then(|it| it.strip_suffix('`'));
            let name = name.unwrap_or(&piece);
            columns.push(plain(definition.columns.iter().find(|it| it.column.name == name)?));
        }
        Some(columns)
    }
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

#[cfg(test)]
mod tests {
    use super::{Projection, clause, pieces};

    #[test]
    fn projections_are_parsed() {
        let parse = Projection::parse;
        let found =
            parse("PROJECTION p\n    (\n        SELECT\n            b,\n            count()\n        GROUP BY b\n    )")
                .unwrap();
        assert_eq!(
            (found.name.as_str(), found.query.as_str()),
            ("p", "SELECT b, count() GROUP BY b")
        );
        assert_eq!(clause(&found.query, "GROUP BY"), Some("b"));
        assert_eq!(
            clause("SELECT 'GROUP BY x', f(a ORDER BY b) ORDER BY a, g(b, c)", "GROUP BY"),
            None
        );
        let key = clause("SELECT * ORDER BY a, g(b, c)", "ORDER BY").unwrap();
        assert_eq!(pieces(key), ["a", "g(b, c)"]);
        assert_eq!(pieces("(a, b)"), ["a", "b"]);
        assert!(parse("INDEX i b TYPE minmax GRANULARITY 1").is_none());
    }
}
