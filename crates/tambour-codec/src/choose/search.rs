//! The chains of a stream that are worth measuring, and what a chain makes of it: for advice, and for checks of the choice.
//!
//! One ranking on samples of a few blocks serves all objectives. What is ranked first is measured on more blocks; codecs
//! that encode slowly on fewer of them, and by how much they do better there than a quick one of their kind.

use super::back::Back;
use super::block::{Plan, Workshop};
use super::{Choice, Objective, block_bytes, is_text};
use crate::CodecError;
use crate::block::{Block, Decoder, Encoder};
use crate::codec::Element;
use crate::spec::CodecSpec;
use std::time::Duration;

/// Blocks whose samples chains are ranked by.
const RANKED_BLOCKS: usize = 4;
/// Chains are encoded on one block in this many; on fewer where there are very many blocks, on all where there are few.
const BLOCKS_STRIDE: usize = 3;
const BLOCKS_MIN: usize = 8;
/// Of the blocks that chains are encoded on, slow codecs see one in this many ...
const SLOW_STRIDE: usize = 4;
/// ... and no fewer than this.
const SLOW_MIN: usize = 4;
/// A back end that costs no more than this on the samples is measured after the best front end, too.
const NEAR: f64 = 1.02;
/// Decoding is timed so often, and the least time counts.
const TIMINGS: usize = 2;

/// Codecs that are always measured ...
const PLAIN: [&str; 5] = ["NONE", "LZ4", "ZSTD(1)", "ZSTD(3)", "ZSTD(9)"];
/// ... those of Tambour's own, if they are wanted, where they suit the values ...
const OWN: [&str; 3] = ["Pco", "PFOR", "FSST"];
/// ... one that is, too, where nothing else does anything for the values ...
const SLOW: &str = "LZ4HC(9)";
/// ... and what an exhaustive search adds.
const BETWEEN: &str = "ZSTD(6)";

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Blocks of the stream that are encoded at most, spread over it.
    pub blocks_max: usize,
    /// Front ends that are encoded in full for each goal, by their rank on samples; [`usize::MAX`] is every chain of the
    /// list, each on all blocks that are looked at.
    pub candidates_max: usize,
    /// Bytes of a block, for writers that make other ones than we do.
    pub block_bytes: Option<usize>,
    /// Codecs of Tambour's own are measured, too.
    pub own: bool,
    /// The clock by which decoding is measured; libraries read none.
    pub clock: fn() -> Duration,
}

impl Effort {
    /// Everything: what the short search is judged by.
    pub fn exhaustive(clock: fn() -> Duration) -> Self {
        Self {
            blocks_max: usize::MAX,
            candidates_max: usize::MAX,
            block_bytes: None,
            own: false,
            clock,
        }
    }

    fn is_exhaustive(&self) -> bool {
        self.candidates_max == usize::MAX
    }
}

/// What a chain makes of a stream. Every block that was encoded was decoded and compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The chain.
    pub spec: CodecSpec,
    /// Bytes of the blocks that were looked at, before and ...
    pub source_bytes: u64,
    /// ... after, block headers included.
    pub stored_bytes: u64,
    /// Time of decoding, by the clock.
    pub decode: Duration,
}

impl Measured {
    /// Source bytes per stored byte.
    pub fn ratio(&self) -> f64 {
        self.source_bytes as f64 / (self.stored_bytes as f64).max(1.0)
    }
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// Chains to measure: those that did best on samples for any of the objectives, and plain codecs.
    pub specs: Vec<CodecSpec>,
    /// Chains that did better on samples, and are not taken.
    pub passed_over: Vec<CodecSpec>,
}

impl Found {
    fn add(&mut self, spec: CodecSpec, takes: &dyn Fn(&CodecSpec) -> bool) {
        if takes(&spec) && !self.specs.contains(&spec) {
            self.specs.push(spec);
        }
    }
}

/// A chain with what it made of samples.
struct Ranked {
    plan: Plan,
    element: Element,
    spec: CodecSpec,
    bytes: usize,
    decode_ns: f64,
    blocks: usize,
}

impl Ranked {
    fn cost(&self, objective: Objective) -> f64 {
        objective.cost(is_text(self.element), self.bytes, self.decode_ns)
    }
}

