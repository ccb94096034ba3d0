//! Keys of more than 240 bytes: eight lanes over stripes of 64 bytes. The lanes are a plain loop, compiled for each level.

use super::super::{Hash128, read64, xxh64};
use super::stripe::{BLOCK_STRIPES, Long, P32_1, START, STRIPE, piece};
#[cfg(target_arch = "x86_64")]
use super::wide;
use super::{SECRET, SECRET_BYTES, avalanche, fold};
use crate::variant::{Isa, Runnable, Variant, Variants};

/// The loops over stripes, best first.
pub static LONG_VARIANTS: Variants<Long> = Variants::new(&[
    #[cfg(target_arch = "x86_64")]
    wide::VARIANT,
    #[cfg(target_arch = "x86_64")]
    Variant { name: "avx2", isa: Isa::Avx2, run: avx2 },
    Variant { name: "scalar", isa: Isa::Scalar, run: stripes },
]);

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2(key: &[u8], secret: &[u8; SECRET_BYTES]) -> [u64; 8] {
    stripes(key, secret)
}

/// Adds a stripe to the lanes.
#[inline(always)]
fn accumulate(lanes: &mut [u64; 8], stripe: &[u8; STRIPE], secret: &[u8; STRIPE]) {
    let input: [u64; 8] = std::array::from_fn(|k| read64(stripe, 8 * k));
    let keyed: [u64; 8] = std::array::from_fn(|k| input[k] ^ read64(secret, 8 * k));
    for k in 0..8 {
        let product = (keyed[k] & 0xffff_ffff) * (keyed[k] >> 32);
        lanes[k] = lanes[k].wrapping_add(product).wrapping_add(input[k ^ 1]);
    }
}

#[inline(always)]
fn stripes(key: &[u8], secret: &[u8; SECRET_BYTES]) -> [u64; 8] {
    let mut lanes = START;
    let (stripes, _) = key[..key.len() - 1].as_chunks::<STRIPE>();
    let (blocks, rest) = stripes.as_chunks::<BLOCK_STRIPES>();
    for block in blocks {
        for (index, stripe) in block.iter().enumerate() {
            accumulate(&mut lanes, stripe, piece(secret, 8 * index));
        }
        for (k, lane) in lanes.iter_mut().enumerate() {
            let keyed = *lane ^ *lane >> 47 ^ read64(secret, SECRET_BYTES - STRIPE + 8 * k);
            *lane = keyed.wrapping_mul(P32_1);
        }
    }
    for (index, stripe) in rest.iter().enumerate() {
        accumulate(&mut lanes, stripe, piece(secret, 8 * index));
    }
    if let Some(last) = key.last_chunk() {
        accumulate(&mut lanes, last, piece(secret, SECRET_BYTES - STRIPE - 7));
    }
    lanes
}

/// The secret of a seed.
fn seeded(seed: u64) -> [u8; SECRET_BYTES] {
    let mut secret = SECRET;
    let (pairs, _) = secret.as_chunks_mut::<16>();
    for pair in pairs {
        let (low, high) = (read64(pair, 0).wrapping_add(seed), read64(pair, 8).wrapping_sub(seed));
        *pair = Hash128 { low, high }.to_bytes();
    }
    secret
}

/// The lanes become a hash.
#[inline]
fn merge(lanes: &[u64; 8], secret: &[u8; SECRET_BYTES], at: usize, start: u64) -> u64 {
    let (pairs, _) = lanes.as_chunks::<2>();
    let (secrets, _) = piece(secret, at).as_chunks::<16>();
    let folded = pairs
        .iter()
        .zip(secrets)
        .map(|([low, high], secret)| fold(low ^ read64(secret, 0), high ^ read64(secret, 8)));
    avalanche(folded.fold(start, u64::wrapping_add))
}

/// What is made of the lanes for the 64-bit hash, and for the lower half of the other.
#[inline]
fn low_half(lanes: &[u64; 8], secret: &[u8; SECRET_BYTES], length: u64) -> u64 {
    merge(lanes, secret, 11, length.wrapping_mul(xxh64::P1))
}

impl Runnable<Long> {
    /// The eight lanes after all of a key, which must have more than 240 bytes.
    #[inline]
    fn lanes(self, key: &[u8], secret: &[u8; SECRET_BYTES]) -> [u64; 8] {
        assert!(key.len() > super::MEDIUM_MAX, "shorter keys have functions of their own");
        let run = self.run();
        // SAFETY: the only condition is the instruction set, and a `Runnable` exists only after its check.
        unsafe { run(key, secret) }
    }

    /// The 64-bit hash.
    pub fn hash_64(self, key: &[u8], seed: u64) -> u64 {
        let length = key.len() as u64;
        if seed == 0 {
            return low_half(&self.lanes(key, &SECRET), &SECRET, length);
        }
        let secret = seeded(seed);
        low_half(&self.lanes(key, &secret), &secret, length)
    }

    /// Both halves of the 128-bit hash, of which the lower is the 64-bit hash.
    pub fn hash(self, key: &[u8], seed: u64) -> Hash128 {
        let secret = if seed == 0 { SECRET } else { seeded(seed) };
        let lanes = self.lanes(key, &secret);
        let length = key.len() as u64;
        let high = !length.wrapping_mul(xxh64::P2);
        Hash128 {
            low: low_half(&lanes, &secret, length),
            high: merge(&lanes, &secret, SECRET_BYTES - STRIPE - 11, high),
        }
    }
}

#[inline(never)]
pub(super) fn hash_64(key: &[u8], seed: u64) -> u64 {
    LONG_VARIANTS.best().hash_64(key, seed)
}

#[inline(never)]
pub(super) fn hash_128(key: &[u8], seed: u64) -> Hash128 {
    LONG_VARIANTS.best().hash(key, seed)
}
