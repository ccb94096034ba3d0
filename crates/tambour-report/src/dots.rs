//! Several marks per thing on one axis: rows of dots, with a line from the lowest to the highest.

use crate::axis::{Axis, Range};
use crate::canvas::{Anchor, Canvas, Frame, Width, text_width};
use crate::tone::Tone;

/// A dot plot.
#[derive(Clone, Debug)]
pub struct Dots {
    /// The axis of values.
    pub axis: Axis,
    /// A line at this value, with what it stands for.
    pub line: Option<(f64, String)>,
    /// From top to bottom.
    pub rows: Vec<Row>,
}

/// A thing and its values.
#[derive(Clone, Debug)]
pub struct Row {
    /// Name of the thing.
    pub label: String,
    /// Tone, value and what hovering tells; the last is drawn on top.
    pub marks: Vec<(Tone, f64, String)>,
}

impl Dots {
    pub(super) fn draw(&self, width: Width, label: &str) -> String {
        let small = width.is_small();
        let line = self.line.as_ref().map(|(value, _)| *value);
        let marks = self.rows.iter().flat_map(|row| &row.marks).map(|(_, value, _)| *value);
        let range = Range::over(&self.axis, marks.chain(line), if small { 4 } else { 9 });
        let height = if small { 36.0 } else { 22.0 };
        let longest = self.rows.iter().map(|row| text_width(&row.label)).fold(0.0, f64::max);
        let top = if self.line.is_some() { 26.0 } else { 10.0 };
        let frame = Frame {
            left: if small { 14.0 } else { longest.min(300.0) + 20.0 },
            top,
            right: width.units() - 20.0,
            bottom: top + 4.0 + height * self.rows.len() as f64,
        };
        let mut canvas = Canvas::new(width.units(), frame.bottom + 42.0);
        canvas.horizontal_axis(&frame, &range, &self.axis.label);
        if let Some((value, text)) = &self.line {
            let x = frame.x(&range, *value);
            canvas.line("rule", (x, frame.top - 6.0), (x, frame.bottom));
            canvas.text("note", (x, frame.top - 11.0), Anchor::Middle, text);
        }
        for (index, row) in self.rows.iter().enumerate() {
            let start = frame.top + height * index as f64;
            let middle = start + if small { 25.0 } else { 13.0 };
            if small {
                canvas.text("label", (frame.left - 6.0, start + 14.0), Anchor::Start, &row.label);
            } else {
                canvas.text("label", (frame.left - 12.0, middle + 4.0), Anchor::End, &row.label);
            }
            let places = row
                .marks
                .iter()
                .map(|(_, value, _)| frame.x(&range, *value))
                .chain(self.line.as_ref().map(|(value, _)| frame.x(&range, *value)));
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for place in places {
                low = low.min(place);
                high = high.max(place);
            }
            if low < high {
                canvas.line("stem", (low, middle), (high, middle));
            }
            for (tone, value, hover) in &row.marks {
                canvas.mark(*tone, (frame.x(&range, *value), middle), 5.0, hover);
            }
        }
        canvas.finish(label)
    }
}
