//! Hashes of integers (`intHash32`), of texts as other systems compute them (`javaHash`, `hiveHash`, `murmurHash3_128`), and
//! checksums.

use super::access::{Kind, rule, takes, type_at};
use super::arithmetic::integer;
use super::moment::Moments;
use super::zone::Zone;
use super::{Call, Function, Signature, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal256Type, UInt64Type};
use arrow_array::{ArrayRef, PrimitiveArray};
use arrow_buffer::i256;
use std::sync::Arc;
use tambour_kernel::hash::partition::jump_one;
use tambour_kernel::hash::{
    sip_hash_64_keyed, sip_hash_128, sip_hash_128_keyed, sip_hash_128_reference, xxh3_128,
};
use tambour_part::types::{DataType, Strings};

/// The functions of this room: those that keys may have, and the others.
pub(super) const FUNCTIONS: [&[Function]; 2] = [OF_INTEGERS, OTHERS];

const OF_INTEGERS: &[Function] = &[
    Function::new(
        "intHash32",
        |n, s| number_type(n, s, DataType::UInt32),
        |c| {
            let words = words(c)?;
            c.make_integers(|row| i128::from(mixed_32(words[row])))
        },
    ),
    Function::new(
        "intHash64",
        |n, s| number_type(n, s, DataType::UInt64),
        |c| {
            let words = words(c)?;
            c.make_integers(|row| i128::from(mixed_64(words[row])))
        },
    ),
];

const OTHERS: &[Function] = &[
    Function::new("jumpConsistentHash", jump_type, |c| {
        let (keys, buckets) = (c.integers(0)?, c.integers(1)?);
        c.make_integers(|row| {
            let buckets = u32::try_from(buckets.get(row)).unwrap_or(1);
            i128::from(jump_one(keys.get(row) as u64, buckets))
        })
    }),
    Function::new("javaHash", java_type, |c| {
        let of_number: fn(i64) -> i32 = match c.operand(0)?.data_type {
            DataType::Int64 => {
                |number| (number ^ (number.cast_unsigned() >> 32).cast_signed()) as i32
            }
            DataType::Int8 | DataType::Int16 | DataType::Int32 => |number| number as i32,
            _ => {
                let texts = c.texts(0)?;
                return c.make_integers(|row| i128::from(of_java(texts.get(row))));
            }
        };
        let numbers = c.integers(0)?;
        c.make_integers(|row| i128::from(of_number(numbers.get(row) as i64)))
    }),
    Function::new("hiveHash", rule!(Text => DataType::Int32), |c| {
        let texts = c.texts(0)?;
        c.make_integers(|row| i128::from(of_java(texts.get(row)) & i32::MAX))
    }),
    Function::new("CRC64", rule!(Text => DataType::UInt64), |c| {
        let texts = c.texts(0)?;
        c.make_integers(|row| i128::from(crc_64(texts.get(row))))
    })
    .any_case(),
    Function::new("sipHash128", rule!(Text => DataType::FixedString(16)), |c| {
        let texts = c.texts(0)?;
        c.make_fixed(16, |row, out| out.extend_from_slice(&sip_hash_128(texts.get(row))))
    }),
    Function::new(
        "sipHash64Keyed",
        |n, s| keyed_type(n, s, DataType::UInt64),
        |c| {
            let (keys, texts) = (keys(c)?, c.texts(1)?);
            c.make_integers(|row| i128::from(sip_hash_64_keyed(&keys[row], texts.get(row))))
        },
    ),
    Function::new(
        "sipHash128Keyed",
        |n, s| keyed_type(n, s, DataType::FixedString(16)),
        |c| {
            let (keys, texts) = (keys(c)?, c.texts(1)?);
            c.make_fixed(16, |row, out| {
                out.extend_from_slice(&sip_hash_128_keyed(&keys[row], texts.get(row)));
            })
        },
    ),
    Function::new("sipHash128Reference", rule!(Text => DataType::FixedString(16)), |c| {
        let texts = c.texts(0)?;
        c.make_fixed(16, |row, out| {
            out.extend_from_slice(&sip_hash_128_reference(&[0, 0], texts.get(row)));
        })
    }),
    Function::new(
        "sipHash128ReferenceKeyed",
        |n, s| keyed_type(n, s, DataType::FixedString(16)),
        |c| {
            let (keys, texts) = (keys(c)?, c.texts(1)?);
            c.make_fixed(16, |row, out| {
                out.extend_from_slice(&sip_hash_128_reference(&keys[row], texts.get(row)));
            })
        },
    ),
    Function::new("xxh3_128", rule!(Text => DataType::UInt128), |c| {
        let texts = c.texts(0)?;
        let number = |row: usize| {
            let hash = xxh3_128(texts.get(row), 0);
            i256::from_parts(u128::from(hash.high) << 64 | u128::from(hash.low), 0)
        };
        let values: PrimitiveArray<Decimal256Type> = (0..c.rows).map(number).map(Some).collect();
        Ok(Arc::new(values.with_data_type(DataType::UInt128.arrow(Strings::Utf8))))
    }),
    Function::new("javaHashUTF16LE", rule!(String => DataType::Int32), |c| {
        let texts = c.texts(0)?;
        let odd = (0..c.rows).find(|row| texts.get(*row).len() % 2 == 1 && !c.is_null(*row));
        if let Some(row) = odd {
            return Err(c.value_error(row, "a text of UTF-16 has an even number of bytes"));
        }
        c.make_integers(|row| {
            let (units, _) = texts.get(row).as_chunks::<2>();
            i128::from(units.iter().fold(0_i32, |hash, unit| {
                hash.wrapping_mul(31).wrapping_add(u16::from_le_bytes(*unit).into())
            }))
        })
    }),
    Function::new("murmurHash3_128", rule!(Text => DataType::FixedString(16)), |c| {
        let texts = c.texts(0)?;
        c.make_fixed(16, |row, out| {
            let (low, high) = murmur_3_128(texts.get(row));
            out.extend_from_slice(&low.to_le_bytes());
            out.extend_from_slice(&high.to_le_bytes());
        })
    }),
    Function::new("kafkaMurmurHash", rule!(Text => DataType::UInt32), |c| {
        let texts = c.texts(0)?;
        c.make_integers(|row| i128::from(murmur_2_32(texts.get(row), 0x9747_b28c) & 0x7fff_ffff))
    }),
];

