//! Laws of looking inside: what is told of a frame agrees with what decoding it gives.

use tambour_codec::frame::look::{Event, Look, LookOptions, Tally};
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

fn is_zstd(input: &[u8]) -> bool {
    input.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}
