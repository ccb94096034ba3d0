//! Bloom filters: the hashes of values, and the bits that they set.

use crate::IndexError;
use crate::kind::{Kind, Shape, bare, element};
use crate::text::{Stand, sure_grams, sure_words};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use tambour_kernel::hash::{city_hash_64, city_hash_join};
use tambour_part::column::write_single;
use tambour_part::types::DataType;

/// What the hash of a value is joined with for each bit of a `bloom_filter`.
const SEEDS: [u64; 15] = [
    0xbd3a_ed12_799c_2d20,
    0x8f71_3c6e_20dd_ff9b,
    0xf6bf_190e_a4af_89ca,
    0x7cbd_f722_b9f5_eeff,
    0x44c2_5354_9249_89a5,
    0xb422_a089_e6b9_c639,
    0x808f_ece7_2e01_a942,
    0x32bf_7768_6636_4882,
    0x8fcd_8b8a_9486_5f7a,
    0x693c_00ad_8a83_7a91,
    0xd0a3_4721_13ca_d8fd,
    0xfdc7_9247_e80f_1eff,
    0x5f18_10f7_03a6_6398,
    0x7b51_9d13_16b1_1ca9,
    0x8ce1_4656_3615_192c,
];
/// How the second hash of a filter of fixed size begins: seed times the first, plus the second.
const SECOND_SEED: (u64, u64) = (845_897_321, 217_728_422);
/// What CityHash64 with a seed takes off before it joins the seed.
const CITY_BASE: u64 = 0x9ae1_6a3b_2f90_404f;
/// Bits for each value up to which filters are described.
const BITS_MAX: usize = 32;
/// Most bits for each value that any rate of false answers takes, and the lowest rate that they are good for, nearly.
const BITS_USED_MAX: usize = 19;
const RATE_MIN: f64 = 1.2e-4;
/// Hashes that are surely taken where no number of them is good enough: two where the rate is high, and many where it is low.
const HASHES_SURE: usize = 2;
/// The table that says how many hashes a rate takes is rounded.
const ROUNDED: f64 = 1.02;

/// Where the bits of values lie in a filter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scheme {
    /// Of a `bloom_filter`: this many of the seeds.
    Seeds(usize),
    /// Of a filter of fixed size.
    Pair(Shape),
}

impl Scheme {
    /// True if all bits of a value are set in a filter.
    pub(crate) fn has(self, filter: &[u8], hash: u64) -> bool {
        let bits = 8 * filter.len() as u64;
        let is_set = |hash: u64| {
            let bit = hash.checked_rem(bits).unwrap_or_default();
            let byte = usize::try_from(bit / 8).ok().and_then(|at| filter.get(at));
            byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
        };
        match self {
            Self::Seeds(count) => {
                SEEDS.iter().take(count).all(|seed| is_set(city_hash_join(hash, *seed)))
            }
            Self::Pair(Shape { hashes, seed, .. }) => {
                let seeded = |seed| city_hash_join(hash.wrapping_sub(CITY_BASE), seed);
                let second = seed.wrapping_mul(SECOND_SEED.0).wrapping_add(SECOND_SEED.1);
                let (first, second) = (seeded(seed), seeded(second));
                (0..hashes as u64).all(|at| {
                    is_set(first.wrapping_add(second.wrapping_mul(at)).wrapping_add(at * at))
                })
            }
        }
    }

    /// Of a `bloom_filter` with this rate of false answers: how many seeds are surely used if a value has this many bits. Fewer than
    /// there are only answer less often.
    pub(crate) fn of_rate(rate: f64, bits: usize) -> Self {
        let bits = f64::from(u32::try_from(bits.clamp(1, BITS_USED_MAX)).unwrap_or(1));
        let rate = (rate * ROUNDED).max(RATE_MIN);
        let false_rate = |hashes: u32| {
            let unset = (-f64::from(hashes) / bits).exp();
            (1.0 - unset).powi(hashes.cast_signed())
        };
        let mut counts = (1..=SEEDS.len()).zip(1_u32..);
        let found = counts.find(|(_, hashes)| false_rate(*hashes) <= rate);
        Self::Seeds(found.map_or(HASHES_SURE, |(count, _)| count))
    }
}

/// The bits of each value in a `bloom_filter` of this size for this many values; `None` if it is no such size.
pub(crate) fn bits_per_value(bytes: usize, values: usize) -> Option<usize> {
    let bits = (8 * bytes).checked_div(values)?.min(BITS_MAX);
    (bits > 0 && (bits * values).div_ceil(8) == bytes).then_some(bits)
}

