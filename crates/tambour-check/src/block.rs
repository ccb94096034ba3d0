//! Laws of compressed blocks and codecs.

use crate::generate::Random;
use crate::naive;
use std::sync::LazyLock;
use tambour_codec::block::stream::{Blocks, Headers, decode_all};
use tambour_codec::block::{Block, Decoder, Encoder, Header};
use tambour_codec::codec::{ALIASES, Class, Element, FAMILIES, Scope};
use tambour_codec::spec::CodecSpec;
use tambour_codec::{CodecError, Kind};
use tambour_kernel::hash::{Hash128, city_hash_128};

/// Most bytes that a law lets a hostile stream decode to.
const BYTES_MAX: usize = 1 << 20;

/// A codec or a chain, for a stream of such elements.
#[derive(Clone, Debug)]
pub struct Case {
    /// The specification.
    pub spec: CodecSpec,
    /// The elements.
    pub element: Element,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {}", self.spec, self.element)
    }
}

/// Arguments with which some family can be built.
const ARGUMENTS: &[&str] = &[
    "",
    "(1)",
    "(2)",
    "(4)",
    "(8)",
    "('bit')",
    "('padded')",
    "('wide')",
    "(1, 'minmatch=7')",
    "(STD)",
    "(3, 24)",
    "(5, 4)",
];
/// Chains around codecs of values: what follows them, and what stands between them.
const CHAINS: &[&str] =
    &["{}, LZ4", "{}, ZSTD(3)", "LZ4, {}", "Delta, {}, T64, LZ4", "{}, {}", "{}, NONE, {}, GCD"];

/// Every family with every argument that it takes and for all elements that it suits, and chains of those.
pub fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        let mut cases = Vec::new();
        let mut add = |text: &str, element| {
            let Ok(spec) = text.parse::<CodecSpec>() else { return };
            if Encoder::new(&spec, element).is_ok() {
                cases.push(Case { spec, element });
            }
        };
        for family in FAMILIES.iter().chain(ALIASES) {
            for arguments in ARGUMENTS {
                let text = format!("{}{arguments}", family.name);
                match family.scope {
                    Scope::Values if arguments.is_empty() => elements().for_each(|e| add(&text, e)),
                    _ => add(&text, Element::UNKNOWN),
                }
            }
            for (chain, element) in CHAINS.iter().zip(elements().skip(2).step_by(3)) {
                add(&chain.replace("{}", family.name), element);
            }
        }
        cases
    });
    &CASES
}

/// Elements of every class and width.
fn elements() -> impl Iterator<Item = Element> {
    let numbers = [Class::Unsigned, Class::Signed, Class::Float].into_iter().flat_map(|class| {
        let widths: &[u8] = if class == Class::Float { &[2, 4, 8] } else { &[1, 2, 4, 8, 16, 32] };
        widths.iter().map(move |&width| Element { width, class })
    });
    numbers.chain([Element::BYTES, Element { width: 16, class: Class::Bytes }])
}

/// One block that holds `source`, encoded for elements of which nothing is known.
pub fn encode(spec: &CodecSpec, source: &[u8]) -> Result<Vec<u8>, CodecError> {
    let case = Case { spec: spec.clone(), element: Element::UNKNOWN };
    encode_case(&case, source)
}

fn encode_case(case: &Case, source: &[u8]) -> Result<Vec<u8>, CodecError> {
    let mut target = Vec::new();
    Encoder::new(&case.spec, case.element)?.encode(source, &mut target)?;
    Ok(target)
}

/// ALP encodes whole values only: a refusal, if such a codec is in the chain, of anything else.
fn is_cut_value(case: &Case, error: &CodecError) -> bool {
    let is_alp = case.spec.calls.iter().any(|call| call.name == "ALP");
    is_alp && error.kind() == Kind::Argument && error.to_string().contains("whole values")
}

fn decode(source: &[u8]) -> Result<Vec<u8>, CodecError> {
    decode_all(source, &mut Decoder::new(), BYTES_MAX)
}

/// Law: for every codec, a stream of blocks decodes to what was encoded, however it was cut into blocks, and one encoder
/// gives the same block for the same bytes each time.
pub fn round_trip(source: &[u8], cut: usize) {
    for case in cases() {
        round_trip_case(case, source, cut);
    }
}

fn round_trip_case(case: &Case, source: &[u8], cut: usize) {
    let mut encoder = Encoder::new(&case.spec, case.element).unwrap_or_else(|e| fail(case, &e));
    let mut stream = Vec::new();
    let mut count = 0;
    for piece in source.chunks(cut.max(1)) {
        match encoder.encode(piece, &mut stream) {
            Err(error) if is_cut_value(case, &error) => return,
            result => result.unwrap_or_else(|e| fail(case, &e)),
        }
        count += 1;
    }
    assert_eq!(Headers::new(&stream).count(), count);
    let decoded = decode_all(&stream, &mut Decoder::new(), source.len());
    assert!(decoded.unwrap_or_else(|e| fail(case, &e)) == source, "{case}: other bytes");
    let first = &source[..cut.max(1).min(source.len())];
    if !first.is_empty() {
        let fresh = encode_case(case, first).unwrap_or_else(|e| fail(case, &e));
        assert!(stream.starts_with(&fresh), "{case}: an encoder keeps something between blocks");
    }
}

/// Law: whatever is chosen for a stream, for any elements and objective, decodes to what was encoded.
pub fn choose(source: &[u8], cut: usize) {
    let texts =
        ["auto(size)", "auto(speed)", "auto(balance)", "auto(size, plain)", "auto(size, own)"];
    let unknown = Element { width: 1, class: Class::Unknown };
    for (text, element) in
        texts.iter().cycle().zip(elements().chain([unknown]).flat_map(|element| [element; 3]))
    {
        let Ok(spec) = text.parse() else { continue };
        round_trip_chosen(&Case { spec, element }, source, cut);
    }
}

