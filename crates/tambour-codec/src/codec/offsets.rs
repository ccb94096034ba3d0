//! The frame of `PFOR` and `StreamVByte`: integers as distances of at most 32 bits from a base, then what a kernel makes of
//! them. Where the distances are larger, the values follow as they are.
//!
//! `[width][leading][leading bytes][form]`, the base in as many bytes as a value, then the distances.

use super::explain::word;
use super::width::{explain_prefix, read_prefix, write_prefix};
use super::{Inside, Payload};
use crate::CodecError;
use tambour_kernel::column::Width;
use tambour_kernel::integer::Malformed;

/// Instead of a form: the values follow as they are, without a base.
const RAW: u8 = 0xff;

/// Distances of values from the least of them.
struct Distances {
    base: u64,
    values: Vec<u32>,
}

/// The distances modulo the width, if 32 bits hold them. Signed values are shifted, so that they are in order.
fn distances(width: usize, signed: bool, values: &[u8]) -> Option<Distances> {
    let flip = if signed { 1_u64 << (8 * width - 1) } else { 0 };
    let ordered = || values.chunks_exact(width).map(|bytes| word(bytes) ^ flip);
    let (base, most) = (ordered().min()?, ordered().max()?);
    u32::try_from(most - base).ok()?;
    let near = ordered().filter_map(|value| u32::try_from(value - base).ok()).collect();
    Some(Distances { base: base ^ flip, values: near })
}

/// Appends a payload. `encode` appends the distances and returns their form.
pub(super) fn encode_offsets(
    width: Width,
    signed: bool,
    source: &[u8],
    target: &mut Vec<u8>,
    encode: impl FnOnce(&[u32], &mut Vec<u8>) -> Result<u8, CodecError>,
) -> Result<(), CodecError> {
    let values = write_prefix(width.byte(), source, target);
    let start = target.len();
    target.push(RAW);
    if let Some(distances) = distances(width.bytes(), signed, values) {
        target.extend(&distances.base.to_le_bytes()[..width.bytes()]);
        target[start] = encode(&distances.values, target)?;
        if target.len() - start <= values.len() {
            return Ok(());
        }
        target.truncate(start + 1);
        target[start] = RAW;
    }
    target.extend_from_slice(values);
    Ok(())
}

/// What a kernel found wrong with the distances; positions count from their start.
pub(super) fn malformed(codec: &'static str, cause: Malformed) -> CodecError {
    let (at, reason) = match cause {
        Malformed::Truncated { at } | Malformed::Short { at, .. } => (at, "distances cut short"),
        Malformed::Header { at, .. } => (at, "a block of an unknown form"),
        Malformed::Exception { at } => (at, "an exception outside of its block"),
        _ => (0, "distances that cannot be"),
    };
    CodecError::Payload { codec, at, reason }
}

/// Explains a payload whose forms have these names.
pub(super) fn explain_offsets(
    codec: &'static str,
    forms: &[&'static str],
    payload: &Payload<'_>,
    inside: &mut Inside,
) -> Result<(), CodecError> {
    let values = inside.values();
    let prefix = explain_prefix(codec, Width::new, payload, values)?;
    let malformed = |reason| CodecError::Payload { codec, at: prefix.at, reason };
    let Some((&form, rest)) = prefix.source.split_first() else {
        return Err(malformed("no form"));
    };
    values.header_bytes += 1;
    values.value_bytes = rest.len();
    if form == RAW {
        values.say("form", "as they are");
        let whole = values.count * values.width;
        let other = malformed("values of another size than the block's");
        return if rest.len() == whole { Ok(()) } else { Err(other) };
    }
    let name = forms.get(usize::from(form)).ok_or_else(|| malformed("no such form"))?;
    values.say("form", *name);
    let split = rest.split_at_checked(values.width);
    let (base, rest) = split.ok_or_else(|| malformed("base cut short"))?;
    values.header_bytes += base.len();
    values.value_bytes = rest.len();
    values.say("base", word(base));
    Ok(())
}

/// Decodes a payload. `decode` gets form, source and distances, and tells how many bytes it took.
pub(super) fn decode_offsets(
    codec: &'static str,
    source: &[u8],
    target: &mut [u8],
    distances: &mut Vec<u32>,
    decode: impl FnOnce(u8, &[u8], &mut [u32]) -> Result<usize, CodecError>,
) -> Result<(), CodecError> {
    let body = read_prefix(codec, Width::new, source, target)?;
    let malformed = |at, reason| CodecError::Payload { codec, at, reason };
    let width = body.width.bytes();
    let Some((&form, rest)) = body.source.split_first() else {
        return Err(malformed(body.at, "no form"));
    };
    if form == RAW {
        if rest.len() != body.target.len() {
            return Err(malformed(body.at, "values of another size than the block's"));
        }
        body.target.copy_from_slice(rest);
        return Ok(());
    }
    let Some((base, rest)) = rest.split_at_checked(width) else {
        return Err(malformed(body.at, "base cut short"));
    };
    let base = word(base);
    distances.clear();
    distances.resize(body.target.len() / width, 0);
    let taken = decode(form, rest, distances)?;
    if taken != rest.len() {
        return Err(malformed(body.at + 1 + width + taken, "trailing bytes"));
    }
    for (place, distance) in body.target.chunks_exact_mut(width).zip(distances) {
        let value = base.wrapping_add(u64::from(*distance)).to_le_bytes();
        place.copy_from_slice(&value[..width]);
    }
    Ok(())
}
