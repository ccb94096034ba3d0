//! Rows and columns, for the page, for terminals and for files.

use std::fmt::Write;

/// A table. Every row has a cell per column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// What it holds.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its cells.
    pub rows: Vec<Vec<String>>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// What stands above it.
    pub name: String,
    /// Numbers stand to the right.
    pub right: bool,
}

impl Column {
    /// A column of text.
    pub fn text(name: &str) -> Self {
        Self { name: name.to_owned(), right: false }
    }

    /// A column of numbers.
    pub fn number(name: &str) -> Self {
        Self { name: name.to_owned(), right: true }
    }
}

/// A table of things that is filled column by column: [`Table::of`] begins one.
#[derive(Clone, Debug)]
pub struct TableOf<T> {
    things: Vec<T>,
    table: Table,
}

impl<T> TableOf<T> {
    /// Adds a column of text.
    pub fn text<S: ToString>(self, name: &str, cell: impl Fn(&T) -> S) -> Self {
        self.column(Column::text(name), cell)
    }

    /// Adds a column of numbers.
    pub fn number<S: ToString>(self, name: &str, cell: impl Fn(&T) -> S) -> Self {
        self.column(Column::number(name), cell)
    }

    fn column<S: ToString>(mut self, column: Column, cell: impl Fn(&T) -> S) -> Self {
        self.table.columns.push(column);
        for (row, thing) in self.table.rows.iter_mut().zip(&self.things) {
            row.push(cell(thing).to_string());
        }
        self
    }

    /// The table.
    pub fn build(self) -> Table {
        self.table
    }
}

impl Table {
    /// Begins a table with a row per thing.
    ///
    /// ```
    /// let squares = tambour_report::Table::of("Squares", 1..=2)
    ///     .text("word", |n| ["one", "two"][*n - 1])
    ///     .number("square", |n| n * n)
    ///     .build();
    /// assert_eq!(squares.to_text(), "word  square\none        1\ntwo        4\n");
    /// ```
    pub fn of<T>(title: impl Into<String>, things: impl IntoIterator<Item = T>) -> TableOf<T> {
        let things: Vec<T> = things.into_iter().collect();
        let rows = vec![Vec::new(); things.len()];
        TableOf { things, table: Self { title: title.into(), columns: Vec::new(), rows } }
    }

    /// Columns aligned by spaces, two between them; no line ends with one. Control characters are shown as escapes, so that
    /// names from data cannot steer a terminal.
    pub fn to_text(&self) -> String {
        let names = self.columns.iter().map(|column| printable(&column.name)).collect();
        let cells = self.rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect());
        let lines: Vec<Vec<String>> = std::iter::once(names).chain(cells).collect();
        let mut widths = vec![0; self.columns.len()];
        for line in &lines {
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        for cells in &lines {
            let mut line = String::new();
            for ((cell, column), width) in cells.iter().zip(&self.columns).zip(&widths) {
                let _ = if column.right {
                    write!(line, "{cell:>width$}  ")
                } else {
                    write!(line, "{cell:<width$}  ")
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Comma-separated values (RFC 4180) with a line of names.
    pub fn to_csv(&self) -> String {
        let names: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        let mut text = String::new();
        for row in std::iter::once(&names).chain(&self.rows) {
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            text.push_str(&cells.join(","));
            text.push_str("\r\n");
        }
        text
    }
}

fn printable(cell: &str) -> String {
    let mut text = String::with_capacity(cell.len());
    for character in cell.chars() {
        if character.is_control() {
            text.extend(character.escape_default());
        } else {
            text.push(character);
        }
    }
    text
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Column, Table};

    #[test]
    fn cells_are_aligned_or_quoted() {
        let table = Table {
            title: "t".to_owned(),
            columns: vec![Column::text("name"), Column::number("n")],
            rows: vec![
                vec!["a, \"b\"".to_owned(), "1".to_owned()],
                vec!["c".to_owned(), "200".to_owned()],
            ],
        };
        assert_eq!(table.to_text(), "name      n\na, \"b\"    1\nc       200\n");
        let steers = Table::of("t", ["\u{1b}[2J"]).text("a\tb", |name| *name).build();
        assert_eq!(steers.to_text(), "a\\tb\n\\u{1b}[2J\n");
        assert_eq!(table.to_csv(), "name,n\r\n\"a, \"\"b\"\"\",1\r\nc,200\r\n");
    }
}
