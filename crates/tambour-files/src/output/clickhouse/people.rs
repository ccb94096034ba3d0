//! Formats for people: Vertical and the family of Pretty. A table is as wide as its widest value, so its rows are kept until
//! the end, up to a number of them; the rest is counted.

use super::tip::tip;
use super::{Columns, Effort, Form};
use crate::FileError;
use crate::output::style::Style;
use arrow_array::RecordBatch;
use tambour_part::DataType;
use unicode_width::UnicodeWidthChar;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Vertical,
    /// `Pretty`: a frame, and a line between rows.
    Full,
    /// `PrettyCompact`: a frame.
    Compact,
    /// `PrettySpace`: no frame.
    Space,
}

/// Rows of a table that are shown.
const ROWS_MAX: usize = 1000;
/// From this many rows on, the names come at the end too.
const FOOTER_ROWS: usize = 50;
/// A table wider than this is shown as Vertical if it has few rows and several columns.
const WIDTH_MAX: usize = 250;
/// Values are padded to this width at most; what is longer reaches over the frame.
const PADDED_MAX: usize = 250;
/// Few rows.
const FEW_ROWS: u64 = 10;
/// Several columns.
const SEVERAL_COLUMNS: usize = 5;

/// The lines of a value.
struct Cell {
    lines: Vec<String>,
}

pub(super) struct Page {
    kind: Kind,
    columns: Columns,
    cells: Vec<Vec<Cell>>,
    tips: Vec<String>,
    /// The first rows, which may come to be shown as Vertical.
    first: Vec<RecordBatch>,
    rows: u64,
    /// The table of totals.
    totals: Option<Box<Page>>,
}

impl Page {
    pub(super) fn new(kind: Kind, columns: Columns) -> Self {
        let (cells, tips, first) = (Vec::new(), Vec::new(), Vec::new());
        Self { kind, columns, cells, tips, first, rows: 0, totals: None }
    }

    fn vertical(&mut self, batch: &RecordBatch, target: &mut Vec<u8>) -> Result<(), FileError> {
        let texts = self.columns.texts(batch, Style::Shown)?;
        let widths: Vec<usize> = self.columns.names.iter().map(|name| width_at(name, 0)).collect();
        let widest = widths.iter().copied().max().unwrap_or_default();
        for row in 0..batch.num_rows() {
            self.rows += 1;
            if self.rows > 1 {
                target.push(b'\n');
            }
            let title = format!("Row {}:\n", self.rows);
            // As wide as the title of the row after this one.
            let line = "\u{2500}".repeat((self.rows + 1).to_string().len() + 5);
            target.extend_from_slice(format!("{title}{line}\n").as_bytes());
            for (index, text) in texts.iter().enumerate() {
                target.extend_from_slice(self.columns.names[index].as_bytes());
                target.push(b':');
                target.resize(target.len() + widest - widths[index] + 1, b' ');
                let start = target.len();
                text.write(row, target);
                if self.columns.is_number(index)
                    && let Some(words) = tip(&target[start..])
                {
                    target.extend_from_slice(words.as_bytes());
                }
                target.push(b'\n');
            }
        }
        Ok(())
    }

    fn keep(&mut self, batch: &RecordBatch) -> Result<(), FileError> {
        self.rows += batch.num_rows() as u64;
        if self.rows <= FEW_ROWS {
            self.first.push(batch.clone());
        }
        let wanted = batch.num_rows().min(ROWS_MAX - self.cells.len());
        let texts = self.columns.texts(batch, Style::Shown)?;
        let documents = self.columns.texts(batch, Style::StrictJson)?;
        let mut bytes = Vec::new();
        for row in 0..wanted {
            let mut cells = Vec::with_capacity(texts.len());
            for (index, text) in texts.iter().enumerate() {
                bytes.clear();
                if self.has_names(index) {
                    documents[index].write_indented(row, 0, &mut bytes);
                    // Tabs of values are escaped: those that are left indent.
                    bytes = String::from_utf8_lossy(&bytes).replace('\t', "  ").into_bytes();
                } else {
                    text.write(row, &mut bytes);
                }
                cells.push(Cell::of(&bytes));
            }
            // Words are for the last column: they stand next to it.
            let is_number = texts.len().checked_sub(1).is_some_and(|it| self.columns.is_number(it));
            let words = is_number.then(|| tip(&bytes)).flatten();
            self.tips.push(words.unwrap_or_default());
            self.cells.push(cells);
        }
        Ok(())
    }

    /// Whether a column is a tuple with names, which tables show as JSON.
    fn has_names(&self, index: usize) -> bool {
        match &self.columns.types[index] {
            Some(DataType::Tuple(elements)) => {
                elements.first().is_some_and(|(name, _)| name.is_some())
            }
            _ => false,
        }
    }

