//! Other implementations and other formats, each as a pair of calls on one block.
//!
//! Taken are formats that a kept crate with a permissive licence both reads and writes. LZ4 by `lz4_flex` decodes what C lz4
//! has encoded. Left out: LZF and FastLZ (their crates are deprecated or were given up), LZTurbo (not public), Lizard and
//! LZSSE (no crate).
//!
//! `rep movsb` for the copies of an LZ4 decoder, which readers of the experiment asked about, takes part as the variant
//! `copy-movsb`, which no selector tries: starting it costs more than a short copy. The line `memcpy` shows what copying
//! alone costs.

use density_rs::algorithms::chameleon::chameleon::Chameleon;
use density_rs::codec::codec::Codec as _;
use lz4::block::{CompressionMode, compress, decompress_to_buffer};
use std::cell::RefCell;
use std::fmt::Debug;
use tambour_kernel::lz4::{self as lz4_kernel, Encoder, Level};

/// An encoder and a decoder of one block.
pub(super) trait Rival: Debug {
    /// As in tables.
    fn name(&self) -> &'static str;
    /// Encodes a block; `None` if it cannot.
    fn encode(&self, source: &[u8]) -> Option<Vec<u8>>;
    /// Decodes into all of `target`; whether it could.
    fn decode(&self, source: &[u8], target: &mut [u8]) -> bool;
}

/// Other encoders of LZ4 blocks: slower ones, which make smaller or faster blocks.
pub(super) fn parses() -> Vec<Box<dyn Rival>> {
    vec![
        Box::new(CLz4High),
        Box::new(Parse { name: "high 9", level: Level::High(9) }),
        Box::new(Parse { name: "high 12", level: Level::High(12) }),
        Box::new(Parse { name: "decode speed", level: Level::DecodeSpeed }),
    ]
}

/// Every other format of the frontier.
pub(super) fn others() -> Vec<Box<dyn Rival>> {
    vec![
        Box::new(Flex),
        Box::new(Snappy),
        Box::new(Zstd::new("zstd 1", 1)),
        Box::new(Zstd::new("zstd 3", 3)),
        Box::new(Zstd::new("zstd 9", 9)),
        Box::new(Density),
        Box::new(Lzo),
    ]
}

/// C lz4 with its fast encoder: the reference.
#[derive(Debug)]
pub(super) struct CLz4;

impl Rival for CLz4 {
    fn name(&self) -> &'static str {
        "lz4"
    }

    fn encode(&self, source: &[u8]) -> Option<Vec<u8>> {
        compress(source, Some(CompressionMode::DEFAULT), false).ok()
    }

    fn decode(&self, source: &[u8], target: &mut [u8]) -> bool {
        let size = i32::try_from(target.len()).ok();
        let written = size.and_then(|size| decompress_to_buffer(source, Some(size), target).ok());
        written == Some(target.len())
    }
}

/// C lz4 with its slow encoder.
#[derive(Debug)]
pub(super) struct CLz4High;

impl Rival for CLz4High {
    fn name(&self) -> &'static str {
        "lz4 hc 9"
    }

    fn encode(&self, source: &[u8]) -> Option<Vec<u8>> {
        compress(source, Some(CompressionMode::HIGHCOMPRESSION(9)), false).ok()
    }

    fn decode(&self, source: &[u8], target: &mut [u8]) -> bool {
        CLz4.decode(source, target)
    }
}

/// One of our own encoders.
#[derive(Debug)]
struct Parse {
    name: &'static str,
    level: Level,
}

impl Rival for Parse {
    fn name(&self) -> &'static str {
        self.name
    }

    fn encode(&self, source: &[u8]) -> Option<Vec<u8>> {
        let mut target = vec![0; lz4_kernel::bound(source.len())];
        let length = Encoder::new(self.level).encode(source, &mut target)?;
        target.truncate(length);
        Some(target)
    }

    fn decode(&self, source: &[u8], target: &mut [u8]) -> bool {
        CLz4.decode(source, target)
    }
}

/// No compression.
#[derive(Debug)]
pub(super) struct Copy;