/// A key of two words, and a text.
fn keyed_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Any, Kind::Text], &[])?;
    match type_at(s, 0) {
        DataType::Tuple(words)
            if words.len() == 2 && words.iter().all(|(_, word)| *word == DataType::UInt64) =>
        {
            Ok(result)
        }
        other => Err(wrong(name, format!("the key must be a Tuple(UInt64, UInt64), not {other}"))),
    }
}

fn keys(call: &Call) -> Result<Vec<[u64; 2]>, FunctionError> {
    let values = call.values(0)?;
    let words = values.as_struct_opt().map(|tuples| {
        let column = |column: &ArrayRef| column.as_primitive_opt::<UInt64Type>().cloned();
        tuples.columns().iter().map(column).collect::<Option<Vec<_>>>()
    });
    match words.flatten().as_deref() {
        Some([first, second]) => {
            Ok((0..call.rows).map(|row| [first.value(row), second.value(row)]).collect())
        }
        _ => Err(wrong(call.name, "the key must be two words")),
    }
}

/// Integers, dates and instants.
fn number_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Any], &[])?;
    match type_at(s, 0) {
        DataType::Date | DataType::DateTime { .. } => Ok(result),
        number if integer(number).is_some() => Ok(result),
        other => {
            Err(wrong(name, format!("it takes an integer, a Date or a DateTime, not {other}")))
        }
    }
}

/// The bits of the values, the sign carried on.
fn words(call: &Call) -> Result<Vec<u64>, FunctionError> {
    match &call.operand(0)?.data_type {
        DataType::Date => match Moments::of(call, 0)? {
            Moments::Days(days) => Ok(days.values().iter().map(|day| *day as u64).collect()),
            _ => Err(wrong(call.name, "it takes a Date")),
        },
        DataType::DateTime { .. } => {
            let seconds = Moments::of(call, 0)?.seconds(&Zone::UTC);
            Ok(seconds.values().iter().map(|second| *second as u64).collect())
        }
        _ => {
            let numbers = call.integers(0)?;
            Ok((0..call.rows).map(|row| numbers.get(row) as u64).collect())
        }
    }
}

fn jump_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Integer, Kind::ConstInteger], &[])?;
    match super::moment::constant_integer(name, s, 1)? {
        Some(1..=0x7fff_ffff) => Ok(DataType::Int32),
        _ => Err(wrong(name, "the number of buckets must be 1 to 2147483647")),
    }
}

/// Texts and signed integers, as Java has them.
fn java_type(name: &'static str, s: &[Signature]) -> Result<DataType, FunctionError> {
    takes(name, s, &[Kind::Any], &[])?;
    match type_at(s, 0) {
        DataType::String
        | DataType::FixedString(_)
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64 => Ok(DataType::Int32),
        other => Err(wrong(name, format!("it takes a String or a signed integer, not {other}"))),
    }
}

/// Java's hash of a text, over its bytes.
fn of_java(text: &[u8]) -> i32 {
    text.iter()
        .fold(0_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed())))
}

/// The checksum of ECMA-182 with its bits in the other order, from 0 on.
fn crc_64(text: &[u8]) -> u64 {
    let mut sum = 0;
    for byte in text {
        sum ^= u64::from(*byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { 0xc96c_5795_d787_0f42 } else { 0 };
        }
    }
    sum
}

fn word_32(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}

