//! Laws of compressed blocks and codecs.

use tambour_codec::block::stream::{Blocks, Headers, decode_all};
use tambour_codec::block::{Block, Decoder, Encoder, Header};
use tambour_codec::codec::{ALIASES, Element, FAMILIES};
use tambour_codec::spec::CodecSpec;
use tambour_codec::{CodecError, Kind};
use tambour_kernel::hash::{Hash128, city_hash_128};

/// Most bytes that a law lets a hostile stream decode to.
const BYTES_MAX: usize = 1 << 20;

/// A specification of every family, without arguments.
pub fn specs() -> impl Iterator<Item = CodecSpec> {
    FAMILIES.iter().chain(ALIASES).filter_map(|family| family.name.parse().ok())
}

/// One block that holds `source`.
pub fn encode(spec: &CodecSpec, source: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut target = Vec::new();
    Encoder::new(spec, Element::BYTES)?.encode(source, &mut target)?;
    Ok(target)
}

fn decode(source: &[u8]) -> Result<Vec<u8>, CodecError> {
    decode_all(source, &mut Decoder::new(), BYTES_MAX)
}

/// Law: for every codec, a stream of blocks decodes to what was encoded, however it was cut into blocks, and one encoder
/// gives the same block for the same bytes each time.
pub fn round_trip(source: &[u8], cut: usize) {
    let mut decoder = Decoder::new();
    for spec in specs() {
        let mut encoder = Encoder::new(&spec, Element::BYTES).unwrap_or_else(|e| fail(&spec, &e));
        let mut stream = Vec::new();
        let mut count = 0;
        for piece in source.chunks(cut.max(1)) {
            encoder.encode(piece, &mut stream).unwrap_or_else(|e| fail(&spec, &e));
            count += 1;
        }
        assert_eq!(Headers::new(&stream).count(), count);
        let decoded = decode_all(&stream, &mut decoder, source.len());
        assert!(decoded.unwrap_or_else(|e| fail(&spec, &e)) == source, "{spec}: other bytes");
        let first = &source[..cut.max(1).min(source.len())];
        if !first.is_empty() {
            let fresh = encode(&spec, first).unwrap_or_else(|e| fail(&spec, &e));
            assert!(
                stream.starts_with(&fresh),
                "{spec}: an encoder keeps something between blocks"
            );
        }
    }
}

#[expect(clippy::panic, reason = "a law that does not hold is a panic")]
fn fail<T>(spec: &CodecSpec, error: &CodecError) -> T {
    panic!("{spec}: {error}")
}

/// Law: any single flipped bit in a block is an error, and so is a cut at any byte; both are damage, or at worst something
/// not supported.
pub fn refuse_damage(source: &[u8]) {
    for spec in specs() {
        let mut block = encode(&spec, source).unwrap_or_else(|e| fail(&spec, &e));
        for bit in 0..8 * block.len() {
            block[bit / 8] ^= 1 << (bit % 8);
            let error = decode(&block).expect_err_or(&spec, "a flipped bit");
            assert_eq!(error.kind(), Kind::Corrupt, "{spec}: bit {bit}: {error}");
            block[bit / 8] ^= 1 << (bit % 8);
        }
        for cut in 1..block.len() {
            let error = decode(&block[..cut]).expect_err_or(&spec, "a cut");
            assert_eq!(error.kind(), Kind::Corrupt, "{spec}: cut at {cut}: {error}");
        }
    }
}

/// [`Result::expect_err`] that names the codec.
trait ExpectError {
    fn expect_err_or(self, spec: &CodecSpec, what: &str) -> CodecError;
}

impl ExpectError for Result<Vec<u8>, CodecError> {
    #[expect(clippy::panic, reason = "a law that does not hold is a panic")]
    fn expect_err_or(self, spec: &CodecSpec, what: &str) -> CodecError {
        self.err().unwrap_or_else(|| panic!("{spec}: {what} is accepted"))
    }
}

/// A block with a good checksum around any payload.
pub fn sealed(method: u8, uncompressed_size: u32, payload: &[u8]) -> Vec<u8> {
    let compressed_size = u32::try_from(9 + payload.len()).unwrap_or(u32::MAX);
    let mut header =
        Header { hash: Hash128::default(), method, compressed_size, uncompressed_size };
    let mut block = header.to_bytes().to_vec();
    block.extend(payload);
    header.hash = city_hash_128(&block[16..]);
    block[..16].copy_from_slice(&header.hash.to_bytes());
    block
}

/// Law: a good checksum around hostile content is still safe: an error, or exactly as many bytes as the header says, and
/// never what was in the target before.
pub fn survive_hostile(method: u8, uncompressed_size: u32, payload: &[u8]) {
    let block = sealed(method, uncompressed_size, payload);
    let Ok(block) = Block::parse(&block) else { return };
    if block.header.uncompressed_size as usize > BYTES_MAX {
        return;
    }
    let mut decoder = Decoder::new();
    let mut attempt = |stale| {
        let mut target = vec![stale; block.header.uncompressed_size as usize];
        decoder.decode(&block, &mut target).map(|()| target).map_err(|error| error.to_string())
    };
    assert_eq!(attempt(0xaa), attempt(0x55), "method {method:#x}: stale bytes can be seen");
}

/// Law: walking over any bytes ends, and never says more than there is.
pub fn survive_stream(source: &[u8]) {
    let headers: Vec<_> = Headers::new(source).collect();
    let blocks: Vec<_> = Blocks::new(source).collect();
    assert!(blocks.len() <= headers.len() && headers.len() <= 1 + source.len() / 25);
    for placed in headers.iter().flatten() {
        assert!(placed.offset + placed.item.block_bytes() <= source.len());
    }
    drop(decode(source));
}

/// The law for a fuzzer: method, size and payload of a block; and the same bytes as a stream.
pub fn fuzz_read(input: &[u8]) {
    survive_stream(input);
    if let Some(([choice, low, high], payload)) = input.split_first_chunk::<3>() {
        let known = FAMILIES.get(usize::from(*choice)).map_or(*choice, |family| family.method);
        survive_hostile(known, u32::from(u16::from_le_bytes([*low, *high])), payload);
    }
}
