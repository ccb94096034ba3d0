//! TTL clauses: when rows and values of columns go.

use crate::TableError;
use crate::filter::Filter;
use tambour_schema::TableDefinition;
use tambour_schema::expression::Expression;
use tambour_schema::moment::moment;
use tambour_schema::token::Cursor;

/// What a table's TTL clauses say, as far as a merge carries it out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ttl {
    /// When rows go.
    pub rows: Vec<RowsTtl>,
    /// Columns whose values become their DEFAULT, and when.
    pub columns: Vec<(String, Expression)>,
    /// Clauses that only a server carries out, and why: as written.
    pub left: Vec<(String, String)>,
}

/// Rows that go at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowsTtl {
    /// A date or a time, of each row.
    pub moment: Expression,
    /// Which rows: all if there is none.
    pub condition: Option<Filter>,
}

/// What stands after the moment.
enum Action<'a> {
    Delete(Option<&'a str>),
    Other(&'static str),
}

impl Ttl {
    /// The clauses of a table. Nothing is wrong with one that cannot be computed here: it is among those that are left.
    pub fn of(definition: &TableDefinition) -> Self {
        let mut ttl = Self::default();
        if let Some(text) = &definition.clauses.ttl
            && let Err(error) = ttl.read_rows(text)
        {
            ttl.rows.clear();
            ttl.left = vec![(text.clone(), error.to_string())];
        }
        if definition.setting("ttl_only_drop_parts").is_some_and(|value| value != "0") {
            let why = "the setting ttl_only_drop_parts: rows go with whole parts";
            let text = definition.clauses.ttl.clone().unwrap_or_default();
            if !ttl.rows.is_empty() {
                ttl.left.push((text, why.to_owned()));
            }
            ttl.rows.clear();
        }
        for column in &definition.columns {
            let Some(text) = &column.clauses.ttl else { continue };
            match moment(text) {
                Ok(moment) => ttl.columns.push((column.column.name.clone(), moment)),
                Err(error) => ttl.left.push((text.clone(), error.to_string())),
            }
        }
        ttl
    }

    /// True if a merge has nothing to do.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.columns.is_empty()
    }

    /// `moment [DELETE [WHERE …]], …`
    fn read_rows(&mut self, text: &str) -> Result<(), TableError> {
        let mut cursor = Cursor::new(text)?;
        loop {
            let start = cursor.peek().start;
            let ends = ["DELETE", "WHERE", "TO", "GROUP", "RECOMPRESS", "SET"];
            let at = cursor.skip_until(|it| it.at_symbol(",") || it.at_any_word(&ends))?;
            let action = action(&mut cursor)?;
            let whole = cursor.since(start);
            match action {
                Action::Other(why) => self.left.push((whole.to_owned(), why.to_owned())),
                Action::Delete(condition) => {
                    let read = || -> Result<RowsTtl, TableError> {
                        let condition = condition.map(str::parse).transpose()?;
                        Ok(RowsTtl { moment: moment(at)?, condition })
                    };
                    match read() {
                        Ok(rows) => self.rows.push(rows),
                        Err(error) => self.left.push((whole.to_owned(), error.to_string())),
                    }
                }
            }
            if !cursor.take_symbol(",") {
                return cursor.expect_end();
            }
        }
    }
}

fn action<'a>(cursor: &mut Cursor<'a>) -> Result<Action<'a>, TableError> {
    if cursor.take_words(&["TO"]) {
        cursor.skip_until(|it| it.at_symbol(","))?;
        return Ok(Action::Other("disks and volumes are a server's"));
    }
    if cursor.take_words(&["RECOMPRESS"]) {
        cursor.skip_until(|it| it.at_symbol(","))?;
        return Ok(Action::Other("codecs are changed by `tambour recompress`"));
    }
    if cursor.at_any_word(&["GROUP", "SET"]) {
        // Its lists have commas, too: everything up to the end.
        cursor.skip_until(|_| false)?;
        return Ok(Action::Other("rows are not aggregated"));
    }
    cursor.take_words(&["DELETE"]);
    let condition = if cursor.take_words(&["WHERE"]) {
        Some(cursor.skip_until(|it| it.at_symbol(","))?)
    } else {
        None
    };
    Ok(Action::Delete(condition))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(table: &str, column: &str) -> Ttl {
        let ttl = if table.is_empty() { String::new() } else { format!(" TTL {table}") };
        let of_column = if column.is_empty() { String::new() } else { format!(" TTL {column}") };
        let text = format!(
            "CREATE TABLE t (k UInt32, d Date, t DateTime, v UInt8{of_column}) ENGINE = MergeTree ORDER BY k{ttl}"
        );
        Ttl::of(&TableDefinition::parse(&text).unwrap())
    }

    #[test]
    fn moments_and_conditions_are_read() {
        let ttl = of(
            "d + INTERVAL 1 MONTH, t + toIntervalDay(k) - INTERVAL '2 hours' DELETE WHERE v IN (1, 2) AND k > 3, d",
            "t + INTERVAL '5' second",
        );
        let moments: Vec<String> = ttl.rows.iter().map(|it| it.moment.to_string()).collect();
        assert_eq!(moments, ["addMonths(d, 1)", "subtractHours(addDays(t, k), 2)", "d"]);
        let columns =
            TableDefinition::parse("CREATE TABLE t (k UInt32, d Date, t DateTime) ORDER BY k");
        let columns = columns.unwrap().plain_columns();
        for moment in ttl.rows.iter().map(|it| &it.moment).chain([&ttl.columns[0].1]) {
            assert!(moment.data_type(&columns).is_ok(), "{moment}");
        }
        assert!(Expression::parse("addDays(d, 1)").is_err(), "not in keys");
        let filtered: Vec<bool> = ttl.rows.iter().map(|it| it.condition.is_some()).collect();
        assert_eq!(filtered, [false, true, false]);
        assert_eq!(ttl.columns[0].0, "v");
        assert_eq!(ttl.columns[0].1.to_string(), "addSeconds(t, 5)");
        assert!(ttl.left.is_empty(), "{:?}", ttl.left);
        assert!(of("", "").is_empty());
    }

    #[test]
    fn what_only_a_server_does_is_left() {
        let ttl = of(
            "d + INTERVAL 1 YEAR TO DISK 'slow', d + INTERVAL 2 YEAR RECOMPRESS CODEC(ZSTD(3)), d",
            "",
        );
        assert_eq!((ttl.rows.len(), ttl.left.len()), (1, 2), "{ttl:?}");
        for (text, rows) in [
            ("d + INTERVAL 1 DAY, d GROUP BY k SET v = max(v), t = min(t)", 1),
            ("d DELETE WHERE lower('A') = 'a'", 0),
            ("d + INTERVAL 1 fortnight", 0),
            ("nothing(d)", 0),
        ] {
            let ttl = of(text, "");
            assert_eq!((ttl.rows.len(), ttl.left.len()), (rows, 1), "{text}: {ttl:?}");
        }
    }
}