    fn widths(&self) -> Vec<usize> {
        // The number of the row, the frame and a blank stand before the first column.
        let mut prefix = self.cells.len().to_string().len() + 4;
        let widest = |(index, name): (usize, &String)| {
            let cells = self.cells.iter().map(|row| row[index].width(prefix));
            let width = cells.fold(width_at(name, prefix), usize::max).min(PADDED_MAX);
            prefix += width + 3;
            width
        };
        self.columns.names.iter().enumerate().map(widest).collect()
    }

    /// Whether few rows of several columns would make a table that is too wide, or a value has a line break.
    fn is_too_wide(&self, widths: &[usize]) -> bool {
        let width: usize = widths.iter().map(|width| width + 3).sum();
        let is_wide =
            width > WIDTH_MAX || self.cells.iter().flatten().any(|cell| cell.lines.len() > 1);
        self.rows <= FEW_ROWS && widths.len() >= SEVERAL_COLUMNS && is_wide
    }

    fn table(&self, widths: Vec<usize>, target: &mut Vec<u8>) {
        let names = self.columns.names.clone();
        let digits = self.cells.len().to_string().len();
        let frame =
            Table { kind: self.kind, names, widths, indent: " ".repeat(digits + 2), page: self };
        let mut text = String::new();
        frame.head(&mut text);
        for (row, cells) in self.cells.iter().enumerate() {
            if row > 0 && self.kind == Kind::Full {
                frame.rule(&mut text, ["\u{251c}", "\u{253c}", "\u{2524}"], "\u{2500}");
            }
            frame.row(&mut text, &format!("{:>digits$}. ", row + 1), cells, &self.tips[row]);
        }
        frame.foot(&mut text, self.cells.len() >= FOOTER_ROWS);
        if self.rows > self.cells.len() as u64 {
            text += &format!("Showed {} out of {} rows.\n", self.cells.len(), self.rows);
        }
        target.extend_from_slice(text.as_bytes());
    }
}

impl Cell {
    fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        Self { lines: text.split('\n').map(str::to_owned).collect() }
    }

    /// A line with what stands around it: arrows where the value goes on.
    fn line(&self, line: usize) -> (&'static str, &str, &'static str) {
        let text = self.lines.get(line).map_or("", String::as_str);
        let goes_on = line + 1 < self.lines.len();
        let has_begun = line > 0 && line < self.lines.len();
        (if has_begun { "\u{21b3}" } else { " " }, text, if goes_on { "\u{21b4}" } else { " " })
    }

    fn width(&self, prefix: usize) -> usize {
        self.lines.iter().map(|line| width_at(line, prefix)).max().unwrap_or_default()
    }
}

/// The width of a text that begins in some place of a line: tabs go to the next multiple of eight.
fn width_at(text: &str, prefix: usize) -> usize {
    const TAB: usize = 8;
    let mut end = prefix;
    for (index, piece) in text.split('\t').enumerate() {
        if index > 0 {
            end = (end / TAB + 1) * TAB;
        }
        end += piece.chars().map(character_width).sum::<usize>();
    }
    end - prefix
}

/// As ClickHouse counts: pictographs have the width of a letter, control characters none.
fn character_width(character: char) -> usize {
    match character {
        '\u{1f000}'..='\u{1faff}' => 1,
        other => other.width().unwrap_or(0),
    }
}

/// A table with its measures.
struct Table<'a> {
    kind: Kind,
    names: Vec<String>,
    widths: Vec<usize>,
    indent: String,
    page: &'a Page,
}