impl Rival for Copy {
    fn name(&self) -> &'static str {
        "memcpy"
    }

    fn encode(&self, source: &[u8]) -> Option<Vec<u8>> {
        Some(source.to_vec())
    }

    fn decode(&self, source: &[u8], target: &mut [u8]) -> bool {
        let fits = source.len() == target.len();
        if fits {
            target.copy_from_slice(source);
        }
        fits
    }
}

/// LZ4 in safe Rust.
#[derive(Debug)]
struct Flex;

impl Rival for Flex {
    fn name(&self) -> &'static str {
        "lz4_flex"
    }

    fn encode(&self, source: &[u8]) -> Option<Vec<u8>> {
        CLz4.encode(source)
    }

    fn decode(&self, source: &[u8], target: &mut [u8]) -> bool {
        let written = lz4_flex::block::decompress_into(source, target);
        written.is_ok_and(|length| length == target.len())
    }
}

/// Snappy.
#[derive(Debug)]
struct Snappy;

impl Rival for Snappy {
    fn name(&self) -> &'static str {
        "snappy"
    }

    fn encode(&self, source: &[u8]) -> Option<Vec<u8>> {
        snap::raw::Encoder::new().compress_vec(source).ok()
    }

    fn decode(&self, source: &[u8], target: &mut [u8]) -> bool {
        snap::raw::Decoder::new().decompress(source, target) == Ok(target.len())
    }
}

/// Zstandard at one level.
struct Zstd {
    name: &'static str,
    level: i32,
    context: RefCell<zstd_safe::DCtx<'static>>,
}

impl Zstd {
    fn new(name: &'static str, level: i32) -> Self {
        Self { name, level, context: RefCell::new(zstd_safe::DCtx::create()) }
    }
}

impl Debug for Zstd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Zstd").field("level", &self.level).finish_non_exhaustive()
    }
}

impl Rival for Zstd {
    fn name(&self) -> &'static str {
        self.name
    }

    fn encode(&self, source: &[u8]) -> Option<Vec<u8>> {
        let mut target = Vec::with_capacity(zstd_safe::compress_bound(source.len()));
        zstd_safe::compress(&mut target, source, self.level).ok()?;
        Some(target)
    }

    fn decode(&self, source: &[u8], target: &mut [u8]) -> bool {
        self.context.borrow_mut().decompress(target, source) == Ok(target.len())
    }
}

/// Density's fastest algorithm. It forgets all between blocks, as block formats do, and is made for longer ones.
#[derive(Debug)]
struct Density;

impl Rival for Density {
    fn name(&self) -> &'static str {
        "density chameleon"
    }

    fn encode(&self, source: &[u8]) -> Option<Vec<u8>> {
        let mut target = vec![0; Chameleon::safe_encode_buffer_size(source.len())];
        let written = Chameleon::encode(source, &mut target);
        target.truncate(written.ok()?);
        Some(target)
    }

    fn decode(&self, source: &[u8], target: &mut [u8]) -> bool {
        let written = Chameleon::decode(source, target);
        written.is_ok_and(|length| length == target.len())
    }
}

/// LZO1X.
#[derive(Debug)]
struct Lzo;

impl Rival for Lzo {
    fn name(&self) -> &'static str {
        "lzo"
    }

    fn encode(&self, source: &[u8]) -> Option<Vec<u8>> {
        lzokay::compress::compress(source).ok()
    }

    fn decode(&self, source: &[u8], target: &mut [u8]) -> bool {
        lzokay::decompress::decompress(source, target) == Ok(target.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{CLz4, Copy, others, parses};
    use crate::input;

    #[test]
    fn every_format_gives_the_source_back_and_notices_a_short_one() {
        let mut formats = others();
        formats.push(Box::new(CLz4));
        formats.extend(parses());
        formats.push(Box::new(Copy));
        for input in input::study(30_000) {
            for format in &formats {
                let encoded = format.encode(&input.bytes).unwrap();
                let mut target = vec![0; input.bytes.len()];
                assert!(format.decode(&encoded, &mut target), "{}", format.name());
                assert!(target == input.bytes, "{} of {}", format.name(), input.name);
            }
        }
    }
}
