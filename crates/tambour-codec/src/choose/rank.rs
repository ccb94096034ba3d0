//! What all candidates make of a stream, measured: for advice, and for checks of the choice.

use super::back::Back;
use super::block::{Plan, Workshop};
use super::{Choice, Objective, block_bytes};
use crate::CodecError;
use crate::block::{Block, Decoder, Encoder, wrap};
use crate::codec::Element;
use crate::spec::CodecSpec;
use std::time::Duration;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Blocks of the stream that are encoded, spread over it.
    pub blocks_max: usize,
    /// Candidates that are encoded in full, by their rank on samples.
    pub candidates_max: usize,
    /// The clock by which decoding is measured; libraries read none.
    pub clock: fn() -> Duration,
}

/// What a chain made of the blocks that were looked at. Every block was decoded and compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The chain. `T64('padded')` and `ZSTD(1, 'minmatch=7')` are ours: ClickHouse reads their blocks, but has no words for
    /// them; see [`CodecSpec::in_clickhouse`].
    pub spec: CodecSpec,
    /// Bytes before and ...
    pub source_bytes: u64,
    /// ... after, block headers included.
    pub stored_bytes: u64,
    /// Time of decoding, by the clock.
    pub decode: Duration,
    /// The cost of the objective for the bytes looked at: stored bytes, or nanoseconds with bytes at their price.
    pub cost: f64,
}

impl Measured {
    /// Source bytes per stored byte.
    pub fn ratio(&self) -> f64 {
        self.source_bytes as f64 / (self.stored_bytes as f64).max(1.0)
    }
}

/// All candidates for a stream by their measured cost, best first. The plain codecs LZ4, ZSTD(1) and ZSTD(3) are always
/// among them, NONE too.
pub fn rank(
    source: &[u8],
    element: Element,
    objective: Objective,
    effort: &Effort,
) -> Result<Vec<Measured>, CodecError> {
    let blocks = blocks(source, element, effort.blocks_max);
    let mut shop = Workshop::new(Choice::new(objective), element)?;
    // Costs of samples add up over the blocks; whoever is not tried on one is out.
    let mut sums: Vec<(Plan, f64, usize)> = Vec::new();
    for block in &blocks {
        for tried in shop.rank(block)? {
            match sums.iter_mut().find(|sum| sum.0 == tried.plan) {
                Some(sum) => (sum.1, sum.2) = (sum.1 + tried.cost, sum.2 + 1),
                None => sums.push((tried.plan, tried.cost, 1)),
            }
        }
    }
    sums.retain(|sum| sum.2 == blocks.len());
    sums.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut plans: Vec<Plan> = sums.iter().map(|sum| sum.0).take(effort.candidates_max).collect();
    if objective == Objective::Size {
        let best = plans.iter().copied().filter(|plan| plan.back != Back::None).take(2);
        let others = [Back::Zstd(1), Back::Sparse, Back::Zstd(9)];
        let more: Vec<Plan> =
            best.flat_map(|plan| others.map(|back| Plan { back, ..plan })).collect();
        plans.extend(more);
    }
    let plain = [Back::None, Back::Lz4, Back::Zstd(1), Back::Zstd(3)];
    plans.extend(plain.map(|back| Plan { front: 0, back }));
    let mut known: Vec<Plan> = Vec::new();
    let mut found = Vec::new();
    for plan in plans {
        if known.contains(&plan) {
            continue;
        }
        known.push(plan);
        let spec = spec(shop.fronts[plan.front].text, plan.back)?;
        let mut encode = |source: &[u8], target: &mut Vec<u8>| {
            shop.forget();
            let (method, _) = shop.make(plan, source)?;
            wrap(method, &shop.trial, source.len(), target)
        };
        found.push(measure_blocks(&blocks, spec, &mut encode, objective, effort.clock)?);
    }
    found.sort_by(|a, b| a.cost.total_cmp(&b.cost));
    Ok(found)
}

/// What one chain makes of a stream.
pub fn measure(
    source: &[u8],
    spec: &CodecSpec,
    element: Element,
    objective: Objective,
    effort: &Effort,
) -> Result<Measured, CodecError> {
    let blocks = blocks(source, element, effort.blocks_max);
    let mut encoder = Encoder::new(spec, element)?;
    let mut encode = |source: &[u8], target: &mut Vec<u8>| {
        target.clear();
        encoder.encode(source, target)
    };
    measure_blocks(&blocks, spec.clone(), &mut encode, objective, effort.clock)
}

/// At most `max` whole blocks, spread over the stream.
fn blocks(source: &[u8], element: Element, max: usize) -> Vec<&[u8]> {
    let blocks: Vec<&[u8]> = source.chunks(block_bytes(element).0).collect();
    let taken = max.clamp(1, blocks.len().max(1));
    (0..taken).filter_map(|k| blocks.get(k * blocks.len() / taken).copied()).collect()
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

/// Makes a block of bytes, in place of what the vector held.
type Encode<'a> = dyn FnMut(&[u8], &mut Vec<u8>) -> Result<(), CodecError> + 'a;

fn measure_blocks(
    blocks: &[&[u8]],
    spec: CodecSpec,
    encode: &mut Encode<'_>,
    objective: Objective,
    clock: fn() -> Duration,
) -> Result<Measured, CodecError> {
    let mut decoder = Decoder::new();
    let (mut stored, mut decoded) = (Vec::new(), Vec::new());
    let (mut source_bytes, mut stored_bytes, mut decode) = (0, 0, Duration::ZERO);
    for source in blocks {
        encode(source, &mut stored)?;
        let block = Block::parse(&stored)?;
        decoded.clear();
        decoded.resize(source.len(), 0);
        let before = clock();
        decoder.decode(&block, &mut decoded)?;
        decode += clock().saturating_sub(before);
        if decoded != *source {
            let reason = "does not give back what was encoded".to_owned();
            return Err(CodecError::Spec { spec: spec.to_string(), reason });
        }
        source_bytes += source.len() as u64;
        stored_bytes += stored.len() as u64;
    }
    let bytes = usize::try_from(stored_bytes).unwrap_or(usize::MAX);
    let cost = objective.cost(bytes, decode.as_nanos() as f64);
    Ok(Measured { spec, source_bytes, stored_bytes, decode, cost })
}
