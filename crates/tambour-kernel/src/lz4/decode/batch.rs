//! Several independent blocks in one call, two of them in turns at any time.

use super::fault::fault;
use super::lane::Lane;
use super::{Decode, Malformed};
use crate::variant::Runnable;

/// One of several independent blocks that are decoded in one call.
#[derive(Debug)]
pub struct Block<'a> {
    /// The encoded block.
    pub source: &'a [u8],
    /// Is filled exactly; holds unspecified bytes when `result` is an error.
    pub target: &'a mut [u8],
    /// What became of it; what it says before does not matter.
    pub result: Result<(), Malformed>,
}

impl<'a> Block<'a> {
    /// A block to decode.
    pub fn new(source: &'a [u8], target: &'a mut [u8]) -> Self {
        Self { source, target, result: Ok(()) }
    }
}

/// A variant, and how many blocks it takes at once.
#[derive(Clone, Copy, Debug)]
pub(in crate::lz4) struct Choice {
    pub(in crate::lz4) variant: Runnable<Decode>,
    /// Two blocks in turns, or one after the other.
    pub(in crate::lz4) paired: bool,
}

impl Choice {
    /// Decodes on until one of the lanes is closed or has written about `bytes` more. One after the other, the second lane
    /// waits until the first is closed, or both get on by this much.
    pub(in crate::lz4) fn advance(self, first: &mut Lane<'_>, second: &mut Lane<'_>, bytes: usize) {
        if self.paired {
            self.variant.advance_pair(first, second, bytes);
        } else {
            self.variant.advance(first, bytes);
            if bytes != usize::MAX {
                self.variant.advance(second, bytes);
            }
        }
    }
}

/// A block on its way.
struct Flight<'a> {
    lane: Lane<'a>,
    source: &'a [u8],
    expected: usize,
    result: &'a mut Result<(), Malformed>,
}

impl<'a> Flight<'a> {
    fn start(block: &'a mut Block<'_>) -> Self {
        let Block { source, target, result } = block;
        let expected = target.len();
        Self { lane: Lane::new(source, target), source, expected, result }
    }

    /// Decodes what the loops have left.
    fn land(mut self, variant: Runnable<Decode>) {
        let good = variant.finish(&mut self.lane);
        *self.result = if good { Ok(()) } else { Err(fault(self.source, self.expected)) };
    }
}

/// Decodes all blocks. Whenever another block has begun beside one that is under way, `run` decodes on until one of them is
/// closed, and says what is to decode its end. The last block goes on alone with that variant.
pub(in crate::lz4) fn batch<'a, 'b: 'a>(
    blocks: impl Iterator<Item = &'a mut Block<'b>>,
    start: Runnable<Decode>,
    mut run: impl FnMut(&mut Lane<'_>, &mut Lane<'_>) -> Choice,
) {
    let mut queue = blocks.map(Flight::start);
    let Some(mut first) = queue.next() else { return };
    let mut variant = start;
    let mut partner = queue.next();
    while let Some(mut second) = partner {
        variant = run(&mut first.lane, &mut second.lane).variant;
        // One of them is closed: it gives way to the next block. The other one keeps its place.
        if second.lane.is_open() {
            core::mem::swap(&mut first, &mut second);
        }
        second.land(variant);
        partner = queue.next();
    }
    variant.advance(&mut first.lane, usize::MAX);
    first.land(variant);
}
