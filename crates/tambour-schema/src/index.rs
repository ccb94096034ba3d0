//! `INDEX name expression TYPE kind [GRANULARITY n]`: what a definition says of its skip indexes.

use super::TableDefinition;
use super::expression::Expression;
use super::token::Cursor;
use crate::TableError;

/// Settings that make ClickHouse keep a min-max index of columns without being asked for each.
const IMPLICIT_SETTINGS: [&str; 3] = [
    "add_minmax_index_for_numeric_columns",
    "add_minmax_index_for_string_columns",
    "add_minmax_index_for_temporal_columns",
];

/// A skip index of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDefinition {
    /// Its name.
    pub name: String,
    /// Its expression as written.
    pub expression: String,
    /// The columns, if it is over nothing but columns; empty if it is over anything else.
    pub columns: Vec<String>,
    /// The kind without its arguments (`minmax`, `bloom_filter`).
    pub kind: String,
    /// The arguments of the kind, as written.
    pub arguments: Vec<String>,
    /// The kind as written.
    pub kind_full: String,
    /// Granules of the table to one entry of the index.
    pub granularity: usize,
    /// It follows from a setting, not from an INDEX.
    pub is_implicit: bool,
}

impl TableDefinition {
    /// The skip indexes: those of INDEX clauses in order, then those that follow from settings, which a part may have files of or
    /// not. A clause that is not understood is left out.
    ///
    /// ```
    /// use tambour_schema::TableDefinition;
    /// let definition = TableDefinition::parse(
    ///     "CREATE TABLE hits (page String, INDEX pages page TYPE bloom_filter(0.01) GRANULARITY 4) \
    ///      ENGINE = MergeTree ORDER BY tuple()",
    /// )?;
    /// let indexes = definition.indexes();
    /// assert_eq!((indexes[0].kind.as_str(), indexes[0].granularity), ("bloom_filter", 4));
    /// assert_eq!((&indexes[0].columns[..], &indexes[0].arguments[..]), (&["page".into()][..], &["0.01".into()][..]));
    /// # Ok::<(), tambour_schema::TableError>(())
    /// ```
    pub fn indexes(&self) -> Vec<IndexDefinition> {
        let written = self.clauses.elements.iter();
        let mut indexes: Vec<_> =
            written.filter_map(|text| parse(text).unwrap_or_default()).collect();
        let is_on = |name: &&str| self.setting(name).is_some_and(|value| value != "0");
        if IMPLICIT_SETTINGS.iter().any(is_on) {
            indexes.extend(self.columns.iter().map(|it| implicit(&it.column.name)));
        }
        indexes
    }
}

fn implicit(column: &str) -> IndexDefinition {
    IndexDefinition {
        name: format!("auto_minmax_index_{column}"),
        expression: column.to_owned(),
        columns: vec![column.to_owned()],
        kind: "minmax".to_owned(),
        arguments: Vec::new(),
        kind_full: "minmax".to_owned(),
        granularity: 1,
        is_implicit: true,
    }
}

/// Parses an element of a column list; `None` of one that is not an index.
pub fn parse(text: &str) -> Result<Option<IndexDefinition>, TableError> {
    let mut cursor = Cursor::new(text)?;
    if !cursor.take_words(&["INDEX"]) {
        return Ok(None);
    }
    let name = cursor.expect_name("the index's name")?;
    let start = cursor.peek().start;
    // A column may be called `type`.
    if !cursor.at_symbol("(") {
        cursor.advance();
    }
    cursor.skip_until(|cursor| cursor.at_word("TYPE"))?;
    let expression = cursor.since(start).trim().to_owned();
    cursor.expect_words(&["TYPE"])?;
    let start = cursor.peek().start;
    let kind = cursor.expect_name("the index's type")?;
    let inside = if cursor.at_symbol("(") { cursor.balanced()? } else { "" };
    let kind_full = cursor.since(start).to_owned();
    let arguments = inside.split(',').map(|it| it.trim().to_owned());
    let arguments = arguments.filter(|it| !it.is_empty()).collect();
    let granularity = if cursor.take_words(&["GRANULARITY"]) {
        let token = cursor.advance();
        cursor.text(token).parse().ok().filter(|it| *it > 0)
    } else {
        Some(1)
    };
    let granularity = granularity.ok_or_else(|| cursor.expected("a number of granules"))?;
    cursor.expect_end()?;
    let column = |it: Expression| match it {
        Expression::Column(name) => Some(name),
        _ => None,
    };
    let parsed = Expression::parse_key(&expression).unwrap_or_default();
    let columns = parsed.into_iter().map(column).collect::<Option<_>>().unwrap_or_default();
    let is_implicit = false;
    Ok(Some(IndexDefinition {
        name,
        expression,
        columns,
        kind,
        arguments,
        kind_full,
        granularity,
        is_implicit,
    }))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn indexes_are_parsed() {
        let of = |text: &str| parse(text).unwrap().unwrap();
        let index = of("INDEX `b s` s TYPE bloom_filter GRANULARITY 3");
        assert_eq!((index.name.as_str(), index.granularity), ("b s", 3));
        assert_eq!((index.columns, index.kind_full.as_str()), (vec!["s".into()], "bloom_filter"));
        let index = of("INDEX i (a, `b c`) TYPE set(100)");
        assert_eq!((index.columns, index.granularity), (vec!["a".into(), "b c".into()], 1));
        assert_eq!((index.kind_full.as_str(), index.arguments), ("set(100)", vec!["100".into()]));
        let index = of("INDEX i type TYPE minmax");
        assert_eq!((index.columns, index.expression.as_str()), (vec!["type".into()], "type"));
        let index = of("INDEX i lower(s) TYPE tokenbf_v1(256, 2, 0) GRANULARITY 1");
        assert_eq!((index.columns.len(), index.arguments.len()), (0, 3));
        let index = of("INDEX i a * 2 + b TYPE minmax GRANULARITY 1");
        assert_eq!((index.columns.len(), index.expression.as_str()), (0, "a * 2 + b"));
        let index = of("INDEX i s TYPE text(tokenizer = ngrams(3), x = 'a,b') GRANULARITY 9");
        assert_eq!((index.kind.as_str(), index.granularity), ("text", 9));
        assert_eq!(parse("CONSTRAINT c CHECK a > 1").unwrap(), None);
        assert!(parse("INDEX i a TYPE minmax GRANULARITY 0").is_err());
    }
}
