//! Hashes of values with ClickHouse's results: `cityHash64`, `sipHash64`, `xxHash32`, `xxHash64`, `xxh3`, and
//! MurmurHash in queries.
//!
//! A value is hashed as ClickHouse stores it; `cityHash64` mixes numbers of up to 64 bits instead. Several arguments are
//! joined from left to right, a tuple counts as its elements, an array as its length and then its elements, and a map as an
//! array of tuples.

use super::numbers::in_places;
use super::{Call, Function, Operand, Signature, bare, farm, mixing, undress, wrong};
use crate::FunctionError;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, UInt32Array, UInt64Array};
use arrow_schema::{DataType as ArrowType, TimeUnit};
use std::sync::Arc;
use tambour_codec::kernels;
use tambour_kernel::hash::column::{Keys, XXH3_64_VARIANTS, XXH64_VARIANTS};
use tambour_kernel::hash::{city_hash_64, city_hash_join, sip_hash_64, xxh3_64, xxh32, xxh64};
use tambour_part::types::DataType;

/// Hashes for which the width of a number counts: those of `1_u8` and `1_u64` differ.
pub const HASHES_OF_WIDTHS: &[&str] = &[
    "byteSize",
    "gccMurmurHash",
    "murmurHash2_32",
    "murmurHash2_64",
    "murmurHash3_32",
    "murmurHash3_64",
    "sipHash64",
    "xxHash32",
    "xxHash64",
    "xxh3",
];

/// The functions of this room.
pub(super) const FUNCTIONS: &[&[Function]] = &[OF_KEYS, OF_QUERIES];

const OF_KEYS: &[Function] = &[
    Function::new("cityHash64", |n, s| hash_type(n, s, DataType::UInt64), |c| hash(c, Kind::City)),
    Function::new("sipHash64", |n, s| hash_type(n, s, DataType::UInt64), |c| hash(c, Kind::Sip)),
    Function::new("xxHash32", |n, s| hash_type(n, s, DataType::UInt32), |c| hash(c, Kind::Xx32)),
    Function::new("xxHash64", |n, s| hash_type(n, s, DataType::UInt64), |c| hash(c, Kind::Xx64)),
    Function::new("xxh3", |n, s| hash_type(n, s, DataType::UInt64), |c| hash(c, Kind::Xx3)),
];

const OF_QUERIES: &[Function] = &[
    Function::new("farmHash64", |n, s| hash_type(n, s, DataType::UInt64), |c| hash(c, Kind::Farm)),
    Function::new(
        "metroHash64",
        |n, s| hash_type(n, s, DataType::UInt64),
        |c| hash(c, Kind::Metro),
    ),
    Function::new(
        "murmurHash2_32",
        |n, s| hash_type(n, s, DataType::UInt32),
        |c| hash(c, Kind::Murmur2Narrow),
    ),
    Function::new(
        "murmurHash2_64",
        |n, s| hash_type(n, s, DataType::UInt64),
        |c| hash(c, Kind::Murmur2),
    ),
    Function::new(
        "gccMurmurHash",
        |n, s| hash_type(n, s, DataType::UInt64),
        |c| hash(c, Kind::Murmur2Gcc),
    ),
    Function::new(
        "murmurHash3_32",
        |n, s| hash_type(n, s, DataType::UInt32),
        |c| hash(c, Kind::Murmur3Narrow),
    ),
    Function::new(
        "murmurHash3_64",
        |n, s| hash_type(n, s, DataType::UInt64),
        |c| hash(c, Kind::Murmur3),
    ),
];

/// A hash function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    City,
    Farm,
    Metro,
    Sip,
    Xx32,
    Xx64,
    Xx3,
    Murmur2Narrow,
    Murmur2,
    /// With the seed of GCC's standard library.
    Murmur2Gcc,
    Murmur3Narrow,
    Murmur3,
}

impl Kind {
    fn of_bytes(self, bytes: &[u8]) -> u64 {
        match self {
            Self::City => city_hash_64(bytes),
            Self::Farm => farm::farm_hash_64(bytes),
            Self::Metro => farm::metro_hash_64(bytes),
            Self::Sip => sip_hash_64(bytes),
            Self::Xx32 => xxh32(bytes, 0).into(),
            Self::Xx64 => xxh64(bytes, 0),
            Self::Xx3 => xxh3_64(bytes, 0),
            Self::Murmur2Narrow => mixing::murmur_2_32(bytes, 0).into(),
            Self::Murmur2 => mixing::murmur_2_64(bytes, 0),
            Self::Murmur2Gcc => mixing::murmur_2_64(bytes, 0xc70f_6907),
            Self::Murmur3Narrow => mixing::murmur_3_32(bytes).into(),
            Self::Murmur3 => {
                let (low, high) = mixing::murmur_3_128(bytes);
                low ^ high
            }
        }
    }

