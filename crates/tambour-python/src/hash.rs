//! Hashes of single keys and of columns.

use crate::buffer::Bytes;
use crate::column::{Array, Column};
use crate::failure::{Failure, argument};
use crate::work;
use arrow_buffer::NullBuffer;
use pyo3::prelude::*;
use std::sync::Arc;
use tambour::arrow_array::{
    ArrayRef, FixedSizeBinaryArray, LargeBinaryArray, UInt32Array, UInt64Array,
};
use tambour::hash::column::{self, BadOffset, Offsets};
use tambour::hash::{self, Hash128};

/// A hash of a key that is a few bytes.
#[pyfunction]
pub(crate) fn hash_key(name: &str, key: &Bound<'_, PyAny>, seed: u64) -> PyResult<u128> {
    let key = Bytes::of(key)?;
    let key = key.as_slice();
    let low = u32::try_from(seed);
    Ok(match name {
        "xxh32" => hash::xxh32(key, low.map_err(|_| seed_of_32(seed))?).into(),
        "xxh64" => hash::xxh64(key, seed).into(),
        "xxh3_64" => hash::xxh3_64(key, seed).into(),
        "xxh3_128" => wide(hash::xxh3_128(key, seed)),
        "city64" => hash::city_hash_64(key).into(),
        "city128" => wide(hash::city_hash_128(key)),
        "sip64" => hash::sip_hash_64(key).into(),
        "crc32c" => hash::crc32c(low.map_err(|_| seed_of_32(seed))?, key).into(),
        other => return Err(unknown(other).into()),
    })
}

fn wide(hash: Hash128) -> u128 {
    u128::from(hash.high) << 64 | u128::from(hash.low)
}

fn seed_of_32(seed: u64) -> Failure {
    argument(format!("seed {seed}: this hash takes one of 32 bits"))
}

fn unknown(name: &str) -> Failure {
    argument(format!("no hash {name:?} of columns: there are xxh32, xxh64, xxh3_64 and xxh3_128"))
}

/// Hashes of all values of a column. A value that is missing has none.
#[pyfunction]
pub(crate) fn hash_column(
    py: Python<'_>,
    name: &str,
    values: &Bound<'_, PyAny>,
    seed: u64,
) -> PyResult<Array> {
    let values = Column::of(values)?;
    let nulls = values.nulls();
    let hashes = work::over(py, values.is_read_only(), |_| -> Result<ArrayRef, Failure> {
        Ok(match name {
            "xxh32" => {
                let seed = u32::try_from(seed).map_err(|_| seed_of_32(seed))?;
                Arc::new(UInt32Array::new(hashed(&values, seed, &XXH32)?.into(), nulls))
            }
            "xxh64" => Arc::new(UInt64Array::new(hashed(&values, seed, &XXH64)?.into(), nulls)),
            "xxh3_64" => Arc::new(UInt64Array::new(hashed(&values, seed, &XXH3_64)?.into(), nulls)),
            "xxh3_128" => Arc::new(bytes_of(&hashed(&values, seed, &XXH3_128)?, nulls)?),
            other => return Err(unknown(other)),
        })
    })?;
    Ok(Array::new(&hashes))
}

fn bytes_of(
    hashes: &[Hash128],
    nulls: Option<NullBuffer>,
) -> Result<FixedSizeBinaryArray, Failure> {
    let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_bytes()).collect();
    Ok(FixedSizeBinaryArray::try_new(16, bytes.into(), nulls)?)
}

/// The loop over strings: where they end, their bytes, the seed, and the hashes.
type StringLoop<S, H> = fn(Offsets<'_>, &[u8], S, &mut [H]) -> Result<(), BadOffset>;

/// The loops of a hash function, by the width of the keys.
struct Loops<S, H> {
    one: fn(&[[u8; 1]], S, &mut [H]),
    two: fn(&[[u8; 2]], S, &mut [H]),
    four: fn(&[[u8; 4]], S, &mut [H]),
    eight: fn(&[[u8; 8]], S, &mut [H]),
    sixteen: fn(&[[u8; 16]], S, &mut [H]),
    strings: StringLoop<S, H>,
}

macro_rules! loops {
    ($($name:ident $keys:ident $strings:ident $seed:ty, $hash:ty;)*) => {$(
        static $name: Loops<$seed, $hash> = Loops {
            one: column::$keys,
            two: column::$keys,
            four: column::$keys,
            eight: column::$keys,
            sixteen: column::$keys,
            strings: column::$strings,
        };
    )*};
}

loops! {
    XXH32 xxh32 xxh32_strings u32, u32;
    XXH64 xxh64 xxh64_strings u64, u64;
    XXH3_64 xxh3_64 xxh3_64_strings u64, u64;
    XXH3_128 xxh3_128 xxh3_128_strings u64, Hash128;
}

/// Runs the loop that suits the column.
fn hashed<S: Copy, H: Clone + Default>(
    values: &Column,
    seed: S,
    loops: &Loops<S, H>,
) -> Result<Vec<H>, Failure> {
    let mut target = vec![H::default(); values.len()];
    if let Some(texts) = values.texts() {
        return strings(texts, seed, loops);
    }
    let Some((bytes, width)) = values.fixed() else {
        return Err(argument("the column has neither texts nor numbers"));
    };
    let bytes = bytes.as_slice();
    match width {
        1 => (loops.one)(bytes.as_chunks().0, seed, &mut target),
        2 => (loops.two)(bytes.as_chunks().0, seed, &mut target),
        4 => (loops.four)(bytes.as_chunks().0, seed, &mut target),
        8 => (loops.eight)(bytes.as_chunks().0, seed, &mut target),
        16 => (loops.sixteen)(bytes.as_chunks().0, seed, &mut target),
        width => {
            let offsets = (0..=values.len()).map(|number| i64::try_from(number * width));
            let offsets: Vec<i64> = offsets
                .collect::<Result<_, _>>()
                .map_err(|_| argument("the column is too long"))?;
            (loops.strings)(Offsets::Large(&offsets), bytes, seed, &mut target)
                .map_err(|error| argument(error.to_string()))?;
        }
    }
    Ok(target)
}

fn strings<S: Copy, H: Clone + Default>(
    texts: &LargeBinaryArray,
    seed: S,
    loops: &Loops<S, H>,
) -> Result<Vec<H>, Failure> {
    let mut target = vec![H::default(); tambour::arrow_array::Array::len(texts)];
    (loops.strings)(Offsets::Large(texts.value_offsets()), texts.value_data(), seed, &mut target)
        .map_err(|error| argument(error.to_string()))?;
    Ok(target)
}
