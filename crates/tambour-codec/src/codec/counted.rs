//! The frame of `DoubleDelta` and `Gorilla`: prefix, u32 count of values, then what a kernel makes of them.

use super::explain::word;
use super::width::{explain_prefix, read_prefix, write_prefix};
use super::{Payload, Values};
use crate::CodecError;
use tambour_kernel::column::{DecodeItems, Width, fill, is_zero};
use tambour_kernel::variant::Runnable;

/// Bytes of the count.
const COUNT_BYTES: usize = 4;

/// Most bytes for this many values, and the encoder that keeps to it.
type Encode = (fn(Width, usize) -> usize, fn(Width, &[u8], &mut [u8]) -> usize);

/// Encodes with a kernel, by way of scratch memory that has room for the worst case.
pub(super) fn encode_counted(
    width: Width,
    scratch: &mut Vec<u8>,
    (bound, encode): Encode,
    source: &[u8],
    target: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let values = write_prefix(width.byte(), source, target);
    let count = values.len() / width.bytes();
    let limit = CodecError::Limit { what: "values", got: count as u64, max: u64::from(u32::MAX) };
    target.extend(u32::try_from(count).map_err(|_| limit)?.to_le_bytes());
    let bound = bound(width, count);
    if scratch.len() < bound {
        scratch.resize(bound, 0);
    }
    let used = encode(width, values, scratch);
    target.extend_from_slice(&scratch[..used]);
    Ok(())
}

/// Explains all up to the first value; returns what follows the count.
pub(super) fn explain_counted<'a>(
    codec: &'static str,
    payload: &Payload<'a>,
    values: &mut Values,
) -> Result<&'a [u8], CodecError> {
    let prefix = explain_prefix(codec, Width::new, payload, values)?;
    let items = split_count(codec, prefix.source, prefix.at, values.count)?;
    values.header_bytes += COUNT_BYTES;
    values.value_bytes = items.len();
    if values.count > 0 && items.len() < values.width {
        let at = prefix.at + COUNT_BYTES;
        return Err(CodecError::Payload { codec, at, reason: "the first value is cut short" });
    }
    Ok(items)
}

/// Takes off a count that has to be this one.
fn split_count<'a>(
    codec: &'static str,
    source: &'a [u8],
    at: usize,
    expected: usize,
) -> Result<&'a [u8], CodecError> {
    let malformed = |reason| CodecError::Payload { codec, at, reason };
    let Some((count, items)) = source.split_first_chunk::<COUNT_BYTES>() else {
        return Err(malformed("count of values cut short"));
    };
    if u32::from_le_bytes(*count) as usize != expected {
        return Err(malformed("count of values differs from the block's size"));
    }
    Ok(items)
}

/// Checks the count against the target and decodes with a kernel. Values after the first `whole` ones, which are written
/// in full, take a bit each as long as nothing changes: where no bit is set, the block has one value.
pub(super) fn decode_counted(
    codec: &'static str,
    (decode, whole): (Runnable<DecodeItems>, usize),
    source: &[u8],
    target: &mut [u8],
) -> Result<(), CodecError> {
    let body = read_prefix(codec, Width::new, source, target)?;
    let malformed = |at, reason| CodecError::Payload { codec, at, reason };
    let expected = body.target.len() / body.width.bytes();
    let items = split_count(codec, body.source, body.at, expected)?;
    let at = body.at + COUNT_BYTES;
    if let Some((first, changes)) = items.split_at_checked(body.width.bytes())
        && expected >= whole
        && changes.len() == (whole - 1) * body.width.bytes() + (expected - whole).div_ceil(8)
        && is_zero(changes)
    {
        fill(body.width, word(first), body.target);
        return Ok(());
    }
    let decoded = decode.decode(body.width, items, body.target);
    decoded.map_err(|cause| malformed(at + cause.at, cause.reason))
}
