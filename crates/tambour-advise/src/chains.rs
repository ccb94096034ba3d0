//! Chains for the streams of a column, measured.

use crate::server::verdict;
use crate::streams::{StreamBytes, Streams};
use crate::{AdviseOptions, Measure};
use std::time::Duration;
use tambour_codec::choose::{self, Effort, Measured, Objective};
use tambour_codec::codec::Element;
use tambour_codec::spec::CodecSpec;
use tambour_part::DataType;
use tambour_part::column::StreamKind;
use tambour_table::TableError;

/// The effort of a measurement.
fn effort(options: &AdviseOptions) -> Effort {
    let AdviseOptions { blocks_max, candidates_max, clock, .. } = *options;
    Effort { blocks_max, candidates_max, block_bytes: None, own: !options.portable, clock }
}

/// What a chain makes of one stream, stretched to all its bytes.
#[derive(Clone, Copy, Default)]
struct Part {
    stored: f64,
    decode_ns: f64,
}

impl Part {
    fn of(measured: &Measured, bytes: usize) -> Self {
        let stretch = bytes as f64 / (measured.source_bytes as f64).max(1.0);
        Self {
            stored: measured.stored_bytes as f64 * stretch,
            decode_ns: measured.decode.as_nanos() as f64 * stretch,
        }
    }
}

/// A whole number that is no more exact than the estimate it comes from.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` keeps to the limits, and an estimate is never negative"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

fn total(streams: &Streams, spec: CodecSpec, parts: &[Part], scale: f64) -> Measure {
    let stored: f64 = parts.iter().map(|part| part.stored).sum();
    let decode_ns: f64 = parts.iter().map(|part| part.decode_ns).sum();
    Measure {
        spec,
        raw_bytes: whole(streams.raw_bytes() as f64 * scale),
        stored_bytes: whole(stored * scale),
        decode: Duration::from_nanos(whole(decode_ns * scale)),
        is_text: choose::is_text(streams.element()),
    }
}

/// What chains make of the streams of a column; each stream is encoded once with each.
struct Bench<'a> {
    streams: &'a Streams,
    scale: f64,
    options: &'a AdviseOptions,
    known: Vec<(usize, CodecSpec, Part)>,
}

impl Bench<'_> {
    /// What a codec makes of the column: the whole chain for values, its general-purpose members for everything else.
    fn measure(&mut self, spec: &CodecSpec) -> Result<Measure, TableError> {
        let generic = spec.generic_only();
        let mut parts = Vec::with_capacity(self.streams.all.len());
        for (index, stream) in self.streams.all.iter().enumerate() {
            let own = if stream.kind == StreamKind::Values { spec } else { &generic };
            parts.push(self.stream(index, stream, own)?);
        }
        Ok(total(self.streams, spec.clone(), &parts, self.scale))
    }

    fn stream(
        &mut self,
        index: usize,
        stream: &StreamBytes,
        spec: &CodecSpec,
    ) -> Result<Part, TableError> {
        if stream.bytes.is_empty() {
            return Ok(Part::default());
        }
        let known = self.known.iter().find(|(at, known, _)| *at == index && known == spec);
        if let Some((_, _, part)) = known {
            return Ok(*part);
        }
        let block_bytes = Some(self.streams.block_bytes(stream));
        let effort = Effort { block_bytes, ..effort(self.options) };
        let measured = choose::measure(&stream.bytes, spec, stream.element, &effort);
        let wrong = |cause| TableError::Codec { column: self.streams.column.clone(), cause };
        let part = Part::of(&measured.map_err(wrong)?, stream.bytes.len());
        self.known.push((index, spec.clone(), part));
        Ok(part)
    }
}

/// What a codec makes of a column.
pub(super) fn measure(
    streams: &Streams,
    spec: &CodecSpec,
    scale: f64,
    options: &AdviseOptions,
) -> Result<Measure, TableError> {
    Bench { streams, scale, options, known: Vec::new() }.measure(spec)
}

/// Chains that were measured, and those that the server does not take, with the reason.
type Ranked = (Vec<Measure>, Vec<(CodecSpec, String)>);

/// Chains that a server takes, measured, the smallest first; and better ones that it does not take.
pub(super) fn rank(
    streams: &Streams,
    data_type: &DataType,
    scale: f64,
    options: &AdviseOptions,
) -> Result<Ranked, TableError> {
    let server = options.server();
    let takes = |spec: &CodecSpec| {
        let is_own = !options.portable && !spec.is_portable();
        is_own || verdict(spec, data_type, server).is_usable()
    };
    let (source, element) = special(streams).unwrap_or((&[], Element::BYTES));
    let wrong = |cause| TableError::Codec { column: streams.column.clone(), cause };
    let found = choose::search(source, element, &effort(options), &takes).map_err(wrong)?;
    let mut bench = Bench { streams, scale, options, known: Vec::new() };
    let measured: Result<Vec<Measure>, TableError> =
        found.specs.iter().map(|spec| bench.measure(spec)).collect();
    let mut measured = measured?;
    // High levels are worth their time after what is smallest only.
    let least = measured.iter().min_by_key(|measure| measure.stored_bytes);
    if let Some(spec) = least.and_then(|least| choose::high(&least.spec))
        && takes(&spec)
        && measured.iter().all(|known| known.spec != spec)
    {
        measured.push(bench.measure(&spec)?);
    }
    measured.sort_by_key(|measure| measure.stored_bytes);
    let reason = |spec: CodecSpec| {
        let reason = verdict(&spec, data_type, server).to_string();
        (spec, reason)
    };
    Ok((measured, found.passed_over.into_iter().map(reason).collect()))
}

/// The stream that chains are made for, if there is one that more than general-purpose codecs can do something for.
fn special(streams: &Streams) -> Option<(&[u8], Element)> {
    let mut values = streams.values();
    match (values.next(), values.next()) {
        (Some(stream), None) if !stream.bytes.is_empty() && stream.element != Element::BYTES => {
            Some((&stream.bytes, stream.element))
        }
        _ => None,
    }
}

/// Of chains whose costs are so near, the one of fewest codecs is taken: the rest is noise.
const NEAR: f64 = 1.02;

/// The best for each goal; `now` if nothing was measured.
pub(super) fn best(measured: &[Measure], now: &Measure) -> [Measure; 3] {
    let best = |goal: Objective| {
        let cost = |measure: &&Measure| measure.cost(goal);
        let least = measured.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
        let near = |least: &Measure| {
            // Bytes are counted, not timed.
            let limit = least.cost(goal) * if goal == Objective::Size { 1.0 } else { NEAR };
            let good = measured.iter().filter(|measure| measure.cost(goal) <= limit);
            good.min_by_key(|measure| (measure.spec.calls.len(), measure.stored_bytes)).cloned()
        };
        least.and_then(near).unwrap_or_else(|| now.clone())
    };
    [Objective::ALL[0], Objective::ALL[1], Objective::ALL[2]].map(best)
}
