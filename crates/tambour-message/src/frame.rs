//! Streams of messages, each after its length, for `tokio_util::codec`.

use crate::pin::Pin;
use crate::{MessageCodec, MessageError, Scratch};
use bytes::{Buf, BytesMut};
use std::cell::RefCell;
use std::sync::Arc;
use tokio_util::codec::{Decoder, Encoder};

/// Longest length in front of a message.
const LENGTH_BYTES_MAX: usize = 4;
/// This much is reserved at once for a message that has not arrived; the rest as it comes.
const RESERVED_MAX: usize = 64 << 10;

thread_local! {
    /// Scratch and output of the messages that this thread handles, of whatever connection.
    static SCRATCH: RefCell<(Scratch, Vec<u8>)> = RefCell::default();
}

/// The codec of one connection: a reference to what all share, and the pins, if there are any.
///
/// A frame is the length of an encoded message as LEB128, and the encoded message. With pins, the first message that goes
/// each way is pinned at both ends.
#[derive(Debug)]
pub struct FrameCodec {
    codec: Arc<MessageCodec>,
    pins: Option<Box<Pins>>,
}

/// First messages of a connection.
#[derive(Debug, Default)]
struct Pins {
    sent: Option<Pin>,
    received: Option<Pin>,
}

impl FrameCodec {
    /// A codec for a connection without pins.
    pub fn new(codec: Arc<MessageCodec>) -> Self {
        Self { codec, pins: None }
    }

    /// A codec for a connection that pins its first message each way. Both ends must do so.
    pub fn with_pins(codec: Arc<MessageCodec>) -> Self {
        Self { codec, pins: Some(Box::default()) }
    }

    /// Bytes that this connection takes: nothing that is shared, nothing of the stream below.
    pub fn memory_bytes(&self) -> usize {
        let pins = self.pins.as_ref().map_or(0, |pins| {
            let bytes = [&pins.sent, &pins.received].map(|pin| pin.as_ref().map_or(0, pin_bytes));
            size_of::<Pins>() + bytes.iter().sum::<usize>()
        });
        size_of::<Self>() + pins
    }
}

fn pin_bytes(pin: &Pin) -> usize {
    pin.bytes().len()
}

impl Encoder<&[u8]> for FrameCodec {
    type Error = MessageError;

    fn encode(&mut self, message: &[u8], target: &mut BytesMut) -> Result<(), MessageError> {
        let pin = self.pins.as_ref().and_then(|pins| pins.sent.as_ref());
        SCRATCH.with_borrow_mut(|(scratch, encoded)| {
            encoded.clear();
            self.codec.encode(message, pin, scratch, encoded)?;
            let mut length = encoded.len();
            #[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
            while length >= 0x80 {
                target.extend_from_slice(&[length as u8 | 0x80]);
                length >>= 7;
            }
            #[expect(clippy::cast_possible_truncation, reason = "less than eight bits are left")]
            target.extend_from_slice(&[length as u8]);
            target.extend_from_slice(encoded);
            encoded.shrink_to(RESERVED_MAX);
            Ok::<_, MessageError>(())
        })?;
        if let Some(pins) = &mut self.pins {
            pins.sent = pins.sent.take().or_else(|| Pin::new(message));
        }
        Ok(())
    }
}

impl Decoder for FrameCodec {
    type Item = Vec<u8>;
    type Error = MessageError;

    fn decode(&mut self, source: &mut BytesMut) -> Result<Option<Vec<u8>>, MessageError> {
        let limit = self.codec.encoded_bytes_max();
        let Some((length, prefix)) = frame_length(source)? else { return Ok(None) };
        if length > limit {
            return Err(MessageError::TooLong { bytes: length as u64, limit });
        }
        let missing = (prefix + length).saturating_sub(source.len());
        if missing > 0 {
            source.reserve(missing.min(RESERVED_MAX));
            return Ok(None);
        }
        let pin = self.pins.as_ref().and_then(|pins| pins.received.as_ref());
        let mut message = Vec::new();
        SCRATCH.with_borrow_mut(|(scratch, _)| {
            let encoded = &source[prefix..prefix + length];
            self.codec.decode(encoded, pin, scratch, &mut message)
        })?;
        source.advance(prefix + length);
        if let Some(pins) = &mut self.pins {
            pins.received = pins.received.take().or_else(|| Pin::new(&message));
        }
        Ok(Some(message))
    }

    fn decode_eof(&mut self, source: &mut BytesMut) -> Result<Option<Vec<u8>>, MessageError> {
        match self.decode(source)? {
            None if !source.is_empty() => {
                Err(MessageError::Frame { reason: "ends inside a message" })
            }
            found => Ok(found),
        }
    }
}

/// The length of the next message, and the bytes that it takes; `None` when they are not all there.
fn frame_length(source: &[u8]) -> Result<Option<(usize, usize)>, MessageError> {
    let mut length = 0;
    for (place, &byte) in source.iter().take(LENGTH_BYTES_MAX).enumerate() {
        length |= usize::from(byte & 0x7f) << (7 * place);
        if byte < 0x80 {
            if byte == 0 && place > 0 {
                return Err(MessageError::Frame {
                    reason: "a length with more bytes than it needs",
                });
            }
            return Ok(Some((length, place + 1)));
        }
    }
    if source.len() < LENGTH_BYTES_MAX {
        return Ok(None);
    }
    Err(MessageError::Frame { reason: "a length with more bytes than any message needs" })
}
