//! Marks in a plane. The frontier joins those which no other mark beats on both axes.

use crate::axis::{Axis, Range};
use crate::canvas::{Anchor, Canvas, Frame, Width, text_width};
use crate::tone::Tone;

/// A scatter plot.
#[derive(Clone, Debug)]
pub struct Scatter {
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Draw the frontier; more is better on both axes.
    pub frontier: bool,
    /// Points that the axes make room for, so that panels have the same ones.
    pub room: Vec<(f64, f64)>,
    /// The marks; the last is drawn on top.
    pub marks: Vec<Mark>,
}

/// A mark.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Where it is.
    pub x: f64,
    /// Where it is.
    pub y: f64,
    /// What stands beside it; may be empty.
    pub label: String,
    /// What hovering tells.
    pub hover: String,
    /// Its colour.
    pub tone: Tone,
}

impl Scatter {
    pub(super) fn draw(&self, width: Width, label: &str) -> String {
        let small = width.is_small();
        let (across, up, bottom) = match width {
            Width::Wide => (9, 7, 420.0),
            Width::Narrow => (4, 6, 340.0),
            Width::Panel => (3, 5, 190.0),
            Width::Tile => (3, 4, 160.0),
        };
        let points =
            self.marks.iter().map(|mark| (mark.x, mark.y)).chain(self.room.iter().copied());
        let points: Vec<(f64, f64)> = points.collect();
        let x = Range::over(&self.x, points.iter().map(|point| point.0), across);
        let y = Range::over(&self.y, points.iter().map(|point| point.1), up);
        let right = width.units() - if small { 14.0 } else { 24.0 };
        let left = if width == Width::Tile { 28.0 } else { 44.0 };
        let frame = Frame { left, top: 34.0, right, bottom };
        let mut canvas = Canvas::new(width.units(), frame.bottom + 42.0);
        canvas.horizontal_axis(&frame, &x, &self.x.label);
        canvas.vertical_axis(&frame, &y, &self.y.label);
        if self.frontier {
            let best = frontier(&self.marks);
            let place = |mark: &&Mark| (frame.x(&x, mark.x), frame.y(&y, mark.y));
            canvas.path("frontier", &best.iter().map(place).collect::<Vec<_>>());
        }
        let size = match width {
            Width::Wide | Width::Narrow => 5.0,
            Width::Panel | Width::Tile => 3.0,
        };
        let mut taken = Vec::new();
        for mark in &self.marks {
            let at = (frame.x(&x, mark.x), frame.y(&y, mark.y));
            canvas.mark(mark.tone, at, size, &mark.hover);
            taken.push(around(at, size + 1.0));
        }
        // What matters more chooses its place first.
        for mark in self.marks.iter().rev().filter(|mark| !mark.label.is_empty()) {
            let at = (frame.x(&x, mark.x), frame.y(&y, mark.y));
            if let Some((place, anchor, area)) = free_place(at, &mark.label, &taken, &frame) {
                let class = format!("label {}", mark.tone.class());
                canvas.text(&class, place, anchor, &mark.label);
                taken.push(area);
            }
        }
        canvas.finish(label)
    }
}

/// The marks that no other beats on both axes, from left to right.
pub(crate) fn frontier(marks: &[Mark]) -> Vec<&Mark> {
    let mut sorted: Vec<&Mark> = marks.iter().collect();
    sorted.sort_by(|one, other| other.x.total_cmp(&one.x).then(other.y.total_cmp(&one.y)));
    let mut best = f64::NEG_INFINITY;
    sorted.retain(|mark| {
        let is_best = mark.y > best;
        best = best.max(mark.y);
        is_best
    });
    sorted.reverse();
    sorted
}

fn around((x, y): (f64, f64), size: f64) -> Frame {
    Frame { left: x - size, top: y - size, right: x + size, bottom: y + size }
}

/// The first place near a mark where its label touches nothing; `None` if there is none, and hovering must do.
fn free_place(
    (x, y): (f64, f64),
    label: &str,
    taken: &[Frame],
    frame: &Frame,
) -> Option<((f64, f64), Anchor, Frame)> {
    let length = text_width(label);
    let places = [
        (x + 9.0, y + 4.0, Anchor::Start),
        (x - 9.0, y + 4.0, Anchor::End),
        (x, y - 10.0, Anchor::Middle),
        (x, y + 19.0, Anchor::Middle),
        (x + 7.0, y - 8.0, Anchor::Start),
        (x - 7.0, y - 8.0, Anchor::End),
        (x + 7.0, y + 17.0, Anchor::Start),
        (x - 7.0, y + 17.0, Anchor::End),
        (x + 7.0, y - 22.0, Anchor::Start),
        (x - 7.0, y + 30.0, Anchor::End),
    ];
    places.into_iter().find_map(|(x, y, anchor)| {
        let left = match anchor {
            Anchor::Start => x,
            Anchor::Middle => x - length / 2.0,
            Anchor::End => x - length,
        };
        let area = Frame { left, top: y - 11.0, right: left + length, bottom: y + 3.0 };
        let inside = area.left >= frame.left - 2.0
            && area.right <= frame.right + 12.0
            && area.top >= frame.top - 8.0
            && area.bottom <= frame.bottom;
        let free = inside && !taken.iter().any(|other| area.touches(other));
        free.then_some(((x, y), anchor, area))
    })
}

#[cfg(test)]
mod tests {
    use super::{Mark, frontier};
    use crate::tone::Tone;

    #[test]
    fn the_frontier_has_what_nothing_beats() {
        let points = [(1.0, 9.0), (2.0, 5.0), (2.0, 4.0), (3.0, 5.0), (1.5, 5.0), (4.0, 1.0)];
        let mark =
            |(x, y)| Mark { x, y, label: String::new(), hover: String::new(), tone: Tone::Quiet };
        let marks = points.map(mark);
        let found: Vec<(f64, f64)> = frontier(&marks).iter().map(|it| (it.x, it.y)).collect();
        assert_eq!(found, [(1.0, 9.0), (3.0, 5.0), (4.0, 1.0)]);
    }
}
