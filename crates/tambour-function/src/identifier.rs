//! UUIDs and addresses from texts: `toUUID`, `toIPv4`, `toIPv6`, each with `…OrZero` and `…OrNull`.

use super::text::Texts;
use super::value::{Reject, address};
use super::{Call, Function, Signature, bare, expect_count, wrong};
use crate::FunctionError;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, FixedSizeBinaryArray, PrimitiveArray};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use std::sync::Arc;
use tambour_part::types::DataType;

/// What a text that cannot be read becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Failure {
    Error,
    Zero,
    Null,
}

macro_rules! conversion {
    ($name:literal, $or_zero:literal, $or_null:literal, $result:ident, $read:expr) => {
        [
            Function::new(
                $name,
                |n, s| text_type(n, s, &DataType::$result).map(|()| DataType::$result),
                |c| $read(c, Failure::Error),
            ),
            Function::new(
                $or_zero,
                |n, s| text_type(n, s, &DataType::String).map(|()| DataType::$result),
                |c| $read(c, Failure::Zero),
            ),
            Function::new(
                $or_null,
                |n, s| {
                    text_type(n, s, &DataType::String)
                        .map(|()| DataType::Nullable(Box::new(DataType::$result)))
                },
                |c| $read(c, Failure::Null),
            ),
        ]
    };
}

const ALL: [[Function; 3]; 3] = [
    conversion!("toUUID", "toUUIDOrZero", "toUUIDOrNull", Uuid, |c, failure| {
        sixteen_bytes(c, failure, "a UUID", address::uuid)
    }),
    conversion!("toIPv4", "toIPv4OrZero", "toIPv4OrNull", Ipv4, to_ipv4),
    conversion!("toIPv6", "toIPv6OrZero", "toIPv6OrNull", Ipv6, |c, failure| {
        sixteen_bytes(c, failure, "an IPv6 address", address::ipv6)
    }),
];

/// The functions of this room.
pub(super) const FUNCTIONS: &[Function] = ALL.as_flattened();

/// Texts, and values that have the type already.
fn text_type(name: &'static str, s: &[Signature], same: &DataType) -> Result<(), FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| bare(&first.data_type)) {
        Some(DataType::String | DataType::FixedString(_)) => Ok(()),
        Some(other) if other == same => Ok(()),
        Some(other) => Err(wrong(name, format!("it takes a String, not {other}"))),
        None => Err(wrong(name, "it takes an argument")),
    }
}

fn is_text(call: &Call) -> bool {
    let first = call.operands.first().map(|operand| &operand.data_type);
    matches!(first, Some(DataType::String | DataType::FixedString(_)))
}

/// Reads every text; `None` in the rows that become NULL.
fn read_all<T: Copy + Default>(
    call: &Call,
    failure: Failure,
    what: &str,
    read: impl Fn(&[u8]) -> Result<T, Reject>,
) -> Result<(Vec<T>, Option<NullBuffer>), FunctionError> {
    let texts = Texts::of(&call.values(0)?);
    let mut values = Vec::with_capacity(texts.len());
    let mut nulls = NullBufferBuilder::new(texts.len());
    for row in 0..texts.len() {
        let text = texts.value(row);
        // Fixed strings end with zero bytes.
        let found = text.and_then(|text| read(text.trim_ascii().trim_end_zeros()).ok());
        if let (Some(text), None, Failure::Error) = (text, found, failure) {
            let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
            return Err(call.value_error(row, format!("{shown:?} is not {what}")));
        }
        nulls.append(text.is_some() && (found.is_some() || failure == Failure::Zero));
        values.push(found.unwrap_or_default());
    }
    Ok((values, nulls.finish()))
}

trait TrimZeros {
    fn trim_end_zeros(&self) -> &[u8];
}

impl TrimZeros for [u8] {
    fn trim_end_zeros(&self) -> &[u8] {
        let end = self.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        self.get(..end).unwrap_or_default()
    }
}

fn sixteen_bytes(
    call: &Call,
    failure: Failure,
    what: &str,
    read: fn(&[u8]) -> Result<[u8; 16], Reject>,
) -> Result<ArrayRef, FunctionError> {
    if !is_text(call) {
        return call.values(0);
    }
    let (values, nulls) = read_all(call, failure, what, read)?;
    let bytes = values.into_flattened();
    let array = FixedSizeBinaryArray::try_new(16, bytes.into(), nulls);
    let array =
        array.map_err(|cause| FunctionError::Arrow { operation: "reading texts", cause })?;
    Ok(Arc::new(array))
}

fn to_ipv4(call: &Call, failure: Failure) -> Result<ArrayRef, FunctionError> {
    if !is_text(call) {
        return call.values(0);
    }
    let (values, nulls) = read_all(call, failure, "an IPv4 address", address::ipv4)?;
    Ok(Arc::new(PrimitiveArray::<UInt32Type>::new(values.into(), nulls)))
}