fn word_64(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// MurmurHash2 of 32 bits.
pub(super) fn murmur_2_32(text: &[u8], seed: u32) -> u32 {
    const M: u32 = 0x5bd1_e995;
    let mut hash = seed ^ text.len() as u32;
    let mut chunks = text.chunks_exact(4);
    for chunk in &mut chunks {
        let mut word = word_32(chunk).wrapping_mul(M);
        word = (word ^ word >> 24).wrapping_mul(M);
        hash = hash.wrapping_mul(M) ^ word;
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        hash = (hash ^ word_32(rest)).wrapping_mul(M);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(M);
    hash ^ hash >> 15
}

/// MurmurHash64A.
pub(super) fn murmur_2_64(text: &[u8], seed: u64) -> u64 {
    const M: u64 = 0xc6a4_a793_5bd1_e995;
    let mut hash = seed ^ (text.len() as u64).wrapping_mul(M);
    let mut chunks = text.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = word_64(chunk).wrapping_mul(M);
        word = (word ^ word >> 47).wrapping_mul(M);
        hash = (hash ^ word).wrapping_mul(M);
    }
    let rest = chunks.remainder();
    if !rest.is_empty() {
        hash = (hash ^ word_64(rest)).wrapping_mul(M);
    }
    hash = (hash ^ hash >> 47).wrapping_mul(M);
    hash ^ hash >> 47
}

/// MurmurHash3 of 32 bits.
pub(super) fn murmur_3_32(text: &[u8]) -> u32 {
    let mix = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = 0_u32;
    let mut chunks = text.chunks_exact(4);
    for chunk in &mut chunks {
        hash = (hash ^ mix(word_32(chunk))).rotate_left(13);
        hash = hash.wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    hash ^= mix(word_32(chunks.remainder()));
    hash ^= text.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// MurmurHash3 of 128 bits for 64-bit machines: the low half and the high one.
pub(super) fn murmur_3_128(text: &[u8]) -> (u64, u64) {
    const C1: u64 = 0x87c3_7b91_1142_53d5;
    const C2: u64 = 0x4cf5_ad43_2745_937f;
    let first = |word: u64| word.wrapping_mul(C1).rotate_left(31).wrapping_mul(C2);
    let second = |word: u64| word.wrapping_mul(C2).rotate_left(33).wrapping_mul(C1);
    let (mut low, mut high) = (0_u64, 0_u64);
    let mut chunks = text.chunks_exact(16);
    for chunk in &mut chunks {
        low = (low ^ first(word_64(&chunk[..8]))).rotate_left(27).wrapping_add(high);
        low = low.wrapping_mul(5).wrapping_add(0x52dc_e729);
        high = (high ^ second(word_64(&chunk[8..]))).rotate_left(31).wrapping_add(low);
        high = high.wrapping_mul(5).wrapping_add(0x3849_5ab5);
    }
    let rest = chunks.remainder();
    let (head, tail) = rest.split_at(rest.len().min(8));
    high ^= second(word_64(tail));
    low ^= first(word_64(head));
    let length = text.len() as u64;
    low ^= length;
    high ^= length;
    low = low.wrapping_add(high);
    high = high.wrapping_add(low);
    low = finished(low);
    high = finished(high);
    low = low.wrapping_add(high);
    (low, high.wrapping_add(low))
}

fn finished(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

/// ClickHouse's mixing of an integer with a salt, 64 bits.
pub(super) fn mixed_64(value: u64) -> u64 {
    let mut mixed = value ^ 0x4cf2_d2ba_ae6d_a887;
    mixed = (mixed ^ mixed >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed = (mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    mixed ^ mixed >> 33
}

/// The same with 32 bits.
pub(super) fn mixed_32(value: u64) -> u64 {
    let mut mixed = value ^ 0x75d9_543d_e018_bf45;
    mixed = (!mixed).wrapping_add(mixed << 18);
    mixed = (mixed ^ mixed.rotate_right(31)).wrapping_mul(21);
    mixed ^= mixed.rotate_right(11);
    mixed = mixed.wrapping_add(mixed << 6);
    (mixed ^ mixed.rotate_right(22)) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number was given by ClickHouse 26.9.
    #[test]
    fn hashes_are_those_of_clickhouse() {
        let text = b"hello world, how are you?";
        assert_eq!(murmur_2_32(b"a", 0), 2_456_313_694);
        assert_eq!(murmur_2_32(text, 0), 2_354_941_344);
        assert_eq!(murmur_2_64(b"a", 0), 510_903_276_987_443_985);
        assert_eq!(murmur_2_64(text, 0), 5_949_641_393_921_554_226);
        assert_eq!(murmur_2_64(text, 0xc70f_6907), 6_372_887_125_373_053_033);
        assert_eq!(murmur_3_32(b"a"), 1_009_084_850);
        assert_eq!(murmur_3_32(text), 3_398_841_583);
        let (low, high) = murmur_3_128(b"a");
        assert_eq!(low ^ high, 7_196_874_446_409_822_675);
        let (low, high) = murmur_3_128(text);
        assert_eq!(low ^ high, 17_951_124_086_394_839_338);
        assert_eq!(crc_64(b"a"), 3_219_832_958_944_941_148);
        assert_eq!(crc_64(b"123456789"), 0x2b9c_7ee4_e278_0c8a);
        assert_eq!(of_java("\u{e9}".as_bytes()), -1_978);
    }
}
