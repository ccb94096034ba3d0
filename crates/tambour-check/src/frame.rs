//! Laws of whole streams: LZ4 frames, zstd frames, blocks.

use crate::generate::Random;
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use std::io::{Read, Write};
use tambour_codec::frame::{
    CompressOptions, DecompressOptions, Dictionary, Format, FrameError, compress, decompress,
};

/// Threads that the laws try: the caller's own, and more than there are blocks of most inputs.
const THREADS: [usize; 3] = [1, 2, 5];
/// Most memory that a law gives a hostile stream.
const MEMORY_BYTES_MAX: u64 = 32 << 20;
/// Most bytes that a law lets a stream decode to: more than any content that laws are called with.
const OUTPUT_BYTES_MAX: usize = 32 << 20;

/// All that an LZ4 frame can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Bytes per block.
    pub block_bytes: usize,
    /// Blocks refer to earlier ones.
    pub linked: bool,
    /// A checksum per block.
    pub block_checksums: bool,
    /// A checksum of the content.
    pub content_checksum: bool,
    /// The content's size in the header.
    pub content_size: bool,
}

impl Plan {
    /// Every combination; 64 of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let sizes = [64 << 10, 256 << 10, 1 << 20, 4 << 20];
        (0..64).map(move |k: usize| Self {
            block_bytes: sizes[k / 16],
            linked: k & 8 != 0,
            block_checksums: k & 4 != 0,
            content_checksum: k & 2 != 0,
            content_size: k & 1 != 0,
        })
    }

    fn options(&self, source: &[u8]) -> CompressOptions {
        let mut options = CompressOptions::new(Format::Lz4);
        options.block_bytes = Some(self.block_bytes);
        options.lz4.linked = self.linked;
        options.lz4.block_checksums = self.block_checksums;
        options.lz4.content_checksum = self.content_checksum;
        options.content_size = self.content_size.then_some(source.len() as u64);
        options
    }

    fn info(&self, source: &[u8]) -> FrameInfo {
        let size = match self.block_bytes {
            0x1_0000 => BlockSize::Max64KB,
            0x4_0000 => BlockSize::Max256KB,
            0x10_0000 => BlockSize::Max1MB,
            _ => BlockSize::Max4MB,
        };
        let mode = if self.linked { BlockMode::Linked } else { BlockMode::Independent };
        FrameInfo::new()
            .block_size(size)
            .block_mode(mode)
            .block_checksums(self.block_checksums)
            .content_checksum(self.content_checksum)
            .content_size(self.content_size.then_some(source.len() as u64))
    }
}

#[expect(clippy::panic, reason = "a law that does not hold is a panic")]
fn fail<T>(what: &str, error: impl std::fmt::Display) -> T {
    panic!("{what}: {error}")
}

/// Compresses. Law: the number of threads does not matter.
fn encode(source: &[u8], options: &CompressOptions) -> Vec<u8> {
    let mut first: Option<Vec<u8>> = None;
    for threads in THREADS {
        let options = CompressOptions { threads, ..options.clone() };
        let mut stream = Vec::new();
        let summary = compress(&mut &*source, &mut stream, &options);
        let summary = summary.unwrap_or_else(|error| fail("compress", error));
        assert_eq!(summary.bytes_in, source.len() as u64);
        assert_eq!(summary.bytes_out, stream.len() as u64);
        let first = first.get_or_insert_with(|| stream.clone());
        assert!(*first == stream, "{threads} threads write otherwise");
    }
    first.unwrap_or_default()
}

/// Decompresses. Law: the number of threads does not matter, nor for what is written before an error.
fn decode(stream: &[u8], options: &DecompressOptions) -> Result<Vec<u8>, FrameError> {
    let mut first: Option<(Option<String>, Vec<u8>)> = None;
    let mut last = Ok(());
    for threads in THREADS {
        let options = DecompressOptions { threads, ..options.clone() };
        let mut target = Bounded(Vec::new());
        last = decompress(&mut &*stream, &mut target, &options).map(drop);
        let seen = (last.as_ref().err().map(ToString::to_string), target.0);
        let first = first.get_or_insert_with(|| seen.clone());
        assert!(*first == seen, "{threads} threads read otherwise: {:?} {:?}", first.0, seen.0);
    }
    last.map(|()| first.unwrap_or_default().1)
}

/// Room for what a bomb holds, but not for all of it.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > OUTPUT_BYTES_MAX {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Law: what we compress by a plan, we decompress, and so does `lz4_flex`; what `lz4_flex` compresses by it, we decompress.
pub fn round_trip(source: &[u8], plan: Plan) {
    let frame = encode(source, &plan.options(source));
    let decoded = decode(&frame, &DecompressOptions::default());
    assert!(decoded.unwrap_or_else(|e| fail("decompress", e)) == source, "{plan:?}: other bytes");
    let mut decoded = Vec::new();
    let result = FrameDecoder::new(&*frame).read_to_end(&mut decoded);
    result.unwrap_or_else(|error| fail("lz4_flex refuses", error));
    assert!(decoded == source, "{plan:?}: lz4_flex reads other bytes");
    let theirs = encode_by_flex(source, plan.info(source));
    let decoded = decode(&theirs, &DecompressOptions::default());
    assert!(decoded.unwrap_or_else(|e| fail("theirs", e)) == source, "{plan:?}: theirs");
}