/// The chains of the short list, in words of ClickHouse, that are worth measuring on a stream; `takes` says of a chain
/// whether it may be recommended.
pub fn search(
    source: &[u8],
    element: Element,
    effort: &Effort,
    takes: &dyn Fn(&CodecSpec) -> bool,
) -> Result<Found, CodecError> {
    let choice = Choice { words: true, own: effort.own, ..Choice::new(Objective::Size) };
    let mut shop = Workshop::new(choice, element)?;
    let mut found = Found::default();
    let has_fronts = shop.fronts.len() > 1;
    // T64 of floats, for example: a block may have it, a column not.
    let takes = |spec: &CodecSpec| takes(spec) && Encoder::new(spec, element).is_ok();
    let takes: &dyn Fn(&CodecSpec) -> bool = &takes;
    if has_fronts {
        let blocks: Vec<&[u8]> = source.chunks(block_bytes(element).0).collect();
        let ranked = rank(&mut shop, &spread(&blocks, RANKED_BLOCKS))?;
        for objective in Objective::ALL {
            nominate(&ranked, *objective, effort, takes, &mut found);
        }
        if effort.is_exhaustive() {
            for front in &shop.fronts {
                for back in Back::ALL {
                    found.add(spec(front.text, *back)?, takes);
                }
            }
        }
    }
    let own: &[&str] = if effort.own { &OWN } else { &[] };
    for text in PLAIN.iter().chain(own) {
        found.add(text.parse()?, takes);
    }
    if !has_fronts || effort.is_exhaustive() {
        found.add(SLOW.parse()?, takes);
    }
    if effort.is_exhaustive() {
        found.add(BETWEEN.parse()?, takes);
    }
    Ok(found)
}

/// What the chains make of samples of some blocks, added up. Who is not tried on one of them is out.
fn rank(shop: &mut Workshop, blocks: &[&[u8]]) -> Result<Vec<Ranked>, CodecError> {
    let mut sums: Vec<Ranked> = Vec::new();
    for block in blocks {
        for tried in shop.rank(block, Back::RANKED)? {
            if let Some(sum) = sums.iter_mut().find(|sum| sum.plan == tried.plan) {
                sum.bytes += tried.bytes;
                sum.decode_ns += tried.decode_ns;
                sum.blocks += 1;
                continue;
            }
            let spec = spec(shop.fronts[tried.plan.front].text, tried.plan.back)?;
            let (plan, bytes, decode_ns) = (tried.plan, tried.bytes, tried.decode_ns);
            let element = shop.element;
            sums.push(Ranked { plan, element, spec, bytes, decode_ns, blocks: 1 });
        }
    }
    sums.retain(|sum| sum.blocks == blocks.len());
    Ok(sums)
}

/// Adds the best front ends for an objective, each with its best back end, and of the first also what is as good.
fn nominate(
    ranked: &[Ranked],
    objective: Objective,
    effort: &Effort,
    takes: &dyn Fn(&CodecSpec) -> bool,
    found: &mut Found,
) {
    let mut order: Vec<&Ranked> = ranked.iter().collect();
    order.sort_by(|a, b| a.cost(objective).total_cmp(&b.cost(objective)));
    let mut fronts: Vec<usize> = Vec::new();
    let mut least = f64::INFINITY;
    for next in order {
        if !takes(&next.spec) {
            if fronts.is_empty() && !found.passed_over.contains(&next.spec) {
                found.passed_over.push(next.spec.clone());
            }
            continue;
        }
        let (front, cost) = (next.plan.front, next.cost(objective));
        if fronts.is_empty() {
            least = cost;
        }
        if !fronts.contains(&front) && fronts.len() < effort.candidates_max {
            fronts.push(front);
            found.add(next.spec.clone(), takes);
        } else if fronts.first() == Some(&front) && cost <= least * NEAR {
            found.add(next.spec.clone(), takes);
        }
    }
}

/// For chains that end in zstd at a level that is quick: the same at a high one, which is worth a trial where size counts.
pub fn high(spec: &CodecSpec) -> Option<CodecSpec> {
    let mut high = spec.clone();
    let last = high.calls.last_mut().filter(|last| last.name == "ZSTD")?;
    let level: i32 = last.arguments.first().and_then(|level| level.parse().ok()).unwrap_or(1);
    last.arguments = vec!["9".to_owned()];
    (level < 9).then_some(high)
}

