//! Laws of the LZ4 kernels.

use crate::oracle;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tambour_kernel::lz4::{
    self, Block, DECODE_VARIANTS, Encoder, Level, Malformed, Policy, Selector,
};
use tambour_kernel::variant::Isa;

/// What every variant makes of a block: the error, or the bytes.
///
/// Law: all variants accept the same blocks, return the bytes of the naive decoder and report the same error; nothing of
/// what was in the target before can be seen in an accepted result.
pub fn decode_alike(source: &[u8], length: usize) -> Result<Vec<u8>, Malformed> {
    let expected = oracle::naive_lz4_decode(source, length);
    let mut verdict = None;
    for variant in DECODE_VARIANTS.available() {
        for stale in [0xaa, 0x55] {
            let mut target = vec![stale; length];
            let result = variant.decode(source, &mut target);
            let name = variant.name();
            match &expected {
                Some(bytes) => {
                    assert_eq!(result, Ok(()), "{name} refuses a good block");
                    assert!(*bytes == target, "{name} decodes wrongly");
                }
                None => assert!(result.is_err(), "{name} accepts a malformed block"),
            }
            assert_eq!(*verdict.get_or_insert(result), result, "{name} reports another error");
        }
    }
    match verdict {
        Some(Err(malformed)) => Err(malformed),
        _ => Ok(expected.unwrap_or_default()),
    }
}

/// Law: as [`decode_alike`], and C lz4 and `lz4_flex` agree, apart from the known differences.
///
/// We take blocks that break the rules for the end of a block, which C lz4 may refuse; we refuse offset 0, which others may
/// take.
pub fn decode_like_others(source: &[u8], length: usize) {
    let ours = decode_alike(source, length);
    let mut target = vec![0; length];
    if oracle::c_lz4_decode(source, &mut target) {
        compare(&ours, &target, "C lz4");
    }
    let mut target = vec![0; length];
    if lz4_flex::block::decompress_into(source, &mut target).is_ok_and(|written| written == length)
    {
        compare(&ours, &target, "lz4_flex");
    }
}

fn compare(ours: &Result<Vec<u8>, Malformed>, theirs: &[u8], name: &str) {
    match ours {
        Ok(bytes) => assert!(bytes == theirs, "{name} decodes otherwise"),
        Err(malformed) => {
            let known = matches!(malformed, Malformed::Offset { offset: 0, .. });
            assert!(known, "{name} accepts a block that we refuse: {malformed}");
        }
    }
}

/// Encodes with our encoder.
pub fn encode(source: &[u8], acceleration: u32) -> Vec<u8> {
    let mut target = vec![0xaa; lz4::bound(source.len())];
    let size = lz4::encode(source, &mut target, &mut lz4::Table::new(), acceleration);
    target.truncate(size.unwrap_or_default());
    assert!(!target.is_empty(), "a target of the bound is refused");
    target
}

/// Law: what we encode, everybody decodes to the source; what others encode, we do.
pub fn round_trip(source: &[u8]) {
    for acceleration in [1, 2, 40] {
        let block = encode(source, acceleration);
        check_block(&block, source);
        check_end(&block, source.len());
    }
    check_block(&lz4_flex::block::compress(source), source);
    let mut block = vec![0; lz4::bound(source.len())];
    for acceleration in [1, 40] {
        let size = oracle::c_lz4_encode(source, &mut block, acceleration);
        check_block(&block[..size], source);
    }
    check_block(&oracle::c_lz4_encode_high(source, 9), source);
}

/// Every level that behaves differently.
pub const LEVELS: &[Level] = &[
    Level::Fast { acceleration: 1 },
    Level::Fast { acceleration: 9 },
    Level::High(3),
    Level::High(4),
    Level::High(5),
    Level::High(6),
    Level::High(7),
    Level::High(8),
    Level::High(9),
    Level::High(10),
    Level::High(11),
    Level::High(12),
    Level::DecodeSpeed,
];

/// One encoder for each of [`LEVELS`], to be used again and again.
#[derive(Debug)]
pub struct Encoders(Vec<Encoder>);

impl Default for Encoders {
    fn default() -> Self {
        Self(LEVELS.iter().map(|&level| Encoder::new(level)).collect())
    }
}

impl Encoders {
    /// Law: a block of any level decodes to its source, for us and for others, and keeps the rules for the end.
    pub fn round_trip(&mut self, source: &[u8]) {
        for encoder in &mut self.0 {
            let block = encode_with(encoder, b"", source);
            check_block(&block, source);
            check_end(&block, source.len());
        }
    }

