//! SVG as text: the few shapes that charts are made of.

use crate::axis::Range;
use crate::tone::Tone;
use std::fmt::Write;

/// How wide a drawing is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// For a window on a desk.
    Wide,
    /// For a phone.
    Narrow,
    /// One of several side by side.
    Panel,
    /// One of several, two of them side by side on a phone.
    Tile,
}

impl Width {
    /// Units of the drawing, which are about pixels of the style sheet.
    pub(super) fn units(self) -> f64 {
        match self {
            Self::Wide => 860.0,
            Self::Narrow => 360.0,
            Self::Panel => 250.0,
            Self::Tile => 165.0,
        }
    }

    /// True where labels must save room.
    pub(super) fn is_small(self) -> bool {
        self != Self::Wide
    }
}

/// Where text stands from its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// A rectangle in units of the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Frame {
    /// Where a value of a horizontal axis is.
    pub(super) fn x(&self, range: &Range, value: f64) -> f64 {
        self.left + (self.right - self.left) * range.place(value)
    }

    /// Where a value of a vertical axis is.
    pub(super) fn y(&self, range: &Range, value: f64) -> f64 {
        self.bottom - (self.bottom - self.top) * range.place(value)
    }

    /// True if the two have a point in common.
    pub(super) fn touches(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// A drawing in the making. Writing to a string cannot go wrong, so results are not looked at.
#[derive(Debug)]
pub(super) struct Canvas {
    width: f64,
    height: f64,
    body: String,
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    /// The finished drawing; `label` is what it shows.
    pub(super) fn finish(self, label: &str) -> String {
        let Self { width, height, body } = self;
        format!(
            "<svg viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"{}\">{body}</svg>",
            escape(label)
        )
    }

    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }

    pub(super) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let _ = write!(
            self.body,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{}\">{}</text>",
            at.0,
            at.1,
            anchor.name(),
            escape(text)
        );
    }

    /// A bar that tells `hover`.
    pub(super) fn bar(&mut self, tone: Tone, frame: Frame, hover: &str) {
        let Frame { left, top, right, bottom } = frame;
        let _ = write!(
            self.body,
            "<rect class=\"bar {}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\">\
             <title>{}</title></rect>",
            tone.class(),
            (right - left).max(0.5),
            bottom - top,
            escape(hover)
        );
    }

    /// A cell that is the darker, the nearer `shade` is to 1.
    pub(super) fn cell(&mut self, shade: f64, frame: Frame, hover: &str) {
        let Frame { left, top, right, bottom } = frame;
        let _ = write!(
            self.body,
            "<rect class=\"cell\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" \
             fill-opacity=\"{:.2}\"><title>{}</title></rect>",
            (right - left).max(0.5),
            bottom - top,
            0.06 + 0.54 * shade.clamp(0.0, 1.0),
            escape(hover)
        );
    }

    /// A mark that tells `hover`. Tones differ in shape as well, for those who cannot tell the colours apart.
    pub(super) fn mark(&mut self, tone: Tone, at: (f64, f64), size: f64, hover: &str) {
        let (x, y) = at;
        let class = tone.class();
        let shape = match tone {
            Tone::Reference | Tone::Quiet => {
                format!(
                    "<circle class=\"mark {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\"/>",
                    size * 0.85
                )
            }
            Tone::First => {
                format!(
                    "<circle class=\"mark {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size:.1}\"/>"
                )
            }
            Tone::Second => format!(
                "<path class=\"mark {class}\" d=\"M{x:.1} {:.1}l{size:.1} {size:.1}l-{size:.1} {size:.1}l-{size:.1} -{size:.1}z\"/>",
                y - size
            ),
            Tone::Third => format!(
                "<path class=\"mark {class}\" d=\"M{x:.1} {:.1}l{size:.1} {:.1}h-{:.1}z\"/>",
                y - size,
                size * 1.8,
                size * 2.0
            ),
        };
        // The circle that nobody sees is easier to hit than the mark.
        let _ = write!(
            self.body,
            "<g>{shape}<circle class=\"hit\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\"/><title>{}</title></g>",
            size + 5.0,
            escape(hover)
        );
    }

    /// A line through points.
    pub(super) fn path(&mut self, class: &str, points: &[(f64, f64)]) {
        let text: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = write!(self.body, "<polyline class=\"{class}\" points=\"{}\"/>", text.join(" "));
    }

    /// Vertical lines of a horizontal axis, with their numbers below the frame and the axis' name below them.
    pub(super) fn horizontal_axis(&mut self, frame: &Frame, range: &Range, label: &str) {
        for &tick in &range.ticks {
            let x = frame.x(range, tick);
            self.line("grid", (x, frame.top), (x, frame.bottom));
            let text = range.text(tick);
            self.text("tick", (x, frame.bottom + 16.0), Anchor::Middle, &text);
        }
        let middle = f64::midpoint(frame.left, frame.right);
        self.text("axis", (middle, frame.bottom + 34.0), Anchor::Middle, label);
    }

    /// Horizontal lines of a vertical axis, with their numbers left of the frame and the axis' name above it.
    pub(super) fn vertical_axis(&mut self, frame: &Frame, range: &Range, label: &str) {
        for &tick in &range.ticks {
            let y = frame.y(range, tick);
            self.line("grid", (frame.left, y), (frame.right, y));
            let text = range.text(tick);
            self.text("tick", (frame.left - 7.0, y + 4.0), Anchor::End, &text);
        }
        self.text("axis", (4.0, frame.top - 12.0), Anchor::Start, label);
    }
}

/// About how many units a text of the ordinary size takes.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 6.7
}

/// Text that cannot be taken for markup.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            _ => escaped.push(character),
        }
    }
    escaped
}
