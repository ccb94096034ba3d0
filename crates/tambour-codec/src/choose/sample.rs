//! Samples of a block, which candidates are ranked by.

use crate::codec::Element;
use tambour_kernel::column::Width;
use tambour_kernel::column::stats::Stats;

/// Pieces of a sample, spread over the block ...
const PIECES: usize = 4;
/// ... and bytes of each.
const PIECE_BYTES: usize = 4 << 10;
/// A sample of texts has larger pieces: matches are farther away.
const TEXT_PIECE_BYTES: usize = 32 << 10;
/// Pieces start at multiples of this many bytes: 64 values.
const ALIGNMENT: usize = 512;

/// Puts a sample of `source` into `target`, or all of it if it is small. The least and the greatest value are in every
/// sample, so that ranges are those of the block.
pub(super) fn sample(source: &[u8], element: Element, stats: Option<&Stats>, target: &mut Vec<u8>) {
    target.clear();
    let piece = if stats.is_some() { PIECE_BYTES } else { TEXT_PIECE_BYTES };
    if source.len() <= 2 * PIECES * piece {
        target.extend_from_slice(source);
        return;
    }
    for index in 0..PIECES {
        let middle = (2 * index + 1) * source.len() / (2 * PIECES);
        let start = (middle - piece / 2) / ALIGNMENT * ALIGNMENT;
        target.extend_from_slice(&source[start..start + piece]);
    }
    for value in stats.map_or([0; 4], |stats| stats.extremes).iter().filter(|_| stats.is_some()) {
        target.extend_from_slice(&value.to_le_bytes()[..usize::from(element.width.min(8))]);
    }
}

/// The statistics of a block of values of a machine word.
pub(super) fn stats(source: &[u8], element: Element) -> Option<Stats> {
    use crate::codec::Class;
    let is_known = matches!(element.class, Class::Unsigned | Class::Signed | Class::Float);
    let width = Width::new(element.width).filter(|_| is_known)?;
    Some(Stats::of(width, source))
}
