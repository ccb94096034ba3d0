//! Laws of looking inside: what is told of a frame agrees with what decoding it gives.

use tambour_codec::CodecError;
use tambour_codec::block::{Block, Decoder, Header};
use tambour_codec::codec::{Inside, method_name};
use tambour_codec::frame::look::{Event, Look, LookOptions, StageLook, StageOptions, Tally};
use tambour_codec::frame::{DecompressOptions, Format, decompress};

/// Law: any bytes are explained or refused, at an offset inside; every byte of what is explained has a purpose; and of what
/// can be decompressed the content adds up. For fuzzing.
pub fn fuzz_look(input: &[u8]) {
    let mut contents = Vec::new();
    for (sequences, literals) in [(false, false), (true, false), (true, true)] {
        let options = LookOptions { sequences, literals, dictionary: None };
        let mut reader = input;
        let mut tally = Tally::default();
        let mut content = Some(0);
        let mut whole = true;
        for event in Look::new(&mut reader, options) {
            match event {
                Ok(event) => {
                    tally.add(&event);
                    if let Event::End(end) = event {
                        content = content.zip(end.content_bytes).map(|(sum, own)| sum + own);
                    }
                }
                Err(error) => {
                    whole = false;
                    let inside = error.offset().is_some_and(|offset| offset <= input.len() as u64);
                    assert!(inside, "{error}");
                }
            }
        }
        if whole {
            assert_eq!(tally.total(), input.len() as u64, "every byte has a purpose");
        }
        contents.push(if whole { content } else { None });
    }
    let Some(Some(expected)) = contents.last().copied().filter(|_| is_zstd(input)) else { return };
    let mut decoded = Vec::new();
    let options = DecompressOptions {
        format: Some(Format::Zstd),
        memory_bytes_max: 32 << 20,
        ..Default::default()
    };
    if expected < 32 << 20 && decompress(&mut &*input, &mut decoded, &options).is_ok() {
        assert_eq!(decoded.len() as u64, expected, "content adds up");
    }
}

/// Most content of a block that is made up.
const CONTENT_MAX: u32 = 1 << 20;

/// Law: any bytes as the payload of a block are explained or refused, at a position that there is; every byte has a purpose;
/// what is told without decoding is told with it, too; and LZ4 or NONE that can be decoded have as much content as their parts
/// say. For fuzzing: the method, three bytes of content size, then the payload.
pub fn fuzz_stages(input: &[u8]) {
    let Some((&[method, a, b, c], payload)) = input.split_first_chunk() else { return };
    let content = u32::from_le_bytes([a, b, c, 0]) % CONTENT_MAX;
    let Ok(size) = u32::try_from(payload.len() + 9) else { return };
    let zero = tambour_kernel::hash::Hash128::from_bytes([0; 16]);
    let header = Header { hash: zero, method, compressed_size: size, uncompressed_size: content };
    // Sizes that cannot be are refused before anybody looks inside.
    if Header::parse(&header.to_bytes()).is_err() {
        return;
    }
    let mut look = StageLook::default();
    let mut told: Option<(usize, bool)> = None;
    for (sequences, inner) in [(false, false), (true, false), (true, true)] {
        let (found, fault) = look.look(&header, payload, StageOptions { sequences, inner });
        for (stages, whole) in [(&found, fault.is_none()), (&found, false)] {
            let mut tally = Tally::default();
            tally.add_stages(&header, stages, whole);
            let expected = header.block_bytes() as u64;
            let unknown = stages.stages.is_empty() || !whole;
            let sum = tally.total();
            assert!(sum == expected, "{sum} of {expected} bytes have a purpose, {unknown}");
        }
        if let Some(CodecError::Payload { at, codec, reason }) = &fault {
            // Inside of a chain a payload is what was decoded before, and one of those that are told.
            let told = found.stages.iter().map(|stage| stage.stored_bytes).max();
            let room = payload.len().max(told.unwrap_or(0));
            assert!(*at <= room, "{codec}: {reason} at {at} of {room}");
        }
        if let Some((stages, good)) = told {
            assert!(found.stages.len() >= stages && (good || fault.is_some()));
        }
        told = Some((found.stages.len(), fault.is_none()));
        let outer = found.stages.first().map(|stage| &stage.inside);
        if fault.is_none() && method != 0x91 {
            let parts = match outer {
                Some(Inside::Lz4(block)) => block.content_bytes(),
                Some(Inside::Plain) => payload.len(),
                _ => continue,
            };
            let mut target = vec![0; parts];
            let decoded = Decoder::new().decode(&Block { header, payload }, &mut target);
            assert!(decoded.is_ok(), "{}: {decoded:?}", method_name(method));
        }
    }
}

fn is_zstd(input: &[u8]) -> bool {
    input.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}