    /// A number by its bytes as stored, up to eight.
    fn of_number(self, bytes: &[u8]) -> u64 {
        if !matches!(self, Self::City | Self::Farm | Self::Metro) {
            return self.of_bytes(bytes);
        }
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        mixing::mixed_64(u64::from_le_bytes(word))
    }

    /// The length of an array.
    fn of_length(self, length: u64) -> u64 {
        match self {
            Self::Xx32 | Self::Murmur2Narrow | Self::Murmur3Narrow => mixing::mixed_32(length),
            _ => mixing::mixed_64(length),
        }
    }

    /// Two hashes as one.
    fn join(self, first: u64, second: u64) -> u64 {
        match self {
            Self::City | Self::Farm | Self::Metro | Self::Xx64 | Self::Xx3 => {
                city_hash_join(first, second)
            }
            Self::Sip => {
                let mut both = [0; 16];
                both[..8].copy_from_slice(&first.to_le_bytes());
                both[8..].copy_from_slice(&second.to_le_bytes());
                sip_hash_64(&both)
            }
            Self::Xx32 | Self::Murmur2Narrow | Self::Murmur3Narrow => {
                mixing::mixed_32(first) ^ second
            }
            Self::Murmur2 | Self::Murmur2Gcc | Self::Murmur3 => mixing::mixed_64(first) ^ second,
        }
    }
}

fn hash_type(
    name: &'static str,
    s: &[Signature],
    result: DataType,
) -> Result<DataType, FunctionError> {
    if s.is_empty() {
        return Err(wrong(name, "it takes at least one argument"));
    }
    Ok(result)
}

fn hash(call: &Call, kind: Kind) -> Result<ArrayRef, FunctionError> {
    let mut joined = Joined { kind, hashes: None };
    for operand in call.operands {
        let operand = Operand { values: operand.expanded(call.rows)?, ..operand.clone() };
        joined.add(call.name, &operand)?;
    }
    let hashes = joined.hashes.unwrap_or_default();
    Ok(match call.result {
        DataType::UInt32 => {
            Arc::new(UInt32Array::from_iter_values(hashes.into_iter().map(|hash| hash as u32)))
        }
        _ => Arc::new(UInt64Array::from(hashes)),
    })
}

/// One hash per row, of the arguments so far.
struct Joined {
    kind: Kind,
    hashes: Option<Vec<u64>>,
}

impl Joined {
    fn join(&mut self, hashes: Vec<u64>) {
        match &mut self.hashes {
            None => self.hashes = Some(hashes),
            Some(before) => {
                for (before, hash) in before.iter_mut().zip(hashes) {
                    *before = self.kind.join(*before, hash);
                }
            }
        }
    }

    fn add(&mut self, name: &'static str, operand: &Operand) -> Result<(), FunctionError> {
        let operand = undress(operand)?;
        match &operand.data_type {
            DataType::Tuple(elements) => {
                let columns = operand.values.as_struct().columns();
                for ((_, data_type), values) in elements.iter().zip(columns) {
                    refuse_nulls(name, values)?;
                    self.add(name, &element(data_type, values))?;
                }
                Ok(())
            }
            DataType::Array(inner) => {
                let list = operand.values.as_list::<i32>();
                self.add_lists(name, &element(inner, list.values()), list.value_offsets())
            }
            DataType::Map(key, value) => {
                let map = operand.values.as_map();
                let pair =
                    DataType::Tuple(vec![(None, (**key).clone()), (None, (**value).clone())]);
                let entries: ArrayRef = Arc::new(map.entries().clone());
                self.add_lists(name, &element(&pair, &entries), map.value_offsets())
            }
            _ => {
                let hashes = scalars(name, self.kind, &operand)?;
                self.join(hashes);
                Ok(())
            }
        }
    }