fn encode_by_flex(source: &[u8], info: FrameInfo) -> Vec<u8> {
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(source).unwrap_or_else(|error| fail("lz4_flex writes", error));
    encoder.finish().unwrap_or_else(|error| fail("lz4_flex ends", error))
}

/// Law: legacy frames that `lz4_flex` writes are read.
pub fn read_legacy(source: &[u8]) {
    let frame = encode_by_flex(source, FrameInfo::new().legacy_frame(true));
    let decoded = decode(&frame, &DecompressOptions::default());
    assert!(decoded.unwrap_or_else(|error| fail("legacy", error)) == source, "legacy");
}

/// Law: with a dictionary, independent or linked, content makes the way there and back, and takes no more bytes than it takes
/// without one, give or take the header.
pub fn round_trip_with_dictionary(source: &[u8], dictionary: &[u8], id: Option<u32>) {
    for linked in [false, true] {
        let mut options = CompressOptions::new(Format::Lz4);
        options.block_bytes = Some(64 << 10);
        options.lz4.linked = linked;
        options.dictionary = Some(Dictionary { id, bytes: dictionary.to_vec() });
        let frame = encode(source, &options);
        let dictionary = options.dictionary;
        let decoded = decode(&frame, &DecompressOptions { dictionary, ..Default::default() });
        assert!(decoded.unwrap_or_else(|e| fail("dictionary", e)) == source, "dictionary");
    }
}

/// Law: blocks and zstd frames make the way there and back.
pub fn round_trip_others(source: &[u8], block_bytes: usize) {
    for format in [Format::Block, Format::Zstd] {
        for block_bytes in [Some(block_bytes), None] {
            let stream =
                encode(source, &CompressOptions { block_bytes, ..CompressOptions::new(format) });
            let decoded = decode(&stream, &DecompressOptions::default());
            assert!(decoded.unwrap_or_else(|e| fail(format.name(), e)) == source, "{format:?}");
        }
    }
}

/// Law: with all checksums on, whichever bit of a frame is flipped, the frame is refused or holds the same content.
pub fn refuse_flips(source: &[u8], linked: bool) {
    let plan = Plan {
        block_bytes: 64 << 10,
        linked,
        block_checksums: true,
        content_checksum: true,
        content_size: true,
    };
    let mut frame = encode(source, &plan.options(source));
    for bit in 0..8 * frame.len() {
        frame[bit / 8] ^= 1 << (bit % 8);
        let mut decoded = Vec::new();
        let result = decompress(&mut &*frame, &mut decoded, &DecompressOptions::default());
        assert!(result.is_err() || decoded == source, "bit {bit} is not seen");
        frame[bit / 8] ^= 1 << (bit % 8);
    }
}

/// Law: a frame that is cut anywhere is refused.
pub fn refuse_cuts(source: &[u8], plan: Plan) {
    let frame = encode(source, &plan.options(source));
    let options = DecompressOptions { format: Some(Format::Lz4), ..Default::default() };
    for cut in 0..frame.len() {
        let result = decompress(&mut &frame[..cut], &mut std::io::sink(), &options);
        assert!(result.is_err(), "{plan:?}: cut at {cut} is accepted");
    }
}

/// Law: any bytes end in an error or in content, the same for every number of threads.
pub fn survive(stream: &[u8]) {
    let dictionary = Some(Dictionary { id: None, bytes: b"any dictionary".to_vec() });
    for format in [None, Some(Format::Block), Some(Format::Lz4), Some(Format::Zstd)] {
        for dictionary in [None, dictionary.clone()] {
            let options = DecompressOptions {
                format,
                memory_bytes_max: MEMORY_BYTES_MAX,
                dictionary,
                ..Default::default()
            };
            drop(decode(stream, &options));
        }
    }
}

/// A frame of hostile blocks under good header checksums: what a fuzzer would take long to find.
pub fn hostile(seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut frame = Vec::new();
    for _ in 0..=random.below(2) {
        // An empty frame of the plan, without its end.
        let plans: Vec<Plan> = Plan::all().collect();
        let plan = random.pick(&plans);
        let mut options = plan.options(&[]);
        options.content_size = None;
        let mut empty = encode(&[], &options);
        empty.truncate(7);
        frame.extend(empty);
        for _ in 0..random.below(5) {
            let (block, _) = crate::generate::hostile_lz4(random.number());
            let size = u32::try_from(block.len()).unwrap_or(0);
            let plain = if random.below(4) == 0 { 1 << 31 } else { 0 };
            let lie = u32::try_from(random.pick(&[0, 0, 0, 0, 0, 0, 1, 4])).unwrap_or(0);
            frame.extend((size.wrapping_sub(lie) | plain).to_le_bytes());
            frame.extend(block);
        }
        frame.extend([0; 4]);
    }
    frame
}

/// The law for a fuzzer: the bytes as a stream; and as content, whose first byte picks the plan.
pub fn fuzz_frame(input: &[u8]) {
    survive(input);
    let choice = input.first().map_or(0, |byte| usize::from(*byte));
    if let Some(plan) = Plan::all().nth(choice % 64) {
        round_trip(input, plan);
    }
}