fn round_trip_chosen(case: &Case, source: &[u8], cut: usize) {
    let mut encoder = Encoder::new(&case.spec, case.element).unwrap_or_else(|e| fail(case, &e));
    let mut stream = Vec::new();
    for piece in source.chunks(cut.max(1)) {
        encoder.encode(piece, &mut stream).unwrap_or_else(|e| fail(case, &e));
    }
    let decoded = decode_all(&stream, &mut Decoder::new(), source.len());
    assert!(decoded.unwrap_or_else(|e| fail(case, &e)) == source, "{case}: other bytes");
}

#[expect(clippy::panic, reason = "a law that does not hold is a panic")]
fn fail<T>(case: &Case, error: &CodecError) -> T {
    panic!("{case}: {error}")
}

/// Law: any single flipped bit in a block is an error, and so is a cut at any byte; both are damage.
pub fn refuse_damage(source: &[u8]) {
    // The checksum stands for all of them alike: one case per family is enough.
    let mut seen = Vec::new();
    for case in cases() {
        let names: Vec<_> = case.spec.calls.iter().map(|call| &call.name).collect();
        if !seen.contains(&names) {
            seen.push(names);
            refuse_damage_case(case, source);
        }
    }
}

fn refuse_damage_case(case: &Case, source: &[u8]) {
    let mut block = match encode_case(case, source) {
        Err(error) if is_cut_value(case, &error) => return,
        result => result.unwrap_or_else(|e| fail(case, &e)),
    };
    let refuse = |block: &[u8], what: &str, at: usize| {
        let error = decode(block).err().unwrap_or_else(|| accepted(case, what, at));
        assert_eq!(error.kind(), Kind::Corrupt, "{case}: {what} at {at}: {error}");
    };
    for bit in 0..8 * block.len() {
        block[bit / 8] ^= 1 << (bit % 8);
        refuse(&block, "a flipped bit", bit);
        block[bit / 8] ^= 1 << (bit % 8);
    }
    for cut in 1..block.len() {
        refuse(&block[..cut], "a cut", cut);
    }
}

#[expect(clippy::panic, reason = "a law that does not hold is a panic")]
fn accepted(case: &Case, what: &str, at: usize) -> CodecError {
    panic!("{case}: {what} at {at} is accepted")
}

/// Law: whatever a block's payload is, decoding it agrees with the naive decoder of its method.
pub fn decode_like_naive(method: u8, uncompressed_size: u32, payload: &[u8]) {
    let block = sealed(method, uncompressed_size, payload);
    let size = uncompressed_size as usize;
    let Ok(block) = Block::parse(&block) else { return };
    if size > BYTES_MAX {
        return;
    }
    let mut target = vec![0xaa; size];
    let result = Decoder::new().decode(&block, &mut target);
    let expected = naive::decode(method, payload, size);
    match (result, expected) {
        (Ok(()), Some(expected)) => assert!(target == expected, "method {method:#x}: other bytes"),
        (Err(_), None) => {}
        (Ok(()), None) => assert!(method == 0, "method {method:#x}: accepts {payload:02x?}"),
        (Err(error), Some(_)) => {
            assert!(error.kind() == Kind::Unsupported, "method {method:#x}: {error}");
        }
    }
}

/// Law: good payloads of column codecs with some bytes changed are decoded as the naive decoder does, and are survived.
pub fn survive_changes(source: &[u8], seed: u64) {
    let mut random = Random::new(seed);
    for case in cases() {
        let Ok(good) = encode_case(case, source) else { continue };
        let method = good[16];
        let size = u32::try_from(source.len()).unwrap_or(0);
        if naive::METHODS.contains(&method) {
            decode_like_naive(method, size, &good[25..]);
        }
        for _ in 0..if good.len() > 25 { 4 } else { 0 } {
            let mut payload = good[25..].to_vec();
            // Headers matter most.
            let reach = if random.below(2) == 0 { payload.len().min(24) } else { payload.len() };
            let at = random.below(reach);
            payload[at] = random.pick(&[0, 1, 0x7f, 0x80, 0xff, random.clone().byte()]);
            if random.below(4) == 0 {
                payload.truncate(random.below(payload.len() + 1));
            }
            survive_hostile(method, size, &payload);
            if naive::METHODS.contains(&method) {
                decode_like_naive(method, size, &payload);
            }
        }
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
        let size = u32::from(u16::from_le_bytes([*low, *high]));
        survive_hostile(known, size, payload);
        if naive::METHODS.contains(&known) {
            decode_like_naive(known, size, payload);
        }
    }
}

/// The law for a fuzzer of FSST: any bytes are encoded, and are a payload that the naive decoder reads alike.
pub fn fuzz_fsst(input: &[u8]) {
    const METHOD: u8 = 0xe3;
    if let Some(([low, high], payload)) = input.split_first_chunk::<2>() {
        let size = u32::from(u16::from_le_bytes([*low, *high]));
        survive_hostile(METHOD, size, payload);
        decode_like_naive(METHOD, size, payload);
    }
    for case in cases().iter().filter(|case| case.spec.to_string() == "FSST") {
        round_trip_chosen(case, input, input.len());
    }
}

/// The law for a fuzzer: a seed, and bytes to encode and to change.
pub fn fuzz_change(input: &[u8]) {
    if let Some((seed, source)) = input.split_first_chunk::<8>() {
        survive_changes(&source[..source.len().min(4096)], u64::from_le_bytes(*seed));
    }
}