    /// Adds lists: their lengths, and then their elements, each hashed by itself.
    fn add_lists(
        &mut self,
        name: &'static str,
        elements: &Operand,
        offsets: &[i32],
    ) -> Result<(), FunctionError> {
        refuse_nulls(name, &elements.values)?;
        let mut inner = Self { kind: self.kind, hashes: None };
        inner.add(name, elements)?;
        let hashes = inner.hashes.unwrap_or_default();
        let length = |ends: &[i32]| self.kind.of_length(i64::from(ends[1] - ends[0]) as u64);
        self.join(offsets.windows(2).map(length).collect());
        if let Some(before) = &mut self.hashes {
            for (before, ends) in before.iter_mut().zip(offsets.windows(2)) {
                for hash in &hashes[ends[0] as usize..ends[1] as usize] {
                    *before = self.kind.join(*before, *hash);
                }
            }
        }
        Ok(())
    }
}

/// What ClickHouse makes of a NULL inside of a value is not known here.
fn refuse_nulls(name: &'static str, values: &ArrayRef) -> Result<(), FunctionError> {
    if values.logical_null_count() > 0 {
        return Err(wrong(name, "it does not take arrays, tuples and maps with a NULL inside"));
    }
    Ok(())
}

fn element(data_type: &DataType, values: &ArrayRef) -> Operand {
    Operand { data_type: data_type.clone(), values: values.clone(), is_constant: false }
}

/// One hash per value. What stands at NULLs does not count.
fn scalars(name: &'static str, kind: Kind, operand: &Operand) -> Result<Vec<u64>, FunctionError> {
    let values = &operand.values;
    let refused = || wrong(name, format!("it does not take {}", operand.data_type));
    Ok(match bare(&operand.data_type) {
        DataType::Bool => {
            let values = values.as_boolean();
            (0..values.len()).map(|row| kind.of_number(&[u8::from(values.value(row))])).collect()
        }
        DataType::UInt8 => numbers::<UInt8Type, 1>(kind, values, u8::to_le_bytes)?,
        DataType::UInt16 => numbers::<UInt16Type, 2>(kind, values, u16::to_le_bytes)?,
        DataType::UInt32 | DataType::Ipv4 => {
            numbers::<UInt32Type, 4>(kind, values, u32::to_le_bytes)?
        }
        DataType::UInt64 => numbers::<UInt64Type, 8>(kind, values, u64::to_le_bytes)?,
        DataType::Int8 => numbers::<Int8Type, 1>(kind, values, i8::to_le_bytes)?,
        DataType::Int16 => numbers::<Int16Type, 2>(kind, values, i16::to_le_bytes)?,
        DataType::Int32 => numbers::<Int32Type, 4>(kind, values, i32::to_le_bytes)?,
        DataType::Int64 => numbers::<Int64Type, 8>(kind, values, i64::to_le_bytes)?,
        DataType::Float32 => numbers::<Float32Type, 4>(kind, values, f32::to_le_bytes)?,
        // Bytes, not a number, as in ClickHouse: the upper half of the bits; the lower one is zero.
        DataType::BFloat16 => {
            let values = values.as_primitive::<Float32Type>().values();
            values.iter().map(|value| kind.of_bytes(&value.to_le_bytes()[2..])).collect()
        }
        DataType::Float64 => numbers::<Float64Type, 8>(kind, values, f64::to_le_bytes)?,
        DataType::Date => {
            numbers::<Date32Type, 2>(kind, values, |days| (days as u16).to_le_bytes())?
        }
        DataType::Date32 => numbers::<Date32Type, 4>(kind, values, i32::to_le_bytes)?,
        DataType::DateTime { .. } => ticks(values)
            .ok_or_else(refused)?
            .map(|seconds| kind.of_number(&(seconds as u32).to_le_bytes()))
            .collect(),
        DataType::DateTime64 { precision, .. } => {
            let unit = decimal_digits(values.data_type()).ok_or_else(refused)?;
            let divisor = 10_i64.pow(unit.saturating_sub(u32::from(*precision)));
            let ticks = ticks(values).ok_or_else(refused)?;
            ticks.map(|tick| kind.of_bytes(&tick.div_euclid(divisor).to_le_bytes())).collect()
        }
        DataType::Decimal { precision, .. } => decimals(kind, values, *precision),
        DataType::Int128 | DataType::UInt128 => {
            let values = values.as_primitive::<Decimal256Type>().values();
            values.iter().map(|value| kind.of_bytes(&value.to_le_bytes()[..16])).collect()
        }
        DataType::Uuid => fixed(values, |bytes| {
            // Two numbers of 64 bits, the upper one first.
            let mut stored = [0; 16];
            stored.copy_from_slice(bytes);
            stored[..8].reverse();
            stored[8..].reverse();
            kind.of_bytes(&stored)
        }),
        DataType::Ipv6 | DataType::Int256 | DataType::UInt256 => {
            fixed(values, |bytes| kind.of_bytes(bytes))
        }
        data_type @ DataType::Enum8(names) => {
            let names = names.iter().map(|(_, number)| number.to_le_bytes()).collect::<Vec<_>>();
            enums(kind, &in_places(values, data_type)?, &names)
        }
        data_type @ DataType::Enum16(names) => {
            let names = names.iter().map(|(_, number)| number.to_le_bytes()).collect::<Vec<_>>();
            enums(kind, &in_places(values, data_type)?, &names)
        }
        DataType::String | DataType::FixedString(_) => {
            let texts = super::text::Texts::of(values);
            let is_long = |row: usize| texts.value(row).is_some_and(|it| it.len() > farm::FARM_MAX);
            if kind == Kind::Farm && (0..values.len()).any(is_long) {
                return Err(wrong(name, "it takes texts of up to 256 bytes"));
            }
            (0..values.len()).map(|row| kind.of_bytes(texts.value(row).unwrap_or(&[]))).collect()
        }
        _ => return Err(refused()),
    })
}

