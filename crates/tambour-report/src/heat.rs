//! A field of cells: rows and columns with names, a value in each, the darker the more.

use crate::axis::number;
use crate::canvas::{Anchor, Canvas, Frame, Width, text_width};

/// A value, and what hovering tells.
pub type Cell = (f64, String);

/// A heat map.
#[derive(Clone, Debug)]
pub struct Heat {
    /// Names above the columns.
    pub columns: Vec<String>,
    /// From top to bottom: name, and a value and what hovering tells for each column. `None` for what was not measured.
    pub rows: Vec<(String, Vec<Option<Cell>>)>,
    /// What stands after the values, such as `x`.
    pub suffix: &'static str,
}

impl Heat {
    pub(super) fn draw(&self, width: Width, label: &str) -> String {
        let small = width.is_small();
        let values = self.rows.iter().flat_map(|row| &row.1).flatten().map(|cell| cell.0);
        let usable: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
        let low = usable.iter().copied().fold(f64::INFINITY, f64::min);
        let high = usable.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let shade = |value: f64| {
            if low < high { (value / low).ln() / (high / low).ln() } else { 0.5 }
        };
        let longest = self.rows.iter().map(|row| text_width(&row.0)).fold(0.0, f64::max);
        let left = if small { 0.0 } else { longest.min(260.0) + 14.0 };
        let cell = (width.units() - left) / self.columns.len().max(1) as f64;
        let (height, name) = if small { (24.0, 16.0) } else { (28.0, 0.0) };
        let mut canvas =
            Canvas::new(width.units(), 24.0 + (height + name) * self.rows.len() as f64 + 4.0);
        for (index, column) in self.columns.iter().enumerate() {
            let middle = left + cell * (index as f64 + 0.5);
            canvas.text("tick", (middle, 14.0), Anchor::Middle, column);
        }
        for (index, (row, cells)) in self.rows.iter().enumerate() {
            let top = 22.0 + (height + name) * index as f64 + name;
            let place = if small { (0.0, top - 4.0) } else { (left - 10.0, top + 18.0) };
            canvas.text("label", place, if small { Anchor::Start } else { Anchor::End }, row);
            for (index, found) in cells.iter().enumerate() {
                let Some((value, hover)) = found else { continue };
                let start = left + cell * index as f64;
                let frame = Frame {
                    left: start + 1.0,
                    top,
                    right: start + cell - 1.0,
                    bottom: top + height - 2.0,
                };
                canvas.cell(shade(*value), frame, hover);
                let text = format!("{}{}", number(*value), self.suffix);
                let middle = (start + cell / 2.0, top + height / 2.0 + 3.5);
                canvas.text("value", middle, Anchor::Middle, &text);
            }
        }
        canvas.finish(label)
    }
}
