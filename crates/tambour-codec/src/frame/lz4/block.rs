//! The blocks of a frame on the way to the kernels: here decoders and encoders are chosen.

use super::behind::decode_behind;
use super::encode_behind::{Positions, encode_behind};
use crate::frame::FrameError;
use crate::{CodecError, Kind, kernels};
use tambour_kernel::lz4::{self, Malformed};

/// So many bytes of output, at most, come from one byte of a block.
const EXPANSION_MAX: usize = 255;

/// The most bytes that a block of so many bytes can hold, `max` at most.
pub(super) fn room(block: usize, max: usize) -> usize {
    block.saturating_mul(EXPANSION_MAX).min(max)
}

/// Decodes a block into `buffer[start..]`, of which it may leave a rest; returns the bytes written. Matches may reach back
/// to the start of the buffer.
pub(super) fn decode(source: &[u8], buffer: &mut [u8], start: usize) -> Result<usize, CodecError> {
    if start > 0 {
        return Ok(decode_behind(source, buffer, start)?);
    }
    let decode = kernels::lz4_decode()?;
    // Frames do not store the size. All blocks but the last are full, as a rule; of another one the kernel says how long it
    // is, and is called again.
    match decode.decode(source, buffer) {
        Ok(()) => Ok(buffer.len()),
        Err(Malformed::Short { written, .. }) => {
            decode.decode(source, &mut buffer[..written])?;
            Ok(written)
        }
        Err(malformed) => Err(malformed.into()),
    }
}

/// How hard an encoder tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level {
    acceleration: u32,
}

impl Level {
    /// The level of a number as the `lz4` program counts: 1 by default, below 0 faster; 3 to 12 are the high levels.
    pub(super) fn new(number: Option<i32>) -> Result<Self, FrameError> {
        match number.unwrap_or(1) {
            number @ ..=2 => {
                let acceleration = if number < 0 { number.unsigned_abs() } else { 1 };
                Ok(Self { acceleration: acceleration.min(ACCELERATION_MAX) })
            }
            number @ 3..=12 => Err(FrameError::Options {
                reason: format!("LZ4 level {number} is not supported"),
                kind: Kind::Unsupported,
            }),
            number => Err(FrameError::options(format!("LZ4 has no level {number}: 12 is highest"))),
        }
    }
}

/// Beyond this a step is longer than the window.
const ACCELERATION_MAX: u32 = 65_537;

/// Encodes blocks; keeps its tables between them.
pub(super) struct Encoder {
    level: Level,
    /// Both made on their first use.
    table: Option<Box<lz4::Table>>,
    positions: Option<Positions>,
}

impl Encoder {
    pub(super) fn new(level: Level) -> Self {
        Self { level, table: None, positions: None }
    }

    /// Makes `target` the block that holds `buffer[start..]`; its matches may reach back to the start of the buffer.
    pub(super) fn encode(
        &mut self,
        buffer: &[u8],
        start: usize,
        target: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        target.clear();
        if start > 0 {
            let positions = self.positions.get_or_insert_with(Positions::new);
            encode_behind(buffer, start, positions, self.level.acceleration, target);
            return Ok(());
        }
        target.resize(lz4::bound(buffer.len()), 0);
        let table = self.table.get_or_insert_default();
        let Some(size) = lz4::encode(buffer, target, table, self.level.acceleration) else {
            let (got, max) = (buffer.len() as u64, lz4::SOURCE_BYTES_MAX as u64);
            return Err(CodecError::Limit { what: "LZ4 source", got, max });
        };
        target.truncate(size);
        Ok(())
    }
}
