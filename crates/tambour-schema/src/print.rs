//! Printing a definition: one canonical statement, which [`TableDefinition::parse`] and ClickHouse both take.

use super::expression::Expression;
use super::token::{quote, quoted_name};
use super::{ColumnDefinition, ColumnKind, TableDefinition};
use std::fmt::{Display, Formatter, Result};

impl TableDefinition {
    /// The statement with `CODEC(auto)` and other words that only we know; for the sidecar.
    pub fn stored(&self) -> String {
        format!("{self:#}")
    }
}

impl Display for TableDefinition {
    /// Prints a statement that [`TableDefinition::parse`] and ClickHouse both take; in the alternate form with all codecs as
    /// they were given.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str("CREATE TABLE ")?;
        if let Some(database) = &self.database {
            write!(f, "{}.", quoted_name(database))?;
        }
        writeln!(f, "{}\n(", quoted_name(&self.name))?;
        let print = |column: &ColumnDefinition| {
            if f.alternate() { format!("{column:#}") } else { column.to_string() }
        };
        let columns = self.columns.iter().chain(&self.unstored).map(print);
        let lines: Vec<String> = columns.chain(self.clauses.elements.iter().cloned()).collect();
        for (index, line) in lines.iter().enumerate() {
            writeln!(f, "    {line}{}", if index + 1 < lines.len() { "," } else { "" })?;
        }
        write!(f, ")\nENGINE = {}", self.clauses.engine.as_deref().unwrap_or("MergeTree"))?;
        if !self.partition_by.is_empty() {
            write!(f, "\nPARTITION BY {}", Key(&self.partition_by))?;
        }
        if self.primary_key != self.order_by {
            write!(f, "\nPRIMARY KEY {}", Key(&self.primary_key))?;
        }
        write!(f, "\nORDER BY {}", Key(&self.order_by))?;
        for (clause, text) in [("SAMPLE BY", &self.clauses.sample_by), ("TTL", &self.clauses.ttl)] {
            if let Some(text) = text {
                write!(f, "\n{clause} {text}")?;
            }
        }
        for (index, (setting, value)) in self.settings.iter().enumerate() {
            f.write_str(if index == 0 { "\nSETTINGS " } else { ", " })?;
            write!(f, "{setting} = {}", SettingValue(value))?;
        }
        if let Some(comment) = &self.clauses.comment {
            write!(f, "\nCOMMENT {}", quote(comment, '\''))?;
        }
        Ok(())
    }
}

impl Display for ColumnDefinition {
    /// Prints the column as in a list of columns.
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let (name, data_type) = (quote(&self.column.name, '`'), &self.column.data_type);
        match &self.clauses.aggregate {
            Some(function) => write!(f, "{name} SimpleAggregateFunction({function}, {data_type})")?,
            None => write!(f, "{name} {data_type}")?,
        }
        let word = self.clauses.kind.word();
        match &self.clauses.default {
            Some(default) => write!(f, " {word} {default}")?,
            None if self.clauses.kind == ColumnKind::Given => {}
            None => write!(f, " {word}")?,
        }
        if let Some(comment) = &self.comment {
            write!(f, " COMMENT {}", quote(comment, '\''))?;
        }
        let codec = match &self.codec {
            Some(codec) if !f.alternate() => codec.in_clickhouse(),
            codec => codec.clone(),
        };
        if let Some(codec) = codec {
            write!(f, " CODEC({codec})")?;
        }
        if let Some(statistics) = &self.clauses.statistics {
            write!(f, " STATISTICS({statistics})")?;
        }
        if let Some(ttl) = &self.clauses.ttl {
            write!(f, " TTL {ttl}")?;
        }
        if let Some(settings) = &self.clauses.settings {
            write!(f, " SETTINGS ({settings})")?;
        }
        Ok(())
    }
}

/// A key: `a`, `(a, b)`, `tuple()`.
struct Key<'a>(&'a [Expression]);

impl Display for Key<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            [] => f.write_str("tuple()"),
            [only] => write!(f, "{only}"),
            several => {
                let texts: Vec<String> = several.iter().map(ToString::to_string).collect();
                write!(f, "({})", texts.join(", "))
            }
        }
    }
}

/// Numbers stand alone, everything else in quotes.
struct SettingValue<'a>(&'a str);

impl Display for SettingValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let is_bare =
            self.0.parse::<f64>().is_ok_and(f64::is_finite) || matches!(self.0, "true" | "false");
        if is_bare { f.write_str(self.0) } else { f.write_str(&quote(self.0, '\'')) }
    }
}

/// A statement on one line: spaces outside of quotes are single, and there are none inside of parentheses.
pub fn one_line(statement: &str) -> String {
    let mut line = String::with_capacity(statement.len());
    let mut quote = None;
    let mut is_escaped = false;
    for character in statement.chars() {
        if let Some(end) = quote {
            line.push(character);
            // A doubled quote closes the text and opens it again.
            if !is_escaped && character == end {
                quote = None;
            }
            is_escaped = !is_escaped && character == '\\';
            continue;
        }
        if character.is_whitespace() {
            if !line.ends_with([' ', '(']) {
                line.push(' ');
            }
            continue;
        }
        if character == ')' && line.ends_with(' ') {
            line.pop();
        }
        if matches!(character, '\'' | '"' | '`') {
            quote = Some(character);
        }
        line.push(character);
    }
    line.truncate(line.trim_end().len());
    line
}

#[cfg(test)]
mod tests {
    use super::one_line;

    #[test]
    fn statements_fit_on_a_line() {
        let statement = "CREATE TABLE t\n(\n    `a b` String DEFAULT '  \\'  (',\n    PROJECTION p\n    (\n        \
                         SELECT\n            a\n        ORDER BY a\n    )\n)\nENGINE = MergeTree\nORDER BY tuple()\n";
        assert_eq!(
            one_line(statement),
            "CREATE TABLE t (`a b` String DEFAULT '  \\'  (', PROJECTION p (SELECT a ORDER BY a)) \
             ENGINE = MergeTree ORDER BY tuple()"
        );
    }
}
