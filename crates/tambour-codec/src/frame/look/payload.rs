//! Payloads of blocks that are an LZ4 block or a zstd frame.

use super::{BlockData, Event, FrameKind, Look, LookOptions, Lz4Block, Tally, lz4};
use crate::CodecError;
use crate::codec::{Inside, Payload};
use crate::frame::FrameError;

/// Blocks of a zstd frame that are told one by one: a MiB of content has 8, and encoders split each of them into 196 at most.
const BLOCKS_KEPT: u64 = 1 << 12;
/// Sequences of a zstd frame that are kept: 1.5 MiB of content cannot have more.
const SEQUENCES_KEPT: usize = 1 << 19;

/// A zstd frame in a block. What there is of it can be far more than its bytes: only this much is kept, but all is in the sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZstdPayload {
    /// Its header, blocks and end. A block of which not all sequences were kept has fewer than its count says.
    pub events: Vec<Event>,
    /// Blocks that are not among the events.
    pub blocks_more: u64,
    /// The sums over the whole frame.
    pub tally: Tally,
}

impl ZstdPayload {
    /// Takes note of an event, and keeps as much of it as there is room for.
    fn add(&mut self, mut event: Event, blocks: &mut u64, sequences: &mut usize) {
        self.tally.add(&event);
        if let Event::Block(block) = &mut event {
            *blocks += 1;
            if *blocks > BLOCKS_KEPT {
                self.blocks_more += 1;
                return;
            }
            if let BlockData::Zstd(data) = &mut block.data
                && let Some(inside) = &mut data.inside
            {
                inside.sequences.truncate(SEQUENCES_KEPT - *sequences);
                // What is cut off gives its memory back.
                inside.sequences.shrink_to_fit();
                *sequences += inside.sequences.len();
            }
        }
        self.events.push(event);
    }
}

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
    let mut found = Box::new(ZstdPayload::default());
    let result = walk(payload, &mut found);
    *inside = Inside::Zstd(found);
    result
}

fn walk(payload: &Payload<'_>, found: &mut ZstdPayload) -> Result<(), CodecError> {
    let expected = payload.content_bytes as u64;
    let other_size = |at| malformed(ZSTD, at, "other content than the block's header says");
    let options = LookOptions { sequences: payload.sequences, ..LookOptions::default() };
    let mut reader = payload.bytes;
    let (mut content, mut blocks, mut sequences) = (0, 0, 0);
    for event in Look::new(&mut reader, options) {
        let event = event.map_err(|error| in_payload(payload, &error))?;
        match &event {
            Event::Frame(frame) if !found.events.is_empty() => {
                return Err(malformed(
                    ZSTD,
                    position(frame.offset),
                    "trailing bytes after the frame",
                ));
            }
            Event::Frame(frame) => match &frame.kind {
                // The same whether sequences are asked for, which need the dictionary, or not.
                FrameKind::Zstd(header) if header.dictionary.is_some() => {
                    return Err(with_dictionary());
                }
                FrameKind::Zstd(header) if header.content_bytes.is_none_or(|it| it == expected) => {
                }
                FrameKind::Zstd(_) => return Err(other_size(0)),
                _ => return Err(malformed(ZSTD, 0, "no zstd magic")),
            },
            Event::End(end) if end.content_bytes.is_some_and(|content| content != expected) => {
                return Err(other_size(position(end.offset)));
            }
            // Nobody wrote more: what follows would only be work.
            Event::Block(block) => {
                content += block.content_bytes.unwrap_or_default();
                if content > expected {
                    return Err(other_size(position(block.offset)));
                }
            }
            Event::End(_) => {}
        }
        found.add(event, &mut blocks, &mut sequences);
    }
    if found.events.is_empty() { Err(malformed(ZSTD, 0, "no zstd magic")) } else { Ok(()) }
}

