//! LZ4 blocks in memory, and frames as the `lz4` program writes and reads them.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use std::error::Error;
use tambour::frame::{CompressOptions, DecompressOptions, Format, compress, decompress};
use tambour::lz4::{Encoder, Level, bound, decode};

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let text = b"drum drum drum drum drum drum";

    // A block has neither length nor checksum: who decodes it knows the length.
    let mut block = vec![0; bound(text.len())];
    let length = Encoder::new(Level::default()).encode(text, &mut block).ok_or("no room")?;
    let mut decoded = vec![0; text.len()];
    decode(&block[..length], &mut decoded).map_err(|error| error.to_string())?;
    assert_eq!(decoded, text);

    // A frame has both.
    let mut frame = Vec::new();
    let summary = compress(&mut &text[..], &mut frame, &CompressOptions::new(Format::Lz4))?;
    let mut content = Vec::new();
    decompress(&mut &frame[..], &mut content, &DecompressOptions::default())?;
    assert_eq!(content, text);
    println!("{} bytes: block of {length}, frame of {}", summary.bytes_in, frame.len());
    Ok(())
}