    /// Law: as [`Encoders::round_trip`] with a dictionary, which may be a buffer's start as well.
    pub fn round_trip_with_dictionary(&mut self, dictionary: &[u8], source: &[u8]) {
        let buffer = [dictionary, source].concat();
        for encoder in &mut self.0 {
            let block = encode_with(encoder, dictionary, source);
            let level = encoder.level();
            let decoded = oracle::naive_lz4_decode_behind(dictionary, &block, source.len());
            assert!(decoded.as_deref() == Some(source), "{level:?}: decodes otherwise");
            let mut target = vec![0; source.len()];
            let accepted = oracle::c_lz4_decode_with_dictionary(dictionary, &block, &mut target);
            assert!(accepted && target == source, "{level:?}: C lz4 disagrees");
            check_end(&block, source.len());
            let mut behind = vec![0; block.len()];
            let size = encoder.encode_behind(&buffer, dictionary.len(), &mut behind);
            assert!(size == Some(block.len()) && behind == block, "{level:?}: depends on the call");
        }
    }

    /// Law: a target is long enough when the block fits, whatever its length; and what was encoded before leaves no trace.
    pub fn fit_exactly(&mut self, source: &[u8]) {
        for encoder in &mut self.0 {
            let level = encoder.level();
            let block = encode_with(&mut Encoder::new(level), b"", source);
            for room in 0..=lz4::bound(source.len()) {
                let mut target = vec![0xaa; room];
                let size = encoder.encode(source, &mut target);
                if room >= block.len() {
                    assert_eq!(size, Some(block.len()), "{level:?} in {room} bytes");
                    assert!(target.starts_with(&block), "{level:?} in {room} bytes");
                } else if let Some(size) = size {
                    // Where literals alone would decode faster, there is a shorter block, too.
                    assert_eq!(
                        level,
                        Level::DecodeSpeed,
                        "{size} bytes instead of {}",
                        block.len()
                    );
                    check_block(&target[..size], source);
                }
            }
        }
    }
}

fn encode_with(encoder: &mut Encoder, dictionary: &[u8], source: &[u8]) -> Vec<u8> {
    let mut target = vec![0xaa; lz4::bound(source.len())];
    let size = encoder.encode_with_dictionary(dictionary, source, &mut target);
    target.truncate(size.unwrap_or_default());
    assert!(!target.is_empty(), "a target of the bound is refused");
    target
}

/// The law for a fuzzer: two bytes say how much of the rest is a dictionary.
pub fn fuzz_encode(input: &[u8]) {
    thread_local! {
        static ENCODERS: std::cell::RefCell<Encoders> = std::cell::RefCell::default();
    }
    let Some((length, rest)) = input.split_first_chunk::<2>() else { return };
    let (dictionary, source) =
        rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    ENCODERS.with_borrow_mut(|encoders| {
        encoders.round_trip(rest);
        encoders.round_trip_with_dictionary(dictionary, source);
        if source.len() < 80 {
            encoders.fit_exactly(source);
        }
    });
}

/// A block decodes to the source, by us and by others.
fn check_block(block: &[u8], source: &[u8]) {
    let decoded = decode_alike(block, source.len());
    assert!(decoded.as_deref() == Ok(source), "decodes otherwise: {:?}", decoded.err());
    let mut target = vec![0; source.len()];
    assert!(oracle::c_lz4_decode(block, &mut target) && target == source, "C lz4 disagrees");
    let result = lz4_flex::block::decompress_into(block, &mut target);
    let whole = result.is_ok_and(|written| written == source.len());
    assert!(whole && target == source, "lz4_flex disagrees");
}

/// Law: the last five bytes of a block are literals, and the last match starts twelve bytes before the end or earlier.
fn check_end(block: &[u8], length: usize) {
    let (mut at, mut written) = (0, 0);
    loop {
        let token = block[at];
        let literals = walk_length(block, &mut at, token >> 4);
        at += literals;
        written += literals;
        if at == block.len() {
            assert!(literals == length || literals >= 5, "the last literals are {literals}");
            return;
        }
        assert!(written + 12 <= length, "a match starts at {written} of {length}");
        at += 1;
        written += walk_length(block, &mut at, token & 15) + 4;
    }
}

/// Walks over the byte at `at` and those that extend the length.
fn walk_length(block: &[u8], at: &mut usize, half: u8) -> usize {
    *at += 1;
    let mut length = usize::from(half);
    if half == 15 {
        loop {
            let byte = block[*at];
            *at += 1;
            length += usize::from(byte);
            if byte != 255 {
                break;
            }
        }
    }
    length
}

