//! Chains for the streams of a column, measured.

use super::server::{Version, verdict};
use super::streams::{StreamBytes, Streams};
use super::{AdviseOptions, Measure};
use crate::StoreError;
use std::time::Duration;
use tambour_codec::choose::{self, Effort, Measured, Objective};
use tambour_codec::codec::Element;
use tambour_codec::spec::CodecSpec;
use tambour_part::DataType;
use tambour_part::column::StreamKind;

/// Chains for what only general-purpose codecs are for.
const GENERIC: [&str; 7] = ["NONE", "LZ4", "LZ4HC(9)", "ZSTD(1)", "ZSTD(3)", "ZSTD(6)", "ZSTD(9)"];

/// The effort of a measurement.
fn effort(options: &AdviseOptions) -> Effort {
    let AdviseOptions { blocks_max, candidates_max, clock, .. } = *options;
    Effort { blocks_max, candidates_max, clock }
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
    }
}

fn measure_stream(
    streams: &Streams,
    stream: &StreamBytes,
    spec: &CodecSpec,
    options: &AdviseOptions,
) -> Result<Part, StoreError> {
    if stream.bytes.is_empty() {
        return Ok(Part::default());
    }
    let effort = effort(options);
    let measured = choose::measure(&stream.bytes, spec, stream.element, options.goal, &effort);
    let wrong = |cause| StoreError::Codec { column: streams.column.clone(), cause };
    Ok(Part::of(&measured.map_err(wrong)?, stream.bytes.len()))
}

/// What a codec makes of a column: the whole chain for values, its general-purpose members for everything else.
pub(super) fn measure(
    streams: &Streams,
    spec: &CodecSpec,
    scale: f64,
    options: &AdviseOptions,
) -> Result<Measure, StoreError> {
    let generic = spec.generic_only();
    let parts: Result<Vec<Part>, StoreError> = streams
        .all
        .iter()
        .map(|stream| {
            let own = if stream.kind == StreamKind::Values { spec } else { &generic };
            measure_stream(streams, stream, own, options)
        })
        .collect();
    Ok(total(streams, spec.clone(), &parts?, scale))
}

/// Chains that were measured, and those that the server does not take, with the reason.
type Ranked = (Vec<Measure>, Vec<(CodecSpec, String)>);

/// Chains that a server takes, measured, the smallest first; and better ones that it does not take.
pub(super) fn rank(
    streams: &Streams,
    data_type: &DataType,
    scale: f64,
    options: &AdviseOptions,
) -> Result<Ranked, StoreError> {
    let server = options.server.unwrap_or(Version::NEWEST);
    let mut refused = Vec::new();
    let mut specs: Vec<CodecSpec> = Vec::new();
    let mut known: Vec<Measured> = Vec::new();
    if let Some(stream) = special(streams) {
        let goals = if options.candidates_max == usize::MAX {
            &Objective::ALL[..1]
        } else {
            Objective::ALL
        };
        for goal in goals {
            let found = choose::rank(&stream.bytes, stream.element, *goal, &effort(options));
            let wrong = |cause| StoreError::Codec { column: streams.column.clone(), cause };
            known.extend(found.map_err(wrong)?);
        }
        // What has no words in ClickHouse becomes the nearest chain that has.
        for spec in known.iter().filter_map(|known| known.spec.in_clickhouse()) {
            if specs.contains(&spec) {
                continue;
            }
            let verdict = verdict(&spec, data_type, server);
            if verdict.is_usable() {
                specs.push(spec);
            } else if !refused.iter().any(|(known, _)| *known == spec) {
                refused.push((spec, verdict.to_string()));
            }
        }
    }
    for spec in GENERIC {
        let spec: CodecSpec = spec
            .parse()
            .map_err(|cause| StoreError::Codec { column: streams.column.clone(), cause })?;
        if !specs.contains(&spec) && verdict(&spec, data_type, server).is_usable() {
            specs.push(spec);
        }
    }
    let mut measured = Vec::with_capacity(specs.len());
    for spec in specs {
        measured.push(total_of(streams, spec, &known, scale, options)?);
    }
    measured.sort_by_key(|measure| measure.stored_bytes);
    Ok((measured, refused))
}

/// The stream that chains are made for, if there is one that more than general-purpose codecs can do something for.
fn special(streams: &Streams) -> Option<&StreamBytes> {
    let mut values = streams.values();
    match (values.next(), values.next()) {
        (Some(stream), None) if !stream.bytes.is_empty() && stream.element != Element::BYTES => {
            Some(stream)
        }
        _ => None,
    }
}

/// As [`measure`], but what the ranking has measured already is not measured again.
fn total_of(
    streams: &Streams,
    spec: CodecSpec,
    known: &[Measured],
    scale: f64,
    options: &AdviseOptions,
) -> Result<Measure, StoreError> {
    let Some(found) =
        known.iter().filter(|known| known.spec == spec).min_by_key(|known| known.decode)
    else {
        return measure(streams, &spec, scale, options);
    };
    let generic = spec.generic_only();
    let parts: Result<Vec<Part>, StoreError> = streams
        .all
        .iter()
        .map(|stream| match stream.kind {
            StreamKind::Values => Ok(Part::of(found, stream.bytes.len())),
            _ => measure_stream(streams, stream, &generic, options),
        })
        .collect();
    Ok(total(streams, spec, &parts?, scale))
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
