//! Colours for SQL while it is typed.

use crate::query::statement::{Part, Scanner};
use owo_colors::{OwoColorize, Style};
use std::fmt::Write;

/// Words that stand out, and that completion offers.
pub(super) const KEYWORDS: [&str; 63] = [
    "ALL",
    "AND",
    "ANTI",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "CROSS",
    "CURRENT",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "ANALYZE",
    "FALSE",
    "FILTER",
    "FIRST",
    "FORMAT",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "IS",
    "JOIN",
    "LAST",
    "LEFT",
    "LIKE",
    "LIMIT",
    "NATURAL",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "RIGHT",
    "SELECT",
    "SEMI",
    "SHOW",
    "TABLES",
    "THEN",
    "TRUE",
    "UNION",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WITH",
];

/// The text with colours.
pub(super) fn highlight(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() * 2);
    let mut run = String::new();
    let mut kind = Kind::Plain;
    let mut flush = |run: &mut String, kind: Kind| {
        if !run.is_empty() {
            // Writing to a string cannot fail.
            let _ = write!(shown, "{}", run.style(kind.style(run)));
            run.clear();
        }
    };
    for (_, c, part) in Scanner::new(text) {
        let next = Kind::of(c, part);
        if next != kind {
            flush(&mut run, kind);
            kind = next;
        }
        run.push(c);
    }
    flush(&mut run, kind);
    shown
}

/// What a run of characters is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Word,
    Text,
    Comment,
}

impl Kind {
    fn of(c: char, part: Part) -> Self {
        match part {
            Part::Quote('\'') => Self::Text,
            Part::LineComment | Part::BlockComment => Self::Comment,
            Part::Code if c.is_alphanumeric() || c == '_' => Self::Word,
            Part::Quote(_) | Part::Code => Self::Plain,
        }
    }

    fn style(self, run: &str) -> Style {
        let is = |keyword: &&str| keyword.eq_ignore_ascii_case(run);
        match self {
            Self::Word if KEYWORDS.iter().any(is) => Style::new().blue().bold(),
            Self::Word if run.starts_with(|c: char| c.is_ascii_digit()) => Style::new().cyan(),
            Self::Text => Style::new().green(),
            Self::Comment => Style::new().dimmed(),
            Self::Word | Self::Plain => Style::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_stays_the_same() {
        for text in ["select 'a' from t -- x", "", "\u{e4} 'open", "/* a */ 1"] {
            let shown = anstream::adapter::strip_str(&highlight(text)).to_string();
            assert_eq!(shown, text);
        }
        assert!(highlight("select").contains("\u{1b}["));
        assert_eq!(highlight("selected"), "selected");
    }
}
