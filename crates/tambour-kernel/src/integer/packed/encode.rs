//! Choosing widths and exceptions, and packing.

use super::header::{self, Kind};
use super::{Layout, Series, bits, plain};
use crate::integer::stream_vbyte;

/// Encodes blocks of the layout.
pub(super) fn encode(
    source: &[u32],
    target: &mut [u8],
    layout: Layout,
    series: Series,
) -> Option<usize> {
    let block_values = match layout {
        Layout::Plain => plain::BLOCK,
        Layout::Patched | Layout::Listed => header::BLOCK,
    };
    let (mut at, mut before) = (0, 0);
    let mut room = [0; header::BLOCK];
    for block in source.chunks(block_values) {
        let block = match series {
            Series::Values => block,
            Series::Differences => {
                for (difference, &value) in room.iter_mut().zip(block) {
                    *difference = value.wrapping_sub(before);
                    before = value;
                }
                &room[..block.len()]
            }
        };
        at = match layout {
            Layout::Plain => plain_block(block, target, at)?,
            Layout::Patched => patched_block(block, target, at, true)?,
            Layout::Listed => patched_block(block, target, at, false)?,
        };
    }
    Some(at)
}

#[expect(clippy::cast_possible_truncation, reason = "a width is at most 32")]
fn plain_block(block: &[u32], target: &mut [u8], at: usize) -> Option<usize> {
    let width = bits::width_of(block.iter().fold(0, |all, value| all | value));
    *target.get_mut(at)? = width as u8;
    bits::pack(block, width, target, at + 1)
}

/// How a block is to be encoded, and what it then takes.
#[derive(Clone, Copy)]
struct Plan {
    width: u32,
    kind: Kind,
    /// Number of exceptions.
    count: usize,
    /// Width of the upper parts of a list.
    high_width: u32,
    bytes: usize,
}

/// The shortest plan for a block, with or without the choice of a bitmap.
fn plan(block: &[u32], bitmap: bool) -> Plan {
    // `above[w]`: how many values have more than `w` bits.
    let mut above = [0_usize; 33 + 24];
    let mut largest = 0;
    for &value in block {
        above[bits::width_of(value) as usize] += 1;
        largest = largest.max(value);
    }
    let mut count = 0;
    for values in above.iter_mut().rev() {
        count += std::mem::replace(values, count);
    }
    let top = bits::width_of(largest);
    let packed = |width| bits::size(block.len(), width);
    let mut best =
        Plan { width: top, kind: Kind::None, count: 0, high_width: 0, bytes: 1 + packed(top) };
    for width in (0..top).rev() {
        let at = width as usize;
        let count = above[at];
        let mut consider = |kind, high_width, bytes| {
            let plan = Plan { width, kind, count, high_width, bytes: bytes + packed(width) };
            if plan.bytes < best.bytes {
                best = plan;
            }
        };
        let high_width = bits::width_of((largest >> width) - 1);
        if count <= 255 && high_width == 0 {
            consider(Kind::Ones, 0, 2 + count);
        } else if count <= 255 {
            consider(Kind::List, high_width, 3 + count + bits::size(count, high_width));
        }
        if bitmap {
            // A byte for each exception, and another for each eight bits more.
            let data = count + above[at + 8] + above[at + 16] + above[at + 24];
            consider(Kind::Bitmap, 0, 1 + block.len().div_ceil(8) + count.div_ceil(4) + data);
        }
    }
    best
}

#[expect(clippy::cast_possible_truncation, reason = "places, counts and widths are below 256")]
fn patched_block(block: &[u32], target: &mut [u8], mut at: usize, bitmap: bool) -> Option<usize> {
    let Plan { width, kind, count, high_width, .. } = plan(block, bitmap);
    *target.get_mut(at)? = width as u8 | (kind as u8) << 6;
    at += 1;
    if matches!(kind, Kind::Ones | Kind::List) {
        *target.get_mut(at)? = count as u8;
        at += 1;
    }
    if kind == Kind::List {
        *target.get_mut(at)? = high_width as u8;
        at += 1;
    }
    at = bits::pack(block, width, target, at)?;
    if kind == Kind::None {
        return Some(at);
    }
    let (mut places, mut highs, mut found) = ([0; header::BLOCK], [0; header::BLOCK], 0);
    for (place, value) in block.iter().enumerate() {
        if value >> width != 0 {
            places[found] = place as u8;
            highs[found] = (value >> width) - 1;
            found += 1;
        }
    }
    let (places, highs) = (&places[..found], &highs[..found]);
    if kind == Kind::Bitmap {
        let mut bitmap = [0; header::BLOCK / 8];
        for &place in places {
            bitmap[usize::from(place / 8)] |= 1 << (place % 8);
        }
        let end = at + block.len().div_ceil(8);
        target.get_mut(at..end)?.copy_from_slice(&bitmap[..end - at]);
        let lengths = stream_vbyte::Lengths::OneToFour;
        return Some(end + stream_vbyte::encode(highs, &mut target[end..], lengths)?);
    }
    target.get_mut(at..at + found)?.copy_from_slice(places);
    bits::pack(highs, high_width, target, at + found)
}
