//! UUIDs and addresses from texts: `toUUID`, `toIPv4`, `toIPv6`, each with `…OrZero` and `…OrNull`.

use super::access::{Failure, Kind, takes, type_at};
use super::moment::constant_integer;
use super::text::Texts;
use super::value::{Reject, address};
use super::{Call, Function, Signature, bare, expect_count, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, FixedSizeBinaryArray, PrimitiveArray};
use arrow_buffer::{NullBuffer, NullBufferBuilder};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tambour_part::types::DataType;

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
pub(super) const FUNCTIONS: [&[Function]; 2] = [ALL.as_flattened(), AS_BYTES];

/// UUIDs as sixteen bytes, in the order in which they are written or, as variant 2, in that of Microsoft.
const AS_BYTES: &[Function] = &[
    Function::new(
        "UUIDNumToString",
        |n, s| variant_type(n, s, &[DataType::FixedString(16)]).map(|()| DataType::String),
        |c| {
            let (bytes, variant) = (c.texts(0)?, Variant::of(c)?);
            c.make_texts(|row, out| out.extend(variant.text(bytes.get(row)).into_bytes()))
        },
    ),
    Function::new(
        "UUIDStringToNum",
        |n, s| {
            variant_type(n, s, &[DataType::String, DataType::FixedString(36)])
                .map(|()| DataType::FixedString(16))
        },
        |c| {
            let (texts, variant) = (c.texts(0)?, Variant::of(c)?);
            c.make_fixed(16, |row, out| out.extend(variant.bytes(texts.get(row))))
        },
    ),
    Function::new(
        "UUIDToNum",
        |n, s| variant_type(n, s, &[DataType::Uuid]).map(|()| DataType::FixedString(16)),
        |c| {
            let (bytes, variant) = (c.texts(0)?, Variant::of(c)?);
            c.make_fixed(16, |row, out| {
                let bytes = bytes.get(row).try_into().unwrap_or_default();
                out.extend(variant.turned(bytes));
            })
        },
    ),
];

/// The order of the bytes of a UUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    AsWritten,
    Microsoft,
}

/// Where the digits of each byte are in a text of 36 bytes.
const DIGITS_AT: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

impl Variant {
    fn of(call: &Call) -> Result<Self, FunctionError> {
        let number = call.optional_integers(1)?.map_or(1, |numbers| numbers.get(0));
        Ok(if number == 2 { Self::Microsoft } else { Self::AsWritten })
    }

    fn turned(self, mut bytes: [u8; 16]) -> [u8; 16] {
        if self == Self::Microsoft {
            bytes[..4].reverse();
            bytes[4..6].reverse();
            bytes[6..8].reverse();
        }
        bytes
    }

    fn text(self, bytes: &[u8]) -> String {
        let bytes = self.turned(bytes.try_into().unwrap_or_default());
        let mut text = String::with_capacity(36);
        for (at, byte) in bytes.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                text.push('-');
            }
            text.extend([byte >> 4, byte & 15].map(|digit| char::from(HEX[usize::from(digit)])));
        }
        text
    }

    /// Zeros if the text has another length; other bytes than digits count as ClickHouse counts them.
    fn bytes(self, text: &[u8]) -> [u8; 16] {
        if text.len() != 36 {
            return [0; 16];
        }
        let digit = |at: usize| char::from(text[at]).to_digit(16).map_or(0xff, |digit| digit as u8);
        self.turned(DIGITS_AT.map(|at| (digit(at) << 4).wrapping_add(digit(at + 1))))
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

fn variant_type(
    name: &'static str,
    s: &[Signature],
    taken: &[DataType],
) -> Result<(), FunctionError> {
    expect_count(name, s, 1..=2)?;
    if !taken.contains(type_at(s, 0)) {
        return Err(wrong(
            name,
            format!("it takes {}, not {}", taken[taken.len() - 1], type_at(s, 0)),
        ));
    }
    if s.len() == 1 {
        return Ok(());
    }
    takes(name, s, &[Kind::Any, Kind::ConstInteger], &[])?;
    match constant_integer(name, s, 1)? {
        Some(1 | 2) => Ok(()),
        _ => Err(wrong(name, "the variant of a UUID is 1 or 2")),
    }
}

/// Texts, and values that have the type already.
fn text_type(name: &'static str, s: &[Signature], same: &DataType) -> Result<(), FunctionError> {
    expect_count(name, s, 1..=1)?;
    match s.first().map(|first| bare(&first.data_type)) {
        Some(DataType::String | DataType::FixedString(_)) => Ok(()),
        Some(other) if other == same => Ok(()),
        Some(DataType::Ipv4) if name == "toIPv6" => Ok(()),
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
    if what == "an IPv6 address"
        && call.operands.first().is_some_and(|it| *bare(&it.data_type) == DataType::Ipv4)
    {
        return mapped(&call.values(0)?);
    }
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

/// IPv4 addresses as those of IPv6 into which they are mapped.
fn mapped(addresses: &ArrayRef) -> Result<ArrayRef, FunctionError> {
    let addresses = addresses.as_primitive::<UInt32Type>();
    let bytes = |address: &u32| Ipv4Addr::from(*address).to_ipv6_mapped().octets();
    let bytes: Vec<u8> = addresses.values().iter().flat_map(bytes).collect();
    let nulls = addresses.nulls().cloned();
    let array = FixedSizeBinaryArray::try_new(16, bytes.into(), nulls);
    Ok(Arc::new(array.map_err(FunctionError::arrow("mapping addresses"))?))
}

fn to_ipv4(call: &Call, failure: Failure) -> Result<ArrayRef, FunctionError> {
    if !is_text(call) {
        return call.values(0);
    }
    let (values, nulls) = read_all(call, failure, "an IPv4 address", address::ipv4)?;
    Ok(Arc::new(PrimitiveArray::<UInt32Type>::new(values.into(), nulls)))
}