/// Law: a block of a source is refused when it is cut anywhere, and when the target is one byte too long or too short.
pub fn refuse_cut(source: &[u8]) {
    let block = encode(source, 1);
    for cut in 0..block.len() {
        assert!(decode_alike(&block[..cut], source.len()).is_err(), "cut at {cut} is accepted");
    }
    assert!(decode_alike(&block, source.len() + 1).is_err(), "too long a target is accepted");
    if let Some(short) = source.len().checked_sub(1) {
        assert!(decode_alike(&block, short).is_err(), "too short a target is accepted");
    }
}

/// Law: whichever bit of a block is flipped, all variants agree on what it is now.
pub fn survive_flips(source: &[u8]) {
    let mut block = encode(source, 1);
    for bit in 0..8 * block.len() {
        block[bit / 8] ^= 1 << (bit % 8);
        decode_like_others(&block, source.len());
        block[bit / 8] ^= 1 << (bit % 8);
    }
}

/// The law for a fuzzer: two bytes of length, then the block.
pub fn fuzz_decode(input: &[u8]) {
    if let Some((length, block)) = input.split_first_chunk::<2>() {
        decode_like_others(block, usize::from(u16::from_le_bytes(*length)));
    }
    round_trip(input);
}

/// A block for the laws of batches: what is encoded, and the length that it claims.
pub type Claim = (Vec<u8>, usize);

