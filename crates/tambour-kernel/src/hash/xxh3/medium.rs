//! Keys of 17 to 240 bytes.
//!
//! Key and secret are cut into pieces of constant size, so that no position is checked inside the loops.

use super::super::{Hash128, read64, xxh64};
use super::{SECRET, avalanche, fold};

/// Smallest secret that the reference allows; positions at the end of keys are counted from it.
const SECRET_MIN: usize = 136;

/// The last sixteen bytes of a long key meet these of the secret.
const LAST: usize = SECRET_MIN - 17;

/// After the first 128 bytes of a key the secret is used again, from here.
const AGAIN: usize = 3;

/// What is mixed at a time.
type Piece = [u8; 16];
/// What is mixed at a time into both halves.
type Pair = [u8; 32];

/// A piece of a key with one of the secret.
#[inline(always)]
fn mix(key: &Piece, secret: &Piece, seed: u64) -> u64 {
    fold(
        read64(key, 0) ^ read64(secret, 0).wrapping_add(seed),
        read64(key, 8) ^ read64(secret, 8).wrapping_sub(seed),
    )
}

/// Two pieces of a key into the two halves.
#[inline(always)]
fn mix_two(hash: Hash128, [a, b]: [&Piece; 2], secret: &Pair, seed: u64) -> Hash128 {
    let [first, second] = halves(secret);
    let low = hash.low.wrapping_add(mix(a, first, seed));
    let high = hash.high.wrapping_add(mix(b, second, seed));
    Hash128 {
        low: low ^ read64(b, 0).wrapping_add(read64(b, 8)),
        high: high ^ read64(a, 0).wrapping_add(read64(a, 8)),
    }
}

#[inline(always)]
fn halves(pair: &Pair) -> [&Piece; 2] {
    let (pieces, _) = pair.as_chunks::<16>();
    let [first, second] = pieces else { unreachable!("a pair has two halves") };
    [first, second]
}

/// The secret from a position on, in pieces.
#[inline(always)]
fn secrets<const N: usize>(from: usize) -> &'static [[u8; N]] {
    SECRET[from..].as_chunks().0
}

/// What both hashes start with.
#[inline(always)]
fn start(key: &[u8]) -> u64 {
    (key.len() as u64).wrapping_mul(xxh64::P1)
}

/// Pieces from both ends of a key of up to 128 bytes, the innermost first, each two with their secret.
#[inline(always)]
fn inwards(key: &[u8]) -> impl Iterator<Item = ([&Piece; 2], &'static Pair)> {
    let pairs = (key.len() - 1) / 32 + 1;
    let (front, _) = key.as_chunks::<16>();
    let (_, back) = key.as_rchunks::<16>();
    let (front, back) = (&front[..pairs], &back[back.len() - pairs..]);
    let both = front.iter().rev().zip(back);
    both.zip(secrets::<32>(0)[..pairs].iter().rev()).map(|((a, b), secret)| ([a, b], secret))
}

#[inline(always)]
pub(super) fn hash_64_to_128(key: &[u8], seed: u64) -> u64 {
    let mut hash = start(key);
    for ([a, b], secret) in inwards(key) {
        let [first, second] = halves(secret);
        hash = hash.wrapping_add(mix(a, first, seed)).wrapping_add(mix(b, second, seed));
    }
    avalanche(hash)
}

#[inline(always)]
pub(super) fn hash_64_to_240(key: &[u8], seed: u64) -> u64 {
    let (pieces, _) = key.as_chunks::<16>();
    let (Some((first, rest)), Some(last)) = (pieces.split_first_chunk::<8>(), key.last_chunk())
    else {
        unreachable!("the key has more than 128 bytes");
    };
    let mut hash = start(key);
    for (piece, secret) in first.iter().zip(secrets(0)) {
        hash = hash.wrapping_add(mix(piece, secret, seed));
    }
    hash = avalanche(hash);
    for (piece, secret) in rest.iter().zip(secrets(AGAIN)) {
        hash = hash.wrapping_add(mix(piece, secret, seed));
    }
    avalanche(hash.wrapping_add(mix(last, &secrets(LAST)[0], seed)))
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
    let hash = Hash128 { low: start(key), high: 0 };
    let hash =
        inwards(key).fold(hash, |hash, (pieces, secret)| mix_two(hash, pieces, secret, seed));
    finish(hash, key, seed)
}

#[inline(always)]
pub(super) fn hash_128_to_240(key: &[u8], seed: u64) -> Hash128 {
    let (pairs, _) = key.as_chunks::<32>();
    let (Some((first, rest)), Some(last)) = (pairs.split_first_chunk::<4>(), key.last_chunk())
    else {
        unreachable!("the key has more than 128 bytes");
    };
    let mut hash = Hash128 { low: start(key), high: 0 };
    for (pair, secret) in first.iter().zip(secrets(0)) {
        hash = mix_two(hash, halves(pair), secret, seed);
    }
    hash = Hash128 { low: avalanche(hash.low), high: avalanche(hash.high) };
    for (pair, secret) in rest.iter().zip(secrets(AGAIN)) {
        hash = mix_two(hash, halves(pair), secret, seed);
    }
    let [before, last] = halves(last);
    hash = mix_two(hash, [last, before], &secrets(LAST - 16)[0], seed.wrapping_neg());
    finish(hash, key, seed)
}
