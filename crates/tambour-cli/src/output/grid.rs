//! Rows and columns of text, aligned: plain for reports, in a frame for query results.

use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Narrowest width to which a text column is cut.
const CUT_MIN: usize = 8;

/// Lines around the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    /// None: columns are two spaces apart.
    Plain,
    /// Box-drawing lines.
    Lines,
}

/// A column's name and side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    /// What stands above it.
    pub(crate) name: String,
    /// Numbers stand to the right.
    pub(crate) right: bool,
}

impl Heading {
    /// A column of text.
    pub(crate) fn text(name: &str) -> Self {
        Self { name: name.to_owned(), right: false }
    }

    /// A column of numbers.
    pub(crate) fn number(name: &str) -> Self {
        Self { name: name.to_owned(), right: true }
    }
}

/// A grid of cells.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    headings: Vec<Heading>,
    rows: Vec<Vec<String>>,
}

impl Grid {
    /// A grid without rows.
    pub(crate) fn new(headings: Vec<Heading>) -> Self {
        let headings = headings
            .into_iter()
            .map(|heading| Heading { name: printable(&heading.name), ..heading })
            .collect();
        Self { headings, rows: Vec::new() }
    }

    /// Adds a row; control characters are shown as escapes, so that data cannot steer the terminal.
    pub(crate) fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| printable(&cell)).collect());
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if there are no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Widths of the columns: as the cells need, or, where `limit` columns are all there is, with the widest text columns
    /// cut. `None` if even that is too wide.
    pub(crate) fn widths(&self, frame: Frame, limit: Option<usize>) -> Option<Vec<usize>> {
        let mut widths: Vec<usize> =
            self.headings.iter().map(|heading| heading.name.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        let Some(limit) = limit else { return Some(widths) };
        let space = limit.saturating_sub(frame.overhead(widths.len()));
        // The widest are cut down together, at most to the next widest, so that columns lose about equally.
        loop {
            let excess = widths.iter().sum::<usize>().saturating_sub(space);
            if excess == 0 {
                break;
            }
            let is_text = |index: usize| self.headings.get(index).is_some_and(|it| !it.right);
            let texts = widths.iter().enumerate().filter(|(index, _)| is_text(*index));
            let texts: Vec<usize> = texts.map(|(_, width)| *width).collect();
            let widest = texts.iter().copied().max().filter(|width| *width > CUT_MIN)?;
            let equal = texts.iter().filter(|width| **width == widest).count();
            let next = texts.iter().copied().filter(|width| *width < widest).max().unwrap_or(0);
            // What is left over when it cannot be shared is taken from the first of them.
            let share = (excess / equal).max(1);
            let cut = (widest - share.min(widest)).max(next).max(CUT_MIN);
            let mut open = excess;
            for (index, width) in widths.iter_mut().enumerate() {
                if is_text(index) && *width == widest && open > 0 {
                    open = open.saturating_sub(*width - cut);
                    *width = cut;
                }
            }
        }
        Some(widths)
    }

    /// Prints everything, cells cut to `widths`. `gap` is the index of the row before which rows were left out.
    pub(crate) fn write(
        &self,
        target: &mut dyn Write,
        frame: Frame,
        widths: &[usize],
        gap: Option<usize>,
    ) -> io::Result<()> {
        let names: Vec<&str> = self.headings.iter().map(|heading| heading.name.as_str()).collect();
        frame.line(target, widths, Line::Top)?;
        self.write_row(target, frame, widths, &names)?;
        frame.line(target, widths, Line::Middle)?;
        for (index, row) in self.rows.iter().enumerate() {
            if gap == Some(index) {
                let dots = vec!["\u{2026}"; widths.len()];
                self.write_row(target, frame, widths, &dots)?;
            }
            self.write_row(target, frame, widths, row)?;
        }
        frame.line(target, widths, Line::Bottom)
    }

    fn write_row<S: AsRef<str>>(
        &self,
        target: &mut dyn Write,
        frame: Frame,
        widths: &[usize],
        cells: &[S],
    ) -> io::Result<()> {
        let mut line = String::new();
        let columns = widths.iter().zip(&self.headings).zip(cells);
        for (index, ((&width, heading), cell)) in columns.enumerate() {
            line.push_str(match (frame, index) {
                (Frame::Plain, 0) => "",
                (Frame::Plain, _) => "  ",
                (Frame::Lines, 0) => "\u{2502} ",
                (Frame::Lines, _) => " \u{2502} ",
            });
            let cell = cut(cell.as_ref(), width);
            let padding = width.saturating_sub(cell.width());
            if heading.right {
                line.extend(std::iter::repeat_n(' ', padding));
                line.push_str(&cell);
            } else {
                line.push_str(&cell);
                line.extend(std::iter::repeat_n(' ', padding));
            }
        }
        if frame == Frame::Lines {
            line.push_str(" \u{2502}");
        }
        writeln!(target, "{}", line.trim_end())
    }

    /// Prints every row as lines of name and value, for rows too wide for a line.
    pub(crate) fn write_vertical(
        &self,
        target: &mut dyn Write,
        numbers: impl Fn(usize) -> u64,
        limit: Option<usize>,
    ) -> io::Result<()> {
        let names = self.headings.iter().map(|heading| heading.name.width()).max().unwrap_or(0);
        for (index, row) in self.rows.iter().enumerate() {
            writeln!(target, "Row {}:", numbers(index))?;
            for (heading, cell) in self.headings.iter().zip(row) {
                let padding = " ".repeat(names - heading.name.width());
                let space =
                    limit.map_or(usize::MAX, |limit| limit.saturating_sub(names + 2).max(CUT_MIN));
                writeln!(target, "{}:{padding} {}", heading.name, cut(cell, space))?;
            }
            writeln!(target)?;
        }
        Ok(())
    }
}