/// What one chain makes of a stream.
///
/// ```
/// use tambour_codec::choose::{Effort, measure};
/// use tambour_codec::codec::{Class, Element};
/// # use std::time::Duration;
/// let numbers = Element { width: 4, class: Class::Unsigned };
/// let values: Vec<u8> = (0..50_000_u32).flat_map(u32::to_le_bytes).collect();
/// let effort = Effort { blocks_max: 4, candidates_max: 2, block_bytes: None, own: false, clock: || Duration::ZERO };
/// let plain = measure(&values, &"LZ4".parse()?, numbers, &effort)?;
/// let differences = measure(&values, &"Delta, LZ4".parse()?, numbers, &effort)?;
/// assert!(differences.ratio() > 10.0 * plain.ratio());
/// # Ok::<(), tambour_codec::CodecError>(())
/// ```
pub fn measure(
    source: &[u8],
    spec: &CodecSpec,
    element: Element,
    effort: &Effort,
) -> Result<Measured, CodecError> {
    let blocks = blocks(source, element, effort);
    let quick = if effort.is_exhaustive() { None } else { quick(spec) };
    let count = blocks.len().div_ceil(SLOW_STRIDE).max(SLOW_MIN);
    let few: Vec<&[u8]> = spread(&blocks, count);
    let Some(quick) = quick.filter(|_| few.len() < blocks.len()) else {
        return measure_blocks(&blocks, spec, element, effort.clock);
    };
    // What a quick codec makes of all blocks, less by what the slow one gains on some.
    let mut measured = measure_blocks(&few, spec, element, effort.clock)?;
    let (all, some) = (stored(&blocks, &quick, element)?, stored(&few, &quick, element)?);
    let bytes: usize = blocks.iter().map(|block| block.len()).sum();
    let stretch = bytes as f64 / (measured.source_bytes as f64).max(1.0);
    measured.source_bytes = bytes as u64;
    measured.decode = measured.decode.mul_f64(stretch);
    let product = u128::from(measured.stored_bytes) * all as u128 / (some as u128).max(1);
    measured.stored_bytes = u64::try_from(product).unwrap_or(u64::MAX);
    Ok(measured)
}

/// For chains that end in a codec that encodes slowly: the same with a quick one that does alike.
pub fn quick(spec: &CodecSpec) -> Option<CodecSpec> {
    let mut quick = spec.clone();
    let last = quick.calls.last_mut()?;
    let level: i32 = last.arguments.first().and_then(|level| level.parse().ok()).unwrap_or(0);
    match last.name.as_str() {
        "LZ4HC" => {
            "LZ4".clone_into(&mut last.name);
            last.arguments.clear();
        }
        "ZSTD" if level > 4 => last.arguments = vec!["3".to_owned()],
        _ => return None,
    }
    Some(quick)
}

/// The blocks that chains are encoded on: all, or a share of them.
fn blocks<'a>(source: &'a [u8], element: Element, effort: &Effort) -> Vec<&'a [u8]> {
    let ours = block_bytes(element).0;
    let size = effort.block_bytes.unwrap_or(ours).max(1);
    let blocks: Vec<&[u8]> = source.chunks(size).collect();
    let share = if effort.is_exhaustive() { 1 } else { BLOCKS_STRIDE };
    // Of smaller blocks as many more are looked at.
    let max = effort.blocks_max.saturating_mul((ours / size).max(1));
    spread(&blocks, blocks.len().div_ceil(share).max(BLOCKS_MIN.min(blocks.len())).min(max))
}

/// At most `max` of the blocks, the middle ones of as many stretches.
fn spread<'a>(blocks: &[&'a [u8]], max: usize) -> Vec<&'a [u8]> {
    let taken = max.clamp(1, blocks.len().max(1));
    let middle = |k: usize| blocks.get((2 * k + 1) * blocks.len() / (2 * taken)).copied();
    (0..taken).filter_map(middle).collect()
}

fn spec(front: &str, back: Back) -> Result<CodecSpec, CodecError> {
    let back = back.text();
    match (front, back.as_str()) {
        ("", "") => "NONE".parse(),
        (front, "") => front.parse(),
        ("", back) => back.parse(),
        (front, back) => format!("{front}, {back}").parse(),
    }
}

/// Bytes that a chain makes of blocks, headers included.
fn stored(blocks: &[&[u8]], spec: &CodecSpec, element: Element) -> Result<usize, CodecError> {
    let mut encoder = Encoder::new(spec, element)?;
    let (mut bytes, mut target) = (0, Vec::new());
    for source in blocks {
        target.clear();
        encoder.encode(source, &mut target)?;
        bytes += target.len();
    }
    Ok(bytes)
}

fn measure_blocks(
    blocks: &[&[u8]],
    spec: &CodecSpec,
    element: Element,
    clock: fn() -> Duration,
) -> Result<Measured, CodecError> {
    let (mut encoder, mut decoder) = (Encoder::new(spec, element)?, Decoder::new());
    let (mut stored, mut decoded) = (Vec::new(), Vec::new());
    let (mut source_bytes, mut stored_bytes, mut decode) = (0, 0, Duration::ZERO);
    for source in blocks {
        stored.clear();
        encoder.encode(source, &mut stored)?;
        let block = Block::parse(&stored)?;
        let mut least = Duration::MAX;
        for _ in 0..TIMINGS {
            decoded.clear();
            decoded.resize(source.len(), 0);
            let before = clock();
            decoder.decode(&block, &mut decoded)?;
            least = least.min(clock().saturating_sub(before));
            if decoded != *source {
                let reason = "does not give back what was encoded".to_owned();
                return Err(CodecError::Spec { spec: spec.to_string(), reason });
            }
        }
        decode += least;
        source_bytes += source.len() as u64;
        stored_bytes += stored.len() as u64;
    }
    Ok(Measured { spec: spec.clone(), source_bytes, stored_bytes, decode })
}
