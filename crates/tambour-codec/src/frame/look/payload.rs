//! Payloads of blocks that are an LZ4 block or a zstd frame.

use super::{Event, FrameKind, Look, LookOptions, Lz4Block, lz4};
use crate::CodecError;
use crate::codec::{Inside, Payload};
use crate::frame::FrameError;

const LZ4: &str = "LZ4";
const ZSTD: &str = "ZSTD";

fn malformed(codec: &'static str, at: usize, reason: &'static str) -> CodecError {
    CodecError::Payload { codec, at, reason }
}

/// Tells what an LZ4 payload is made of.
pub(crate) fn explain_lz4(payload: &Payload<'_>, inside: &mut Inside) -> Result<(), CodecError> {
    let mut found = Lz4Block::default();
    let how = (payload.content_bytes, 0, payload.sequences);
    let result = lz4::look_into(&mut found, payload.bytes, how, &mut |_| {});
    let content = found.content_bytes();
    *inside = Inside::Lz4(found);
    result.map_err(|fault| malformed(LZ4, fault.at, fault.reason))?;
    if content == payload.content_bytes {
        Ok(())
    } else {
        Err(malformed(LZ4, payload.bytes.len(), "less content than the header says"))
    }
}

/// Tells what a zstd payload is made of: one frame, as [`Look`] sees it, that holds what the header says.
pub(crate) fn explain_zstd(payload: &Payload<'_>, inside: &mut Inside) -> Result<(), CodecError> {
    let mut events = Vec::new();
    let result = walk(payload, &mut events);
    *inside = Inside::Zstd(events);
    result
}

fn walk(payload: &Payload<'_>, events: &mut Vec<Event>) -> Result<(), CodecError> {
    let expected = payload.content_bytes as u64;
    let other_size = |at| malformed(ZSTD, at, "other content than the block's header says");
    let options = LookOptions { sequences: payload.sequences, ..LookOptions::default() };
    let mut reader = payload.bytes;
    for event in Look::new(&mut reader, options) {
        let event = event.map_err(|error| in_payload(payload, &error))?;
        match &event {
            Event::Frame(frame) if !events.is_empty() => {
                return Err(malformed(ZSTD, position(frame.offset), "bytes behind the frame"));
            }
            Event::Frame(frame) => match &frame.kind {
                FrameKind::Zstd(header) if header.content_bytes.is_none_or(|it| it == expected) => {
                }
                FrameKind::Zstd(_) => return Err(other_size(0)),
                _ => return Err(malformed(ZSTD, 0, "no zstd magic")),
            },
            Event::End(end) if end.content_bytes.is_some_and(|content| content != expected) => {
                return Err(other_size(position(end.offset)));
            }
            Event::Block(_) | Event::End(_) => {}
        }
        events.push(event);
    }
    if events.is_empty() { Err(malformed(ZSTD, 0, "no zstd magic")) } else { Ok(()) }
}

/// Offsets in a payload are below 2^32.
fn position(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// A fault of a frame as one of the payload that it is.
fn in_payload(payload: &Payload<'_>, error: &FrameError) -> CodecError {
    let (at, reason) = match error {
        FrameError::Malformed { offset, reason, .. }
        | FrameError::Header { offset, reason, .. } => (position(*offset), *reason),
        FrameError::Magic { offset: 0, .. } => (0, "no zstd magic"),
        FrameError::Magic { offset, .. } => (position(*offset), "bytes behind the frame"),
        FrameError::Size { offset, .. } => {
            (position(*offset), "a block larger than its frame allows")
        }
        FrameError::ContentSize { .. } => (0, "other content than the frame's header says"),
        FrameError::Dictionary { .. } => {
            return CodecError::UnsupportedCodec { name: "ZSTD with a dictionary".to_owned() };
        }
        _ => (payload.bytes.len(), "the frame is cut short"),
    };
    malformed(ZSTD, at, reason)
}