/// Numbers, by their bytes as stored; those of xxHash whole columns at once.
fn numbers<T: ArrowPrimitiveType, const N: usize>(
    kind: Kind,
    values: &ArrayRef,
    stored: impl Fn(T::Native) -> [u8; N],
) -> Result<Vec<u64>, FunctionError>
where
    [u8; N]: Keys,
{
    let values = values.as_primitive::<T>().values();
    let (function, variants) = match kind {
        Kind::Xx64 => ("xxHash64", &XXH64_VARIANTS),
        Kind::Xx3 => ("xxh3", &XXH3_64_VARIANTS),
        _ => return Ok(values.iter().map(|value| kind.of_number(&stored(*value))).collect()),
    };
    let keys: Vec<[u8; N]> = values.iter().map(|value| stored(*value)).collect();
    let mut hashes = vec![0; keys.len()];
    let variant = kernels::chosen(variants);
    let variant = variant.map_err(|cause| FunctionError::Kernel { function, cause })?;
    variant.hash(&keys, 0, &mut hashes);
    Ok(hashes)
}

/// Decimals are no numbers to `cityHash64`.
fn decimals(kind: Kind, values: &ArrayRef, precision: u8) -> Vec<u64> {
    if precision > 38 {
        let values = values.as_primitive::<Decimal256Type>().values();
        return values.iter().map(|value| kind.of_bytes(&value.to_le_bytes())).collect();
    }
    let width = match precision {
        0..=9 => 4,
        10..=18 => 8,
        _ => 16,
    };
    let values = values.as_primitive::<Decimal128Type>().values();
    values.iter().map(|value| kind.of_bytes(&value.to_le_bytes()[..width])).collect()
}

fn fixed(values: &ArrayRef, hash: impl Fn(&[u8]) -> u64) -> Vec<u64> {
    let values = values.as_fixed_size_binary();
    (0..values.len()).map(|row| hash(values.value(row))).collect()
}

/// Enums are dictionaries whose keys are places in the type.
fn enums<const N: usize>(kind: Kind, values: &ArrayRef, names: &[[u8; N]]) -> Vec<u64> {
    let hashes: Vec<u64> = names.iter().map(|name| kind.of_number(name)).collect();
    let dictionary = values.as_any_dictionary();
    if dictionary.values().is_empty() {
        return vec![0; values.len()];
    }
    let keys = dictionary.normalized_keys();
    keys.into_iter().map(|key| hashes.get(key).copied().unwrap_or_default()).collect()
}

/// Ticks of times, of whatever unit.
fn ticks(values: &ArrayRef) -> Option<impl Iterator<Item = i64>> {
    let is_time = matches!(values.data_type(), ArrowType::Timestamp(..));
    let plain = is_time.then(|| super::cast(values, &ArrowType::Int64).ok()).flatten()?;
    let ticks = plain.as_primitive::<Int64Type>().values().clone();
    Some((0..ticks.len()).map(move |row| ticks[row]))
}

/// Decimal digits of seconds that a unit of times has.
fn decimal_digits(data_type: &ArrowType) -> Option<u32> {
    let ArrowType::Timestamp(unit, _) = data_type else { return None };
    Some(match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 3,
        TimeUnit::Microsecond => 6,
        TimeUnit::Nanosecond => 9,
    })
}
