//! XXH64 (`xxhash_spec.md` of the xxHash project).

use super::{read32, read64};

pub(super) const P1: u64 = 0x9e37_79b1_85eb_ca87;
pub(super) const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
pub(super) const P3: u64 = 0x1656_67b1_9e37_79f9;
pub(super) const P4: u64 = 0x85eb_ca77_c2b2_ae63;
pub(super) const P5: u64 = 0x27d4_eb2f_1656_67c5;

/// XXH64 of a key of any length.
///
/// ```
/// // SELECT xxHash64('Tambour')
/// assert_eq!(tambour_kernel::hash::xxh64(b"Tambour", 0), 27_279_228_715_170_008);
/// ```
pub fn xxh64(key: &[u8], seed: u64) -> u64 {
    body(key, seed)
}

/// XXH64 of a key whose length the compiler knows: no branch on it is left.
///
/// ```
/// use tambour_kernel::hash::{xxh64, xxh64_of};
/// let key = 77_u64.to_le_bytes();
/// assert_eq!(xxh64_of(&key, 9), xxh64(&key, 9));
/// ```
#[inline]
pub fn xxh64_of<const N: usize>(key: &[u8; N], seed: u64) -> u64 {
    body(key, seed)
}

#[inline(always)]
fn round(lane: u64, input: u64) -> u64 {
    lane.wrapping_add(input.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

/// The last step of the hash; XXH3 uses it for short keys.
#[inline(always)]
pub(super) fn avalanche(mut hash: u64) -> u64 {
    hash = (hash ^ hash >> 33).wrapping_mul(P2);
    hash = (hash ^ hash >> 29).wrapping_mul(P3);
    hash ^ hash >> 32
}

/// The function; inlined so that a constant length folds.
#[inline(always)]
pub(super) fn body(key: &[u8], seed: u64) -> u64 {
    let (stripes, rest) = key.as_chunks::<32>();
    let mut hash =
        if stripes.is_empty() { seed.wrapping_add(P5) } else { stripe_hash(stripes, seed) };
    hash = hash.wrapping_add(key.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash ^= round(0, u64::from_le_bytes(*word));
        hash = hash.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let mut rest = rest;
    if rest.len() >= 4 {
        hash ^= u64::from(read32(rest, 0)).wrapping_mul(P1);
        hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
        rest = &rest[4..];
    }
    for &byte in rest {
        hash = (hash ^ u64::from(byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    avalanche(hash)
}

#[inline(always)]
fn stripe_hash(stripes: &[[u8; 32]], seed: u64) -> u64 {
    let mut lanes = [
        seed.wrapping_add(P1).wrapping_add(P2),
        seed.wrapping_add(P2),
        seed,
        seed.wrapping_sub(P1),
    ];
    for stripe in stripes {
        lanes = std::array::from_fn(|k| round(lanes[k], read64(stripe, 8 * k)));
    }
    let [a, b, c, d] = lanes;
    let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
    let sum = sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18));
    lanes.iter().fold(sum, |hash, &lane| (hash ^ round(0, lane)).wrapping_mul(P1).wrapping_add(P4))
}