/// The hash of a value as its bytes lie in a part; `None` of a type that is not hashed.
fn hash_of(data_type: &DataType, bytes: &[u8]) -> Option<u64> {
    let word = |at: usize| {
        let mut word = [0; 8];
        let bytes = bytes.get(at..)?;
        let bytes = bytes.get(..8).unwrap_or(bytes);
        word.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(word))
    };
    Some(match data_type {
        DataType::String | DataType::FixedString(_) => city_hash_64(bytes),
        DataType::Float32 => {
            let bits = u32::try_from(word(0)?).ok()?;
            mixed(f64::from(f32::from_bits(bits)).to_bits())
        }
        DataType::UInt128 | DataType::Int128 | DataType::Uuid | DataType::Ipv6 => {
            mixed(word(0)? ^ word(8)?)
        }
        _ if bytes.len() <= 8 => mixed(word(0)?),
        _ => return None,
    })
}

/// The finalizer of Murmur's 64-bit hash.
fn mixed(mut value: u64) -> u64 {
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        value = (value ^ (value >> 33)).wrapping_mul(factor);
    }
    value ^ (value >> 33)
}

/// The bytes of a value as a part has them, a text without its length.
pub(crate) fn bytes_of(
    values: &ArrayRef,
    row: usize,
    data_type: &DataType,
) -> Result<Vec<u8>, IndexError> {
    let mut bytes = Vec::new();
    write_single(values, row, data_type, &mut bytes)?;
    if matches!(data_type, DataType::String) {
        let head = bytes.iter().take_while(|byte| **byte >= 0x80).count() + 1;
        bytes.drain(..head.min(bytes.len()));
    }
    Ok(bytes)
}

/// The words of a text: runs of letters, digits, and bytes outside ASCII. Each with whether something stands after it.
pub(crate) fn words(text: &[u8]) -> impl Iterator<Item = (&[u8], bool)> {
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte >= 0x80;
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.iter().position(is_inside)?;
        rest = rest.get(start..)?;
        let length = rest.iter().position(|byte| !is_inside(byte)).unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(length)?;
        rest = after;
        Some((word, !after.is_empty()))
    })
}

/// All runs of this many characters; `None` if the text is not UTF-8.
pub(crate) fn grams(text: &[u8], length: usize) -> Option<Vec<&[u8]>> {
    let text = std::str::from_utf8(text).ok()?;
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let ends: Vec<usize> = ends.collect();
    let grams = ends.windows(length + 1).map(|it| &text.as_bytes()[it[0]..it[length]]);
    Some(grams.collect())
}

/// The hashes that every text leaves in a filter of this kind in which these bytes stand so. `None` if that is not known, or if there
/// are none.
pub(crate) fn hashes_of_text(kind: Kind, text: &[u8], stand: Stand) -> Option<Vec<u64>> {
    let hashes: Vec<u64> = match kind {
        Kind::Words(_) => sure_words(text, stand).into_iter().map(city_hash_64).collect(),
        Kind::Grams(length, _) => {
            sure_grams(text, length, stand)?.into_iter().map(city_hash_64).collect()
        }
        _ => return None,
    };
    (!hashes.is_empty()).then_some(hashes)
}

/// The hashes that one value leaves in a filter of this kind; `None` if that is not known, or if there are none.
pub(crate) fn hashes_of_value(
    kind: Kind,
    values: &ArrayRef,
    row: usize,
    data_type: &DataType,
) -> Result<Option<Vec<u64>>, IndexError> {
    let bytes = bytes_of(values, row, data_type)?;
    Ok(match kind {
        Kind::Bloom(_) => hash_of(data_type, &bytes).map(|hash| vec![hash]),
        _ => hashes_of_text(kind, &bytes, Stand::Whole),
    })
}

/// Calls `each` with the hashes of every value in a column, those in arrays for each element; NULLs are left out.
pub(crate) fn hashes_of_column(
    kind: Kind,
    values: &ArrayRef,
    data_type: &DataType,
    each: &mut dyn FnMut(&[u64]),
) -> Result<(), IndexError> {
    if let DataType::Array(inner) = bare(data_type) {
        for row in 0..values.len() {
            let elements = if let Some(list) = values.as_list_opt::<i32>() {
                list.value(row)
            } else if let Some(list) = values.as_list_opt::<i64>() {
                list.value(row)
            } else {
                return Ok(());
            };
            hashes_of_column(kind, &elements, inner, each)?;
        }
        return Ok(());
    }
    let nulls = values.logical_nulls();
    for row in 0..values.len() {
        if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
            && let Some(hashes) = hashes_of_value(kind, values, row, element(data_type))?
        {
            each(&hashes);
        }
    }
    Ok(())
}
