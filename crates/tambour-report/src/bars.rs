//! One bar per thing, lying, from a common base; the value stands at its end.

use crate::Scale;
use crate::axis::{Axis, Range};
use crate::canvas::{Anchor, Canvas, Frame, Width, text_width};
use crate::page::Chart;
use crate::tone::Tone;

/// A bar chart.
#[derive(Clone, Debug)]
pub struct Bars {
    /// The axis of values.
    pub axis: Axis,
    /// A line at this value, with what it stands for.
    pub line: Option<(f64, String)>,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// Name of the thing.
    pub label: String,
    /// Its value.
    pub value: f64,
    /// The value as text.
    pub text: String,
    /// What hovering tells.
    pub hover: String,
    /// Its colour.
    pub tone: Tone,
}

impl Bars {
    /// A chart of bars that begin at zero, in some unit.
    pub fn linear(unit: &str, bars: Vec<Bar>) -> Chart {
        Chart::Bars(Self { axis: Axis::linear(unit), line: None, bars })
    }

    pub(super) fn draw(&self, width: Width, label: &str) -> String {
        let small = width.is_small();
        let line = self.line.as_ref().map(|(value, _)| *value);
        // Bars of a logarithmic axis start at the line, others at zero.
        let base = match self.axis.scale {
            Scale::Linear => 0.0,
            Scale::Log => line.unwrap_or(1.0),
        };
        let values = self.bars.iter().map(|bar| bar.value).chain(line).chain([base]);
        let range = Range::over(&self.axis, values, if small { 4 } else { 8 });
        let row = if small { 40.0 } else { 26.0 };
        let longest = self.bars.iter().map(|bar| text_width(&bar.label)).fold(0.0, f64::max);
        let frame = Frame {
            left: if small { 8.0 } else { longest.min(300.0) + 14.0 },
            top: if self.line.is_some() { 24.0 } else { 8.0 },
            right: width.units() - 52.0,
            bottom: 28.0 + row * self.bars.len() as f64,
        };
        let mut canvas = Canvas::new(width.units(), frame.bottom + 42.0);
        canvas.horizontal_axis(&frame, &range, &self.axis.label);
        for (index, bar) in self.bars.iter().enumerate() {
            let top = frame.top + 2.0 + row * index as f64 + if small { 18.0 } else { 4.0 };
            let middle = top + 8.0;
            let (from, to) = (frame.x(&range, base), frame.x(&range, bar.value));
            let (left, right) = (from.min(to), from.max(to));
            canvas.bar(bar.tone, Frame { left, top, right, bottom: top + 16.0 }, &bar.hover);
            canvas.text("value", (right + 6.0, middle + 4.0), Anchor::Start, &bar.text);
            if small {
                canvas.text("label", (frame.left, top - 5.0), Anchor::Start, &bar.label);
            } else {
                canvas.text("label", (frame.left - 10.0, middle + 4.0), Anchor::End, &bar.label);
            }
        }
        if let Some((value, text)) = &self.line {
            let x = frame.x(&range, *value);
            canvas.line("rule", (x, frame.top - 6.0), (x, frame.bottom));
            canvas.text("note", (x, frame.top - 11.0), Anchor::Middle, text);
        }
        canvas.finish(label)
    }
}