/// Law: blocks decoded in one call come out as each of them alone, whoever their neighbours are: with every variant, and
/// with a selector of every policy, cold and warm. Every bit of the outcome is the same; a clock that jumps changes nothing.
pub fn batch_alike(claims: &[Claim]) {
    let expected: Vec<_> = claims.iter().map(|(block, length)| verdict(block, *length)).collect();
    for variant in DECODE_VARIANTS.available() {
        let run = |blocks: &mut [Block<'_>]| variant.decode_batch(blocks);
        check_batch(claims, &expected, variant.name(), run);
    }
    for (name, policy) in policies() {
        for clock in [lz4::ticks, jumping_clock] {
            let mut selector = Selector::new(policy, Isa::best(), clock);
            for _ in 0..3 {
                check_batch(claims, &expected, name, |blocks| selector.decode_batch(blocks));
                check_batch(claims, &expected, name, |blocks| {
                    for block in blocks {
                        block.result = selector.decode(block.source, block.target);
                    }
                });
            }
            let learned = selector.learned();
            assert!(learned.iter().all(|one| one.calls > 0 || one.bytes == 0), "{learned:?}");
        }
    }
}

/// One decoder's outcome stands for all: [`decode_alike`] is the law for that.
fn verdict(block: &[u8], length: usize) -> Result<Vec<u8>, Malformed> {
    let mut target = vec![0; length];
    DECODE_VARIANTS.best().decode(block, &mut target).map(|()| target)
}

/// All policies of a selector, with names.
pub fn policies() -> Vec<(&'static str, Policy)> {
    let mut policies = vec![
        ("adaptive", Policy::Adaptive),
        ("thompson", Policy::Thompson),
        ("deterministic", Policy::Deterministic),
    ];
    policies.extend(DECODE_VARIANTS.available().map(|one| (one.name(), Policy::Fixed(one))));
    policies
}

/// A clock that makes every choice look best now and then.
fn jumping_clock() -> u64 {
    static NOW: AtomicU64 = AtomicU64::new(1);
    let next = NOW.load(Relaxed).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(7);
    NOW.store(next, Relaxed);
    next >> 40
}

fn check_batch(
    claims: &[Claim],
    expected: &[Result<Vec<u8>, Malformed>],
    name: &str,
    run: impl FnOnce(&mut [Block<'_>]),
) {
    let mut targets: Vec<_> = claims.iter().map(|(_, length)| vec![0xaa; *length]).collect();
    let pairs = claims.iter().zip(&mut targets);
    let mut blocks: Vec<_> =
        pairs.map(|((block, _), target)| Block::new(block, target.as_mut_slice())).collect();
    // What stands there before must not matter.
    for block in blocks.iter_mut().step_by(2) {
        block.result = Err(Malformed::Truncated { at: 0 });
    }
    run(&mut blocks);
    for (k, (block, expected)) in blocks.iter().zip(expected).enumerate() {
        match expected {
            Ok(bytes) => {
                assert_eq!(block.result, Ok(()), "{name} refuses the good block {k}");
                assert!(block.target == &bytes[..], "{name} decodes block {k} wrongly");
            }
            Err(malformed) => assert_eq!(block.result, Err(*malformed), "{name}, block {k}"),
        }
    }
}

/// Law: a part of a block is the start of the whole, whatever is wanted of it, and the bytes after the sequence that fills
/// the target are not missed. A block that is shorter than what is wanted gives what it has.
pub fn partial_alike(source: &[u8], length: usize, wanted: usize) {
    let Some(whole) = oracle::naive_lz4_decode(source, length) else { return };
    for variant in DECODE_VARIANTS.available() {
        let name = variant.name();
        let mut target = vec![0xaa; wanted];
        let written = lz4::decode_partial(variant, source, &mut target);
        assert_eq!(written, Ok(wanted.min(length)), "{name}: {wanted} of {length}");
        assert!(target.starts_with(&whole[..wanted.min(length)]), "{name}: {wanted} of {length}");
    }
}

/// Law: a part of any bytes is memory-safe, all variants agree on it, and it is what the bytes start with.
pub fn partial_of_hostile(source: &[u8], wanted: usize) {
    let mut verdict = None;
    for variant in DECODE_VARIANTS.available() {
        for stale in [0xaa, 0x55] {
            let mut target = vec![stale; wanted];
            let result = lz4::decode_partial(variant, source, &mut target).map(|written| {
                target.truncate(written);
                target
            });
            let first = verdict.get_or_insert_with(|| result.clone());
            assert!(*first == result, "{} differs: {:?}", variant.name(), result.err());
        }
    }
}

/// Law: a block whose matches reach before its start decodes alike with an external dictionary, and directly after its
/// prefix; without a dictionary, as any block. All variants agree, and so does the naive decoder.
pub fn dictionary_alike(dictionary: &[u8], source: &[u8], length: usize) {
    let expected = oracle::naive_lz4_decode_behind(dictionary, source, length);
    let mut verdict = None;
    for variant in DECODE_VARIANTS.available() {
        for stale in [0xaa, 0x55] {
            let name = variant.name();
            let mut target = vec![stale; length];
            let result = lz4::decode_with_dictionary(variant, dictionary, source, &mut target);
            check_behind(expected.as_ref(), result, &target, name);
            assert_eq!(*verdict.get_or_insert(result), result, "{name} reports another error");
            let mut buffer = dictionary.to_vec();
            buffer.resize(dictionary.len() + length, stale);
            let result = lz4::decode_behind(variant, source, &mut buffer, dictionary.len());
            check_behind(expected.as_ref(), result, &buffer[dictionary.len()..], name);
            assert!(buffer.starts_with(dictionary), "{name} writes to what lies before");
            if dictionary.is_empty() {
                assert_eq!(verdict, Some(result), "{name} reports another error");
                assert_eq!(variant.decode(source, &mut target), result, "{name}");
            }
        }
    }
    for (name, policy) in [("adaptive", Policy::Adaptive), ("thompson", Policy::Thompson)] {
        let mut selector = Selector::new(policy, Isa::best(), jumping_clock);
        // Some calls more than it takes to have tried every variant.
        for _ in 0..16 {
            let mut buffer = dictionary.to_vec();
            buffer.resize(dictionary.len() + length, 0xaa);
            let result = selector.decode_behind(source, &mut buffer, dictionary.len());
            check_behind(expected.as_ref(), result, &buffer[dictionary.len()..], name);
        }
    }
}

fn check_behind(
    expected: Option<&Vec<u8>>,
    result: Result<(), Malformed>,
    target: &[u8],
    name: &str,
) {
    match expected {
        Some(bytes) => {
            assert_eq!(result, Ok(()), "{name} refuses a good block");
            assert!(bytes == target, "{name} decodes wrongly");
        }
        None => assert!(result.is_err(), "{name} accepts a malformed block"),
    }
}

/// The law for a fuzzer: blocks, each with two bytes of length in front and two for its own.
pub fn fuzz_batch(input: &[u8]) {
    let mut claims = Vec::new();
    let mut rest = input;
    while let Some((head, tail)) = rest.split_first_chunk::<4>() {
        let [a, b, c, d] = *head;
        let (size, length) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        let (block, tail) = tail.split_at(usize::from(size).min(tail.len()));
        claims.push((block.to_vec(), usize::from(length)));
        rest = tail;
    }
    batch_alike(&claims);
    if let Some((block, length)) = claims.first() {
        partial_of_hostile(block, *length);
        dictionary_alike(&input[input.len() / 2..], block, *length);
    }
}
