//! The blocks of a frame on the way to the kernels: here decoders and encoders are chosen.

use crate::frame::FrameError;
use crate::{CodecError, kernels};
use tambour_kernel::lz4::{self, Malformed, Selector};

/// This many bytes of output, at most, come from one byte of a block.
const EXPANSION_MAX: usize = 255;

/// The most bytes that a block of this many bytes can hold, `max` at most.
pub(super) fn room(block: usize, max: usize) -> usize {
    block.saturating_mul(EXPANSION_MAX).min(max)
}

/// Decodes blocks; learns on the way which variant suits the stream.
#[derive(Debug, Default)]
pub(super) struct Decoder(Option<Selector>);

impl Decoder {
    /// Decodes a block into `buffer[start..]`, of which it may leave a rest; returns the bytes written. Matches may reach
    /// back to the start of the buffer.
    pub(super) fn decode(
        &mut self,
        source: &[u8],
        buffer: &mut [u8],
        start: usize,
    ) -> Result<usize, CodecError> {
        let selector = match &mut self.0 {
            Some(selector) => selector,
            none => none.insert(kernels::lz4_selector()?),
        };
        // Frames do not store the size. All blocks but the last are full, as a rule; of another one the kernel says how
        // long it is, and is called again.
        match selector.decode_behind(source, buffer, start) {
            Ok(()) => Ok(buffer.len() - start),
            Err(Malformed::Short { written, .. }) => {
                selector.decode_behind(source, &mut buffer[..written], start)?;
                Ok(written - start)
            }
            Err(malformed) => Err(malformed.into()),
        }
    }
}

/// The level of a number as the `lz4` program counts: 1 by default, below 0 faster; 3 to 12 are the high levels.
pub(super) fn level(number: Option<i32>) -> Result<lz4::Level, FrameError> {
    match number.unwrap_or(1) {
        number @ ..=2 => {
            let acceleration = if number < 0 { number.unsigned_abs() } else { 1 };
            Ok(lz4::Level::Fast { acceleration: acceleration.min(ACCELERATION_MAX) })
        }
        number => match u8::try_from(number) {
            Ok(high @ ..=12) => Ok(lz4::Level::High(high)),
            _ => Err(FrameError::options(format!("LZ4 has no level {number}: the highest is 12"))),
        },
    }
}

/// Beyond this a step is longer than the window.
const ACCELERATION_MAX: u32 = 65_537;

/// Encodes blocks; keeps its tables between them.
pub(super) struct Encoder(lz4::Encoder);

impl Encoder {
    pub(super) fn new(level: lz4::Level) -> Self {
        Self(lz4::Encoder::new(level))
    }

    /// Makes `target` the block that holds `buffer[start..]`; its matches may reach back to the start of the buffer.
    pub(super) fn encode(
        &mut self,
        buffer: &[u8],
        start: usize,
        target: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        target.clear();
        target.resize(lz4::bound(buffer.len() - start), 0);
        let Some(size) = self.0.encode_behind(buffer, start, target) else {
            let (got, max) = (buffer.len() as u64, lz4::SOURCE_BYTES_MAX as u64);
            return Err(CodecError::Limit { what: "LZ4 source", got, max });
        };
        target.truncate(size);
        Ok(())
    }
}