/// Offsets in a payload are below 2^32.
fn position(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// Blocks have no dictionaries.
fn with_dictionary() -> CodecError {
    CodecError::UnsupportedCodec { name: "ZSTD with a dictionary".to_owned() }
}

/// A fault of a frame as one of the payload that it is.
fn in_payload(payload: &Payload<'_>, error: &FrameError) -> CodecError {
    let (at, reason) = match error {
        FrameError::Malformed { offset, reason, .. }
        | FrameError::Header { offset, reason, .. } => (position(*offset), *reason),
        FrameError::Magic { offset: 0, .. } => (0, "no zstd magic"),
        FrameError::Magic { offset, .. } | FrameError::Dictionary { offset: offset @ 1.., .. } => {
            (position(*offset), "trailing bytes after the frame")
        }
        FrameError::Size { offset, .. } => {
            (position(*offset), "a block larger than its frame allows")
        }
        FrameError::ContentSize { .. } => (0, "other content than the frame's header says"),
        FrameError::Dictionary { .. } => return with_dictionary(),
        _ => (payload.bytes.len(), "the frame is cut short"),
    };
    malformed(ZSTD, at, reason)
}

#[cfg(test)]
mod tests {
    use super::{BLOCKS_KEPT, SEQUENCES_KEPT};
    use crate::CodecError;
    use crate::block::Header;
    use crate::codec::Inside;
    use crate::frame::look::{Block, BlockData, Event, StageLook, StageOptions, Stages, Tally};

    fn look(stream: &[u8]) -> (Stages, Option<CodecError>) {
        let header = Header::parse(stream).unwrap();
        let options = StageOptions { sequences: true, inner: true };
        StageLook::default().look(&header, &stream[25..], options)
    }

    /// A zstd frame of no stated size as a block that says it decodes to this many bytes.
    fn made_up(body: &[u8], content: u32) -> Vec<u8> {
        // Magic, no flags, a window of 128 KiB.
        let mut stream = vec![0; 25];
        stream[16] = 0x90;
        stream.extend([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]);
        stream.extend(body);
        let size = u32::try_from(stream.len() - 16).unwrap();
        stream[17..21].copy_from_slice(&size.to_le_bytes());
        stream[21..25].copy_from_slice(&content.to_le_bytes());
        stream
    }

    /// Content of eight bytes as they are, then blocks of 12 bytes each that are 43,690 matches of three bytes.
    fn bombs(count: usize) -> (Vec<u8>, u32) {
        let block = |body: &[u8], kind: u32| {
            let size = u32::try_from(body.len()).unwrap();
            let header = (size << 3 | kind << 1).to_le_bytes();
            [&header[..3], body].concat()
        };
        let [low, high] = (43_690_u16 - 0x7f00).to_le_bytes();
        let bomb = block(&[0, 0xff, low, high, 0x54, 0, 0, 0, 1], 2);
        assert_eq!(bomb.len(), 12);
        let last = block(&[], 0).into_iter().zip([1, 0, 0]).map(|(byte, flag)| byte | flag);
        let body = [block(b"8 bytes.", 0), bomb.repeat(count), last.collect()].concat();
        (body, u32::try_from(8 + count * 43_690 * 3).unwrap())
    }

    fn kept(found: &Stages) -> (usize, usize, u64) {
        let Inside::Zstd(frame) = &found.stages[0].inside else { panic!("{found:?}") };
        let sequences = frame.events.iter().map(|event| match event {
            Event::Block(Block { data: BlockData::Zstd(data), .. }) => {
                data.inside.as_ref().map_or(0, |inside| inside.sequences.capacity())
            }
            _ => 0,
        });
        (frame.events.len(), sequences.sum(), frame.blocks_more)
    }

    /// A few bytes can stand for many sequences and blocks: no more of them is kept than a limit, and all are in the sums.
    #[test]
    fn what_is_kept_of_zstd_has_a_limit() {
        let (body, content) = bombs(100);
        let stream = made_up(&body, content);
        let (found, fault) = look(&stream);
        assert!(fault.is_none(), "{fault:?}");
        let (events, sequences, more) = kept(&found);
        assert_eq!((events, sequences, more), (104, SEQUENCES_KEPT, 0));
        let mut tally = Tally::default();
        tally.add_stages(&Header::parse(&stream).unwrap(), &found, true);
        assert_eq!((tally.sequences, tally.match_content), (100 * 43_690, 100 * 43_690 * 3));
        assert_eq!(tally.match_lengths.counts.iter().sum::<u64>(), 100 * 43_690);
        assert_eq!((tally.blocks, tally.total()), ([100, 2, 0], stream.len() as u64));

        // Empty blocks as they are.
        let mut empty = vec![0; 3 * 10_000];
        empty.extend([1, 0, 0]);
        let stream = made_up(&empty, 0);
        let (found, fault) = look(&stream);
        assert!(fault.is_none(), "{fault:?}");
        assert_eq!(kept(&found), (2 + 4096, 0, 10_001 - BLOCKS_KEPT));
        let mut tally = Tally::default();
        tally.add_stages(&Header::parse(&stream).unwrap(), &found, true);
        assert_eq!((tally.blocks[1], tally.total()), (10_001, stream.len() as u64));
    }

    /// Blocks after the content that the header says are not looked into.
    #[test]
    fn more_content_than_the_header_says_is_refused_at_once() {
        let (body, _) = bombs(100);
        let stream = made_up(&body, 8 + 2 * 43_690 * 3);
        let (found, fault) = look(&stream);
        // Frame, the block as it is, and the two that fit.
        assert_eq!(kept(&found), (4, 2 * 43_690, 0));
        let expected = "malformed ZSTD payload: other content than the block's header says at 41";
        assert_eq!(fault.unwrap().to_string(), expected);
    }
}
