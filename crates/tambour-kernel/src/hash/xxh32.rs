//! XXH32, version 0.6 and later of the reference (`xxhash_spec.md` of the xxHash project).

use super::read32;

const P1: u32 = 0x9e37_79b1;
const P2: u32 = 0x85eb_ca77;
const P3: u32 = 0xc2b2_ae3d;
const P4: u32 = 0x27d4_eb2f;
const P5: u32 = 0x1656_67b1;

/// XXH32 of a key of any length.
///
/// ```
/// // SELECT xxHash32('Tambour')
/// assert_eq!(tambour_kernel::hash::xxh32(b"Tambour", 0), 4_203_017_040);
/// ```
pub fn xxh32(key: &[u8], seed: u32) -> u32 {
    body(key, seed)
}

/// XXH32 of a key whose length the compiler knows: no branch on it is left.
///
/// ```
/// use tambour_kernel::hash::{xxh32, xxh32_of};
/// let key = 77_u32.to_le_bytes();
/// assert_eq!(xxh32_of(&key, 0), xxh32(&key, 0));
/// ```
#[inline]
pub fn xxh32_of<const N: usize>(key: &[u8; N], seed: u32) -> u32 {
    body(key, seed)
}

#[inline(always)]
fn round(lane: u32, input: u32) -> u32 {
    lane.wrapping_add(input.wrapping_mul(P2)).rotate_left(13).wrapping_mul(P1)
}

/// The function; inlined so that a constant length folds.
#[inline(always)]
pub(super) fn body(key: &[u8], seed: u32) -> u32 {
    let (stripes, rest) = key.as_chunks::<16>();
    let mut hash = if stripes.is_empty() {
        seed.wrapping_add(P5)
    } else {
        let mut lanes = [
            seed.wrapping_add(P1).wrapping_add(P2),
            seed.wrapping_add(P2),
            seed,
            seed.wrapping_sub(P1),
        ];
        for stripe in stripes {
            lanes = std::array::from_fn(|k| round(lanes[k], read32(stripe, 4 * k)));
        }
        let [a, b, c, d] = lanes;
        let sum = a.rotate_left(1).wrapping_add(b.rotate_left(7));
        sum.wrapping_add(c.rotate_left(12)).wrapping_add(d.rotate_left(18))
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the reference takes the length modulo 2^32"
    )]
    let length = key.len() as u32;
    hash = hash.wrapping_add(length);
    let (words, rest) = rest.as_chunks::<4>();
    for word in words {
        hash = hash
            .wrapping_add(u32::from_le_bytes(*word).wrapping_mul(P3))
            .rotate_left(17)
            .wrapping_mul(P4);
    }
    for &byte in rest {
        hash = hash.wrapping_add(u32::from(byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ hash >> 15).wrapping_mul(P2);
    hash = (hash ^ hash >> 13).wrapping_mul(P3);
    hash ^ hash >> 16
}
