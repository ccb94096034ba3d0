//! Areas in proportion to values, packed into one rectangle: what takes how much of the whole.

use crate::canvas::{Anchor, Canvas, Frame, Width, text_width};
use crate::tone::Tone;

/// Space between tiles.
const GAP: f64 = 2.0;
/// A tile that is lower has no room for a label.
const LABEL_HEIGHT: f64 = 22.0;

/// A treemap.
#[derive(Clone, Debug)]
pub struct Treemap {
    /// The tiles, in any order.
    pub tiles: Vec<Tile>,
}

/// One thing and its share.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Its name.
    pub label: String,
    /// Its value; what is not positive takes no room.
    pub value: f64,
    /// What hovering tells.
    pub hover: String,
    /// Its colour.
    pub tone: Tone,
}

impl Treemap {
    pub(super) fn draw(&self, width: Width, label: &str) -> String {
        let height = if width.is_small() { 420.0 } else { 360.0 };
        let mut canvas = Canvas::new(width.units(), height);
        let mut tiles: Vec<&Tile> = self.tiles.iter().filter(|tile| tile.value > 0.0).collect();
        tiles.sort_by(|a, b| b.value.total_cmp(&a.value));
        let values: Vec<f64> = tiles.iter().map(|tile| tile.value).collect();
        let frame = Frame { left: 4.0, top: 4.0, right: width.units() - 4.0, bottom: height - 4.0 };
        for (tile, area) in tiles.iter().zip(pack(&values, frame)) {
            let Frame { left, top, right, bottom } = area;
            let inner = Frame {
                left,
                top,
                right: (right - GAP).max(left + 0.5),
                bottom: (bottom - GAP).max(top + 0.5),
            };
            canvas.bar(tile.tone, inner, &tile.hover);
            let fits = inner.right - inner.left > text_width(&tile.label) + 12.0;
            if fits && inner.bottom - inner.top > LABEL_HEIGHT {
                canvas.text("label", (left + 6.0, top + 16.0), Anchor::Start, &tile.label);
            }
        }
        canvas.finish(label)
    }
}

/// Areas for values in falling order, near to squares: rows are filled along the shorter side as long as that makes the
/// worst of their tiles less narrow.
fn pack(values: &[f64], frame: Frame) -> Vec<Frame> {
    let mut free = frame;
    let mut left: f64 = values.iter().sum();
    let mut areas = Vec::with_capacity(values.len());
    let mut rest = values;
    while !rest.is_empty() {
        let (wide, high) = (free.right - free.left, free.bottom - free.top);
        let (long, short) = (wide.max(high), wide.min(high));
        let scale = if left > 0.0 { long * short / left } else { 0.0 };
        let mut count = 1;
        while count < rest.len()
            && worst(&rest[..=count], scale, short) <= worst(&rest[..count], scale, short)
        {
            count += 1;
        }
        let (row, after) = rest.split_at(count);
        let sum: f64 = row.iter().sum();
        let depth = if short > 0.0 { sum * scale / short } else { 0.0 };
        let mut at = 0.0;
        for value in row {
            let length = if sum > 0.0 { short * value / sum } else { 0.0 };
            areas.push(if wide >= high {
                Frame {
                    left: free.left,
                    top: free.top + at,
                    right: free.left + depth,
                    bottom: free.top + at + length,
                }
            } else {
                Frame {
                    left: free.left + at,
                    top: free.top,
                    right: free.left + at + length,
                    bottom: free.top + depth,
                }
            });
            at += length;
        }
        if wide >= high {
            free.left += depth;
        } else {
            free.top += depth;
        }
        left -= sum;
        rest = after;
    }
    areas
}

/// How far the narrowest tile of a row is from a square.
fn worst(row: &[f64], scale: f64, short: f64) -> f64 {
    let sum: f64 = row.iter().sum::<f64>() * scale;
    let ratio = |value: &f64| {
        let area = value * scale;
        let (one, other) = (short * short * area / (sum * sum), sum * sum / (short * short * area));
        one.max(other)
    };
    row.iter().map(ratio).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::{Frame, pack};

    #[test]
    fn areas_are_in_proportion_and_do_not_overlap() {
        let frame = Frame { left: 10.0, top: 20.0, right: 610.0, bottom: 320.0 };
        let values = [50.0, 20.0, 10.0, 10.0, 5.0, 3.0, 1.0, 1.0];
        let areas = pack(&values, frame);
        let size = |area: &Frame| (area.right - area.left) * (area.bottom - area.top);
        for (value, area) in values.iter().zip(&areas) {
            assert!((size(area) - value * 1800.0).abs() < 1.0, "{value}: {area:?}");
            assert!(
                area.left >= 9.9 && area.right <= 610.1 && area.top >= 19.9 && area.bottom <= 320.1
            );
        }
        for (index, one) in areas.iter().enumerate() {
            for other in &areas[index + 1..] {
                let wide = one.right.min(other.right) - one.left.max(other.left);
                let high = one.bottom.min(other.bottom) - one.top.max(other.top);
                assert!(wide < 0.01 || high < 0.01, "{one:?} over {other:?}");
            }
        }
        assert!(pack(&[], frame).is_empty());
    }
}
