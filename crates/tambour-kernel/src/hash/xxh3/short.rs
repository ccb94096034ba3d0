//! Keys of up to 16 bytes.

use super::super::{Hash128, read32, read64, xxh64};
use super::{SECRET, avalanche, fold, multiply, secret};

/// The number of bytes as it enters the hash.
#[inline(always)]
fn length(key: &[u8]) -> u64 {
    key.len() as u64
}

/// Three bytes of a key of one to three, and its length.
#[inline(always)]
fn combine(key: &[u8]) -> u32 {
    let [first, middle, last] = [key[0], key[key.len() / 2], key[key.len() - 1]];
    let [length, ..] = key.len().to_le_bytes();
    u32::from_le_bytes([last, length, first, middle])
}

/// The lower half of the seed, byte-swapped, on top of the seed.
#[inline(always)]
fn doubled(seed: u64) -> u64 {
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
    let low = seed as u32;
    seed ^ u64::from(low.swap_bytes()) << 32
}

#[inline(always)]
pub(super) fn hash_64(key: &[u8], seed: u64) -> u64 {
    match key.len() {
        0 => xxh64::avalanche(seed ^ secret(56) ^ secret(64)),
        1..=3 => {
            let flip = u64::from(read32(&SECRET, 0) ^ read32(&SECRET, 4)).wrapping_add(seed);
            xxh64::avalanche(u64::from(combine(key)) ^ flip)
        }
        4..=8 => {
            // One load where the length is known to be eight.
            let input = if key.len() == 8 {
                read64(key, 0).rotate_left(32)
            } else {
                u64::from(read32(key, key.len() - 4)) | u64::from(read32(key, 0)) << 32
            };
            let flip = (secret(8) ^ secret(16)).wrapping_sub(doubled(seed));
            strong_avalanche(input ^ flip, length(key))
        }
        _ => {
            let low = read64(key, 0) ^ (secret(24) ^ secret(32)).wrapping_add(seed);
            let high = read64(key, key.len() - 8) ^ (secret(40) ^ secret(48)).wrapping_sub(seed);
            let sum = length(key).wrapping_add(low.swap_bytes()).wrapping_add(high);
            avalanche(sum.wrapping_add(fold(low, high)))
        }
    }
}

/// The last step for four to eight bytes.
#[inline(always)]
fn strong_avalanche(mut hash: u64, length: u64) -> u64 {
    const FACTOR: u64 = 0x9fb2_1c65_1e98_df25;
    hash ^= hash.rotate_left(49) ^ hash.rotate_left(24);
    hash = hash.wrapping_mul(FACTOR);
    hash ^= (hash >> 35).wrapping_add(length);
    hash = hash.wrapping_mul(FACTOR);
    hash ^ hash >> 28
}

#[inline(always)]
pub(super) fn hash_128(key: &[u8], seed: u64) -> Hash128 {
    match key.len() {
        0 => Hash128 {
            low: xxh64::avalanche(seed ^ secret(64) ^ secret(72)),
            high: xxh64::avalanche(seed ^ secret(80) ^ secret(88)),
        },
        1..=3 => {
            let low = combine(key);
            let high = low.swap_bytes().rotate_left(13);
            let low_flip = u64::from(read32(&SECRET, 0) ^ read32(&SECRET, 4)).wrapping_add(seed);
            let high_flip = u64::from(read32(&SECRET, 8) ^ read32(&SECRET, 12)).wrapping_sub(seed);
            Hash128 {
                low: xxh64::avalanche(u64::from(low) ^ low_flip),
                high: xxh64::avalanche(u64::from(high) ^ high_flip),
            }
        }
        4..=8 => {
            let input = u64::from(read32(key, 0)) | u64::from(read32(key, key.len() - 4)) << 32;
            let flip = (secret(16) ^ secret(24)).wrapping_add(doubled(seed));
            let mut hash = multiply(input ^ flip, xxh64::P1.wrapping_add(length(key) << 2));
            hash.high = hash.high.wrapping_add(hash.low << 1);
            hash.low ^= hash.high >> 3;
            hash.low = (hash.low ^ hash.low >> 35).wrapping_mul(0x9fb2_1c65_1e98_df25);
            Hash128 { low: hash.low ^ hash.low >> 28, high: avalanche(hash.high) }
        }
        _ => hash_128_to_16(key, seed),
    }
}

/// Nine to sixteen bytes.
#[inline(always)]
fn hash_128_to_16(key: &[u8], seed: u64) -> Hash128 {
    let low_flip = (secret(32) ^ secret(40)).wrapping_sub(seed);
    let high_flip = (secret(48) ^ secret(56)).wrapping_add(seed);
    let (low, high) = (read64(key, 0), read64(key, key.len() - 8));
    let mut mixed = multiply(low ^ high ^ low_flip, xxh64::P1);
    mixed.low = mixed.low.wrapping_add((length(key) - 1) << 54);
    let high = high ^ high_flip;
    let product = (high & 0xffff_ffff).wrapping_mul(0x85eb_ca76);
    mixed.high = mixed.high.wrapping_add(high.wrapping_add(product));
    mixed.low ^= mixed.high.swap_bytes();
    let mut hash = multiply(mixed.low, xxh64::P2);
    hash.high = hash.high.wrapping_add(mixed.high.wrapping_mul(xxh64::P2));
    Hash128 { low: avalanche(hash.low), high: avalanche(hash.high) }
}
