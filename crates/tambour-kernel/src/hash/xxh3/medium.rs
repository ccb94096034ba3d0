//! Keys of 17 to 240 bytes.

use super::super::{Hash128, read64, xxh64};
use super::{avalanche, fold, secret};

/// Smallest secret that the reference allows; positions at the end of keys are counted from it.
const SECRET_MIN: usize = 136;

/// Sixteen bytes of the key with sixteen of the secret.
#[inline(always)]
fn mix(key: &[u8], at: usize, secret_at: usize, seed: u64) -> u64 {
    fold(
        read64(key, at) ^ secret(secret_at).wrapping_add(seed),
        read64(key, at + 8) ^ secret(secret_at + 8).wrapping_sub(seed),
    )
}

/// Two times sixteen bytes of the key into the two halves.
#[inline(always)]
fn mix_two(hash: Hash128, key: &[u8], [a, b]: [usize; 2], secret_at: usize, seed: u64) -> Hash128 {
    let low = hash.low.wrapping_add(mix(key, a, secret_at, seed));
    let high = hash.high.wrapping_add(mix(key, b, secret_at + 16, seed));
    Hash128 {
        low: low ^ read64(key, b).wrapping_add(read64(key, b + 8)),
        high: high ^ read64(key, a).wrapping_add(read64(key, a + 8)),
    }
}

/// What both hashes start with.
#[inline(always)]
fn start(key: &[u8]) -> u64 {
    (key.len() as u64).wrapping_mul(xxh64::P1)
}

#[inline(always)]
pub(super) fn hash_64_to_128(key: &[u8], seed: u64) -> u64 {
    let mut hash = start(key);
    for pair in (0..=(key.len() - 1) / 32).rev() {
        hash = hash.wrapping_add(mix(key, 16 * pair, 32 * pair, seed));
        hash = hash.wrapping_add(mix(key, key.len() - 16 * (pair + 1), 32 * pair + 16, seed));
    }
    avalanche(hash)
}

#[inline(always)]
pub(super) fn hash_64_to_240(key: &[u8], seed: u64) -> u64 {
    let mut hash = start(key);
    for piece in 0..8 {
        hash = hash.wrapping_add(mix(key, 16 * piece, 16 * piece, seed));
    }
    hash = avalanche(hash);
    for piece in 8..key.len() / 16 {
        hash = hash.wrapping_add(mix(key, 16 * piece, 16 * (piece - 8) + 3, seed));
    }
    avalanche(hash.wrapping_add(mix(key, key.len() - 16, SECRET_MIN - 17, seed)))
}

/// The halves become the hash.
#[inline(always)]
fn finish(hash: Hash128, key: &[u8], seed: u64) -> Hash128 {
    let rest = (key.len() as u64).wrapping_sub(seed).wrapping_mul(xxh64::P2);
    let high = hash.low.wrapping_mul(xxh64::P1).wrapping_add(hash.high.wrapping_mul(xxh64::P4));
    Hash128 {
        low: avalanche(hash.low.wrapping_add(hash.high)),
        high: avalanche(high.wrapping_add(rest)).wrapping_neg(),
    }
}

#[inline(always)]
pub(super) fn hash_128_to_128(key: &[u8], seed: u64) -> Hash128 {
    let mut hash = Hash128 { low: start(key), high: 0 };
    for pair in (0..=(key.len() - 1) / 32).rev() {
        let places = [16 * pair, key.len() - 16 * (pair + 1)];
        hash = mix_two(hash, key, places, 32 * pair, seed);
    }
    finish(hash, key, seed)
}

#[inline(always)]
pub(super) fn hash_128_to_240(key: &[u8], seed: u64) -> Hash128 {
    let mut hash = Hash128 { low: start(key), high: 0 };
    for pair in 0..4 {
        hash = mix_two(hash, key, [32 * pair, 32 * pair + 16], 32 * pair, seed);
    }
    hash = Hash128 { low: avalanche(hash.low), high: avalanche(hash.high) };
    for pair in 4..key.len() / 32 {
        hash = mix_two(hash, key, [32 * pair, 32 * pair + 16], 32 * (pair - 4) + 3, seed);
    }
    let places = [key.len() - 16, key.len() - 32];
    hash = mix_two(hash, key, places, SECRET_MIN - 17 - 16, seed.wrapping_neg());
    finish(hash, key, seed)
}