/// The lines of a frame.
#[derive(Clone, Copy, Debug)]
enum Line {
    Top,
    Middle,
    Bottom,
}

impl Frame {
    /// Columns of the terminal that are not for cells.
    fn overhead(self, columns: usize) -> usize {
        match self {
            Self::Plain => columns.saturating_sub(1) * 2,
            Self::Lines => columns * 3 + 1,
        }
    }

    fn line(self, target: &mut dyn Write, widths: &[usize], line: Line) -> io::Result<()> {
        if self == Self::Plain {
            return Ok(());
        }
        let (left, middle, right) = match line {
            Line::Top => ("\u{250c}", "\u{252c}", "\u{2510}"),
            Line::Middle => ("\u{251c}", "\u{253c}", "\u{2524}"),
            Line::Bottom => ("\u{2514}", "\u{2534}", "\u{2518}"),
        };
        let cells: Vec<String> = widths.iter().map(|width| "\u{2500}".repeat(width + 2)).collect();
        writeln!(target, "{left}{}{right}", cells.join(middle))
    }
}

/// At most `width` columns of a text, with an ellipsis if something is missing.
fn cut(text: &str, width: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= width || text.width() <= width {
        return text.into();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    kept.push('\u{2026}');
    kept.into()
}

/// The text with control characters as escapes.
fn printable(text: &str) -> String {
    if !text.contains(|c: char| c.is_control()) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let mut grid = Grid::new(vec![Heading::text("name"), Heading::number("size")]);
        grid.push(["a quite long name of a column".to_owned(), "12,345".to_owned()]);
        grid.push(["\u{65e5}\u{672c}\u{1b}[31m".to_owned(), "7".to_owned()]);
        grid
    }

    fn text(grid: &Grid, frame: Frame, limit: Option<usize>) -> String {
        let widths = grid.widths(frame, limit).unwrap();
        let mut target = Vec::new();
        grid.write(&mut target, frame, &widths, None).unwrap();
        String::from_utf8(target).unwrap()
    }

    #[test]
    fn plain_and_framed() {
        assert_eq!(
            text(&grid(), Frame::Plain, None),
            "name                             size\n\
             a quite long name of a column  12,345\n\
             \u{65e5}\u{672c}\\u{1b}[31m                      7\n"
        );
        let framed = text(&grid(), Frame::Lines, Some(30));
        let widths: Vec<usize> = framed.lines().map(UnicodeWidthStr::width).collect();
        assert_eq!(widths, [30; 6], "{framed}");
        assert!(framed.contains("a quite long nam\u{2026}"), "{framed}");
    }

    #[test]
    fn numbers_are_never_cut() {
        assert_eq!(grid().widths(Frame::Lines, Some(12)), None);
        assert_eq!(grid().widths(Frame::Plain, Some(16)), Some(vec![8, 6]));
    }

    #[test]
    fn columns_lose_equally() {
        let mut grid = Grid::new(vec![Heading::text("a"), Heading::text("b"), Heading::text("c")]);
        grid.push(["x".repeat(50), "y".repeat(40), "z".repeat(10)]);
        let widths = grid.widths(Frame::Plain, Some(64)).unwrap();
        assert_eq!(widths.iter().sum::<usize>(), 60);
        assert_eq!(widths[2], 10);
        assert!(widths[0].abs_diff(widths[1]) <= 1, "{widths:?}");
    }
}
