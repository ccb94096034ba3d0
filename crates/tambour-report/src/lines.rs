//! Courses: lines over a horizontal axis, named at their ends where there is room; give the figure a legend for phones.

use crate::axis::{Axis, Range};
use crate::canvas::{Anchor, Canvas, Frame, Width, text_width};
use crate::tone::Tone;

/// A line chart.
#[derive(Clone, Debug)]
pub struct Lines {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// A line at this height, with what it stands for.
    pub line: Option<(f64, String)>,
    /// The courses.
    pub lines: Vec<Line>,
}

/// A course.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// Its colour.
    pub tone: Tone,
    /// From left to right: x, y and what hovering tells.
    pub points: Vec<(f64, f64, String)>,
}

impl Lines {
    pub(super) fn draw(&self, width: Width, label: &str) -> String {
        let small = width.is_small();
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let x = Range::over(&self.x, points().map(|point| point.0), if small { 4 } else { 8 });
        let rule = self.line.as_ref().map(|(value, _)| *value);
        let y = Range::over(&self.y, points().map(|point| point.1).chain(rule), 6);
        let longest = self.lines.iter().map(|line| text_width(&line.label)).fold(0.0, f64::max);
        let frame = Frame {
            left: 52.0,
            top: 34.0,
            right: width.units() - if small { 16.0 } else { longest + 22.0 },
            bottom: if small { 280.0 } else { 340.0 },
        };
        let mut canvas = Canvas::new(width.units(), frame.bottom + 42.0);
        canvas.horizontal_axis(&frame, &x, &self.x.label);
        canvas.vertical_axis(&frame, &y, &self.y.label);
        if let Some((value, text)) = &self.line {
            let height = frame.y(&y, *value);
            canvas.line("rule", (frame.left, height), (frame.right, height));
            canvas.text("note", (frame.right - 4.0, height - 5.0), Anchor::End, text);
        }
        let mut ends = Vec::new();
        for line in &self.lines {
            let place = |point: &(f64, f64, String)| (frame.x(&x, point.0), frame.y(&y, point.1));
            let places: Vec<(f64, f64)> = line.points.iter().map(place).collect();
            canvas.path(&format!("course {}", line.tone.class()), &places);
            for (point, &place) in line.points.iter().zip(&places) {
                canvas.mark(line.tone, place, 4.0, &point.2);
            }
            ends.extend(places.last().map(|&end| (end, line)));
        }
        if !small {
            name_ends(&mut canvas, ends);
        }
        canvas.finish(label)
    }
}

/// Names lines at their ends, from the highest down; each name as much lower as it takes to keep clear of the one above.
fn name_ends(canvas: &mut Canvas, mut ends: Vec<((f64, f64), &Line)>) {
    ends.sort_by(|one, other| one.0.1.total_cmp(&other.0.1));
    let mut free = f64::NEG_INFINITY;
    for ((end, height), line) in ends {
        let height = free.max(height + 4.0);
        free = height + 15.0;
        let class = format!("label {}", line.tone.class());
        canvas.text(&class, (end + 10.0, height), Anchor::Start, &line.label);
    }
}