impl Table<'_> {
    fn head(&self, text: &mut String) {
        match self.kind {
            Kind::Full => {
                self.rule(text, ["\u{250f}", "\u{2533}", "\u{2513}"], "\u{2501}");
                self.named(text, ["\u{2503} ", " \u{2503} ", " \u{2503}\n"]);
                self.rule(text, ["\u{2521}", "\u{2547}", "\u{2529}"], "\u{2501}");
            }
            Kind::Compact => self.titled(
                text,
                ["\u{250c}\u{2500}", "\u{2500}\u{252c}\u{2500}", "\u{2500}\u{2510}\n"],
            ),
            _ => {
                self.named(text, [" ", "   ", "\n"]);
                text.push('\n');
            }
        }
    }

    fn foot(&self, text: &mut String, with_names: bool) {
        match (self.kind, with_names) {
            (Kind::Full, true) => {
                self.rule(text, ["\u{2522}", "\u{2548}", "\u{252a}"], "\u{2501}");
                self.named(text, ["\u{2503} ", " \u{2503} ", " \u{2503}\n"]);
                self.rule(text, ["\u{2517}", "\u{253b}", "\u{251b}"], "\u{2501}");
            }
            (Kind::Compact, true) => self.titled(
                text,
                ["\u{2514}\u{2500}", "\u{2500}\u{2534}\u{2500}", "\u{2500}\u{2518}\n"],
            ),
            (Kind::Space, true) => {
                text.push('\n');
                self.named(text, [" ", "   ", "\n"]);
            }
            (Kind::Space, false) => {}
            _ => self.rule(text, ["\u{2514}", "\u{2534}", "\u{2518}"], "\u{2500}"),
        }
    }

    fn rule(&self, text: &mut String, [left, between, right]: [&str; 3], line: &str) {
        let lines: Vec<String> = self.widths.iter().map(|width| line.repeat(width + 2)).collect();
        *text += &format!("{}{left}{}{right}\n", self.indent, lines.join(between));
    }

    /// The names between blanks.
    fn named(&self, text: &mut String, [left, between, right]: [&str; 3]) {
        let cells: Vec<String> =
            self.names.iter().enumerate().map(|(index, name)| self.padded(index, name)).collect();
        *text += &format!("{}{left}{}{right}", self.indent, cells.join(between));
    }

    /// The names in a line of the frame.
    fn titled(&self, text: &mut String, [left, between, right]: [&str; 3]) {
        let cells: Vec<String> = self
            .names
            .iter()
            .enumerate()
            .map(|(index, name)| {
                let width = width_at(name, self.prefix(index));
                let line = "\u{2500}".repeat(self.widths[index].saturating_sub(width));
                if self.page.columns.is_right(index) {
                    line + name
                } else {
                    format!("{name}{line}")
                }
            })
            .collect();
        *text += &format!("{}{left}{}{right}", self.indent, cells.join(between));
    }

    /// Where a column begins.
    fn prefix(&self, index: usize) -> usize {
        let before: usize = self.widths[..index].iter().map(|width| width + 3).sum();
        self.indent.len() + 2 + before
    }

    fn padded(&self, index: usize, cell: &str) -> String {
        let width = width_at(cell, self.prefix(index));
        let blanks = " ".repeat(self.widths[index].saturating_sub(width));
        if self.page.columns.is_right(index) { blanks + cell } else { format!("{cell}{blanks}") }
    }

    fn row(&self, text: &mut String, number: &str, cells: &[Cell], words: &str) {
        let (edge, between) =
            if self.kind == Kind::Space { ("", " ") } else { ("\u{2502}", "\u{2502}") };
        let height = cells.iter().map(|cell| cell.lines.len()).max().unwrap_or_default();
        for line in 0..height {
            let indent = if line == 0 { number } else { &self.indent };
            let pieces: Vec<String> = cells
                .iter()
                .enumerate()
                .map(|(index, cell)| {
                    let (before, text, after) = cell.line(line);
                    format!("{before}{}{after}", self.padded(index, text))
                })
                .collect();
            let words = if line == 0 { words } else { "" };
            *text += &format!("{indent}{edge}{}{edge}{words}\n", pieces.join(between));
        }
    }
}

impl Form for Page {
    fn rows(&mut self, batch: &RecordBatch, target: &mut Vec<u8>) -> Result<(), FileError> {
        if self.kind == Kind::Vertical { self.vertical(batch, target) } else { self.keep(batch) }
    }

    fn totals(&mut self, batch: &RecordBatch, target: &mut Vec<u8>) -> Result<(), FileError> {
        let mut page = Self::new(self.kind, Columns::of(&self.columns.schema));
        if self.kind != Kind::Vertical {
            page.keep(batch)?;
            self.totals = Some(Box::new(page));
            return Ok(());
        }
        let mut text = Vec::new();
        page.vertical(batch, &mut text)?;
        // Its title is another one.
        let lines = text.split(|byte| *byte == b'\n').skip(2).collect::<Vec<_>>();
        target.extend_from_slice(
            "\n\nTotals:\n\u{2500}\u{2500}\u{2500}\u{2500}\u{2500}\u{2500}\u{2500}\n".as_bytes(),
        );
        target.extend_from_slice(&lines.join(&b'\n'));
        Ok(())
    }

    fn tail(&mut self, _: &Effort, target: &mut Vec<u8>) -> Result<(), FileError> {
        self.end(target)?;
        if let Some(mut totals) = self.totals.take() {
            target.extend_from_slice(b"\nTotals:\n");
            totals.end(target)?;
        }
        Ok(())
    }
}

impl Page {
    /// The table.
    fn end(&mut self, target: &mut Vec<u8>) -> Result<(), FileError> {
        if self.kind != Kind::Vertical && !self.cells.is_empty() {
            let widths = self.widths();
            if !self.is_too_wide(&widths) {
                self.table(widths, target);
                return Ok(());
            }
            self.rows = 0;
            for batch in std::mem::take(&mut self.first) {
                self.vertical(&batch, target)?;
            }
        }
        Ok(())
    }
}
