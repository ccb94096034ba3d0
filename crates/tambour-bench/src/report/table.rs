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

impl Table {
    /// Columns aligned by spaces, two between them; no line ends with one.
    pub fn to_text(&self) -> String {
        let heads = self.columns.iter().map(|column| column.name.chars().count());
        let mut widths: Vec<usize> = heads.collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let names: Vec<String> = self.columns.iter().map(|column| column.name.clone()).collect();
        let mut text = String::new();
        for row in std::iter::once(&names).chain(&self.rows) {
            let mut line = String::new();
            for ((cell, column), width) in row.iter().zip(&self.columns).zip(&widths) {
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
        assert_eq!(table.to_csv(), "name,n\r\n\"a, \"\"b\"\"\",1\r\nc,200\r\n");
    }
}
